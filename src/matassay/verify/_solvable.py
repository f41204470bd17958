"""A task is solved by those who have the skill, and by nobody else."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from matassay.agents import AGENTS
from matassay.core import Attempt, Criterion, Evidence, Goal, Guidance, Interface, Judgement, Outcome, Span

from ._blind import blind
from ._case import Case
from ._finding import Finding
from ._trials import Trial

#: Step budget of every single task; a workflow has 10 to 15 times the steps of its reference, and at least 60.
SINGLE_STEPS, LEAST_WORKFLOW_STEPS = 50, 60
LEAST_NEAR_MISSES = 3
WORKSPACE_FACTOR = 5


async def reference_succeeds(case: Case) -> AsyncIterator[Finding]:
    """A1."""
    trial = await case.reference()
    yield Finding(bool(trial.success) and trial.outcome is Outcome.SCORED, f"reference: {trial.told}")
    limit = case.task.step_limit
    if case.task.interface is Interface.WORKSPACE:
        # An agent that writes code explores, tries and mends: a fair budget is far beyond the cells of a solution.
        least = WORKSPACE_FACTOR * trial.steps
        yield Finding(limit >= least, f"step budget of {limit}; at least {least} by the reference's cells")
    elif case.task.span is Span.SINGLE:
        yield Finding(limit == SINGLE_STEPS, f"step budget of {limit}; a single task has {SINGLE_STEPS}")
    else:
        least, most = (max(LEAST_WORKFLOW_STEPS, n * trial.steps) for n in (10, 15))
        yield Finding(least <= limit <= most, f"step budget of {limit}; {least} to {most} by the reference's steps")


async def nothing_holds_by_itself(case: Case) -> AsyncIterator[Finding]:
    """A2."""
    trial = await case.trial("null", AGENTS["null"])
    yield Finding(trial.success is False, f"an agent that stops at once: {trial.told}")
    for criterion in case.task.criteria:
        holds = held(criterion, trial.start, case.goal)
        if criterion.diagnosis:
            continue
        if criterion.holds_at_start:
            yield Finding(holds, f"guard {criterion.name} {'holds' if holds else 'does not hold'} at the start")
        else:
            yield Finding(not holds, f"goal {criterion.name} {'holds already' if holds else 'is open'} at the start")


def held(criterion: Criterion, evidence: Evidence, goal: Goal) -> bool:
    """Whether a criterion holds."""
    found = criterion.check(evidence, goal)
    return found.holds if isinstance(found, Judgement) else bool(found)


async def chance_fails(case: Case) -> AsyncIterator[Finding]:
    """A3."""
    trials = await asyncio.gather(case.trial("random", AGENTS["random"], reads=False), case.trial("blind", blind))
    for name, trial in zip(("random", "blind"), trials, strict=True):
        ended = trial.outcome in (Outcome.SCORED, Outcome.LIMIT)
        yield Finding(ended and trial.success is False, f"{name} agent: {trial.told}")


async def near_misses_fail(case: Case) -> AsyncIterator[Finding]:
    """A4."""
    misses = case.task.near_misses
    yield Finding(
        len(misses) >= LEAST_NEAR_MISSES, f"{len(misses)} near misses; at least {LEAST_NEAR_MISSES} are asked for"
    )
    async for attempt, trial in _each(case, misses):
        # One that breaks off half way stands for no mistake.
        through = trial.outcome is Outcome.SCORED
        yield Finding(through and trial.success is False, f"near miss {attempt.name}: {trial.told}")


async def alternatives_succeed(case: Case) -> AsyncIterator[Finding]:
    """A5."""
    others = case.task.alternatives
    if not others:
        yield Finding(True, "the task names no other way")
    async for attempt, trial in _each(case, others):
        right = bool(trial.success) and trial.outcome is Outcome.SCORED
        yield Finding(right, f"other way {attempt.name}: {trial.told}")


async def _each(case: Case, attempts: tuple[Attempt, ...]) -> AsyncIterator[tuple[Attempt, Trial]]:
    """Attempts with their episodes, which run side by side."""
    trials = await asyncio.gather(*(case.attempt(a) for a in attempts))
    for attempt, trial in zip(attempts, trials, strict=True):
        yield attempt, trial


async def instructions_state_the_goal(case: Case) -> AsyncIterator[Finding]:
    """A13."""
    for guidance in Guidance:
        words = case.scenario.instructions.get(guidance, "")
        known = guidance in case.task.guidances and bool(words.strip())
        missing = [f"{name} = {value!r}" for name, value in numbers(case.goal) if not _states(words, value)]
        detail = f"lacks {', '.join(missing)}" if missing else f"{len(words.split())} words"
        yield Finding(known and not missing, f"{guidance} instruction: {detail if known else 'there is none'}")


def numbers(values: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """All numbers among the values, however deep, with the path to each."""
    todo: list[tuple[str, Any]] = list(values.items())
    while todo:
        path, value = todo.pop(0)
        if isinstance(value, Mapping):
            todo += [(f"{path}.{k}", v) for k, v in value.items()]
        elif isinstance(value, list | tuple):
            todo += [(f"{path}[{i}]", v) for i, v in enumerate(value)]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield path, value


def _states(words: str, value: float) -> bool:
    """Whether a number stands in a text, however it is written."""
    found = re.findall(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", words)
    return any(float(f) == value or float(f) == abs(value) for f in found)
