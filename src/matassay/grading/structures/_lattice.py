"""Bases of a lattice: a short one, and all that are congruent with a given one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ._crystal import Floats, Integers

#: Lattice vectors that are looked at in one search; a cell that needs more is not compared.
MOST_VECTORS: Final = 200_000


class TooLarge(ValueError):
    """A comparison would take too long."""


def short_basis(cell: Floats) -> Floats:
    """Three short vectors that span the same lattice, shortest first (Minkowski reduction in three dimensions).

    Follows the greedy algorithm of Nguyen and Stehle (ACM Trans. Algorithms 5, 46 (2009)): take from the longest vector
    the nearest point of the lattice of the two others, until that no longer makes it shorter.
    """
    basis = cell.copy()
    for _ in range(1000):
        basis = basis[np.argsort(np.linalg.norm(basis, axis=1), kind="stable")]
        basis[:2] = short_plane(basis[:2])
        pair, long = basis[:2], basis[2]
        shift = np.linalg.lstsq(pair.T, long, rcond=None)[0]
        steps = np.array([[i, j] for i in (-1, 0, 1) for j in (-1, 0, 1)])
        candidates = long - (np.round(shift) + steps) @ pair
        shortest = candidates[np.argmin(np.linalg.norm(candidates, axis=1))]
        if np.linalg.norm(shortest) >= np.linalg.norm(long) * (1 - 1e-9):
            break
        basis[2] = shortest
    return basis


def short_plane(pair: Floats) -> Floats:
    """Two short vectors that span the same plane lattice, the shorter first (Lagrange reduction)."""
    a, b = pair
    for _ in range(1000):
        if np.linalg.norm(b) < np.linalg.norm(a):
            a, b = b, a
        shorter = b - np.round(b @ a / (a @ a)) * a
        if np.linalg.norm(shorter) >= np.linalg.norm(b) * (1 - 1e-9):
            break
        b = shorter
    return np.array([a, b])


def congruent_bases(lattice: Floats, wanted: Floats, length: float, angle: float) -> Iterator[Integers]:
    """All sets of lattice vectors that are congruent with given vectors, rotated or reflected.

    Parameters
    ----------
    lattice : array
        Basis of the lattice, one vector per row; three vectors, or the two of a plane lattice.
    wanted : array
        As many vectors.
    length : float
        Relative tolerance of each length.
    angle : float
        Tolerance of each angle, degrees.

    Yields
    ------
    array
        Integer coefficients: ``coefficients @ lattice`` are the vectors.

    Raises
    ------
    TooLarge
        If there are too many vectors to look at.
    """
    norms = np.linalg.norm(wanted, axis=1)
    points = _points(lattice, float(norms.max()) * (1 + length))
    vectors = points @ lattice
    lengths = np.linalg.norm(vectors, axis=1)
    choices = [np.flatnonzero(np.abs(lengths - n) <= length * n) for n in norms]

    def fits(rows: Integers, m: int, fixed: Any, n: int) -> Integers:
        """Those of ``rows``, choices for vector m, that make the right angle with vector n, chosen as ``fixed``."""
        cosine = vectors[rows] @ vectors[fixed] / (lengths[rows] * lengths[fixed])
        target = np.degrees(np.arccos(np.clip(wanted[m] @ wanted[n] / (norms[m] * norms[n]), -1, 1)))
        good: Integers = rows[np.abs(np.degrees(np.arccos(np.clip(cosine, -1, 1))) - target) <= angle]
        return good

    for first in choices[0]:
        for second in fits(choices[1], 1, first, 0):
            if len(wanted) == 2:
                yield points[[first, second]]
                continue
            for third in fits(fits(choices[2], 2, first, 0), 2, second, 1):
                yield points[[first, second, third]]


def _points(lattice: Floats, radius: float) -> Integers:
    """Integer coordinates of all lattice points within a sphere, the origin left out."""
    # The height of a layer of lattice points bounds how many layers the sphere meets.
    reach = np.floor(radius * np.linalg.norm(np.linalg.pinv(lattice), axis=0) + 1e-9).astype(int)
    if np.prod(2.0 * reach + 1) > MOST_VECTORS:
        raise TooLarge(f"{np.prod(2.0 * reach + 1):.3g} lattice vectors would have to be compared")
    grid = np.stack(np.meshgrid(*(np.arange(-r, r + 1) for r in reach), indexing="ij"), axis=-1)
    points: Integers = grid.reshape(-1, len(lattice)).astype(np.int64)
    inside = np.linalg.norm(points @ lattice, axis=1) <= radius * (1 + 1e-9)
    kept: Integers = points[inside & points.any(axis=1)]
    return kept


def coset_points(coefficients: Integers) -> Integers:
    """One lattice point for each of the small cells that make up the large cell with these coefficients."""
    size = round(abs(float(np.linalg.det(coefficients))))
    if size == 1:
        return np.zeros((1, len(coefficients)), dtype=np.int64)
    low = np.minimum(coefficients, 0).sum(axis=0)
    high = np.maximum(coefficients, 0).sum(axis=0)
    if np.prod(high - low + 1.0) > MOST_VECTORS:
        raise TooLarge("the supercell is too skewed to be compared")
    axes = (np.arange(a, b + 1) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    inside = grid @ np.linalg.inv(coefficients)
    points: Integers = grid[((inside > -1e-6) & (inside < 1 - 1e-6)).all(axis=1)].astype(np.int64)
    assert len(points) == size, "a parallelepiped holds as many lattice points as its volume says"
    return points
