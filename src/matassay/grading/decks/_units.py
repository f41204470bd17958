"""Units of input decks, and conversion between those of one dimension (CODATA 2018)."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final

BOHR: Final = 0.529177210903
"""Bohr radius, angstrom."""
RYDBERG: Final = 13.605693122994
"""Rydberg energy, eV."""
HARTREE: Final = 2 * RYDBERG
"""Hartree energy, eV."""
KCAL_PER_MOL: Final = 0.0433641153087705
"""1 kcal/mol, eV."""
GPA: Final = 160.2176634
"""1 eV/angstrom^3, GPa."""

#: unit -> (dimension, factor to the dimension's first unit)
UNITS: Final = MappingProxyType(
    {
        "": ("number", 1.0),
        "1": ("number", 1.0),
        "eV": ("energy", 1.0),
        "meV": ("energy", 1e-3),
        "Ry": ("energy", RYDBERG),
        "mRy": ("energy", RYDBERG * 1e-3),
        "Ha": ("energy", HARTREE),
        "kcal/mol": ("energy", KCAL_PER_MOL),
        "kJ/mol": ("energy", KCAL_PER_MOL / 4.184),
        "angstrom": ("length", 1.0),
        "nm": ("length", 10.0),
        "pm": ("length", 0.01),
        "bohr": ("length", BOHR),
        "eV/angstrom": ("force", 1.0),
        "meV/angstrom": ("force", 1e-3),
        "Ry/bohr": ("force", RYDBERG / BOHR),
        "Ha/bohr": ("force", HARTREE / BOHR),
        "kcal/mol/angstrom": ("force", KCAL_PER_MOL),
        "1/angstrom": ("wave number", 1.0),
        "2pi/angstrom": ("wave number", 2 * math.pi),
        "1/nm": ("wave number", 0.1),
        "1/bohr": ("wave number", 1 / BOHR),
        "angstrom^2": ("area", 1.0),
        "angstrom^3": ("volume", 1.0),
        "nm^3": ("volume", 1e3),
        "bohr^3": ("volume", BOHR**3),
        "GPa": ("pressure", 1.0),
        "kbar": ("pressure", 0.1),
        "bar": ("pressure", 1e-4),
        "atm": ("pressure", 1.01325e-4),
        "Pa": ("pressure", 1e-9),
        "MPa": ("pressure", 1e-3),
        "fs": ("time", 1.0),
        "ps": ("time", 1e3),
        "ns": ("time", 1e6),
        "u": ("mass", 1.0),
        "g/mol": ("mass", 1.0),
        "K": ("temperature", 1.0),
        "e": ("charge", 1.0),
        "muB": ("moment", 1.0),
        "deg": ("angle", 1.0),
        "rad": ("angle", 180 / math.pi),
    }
)


def factor(unit: str, to: str) -> float:
    """By what a number in ``unit`` is multiplied to be one in ``to``.

    Raises
    ------
    ValueError
        If a unit is unknown or the dimensions differ.

    Examples
    --------
    >>> round(factor("Ry", "eV"), 4)
    13.6057
    """
    for name in (unit, to):
        if name not in UNITS:
            raise ValueError(f"unknown unit {name!r}; known: {', '.join(u for u in UNITS if u)}")
    (dimension, first), (other, second) = UNITS[unit], UNITS[to]
    if dimension != other:
        raise ValueError(f"cannot convert {unit!r} ({dimension}) to {to!r} ({other})")
    return first / second
