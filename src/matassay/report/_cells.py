"""Steps of an agent that acts by code in a workspace: what it said, ran and got back, with plots, time and tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from matassay.core import scalars

from ._calls import Reply, answer_to, drawn, replies, written
from ._messages import parts, picture, pictures, words
from ._reader import Reader, action_of, finite
from ._steps import ReplayStep


class Cells(Reader):
    """Agents of our own loops: each call of a tool is a step; in a conversation without any, each reply is."""

    def __init__(self, sample: Any) -> None:
        super().__init__(sample)
        events = getattr(sample, "events", None) or ()
        self._replies = {r.message.id: r for r in replies(events) if r.message is not None}
        self._drawn = drawn(events)

    def read(self) -> None:
        """Find the steps, the pictures and the closing words."""
        waiting = list(self.record.get("records") or [])
        messages = self.sample.messages
        by_calls = any(m.role == "assistant" and m.tool_calls for m in messages)
        says: list[str] = []
        thoughts: list[str] = []
        for place, message in enumerate(messages):
            if message.role != "assistant":
                continue
            reasoning, text = parts(message.content)
            calls = list(message.tool_calls or [])
            thought = text if by_calls or not waiting else _thought(text)
            says += [t for t in (reasoning, thought) if t]
            thoughts += [thought] if thought else []
            reply = self._replies.get(message.id)
            # After the last step come calls that were not carried out, and closing words.
            number = min(len(calls) if by_calls else 1, len(waiting))
            for i in range(number):
                shown = _answer(messages[place + 1 :], calls[i].id if by_calls else None)
                first = i == 0
                self._cell(
                    waiting.pop(0),
                    text,
                    "\n\n".join(says) if first else "",
                    "\n\n".join(thoughts) if first else "",
                    (i + 1, number),
                    shown,
                    reply,
                )
            if number:
                says, thoughts = [], []
        for rest in waiting:  # the conversation was lost meanwhile
            self._cell(rest, "", "", "", (1, 1), None, None)
        self.closing = "\n\n".join(says)

    def _cell(
        self,
        record: Mapping[str, Any],
        text: str,
        says: str,
        thought: str,
        place: tuple[int, int],
        shown: Any | None,
        reply: Reply | None,
    ) -> None:
        action = action_of(record)
        error = record.get("error")
        code = action.get("code", action.get("reply"))
        if code is None:
            code = text if action.get("action") == "malformed_reply" else json.dumps(action, indent=1, default=str)
        number = int(record.get("step") or len(self.steps) + 1)
        plots = [] if shown is None else pictures(shown.content)
        plots += [p for uri in self._drawn.get(number, []) if (p := picture(uri)) is not None]
        self.steps.append(
            ReplayStep(
                number=number,
                action=action,
                error=str(error) if error is not None else None,
                time=finite(record.get("time")),
                before=None,
                after=None,
                pointer=None,
                says=says,
                place=place,
                changes=scalars(record.get("changes")),
                code=str(code),
                shown=self._shown(record) if shown is None else words(shown.content),
                thought=thought,
                plots=tuple(self.keep(p) for p in plots),
                elapsed=reply.elapsed if reply else None,
                tokens=reply.tokens if reply and place[0] == 1 else {},
            )
        )

    def _shown(self, record: Mapping[str, Any]) -> str:
        """What the record keeps of an observation; the steps of a workspace are numbered from 1 without gaps."""
        shown, number = self.record.get("shown"), record.get("step")
        if isinstance(shown, list) and isinstance(number, int) and 1 <= number <= len(shown):
            return str(shown[number - 1])
        return ""


class Program(Reader):
    """Command-line agents: a reply of the model is a step, and each call of a tool in it stands by itself.

    They run in the sandbox on their own, so that the record only counts their steps; what they did is in the calls of
    the model that the engine answered.
    """

    def read(self) -> None:
        """Find the steps, the pictures and the closing words."""
        records = list(self.record.get("records") or [])
        found = replies(getattr(self.sample, "events", None) or ())
        places = _places([action_of(r).get("before") for r in records], found)
        for n, (record, place) in enumerate(zip(records, places, strict=True), 1):
            number = int(record.get("step") or n)
            reply = found[place] if place is not None else None
            if reply is None or place is None or reply.message is None:
                self._step(number, None, {"action": "reply"}, (1, 1), "", None, [])
                continue
            calls = list(reply.message.tool_calls or [])
            self.closing = ""
            if not calls:
                reasoning, text = parts(reply.message.content)
                self.closing = "\n\n".join(t for t in (reasoning, text) if t)
                self._step(number, reply, {"action": "reply"}, (1, 1), text, None, [])
            for i, call in enumerate(calls, 1):
                arguments = call.arguments if isinstance(call.arguments, Mapping) else {"arguments": call.arguments}
                action = {"action": "call", "tool": call.function, "code": written(arguments)}
                answer, behind = answer_to(call.id, found[place + 1 :], self.sample.messages)
                last = i == len(calls)
                self._step(number, reply, action, (i, len(calls)), action["code"], answer, behind if last else [])

    def _step(
        self,
        number: int,
        reply: Reply | None,
        action: Mapping[str, Any],
        place: tuple[int, int],
        code: str,
        answer: Any | None,
        behind: Sequence[Any],
    ) -> None:
        first = reply is not None and place[0] == 1
        reasoning, text = parts(message.content) if (message := reply and reply.message) and first else ("", "")
        came = [] if answer is None else [answer, *behind]
        shown = [words(m.content) for m in came]
        failed = getattr(answer, "error", None)
        if failed is not None and not shown[0]:
            shown[0] = str(failed.message)
        if action["action"] == "call" and answer is None:
            shown = ["(What came of it is not in the log.)"]
        self.steps.append(
            ReplayStep(
                number=number,
                action=action,
                error=None if reply is not None else "the model's answer is not in the log",
                time=None,
                before=None,
                after=None,
                pointer=None,
                says="\n\n".join(t for t in (reasoning, text) if t),
                place=place,
                code=code,
                shown="\n\n".join(t for t in shown if t),
                thought=text,
                plots=tuple(self.keep(p) for m in came for p in pictures(m.content)),
                elapsed=reply.elapsed if reply else None,
                tokens=reply.tokens if reply and first else {},
            )
        )


def _places(before: Sequence[Any], found: Sequence[Reply]) -> list[int | None]:
    """Where the reply of each step is; None where the model never gave one.

    Parameters
    ----------
    before : sequence
        For each step, how many calls of the model that did not fail came before it; nonsense in older logs.
    found : sequence of Reply
        All replies; those without tools were the program's own business, unless a step asked for them.
    """
    if not all(isinstance(b, int) and b >= 0 for b in before):
        known = [i for i, r in enumerate(found) if r.tools][: len(before)]
        return [*known, *[None] * (len(before) - len(known))]
    # Of steps with the same number the last one got its answer: those before it failed and were tried again.
    return [b if b not in before[n:] and b < len(found) else None for n, b in enumerate(before, 1)]


def _thought(reply: str) -> str:
    """Why, as a reply of the code loop gives it; empty for a malformed one, which is shown in place of code."""
    from matassay.evals._code_reply import Malformed, read_reply

    try:
        return read_reply(reply).thought.strip()
    except Malformed:
        return ""


def _answer(later: Sequence[Any], call: str | None) -> Any | None:
    """The message that was sent to the agent next: to a call, or to a reply; None if none was."""
    for message in later:
        if message.role == "assistant" and call is None:
            return None
        if message.role == "user" if call is None else message.role == "tool" and message.tool_call_id == call:
            return message
    return None
