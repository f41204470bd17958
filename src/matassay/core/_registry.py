"""All tasks of all suites, found through the entry point group ``matassay.suites``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.metadata import entry_points

from ._errors import MatAssayError, UnknownTask
from ._task import Span, Task

GROUP = "matassay.suites"


@dataclass(frozen=True)
class Suite:
    """A named set of tasks."""

    name: str
    """First part of the ids of all its tasks."""
    tasks: tuple[Task, ...]
    """Its tasks, in the order in which they are listed."""
    broken: Mapping[str, str] = field(default_factory=dict)
    """Why tasks were left out, by what is known of their ids."""

    def __post_init__(self) -> None:
        for task in self.tasks:
            if task.suite != self.name:
                raise ValueError(f"suite {self.name!r} holds task {task.id!r} of another suite")


@cache
def suites() -> Mapping[str, Suite]:
    """All installed suites by name."""
    found: dict[str, Suite] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        suite = point.load()
        if not isinstance(suite, Suite):
            raise MatAssayError(f"entry point {point.name!r} of group {GROUP!r}: expected a Suite, got {suite!r}")
        if suite.name in found:
            raise MatAssayError(f"two installed packages define the suite {suite.name!r}")
        found[suite.name] = suite
    return found


def all_tasks() -> list[Task]:
    """Every registered task.

    Raises
    ------
    MatAssayError
        If two tasks share an id.
    """
    tasks = [task for suite in suites().values() for task in suite.tasks]
    ids = [t.id for t in tasks]
    if len(set(ids)) != len(ids):
        raise MatAssayError(f"task ids are not unique: {sorted({i for i in ids if ids.count(i) > 1})}")
    return tasks


def find_task(id: str) -> Task:
    """The task of exactly this id.

    Raises
    ------
    UnknownTask
        If there is none.
    """
    for task in all_tasks():
        if task.id == id:
            return task
    raise UnknownTask(_broken(id) or f"no task has the id {id!r}{_nearest(id)}; `matassay list` shows all")


def _under(id: str, prefix: str) -> bool:
    """Whether a prefix selects an id."""
    return id == prefix or id.startswith((prefix + "/", prefix + "-"))


def _broken(prefix: str) -> str:
    """Why tasks that would be meant are not there; empty if none was left out."""
    left = [(id, why) for suite in suites().values() for id, why in suite.broken.items() if _under(id, prefix)]
    return "; ".join(f"{id} is left out: {why}" for id, why in left)


def _nearest(id: str, *, prefixes: bool = False) -> str:
    """A hint at the ids, or also at the beginnings of ids, that look most like this one."""
    known = [t.id for t in all_tasks()]
    if prefixes:
        known += {"/".join(parts[:n]) for parts in (i.split("/") for i in known) for n in range(1, len(parts))}
    near = get_close_matches(id, known, n=3, cutoff=0.7)
    return f" (did you mean {', '.join(near)}?)" if near else ""


def select_tasks(prefixes: Iterable[str] = (), span: Span | None = None) -> list[Task]:
    """Tasks whose id is, or lies under, one of the prefixes; all for no prefix.

    A prefix ends at a path boundary or at a subtask number: ``instruments/xrd``, ``instruments/xrd/s04`` and
    ``instruments/xrd/s04-set-angles`` select, ``instruments/x`` does not.

    Raises
    ------
    UnknownTask
        If a prefix matches nothing.
    """
    tasks, chosen = all_tasks(), {}
    for prefix in [p.strip("/") for p in prefixes] or [""]:
        hits = [t for t in tasks if not prefix or _under(t.id, prefix)]
        if not hits:
            unknown = f"no task id begins with {prefix!r}{_nearest(prefix, prefixes=True)}; `matassay list` shows all"
            raise UnknownTask(_broken(prefix) or unknown)
        chosen.update({t.id: t for t in hits})
    return [t for t in tasks if t.id in chosen and (span is None or t.span is span)]
