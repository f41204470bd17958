"""Cells of the diamond structure, and of coherent Si/Ge(100) superlattices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["PRIMITIVE", "Layers", "balanced_layers", "diamond_supercell", "superlattice"]

PRIMITIVE = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
"""Primitive vectors of the face-centred cubic lattice as rows, in units of the cubic lattice constant."""

_CORNERS = np.array([[0.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])


def diamond_supercell(constant: float, repeats: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell and the Cartesian positions, A, of a cubic block of diamond structure.

    Parameters
    ----------
    constant
        Cubic lattice constant, A.
    repeats
        Cubic cells along each edge; the block has ``8 * repeats**3`` atoms. The first half are of the first
        sublattice, the second half of the other, in the same order, and atom 0 sits at the origin.
    """
    shifts = np.array([[i, j, k] for i in range(repeats) for j in range(repeats) for k in range(repeats)], dtype=float)
    first = (shifts[:, None, :] + _CORNERS[None]).reshape(-1, 3)
    return np.eye(3) * repeats * constant, np.concatenate([first, first + 0.25]) * constant


@dataclass(frozen=True)
class Layers:
    """Two cubic films strained to a common square lattice, by linear elasticity."""

    in_plane: float
    """Common cubic in-plane lattice constant, A."""
    spacings: tuple[float, float]
    """Distance of neighbouring (100) planes in each film, A."""
    strains: tuple[float, float]
    """In-plane strain of each film."""
    energy: float
    """Elastic energy of one period per interface area, eV/A^2."""


def balanced_layers(
    constants: Sequence[float],
    stiffness: Sequence[tuple[float, float]],
    counts: Sequence[int],
    in_plane: float | None = None,
) -> Layers:
    """Return the strained films, found by minimising the elastic energy numerically.

    Parameters
    ----------
    constants
        Cubic lattice constants of the two free crystals, A.
    stiffness
        ``(C11, C12)`` of each, GPa.
    counts
        Number of (100) planes of each film; a film of n planes has the unstrained thickness n a / 4.
    in_plane
        In-plane lattice constant, A; by default the one of least energy.

    Notes
    -----
    Nothing is eliminated by hand: the in-plane constant and both normal strains are the three unknowns of
    ``sum_i h_i [(C11 + C12) e_i^2 + 2 C12 e_i n_i + C11 n_i^2 / 2]``, e the in-plane and n the normal strain.
    """
    from scipy.optimize import minimize

    gpa = 6.241509074e-3  # eV/A^3
    a = np.asarray(constants, dtype=float)
    c11, c12 = np.asarray(stiffness, dtype=float).T * gpa
    thickness = np.asarray(counts) * a / 4

    def energy(unknowns: np.ndarray) -> float:
        common = unknowns[0] if in_plane is None else in_plane
        e, n = common / a - 1, unknowns[1:]
        return float(np.sum(thickness * ((c11 + c12) * e**2 + 2 * c12 * e * n + c11 * n**2 / 2)))

    start = np.array([a.mean(), 0.0, 0.0])
    found = minimize(energy, start, method="BFGS", options={"gtol": 1e-12}).x
    # The energy is quadratic, so that one Newton step from finite differences takes what the search left to rounding.
    for _ in range(2):
        found = _newton(energy, found, free=slice(0 if in_plane is None else 1, 3))
    common = float(found[0]) if in_plane is None else in_plane
    spacing = a * (1 + found[1:]) / 4
    strain = common / a - 1
    return Layers(common, (float(spacing[0]), float(spacing[1])), (float(strain[0]), float(strain[1])), energy(found))


def _newton(function: object, point: np.ndarray, free: slice, step: float = 1e-3) -> np.ndarray:
    """Return the minimum of a quadratic function, from central differences about a point."""
    assert callable(function)
    axes = np.eye(len(point))[free] * step
    gradient = np.array([(function(point + u) - function(point - u)) / (2 * step) for u in axes])
    hessian = np.array(
        [
            [
                (function(point + u + v) - function(point + u - v) - function(point - u + v) + function(point - u - v))
                / (4 * step**2)
                for v in axes
            ]
            for u in axes
        ]
    )
    moved = point.copy()
    moved[free] -= np.linalg.solve(hessian, gradient)
    return moved


def superlattice(
    in_plane: float,
    spacings: Sequence[float],
    counts: Sequence[int],
    lateral: int,
    species: Sequence[str] = ("Si", "Ge"),
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return cell, Cartesian positions (A) and species of a periodic superlattice with (100) interfaces.

    Parameters
    ----------
    in_plane
        Cubic in-plane lattice constant, A. The first cell vector is the interface normal; the two others are
        ``lateral * in_plane / sqrt(2)`` long, along [011] and [0-11].
    spacings
        Distance of neighbouring planes in each film, A; across an interface it is the mean of the two.
    counts
        Planes of each film, starting at height 0; their sum must be a multiple of four, after which the stacking
        repeats.

    Raises
    ------
    ValueError
        If the stacking does not close.
    """
    total = sum(counts)
    if total % 4:
        raise ValueError(f"counts: expected a sum that is a multiple of 4, got {total}")
    kind = [0] * counts[0] + [1] * counts[1]
    heights = [0.0]
    for plane in range(1, total + 1):
        below, here = kind[plane - 1], kind[plane % total]
        heights.append(heights[-1] + (spacings[below] + spacings[here]) / 2)
    edge = in_plane / np.sqrt(2)
    # Each plane is a square lattice; its bonds to the next point along one edge, then along the other.
    offsets = [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]
    positions, names = [], []
    for plane in range(total):
        x, y = offsets[plane % 4]
        for i in range(lateral):
            for j in range(lateral):
                positions.append([heights[plane], (x + i) * edge, (y + j) * edge])
                names.append(species[kind[plane]])
    return np.diag([heights[-1], lateral * edge, lateral * edge]), np.array(positions), names
