"""Meshes by LAMMPS and phonopy, lifetimes from a model, and the tables by histograms."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.bulk import phonopy_mesh, read_mesh, write_mesh
from common.lammps_forces import MASSES
from common.reproduction import run
from common.tables import EDGES, MODEL, Relaxation, tabulate

DIVISIONS = 31


def make(inputs: Path, seed: int) -> dict:
    """Seed 0: natural silicon and germanium at 300 K; other seeds: other isotopes, impurities and temperatures."""
    stream = np.random.default_rng([23, seed])
    masses, model, temperature = dict(MASSES), dict(MODEL), 300.0
    if seed:
        masses = {
            "Si": round(float(stream.uniform(28.0, 30.0)), 3),
            "Ge": round(float(stream.uniform(70.0, 76.0)), 3),
        }
        temperature = float(stream.integers(200, 500))
        model = {
            element: Relaxation(
                float(f"{value.isotope * stream.uniform(0.5, 2):.2e}"),
                float(f"{value.umklapp * stream.uniform(0.8, 1.2):.2e}"),
                value.onset,
            )
            for element, value in MODEL.items()
        }
    public: dict = {"temperature_K": temperature, "bin_edges_THz": EDGES.tolist()}
    answer = {}
    for element, mass in masses.items():
        value = model[element]
        public[element] = {
            "isotope_s3": value.isotope,
            "umklapp_s_per_K": value.umklapp,
            "onset_K": value.onset,
        }
        path = inputs / f"phonon_mesh_{element}.hdf5"
        write_mesh(phonopy_mesh(element, mass, DIVISIONS), path)
        tables = tabulate(read_mesh(path), value, temperature)
        answer[element] = {
            "heat_J_per_m3_K": tables.heat.tolist(),
            "speed_m_per_s": tables.speed.tolist(),
            "lifetime_ps": (tables.lifetime * 1e12).tolist(),
            "cumulative_energy": tables.energy.tolist(),
            "cumulative_flux": tables.flux.tolist(),
            "cumulative_scattering": tables.scattering.tolist(),
        }
    (inputs / "relaxation.json").write_text(json.dumps(public, indent=1) + "\n", "utf-8")
    return answer


if __name__ == "__main__":
    run(make, __doc__)
