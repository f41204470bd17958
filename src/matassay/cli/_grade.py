"""``matassay grade``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matassay.core import SCHEMA_VERSION, Artefact, Evidence, Interface, MatAssayError, Task, select_tasks

from ._console import Format, claim_stdout, counted, say
from ._places import folder_named

if TYPE_CHECKING:
    from matassay.core import Verdict


def grade(
    task: Annotated[str, typer.Argument(help="Id of a research task, or a beginning of it that only one has.")],
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
            out.lines(*(f"not read: {name}: {why}" for name, why in refused.items()), *_lines(chosen, verdict))
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


def _lines(task: Task, verdict: Verdict) -> list[str]:
    """One line per check, reasons below."""
    lines = []
    for criterion in task.criteria:
        word = "ok    " if verdict.criteria[criterion.name] else "FAILED"
        kind = " (diagnosis)" if criterion.diagnosis else " (guard)" if criterion.holds_at_start else ""
        lines.append(f"{word} {criterion.name}{kind}")
        if message := verdict.messages.get(criterion.name):
            failure = verdict.failures.get(criterion.name)
            lines.append(f"       {message}" + (f" [{failure.replace('_', ' ')}]" if failure else ""))
    good = sum(verdict.criteria.values())
    ending = "success" if verdict.success else "no success"
    return [*lines, f"{good} of {counted(len(verdict.criteria), 'check')} hold: {ending}, score {verdict.score:.3f}"]
