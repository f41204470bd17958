"""Diffuse mismatch model and Landauer conductance of an interface from two meshes of phonons.

Both sides are cubic with the interface on (100), so that all three axes stand equally for its normal.
"""

from __future__ import annotations

import numpy as np

from .bulk import Mesh

__all__ = ["conductance", "emission", "transmission"]

_PLANCK = 6.62607015e-34
_BOLTZMANN = 1.380649e-23


def emission(mesh: Mesh, frequencies: np.ndarray, width: float) -> np.ndarray:
    """Return how many modes cross a plane per area, time and frequency at full occupation: 1/(m^2 s THz).

    It is the integral of the group velocity's positive part along the normal over the zone, per primitive cell, smeared
    by a Gaussian in the ordinary frequency.

    Parameters
    ----------
    frequencies
        Ordinary, THz, where to evaluate.
    width
        Standard deviation of the Gaussian, THz.
    """
    # The normal is one of three equivalent axes: the mean over the star of a point is the mean over its components.
    along = np.abs(mesh.velocities).mean(axis=2).ravel() * 100.0
    share = np.repeat(mesh.weights / mesh.weights.sum(), mesh.frequencies.shape[1])
    density = share * along / 2 / (mesh.volume * 1e-30)
    modes = mesh.frequencies.ravel()
    result = np.empty(len(frequencies))
    for at, frequency in enumerate(frequencies):
        weight = np.exp(-0.5 * ((frequency - modes) / width) ** 2) / (width * np.sqrt(2 * np.pi))
        result[at] = weight @ density
    return result


def transmission(from_side: np.ndarray, to_side: np.ndarray) -> np.ndarray:
    """Return the share of phonons that go to `to_side`, given the emissions of both sides; 0 where both vanish.

    A phonon forgets where it came from: it leaves to either side in proportion to what that side emits, which is what
    detailed balance asks for.
    """
    total = from_side + to_side
    return np.divide(to_side, total, out=np.zeros_like(total), where=total > 0)


def conductance(frequencies: np.ndarray, emitted: np.ndarray, transmitted: np.ndarray, temperature: float) -> float:
    """Return the interface conductance, W/(m^2 K), for phonons that are emitted in equilibrium at a temperature, K.

    Parameters
    ----------
    frequencies
        Ordinary, THz, equally spaced, starting above 0.
    emitted
        Result of `emission` for the side of incidence.
    transmitted
        Transmission from that side.
    """
    x = _PLANCK * frequencies * 1e12 / (_BOLTZMANN * temperature)
    heat = _BOLTZMANN * x**2 * np.exp(x) / np.expm1(x) ** 2
    return float(np.trapezoid(emitted * transmitted * heat, frequencies))
