"""Phonons of the cubic crystals on a mesh of wave vectors: by phonopy for the files, by our own matrices as a check."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .lammps_forces import Engine, force_constants, relaxed_cubic_constant
from .modes import TO_SQUARED_THZ

__all__ = ["Mesh", "full_mesh", "phonopy_mesh", "read_mesh", "write_mesh"]

_REPEAT = 2
"""Cubic cells along each edge of the supercell (10.9 A): the model reaches 4 A."""


@dataclass(frozen=True)
class Mesh:
    """Phonons on a mesh of wave vectors that fills the Brillouin zone."""

    element: str
    divisions: int
    """Points along each reciprocal vector of the primitive cell; the mesh contains Gamma."""
    volume: float
    """Of the primitive cell, A^3."""
    weights: np.ndarray
    """How many points of the full mesh a point stands for, shape (q,)."""
    points: np.ndarray
    """In reciprocal vectors of the primitive cell, shape (q, 3)."""
    frequencies: np.ndarray
    """Ordinary, THz, shape (q, branches)."""
    velocities: np.ndarray
    """Group velocities along the cubic axes, THz A (100 m/s), shape (q, branches, 3)."""


def _corners() -> np.ndarray:
    """Atoms of the cubic cell, in its edges: those of the first face-centred lattice, then those of the second."""
    lattice = np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0]]) / 4
    return np.concatenate([lattice, lattice + 0.25])


def phonopy_mesh(element: str, mass: float, divisions: int) -> Mesh:
    """Return the irreducible points of the mesh, by phonopy with forces of LAMMPS (Tersoff), at zero pressure.

    Parameters
    ----------
    mass
        Of the atoms, u.
    divisions
        Odd, so that no point lies on the zone's square faces, where branches meet and group velocities are undefined.
    """
    from phonopy import Phonopy
    from phonopy.structure.atoms import PhonopyAtoms

    constant = relaxed_cubic_constant(element)
    cell = PhonopyAtoms(
        symbols=[element] * 8, cell=np.eye(3) * constant, scaled_positions=_corners(), masses=[mass] * 8
    )
    primitive = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]]) / 2
    phonon = Phonopy(cell, supercell_matrix=np.eye(3, dtype=int) * _REPEAT, primitive_matrix=primitive)
    phonon.generate_displacements(distance=1e-3)
    supercell = phonon.supercell
    with Engine(supercell.cell, supercell.positions, supercell.symbols) as engine:
        phonon.forces = np.array([engine.forces(moved.positions) for moved in phonon.supercells_with_displacements])
    phonon.produce_force_constants()
    phonon.symmetrize_force_constants()
    phonon.run_mesh([divisions] * 3, with_group_velocities=True, is_gamma_center=True)
    found: dict[str, Any] = phonon.get_mesh_dict()
    frequencies = np.array(found["frequencies"])
    velocities = np.array(found["group_velocities"])
    # The three translations have frequency 0 within rounding, and no group velocity.
    frequencies[np.abs(frequencies) < 1e-3] = 0.0
    velocities[frequencies == 0] = 0.0
    return Mesh(
        element,
        divisions,
        constant**3 / 4,
        np.array(found["weights"]),
        np.array(found["qpoints"]),
        frequencies,
        velocities,
    )


def full_mesh(element: str, mass: float, divisions: int) -> Mesh:
    """Return every point of the same mesh, from our own dynamical matrices and their derivatives.

    Group velocities follow from first-order perturbation theory, along each axis on its own; where branches are
    degenerate, the derivative is diagonalised among them.
    """
    constant = relaxed_cubic_constant(element)
    cells = np.array([(i, j, k) for i in range(_REPEAT) for j in range(_REPEAT) for k in range(_REPEAT)])
    atoms = (cells[:, None] + _corners()).reshape(-1, 3) * constant
    edge = _REPEAT * constant
    raw = force_constants(np.eye(3) * edge, atoms, [element] * len(atoms), displacement=1e-3, atoms=(0, 4))
    raw = raw.transpose(0, 2, 1, 3)
    offsets = atoms[None] - atoms[[0, 4], None]
    offsets -= edge * np.round(offsets / edge)
    near = np.linalg.norm(offsets, axis=2) < 0.45 * edge
    for row, own in enumerate((0, 4)):
        raw[row, own] -= raw[row].sum(axis=0)

    count = divisions
    whole = np.array([(i, j, k) for i in range(count) for j in range(count) for k in range(count)]) / count
    reciprocal = np.array([[-1, 1, 1], [1, -1, 1], [1, 1, -1]]) / constant
    waves = 2 * np.pi * whole @ reciprocal
    matrix = np.zeros((len(waves), 2, 3, 2, 3), dtype=complex)
    slope = np.zeros((3, *matrix.shape), dtype=complex)
    for row in (0, 1):
        for atom in np.flatnonzero(near[row]):
            term = np.exp(1j * waves @ offsets[row, atom])[:, None, None] * raw[row, atom]
            column = (atom % 8) // 4
            matrix[:, row, :, column] += term
            for axis in range(3):
                slope[axis, :, row, :, column] += 1j * offsets[row, atom, axis] * term
    scale = TO_SQUARED_THZ / mass
    values, vectors = np.linalg.eigh(scale * matrix.reshape(-1, 6, 6))
    omega = np.sqrt(np.clip(values, 0, None))
    velocities = np.zeros((len(waves), 6, 3))
    for axis in range(3):
        derivative = vectors.conj().transpose(0, 2, 1) @ (scale * slope[axis].reshape(-1, 6, 6)) @ vectors
        for point, block in enumerate(derivative):
            speeds = _degenerate_slopes(values[point], block)
            with np.errstate(divide="ignore", invalid="ignore"):
                velocities[point, :, axis] = np.where(omega[point] > 1e-2, speeds / (2 * omega[point]), 0.0)
    frequencies = omega / (2 * np.pi)
    frequencies[frequencies < 1e-3] = 0.0
    return Mesh(element, divisions, constant**3 / 4, np.ones(len(waves), dtype=int), whole, frequencies, velocities)


def _degenerate_slopes(values: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    """Diagonal of the derivative, after a rotation within each degenerate set that makes it diagonal there."""
    slopes = derivative.diagonal().real.copy()
    start = 0
    for stop in range(1, len(values) + 1):
        if stop == len(values) or values[stop] - values[stop - 1] > 1e-6 * max(values[-1], 1.0):
            if stop - start > 1:
                slopes[start:stop] = np.linalg.eigvalsh(derivative[start:stop, start:stop])
            start = stop
    return slopes


def write_mesh(mesh: Mesh, path: Path) -> None:
    """Write a mesh to HDF5, under the names that phonopy gives to the same arrays, with units as attributes."""
    import h5py

    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["element"] = mesh.element
        file.attrs["mesh"] = [mesh.divisions] * 3
        file.attrs["primitive_cell_volume"] = mesh.volume
        file.attrs["primitive_cell_volume_unit"] = "angstrom^3"
        file.attrs["frequency_unit"] = "THz (ordinary frequency)"
        file.attrs["group_velocity_unit"] = "THz*angstrom, components along the cubic axes [100], [010], [001]"
        file.attrs["points"] = (
            "irreducible points of a Gamma-centred mesh under the point group m-3m and time reversal; weight counts "
            "the points of the full mesh that each stands for; group_velocity is that at the listed point"
        )
        for name, values in (
            ("weight", mesh.weights),
            ("qpoint", mesh.points),
            ("frequency", mesh.frequencies),
            ("group_velocity", mesh.velocities),
        ):
            file.create_dataset(name, data=values, compression="gzip", compression_opts=9, shuffle=True)


def read_mesh(path: Path) -> Mesh:
    """Read what `write_mesh` wrote."""
    import h5py

    with h5py.File(path, "r") as file:
        return Mesh(
            str(file.attrs["element"]),
            int(file.attrs["mesh"][0]),
            float(file.attrs["primitive_cell_volume"]),
            file["weight"][:],
            file["qpoint"][:],
            file["frequency"][:],
            file["group_velocity"][:],
        )
