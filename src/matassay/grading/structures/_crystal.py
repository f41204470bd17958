"""A periodic structure as the graders see it, and the bounds of what they are willing to look at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import gcd
from typing import Any, Final, TypeGuard

import numpy as np
from numpy.typing import NDArray

from matassay.core import is_number

from ._elements import ELEMENTS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

#: More atoms than this are not compared.
MOST_ATOMS: Final = 4000
#: Longest lattice vector, angstrom.
LONGEST: Final = 5000.0
#: Flattest cell: volume over the product of the three lengths (1 for an orthogonal cell).
FLATTEST: Final = 1e-5
#: Emptiest and densest cell, atoms per cubic angstrom (diamond has 0.18).
DENSEST: Final = 2.0
#: Numbers of greater magnitude are no lengths, coordinates or moments, and their cubes would overflow.
LARGEST: Final = 1e9


class StructureUnreadable(ValueError):
    """A file or an object is not the structure that it should be; the text says why."""


@dataclass(frozen=True)
class Crystal:
    """Lattice, sites, and what else belongs to a structure. Checked when it is made.

    Raises
    ------
    StructureUnreadable
        If it has no atoms or too many, an unknown element, a degenerate cell, or numbers that are not finite.
    """

    lattice: tuple[tuple[float, ...], ...]
    """Lattice vectors as rows, angstrom."""
    species: tuple[str, ...]
    """Element of each site."""
    fractional: tuple[tuple[float, ...], ...]
    """Position of each site in units of the lattice vectors."""
    moments: tuple[float, ...] | None = None
    """Magnetic moment of each site along the common axis, Bohr magnetons; None if not given."""
    charge: float | None = None
    """Charge of the cell, elementary charges; None if not given."""

    def __post_init__(self) -> None:
        n = len(self.species)
        if not 1 <= n <= MOST_ATOMS:
            raise StructureUnreadable(f"it has {n} atoms; between 1 and {MOST_ATOMS} can be compared")
        unknown = sorted({s for s in self.species if s not in ELEMENTS})
        if unknown:
            raise StructureUnreadable(f"{_few(unknown)}: not the symbol of a chemical element")
        if self.cell.shape != (3, 3):
            raise StructureUnreadable("the lattice is not three vectors of three numbers")
        if self.sites.shape != (n, 3):
            raise StructureUnreadable(f"{n} species and positions of shape {self.sites.shape}: expected ({n}, 3)")
        if self.moments is not None and len(self.moments) != n:
            raise StructureUnreadable(f"{n} species and {len(self.moments)} magnetic moments")
        numbers = [self.cell, self.sites, np.asarray(self.moments or (), float), np.asarray(self.charge or 0.0)]
        if not all(np.isfinite(a).all() for a in numbers) or np.abs(self.sites).max() > 1e6:
            raise StructureUnreadable("a number of the structure is not finite or beyond all reason")
        lengths = np.linalg.norm(self.cell, axis=1)
        if lengths.max() > LONGEST or lengths.min() < 0.1 or self.volume < FLATTEST * lengths.prod():
            raise StructureUnreadable(
                f"the cell is degenerate: lengths {_listed(lengths)} angstrom, volume {self.volume:.4g} angstrom^3"
            )
        if n / self.volume > DENSEST:
            raise StructureUnreadable(f"{n} atoms in {self.volume:.4g} angstrom^3: no matter is that dense")

    @classmethod
    def of(
        cls,
        lattice: Any,
        species: Sequence[str],
        fractional: Any,
        moments: Sequence[float] | None = None,
        charge: float | None = None,
    ) -> Crystal:
        """Make one from arrays; see the fields for units."""
        return cls(
            tuple(tuple(map(float, row)) for row in lattice),
            tuple(species),
            tuple(tuple(map(float, row)) for row in fractional),
            None if moments is None else tuple(map(float, moments)),
            charge,
        )

    def to_json(self) -> dict[str, Any]:
        """As it may stand in an answer; see `crystal_from_json`."""
        found: dict[str, Any] = {
            "lattice": [list(row) for row in self.lattice],
            "species": list(self.species),
            "fractional": [list(site) for site in self.fractional],
        }
        found |= {} if self.moments is None else {"magnetic_moments": list(self.moments)}
        return found | ({} if self.charge is None else {"charge": self.charge})

    @cached_property
    def cell(self) -> Floats:
        """Lattice vectors as rows, angstrom."""
        return np.array(self.lattice, float)

    @cached_property
    def sites(self) -> Floats:
        """Fractional positions, one row per site."""
        return np.array(self.fractional, float)

    @property
    def volume(self) -> float:
        """Of the cell, angstrom^3."""
        return float(abs(np.linalg.det(self.cell)))

    @property
    def composition(self) -> Mapping[str, int]:
        """Atoms of each element in the cell."""
        return Counter(self.species)

    @property
    def formula(self) -> str:
        """Reduced formula, elements in alphabetical order, e.g. ``GeSi2``."""
        counts = self.composition
        unit = reduce(gcd, counts.values())
        return "".join(f"{e}{n // unit if n > unit else ''}" for e, n in sorted(counts.items()))


KEYS: Final = ("lattice", "species", "fractional", "cartesian", "magnetic_moments", "charge")


def crystal_from_json(value: Any) -> Crystal:
    """Read a structure that stands in an answer.

    Parameters
    ----------
    value : mapping
        ``lattice`` (three rows, angstrom), ``species`` (one element per site), either ``fractional`` or ``cartesian``
        (angstrom) positions, and where they matter ``magnetic_moments`` (Bohr magnetons; one number per site, or
        vectors along one common axis) and ``charge`` (elementary charges).

    Raises
    ------
    StructureUnreadable
        If it is anything else.
    """
    if not isinstance(value, Mapping):
        raise StructureUnreadable("expected an object with lattice, species and positions")
    extra = sorted(str(k) for k in value if k not in KEYS)
    if extra:
        raise StructureUnreadable(f"{_few(extra)}: unknown key of a structure; known are {', '.join(KEYS)}")
    for key in ("lattice", "species"):
        if key not in value:
            raise StructureUnreadable(f"{key} is missing")
    if ("fractional" in value) is ("cartesian" in value):
        raise StructureUnreadable("expected positions either as fractional or as cartesian")
    species = value["species"]
    if not isinstance(species, list | tuple) or not all(isinstance(s, str) for s in species):
        raise StructureUnreadable("species: expected a list of element symbols")
    lattice = _rows(value["lattice"], "lattice", 3)
    key = "fractional" if "fractional" in value else "cartesian"
    rows = _rows(value[key], key, len(species))
    positions = rows if key == "fractional" else to_fractional(lattice, rows)
    charge = value.get("charge")
    if charge is not None and not _is_usual(charge):
        raise StructureUnreadable("charge: expected a number")
    moments = value.get("magnetic_moments")
    return Crystal.of(
        lattice, species, positions, None if moments is None else collinear(moments, len(species)), charge
    )


def to_fractional(lattice: Any, cartesian: Any) -> Floats:
    """Positions in units of the lattice vectors, from positions in angstrom."""
    cell, positions = np.asarray(lattice, float), np.asarray(cartesian, float)
    if not np.isfinite(cell).all() or abs(np.linalg.det(cell)) < 1e-9:
        raise StructureUnreadable("the lattice vectors are not independent")
    solved: Floats = np.linalg.solve(cell.T, positions.reshape(-1, 3).T).T
    return solved


def collinear(moments: Any, n: int) -> list[float]:
    """Moments along their common axis, from numbers or from vectors.

    Raises
    ------
    StructureUnreadable
        If there are not ``n`` of them, or they do not lie along one axis within 1 degree.
    """
    if not isinstance(moments, list | tuple) or len(moments) != n:
        raise StructureUnreadable(f"magnetic moments: expected a list of {n}, one per site")
    if all(_is_usual(m) for m in moments):
        return [float(m) for m in moments]
    vectors = np.array(_rows(moments, "magnetic moments", n))
    strongest = vectors[np.argmax(np.linalg.norm(vectors, axis=1))]
    size = float(np.linalg.norm(strongest))
    if size == 0:
        return [0.0] * n
    # The axis points into the half space of its first component that is not small, so that it has one sense for all.
    leading = strongest[np.argmax(np.abs(strongest) > 0.1 * size)]
    axis = strongest / size * (1 if leading > 0 else -1)
    along = vectors @ axis
    if (np.linalg.norm(vectors - np.outer(along, axis), axis=1) > np.sin(np.radians(1)) * size).any():
        raise StructureUnreadable("magnetic moments: not along one axis; only collinear orders are compared")
    return [float(m) for m in along]


def _rows(value: Any, name: str, n: int) -> list[list[float]]:
    if not isinstance(value, list | tuple) or len(value) != n:
        raise StructureUnreadable(f"{name}: expected {n} rows of three numbers")
    for row in value:
        if not isinstance(row, list | tuple) or len(row) != 3 or not all(_is_usual(x) for x in row):
            raise StructureUnreadable(f"{name}: expected {n} rows of three finite numbers")
    return [[float(x) for x in row] for row in value]


def _is_usual(value: Any) -> TypeGuard[float]:
    return is_number(value) and abs(value) <= LARGEST


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(n[:20]) for n in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _listed(numbers: Floats) -> str:
    return ", ".join(f"{x:.4g}" for x in numbers)
