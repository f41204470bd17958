"""The virtual clock: time moves when an action says so, never by itself."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable


class Agenda:
    """A virtual clock with scheduled events.

    Events happen exactly at their time, whatever the size of the step with which time is advanced; events of one
    time happen in the order in which they were scheduled.

    Parameters
    ----------
    evolve : callable, optional
        ``evolve(dt)`` is called for every stretch of time (s) between two events; continuous physics lives there.
    """

    def __init__(self, evolve: Callable[[float], None] | None = None) -> None:
        self.now = 0.0
        self._evolve = evolve
        self._heap: list[tuple[float, int, Callable[[], object]]] = []
        self._count = itertools.count()
        self._cancelled: set[int] = set()

    def after(self, delay: float, action: Callable[[], object]) -> int:
        """Schedule ``action`` in ``delay`` seconds; returns a ticket for `cancel`."""
        if not delay >= 0 or math.isinf(delay):
            raise ValueError(f"delay must be a finite number of seconds >= 0, got {delay!r}")
        ticket = next(self._count)
        heapq.heappush(self._heap, (self.now + delay, ticket, action))
        return ticket

    def cancel(self, ticket: int | None) -> None:
        """Take a scheduled event back; a ticket that has fired, or None, is ignored."""
        if ticket is not None and any(ticket == t for _, t, _ in self._heap):
            self._cancelled.add(ticket)

    def advance(self, dt: float) -> None:
        """Move time on by ``dt`` seconds."""
        if not dt >= 0 or math.isinf(dt):
            raise ValueError(f"time step must be a finite number of seconds >= 0, got {dt!r}")
        end = self.now + dt
        while self._heap and self._heap[0][0] <= end + 1e-9:
            at, ticket, action = heapq.heappop(self._heap)
            if ticket in self._cancelled:
                self._cancelled.remove(ticket)
                continue
            self._move_to(at)
            action()
        self._move_to(end)

    def _move_to(self, time: float) -> None:
        if time > self.now:
            dt, self.now = time - self.now, time
            if self._evolve is not None:
                self._evolve(dt)
