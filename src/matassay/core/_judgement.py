"""What a criterion says, and to which kind of mistake a failure belongs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Failure(StrEnum):
    """Kinds of failure after CompMat-Bench, section 5.3; where several apply to a run, the first in this order counts.

    An answer that cannot be read says nothing about the science in it, and a deck that a code refuses says nothing about
    its results: hence the order.
    """

    FORMAT = "format"
    """Operational: a file, a field or a rule of the answer is missing or malformed."""
    SOFTWARE_USAGE = "software_usage"
    """Operational: a code would refuse the input, or read it otherwise than it was meant."""
    WRONG_CHOICE = "wrong_choice"
    """Scientific: a setting or a model that is physically wrong."""
    WRONG_IMPLEMENTATION = "wrong_implementation"
    """Scientific: the right choice, carried out wrongly."""
    LIMIT = "limit"
    """Of a run only: steps, time, tokens or cost ran out."""
    UNCLASSIFIED = "unclassified"
    """Of a run only: nothing tells."""

    @property
    def group(self) -> str:
        """``scientific``, ``operational``, or the failure's own name."""
        if self in (Failure.WRONG_CHOICE, Failure.WRONG_IMPLEMENTATION):
            return "scientific"
        return "operational" if self in (Failure.FORMAT, Failure.SOFTWARE_USAGE) else str(self)


@dataclass(frozen=True)
class Judgement:
    """A verdict on one criterion, with its reason."""

    holds: bool
    """Whether the criterion holds."""
    message: str = ""
    """Why it does not, one sentence; it never tells the right value."""
    failure: Failure | None = None
    """To which kind of mistake that belongs, if that can be told."""


def failure_of(kinds: Iterable[str], *, limit: bool) -> Failure:
    """The kind of a failed run.

    Parameters
    ----------
    kinds : iterable of str
        Kinds of its failed criteria.
    limit : bool
        Whether it was stopped by a limit: that is then its cause.
    """
    if limit:
        return Failure.LIMIT
    found = set(kinds)
    return next((kind for kind in Failure if kind in found), Failure.UNCLASSIFIED)
