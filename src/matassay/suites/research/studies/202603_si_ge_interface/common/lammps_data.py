"""LAMMPS data files of Si/Ge cells: type 1 is silicon, type 2 germanium, whichever of them occur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

__all__ = ["write_data"]


def write_data(
    path: Path,
    title: str,
    lengths: Sequence[float],
    positions: np.ndarray,
    species: Sequence[str],
    masses: Mapping[str, float],
) -> None:
    """Write an orthogonal periodic cell in `atom_style atomic`, atoms numbered in the order given.

    Parameters
    ----------
    lengths
        Of the cell along x, y and z, A.
    positions
        Cartesian, A.
    masses
        Of both elements, u.
    """
    kinds = ("Si", "Ge")
    lines = [title, "", f"{len(species)} atoms", f"{len(kinds)} atom types", ""]
    lines += [f"0.0 {length:.12f} {axis}lo {axis}hi" for length, axis in zip(lengths, "xyz", strict=True)]
    lines += ["", "Masses", ""] + [f"{n} {masses[kind]}  # {kind}" for n, kind in enumerate(kinds, 1)]
    lines += ["", "Atoms  # atomic", ""]
    for number, (kind, place) in enumerate(zip(species, positions, strict=True), 1):
        lines.append(f"{number} {kinds.index(kind) + 1} " + " ".join(f"{value:.12f}" for value in place))
    path.write_text("\n".join(lines) + "\n", "utf-8")
