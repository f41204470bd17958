"""Mouse and keyboard: what an action is in input events of the browser."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from playwright.async_api import CDPSession

from matassay.core import SCREEN, Action, InvalidAction

from ._keys import ENTER_KEY, SHIFT, SHIFT_KEY, Chord, Key, key_for_character, parse_chord, parse_modifiers

Deed = Callable[[], Coroutine[Any, Any, None]]
"""Something to do with the hands, checked and ready."""

#: Pixels that one notch of the mouse wheel scrolls.
NOTCH = 100

#: Notches of a scroll that names no amount.
DEFAULT_NOTCHES = 3

#: A held key repeats after this time, and then with this period (s of the instrument's clock), as on a desktop.
REPEAT_DELAY, REPEAT_PERIOD = 0.5, 0.04

_BUTTONS = {"none": 0, "left": 1, "right": 2, "middle": 4}
_WHEEL = {"up": (0, -NOTCH), "down": (0, NOTCH), "left": (-NOTCH, 0), "right": (NOTCH, 0)}
_CLICKS = {
    "left_click": ("left", 1),
    "right_click": ("right", 1),
    "middle_click": ("middle", 1),
    "double_click": ("left", 2),
    "triple_click": ("left", 3),
}


class Hands:
    """The operator's pointer and keyboard in one page.

    Events are sent through the browser's own input pipeline, so that the page cannot tell them from a person's.

    Parameters
    ----------
    cdp : CDPSession
        Session with the page.
    """

    def __init__(self, cdp: CDPSession) -> None:
        self.pointer: tuple[int, int] = (SCREEN[0] // 2, SCREEN[1] // 2)
        """Where the pointer is, pixels."""
        self.left_down = False
        """Whether the left button is held."""
        self._cdp = cdp
        self._modifiers = 0

    def plan(self, action: Action) -> Deed | None:
        """What to do for an action; None for actions that touch neither mouse nor keyboard.

        ``hold_key`` is planned by `hold`, because time passes between its two halves.

        Raises
        ------
        InvalidAction
            If a key is not known or refused, or the buttons are not in a state that allows it. Nothing was done.
        """
        kind, at = action.kind, action.coordinate or self.pointer
        match kind:
            case _ if kind in _CLICKS:
                self._needs_button_up(kind)
                button, count = _CLICKS[kind]
                modifiers = parse_modifiers(action.text)
                return lambda: self._click(at, button, count, modifiers)
            case "mouse_move":
                return lambda: self._move(at)
            case "left_mouse_down":
                self._needs_button_up(kind)
                return lambda: self._press(at)
            case "left_mouse_up":
                if not self.left_down:
                    raise InvalidAction("left_mouse_up: the left button is not down")
                return lambda: self._release(at)
            case "left_click_drag":
                self._needs_button_up(kind)
                points = [action.start_coordinate or self.pointer, *action.path, at]
                modifiers = parse_modifiers(action.text)
                return lambda: self._drag(points, modifiers)
            case "scroll":
                notches = DEFAULT_NOTCHES if action.scroll_amount is None else action.scroll_amount
                modifiers = parse_modifiers(action.text)
                return lambda: self._scroll(at, str(action.scroll_direction), notches, modifiers)
            case "type":
                return lambda: self._type(str(action.text), bool(action.press_enter))
            case "key":
                chord = parse_chord(str(action.text))
                return lambda: self._strike(chord, action.repeat or 1)
        return None

    def hold(self, action: Action) -> tuple[Deed, Deed]:
        """The two halves of a ``hold_key``: press (with the repeats that its duration gives), and let go.

        Raises
        ------
        InvalidAction
            If a key is not known or refused.
        """
        chord = parse_chord(str(action.text))
        repeats = max(0, int(((action.duration or 0.0) - REPEAT_DELAY) / REPEAT_PERIOD + 1e-9) + 1)
        if (action.duration or 0.0) < REPEAT_DELAY or chord.key.modifier:
            repeats = 0
        return (lambda: self._hold(chord, repeats)), (lambda: self._let_go(chord))

    def _needs_button_up(self, kind: str) -> None:
        if self.left_down:
            raise InvalidAction(f"{kind}: the left button is down; release it with left_mouse_up first")

    # --- mouse

    def _mouse(self, type: str, at: tuple[int, int], **more: Any) -> Awaitable[Any]:
        event = {"type": type, "x": at[0], "y": at[1], "modifiers": self._modifiers, "pointerType": "mouse", **more}
        return self._cdp.send("Input.dispatchMouseEvent", event)

    def _moved(self, at: tuple[int, int]) -> Awaitable[Any]:
        self.pointer = at
        held = "left" if self.left_down else "none"
        return self._mouse("mouseMoved", at, button=held, buttons=_BUTTONS[held])

    async def _move(self, at: tuple[int, int]) -> None:
        await self._moved(at)

    async def _click(self, at: tuple[int, int], button: str, count: int, modifiers: Iterable[Key]) -> None:
        events = [*self._down(modifiers), self._moved(at)]
        for n in range(1, count + 1):
            events.append(self._mouse("mousePressed", at, button=button, buttons=_BUTTONS[button], clickCount=n))
            events.append(self._mouse("mouseReleased", at, button=button, buttons=0, clickCount=n))
        await _in_order([*events, *self._up(modifiers)])

    async def _press(self, at: tuple[int, int]) -> None:
        events = [self._moved(at)]
        self.left_down = True
        await _in_order([*events, self._mouse("mousePressed", at, button="left", buttons=1, clickCount=1)])

    async def _release(self, at: tuple[int, int]) -> None:
        # The move first and alone: sent together with another move it could be merged with it.
        await self._moved(at)
        self.left_down = False
        await self._mouse("mouseReleased", at, button="left", buttons=0, clickCount=1)

    async def _drag(self, points: list[tuple[int, int]], modifiers: Iterable[Key]) -> None:
        await _in_order(self._down(modifiers))
        await self._press(points[0])
        for point in points[1:]:
            await self._moved(point)  # one by one: the browser merges moves that wait in line
        self.left_down = False
        await _in_order(
            [self._mouse("mouseReleased", points[-1], button="left", buttons=0, clickCount=1), *self._up(modifiers)]
        )

    async def _scroll(self, at: tuple[int, int], direction: str, notches: int, modifiers: Iterable[Key]) -> None:
        dx, dy = _WHEEL[direction]
        await _in_order([*self._down(modifiers), self._moved(at)])
        for _ in range(notches):
            await self._mouse("mouseWheel", at, deltaX=dx, deltaY=dy, button="none", buttons=0)
        await _in_order(self._up(modifiers))

    # --- keyboard

    def _key(self, type: str, key: Key, **more: Any) -> Awaitable[Any]:
        # A key that types something does so only without Ctrl and Alt.
        types = type == "keyDown" and key.text and not self._modifiers & ~SHIFT
        event = {
            "type": type if types or type == "keyUp" else "rawKeyDown",
            "modifiers": self._modifiers,
            "key": key.key,
            "code": key.code,
            "windowsVirtualKeyCode": key.number,
            "location": key.location if key.location != 3 else 0,
            "isKeypad": key.location == 3,
            **more,
        }
        if types:
            event |= {"text": key.text, "unmodifiedText": key.text}
        return self._cdp.send("Input.dispatchKeyEvent", event)

    def _down(self, keys: Iterable[Key]) -> list[Awaitable[Any]]:
        events = []
        for key in keys:
            self._modifiers |= key.modifier
            events.append(self._key("keyDown", key))
        return events

    def _up(self, keys: Iterable[Key]) -> list[Awaitable[Any]]:
        events = []
        for key in reversed(list(keys)):
            self._modifiers &= ~key.modifier
            events.append(self._key("keyUp", key))
        return events

    def _struck(self, chord: Chord) -> list[Awaitable[Any]]:
        keys = (*chord.held, chord.key)
        return [*self._down(keys), *self._up(keys)]

    async def _strike(self, chord: Chord, times: int) -> None:
        await _in_order([event for _ in range(times) for event in self._struck(chord)])

    async def _hold(self, chord: Chord, repeats: int) -> None:
        events = self._down((*chord.held, chord.key))
        events += [self._key("keyDown", chord.key, autoRepeat=True) for _ in range(repeats)]
        await _in_order(events)

    async def _let_go(self, chord: Chord) -> None:
        await _in_order(self._up((*chord.held, chord.key)))

    async def _type(self, text: str, enter: bool) -> None:
        events: list[Awaitable[Any]] = []
        if text.endswith(("\n", "\r")):  # `parse_action` lets one pass, at the end
            text, enter = text.rstrip("\r\n"), True
        for character in text:
            key = key_for_character(character)
            if key is None:
                events.append(self._cdp.send("Input.insertText", {"text": character}))
            else:
                events += self._struck(Chord((SHIFT_KEY,) if key.shifted else (), key))
        if enter:
            events += self._struck(Chord((), ENTER_KEY))
        await _in_order(events)


async def _in_order(events: Iterable[Awaitable[Any]]) -> None:
    """Send events back to back and wait for the answers: they arrive in the order in which they are sent."""
    await asyncio.gather(*events)
