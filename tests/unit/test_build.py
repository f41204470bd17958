"""What an author is told whose row of a table is wrong."""

from __future__ import annotations

import dataclasses

import pytest

from matassay.core import MatAssayError
from matassay.suites.instruments._build import make_task
from matassay.suites.instruments.xrd import INSTRUMENT, SUBTASKS


def test_author_is_told_task_and_file() -> None:
    row = SUBTASKS[0]
    wrong = dataclasses.replace(row, method="Set {voltage}.")
    with pytest.raises(
        MatAssayError, match=rf"xrd/{row.name} \(.*xrd\.tasks\): its method names {{voltage}}; the goal"
    ):
        make_task(INSTRUMENT, "xrd", wrong).scenario(0)
    broken = dataclasses.replace(row, numbers=lambda seed: 1 // seed)
    with pytest.raises(MatAssayError, match=rf"xrd/{row.name}: seed 0 raises ZeroDivisionError.*test_build\.py, line"):
        make_task(INSTRUMENT, "xrd", broken).scenario(0)
