"""The plain part of a world's state: what a replay shows of it, and the measures that a report averages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ._number import is_number

#: What a scalar entry of a state may be.
Scalar = str | int | float | bool | None

#: Longer texts are cut, so that what an agent types cannot fill a log.
MAX_TEXT: Final = 200

#: Beyond this a measure is a mistake, and a mean of such numbers could overflow.
MAX_MEASURE: Final = 1e100


def scalars(state: Any) -> dict[str, Scalar]:
    """The entries of a state that are one text, number, truth value or null; lists, objects and NaN are left out.

    Examples
    --------
    >>> scalars({"beam": True, "voltage": 15.0, "scans": [1, 2], "user": None})
    {'beam': True, 'voltage': 15.0, 'user': None}
    """
    if not isinstance(state, Mapping):
        return {}
    found: dict[str, Scalar] = {}
    for key, value in state.items():
        if not isinstance(key, str):
            continue
        if isinstance(value, str):
            found[key] = value if len(value) <= MAX_TEXT else value[: MAX_TEXT - 1] + "…"
        elif value is None or isinstance(value, bool) or is_number(value):
            found[key] = value
    return found


def changes(before: Mapping[str, Scalar], after: Mapping[str, Scalar]) -> dict[str, Scalar]:
    """What to lay over ``before`` to get ``after``; an entry that is gone becomes null.

    Examples
    --------
    >>> changes({"beam": False, "voltage": 15.0, "tip": 1}, {"beam": True, "voltage": 15.0})
    {'beam': True, 'tip': None}
    """
    found = {k: v for k, v in after.items() if k not in before or not _same(before[k], v)}
    found.update({k: None for k, v in before.items() if k not in after and v is not None})
    return found


def _same(a: Scalar, b: Scalar) -> bool:
    return a == b and isinstance(a, bool) is isinstance(b, bool)  # to Python, True is 1


def measures(values: Any) -> dict[str, float]:
    """The finite numbers among a state's ``measures``, in the order of their names.

    Examples
    --------
    >>> measures({"psnr_db": 28.5, "noise": float("nan"), "best_psnr_db": 31})
    {'best_psnr_db': 31.0, 'psnr_db': 28.5}
    """
    if not isinstance(values, Mapping):
        return {}
    return {
        k: float(values[k])
        for k in sorted(k for k in values if isinstance(k, str))
        if is_number(values[k]) and abs(values[k]) <= MAX_MEASURE
    }
