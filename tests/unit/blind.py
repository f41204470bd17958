"""Hands that touch the controls of an instrument without having read what is to be done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from matassay.kit import Choice, Command, Desk, Flag, Real, Widget

ONCE, LOWEST, HIGHEST = "once", "lowest", "highest"
WAYS = (ONCE, LOWEST, HIGHEST)


def touch(desk: Desk, widget: Widget, way: str) -> None:
    """Press a button; bring anything else one step on, or to an end."""
    bind, s = widget.bind, desk.instrument
    value: Any
    match bind:
        case Command():
            desk.press(widget.id)
            return
        case Real():
            value = {ONCE: bind.__get__(s) + bind.step, LOWEST: bind.lo, HIGHEST: bind.hi}[way]
        case Choice():
            after = (bind.choices.index(bind.__get__(s)) + 1) % len(bind.choices)
            value = bind.show_as(bind.choices[{ONCE: after, LOWEST: 0, HIGHEST: -1}[way]])
        case Flag():
            value = {ONCE: not bind.__get__(s), LOWEST: False, HIGHEST: True}[way]
        case _:
            value = "7"
    desk.set(widget.id, value)


def controls(desk: Desk) -> list[Widget]:
    """What can be touched."""
    return [w for w in desk.widgets if w.bind is not None]


def one_control(begin: Callable[[], Desk]) -> Iterator[tuple[Desk, str]]:
    """A fresh desk for each control and way, with that control touched."""
    for number in range(len(controls(begin()))):
        for way in WAYS:
            desk = begin()
            widget = controls(desk)[number]
            touch(desk, widget, way)
            desk.advance(1.0)
            yield desk, f"{widget.id} {way}"


def every_control_once(begin: Callable[[], Desk]) -> Iterator[tuple[Desk, str]]:
    """A fresh desk for each way, with all controls touched in their order on the panel."""
    for way in WAYS:
        desk = begin()
        for widget in controls(desk):
            touch(desk, widget, way)
            desk.advance(1.0)
        yield desk, f"all {way}"
