"""Make the inputs and the reference decks: ``python reproduce.py OUT --seed N``.

The displaced supercells are built by hand from the diamond structure (`common.cells`), without phonopy. There is nothing
to compute: the decks are judged by rules, and the reference decks show one that fulfils them.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common.cells import diamond_supercell

CONSTANTS = {"Si": 5.4687, "Ge": 5.7631}
"""Cubic lattice constants, A: typical of PBE, made up here to the fourth digit; no result depends on them."""

POTCAR = {"Si": {"name": "Si", "ENMAX_eV": 245.345}, "Ge": {"name": "Ge_d", "ENMAX_eV": 310.294}}
"""PBE data sets by their public names, and the recommended cutoffs that the VASP Wiki lists for them."""

DISPLACEMENT = 0.02
KMESH = (8, 8, 8)


def poscar(element: str, cell: np.ndarray, positions: np.ndarray, title: str) -> str:
    """Return a POSCAR file of one element."""
    rows = [title, "1.0", *(" ".join(f"{x:.10f}" for x in row) for row in cell), element, str(len(positions)), "Direct"]
    rows += [" ".join(f"{x:.12f}" for x in row) for row in positions @ np.linalg.inv(cell)]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write ``inputs/`` and ``reference.json``, which holds the displaced supercells, also as POSCAR files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    inputs, decks = options.out / "inputs", options.out / "reference"
    inputs.mkdir(parents=True, exist_ok=True)
    decks.mkdir(parents=True, exist_ok=True)
    settings = {"kmesh": KMESH, "potcar": POTCAR}
    (inputs / "unitcell_settings.json").write_text(json.dumps(settings, indent=1) + "\n")
    reference = {}
    for element, constant in CONSTANTS.items():
        (inputs / f"{element}_unitcell.vasp").write_text(
            poscar(element, *diamond_supercell(constant, 1), title=f"{element}, cubic cell, relaxed")
        )
        cell, positions = diamond_supercell(constant, 2)
        positions[0, 0] += DISPLACEMENT
        text = poscar(element, cell, positions, title=f"{element}, one atom displaced")
        (decks / f"{element}.vasp").write_text(text)
        reference[element] = {"structure": text}
    (options.out / "reference.json").write_text(json.dumps(reference, indent=1) + "\n")


if __name__ == "__main__":
    main()
