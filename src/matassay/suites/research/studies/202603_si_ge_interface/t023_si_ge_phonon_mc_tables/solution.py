"""Tables of a phonon Monte Carlo code from meshes of phonons and a model of their lifetimes."""

# %%
import json
from pathlib import Path

import h5py
import numpy as np

PLANCK = 6.62607015e-34
BOLTZMANN = 1.380649e-23

model = json.loads(Path("inputs/relaxation.json").read_text())
temperature = model["temperature_K"]
edges = np.array(model["bin_edges_THz"])
centres = (edges[1:] + edges[:-1]) / 2


# %%
def lifetime(frequency, parameters):
    """Lifetime, s, at an ordinary frequency, THz."""
    omega = 2 * np.pi * frequency * 1e12
    isotope = parameters["isotope_s3"] * omega**4
    umklapp = parameters["umklapp_s_per_K"] * omega**2 * temperature * np.exp(-parameters["onset_K"] / temperature)
    return 1 / (isotope + umklapp)


def cumulative(shares):
    """Running sum that ends at 1."""
    return (np.cumsum(shares) / np.sum(shares)).tolist()


def tables(element):
    """Tables of one crystal."""
    with h5py.File(f"inputs/phonon_mesh_{element}.hdf5", "r") as file:
        weight = file["weight"][:].astype(float)
        frequency = file["frequency"][:]
        velocity = file["group_velocity"][:]
        volume = file.attrs["primitive_cell_volume"] * 1e-30
    modes, path = np.zeros(len(centres)), np.zeros(len(centres))
    for point in range(len(weight)):
        for branch in range(frequency.shape[1]):
            if frequency[point, branch] > 0:
                at = np.searchsorted(edges, frequency[point, branch], side="right") - 1
                share = weight[point] / weight.sum() / volume
                modes[at] += share
                path[at] += share * np.sqrt((velocity[point, branch] ** 2).sum()) * 100
    filled = modes > 0
    speed = np.where(filled, path / np.where(filled, modes, 1), 0)
    tau = np.where(filled, lifetime(centres, model[element]), 0)
    x = PLANCK * centres * 1e12 / (BOLTZMANN * temperature)
    heat = modes * BOLTZMANN * x**2 * np.exp(x) / (np.exp(x) - 1) ** 2
    return {
        "heat_J_per_m3_K": heat.tolist(),
        "speed_m_per_s": speed.tolist(),
        "lifetime_ps": (tau * 1e12).tolist(),
        "cumulative_energy": cumulative(heat),
        "cumulative_flux": cumulative(heat * speed),
        "cumulative_scattering": cumulative(heat / np.where(filled, tau, 1)),
    }


# %%
Path("answer.json").write_text(json.dumps({element: tables(element) for element in ("Si", "Ge")}, indent=1))
