"""Every registered task of every suite is held to every check: a new task needs no new test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from matassay.core import Interface, Task, all_tasks
from matassay.verify import CHECKS, Case, Check, Trials, run_check
from matassay.worlds.workspace import missing

SEEDS = 3

#: Dear checks run on one seed of a task here, another seed for the next task; `matassay verify` runs them on all.
DEAR = ("A3", "A4", "A6", "A10")


def is_run(task: Task, number: int, seed: int, check: Check) -> bool:
    """Whether a check runs on a seed of the task of a number."""
    if not check.applies(task):
        return False
    if task.interface is Interface.WORKSPACE:
        # Deterministic and dear: one seed for all checks, and that the reference succeeds on every seed.
        return seed == 0 or check.id == "A1"
    if check.id in DEAR:
        return seed == number % SEEDS
    return check.every_seed or seed == 0


CASES = [
    pytest.param(task, seed, check, id=f"{check.id}-{task.id}-{seed}")
    for number, task in enumerate(all_tasks())
    for seed in range(SEEDS)
    for check in CHECKS.values()
    if is_run(task, number, seed, check)
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
    if lacking := missing(task.requires):
        pytest.skip("; ".join(map(str, lacking)))
    rows = await run_check(check, Case(task, seed, trials))
    assert [row.detail for row in rows if not row.passed] == []


def test_there_are_tasks() -> None:
    assert {task.suite for task in all_tasks()} >= {"instruments", "research"}
