"""Run our phonon Monte Carlo on a Si/Ge slab, write what it prints, and evaluate it by leave-one-out averages."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.bulk import phonopy_mesh
from common.lammps_forces import MASSES
from common.monte_carlo import simulate
from common.reproduction import run
from common.tables import MODEL, tabulate

RUNS = 12
BUNDLES = 100_000
CELLS = 20
MEAN = 300.0
DIFFERENCE = 10.0


def make(inputs: Path, seed: int) -> dict:
    """Seed 0: 100 nm of each crystal; other seeds: other thicknesses."""
    tables = [tabulate(phonopy_mesh(element, MASSES[element], 31), MODEL[element], MEAN) for element in ("Si", "Ge")]
    thickness = np.array([100.0, 100.0])
    if seed:
        thickness = np.random.default_rng([24, seed]).integers(8, 15, size=2) * 10.0
    setup = {
        "layers": [
            {"element": element, "thickness_nm": float(length), "cells": CELLS}
            for element, length in zip(("Si", "Ge"), thickness, strict=True)
        ],
        "left_wall_K": MEAN + DIFFERENCE / 2,
        "right_wall_K": MEAN - DIFFERENCE / 2,
        "bundles_per_run": BUNDLES,
        "runs": RUNS,
    }
    (inputs / "setup.json").write_text(json.dumps(setup, indent=1) + "\n", "utf-8")
    profiles = []
    for number in range(1, RUNS + 1):
        profile = simulate(
            (tables[0], tables[1]),
            (thickness[0] * 1e-9, thickness[1] * 1e-9),
            difference=DIFFERENCE,
            bundles=BUNDLES,
            cells=CELLS,
            stream=np.random.default_rng([24, seed, number]),
        )
        rows = np.array([profile.centres * 1e9, MEAN + profile.temperature, profile.flux]).T
        lines = [f"# run {number} of {RUNS}", "x_nm,T_K,flux_W_per_m2"]
        lines += [f"{x:.3f},{temperature:.5f},{flux:.6e}" for x, temperature, flux in rows]
        (inputs / f"run_{number:02}.csv").write_text("\n".join(lines) + "\n", "utf-8")
        profiles.append(np.array([[float(entry) for entry in line.split(",")] for line in lines[2:]]))
    return evaluate(np.array(profiles), thickness)


def evaluate(profiles: np.ndarray, thickness: np.ndarray) -> dict:
    """Values from the mean over the runs, errors by the jackknife."""
    count = len(profiles)
    total = profiles.sum(axis=0)
    values = _values(total / count, thickness)
    partial = np.array([_values((total - one) / (count - 1), thickness) for one in profiles])
    errors = np.sqrt((count - 1) / count * ((partial - partial.mean(axis=0)) ** 2).sum(axis=0))
    names = ("k_Si", "k_Ge", "R_interface", "k_slab")
    return {
        **{name: float(value) for name, value in zip(names, values, strict=True)},
        **{f"{name}_error": float(value) for name, value in zip(names, errors, strict=True)},
    }


def _values(profile: np.ndarray, thickness: np.ndarray) -> np.ndarray:
    """Both conductivities, W/(m K), interface resistance, m^2 K/GW, and conductivity of the slab, W/(m K)."""
    x, temperature, flux = profile.T
    start = np.array([0.0, thickness[0]])
    slopes, at_interface = [], []
    for begin, length in zip(start, thickness, strict=True):
        inner = (x > begin + 0.2 * length) & (x < begin + 0.8 * length)
        shift = x[inner] - x[inner].mean()
        slope = (shift * temperature[inner]).sum() / (shift**2).sum()
        slopes.append(slope)
        at_interface.append(temperature[inner].mean() + slope * (thickness[0] - x[inner].mean()))
    q = flux.mean()
    jump = at_interface[0] - at_interface[1]
    return np.array(
        [-q * 1e-9 / slopes[0], -q * 1e-9 / slopes[1], jump / q * 1e9, q * thickness.sum() * 1e-9 / DIFFERENCE]
    )


if __name__ == "__main__":
    run(make, __doc__)
