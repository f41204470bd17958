"""Every registered task of every suite is held to every check: a new task needs no new test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from matassay.core import Task, all_tasks
from matassay.verify import CHECKS, Case, Check, Trials, run_check

SEEDS = 3

#: Dear checks run on one seed of a task here, another seed for the next task; `matassay verify` runs them on all.
DEAR = ("A3", "A4", "A6", "A10")


def is_run(number: int, seed: int, check: Check) -> bool:
    """Whether a check runs on a seed of the task of a number."""
    if check.id in DEAR:
        return seed == number % SEEDS
    return check.every_seed or seed == 0


CASES = [
    pytest.param(task, seed, check, id=f"{check.id}-{task.id}-{seed}")
    for number, task in enumerate(all_tasks())
    for seed in range(SEEDS)
    for check in CHECKS.values()
    if is_run(number, seed, check)
]


@pytest.fixture(scope="session")
async def trials() -> AsyncIterator[Trials]:
    """Episodes are shared by the checks that a worker runs."""
    trials = Trials()
    yield trials
    await trials.close()


@pytest.mark.browser
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("task", "seed", "check"), CASES)
async def test_every_task_is_held_to_every_check(task: Task, seed: int, check: Check, trials: Trials) -> None:
    rows = await run_check(check, Case(task, seed, trials))
    assert [row.detail for row in rows if not row.passed] == []


def test_there_are_tasks() -> None:
    assert {task.suite for task in all_tasks()} >= {"instruments"}
