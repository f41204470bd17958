"""Meshes by LAMMPS and phonopy for the files; the reference from every point of the zone and our own velocities."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.bulk import full_mesh, phonopy_mesh, write_mesh
from common.lammps_forces import MASSES
from common.mismatch import conductance, emission, transmission
from common.reproduction import run

DIVISIONS = 31
WIDTH = 0.15
FREQUENCIES = np.array([3.0, 7.0])
TEMPERATURES = (100.0, 300.0)
GRID = np.arange(1, 341) * 0.05


def make(inputs: Path, seed: int) -> dict:
    """Seed 0: natural masses; other seeds: enriched isotopes."""
    stream = np.random.default_rng([21, seed])
    masses = dict(MASSES)
    if seed:
        masses = {
            "Si": round(float(stream.uniform(28.0, 30.0)), 3),
            "Ge": round(float(stream.uniform(70.0, 76.0)), 3),
        }
    for element, mass in masses.items():
        write_mesh(phonopy_mesh(element, mass, DIVISIONS), inputs / f"phonon_mesh_{element}.hdf5")
    silicon, germanium = (full_mesh(element, masses[element], DIVISIONS) for element in ("Si", "Ge"))
    spot = transmission(emission(silicon, FREQUENCIES, WIDTH), emission(germanium, FREQUENCIES, WIDTH))
    emitted, received = emission(silicon, GRID, WIDTH), emission(germanium, GRID, WIDTH)
    onward, backward = transmission(emitted, received), transmission(received, emitted)
    rows = []
    for temperature in TEMPERATURES:
        value = conductance(GRID, emitted, onward, temperature)
        other = conductance(GRID, received, backward, temperature)
        if abs(value / other - 1) > 1e-9:
            raise ArithmeticError(f"detailed balance at {temperature} K: {value} from Si, {other} from Ge")
        rows.append({"temperature_K": temperature, "G": value})
    return {
        "transmission": [
            {"frequency_THz": float(frequency), "T_Si_to_Ge": float(value)}
            for frequency, value in zip(FREQUENCIES, spot, strict=True)
        ],
        "conductance": rows,
    }


if __name__ == "__main__":
    run(make, __doc__)
