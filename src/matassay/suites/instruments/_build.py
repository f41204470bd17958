"""Turns an instrument's table of subtasks into tasks: what all instruments have in common."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matassay.core import (
    Attempt,
    Category,
    Criterion,
    Evidence,
    Goal,
    Guidance,
    Level,
    MatAssayError,
    Scenario,
    Span,
    Task,
    World,
)
from matassay.grading.criteria import with_state
from matassay.kit import Instrument

SINGLE_STEPS = 50
"""Step budget of every single task."""

LEAST_WORKFLOW_STEPS = 60
"""A workflow has ten times the steps of its reference, and at least these."""


@dataclass(frozen=True)
class Numbers:
    """What a seed fills into a task."""

    goal: Mapping[str, Any]
    """Public; every entry must be named in the words."""
    start: Mapping[str, Any]
    """Start state for the instrument."""
    truth: Mapping[str, Any]
    """Hidden quantities."""


@dataclass(frozen=True)
class Subtask:
    """A row of an instrument's table."""

    name: str
    """Last part of the id, e.g. ``s04-set-angles``."""
    title: str
    """A few words."""
    level: Level
    """As the source paper has it."""
    category: Category
    """As the source paper has it."""
    numbers: Callable[[int], Numbers]
    """Fills in a seed; pure."""
    goal: str
    """Words that say what must hold at the end, with ``{goal entries}``; the reduced instruction."""
    method: str
    """Words that say how and why, added to the goal in the full instruction."""
    criteria: tuple[Criterion, ...]
    """See `Task`."""
    reference: Attempt
    """See `Task`."""
    alternatives: tuple[Attempt, ...]
    """See `Task`."""
    near_misses: tuple[Attempt, ...]
    """See `Task`."""
    revision: int = 1
    """See `Task`."""
    steps: int = SINGLE_STEPS
    """Step budget."""
    formats: Mapping[str, str] = field(default_factory=dict)
    """Format of goal entries in words, e.g. ``{"voltage": "g"}``; by default ``str``."""


# --- draws


def pick(rng: Any, choices: Any) -> Any:
    """One of the choices; numpy would turn them into its own types."""
    return choices[int(rng.integers(len(choices)))]


def archive_names(rng: Any, pattern: str, count: int) -> list[str]:
    """Different names of files of earlier work, e.g. of the pattern ``si_check_{}.xy``, in order."""
    return sorted(pattern.format(int(n)) for n in rng.choice(900, count, replace=False) + 100)


# --- criteria on the measurement that was saved

Find = Callable[[Evidence, Goal], "dict[str, Any] | None"]
"""Gives the saved measurement as it stands in the state; None without one."""


def saved_scan(evidence: Evidence, name: str, key: str, digest: Callable[[bytes], str]) -> dict[str, Any] | None:
    """The scan of ``state["scans"]`` whose data a file holds.

    Parameters
    ----------
    evidence : Evidence
        What is judged.
    name : str
        The file's.
    key : str
        Where a scan keeps the digest of its data.
    digest : callable
        Digest of the data in a file's bytes; raises `ValueError` if they are not such a file.

    Returns
    -------
    dict or None
        None if the file is missing, unreadable, or holds other data.
    """
    artefact = evidence.artefact(name)
    if artefact is None:
        return None
    if artefact.data is None:
        raise ValueError(f"the bytes of {name!r} are not among the evidence")
    try:
        found = digest(artefact.data)
    except ValueError:
        return None
    return next((s for s in evidence.state["scans"] if s[key] == found), None)


def of_saved(
    find: Find, name: str, description: str, holds: Callable[[dict[str, Any], Goal], bool], **more: Any
) -> Criterion:
    """A criterion on the saved measurement; does not hold without one."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        scan = find(evidence, goal)
        return scan is not None and bool(holds(scan, goal))

    return Criterion(name, description, check, **more)


def displaced_saved(
    find: Find, change: Callable[[dict[str, Any], Goal, float], dict[str, Any]]
) -> Callable[[Evidence, Goal, float], Evidence]:
    """For the sweep test of a tolerance: the evidence with other values of the saved measurement."""

    def displaced(evidence: Evidence, goal: Goal, k: float) -> Evidence:
        scan = find(evidence, goal)
        assert scan is not None
        changed = [{**s, **change(s, goal, k)} if s is scan else s for s in evidence.state["scans"]]
        return with_state(evidence, scans=changed)

    return displaced


def first_saved(description: str, *finds: Find) -> Criterion:
    """Whether every file asked for that holds a scan holds scan 1, and one of them does."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        numbers = [scan["number"] for find in finds if (scan := find(evidence, goal)) is not None]
        return bool(numbers) and all(n == 1 for n in numbers)

    return Criterion("right_scan_saved", description, check)


# --- tasks


def make_task(instrument: type[Instrument], name: str, row: Subtask) -> Task:
    """The task of a row.

    Parameters
    ----------
    instrument : Instrument subclass
        What is operated.
    name : str
        Its name in ids and in the server.
    row : Subtask
        The row.
    """
    id, file = f"instruments/{name}/{row.name}", f"{instrument.__module__.rpartition('.')[0]}.tasks"
    parts = {"goal": row.goal, "method": row.method}

    def scenario(seed: int) -> Scenario:
        try:
            n = row.numbers(seed)
            words = {k: format(v, row.formats.get(k, "")) for k, v in n.goal.items()}
        except Exception as error:
            # Whatever the author's code raises: the last line of it in the traceback is what must be mended.
            where = traceback.extract_tb(error.__traceback__)[-1]
            text = f"seed {seed} raises {type(error).__name__}: {error} ({where.filename}, line {where.lineno})"
            raise MatAssayError(f"task {id}: {text}") from error
        goal, method = (_filled(text, words, f"task {id} ({file}): its {part}") for part, text in parts.items())
        clock = (
            f"The instrument has a clock of its own: waiting 1 s lets {instrument.time_scale:g} s pass on the "
            "instrument, any other action at most about a second. Stop when the goal is reached; what you leave then "
            "is judged."
        )
        return Scenario(
            seed=seed,
            goal=n.goal,
            start=n.start,
            truth=n.truth,
            instructions={
                Guidance.FULL: f"{goal}\n\nHow to do it:\n{method}\n\n{clock}",
                Guidance.REDUCED: f"{goal}\n\n{clock}",
            },
        )

    def open_world(scenario: Scenario) -> World:
        from matassay.worlds.browser import BrowserWorld  # the browser's driver takes long to import

        return BrowserWorld(name, seed=scenario.seed, start=dict(scenario.start), time_scale=instrument.time_scale)

    return Task(
        id=id,
        title=row.title,
        span=Span.WORKFLOW if row.category is Category.WORKFLOW else Span.SINGLE,
        level=row.level,
        category=row.category,
        revision=row.revision,
        step_limit=row.steps,
        criteria=row.criteria,
        scenario=scenario,
        open_world=open_world,
        truth_fields=instrument.truth_fields,
        grader_package=instrument.__module__.rpartition(".")[0],
        grader_files=(Path(__file__),),  # makers of criteria stand here too
        needs_gui="The instrument can be operated and its data saved only on its panel.",
        time_scale=instrument.time_scale,
        reference=row.reference,
        alternatives=row.alternatives,
        near_misses=row.near_misses,
    )


def _filled(text: str, words: Mapping[str, str], place: str) -> str:
    """Words of an instruction with the goal's entries in their places."""
    try:
        return _paragraphs(text.format(**words))
    except (LookupError, ValueError) as error:
        known = ", ".join(f"{{{name}}}" for name in words) or "nothing"
        wrong = f"names {{{error.args[0]}}}" if isinstance(error, KeyError) else f"cannot be filled in ({error})"
        raise MatAssayError(f"{place} {wrong}; the goal has {known}") from error


def _paragraphs(text: str) -> str:
    """Words without the line breaks of the source: one line per paragraph and list item."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        begins = not lines or not line.strip() or not lines[-1] or re.match(r"(- |\d+\. )", line)
        if begins:
            lines.append(line.strip())
        else:
            lines[-1] += " " + line.strip()
    return "\n".join(lines)
