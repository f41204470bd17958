"""Equivalence of structures: what must not matter, what must, and files that somebody else wrote."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matassay.grading.structures import (
    FORMATS,
    Crystal,
    Match,
    NoSpaceGroup,
    StructureUnreadable,
    SymmetryUnknown,
    crystal_from_json,
    difference,
    format_of,
    read_structure,
    same_space_group,
    space_group_number,
    space_group_of,
)
from matassay.grading.structures._cell import Bounds, Cell, orientations
from matassay.grading.structures._elements import SYMBOLS, WEIGHTS, element_of_mass
from matassay.grading.structures._lattice import short_basis

FCC = [[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]]


def rotation(seed: int) -> Any:
    """A proper rotation."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def supercell(crystal: Crystal, matrix: Any) -> Crystal:
    """Another cell of the same crystal, by counting lattice points: independent of the code under test."""
    matrix = np.array(matrix)
    size = round(abs(np.linalg.det(matrix)))
    reach = int(np.abs(matrix).sum())
    grid = np.array(
        [
            [i, j, k]
            for i in range(-reach, reach + 1)
            for j in range(-reach, reach + 1)
            for k in range(-reach, reach + 1)
        ]
    )
    names, sites, moments = [], [], []
    for n, (species, site) in enumerate(zip(crystal.species, crystal.sites, strict=True)):
        inside = ((grid + site) @ np.linalg.inv(matrix) + 1e-9) % 1.0
        kept = np.unique(np.round(inside, 7) % 1.0, axis=0)
        assert len(kept) == size
        sites.append(kept - 1e-9)
        names += [species] * size
        moments += [crystal.moments[n] if crystal.moments else 0.0] * size
    return Crystal.of(matrix @ crystal.cell, names, np.vstack(sites), moments if crystal.moments else None)


def moved(crystal: Crystal, seed: int, noise: float = 0.0) -> Crystal:
    """Rotated, shifted, shuffled, with positions off by up to ``noise``, angstrom."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(crystal.species))
    displacement = rng.uniform(-1, 1, (len(order), 3)) * noise / np.sqrt(3)
    sites = crystal.sites + rng.random(3) + displacement @ np.linalg.inv(crystal.cell)
    turned = crystal.cell @ rotation(seed)
    return Crystal.of(
        turned,
        [crystal.species[n] for n in order],
        sites[order],
        [crystal.moments[n] for n in order] if crystal.moments else None,
        crystal.charge,
    )


SILICON = Crystal.of(np.eye(3) * 5.431, ["Si"] * 8, FCC + [[x + 0.25, y + 0.25, z + 0.25] for x, y, z in FCC])
ZINCBLENDE = Crystal.of(np.eye(3) * 5.65, ["Ga"] * 4 + ["As"] * 4, SILICON.fractional)
PEROVSKITE = Crystal.of(
    np.eye(3) * 4.0,
    ["Ba", "Ti", "O", "O", "O"],
    [[0, 0, 0], [0.5, 0.5, 0.5], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]],
)
QUARTZ = Crystal.of(  # P3_121, a = 4.913, c = 5.405
    [[4.913, 0, 0], [-4.913 / 2, 4.913 * np.sqrt(3) / 2, 0], [0, 0, 5.405]],
    ["Si"] * 3 + ["O"] * 6,
    [[0.4697, 0, 1 / 3], [0, 0.4697, 2 / 3], [0.5303, 0.5303, 0],
     [0.4135, 0.2669, 0.2144], [0.7331, 0.1466, 0.5477], [0.8534, 0.5865, 0.8811],
     [0.2669, 0.4135, 0.7856], [0.1466, 0.7331, 0.4523], [0.5865, 0.8534, 0.1189]],
)  # fmt: skip
MIRRORED = Crystal.of(QUARTZ.cell * [1, 1, -1], QUARTZ.species, QUARTZ.fractional)
ALL = {"silicon": SILICON, "zincblende": ZINCBLENDE, "perovskite": PEROVSKITE, "quartz": QUARTZ}
CELLS = [
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]], [[1, 1, 0], [0, 1, 0], [0, 0, 1]], [[2, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[1, 1, 0], [-1, 1, 0], [0, 0, 1]], [[1, 2, 0], [0, 1, 3], [1, 0, 1]], [[2, 0, 0], [0, 2, 0], [0, 0, 2]],
]  # fmt: skip


# --- what does not matter


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("matrix", CELLS[1:], ids=str)
def test_cell_origin_orientation_and_order_do_not_matter(name: str, matrix: Any) -> None:
    other = moved(supercell(ALL[name], matrix), 3)
    assert difference(other, ALL[name]) is None
    assert difference(ALL[name], other) is None


@pytest.mark.parametrize("name", ALL)
def test_small_noise_does_not_matter_not_even_in_a_supercell(name: str) -> None:
    other = moved(supercell(ALL[name], np.diag([2, 2, 1])), 5, noise=0.03)
    assert difference(other, ALL[name]) is None
    assert difference(ALL[name], other) is None
    assert difference(moved(ALL[name], 1, noise=0.03), ALL[name], Match(supercell=False)) is None


@given(seed=st.integers(0, 10_000), matrix=st.sampled_from(CELLS[:5]))
@settings(max_examples=25, deadline=None)
def test_any_crystal_is_equivalent_to_itself_in_another_cell(seed: int, matrix: Any) -> None:
    rng = np.random.default_rng(seed)
    cell = np.diag(rng.uniform(3, 6, 3)) + rng.uniform(-0.8, 0.8, (3, 3))
    crystal = Crystal.of(cell, rng.choice(["O", "Ti", "Ba"], 5), rng.random((5, 3)))
    assert difference(moved(supercell(crystal, matrix), seed), crystal) is None


# --- what does


def test_scale_matters() -> None:
    """A matcher that rescales takes a lattice constant that is 5 % off."""
    for factor, same in ((1.005, True), (0.995, True), (1.019, True), (1.025, False), (1.05, False), (0.95, False)):
        other = Crystal.of(SILICON.cell * factor, SILICON.species, SILICON.fractional)
        found = difference(other, SILICON)
        assert (found is None) is same, factor
        if found:
            assert "volume per atom" in found.message
            assert "5.431" not in found.message
            assert "160" not in found.message
    sheared = Crystal.of(SILICON.cell * [1.03, 1 / 1.03, 1], SILICON.species, SILICON.fractional)
    assert "laid" in str(difference(sheared, SILICON))


@pytest.mark.parametrize(
    ("stretch", "same"), [(1.01, True), (1.014, True), (0.987, True), (1.03, False), (0.97, False)]
)
def test_strain_along_an_axis_of_a_centred_cell(stretch: float, same: bool) -> None:
    """The primitive vectors lie askew to the axis, and change by half of the strain."""
    other = Crystal.of(SILICON.cell * [1, 1, stretch], SILICON.species, SILICON.fractional)
    assert (difference(other, SILICON) is None) is same


def test_composition_and_number_of_atoms() -> None:
    assert "GeSi7" in str(
        difference(Crystal.of(SILICON.cell, ["Ge", *SILICON.species[1:]], SILICON.fractional), SILICON)
    )
    assert difference(supercell(SILICON, np.diag([2, 1, 1])), SILICON) is None
    assert "16 atoms" in str(difference(supercell(SILICON, np.diag([2, 1, 1])), SILICON, Match(supercell=False)))


def test_supercells_of_another_shape_are_other_supercells() -> None:
    cube, rod = supercell(SILICON, np.diag([2, 2, 2])), supercell(SILICON, np.diag([4, 2, 1]))
    assert difference(rod, cube) is None
    assert difference(moved(cube, 2), cube, Match(supercell=False)) is None
    assert difference(rod, cube, Match(supercell=False)) is not None


def test_atoms_that_are_exchanged() -> None:
    swapped = Crystal.of(PEROVSKITE.cell, ["Ti", "Ba", "O", "O", "O"], PEROVSKITE.fractional)
    assert difference(swapped, PEROVSKITE) is not None
    assert difference(Crystal.of(ZINCBLENDE.cell, ["As"] * 4 + ["Ga"] * 4, ZINCBLENDE.fractional), ZINCBLENDE) is None


def test_off_centre_titanium() -> None:
    """0.12 angstrom passes a usual matcher; a smaller shift is caught by the space group."""
    for shift, strict, by_group in ((0.12, False, False), (0.05, True, False), (0.0, True, True)):
        sites = np.array(PEROVSKITE.fractional)
        sites[1, 2] += shift / 4.0
        polar = Crystal.of(PEROVSKITE.cell, PEROVSKITE.species, sites)
        assert (difference(polar, PEROVSKITE) is None) is strict
        assert (difference(polar, PEROVSKITE, Match(symprec=1e-3)) is None) is by_group
    assert "99" in str(
        difference(
            Crystal.of(PEROVSKITE.cell, PEROVSKITE.species, [[0, 0, 0], [0.5, 0.5, 0.51], *sites[2:]]),
            PEROVSKITE,
            Match(symprec=1e-3),
        )
    )


def test_antiferroelectric_doubling_is_not_averaged_away() -> None:
    """A tolerant search for the primitive cell would merge Ti at +0.15 and -0.15 angstrom into the cubic cell."""
    double = supercell(PEROVSKITE, np.diag([2, 1, 1]))
    sites = np.array(double.fractional)
    titanium = [n for n, s in enumerate(double.species) if s == "Ti"]
    sites[titanium, 2] += np.array([0.15, -0.15]) / 4.0
    anti = Crystal.of(double.cell, double.species, sites)
    assert difference(anti, PEROVSKITE) is not None
    assert difference(PEROVSKITE, anti) is not None
    assert difference(moved(anti, 4), anti) is None


def test_mirror_images() -> None:
    assert space_group_of(QUARTZ, 1e-2) == 152
    assert space_group_of(MIRRORED, 1e-2) == 154
    assert difference(MIRRORED, QUARTZ) is None
    assert difference(MIRRORED, QUARTZ, Match(mirror=False)) is not None
    assert difference(moved(QUARTZ, 8), QUARTZ, Match(mirror=False)) is None


def test_charge() -> None:
    charged = Crystal.of(SILICON.cell, SILICON.species, SILICON.fractional, charge=2)
    neutral = Crystal.of(SILICON.cell, SILICON.species, SILICON.fractional, charge=0)
    assert difference(charged, neutral) is None
    assert "another charge" in str(difference(neutral, charged, Match(charge=True)))
    assert difference(charged, charged, Match(charge=True)) is None
    missing = difference(SILICON, charged, Match(charge=True))
    assert missing is not None
    assert missing.missing


# --- magnetic order

CHAIN = Crystal.of(np.diag([12.0, 4.1, 4.1]), ["Cr"] * 4, [[x / 4, 0, 0] for x in range(4)])
SIGNS = Match(moments="signs")


def ordered(*moments: float) -> Crystal:
    return Crystal.of(CHAIN.cell, CHAIN.species, CHAIN.fractional, moments)


@pytest.mark.parametrize(
    ("moments", "same"),
    [
        ((3, 3, -3, -3), True),
        ((-3, -3, 3, 3), True),
        ((3, -3, -3, 3), True),
        ((2.8, 2.8, -2.8, -2.8), True),
        ((3, -3, 3, -3), False),
        ((3, 3, 3, 3), False),
        ((3, 3, 0, 0), False),
        ((0, 0, 0, 0), False),
    ],
)
def test_magnetic_order_up_to_reversal_and_origin(moments: tuple[float, ...], same: bool) -> None:
    wanted = ordered(3, 3, -3, -3)
    found = difference(ordered(*moments), wanted, SIGNS)
    assert (found is None) is same
    assert difference(ordered(*moments), wanted) is None, "without being asked for, moments do not matter"
    if found:
        assert "moments" in found.message
    big = supercell(ordered(*moments), np.diag([1, 2, 1]))
    assert (difference(moved(big, 7), wanted, SIGNS) is None) is same


def test_magnetic_cell_larger_than_the_chemical_one() -> None:
    up_down = Crystal.of(np.diag([3.0, 4.1, 8.2]), ["Cr", "Cr"], [[0, 0, 0], [0, 0, 0.5]], [3, -3])
    flat = Crystal.of(np.diag([3.0, 4.1, 4.1]), ["Cr"], [[0, 0, 0]], [3])
    assert difference(flat, up_down, SIGNS) is not None
    assert difference(flat, up_down) is None


def test_sizes_of_moments() -> None:
    sizes = Match(moments="values", moment=0.15)
    wanted = ordered(3, 2, -3, -2)
    assert difference(ordered(2.9, 2.1, -3.1, -2), wanted, sizes) is None
    assert difference(ordered(-2, 3, 2, -3), wanted, sizes) is None, "another origin and reversal"
    assert difference(ordered(3, 3, -3, -3), wanted, sizes) is not None
    assert difference(ordered(3, 3, -3, -3), wanted, SIGNS) is None
    assert difference(moved(supercell(wanted, np.diag([1, 1, 2])), 1), wanted, sizes) is None


def test_moments_that_are_missing_on_either_side() -> None:
    found = difference(CHAIN, ordered(3, 3, -3, -3), SIGNS)
    assert found is not None
    assert found.missing
    with pytest.raises(ValueError, match="reference structure has no magnetic moments"):
        difference(ordered(3, 3, -3, -3), CHAIN, SIGNS)


# --- slabs


def bilayer(shift: float, vacuum: float, *, lift: float = 0.0, axis: int = 2) -> Crystal:
    """Two h-BN layers, parallel, the upper one shifted by ``shift`` bond lengths along the armchair direction."""
    a, d = 2.504, 3.33
    plane = np.array([[a, 0, 0], [-a / 2, a * np.sqrt(3) / 2, 0]])
    height = d + vacuum
    third = np.array([shift / 3, 2 * shift / 3])
    cell = np.vstack([plane, [0, 0, height]])
    sites = np.array(
        [
            [0, 0, lift],
            [1 / 3, 2 / 3, lift],
            [*third, lift + d / height],
            [1 / 3 + third[0], 2 / 3 + third[1], lift + d / height],
        ]
    )
    order = np.roll([0, 1, 2], axis - 2)
    return Crystal.of(cell[order], ["B", "N", "B", "N"], sites[:, order])


SLAB = Match(vacuum="c", least_vacuum=10)


@pytest.mark.parametrize("vacuum", [12, 20, 40])
@pytest.mark.parametrize("lift", [0.0, 0.45, 0.9])
def test_vacuum_and_height_of_a_slab_do_not_matter(vacuum: float, lift: float) -> None:
    """At 0.9 the slab lies across the boundary of the cell."""
    assert difference(bilayer(1, vacuum, lift=lift), bilayer(1, 15), SLAB) is None
    assert difference(bilayer(1, vacuum, lift=lift), bilayer(1, 15)) is not None, "as bulk crystals they differ"


def test_vacuum_that_is_too_thin_or_elsewhere() -> None:
    assert "8.00 angstrom of vacuum along c" in str(difference(bilayer(1, 8), bilayer(1, 15), SLAB))
    assert "vacuum along c" in str(difference(bilayer(1, 15, axis=0), bilayer(1, 15), SLAB))
    assert difference(bilayer(1, 12, axis=0), bilayer(1, 15, axis=0), Match(vacuum="a")) is None
    assert difference(SILICON, SILICON, SLAB) is not None


def test_stackings_and_flips() -> None:
    """AB and BA are one structure turned upside down, with opposite polarisation."""
    ab, ba, aa = bilayer(1, 15), bilayer(2, 15), bilayer(0, 15)
    upright = Match(vacuum="c", flip=False)
    assert difference(ab, aa, SLAB) is not None
    assert difference(ba, ab, SLAB) is None
    assert difference(ba, ab, upright) is not None
    assert difference(bilayer(1, 25, lift=0.8), ab, upright) is None
    turned = Crystal.of(ab.cell @ np.diag([-1, -1, 1]), ab.species, ab.fractional)
    assert difference(turned, ab, upright) is None, "turned about the normal it is the same"
    assert difference(supercell(ab, [[2, 1, 0], [0, 1, 0], [0, 0, 1]]), ab, upright) is None


def test_slab_with_a_tilted_third_vector() -> None:
    ab = bilayer(1, 15, lift=0.1)
    sites = ab.sites @ ab.cell
    cell = ab.cell + np.array([[0, 0, 0], [0, 0, 0], [0.7, -0.4, 0]])
    tilted = Crystal.of(cell, ab.species, sites @ np.linalg.inv(cell))
    assert difference(tilted, ab, SLAB) is None


def test_thickness_of_a_slab() -> None:
    for factor, same in ((1.01, True), (1.05, False), (1.2, False)):
        other = Crystal.of(bilayer(1, 15).cell * [1, 1, factor], ["B", "N", "B", "N"], bilayer(1, 15).fractional)
        assert (difference(other, bilayer(1, 15), SLAB) is None) is same
    assert "thickness" in str(difference(other, bilayer(1, 15), SLAB))


# --- judged by an independent matcher


def test_the_same_verdict_as_pymatgen_on_random_pairs() -> None:
    from pymatgen.analysis.structure_matcher import ElementComparator, StructureMatcher
    from pymatgen.core import Lattice, Structure

    def theirs(c: Crystal) -> Any:
        return Structure(Lattice(c.cell), c.species, c.sites)

    matcher = StructureMatcher(0.02, 0.03, 0.5, primitive_cell=False, scale=False, comparator=ElementComparator())
    agreed = {True: 0, False: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        base = list(ALL.values())[seed % 4]
        other = moved(base, seed, noise=float(rng.choice([0, 0.03, 0.25])))
        strain = float(rng.choice([0, 0.004, 0.04]))
        other = Crystal.of(other.cell @ (np.eye(3) + np.diag([strain, 0, 0])), other.species, other.fractional)
        ours = difference(other, base, Match(supercell=False)) is None
        assert ours == matcher.fit(theirs(other), theirs(base)), (seed, strain)
        agreed[ours] += 1
    assert min(agreed.values()) > 8


def test_short_bases_span_the_same_lattice_and_are_as_short_as_niggli() -> None:
    from pymatgen.core import Lattice

    for seed in range(40):
        rng = np.random.default_rng(seed)
        cell = rng.normal(size=(3, 3)) * 4
        skewed = np.array([[1, 0, 0], [7, 1, 0], [-5, 9, 1]]) @ cell
        short = short_basis(skewed)
        assert np.allclose(np.round(short @ np.linalg.inv(cell)), short @ np.linalg.inv(cell), atol=1e-6)
        assert abs(np.linalg.det(short)) == pytest.approx(abs(np.linalg.det(cell)))
        assert sorted(np.linalg.norm(short, axis=1)) == pytest.approx(
            sorted(Lattice(cell).get_niggli_reduced_lattice().abc)
        )


def test_weights_are_those_of_an_independent_table() -> None:
    from pymatgen.core import Element

    assert len(SYMBOLS) == 118
    for n, (symbol, weight) in enumerate(WEIGHTS.items(), start=1):
        assert n == Element(symbol).Z
        assert weight == pytest.approx(float(Element(symbol).atomic_mass), abs=0.1)
        assert element_of_mass(float(Element(symbol).atomic_mass)) == symbol


# --- space groups


def test_every_number_and_symbol_of_an_independent_table() -> None:
    from pymatgen.symmetry.groups import sg_symbol_from_int_number

    for number in range(1, 231):
        assert space_group_number(number) == number
        assert space_group_number(sg_symbol_from_int_number(number)) == number
        assert space_group_number(sg_symbol_from_int_number(number).replace("_", "")) == number


@pytest.mark.parametrize(
    ("symbol", "number"),
    [("Fm-3m", 225), ("F m -3 m", 225), ("fm-3m", 225), ("Fm3m", 225), (r"$Fm\bar{3}m$", 225), (r"Fm\overline{3}m", 225),
     ("F 4/m -3 2/m", 225), ("Fm3̅m", 225), ("Fd-3m:2", 227), ("P6_3/mmc", 194), ("P63/mmc", 194), ("P6₃/mmc", 194),
     ("P2_1/c", 14), ("P 1 21/c 1", 14), ("P21/n", 14), ("P 21/a", 14), ("P112_1/b", 14), ("C2/m", 12), ("I2/m", 12),
     ("Pnma", 62), ("Pbnm", 62), ("Cmce", 64), ("Cmca", 64), ("R-3m:H", 166), ("R-3m:R", 166), ("Oh^7", 227), ("P-1", 2),
     ("I4/mcm", 140), ("P 4 m m", 99), ("P4mm", 99)],
)  # fmt: skip
def test_spellings_and_settings(symbol: str, number: int) -> None:
    assert space_group_number(symbol) == number


@pytest.mark.parametrize(
    "value", [0, 231, -1, 10**30, True, None, 225.0, [225], "225", "", "Fm-3q", "P" * 1000, "Fm-3m or Pnma"]
)
def test_what_is_no_space_group(value: Any) -> None:
    with pytest.raises(NoSpaceGroup):
        space_group_number(value)


def test_mirror_pairs_of_space_groups() -> None:
    assert not same_space_group(152, 154)
    assert same_space_group(152, 154, enantiomorph=True)
    assert same_space_group(154, 152, enantiomorph=True)
    assert not same_space_group(152, 153, enantiomorph=True)


def test_space_groups_of_structures() -> None:
    assert [space_group_of(c) for c in (SILICON, ZINCBLENDE, PEROVSKITE)] == [227, 216, 221]
    with pytest.raises(SymmetryUnknown):
        space_group_of(Crystal.of(np.eye(3) * 3, ["Si", "Si"], [[0, 0, 0], [0, 0, 0]]))


# --- inline structures


def test_inline_structures() -> None:
    inline = {"lattice": np.array(SILICON.cell).tolist(), "species": ["Si"] * 8, "fractional": SILICON.sites.tolist()}
    assert difference(crystal_from_json(inline), SILICON) is None
    cartesian = {**inline, "cartesian": (SILICON.sites @ SILICON.cell).tolist(), "charge": 1}
    del cartesian["fractional"]
    assert difference(crystal_from_json(cartesian), SILICON) is None
    assert crystal_from_json(cartesian).charge == 1
    vectors = [[0, 0, 2], [0, 0, -2.0]] * 4
    assert crystal_from_json({**inline, "magnetic_moments": vectors}).moments == (2, -2) * 4
    tilted = [[1, 1, 0], [-1, -1, 0]] * 4
    assert crystal_from_json({**inline, "magnetic_moments": tilted}).moments == pytest.approx([2**0.5, -(2**0.5)] * 4)


GOOD = {"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, 3]], "species": ["Si"], "fractional": [[0, 0, 0]]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (None, "expected an object"),
        ([1], "expected an object"),
        ({"lattice": None}, "lattice: expected 3 rows"),
        ({"lattice": [[1, 2], [3, 4], [5, 6]]}, "lattice: expected 3 rows"),
        ({"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, float("nan")]]}, "finite"),
        ({"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, 1e300]]}, "finite"),
        ({"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, "3"]]}, "finite"),
        ({"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, True]]}, "finite"),
        ({"lattice": [[3, 0, 0], [6, 0, 0], [0, 0, 3]]}, "degenerate"),
        ({"lattice": [[0, 0, 0]] * 3}, "degenerate"),
        ({"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, 9000]]}, "degenerate"),
        ({"lattice": [[0.5, 0, 0], [0, 0.5, 0], [0, 0, 0.5]]}, "dense"),
        ({"species": "Si"}, "list of element symbols"),
        ({"species": [14]}, "list of element symbols"),
        ({"species": ["Xx"]}, "not the symbol"),
        ({"species": []}, "expected 0 rows"),
        ({"species": [], "fractional": []}, "0 atoms"),
        ({"species": ["Si", "Si"]}, "expected 2 rows"),
        ({"fractional": [[0, 0, 1e8]]}, "beyond all reason"),
        ({"fractional": [[0, 0, 10**400]]}, "finite"),
        ({"cartesian": [[0, 0, 0]]}, "either"),
        ({"coords": []}, "unknown key"),
        ({"charge": "2"}, "charge"),
        ({"magnetic_moments": [1, 2]}, "list of 1"),
        ({"magnetic_moments": "up"}, "list of 1"),
        ({"magnetic_moments": ["up"]}, "rows of three"),
    ],
)
def test_inline_structures_that_are_none(change: Any, message: str) -> None:
    value = {**GOOD, **change} if isinstance(change, dict) else change
    with pytest.raises(StructureUnreadable, match=message):
        crystal_from_json(value)


def test_moments_in_many_directions_are_refused() -> None:
    with pytest.raises(StructureUnreadable, match="not along one axis"):
        crystal_from_json(
            {
                **GOOD,
                "species": ["Si"] * 2,
                "fractional": [[0, 0, 0], [0.5, 0.5, 0.5]],
                "magnetic_moments": [[1, 0, 0], [0, 1, 0]],
            }
        )


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(["lattice", "species", "fractional", "cartesian", "charge", "magnetic_moments", "x"]),
                inner,
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
def test_anything_at_all_is_a_structure_or_refused(value: Any) -> None:
    try:
        assert isinstance(crystal_from_json(value), Crystal)
    except StructureUnreadable:
        return


# --- files

POSCAR = """made by hand
5.431
0.0 0.5 0.5
0.5 0.0 0.5
0.5 0.5 0.0
Si
2
Direct
0.00 0.00 0.00
0.25 0.25 0.25
"""
CIF_SYMMETRIC = """
data_rutile # a comment
_symmetry_space_group_name_H-M 'P 42/m n m'
_cell_length_a 4.594(1)
_cell_length_b 4.594
_cell_length_c 2.959
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
loop_
_symmetry_equiv_pos_as_xyz
'x, y, z'
'-x, -y, z'
'-y+1/2, x+1/2, z+1/2'
'y+1/2, -x+1/2, z+1/2'
'-x+1/2, y+1/2, -z+1/2'
'x+1/2, -y+1/2, -z+1/2'
'y, x, -z'
'-y, -x, -z'
'-x, -y, -z'
'x, y, -z'
'y+1/2, -x+1/2, -z+1/2'
'-y+1/2, x+1/2, -z+1/2'
'x+1/2, -y+1/2, z+1/2'
'-x+1/2, y+1/2, z+1/2'
'-y, -x, z'
'y, x, z'
loop_
_atom_site_label
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
_atom_site_occupancy
Ti1 0 0 0 1
O1 0.3053 0.3053 0 1.0
"""
EXTXYZ = """2
Lattice="0.0 2.7155 2.7155 2.7155 0.0 2.7155 2.7155 2.7155 0.0" Properties=species:S:1:pos:R:3:initial_magmoms:R:1 pbc="T T T"
Si 0.0 0.0 0.0 1.0
Si 1.35775 1.35775 1.35775 -1.0
"""
LAMMPS = """ silicon

2 atoms
1 atom types
0.0 3.84029695466 xlo xhi
0.0 3.32579472 ylo yhi
0.0 3.13558 zlo zhi
1.92014847 1.92014847 1.10859824 xy xz yz

Masses

1 28.0855

Atoms # charge

1 1 0.0 0.0 0.0 0.0
2 1 0.0 1.92014847 1.10859824 0.78389
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("POSCAR", POSCAR),
        ("CONTCAR", POSCAR.replace("5.431\n", "-40.0487\n", 1)),  # the volume instead of the scale
        ("POSCAR", POSCAR.replace("Si\n", "Si_sv/0a1b\n", 1).replace("Direct", "Selective dynamics\ndirect")),
        ("POSCAR", POSCAR.replace("Direct", "Cartesian")),
        ("POSCAR", POSCAR.replace("0.25 0.25 0.25", "2.5d-1 2.5E-1 .25 T T F").replace("\n", "\r\n")),
        ("si.vasp", "\ufeff" + POSCAR),
        ("a.xyz", EXTXYZ),
        ("data.si", LAMMPS),
        ("si.lmp", LAMMPS.replace("1 28.0855", "1 28.0 # Si").replace("# charge", "# full").replace("1 1 0.0 0.0", "1 0 1 0.0 0.0").replace("2 1 0.0 1.92", "2 0 1 0.0 1.92")),
    ],
)  # fmt: skip
def test_silicon_from_any_file(name: str, text: str) -> None:
    crystal = read_structure(text.encode(), name)
    assert crystal.composition == {"Si": 2}
    found = difference(crystal, SILICON)
    assert found is None, found


def test_rutile_from_a_cif_with_symmetry() -> None:
    crystal = read_structure(CIF_SYMMETRIC.encode(), "x.cif")
    assert crystal.composition == {"Ti": 2, "O": 4}
    assert space_group_of(crystal) == 136


def test_moments_in_extended_xyz() -> None:
    assert read_structure(EXTXYZ.encode(), "a.extxyz").moments == (1.0, -1.0)


def test_elements_that_a_file_does_not_name() -> None:
    old = POSCAR.replace("Si\n", "", 1).encode()
    with pytest.raises(StructureUnreadable, match="does not name the elements"):
        read_structure(old, "POSCAR")
    assert difference(read_structure(old, "POSCAR", species=["Si"]), SILICON) is None
    unnamed = LAMMPS.replace("Masses\n\n1 28.0855\n", "").encode()
    with pytest.raises(StructureUnreadable, match="atom type 1"):
        read_structure(unnamed, "data.si")
    assert difference(read_structure(unnamed, "data.si", species=["Si"]), SILICON) is None


@pytest.mark.parametrize("fmt", ["poscar", "cif"])
@pytest.mark.parametrize("name", ALL)
def test_files_that_pymatgen_writes(fmt: str, name: str) -> None:
    from pymatgen.core import Lattice, Structure

    crystal = ALL[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        text = Structure(Lattice(crystal.cell), crystal.species, crystal.sites).to(fmt=fmt)
    assert difference(read_structure(text.encode(), "file", format=fmt), crystal, Match(site=0.001)) is None


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("notes.txt", POSCAR, "format is not known"),
        ("POSCAR", "", "it ends after line 0"),
        ("POSCAR", "\0", "no text file"),
        ("POSCAR", POSCAR.replace("5.431\n", "zero\n", 1), "scale"),
        ("POSCAR", POSCAR.replace("5.431\n", "0.0\n", 1), "scale"),
        ("POSCAR", POSCAR.replace("0.25 0.25 0.25", "0.25 nan 0.25"), "line 10: expected a position"),
        ("POSCAR", POSCAR.replace("0.25 0.25 0.25", "0.25 1e999 0.25"), "line 10: expected a position"),
        ("POSCAR", POSCAR.replace("\n2\n", "\n99999999\n"), "1 to 4000 in all"),
        ("POSCAR", POSCAR.replace("\n2\n", "\n0\n").replace("Direct", "Cartesian"), "1 to 4000 in all"),
        ("POSCAR", POSCAR.replace("\n2\n", "\n3\n"), "it ends after line 10"),
        ("POSCAR", POSCAR.replace("\n2\n", "\n1 1\n"), "1 elements and 2 counts"),
        ("POSCAR", POSCAR.replace("Direct", "Fractional"), "expected 'Direct'"),
        ("POSCAR", POSCAR.replace("Si\n", "Zz\n", 1), "'Zz' is no element"),
        ("POSCAR", POSCAR.replace("0.5 0.5 0.0", "0.0 0.5 0.5"), "degenerate"),
        ("POSCAR", POSCAR.replace("0.5 0.5 0.0", "0.0 0.5 0.5").replace("Direct", "Cart"), "not independent"),
        ("a.cif", "", "no data block"),
        ("a.cif", "data_x\nloop_\n_a\n_b\n1 2 3\n", "2 columns has 3 values"),
        ("a.cif", "data_x\n;\nnever\nends", "does not end"),
        ("a.cif", "data_x\n_a 'open", "not closed"),
        ("a.cif", CIF_SYMMETRIC.replace("'x, y, z'", "'x, y, __import__(os)'"), "symmetry operation"),
        ("a.cif", CIF_SYMMETRIC.replace("'x, y, z'", "'x, y, z*9**9**9'"), "symmetry operation"),
        ("a.cif", CIF_SYMMETRIC.replace("'x, y, z'", "'x, y, z+1/0'"), "symmetry operation"),
        ("a.cif", CIF_SYMMETRIC.replace("0.3053 0 1.0", "0.3053 0 0.5"), "occupancy"),
        ("a.cif", CIF_SYMMETRIC.replace("Ti1", "Q1"), "does not begin with an element"),
        ("a.cif", CIF_SYMMETRIC.replace("_cell_length_c 2.959", ""), "_cell_length_c is missing"),
        ("a.cif", CIF_SYMMETRIC.replace("gamma 90", "gamma 180"), "do not make a cell"),
        ("a.cif", CIF_SYMMETRIC.replace("_symmetry_equiv_pos_as_xyz", "_other"), "lists no symmetry operations"),
        ("a.cif", CIF_SYMMETRIC[: CIF_SYMMETRIC.index("Ti1")], "expected a loop"),
        ("a.xyz", "2\nno lattice\nSi 0 0 0\nSi 1 1 1\n", "nine numbers"),
        ("a.xyz", EXTXYZ.replace("pos:R:3", "pos:R:1"), "three columns pos"),
        ("a.xyz", EXTXYZ.replace("R:1 ", "R:9 "), "fewer than the 13 columns"),
        ("a.xyz", EXTXYZ.replace("1.35775 -1.0", "x -1.0"), "not a number"),
        ("data.x", LAMMPS.replace("Atoms # charge", "Atoms # martian"), "'martian' is not known"),
        ("data.x", LAMMPS.replace("Atoms # charge", "Velocities"), "no section Atoms"),
        ("data.x", LAMMPS.replace("zlo zhi", "zlow"), "expected 'xlo xhi'"),
        ("data.x", LAMMPS.replace("2 1 0.0 1.92014847", "2 1 0.0 x"), "no atom of style charge"),
        ("data.x", LAMMPS.replace("2 1 0.0 1.92014847", "2 7 0.0 1.92014847"), "atom type 7"),
        ("data.x", LAMMPS.replace("28.0855", "28.0855 # Ge"), "called Ge and has the mass of Si"),
    ],
)  # fmt: skip
def test_files_that_are_no_structure(name: str, text: str, message: str) -> None:
    with pytest.raises(StructureUnreadable, match=message) as error:
        read_structure(text.encode(), name)
    assert str(error.value).startswith(name)


def test_files_that_are_no_text_or_too_large() -> None:
    with pytest.raises(StructureUnreadable, match="not UTF-8"):
        read_structure(POSCAR.encode("utf-16"), "POSCAR")
    with pytest.raises(StructureUnreadable, match="at most are read"):
        read_structure(b" " * 5_000_000, "POSCAR")


@given(fmt=st.sampled_from(FORMATS), text=st.text(max_size=300), cut=st.integers(0, 700), junk=st.text(max_size=6))
@settings(max_examples=100, deadline=None)
def test_no_file_crashes_a_reader(fmt: str, text: str, cut: int, junk: str) -> None:
    real = {"poscar": POSCAR, "cif": CIF_SYMMETRIC, "extxyz": EXTXYZ, "lammps-data": LAMMPS}[fmt]
    for content in (text, real[:cut] + junk + real[cut:], real[:cut]):
        try:
            assert isinstance(read_structure(content.encode("utf-8", "replace"), "x", format=fmt), Crystal)
        except StructureUnreadable:
            continue


@pytest.mark.parametrize("piece", ["'a", ";\n", "loop_\n", "_a ", '"', "data_x\n", "x" * 2000 + "\n", "1 "])
def test_readers_are_not_slowed_down_by_repetition(piece: str) -> None:
    """Quadratic readers would take hours for these."""
    text = ("data_x\n" + piece * (300_000 // len(piece))).encode()
    for fmt in FORMATS:
        try:
            read_structure(text, "x", format=fmt)
        except StructureUnreadable:
            continue


def test_formats_by_name() -> None:
    assert [format_of(n) for n in ("a/POSCAR", "SPOSCAR", "x.CIF", "x.extxyz", "data.x", "x")] == [
        "poscar", "poscar", "cif", "extxyz", "lammps-data", None,
    ]  # fmt: skip


# --- hostile structures are refused in a short time


def test_structures_that_would_take_for_ever() -> None:
    rng = np.random.default_rng(0)
    small = Crystal.of(np.eye(3) * 2.7, ["Si"], [[0, 0, 0]])
    messy = Crystal.of(np.eye(3) * 21.6, ["Si"] * 512, rng.random((512, 3)))
    assert difference(messy, small) is not None
    flat = Crystal.of(np.diag([100.0, 51.2, 2.0]), ["Si"] * 512, rng.random((512, 3)))
    thin = Crystal.of(np.diag([3.0, 3.0, 2.222]), ["Si"], [[0, 0, 0]])
    assert difference(flat, thin) is not None
    skew = Crystal.of([[2.7, 0, 0], [270, 2.7, 0], [27, -54, 2.7]], ["Si"], [[0.3, 0, 0]])
    assert difference(skew, small) is None


def test_what_stands_as_the_reference_does_is_tried_first() -> None:
    """A cube fits in 48 ways; each that is tried costs as much as all else of a comparison."""
    cube = Cell(np.eye(3) * 5.43, np.zeros((1, 3)), np.zeros(1, dtype=np.int64))
    found = orientations(cube, cube, Bounds(0.02, 0.5, 0.1))
    assert len(found) == 48
    assert (found[0] == np.eye(3)).all()
