"""Every registered task of every suite is held to every check: a new task needs no new test."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from matassay.core import Interface, Task, all_tasks
from matassay.verify import CHECKS, Case, Check, Trials, run_check
from matassay.worlds.workspace import missing

#: Seeds from which each task in turn gets its own.
SEEDS = 3


def is_run(task: Task, number: int, seed: int, check: Check) -> bool:
    """Whether a check runs on a seed of the task of a number; `matassay verify` runs them on all.

    Here all checks look at one seed, so that they share its episodes: the first in a workspace, where little depends on
    it, and another one for the next task on a screen. The reference has to succeed on the following one as well, at
    which A11 looks too.
    """
    if not check.applies(task):
        return False
    chosen = 0 if task.interface is Interface.WORKSPACE else number % SEEDS
    return seed == chosen or (seed == chosen + 1 and check.id == "A1")


CASES = [
    pytest.param(task, seed, check, id=f"{check.id}-{task.id}-{seed}")
    for number, task in enumerate(all_tasks())
    for seed in range(SEEDS + 1)
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
