"""Structures: reading them, and whether two of them are the same.

Equivalence is decided by `difference`: choice of the cell, origin, orientation and order of sites never matter; whether
supercells, mirror images, flipped slabs, magnetic moments and charge do is said by a `Match`.
"""

from ._crystal import Crystal, StructureUnreadable, crystal_from_json
from ._elements import ELEMENTS
from ._match import MOMENTS, Difference, Match, difference
from ._read import FORMATS, format_of, read_structure
from ._slab import AXES
from ._symmetry import NoSpaceGroup, SymmetryUnknown, same_space_group, space_group_number, space_group_of
from ._write import ENDINGS, write_structure

__all__ = [
    "AXES",
    "ELEMENTS",
    "ENDINGS",
    "FORMATS",
    "MOMENTS",
    "Crystal",
    "Difference",
    "Match",
    "NoSpaceGroup",
    "StructureUnreadable",
    "SymmetryUnknown",
    "crystal_from_json",
    "difference",
    "format_of",
    "read_structure",
    "same_space_group",
    "space_group_number",
    "space_group_of",
    "write_structure",
]
