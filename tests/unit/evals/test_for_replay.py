"""What agents by code leave in the log for their replay."""

from __future__ import annotations

import base64
from types import SimpleNamespace
from typing import Any

import pytest
from inspect_ai.event import InfoEvent, ModelEvent
from inspect_ai.log._transcript import Transcript, init_transcript
from inspect_ai.model import ChatMessageUser, GenerateConfig, ModelOutput, get_model
from inspect_ai.tool import ToolInfo

from matassay.evals import _cli_agents, _code_agent
from matassay.evals._code_budget import Clock


@pytest.fixture
def events() -> list[Any]:
    kept = Transcript()
    init_transcript(kept)
    return kept.events  # type: ignore[return-value]


def called(events: list[Any], error: str | None = None) -> None:
    from inspect_ai.log import transcript

    output = ModelOutput.from_content("m", "")
    event = ModelEvent(
        model="m", input=[], tools=[], tool_choice="auto", config=GenerateConfig(), output=output, error=error
    )
    transcript()._event(event)


async def test_a_step_of_a_program_says_how_many_calls_came_before_it(
    events: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that its reply is found though the program asks for titles, and the engine tries failed calls again."""
    noted: list[dict[str, Any]] = []

    async def note(action: dict[str, Any]) -> None:
        noted.append(action)

    monkeypatch.setattr(_cli_agents, "keep", lambda episode, record: None)
    episode = SimpleNamespace(steps=0, step_limit=None, budget=None, note=note)
    watch = _cli_agents.Watch(SimpleNamespace(episode=episode), SimpleNamespace(turns=0), Clock(None, lambda: 0.0))  # type: ignore[arg-type]
    tool = ToolInfo(name="Bash", description="Run.")
    model = get_model("mockllm/model")
    for tools, error in (([], None), ([tool], None), ([tool], "overloaded"), ([tool], None)):
        await watch.filter(model, [ChatMessageUser(content="x")], tools, None, GenerateConfig())
        called(events, error)
    assert [action["before"] for action in noted] == [1, 2, 2]


def test_plots_that_the_model_is_not_shown_are_kept_within_bounds(
    events: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from inspect_ai.log import transcript

    monkeypatch.setattr(_code_agent, "KEPT_PLOTS", 5)
    loop = _code_agent.ByReplies.__new__(_code_agent.ByReplies)
    loop.live = SimpleNamespace(episode=SimpleNamespace(steps=3))  # type: ignore[assignment]
    loop.keep_plots([b"ab", b"c"])
    loop.keep_plots([b"defg"])
    (event,) = [e for e in transcript().events if isinstance(e, InfoEvent)]
    assert (event.source, event.data["step"]) == ("matassay/plots", 3)  # type: ignore[index,call-overload]
    uris = event.data["plots"]  # type: ignore[index,call-overload]
    assert [base64.b64decode(uri.partition(",")[2]) for uri in uris] == [b"ab", b"c"]
