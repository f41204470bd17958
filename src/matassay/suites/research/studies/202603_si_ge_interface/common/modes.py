"""Bloch modes of a half-infinite lead at a fixed frequency, from the quadratic eigenvalue problem of its layers.

With the blocks ``D0`` (a layer) and ``D1`` (a layer with the next one along +x) of the mass-weighted force constants,
a mode ``u_n = phi lambda^n`` obeys ``(D1^H / lambda + D0 - omega^2 + lambda D1) phi = 0``. ``D1`` is singular (its range
is shorter than a layer), so that many lambda are 0 or infinite; the generalised Schur form of the linearised problem
copes with these, where inverting ``D1`` or the matrix of all modes would not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import ordqz, svd

__all__ = ["TO_SQUARED_THZ", "Outgoing", "current", "outgoing", "weighted"]

TO_SQUARED_THZ = 1.602176634e-19 / 1e-20 / 1.66053906660e-27 / 1e24
"""eV/(A^2 u) in (rad/ps)^2: exact charge and the CODATA 2018 value of the atomic mass constant."""

_ON_CIRCLE = 1e-5
"""Largest distance of \\|lambda\\| from 1 that rounding alone explains; at 0.05 THz from a band edge evanescent modes
are farther than 1e-2 away."""

_SAME = 1e-6
"""Bloch factors closer than this belong to one degenerate multiplet."""

_STANDING = 1e-5
"""Current, in units of the squared frequency, below which a channel is taken to be at its band edge."""


def weighted(block: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Divide force constants, eV/A^2, by the root of both atoms' masses, u: the result is in (rad/ps)^2."""
    left, right = np.repeat(rows, 3), np.repeat(columns, 3)
    return TO_SQUARED_THZ * block / np.sqrt(np.outer(left, right))


@dataclass(frozen=True)
class Outgoing:
    """What leaves along one direction: propagating channels, and the matrix that moves any outgoing wave one layer."""

    factors: np.ndarray
    """Bloch factors of the propagating channels per layer in the direction of travel, shape (n,)."""
    modes: np.ndarray
    """Their displacements on one layer as columns, mass-weighted, of norm 1, shape (m, n)."""
    currents: np.ndarray
    """Energy current of each channel for unit amplitude, up to one common factor; all positive."""
    step: np.ndarray
    """``u_{n+1} = step u_n`` for every superposition of outgoing and decaying waves, shape (m, m)."""


def current(coupling: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the conserved current between two solutions of the same frequency, positive for waves that travel onwards.

    Parameters
    ----------
    coupling
        Block of a layer with the next one in the direction that counts as positive.
    first, second
        Displacements on a layer and on the next one, stacked, columns are solutions: shape (2 m, n).
    """
    size = len(coupling)
    a0, a1, b0, b1 = first[:size], first[size:], second[:size], second[size:]
    return 1j * (a0.conj().T @ coupling @ b1 - a1.conj().T @ coupling.conj().T @ b0)


def outgoing(onsite: np.ndarray, coupling: np.ndarray, squared: float) -> Outgoing:
    """Solve a lead for waves that leave along the direction in which `coupling` leads.

    Parameters
    ----------
    onsite, coupling
        Mass-weighted blocks, (rad/ps)^2.
    squared
        Square of the angular frequency, (rad/ps)^2.

    Raises
    ------
    ArithmeticError
        If outgoing and decaying waves are not as many as a layer has degrees of freedom: the frequency is at a band
        edge.
    """
    size = len(onsite)
    unit, zero = np.eye(size), np.zeros((size, size))
    left = np.block([[zero, unit], [-coupling.conj().T, squared * unit - onsite]]).astype(complex)
    right = np.block([[unit, zero], [zero, coupling]]).astype(complex)

    found: list[tuple[complex, np.ndarray, np.ndarray]] = []

    def is_outgoing(alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = np.where(np.abs(beta) > 1e-12 * np.abs(alpha), alpha / beta, np.inf)
        inside = np.abs(factor) < 1 - _ON_CIRCLE
        for at in np.flatnonzero(np.abs(np.abs(factor) - 1) <= _ON_CIRCLE):
            inside[at] = any(abs(factor[at] - value) < 10 * _SAME for value, _, _ in found)
        return inside

    # A first pass finds the propagating channels, a second one orders them by their direction of travel.
    alpha, beta = ordqz(left, right, sort=is_outgoing, output="complex")[2:4]
    regular = np.abs(beta) > 1e-12 * np.abs(alpha)
    factors = alpha[regular] / beta[regular]
    for value in _distinct(factors[np.abs(np.abs(factors) - 1) <= _ON_CIRCLE]):
        modes, speeds = _multiplet(onsite, coupling, squared, value)
        if len(speeds) and np.abs(speeds).min() < _STANDING * squared:
            raise ArithmeticError(f"a channel of Bloch factor {value:.6f} stands still: a band edge is near")
        if len(speeds) and np.ptp(np.sign(speeds)):
            raise ArithmeticError(f"two channels of opposite direction share the Bloch factor {value:.6f}")
        if len(speeds) and speeds[0] > 0:
            found.append((value, modes, speeds))
    *_, schur = ordqz(left, right, sort=is_outgoing, output="complex")
    span = schur[:, :size]
    chosen = sum(len(speeds) for _, _, speeds in found)
    decaying = int(np.sum(np.abs(factors) < 1 - _ON_CIRCLE))
    if chosen + decaying != size:
        raise ArithmeticError(f"{chosen} outgoing and {decaying} decaying waves instead of {size}: a band edge is near")
    step = np.linalg.solve(span[:size].T, span[size:].T).T
    if not found:
        none = np.empty(0)
        return Outgoing(none.astype(complex), np.empty((size, 0), dtype=complex), none, step)
    return Outgoing(
        np.concatenate([np.full(len(speeds), value) for value, _, speeds in found]),
        np.hstack([modes for _, modes, _ in found]),
        np.concatenate([speeds for _, _, speeds in found]),
        step,
    )


def _distinct(values: np.ndarray) -> list[complex]:
    """One value, of modulus 1, for each cluster."""
    kept: list[complex] = []
    for value in values:
        if all(abs(value - other) > 2 * _SAME for other in kept):
            kept.append(complex(value / abs(value)))
    return kept


def _multiplet(
    onsite: np.ndarray, coupling: np.ndarray, squared: float, factor: complex
) -> tuple[np.ndarray, np.ndarray]:
    """Channels of one Bloch factor, as columns in which the current is diagonal, and their currents."""
    matrix = coupling.conj().T / factor + onsite + factor * coupling - squared * np.eye(len(onsite))
    _, values, rows = svd(matrix)
    modes = rows[values < 1e-7 * squared].conj().T
    pair = np.vstack([modes, factor * modes])
    speeds, rotation = np.linalg.eigh(current(coupling, pair, pair))
    return modes @ rotation, speeds
