"""Names of keys, as xdotool and as Playwright write them, on a US keyboard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from matassay.core import InvalidAction

#: Bits of the ``modifiers`` field of the browser's input events.
ALT, CTRL, META, SHIFT = 1, 2, 4, 8


@dataclass(frozen=True)
class Key:
    """One key of the keyboard as the browser's input events describe it."""

    key: str
    """What it means (``KeyboardEvent.key``)."""
    code: str
    """Where it is (``KeyboardEvent.code``)."""
    number: int
    """Windows virtual-key code."""
    text: str = ""
    """What it types."""
    location: int = 0
    """0 standard, 1 left, 2 right, 3 number pad."""
    modifier: int = 0
    """Its own bit if it is a modifier, else 0."""
    shifted: bool = False
    """Whether Shift must be down for it."""


@dataclass(frozen=True)
class Chord:
    """A key pressed while modifiers are held."""

    held: tuple[Key, ...]
    """Modifiers in the order in which they go down."""
    key: Key
    """The key; a modifier too if nothing else was named."""


def _layout() -> tuple[dict[str, Key], dict[str, Key]]:
    """Characters, and keys by their ``KeyboardEvent.key``."""
    characters: dict[str, Key] = {}
    for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz"):
        upper = letter.upper()
        characters[letter] = Key(letter, f"Key{upper}", 65 + i, letter)
        characters[upper] = Key(upper, f"Key{upper}", 65 + i, upper, shifted=True)
    for digit, symbol in zip("0123456789", ")!@#$%^&*(", strict=True):
        characters[digit] = Key(digit, f"Digit{digit}", 48 + int(digit), digit)
        characters[symbol] = Key(symbol, f"Digit{digit}", 48 + int(digit), symbol, shifted=True)
    for plain, shifted, code, number in (
        ("-", "_", "Minus", 189), ("=", "+", "Equal", 187), ("[", "{", "BracketLeft", 219),
        ("]", "}", "BracketRight", 221), ("\\", "|", "Backslash", 220), (";", ":", "Semicolon", 186),
        ("'", '"', "Quote", 222), ("`", "~", "Backquote", 192), (",", "<", "Comma", 188),
        (".", ">", "Period", 190), ("/", "?", "Slash", 191),
    ):  # fmt: skip
        characters[plain] = Key(plain, code, number, plain)
        characters[shifted] = Key(shifted, code, number, shifted, shifted=True)
    characters[" "] = Key(" ", "Space", 32, " ")

    named = {
        k.key: k
        for k in (
            Key("Enter", "Enter", 13, "\r"), Key("Tab", "Tab", 9), Key("Escape", "Escape", 27),
            Key("Backspace", "Backspace", 8), Key("Delete", "Delete", 46), Key("Insert", "Insert", 45),
            Key("Home", "Home", 36), Key("End", "End", 35), Key("PageUp", "PageUp", 33),
            Key("PageDown", "PageDown", 34), Key("ArrowLeft", "ArrowLeft", 37), Key("ArrowUp", "ArrowUp", 38),
            Key("ArrowRight", "ArrowRight", 39), Key("ArrowDown", "ArrowDown", 40),
            Key("CapsLock", "CapsLock", 20), Key("ContextMenu", "ContextMenu", 93), Key("Pause", "Pause", 19),
            Key("PrintScreen", "PrintScreen", 44), Key("ScrollLock", "ScrollLock", 145),
            Key("NumLock", "NumLock", 144),
            Key("Shift", "ShiftLeft", 16, location=1, modifier=SHIFT),
            Key("Control", "ControlLeft", 17, location=1, modifier=CTRL),
            Key("Alt", "AltLeft", 18, location=1, modifier=ALT),
            Key("Meta", "MetaLeft", 91, location=1, modifier=META),
        )
    }  # fmt: skip
    named |= {f"F{n}": Key(f"F{n}", f"F{n}", 111 + n) for n in range(1, 13)}
    named |= {f"Numpad{n}": Key(str(n), f"Numpad{n}", 96 + n, str(n), location=3) for n in range(10)}
    for name, text, number in (
        ("Multiply", "*", 106), ("Add", "+", 107), ("Subtract", "-", 109), ("Decimal", ".", 110), ("Divide", "/", 111),
    ):  # fmt: skip
        named[f"Numpad{name}"] = Key(text, f"Numpad{name}", number, text, location=3)
    named["NumpadEnter"] = Key("Enter", "NumpadEnter", 13, "\r", location=3)
    return characters, named


_CHARACTERS, _NAMED = _layout()

#: Other names in lower case -> key or character. The rest of the names are those of `_NAMED` in any case.
_ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "return": "Enter", "esc": "Escape", "bksp": "Backspace", "del": "Delete", "ins": "Insert",
        "page_up": "PageUp", "prior": "PageUp", "pgup": "PageUp",
        "page_down": "PageDown", "next": "PageDown", "pgdn": "PageDown", "pgdown": "PageDown",
        "left": "ArrowLeft", "right": "ArrowRight", "up": "ArrowUp", "down": "ArrowDown",
        "arrow_left": "ArrowLeft", "arrow_right": "ArrowRight", "arrow_up": "ArrowUp", "arrow_down": "ArrowDown",
        "caps_lock": "CapsLock", "num_lock": "NumLock", "scroll_lock": "ScrollLock", "menu": "ContextMenu",
        "print": "PrintScreen", "print_screen": "PrintScreen",
        "ctrl": "Control", "control_l": "Control", "control_r": "Control", "ctrl_l": "Control", "ctrl_r": "Control",
        "controlleft": "Control", "controlright": "Control", "controlormeta": "Control",
        "shift_l": "Shift", "shift_r": "Shift", "shiftleft": "Shift", "shiftright": "Shift",
        "alt_l": "Alt", "alt_r": "Alt", "altleft": "Alt", "altright": "Alt", "option": "Alt",
        "super": "Meta", "super_l": "Meta", "super_r": "Meta", "meta_l": "Meta", "meta_r": "Meta",
        "cmd": "Meta", "command": "Meta", "win": "Meta", "windows": "Meta",
        "space": " ", "spacebar": " ", "plus": "+", "minus": "-", "equal": "=", "period": ".", "dot": ".",
        "comma": ",", "slash": "/", "backslash": "\\", "semicolon": ";", "colon": ":", "apostrophe": "'",
        "quotedbl": '"', "grave": "`", "asciitilde": "~", "underscore": "_", "bracketleft": "[",
        "bracketright": "]", "braceleft": "{", "braceright": "}", "bar": "|", "less": "<", "greater": ">",
        "question": "?", "exclam": "!", "at": "@", "numbersign": "#", "dollar": "$", "percent": "%",
        "asciicircum": "^", "ampersand": "&", "asterisk": "*", "parenleft": "(", "parenright": ")",
        "kp_enter": "NumpadEnter", "kp_add": "NumpadAdd", "kp_subtract": "NumpadSubtract",
        "kp_multiply": "NumpadMultiply", "kp_divide": "NumpadDivide", "kp_decimal": "NumpadDecimal",
        **{f"kp_{n}": f"Numpad{n}" for n in range(10)},
        **{f"key{c}": c for c in "abcdefghijklmnopqrstuvwxyz"},
        **{f"digit{n}": str(n) for n in range(10)},
    }
)  # fmt: skip

_BY_LOWER_NAME: Final = {name.lower(): key for name, key in _NAMED.items()}

#: Shortcuts of browsers. None of them reaches the browser through our input events, but an agent that tries one
#: must be told so instead of being left to wonder, and the answer must not depend on which browser is installed.
_REFUSED: Final = frozenset(
    [f"ctrl+{k}" for k in "defghjklnoprtuw0123456789=-+"]
    + [f"ctrl+shift+{k}" for k in "bcdeijkmnoprtw="]
    + [f"ctrl+{k}" for k in ("f4", "f5", "tab", "pageup", "pagedown")]
    + [f"ctrl+shift+{k}" for k in ("tab", "delete")]
    + [f"alt+{k}" for k in ("d", "e", "f", "arrowleft", "arrowright", "home", "f4", "tab")]
    + [f"shift+{k}" for k in ("f5", "escape")]
    + ["f1", "f3", "f5", "f6", "f7", "f11", "f12", "printscreen"]
)


def _single(name: str, whole: str) -> Key:
    found = _CHARACTERS.get(name)
    if found is None:
        target = _ALIASES.get(name.lower(), name)
        found = _CHARACTERS.get(target) or _BY_LOWER_NAME.get(target.lower())
    if found is None:
        of = f" in {whole!r}" if whole != name else ""
        raise InvalidAction(
            f"unknown key {name!r}{of}; use names such as Return, Tab, Escape, BackSpace, Page_Down, Left, F2, space, "
            "a character, or a combination such as ctrl+a"
        )
    return found


def _names(text: str) -> list[str]:
    """Split ``ctrl+shift++`` into its names; a plus at the end is the key itself."""
    body = text if text == " " else text.strip()
    if body == "+":
        return ["+"]
    if body.endswith("++"):
        return [*body[:-2].split("+"), "+"]
    return body.split("+")


def parse_chord(text: str) -> Chord:
    """Read a key or a combination of keys.

    Parameters
    ----------
    text : str
        ``Return``, ``a``, ``ctrl+a``, ``Control+Shift+ArrowLeft``, ``Page_Down``, ``shift+Tab``, ``+``, ...

    Raises
    ------
    InvalidAction
        If a name is not known, nothing is left to press, or the combination is a shortcut of browsers.

    Examples
    --------
    >>> chord = parse_chord("ctrl+A")
    >>> [k.key for k in chord.held], chord.key.key
    (['Control'], 'a')
    """
    names = [n.strip() or n for n in _names(text)]
    if any(not n for n in names):
        raise InvalidAction(f"cannot read the key combination {text!r}; write for example ctrl+a")
    if any(c.isspace() for n in names if len(n) > 1 for c in n):
        raise InvalidAction(f"one key or combination at a time, got {text!r}; to press one several times use 'repeat'")
    keys = [_single(n, text) for n in names]
    held, key = list(keys[:-1]), keys[-1]
    for k in held:
        if not k.modifier:
            raise InvalidAction(f"{text!r}: only ctrl, shift and alt can be held with another key, not {k.key!r}")
    if len({k.modifier for k in keys if k.modifier}) != sum(bool(k.modifier) for k in keys):
        raise InvalidAction(f"{text!r} names a modifier twice")
    bits = sum(k.modifier for k in held)
    if key.shifted and bits & (CTRL | ALT) and not bits & SHIFT and key.text.isalpha():
        key = _CHARACTERS[key.text.lower()]  # people write ctrl+A for ctrl+a
    elif key.shifted and not bits & SHIFT:
        held.append(_NAMED["Shift"])
    elif bits & SHIFT:
        key = _shift(key)
    _refuse_shortcuts(text, bits, key)
    return Chord(tuple(held), key)


def _shift(key: Key) -> Key:
    """What the key means with Shift held."""
    if key.shifted or len(key.text) != 1 or key.location == 3:
        return key
    return next((k for k in _CHARACTERS.values() if k.shifted and k.code == key.code), key)


def _refuse_shortcuts(text: str, bits: int, key: Key) -> None:
    name = {"Equal": "=", "Minus": "-", "NumpadAdd": "+", "NumpadSubtract": "-"}.get(key.code)
    if name is None:
        name = key.code[-1].lower() if key.code.startswith(("Key", "Digit")) else key.key.lower()
    prefix = ("ctrl+" if bits & CTRL else "") + ("alt+" if bits & ALT else "") + ("shift+" if bits & SHIFT else "")
    if bits & META or key.modifier == META:
        raise InvalidAction(f"key {text!r} is refused: the Super key belongs to the desktop, which this screen has not")
    if prefix + name in _REFUSED:
        raise InvalidAction(f"key {text!r} is refused: it is a shortcut of the browser, not of the instrument")


def parse_modifiers(text: str | None) -> tuple[Key, ...]:
    """Read the modifiers that are held during a click or scroll, such as ``ctrl`` or ``ctrl+shift``.

    Raises
    ------
    InvalidAction
        If anything but ctrl, shift and alt is named.
    """
    if not text:
        return ()
    keys = [_single(n.strip(), text) for n in _names(text)]
    for k in keys:
        if k.modifier not in (ALT, CTRL, SHIFT):
            raise InvalidAction(f"only ctrl, shift and alt can be held during a mouse action, got {text!r}")
    if len({k.modifier for k in keys}) != len(keys):
        raise InvalidAction(f"{text!r} names a modifier twice")
    return tuple(keys)


def key_for_character(character: str) -> Key | None:
    """The key that types a character; None if the US keyboard has none (it is then inserted without a key)."""
    if character in "\n\r":
        return _NAMED["Enter"]
    if character == "\t":
        return _NAMED["Tab"]
    return _CHARACTERS.get(character)


SHIFT_KEY: Final = _NAMED["Shift"]
ENTER_KEY: Final = _NAMED["Enter"]
