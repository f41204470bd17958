"""Whether two structures are the same for a stated purpose, and if not, in what they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from ._cell import Bounds, Cell, Pairs, smallest, superpositions
from ._crystal import LONGEST, Crystal, Floats
from ._lattice import TooLarge
from ._slab import as_layer
from ._symmetry import SymmetryUnknown, space_group_of

#: What may be asked of magnetic moments.
MOMENTS: Final = ("ignore", "signs", "values")

#: Added to the thickness of a layer for its volume, angstrom: about half a bond on either side.
_SKIN = 2.0

#: Height of the box in which layers are compared, angstrom: the same for all, and more than any slab is thick.
_HEIGHT = 2 * LONGEST


@dataclass(frozen=True)
class Match:
    """What counts as the same structure. Order of sites, origin and choice of the cell never matter."""

    length: float = 0.02
    """Tolerance of each lattice vector, relative."""
    site: float = 0.03
    """Tolerance of each site after the best shift, in units of the cube root of the volume per atom."""
    angle: float = 0.5
    """Tolerance of each angle of the cell, degrees."""
    supercell: bool = True
    """Whether another number of cells counts as the same."""
    mirror: bool = True
    """Whether a mirror image counts as the same."""
    vacuum: str | None = None
    """Of slabs: the lattice vector, ``a``, ``b`` or ``c``, along which there is vacuum; how much does not matter."""
    least_vacuum: float = 0.0
    """Of slabs: vacuum that must be there, angstrom."""
    flip: bool = True
    """Of slabs: whether one may be turned upside down."""
    moments: str = "ignore"
    """Of magnetic moments: ``ignore``; ``signs``: up, down and none, up to reversal of all; ``values``: sizes as well."""
    moment: float = 0.1
    """Size below which a moment counts as none, and tolerance of sizes, Bohr magnetons."""
    charge: bool = False
    """Whether the charge of the cell must agree."""
    symprec: float | None = None
    """If given: both must have the same space group at this tolerance, angstrom. Catches distortions too small for
    the tolerance of sites."""


@dataclass(frozen=True)
class Difference:
    """In what a structure differs from the one that was wanted."""

    message: str
    """One sentence without a subject; it does not tell the right value."""
    missing: bool = False
    """Whether something was not given at all, rather than wrong."""


def difference(found: Crystal, wanted: Crystal, match: Match = Match()) -> Difference | None:
    """In what ``found`` differs from ``wanted``; None if they are equivalent.

    Raises
    ------
    ValueError
        If ``wanted`` itself lacks what is to be compared: the mistake is then in the task.
    """
    if match.moments != "ignore" and wanted.moments is None:
        raise ValueError("the reference structure has no magnetic moments to compare with")
    if found.formula != wanted.formula:
        return Difference(f"has the composition {found.formula[:60]}, which is not the right one")
    if not match.supercell and len(found.species) != len(wanted.species):
        return Difference(f"has {len(found.species)} atoms, which is not the right number of them")
    if match.charge:
        if found.charge is None:
            return Difference("gives no charge", missing=True)
        if abs(found.charge - (wanted.charge or 0.0)) > 1e-6:
            return Difference("has another charge")
    if match.moments != "ignore" and found.moments is None:
        return Difference("gives no magnetic moments", missing=True)
    try:
        return _vacuum(found, match) or _size(found, wanted, match) or _sites(found, wanted, match)
    except TooLarge as error:
        return Difference(f"cannot be compared: {error}")


def _vacuum(found: Crystal, match: Match) -> Difference | None:
    if match.vacuum is None:
        return None
    layer = as_layer(found, match.vacuum)
    if layer.vacuum < max(match.least_vacuum, 3.0) - 1e-6:
        needed = max(match.least_vacuum, 3.0)
        return Difference(f"has {layer.vacuum:.2f} angstrom of vacuum along {match.vacuum}, needed are {needed:g}")
    return None


def _size(found: Crystal, wanted: Crystal, match: Match) -> Difference | None:
    """Volume per atom (of slabs: area and thickness), and the space group."""
    if match.vacuum is None:
        ratio = (found.volume / len(found.species)) / (wanted.volume / len(wanted.species))
        if not (1 - match.length) ** 3 <= ratio <= (1 + match.length) ** 3:
            return Difference(f"has a volume per atom that differs by {abs(ratio - 1):.1%} from the right one")
    else:
        one, other = as_layer(found, match.vacuum), as_layer(wanted, match.vacuum)
        ratio = (one.area / len(found.species)) / (other.area / len(wanted.species))
        if not (1 - match.length) ** 2 <= ratio <= (1 + match.length) ** 2:
            return Difference(f"has an area per atom that differs by {abs(ratio - 1):.1%} from the right one")
        apart = abs(one.thickness - other.thickness)
        if apart > 2 * _reach(wanted, match):
            return Difference(f"has a thickness that differs by {apart:.2f} angstrom from the right one")
    if match.symprec is not None:
        try:
            group = space_group_of(found, match.symprec)
        except SymmetryUnknown as error:
            return Difference(f"has no space group: {error}")
        if group != _group_of_reference(wanted, match.symprec):
            return Difference(f"has the space group {group} within {match.symprec:g} angstrom, not the right one")
    return None


@lru_cache(maxsize=32)
def _group_of_reference(wanted: Crystal, symprec: float) -> int:
    """References are few and come again with every deck; symmetry is a third of the time of a comparison."""
    return space_group_of(wanted, symprec)


def _reach(wanted: Crystal, match: Match) -> float:
    """Tolerance of sites, angstrom."""
    volume = wanted.volume
    if match.vacuum is not None:
        layer = as_layer(wanted, match.vacuum)
        volume = layer.area * (layer.thickness + _SKIN)
    return float(match.site * (volume / len(wanted.species)) ** (1 / 3))


def _sites(found: Crystal, wanted: Crystal, match: Match) -> Difference | None:
    bounds = Bounds(match.length, match.angle, _reach(wanted, match), match.mirror, match.flip)
    if match.moments == "ignore":
        if next(_laid(found, wanted, match, bounds, 0), None) is not None:
            return None
    else:
        for sense in (1, -1):
            for pairs in _laid(found, wanted, match, bounds, sense):
                if match.moments == "signs" or _same_sizes(found, wanted, pairs, match.moment):
                    return None
        if next(_laid(found, wanted, match, bounds, 0), None) is not None:
            return Difference("has the right sites, but not the right magnetic moments")
    text = f"{match.length:.3g} of each length and {match.angle:g} deg"
    return Difference(
        f"cannot be laid on the right one so that the lattices agree within {text} and every site within "
        f"{bounds.site:.3f} angstrom"
    )


def _laid(found: Crystal, wanted: Crystal, match: Match, bounds: Bounds, sense: int) -> Iterator[Pairs]:
    """Sites of the crystals that lie on each other, found first, for each way to superpose them.

    ``sense``: 0 ignores moments, 1 compares their signs, -1 after reversal of all of ``found``.
    """
    kinds: dict[tuple[str, int], int] = {}
    own = _cell(found, match, _labels(found, match, sense, kinds))
    ours = _cell(wanted, match, _labels(wanted, match, abs(sense), kinds))
    if sorted(set(own.labels)) != sorted(set(ours.labels)):
        return
    if match.supercell:
        # Sizes of moments may differ between sites that their signs make equal: they are compared in the full cells.
        own, ours = (own.shortest(), ours.shortest()) if match.moments == "values" else (smallest(own), smallest(ours))
    else:
        own, ours = own.shortest(), ours.shortest()
    small, big = (own, ours) if len(own) <= len(ours) else (ours, own)
    if len(big) % len(small):
        return
    for one, other in superpositions(small, big, bounds):
        yield (one, other) if small is own else (other, one)


def _labels(crystal: Crystal, match: Match, sense: int, kinds: dict[tuple[str, int], int]) -> list[int]:
    """A number for each kind of site; ``kinds`` is shared by the structures that are compared."""
    moments = np.array(crystal.moments if sense and crystal.moments is not None else np.zeros(len(crystal.species)))
    signs = np.where(np.abs(moments) < match.moment, 0, np.sign(moments) * (sense or 1)).astype(int)
    keys = zip(crystal.species, (int(s) for s in signs), strict=True)
    return [kinds.setdefault(key, len(kinds)) for key in keys]


def _cell(crystal: Crystal, match: Match, labels: list[int]) -> Cell:
    if match.vacuum is None:
        return Cell(crystal.cell, crystal.sites, np.array(labels, dtype=np.int64))
    layer = as_layer(crystal, match.vacuum)
    basis = np.vstack([layer.plane, layer.normal * _HEIGHT])
    return Cell(basis, layer.positions @ np.linalg.inv(basis), np.array(labels, dtype=np.int64), plane=True)


def _same_sizes(found: Crystal, wanted: Crystal, pairs: Pairs, tolerance: float) -> bool:
    assert found.moments is not None
    assert wanted.moments is not None
    own, ours = np.abs(np.array(found.moments))[pairs[0]], np.abs(np.array(wanted.moments))[pairs[1]]
    sizes: Floats = np.abs(own - ours)
    return bool((sizes <= tolerance + 1e-9).all())
