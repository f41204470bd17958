"""A periodic structure as decks describe it, and what follows from its cell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from matassay.core import convert

BOHR: Final = convert(1.0, "bohr", "angstrom")
"""Bohr radius, angstrom."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Crystal:
    """Cell, species and positions."""

    lattice: Matrix
    """Rows are the lattice vectors, angstrom."""
    species: tuple[str, ...]
    """Chemical symbol of each site."""
    positions: Matrix
    """Fractional coordinates, one row per site."""
    moments: tuple[float, ...] | None = None
    """Initial magnetic moment of each site, Bohr magnetons."""
    periodic: tuple[bool, bool, bool] = (True, True, True)
    """Along which vectors it repeats."""
    free: tuple[tuple[bool, bool, bool], ...] | None = None
    """Whether each coordinate may move, where the deck says so."""

    @property
    def volume(self) -> float:
        """Volume, angstrom^3."""
        return float(abs(np.linalg.det(self.lattice)))

    @property
    def lengths(self) -> list[float]:
        """Lengths of the lattice vectors, angstrom."""
        return [float(v) for v in np.linalg.norm(self.lattice, axis=1)]

    @property
    def angles(self) -> list[float]:
        """Angles alpha, beta, gamma, degrees."""
        a, b, c = self.lattice / np.linalg.norm(self.lattice, axis=1)[:, None]
        return [float(np.degrees(np.arccos(np.clip(x @ y, -1, 1)))) for x, y in ((b, c), (a, c), (a, b))]

    @property
    def composition(self) -> dict[str, int]:
        """Sites per element, by name."""
        return {s: self.species.count(s) for s in sorted(set(self.species))}


def reciprocal_lengths(lattice: Matrix) -> list[float]:
    """Lengths of the reciprocal lattice vectors with the factor 2 pi, 1/angstrom."""
    return [float(v) for v in 2 * np.pi * np.linalg.norm(np.linalg.inv(lattice).T, axis=1)]


def spacings(lattice: Matrix, mesh: Sequence[int]) -> list[float]:
    """Distance of neighbouring points of a mesh along each reciprocal vector, 1/angstrom."""
    return [length / n for length, n in zip(reciprocal_lengths(lattice), mesh, strict=True)]


def describe(crystal: Crystal) -> dict[str, tuple[Any, str]]:
    """What decks of every code may be asked about their structure: name to value and unit."""
    return {
        "structure": (crystal, ""),
        "natoms": (len(crystal.species), ""),
        "species": (list(dict.fromkeys(crystal.species)), ""),
        "composition": (crystal.composition, ""),
        "volume": (crystal.volume, "angstrom^3"),
        "cell_lengths": (crystal.lengths, "angstrom"),
        "cell_angles": (crystal.angles, "deg"),
    }


STRUCTURE_NAMES = ("structure", "natoms", "species", "composition", "volume", "cell_lengths", "cell_angles")


@cache
def masses() -> dict[str, float]:
    """Standard atomic masses, u, by chemical symbol (IUPAC 2021, abridged; most stable isotope where there is none)."""
    text = resources.files(__package__).joinpath("masses.txt").read_text("utf-8")
    pairs = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {symbol: float(mass) for symbol, mass in pairs}


def element_of_mass(mass: float) -> str | None:
    """Chemical symbol whose standard mass lies within 2 % and is clearly the nearest, else None.

    Examples
    --------
    >>> element_of_mass(28.0855), element_of_mass(72.64), element_of_mass(58.81)
    ('Si', 'Ge', None)
    """
    symbol, found = min(masses().items(), key=lambda item: abs(item[1] - mass))
    rivals = sorted(abs(m - mass) for m in masses().values())
    distinct = rivals[1] > 2 * rivals[0]
    return symbol if abs(found - mass) <= 0.02 * found and distinct else None


def element_of_label(label: str) -> str:
    """Chemical symbol in the label of a species or site, such as ``Mn1`` or ``O_up``; the label if there is none.

    Examples
    --------
    >>> element_of_label("Mn1"), element_of_label("fe"), element_of_label("C-h")
    ('Mn', 'Fe', 'C')
    """
    match = re.match(r"[A-Za-z]{1,2}", label)
    letters = match.group() if match else ""
    known = masses()
    return next((s for s in (letters.capitalize(), letters[:1].upper()) if s in known), label)
