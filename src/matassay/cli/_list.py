"""``matassay list``."""

from __future__ import annotations

from typing import Annotated

import typer

from matassay.core import SCHEMA_VERSION, Task, select_tasks

from ._console import Format, claim_stdout, counted, fitting_table, shortened
from ._places import task_named

COLUMNS = ("id", "title", "span", "level", "category", "guidance", "steps", "revision")


def list_tasks(
    prefix: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PREFIX", callback=task_named, help="Ids, or beginnings of ids that end at a part: instruments/xrd."
        ),
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

        # What all ids begin with stands above the table where there is a terminal; in a pipe each line has its whole id.
        common, ids = shortened([t.id for t in tasks]) if out.terminal else ("", [t.id for t in tasks])
        rows = []
        for id, t in zip(ids, tasks, strict=True):
            cells = (id, t.title, t.span, t.level, t.category, ", ".join(t.guidances), t.step_limit, t.revision)
            rows.append([escape(str(cell)) for cell in cells])
        droppable = ("title", "category", "revision", "guidance")
        table = fitting_table(
            COLUMNS, [rows], out.console, right=("steps", "revision"), droppable=droppable, foldable=("id",)
        )
        out.table(*([escape(f"{common}/")] if common else []), table)
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
