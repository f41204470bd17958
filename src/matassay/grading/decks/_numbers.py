"""Numbers as Fortran programs write them."""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[+-]?\d{1,18}\Z", re.ASCII)
_REAL = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:[eEdDqQ]?([+-]\d{1,4})|[eEdDqQ](\d{1,4}))?\Z", re.ASCII)


def fortran_integer(token: str) -> int | None:
    """The integer that a token is, else None.

    Examples
    --------
    >>> fortran_integer("-7"), fortran_integer("1.0"), fortran_integer("1e3")
    (-7, None, None)
    """
    return int(token) if _INTEGER.match(token) else None


def fortran_real(token: str) -> float | None:
    """The finite number that a token is, else None; exponents may be written with d, and even without a letter.

    Examples
    --------
    >>> fortran_real("1d-6"), fortran_real(".5"), fortran_real("1.0-3"), fortran_real("nan"), fortran_real("1e-6x")
    (1e-06, 0.5, 0.001, None, None)
    """
    match = _REAL.match(token)
    if match is None:
        return None
    mantissa, signed, plain = match.groups()
    value = float(f"{mantissa}e{signed or plain or 0}")
    return value if math.isfinite(value) else None


def fortran_logical(token: str) -> bool | None:
    """The truth value that a token is, else None: an optional point, then T or F, then anything.

    Examples
    --------
    >>> [fortran_logical(t) for t in (".TRUE.", "f", ".F.", "True", "0", "yes")]
    [True, False, False, True, None, None]
    """
    head = token.lstrip(".")[:1].lower() if len(token) - len(token.lstrip(".")) <= 1 else ""
    return {"t": True, "f": False}.get(head)


def expand_repeats(tokens: list[str], most: int = 200_000) -> list[str] | None:
    """Tokens with ``3*x`` written out; None if that is more than ``most``.

    Examples
    --------
    >>> expand_repeats(["2*3", "-1"])
    ['3', '3', '-1']
    """
    out: list[str] = []
    for token in tokens:
        count, star, value = token.partition("*")
        if star and value and count.isascii() and count.isdecimal() and len(count) <= 9:
            if len(out) + int(count) > most:
                return None
            out.extend([value] * int(count))
        else:
            out.append(token)
    return out
