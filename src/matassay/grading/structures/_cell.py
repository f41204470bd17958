"""Labelled points in a periodic cell: the smallest cell, and superposition of two of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ._crystal import Floats, Integers
from ._lattice import TooLarge, congruent_bases, coset_points, short_basis, short_plane

#: Sites nearer than this to their translated images, in angstrom, make a translation of the lattice.
SAME: Final = 0.01
#: False candidates for translations that are struck off before a cell is left as it is.
_ATTEMPTS: Final = 20
#: Orientations of one lattice on another that are collected, and of those, best first, the ones that are tried.
MOST_BASES, MOST_TRIES = 20_000, 400
#: Pairs of points that are compared each with each, before a tree pays.
FEW: Final = 4_000


@dataclass(frozen=True, eq=False)
class Cell:
    """A lattice with labelled sites. ``plane``: a layer, whose third vector is its normal and no translation."""

    basis: Floats
    """Lattice vectors as rows, angstrom."""
    sites: Floats
    """Fractional positions."""
    labels: Integers
    """What is on each site."""
    plane: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    def within(self, basis: Floats) -> Cell:
        """The same sites in another basis of the same lattice."""
        return Cell(basis, self.sites @ self.basis @ np.linalg.inv(basis), self.labels, self.plane)

    def shortest(self) -> Cell:
        """In a basis of short vectors."""
        if self.plane:
            return self.within(np.vstack([short_plane(self.basis[:2]), self.basis[2:]]))
        return self.within(short_basis(self.basis))

    @cached_property
    def rarest(self) -> Integers:
        """Sites of the label that is on the fewest."""
        found, counts = np.unique(self.labels, return_counts=True)
        return np.flatnonzero(self.labels == found[np.argmin(counts)]).astype(np.int64)

    @cached_property
    def finder(self) -> Finder:
        """Looks for sites."""
        return Finder(self)


class Finder:
    """Finds the site of a label that is nearest to a point, under periodic boundaries."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._per_angstrom = float(np.linalg.norm(np.linalg.inv(cell.basis), 2))
        self._members = {int(n): np.flatnonzero(cell.labels == n) for n in np.unique(cell.labels)}
        self._trees: dict[int, Any] = {}

    def nearest(self, points: Floats, labels: Integers, reach: float) -> Integers:
        """Index of the site for each point, or -1 if none lies within ``reach``, angstrom (a little more may pass)."""
        found = np.full(len(points), -1, dtype=np.int64)
        for label, members in self._members.items():
            chosen = np.flatnonzero(labels == label)
            if not len(chosen):
                continue
            few = len(chosen) * len(members) <= FEW
            near = (self._compared if few else self._searched)(label, points[chosen], reach)
            found[chosen[near >= 0]] = members[near[near >= 0]]
        return found

    def _compared(self, label: int, points: Floats, reach: float) -> Integers:
        """Each point with each site."""
        offset = points[:, None, :] - self._cell.sites[self._members[label]][None, :, :]
        offset -= np.round(offset)
        distance = np.linalg.norm(offset @ self._cell.basis, axis=2)
        near = distance.argmin(axis=1)
        return np.where(distance[np.arange(len(points)), near] <= reach, near, -1).astype(np.int64)

    def _searched(self, label: int, points: Floats, reach: float) -> Integers:
        """With a tree."""
        if label not in self._trees:
            from scipy.spatial import cKDTree  # takes a second to import, and most structures are small

            self._trees[label] = cKDTree(_wrapped(self._cell.sites[self._members[label]]), boxsize=1.0)
        radius = min(reach * self._per_angstrom, 0.5)
        _, near = self._trees[label].query(_wrapped(points), distance_upper_bound=radius)
        return np.where(near < len(self._members[label]), near, -1).astype(np.int64)


def _wrapped(points: Floats) -> Floats:
    """Into [0, 1); a tiny negative number would round to 1."""
    inside: Floats = points % 1.0
    inside[inside >= 1.0] = 0.0
    return inside


def smallest(cell: Cell) -> Cell:
    """The primitive cell; the same one where the translations that were found make no lattice."""
    cell = cell.shortest()
    shifts = _probed_shifts(cell)
    for _ in range(_ATTEMPTS):
        if not len(shifts):
            return cell
        basis = _finer_basis(cell, shifts)
        own = basis @ np.linalg.inv(cell.basis)
        false = next((shift for shift in own[: 2 if cell.plane else 3] if not _is_translation(cell, shift)), None)
        if false is None:
            return _reduced(cell, basis)
        apart = shifts - false
        shifts = shifts[np.abs(apart - np.round(apart)).max(axis=1) > 1e-9]
    return cell


def _probed_shifts(cell: Cell) -> Floats:
    """Shifts from one site to others of its kind that bring a few more sites onto others: candidates for translations."""
    shifts: Floats = cell.sites[cell.rarest[1:]] - cell.sites[cell.rarest[0]]
    if cell.plane:  # another height is no translation of a layer
        shifts = shifts[np.abs(shifts[:, 2]) * np.linalg.norm(cell.basis[2]) <= SAME] * (1, 1, 0)
    if not len(shifts):
        return shifts
    probe = np.unique(np.linspace(0, len(cell) - 1, 8).astype(int))
    moved = (cell.sites[probe][None, :, :] + shifts[:, None, :]).reshape(-1, 3)
    hits = cell.finder.nearest(moved, np.tile(cell.labels[probe], len(shifts)), 4 * SAME).reshape(len(shifts), -1)
    found: Floats = shifts[(hits >= 0).all(axis=1)]
    return found


def _is_translation(cell: Cell, shift: Floats) -> bool:
    """Whether a shift brings every site onto another of its kind."""
    moved = cell.sites + shift
    partner = cell.finder.nearest(moved, cell.labels, 4 * SAME)
    if (partner < 0).any() or len(np.unique(partner)) < len(cell):
        return False
    offset = cell.sites[partner] - moved
    return bool((np.linalg.norm((offset - np.round(offset)) @ cell.basis, axis=1) <= SAME).all())


def _reduced(cell: Cell, basis: Floats) -> Cell:
    """The sites of a finer lattice, each once."""
    whole = cell.within(basis)
    kept: list[int] = []
    for n in range(len(cell)):
        others = whole.sites[kept] - whole.sites[n]
        near = np.linalg.norm((others - np.round(others)) @ basis, axis=1) <= 4 * SAME
        if not (near & (whole.labels[kept] == whole.labels[n])).any():
            kept.append(n)
    ratio = abs(np.linalg.det(cell.basis) / np.linalg.det(basis))
    if abs(len(cell) / len(kept) - ratio) > 0.01 * ratio:
        return cell
    return Cell(basis, whole.sites[kept], whole.labels[kept], cell.plane)


def _finer_basis(cell: Cell, shifts: Floats) -> Floats:
    """Shortest independent vectors among the shifts and the lattice vectors: up to three dimensions they are a basis."""
    steps = np.array([[i, j, k] for i in (-1, 0, 1) for j in (-1, 0, 1) for k in (-1, 0, 1)])
    if cell.plane:
        steps = steps[steps[:, 2] == 0]
    shifts = np.vstack([np.zeros(3), shifts])
    vectors = ((shifts - np.round(shifts))[:, None, :] + steps[None, :, :]).reshape(-1, 3) @ cell.basis
    lengths = np.linalg.norm(vectors, axis=1)
    chosen: list[Floats] = []
    for n in np.argsort(lengths, kind="stable"):
        if lengths[n] > 1e-3 and _independent([*chosen, vectors[n]]):
            chosen.append(vectors[n])
        if len(chosen) == (2 if cell.plane else 3):
            break
    return np.array([*chosen, cell.basis[2]]) if cell.plane else np.array(chosen)


def _independent(vectors: Sequence[Floats]) -> bool:
    units = np.array([v / np.linalg.norm(v) for v in vectors])
    return bool(np.linalg.svd(units, compute_uv=False)[-1] > 1e-3)


@dataclass(frozen=True)
class Bounds:
    """How far two cells may differ."""

    length: float
    """Relative, of each lattice vector."""
    angle: float
    """Of each angle, degrees."""
    site: float
    """Of each site after the best shift, angstrom."""
    mirror: bool = True
    """Whether mirror images count as the same."""
    flip: bool = True
    """Of layers: whether one may be turned upside down."""


Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Indices of sites of the first and of the second cell that lie on each other."""


def orientations(small: Cell, big: Cell, bounds: Bounds) -> list[Integers]:
    """Lattice vectors of the small cell that are congruent with the short basis of the big one, best first."""
    wanted = big.basis
    ratio = len(big) // len(small)
    found: list[Integers] = []
    if small.plane:
        pairs = congruent_bases(small.basis[:2], wanted[:2], bounds.length, bounds.angle)
        found = [
            np.array([[*pair[0], 0], [*pair[1], 0], [0, 0, up]])
            for pair in islice(pairs, MOST_BASES)
            for up in ((1, -1) if bounds.flip else (1,))
        ]
    else:
        found = list(islice(congruent_bases(small.basis, wanted, bounds.length, bounds.angle), MOST_BASES))
    if len(found) >= MOST_BASES:
        raise TooLarge("the lattice repeats too often within the cell to be compared")
    kept = [c for c in found if round(abs(float(np.linalg.det(c)))) == ratio]
    if not bounds.mirror:
        kept = [c for c in kept if np.linalg.det(c @ small.basis) * np.linalg.det(wanted) > 0]
    gram = wanted @ wanted.T

    def stretch(coefficients: Integers) -> float:
        """Greatest relative change of length in any direction."""
        vectors = coefficients @ small.basis
        squares = np.linalg.eigvals(np.linalg.solve(gram, vectors @ vectors.T)).real
        return float(np.abs(np.sqrt(np.maximum(squares, 0)) - 1).max())

    # Short vectors lie askew to the axes of a strain and show half of it: a tetragonal cell passed for a cubic one.
    limit = bounds.length + np.radians(bounds.angle)
    kept = [c for c in kept if stretch(c) <= limit]

    def misfit(coefficients: Integers) -> tuple[float, float]:
        vectors = coefficients @ small.basis
        # Of equally good ones first the one that turns nothing: most structures stand as the reference does.
        return round(float(np.abs(vectors @ vectors.T - gram).sum()), 6), float(np.abs(vectors - wanted).sum())

    return sorted(kept, key=misfit)


def superpositions(small: Cell, big: Cell, bounds: Bounds) -> Iterator[Pairs]:
    """All ways to lay one structure on the other within the bounds.

    Parameters
    ----------
    small, big : Cell
        In short bases; the big one may be a supercell.
    bounds : Bounds
        Tolerances.

    Yields
    ------
    pair of arrays
        Sites of ``small`` and the sites of ``big`` on which they come to lie.

    Raises
    ------
    TooLarge
        If the search would take too long.
    """
    for n, coefficients in enumerate(orientations(small, big, bounds)):
        if n >= MOST_TRIES:
            raise TooLarge("there are too many ways to lay the lattices on each other")
        copies = coset_points(coefficients)
        points = ((small.sites[:, None, :] + copies[None, :, :]).reshape(-1, 3)) @ np.linalg.inv(coefficients)
        origin = np.repeat(np.arange(len(small)), len(copies))
        labels = small.labels[origin]
        vectors = coefficients @ small.basis
        metric = (vectors @ vectors.T + big.basis @ big.basis.T) / 2
        # Some site of the small cell comes to lie on a given site of the big one; which copy of it makes no difference.
        for partner in _shifted(points, labels, big, metric, bounds.site, small.rarest * len(copies)):
            yield origin, partner


def _shifted(
    points: Floats, labels: Integers, big: Cell, metric: Floats, reach: float, anchors: Integers
) -> Iterator[Integers]:
    """Partners of all points for each shift that brings every one of them near enough to a site of its own."""
    # One atom is laid exactly on another, so the rest may be off by its error as well as by their own; the mean shift,
    # which is taken out afterwards, can hold a third such error.
    wide = 3 * reach
    target = np.flatnonzero(big.labels == labels[anchors[0]])[0]
    shifts = big.sites[target] - points[anchors]
    probe = np.unique(np.linspace(0, len(points) - 1, 8).astype(int))
    tried = (points[probe][None, :, :] + shifts[:, None, :]).reshape(-1, 3)
    hits = big.finder.nearest(tried, np.tile(labels[probe], len(shifts)), wide).reshape(len(shifts), -1)
    for shift in shifts[(hits >= 0).all(axis=1)]:
        partner = big.finder.nearest(points + shift, labels, wide)
        if (partner < 0).any() or len(np.unique(partner)) < len(points):
            continue
        offset = big.sites[partner] - points - shift
        offset -= np.round(offset)
        offset -= offset.mean(axis=0)
        if np.sqrt(np.einsum("ni,ij,nj->n", offset, metric, offset).max()) <= reach:
            yield partner
