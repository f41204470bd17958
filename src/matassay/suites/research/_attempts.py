"""Solutions, other right ways and near misses: scripts whose cells run in the sandbox, one step each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matassay.core import Attempt, MatAssayError, Policy, Scenario

_BREAK = re.compile(r"(?m)^# %%.*$")


@dataclass(frozen=True)
class Miss:
    """A variation of a solution: a mistake that people make, or another right way."""

    name: str
    """snake_case."""
    description: str
    """Which mistake it stands for, or what is done otherwise."""
    changes: Mapping[str, str] = field(default_factory=dict)
    """Fragments of ``solution.py``, each of which occurs there once, and what stands in their place."""
    cells: Sequence[str] = ()
    """Whole cells instead, where a change of fragments does not do."""


def cells_of(script: str) -> list[str]:
    """The cells of a script, which are separated by lines that begin with ``# %%``."""
    return [cell.strip("\n") + "\n" for cell in _BREAK.split(script) if cell.strip()]


def attempt(miss: Miss, solution: str, where: str) -> Attempt:
    """The scripted agent of a variation.

    Raises
    ------
    MatAssayError
        If a fragment is not in the solution, or more than once.
    """
    cells = list(miss.cells) or cells_of(changed(solution, miss, where))
    return Attempt(miss.name, miss.description, _policy(cells))


def changed(solution: str, miss: Miss, where: str) -> str:
    """The solution with the fragments of a variation."""
    for old, new in miss.changes.items():
        count = solution.count(old)
        if count != 1:
            raise MatAssayError(
                f"{where}: {miss.name}: fragment {old!r:.80} occurs {count} times in solution.py, not once"
            )
        solution = solution.replace(old, new)
    return solution


def reference(solution: str) -> Attempt:
    """The scripted agent of the solution itself."""
    return Attempt("reference", "the cells of solution.py", _policy(cells_of(solution)))


def _policy(cells: Sequence[str]) -> Callable[[Scenario], Policy]:
    def policy(scenario: Scenario) -> Policy:
        for cell in cells:
            observation = yield {"action": "run_code", "code": cell}
            if observation.extra.get("failed"):
                # A solution that breaks in the middle would leave half an answer, and a near miss would fail by that.
                raise RuntimeError(f"a cell failed: {observation.text[-400:]}")

    return policy


def read_variations(file: Path) -> dict[str, tuple[Miss, ...]]:
    """``MISSES`` and ``ALTERNATIVES`` of a ``near_misses.py``; it is our own code and is run.

    Raises
    ------
    MatAssayError
        If the file cannot be run or holds something else.
    """
    space: dict[str, Any] = {"__name__": "near_misses", "__file__": str(file)}
    try:
        exec(compile(file.read_text("utf-8"), str(file), "exec"), space)  # noqa: S102 - a file of the package
    except (Exception, SystemExit) as error:  # whatever it does, it must not end us
        raise MatAssayError(f"{file}: cannot be run ({type(error).__name__}: {error})") from error
    return {name: tuple(_checked(space.get(name, ()), file, name)) for name in ("MISSES", "ALTERNATIVES")}


def _checked(found: Any, file: Path, name: str) -> Iterator[Miss]:
    if not isinstance(found, list | tuple):
        raise MatAssayError(f"{file}: {name}: expected a tuple of Miss, got {type(found).__name__}")
    for entry in found:
        if not isinstance(entry, Miss) or not (entry.changes or entry.cells):
            raise MatAssayError(f"{file}: {name}: expected a Miss with changes or cells, got {entry!r:.80}")
        yield entry
