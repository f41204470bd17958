"""Single parts of the adapter."""

from __future__ import annotations

import asyncio
import importlib
import threading
from datetime import date
from types import SimpleNamespace

import pytest
from inspect_ai import Task
from inspect_ai.model import ModelUsage
from inspect_ai.tool import ContentImage, ContentText, ToolDef

from matassay import evals
from matassay.core import MatAssayError
from matassay.evals._agent import _mapping_of
from matassay.evals._prices import cost, price_list
from matassay.evals._run import providers_left_out
from matassay.evals._task import instruments
from matassay.evals._tool import computer, keep_last
from tests.unit.evals import toy

PARAMETERS = [
    "action", "coordinate", "duration", "region", "scroll_amount", "scroll_direction", "start_coordinate", "text",
    "repeat", "press_enter", "actions",
]  # fmt: skip


def test_the_tool_is_what_providers_map_natively():
    definition = ToolDef(computer())
    assert definition.name == "computer"
    assert list(definition.parameters.properties) == PARAMETERS
    assert all(p.description for p in definition.parameters.properties.values())


def test_inspect_takes_it_for_its_own():
    # Private, so guarded: when it moves, the tests of the providers still tell whether native use works.
    module = pytest.importorskip("inspect_ai.tool._tools._computer._computer")
    from inspect_ai.tool import ToolInfo

    definition = ToolDef(computer())
    info = ToolInfo(name=definition.name, description=definition.description, parameters=definition.parameters)
    assert module.is_computer_tool_info(info)


def test_keep_last_leaves_words_and_recent_images():
    shown = keep_last(2)
    content = [ContentText(text="t"), ContentImage(image="data:image/png;base64,AA==")]
    assert [c.type for c in shown(0, 3, content, {})] == ["text", "text"]  # type: ignore[typeddict-item]
    assert shown(1, 3, content, {}) == content  # type: ignore[typeddict-item]
    assert shown(0, 3, content, {"disable_computer_screenshot_truncation": True}) == content
    assert shown(0, 3, "plain", {}) == "plain"  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("declared", "mapping"),
    [
        ([{"type": "computer"}], "native:computer"),
        ([{"type": "computer_toolset_20260801"}], "native:computer_toolset_20260801"),
        ([{"computer_use": {"environment": "ENVIRONMENT_BROWSER"}}], "native:computer_use"),
        ([{"type": "function", "name": "computer"}], "function"),
    ],
)
def test_mapping(declared, mapping):
    assert _mapping_of(declared) == mapping


def test_cost_is_unknown_rather_than_zero():
    used = ModelUsage(input_tokens=1_000_000, output_tokens=1_000_000, input_tokens_cache_read=1_000_000)
    assert cost({"anthropic/claude-opus-5": used}) == pytest.approx(5 + 25 + 0.5)
    assert cost({"anthropic/claude-opus-5-20260801": used}) == pytest.approx(30.5)
    assert cost({"openai/gpt-5.4-2026-03-05": used}) == pytest.approx(2.5 + 15 + 0.25)
    assert cost({"openai/gpt-5.4": ModelUsage(input_tokens_cache_write=1)}) is None  # a bucket without a price
    assert cost({"openai/gpt-99": used}) is None
    assert cost({"anthropic/claude-opus-5": used, "openai/gpt-99": used}) is None
    assert cost({}) is None


def test_price_list_is_dated_and_has_sources():
    prices = price_list()
    assert date.fromisoformat(prices["date"])
    assert {m.split("/")[0] for m in prices["models"]} == set(prices["source"])
    for price in prices["models"].values():
        assert price.keys() <= {"input", "cache_read", "cache_write", "output"}
        assert all(v > 0 for v in price.values())


def test_samples_leave_out_guidances_that_a_task_lacks():
    from dataclasses import replace

    from matassay.core import Guidance

    task = replace(toy.LAMP, guidances=(Guidance.FULL,))
    assert len(evals.samples([task, toy.SECOND], list(Guidance), range(2))) == 6


def test_task_of_the_engine(monkeypatch):
    suite = toy.Suite("instruments", tuple(toy.make(n, id=f"instruments/lamp/{n}") for n in ("s01-a", "s02-b")))
    monkeypatch.setattr("matassay.core._registry.suites", lambda: {"instruments": suite})
    task = instruments(instrument="lamp", span="single", guidance="full,reduced", seeds=2)
    assert isinstance(task, Task)
    assert [s.id for s in task.dataset][:2] == ["instruments/lamp/s01-a@full#0", "instruments/lamp/s01-a@full#1"]
    assert len(task.dataset) == 8
    assert len(instruments(tasks="instruments/lamp/s02", seed=7).dataset) == 1
    with pytest.raises(MatAssayError, match="begins with"):
        instruments(instrument="oven")
    with pytest.raises(MatAssayError, match="no episode"):
        instruments(instrument="lamp", span="workflow")
    with pytest.raises(MatAssayError, match="unknown agent"):
        instruments(instrument="lamp", agent="react")


def test_scripted_agents_need_no_sdk():
    engine = importlib.import_module("inspect_ai.model._assistant_internal")
    own = engine._HAS_OPENAI, engine._HAS_ANTHROPIC
    with providers_left_out(True):
        assert (engine._HAS_OPENAI, engine._HAS_ANTHROPIC) == (False, False)
    with providers_left_out(False):
        assert own == (engine._HAS_OPENAI, engine._HAS_ANTHROPIC)
    assert own == (engine._HAS_OPENAI, engine._HAS_ANTHROPIC)


async def test_other_episodes_go_on_while_one_is_graded(monkeypatch):
    """A hostile answer of 8 MB takes seconds to be judged."""
    from matassay.evals import _scorer

    going_on = threading.Event()

    def slow(record, meta):
        return going_on.wait(5)

    monkeypatch.setattr(_scorer, "score_of", slow)
    state = SimpleNamespace(store_as=lambda cls: cls(), uuid="no such episode", metadata={})
    grading = asyncio.create_task(_scorer.verdict()(state, None))
    await asyncio.sleep(0)
    going_on.set()  # the loop comes here only if it does not stand still
    assert await grading is True
