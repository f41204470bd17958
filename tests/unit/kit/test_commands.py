from __future__ import annotations

import math
from typing import Any

import pytest

from matassay.kit import Button, Column, Desk, Instrument, Pixel, Refused, Tabs, View, command
from matassay.kit.panel import check_panel

from .toaster import Toaster


def test_arguments_are_checked_against_the_annotations() -> None:
    toaster = Toaster()
    Toaster.touch.operate(toaster, 3, 4.5)
    assert toaster.spots == [(3, 4.5)]


@pytest.mark.parametrize(
    "args",
    [
        (),
        (1,),
        (1, 2, 3),
        ("a", 2),
        (None, 2),
        ([1], 2),
        (math.nan, 1),
        (math.inf, 1),
        (1e9, 1),
        ({}, {}),
        (10**400, 1),
    ],
)
def test_arguments_that_do_not_fit_are_refused(args: tuple[Any, ...]) -> None:
    toaster = Toaster()
    with pytest.raises(Refused, match="Touch: "):
        Toaster.touch.operate(toaster, *args)
    assert toaster.spots == []


def test_guard_is_asked_before_the_arguments() -> None:
    toaster = Toaster()
    with pytest.raises(Refused, match="It is cold"):
        Toaster.burn.operate(toaster, "too", "many")


def test_label_guard_and_softness() -> None:
    toaster = Toaster()
    assert Toaster.touch.label == "Touch"
    assert Toaster.push.spec() == {"label": "PUSH"}
    assert Toaster.push.enabled(toaster)
    toaster.push()
    assert not Toaster.push.enabled(toaster)
    assert Toaster.burn.enabled(Toaster()), "a soft control is live"


def test_command_called_on_the_instrument_is_guarded_as_well() -> None:
    toaster = Toaster()
    toaster.push()
    with pytest.raises(Refused):
        toaster.push()


class Two(Instrument):
    @command
    def one(self, a: Pixel = 1.0) -> None: ...

    @command
    def two(self) -> None: ...


def test_panel_with_two_widgets_of_one_id_is_refused() -> None:
    with pytest.raises(ValueError, match="two widgets have the id 'one': a button and a button"):
        check_panel(Column(Button(Two.one), Button(Two.one)))
    assert len(check_panel(Column(Button(Two.one), Button(Two.one, id="again"), Button(Two.two)))) == 4


def test_panel_with_a_nameless_changing_widget_is_refused() -> None:
    with pytest.raises(ValueError, match="neither id nor label"):
        check_panel(Column(View("", lambda s: None)))  # type: ignore[arg-type, return-value]


def test_ids_come_from_what_is_operated_or_from_the_label() -> None:
    assert [w.id for w in Desk(Toaster()).widgets if w.id][:4] == ["level", "slots", "bread", "width"]
    assert Tabs("My  Pages (2)").id == "my-pages-2"


def test_every_property_of_the_tree_is_json() -> None:
    tree = Desk(Toaster()).tree()
    assert tree["kind"] == "column"
    slider = tree["children"][0]
    assert (slider["id"], slider["label"], slider["unit"], slider["lo"], slider["hi"], slider["decimals"]) == (
        "level", "Level", "s", 1.0, 6.0, 1,
    )  # fmt: skip
