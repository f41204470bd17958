"""Study 12, tasks 020 and 022: scattering of phonons by the junction, against closed forms and a second method."""

import dataclasses
import importlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import matassay

PACKAGE = "matassay.suites.research.studies.202603_si_ge_interface.common"
STUDY = Path(matassay.__file__).parent / "suites" / "research" / "studies" / "202603_si_ge_interface"

device, edges, mixing, modes, scattering, specularity, reproduction = (
    importlib.import_module(f"{PACKAGE}.{name}")
    for name in ("device", "edges", "mixing", "modes", "scattering", "specularity", "reproduction")
)


@cache
def sharp():
    return device.read_device(
        STUDY / "t020_si_ge_mode_resolved_transmission" / "inputs" / "device_force_constants.hdf5"
    )


@cache
def mixed():
    return device.read_device(STUDY / "t022_si_ge_reflection_specularity" / "inputs" / "mixed_device.hdf5")


@cache
def solved(frequency):
    return scattering.scatter(sharp(), frequency)


def probabilities(result):
    return (np.abs(result.transmission) ** 2).sum(axis=1), (np.abs(result.reflection) ** 2).sum(axis=1)


# --- modes of a chain ---------------------------------------------------------------------------------------------


def chain(squared, stiffness=1.0):
    return modes.outgoing(np.array([[2 * stiffness]]), np.array([[-stiffness]]), squared)


@pytest.mark.parametrize("wave", [0.1, 1.0, 2.0, 3.0])
def test_a_chain_has_the_bloch_factor_of_its_dispersion(wave):
    found = chain(2 - 2 * np.cos(wave))
    assert found.factors == pytest.approx([np.exp(1j * wave)], abs=1e-9)
    assert found.currents == pytest.approx([2 * np.sin(wave)], rel=1e-7)
    assert found.step == pytest.approx(np.array([[np.exp(1j * wave)]]), abs=1e-9)


def test_above_its_band_a_chain_only_decays():
    found = chain(2 + 2 * np.cosh(0.7))
    assert len(found.factors) == 0
    assert found.step == pytest.approx(np.array([[-np.exp(-0.7)]]))


def test_a_band_edge_is_refused():
    with pytest.raises(ArithmeticError, match="band edge"):
        chain(4.0)


def test_bands_that_overlap_give_a_channel_each():
    onsite, coupling = np.diag([2.0, 3.0]), np.diag([-1.0, -1.5])
    found = modes.outgoing(onsite, coupling, 1.0)
    expected = [np.arccos(1 - 1 / 2), np.arccos(1 - 1 / 3)]
    assert sorted(np.angle(found.factors)) == pytest.approx(sorted(expected))


def test_backward_waves_leave_with_the_other_factor():
    """An optical branch falls: what travels to the right has a negative wave vector."""
    # omega^2 = 4 + 2 cos(k), greatest at k = 0.
    found = modes.outgoing(np.array([[4.0]]), np.array([[1.0]]), 4.5)
    assert np.angle(found.factors) == pytest.approx([-np.arccos(0.25)])
    assert found.currents[0] > 0


# --- the junction of task 020 -------------------------------------------------------------------------------------

FREQUENCIES = (1.00, 2.00, 4.00, 5.05, 6.00, 8.00, 10.00, 11.50, 12.00)


@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_flux_is_conserved_to_rounding(frequency):
    passed, returned = probabilities(solved(frequency))
    assert np.abs(passed + returned - 1).max() < 1e-9


def test_the_stored_reference_is_what_the_matching_gives():
    rows = json.loads((STUDY / "t020_si_ge_mode_resolved_transmission" / "reference.json").read_text())["results"]
    assert [row["frequency_THz"] for row in rows] == list(FREQUENCIES)
    for row in rows:
        t = solved(row["frequency_THz"]).transmission
        assert t.shape == (row["n_Si"], row["n_Ge"])
        assert (np.abs(t) ** 2).sum() == pytest.approx(row["Xi"], rel=1e-8, abs=1e-12)
        assert row["mean_T_Si"] == pytest.approx(row["Xi"] / row["n_Si"], abs=1e-9)
        tau = np.linalg.eigvalsh(t @ t.conj().T)
        assert tau.std() == pytest.approx(row["std_tau_Si"], rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("frequency", [1.0, 4.0, 8.0, 11.5])
def test_silicon_on_silicon_lets_every_channel_pass(frequency):
    left = sharp().left
    masses = np.full((2, 36), left.mass)
    same = device.Device(left, left, masses, np.array([left.onsite] * 2), np.array([left.coupling] * 3))
    passed, returned = probabilities(scattering.scatter(same, frequency))
    assert passed == pytest.approx(np.ones(len(passed)), abs=1e-9)
    assert returned.max() < 1e-9


def test_long_waves_see_the_acoustic_impedances():
    """T = 4 Z1 Z2 / (Z1 + Z2)^2 with Z = density times speed, for each polarisation at normal incidence."""
    frequency = 0.1
    result = scattering.scatter(sharp(), frequency)
    sides = []
    for lead, channels in ((sharp().left, result.incoming), (sharp().right, result.transmitted)):
        speed = 2 * np.pi * frequency * lead.period / np.sort(np.angle(channels.waves.factors))[::-1]
        sides.append(4 * lead.mass / (lead.edge**2 * lead.period) * speed)
    expected = 4 * sides[0] * sides[1] / (sides[0] + sides[1]) ** 2
    passed, _ = probabilities(result)
    order = np.argsort(np.angle(result.incoming.waves.factors))[::-1]
    assert passed[order] == pytest.approx(expected, abs=2e-5)
    assert expected.min() > 0.9


def turned(given):
    """The same junction seen from the other side: the x axis points the other way."""

    def lead(side):
        return dataclasses.replace(side, coupling=side.coupling.T)

    coupling = np.array([block.T for block in given.coupling[::-1]])
    return device.Device(lead(given.right), lead(given.left), given.masses[::-1], given.onsite[::-1], coupling)


@pytest.mark.parametrize("frequency", [2.0, 4.0, 5.05, 8.0])
def test_both_sides_of_incidence_see_the_same_transmission(frequency):
    there, back = solved(frequency), scattering.scatter(turned(sharp()), frequency)
    assert back.transmission.shape == there.transmission.shape[::-1]
    values = [np.sort(np.linalg.svd(r.transmission, compute_uv=False)) for r in (there, back)]
    shared = min(map(len, values))
    assert values[1][-shared:] == pytest.approx(values[0][-shared:], abs=1e-8)


def caroli(given, frequency, broadening):
    """Trace of broadenings and Green's functions, with surface functions by decimation: shares nothing with `scatter`."""
    squared = (2 * np.pi * frequency) ** 2 * (1 + 1j * broadening)
    unit = squared * np.eye(108)

    def surface(d0, d1):
        outer, inner, forth, back = d0.astype(complex), d0.astype(complex), d1.astype(complex), d1.T.astype(complex)
        while np.abs(forth).max() > 1e-12:
            g = np.linalg.inv(unit - inner)
            outer, inner = outer + forth @ g @ back, inner + forth @ g @ back + back @ g @ forth
            forth, back = forth @ g @ forth, back @ g @ back
        return np.linalg.inv(unit - outer)

    def weigh(block, a, b):
        factor = 1.602176634e-19 * 1e20 / 1.66053906660e-27 / 1e24
        return factor * block / np.sqrt(np.outer(np.repeat(a, 3), np.repeat(b, 3)))

    left, right = np.full(36, given.left.mass), np.full(36, given.right.mass)
    masses = [left, *given.masses, right]
    bonds = [weigh(b, masses[n], masses[n + 1]) for n, b in enumerate(given.coupling)]
    into_left = surface(weigh(given.left.onsite, left, left), weigh(given.left.coupling, left, left).T)
    into_right = surface(weigh(given.right.onsite, right, right), weigh(given.right.coupling, right, right))
    into_left, into_right = bonds[0].T @ into_left @ bonds[0], bonds[-1] @ into_right @ bonds[-1].T
    # From left to right, each slice on top of all that lies before it.
    before, across = into_left, np.eye(108)
    for n, (onsite, mass) in enumerate(zip(given.onsite, given.masses, strict=True)):
        last = into_right if n + 1 == len(given.onsite) else 0
        green = np.linalg.inv(unit - weigh(onsite, mass, mass) - before - last)
        across = green @ (across if n == 0 else bonds[n].T @ across)
        before = bonds[n + 1].T @ green @ bonds[n + 1]
    gammas = [1j * (s - s.conj().T) for s in (into_left, into_right)]
    return np.trace(gammas[1] @ across @ gammas[0] @ across.conj().T).real


def test_carolis_formula_agrees_and_its_error_is_its_broadening():
    frequency = 8.0
    exact = (np.abs(solved(frequency).transmission) ** 2).sum()
    errors = [abs(caroli(sharp(), frequency, broadening) - exact) for broadening in (1e-6, 1e-8)]
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.05)


def with_cells(lead):
    """The lead with its blocks by 1x1 cell, which files do not hold."""
    places = [tuple(int(x) for x in (cell + 1) % 3 - 1) for cell in device.lateral_cells()]
    cells = {}
    for n, block in ((-1, lead.coupling.T), (0, lead.onsite), (1, lead.coupling)):
        for column, (j, k) in enumerate(places):
            cells[n, j, k] = block[:12, 12 * column : 12 * column + 12]
    return dataclasses.replace(lead, cells=cells)


def test_channels_are_as_many_as_branches_cross_the_frequency():
    dispersions = [edges.lead_dispersion(with_cells(lead)) for lead in (sharp().left, sharp().right)]
    for frequency in FREQUENCIES:
        counted = tuple(edges.count_channels(dispersion, frequency) for dispersion in dispersions)
        assert counted == solved(frequency).transmission.shape
        assert edges.is_safe(dispersions, frequency)
    top = dispersions[0].max()
    assert not edges.is_safe(dispersions, top - 0.02)
    assert edges.count_channels(dispersions[0], top + 0.1) == 0


def test_a_lead_from_a_file_has_no_dispersion():
    with pytest.raises(ValueError, match="blocks by 1x1 cell"):
        edges.lead_dispersion(sharp().left)


@pytest.mark.parametrize("given", [sharp, mixed])
def test_blocks_obey_the_acoustic_sum_rule_and_symmetry(given):
    junction = given()
    for lead in (junction.left, junction.right):
        rigid = (lead.onsite + lead.coupling + lead.coupling.T).reshape(108, 36, 3).sum(axis=1)
        assert np.abs(rigid).max() < 1e-4
        assert np.abs(lead.onsite - lead.onsite.T).max() < 1e-9
    for n, onsite in enumerate(junction.onsite):
        rigid = (onsite + junction.coupling[n].T + junction.coupling[n + 1]).reshape(108, 36, 3).sum(axis=1)
        assert np.abs(rigid).max() < 1e-4
        assert np.abs(onsite - onsite.T).max() < 1e-9


def test_at_the_ends_the_junction_has_become_the_leads():
    for given, near in ((sharp(), 1e-5), (mixed(), 0.02)):
        assert np.abs(given.onsite[0] - given.left.onsite).max() < near
        assert np.abs(given.onsite[-1] - given.right.onsite).max() < near


# --- specularity --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frequency", [4.50, 5.05])
def test_a_flat_interface_reflects_normal_incidence_specularly(frequency):
    shares = specularity.group_specularity(solved(frequency))
    assert shares["TA"] == pytest.approx(1, abs=1e-6)
    assert shares["LA"] == pytest.approx(1, abs=1e-6)


def test_oblique_waves_change_their_branch_even_at_a_flat_interface():
    assert 0.5 < specularity.group_specularity(solved(4.50))["all"] < 0.999


def test_the_stored_specularities_are_what_the_matching_gives():
    rows = json.loads((STUDY / "t022_si_ge_reflection_specularity" / "reference.json").read_text())["results"]
    for row in rows:
        result = scattering.scatter(mixed(), row["frequency_THz"])
        passed, returned = probabilities(result)
        assert np.abs(passed + returned - 1).max() < 1e-9
        shares = specularity.group_specularity(result)
        assert (shares["TA"], shares["LA"]) == pytest.approx((row["p_TA"], row["p_LA"]), abs=1e-7)
        assert 0 < shares["all"] < 1


def test_long_waves_do_not_see_the_disorder():
    shares = specularity.group_specularity(scattering.scatter(mixed(), 1.0))
    assert min(shares.values()) > 0.999


def test_every_channel_has_exactly_one_group_of_mirror_images():
    result = solved(5.05)
    same = result.incoming.transverse[:, None] == result.reflected.transverse
    near = np.abs(result.incoming.waves.factors[:, None] - result.reflected.waves.factors) < 1e-3
    pairs = same & near
    assert (pairs.sum(axis=1) == pairs.sum(axis=0)[pairs.argmax(axis=1)]).all()
    assert pairs.sum(axis=1).min() == 1


def test_specularity_needs_the_three_channels():
    with pytest.raises(ValueError, match="two transverse channels and one longitudinal"):
        specularity.group_specularity(solved(11.5))


# --- small things -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_exchanged_atoms_lie_beside_the_interface(seed):
    atoms = mixing.swapped_atoms(np.random.default_rng(seed), pairs=6)
    assert len(set(atoms)) == 12
    left, right = [a for a in atoms if a < 36], [a for a in atoms if a >= 36]
    assert len(left) == len(right) == 6
    assert {a % 4 for a in left} <= {2, 3}
    assert {a % 4 for a in right} <= {0, 1}


def test_mass_weighting():
    block = modes.weighted(np.eye(3), np.array([4.0]), np.array([9.0]))
    # 1 eV/A^2 on 1 u is 15.6333 THz.
    assert block == pytest.approx(np.eye(3) * (2 * np.pi * 15.633302) ** 2 / 6, rel=1e-6)


def test_references_keep_ten_digits_and_no_noise():
    assert reproduction.rounded({"a": [1.23456789012345, -3e-19, 5, "x"], "b": (1e-7 / 3,)}) == {
        "a": [1.234567890, 0.0, 5, "x"],
        "b": [3.333333333e-08],
    }
