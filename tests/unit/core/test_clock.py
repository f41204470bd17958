from __future__ import annotations

import math

import pytest

from matassay.core import Agenda


def test_events_happen_at_their_time_inside_a_step() -> None:
    evolved: list[float] = []
    agenda = Agenda(evolved.append)
    seen: list[float] = []
    agenda.after(2.0, lambda: seen.append(agenda.now))
    agenda.after(5.0, lambda: seen.append(agenda.now))
    agenda.advance(10.0)
    assert seen == [2.0, 5.0]
    assert evolved == [2.0, 3.0, 5.0]
    assert agenda.now == 10.0


def test_event_may_schedule_another_in_the_same_step() -> None:
    agenda, seen = Agenda(), []

    def again() -> None:
        seen.append(agenda.now)
        if len(seen) < 3:
            agenda.after(1.0, again)

    agenda.after(1.0, again)
    agenda.advance(10.0)
    assert seen == [1.0, 2.0, 3.0]


def test_event_at_the_very_end_of_a_step_happens_in_it() -> None:
    agenda, seen = Agenda(), []
    agenda.after(0.3, lambda: seen.append(1))
    for _ in range(3):
        agenda.advance(0.1)  # 0.1 + 0.1 + 0.1 > 0.3 in binary
    assert seen == [1]


def test_cancelling_what_is_gone_is_harmless() -> None:
    agenda, seen = Agenda(), []
    first = agenda.after(1.0, lambda: seen.append("first"))
    second = agenda.after(1.0, lambda: seen.append("second"))
    agenda.cancel(second)
    agenda.cancel(second)
    agenda.cancel(None)
    agenda.advance(2.0)
    agenda.cancel(first)
    agenda.after(1.0, lambda: seen.append("third"))
    agenda.advance(2.0)
    assert seen == ["first", "third"]


@pytest.mark.parametrize("dt", [-1.0, math.nan, math.inf])
def test_time_only_moves_forward_by_finite_steps(dt: float) -> None:
    agenda = Agenda()
    with pytest.raises(ValueError, match="finite number of seconds >= 0"):
        agenda.advance(dt)
    with pytest.raises(ValueError, match="finite number of seconds >= 0"):
        agenda.after(dt, lambda: None)
    assert agenda.now == 0.0
