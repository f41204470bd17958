"""Make the inputs and the reference of a seed: ``python reproduce.py OUT --seed N``.

Forces come from LAMMPS' library, as central differences of all displacements of two atoms; the lattice dynamics is our
own (`common.phonons`): neither phonopy, nor its symmetry, nor its velocities are used.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.cells import diamond_supercell
from common.lammps_forces import cubic_constant_at, force_constants
from common.phonons import DiamondPhonons, mesh_frequencies

MESH = 24
"""Points per reciprocal vector; another mesh than the solution's, to see that the moments are converged."""


def conditions(seed: int) -> dict[str, object]:
    """Return the contents of ``conditions.json``: enriched Si-28 and Ge-74 without pressure, or other isotopes under some."""
    result: dict[str, object] = {
        "masses_u": {"Si": 27.9769, "Ge": 73.9212},
        "pressure_GPa": 0.0,
        "displacement_A": 0.01,
        "xi": 0.3,
    }
    if seed:
        stream = np.random.default_rng([202603017, seed])
        result["masses_u"] = {
            "Si": float(stream.choice([27.9769, 28.9765, 29.9738])),
            "Ge": float(stream.choice([69.9242, 71.9221, 73.9212, 75.9214])),
        }
        result["pressure_GPa"] = round(float(stream.uniform(0.5, 3.0)), 2)
        result["displacement_A"] = round(float(stream.uniform(0.005, 0.015)), 4)
        result["xi"] = round(float(stream.uniform(0.2, 0.4)), 2)
    return result


def crystal(element: str, given: dict) -> dict[str, float]:
    """Return the reference of one element."""
    a = cubic_constant_at(element, given["pressure_GPa"])
    cell, positions = diamond_supercell(a, 3)
    count = len(positions)
    constants = force_constants(
        cell, positions, [element] * count, atoms=[0, count // 2], displacement=given["displacement_A"]
    )
    model = DiamondPhonons(constants, positions, cell, given["masses_u"][element])
    unit, xi = 2 * np.pi / a, given["xi"]
    x = model.frequencies([unit, 0, 0])
    zone_l = model.frequencies(np.full(3, unit / 2))
    q = np.array([xi * unit, 0, 0])
    speeds, share = model.speeds(q, q), model.longitudinal_share(q)
    q_110 = np.array([xi, xi, 0]) * unit / 2
    spectrum = mesh_frequencies(model, a, MESH)
    return {
        "lattice_constant_A": a,
        "gamma_optical_THz": float(model.frequencies([0, 0, 0])[5]),
        "X_TA_THz": float(x[0]),
        "X_LA_THz": float(x[2]),
        "X_TO_THz": float(x[5]),
        "L_TA_THz": float(zone_l[0]),
        "L_TO_THz": float(zone_l[5]),
        # The acoustic branches are told by their polarisation, not by their order.
        "v_LA_100_m_per_s": float(speeds[:3][share[:3] > 0.9][0]),
        "v_TA_100_m_per_s": float(speeds[:3][share[:3] < 0.1][0]),
        "v_slow_TA_110_m_per_s": float(model.speeds(q_110, q_110)[0]),
        "mean_frequency_THz": float(spectrum.mean()),
        "rms_frequency_THz": float(np.sqrt((spectrum**2).mean())),
    }


def main() -> None:
    """Write ``inputs/`` and ``reference.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    inputs = options.out / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    given = conditions(options.seed)
    (inputs / "conditions.json").write_text(json.dumps(given, indent=1) + "\n")
    reference = {element: crystal(element, given) for element in ("Si", "Ge")}
    (options.out / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
