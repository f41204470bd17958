"""Make an intermixed junction with LAMMPS, and the reference by matching of Bloch waves, channel by channel."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.device import build_device, build_leads, write_device
from common.edges import is_safe, lead_dispersion
from common.lammps_forces import MASSES
from common.mixing import swapped_atoms
from common.reproduction import run
from common.scattering import scatter
from common.specularity import group_specularity

FREQUENCIES = (4.50, 5.05)


def make(inputs: Path, seed: int) -> dict:
    """Exchange six pairs of atoms beside the interface, other pairs for every seed."""
    leads = build_leads(0.6, MASSES)
    dispersions = [lead_dispersion(lead) for lead in leads]
    if not all(is_safe(dispersions, frequency) for frequency in FREQUENCIES):
        raise ValueError("a frequency lies at a band edge")
    device = build_device(leads, swapped=swapped_atoms(np.random.default_rng([22, seed]), pairs=6))
    write_device(device, inputs / "mixed_device.hdf5")
    rows = []
    for frequency in FREQUENCIES:
        shares = group_specularity(scatter(device, frequency))
        rows.append({"frequency_THz": frequency, "p_TA": shares["TA"], "p_LA": shares["LA"]})
    return {"results": rows}


if __name__ == "__main__":
    run(make, __doc__)
