"""The same again, to the byte: whenever, wherever and after whatever an episode runs."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from matassay.kit import Desk
from matassay.suites.instruments import INSTRUMENTS

from ._case import Case
from ._events import random_events
from ._finding import Finding
from ._trials import Trial

#: Events of the headless run under a clock that jumps.
EVENTS = 80

#: What tells the time on the wall.
CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time")


async def same_seed_same_pixels(case: Case) -> AsyncIterator[Finding]:
    """A10."""
    yield _same(*await case.before_and_after(), "two episodes of the reference")
    # a neighbour that hides the same is chance; three of them are a seed that is not used
    others = [case.task.scenario(case.seed + n).truth for n in (1, 2, 3)]
    another = all(truth != case.scenario.truth for truth in others)
    yield Finding(another, f"other seeds hide {'another' if another else 'the same'} truth")


async def nothing_is_left_behind(case: Case) -> AsyncIterator[Finding]:
    """A11."""
    yield _same(*await case.before_and_after(), "an episode before and after that of another seed")


def _same(one: Trial, two: Trial, what: str) -> Finding:
    if one.screens != two.screens:
        pairs = itertools.zip_longest(one.screens, two.screens)
        n = next(i for i, (a, b) in enumerate(pairs, start=1) if a != b)
        return Finding(False, f"{what} differ in the picture after step {n}")
    if one.evidence.to_json() != two.evidence.to_json():
        return Finding(False, f"{what} show the same {len(one.screens)} pictures but differ in their evidence")
    return Finding(True, f"{what}: {len(one.screens)} pictures and the evidence are equal")


async def wall_clock_does_not_matter(case: Case) -> AsyncIterator[Finding]:
    """A12."""
    if case.task.group not in INSTRUMENTS:
        yield Finding(True, "no instrument of ours: the pictures of A10 were taken at different times")
        return
    plain = _operated(case)
    with odd_clock():
        odd = _operated(case)
    n = next((i for i, (a, b) in enumerate(zip(plain, odd, strict=True), start=1) if a != b), None)
    yield Finding(n is None, f"{len(plain)} events on a wall clock that jumps" + (f": event {n} differs" if n else ""))


def _operated(case: Case) -> list[str]:
    """Everything that a desk shows and says after each of many events."""
    start = json.loads(json.dumps(dict(case.scenario.start)))
    desk = Desk(INSTRUMENTS[case.task.group](case.seed, start))
    told = []
    for event, dt in itertools.islice(random_events(desk, case.seed, "wall clock"), EVENTS):
        desk.event(*event)
        desk.advance(dt)
        told.append(json.dumps([desk.snapshot(), desk.evidence()]))
    return told


@contextmanager
def odd_clock() -> Iterator[None]:
    """A wall that tells this thread another time at every look, years apart, now forwards and now backwards."""
    here, ticks = threading.get_ident(), itertools.count(1)

    def oddly(true: Callable[[], float]) -> Callable[[], float]:
        def tell() -> float:
            if threading.get_ident() != here:  # an event loop in another thread lives by it
                return true()
            n = next(ticks)
            return type(true())(1e9 + (-1) ** n * 1e7 * n)

        return tell

    with ExitStack() as patches:
        for name in CLOCKS:
            patches.enter_context(mock.patch.object(time, name, oddly(getattr(time, name))))
        yield
