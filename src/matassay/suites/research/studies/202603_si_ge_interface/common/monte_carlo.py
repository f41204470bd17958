"""Linearised phonon Monte Carlo for two layers between black walls: independent bundles of deviational energy.

Every bundle carries the same power. It leaves a wall with a bin drawn from the wall's emission, flies freely for an
exponential path, keeps its energy but draws a new bin and direction when it scatters, and at the interface passes with
the diffuse mismatch probability of its bin, leaving diffusely to either side. Walls absorb it. In the limit of small
temperature differences this solves the steady Boltzmann equation in the relaxation time approximation without a time step
(Peraud and Hadjiconstantinou's kinetic form). Cell temperatures follow from residence times, fluxes from track lengths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .tables import Tables

__all__ = ["Profile", "simulate"]


@dataclass(frozen=True)
class Profile:
    """Averages over the cells of one run."""

    centres: np.ndarray
    """m."""
    temperature: np.ndarray
    """Difference from the mean of the walls, K."""
    flux: np.ndarray
    """W/m^2, along +x."""


def simulate(
    layers: tuple[Tables, Tables],
    thickness: tuple[float, float],
    *,
    difference: float,
    bundles: int,
    cells: int,
    stream: np.random.Generator,
    interface: bool = True,
) -> Profile:
    """Run one steady state.

    Parameters
    ----------
    layers
        Tables of the left and of the right crystal, of the same bins.
    thickness
        Of both layers, m.
    difference
        Temperature of the left wall minus that of the right one, K.
    bundles
        Energy bundles to follow.
    cells
        Cells in each layer.
    stream
        Source of randomness.
    interface
        False lets every bundle pass unchanged: both layers are then one crystal.
    """
    left, right = layers
    speed = np.array([left.speed, right.speed])
    path = speed * np.array([left.lifetime, right.lifetime])
    scattering = np.array([left.scattering, right.scattering])
    emitted = np.array([left.modes * left.speed, right.modes * right.speed])
    total = emitted.sum(axis=0)
    passing = np.divide(emitted[::-1], total, out=np.zeros_like(emitted), where=total > 0)

    # Half of the difference on either wall: what the cold one emits counts negative.
    power = np.array([(table.heat * table.speed).sum() / 4 * difference / 2 for table in layers])
    from_left = stream.random(bundles) < power[0] / power.sum()
    side = np.where(from_left, 0, 1)
    sign = np.where(from_left, 1.0, -1.0)
    bins = np.where(
        from_left,
        np.searchsorted(left.flux, stream.random(bundles), side="right"),
        np.searchsorted(right.flux, stream.random(bundles), side="right"),
    )
    ends = np.array([0.0, thickness[0], thickness[0] + thickness[1]])
    x = np.where(from_left, ends[0], ends[2])
    mu = np.sqrt(1.0 - stream.random(bundles)) * sign
    tally = _Tally(ends, cells)

    while len(x):
        count = len(x)
        free = -path[side, bins] * np.log1p(-stream.random(count))
        forward = mu > 0
        border = ends[side + forward]
        to_border = np.maximum((border - x) / mu, 0.0)
        hits = to_border <= free
        end = np.where(hits, border, x + mu * free)
        tally.add(side, x, end, sign / (np.abs(mu) * speed[side, bins]), np.where(forward, sign, -sign))
        x = end

        at_interface = hits & (side != forward)
        alive = ~hits | at_interface
        chance = stream.random(count)
        if interface:
            crosses = at_interface & (chance < passing[side, bins])
            leaving = np.sqrt(1.0 - stream.random(count))
            onward = np.where(crosses, forward, ~forward)
            mu = np.where(at_interface, np.where(onward, leaving, -leaving), mu)
        else:
            crosses = at_interface
        side = np.where(crosses, 1 - side, side)
        scattered = ~hits
        draws = stream.random(count)
        fresh = np.where(
            side == 0,
            np.searchsorted(scattering[0], draws, side="right"),
            np.searchsorted(scattering[1], draws, side="right"),
        )
        bins = np.where(scattered, fresh, bins)
        mu = np.where(scattered, 2.0 * stream.random(count) - 1.0, mu)
        x, mu, bins, side, sign = x[alive], mu[alive], bins[alive], side[alive], sign[alive]

    each = power.sum() / bundles
    heat = np.repeat([table.heat.sum() for table in layers], cells)
    width = np.repeat(np.diff(ends) / cells, cells)
    return Profile(tally.centres, each * tally.time / (heat * width), each * tally.length / width)


class _Tally:
    """Sums of weights over straight paths, cell by cell."""

    def __init__(self, ends: np.ndarray, cells: int) -> None:
        self._ends, self._cells = ends, cells
        self._width = np.diff(ends) / cells
        self.centres = np.concatenate([ends[n] + self._width[n] * (np.arange(cells) + 0.5) for n in (0, 1)])
        self.time = np.zeros(2 * cells)
        self.length = np.zeros(2 * cells)

    def add(self, side: np.ndarray, start: np.ndarray, end: np.ndarray, slowness: np.ndarray, sign: np.ndarray) -> None:
        """Add paths that stay within one layer: `slowness` and `sign` are weights per length travelled along x."""
        low, high = np.minimum(start, end), np.maximum(start, end)
        covered = self._below(side, high, (slowness, sign)) - self._below(side, low, (slowness, sign))
        self.time += covered[0]
        self.length += covered[1]

    def _below(self, side: np.ndarray, x: np.ndarray, weights: tuple[np.ndarray, ...]) -> np.ndarray:
        """Weighted length, in every cell of the layer of each point, that lies on the point's left."""
        cells = self._cells
        place = (x - self._ends[side]) / self._width[side]
        cell = np.clip(place.astype(int), 0, cells - 1)
        index = side * cells + cell
        result = []
        for weight in weights:
            scaled = weight * self._width[side]
            part = np.bincount(index, scaled * (place - cell), minlength=2 * cells)
            whole = np.bincount(index, scaled, minlength=2 * cells).reshape(2, cells)
            beyond = whole[:, ::-1].cumsum(axis=1)[:, ::-1] - whole
            result.append(part + beyond.ravel())
        return np.array(result)
