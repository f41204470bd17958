"""What a model that acts by JSON replies wants to have run."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

from matassay.core import plain_text

#: Longest reply that is looked through, characters.
MAX_REPLY: Final = 2_000_000
#: Places in a reply at which an object may begin that are tried.
MAX_TRIES: Final = 2000

_FENCE: Final = re.compile(r"```[ \t]*\w*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
#: Not strict: models put line breaks into strings as they are.
_DECODER: Final = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Reply:
    """A reply that could be understood."""

    thought: str
    """Why."""
    code: str
    """What to run."""
    more: bool = False
    """There was a second such object, which is not run."""


class Malformed(ValueError):
    """A reply from which no code could be taken; the text tells the model what to do about it."""


def read_reply(text: str) -> Reply:
    r"""Find ``{"thought": ..., "code": ...}`` in a reply: alone, in a fenced block, or with words around it.

    Raises
    ------
    Malformed
        If there is none.

    Examples
    --------
    >>> read_reply('First look.\n```json\n{"thought": "look", "code": "list_files()"}\n```')
    Reply(thought='look', code='list_files()', more=False)
    """
    if len(text) > MAX_REPLY:
        raise Malformed(f"the reply has {len(text)} characters, more than {MAX_REPLY}")
    # Thinking that a model writes out may hold drafts of the object.
    text = text.rpartition("</think>")[2].strip()
    if not text:
        raise Malformed("the reply is empty")
    found: list[dict[str, object]] = []
    for candidate in (text, *_FENCE.findall(text)):
        whole = _parsed(candidate.strip())
        if whole is not None and "code" in whole:
            found.append(whole)
            break
    if not found:
        found = _objects_in(text)
    if not found:
        raise Malformed(_why(text))
    code, thought = found[0]["code"], found[0].get("thought", "")
    if not isinstance(code, str):
        raise Malformed(f'"code" must be a string, not {_kind(code)}')
    if not code.strip():
        raise Malformed('"code" is empty')
    return Reply(plain_text(thought) if isinstance(thought, str) else "", plain_text(code), more=len(found) > 1)


def _parsed(text: str) -> dict[str, object] | None:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _objects_in(text: str) -> list[dict[str, object]]:
    """The first two objects with code among other words."""
    found: list[dict[str, object]] = []
    place = 0
    for _ in range(MAX_TRIES):
        place = text.find("{", place)
        if place < 0 or len(found) == 2:
            break
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if isinstance(value, dict) and "code" in value:
            found.append(value)
        place = end
    return found


def _why(text: str) -> str:
    if (whole := _parsed(text)) is not None:
        return f'the object has no "code"; it has {", ".join(map(repr, list(whole)[:5])) or "nothing"}'
    start = text.find("{")
    if start < 0:
        return "there is no JSON object in the reply"
    try:
        _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return f"the reply is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})"
    except RecursionError:
        return "the reply is nested too deeply"
    return 'there is no JSON object with "code" in the reply'


def _kind(value: object) -> str:
    kinds = {list: "an array", dict: "an object", bool: "a truth value", type(None): "null"}
    return kinds.get(type(value), "a number")
