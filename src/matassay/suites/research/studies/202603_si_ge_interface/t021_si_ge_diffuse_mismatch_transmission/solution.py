"""Diffuse mismatch transmission and interface conductance from irreducible meshes of phonons."""

# %%
import itertools
import json
from pathlib import Path

import h5py
import numpy as np

FREQUENCIES = [3.0, 7.0]  # THz
TEMPERATURES = [100.0, 300.0]  # K
WIDTH = 0.15  # THz
GRID = np.arange(1, 341) * 0.05  # THz
PLANCK = 6.62607015e-34
BOLTZMANN = 1.380649e-23


# %%
def mean_normal_velocity(velocity):
    """Mean of the positive part of the normal component over all points that symmetry makes of one, m/s."""
    total = np.zeros(velocity.shape[:-1])
    operations = [
        (list(order), np.array(signs))
        for order in itertools.permutations(range(3))
        for signs in itertools.product((1, -1), repeat=3)
    ]
    for order, signs in operations:
        total += np.maximum((velocity[..., order] * signs)[..., 0], 0.0)
    return 100.0 * total / len(operations)


def emission(path, grid):
    """Modes that cross the interface per m^2, s and THz, at full occupation, on a grid of frequencies."""
    with h5py.File(path, "r") as file:
        weight = file["weight"][:]
        frequency = file["frequency"][:]
        speed = mean_normal_velocity(file["group_velocity"][:])
        volume = float(file.attrs["primitive_cell_volume"]) * 1e-30
    share = (weight / weight.sum())[:, None] * speed / volume
    result = np.zeros(len(grid))
    for branch in range(frequency.shape[1]):
        distance = grid[:, None] - frequency[:, branch]
        gaussian = np.exp(-0.5 * (distance / WIDTH) ** 2) / (WIDTH * np.sqrt(2 * np.pi))
        result += gaussian @ share[:, branch]
    return result


# %%
silicon, germanium = "inputs/phonon_mesh_Si.hdf5", "inputs/phonon_mesh_Ge.hdf5"


def across(grid):
    """Transmission from silicon to germanium."""
    from_si, from_ge = emission(silicon, grid), emission(germanium, grid)
    return from_ge / (from_si + from_ge)


def conductance(temperature):
    """Landauer conductance, W/(m^2 K)."""
    x = PLANCK * GRID * 1e12 / (BOLTZMANN * temperature)
    heat = BOLTZMANN * x**2 * np.exp(x) / (np.exp(x) - 1) ** 2
    return np.trapezoid(across(GRID) * emission(silicon, GRID) * heat, GRID)


# %%
answer = {
    "transmission": [
        {"frequency_THz": value, "T_Si_to_Ge": float(across(np.array([value]))[0])} for value in FREQUENCIES
    ],
    "conductance": [{"temperature_K": value, "G": float(conductance(value))} for value in TEMPERATURES],
}
Path("answer.json").write_text(json.dumps(answer, indent=1))
