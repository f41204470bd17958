"""Specularity from the reflection block of the scattering matrix: Green's functions, then Bloch waves of the lead."""

# %%
import json
from pathlib import Path

import h5py
import numpy as np

FREQUENCIES = [4.50, 5.05]
# eV/(A^2 u) in (rad/ps)^2.
TO_SQUARED = 1.602176634e-19 / (1e-10) ** 2 / 1.66053906660e-27 / 1e24
BROADENING = 1e-12  # imaginary part relative to the squared frequency

# %%
with h5py.File("inputs/mixed_device.hdf5", "r") as file:
    leads = {
        side: {name: file[f"lead_{side}/{name}"][:] for name in ("masses", "onsite", "coupling")}
        for side in ("left", "right")
    }
    center = {name: file[f"center/{name}"][:] for name in ("masses", "onsite", "coupling")}
    n_cells = len(file["lateral_cells"])


def weighted(block, rows, columns):
    """Mass-weighted block, (rad/ps)^2."""
    return TO_SQUARED * block / np.sqrt(np.outer(np.repeat(rows, 3), np.repeat(columns, 3)))


for lead in leads.values():
    for name in ("onsite", "coupling"):
        lead[name] = weighted(lead[name], lead["masses"], lead["masses"])
masses = [leads["left"]["masses"], *center["masses"], leads["right"]["masses"]]
slices = [weighted(block, m, m) for block, m in zip(center["onsite"], center["masses"], strict=True)]
# The last layer of the Si lead joins the central region, so that what lies beyond is the undisturbed crystal.
slices = [leads["left"]["onsite"], *slices]
bonds = [weighted(block, masses[n], masses[n + 1]) for n, block in enumerate(center["coupling"])]


# %%
def surface(onsite, onward, squared):
    """Green's function of the first layer of a half-infinite lead; `onward` couples a layer to the next one inside."""
    outer, inner = onsite.astype(complex), onsite.astype(complex)
    forth, back = onward.astype(complex), onward.conj().T.astype(complex)
    unit = squared * np.eye(len(onsite))
    for _ in range(200):
        bulk = np.linalg.solve(unit - inner, np.hstack([forth, back]))
        to_forth, to_back = bulk[:, : len(onsite)], bulk[:, len(onsite) :]
        outer = outer + forth @ to_back
        inner = inner + forth @ to_back + back @ to_forth
        forth, back = forth @ to_forth, back @ to_back
        if np.abs(forth).max() < 1e-14 and np.abs(back).max() < 1e-14:
            return np.linalg.inv(unit - outer)
    raise ArithmeticError("the decimation does not converge")


def bloch_waves(onsite, onward, squared):
    """Propagating waves that travel towards the next layer `onward`: Bloch factors and displacements as columns."""
    factors, waves = np.linalg.eig(surface(onsite, onward, squared) @ onward.conj().T)
    kept = np.abs(factors) > 1 - 1e-4
    return factors[kept], waves[:, kept]


def orthonormal(channels):
    """Basis of the span of flux-normalised channels."""
    return np.linalg.qr(channels)[0]


# %%
def specularities(frequency):
    """Specular share of the reflection at normal incidence for the transverse pair and the longitudinal channel."""
    squared = (2 * np.pi * frequency) ** 2 * (1 + 1j * BROADENING)
    left, right = leads["left"], leads["right"]
    backward = left["coupling"].T
    into_left = backward @ surface(left["onsite"], backward, squared) @ backward.T
    beyond = bonds[-1] @ surface(right["onsite"], right["coupling"], squared) @ bonds[-1].T
    unit = squared * np.eye(len(backward))
    for n in range(len(slices) - 1, 0, -1):
        beyond = bonds[n - 1] @ np.linalg.inv(unit - slices[n] - beyond) @ bonds[n - 1].T
    green = np.linalg.inv(unit - slices[0] - beyond - into_left)

    # Columns w of sum w w^H = broadening carry unit flux; w^H u is the flux amplitude of a wave u on this layer.
    values, vectors = np.linalg.eigh(1j * (into_left - into_left.conj().T))
    kept = values > 1e-6 * np.abs(into_left).max()
    flux = vectors[:, kept] * np.sqrt(values[kept])
    reflection = 1j * flux.conj().T @ green @ flux - np.eye(flux.shape[1])

    # Normal incidence: the same displacement in every surface cell.
    size = len(backward) // n_cells
    onsite, forward = (
        left[name].reshape(n_cells, size, n_cells, size).mean(axis=0).sum(axis=1) for name in ("onsite", "coupling")
    )
    factors_in, waves_in = bloch_waves(onsite, forward, squared)
    factors_out, waves_out = bloch_waves(onsite, forward.T, squared)
    shares = {}
    longitudinal = (np.abs(waves_in.reshape(-1, 3, len(factors_in))[:, 0]) ** 2).sum(axis=0) > 0.5
    for name, group in (("p_TA", ~longitudinal), ("p_LA", longitudinal)):
        partner = np.abs(factors_out[:, None] - factors_in[group][None, :]).min(axis=1) < 1e-3
        incoming = orthonormal(flux.conj().T @ np.tile(waves_in[:, group], (n_cells, 1)))
        mirrored = orthonormal(flux.conj().T @ np.tile(waves_out[:, partner], (n_cells, 1)))
        reflected = reflection @ incoming
        specular = mirrored.conj().T @ reflected
        shares[name] = float((np.abs(specular) ** 2).sum() / (np.abs(reflected) ** 2).sum())
    return shares


# %%
results = [{"frequency_THz": frequency, **specularities(frequency)} for frequency in FREQUENCIES]
Path("answer.json").write_text(json.dumps({"results": results}, indent=1))
