"""Make the inputs and the reference: ``python reproduce.py OUT --seed N [--stored]``.

Runs `pw.x` (about four minutes on an idle core) for one displaced supercell of Si and one of Ge, then evaluates the
forces with our own lattice dynamics (`common.phonons`), without phonopy. With ``--stored`` the text outputs in the task's
``inputs/`` are evaluated again instead of running the program.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import espresso
from common.cells import PRIMITIVE
from common.phonons import DiamondPhonons, mesh_frequencies, rows_from_one_displacement

SETTINGS = {
    "Si": espresso.Settings("Si.pbe-rrkj.UPF", 28.0855, 30.0, 120.0, 5.4753),
    "Ge": espresso.Settings("Ge.pbe-kjpaw.UPF", 72.63, 30.0, 180.0, 5.7736),
}
"""PBE. The lattice constants are those of least energy at these settings (seven volumes, third-order polynomial)."""

REPEATS = 2
"""Primitive cells along each primitive vector: 16 atoms. X and L are commensurate with this supercell."""

DISPLACEMENT = 0.01
"""A, of the first atom along +x."""

XI = 0.5
MESH = 24


def supercell(constant: float) -> tuple[np.ndarray, np.ndarray]:
    """Return cell and ideal positions, A: the first half of the atoms are of the first sublattice, atom 0 at the origin."""
    cell = REPEATS * PRIMITIVE * constant
    shifts = np.array(list(np.ndindex(REPEATS, REPEATS, REPEATS))) @ PRIMITIVE * constant
    return cell, np.concatenate([shifts, shifts + constant / 4])


def sampling(cell: np.ndarray, constant: float) -> list[str]:
    """Return the k points, with which the supercell is sampled as the primitive cell by ten special points.

    The points with odd multiples of 1/8 as coordinates (in 2 pi / a) form this mesh; folded into the zone of the
    supercell, two of them are inequivalent under the symmetry of the lattice, and the program adds what the displaced
    atom makes inequivalent.
    """
    special = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 3.0]]) / 8 / constant @ cell.T
    return [
        "K_POINTS crystal",
        "2",
        *(" ".join(f"{x:.8f}" for x in k) + f" {w}" for k, w in zip(special, (1, 3), strict=True)),
    ]


def crystal(element: str, data: dict) -> dict[str, float]:
    """Return the reference of one element from what its input file says."""
    a = data["lattice_constant_bohr"] * espresso.BOHR
    cell, ideal = (np.array(data[name]) * espresso.BOHR for name in ("cell_bohr", "ideal_positions_bohr"))
    forces = np.array(data["forces_Ry_per_bohr"]) * espresso.RYDBERG / espresso.BOHR
    shift = (np.array(data["positions_bohr"]) * espresso.BOHR - ideal)[0]
    model = DiamondPhonons(rows_from_one_displacement(forces, shift, ideal, cell), ideal, cell, data["mass_u"])
    unit = 2 * np.pi / a
    x, zone_l = model.frequencies([unit, 0, 0]), model.frequencies(np.full(3, unit / 2))
    q = np.array([XI * unit, 0, 0])
    speeds, share = model.speeds(q, q)[:3], model.longitudinal_share(q)[:3]
    return {
        "gamma_optical_THz": float(model.frequencies([0, 0, 0])[5]),
        "X_TA_THz": float(x[0]),
        "X_LA_THz": float(x[2]),
        "X_TO_THz": float(x[5]),
        "L_TA_THz": float(zone_l[0]),
        "L_TO_THz": float(zone_l[5]),
        "v_LA_100_m_per_s": float(speeds[share > 0.9][0]),
        "mean_frequency_THz": float(mesh_frequencies(model, a, MESH).mean()),
    }


def main() -> None:
    """Write ``inputs/`` and ``reference.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--stored", action="store_true", help="evaluate the stored outputs, without running pw.x")
    options = parser.parse_args()
    inputs = options.out / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    stored = Path(__file__).resolve().parent / "inputs"
    reference = {}
    for element, settings in SETTINGS.items():
        cell, ideal = (x / espresso.BOHR for x in supercell(settings.constant))
        positions = ideal.copy()
        positions[0, 0] += DISPLACEMENT / espresso.BOHR
        points = sampling(cell * espresso.BOHR, settings.constant)
        deck = espresso.deck(settings, element, cell, positions, points, "scratch")
        if options.stored:
            log = espresso.without_times((stored / f"{element}_pw.log").read_text())
        else:
            with tempfile.TemporaryDirectory() as scratch:
                log = espresso.without_times(espresso.run(deck, Path(scratch)))
        (inputs / f"{element}_pw.in").write_text(deck)
        (inputs / f"{element}_pw.log").write_text(log)
        data = {
            "element": element,
            "mass_u": settings.mass,
            "lattice_constant_bohr": round(settings.constant / espresso.BOHR, 10),
            "cell_bohr": np.round(cell, 10).tolist(),
            "ideal_positions_bohr": np.round(ideal, 10).tolist(),
            "positions_bohr": np.round(positions, 10).tolist(),
            "forces_Ry_per_bohr": espresso.read_forces(log, len(positions)).tolist(),
        }
        lines = [f' "{name}": {json.dumps(value)}' for name, value in data.items()]
        (inputs / f"{element}_forces.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
        reference[element] = crystal(element, data)
    (options.out / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
