"""Reading lines of numbers that somebody else wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ._crystal import LARGEST, StructureUnreadable

#: A decimal number as Fortran and C write it. Narrower than ``float``, which also takes ``nan`` and ``1_000``.
_NUMBER: Final = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eEdD][+-]?\d+)?")


def number(text: str) -> float | None:
    """The number of at most 1e9 that a word is, or None; ``1.0d-3`` is one, ``nan`` is not.

    Examples
    --------
    >>> number("1.5D2"), number("nan"), number("1e999")
    (150.0, None, None)
    """
    if len(text) > 60 or not _NUMBER.fullmatch(text):
        return None
    value = float(text.lower().replace("d", "e"))
    return value if abs(value) <= LARGEST else None


def integer(text: str) -> int | None:
    """The whole number that a word of at most nine digits is, or None."""
    return int(text) if re.fullmatch(r"[+-]?\d{1,9}", text) else None


class Lines:
    """Lines of a text with their numbers, taken one after another."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._at = 0

    def take(self, what: str) -> str:
        """The next line; ``what`` says what was expected there."""
        if self._at >= len(self._lines):
            raise StructureUnreadable(f"it ends after line {self._at}, where {what} should stand")
        self._at += 1
        return self._lines[self._at - 1]

    def numbers(self, n: int, what: str) -> list[float]:
        """The first ``n`` words of the next line, as numbers."""
        words = self.take(what).split()
        found = [number(w) for w in words[:n]]
        if len(found) < n or None in found:
            raise self.error(f"expected {what}")
        return [x for x in found if x is not None]

    def rest(self) -> Iterator[str]:
        """Lines that were not taken yet."""
        while self._at < len(self._lines):
            self._at += 1
            yield self._lines[self._at - 1]

    def peek(self) -> str:
        """The next line, empty at the end; it stays."""
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def error(self, text: str) -> StructureUnreadable:
        """An error about the line that was taken last."""
        return StructureUnreadable(f"line {self._at}: {text}")
