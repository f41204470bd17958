from __future__ import annotations

import json
import math
from typing import Any

import pytest

from matassay.kit import Desk

from .toaster import Toaster

UNKNOWN = "The panel sent something that this instrument does not know"


@pytest.fixture
def desk() -> Desk:
    return Desk(Toaster(1))


def toaster(desk: Desk) -> Toaster:
    assert isinstance(desk.instrument, Toaster)
    return desk.instrument


def test_operating(desk: Desk) -> None:
    assert desk.set("level", 2.0) is None
    assert desk.set("bread", "rye") is None
    assert desk.press("push") is None
    desk.advance(1.9)
    assert desk.evidence()["state"] == {"hot": True, "toasted": 0, "energy": 1.9, "level": 2.0}
    desk.advance(5.0)
    assert desk.evidence()["state"] == {"hot": False, "toasted": 1, "energy": 2.0, "level": 2.0}
    assert [a["name"] for a in desk.evidence()["artefacts"]] == ["toast-1.txt"]
    assert desk.evidence()["time"] == 6.9


@pytest.mark.parametrize(
    ("id", "args", "gesture"),
    [
        ("wear", [1.0], None),  # hidden truth
        ("setup", [], None),
        ("begin", [{}], None),
        ("__class__", [], None),
        ("hot", [False], None),
        ("touch", [1, 1], None),  # a command without a button: only the view's gesture gives it
        ("toasted", [5], None),
        ("clock", [], None),  # a readout
        ("message", ["I am done"], None),
        ("", [], None),
        (None, [], None),
        (5, [], None),
        (["push"], [], None),
        ({"id": "push"}, [], None),
        ("push", "args", None),
        ("push", None, None),
        ("push", {"a": 1}, None),
        ("push", [], "click"),
        ("push", [], ["click"]),
        ("push", [], {}),
        ("window", [1, 1], "double"),
        ("window", [1, 1], None),
        ("window", [1, 1], "zoom"),
        ("energy", [0], "select"),
        ("level", [3.0], "wheel"),
    ],
)
def test_forged_event_is_refused_with_a_message(desk: Desk, id: Any, args: Any, gesture: Any) -> None:
    before = desk.evidence()
    assert desk.event(id, args, gesture) == UNKNOWN
    assert desk.evidence() == before
    assert desk.snapshot()["message"] == {"value": UNKNOWN, "level": "warning"}
    assert desk.refusals == 1


def test_refusal_of_the_instrument_is_shown(desk: Desk) -> None:
    assert desk.press("explode") == "It does not explode"
    assert desk.set("level", 99) == "Level: 99 is outside 1 to 6 s"
    assert desk.snapshot()["message"]["value"] == "Level: 99 is outside 1 to 6 s"
    desk.notice("Action refused")
    assert desk.snapshot()["message"] == {"value": "Action refused", "level": "warning"}


def test_gestures_reach_their_command(desk: Desk) -> None:
    assert desk.event("window", [3, 4], "click") is None
    assert toaster(desk).spots == [(3.0, 4.0)]
    desk.press("ask")
    assert desk.snapshot()["sure"]["open"] is True
    assert desk.event("sure", [], "cancel") is None
    assert desk.snapshot()["sure"]["open"] is False


@pytest.mark.parametrize("args", [[2], [-1], [True], [0.0], ["0"], [], [0, 0], [None]])
def test_there_are_two_tabs(desk: Desk, args: list[Any]) -> None:
    assert desk.event("pages", [1], "select") is None
    assert desk.event("pages", args, "select") == "There is no such tab"
    assert desk.snapshot()["pages"]["selected"] == 1


@pytest.mark.parametrize(
    "args",
    [[1, 0, 0, 1], [0, 0, 0, 1], [0, 1, 0], [0, 1, 0, math.nan], [0, math.inf, 0, 1], [True, 2, 0, 1], ["0", 1, 0, 1], [0, 1e16, 0, 1],
     [0, 10**400, 0, 1], [None] * 4],
)  # fmt: skip
def test_zoom_needs_a_region(desk: Desk, args: list[Any]) -> None:
    assert desk.event("energy", [0, 2, -1, 1], "zoom") is None
    assert desk.event("energy", args, "zoom") is not None
    assert desk.snapshot()["energy"]["view"] == [0.0, 2.0, -1.0, 1.0]
    assert desk.event("energy", [], "zoom") is None
    assert desk.snapshot()["energy"]["view"] is None


def test_arrays_are_rendered_when_their_key_changes(desk: Desk) -> None:
    (window, _), (energy, _) = desk.sources()
    key, image = desk.render(window)
    assert desk.render(window)[1] is image
    desk.press("push")
    desk.advance(10)
    assert desk.render(window)[0] != key
    assert desk.render(window)[1].max() == 1
    assert desk.render(energy)[1].shape == (2, 2)


def test_consequence_is_kept_with_its_time(desk: Desk) -> None:
    assert desk.press("burn") == "It is cold"
    desk.press("push")
    desk.advance(0.5)
    desk.press("burn")
    assert desk.evidence()["consequences"] == [{"name": "burnt", "time": 0.5, "message": "Smoke", "step": None}]
    assert desk.snapshot()["message"] == {"value": "Smoke", "level": "error"}


def test_everything_is_json(desk: Desk) -> None:
    for thing in (desk.tree(), desk.snapshot(), desk.evidence()):
        json.dumps(thing, allow_nan=False)


def test_looks_are_not_part_of_the_evidence(desk: Desk) -> None:
    before = desk.evidence()
    desk.event("pages", [1], "select")
    desk.event("energy", [0, 1, 0, 1], "zoom")
    for index, _ in desk.sources():
        desk.render(index)
    desk.snapshot()
    assert desk.evidence() == before
