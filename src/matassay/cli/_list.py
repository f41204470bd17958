"""``matassay list``."""

from __future__ import annotations

from typing import Annotated

import typer

from matassay.core import SCHEMA_VERSION, Task, select_tasks

from ._console import Format, claim_stdout


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

        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("id", "title", "span", "level", "category", "guidance", "steps", "revision"):
            table.add_column(name, justify="right" if name in ("steps", "revision") else "left", overflow="fold")
        for t in tasks:
            cells = (t.id, t.title, t.span, t.level, t.category, ", ".join(t.guidances), t.step_limit, t.revision)
            table.add_row(*(escape(str(c)) for c in cells))
        out.table(table)
        out.lines(f"{len(tasks)} task{'' if len(tasks) == 1 else 's'}")


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
