"""Crystallographic information files: cell, symmetry operations, atoms. A reader of our own, that evaluates nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ._crystal import MOST_ATOMS, Crystal, Floats, StructureUnreadable
from ._elements import ELEMENTS
from ._text import number

_OPERATIONS = ("_space_group_symop_operation_xyz", "_symmetry_equiv_pos_as_xyz")
_TABLES = ("_space_group_it_number", "_symmetry_int_tables_number")
_LENGTHS = ("_cell_length_a", "_cell_length_b", "_cell_length_c")
_ANGLES = ("_cell_angle_alpha", "_cell_angle_beta", "_cell_angle_gamma")
_FRACTIONS = ("_atom_site_fract_x", "_atom_site_fract_y", "_atom_site_fract_z")

#: Images of an atom nearer to each other than this, in angstrom, are one atom on a symmetry element.
_SAME = 0.05


@dataclass
class _Block:
    """First data block of a file."""

    items: dict[str, str] = field(default_factory=dict)
    loops: list[dict[str, list[str]]] = field(default_factory=list)

    def column(self, *names: str) -> list[str] | None:
        """The first loop column, or single item, of one of these names."""
        for name in names:
            for loop in self.loops:
                if name in loop:
                    return loop[name]
            if name in self.items:
                return [self.items[name]]
        return None


def read_cif(text: str) -> Crystal:
    """Read the first data block of a CIF; symmetry operations are applied, partial occupancies are refused."""
    block = _parse(text)
    cell = _cell([_value(block.items, name) for name in (*_LENGTHS, *_ANGLES)])
    columns = [block.column(name) for name in _FRACTIONS]
    labels = block.column("_atom_site_type_symbol", "_atom_site_label")
    if not labels or any(c is None or len(c) != len(labels) for c in columns):
        raise StructureUnreadable("expected a loop with _atom_site_label and _atom_site_fract_x, _y, _z")
    occupancy = block.column("_atom_site_occupancy")
    if occupancy and any(abs((_plain_number(o) or 0.0) - 1) > 1e-3 for o in occupancy):
        raise StructureUnreadable("an occupancy is not 1: disordered structures are not compared")
    positions = np.array([[_required(x, name) for x in c or ()] for name, c in zip(_FRACTIONS, columns, strict=True)]).T
    elements = [_element(label) for label in labels]
    return _expanded(cell, elements, positions, _operations(block))


Token = tuple[bool, str]
"""Whether a word stood without quotes, and the word."""


def _tokens(text: str) -> Iterator[Token]:
    """Words of a file, once through it: nothing in a hostile one makes it slow."""
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(";"):
            block = [line[1:]]
            for more in lines:
                if more.startswith(";"):
                    break
                block.append(more)
            else:
                raise StructureUnreadable("a text that begins with a semicolon does not end")
            yield False, "\n".join(block)
            continue
        at = 0
        while at < len(line):
            if line[at].isspace():
                at += 1
            elif line[at] == "#":
                break
            elif line[at] in "'\"":
                # a quote ends a word only before a blank: 'O1' may hold O' inside
                end = line.find(line[at], at + 1)
                while 0 <= end < len(line) - 1 and not line[end + 1].isspace():
                    end = line.find(line[at], end + 1)
                if end < 0:
                    raise StructureUnreadable(f"a quote is not closed: {line[at : at + 20]!r}")
                yield False, line[at + 1 : end]
                at = end + 1
            else:
                start = at
                while at < len(line) and not line[at].isspace():
                    at += 1
                yield True, line[start:at]


def _parse(text: str) -> _Block:
    block, started = _Block(), False
    tokens = list(_tokens(text))
    at = 0
    while at < len(tokens):
        plain, token = tokens[at]
        lowered = token.lower() if plain else ""
        at += 1
        if lowered.startswith("data_"):
            if started:
                break
            started = True
        elif lowered == "loop_":
            names = []
            while at < len(tokens) and tokens[at][0] and tokens[at][1].startswith("_"):
                names.append(tokens[at][1].lower())
                at += 1
            values = []
            while at < len(tokens) and not _is_word(tokens[at]):
                values.append(tokens[at][1])
                at += 1
            if not names or len(values) % len(names):
                raise StructureUnreadable(f"a loop of {len(names)} columns has {len(values)} values")
            block.loops.append({name: values[n :: len(names)] for n, name in enumerate(names)})
        elif lowered.startswith("_") and at < len(tokens):
            if _is_word(tokens[at]):
                raise StructureUnreadable(f"{token[:40]} has no value")
            block.items[lowered] = tokens[at][1]
            at += 1
    if not started:
        raise StructureUnreadable("it has no data block")
    return block


def _is_word(token: Token) -> bool:
    return token[0] and (token[1].startswith("_") or token[1].lower().startswith(("loop_", "data_")))


def _plain_number(text: str) -> float | None:
    """A number without its standard uncertainty in brackets."""
    return number(re.sub(r"\(\d+\)$", "", text))


def _required(text: str, name: str) -> float:
    value = _plain_number(text)
    if value is None:
        raise StructureUnreadable(f"{name}: {text[:20]!r} is not a number")
    return value


def _value(items: Mapping[str, str], name: str) -> float:
    if name not in items:
        raise StructureUnreadable(f"{name} is missing")
    return _required(items[name], name)


def _cell(values: Sequence[float]) -> Floats:
    a, b, c = values[:3]
    alpha, beta, gamma = np.radians(values[3:])
    cx = np.cos(beta)
    cy = (np.cos(alpha) - np.cos(beta) * np.cos(gamma)) / max(np.sin(gamma), 1e-6)
    height = 1 - cx**2 - cy**2
    if min(a, b, c) <= 0 or height <= 0 or np.sin(gamma) < 1e-3:
        raise StructureUnreadable("lengths and angles of the cell do not make a cell")
    return np.array([[a, 0, 0], [b * np.cos(gamma), b * np.sin(gamma), 0], [c * cx, c * cy, c * np.sqrt(height)]])


def _element(label: str) -> str:
    """Element of a label such as ``Si1``, ``O2-`` or ``FE``."""
    match = re.match(r"[A-Za-z]{1,2}", label)
    for n in (2, 1):
        name = match[0][:n].capitalize() if match else ""
        if name in ELEMENTS and (n == 2 or match is not None):
            return name
    raise StructureUnreadable(f"_atom_site_label {label[:20]!r} does not begin with an element")


Operation = tuple[Floats, Floats]


def _operations(block: _Block) -> list[Operation]:
    texts = block.column(*_OPERATIONS)
    if texts:
        if len(texts) > 192:
            raise StructureUnreadable(f"{len(texts)} symmetry operations: no space group has more than 192")
        return [_operation(t) for t in texts]
    table = block.column(*_TABLES)
    name = block.column("_symmetry_space_group_name_h-m", "_space_group_name_h-m_alt")
    if (table and table[0] not in ("1", "?", ".")) or (name and name[0].replace(" ", "") not in ("P1", "?", ".")):
        raise StructureUnreadable("it names a space group but lists no symmetry operations")
    return [_operation("x,y,z")]


def _operation(text: str) -> Operation:
    """Rotation and shift of an operation such as ``-y, x-y, z+1/3``."""
    parts = re.sub(r"\s", "", text.lower()).split(",")
    if len(parts) != 3:
        raise StructureUnreadable(f"symmetry operation {text[:40]!r}: expected three parts")
    rotation, shift = np.zeros((3, 3)), np.zeros(3)
    for row, part in enumerate(parts):
        terms = re.findall(r"[+-]?[^+-]+", part)
        if not terms or "".join(terms) != part:
            raise StructureUnreadable(f"symmetry operation {text[:40]!r} is not readable")
        for term in terms:
            sign, body = (-1.0 if term[0] == "-" else 1.0), term.lstrip("+-")
            if body in ("x", "y", "z"):
                rotation[row]["xyz".index(body)] += sign
            elif re.fullmatch(r"\d{1,3}(?:\.\d{1,12})?(?:/[1-9]\d{0,2})?", body):
                top, _, bottom = body.partition("/")
                shift[row] += sign * float(Fraction(top) / int(bottom or 1))
            else:
                raise StructureUnreadable(f"symmetry operation {text[:40]!r}: {body[:10]!r} is not readable")
    return rotation, shift


def _expanded(cell: Floats, elements: Sequence[str], positions: Floats, operations: Iterable[Operation]) -> Crystal:
    """All images of all atoms, those that coincide once."""
    operations = list(operations)
    if len(elements) * len(operations) > 4 * MOST_ATOMS:
        raise StructureUnreadable(f"{len(elements)} atoms under {len(operations)} operations are too many to compare")
    names: list[str] = []
    sites: list[Floats] = []
    for element, position in zip(elements, positions, strict=True):
        images = np.array([(rotation @ position + shift) % 1.0 for rotation, shift in operations])
        kept = np.zeros((0, 3))
        for image in images:
            difference = kept - image
            distance = np.linalg.norm((difference - np.round(difference)) @ cell, axis=1)
            if not (distance < _SAME).any():
                kept = np.vstack([kept, image])
        names += [element] * len(kept)
        sites.append(kept)
    return Crystal.of(cell, names, np.vstack(sites))
