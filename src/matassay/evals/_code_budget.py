"""The time that an attempt may take, and the words in which an agent is told of it."""

from __future__ import annotations

import math
from collections.abc import Callable

import anyio
from inspect_ai.util import sample_limits


class TimeIsUp(Exception):
    """The time budget of the attempt is spent."""


class Clock:
    """Counts down the time budget of an attempt, by the wall and from outside.

    Parameters
    ----------
    seconds : float, optional
        Budget, s; None: there is none.
    now : callable
        Clock, s.
    """

    def __init__(self, seconds: float | None, now: Callable[[], float] = anyio.current_time) -> None:
        self.seconds = seconds
        self._now = now
        self._began = now()

    @property
    def left(self) -> float:
        """Time left, s; infinite without a budget."""
        return math.inf if self.seconds is None else max(0.0, self.seconds - (self._now() - self._began))

    def check(self) -> None:
        """Raise `TimeIsUp` if it is."""
        if self.left <= 0:
            raise TimeIsUp(f"the time budget of {self.seconds:g} s is spent")

    def notice(self) -> str:
        """What the agent is told with the task and after every step; empty without a budget."""
        if self.seconds is None:
            return ""
        left = self.left
        return (
            f"[Time] This task has {self.seconds:.0f} s ({spelled(self.seconds)}) of wall-clock time in all: model "
            f"replies, thinking, running code and waiting count. Left now: {left:.0f} s ({spelled(left)}). "
            "Write the files that the task asks for and finish with final_answer before it is over."
        )


def spelled(seconds: float) -> str:
    """A duration in minutes and seconds.

    Examples
    --------
    >>> spelled(3600), spelled(1008.4), spelled(59.6)
    ('60 min', '16 min 48 s', '1 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    return " ".join([f"{minutes} min"] * (minutes > 0 or not rest) + [f"{rest} s"] * (rest > 0))


def budget(seconds: float | None) -> float | None:
    """The task's own budget or what the run leaves of its own, whichever is less, s."""
    limit = sample_limits().time
    run = limit.remaining if limit.limit is not None else None
    known = [s for s in (seconds, run) if s is not None]
    return min(known) if known else None
