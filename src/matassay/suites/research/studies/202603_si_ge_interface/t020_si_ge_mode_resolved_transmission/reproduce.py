"""Make the device and the reference: LAMMPS force constants, then matching of Bloch waves by transverse wave vector."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.device import Device, build_device, build_leads, write_device
from common.edges import count_channels, is_safe, lead_dispersion
from common.lammps_forces import MASSES
from common.reproduction import run
from common.scattering import scatter

FREQUENCIES = (1.00, 2.00, 4.00, 5.05, 6.00, 8.00, 10.00, 11.50, 12.00)


def draw(seed: int) -> Device:
    """Seed 0: natural masses, common lateral constant nearer to Ge. Other seeds: other isotopes and strain, off band edges."""
    stream = np.random.default_rng([20, seed])
    fraction, masses = 0.6, dict(MASSES)
    if seed:
        fraction, masses = _candidate(stream)
    while True:
        leads = build_leads(fraction, masses)
        dispersions = [lead_dispersion(lead) for lead in leads]
        if all(is_safe(dispersions, frequency) for frequency in FREQUENCIES):
            return build_device(leads)
        if seed == 0:
            raise ValueError("seed 0: a frequency lies at a band edge")
        fraction, masses = _candidate(stream)


def _candidate(stream: np.random.Generator) -> tuple[float, dict[str, float]]:
    """Where the lateral constant lies between Si and Ge, and the masses of enriched isotopes, u."""
    fraction = round(float(stream.uniform(0.1, 0.9)), 3)
    return fraction, {
        "Si": round(float(stream.uniform(28.0, 30.0)), 3),
        "Ge": round(float(stream.uniform(70.0, 76.0)), 3),
    }


def reference(device: Device) -> dict:
    """Answer of the task."""
    dispersions = [lead_dispersion(lead) for lead in (device.left, device.right)]
    rows = []
    for frequency in FREQUENCIES:
        result = scatter(device, frequency)
        t = result.transmission
        n_si, n_ge = t.shape
        flux = (np.abs(t) ** 2).sum(axis=1) + (np.abs(result.reflection) ** 2).sum(axis=1)
        if np.abs(flux - 1).max() > 1e-9:
            raise ArithmeticError(f"flux at {frequency} THz: error {np.abs(flux - 1).max():.1e}")
        if [n_si, n_ge] != [count_channels(dispersion, frequency) for dispersion in dispersions]:
            raise ArithmeticError(f"channels at {frequency} THz: modes and dispersion disagree")
        total = float((np.abs(t) ** 2).sum())
        rows.append(
            {
                "frequency_THz": frequency,
                "n_Si": n_si,
                "n_Ge": n_ge,
                "Xi": total,
                "mean_T_Si": total / n_si,
                "std_tau_Si": float(np.std(np.linalg.svd(t @ t.conj().T, compute_uv=False))),
            }
        )
    return {"results": rows}


def make(inputs: Path, seed: int) -> dict:
    """Write the device of a seed and return its reference."""
    device = draw(seed)
    write_device(device, inputs / "device_force_constants.hdf5")
    return reference(device)


if __name__ == "__main__":
    run(make, __doc__)
