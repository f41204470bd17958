"""Makers of criteria on the state of a world: one line of a task's table each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from matassay.core import Criterion, Evidence, Goal, Tolerance

from .compare import close


def state_equals(name: str, description: str, key: str, goal_key: str, *, guard: bool = False) -> Criterion:
    """``state[key]`` is exactly ``goal[goal_key]``, in type as well (an int equals a float of the same value)."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        return _equal(evidence.state[key], goal[goal_key])

    return Criterion(name, description, check, holds_at_start=guard)


def state_is(name: str, description: str, key: str, value: Any, *, guard: bool = False) -> Criterion:
    """``state[key]`` is exactly a fixed value."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        return _equal(evidence.state[key], value)

    return Criterion(name, description, check, holds_at_start=guard)


def state_within(
    name: str,
    description: str,
    key: str,
    goal_key: str,
    tolerance: float,
    unit: str,
    reason: str,
    *,
    guard: bool = False,
) -> Criterion:
    """``state[key]`` lies within a tolerance of ``goal[goal_key]``, both in ``unit``."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        return close(evidence.state[key], goal[goal_key], tolerance, unit)

    def displaced(evidence: Evidence, goal: Goal, k: float) -> Evidence:
        return with_state(evidence, **{key: goal[goal_key] + k * tolerance})

    return Criterion(name, description, check, guard, Tolerance(tolerance, unit, reason, displaced))


def no_consequence(*names: str, guard_name: str = "nothing_harmed") -> Criterion:
    """Guard: none of the named consequences happened."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        return not any(c.name in names for c in evidence.consequences)

    return Criterion(guard_name, f"none of these happened: {', '.join(names)}", check, holds_at_start=True)


def archive_kept() -> Criterion:
    """Guard: every file that was there before still has its content (``state["archive"]``: digests by name)."""

    def check(evidence: Evidence, goal: Goal) -> bool:
        now = {a.name: a.sha256 for a in evidence.artefacts}
        return all(now.get(name) == digest for name, digest in evidence.state["archive"].items())

    return Criterion("archive_kept", "every file that was there before is unchanged", check, holds_at_start=True)


def with_state(evidence: Evidence, **changes: Any) -> Evidence:
    """The evidence with other values in its state."""
    return dataclasses.replace(evidence, state={**evidence.state, **changes})


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool) or type(a) is not type(b):
        numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (a, b))
        return bool(a == b) if numbers or type(a) is type(b) else False
    return bool(a == b)


Check = Callable[[Evidence, Goal], bool]
"""What a criterion asks."""
