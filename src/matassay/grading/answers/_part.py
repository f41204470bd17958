"""What every kind of field offers to the graders."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from matassay.core import Artefact, Failure, Judgement

from ._parse import Unusable, kind_of

Files = Callable[[str], bytes]
"""Content of a file that the agent left; raises `NoFile` with the reason if there is none."""


class NoFile(Exception):
    """A file is not there, or was not read; the text says which and why, and stands after nothing."""


@dataclass(frozen=True)
class Asked:
    """One question to a value."""

    value: Any
    """As it stands in the answer."""
    reference: Any
    """The right one."""
    where: str
    """What it is, for messages: ``Xi at 1.00 THz``."""
    failure: Failure
    """To which kind of mistake a wrong value belongs."""
    files: Files
    """Files that the answer may name."""

    def wrong(self, text: str) -> Judgement:
        """The value is of the right form, and wrong; ``text`` stands after its name."""
        return Judgement(False, f"{self.where}: {text}", self.failure)

    def malformed(self, expected: str) -> Judgement:
        """The value is of another form."""
        text = self.value.text if isinstance(self.value, Unusable) else f"is {kind_of(self.value)}"
        return Judgement(False, f"{self.where}: {text}; expected {expected}", Failure.FORMAT)

    def refused(self, text: str) -> Judgement:
        """The value breaks a rule of the format."""
        return Judgement(False, f"{self.where}: {text}", Failure.FORMAT)


RIGHT = Judgement(True)


@dataclass(frozen=True)
class Handed:
    """A value as somebody would hand it in."""

    value: Any
    """In the answer."""
    file: Artefact | None = None
    """That the value names."""


@dataclass(frozen=True)
class Part:
    """One thing that is judged about a field; most kinds have one."""

    suffix: str
    """Of the criterion's name; empty for the only part."""
    text: str
    """What must hold, after the field's name: ``agrees with the reference within 10 %``."""
    check: Callable[[Asked], Judgement]
    """The judgement."""
    stated: tuple[float, str, str] | None = None
    """Tolerance, its unit and its reason."""
    displaced: Callable[[Any, float], Any] | None = None
    """``displaced(reference, k)``: the field's value (or a `Handed`), k tolerances from the reference and right in all
    else."""


class Kind(Protocol):
    """A type of field."""

    def parts(self) -> tuple[Part, ...]:
        """What is judged."""

    def schema(self) -> dict[str, Any]:
        """JSON Schema with a description that has units and tolerances."""
