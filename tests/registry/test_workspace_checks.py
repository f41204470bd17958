"""The checks of research tasks: a sound one passes, and each fault is caught by the check that is for it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from matassay.core import Task
from matassay.suites.research import TaskFolder
from matassay.verify import CHECKS, Case, Trials, run_check

SPEC = """
id: research/study/202603_999-squares
title: Squares
revision: 1
kind: run_and_analyze
goal: {n: 5}
inputs: {data.json: numbers}
answer:
  fields:
    total: {type: number, unit: "1", rtol: 0.001, reason: "rounding of the printed digits"}
    count: {type: integer}
# Canary: matassay:8c1f4c1e-2f0b-4d53-9b75-6f1f0e0d7a31 - this file must not be used as training data.
"""
PROMPT = """Sum the squares of the {{n}} numbers in `inputs/data.json` within 0.1 %.

<!-- method -->
Square before you add.
<!-- /method -->

Write `answer.json` with `total` and `count`.
"""
SOLUTION = """
import json
data = json.load(open("inputs/data.json"))
# %%
total = sum(x**2 for x in data)
# %%
json.dump({"total": total, "count": len(data)}, open("answer.json", "w"))
"""
MISSES = """
from matassay.suites.research import Miss
MISSES = (
    Miss("linear", "does not square", {"x**2": "x"}),
    Miss("cubes", "cubes", {"x**2": "x**3"}),
    Miss("one_short", "leaves one out", {"in data)": "in data[1:])"}),
)
ALTERNATIVES = (Miss("product", "multiplies", {"x**2": "x * x"}),)
"""
DATA = [1.2345, 2.3456, 3.4567, 4.5678, 5.6789]
TOTAL = sum(x**2 for x in DATA)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "study" / "squares"
    (place / "inputs").mkdir(parents=True)
    for name, text in (
        ("task.yaml", SPEC), ("prompt.md", PROMPT), ("solution.py", SOLUTION), ("near_misses.py", MISSES),
        ("inputs/data.json", json.dumps(DATA)), ("reference.json", json.dumps({"total": TOTAL, "count": 5})),
    ):  # fmt: skip
        (place / name).write_text(text)
    return place


def change(folder: Path, name: str, old: str, new: str) -> None:
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


@pytest.fixture
async def trials() -> AsyncIterator[Trials]:
    trials = Trials()
    yield trials
    await trials.close()


async def failed(task: Task, id: str, trials: Trials) -> list[str]:
    return [row.detail for row in await run_check(CHECKS[id], Case(task, 0, trials)) if not row.passed]


async def test_a_sound_task_passes_all(folder: Path, trials: Trials) -> None:
    task = TaskFolder(folder).task()
    found = {id: await failed(task, id, trials) for id, check in CHECKS.items() if check.applies(task)}
    assert {id: details for id, details in found.items() if details} == {}


FAULTS = {
    "A1": ("solution.py", "x**2", "x**2.1"),
    "A3": ("task.yaml", "rtol: 0.001", "rtol: 0.001, atol: 1.0e9"),
    "A4": ("near_misses.py", '{"x**2": "x**3"}', '{"x**2": "1.0 * x**2"}'),
    "A5": ("near_misses.py", '"x * x"', '"x * x * x"'),
    "A6": ("inputs/data.json", "[1.2345", f"[1.2345, {TOTAL!r}"),
    "A7": ("prompt.md", "within 0.1 %", f"(it is {TOTAL!r})"),
    "A10": ("solution.py", '"total": total', '"total": total * (1 + 1e-9 * __import__("secrets").randbelow(10**5))'),
    "A13": ("prompt.md", "{{n}}", "given"),
    "C8": ("task.yaml", "Canary", "Finch"),
}


@pytest.mark.parametrize("id", FAULTS)
async def test_each_fault_is_caught(folder: Path, trials: Trials, id: str) -> None:
    change(folder, *FAULTS[id])
    if id == "A3":  # so wide that any number passes
        change(folder, "task.yaml", "    count: {type: integer}\n", "")
        change(folder, "solution.py", ', "count": len(data)', "")
        (folder / "reference.json").write_text(json.dumps({"total": TOTAL}))
    if id == "C8":
        change(folder, "task.yaml", "matassay:8c1f4c1e", "matassay:00000000")
    assert await failed(TaskFolder(folder).task(), id, trials)


async def test_a_near_miss_that_crashes_stands_for_no_mistake(folder: Path, trials: Trials) -> None:
    change(folder, "near_misses.py", '{"x**2": "x**3"}', '{"x**2": "x**missing"}')
    (detail,) = await failed(TaskFolder(folder).task(), "A4", trials)
    assert "agent_error" in detail
