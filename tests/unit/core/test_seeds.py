from __future__ import annotations

import pytest

from matassay.core import SALT_VARIABLE, convert, derive, stream


def test_streams_are_fixed_for_good() -> None:
    """A change of these numbers changes every task: it needs a new revision of all of them."""
    assert derive(0, "xrd", "alignment", salt="") == 65464932773847464546096563914268972501
    assert stream(7, "a", 1, salt="").integers(1000, size=4).tolist() == [105, 29, 348, 272]


def test_salt_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    public = derive(1, "a")
    monkeypatch.setenv(SALT_VARIABLE, "secret")
    assert derive(1, "a") != public
    assert derive(1, "a") == derive(1, "a", salt="secret")
    assert derive(1, "a", salt="") == public


def test_a_number_and_its_text_are_two_names() -> None:
    assert derive(1, 2) != derive(1, "2")
    assert derive(1, "a", "b") != derive(1, "ab") != derive(1, "a, b")


def test_units() -> None:
    assert convert(2.0, "deg/min", "deg/s") == pytest.approx(1 / 30)
    assert convert(45, "kV", "V") == pytest.approx(45000)
    assert convert(1, "h", "s") == 3600
    assert convert(1e300, "m", "m") == 1e300
    with pytest.raises(ValueError, match=r"cannot convert 'kV' \(voltage\) to 'mA' \(current\)"):
        convert(1, "kV", "mA")
    with pytest.raises(ValueError, match="unknown unit 'furlong'"):
        convert(1, "furlong", "m")
