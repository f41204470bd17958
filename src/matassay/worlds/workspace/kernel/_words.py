"""What a cell prints: kept with its beginning and its end, counted in full, made fit to be read."""

from __future__ import annotations

import asyncio
import re
from collections import deque

from matassay.core import plain_text

#: Escape sequences of terminals: colours, movements of the cursor, titles of windows.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
#: Control characters, but for the ends of lines and the tabulator.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def readable(text: str) -> str:
    r"""Text without escape sequences and control characters, progress bars as they looked in the end.

    Examples
    --------
    >>> readable("10 %\r50 %\r100 %\r\n\x1b[31mred\x1b[0m\0")
    '100 %\nred'
    """
    text = _ESCAPES.sub("", plain_text(text))
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return _CONTROLS.sub("", text)


def shortened(text: str, limit: int) -> str:
    """Beginning and end of a text, with a word on how much is left out in between."""
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}\n... [{len(text) - limit} characters left out] ...\n{text[len(text) - (limit - head) :]}"


class Kept:
    """The beginning and the end of a stream of bytes.

    Parameters
    ----------
    limit : int
        Bytes to keep; the first half of them stays, of the rest the last half does.
    """

    def __init__(self, limit: int) -> None:
        self.total = 0
        """Bytes that came."""
        self._room = limit // 2
        self._keep = limit - self._room
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._held = 0

    def add(self, data: bytes) -> None:
        """Take what came."""
        self.total += len(data)
        if self._room:
            self._head += data[: self._room]
            data, self._room = data[self._room :], max(0, self._room - len(data))
        if data:
            self._tail.append(data)
            self._held += len(data)
            while self._held - len(self._tail[0]) >= self._keep:
                self._held -= len(self._tail.popleft())

    def text(self) -> str:
        """What is kept, readable, with a word where something is left out."""
        tail = b"".join(self._tail)
        tail = tail[max(0, len(tail) - self._keep) :]
        lost = self.total - len(self._head) - len(tail)
        if not lost:
            return readable((bytes(self._head) + tail).decode("utf-8", "replace"))
        head, end = (readable(part.decode("utf-8", "replace")) for part in (bytes(self._head), tail))
        return f"{head}\n... [{lost} bytes of output left out] ...\n{end}"


class Words:
    """Sorts the stream of all output into that of one cell after the other, by a mark after each.

    What comes between two cells (from a program left in the background) belongs to the later one.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.marked = asyncio.Event()
        """The mark of the running cell has come."""
        self._kept = Kept(limit)
        self._next = Kept(limit)
        self._mark = b""
        self._rest = b""

    def begin(self, mark: bytes) -> None:
        """A cell starts; ``mark`` will stand at the end of its output."""
        self._mark = mark
        self.marked.clear()

    def end(self) -> Kept:
        """The cell is over: what it printed."""
        if self._mark:  # its mark never came
            self._kept.add(self._rest)
            self._rest = self._mark = b""
        kept, self._kept, self._next = self._kept, self._next, Kept(self.limit)
        return kept

    def feed(self, data: bytes) -> None:
        """Take what came."""
        if not self._mark:
            (self._next if self.marked.is_set() else self._kept).add(data)
            return
        data = self._rest + data
        place = data.find(self._mark)
        if place >= 0:
            self._kept.add(data[:place])
            self._next.add(data[place + len(self._mark) :])
            self._rest = self._mark = b""
            self.marked.set()
        else:
            # The mark may have come in part.
            cut = max(0, len(data) - len(self._mark) + 1)
            self._kept.add(data[:cut])
            self._rest = data[cut:]
