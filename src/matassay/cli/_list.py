"""``matassay list``."""

from __future__ import annotations

from typing import Annotated

import typer

from matassay.core import SCHEMA_VERSION, Task, select_tasks

from ._console import Format, claim_stdout, counted, shortened

COLUMNS = ("id", "title", "span", "level", "category", "guidance", "steps", "revision")


def list_tasks(
    prefix: Annotated[
        list[str] | None, typer.Argument(help="Ids, or beginnings of ids that end at a part: instruments/xrd.")
    ] = None,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """List the tasks."""
    with claim_stdout() as out:
        tasks = select_tasks(prefix or [])
        if format is Format.JSON:
            out.json({"schema_version": SCHEMA_VERSION, "tasks": [row(t) for t in tasks]})
            return
        from rich.markup import escape
        from rich.table import Table

        # Where the terminal is narrow, the longest columns are left out, so that no word is broken.
        common, ids = shortened([t.id for t in tasks]) if out.narrow else ("", [t.id for t in tasks])
        table = Table(box=None, pad_edge=False, header_style="bold", title=escape(f"{common}/") if common else None)
        table.title_justify, table.title_style = "left", ""
        columns = [c for c in COLUMNS if c not in ("title", "category") or not out.narrow]
        for name in columns:
            right = name in ("steps", "revision")
            table.add_column(name, justify="right" if right else "left", no_wrap=out.narrow, overflow="fold")
        for id, t in zip(ids, tasks, strict=True):
            cells = (id, t.title, t.span, t.level, t.category, ", ".join(t.guidances), t.step_limit, t.revision)
            named = dict(zip(COLUMNS, cells, strict=True))
            table.add_row(*(escape(str(named[name])) for name in columns))
        out.table(table)
        out.lines(counted(len(tasks), "task"))


def row(task: Task) -> dict[str, object]:
    """A task as the contract for scripts has it."""
    return {
        "id": task.id,
        "suite": task.suite,
        "group": task.group,
        "span": str(task.span),
        "level": str(task.level),
        "category": str(task.category),
        "guidances": [str(g) for g in task.guidances],
        "revision": task.revision,
    }
