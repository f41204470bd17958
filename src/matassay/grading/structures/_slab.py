"""Slabs: what they are when the vacuum around them is left out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from ._crystal import Crystal, Floats

AXES: Final = ("a", "b", "c")


@dataclass(frozen=True, eq=False)
class Layer:
    """A slab with the vacuum taken away."""

    plane: Floats
    """The two lattice vectors in the plane as rows, angstrom."""
    normal: Floats
    """Unit normal, on the side to which the third vector of the cell points."""
    positions: Floats
    """Cartesian positions, angstrom; the slab is in one piece, its lowest atom at height 0."""
    thickness: float
    """From the lowest to the highest atom, angstrom."""
    vacuum: float
    """Empty height of the cell, angstrom."""

    @property
    def area(self) -> float:
        """Of the cell in the plane, angstrom^2."""
        return float(np.linalg.norm(np.cross(*self.plane)))


@lru_cache(maxsize=32)
def as_layer(crystal: Crystal, axis: str) -> Layer:
    """The slab in a cell that has its vacuum along the lattice vector ``axis``: the widest empty stretch."""
    k = AXES.index(axis)
    others = [n for n in range(3) if n != k]
    plane = crystal.cell[others]
    normal = np.cross(*plane)
    normal = normal / np.linalg.norm(normal)
    height = float(crystal.cell[k] @ normal)
    if height < 0:
        normal, height = -normal, -height
    levels = crystal.sites[:, k] % 1.0
    order = np.argsort(levels, kind="stable")
    gaps = np.diff(levels[order], append=levels[order[0]] + 1.0)
    widest = int(np.argmax(gaps))
    start = levels[order[(widest + 1) % len(order)]]
    sites = crystal.sites.copy()
    sites[:, k] = (levels - start + 1e-9) % 1.0 - 1e-9
    positions = sites @ crystal.cell
    heights = positions @ normal
    return Layer(
        plane,
        normal,
        positions - np.outer(np.full(len(sites), heights.min()), normal),
        float(np.ptp(heights)),
        float(gaps[widest] * height),
    )
