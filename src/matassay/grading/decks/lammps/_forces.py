"""Forces that a deck means, and whether two decks mean the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class ForceField:
    """Forces and energies of displaced configurations of one structure."""

    lattice: NDArray[np.float64]
    """Rows are the lattice vectors, angstrom."""
    positions: NDArray[np.float64]
    """Fractional coordinates without displacement, one row per atom; the origin is that of the coordinates."""
    species: tuple[str, ...]
    """Element of each atom by its mass."""
    forces: NDArray[np.float64]
    """Configuration x atom x axis, eV/angstrom; the first configuration has no displacement."""
    energies: NDArray[np.float64]
    """Energy of each configuration, eV."""
    reduced: bool
    """Whether the deck is in reduced units, which compare with nothing else."""


def compare_forces(mine: ForceField, reference: ForceField, rtol: float) -> tuple[bool, str]:
    """Whether the forces agree to ``rtol`` of the reference's largest force; and if not, why."""
    order, why = _order(mine, reference)
    if order is None:
        return False, why
    largest = float(np.abs(reference.forces).max())
    error = float(np.abs(mine.forces[:, order] - reference.forces).max())
    if error <= rtol * max(largest, 1e-6):
        return True, ""
    return False, (
        f"forces on the same displaced atoms differ from those of the model that was asked for by up to "
        f"{error / max(largest, 1e-6):.2g} of the largest force, allowed {rtol:.2g}"
    )


def compare_energies(mine: ForceField, reference: ForceField, atol: float) -> tuple[bool, str]:
    """Whether energies relative to the undisplaced structure agree to ``atol`` (eV); and if not, why."""
    order, why = _order(mine, reference)
    if order is None:
        return False, why
    a, b = (f.energies[1:] - f.energies[0] for f in (mine, reference))
    error = float(np.abs(a - b).max())
    return error <= atol, f"energies of the same displaced atoms differ by up to {error:.2g} eV, allowed {atol:.2g} eV"


def _order(mine: ForceField, reference: ForceField) -> tuple[NDArray[np.intp] | None, str]:
    """Indices of my atoms in the reference's order, matched by place and element."""
    if mine.reduced is not reference.reduced:
        return None, "the deck's units are reduced ones, or should be"
    if len(mine.species) != len(reference.species):
        return None, f"the deck has {len(mine.species)} atoms, which is not what was asked for"
    if mine.forces.shape != reference.forces.shape:
        return None, "the deck's forces could not be taken"
    if np.abs(mine.lattice - reference.lattice).max() > 1e-3:
        return None, "the deck's box is not the one that was asked for"
    order = _match(mine.positions, reference.positions, reference.lattice)
    if order is None:
        return None, "the deck's atoms do not stand where they were asked to"
    if any(mine.species[i] != s for i, s in zip(order, reference.species, strict=True)):
        return None, "atoms at the same places have other masses (elements) than was asked for"
    return order, ""


def _match(
    mine: NDArray[np.float64], reference: NDArray[np.float64], lattice: NDArray[np.float64], tolerance: float = 2e-3
) -> NDArray[np.intp] | None:
    """For each reference position the index of mine within ``tolerance`` (angstrom), periodic images included."""
    if len(mine) <= 1500:
        out = np.empty(len(mine), dtype=np.intp)
        for i, place in enumerate(reference):
            delta = mine - place
            delta -= np.rint(delta)
            distance = np.linalg.norm(delta @ lattice, axis=1)
            out[i] = int(distance.argmin())
            if distance[out[i]] > tolerance:
                return None
        return out if len(set(out.tolist())) == len(out) else None
    from scipy.spatial import cKDTree

    tree = cKDTree((mine % 1.0) % 1.0, boxsize=1.0)
    _, found = tree.query((reference % 1.0) % 1.0)
    delta = mine[found] - reference
    delta -= np.rint(delta)
    if np.linalg.norm(delta @ lattice, axis=1).max() > tolerance or len(set(found.tolist())) != len(found):
        return None
    return np.asarray(found, dtype=np.intp)
