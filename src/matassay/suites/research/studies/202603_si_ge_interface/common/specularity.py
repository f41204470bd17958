"""Specular share of a reflection: how much of what comes back has kept its transverse wave vector and its branch.

The crystal has a glide plane parallel to the interface, so that every channel with (q, k_x) has a mirror image of the same
frequency with (q, -k_x): the same transverse wave vector and the same Bloch factor along its own direction of travel.
Degenerate channels form one group, since only sums over the group do not depend on the choice of a basis.
"""

from __future__ import annotations

import numpy as np

from .scattering import Scattering, transverse_wave_vectors

__all__ = ["group_specularity"]

_SAME = 1e-3
"""Largest difference of the Bloch factors of two channels of one group; other channels differ by more than 1e-2."""


def group_specularity(result: Scattering) -> dict[str, float]:
    """Return the specular share for normal incidence, transverse ("TA") and longitudinal ("LA"), and of all channels.

    Raises
    ------
    ValueError
        If normal incidence has not exactly one pair of transverse channels and one longitudinal one.
    """
    probability = np.abs(result.reflection) ** 2
    incoming, outgoing = result.incoming, result.reflected
    same_vector = incoming.transverse[:, None] == outgoing.transverse[None, :]
    same_factor = np.abs(incoming.waves.factors[:, None] - outgoing.waves.factors[None, :]) < _SAME
    specular = probability * (same_vector & same_factor)

    centre = int(np.flatnonzero(~transverse_wave_vectors().any(axis=1))[0])
    normal = incoming.transverse == centre
    along_x = (np.abs(incoming.waves.modes.reshape(-1, 3, len(normal))[:, 0]) ** 2).sum(axis=0)
    groups = {"TA": normal & (along_x < 0.5), "LA": normal & (along_x > 0.5)}
    if [int(group.sum()) for group in groups.values()] != [2, 1]:
        raise ValueError("normal incidence: expected two transverse channels and one longitudinal channel")
    groups["all"] = np.ones(len(normal), dtype=bool)
    return {name: float(specular[group].sum() / probability[group].sum()) for name, group in groups.items()}
