# %%
import json
from pathlib import Path

import numpy as np
import spglib

data = json.loads(Path("inputs/materials.json").read_text())
elements = ("Si", "Ge")
a = np.array([data[e]["lattice_constant_A"] for e in elements])
c11 = np.array([data[e]["C11_GPa"] for e in elements])
c12 = np.array([data[e]["C12_GPa"] for e in elements])
planes = np.array([data["cell"]["planes_Si"], data["cell"]["planes_Ge"]])
lateral = data["cell"]["lateral"]

# %%
# Biaxial strain e with a free normal: energy density = Y e^2, normal strain = -2 C12/C11 e.
modulus = c11 + c12 - 2 * c12**2 / c11
thickness = planes * a / 4
a_parallel = np.sum(modulus * thickness / a) / np.sum(modulus * thickness / a**2)
strain = a_parallel / a - 1
normal = -2 * c12 / c11 * strain
spacing = a / 4 * (1 + normal)
across = spacing.mean()
energy = np.sum(thickness * modulus * strain**2) * 1e-10 * 1e9  # A GPa -> J/m^2

# %%
kinds = [0] * planes[0] + [1] * planes[1]
steps = [spacing[i] if i == j else across for i, j in zip(kinds, kinds[1:] + kinds[:1], strict=True)]
heights = np.concatenate([[0.0], np.cumsum(steps)])
period, heights = heights[-1], heights[:-1]
edge = a_parallel / np.sqrt(2)
shifts = [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]
sites = []
for plane, (kind, height) in enumerate(zip(kinds, heights, strict=True)):
    dy, dz = shifts[plane % 4]
    for i in range(lateral):
        sites += [(kind, height / period, (i + dy) / lateral, (j + dz) / lateral) for j in range(lateral)]
cell = np.diag([period, lateral * edge, lateral * edge])
sites.sort(key=lambda s: s[0])
counts = [sum(s[0] == k for s in sites) for k in (0, 1)]

# %%
lines = ["Si/Ge(100) superlattice", "1.0"]
lines += [" ".join(f"{x:.10f}" for x in row) for row in cell]
lines += ["Si Ge", " ".join(map(str, counts)), "Direct"]
lines += [" ".join(f"{x:.12f}" for x in site[1:]) for site in sites]
Path("interface.vasp").write_text("\n".join(lines) + "\n")

# %%
group = spglib.get_symmetry_dataset(
    (cell, [s[1:] for s in sites], [14 if s[0] == 0 else 32 for s in sites]), symprec=1e-3
).number

# %%
answer = {
    "a_parallel_A": float(a_parallel),
    "strain_Si": float(strain[0]),
    "strain_Ge": float(strain[1]),
    "spacing_Si_A": float(spacing[0]),
    "spacing_Ge_A": float(spacing[1]),
    "spacing_interface_A": float(across),
    "period_A": float(period),
    "n_Si": counts[0],
    "n_Ge": counts[1],
    "elastic_energy_J_per_m2": float(energy),
    "space_group": int(group),
    "structure": "interface.vasp",
    "planes": [
        {"plane": n, "element": elements[kind], "x_A": float(height), "atoms": lateral**2}
        for n, (kind, height) in enumerate(zip(kinds, heights, strict=True), 1)
    ],
}
Path("answer.json").write_text(json.dumps(answer, indent=1))
