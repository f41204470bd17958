"""What is kept of a state for people: scalars, their changes, measures."""

from __future__ import annotations

import math
from typing import Any

import pytest

from matassay.core import measures, scalars
from matassay.core._state import MAX_TEXT, changes


def test_scalars_are_the_plain_entries_in_their_order() -> None:
    state = {"b": 1, "a": "x", "list": [1], "dict": {"c": 1}, "none": None, "nan": math.nan, "huge": 10**400, 3: 1}
    assert list(scalars(state).items()) == [("b", 1), ("a", "x"), ("none", None)]


def test_long_texts_are_cut() -> None:
    cut = scalars({"note": "a" * 10**6, "short": "a" * MAX_TEXT})
    assert cut["note"] == "a" * (MAX_TEXT - 1) + "…"
    assert cut["short"] == "a" * MAX_TEXT


@pytest.mark.parametrize("wrong", [None, 3, "text", [1], [("a", 1)]])
def test_what_is_no_object_has_none(wrong: Any) -> None:
    assert scalars(wrong) == {}
    assert measures(wrong) == {}


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a": 1}, {"a": 1}, {}),
        ({"a": 1}, {"a": 2, "b": "x"}, {"a": 2, "b": "x"}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": False}, {"a": 0}, {"a": 0}),
        ({"a": 1}, {}, {"a": None}),
        ({"a": None}, {}, {}),
        ({}, {"a": None}, {"a": None}),
    ],
)
def test_changes(before: Any, after: Any, changed: Any) -> None:
    found = changes(before, after)
    assert [(k, v, type(v)) for k, v in found.items()] == [(k, v, type(v)) for k, v in changed.items()]


def test_measures_are_finite_numbers() -> None:
    raw = {"psnr_db": 28, "best_psnr_db": 31.5, "on": True, "text": "1", "nan": math.nan, "inf": math.inf, "none": None,
           "far": 1e300, "list": [1], 3: 1}  # fmt: skip
    assert list(measures(raw).items()) == [("best_psnr_db", 31.5), ("psnr_db", 28.0)]
