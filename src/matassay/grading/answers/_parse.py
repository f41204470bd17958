"""Reading an answer: strict JSON, and what is wrong with one that is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Final

from matassay.core import plain_text

#: Larger answers are not read, bytes.
LARGEST: Final = 8_000_000
#: Deeper nesting is not read.
DEEPEST: Final = 32
#: Whole numbers of more digits are not made into numbers: that alone can take minutes.
MOST_DIGITS: Final = 400

#: Problems of one answer that are counted.
_COUNTED: Final = 1000

_NESTING: Final = re.compile(r'\\.|["\[\]{}]', re.DOTALL)


class AnswerUnreadable(ValueError):
    """An answer cannot be read at all; the text says why."""


@dataclass(frozen=True)
class Unusable:
    """Stands in a parsed answer for a value that no answer may hold."""

    text: str
    """What it is, to be put after a name: ``is NaN``."""


@dataclass(frozen=True)
class Answer:
    """A parsed answer. It is shared between graders: nobody changes it."""

    value: dict[str, Any]
    """The object, with `Unusable` in the place of what cannot be used."""
    problems: tuple[str, ...]
    """What makes it other than strict JSON."""


@lru_cache(maxsize=4)  # a parsed answer can take a hundred times its length
def parse_answer(data: bytes) -> Answer:
    """Parse the bytes of an answer file; nothing in them can make this crash or take long.

    ``NaN``, ``Infinity``, numbers beyond the range of a double and keys that stand twice are problems of the answer as a
    whole, but the rest of it can still be looked at.

    Raises
    ------
    AnswerUnreadable
        If it is too large, no UTF-8 text, no JSON, nested too deeply, or no object.
    """
    if len(data) > LARGEST:
        raise AnswerUnreadable(f"has {len(data)} bytes; {LARGEST} at most are read")
    text = _decoded(data)
    if not text.strip():
        raise AnswerUnreadable("is empty")
    _check_nesting(text)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=lambda name: Unusable(f"is {name}"),
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        raise AnswerUnreadable(f"is no JSON: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError as error:
        raise AnswerUnreadable("is nested too deeply") from error
    if not isinstance(value, dict):
        raise AnswerUnreadable(f"holds {kind_of(value)}; expected an object: {{...}}")
    problems = islice(_unusable(value, ()), _COUNTED)
    return Answer(value, tuple(f"{path} {bad.text}" for path, bad in problems))


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise AnswerUnreadable("is UTF-16 text; expected UTF-8")
    try:
        return data.decode("utf-8-sig")  # a reader of JSON may pass over a byte order mark (RFC 8259, section 8.1)
    except UnicodeDecodeError as error:
        raise AnswerUnreadable(f"is not UTF-8 text: byte {error.start}") from error


def _check_nesting(text: str) -> None:
    depth, inside = 0, False
    for match in _NESTING.finditer(text):
        mark = match[0]
        if mark == '"':
            inside = not inside
        elif inside or len(mark) > 1:
            continue
        elif mark in "[{":
            depth += 1
            if depth > DEEPEST:
                raise AnswerUnreadable(f"is nested more than {DEEPEST} deep")
        else:
            depth -= 1


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = Unusable("stands twice in its object") if key in found else value
    return found


def _float(text: str) -> float | Unusable:
    value = float(text)
    return Unusable("is beyond the range of a number") if abs(value) == float("inf") else value


def _integer(text: str) -> int | Unusable:
    if len(text) > MOST_DIGITS:
        return Unusable(f"is a whole number of {len(text)} digits")
    return int(text)


def _unusable(value: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Unusable]]:
    if isinstance(value, Unusable):
        yield "".join(path).removeprefix("."), value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _unusable(inner, (*path, f".{shown(key, quotes=False)}"))
    elif isinstance(value, list):
        for n, inner in enumerate(value):
            if isinstance(inner, dict | list | Unusable):  # a long list of numbers needs no path for each
                yield from _unusable(inner, (*path, f"[{n}]"))


def shown(text: str, *, quotes: bool = True) -> str:
    """Somebody's text for a message: short, on one line, and fit for a log."""
    short = plain_text(text if len(text) <= 60 else text[:57] + "...")
    return repr(short) if quotes else repr(short)[1:-1]


def kind_of(value: Any) -> str:
    """What a value of JSON is, in words."""
    match value:
        case Unusable():
            return "what cannot be used"
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case str():
            return f"text ({shown(value)})"
        case list():
            return "a list"
        case dict():
            return "an object"
        case float():
            return f"a number with a decimal point ({value!r})"
        case int():
            return "a whole number"
    return "no value of JSON"
