"""Tables of a phonon Monte Carlo code: modes, speed and lifetime by bin of frequency, and what it draws bins from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from .bulk import Mesh

__all__ = ["EDGES", "MODEL", "Relaxation", "Tables", "mode_heat", "tabulate"]

EDGES = np.linspace(0.0, 17.0, 35)
"""Edges of the bins, THz."""

_PLANCK = 6.62607015e-34
_BOLTZMANN = 1.380649e-23


@dataclass(frozen=True)
class Relaxation:
    """``1/tau = isotope omega^4 + umklapp omega^2 T exp(-onset / T)``, omega the angular frequency."""

    isotope: float
    """s^3."""
    umklapp: float
    """s/K."""
    onset: float
    """K."""

    def rate(self, frequencies: np.ndarray, temperature: float) -> np.ndarray:
        """Return the rate, 1/s, at ordinary frequencies, THz."""
        omega = 2e12 * np.pi * np.asarray(frequencies)
        return self.isotope * omega**4 + self.umklapp * omega**2 * temperature * np.exp(-self.onset / temperature)


MODEL: Mapping[str, Relaxation] = {
    "Si": Relaxation(isotope=1.3e-45, umklapp=2.20e-19, onset=150.0),
    "Ge": Relaxation(isotope=2.4e-44, umklapp=3.56e-19, onset=60.0),
}
"""Ours, in the form of Klemens and Holland. The isotope terms are of the size that mass disorder of the natural elements
gives in the Debye approximation; `umklapp` is set so that the infinite crystals conduct 148 and 60 W/(m K) at 300 K."""


@dataclass(frozen=True)
class Tables:
    """One entry per bin; bins without modes have zeros."""

    modes: np.ndarray
    """1/m^3."""
    speed: np.ndarray
    """Mean over the modes, m/s."""
    lifetime: np.ndarray
    """At the centre of the bin, s."""
    heat: np.ndarray
    """Heat capacity, J/(m^3 K)."""

    @property
    def energy(self) -> np.ndarray:
        """Cumulative share of the heat capacity: where the energy of a uniformly heated crystal sits."""
        return _cumulative(self.heat)

    @property
    def flux(self) -> np.ndarray:
        """Cumulative share of what a heated wall emits."""
        return _cumulative(self.heat * self.speed)

    @property
    def scattering(self) -> np.ndarray:
        """Cumulative share of the rate at which energy is scattered: bin of a phonon after a scattering event."""
        rate = np.divide(self.heat, self.lifetime, out=np.zeros_like(self.heat), where=self.lifetime > 0)
        return _cumulative(rate)

    @property
    def conductivity(self) -> float:
        """Of the infinite crystal, W/(m K)."""
        return float((self.heat * self.speed**2 * self.lifetime).sum() / 3)


def _cumulative(shares: np.ndarray) -> np.ndarray:
    return np.cumsum(shares) / shares.sum()


def mode_heat(frequencies: np.ndarray, temperature: float) -> np.ndarray:
    """Return the heat capacity of a mode of each ordinary frequency, THz, in J/K."""
    x = _PLANCK * np.asarray(frequencies) * 1e12 / (_BOLTZMANN * temperature)
    return _BOLTZMANN * (x / (2 * np.sinh(x / 2))) ** 2


def tabulate(mesh: Mesh, relaxation: Relaxation, temperature: float, edges: np.ndarray = EDGES) -> Tables:
    """Return the tables of one crystal at a temperature, K.

    Modes of frequency zero (the translations) are left out.

    Raises
    ------
    ValueError
        If a mode lies outside the bins, or so near to an edge that rounding decides about its bin.
    """
    frequencies = mesh.frequencies.ravel()
    kept = frequencies > 0
    frequencies = frequencies[kept]
    if frequencies.max() >= edges[-1] or np.abs(frequencies[:, None] - edges).min() < 1e-7:
        raise ValueError("bins: a mode lies at an edge or above the last one")
    share = np.repeat(mesh.weights / mesh.weights.sum(), mesh.frequencies.shape[1])[kept] / (mesh.volume * 1e-30)
    speed = 100.0 * np.linalg.norm(mesh.velocities.reshape(-1, 3)[kept], axis=1)
    modes = np.histogram(frequencies, edges, weights=share)[0]
    filled = modes > 0
    centres = (edges[1:] + edges[:-1]) / 2
    crossed = np.histogram(frequencies, edges, weights=share * speed)[0]
    mean = np.divide(crossed, modes, out=np.zeros_like(modes), where=filled)
    lifetime = np.where(filled, 1 / relaxation.rate(centres, temperature), 0.0)
    return Tables(modes, mean, lifetime, modes * mode_heat(centres, temperature))
