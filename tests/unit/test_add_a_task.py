"""The examples of "Add a task" run as they stand on the page, and make a task that passes the checks."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from matassay.core import Attempt, Category, Level, Policy, Scenario, Task, stream
from matassay.grading import state_is, state_within
from matassay.kit.moves import Move, as_policy, enter, look
from matassay.suites.instruments._build import Numbers, Subtask, make_task
from matassay.suites.instruments.xrd import INSTRUMENT as XRD
from matassay.suites.instruments.xrd import criteria
from matassay.suites.instruments.xrd.tasks import _truth
from matassay.verify import verify
from matassay.worlds.browser import close_shared

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-task.md"

#: What stands in the modules into which the page puts the parts, all of it imported there already.
TASKS = {
    "Numbers": Numbers,
    "Subtask": Subtask,
    "Level": Level,
    "Category": Category,
    "stream": stream,
    "_truth": _truth,
}
MOVES = {
    "Attempt": Attempt, "Callable": Callable, "Move": Move, "Policy": Policy, "Scenario": Scenario,
    "as_policy": as_policy, "enter": enter, "look": look,
}  # fmt: skip


def blocks() -> list[str]:
    """The page's fenced ``python`` blocks."""
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def run(code: str, **names: Any) -> SimpleNamespace:
    """Run a module's part; the value of its last expression is ``row``."""
    tree = ast.parse(code, str(PAGE))
    names["__name__"] = PAGE.stem
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, str(PAGE), "exec"), names)
    row = eval(compile(ast.Expression(last.value), str(PAGE), "eval"), names) if isinstance(last, ast.Expr) else None
    return SimpleNamespace(**{k: v for k, v in names.items() if k != "row"}, row=row)


def example() -> Task:
    """The task of the complete example."""
    tasks, reference, near_misses = re.split(r"^# (?:reference|near_misses)\.py.*\n", blocks()[0], flags=re.MULTILINE)
    r = run(reference, **MOVES)
    misses = run(near_misses, r=r, **MOVES)
    return make_task(XRD, "xrd", run(tasks, c=criteria, reference=r, near_misses=misses, **TASKS).row)


@pytest.fixture(scope="module", autouse=True)
def no_browser_left() -> Iterator[None]:
    yield
    close_shared()


def test_criteria_of_the_page_are_made() -> None:
    made = run(blocks()[1], state_within=state_within, state_is=state_is)
    assert (made.VOLTAGE.name, made.SHUTTER_CLOSED.holds_at_start) == ("voltage_reached", True)
    assert len(blocks()) == 2, "teach this test what the new example is"


@pytest.mark.browser
@pytest.mark.timeout(300)
async def test_complete_example_is_a_valid_task() -> None:
    task = example()
    assert task.id == "instruments/xrd/s09-set-start"
    rows = await verify([task], ["A1", "A2", "A4", "A7", "A13", "B3"], seeds=2)
    assert [row for row in rows if not row.passed] == []
    assert {row.check for row in rows} == {"A1", "A2", "A4", "A7", "A13", "B3"}
