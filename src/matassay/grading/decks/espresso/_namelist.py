"""Reader of Fortran namelists and of the cards that follow them in inputs of pw.x."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

ORDER = ("control", "system", "electrons", "ions", "cell")
"""Namelists of pw.x in the order in which it reads them."""

_START = re.compile(r"^[^\S\n]*&(\w+)\s*", re.MULTILINE)
_NAME = re.compile(r"\s*([A-Za-z_]\w*)(?:\(([^)]*)\))?\s*=")
_TOKEN = re.compile(r"\s*(?:(\d+)\s*\*\s*)?('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[^\s,;'\"=/!]+)")


class BadNamelist(ValueError):
    """Fortran could not read it."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@dataclass
class Assignment:
    """One ``name(index) = values``."""

    name: str
    """As written."""
    index: str | None
    """What stands in brackets, e.g. ``1`` or ``1,2``."""
    values: list[str | None]
    """Tokens, repeats written out; texts keep their quotes. None where there is nothing between two commas."""
    line: int
    """From 1."""


@dataclass
class Input:
    """An input of pw.x."""

    namelists: dict[str, list[Assignment]] = field(default_factory=dict)
    """Assignments by namelist in lower case."""
    ends: dict[str, int] = field(default_factory=dict)
    """Offset of the slash that ends each namelist."""
    cards: dict[str, tuple[str, list[str], int]] = field(default_factory=dict)
    """Option in lower case, lines and line number of each card, by name."""
    ignored: list[tuple[str, int]] = field(default_factory=list)
    """Names of cards as written, and their lines, that pw.x passes over since they are not in capitals."""


CARDS = (
    "ATOMIC_SPECIES", "ATOMIC_POSITIONS", "K_POINTS", "CELL_PARAMETERS", "CONSTRAINTS", "OCCUPATIONS", "ATOMIC_FORCES",
    "ATOMIC_VELOCITIES", "ADDITIONAL_K_POINTS", "SOLVENTS", "HUBBARD", "INTERSITE_HUBBARD",
)  # fmt: skip


class _Lines:
    """Line numbers of offsets in a text."""

    def __init__(self, text: str) -> None:
        self.ends = [m.start() for m in re.finditer("\n", text)]

    def at(self, offset: int) -> int:
        return bisect_left(self.ends, offset) + 1


def read_input(text: str) -> Input:
    """Split an input into namelists and cards.

    Raises
    ------
    BadNamelist
        If a namelist does not end or is no namelist.
    """
    out = Input()
    lines = _Lines(text)
    at = 0
    while True:
        match = _START.search(text, at)
        if match is None:
            break
        name = match.group(1).lower()
        if name in ("end",):
            at = match.end()
            continue
        assignments, end = _namelist(text, match.end(), lines)
        # pw.x reads each namelist once, the first of that name.
        if name not in out.namelists:
            out.namelists[name] = assignments
            out.ends[name] = end
        at = end + 1
    _cards(text, at, out)
    return out


def _namelist(text: str, at: int, lines: _Lines) -> tuple[list[Assignment], int]:
    found: list[Assignment] = []
    current: Assignment | None = None
    start = at
    while True:
        at, commas = _skip(text, at)
        if current is not None:
            # The first comma ends a value; before each further one stands a null value, which changes nothing.
            nulls = commas - bool(current.values)
            current.values.extend([None] * min(max(nulls, 0), 100))
        if at >= len(text):
            raise BadNamelist("a namelist is not ended by a slash", lines.at(start))
        if text[at] == "/" or text[at : at + 4].lower() in ("&end", "$end"):
            return found, at
        match = _NAME.match(text, at)
        if match is not None:
            current = Assignment(match.group(1), match.group(2), [], lines.at(match.start(1)))
            found.append(current)
            if len(found) > 10_000:
                raise BadNamelist("has more variables than pw.x")
            at = match.end()
            continue
        token = _TOKEN.match(text, at)
        if token is None or current is None:
            raise BadNamelist(f"expected a variable, found {text[at : at + 30].splitlines()[0]!r}", lines.at(at))
        count = int(token.group(1)) if token.group(1) and len(token.group(1)) < 7 else 1
        if count + len(current.values) > 100_000:
            raise BadNamelist("too many values")
        current.values.extend([token.group(2)] * count)
        at = token.end()


def _skip(text: str, at: int) -> tuple[int, int]:
    """Past blanks, commas and comments; the place, and how many commas there were."""
    commas = 0
    while at < len(text):
        if text[at] in " \t\n,;":
            commas += text[at] in ",;"
            at += 1
        elif text[at] == "!":
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        else:
            break
    return at, commas


def _cards(text: str, at: int, out: Input) -> None:
    number = text.count("\n", 0, at) + 1
    name = ""
    for offset, raw in enumerate(text[at:].split("\n")[1:], 1):
        line = raw.strip()
        # Within a card pw.x takes a line that begins with an exclamation mark for data.
        if not line or line[0] == "#" or (line[0] == "!" and not name):
            continue
        words = re.split(r"[\s({]+", line, maxsplit=1)
        head = words[0]
        if head in CARDS:
            name = head
            option = re.sub(r"[(){}]", " ", words[1] if len(words) > 1 else "").strip().lower()
            if name in out.cards:
                raise BadNamelist(f"card {name} occurs twice", number + offset)
            out.cards[name] = (option, [], number + offset)
        elif head.upper() in CARDS:
            name = ""
            out.ignored.append((head, number + offset))
        elif name:
            out.cards[name][1].append(line if line[0] == "!" else line.split("!")[0].rstrip())
