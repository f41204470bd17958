"""Names of keys, as models write them."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.core import InvalidAction
from matassay.worlds.browser._keys import key_for_character, parse_chord, parse_modifiers


@pytest.mark.parametrize(
    ("text", "held", "key", "code"),
    [
        ("a", [], "a", "KeyA"),
        ("A", ["Shift"], "A", "KeyA"),
        ("ctrl+a", ["Control"], "a", "KeyA"),
        ("ctrl+A", ["Control"], "a", "KeyA"),
        ("Control+a", ["Control"], "a", "KeyA"),
        ("ControlOrMeta+KeyA", ["Control"], "a", "KeyA"),
        ("CTRL+SHIFT+Z", ["Control", "Shift"], "Z", "KeyZ"),
        ("shift+a", ["Shift"], "A", "KeyA"),
        ("shift+1", ["Shift"], "!", "Digit1"),
        ("alt+m", ["Alt"], "m", "KeyM"),
        ("Return", [], "Enter", "Enter"),
        ("enter", [], "Enter", "Enter"),
        ("KP_Enter", [], "Enter", "NumpadEnter"),
        ("KP_7", [], "7", "Numpad7"),
        ("BackSpace", [], "Backspace", "Backspace"),
        ("Page_Down", [], "PageDown", "PageDown"),
        ("Next", [], "PageDown", "PageDown"),
        ("Prior", [], "PageUp", "PageUp"),
        ("PageUp", [], "PageUp", "PageUp"),
        ("Left", [], "ArrowLeft", "ArrowLeft"),
        ("ArrowLeft", [], "ArrowLeft", "ArrowLeft"),
        ("space", [], " ", "Space"),
        (" ", [], " ", "Space"),
        ("Escape", [], "Escape", "Escape"),
        ("esc", [], "Escape", "Escape"),
        ("shift+Tab", ["Shift"], "Tab", "Tab"),
        ("F2", [], "F2", "F2"),
        ("plus", ["Shift"], "+", "Equal"),
        ("+", ["Shift"], "+", "Equal"),
        ("shift++", ["Shift"], "+", "Equal"),
        ("minus", [], "-", "Minus"),
        ("ctrl+Home", ["Control"], "Home", "Home"),
        ("Control_L", [], "Control", "ControlLeft"),
        ("shift", [], "Shift", "ShiftLeft"),
        (" ctrl + s ", ["Control"], "s", "KeyS"),
    ],
)
def test_names(text: str, held: list[str], key: str, code: str) -> None:
    chord = parse_chord(text)
    assert [k.key for k in chord.held] == held
    assert (chord.key.key, chord.key.code) == (key, code)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("flurb", "unknown key 'flurb'"),
        ("ctrl+flurb", r"unknown key 'flurb' in 'ctrl\+flurb'"),
        ("", "cannot read"),
        ("ctrl+", "cannot read"),
        ("+a", "cannot read"),
        ("a+b", "only ctrl, shift and alt can be held"),
        ("ctrl+ctrl+a", "twice"),
        ("ctrl+Control", "twice"),
        ("Down Down", "use 'repeat'"),
        ("é", "unknown key"),
    ],
)
def test_what_is_no_key(text: str, says: str) -> None:
    with pytest.raises(InvalidAction, match=says):
        parse_chord(text)


@pytest.mark.parametrize(
    "text",
    [
        "ctrl+t", "ctrl+T", "ctrl+n", "ctrl+w", "ctrl+l", "ctrl+p", "ctrl+u", "ctrl+r", "ctrl+o", "ctrl+1", "ctrl+plus",
        "ctrl+minus", "ctrl+0", "ctrl+KP_Add", "ctrl+Tab", "ctrl+Page_Down", "ctrl+F4", "ctrl+shift+i", "ctrl+shift+j",
        "ctrl+shift+c", "ctrl+shift+n", "ctrl+shift+t", "ctrl+shift+Tab", "alt+Left", "alt+Right", "alt+Home", "alt+F4",
        "alt+d", "F1", "F5", "F11", "F12", "shift+F5", "ctrl+F5", "super", "cmd+a", "Meta+Tab", "win+r",
    ],
)  # fmt: skip
def test_shortcuts_of_the_browser_are_refused(text: str) -> None:
    with pytest.raises(InvalidAction, match="refused"):
        parse_chord(text)


@pytest.mark.parametrize(
    "text", ["ctrl+a", "ctrl+c", "ctrl+v", "ctrl+x", "ctrl+z", "ctrl+s", "ctrl+Left", "shift+Left"]
)
def test_shortcuts_of_editing_are_not(text: str) -> None:
    parse_chord(text)


def test_modifiers_of_a_click() -> None:
    assert parse_modifiers(None) == parse_modifiers("") == ()
    assert [k.key for k in parse_modifiers("ctrl+Shift_L")] == ["Control", "Shift"]
    for wrong in ("a", "ctrl+a", "super", "ctrl+ctrl", "ctrl++"):
        with pytest.raises(InvalidAction):
            parse_modifiers(wrong)


def test_every_character_of_a_us_keyboard_has_its_key() -> None:
    for character in string.ascii_letters + string.digits + string.punctuation + " ":
        key = key_for_character(character)
        assert key is not None
        assert key.text == character
    assert key_for_character("\n").key == "Enter"  # type: ignore[union-attr]
    assert key_for_character("ä") is None


@given(st.text(max_size=30))
def test_any_text_is_a_chord_or_refused(text: str) -> None:
    try:
        chord = parse_chord(text)
    except InvalidAction:
        return
    assert all(k.modifier for k in chord.held)
