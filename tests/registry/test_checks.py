"""The checks themselves: a sound task passes all of them, and each fault is caught by the check that is for it."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from matassay.core import Attempt, EnvironmentFailure, Guidance, MatAssayError, Span, Task, Tolerance
from matassay.verify import CHECKS, Case, CheckRow, Trials, run_check, select_checks, verify
from matassay.verify._exposure import Exposure
from matassay.verify._hidden import encodings, patterns, places
from matassay.worlds.browser import close_shared

from . import dial
from .dial import MISSES, RIGHT, SOUND, shown_by, turn, with_criterion, with_scenario

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]


@pytest.fixture(scope="module", autouse=True)
def importable() -> Iterator[None]:
    """The server is a child process: it must find the test instrument."""
    with pytest.MonkeyPatch.context() as patch:
        root = Path(__file__).parents[2]
        patch.setenv("PYTHONPATH", os.pathsep.join([str(root), *filter(None, [os.environ.get("PYTHONPATH")])]))
        yield
    close_shared()


@pytest.fixture(autouse=True)
def toy_instruments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matassay.verify._repeatable.INSTRUMENTS", {"dial": dial.Dial, "wall": dial.LooksAtTheWall})


@pytest.fixture
async def trials() -> AsyncIterator[Trials]:
    trials = Trials()
    yield trials
    await trials.close()


def replace(**changes: Any) -> Task:
    return dataclasses.replace(SOUND, **changes)


def idle(scenario: object) -> Any:
    yield {"action": "screenshot"}


def reads_numbers(evidence: Any, goal: Any) -> bool:
    file = evidence.artefact("dial.txt")
    return file is not None and float(file.data) > 0


class Moody:
    """A criterion that remembers."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, evidence: Any, goal: Any) -> bool:
        self.asked += 1
        return self.asked % 2 == 1


def forgetful_words() -> dict[Guidance, str]:
    return {Guidance.FULL: "Set the dial and save it as dial.txt.", Guidance.REDUCED: ""}


FAULTS: dict[str, tuple[str, Task]] = {
    "a reference that does nothing": ("A1", replace(reference=Attempt("reference", "idle", idle))),
    "a reference that breaks off": ("A1", replace(reference=Attempt("reference", "lost", dial.lost))),
    "no reference": ("A1", replace(reference=None)),
    "a budget of its own": ("A1", replace(step_limit=49)),
    "a workflow with too large a budget": ("A1", replace(span=Span.WORKFLOW, step_limit=61)),
    "a goal that holds at the start": ("A2", with_criterion("angle", lambda e, g: e.state["angle"] >= 0)),
    "a guard that does not hold at the start": ("A2", with_criterion("once", lambda e, g: e.state["saves"] == 1)),
    "any press is enough": ("A3", replace(criteria=(dial.Criterion("any", "", lambda e, g: e.state["saves"] > 0),))),
    "two near misses": ("A4", replace(near_misses=MISSES[:2])),
    "a near miss that is right": ("A4", replace(near_misses=(*MISSES, RIGHT))),
    "a near miss that breaks off": ("A4", replace(near_misses=(*MISSES, Attempt("lost", "", dial.lost)))),
    "another way that is wrong": ("A5", replace(alternatives=(Attempt("off", "", turn(0.5, 1)),))),
    "truth in a readout": ("A6", shown_by("ShowsTruth")),
    "truth in a plot": ("A6", shown_by("PlotsTruth")),
    "truth in a file": ("A6", shown_by("SavesTruth")),
    "truth in a property that is not drawn": ("A6", shown_by("SaysTruth")),
    "truth that is not declared": ("A7", replace(truth_fields=("other",))),
    "truth in the goal": ("A7", with_scenario(goal={"offset": 1.5})),
    "truth in the words": ("A7", with_scenario(truth={"offset": 1.2345}, instructions={Guidance.FULL: "Add 1.2345."})),
    "a grader that trusts files": ("A8", with_criterion("saved", reads_numbers)),
    "a grader that wants any file": ("A8", with_criterion("saved", lambda e, g: bool(e.artefacts))),
    "a picture by chance": ("A10", shown_by("Shuffled")),
    "a seed that is not used": ("A10", with_scenario(truth={"offset": 1.2345})),
    "a class that remembers": ("A11", shown_by("Remembers")),
    "a look at the wall clock": ("A12", replace(id="toy/wall/s01-turn")),
    "numbers that are not stated": ("A13", with_scenario(instructions=forgetful_words())),
    "a moody grader": ("B1", with_criterion("saved", Moody())),
    "a tolerance that is not used": ("B3", with_criterion("angle", lambda e, g: abs(e.state["angle"] - g["angle"]) < 2)),
    "a tolerance without a reason": (
        "B3",
        with_criterion("angle", dial.at_angle, tolerance=Tolerance(dial.WITHIN, "deg", "", dial.moved)),
    ),
    "a grader that returns words": ("B1", with_criterion("saved", lambda e, g: "yes")),
    "a file without canary": ("C8", replace(grader_package="matassay.core")),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_fault_is_caught(fault: str, trials: Trials) -> None:
    check, task = FAULTS[fault]
    rows = await run_check(CHECKS[check], Case(task, 1, trials))
    assert any(not row.passed for row in rows), rows


async def test_sound_task_passes_every_check() -> None:
    told: list[CheckRow] = []
    rows = await verify([replace(id="toy/dial/s01-turn")], seeds=[1], progress=told.append)
    assert [row for row in rows if not row.passed] == []
    assert {row.check for row in rows} == set(CHECKS)
    assert told == rows


async def test_rows_come_in_the_order_of_tasks_and_seeds() -> None:
    tasks = [replace(id="toy/dial/s02-two"), replace(id="toy/dial/s01-one")]
    rows = await verify(tasks, ["a7", "C6"], seeds=2)
    keys = list(dict.fromkeys((row.task, row.seed, row.check) for row in rows))
    assert keys == [
        (task.id, seed, check)
        for task in tasks
        for seed in (0, 1)
        for check in ("A7", "C6")
        if check == "A7" or seed == 0
    ]


def test_unknown_check_is_named() -> None:
    with pytest.raises(MatAssayError, match="unknown check A99; known: A1, "):
        select_checks(["A1", "A99"])


async def test_broken_world_is_no_finding() -> None:
    with pytest.raises(EnvironmentFailure):
        await verify([replace(open_world=dial.world("NoSuchDial"))], ["A1"], seeds=1)


async def test_check_that_looks_at_nothing_has_failed(trials: Trials) -> None:
    async def nothing(case: Case) -> AsyncIterator[Any]:
        for finding in ():
            yield finding

    rows = await run_check(dataclasses.replace(CHECKS["A1"], run=nothing), Case(SOUND, 0, trials))
    assert [(row.passed, row.detail) for row in rows] == [(False, "the check looked at nothing")]


async def test_episodes_are_shared() -> None:
    trials = Trials()
    case = Case(SOUND, 0, trials)
    one, two, other = await case.reference(), await case.reference(), await case.reference(copy=1)
    assert one is two
    assert one is not other
    assert one.screens == other.screens
    await trials.close()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.012345, "height: 0.01234px"),  # rounded to even by the page
        (0.012345, '{"zero":-.012345}'),
        (-0.012345, "0.012345"),
        (1.23456, "1.235"),
        (1.23456, "1.2345600128173828"),  # through a float32
        (1.23456, "1.2346e+00"),
        ("anatase", 'polymorph="anatase"'),
        (12345, "id=12345"),
    ],
)
def test_leak_is_found_in_every_notation(value: object, text: str) -> None:
    assert places(value, Exposure({"somewhere": text})) == ["somewhere"]


@pytest.mark.parametrize(
    ("value", "text"), [(0.012345, "10.012345"), (1.23456, "21.235"), (1.23456, "1.23"), ("anatase", "rutile")]
)
def test_other_numbers_are_no_leak(value: object, text: str) -> None:
    assert places(value, Exposure({"somewhere": text})) == []


@pytest.mark.parametrize("value", [0, 1, 1.0, 0.5, True, None, "ab", 0.02, float("nan")])
def test_common_values_are_not_searched_for(value: object) -> None:
    assert patterns(value) == []
    assert encodings(value) == []
