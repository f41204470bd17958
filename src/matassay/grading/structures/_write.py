"""Writing structures, in as few words as the readers need."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Final

import numpy as np

from ._crystal import Crystal
from ._elements import WEIGHTS

#: How files of each format end.
ENDINGS: Final[Mapping[str, str]] = {"poscar": ".vasp", "cif": ".cif", "extxyz": ".xyz", "lammps-data": ".data"}


def write_structure(crystal: Crystal, format: str) -> str:
    """Text of a structure file.

    Parameters
    ----------
    crystal : Crystal
        The structure. Charge is not written; moments are, in extended XYZ. LAMMPS data need a right-handed cell, and turn
        it so that the first vector lies along x and the second in the plane of x and y.
    format : str
        A key of `ENDINGS`.
    """
    return _WRITERS[format](crystal)


def _words(row: object) -> str:
    return " ".join(f"{x:.12f}" for x in np.asarray(row, float))


def _poscar(crystal: Crystal) -> str:
    groups = [(name, len(list(members))) for name, members in groupby(crystal.species)]
    return "\n".join(
        [
            crystal.formula,
            "1.0",
            *map(_words, crystal.cell),
            " ".join(name for name, _ in groups),
            " ".join(str(n) for _, n in groups),
            "Direct",
            *map(_words, crystal.sites),
            "",
        ]
    )


def _cif(crystal: Crystal) -> str:
    lengths = np.linalg.norm(crystal.cell, axis=1)
    cosines = [crystal.cell[i] @ crystal.cell[j] / (lengths[i] * lengths[j]) for i, j in ((1, 2), (0, 2), (0, 1))]
    lines = [f"data_{crystal.formula}"]
    lines += [f"_cell_length_{name} {x:.12f}" for name, x in zip("abc", lengths, strict=True)]
    names = ("alpha", "beta", "gamma")
    lines += [f"_cell_angle_{name} {np.degrees(np.arccos(x)):.12f}" for name, x in zip(names, cosines, strict=True)]
    lines += ["_symmetry_space_group_name_H-M 'P 1'", "loop_", "_atom_site_label"]
    lines += [f"_atom_site_fract_{axis}" for axis in "xyz"]
    lines += [f"{name} {_words(site)}" for name, site in zip(crystal.species, crystal.sites, strict=True)]
    return "\n".join([*lines, ""])


def _extxyz(crystal: Crystal) -> str:
    moments = ":magmoms:R:1" if crystal.moments is not None else ""
    lattice = " ".join(map(_words, crystal.cell))
    lines = [str(len(crystal.species)), f'Lattice="{lattice}" Properties=species:S:1:pos:R:3{moments} pbc="T T T"']
    for n, (name, place) in enumerate(zip(crystal.species, crystal.sites @ crystal.cell, strict=True)):
        lines.append(f"{name} {_words(place)}" + (f" {crystal.moments[n]:.6f}" if crystal.moments else ""))
    return "\n".join([*lines, ""])


def _lammps(crystal: Crystal) -> str:
    # The lower triangular factor of the metric is the cell in the orientation that LAMMPS wants.
    cell = np.linalg.cholesky(crystal.cell @ crystal.cell.T)
    kinds = list(dict.fromkeys(crystal.species))
    lines = [crystal.formula, "", f"{len(crystal.species)} atoms", f"{len(kinds)} atom types"]
    lines += [f"0.0 {cell[n, n]:.12f} {axis}lo {axis}hi" for n, axis in enumerate("xyz")]
    lines += [f"{cell[1, 0]:.12f} {cell[2, 0]:.12f} {cell[2, 1]:.12f} xy xz yz", "", "Masses", ""]
    lines += [f"{n} {WEIGHTS.get(kind, 1.0)} # {kind}" for n, kind in enumerate(kinds, start=1)]
    lines += ["", "Atoms # atomic", ""]
    for n, (name, place) in enumerate(zip(crystal.species, crystal.sites @ cell, strict=True), start=1):
        lines.append(f"{n} {kinds.index(name) + 1} {_words(place)}")
    return "\n".join([*lines, ""])


_WRITERS: Final[Mapping[str, Callable[[Crystal], str]]] = {
    "poscar": _poscar,
    "cif": _cif,
    "extxyz": _extxyz,
    "lammps-data": _lammps,
}
