"""What the cards of pw.x say: cell, sites, k points."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from matassay.grading.decks._crystal import BOHR, Crystal, Matrix, element_of_label
from matassay.grading.decks._mesh import Mesh, mesh_of_points
from matassay.grading.decks._numbers import fortran_integer, fortran_real

from ._lattice import lattice
from ._namelist import BadNamelist, Input


@dataclass(frozen=True)
class Cell:
    """Cell with the unit that `alat` stands for."""

    vectors: Matrix
    """Rows are the lattice vectors, angstrom."""
    alat: float
    """Angstrom."""


def _option(text: str, known: tuple[str, ...]) -> str:
    """The first of the words that stands anywhere behind a card's name, even in a remark: that is how pw.x looks."""
    return next((word for word in known if word in text), "")


def _evaluated(token: str) -> float | None:
    """A number, or a product or quotient of two, such as ``-1/3``; pw.x itself evaluates more.

    Examples
    --------
    >>> _evaluated("1/4"), _evaluated("-3*.25"), _evaluated("1/0"), _evaluated("x")
    (0.25, -0.75, None, None)
    """
    parts = re.fullmatch(r"([^*/]+)([*/])([^*/]+)", token)
    if parts is None:
        return fortran_real(token)
    left, right = fortran_real(parts[1]), fortran_real(parts[3])
    if left is None or right is None or (parts[2] == "/" and right == 0):
        return None
    return left * right if parts[2] == "*" else left / right


def _rows(lines: list[str], count: int, columns: int, card: str, line: int) -> Matrix:
    if len(lines) < count:
        raise BadNamelist(f"card {card} has {len(lines)} lines where {count} are needed", line)
    # Only there does pw.x calculate.
    number = _evaluated if card == "ATOMIC_POSITIONS" else fortran_real
    out = []
    for offset, text in enumerate(lines[:count]):
        values = [number(t) for t in text.replace(",", " ").split()[:columns]]
        if len(values) < columns or None in values:
            raise BadNamelist(f"card {card}: expected {columns} numbers, found {text[:40]!r}", line + 1 + offset)
        out.append([v for v in values if v is not None])
    return np.array(out, dtype=float).reshape(len(out), columns)


def read_cell(values: Mapping[str, Any], given: Input) -> Cell:
    """The cell of an input.

    Raises
    ------
    BadNamelist
        If there is none, or if it is impossible.
    """
    celldm = list(values.get("celldm", []))
    celldm += [0.0] * (6 - len(celldm))
    ibrav = values.get("ibrav")
    if values.get("A"):
        if celldm[0]:
            raise BadNamelist("do not specify both celldm and a,b,c!")
        a = values["A"]
        celldm = [a / BOHR, values["B"] / a, values["C"] / a, values["cosAB"], 0.0, 0.0]
        if ibrav in (14, 0):
            celldm[3:] = [values["cosBC"], values["cosAC"], values["cosAB"]]
        elif ibrav in (-12, -13):
            celldm[3:] = [0.0, values["cosAC"], 0.0]
    if ibrav is None:
        raise BadNamelist("ibrav is not set")
    if ibrav != 0:
        if "CELL_PARAMETERS" in given.cards:
            raise BadNamelist("redundant data for cell parameters", given.cards["CELL_PARAMETERS"][2])
        try:
            vectors = lattice(ibrav, celldm) * BOHR
        except ValueError as error:
            raise BadNamelist(str(error)) from error
        return Cell(vectors, celldm[0] * BOHR)
    if "CELL_PARAMETERS" not in given.cards:
        raise BadNamelist("ibrav = 0 needs the card CELL_PARAMETERS")
    option, lines, line = given.cards["CELL_PARAMETERS"]
    raw = _rows(lines, 3, 3, "CELL_PARAMETERS", line)
    unit = _option(option, ("bohr", "angstrom", "alat"))
    if unit == "alat" or (not unit and celldm[0]):
        if not celldm[0]:
            raise BadNamelist("CELL_PARAMETERS in units of alat, but neither celldm(1) nor A is set", line)
        vectors = raw * celldm[0] * BOHR
    elif celldm[0]:
        raise BadNamelist("lattice parameter specified twice", line)
    else:
        vectors = raw if unit == "angstrom" else raw * BOHR
    if abs(np.linalg.det(vectors)) < 1e-9:
        raise BadNamelist("CELL_PARAMETERS span no volume", line)
    alat = celldm[0] * BOHR if celldm[0] else float(np.linalg.norm(vectors[0]))
    return Cell(vectors, alat)


def read_species(given: Input, count: int) -> list[tuple[str, float, str]]:
    """Label, mass and pseudopotential of each species."""
    if "ATOMIC_SPECIES" not in given.cards:
        raise BadNamelist("card ATOMIC_SPECIES is missing")
    _, lines, line = given.cards["ATOMIC_SPECIES"]
    if len(lines) < count:
        raise BadNamelist(f"card ATOMIC_SPECIES has {len(lines)} species where ntyp = {count}", line)
    out = []
    for offset, text in enumerate(lines[:count]):
        words = text.split()
        mass = fortran_real(words[1]) if len(words) > 2 else None
        if mass is None:
            raise BadNamelist(
                f"card ATOMIC_SPECIES: expected label, mass, file; found {text[:40]!r}", line + 1 + offset
            )
        out.append((words[0], mass, words[2]))
    return out


def read_sites(given: Input, count: int, cell: Cell, labels: list[str]) -> tuple[Crystal, list[str]]:
    """Structure, and the label of each site.

    Raises
    ------
    BadNamelist
        If the card cannot be read, or names a species that is not declared.
    """
    if "ATOMIC_POSITIONS" not in given.cards:
        raise BadNamelist("card ATOMIC_POSITIONS is missing")
    option, lines, line = given.cards["ATOMIC_POSITIONS"]
    if list(given.cards).index("ATOMIC_POSITIONS") < list(given.cards).index("ATOMIC_SPECIES"):
        raise BadNamelist("ATOMIC_SPECIES must be present before ATOMIC_POSITIONS", line)
    unit = _option(option, ("crystal_sg", "crystal", "bohr", "angstrom", "alat"))
    if unit == "crystal_sg":
        raise BadNamelist("positions by space group (crystal_sg) are only understood by pw.x itself", line)
    if len(lines) < count:
        raise BadNamelist(f"card ATOMIC_POSITIONS has {len(lines)} sites where nat = {count}", line)
    found = [text.split() for text in lines[:count]]
    sites = []
    for offset, words in enumerate(found):
        if len(words) not in (4, 7):
            raise BadNamelist("wrong number of columns in ATOMIC_POSITIONS", line + 1 + offset)
        if words[0] not in labels:
            raise BadNamelist(f"species {words[0][:10]!r} in ATOMIC_POSITIONS is nonexistent", line + 1 + offset)
        sites.append(words[0])
    raw = _rows([" ".join(words[1:4]) for words in found], count, 3, "ATOMIC_POSITIONS", line)
    free = tuple(tuple(t != "0" for t in (words[4:7] + ["1"] * 3)[:3]) for words in found)
    if unit == "crystal":
        positions = raw
    elif not unit and option and option[0] != "!":
        raise BadNamelist(f"unknown option for ATOMIC_POSITIONS: {option[:20]!r}", line)
    else:
        scale = {"bohr": BOHR, "angstrom": 1.0}.get(unit, cell.alat)
        positions = raw * scale @ np.linalg.inv(cell.vectors)
    fixed = any(not all(f) for f in free)
    crystal = Crystal(
        cell.vectors,
        tuple(element_of_label(s) for s in sites),
        positions,
        free=tuple((f[0], f[1], f[2]) for f in free) if fixed else None,
    )
    return crystal, sites


def read_k_points(given: Input, cell: Cell | None) -> tuple[str, Mesh | None, Matrix | None, list[int]]:
    """Scheme (``mesh``, ``points``, ``path``), mesh, listed points as fractions, and points of each segment of a path.

    Raises
    ------
    BadNamelist
        If the card cannot be read.
    """
    if "K_POINTS" not in given.cards:
        # pw.x 6.7 says nothing and takes Gamma alone.
        return "mesh", Mesh.centred([1, 1, 1]), None, []
    option, lines, line = given.cards["K_POINTS"]
    option = _option(option, ("automatic", "crystal_b", "crystal_c", "crystal", "tpiba_b", "tpiba_c", "tpiba", "gamma"))
    option = option or "tpiba"
    if option == "gamma":
        return "mesh", Mesh.centred([1, 1, 1]), None, []
    if option == "automatic":
        words = lines[0].replace(",", " ").split()[:6] if lines else []
        numbers = [fortran_integer(w) for w in words]
        counts = [n for n in numbers if n is not None]
        if len(counts) < 6 or min(counts[:3]) < 1 or any(k not in (0, 1) for k in counts[3:]):
            raise BadNamelist(
                f"K_POINTS automatic: expected nk1 nk2 nk3 k1 k2 k3, found {' '.join(words)[:40]!r}", line + 1
            )
        return "mesh", Mesh.centred(counts[:3], [k / 2 for k in counts[3:]]), None, []
    total = fortran_integer(lines[0].split()[0]) if lines and lines[0].split() else None
    if total is None or not 0 < total <= 40_000:
        raise BadNamelist("K_POINTS: expected the number of points", line + 1)
    rows = _rows(lines[1:], total, 4, "K_POINTS", line + 1)
    points = rows[:, :3]
    if option.startswith("tpiba"):
        if cell is None:
            return "points", None, None, []
        points = points @ cell.vectors.T / cell.alat
    if option.endswith(("_b", "_c")):
        return "path", None, points, [int(n) for n in rows[:-1, 3]]
    return "points", mesh_of_points(points, np.abs(rows[:, 3]) + 1e-300), points, []
