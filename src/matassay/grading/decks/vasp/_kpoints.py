"""Reader of KPOINTS files, format after the VASP Wiki, page "KPOINTS" (VASP 6.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from matassay.grading.decks._crystal import Matrix, reciprocal_lengths
from matassay.grading.decks._mesh import Mesh, mesh_of_points
from matassay.grading.decks._numbers import fortran_integer, fortran_real

MOST_POINTS = 100_000

#: Largest shift that is taken for one, spacings of the mesh.
MOST_SHIFT: Final = 1000


class BadKpoints(ValueError):
    """VASP would not read the file; carries the line."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Sampling:
    """How the Brillouin zone is sampled."""

    scheme: str
    """``mesh``, ``points`` or ``path``."""
    mesh: Mesh | None = None
    """The mesh, also where a list of points makes one up."""
    points: Matrix | None = None
    """Fractional coordinates of listed points; for a path its corners, two per segment."""
    per_segment: int | None = None
    """Points per segment of a path."""


def automatic(lattice: Matrix, spacing: float, gamma: bool) -> Sampling:
    """The mesh that KSPACING (1/angstrom) gives where there is no KPOINTS file."""
    counts = [max(1, math.ceil(b / spacing - 1e-9)) for b in reciprocal_lengths(lattice)]
    return Sampling("mesh", Mesh.centred(counts) if gamma else Mesh.monkhorst_pack(counts))


def read_kpoints(text: str, lattice: Matrix | None, scale: float = 1.0) -> Sampling:
    """Read a KPOINTS file.

    Parameters
    ----------
    text : str
        The file's text.
    lattice : array or None
        Rows are the lattice vectors, angstrom; needed for lengths and Cartesian points.
    scale : float
        Scale factor of the POSCAR, the unit of Cartesian points.

    Raises
    ------
    BadKpoints
        If VASP could not read it, or if it needs a lattice and there is none.
    """
    lines = text.split("\n")
    if len(lines) < 3:
        raise BadKpoints(f"has {len(lines)} lines, expected at least 3")
    tokens = lines[1].split()
    count = fortran_integer(tokens[0]) if tokens else None
    if count is None or not 0 <= count <= MOST_POINTS:
        raise BadKpoints(f"expected the number of k points, found {lines[1][:40]!r}", 2)
    style = lines[2].strip()[:1].lower()
    if style == "l":
        if count == 0:
            raise BadKpoints("line mode needs the number of points per segment", 2)
        return _path(lines, count, lattice, scale)
    if count > 0:
        return _listed(lines, count, style in ("c", "k"), lattice, scale)
    if style == "a":
        length = _reals(lines, 3, 1)[0]
        counts = [max(1, math.floor(length * b / (2 * math.pi) + 0.5)) for b in reciprocal_lengths(_needed(lattice))]
        return Sampling("mesh", Mesh.centred(counts))
    if style in ("g", "m"):
        counts = _mesh(lines)
        shift = _shift(lines, 4)
        make = Mesh.centred if style == "g" else Mesh.monkhorst_pack
        return Sampling("mesh", make(counts, shift))
    return _generalised(lines, style in ("c", "k"), lattice, scale)


def _needed(lattice: Matrix | None) -> Matrix:
    if lattice is None:
        raise BadKpoints("its meaning depends on the cell, and there is no readable POSCAR")
    return lattice


def _reals(lines: list[str], at: int, count: int, *, optional: bool = False) -> list[float]:
    tokens = lines[at].replace(",", " ").split() if at < len(lines) else []
    values = [fortran_real(t) for t in tokens[:count]]
    if len(values) < count or None in values:
        if optional and not tokens:
            return []
        raise BadKpoints(f"expected {count} numbers, found {' '.join(tokens[:count])[:60]!r}", at + 1)
    return [v for v in values if v is not None]


def _shift(lines: list[str], at: int) -> list[float]:
    """The shift of a mesh in units of its spacing; none where there is no line for it."""
    shift = _reals(lines, at, 3, optional=True) or [0.0, 0.0, 0.0]
    if any(abs(s) > MOST_SHIFT for s in shift):
        raise BadKpoints(f"a shift of more than {MOST_SHIFT} spacings is none", at + 1)
    return shift


def _mesh(lines: list[str]) -> list[int]:
    tokens = lines[3].replace(",", " ").split() if len(lines) > 3 else []
    counts = [fortran_integer(t) for t in tokens[:3]]
    if len(counts) < 3 or any(c is None or not 0 < c <= 1000 for c in counts):
        raise BadKpoints(f"expected three positive integers, found {' '.join(tokens[:3])[:60]!r}", 4)
    return [c for c in counts if c is not None]


def _cartesian(points: Matrix, lattice: Matrix | None, scale: float) -> Matrix:
    """Fractional coordinates of Cartesian points, which VASP takes in units of 2 pi over the POSCAR's scale factor."""
    return np.asarray(points @ _needed(lattice).T / scale)


def _listed(lines: list[str], count: int, cartesian: bool, lattice: Matrix | None, scale: float) -> Sampling:
    rows = np.array([_reals(lines, 3 + i, 4) for i in range(count)])
    points, weights = rows[:, :3], rows[:, 3]
    if (weights < 0).any() or weights.sum() <= 0:
        raise BadKpoints("weights must be positive")
    if cartesian:
        points = _cartesian(points, lattice, scale)
    # Points of zero weight ride along for bands; they sample nothing.
    used = weights > 0
    return Sampling("points", mesh_of_points(points[used], weights[used]), points)


def _number(line: str) -> bool:
    return fortran_real(line.replace(",", " ").split()[0]) is not None


def _path(lines: list[str], count: int, lattice: Matrix | None, scale: float) -> Sampling:
    style = lines[3].strip()[:1].lower() if len(lines) > 3 else ""
    corners = []
    for i in range(4, len(lines)):
        if not lines[i].strip():
            continue
        try:
            corners.append(_reals(lines, i, 3))
        except BadKpoints:
            # Whatever cannot be read behind the last corner ends the path.
            if len(corners) < 2 or len(corners) % 2 or _number(lines[i]):
                raise
            break
        if len(corners) > MOST_POINTS:
            raise BadKpoints("too many corners", i + 1)
    if len(corners) < 2 or len(corners) % 2:
        raise BadKpoints(f"a path needs pairs of corners, found {len(corners)} corners")
    points = np.array(corners)
    if style in ("c", "k"):
        points = _cartesian(points, lattice, scale)
    return Sampling("path", None, points, count)


def _generalised(lines: list[str], cartesian: bool, lattice: Matrix | None, scale: float) -> Sampling:
    """Basis vectors of the mesh; understood where they are fractions 1/N of the reciprocal vectors."""
    basis = np.array([_reals(lines, 3 + i, 3) for i in range(3)])
    shift = _shift(lines, 6)
    if cartesian:
        basis = _cartesian(basis, lattice, scale)
    diagonal = np.diag(basis)
    if np.abs(basis - np.diag(diagonal)).max() > 1e-6 or (diagonal <= 0).any():
        return Sampling("points")
    counts = np.rint(1 / diagonal)
    if np.abs(1 / diagonal - counts).max() > 1e-3:
        raise BadKpoints("the basis vectors do not generate a mesh that closes")
    return Sampling("mesh", Mesh.centred([int(c) for c in counts], shift))
