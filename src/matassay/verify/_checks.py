"""The table of checks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from matassay.core import Interface, Task

from . import _graders, _hidden, _repeatable, _solvable, _workspace
from ._case import Case
from ._finding import Finding


class CheckRow(NamedTuple):
    """One line of the report."""

    task: str
    """Task id."""
    check: str
    """Key of `CHECKS`."""
    seed: int
    """Seed of the episode."""
    passed: bool
    """Whether the claim holds."""
    detail: str
    """What was found, one line."""


@dataclass(frozen=True)
class Check:
    """One claim about a task, and how it is tested."""

    id: str
    """As in docs/explanation/trust.md, e.g. ``A1``."""
    title: str
    """The claim, a few words."""
    run: Callable[[Case], AsyncIterator[Finding]]
    """Yields at least one finding; all must pass."""
    every_seed: bool = True
    """False for what does not depend on the seed: it is looked at once."""
    workspace: Callable[[Case], AsyncIterator[Finding]] | None = None
    """How it is tested where the agent acts by code; by default as on a screen."""
    screen_only: bool = False
    """True for what has no meaning where there is no instrument."""

    def applies(self, task: Task) -> bool:
        """Whether it says anything about this task."""
        return task.interface is Interface.SCREEN or not self.screen_only

    def look(self, case: Case) -> AsyncIterator[Finding]:
        """Test the claim on a task and a seed."""
        if case.task.interface is Interface.WORKSPACE and self.workspace is not None:
            return self.workspace(case)
        return self.run(case)


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        check.id: check
        for check in (
            Check("A1", "the reference succeeds, within the step budget", _solvable.reference_succeeds),
            Check("A2", "who does nothing has nothing", _solvable.nothing_holds_by_itself),
            Check(
                "A3",
                "chance and blind trying do not succeed",
                _solvable.chance_fails,
                workspace=_workspace.chance_fails,
            ),
            Check("A4", "at least three near misses fail", _solvable.near_misses_fail),
            Check("A5", "other right ways succeed", _solvable.alternatives_succeed),
            Check(
                "A6",
                "hidden truth shows nowhere",
                _hidden.truth_shows_nowhere,
                workspace=_workspace.truth_shows_nowhere,
            ),
            Check("A7", "hidden truth is declared and not asked for", _hidden.truth_is_declared),
            Check("A8", "hostile files fail and break nothing", _graders.hostile_files_fail),
            Check(
                "A9",
                "browser and sandbox cannot be left",
                _hidden.browser_is_pinned,
                every_seed=False,
                workspace=_workspace.sandbox_holds,
            ),
            Check(
                "A10",
                "same seed same pixels or files, other seed other truth",
                _repeatable.same_seed_same_pixels,
                workspace=_workspace.same_seed_same_files,
            ),
            Check(
                "A11",
                "an episode leaves nothing behind",
                _repeatable.nothing_is_left_behind,
                every_seed=False,
                workspace=_workspace.nothing_is_left_behind,
            ),
            Check(
                "A12", "the clock on the wall does not matter", _repeatable.wall_clock_does_not_matter, screen_only=True
            ),
            Check("A13", "both instructions state every number of the goal", _solvable.instructions_state_the_goal),
            Check("A14", "guidances differ in method alone", _workspace.guidances_differ_in_method, every_seed=False),
            Check("B1", "the verdict is a pure function of stored evidence", _graders.verdict_is_pure),
            Check("B3", "tolerances pass within and fail beyond", _graders.tolerances_are_sharp),
            Check("B6", "a grader's crash is not a verdict", _graders.crash_is_not_a_verdict),
            Check("C6", "revision and checksum are there", _graders.grader_is_identified, every_seed=False),
            Check("C8", "the task file has the canary", _hidden.canary_is_there, every_seed=False),
        )
    }
)
"""All checks by id, in the order in which they are reported."""
