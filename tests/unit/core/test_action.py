from __future__ import annotations

import math
from typing import Any

import pytest

from matassay.core import ACTIONS, MAX_WAIT, SCREEN, Action, InvalidAction, action_cost, parse_action


def test_fields_are_checked_and_kept() -> None:
    action = parse_action(
        {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3.4, 5], "path": [[9, 9]]}
    )
    assert action == Action("left_click_drag", coordinate=(3, 5), start_coordinate=(1, 2), path=((9, 9),))
    assert action.to_json() == {
        "action": "left_click_drag",
        "coordinate": [3, 5],
        "start_coordinate": [1, 2],
        "path": [[9, 9]],
    }


def test_kind_is_another_word_for_action() -> None:
    assert parse_action({"kind": "screenshot"}) == Action("screenshot")


@pytest.mark.parametrize("empty", [None, "", 0, False, []])
def test_what_providers_fill_in_is_no_mistake(empty: Any) -> None:
    assert parse_action({"action": "screenshot", "text": empty, "repeat": empty}) == Action("screenshot")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ([], "must be an object"),
        ({}, "unknown action None; known actions: left_click"),
        ({"action": "fly"}, "unknown action 'fly'"),
        ({"action": ["left_click"]}, "unknown action"),
        ({"action": "key"}, "key: needs 'text'"),
        ({"action": "key", "text": ""}, "key: 'text' must be text that is not empty"),
        ({"action": "key", "text": 7}, "key: 'text' must be text"),
        ({"action": "type", "text": "a" * 2001}, "2001 characters, at most 2000"),
        ({"action": "type", "text": "a", "press_enter": "yes"}, "'press_enter' must be true or false"),
        ({"action": "screenshot", "coordinate": [1, 1]}, "screenshot: does not take 'coordinate' (takes: nothing)"),
        ({"action": "left_click", "colour": 0}, "does not take 'colour'"),
        ({"action": "left_click", "coordinate": [1366, 5]}, "outside the screen of 1366 x 768"),
        ({"action": "left_click", "coordinate": [-1, 5]}, "outside the screen"),
        ({"action": "left_click", "coordinate": "1,5"}, r"must be \[x, y\]"),
        ({"action": "left_click", "coordinate": [1, math.nan]}, "must be a number"),
        ({"action": "left_click", "coordinate": [True, 1]}, "must be a number"),
        ({"action": "left_click", "coordinate": [10**400, 1]}, "must be a number"),
        ({"action": "wait", "duration": 10**400}, "must be a number"),
        ({"action": "wait", "duration": -1}, "between 0 and 60"),
        ({"action": "wait", "duration": math.inf}, "must be a number"),
        ({"action": "wait", "duration": "1"}, "must be a number"),
        ({"action": "scroll", "scroll_direction": "in"}, "one of up, down, left, right"),
        ({"action": "scroll", "scroll_direction": "up", "scroll_amount": 1.5}, "whole number"),
        ({"action": "scroll", "scroll_direction": "up", "scroll_amount": 51}, "between 0 and 50"),
        ({"action": "key", "text": "a", "repeat": 0}, "between 1 and 100"),
        ({"action": "zoom", "region": [5, 5, 5, 9]}, "is empty"),
        ({"action": "zoom", "region": [0, 9, 1366, 10]}, "has 1366 x 1 pixels, at least 8 x 8 are needed"),
        ({"action": "type", "text": "a\tb"}, "use 'key' with 'Tab'"),
        ({"action": "type", "text": "a\nb"}, "must be one line"),
        ({"action": "type", "text": "a\n\n"}, "must be one line"),
        ({"action": "type", "text": "a\x1b"}, "control character"),
        ({"action": "type", "text": "a\ud800b"}, "half of a surrogate pair"),
        ({"action": "key", "text": "\udfff"}, "half of a surrogate pair"),
        ({"action": "wait", "duration": 1, "x\ud800": 1}, "does not take 'x\ufffd'"),
        ({"action": "zoom", "region": [0, 0, 2000, 9]}, "between 0 and 1366"),
        ({"action": "left_click_drag", "coordinate": [1, 1], "path": [[0, 0]] * 201}, "at most 200 points"),
    ],
)
def test_refusal_names_field_value_and_what_is_expected(raw: Any, text: str) -> None:
    with pytest.raises(InvalidAction, match=text.replace("(", r"\(").replace(")", r"\)")):
        parse_action(raw)


def test_corners_of_the_screen_are_on_it() -> None:
    for corner in ([0, 0], [SCREEN[0] - 1, SCREEN[1] - 1]):
        assert parse_action({"action": "mouse_move", "coordinate": corner}).coordinate == tuple(corner)


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_one_newline_at_the_end_of_a_text_is_allowed(end: str) -> None:
    assert parse_action({"action": "type", "text": f"a{end}"}).text == f"a{end}"


def test_waiting_costs_its_time_on_the_instruments_clock() -> None:
    assert action_cost(parse_action({"action": "wait", "duration": 2}), 300) == 600
    assert action_cost(parse_action({"action": "hold_key", "text": "a", "duration": 2}), 300) == pytest.approx(2.3)
    assert action_cost(parse_action({"action": "wait", "duration": MAX_WAIT}), 1) == MAX_WAIT
    assert action_cost(Action("left_click"), 300) == 0.5


def test_looking_costs_nothing_and_all_else_something() -> None:
    free = {kind for kind, (_, _, cost) in ACTIONS.items() if cost == 0}
    assert free == {"wait", "screenshot", "zoom", "cursor_position"}
