# %%
import json
import math
from pathlib import Path

import numpy as np
from phonopy import Phonopy
from phonopy.interface.vasp import read_vasp, write_vasp

settings = json.loads(Path("inputs/unitcell_settings.json").read_text())
displacement = 0.02
repeats = 2

# %%
cutoff = 10 * math.ceil(1.3 * max(entry["ENMAX_eV"] for entry in settings["potcar"].values()) / 10)
kmesh = [math.ceil(n / repeats) for n in settings["kmesh"]]
incar = f"""static forces of a displaced supercell
PREC   = Accurate
ENCUT  = {cutoff}
EDIFF  = 1E-8
ISMEAR = 0
SIGMA  = 0.05
LREAL  = .FALSE.
ADDGRID = .TRUE.
IBRION = -1
NSW    = 0
ISPIN  = 1
LWAVE  = .FALSE.
LCHARG = .FALSE.
"""
kpoints = "supercell\n0\nGamma\n" + " ".join(map(str, kmesh)) + "\n0 0 0\n"

# %%
for element in ("Si", "Ge"):
    folder = Path(element)
    folder.mkdir(exist_ok=True)
    unit = read_vasp(f"inputs/{element}_unitcell.vasp")
    phonon = Phonopy(unit, supercell_matrix=np.eye(3, dtype=int) * repeats, primitive_matrix="P")
    phonon.generate_displacements(distance=displacement, is_diagonal=False)
    (cell,) = phonon.supercells_with_displacements
    write_vasp(str(folder / "POSCAR"), cell)
    (folder / "INCAR").write_text(incar)
    (folder / "KPOINTS").write_text(kpoints)
    (folder / "POTCAR.spec").write_text(settings["potcar"][element]["name"] + "\n")
