"""Scattering matrix of a junction by matching Bloch waves of both leads to the waves in the central slices.

The last layer of either lead is taken into the matching problem, so that all that lies beyond couples by the blocks of
the undisturbed lead. Amplitudes are read off by the conserved current, in which evanescent waves are orthogonal to the
propagating ones; nothing is broadened, so that transmission and reflection add up to 1 within rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag

from .device import REPEAT, Device, lateral_cells
from .modes import Outgoing, current, outgoing, weighted

__all__ = ["Channels", "Scattering", "bulk_modes", "scatter", "transverse_wave_vectors"]


@dataclass(frozen=True)
class Channels:
    """Outgoing waves of a lead with the transverse wave vector of each channel."""

    waves: Outgoing
    transverse: np.ndarray
    """Index of the transverse wave vector (row of `transverse_wave_vectors`) of each channel."""


@dataclass(frozen=True)
class Scattering:
    """Flux-normalised amplitudes for waves that come in from the left; rows are incoming channels."""

    transmission: np.ndarray
    reflection: np.ndarray
    incoming: Channels
    """Channels of the left lead towards the junction, with their factors along +x."""
    reflected: Channels
    """Channels of the left lead away from the junction, with their factors along -x."""
    transmitted: Channels


def transverse_wave_vectors() -> np.ndarray:
    """Return the wave vectors of the 1x1 surface cell that fold to zero, in reciprocal units (0, 1/3, -1/3)."""
    return (np.array(lateral_cells()) + 1) % REPEAT / REPEAT - (REPEAT // 2) / REPEAT


def _fourier() -> np.ndarray:
    """Unitary matrix whose rows are the transverse wave vectors, columns the lateral cells."""
    cells = lateral_cells()
    return np.exp(-2j * np.pi * transverse_wave_vectors() @ cells.T) / REPEAT


def bulk_modes(onsite: np.ndarray, coupling: np.ndarray, squared: float) -> Channels:
    """Outgoing waves of a lead along the direction of `coupling`, one transverse wave vector at a time.

    Parameters
    ----------
    onsite, coupling
        Mass-weighted blocks of the whole lateral cell, (rad/ps)^2.
    squared
        Square of the angular frequency, (rad/ps)^2.
    """
    transform = _fourier()
    count = len(transform)
    blocks = [matrix.reshape(count, 12, count, 12) for matrix in (onsite, coupling)]
    solved: list[Outgoing] = []
    embedded: list[np.ndarray] = []
    steps: list[np.ndarray] = []
    for row in transform:
        d0, d1 = (np.einsum("i,iajb,j->ab", row, block, row.conj()) for block in blocks)
        waves = outgoing(d0, d1, squared)
        solved.append(waves)
        embedded.append(np.kron(row.conj()[:, None], waves.modes))
        steps.append(waves.step)
    wide = np.kron(transform, np.eye(12))
    waves = Outgoing(
        np.concatenate([w.factors for w in solved]),
        np.hstack(embedded),
        np.concatenate([w.currents for w in solved]),
        wide.conj().T @ block_diag(*steps) @ wide,
    )
    return Channels(waves, np.repeat(np.arange(count), [len(w.factors) for w in solved]))


def scatter(device: Device, frequency: float) -> Scattering:
    """Return the scattering matrix at an ordinary frequency, THz, for waves from the left (silicon) lead."""
    squared = (2 * np.pi * frequency) ** 2
    atoms = device.masses.shape[1]
    left_mass, right_mass = np.full(atoms, device.left.mass), np.full(atoms, device.right.mass)
    l0, l1 = (weighted(block, left_mass, left_mass) for block in (device.left.onsite, device.left.coupling))
    r0, r1 = (weighted(block, right_mass, right_mass) for block in (device.right.onsite, device.right.coupling))
    reflected = bulk_modes(l0, l1.conj().T, squared)
    transmitted = bulk_modes(r0, r1, squared)
    # What comes in along +x is what would leave an infinite crystal along +x.
    incoming = bulk_modes(l0, l1, squared)

    masses = [left_mass, *device.masses, right_mass]
    onsite = [l0, *(weighted(b, m, m) for b, m in zip(device.onsite, device.masses, strict=True)), r0]
    onsite[0] = onsite[0] + l1.conj().T @ reflected.waves.step
    onsite[-1] = onsite[-1] + r1 @ transmitted.waves.step
    coupling = [weighted(b, masses[n], masses[n + 1]) for n, b in enumerate(device.coupling)]

    modes, factors = incoming.waves.modes, incoming.waves.factors
    before = modes / factors
    source = l1.conj().T @ (reflected.waves.step @ modes - before)
    solution = _solve(onsite, coupling, squared, source)
    leaving = solution[0] - modes
    pair = np.vstack([leaving, reflected.waves.step @ leaving])
    reflection = _amplitudes(l1.conj().T, reflected.waves, pair) / np.sqrt(incoming.waves.currents)[:, None]
    pair = np.vstack([solution[-1], transmitted.waves.step @ solution[-1]])
    transmission = _amplitudes(r1, transmitted.waves, pair) / np.sqrt(incoming.waves.currents)[:, None]
    return Scattering(transmission, reflection, incoming, reflected, transmitted)


def _amplitudes(coupling: np.ndarray, waves: Outgoing, pair: np.ndarray) -> np.ndarray:
    """Amplitudes, times the root of the current, of the channels in outgoing waves; rows are solutions."""
    basis = np.vstack([waves.modes, waves.modes * waves.factors])
    return (current(coupling, basis, pair) / np.sqrt(waves.currents)[:, None]).T


def _solve(
    onsite: Sequence[np.ndarray], coupling: Sequence[np.ndarray], squared: float, source: np.ndarray
) -> list[np.ndarray]:
    """Block-tridiagonal system (D - omega^2) u = source, the source on the first slice only."""
    unit = squared * np.eye(len(source))
    # Eliminate from the far end, where there is no source.
    forward = [np.empty(0)] * len(onsite)
    pivot = onsite[-1] - unit
    for n in range(len(onsite) - 1, 0, -1):
        forward[n] = -np.linalg.solve(pivot, coupling[n - 1].conj().T)
        pivot = onsite[n - 1] - unit + coupling[n - 1] @ forward[n]
    solution = [np.linalg.solve(pivot, source)]
    for n in range(1, len(onsite)):
        solution.append(forward[n] @ solution[-1])
    return solution
