"""Reader of POSCAR files, format after the VASP Wiki, page "POSCAR" (VASP 6.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from matassay.grading.decks._crystal import Crystal, Matrix, masses
from matassay.grading.decks._numbers import fortran_integer, fortran_real

MOST_SITES = 100_000


class BadPoscar(ValueError):
    """VASP would not read the file; carries the line."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@dataclass(frozen=True)
class Poscar:
    """A structure together with how its sites are grouped."""

    crystal: Crystal
    """The structure."""
    names: tuple[str, ...]
    """Label of each group of sites as written; empty labels where the file names no species (VASP 4)."""
    counts: tuple[int, ...]
    """Sites of each group."""
    named: bool
    """Whether the file names its species."""
    scale: float
    """Scale factor that a volume, if one is given, amounts to; the first of three."""


def element(label: str) -> str:
    """Chemical symbol in a label such as ``Si_pv`` or ``Fe/1a2b3c``; as it stands if there is none.

    Examples
    --------
    >>> element("Zr_sv"), element("H1.25"), element("O/74ada60")
    ('Zr', 'H', 'O')
    """
    match = re.match(r"[A-Z][a-z]?", label)
    if match is None:
        return label
    known = masses()
    return next((s for s in (match.group(), match.group()[0]) if s in known), label)


def read_poscar(text: str, species: tuple[str, ...] = ()) -> Poscar:
    """Read a POSCAR.

    Parameters
    ----------
    text : str
        The file's text.
    species : tuple of str
        Elements in the order of the POTCAR; they overrule the names in the file, as they do in VASP.

    Raises
    ------
    BadPoscar
        If VASP could not read it.
    """
    lines = text.split("\n")
    if len(lines) < 8:
        raise BadPoscar(f"has {len(lines)} lines; a structure needs at least 8")
    lattice = _lattice(lines)
    at = 5
    first = lines[at].split()
    if not first:
        raise BadPoscar("expected names of the species or numbers of sites", at + 1)
    named = fortran_integer(first[0]) is None
    names: tuple[str, ...] = ()
    if named:
        names = tuple(_before_comment(first))
        at += 1
    counts = _counts(lines, at, len(names) if named else None)
    at += 1
    names = names or tuple("" for _ in counts)
    total = sum(counts)
    if not 0 < total <= MOST_SITES:
        raise BadPoscar(f"{total} sites", at)
    selective = lines[at].strip()[:1].lower() == "s" if at < len(lines) else False
    at += selective
    cartesian = at < len(lines) and lines[at].strip()[:1].lower() in ("c", "k")
    at += 1
    positions, free = _sites(lines, at, total, selective)
    factors = _effective_factors(lines)
    if cartesian:
        # Cartesian positions are scaled as the lattice is, also where a volume is given.
        positions = positions * np.array(factors) @ np.linalg.inv(lattice)
    labels = [element(n) for n in names]
    if species:
        if len(species) != len(counts):
            raise BadPoscar(f"has {len(counts)} groups of sites, but the POTCAR has {len(species)} species")
        labels = list(species)
    symbols = tuple(s for s, n in zip(labels, counts, strict=True) for _ in range(n))
    return Poscar(Crystal(lattice, symbols, positions, free=free), names, counts, named, factors[0])


def _before_comment(tokens: list[str]) -> list[str]:
    end = next((i for i, t in enumerate(tokens) if t[0] in "#!"), len(tokens))
    return tokens[:end]


def _reals(lines: list[str], at: int, count: int) -> list[float]:
    tokens = lines[at].replace(",", " ").split() if at < len(lines) else []
    values = [fortran_real(t) for t in tokens[:count]]
    if len(values) < count or None in values:
        raise BadPoscar(f"expected {count} numbers, found {' '.join(tokens[:count])[:60]!r}", at + 1)
    return [v for v in values if v is not None]


def _factors(lines: list[str]) -> list[float]:
    tokens = lines[1].split()
    values = [fortran_real(t) for t in tokens[:3]]
    if not values or values[0] is None:
        raise BadPoscar(f"expected a scale factor, found {lines[1][:60]!r}", 2)
    # Three factors scale x, y and z components; anything less than three numbers is one factor and a comment.
    three = len(values) == 3 and None not in values
    return [v for v in values if v is not None] if three else [values[0]]


def _raw_lattice(lines: list[str]) -> Matrix:
    return np.array([_reals(lines, i, 3) for i in (2, 3, 4)])


def _effective_factors(lines: list[str]) -> list[float]:
    """Scale factors of x, y and z."""
    factors = _factors(lines)
    if len(factors) == 1 and factors[0] < 0:
        return [float(-factors[0] / abs(np.linalg.det(_raw_lattice(lines)))) ** (1 / 3)] * 3
    if any(f <= 0 for f in factors):
        raise BadPoscar(f"scale factors must be positive: {lines[1].strip()[:60]}", 2)
    return factors if len(factors) == 3 else factors * 3


def _lattice(lines: list[str]) -> Matrix:
    raw = _raw_lattice(lines)
    if abs(np.linalg.det(raw)) < 1e-12:
        raise BadPoscar("the lattice vectors span no volume", 3)
    if np.linalg.det(raw) < 0:
        raise BadPoscar("the triple product of the basis vectors is negative exchange two basis vectors", 3)
    scaled = raw * np.array(_effective_factors(lines))
    if not 1e-3 < abs(np.linalg.det(scaled)) < 1e9:
        raise BadPoscar("the volume of the cell is absurd", 2)
    return np.asarray(scaled)


def _counts(lines: list[str], at: int, expected: int | None) -> tuple[int, ...]:
    values = []
    for token in lines[at].split() if at < len(lines) else []:
        number = fortran_integer(token)
        if number is None:
            break
        values.append(number)
    if not values or min(values) < 1 or max(values) > MOST_SITES:
        raise BadPoscar(f"expected numbers of sites, found {lines[at][:60]!r}" if at < len(lines) else "ends", at + 1)
    if expected is not None and len(values) != expected:
        raise BadPoscar(f"names {expected} species, but gives {len(values)} numbers of sites", at + 1)
    return tuple(values)


def _sites(
    lines: list[str], at: int, total: int, selective: bool
) -> tuple[Matrix, tuple[tuple[bool, bool, bool], ...] | None]:
    rows: list[list[float]] = []
    free = []
    # Fortran's list-directed reading passes over empty lines.
    filled = (i for i in range(at, len(lines)) if lines[i].strip())
    for _ in range(total):
        i = next(filled, len(lines))
        rows.append(_reals(lines, i, 3))
        if selective:
            flags = [t.strip(".")[:1].lower() for t in lines[i].split()[3:6]]
            if len(flags) < 3 or any(f not in ("t", "f") for f in flags):
                raise BadPoscar("expected three flags T or F after the coordinates", i + 1)
            free.append((flags[0] == "t", flags[1] == "t", flags[2] == "t"))
    return np.array(rows), tuple(free) if selective else None
