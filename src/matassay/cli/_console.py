"""Where words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

#: Width of tables that go into a file or a pipe, where nothing may be cut off.
WIDE = 240

#: In terminals narrower than this, tables leave out what all ids begin with.
NARROW = 120


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


class Out:
    """The real standard output of a command. Make it with `claim_stdout`."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._console: Console | None = None

    @property
    def console(self) -> Console:
        """For tables and words."""
        if self._console is None:
            from rich.console import Console

            self._console = Console(file=self._stream, width=None if self._stream.isatty() else WIDE, highlight=False)
        return self._console

    @property
    def narrow(self) -> bool:
        """Whether tables must save room."""
        return self.console.width < NARROW

    def table(self, *parts: RenderableType) -> None:
        """Print tables and words."""
        for part in parts:
            self.console.print(part)
        self._stream.flush()

    def lines(self, *lines: str) -> None:
        """Print lines as they are: paths are not broken and nothing in them is markup."""
        self._stream.writelines(line + "\n" for line in lines)
        self._stream.flush()

    def json(self, value: Any) -> None:
        """Print one JSON object."""
        self.lines(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))


@contextlib.contextmanager
def claim_stdout() -> Iterator[Out]:
    """Keep standard output for results.

    Whatever a library or a child process prints meanwhile goes to standard error: Python's ``sys.stdout`` and the file
    descriptor both point there until the end.
    """
    stream = sys.stdout
    stream.flush()
    sys.stderr.flush()
    try:
        ours = stream.fileno() == 1 and sys.stderr.fileno() == 2
    except (AttributeError, OSError, io.UnsupportedOperation):
        ours = False
    if not ours:  # replaced by somebody (a test, a notebook): only Python's own printing can be turned away
        with contextlib.redirect_stdout(sys.stderr):
            yield Out(stream)
        return
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with os.fdopen(kept, "w", encoding="utf-8", closefd=False) as real, contextlib.redirect_stdout(sys.stderr):
            yield Out(real)
    finally:
        sys.stderr.flush()
        os.dup2(kept, 1)
        os.close(kept)


def stderr_console() -> Console:
    """The console for progress and remarks."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def counted(n: int, noun: str) -> str:
    """A number with its noun: ``1 task``, ``2 tasks``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def shortened(ids: Sequence[str]) -> tuple[str, list[str]]:
    """What all ids begin with, up to a part of them, and the rest of each."""
    common = os.path.commonpath([id.rpartition("/")[0] for id in ids]) if ids else ""
    return common, [id.removeprefix(common).removeprefix("/") for id in ids]


def say(*lines: str) -> None:
    """Remarks for people, on standard error."""
    for line in lines:
        print(line, file=sys.stderr, flush=True)
