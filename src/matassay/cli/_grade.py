"""``matassay grade``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matassay.core import SCHEMA_VERSION, Artefact, Evidence, Interface, MatAssayError, Task, select_tasks

from ._console import Format, claim_stdout, counted, say
from ._places import folder_named, task_named

if TYPE_CHECKING:
    from matassay.core import Verdict


def grade(
    task: Annotated[
        str,
        typer.Argument(
            metavar="ID", callback=task_named, help="Id of a research task, or a beginning of it that only one has."
        ),
    ],
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", parser=folder_named, help="Files as an agent would leave them.")
    ],
    seed: Annotated[int, typer.Option(min=0, metavar="K", help="Seed of the task.")] = 0,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Grade a folder of files without a run; exits with 1 if it is not right."""
    with claim_stdout() as out:
        chosen = _task(task)
        files, refused = _read(folder, chosen)
        scenario = chosen.scenario(seed)
        collected = _collected(chosen, files)
        state = {"seed": seed, "outputs_refused": refused, "collected": collected, "concluded": True}
        evidence = Evidence(state, tuple(Artefact.of(name, data) for name, data in sorted(files.items())))
        from matassay.core import grade as judge

        verdict = judge(chosen, evidence, scenario.goal)
        if format is Format.JSON:
            head = {"schema_version": SCHEMA_VERSION, "task": chosen.id, "revision": chosen.revision, "seed": seed}
            read = {"files": sorted(files), "refused": refused}
            out.json({**head, "ok": verdict.success, **read, "verdict": asdict(verdict)})
        else:
            out.lines(
                *(f"not read: {name}: {why}" for name, why in refused.items()),
                *_lines(chosen, verdict, _tables(chosen)),
            )
        raise typer.Exit(0 if verdict.success else 1)


def _task(prefix: str) -> Task:
    """The one task that is meant.

    Raises
    ------
    MatAssayError
        If there are several, or it is not judged by files.
    """
    found = select_tasks([prefix])
    if len(found) > 1:
        some = ", ".join(t.id for t in found[:3])
        raise MatAssayError(f"{prefix!r} is the beginning of {len(found)} tasks ({some}, ...): name one of them")
    if found[0].interface is not Interface.WORKSPACE:
        raise MatAssayError(f"{found[0].id} is judged by the state of its instrument; only research tasks leave files")
    return found[0]


def _read(folder: Path, task: Task) -> tuple[dict[str, bytes], dict[str, str]]:
    """Files that the task asks for, read as those of a sandbox are: no links, no devices, nothing too large.

    Raises
    ------
    MatAssayError
        If there is no such folder.
    """
    from matassay.suites.research import folders
    from matassay.worlds.workspace import Caps, harvest

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise MatAssayError(f"folder {folder}: {error.strerror}") from error
    try:
        outputs = harvest(handle, Caps())
    finally:
        os.close(handle)
    patterns = folders()[task.id].spec.outputs

    def asked(name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    files = {name: data for name, data in outputs.files.items() if asked(name)}
    if not files:
        say(f"{folder} holds none of the files that are asked for: {', '.join(patterns)}")
    return files, {name: why for name, why in outputs.refused.items() if asked(name)}


def _collected(task: Task, files: Mapping[str, bytes]) -> dict[str, Any]:
    """What foreign programs say about decks among the files, each in a sandbox of its own."""
    from matassay.suites.research import folders
    from matassay.worlds.workspace import chosen_backend, run_probes

    probes = folders()[task.id].probes(files)
    return asyncio.run(run_probes(probes, backend=chosen_backend())) if probes else {}


def _lines(task: Task, verdict: Verdict, tables: Mapping[str, str]) -> list[str]:
    """One line per check, reasons below; what many checks share, once.

    Parameters
    ----------
    task, verdict
        What was asked, and how it was judged.
    tables : mapping
        Tables of the answer by the names of the checks of their rows.
    """
    checks = {c.name: " (diagnosis)" if c.diagnosis else " (guard)" if c.holds_at_start else "" for c in task.criteria}
    rows: dict[str, list[bool]] = {}
    causes: dict[tuple[str, str], list[str]] = {}
    for name in checks:
        if name in tables:
            rows.setdefault(tables[name], []).append(verdict.criteria[name])
        if not verdict.criteria[name] and (message := verdict.messages.get(name)):
            causes.setdefault((message, verdict.failures.get(name, "")), []).append(name)
    lines = []
    for name, kind in checks.items():
        table = tables.get(name)
        if table in rows and table is not None:  # those of its rows that hold, before those that do not
            held = rows.pop(table)
            if any(held):
                lines.append(f"ok     {table}: {sum(held)} of {counted(len(held), 'check')} of its rows")
        if verdict.criteria[name]:
            if table is None:
                lines.append(f"ok     {name}{kind}")
            continue
        cause = verdict.messages.get(name, ""), verdict.failures.get(name, "")
        sharing = causes.get(cause, [name])
        if sharing[0] == name:
            lines.append(f"FAILED {name}{kind}" if len(sharing) == 1 else f"FAILED {_some(sharing)}")
            if cause[0]:
                many = f"{len(sharing)} checks fail: " if len(sharing) > 1 else ""
                lines.append(f"       {many}{cause[0]}" + (f" [{cause[1].replace('_', ' ')}]" if cause[1] else ""))
    good = sum(verdict.criteria.values())
    ending = "success" if verdict.success else "no success"
    return [*lines, f"{good} of {counted(len(verdict.criteria), 'check')} hold: {ending}, score {verdict.score:.3f}"]


def _some(names: Sequence[str]) -> str:
    """The first few names."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _tables(task: Task) -> dict[str, str]:
    """Tables of a task's answer by the names of the checks of their rows."""
    from matassay.suites.research import folders

    fields = (folders()[task.id].spec.answer or {}).get("fields") or {}
    others = set(fields)
    found = {}
    for table in _table_names(fields):
        for criterion in task.criteria:
            if criterion.name.startswith(f"{table}_") and criterion.name not in others:
                found[criterion.name] = table
    return found


def _table_names(fields: Mapping[str, Any], around: str = "") -> Iterator[str]:
    """Names of the tables among fields, those inside objects as well, as the names of their checks begin."""
    for name, field in fields.items():
        if field.get("type") == "table":
            yield around + name
        elif field.get("type") == "object":
            yield from _table_names(field.get("fields") or {}, f"{around}{name}_")
