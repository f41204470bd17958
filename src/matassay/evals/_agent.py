"""Opening an episode, letting a model act in it, closing it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import anyio
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentText,
    execute_tools,
    get_model,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import Tool, ToolCall
from inspect_ai.util import LimitExceededError, SandboxEnvironment, sandbox, store_as

from matassay.agents import describe
from matassay.core import (
    SCREEN,
    EnvironmentFailure,
    Episode,
    Guidance,
    MatAssayError,
    Outcome,
    StepLimitReached,
    find_task,
)
from matassay.worlds.workspace import CONTAINERS, WorkspaceWorld, chosen_backend

from ._clean import clean_answers
from ._code_budget import TimeIsUp
from ._containers import EngineWorkspace
from ._record import Live, Record, current, keep, register, release
from ._sandbox import WorkspaceSandbox
from ._tool import computer, operate, screenshot

SYSTEM: Final = """\
You operate a program on a computer screen with mouse and keyboard: the control program of a scientific instrument, \
or other scientific software. The `computer` tool is the only way to act. After each call you see the screen as it \
then is: {width} x {height} pixels, coordinates in pixels from the top left corner, x to the right, y downwards.

Time on the screen passes only when you act, never while you think. `wait` lets it pass: one second of waiting is \
{time_scale:g} s on the instrument's clock, and one call waits for at most 60 seconds. Other actions take about a \
second at most, a held key as long as it is held.

Every action is one step, those that are refused included; you have {budget} steps. An action that cannot be \
carried out is refused with a reason; when several actions are sent at once, those after a refused one are not \
carried out.

Nobody answers questions. What counts is the state in which you leave things. When the task is done, call no more \
tools and say in a sentence that you are done: that ends the task."""

NUDGE: Final = "There was no action in your answer. Go on with the task, or say in a sentence that you are done."

#: How often in a row an answer with neither action nor words is asked for again.
MAX_NUDGES: Final = 2


class AgentFailure(MatAssayError):
    """A scripted agent raised; what it left is graded."""


@solver
def open_episode(step_limit: int | None = None) -> Solver:
    """Set-up step: open the sample's episode and start its world.

    Parameters
    ----------
    step_limit : int, optional
        Budget of steps; by default the task's own.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        meta = state.metadata
        task = find_task(meta["task"])
        await begin(state, lambda: Episode.of(task, meta["seed"], Guidance(meta["guidance"]), step_limit))
        return state

    return solve


async def begin(state: TaskState, make: Callable[[], Episode]) -> Live:
    """Make and start an episode for a sample; whatever goes wrong here is the environment's."""
    record = store_as(Record)
    try:
        episode = make()
        record.key, record.goal = state.uuid, json.dumps(dict(episode.scenario.goal), allow_nan=False)
        live = Live(episode)
        register(state.uuid, live)
        if isinstance(episode.world, WorkspaceWorld):
            # The engine has made the sandbox, so that its own tools and command-line agents act in the same one.
            await _attach(episode.world, episode.task.requires)
        await episode.start()
        keep(episode, record)
        await live.look()
    except Exception as error:
        record.end(Outcome.ENVIRONMENT_ERROR, describe(error))
        raise
    return live


async def _attach(world: WorkspaceWorld, requires: Sequence[str]) -> None:
    """Let a world use the sandbox that the engine has made for the sample."""
    if (kind := chosen_backend()) not in CONTAINERS:
        world.attach(sandbox().as_type(WorkspaceSandbox).workspace)
        return
    # Itself, without the engine's record of every call: ours are many, and of no interest.
    environment = sandbox().as_type(SandboxEnvironment)  # type: ignore[type-abstract]
    workspace = EngineWorkspace(
        environment,
        kind,
        inputs=world.inputs,
        manuals=world.manuals,
        requires=requires,
        wanted=world.asked,
        caps=world.caps,
    )
    world.attach(workspace, workspace.another)
    await workspace.start()


async def close_episode(state: TaskState) -> None:
    """Clean-up: release the world, whatever has happened."""
    live = release(state.uuid)
    if live is not None:
        with anyio.CancelScope(shield=True):
            await live.episode.close()
            world = live.episode.world
            with contextlib.suppress(EnvironmentFailure):  # it may never have got a sandbox
                if isinstance(world, WorkspaceWorld) and isinstance(world.workspace, EngineWorkspace):
                    await world.workspace.close()


@solver
def gui() -> Solver:
    """Let the model act through the ``computer`` tool until it stops by itself or a limit stops it."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        live, record = current()
        clean_answers(get_model())
        state.messages = opening(live)
        await ending(lambda: _converse(state, live, record), record)
        return state

    return solve


async def ending(converse: Callable[[], Awaitable[None]], record: Record) -> None:
    """Let an agent act and note how that ends."""
    try:
        await converse()
    except TimeIsUp as over:
        record.end(Outcome.LIMIT, str(over))
    except StepLimitReached:
        record.end(Outcome.LIMIT)
    except LimitExceededError as limit:
        record.end(Outcome.LIMIT, limit.message)
        raise
    except AgentFailure as failure:
        record.end(Outcome.AGENT_ERROR, str(failure))
    except Exception as error:
        # The world broke, or the provider did (after the engine's own retries): neither is the agent's doing.
        record.end(Outcome.ENVIRONMENT_ERROR, describe(error))
        raise


def opening(live: Live) -> list[ChatMessage]:
    """System message, instruction, first screenshot."""
    episode = live.episode
    system = SYSTEM.format(width=SCREEN[0], height=SCREEN[1], time_scale=episode.task.time_scale, budget=episode.budget)
    assert live.observation is not None
    first: list[Content] = [ContentText(text=episode.instruction), screenshot(live.observation.image)]
    return [ChatMessageSystem(content=system), ChatMessageUser(content=first)]


async def _converse(state: TaskState, live: Live, record: Record) -> None:
    tools = [computer()]
    nudges = 0
    while not record.outcome:
        state.output = await get_model().generate(state.messages, tools)
        message = state.output.message
        state.messages.append(message)
        record.tool_mapping = record.tool_mapping or ("scripted" if live.policy else tool_mapping())
        if message.tool_calls:
            nudges = 0
            live.halted = False
            said = list(state.messages[:-1])
            for call in message.tool_calls:  # one by one: arguments that break the engine are those of one call
                state.messages.append(await _carry_out(call, said, message, tools, live))
        elif state.output.stop_reason == "content_filter":
            record.end(Outcome.AGENT_ERROR, "the model refused")
        elif state.output.stop_reason == "model_length":
            record.end(Outcome.LIMIT, "the conversation exceeds the model's context")
        elif message.text.strip() and state.output.stop_reason != "max_tokens":
            record.end(Outcome.SCORED)
        elif nudges < MAX_NUDGES:
            nudges += 1
            state.messages.append(ChatMessageUser(content=NUDGE))
        else:
            record.end(Outcome.AGENT_ERROR, f"{nudges + 1} answers in a row had neither action nor words")


async def _carry_out(
    call: ToolCall, said: list[ChatMessage], message: ChatMessageAssistant, tools: list[Tool], live: Live
) -> ChatMessageTool:
    """The reply to one call; one whose arguments cannot be used, or whose tool does not exist, is a refused step."""
    live.entered = False
    try:
        alone = message.model_copy(update={"tool_calls": [call]})
        ((reply, *_), _) = await execute_tools([*said, alone], tools)
        assert isinstance(reply, ChatMessageTool)
        if reply.error is None:
            return reply
        reason = reply.error.message
    except Exception as error:
        # What the world raises is not the agent's doing; what the engine raises on the way to it is, since only the
        # arguments can be at fault there.
        if live.entered or not isinstance(_innermost(error), _UNUSABLE):
            raise
        reason = f"the arguments cannot be used ({describe(_innermost(error))})"
    sent = {"action": "unparsable", "tool": call.function, "arguments": call.arguments}
    # The reply needs its screenshot, and a provider that is told of an error shows nothing but its text.
    counted = not live.halted and bool(live.episode.budget)
    content: list[Content] = [*await operate([sent])]
    if counted:
        content.insert(0, ContentText(text=f"Refused: {reason}"))
    return ChatMessageTool(content=content, tool_call_id=call.id, function=call.function)


#: What turning arguments into those of a tool raises.
_UNUSABLE: Final = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def _innermost(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def tool_mapping() -> str:
    """How the provider was told of the tool: ``native:<type>``, ``function``, or empty if that is not known."""
    for event in reversed(transcript().events):
        if isinstance(event, ModelEvent):
            tools = event.call.request.get("tools") if event.call else None
            return _mapping_of(tools) if isinstance(tools, list) else ""
    return ""


def _mapping_of(tools: Sequence[object]) -> str:
    for declared in tools:
        if isinstance(declared, dict):
            type_ = str(declared.get("type", ""))
            if type_.startswith("computer"):
                return f"native:{type_}"
            if "computer_use" in declared or "computerUse" in declared:
                return "native:computer_use"
    return "function"
