"""Regular meshes of k points, however they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._crystal import Matrix

_GRID = 100_000
"""Coordinates are compared to this many parts of a reciprocal vector: lists are often written with five digits."""


@dataclass(frozen=True)
class Mesh:
    """Points ``(n + offset) / count`` along each reciprocal vector."""

    counts: tuple[int, int, int]
    """Points along each reciprocal vector."""
    offset: tuple[float, float, float]
    """Displacement from Gamma in units of the spacing, within [0, 1)."""

    @classmethod
    def centred(cls, counts: Sequence[int], shift: Sequence[float] = (0, 0, 0)) -> Mesh:
        """A mesh that holds Gamma, moved by ``shift`` spacings."""
        a, b, c = counts
        x, y, z = (_fraction(s) for s in shift)
        return cls((a, b, c), (x, y, z))

    @classmethod
    def monkhorst_pack(cls, counts: Sequence[int], shift: Sequence[float] = (0, 0, 0)) -> Mesh:
        """The original scheme: even counts miss Gamma by half a spacing."""
        return cls.centred(counts, [s + (0.5 if n % 2 == 0 else 0.0) for n, s in zip(counts, shift, strict=True)])

    @property
    def holds_gamma(self) -> bool:
        """Whether Gamma is one of its points."""
        return all(o == 0 for o in self.offset)


def _fraction(value: float) -> float:
    rest = value % 1.0
    return 0.0 if min(rest, 1 - rest) < 1e-6 else round(rest, 9)


def mesh_of_points(points: Matrix, weights: Matrix) -> Mesh | None:
    """The mesh that listed points make up, time reversal filled in; None if they make none.

    A list that was reduced by the symmetry of a crystal is not recognised.
    """
    share = weights / weights.sum()
    sums: dict[tuple[int, ...], float] = {}
    for point, weight in zip(points, share, strict=True):
        # The point and its time-reversed partner carry the same states: spread the weight over both.
        for sign in (1, -1):
            key = tuple(int(k) % _GRID for k in np.rint(sign * point * _GRID))
            sums[key] = sums.get(key, 0.0) + weight / 2
    keys = np.array(list(sums)) / _GRID
    counts, offsets = [], []
    for axis in range(3):
        values = np.unique(keys[:, axis])
        n = len(values)
        steps = np.diff(values, append=values[0] + 1)
        if np.abs(steps - 1 / n).max() > 1e-4:
            return None
        counts.append(n)
        offsets.append(float(values[0] * n))
    if len(keys) != int(np.prod(counts)):
        return None
    if np.abs(np.array(list(sums.values())) * len(keys) - 1).max() > 1e-3:
        return None
    return Mesh.centred(counts, [0.0 if min(o % 1, 1 - o % 1) < 1e-3 else o for o in offsets])
