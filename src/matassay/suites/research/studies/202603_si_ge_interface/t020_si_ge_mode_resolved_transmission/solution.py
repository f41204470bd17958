"""Transmission channels from surface Green's functions (decimation) and the eigenvectors of the leads' broadening."""

# %%
import json
from pathlib import Path

import h5py
import numpy as np

FREQUENCIES = [1.00, 2.00, 4.00, 5.05, 6.00, 8.00, 10.00, 11.50, 12.00]
# eV/(A^2 u) in (rad/ps)^2, so that the square of 2 pi nu / THz can be compared with it.
TO_SQUARED = 1.602176634e-19 / (1e-10) ** 2 / 1.66053906660e-27 / 1e24
BROADENING = 1e-12  # imaginary part relative to the squared frequency

# %%
with h5py.File("inputs/device_force_constants.hdf5", "r") as file:
    leads = {
        side: {name: file[f"lead_{side}/{name}"][:] for name in ("masses", "onsite", "coupling")}
        for side in ("left", "right")
    }
    center = {name: file[f"center/{name}"][:] for name in ("masses", "onsite", "coupling")}


def weighted(block, rows, columns):
    """Mass-weighted block, (rad/ps)^2."""
    return TO_SQUARED * block / np.sqrt(np.outer(np.repeat(rows, 3), np.repeat(columns, 3)))


for lead in leads.values():
    for name in ("onsite", "coupling"):
        lead[name] = weighted(lead[name], lead["masses"], lead["masses"])
masses = [leads["left"]["masses"], *center["masses"], leads["right"]["masses"]]
slices = [weighted(block, m, m) for block, m in zip(center["onsite"], center["masses"], strict=True)]
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


def channels(self_energy):
    """Columns w with sum w w^H = broadening matrix, one for each propagating channel."""
    values, vectors = np.linalg.eigh(1j * (self_energy - self_energy.conj().T))
    kept = values > 1e-6 * np.abs(self_energy).max()
    return vectors[:, kept] * np.sqrt(values[kept])


# %%
def count(lead, squared):
    """Channels of an undisturbed lead in one direction."""
    towards_right = lead["coupling"] @ surface(lead["onsite"], lead["coupling"], squared) @ lead["coupling"].T
    return channels(towards_right).shape[1]


def solve(frequency):
    """Channel counts and flux-normalised transmission (rows: channels of silicon) at an ordinary frequency, THz."""
    squared = (2 * np.pi * frequency) ** 2 * (1 + 1j * BROADENING)
    left, right = leads["left"], leads["right"]
    into_left = bonds[0].T @ surface(left["onsite"], left["coupling"].T, squared) @ bonds[0]
    into_right = bonds[-1] @ surface(right["onsite"], right["coupling"], squared) @ bonds[-1].T
    # Eliminate the slices from the right; then carry the columns that start on the first slice to the last one.
    size = len(slices[0])
    unit = squared * np.eye(size)
    greens = [None] * len(slices)
    beyond = into_right
    for n in range(len(slices) - 1, -1, -1):
        if n == 0:
            beyond = beyond + into_left
        greens[n] = np.linalg.inv(unit - slices[n] - beyond)
        beyond = bonds[n] @ greens[n] @ bonds[n].T
    first = greens[0]
    across = first
    for n in range(1, len(slices)):
        across = greens[n] @ bonds[n].T @ across
    from_left, to_right = channels(into_left), channels(into_right)
    transmission = (to_right.conj().T @ across @ from_left).T
    reflection = 1j * from_left.conj().T @ first @ from_left - np.eye(from_left.shape[1])
    total = (np.abs(transmission) ** 2).sum(axis=1) + (np.abs(reflection) ** 2).sum(axis=0)
    if np.abs(total - 1).max() > 1e-6:
        raise ArithmeticError(f"flux is not conserved at {frequency} THz: {np.abs(total - 1).max():.1e}")
    return count(left, squared), count(right, squared), transmission


# %%
results = []
for frequency in FREQUENCIES:
    n_si, n_ge, t = solve(frequency)
    eigenvalues = np.linalg.eigvalsh(t @ t.conj().T)
    total = float((np.abs(t) ** 2).sum())
    results.append(
        {
            "frequency_THz": frequency,
            "n_Si": n_si,
            "n_Ge": n_ge,
            "Xi": total,
            "mean_T_Si": total / n_si,
            "std_tau_Si": float(np.std(eigenvalues)),
        }
    )
Path("answer.json").write_text(json.dumps({"results": results}, indent=1))
