from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from matassay.kit import Choice, Flag, Instrument, Int, Real, Refused, Text

from .toaster import Toaster

REAL = Real(20.0, 5.0, 110.0, 0.1, label="Angle", unit="deg")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (20.04, 20.0),
        (20.06, 20.1),
        (5, 5.0),
        (4.96, 5.0),
        (110.04, 110.0),
        ("12.3", 12.3),
        (" 12,3 ", 12.3),
        ("1e1", 10.0),
    ],
)
def test_real_snaps_to_its_step(value: Any, kept: float) -> None:
    assert REAL.check(value) == kept


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (4.94, "Angle: 4.94 is outside 5 to 110 deg"),
        (111, "Angle: 111 is outside 5 to 110 deg"),
        (10**400, "a number is expected"),
        ("fast", "Angle: 'fast' is not a number"),
        ("", "is not a number"),
        ("nan", "a number is expected"),
        ("inf", "a number is expected"),
        (math.nan, "a number is expected"),
        (True, "a number is expected"),
        (None, "a number is expected"),
        ([5], "a number is expected"),
        ({}, "a number is expected"),
        ("9" * 5000, "Angle"),
    ],
)
def test_real_refuses_in_words(value: Any, text: str) -> None:
    with pytest.raises(Refused, match=text):
        REAL.check(value)


def test_steps_that_do_not_divide_the_range_end_at_its_limit() -> None:
    assert Real(0.0, 0.0, 1.0, 0.3).check(1.0) == pytest.approx(0.9)
    assert Real(0.0, 0.0, 1.0, 0.3).check(1.1) == 1.0
    assert [Real(0, 0, 1, s).decimals for s in (1, 0.5, 0.1, 0.05, 0.001, 10)] == [0, 1, 1, 2, 3, 0]


def test_int_is_an_int() -> None:
    value = Int(2, 1, 4, 1).check(3.2)
    assert value == 3
    assert type(value) is int


@pytest.mark.parametrize("value", [1, 0, "true", None, [True]])
def test_flag_takes_bools_only(value: Any) -> None:
    assert Flag(False).check(True) is True
    with pytest.raises(Refused, match="on or off"):
        Flag(False).check(value)


@pytest.mark.parametrize("value", ["a\nb", "a\x00", "a" * 65, "\u202e", 5, None, ["a"], "\ud800"])
def test_text_is_one_printable_line(value: Any) -> None:
    assert Text("").check("Grün 5 µm") == "Grün 5 µm"
    with pytest.raises(Refused, match="one line of at most 64 characters"):
        Text("").check(value)


def test_choice_takes_its_texts_and_its_values() -> None:
    choice = Choice(0.5, (0.25, 0.5, 1.0), show_as=lambda v: f"{v:g} mm", label="Slit")
    assert choice.check("0.25 mm") == 0.25
    assert choice.check(1.0) == 1.0
    for value in ("0.25", 0.3, True, 1, None, [0.25], {"a": 1}):
        with pytest.raises(Refused, match="Slit: no such choice"):
            choice.check(value)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Real(0, 1, 1, 0.1), "is empty"),
        (lambda: Real(0, 0, 1, 0), "is empty"),
        (lambda: Real(0, 0, 1, 0.1, unit="furlong"), "unknown unit 'furlong'"),
        (lambda: Choice("c", ("a", "b")), "not among the choices"),
    ],
)
def test_declaration_that_cannot_be_is_refused(make: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_physics_assigns_what_the_operator_may_not() -> None:
    toaster = Toaster()
    toaster.hot = True
    toaster.level = 4.0
    assert toaster.level == 4.0
    with pytest.raises(Refused, match="Not while it is hot"):
        Toaster.level.operate(toaster, 5.0)
    with pytest.raises(Refused, match="outside"):
        toaster.level = 99.0


def test_hook_is_called_for_the_operator_alone() -> None:
    toaster = Toaster()
    toaster.level = 4.0
    assert toaster.message == "Ready"
    Toaster.level.operate(toaster, 5.0)
    assert toaster.message == "Level 5"


@pytest.mark.parametrize("args", [(), (1, 2)])
def test_exactly_one_value_is_taken(args: tuple[int, ...]) -> None:
    with pytest.raises(Refused, match="one value expected"):
        Toaster.level.operate(Toaster(), *args)


def test_soft_control_stays_live_and_tells_why() -> None:
    toaster = Toaster()
    toaster.hot = True
    assert Toaster.note.enabled(toaster)
    assert not Toaster.level.enabled(toaster)
    with pytest.raises(Refused, match="hot"):
        Toaster.note.operate(toaster, "x")


def test_instances_do_not_share_values() -> None:
    one, two = Toaster(), Toaster()
    one.level = 4.0
    assert (one.level, two.level, Toaster.level.default) == (4.0, 3.0, 3.0)


def test_start_state_names_parameters_only() -> None:
    assert Toaster(start={"level": 5, "bread": "rye"}).bread == "rye"
    for name in ("wear", "setup", "title", "push", "nonsense"):
        with pytest.raises(ValueError, match=f"names '{name}', which is no parameter"):
            Toaster(start={name: 1})


def test_noise_follows_seed_and_name() -> None:
    assert Toaster(3).wear == Toaster(3).wear != Toaster(4).wear
    assert Toaster(3).rng("a").random() != Toaster(3).rng("b").random()


def test_files_replace_their_namesakes_and_are_bounded() -> None:
    bare = Instrument(0)
    for n in range(50):
        bare.save(f"{n}.txt", b"x", "text/plain")
    with pytest.raises(Refused, match="folder is full"):
        bare.save("50.txt", b"x", "text/plain")
    bare.save("49.txt", b"y", "text/plain")
    assert [f.name for f in bare.files] == [f"{n}.txt" for n in range(50)], "none is dropped to make room"
    assert bare.files[-1].data == b"y"
    with pytest.raises(ValueError, match="exceed the limit"):
        bare.save("big", np.zeros(33 * 2**20, dtype=np.uint8).tobytes(), "x")
