"""Scripted agents as a model provider: ``reference/reference``, ``reference/null``, ``reference/random``.

A policy is the same generator as in `matassay.agents`; it acts by the tool calls that it emits, one action per turn,
and sees each screen with its accessibility list. No network, no tokenizer.
"""

from __future__ import annotations

from typing import Any

from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessage,
    ChatMessageAssistant,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall, ToolChoice, ToolInfo

from matassay.agents import AGENTS, attempt_named, describe, public
from matassay.core import Interface, MatAssayError, Policy

from ._agent import AgentFailure
from ._record import Live, current

#: Name of the provider.
PROVIDER = "reference"


class ReferenceModel(ModelAPI):
    """A scripted agent in the place of a model.

    Parameters
    ----------
    attempt : str, optional
        Name of an attempt of the task (an alternative, a near miss) to run instead of the agent.
    """

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008 - as the engine's own providers have it
        attempt: str | None = None,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in AGENTS:
            raise MatAssayError(f"unknown scripted agent {model_name!r}; known: {', '.join(AGENTS)}")
        self.attempt = attempt

    def max_connections(self) -> int:
        """No limit of its own: nothing is connected to."""
        return 1000

    def connection_key(self) -> str:
        """One pool."""
        return PROVIDER

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - the engine's name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """The policy's next action, or the word that it is done."""
        live, _ = current()
        try:
            if live.policy is None:
                live.accessible = True
                live.policy = self._policy(live)
                action: dict[str, Any] | None = next(live.policy)
            else:
                assert live.observation is not None
                action = live.policy.send(live.observation)
        except StopIteration:
            action = None
        except Exception as error:
            raise AgentFailure(describe(error)) from error
        return self._output(live.episode.task.interface, action, len(input))

    def _policy(self, live: Live) -> Policy:
        task, scenario = live.episode.task, live.episode.scenario
        if self.attempt is not None:
            return attempt_named(task, self.attempt).policy(public(scenario))
        return AGENTS[self.model_name](task, scenario, scenario.seed)

    def _output(self, interface: Interface, action: dict[str, Any] | None, turn: int) -> ModelOutput:
        calls = None
        if action is not None and interface is Interface.WORKSPACE:
            code = {name: value for name, value in action.items() if name != "action"}
            calls = [ToolCall(id=f"call{turn}", function="python", arguments=code)]
        elif action is not None:
            # As a batch of one: only there an action can have a path.
            calls = [ToolCall(id=f"call{turn}", function="computer", arguments={"actions": [action]})]
        message = ChatMessageAssistant(
            content="Done." if calls is None else "", tool_calls=calls, model=self.model_name, source="generate"
        )
        choice = ChatCompletionChoice(message=message, stop_reason="stop" if calls is None else "tool_calls")
        # Without usage the engine would count tokens, for which it fetches a tokenizer from the network.
        return ModelOutput(model=self.model_name, choices=[choice], usage=ModelUsage())
