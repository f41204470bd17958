"""Which atoms of a sharp junction change places to make it rough."""

from __future__ import annotations

import numpy as np

from .device import REPEAT

__all__ = ["swapped_atoms"]


def swapped_atoms(stream: np.random.Generator, pairs: int) -> list[int]:
    """Draw `pairs` silicon and as many germanium atoms from the two atomic planes on either side of the interface.

    Returns
    -------
    list of int
        Atoms as `build_device` counts them: 0-35 in the last Si layer, 36-71 in the first Ge layer.
    """
    cells = 4 * np.arange(REPEAT**2)
    silicon = np.sort(np.concatenate([cells + 2, cells + 3]))
    germanium = np.sort(np.concatenate([cells, cells + 1])) + 4 * REPEAT**2
    chosen = [stream.choice(sites, pairs, replace=False) for sites in (silicon, germanium)]
    return sorted(int(atom) for atom in np.concatenate(chosen))
