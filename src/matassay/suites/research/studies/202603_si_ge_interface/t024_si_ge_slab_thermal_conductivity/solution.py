"""Conductivities and interface resistance of a slab from the profiles of independent Monte Carlo runs."""

# %%
import json
from pathlib import Path

import numpy as np

setup = json.loads(Path("inputs/setup.json").read_text())
lengths = [layer["thickness_nm"] for layer in setup["layers"]]
interface = lengths[0]
difference = setup["left_wall_K"] - setup["right_wall_K"]
runs = [np.loadtxt(f"inputs/run_{number:02}.csv", delimiter=",", skiprows=2) for number in range(1, setup["runs"] + 1)]


# %%
def evaluate(table):
    """Conductivities of both layers and of the slab, W/(m K), and interface resistance, m^2 K/GW."""
    x, temperature, flux = table.T
    heat = flux.mean()
    si = (x > 0.2 * lengths[0]) & (x < 0.8 * lengths[0])
    ge = (x > interface + 0.2 * lengths[1]) & (x < interface + 0.8 * lengths[1])
    line_si = np.polyfit(x[si], temperature[si], 1)
    line_ge = np.polyfit(x[ge], temperature[ge], 1)
    jump = np.polyval(line_si, interface) - np.polyval(line_ge, interface)
    return {
        "k_Si": -heat / (line_si[0] * 1e9),
        "k_Ge": -heat / (line_ge[0] * 1e9),
        "R_interface": jump / heat * 1e9,
        "k_slab": heat * sum(lengths) * 1e-9 / difference,
    }


# %%
values = evaluate(np.mean(runs, axis=0))
each = [evaluate(table) for table in runs]
answer = {name: float(value) for name, value in values.items()}
for name in values:
    sample = np.array([result[name] for result in each])
    answer[f"{name}_error"] = float(sample.std(ddof=1) / np.sqrt(len(runs)))
Path("answer.json").write_text(json.dumps(answer, indent=1))
