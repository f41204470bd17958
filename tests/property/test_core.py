"""What holds of the vocabulary whatever it is given."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from matassay.core import (
    ACTIONS,
    SCREEN,
    UNITS,
    Action,
    Agenda,
    Artefact,
    Consequence,
    Criterion,
    Evidence,
    InvalidAction,
    UnknownTask,
    action_cost,
    all_tasks,
    convert,
    derive,
    judge,
    parse_action,
    select_tasks,
    stream,
)
from matassay.core._state import changes, scalars

#: More digits than a float holds.
huge = st.sampled_from([10**400, -(10**400)])
plain = st.none() | st.booleans() | st.integers() | huge | st.floats() | st.text(max_size=20)
json_like = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(
    ["action", "kind", "coordinate", "start_coordinate", "path", "text", "duration", "scroll_direction", "scroll_amount",
     "region", "repeat", "press_enter", "button", "x", ""]
)  # fmt: skip

# --- actions


@given(json_like)
def test_anything_at_all_is_an_action_or_refused(raw: Any) -> None:
    with suppress(InvalidAction):
        assert isinstance(parse_action(raw), Action)


@given(
    st.sampled_from(list(ACTIONS)),
    st.dictionaries(names, json_like | st.lists(st.integers(-5, 1400), max_size=5), max_size=6),
)
def test_known_action_with_any_fields_is_checked_or_refused(kind: str, fields: dict[str, Any]) -> None:
    try:
        action = parse_action(fields | {"action": kind})
    except InvalidAction as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert refused.startswith(kind), "the text names the action"
        return
    for point in (action.coordinate, action.start_coordinate, *action.path):
        assert point is None or (0 <= point[0] < SCREEN[0] and 0 <= point[1] < SCREEN[1])
    assert 0 <= action_cost(action, 300.0) < math.inf
    again = parse_action(json.loads(json.dumps(action.to_json())))
    assert again == action


# --- time

delays = st.floats(0, 1e4, allow_nan=False)


@given(st.lists(delays, max_size=12), st.lists(st.floats(0, 1e3), max_size=20))
def test_agenda_does_not_depend_on_the_size_of_the_steps(delays: list[float], steps: list[float]) -> None:
    def run(steps: list[float]) -> tuple[list[tuple[int, float]], float, float]:
        evolved: list[float] = []
        agenda, fired = Agenda(evolved.append), []
        for n, delay in enumerate(delays):
            agenda.after(delay, lambda n=n: fired.append((n, agenda.now)))
        for step in steps:
            agenda.advance(step)
        return fired, agenda.now, math.fsum(evolved)

    pieces, at_once = run(steps), run([math.fsum(steps)])
    # an event within rounding of the end may be on either side of it
    end = at_once[1]
    clear = [(n, t) for n, t in pieces[0] if t < end - 1e-6]
    assert clear == [(n, t) for n, t in at_once[0] if t < end - 1e-6]
    assert pieces[1] == pytest.approx(end, abs=1e-8)
    assert pieces[2] == pytest.approx(pieces[1], abs=1e-8), "all time is given to the physics"


@given(st.lists(delays, min_size=1, max_size=12))
def test_agenda_fires_in_order_of_time_then_of_scheduling(delays: list[float]) -> None:
    agenda, fired = Agenda(), []
    for n, delay in enumerate(delays):
        agenda.after(delay, lambda n=n: fired.append(n))
    agenda.advance(2e4)
    assert fired == sorted(range(len(delays)), key=lambda n: (delays[n], n))


@given(st.lists(delays, min_size=1, max_size=12), st.data())
def test_cancelled_events_do_not_fire(delays: list[float], data: st.DataObject) -> None:
    agenda, fired = Agenda(), []
    tickets = [agenda.after(delay, lambda n=n: fired.append(n)) for n, delay in enumerate(delays)]
    gone = data.draw(st.sets(st.sampled_from(range(len(delays)))))
    for n in gone:
        agenda.cancel(tickets[n])
        agenda.cancel(tickets[n])
    agenda.advance(2e4)
    assert set(fired) == set(range(len(delays))) - gone


# --- seeds

paths = st.lists(st.text(max_size=6) | st.integers(-(2**40), 2**40), max_size=4)


@given(st.integers(0, 2**32), st.lists(paths, min_size=1, max_size=5))
def test_streams_do_not_depend_on_the_order_in_which_they_are_drawn(seed: int, paths: list[list[Any]]) -> None:
    forward = [stream(seed, *p, salt="").random(3).tolist() for p in paths]
    backward = [stream(seed, *p, salt="").random(3).tolist() for p in reversed(paths)]
    assert forward == backward[::-1]


@given(st.integers(0, 2**32), paths, paths)
def test_different_names_give_different_streams(seed: int, one: list[Any], two: list[Any]) -> None:
    same = [(type(n), n) for n in one] == [(type(n), n) for n in two]
    assert (derive(seed, *one, salt="") == derive(seed, *two, salt="")) is same
    assert derive(seed, *one, salt="") != derive(seed + 1, *one, salt="")
    assert derive(seed, *one, salt="") != derive(seed, *one, salt="secret")


# --- units


@given(st.floats(-1e12, 1e12), st.data())
def test_units_come_back(value: float, data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(list(UNITS)))
    alike = [u for u in UNITS if UNITS[u][0] == UNITS[unit][0]]
    other = data.draw(st.sampled_from(alike))
    assert convert(convert(value, unit, other), other, unit) == pytest.approx(value, rel=1e-12)


@given(st.floats(-1e6, 1e6), st.sampled_from(list(UNITS)), st.sampled_from(list(UNITS)))
def test_units_of_another_dimension_are_refused(value: float, unit: str, other: str) -> None:
    if UNITS[unit][0] != UNITS[other][0]:
        with pytest.raises(ValueError, match="cannot convert"):
            convert(value, unit, other)
    else:
        assert math.isfinite(convert(value, unit, other))


# --- evidence

finite = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
evidence = st.builds(
    Evidence,
    state=st.dictionaries(st.text(max_size=8), finite, max_size=5),
    artefacts=st.lists(st.builds(Artefact.of, st.text(max_size=8), st.binary(max_size=40)), max_size=4).map(tuple),
    consequences=st.lists(
        st.builds(
            Consequence, st.text(max_size=8), st.floats(0, 1e9), st.text(max_size=12), st.none() | st.integers(0, 500)
        ),
        max_size=3,
    ).map(tuple),
    time=st.floats(0, 1e9),
    versions=st.dictionaries(st.text(max_size=6), st.text(max_size=6), max_size=3),
)


@given(evidence)
def test_evidence_comes_back_from_json(evidence: Evidence) -> None:
    blobs = {a.sha256: a.data for a in evidence.artefacts if a.data is not None}
    assert Evidence.from_json(json.loads(json.dumps(evidence.to_json())), blobs) == evidence


@given(evidence.filter(lambda e: e.artefacts), st.binary(max_size=41))
def test_altered_file_is_noticed(evidence: Evidence, forged: bytes) -> None:
    first = evidence.artefacts[0]
    if forged != first.data:
        with pytest.raises(ValueError, match="does not match its digest"):
            Evidence.from_json(evidence.to_json(), {first.sha256: forged})


@given(evidence)
def test_the_last_file_of_a_name_counts(evidence: Evidence) -> None:
    for artefact in evidence.artefacts:
        found = evidence.artefact(artefact.name)
        assert found == [a for a in evidence.artefacts if a.name == artefact.name][-1]
    assert evidence.artefact("a name that nobody draws") is None


# --- the rule


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_success_means_that_all_hold_and_score_counts_goals(drawn: list[tuple[bool, bool]]) -> None:
    drawn = [*drawn, (False, drawn[0][1])]  # there is a goal
    criteria = [Criterion(f"c{n}", "", lambda e, g: True, holds_at_start=guard) for n, (guard, _) in enumerate(drawn)]
    verdict = judge(criteria, {f"c{n}": holds for n, (_, holds) in enumerate(drawn)})
    goals = [holds for guard, holds in drawn if not guard]
    assert verdict.success is all(holds for _, holds in drawn)
    assert verdict.score == np.mean(goals)
    assert 0 <= verdict.score <= 1
    if verdict.success:
        assert verdict.score == 1
    if verdict.score < 1:
        assert not verdict.success
    assert list(verdict.criteria) == [c.name for c in criteria]


# --- the registry


@given(st.data())
def test_prefixes_select_whole_parts_of_ids(data: st.DataObject) -> None:
    tasks = all_tasks()
    task = data.draw(st.sampled_from(tasks))
    prefix = task.id[: data.draw(st.integers(0, len(task.id)))]
    whole = prefix.strip("/")
    ends = not whole or task.id == whole or task.id[len(whole)] in "/-"
    try:
        chosen = select_tasks([prefix])
    except UnknownTask:
        assert not ends
    else:
        assert (task in chosen) is ends
        assert chosen == [t for t in tasks if t in chosen], "in the order of the registry"


@given(st.lists(st.sampled_from([t.id for t in all_tasks()] + ["instruments"]), min_size=1, max_size=5))
def test_prefixes_add_up(prefixes: list[str]) -> None:
    chosen = select_tasks(prefixes)
    assert len(set(chosen_ids := [t.id for t in chosen])) == len(chosen_ids)
    assert set(chosen_ids) == {t.id for p in prefixes for t in select_tasks([p])}


# --- the state that a replay shows

states = st.lists(st.dictionaries(st.sampled_from("abcdef"), json_like, max_size=6), min_size=1, max_size=8)


def _known(state: dict[str, Any]) -> list[tuple[str, Any, bool]]:
    """Entries that are not null, truth values apart from numbers: null also stands for an entry that is gone."""
    return sorted((k, v, isinstance(v, bool)) for k, v in scalars(state).items() if v is not None)


@given(states)
def test_changes_laid_over_the_initial_state_give_the_state_of_every_step(found: list[dict[str, Any]]) -> None:
    shown = last = scalars(found[0])
    for state in found[1:]:
        now = scalars(state)
        delta = changes(last, now)
        json.dumps(delta, allow_nan=False)
        shown, last = {**shown, **delta}, now
        assert _known(shown) == _known(state)
        assert not changes(last, scalars(state)), "nothing is told twice"
