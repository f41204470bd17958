"""Extended XYZ: the lattice and the columns stand in the comment line."""

from __future__ import annotations

import re

import numpy as np

from ._crystal import MOST_ATOMS, Crystal, StructureUnreadable, collinear, to_fractional
from ._text import Lines, integer, number

#: Columns that hold magnetic moments, in the order of preference (those that ASE writes).
_MOMENTS = ("magmoms", "initial_magmoms", "magmom", "magnetic_moments")


def read_extxyz(text: str) -> Crystal:
    """Read the first frame of an extended XYZ file."""
    lines = Lines(text)
    n = integer(lines.take("the number of atoms").strip())
    if n is None or not 1 <= n <= MOST_ATOMS:
        raise lines.error(f"expected the number of atoms, 1 to {MOST_ATOMS}")
    comment = lines.take("the comment with the lattice")
    fields = {
        key.lower(): quoted or plain for key, quoted, plain in re.findall(r'([\w-]+)=(?:"([^"]*)"|(\S+))', comment)
    }
    cell = [number(w) for w in fields.get("lattice", "").split()]
    if len(cell) != 9 or None in cell:
        raise lines.error('expected Lattice="..." with nine numbers')
    columns = _columns(fields.get("properties", "species:S:1:pos:R:3"))
    place, positions = columns.get("species", columns.get("symbols")), columns.get("pos")
    if place is None or positions is None or positions[1] - positions[0] != 3:
        raise lines.error("Properties must name species and three columns pos")
    rows = [lines.take("an atom").split() for _ in range(n)]
    width = max(end for _, end in columns.values())
    if any(len(row) < width for row in rows):
        raise StructureUnreadable(f"an atom has fewer than the {width} columns of Properties")
    lattice = np.array(cell, float).reshape(3, 3)
    moments = next((_numbers(rows, columns[m]) for m in _MOMENTS if m in columns), None)
    flat = None if moments is None else [m[0] if len(m) == 1 else m for m in moments]
    charge = number(fields.get("charge", ""))
    return Crystal.of(
        lattice,
        [row[place[0]] for row in rows],
        to_fractional(lattice, _numbers(rows, positions)),
        None if flat is None else collinear(flat, n),
        charge,
    )


def _columns(text: str) -> dict[str, tuple[int, int]]:
    """First and last + 1 column of each property."""
    words = text.split(":")
    if len(words) % 3 or not all((integer(w) or 0) > 0 for w in words[2::3]):
        raise StructureUnreadable("Properties: expected name:type:columns, again and again")
    places, at = {}, 0
    for name, width in zip(words[::3], words[2::3], strict=True):
        places[name.lower()] = (at, at + int(width))
        at += int(width)
    return places


def _numbers(rows: list[list[str]], place: tuple[int, int]) -> list[list[float]]:
    found = [[number(w) for w in row[slice(*place)]] for row in rows]
    if any(x is None for row in found for x in row):
        raise StructureUnreadable("a position or a moment is not a number")
    return [[x for x in row if x is not None] for row in found]
