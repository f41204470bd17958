"""Typed comparison: a number is compared as a number, a label as a label, never one as the other."""

from __future__ import annotations

from typing import Any

from matassay.core import convert, is_number


def close(value: Any, target: float, tolerance: float, unit: str = "", target_unit: str | None = None) -> bool:
    """Whether a number lies within ``tolerance`` of ``target``.

    Parameters
    ----------
    value : float
        In ``unit``. A bool, a string or a number that is not finite is never close to anything.
    target, tolerance : float
        In ``target_unit`` (default: ``unit``). The interval is closed; a relative slack of 1e-9 covers binary
        rounding of decimal settings.
    """
    if not is_number(value):
        return False
    number = convert(float(value), unit, target_unit) if target_unit is not None else float(value)
    return abs(number - target) <= tolerance + 1e-9 * max(abs(target), 1e-300)


def same_integer(value: Any, target: int) -> bool:
    """Whether ``value`` is exactly this whole number; 3.0 counts as 3, ``True`` and ``"3"`` do not."""
    return is_number(value) and value == target


def same_text(value: Any, target: str) -> bool:
    """Whether ``value`` is exactly this text, but for blanks around it; never a substring."""
    return isinstance(value, str) and value.strip() == target.strip()
