"""A Si|Ge(100) junction as harmonic blocks of principal layers: geometry, force constants by LAMMPS, file format.

Along x, the normal of the interface, a principal layer is one cubic period of four atomic planes. Laterally the cell
repeats `REPEAT` x `REPEAT` times the primitive 1x1 surface cell (edges along [011] and [0-11], a/sqrt(2) long). Force
constants of the Tersoff model reach two atomic planes, so that principal layers couple to their neighbours only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .lammps_forces import force_constants, relaxed_cubic_constant, relaxed_length

__all__ = [
    "BASIS",
    "REPEAT",
    "Device",
    "Lead",
    "build_device",
    "build_leads",
    "junction",
    "lateral_cells",
    "layers",
    "read_device",
    "write_device",
]

REPEAT = 3
"""Primitive surface cells along each lateral direction."""

BASIS = np.array([[0.0, 0.0, 0.0], [0.25, 0.5, 0.0], [0.5, 0.5, 0.5], [0.75, 0.0, 0.5]])
"""The four atoms of a 1x1 principal layer, in units of the layer period and the two lateral edges."""

_DIGITS = 6
"""Force constants are kept to 1e-6 eV/A^2, 1e-7 of a bond's stiffness, so that the file stays small."""


def lateral_cells() -> np.ndarray:
    """Return the integer lateral cell (j, k) of every 1x1 cell of the device, in the order of the blocks."""
    return np.array([(j, k) for j in range(REPEAT) for k in range(REPEAT)])


@dataclass(frozen=True)
class Lead:
    """Half-infinite crystal: blocks of one principal layer, eV/A^2, ordered atom by atom, x y z within each atom."""

    element: str
    period: float
    """Length of a principal layer along x, A."""
    edge: float
    """Edge of the 1x1 surface cell, A."""
    mass: float
    """Mass of its atoms, u."""
    onsite: np.ndarray
    coupling: np.ndarray
    """Rows: a layer; columns: the next one along +x."""
    cells: Mapping[tuple[int, int, int], np.ndarray] = field(default_factory=dict, repr=False)
    """The same force constants by 1x1 cell: (layer, lateral, lateral offset) to a 12 x 12 block."""


@dataclass(frozen=True)
class Device:
    """Si lead, central slices and Ge lead, from left to right along +x."""

    left: Lead
    right: Lead
    masses: np.ndarray
    """Masses of the central atoms, u, shape (slices, atoms of a layer)."""
    onsite: np.ndarray
    """Blocks of the central slices, eV/A^2, shape (slices, m, m)."""
    coupling: np.ndarray
    """Couplings of a slice to the next along +x: first that of the left lead, last that to the right lead."""
    length: float = float("nan")
    """Of the periodic cell that was relaxed, A."""


def layers(period: float, edge: float, repeat: int = REPEAT, count: int = 1) -> np.ndarray:
    """Return the positions, A, of `count` principal layers: layer by layer, then lateral cell, then basis."""
    cells = np.array([(j, k) for j in range(repeat) for k in range(repeat)])
    return np.array(
        [
            [(n + b[0]) * period, (j + b[1]) * edge, (k + b[2]) * edge]
            for n in range(count)
            for j, k in cells
            for b in BASIS
        ]
    )


def _lead(element: str, constant: float, edge: float, mass: float) -> Lead:
    """Crystal of lattice constant `constant`, A, strained to the common lateral edge, its length along x free."""
    # Start where linear elasticity puts it (2 C12/C11 is about 0.8), which leaves little to search.
    start = constant - 0.8 * (edge * np.sqrt(2) - constant)
    cell, positions = relaxed_length(
        np.diag([start, edge, edge]), layers(start, edge, 1), [element] * 4, axis=0, strain=0.02
    )
    period = float(cell[0, 0])
    count = 3
    shift = positions - layers(period, edge, 1)
    atoms = layers(period, edge, REPEAT, count) + np.tile(shift, (count * REPEAT**2, 1))
    box = np.diag([count * period, REPEAT * edge, REPEAT * edge])
    raw = force_constants(box, atoms, [element] * len(atoms), displacement=1e-3, atoms=range(4))
    raw = raw.reshape(12, count, REPEAT, REPEAT, 12)
    wrapped: dict[tuple[int, int, int], np.ndarray] = {}
    for n in (-1, 0, 1):
        for j in (-1, 0, 1):
            for k in (-1, 0, 1):
                wrapped[n, j, k] = raw[:, n % count, j % REPEAT, k % REPEAT]
    cells = {at: np.round((block + wrapped[-at[0], -at[1], -at[2]].T) / 2, _DIGITS) for at, block in wrapped.items()}
    # Moving the crystal as a whole costs nothing: the force constant of an atom with itself follows from the others.
    total = np.sum(list(cells.values()), axis=0).reshape(4, 3, 4, 3).sum(axis=2)
    for atom in range(4):
        block = slice(3 * atom, 3 * atom + 3)
        cells[0, 0, 0][block, block] -= (total[atom] + total[atom].T) / 2
    return Lead(element, period, edge, mass, _folded(cells, 0), _folded(cells, 1), cells)


def _folded(cells: Mapping[tuple[int, int, int], np.ndarray], layer: int) -> np.ndarray:
    """Block of the whole lateral cell from those of its 1x1 cells."""
    places = lateral_cells()
    size = 12 * len(places)
    block = np.zeros((size, size))
    for row, first in enumerate(places):
        for column, second in enumerate(places):
            # -1, 0 or 1: the nearest copy, since the model reaches less than half the lateral cell.
            j, k = (int(x) for x in (second - first + 1) % REPEAT - 1)
            block[12 * row : 12 * row + 12, 12 * column : 12 * column + 12] = cells[layer, j, k]
    return block


def build_leads(fraction: float, masses: Mapping[str, float]) -> tuple[Lead, Lead]:
    """Return both leads at one lateral lattice constant, `fraction` of the way from that of Si to that of Ge."""
    constants = {element: relaxed_cubic_constant(element) for element in ("Si", "Ge")}
    edge = ((1 - fraction) * constants["Si"] + fraction * constants["Ge"]) / np.sqrt(2)
    left, right = (_lead(element, constants[element], edge, masses[element]) for element in ("Si", "Ge"))
    return left, right


def junction(
    periods: tuple[float, float], edge: float, side: int, swapped: Sequence[int] = ()
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return the cell, A, positions, A, and species of a periodic stack of `side` layers of Si and as many of Ge.

    Parameters
    ----------
    periods
        Of a principal layer of Si and of Ge, A.
    edge
        Of the 1x1 surface cell, A.
    side, swapped
        As in `build_device`.
    """
    width = 4 * REPEAT**2
    first = layers(periods[0], edge, count=side)
    second = layers(periods[1], edge, count=side) + np.array([side * periods[0], 0, 0])
    species = ["Si"] * len(first) + ["Ge"] * len(second)
    for atom in swapped:
        at = (side - 1) * width + atom
        species[at] = "Ge" if species[at] == "Si" else "Si"
    return np.diag([side * sum(periods), REPEAT * edge, REPEAT * edge]), np.concatenate([first, second]), species


def build_device(
    leads: tuple[Lead, Lead],
    *,
    swapped: Sequence[int] = (),
    side: int = 5,
    slices: int = 3,
) -> Device:
    """Relax a Si|Ge(100) junction with LAMMPS and return its harmonic blocks.

    Parameters
    ----------
    leads
        Result of `build_leads`: crystals that share the lateral lattice constant.
    swapped
        Atoms that change their element, counted within the two principal layers beside the interface (0-35 belong
        to the last Si layer, 36-71 to the first Ge layer).
    side
        Principal layers of each element in the periodic cell that is relaxed.
    slices
        Central slices on each side of the interface.

    Raises
    ------
    ValueError
        If there are more slices than layers, or if the force constants reach beyond the next principal layer.
    """
    if not slices < side:
        raise ValueError(f"slices: expected fewer than the {side} layers on each side, got {slices}")
    left, right = leads
    edge, masses = left.edge, {"Si": left.mass, "Ge": right.mass}
    width = 4 * REPEAT**2
    box, start, species = junction((left.period, right.period), edge, side, swapped)
    box, relaxed = relaxed_length(box, start, species, axis=0, strain=0.03)

    begin, end = (side - slices) * width, (side + slices) * width
    count = 2 * side * width
    if swapped:
        moved = force_constants(box, relaxed, species, displacement=1e-3, atoms=range(begin, end))
        rows = moved.reshape(end - begin, 3, count, 3)
    else:
        rows = _by_translation(box, relaxed, species, begin, end)
    inner = rows[:, :, begin:end]
    rows = rows.copy()
    rows[:, :, begin:end] = (inner + inner.transpose(2, 3, 0, 1)) / 2
    rows = np.round(rows, _DIGITS)
    total = rows.sum(axis=2)
    for atom in range(end - begin):
        rows[atom, :, begin + atom] -= (total[atom] + total[atom].T) / 2
    blocks = rows.reshape(2 * slices, 3 * width, 2 * side, 3 * width)
    reach = np.abs(blocks).max(axis=(1, 3))
    central = range(side - slices, side + slices)
    for row, layer in enumerate(central):
        beyond = [n for n in range(2 * side) if (n - layer + side) % (2 * side) - side not in (-1, 0, 1)]
        if reach[row, beyond].max() > 0:
            raise ValueError("force constants: they reach beyond the next principal layer")
    onsite = np.array([blocks[row, :, layer] for row, layer in enumerate(central)])
    coupling = [blocks[0, :, central[0] - 1].T] + [blocks[row, :, layer + 1] for row, layer in enumerate(central)]
    weights = np.array([masses[kind] for kind in species[begin:end]]).reshape(2 * slices, width)
    return Device(left, right, weights, onsite, np.array(coupling), float(box[0, 0]))


def _by_translation(box: np.ndarray, atoms: np.ndarray, species: Sequence[str], begin: int, end: int) -> np.ndarray:
    """Force constants of a junction that repeats laterally: one column is moved, the others are its copies."""
    width = 4 * REPEAT**2
    column = [layer + b for layer in range(begin, end, width) for b in range(4)]
    moved = force_constants(box, atoms, species, displacement=1e-3, atoms=column)
    moved = moved.reshape((end - begin) // width, 4, 3, len(species) // width, REPEAT, REPEAT, 4, 3)
    copies = [np.roll(moved, (j, k), axis=(4, 5)) for j, k in lateral_cells()]
    return np.stack(copies, axis=1).reshape(end - begin, 3, len(species), 3)


_CONVENTIONS = {
    "force_constant_unit": "eV/angstrom^2",
    "mass_unit": "u (atomic mass units)",
    "length_unit": "angstrom",
    "ordering": (
        "atom-major: row 3*i + c is component c (0 x, 1 y, 2 z) of atom i. Atom i = 4*cell + basis, where cell runs "
        "over the rows of lateral_cells"
    ),
    "coupling_direction": (
        "row block precedes column block along +x, from the Si lead to the Ge lead. center/coupling[0] joins the last "
        "layer of the Si lead (rows) to slice 0 (columns); center/coupling[-1] joins the last slice (rows) to the "
        "first layer of the Ge lead (columns)"
    ),
    "transverse_periodicity": (
        f"the blocks hold the whole lateral cell ({REPEAT} x {REPEAT} primitive surface cells) at zero transverse "
        "wave vector of that cell"
    ),
}


def write_device(device: Device, path: Path) -> None:
    """Write a device to HDF5, compressed, with the conventions as attributes."""
    import h5py

    with h5py.File(path, "w", track_order=True) as file:
        for name, text in _CONVENTIONS.items():
            file.attrs[name] = text
        file.attrs["surface_cell_edge"] = device.left.edge
        file["lateral_cells"] = lateral_cells()

        def store(name: str, values: np.ndarray) -> None:
            file.create_dataset(name, data=values, compression="gzip", compression_opts=9, shuffle=True)

        for side, lead in (("left", device.left), ("right", device.right)):
            group = file.create_group(f"lead_{side}")
            group.attrs["element"] = lead.element
            group.attrs["layer_period"] = lead.period
            group["masses"] = np.full(4 * REPEAT**2, lead.mass)
            store(f"lead_{side}/onsite", lead.onsite)
            store(f"lead_{side}/coupling", lead.coupling)
        file["center/masses"] = device.masses
        store("center/onsite", device.onsite)
        store("center/coupling", device.coupling)


def read_device(path: Path) -> Device:
    """Read what `write_device` wrote; the leads come without their 1x1 blocks."""
    import h5py

    def lead(group: h5py.Group, edge: float) -> Lead:
        return Lead(
            str(group.attrs["element"]),
            float(group.attrs["layer_period"]),
            edge,
            float(group["masses"][0]),
            group["onsite"][:],
            group["coupling"][:],
        )

    with h5py.File(path, "r") as file:
        center = file["center"]
        edge = float(file.attrs["surface_cell_edge"])
        return Device(
            lead(file["lead_left"], edge),
            lead(file["lead_right"], edge),
            center["masses"][:],
            center["onsite"][:],
            center["coupling"][:],
        )
