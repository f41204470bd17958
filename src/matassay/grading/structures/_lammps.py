"""LAMMPS data files: box, masses, atoms."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ._crystal import MOST_ATOMS, Crystal, Floats, StructureUnreadable, to_fractional
from ._elements import ELEMENTS, element_of_mass
from ._text import integer, number

#: Columns of type and of x in the Atoms section, by atom style.
_STYLES: Mapping[str, tuple[int, int]] = {
    "atomic": (1, 2),
    "charge": (1, 3),
    "bond": (2, 3),
    "angle": (2, 3),
    "molecular": (2, 3),
    "full": (2, 4),
    "spin": (1, 2),
    "dipole": (1, 3),
}

_SECTION = re.compile(r"[A-Z][A-Za-z]+(?: [A-Z][A-Za-z]+)*")
_BOX = {"xlo xhi": "x", "ylo yhi": "y", "zlo zhi": "z"}


def read_lammps(text: str, species: Sequence[str] | None = None) -> Crystal:
    """Read a LAMMPS data file.

    Parameters
    ----------
    text : str
        Content of the file. Atom styles other than ``atomic`` must be named after ``Atoms #``.
    species : sequence of str, optional
        Elements of the types 1, 2, ...; by default they follow from the comments or the values in ``Masses``.
    """
    lines = [line.split("#", 1) for line in text.splitlines()[1:]]
    header, sections = _split(lines)
    origin, lattice = _box(header)
    rows, note = sections.get("Atoms", ([], ""))
    if not rows:
        raise StructureUnreadable("it has no section Atoms")
    style = (note.split() or ["atomic"])[0]
    if style not in _STYLES:
        raise StructureUnreadable(f"atom style {style[:20]!r} is not known; known are {', '.join(_STYLES)}")
    if len(rows) > MOST_ATOMS:
        raise StructureUnreadable(f"it has {len(rows)} atoms; {MOST_ATOMS} at most can be compared")
    elements = _elements(sections.get("Masses", ([], ""))[0], species)
    at, first = _STYLES[style]
    names, positions = [], []
    for words, _ in rows:
        kind = integer(words[at]) if len(words) > at else None
        place = [number(w) for w in words[first : first + 3]]
        if kind is None or len(place) < 3 or None in place:
            raise StructureUnreadable(f"section Atoms: {' '.join(words)[:60]!r} is no atom of style {style}")
        if kind not in elements:
            raise StructureUnreadable(f"atom type {kind}: neither a mass nor a comment tells its element")
        names.append(elements[kind])
        positions.append(place)
    return Crystal.of(lattice, names, to_fractional(lattice, np.array(positions, float) - origin))


Row = tuple[list[str], str]


def _split(lines: list[list[str]]) -> tuple[list[str], dict[str, tuple[list[Row], str]]]:
    """Header lines, and rows with their comments of each section with the comment in its head."""
    header: list[str] = []
    sections: dict[str, tuple[list[Row], str]] = {}
    rows: list[Row] | None = None
    for content, *comment in lines:
        stripped, note = content.strip(), (comment[0].strip() if comment else "")
        if not stripped:
            continue
        if _SECTION.fullmatch(stripped):
            if stripped in sections:
                raise StructureUnreadable(f"section {stripped} stands twice")
            rows = []
            sections[stripped] = (rows, note)
        elif rows is None:
            header.append(stripped)
        else:
            rows.append((stripped.split(), note))
    return header, sections


def _box(header: list[str]) -> tuple[Floats, Floats]:
    """Origin and lattice vectors, angstrom."""
    limits: dict[str, tuple[float, float]] = {}
    tilt = [0.0, 0.0, 0.0]
    for line in header:
        words = line.split()
        if axis := _BOX.get(" ".join(words[-2:])):
            bounds = [number(w) for w in words[:-2]]
            if len(bounds) == 2 and bounds[0] is not None and bounds[1] is not None:
                limits[axis] = (bounds[0], bounds[1])
        elif words[-3:] == ["xy", "xz", "yz"]:
            found = [number(w) for w in words[:-3]]
            if len(found) != 3 or None in found:
                raise StructureUnreadable("xy xz yz: expected three numbers")
            tilt = [x for x in found if x is not None]
        elif words[-1] in ("avec", "bvec", "cvec", "abc"):
            raise StructureUnreadable("general triclinic boxes (avec, bvec, cvec) are not read; write xy xz yz")
    if len(limits) != 3:
        raise StructureUnreadable("expected 'xlo xhi', 'ylo yhi' and 'zlo zhi' with two numbers each")
    low = np.array([limits[axis][0] for axis in "xyz"])
    x, y, z = (limits[axis][1] - limits[axis][0] for axis in "xyz")
    return low, np.array([[x, 0, 0], [tilt[0], y, 0], [tilt[1], tilt[2], z]])


def _elements(masses: list[Row], species: Sequence[str] | None) -> dict[int, str]:
    """Element of each type: as told, as the comment says, or by mass."""
    found = dict(enumerate(species or (), start=1))
    for words, note in masses:
        kind, mass = (integer(words[0]), number(words[1])) if len(words) > 1 else (None, None)
        if kind is None or mass is None:
            raise StructureUnreadable(f"section Masses: {' '.join(words)[:40]!r} is not a type and its mass")
        named = re.match(r"[A-Z][a-z]?\b", note)
        by_mass = element_of_mass(mass)
        if named and named[0] in ELEMENTS and by_mass not in (None, named[0]):
            raise StructureUnreadable(f"section Masses: type {kind} is called {named[0]} and has the mass of {by_mass}")
        element = named[0] if named and named[0] in ELEMENTS else by_mass
        if element is not None:
            found.setdefault(kind, element)
    return found
