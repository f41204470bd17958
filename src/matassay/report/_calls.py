"""What the engine's events tell of an attempt by code: replies of the model, what came back to them, plots."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

#: Solver in which an agent acts, and source of the events that hold plots (`matassay.evals`).
ACTING: Final = "matassay/acting"
PLOTS: Final = "matassay/plots"

#: Arguments of the tools of command-line agents that hold what is run or written; they stand first, without their name.
MAIN: Final = ("command", "cmd", "code", "script", "input", "patch", "content")

#: Buckets of tokens and the attributes under which the engine counts them.
BUCKETS: Final = {
    "input": "input_tokens", "cache_read": "input_tokens_cache_read", "cache_write": "input_tokens_cache_write",
    "output": "output_tokens",
}  # fmt: skip


@dataclass(frozen=True)
class Reply:
    """A reply of the model."""

    message: Any | None
    """The engine's message; None if it never came."""
    sent: Sequence[Any]
    """The conversation that the model was given."""
    tools: int
    """Number of tools that it could call; a call without any is the program's own business."""
    elapsed: float | None
    """Wall-clock time from the beginning of the attempt to the end of the reply, s."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """What it cost, by bucket; empty where the provider did not count."""


def replies(events: Iterable[Any]) -> list[Reply]:
    """The model's replies in the order in which they were asked for, without calls that failed."""
    begun: datetime | None = None
    found = []
    for event in events:
        if event.event == "span_begin" and event.name == ACTING:
            begun = event.timestamp
        if event.event != "model":
            continue
        begun = begun or event.timestamp
        if event.error:
            continue
        message = event.output.choices[0].message if event.output.choices and not event.pending else None
        elapsed = None if event.completed is None else (event.completed - begun).total_seconds()
        usage = event.output.usage
        counted = {} if usage is None else {b: getattr(usage, name) or 0 for b, name in BUCKETS.items()}
        found.append(Reply(message, event.input, len(event.tools), elapsed, counted))
    return found


def drawn(events: Iterable[Any]) -> dict[int, list[str]]:
    """Plots that were kept without being shown to the agent, as data URIs by the number of their step."""
    found: dict[int, list[str]] = {}
    for event in events:
        if event.event == "info" and event.source == PLOTS and isinstance(event.data, Mapping):
            step, plots = event.data.get("step"), event.data.get("plots")
            if isinstance(step, int) and isinstance(plots, list):
                found.setdefault(step, []).extend(str(p) for p in plots)
    return found


def answer_to(call: str, later: Sequence[Reply], messages: Sequence[Any]) -> tuple[Any, list[Any]]:
    """What came back to a call of a tool, and what was said with it.

    Programs run their tools themselves: what came of a call stands in what they send with a later one.

    Parameters
    ----------
    call : str
        Its id; some models give the same one in every reply, so that the next answer counts, and the last in it.
    later : sequence of Reply
        Replies after the one that has the call.
    messages : sequence
        The conversation as the program left it, for what came after the last reply.

    Returns
    -------
    message, words
        The answer, None if there is none in the log; messages of the user's side that stand behind it.
    """
    for sent in (*(r.sent for r in later), messages):
        places = [i for i, m in enumerate(sent) if m.role == "tool" and m.tool_call_id == call]
        if places:
            behind = list(sent[places[-1] + 1 :])
            return sent[places[-1]], behind if all(m.role == "user" for m in behind) else []
    return None, []


def written(arguments: Mapping[str, Any]) -> str:
    r"""Arguments of a call as a person reads them: what is run or written first, the others by name.

    Examples
    --------
    >>> print(written({"timeout": 9, "command": ["bash", "-lc", "ls"], "note": "a\nb"}))
    bash -lc ls
    timeout: 9
    note:
    a
    b
    """
    main = next((name for name in MAIN if name in arguments), None)
    lines = [] if main is None else [_text(arguments[main])]
    for name, value in arguments.items():
        if name != main and value is not None:
            text = _text(value)
            lines.append(f"{name}:\n{text}" if "\n" in text else f"{name}: {text}")
    return "\n".join(lines)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(v, str) for v in value):
        return " ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)
