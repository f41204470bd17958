"""``matassay reproduce``."""

from __future__ import annotations

import contextlib
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from matassay.core import SCHEMA_VERSION, EnvironmentFailure, MatAssayError, UnknownTask, select_tasks

from ._console import Format, claim_stdout, counted, say
from ._places import folder_named, log_folder, task_named

if TYPE_CHECKING:
    from matassay.suites.research import Difference, Reproduction, TaskFolder

#: Differing values of one task that are printed; JSON has all.
SHOWN = 12


def reproduce(
    prefix: Annotated[
        list[str],
        typer.Argument(metavar="PREFIX", callback=task_named, help="Research tasks: ids, or beginnings of ids."),
    ],
    seed: Annotated[int, typer.Option(min=0, metavar="K", help="Seed; the stored references are of seed 0.")] = 0,
    dear: Annotated[
        bool, typer.Option("--dear", help="Also the references that take more than a minute, some of them hours.")
    ] = False,
    keep: Annotated[
        Path | None, typer.Option(metavar="DIR", parser=folder_named, help="Leave what was made in this folder.")
    ] = None,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Make inputs and references again and compare them with the stored; exits with 1 if one differs, with 2 if one fails."""
    with claim_stdout() as out:
        chosen = _chosen(prefix)
        left = [f for f in chosen if f.spec.dear and not dear]
        for folder in left:
            say(f"left out, takes more than a minute: {folder.spec.id} (--dear runs it)")
        from matassay.suites.research import reproduce as run

        found: list[Reproduction] = []
        seconds: dict[str, float] = {}
        failed: dict[str, str] = {}
        with log_folder(keep, "what is made") if keep is not None else contextlib.nullcontext():
            for folder in chosen:
                if folder in left or _cannot(folder):
                    continue
                id = folder.spec.id
                say(f"{id} ...")
                place = keep / folder.path.name if keep is not None else None
                begin = time.monotonic()
                try:
                    if not (script := folder.path / "reproduce.py").is_file():
                        raise MatAssayError(f"{script}: there is no such file")
                    found.append(run(folder, seed, keep=place))
                except EnvironmentFailure:
                    raise
                except MatAssayError as error:  # the others go on
                    failed[id] = str(error) if str(folder.path) in str(error) else f"{folder.path}: {error}"
                    say(f"    failed: {failed[id].strip()}")
                    continue
                seconds[id] = round(time.monotonic() - begin, 1)
                say(f"    {_told(found[-1])}, {seconds[id]} s")
        good = sum(r.reproduced for r in found)
        total = len(found) + len(failed)
        if format is Format.JSON:
            rows = [{**asdict(r), "reproduced": r.reproduced, "seconds": seconds[r.task]} for r in found]
            out.json({"schema_version": SCHEMA_VERSION, "ok": 0 < total == good, "tasks": rows, "failed": failed})
        else:
            for r in found:
                out.lines(f"{'ok    ' if r.reproduced else 'DIFFERS'} {r.task}  {_told(r)}")
                odd = [f"    input {name}: {how}" for name, how in r.inputs.items() if how != "same"]
                values = [f"    {d.path}: stored {d.stored!r:.60}, made {d.made!r:.60}{_by(d)}" for d in r.differences]
                more = [f"    and {len(values) - SHOWN} values more"] if len(values) > SHOWN else []
                out.lines(*odd, *values[:SHOWN], *more)
            out.lines(*(f"FAILED  {id}" for id in failed), f"{good} of {counted(total, 'reference')} reproduced")
        raise typer.Exit(2 if failed or not total else 0 if good == total else 1)


def _chosen(prefixes: list[str]) -> list[TaskFolder]:
    from matassay.suites.research import folders

    known = folders()
    chosen: dict[str, TaskFolder] = {}
    for prefix in [p.strip("/") for p in prefixes]:
        hits = {id: f for id, f in known.items() if id == prefix or id.startswith((prefix + "/", prefix + "-"))}
        if not hits:
            others = select_tasks([prefix])  # says what is wrong with a broken one, or which is meant
            raise UnknownTask(f"{others[0].id} is no research task: only these have references to be made again")
        chosen |= hits
    return list(chosen.values())


def _cannot(folder: TaskFolder) -> bool:
    """Say what a task lacks here; whether it lacks anything."""
    from matassay.worlds.workspace import missing

    lacking = missing(folder.spec.requires)
    for what in lacking:
        say(f"left out: {folder.spec.id}: {what}")
    return bool(lacking)


def _told(r: Reproduction) -> str:
    if not r.differences:
        return "the same to rounding" if r.reproduced else "the same reference, other inputs"
    worst = max((d.relative or 0.0 for d in r.differences), default=0.0)
    what = "within the task's tolerances" if r.passes else "beyond the task's tolerances"
    return f"{counted(len(r.differences), 'value')} differ by up to {worst:.1e}, {what}"


def _by(difference: Difference) -> str:
    return "" if difference.relative is None else f" ({difference.relative:.1e})"
