"""Study 12, tasks 021, 023 and 024: mismatch model, tables and Monte Carlo against closed forms and published values."""

import importlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import matassay

PACKAGE = "matassay.suites.research.studies.202603_si_ge_interface.common"
STUDY = Path(matassay.__file__).parent / "suites" / "research" / "studies" / "202603_si_ge_interface"

bulk, mismatch, monte_carlo, tables, lammps_data = (
    importlib.import_module(f"{PACKAGE}.{name}")
    for name in ("bulk", "mismatch", "monte_carlo", "tables", "lammps_data")
)
BOLTZMANN = 1.380649e-23


@cache
def mesh(element):
    folder = STUDY / "t021_si_ge_diffuse_mismatch_transmission" / "inputs"
    return bulk.read_mesh(folder / f"phonon_mesh_{element}.hdf5")


def stored(task):
    return json.loads(next(STUDY.glob(f"t0{task}_*/reference.json")).read_text())


# --- meshes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("element", ["Si", "Ge"])
def test_a_mesh_fills_the_zone(element):
    found = mesh(element)
    assert found.weights.sum() == found.divisions**3
    assert (found.frequencies >= 0).all()
    assert (found.frequencies == 0).sum() == 3
    assert (found.velocities[found.frequencies == 0] == 0).all()


@pytest.mark.parametrize("element", ["Si", "Ge"])
def test_hot_crystals_obey_dulong_and_petit(element):
    found = tables.tabulate(mesh(element), tables.MODEL[element], 20_000.0)
    # 0.02 % of the modes are the translations; bins are represented by their centres.
    assert found.heat.sum() * mesh(element).volume * 1e-30 == pytest.approx(6 * BOLTZMANN, rel=2e-3)


def test_both_crystals_scale_like_their_masses():
    """Tersoff's silicon and germanium differ little but in mass and length: tops of the bands follow the root of both."""
    ratio = mesh("Si").frequencies.max() / mesh("Ge").frequencies.max()
    assert ratio == pytest.approx(np.sqrt(72.63 / 28.0855), rel=0.05)


# --- mismatch -----------------------------------------------------------------------------------------------------


def debye(speed, count=40, top=10.0):
    """A crystal with one isotropic branch, whose wave vectors fill a sphere: frequencies up to `top` THz."""
    radius = 2 * np.pi * top * 1e12 / speed
    axis = (np.arange(count) + 0.5) / count * 2 - 1
    grid = np.array(np.meshgrid(axis, axis, axis, indexing="ij")).reshape(3, -1).T
    length = np.linalg.norm(grid, axis=1)
    volume = (2 * np.pi / (2 * radius)) ** 3 * 1e30
    frequencies = (length * top)[:, None]
    velocities = (grid / length[:, None] * speed / 100)[:, None]
    return bulk.Mesh("X", count, volume, np.ones(len(grid), dtype=int), grid, frequencies, velocities)


def test_emission_of_an_isotropic_crystal():
    """M(nu) = pi nu^2 / v^2 for each branch: a quarter of the speed times the density of states."""
    at = np.array([4.0, 6.0, 8.0])
    found = mismatch.emission(debye(5000.0), at, width=0.3)
    # The Gaussian adds its variance to nu^2.
    expected = np.pi * (at**2 + 0.3**2) * 1e24 / 5000.0**2 * 1e12
    assert found == pytest.approx(expected, rel=0.01)


def test_mismatch_of_isotropic_crystals():
    fast, slow = (mismatch.emission(debye(v), np.array([6.0]), width=0.3) for v in (6000.0, 3000.0))
    assert mismatch.transmission(fast, slow)[0] == pytest.approx(1 / 3**2 / (1 / 6**2 + 1 / 3**2), rel=0.01)


def test_two_equal_sides_share_and_both_directions_balance():
    at = np.arange(1, 341) * 0.05
    silicon, germanium = (mismatch.emission(mesh(e), at, 0.15) for e in ("Si", "Ge"))
    assert mismatch.transmission(silicon, silicon)[:300] == pytest.approx(np.full(300, 0.5))
    onward, back = mismatch.transmission(silicon, germanium), mismatch.transmission(germanium, silicon)
    assert onward * silicon == pytest.approx(back * germanium)
    assert ((onward >= 0) & (onward <= 1)).all()
    assert mismatch.transmission(np.zeros(1), np.zeros(1)) == [0.0]


def test_stored_references_of_the_mismatch_model():
    reference = stored(21)
    spots = np.array([row["frequency_THz"] for row in reference["transmission"]])
    found = mismatch.transmission(*(mismatch.emission(mesh(e), spots, 0.15) for e in ("Si", "Ge")))
    assert found == pytest.approx([row["T_Si_to_Ge"] for row in reference["transmission"]], rel=1e-5)
    at = np.arange(1, 341) * 0.05
    silicon, germanium = (mismatch.emission(mesh(e), at, 0.15) for e in ("Si", "Ge"))
    for row in reference["conductance"]:
        value = mismatch.conductance(at, silicon, mismatch.transmission(silicon, germanium), row["temperature_K"])
        assert value == pytest.approx(row["G"], rel=1e-5)
    # Published ballistic conductance of silicon at 300 K is about 1 GW/(m^2 K); mismatch cannot exceed it.
    ballistic = mismatch.conductance(at, silicon, np.ones_like(at), 300.0)
    assert 0.9e9 < ballistic < 1.3e9
    assert value < ballistic


def test_conductance_grows_with_temperature_to_its_classical_limit():
    at = np.arange(1, 341) * 0.05
    silicon = mismatch.emission(mesh("Si"), at, 0.15)
    values = [mismatch.conductance(at, silicon, np.ones_like(at), t) for t in (50, 100, 300, 1000, 1e5)]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(BOLTZMANN * np.trapezoid(silicon, at), rel=1e-4)


# --- tables -------------------------------------------------------------------------------------------------------


def test_rates_use_the_angular_frequency():
    model = tables.Relaxation(isotope=1e-45, umklapp=0.0, onset=0.0)
    assert model.rate(np.array([1.0]), 300.0) == pytest.approx([1e-45 * (2e12 * np.pi) ** 4])
    model = tables.Relaxation(isotope=0.0, umklapp=1e-19, onset=300.0)
    assert model.rate(np.array([1.0]), 300.0) == pytest.approx([1e-19 * (2e12 * np.pi) ** 2 * 300 / np.e])


def test_a_mode_holds_boltzmanns_constant_when_hot_and_nothing_when_cold():
    assert tables.mode_heat(np.array([1.0]), 1e5) == pytest.approx([BOLTZMANN], rel=1e-6)
    assert tables.mode_heat(np.array([10.0]), 10.0)[0] < 1e-15 * BOLTZMANN


@pytest.mark.parametrize(("element", "published"), [("Si", 148.0), ("Ge", 60.0)])
def test_the_infinite_crystals_conduct_as_they_should(element, published):
    found = tables.tabulate(mesh(element), tables.MODEL[element], 300.0)
    assert found.conductivity == pytest.approx(published, rel=0.01)
    for cumulative in (found.energy, found.flux, found.scattering):
        assert (np.diff(cumulative) >= 0).all()
        assert cumulative[-1] == pytest.approx(1)
    empty = found.modes == 0
    assert not found.speed[empty].any()
    assert not found.lifetime[empty].any()


def test_stored_tables():
    reference = stored(23)
    for element in ("Si", "Ge"):
        found = tables.tabulate(mesh(element), tables.MODEL[element], 300.0)
        assert found.heat == pytest.approx(np.array(reference[element]["heat_J_per_m3_K"]), rel=1e-8)
        assert found.scattering == pytest.approx(np.array(reference[element]["cumulative_scattering"]), rel=1e-8)
        assert found.lifetime * 1e12 == pytest.approx(np.array(reference[element]["lifetime_ps"]), rel=1e-8)


@pytest.mark.parametrize("frequency", [0.5, 17.0, 20.0])
def test_a_mode_at_an_edge_is_refused(frequency):
    one = bulk.Mesh("X", 1, 40.0, np.array([1]), np.zeros((1, 3)), np.array([[frequency]]), np.ones((1, 1, 3)))
    with pytest.raises(ValueError, match="at an edge or above"):
        tables.tabulate(one, tables.MODEL["Si"], 300.0)


# --- Monte Carlo --------------------------------------------------------------------------------------------------

HEAT, SPEED = 1.6e6, 6000.0


def gray(path, heat=HEAT, speed=SPEED):
    """One bin with one mean free path, m."""
    return tables.Tables(np.array([1.0]), np.array([speed]), np.array([path / speed]), np.array([heat]))


def run(layers, thickness, bundles=20_000, seed=1, **options):
    stream = np.random.default_rng(seed)
    return monte_carlo.simulate(layers, thickness, difference=10.0, bundles=bundles, cells=10, stream=stream, **options)


# Heaslet and Warming, Int. J. Heat Mass Transfer 8, 979 (1965): flux between black walls over its ballistic value.
PUBLISHED = {0.1: 0.9157, 0.5: 0.7040, 1.0: 0.5532, 2.0: 0.3900, 5.0: 0.2077}


@pytest.mark.parametrize("depth", sorted(PUBLISHED))
def test_a_gray_slab_conducts_as_radiative_transfer_says(depth):
    bundles = 20_000
    found = run((gray(1e-7), gray(1e-7)), (depth * 0.4e-7, depth * 0.6e-7), bundles, interface=False)
    share = found.flux.mean() / (HEAT * SPEED / 4 * 10.0)
    sigma = np.sqrt(PUBLISHED[depth] * (1 - PUBLISHED[depth]) / bundles)
    assert share == pytest.approx(PUBLISHED[depth], abs=4 * sigma + 5e-4)


def test_without_scattering_the_flux_is_what_the_walls_emit():
    found = run((gray(1e3), gray(1e3)), (5e-8, 5e-8), interface=False)
    assert found.flux == pytest.approx(np.full(20, HEAT * SPEED / 4 * 10.0), rel=1e-9)
    assert np.abs(found.temperature).max() < 0.15


def test_without_scattering_the_interface_alone_resists():
    """Landauer between black walls: emission of the one side times the share that passes to the other."""
    left, right = gray(1e3), gray(1e3, heat=HEAT, speed=SPEED / 2)
    found = run((left, right), (5e-8, 5e-8), bundles=40_000)
    # Speeds 2 : 1 at equal densities of modes, so a third passes from the left.
    expected = HEAT * SPEED / 4 * 10.0 / 3
    assert found.flux.mean() == pytest.approx(expected, rel=0.03)


def test_a_thick_slab_conducts_like_the_infinite_crystal():
    path = 2e-9
    found = run((gray(path), gray(path)), (6e-8, 6e-8), bundles=4000, interface=False)
    slope = np.polyfit(found.centres[3:-3], found.temperature[3:-3], 1)[0]
    assert -found.flux.mean() / slope == pytest.approx(HEAT * SPEED * path / 3, rel=0.1)


def test_the_flux_is_the_same_in_every_cell():
    found = run((gray(5e-8), gray(2e-8, speed=3000.0)), (5e-8, 8e-8), bundles=2000)
    assert found.flux == pytest.approx(np.full(20, found.flux.mean()), rel=1e-9)
    assert found.temperature[0] > found.temperature[9] > found.temperature[10] > found.temperature[-1]
    assert found.centres[:2] == pytest.approx([2.5e-9, 7.5e-9])


def test_a_seed_gives_the_same_run_and_another_another():
    layers, thickness = (gray(5e-8), gray(2e-8)), (5e-8, 5e-8)
    first, again, other = (run(layers, thickness, bundles=500, seed=s) for s in (1, 1, 2))
    assert (first.temperature == again.temperature).all()
    assert (first.temperature != other.temperature).any()


def test_a_phonon_without_counterpart_cannot_pass():
    """Silicon's optical modes lie above all of germanium: their bin reflects everything."""
    lifetime = np.full(2, 2e-8 / SPEED)
    left = tables.Tables(np.array([0.0, 1.0]), np.array([0.0, SPEED]), lifetime, np.array([0.0, HEAT]))
    right = tables.Tables(np.array([1.0, 0.0]), np.array([SPEED, 0.0]), lifetime, np.array([HEAT, 0.0]))
    found = run((left, right), (5e-8, 5e-8), bundles=5000)
    assert found.flux == pytest.approx(np.zeros(20), abs=1e-6 * HEAT * SPEED)
    assert found.temperature[:10] == pytest.approx(np.full(10, 5.0), rel=0.1)
    assert found.temperature[10:] == pytest.approx(np.full(10, -5.0), rel=0.1)


# --- files --------------------------------------------------------------------------------------------------------


def test_data_files_number_atoms_as_given(tmp_path):
    path = tmp_path / "cell.data"
    masses = {"Si": 28.0, "Ge": 72.0}
    lammps_data.write_data(path, "title", (1.0, 2.0, 3.0), np.array([[0, 0, 0], [0.5, 1, 1.5]]), ["Ge", "Si"], masses)
    lines = path.read_text().splitlines()
    assert lines[0] == "title"
    assert "2 atoms" in lines
    assert "0.0 2.000000000000 ylo yhi" in lines
    assert lines[-2].split() == ["1", "2", *["0.000000000000"] * 3]
    assert lines[-1].split()[:2] == ["2", "1"]
