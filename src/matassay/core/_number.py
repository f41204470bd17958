"""What counts as a number when it comes from outside."""

from __future__ import annotations

import math
from typing import TypeGuard


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number that a float can hold: no bool, no NaN, no infinity, no integer of 400 digits.

    Examples
    --------
    >>> [is_number(v) for v in (1, 2.5, True, "1", float("nan"), 10**400)]
    [True, True, False, False, False, False]
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
