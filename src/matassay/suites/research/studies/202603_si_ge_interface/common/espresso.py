"""Forces of displaced supercells from Quantum ESPRESSO: deck, run, and reading of its text output.

Everything stays in the program's own atomic units: lengths in bohr, energies in Ry, forces in Ry/bohr.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["BOHR", "RYDBERG", "Settings", "deck", "read_forces", "run", "without_times"]

BOHR = 0.529177210903
"""1 bohr in A (CODATA 2018)."""

RYDBERG = 13.605693122994
"""1 Ry in eV (CODATA 2018)."""


@dataclass(frozen=True)
class Settings:
    """Electronic settings of one element."""

    pseudopotential: str
    """File in Quantum ESPRESSO's own folder of pseudopotentials."""
    mass: float
    """u; it does not change the forces."""
    cutoff: float
    """Ry, of wave functions."""
    density_cutoff: float
    """Ry, of the density."""
    constant: float
    """Cubic lattice constant, A, of least energy at these settings."""


def deck(
    settings: Settings, element: str, cell: np.ndarray, positions: np.ndarray, points: Sequence[str], folder: str
) -> str:
    """Return the input of a static calculation with forces.

    Parameters
    ----------
    cell, positions
        bohr.
    points
        Lines of the card `K_POINTS`, its heading included.
    folder
        Where the program keeps its scratch files.
    """
    lines = [
        "&control",
        "  calculation = 'scf', tprnfor = .true., disk_io = 'low'",
        f"  prefix = '{element.lower()}', outdir = '{folder}', pseudo_dir = '/usr/share/espresso/pseudo'",
        "/",
        "&system",
        f"  ibrav = 0, nat = {len(positions)}, ntyp = 1, occupations = 'fixed'",
        f"  ecutwfc = {settings.cutoff:g}, ecutrho = {settings.density_cutoff:g}",
        "/",
        "&electrons",
        "  conv_thr = 1d-11",
        "/",
        "ATOMIC_SPECIES",
        f"  {element} {settings.mass} {settings.pseudopotential}",
        "CELL_PARAMETERS bohr",
        *(" ".join(f"{x:16.10f}" for x in row) for row in cell),
        "ATOMIC_POSITIONS bohr",
        *(f"  {element} " + " ".join(f"{x:16.10f}" for x in row) for row in positions),
        *points,
    ]
    return "\n".join(lines) + "\n"


def run(text: str, folder: Path, program: str = "pw.x") -> str:
    """Run a deck in a folder, on one core, and return what the program printed.

    Raises
    ------
    RuntimeError
        If the program did not reach its end.
    """
    file = folder / "pw.in"
    file.write_text(text)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [program, "-in", file.name], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if "JOB DONE" not in done.stdout:
        raise RuntimeError(f"{program} stopped early: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def without_times(log: str) -> str:
    """Return a text output without its date and its timings, which would differ in every run."""
    report = log.index("     init_run") if "     init_run" in log else len(log)
    kept = [line for line in log[:report].splitlines() if not re.search(r"total cpu time|dynamical RAM", line)]
    return re.sub(r" starts on .*", "", "\n".join(kept).rstrip()) + "\n"


_FORCE = re.compile(r"atom\s+(\d+) type\s+\d+\s+force =\s+(\S+)\s+(\S+)\s+(\S+)")


def read_forces(log: str, count: int) -> np.ndarray:
    """Return the total forces, Ry/bohr, shape (count, 3), of a text output.

    Raises
    ------
    ValueError
        If the output does not hold exactly `count` of them in order, or the calculation is not converged.
    """
    if "convergence has been achieved" not in log:
        raise ValueError("the output does not say that convergence has been achieved")
    block = log.split("Forces acting on atoms")[-1].split("The non-local contrib")[0]
    rows = _FORCE.findall(block)
    if [int(row[0]) for row in rows] != list(range(1, count + 1)):
        raise ValueError(f"expected the forces of atoms 1 to {count}, found {len(rows)}")
    return np.array([[float(x) for x in row[1:]] for row in rows])
