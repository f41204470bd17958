"""How many channels a lead has at a frequency, counted from its dispersion alone; which frequencies are safe to ask.

Each propagating channel is one crossing of a branch ``omega(k)`` with the frequency on the way up. This knows nothing of
scattering, and so checks the counts of the other methods.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .device import REPEAT, Lead, lateral_cells
from .modes import TO_SQUARED_THZ

__all__ = ["count_channels", "is_safe", "lead_dispersion"]

MARGIN = 0.05
"""Least distance of a frequency from any band edge, THz: an evanescent channel is then clearly evanescent."""


def lead_dispersion(lead: Lead, points: int = 800) -> np.ndarray:
    """Return the frequencies of a lead, THz, for `points` wave vectors along x in one zone, and all transverse ones.

    Returns
    -------
    numpy.ndarray
        Shape (transverse wave vectors, points, 12), each row of branches ascending.
    """
    if not lead.cells:
        raise ValueError("lead: its blocks by 1x1 cell are needed; `read_device` does not know them")
    # A step that is incommensurate with the zone keeps clear of points of symmetry, where branches meet.
    phases = 2 * np.pi * (np.arange(points) + 0.382) / points
    frequencies = []
    for transverse in 2 * np.pi * lateral_cells() / REPEAT:
        layer = [
            sum(np.exp(1j * transverse @ at[1:]) * block for at, block in lead.cells.items() if at[0] == n)
            for n in (-1, 0, 1)
        ]
        matrices = sum(np.exp(1j * phases * n)[:, None, None] * layer[n + 1] for n in (-1, 0, 1))
        values = np.linalg.eigvalsh(TO_SQUARED_THZ * matrices / lead.mass)
        frequencies.append(np.sqrt(np.clip(values, 0, None)) / (2 * np.pi))
    return np.array(frequencies)


def count_channels(dispersion: np.ndarray, frequency: float) -> int:
    """Return the number of channels in one direction at a frequency, THz, from the output of `lead_dispersion`."""
    above = dispersion > frequency
    return int(np.sum(above & ~np.roll(above, 1, axis=1)))


def is_safe(dispersions: Sequence[np.ndarray], frequency: float, margin: float = MARGIN) -> bool:
    """Return whether the number of channels of every lead is the same from `margin` below a frequency to above it."""
    around = frequency + margin * np.linspace(-1, 1, 21)
    return all(len({count_channels(dispersion, value) for value in around}) == 1 for dispersion in dispersions)
