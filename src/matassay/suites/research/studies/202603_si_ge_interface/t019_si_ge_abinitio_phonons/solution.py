# %%
import json
from pathlib import Path

import numpy as np
from phonopy import Phonopy
from phonopy.structure.atoms import PhonopyAtoms

bohr = 0.529177210903  # A
rydberg = 13.605693122994  # eV
primitive = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
xi = 0.5


# %%
def force_constants(element):
    data = json.loads(Path(f"inputs/{element}_forces.json").read_text())
    a = data["lattice_constant_bohr"] * bohr
    cell, ideal, moved = (np.array(data[k]) * bohr for k in ("cell_bohr", "ideal_positions_bohr", "positions_bohr"))
    forces = np.array(data["forces_Ry_per_bohr"]) * rydberg / bohr

    unit = PhonopyAtoms(
        symbols=[element] * 2, scaled_positions=[[0, 0, 0], [0.25] * 3], cell=primitive * a, masses=[data["mass_u"]] * 2
    )
    matrix = np.rint(cell @ np.linalg.inv(primitive * a)).astype(int)
    phonon = Phonopy(unit, supercell_matrix=matrix, primitive_matrix="P")
    supercell = phonon.supercell

    # phonopy may order the atoms differently: find each of its atoms among those of the file
    apart = (supercell.positions[:, None] - ideal[None]) @ np.linalg.inv(cell)
    apart = (apart - np.rint(apart)) @ cell
    order = np.argmin((apart**2).sum(axis=2), axis=1)
    assert sorted(order) == list(range(len(order)))
    shift = (moved - ideal)[order]
    (atom,) = np.flatnonzero(np.linalg.norm(shift, axis=1) > 1e-4)
    phonon.dataset = {
        "natom": len(order),
        "first_atoms": [{"number": int(atom), "displacement": shift[atom], "forces": forces[order]}],
    }
    phonon.produce_force_constants()
    phonon.symmetrize_force_constants()
    return phonon


models = {element: force_constants(element) for element in ("Si", "Ge")}


# %%
def at(phonon, cubic):
    """Frequencies (THz, rising) and group velocities (m/s) at q, given in units of 2 pi / a along the cubic axes."""
    phonon.run_qpoints([primitive @ np.array(cubic, dtype=float)], with_group_velocities=True)
    return phonon.qpoints.frequencies[0], phonon.qpoints.group_velocities[0] * 100


answer = {}
for element, phonon in models.items():
    gamma, _ = at(phonon, [0, 0, 0])
    x, _ = at(phonon, [1, 0, 0])
    zone_l, _ = at(phonon, [0.5, 0.5, 0.5])
    along, velocity = at(phonon, [xi, 0, 0])
    phonon.run_mesh([20, 20, 20], is_gamma_center=True)
    spectrum, weights = phonon.mesh.frequencies, phonon.mesh.weights
    answer[element] = {
        "gamma_optical_THz": gamma[5],
        "X_TA_THz": x[0],
        "X_LA_THz": x[2],
        "X_TO_THz": x[5],
        "L_TA_THz": zone_l[0],
        "L_TO_THz": zone_l[5],
        "v_LA_100_m_per_s": velocity[2, 0],
        "mean_frequency_THz": np.average(spectrum.mean(axis=1), weights=weights),
    }
    answer[element] = {name: float(value) for name, value in answer[element].items()}

# %%
Path("answer.json").write_text(json.dumps(answer, indent=1))
