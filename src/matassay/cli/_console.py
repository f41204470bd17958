"""Where words go: results to standard output, everything else to standard error."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

#: Width of tables that go into a file or a pipe, where nothing may be cut off.
WIDE = 240


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
    def terminal(self) -> bool:
        """Whether a person reads along, so that tables must save room; a pipe gets whole ids."""
        return self.console.width < WIDE

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


def fitting_table(
    names: Sequence[str],
    sections: Sequence[Sequence[Sequence[str]]],
    console: Console,
    *,
    right: Collection[str] = (),
    droppable: Sequence[str] = (),
    foldable: Collection[str] = (),
) -> Table:
    """A table that fits into a terminal: columns are left out whole before any word is cut.

    Parameters
    ----------
    names : sequence of str
        Headings.
    sections : sequence
        Rows of cells in rich's markup, by sections.
    console : Console
        Where it is printed.
    right : collection of str
        Columns of numbers.
    droppable : sequence of str
        Columns that may be left out, the first ones first.
    foldable : collection of str
        Columns that go on in the next line, at the end of a word, where even that does not help.
    """
    from rich.table import Table
    from rich.text import Text

    rows = [row for section in sections for row in section]
    widths = {
        name: max(Text.from_markup(cell).cell_len for cell in (name, *(row[i] for row in rows)))
        for i, name in enumerate(names)
    }
    shown = list(names)

    def fits(gap: int) -> bool:
        return sum(widths[name] + gap for name in shown) - gap <= console.width

    gap = 2 if fits(2) else 1
    for name in droppable:
        if fits(gap):
            break
        shown.remove(name)
    over = sum(widths[name] + gap for name in shown) - gap - console.width
    for name in sorted(foldable, key=lambda n: -widths[n]):
        less = max(0, min(over, widths[name] - max(20, len(name))))
        widths[name], over = widths[name] - less, over - less
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for name in shown:
        table.add_column(name, justify="right" if name in right else "left", overflow="fold")
    kept = [(names.index(name), widths[name] if name in foldable else None) for name in shown]
    for section in sections:
        for row in section:
            table.add_row(*(row[i] if width is None else _in_lines(row[i], width) for i, width in kept))
        table.add_section()
    return table


def _in_lines(cell: str, width: int) -> str:
    """A cell in lines of at most a width that end at the ends of words, if the words are not longer."""
    from rich.text import Text

    lines = [""]
    for word in re.findall(r"[^ /_-]*[ /_-]?", cell):
        if lines[-1] and Text.from_markup(lines[-1] + word).cell_len > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(lines)


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
