"""VASP's POSCAR and CONTCAR."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ._crystal import MOST_ATOMS, Crystal, StructureUnreadable, to_fractional
from ._elements import ELEMENTS
from ._text import Lines, integer, number


def read_poscar(text: str, species: Sequence[str] | None = None) -> Crystal:
    """Read a POSCAR.

    Scale factors (one, one that is negative and means the volume, or three), selective dynamics, direct and Cartesian
    positions, and names with a suffix (``Si_sv``, ``Fe/abc123``) are understood.

    Parameters
    ----------
    text : str
        Content of the file.
    species : sequence of str, optional
        Elements of the groups for files of VASP 4, which do not name them.
    """
    lines = Lines(text)
    lines.take("a comment")
    scale = [x for x in map(number, lines.take("the scale factor").split()) if x is not None]
    if len(scale) not in (1, 3) or not all(scale) or (len(scale) == 3 and min(scale) < 0):
        raise lines.error("expected one scale factor, or three positive ones")
    lattice = np.array([lines.numbers(3, "a lattice vector of three numbers") for _ in range(3)])
    if scale[0] < 0:
        factor = np.full(3, (-scale[0] / max(abs(np.linalg.det(lattice)), 1e-12)) ** (1 / 3))
    else:
        factor = np.array(scale * 3)[:3]
    lattice = lattice * factor  # three factors scale the Cartesian components x, y, z

    words = lines.take("element symbols or counts").split()
    if words and integer(words[0]) is None:
        names: list[str] | None = [re.split(r"[_/]", w)[0] for w in words]
        words = lines.take("the number of atoms of each element").split()
    else:
        names = list(species) if species else None
    counts = []
    for word in words:
        n = integer(word)
        if n is None:
            break  # a comment follows
        counts.append(n)
    if not counts or min(counts) < 0 or not 1 <= sum(counts) <= MOST_ATOMS:
        raise lines.error(f"expected the number of atoms of each element, 1 to {MOST_ATOMS} in all")
    if names is None:
        raise StructureUnreadable("line 6 does not name the elements")
    if len(names) != len(counts):
        raise lines.error(f"{len(names)} elements and {len(counts)} counts")

    mode = lines.take("'Direct' or 'Cartesian'").strip().lower()
    if mode.startswith("s"):
        mode = lines.take("'Direct' or 'Cartesian'").strip().lower()
    positions = [lines.numbers(3, "a position of three numbers") for _ in range(sum(counts))]
    if mode[:1] in ("c", "k"):
        fractional = to_fractional(lattice, np.array(positions) * factor)
    elif mode.startswith("d"):
        fractional = np.array(positions)
    else:
        raise StructureUnreadable(f"{mode[:20]!r}: expected 'Direct' or 'Cartesian' (or 'Selective dynamics' before)")
    unknown = [n for n in names if n not in ELEMENTS]
    if unknown:
        raise StructureUnreadable(f"line 6: {unknown[0][:20]!r} is no element")
    return Crystal.of(lattice, [n for n, count in zip(names, counts, strict=True) for _ in range(count)], fractional)
