"""Make the inputs and the reference of a seed: ``python reproduce.py OUT --seed N``.

The elastic energy is minimised numerically with all strains free (`common.cells.balanced_layers`), and the structure
is cut out of the cubic diamond lattice with ASE, so that neither the closed formulas nor the stacking of
``solution.py`` are used.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import spglib
from ase import Atoms
from ase.build import bulk, make_supercell

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.cells import balanced_layers

EV_PER_A2_IN_J_PER_M2 = 16.02176634
PLANES = 16
"""Planes of one period, of all seeds: the rows of the answer's table stay the same."""


def conditions(seed: int) -> dict[str, dict[str, float]]:
    """Return the contents of ``materials.json``.

    Lattice constants at room temperature, elastic constants of Hall, Phys. Rev. 161, 756 (1967) for Si and, within 0.2 %,
    of McSkimin and Andreatch, J. Appl. Phys. 34, 651 (1963) for Ge; another seed moves them by up to 2 %, as temperature,
    isotopes or another potential would. Numbers of planes near 7 to 9 are left out: there, stiffness and thickness
    balance, and the plain mean of the two constants is right by accident.
    """
    materials = {
        "Si": {"lattice_constant_A": 5.4310, "C11_GPa": 165.6, "C12_GPa": 63.9},
        "Ge": {"lattice_constant_A": 5.6579, "C11_GPa": 128.4, "C12_GPa": 48.2},
        "cell": {"planes_Si": 11, "planes_Ge": 5, "lateral": 2},
    }
    if seed:
        stream = np.random.default_rng([202603016, seed])
        for name in ("Si", "Ge"):
            row = materials[name]
            row["lattice_constant_A"] = round(row["lattice_constant_A"] * (1 + stream.uniform(-0.002, 0.002)), 4)
            row["C11_GPa"] = round(row["C11_GPa"] * (1 + stream.uniform(-0.02, 0.02)), 1)
            row["C12_GPa"] = round(row["C12_GPa"] * (1 + stream.uniform(-0.02, 0.02)), 1)
        silicon = int(stream.choice([3, 4, 5, 10, 11, 12, 13]))
        materials["cell"] = {"planes_Si": silicon, "planes_Ge": PLANES - silicon, "lateral": int(stream.integers(1, 4))}
    return materials


def main() -> None:
    """Write ``inputs/`` and ``reference.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    inputs = options.out / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    data = conditions(options.seed)
    (inputs / "materials.json").write_text(json.dumps(data, indent=1) + "\n")

    counts = (data["cell"]["planes_Si"], data["cell"]["planes_Ge"])
    lateral = data["cell"]["lateral"]
    constants = [data[e]["lattice_constant_A"] for e in ("Si", "Ge")]
    layers = balanced_layers(constants, [(data[e]["C11_GPa"], data[e]["C12_GPa"]) for e in ("Si", "Ge")], counts)
    across = sum(layers.spacings) / 2

    # Cut from diamond: rows are [100], [011], [0-11] in units of the cubic cell's vectors.
    cubic = bulk("Si", "diamond", a=1.0, cubic=True)
    block = make_supercell(cubic, [[PLANES // 4, 0, 0], [0, 1, 1], [0, -1, 1]])
    # The 1x1 surface cell is half as long along both diagonals as the one that the cubic vectors give.
    small = block.cell.array / np.array([1, 2, 2])[:, None]
    inside = np.round(block.positions @ np.linalg.inv(small), 6) % 1.0
    fractions = np.unique(np.round(inside, 6) % 1.0, axis=0)
    index = np.round(fractions[:, 0] * PLANES).astype(int)
    steps = [layers.spacings[0]] * (counts[0] - 1) + [across] + [layers.spacings[1]] * (counts[1] - 1)
    heights = np.concatenate([[0.0], np.cumsum(steps)])
    edge = layers.in_plane / np.sqrt(2)
    period = float(heights[-1] + across)
    cell = np.diag([period, edge, edge])
    positions = np.column_stack([heights[index], fractions[:, 1:] * edge])
    atoms = Atoms(["Si" if n < counts[0] else "Ge" for n in index], positions=positions, cell=cell, pbc=True)
    atoms = atoms.repeat((1, lateral, lateral))
    atoms = atoms[np.argsort([s == "Ge" for s in atoms.symbols], kind="stable")]
    numbers = atoms.numbers
    group = spglib.get_symmetry_dataset((atoms.cell.array, atoms.get_scaled_positions(), numbers), symprec=1e-3).number

    reference = {
        "a_parallel_A": layers.in_plane,
        "strain_Si": layers.strains[0],
        "strain_Ge": layers.strains[1],
        "spacing_Si_A": layers.spacings[0],
        "spacing_Ge_A": layers.spacings[1],
        "spacing_interface_A": across,
        "period_A": period,
        "n_Si": int(np.sum(numbers == 14)),
        "n_Ge": int(np.sum(numbers == 32)),
        "elastic_energy_J_per_m2": layers.energy * EV_PER_A2_IN_J_PER_M2,
        "space_group": int(group),
        "structure": {
            "lattice": np.round(atoms.cell.array, 10).tolist(),
            "species": list(atoms.symbols),
            "fractional": np.round(atoms.get_scaled_positions(), 12).tolist(),
        },
        "planes": [
            {
                "plane": n + 1,
                "element": "Si" if n < counts[0] else "Ge",
                "x_A": float(heights[n]),
                "atoms": int(np.sum(np.abs(atoms.positions[:, 0] - heights[n]) < 1e-6)),
            }
            for n in range(PLANES)
        ],
    }
    (options.out / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
