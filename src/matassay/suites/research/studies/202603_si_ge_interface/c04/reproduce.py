"""The whole chain with other means: root of the stress, central differences, matching of Bloch waves."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.device import REPEAT, build_device, build_leads, junction, layers
from common.edges import is_safe, lead_dispersion
from common.lammps_data import write_data
from common.lammps_forces import MASSES, relaxed_cubic_constant
from common.mixing import swapped_atoms
from common.reproduction import run
from common.scattering import scatter
from common.specularity import group_specularity

FREQUENCIES = (4.50, 5.05)
SIDE = 5


def make(inputs: Path, seed: int) -> dict:
    """Exchange six pairs of atoms beside the interface, other pairs for every seed."""
    swapped = swapped_atoms(np.random.default_rng([4, seed]), pairs=6)
    leads = build_leads(0.6, MASSES)
    edge = leads[0].edge
    dispersions = [lead_dispersion(lead) for lead in leads]
    if not all(is_safe(dispersions, frequency) for frequency in FREQUENCIES):
        raise ValueError("a frequency lies at a band edge")

    # What the agent gets is not relaxed: along x both crystals still have the length of their own cubic cell.
    constants = {element: relaxed_cubic_constant(element) for element in ("Si", "Ge")}
    box, positions, species = junction((constants["Si"], constants["Ge"]), edge, SIDE, swapped)
    write_data(inputs / "junction.data", "Si/Ge junction, not relaxed", np.diag(box), positions, species, MASSES)
    for element, constant in constants.items():
        atoms = layers(constant, edge, count=3)
        lengths = (3 * constant, REPEAT * edge, REPEAT * edge)
        path = inputs / f"lead_{element}.data"
        write_data(path, f"{element} lead, not relaxed", lengths, atoms, [element] * len(atoms), MASSES)

    device = build_device(leads, swapped=swapped, side=SIDE)
    amplitudes, shares = [], []
    for frequency in FREQUENCIES:
        result = scatter(device, frequency)
        amplitudes.append(
            {
                "frequency_THz": frequency,
                "n_Si": len(result.transmission),
                "n_Ge": result.transmission.shape[1],
                "Xi": float((np.abs(result.transmission) ** 2).sum()),
            }
        )
        share = group_specularity(result)
        shares.append({"frequency_THz": frequency, **{f"p_{name}": value for name, value in share.items()}})
    return {
        "stage_a": {"period_Si": leads[0].period, "period_Ge": leads[1].period, "length": device.length},
        "stage_b": amplitudes,
        "results": shares,
    }


if __name__ == "__main__":
    run(make, __doc__)
