from __future__ import annotations

import math
from typing import Any

import pytest

from matassay.core import Consequence, Evidence
from matassay.grading import close, no_consequence, same_integer, same_text, state_equals, state_is, state_within
from matassay.grading.criteria import with_state


@pytest.mark.parametrize(
    ("value", "expected"),
    [(10.0, True), (10.5, True), (9.5, True), (10, True), (10.51, False), (9.49, False), (math.nan, False), (math.inf, False),
     ("10", False), (None, False), (True, False), ([10], False), (10**400, False)],
)  # fmt: skip
def test_numbers_are_close_as_numbers_only(value: Any, expected: bool) -> None:
    assert close(value, 10.0, 0.5) is expected


def test_decimal_settings_meet_a_closed_interval() -> None:
    assert close(0.1 + 0.2, 0.3, 0.0)
    assert close(27.3, 27.2, 0.1)


def test_units_are_converted() -> None:
    assert close(45_000.0, 45.0, 0.5, "V", "kV")
    assert not close(45.0, 45.0, 0.5, "V", "kV")
    with pytest.raises(ValueError, match="cannot convert"):
        close(1.0, 1.0, 0.5, "V", "mA")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, True),
        (3.0, True),
        (3.1, False),
        (True, False),
        ("3", False),
        (None, False),
        (math.nan, False),
        (10**400, False),
    ],
)
def test_integers(value: Any, expected: bool) -> None:
    assert same_integer(value, 3) is expected
    assert same_integer(True, 1) is False
    assert same_integer(False, 0) is False


@pytest.mark.parametrize(
    ("value", "expected"),
    [("NaCl", True), (" NaCl\n", True), ("nacl", False), ("NaCl2", False), ("", False), (None, False), (5, False)],
)
def test_texts_are_never_substrings(value: Any, expected: bool) -> None:
    assert same_text(value, "NaCl") is expected


def holds(criterion: Any, state: dict[str, Any], goal: dict[str, Any] | None = None) -> bool:
    return bool(criterion.check(Evidence(state), goal or {}))


@pytest.mark.parametrize(
    ("value", "target", "expected"),
    [(4.0, 4, True), (4, 4.0, True), (True, True, True), (True, 1, False), (0, False, False), ("a", "a", True), ("4", 4, False),
     (None, None, True), ([1], [1], True), (None, 0, False)],
)  # fmt: skip
def test_states_are_equal_in_type_as_well(value: Any, target: Any, expected: bool) -> None:
    assert holds(state_equals("c", "", "key", "goal_key"), {"key": value}, {"goal_key": target}) is expected
    assert holds(state_is("c", "", "key", target), {"key": value}) is expected


def test_missing_key_raises() -> None:
    for criterion in (
        state_equals("c", "", "key", "g"),
        state_is("c", "", "key", 1),
        state_within("c", "", "key", "g", 1, "kV", "why"),
    ):
        with pytest.raises(KeyError):
            criterion.check(Evidence(), {"g": 1})


def test_tolerance_moves_the_value_that_is_judged() -> None:
    criterion = state_within("c", "", "voltage", "wanted", 0.5, "kV", "half a step")
    evidence = Evidence({"voltage": 45.0, "current": 40.0})
    assert criterion.tolerance is not None
    for k, expected in ((0.9, True), (-0.9, True), (1.1, False), (-1.1, False)):
        displaced = criterion.tolerance.displaced(evidence, {"wanted": 45.0}, k)
        assert criterion.check(displaced, {"wanted": 45.0}) is expected
        assert displaced.state["current"] == 40.0
    assert evidence.state["voltage"] == 45.0


def test_guards_are_marked() -> None:
    assert no_consequence("crash").holds_at_start
    assert state_is("c", "", "k", 1, guard=True).holds_at_start
    assert not state_is("c", "", "k", 1).holds_at_start


def test_consequences_are_named_one_by_one() -> None:
    criterion = no_consequence("crash", "fire")
    crashed, scratched = (Evidence(consequences=(Consequence(name, 0.0, ""),)) for name in ("crash", "scratch"))
    assert criterion.check(scratched, {})
    assert not criterion.check(crashed, {})


def test_with_state_leaves_the_original_alone() -> None:
    before = Evidence({"a": 1})
    assert with_state(before, a=2, b=3).state == {"a": 2, "b": 3}
    assert before.state == {"a": 1}
