"""Units that parameters, criteria and files may name, and conversion between those of one dimension."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final

#: unit -> (dimension, factor to the dimension's SI unit). Affine units (degree Celsius) are left out on purpose:
#: nothing that is graded may depend on which of two zero points was meant.
UNITS: Final = MappingProxyType(
    {
        "": ("number", 1.0),
        "%": ("number", 0.01),
        "x": ("number", 1.0),
        "counts": ("counts", 1.0),
        "counts/s": ("count rate", 1.0),
        "m": ("length", 1.0),
        "mm": ("length", 1e-3),
        "um": ("length", 1e-6),
        "nm": ("length", 1e-9),
        "angstrom": ("length", 1e-10),
        "pm": ("length", 1e-12),
        "s": ("time", 1.0),
        "ms": ("time", 1e-3),
        "us": ("time", 1e-6),
        "ns": ("time", 1e-9),
        "min": ("time", 60.0),
        "h": ("time", 3600.0),
        "deg": ("angle", math.pi / 180),
        "rad": ("angle", 1.0),
        "mrad": ("angle", 1e-3),
        "deg/min": ("angular rate", math.pi / 180 / 60),
        "deg/s": ("angular rate", math.pi / 180),
        "V": ("voltage", 1.0),
        "kV": ("voltage", 1e3),
        "mV": ("voltage", 1e-3),
        "A": ("current", 1.0),
        "mA": ("current", 1e-3),
        "uA": ("current", 1e-6),
        "nA": ("current", 1e-9),
        "pA": ("current", 1e-12),
        "W": ("power", 1.0),
        "kW": ("power", 1e3),
        "Pa": ("pressure", 1.0),
        "mbar": ("pressure", 100.0),
        "K": ("temperature", 1.0),
        "Hz": ("frequency", 1.0),
        "kHz": ("frequency", 1e3),
        "eV": ("energy", 1.602176634e-19),
        "keV": ("energy", 1.602176634e-16),
    }
)


def convert(value: float, unit: str, to: str) -> float:
    """Convert ``value`` from ``unit`` to the unit ``to``.

    Parameters
    ----------
    value : float
        The number to convert.
    unit, to : str
        Keys of `UNITS` of the same dimension.

    Raises
    ------
    ValueError
        If a unit is unknown or the dimensions differ.

    Examples
    --------
    >>> convert(2.0, "deg/min", "deg/s")
    0.03333333333333333
    """
    for name in (unit, to):
        if name not in UNITS:
            raise ValueError(f"unknown unit {name!r}; known: {', '.join(u for u in UNITS if u)}")
    (dimension, factor), (other, divisor) = UNITS[unit], UNITS[to]
    if dimension != other:
        raise ValueError(f"cannot convert {unit!r} ({dimension}) to {to!r} ({other})")
    return value * factor / divisor if factor != divisor else value
