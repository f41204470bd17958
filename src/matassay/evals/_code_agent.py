"""Agents that act by code in a workspace: by JSON replies, or by native tool calls."""

from __future__ import annotations

import base64
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final

import anyio
from inspect_ai.log import transcript
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    Model,
    get_model,
    get_model_info,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolInfo

from matassay.agents import CODE, TOOLS
from matassay.core import MatAssayError, Outcome

from ._agent import MAX_NUDGES, ending
from ._clean import clean_answers
from ._code_budget import Clock, TimeIsUp, budget
from ._code_history import DEFAULT_CONTEXT, History
from ._code_reply import Malformed, read_reply
from ._code_tools import UnusableCall, cell_of, tool_infos
from ._record import Live, Record, current

#: Longest text of one observation, characters; the middle of a longer one is left out.
OUTPUT_CAP: Final = 20_000
#: Longest time that a cell may take where the task has no time budget, s.
LONGEST_CELL: Final = 86_400.0
#: Malformed replies in a row after which the agent is given up.
MAX_MALFORMED: Final = 10

#: Plots that the log keeps though the model is not shown them, bytes of all of an episode together.
KEPT_PLOTS: Final = 16 * 1024 * 1024
#: Where the log's events say that they hold such plots.
PLOTS: Final = "matassay/plots"

#: Where an agent works, in its own words.
PLACE: Final = """\
You work in /workspace, the current folder. inputs/ there has the files of the task and manuals/ has reference notes; \
both can only be read. There is no network. The programs and Python packages that the task speaks of are installed \
unless it says otherwise. Nobody answers questions; what counts is the files that you leave in /workspace."""

_CODE: Final = """\
You are a computational scientist who works by writing Python. Each of your replies is one step: one JSON object and \
nothing else,

{{"thought": "in a sentence or two, why", "code": "the Python to run"}}

The code runs in a Python process that stays alive, so that variables, functions and imports are there in the next \
step. You are then shown what was printed, the value of the last line, the traceback if it raised{plots}. The middle \
of long output is left out; print what you need to see.

{place}

Code can call these without an import:
read_file(path): the text of a file
write_file(path, text)
list_files(path="."): all names below a folder
search(pattern, path="."): lines of text files that match a regular expression
shell(command, timeout=None): run a command with bash; what it printed, with its exit_code
final_answer(text=""): declare that the task is done

You have {budget} steps. A reply that is not such an object is a step in which nothing is run. The step whose code calls \
final_answer is the last: call it once all files that the task asks for are written."""

_TOOLS: Final = """\
You are a computational scientist who works with the tools python, shell, read_file, write_file and search, and \
finishes with final_answer. Python code runs in a process that stays alive, so that variables, functions and imports \
are there in the next call. You are shown what was printed, the value of the last line, the traceback if it \
raised{plots}. The middle of long output is left out; print what you need to see.

{place}

Each call of a tool is one step, those that cannot be carried out included; you have {budget} steps. Call final_answer \
once all files that the task asks for are written: that ends the task, and so does an answer without a call."""

_FORM: Final = 'Answer with one JSON object and nothing else: {"thought": "...", "code": "..."}.'
_NUDGE: Final = "There was no call of a tool in your answer. Go on with the task, or call final_answer if it is done."

#: Providers whose models take pictures.
_PICTURES: Final = ("anthropic", "google", "openai", "vertex")


@solver
def code_agent(
    mode: str = CODE,
    *,
    seconds: float | None = None,
    images: bool | None = None,
    output_cap: int = OUTPUT_CAP,
    context: int | None = None,
) -> Solver:
    """Let the model act by code in the workspace until it declares that it is done or a limit stops it.

    Parameters
    ----------
    mode : str
        ``code``: each reply is a JSON object whose code is run; ``tools``: native tool calls.
    seconds : float, optional
        Time budget of the attempt, s; by default the task's own, and never more than what the run allows.
    images : bool, optional
        Whether plots are shown to the model; by default if its provider is known for models that take pictures.
    output_cap : int
        Longest text of one observation, characters.
    context : int, optional
        Context of the model, tokens; by default what the engine knows of it, else `DEFAULT_CONTEXT`.
    """
    if mode not in _LOOPS:
        raise MatAssayError(f"unknown mode {mode!r}; known: {', '.join(_LOOPS)}")

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        live, record = current()
        model = get_model()
        clean_answers(model)
        pictures = str(model).split("/")[0] in _PICTURES if images is None else images
        info = get_model_info(str(model)) if context is None else None
        history = History(context or (info.context_length if info else None) or DEFAULT_CONTEXT)
        clock = Clock(budget(seconds if seconds is not None else live.episode.task.seconds))
        loop = _LOOPS[mode](state, live, record, model, clock, history, pictures, output_cap)
        await ending(loop.converse, record)
        return state

    return solve


class _Loop:
    """What both ways have in common."""

    system = ""
    mapping = ""

    kept = 0
    """Plots in the log that the model was not shown, bytes."""

    def __init__(
        self,
        state: TaskState,
        live: Live,
        record: Record,
        model: Model,
        clock: Clock,
        history: History,
        images: bool,
        output_cap: int,
    ) -> None:
        self.state, self.live, self.record, self.model = state, live, record, model
        self.clock, self.history, self.images, self.output_cap = clock, history, images, output_cap
        self.tools: list[ToolInfo] = []

    async def converse(self) -> None:
        """Ask, carry out, show, until the record says that it is over."""
        episode = self.live.episode
        plots = ", and its plots" if self.images else "; plots are counted, not shown"
        system = self.system.format(place=PLACE, budget=episode.budget, plots=plots)
        self.state.messages = [
            ChatMessageSystem(content=system),
            ChatMessageUser(content=_joined(episode.instruction, self.clock.notice())),
        ]
        while not self.record.outcome:
            message = await self.ask()
            self.record.tool_mapping = self.record.tool_mapping or ("scripted" if self.live.policy else self.mapping)
            stop = self.state.output.stop_reason
            if self.record.outcome:
                return
            if stop == "content_filter" and not message.tool_calls:
                self.record.end(Outcome.AGENT_ERROR, "the model refused")
            else:
                await self.answer(message, cut_off=stop == "max_tokens")

    @abstractmethod
    async def answer(self, message: ChatMessageAssistant, *, cut_off: bool) -> None:
        """Carry out what a message asks for, and add what came of it to the conversation."""

    async def ask(self) -> ChatMessageAssistant:
        """The model's next message."""
        while True:
            self.clock.check()
            sent = self.history.fit(self.state.messages)
            with anyio.move_on_after(None if math.isinf(self.clock.left) else self.clock.left) as scope:
                self.state.output = await self.model.generate(sent, self.tools)
            if scope.cancelled_caught:
                raise TimeIsUp(f"the time budget of {self.clock.seconds:g} s is spent")
            if self.state.output.stop_reason != "model_length":
                break
            if not self.history.tighten(self.state.messages):
                self.record.end(Outcome.LIMIT, "the conversation exceeds the model's context")
                break
        self.history.learn(self.state.output.usage)
        message = self.state.output.message
        self.state.messages.append(message)
        return message

    async def step(self, action: Mapping[str, Any], reason: str | None = None) -> list[Content]:
        """Carry out one action, which is one step; what the agent is shown of it.

        Parameters
        ----------
        action : mapping
            As for the world.
        reason : str, optional
            Why an action that the world cannot know is refused, in place of the world's own words.
        """
        turn = await self.live.perform([action], self.record)
        seen = turn.observation
        self.record.turns += 1
        if seen.final is not None and turn.error is None:
            self.record.end(Outcome.SCORED)
        text = f"Refused: {reason or turn.error}" if turn.error is not None else seen.text or "(no output)"
        notes = []
        if seen.images and turn.error is None and not self.images:
            notes.append(f"[{len(seen.images)} plot{'s' * (len(seen.images) > 1)} drawn, not shown]")
            self.keep_plots(seen.images)
        left = self.live.episode.budget
        notes.append(f"[Steps] {left} left." if left else "[Steps] That was the last step.")
        notes.append(self.clock.notice())
        shown: list[Content] = [ContentText(text=_joined(_shortened(text, self.output_cap), *notes))]
        if self.images and turn.error is None:
            shown += [_picture(png) for png in seen.images]
        return shown

    def keep_plots(self, plots: Sequence[bytes]) -> None:
        """Put plots that the model is not shown into the log, for the replay, within `KEPT_PLOTS` an episode."""
        self.kept += sum(map(len, plots))
        if self.kept <= KEPT_PLOTS:
            transcript().info(
                {"step": self.live.episode.steps, "plots": [_picture(png).image for png in plots]}, source=PLOTS
            )

    def cell(self, code: str, limit: float | None = None) -> dict[str, Any]:
        """The action that runs a cell within the time that is left."""
        seconds = min(self.clock.left, LONGEST_CELL if limit is None else limit)
        return {"action": "run_code", "code": code, "timeout": max(seconds, 0.1)}


class ByReplies(_Loop):
    """One step is one reply: a JSON object whose code is run."""

    system = _CODE
    mapping = "json"

    malformed = 0

    async def answer(self, message: ChatMessageAssistant, *, cut_off: bool) -> None:
        """Run the code of a reply, or say what is wrong with it."""
        try:
            reply = read_reply(message.text)
        except Malformed as error:
            reason = "the reply was cut off at the model's limit for one output" if cut_off else str(error)
            self.malformed += 1
            shown = await self.step({"action": "malformed_reply", "reply": message.text}, f"{reason}. {_FORM}")
            if self.malformed == MAX_MALFORMED:
                self.record.end(Outcome.AGENT_ERROR, f"{MAX_MALFORMED} replies in a row were malformed: {reason}")
        else:
            self.malformed = 0
            shown = await self.step(self.cell(reply.code))
            if reply.more:
                shown.append(
                    ContentText(text="(Your reply had several objects: the first was run, the rest were not.)")
                )
        self.state.messages.append(ChatMessageUser(content=shown))
        if not self.live.episode.budget:
            self.record.end(Outcome.LIMIT)


class ByTools(_Loop):
    """One step is one call of a tool."""

    system = _TOOLS
    mapping = "function"

    nudges = 0

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.tools = tool_infos()

    async def answer(self, message: ChatMessageAssistant, *, cut_off: bool) -> None:
        """Carry out the calls of a message in their order."""
        if message.tool_calls:
            self.nudges = 0
            for call in message.tool_calls:
                shown = await self._carry_out(call.function, call.arguments, call.parse_error)
                reply = ChatMessageTool(content=shown, tool_call_id=call.id, function=call.function)
                self.state.messages.append(reply)
        elif message.text.strip() and not cut_off:
            self.record.end(Outcome.SCORED)
        elif self.nudges < MAX_NUDGES:
            self.nudges += 1
            self.state.messages.append(ChatMessageUser(content=_joined(_NUDGE, self.clock.notice())))
        else:
            self.record.end(Outcome.AGENT_ERROR, f"{self.nudges + 1} answers in a row had neither a call nor words")

    async def _carry_out(self, name: str, arguments: Any, unparsable: str | None) -> list[Content]:
        if self.record.outcome:
            return [ContentText(text="Not carried out: the task has ended.")]
        if not self.live.episode.budget:
            self.record.end(Outcome.LIMIT)
            return [ContentText(text="Not carried out: the step budget is spent.")]
        if self.clock.left <= 0:
            self.record.end(Outcome.LIMIT, f"the time budget of {self.clock.seconds:g} s is spent")
            return [ContentText(text="Not carried out: the time budget is spent.")]
        try:
            if unparsable:
                raise UnusableCall(f"the arguments cannot be read ({unparsable:.300})")
            code, limit = cell_of(name, arguments)
        except UnusableCall as error:
            return await self.step({"action": "unusable_call", "tool": name, "arguments": arguments}, str(error))
        return await self.step(self.cell(code, limit))


_LOOPS: Final[Mapping[str, type[_Loop]]] = {CODE: ByReplies, TOOLS: ByTools}


def _joined(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}\n... [{len(text) - limit} characters left out] ...\n{text[len(text) - (limit - head) :]}"


def _picture(png: bytes) -> ContentImage:
    return ContentImage(image="data:image/png;base64," + base64.b64encode(png).decode("ascii"))
