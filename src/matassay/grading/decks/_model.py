"""What a deck means to its code: effective values, where each came from, and what the code would complain about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from matassay.core import Failure, Probe

from ._files import DeckFiles

LARGEST_TEXT = 8 * 1024**2
"""Bytes of a deck's file that is still read as text; a structure of 50 000 sites has half of that."""

MOST_PROBLEMS = 100
"""Problems of one deck that are kept."""

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Problem:
    """Something that the code would complain about, or read otherwise than it looks."""

    file: str
    """Name of the file."""
    line: int | None
    """Line from 1, if it is known."""
    text: str
    """What is wrong, in the code's own words where there are any."""
    failure: Failure = Failure.SOFTWARE_USAGE
    """Kind of mistake."""
    refuses: bool = True
    """Whether the code would stop; otherwise it goes on, without what was meant."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}, line {self.line}"
        return f"{place}: {self.text}"


@dataclass(frozen=True)
class Effective:
    """All values with which the code would run."""

    values: Mapping[str, Any] = field(default_factory=dict)
    """By canonical name; numbers in the unit that `units` says, labels in the code's canonical spelling."""
    explicit: frozenset[str] = frozenset()
    """Names that the deck sets itself; all others are defaults or follow from others."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where a value came from: a file, a default with its source, or the code itself."""
    problems: tuple[Problem, ...] = ()
    """In the order in which they were found."""
    units: Mapping[str, str] = field(default_factory=dict)
    """Unit of each value that has one."""
    unknown: Mapping[str, str] = field(default_factory=dict)
    """Values that cannot be told from the deck, each with the reason."""

    @property
    def refusal(self) -> Problem | None:
        """The first problem at which the code would stop."""
        return next((p for p in self.problems if p.refuses), None)


class DeckCode(Protocol):
    """A code whose input decks can be read; everything that is special to one code is behind this."""

    name: str
    """As tasks write it, e.g. ``quantum-espresso``."""
    files: Mapping[str, bool]
    """Roles of files, e.g. ``INCAR``, each with whether the deck must have it."""

    def probe(self, files: Mapping[str, bytes], support: Mapping[str, bytes]) -> Probe | None:
        """Question to the real program about this deck, or None if there is nothing to ask.

        Parameters
        ----------
        files : mapping
            The deck's files by role, and all other files of its folder by name.
        support : mapping
            Files of the task that the code needs beside the deck, by name.
        """

    def effective(
        self,
        files: Mapping[str, bytes],
        collected: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] = NOTHING,
    ) -> Effective:
        """Effective values.

        Parameters
        ----------
        files : mapping
            As for `probe`.
        collected : mapping, optional
            Result of the probe.
        context : mapping
            What the task says about things that cannot be shipped (``ENMAX`` and ``ZVAL`` of POTCAR files).
        """

    def canonical(self, name: str, value: Any = None) -> tuple[str, Any]:
        """Canonical name and value of what a task requires; ValueError for a name that the code does not have."""


@dataclass
class Builder:
    """Collects an `Effective`."""

    values: dict[str, Any] = field(default_factory=dict)
    explicit: set[str] = field(default_factory=set)
    sources: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, value: Any, source: str, *, unit: str = "", explicit: bool = False) -> None:
        """Set a value."""
        self.values[name] = value
        self.sources[name] = source
        self.unknown.pop(name, None)
        if unit:
            self.units[name] = unit
        if explicit:
            self.explicit.add(name)

    def default(self, name: str, value: Any, source: str, *, unit: str = "") -> None:
        """Set a value unless there is one."""
        if name not in self.values:
            self.put(name, value, source, unit=unit)

    def cannot_tell(self, name: str, reason: str) -> None:
        """Note that a value does not follow from the deck."""
        if name not in self.values:
            self.unknown[name] = reason

    def complain(
        self,
        file: str,
        text: str,
        line: int | None = None,
        *,
        refuses: bool = True,
        failure: Failure = Failure.SOFTWARE_USAGE,
    ) -> None:
        """Note a problem; of very many the first are enough."""
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(file, line, text, failure, refuses))

    def build(self) -> Effective:
        """The result."""
        return Effective(
            self.values, frozenset(self.explicit), self.sources, tuple(self.problems), self.units, self.unknown
        )


class Opened(NamedTuple):
    """The file of a deck that matters most, and where what it means is to be collected."""

    builder: Builder
    """Empty but for what is wrong with the file."""
    deck: DeckFiles
    """All files."""
    text: str | None
    """The file's text; None if it cannot be read."""
    file: str
    """Its name."""


def open_deck(files: Mapping[str, bytes], role: str) -> Opened:
    """Begin to read a deck at the file that plays a role."""
    builder, deck = Builder(), DeckFiles.of(files)
    return Opened(builder, deck, read_text(deck, role, builder), deck.names.get(role, role))


def read_text(files: Mapping[str, bytes], role: str, builder: Builder) -> str | None:
    """Text of a file, or None with a problem noted: missing, too large, binary.

    Bytes that are no UTF-8 are read as Latin-1, as Fortran would; they stand in comments.
    """
    data = files.get(role)
    if data is None:
        builder.complain(role, "the file is missing", failure=Failure.FORMAT)
        return None
    if len(data) > LARGEST_TEXT:
        builder.complain(role, f"{len(data)} bytes, more than any deck needs ({LARGEST_TEXT})", failure=Failure.FORMAT)
        return None
    if b"\0" in data:
        builder.complain(role, "is no text: it holds NUL bytes", failure=Failure.FORMAT)
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")
