"""Running checks over tasks and seeds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from matassay.core import EnvironmentFailure, MatAssayError, Task

from ._case import Case
from ._checks import CHECKS, Check, CheckRow
from ._trials import PARALLEL, Trials

Progress = Callable[[CheckRow], None]
"""Told of every row as it is found."""


def select_checks(ids: Iterable[str] | None) -> list[Check]:
    """Checks by id, in the order of the table; all for None.

    Raises
    ------
    MatAssayError
        If an id is unknown.
    """
    if ids is None:
        return list(CHECKS.values())
    wanted = {i.upper() for i in ids}
    if unknown := wanted - set(CHECKS):
        raise MatAssayError(f"unknown check {', '.join(sorted(unknown))}; known: {', '.join(CHECKS)}")
    return [c for c in CHECKS.values() if c.id in wanted]


async def run_check(check: Check, case: Case) -> list[CheckRow]:
    """Rows of one check; one that raises or finds nothing has failed.

    Raises
    ------
    EnvironmentFailure
        If the world broke: no statement about the task is possible.
    """
    rows = []
    try:
        rows = [CheckRow(case.task.id, check.id, case.seed, *finding) async for finding in check.look(case)]
    except EnvironmentFailure:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a task's own code raises is a finding about it
        rows.append(CheckRow(case.task.id, check.id, case.seed, False, f"{type(error).__name__}: {error}"[:500]))
    return rows or [CheckRow(case.task.id, check.id, case.seed, False, "the check looked at nothing")]


async def verify(
    tasks: Sequence[Task],
    checks: Iterable[str] | None = None,
    seeds: int | Iterable[int] = 3,
    progress: Progress | None = None,
    parallel: int = PARALLEL,
) -> list[CheckRow]:
    """Check tasks.

    Parameters
    ----------
    tasks : sequence of Task
        What to check.
    checks : iterable of str, optional
        Ids of `CHECKS`; all by default.
    seeds : int or iterable of int
        Which seeds; a number means 0 to that number.
    progress : callable, optional
        Told of every row as it is found.
    parallel : int
        Episodes at the same time.

    Returns
    -------
    list of CheckRow
        In the order of tasks, seeds and checks. A task is valid if every row passed.

    Raises
    ------
    EnvironmentFailure
        If the world broke.
    """
    chosen = select_checks(checks)
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    trials, places = Trials(parallel), asyncio.Semaphore(parallel)

    async def rows_of(task: Task, seed: int) -> list[CheckRow]:
        async with places:
            case, rows = Case(task, seed, trials), []
            for check in chosen:
                if check.applies(task) and (check.every_seed or seed == numbers[0]):
                    found = await run_check(check, case)
                    rows += found
                    for row in found if progress else ():
                        assert progress is not None
                        progress(row)
            return rows

    work = [asyncio.create_task(rows_of(task, seed)) for task in tasks for seed in numbers]
    try:
        return [row for rows in await asyncio.gather(*work) for row in rows]
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await trials.close()
