"""Command-line agents in a workspace: Codex CLI and Claude Code, by ``inspect-swe``.

The program runs inside the sandbox, without a network; its calls of a model come out through the engine's bridge and
are answered by the run's model. One reply of the model is one step. The program must have been installed where the
sandbox finds it: nothing is downloaded.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio
from inspect_ai.agent import Agent, as_solver
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    GenerateInput,
    Model,
    ModelOutput,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolChoice, ToolInfo
from inspect_ai.util import LimitExceededError, SandboxUnavailableError, sandbox

from matassay.agents import describe
from matassay.core import MatAssayError, Outcome
from matassay.worlds.workspace import WorkspaceEnded

from ._agent import AgentFailure, ending
from ._clean import clean_answers
from ._code_agent import PLACE
from ._code_budget import Clock, TimeIsUp, budget
from ._record import Live, Record, current, keep

#: Calls without tools that a program may make for each of its steps.
ASIDE: Final = 4

_DONE: Final = """\
Work until all files that the task asks for are written, then stop. Do not ask questions and do not wait for anybody."""


@dataclass(frozen=True)
class _Program:
    """A command-line agent."""

    binary: str
    """What it is called in the sandbox."""
    package: str
    """Package of npm that has it."""
    function: str
    """What makes it in ``inspect_swe``."""
    options: Mapping[str, Any]
    """How it is to run."""


# Their own files go where they are no evidence. Searches of the web would be done by the model's provider.
PROGRAMS: Final[Mapping[str, _Program]] = {
    "codex": _Program(
        "codex",
        "@openai/codex",
        "codex_cli",
        {"web_search": "disabled", "goals": False, "home_dir": "/tmp/.codex"},  # noqa: S108 - in the sandbox
    ),
    "claude-code": _Program(
        "claude",
        "@anthropic-ai/claude-code",
        "claude_code",
        {
            "disallowed_tools": ["WebSearch", "WebFetch"],
            "env": {"CLAUDE_CONFIG_DIR": "/tmp/.claude"},  # noqa: S108 - in the sandbox
            "retry_refusals": None,
        },
    ),
}


@solver
def cli_agent(name: str, *, seconds: float | None = None) -> Solver:
    """Let a command-line agent work in the sandbox until it stops by itself or a limit stops it.

    It has no budget of steps of its own: only one that the run sets.

    Parameters
    ----------
    name : str
        ``codex`` or ``claude-code``.
    seconds : float, optional
        Time budget of the attempt, s; by default the task's own, and never more than what the run allows.

    Raises
    ------
    MatAssayError
        If there is no such agent, or ``inspect-swe`` is not installed.
    """
    if name not in PROGRAMS:
        raise MatAssayError(f"unknown command-line agent {name!r}; known: {', '.join(PROGRAMS)}")
    program = PROGRAMS[name]
    make = _maker(program.function)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        live, record = current()
        clean_answers(get_model())
        clock = Clock(budget(seconds if seconds is not None else live.episode.task.seconds))
        watch = Watch(live, record, clock)

        async def work() -> None:
            await _require(program)
            state.messages = [
                ChatMessageSystem(content=f"{PLACE}\n\n{_DONE}"),
                ChatMessageUser(content=live.episode.instruction + watch.notice()),
            ]
            record.tool_mapping = f"cli:{name}"
            agent = make(version="sandbox", filter=watch.filter, **program.options)
            with anyio.move_on_after(None if math.isinf(clock.left) else clock.left) as watch.scope:
                try:
                    done = await as_solver(agent)(state, generate)
                except (LimitExceededError, MatAssayError):
                    raise
                except SandboxUnavailableError as error:
                    # One that had started is brought down by what runs inside, and what that left is graded.
                    if isinstance(error.__cause__, WorkspaceEnded):
                        raise AgentFailure(f"{program.binary}: {error}") from error
                    raise
                except Exception as error:
                    # The program, and all that it may break, is in the agent's hands; the model's provider is not.
                    if _provider_failed():
                        raise
                    raise AgentFailure(f"{program.binary} failed: {describe(error)}") from error
                state.messages, state.output = done.messages, done.output
            if watch.over:
                record.end(Outcome.LIMIT)
            elif watch.scope.cancelled_caught:
                raise TimeIsUp(f"the time budget of {clock.seconds:g} s is spent")
            else:
                record.end(Outcome.SCORED)

        await ending(work, record)
        return state

    return solve


class Watch:
    """Sees every call of a model that the program makes: counts it, and tells the time that is left."""

    def __init__(self, live: Live, record: Record, clock: Clock) -> None:
        self.live, self.record, self.clock = live, record, clock
        self.scope: anyio.CancelScope | None = None
        self.aside = 0
        """Calls of the program's own."""
        self.over = False
        """The run's budget of steps is spent."""

    def notice(self) -> str:
        """What is told of the time; there is no `final_answer` here."""
        text = self.clock.notice()
        return f"\n\n{text.replace('finish with final_answer', 'finish')}" if text else ""

    async def filter(
        self,
        model: Model,
        messages: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice | None,
        config: GenerateConfig,
    ) -> ModelOutput | GenerateInput | None:
        """Count a step, then let the model answer.

        A call without tools is one of the program's own, for a title, say: it costs tokens, but is no step, unless
        there are so many that it must be the agent who asks.
        """
        episode = self.live.episode
        if not tools:
            self.aside += 1
            if self.aside <= ASIDE * (episode.steps + 1):
                return None
        if episode.step_limit is not None and not episode.budget:
            self.over = True
            assert self.scope is not None
            self.scope.cancel()
            await anyio.sleep_forever()
        episode.steps += 1
        # By how many calls came before, a replay finds the reply among the engine's events.
        await episode.note({"action": "model_reply", "before": _calls(), "messages": len(messages)})
        keep(episode, self.record)
        self.record.turns += 1
        notice = self.notice().strip()
        if not notice or not messages or episode.steps == 1:
            return None
        return GenerateInput([*messages, ChatMessageUser(content=notice)], tools, tool_choice, config)


def _calls() -> int:
    """Calls of the model so far, without those that failed: the engine or the program made these again."""
    return sum(isinstance(e, ModelEvent) and not e.error for e in transcript().events)


def _provider_failed() -> bool:
    """Whether the last call of the model came to nothing."""
    last = next((e for e in reversed(transcript().events) if isinstance(e, ModelEvent)), None)
    return last is not None and bool(last.error or last.output.error)


async def _require(program: _Program) -> None:
    found = await sandbox().exec(["/bin/sh", "-c", f"command -v {program.binary}"])
    if not found.success:
        raise MatAssayError(
            f"{program.binary} is not in the sandbox\n"
            f"  cure: npm install --global --prefix FOLDER {program.package}, with the folder of the workspace's "
            "environment (see MATASSAY_WORKSPACE)"
        )


def _maker(function: str) -> Callable[..., Agent]:
    try:
        module = importlib.import_module("inspect_swe")
    except ImportError as error:
        raise MatAssayError(
            f"command-line agents need inspect-swe ({error})\n  cure: pip install 'matassay[cli-agents]'"
        ) from error
    made: Callable[..., Agent] = getattr(module, function)
    return made
