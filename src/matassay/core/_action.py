"""What an agent can do with mouse, keyboard and time: one vocabulary for every graphical world.

The fields and names are those of the ``computer`` tool that the large providers map natively (see
``matassay.evals``), plus ``path`` for a drag along several points.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Final

from ._errors import InvalidAction
from ._number import is_number
from ._text import plain_text

#: Size of every graphical world in pixels (width, height). Two providers hard-code it in their native tools.
SCREEN: Final = (1366, 768)

#: Longest wait of one action in agent seconds.
MAX_WAIT: Final = 60.0

#: Longest text of one ``type`` action, characters.
MAX_TEXT: Final = 2000

MAX_REPEAT: Final = 100
MAX_SCROLL: Final = 50
MAX_PATH: Final = 200

#: Shortest side of a region to look at enlarged, pixels.
MIN_REGION: Final = 8

#: kind -> (needed fields, optional fields, cost in instrument seconds). ``wait`` costs its duration times the
#: instrument's ``time_scale``; this table holds all other costs. Looking costs nothing.
ACTIONS: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...], float]]] = MappingProxyType(
    {
        "left_click": ((), ("coordinate", "text"), 0.5),
        "right_click": ((), ("coordinate", "text"), 0.5),
        "middle_click": ((), ("coordinate", "text"), 0.5),
        "double_click": ((), ("coordinate", "text"), 0.6),
        "triple_click": ((), ("coordinate", "text"), 0.7),
        "mouse_move": (("coordinate",), (), 0.3),
        "left_mouse_down": ((), ("coordinate",), 0.2),
        "left_mouse_up": ((), ("coordinate",), 0.2),
        "left_click_drag": (("coordinate",), ("start_coordinate", "path", "text"), 1.0),
        "scroll": (("scroll_direction",), ("coordinate", "scroll_amount", "text"), 0.4),
        "type": (("text",), ("press_enter",), 1.0),
        "key": (("text",), ("repeat",), 0.3),
        "hold_key": (("text", "duration"), (), 0.3),
        "wait": (("duration",), (), 0.0),
        "screenshot": ((), (), 0.0),
        "zoom": (("region",), (), 0.0),
        "cursor_position": ((), (), 0.0),
    }
)

DIRECTIONS: Final = ("up", "down", "left", "right")


@dataclass(frozen=True)
class Action:
    """One primitive action, checked; make it with `parse_action`."""

    kind: str
    """A key of `ACTIONS`."""
    coordinate: tuple[int, int] | None = None
    """Where (x, y), pixels from the top left of the screen; for a drag the end point. None: where the pointer is."""
    start_coordinate: tuple[int, int] | None = None
    """Where a drag begins, pixels. None: where the pointer is."""
    path: tuple[tuple[int, int], ...] = ()
    """Points that a drag passes between its start and its end, pixels."""
    text: str | None = None
    """Text to type, of which one newline at its end presses Enter; key or key combination such as ``ctrl+a``; for
    clicks and scrolls, keys held down meanwhile."""
    duration: float | None = None
    """How long to wait or to hold a key, agent seconds."""
    scroll_direction: str | None = None
    """One of `DIRECTIONS`."""
    scroll_amount: int | None = None
    """Wheel notches."""
    region: tuple[int, int, int, int] | None = None
    """Part of the screen to look at enlarged: x0, y0, x1, y1 in pixels, `MIN_REGION` wide and high at least."""
    repeat: int | None = None
    """How often to press the key."""
    press_enter: bool | None = None
    """Press Enter after the text."""

    def to_json(self) -> dict[str, Any]:
        """The action as JSON types, without the fields that are not used."""
        out: dict[str, Any] = {"action": self.kind}
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name != "kind" and value is not None and value != ():
                out[f.name] = _plain(value)
        return out


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, tuple) else value


def action_cost(action: Action, time_scale: float) -> float:
    """Instrument seconds that an action takes.

    Parameters
    ----------
    action : Action
        What was done.
    time_scale : float
        Instrument seconds per agent second of waiting.
    """
    if action.kind in ("wait", "hold_key"):
        scale = time_scale if action.kind == "wait" else 1.0
        return ACTIONS[action.kind][2] + (action.duration or 0.0) * scale
    return ACTIONS[action.kind][2]


def parse_action(raw: Mapping[str, Any]) -> Action:
    """Check what an agent sent.

    Parameters
    ----------
    raw : mapping
        ``action`` (or ``kind``) and the fields of `Action`; fields that are None count as absent.

    Raises
    ------
    InvalidAction
        With a text that names the field, what was got and what was expected.
    """
    if not isinstance(raw, Mapping):
        raise InvalidAction(f"an action must be an object with an 'action' field, got {type(raw).__name__}")
    given = {plain_text(str(k)): v for k, v in raw.items() if v is not None}
    kind = given.pop("action", None) or given.pop("kind", None)
    if not isinstance(kind, str) or kind not in ACTIONS:
        raise InvalidAction(f"unknown action {kind!r}; known actions: {', '.join(ACTIONS)}")
    needed, optional, _ = ACTIONS[kind]
    for name in needed:
        if name not in given:
            raise InvalidAction(f"{kind}: needs '{name}'")
    # Providers fill parameters that an action does not use with defaults: harmless ones are not held against the
    # agent, everything that could change what is meant is.
    for name in list(given):
        if name not in needed and name not in optional:
            if name in {f.name for f in fields(Action)} and _is_empty(given[name]):
                del given[name]
                continue
            raise InvalidAction(f"{kind}: does not take '{name}' (takes: {', '.join(needed + optional) or 'nothing'})")
    return Action(kind=kind, **{name: _FIELDS[name](kind, name, value) for name, value in given.items()})


def _is_empty(value: Any) -> bool:
    return value in (0, "", False) or value == [] or value == ()


def _number(kind: str, name: str, value: Any, low: float, high: float) -> float:
    if not is_number(value):
        raise InvalidAction(f"{kind}: '{name}' must be a number, got {value!r}")
    if not low <= value <= high:
        raise InvalidAction(f"{kind}: '{name}' must lie between {low:g} and {high:g}, got {value!r}")
    return float(value)


def _integer(kind: str, name: str, value: Any, low: int, high: int) -> int:
    number = _number(kind, name, value, low, high)
    if number != int(number):
        raise InvalidAction(f"{kind}: '{name}' must be a whole number, got {value!r}")
    return int(number)


def _point(kind: str, name: str, value: Any) -> tuple[int, int]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise InvalidAction(f"{kind}: '{name}' must be [x, y], got {value!r}")
    x, y = (_number(kind, name, v, -math.inf, math.inf) for v in value)
    if not (0 <= round(x) < SCREEN[0] and 0 <= round(y) < SCREEN[1]):
        raise InvalidAction(f"{kind}: '{name}' {value!r} lies outside the screen of {SCREEN[0]} x {SCREEN[1]} pixels")
    return round(x), round(y)


def _points(kind: str, name: str, value: Any) -> tuple[tuple[int, int], ...]:
    if not isinstance(value, list | tuple) or len(value) > MAX_PATH:
        raise InvalidAction(f"{kind}: '{name}' must be a list of at most {MAX_PATH} points [x, y]")
    return tuple(_point(kind, name, v) for v in value)


def _region(kind: str, name: str, value: Any) -> tuple[int, int, int, int]:
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise InvalidAction(f"{kind}: '{name}' must be [x0, y0, x1, y1], got {value!r}")
    x0, x1 = (_integer(kind, name, v, 0, SCREEN[0]) for v in (value[0], value[2]))
    y0, y1 = (_integer(kind, name, v, 0, SCREEN[1]) for v in (value[1], value[3]))
    if x1 <= x0 or y1 <= y0:
        raise InvalidAction(f"{kind}: '{name}' {value!r} is empty: x1 must exceed x0 and y1 must exceed y0")
    if x1 - x0 < MIN_REGION or y1 - y0 < MIN_REGION:
        size = f"{x1 - x0} x {y1 - y0} pixels, at least {MIN_REGION} x {MIN_REGION} are needed"
        raise InvalidAction(f"{kind}: '{name}' {value!r} has {size}")
    return x0, y0, x1, y1


def _text(kind: str, name: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise InvalidAction(f"{kind}: '{name}' must be text that is not empty, got {value!r}")
    if len(value) > MAX_TEXT:
        raise InvalidAction(f"{kind}: '{name}' has {len(value)} characters, at most {MAX_TEXT} are allowed")
    if kind == "type":
        _check_typed(kind, name, value)
    if value != plain_text(value):
        raise InvalidAction(f"{kind}: '{name}' must be text, got half of a surrogate pair in {value!r}")
    return value


def _check_typed(kind: str, name: str, value: str) -> None:
    # One action presses keys for characters, no more: with Tab and Enter in between it would operate a whole form.
    body = value.removesuffix("\n").removesuffix("\r")
    for character in body:
        if character in "\n\r":
            hint = "one newline at the end presses Enter; otherwise use 'press_enter', or 'key' with 'Return'"
            raise InvalidAction(f"{kind}: '{name}' must be one line, got {value!r}; {hint}")
        if character == "\t":
            raise InvalidAction(f"{kind}: '{name}' must not contain a tab, got {value!r}; use 'key' with 'Tab'")
        if unicodedata.category(character) == "Cc":
            raise InvalidAction(f"{kind}: '{name}' must be printable, got the control character {character!r}")


def _direction(kind: str, name: str, value: Any) -> str:
    if value not in DIRECTIONS:
        raise InvalidAction(f"{kind}: '{name}' must be one of {', '.join(DIRECTIONS)}, got {value!r}")
    return str(value)


def _flag(kind: str, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidAction(f"{kind}: '{name}' must be true or false, got {value!r}")
    return value


_FIELDS: Final[Mapping[str, Any]] = {
    "coordinate": _point,
    "start_coordinate": _point,
    "path": _points,
    "text": _text,
    "duration": lambda k, n, v: _number(k, n, v, 0.0, MAX_WAIT),
    "scroll_direction": _direction,
    "scroll_amount": lambda k, n, v: _integer(k, n, v, 0, MAX_SCROLL),
    "region": _region,
    "repeat": lambda k, n, v: _integer(k, n, v, 1, MAX_REPEAT),
    "press_enter": _flag,
}
