"""From a task's `decks` to criteria: operations, units, references, other decks, messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from matassay.core import Artefact, Evidence, Failure, Judgement
from matassay.grading.decks import BadSpec, DeckFiles, deck_criteria, deck_probes, validate_spec

from .running import needs_espresso, needs_lammps, needs_wannier90, run
from .test_espresso import PSEUDO, SILICON
from .test_lammps import HEAD, MODEL, RUN
from .test_vasp import CONVENTIONAL, POSCAR
from .test_wannier import WIN

INCAR = "ENCUT = 520\nEDIFF = 1e-7\nPREC = Accurate\nISMEAR = 0\nSIGMA = 0.05\nLREAL = .FALSE.\nADDGRID = T\n"
KPOINTS = "k\n0\nGamma\n8 8 8\n"
FILES = {"INCAR": INCAR, "KPOINTS": KPOINTS, "POSCAR": POSCAR, "POTCAR.spec": "Si\n"}

SPEC = yaml.safe_load("""
code: vasp
name: forces
files: {INCAR: INCAR, KPOINTS: KPOINTS, POSCAR: [POSCAR, cells/POSCAR], POTCAR: POTCAR.spec}
require:
  - {name: EDIFF, at_most: 1.0e-7, unit: eV, reason: forces carry the error of the density}
  - {name: ENCUT, between: [500, 700], unit: eV}
  - {name: PREC, equals: Accurate}
  - {name: IBRION, equals: -1}
  - {name: ISMEAR, one_of: [0, -5], failure: wrong_implementation}
  - {name: NSW, at_most: 0}
  - {name: LREAL, equals: false}
  - {name: MAGMOM, absent: true}
  - {name: k_spacing, at_most: 0.3, unit: 1/angstrom, axes: [0, 1]}
  - {name: potcar, includes: Si}
  - {name: ADDGRID, equals: true, explicit: true}
  - {name: structure, equivalent_to: reference/POSCAR}
""")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "POSCAR").write_text(POSCAR)
    return tmp_path


def evidence(files: dict[str, str], collected: dict[str, Any] | None = None) -> Evidence:
    state = {"collected": collected or {}}
    return Evidence(state=state, artefacts=tuple(Artefact.of(n, t.encode()) for n, t in files.items()))


def judge(
    spec: Any, task: Path, files: dict[str, str], collected: dict[str, Any] | None = None
) -> dict[str, Judgement]:
    case = evidence(files, collected)
    out = {c.name: c.check(case, {}) for c in deck_criteria(spec, task)}
    assert all(isinstance(j, Judgement) for j in out.values())
    return out  # type: ignore[return-value]


def failed(judgements: dict[str, Judgement]) -> set[str]:
    return {name for name, j in judgements.items() if not j.holds}


def test_a_right_deck(task: Path) -> None:
    validate_spec(SPEC, "task.yaml: decks[0]")
    result = judge(SPEC, task, FILES)
    assert failed(result) == set(), result
    assert next(iter(result)) == "forces_accepted"
    assert len(result) == 13


def swept(spec: Any, task: Path, case: Evidence) -> set[str]:
    """Criteria with a tolerance; each passes within and fails beyond it."""
    found = {c.name: c for c in deck_criteria(spec, task) if c.tolerance is not None}
    for name, criterion in found.items():
        assert criterion.tolerance is not None
        for k in (0, 0.5, -0.5, 0.9, -0.9, 1.1, -1.1, 2, -2):
            moved = criterion.check(criterion.tolerance.displaced(case, {}, k), {})
            assert isinstance(moved, Judgement)
            assert moved.holds is (abs(k) < 1), (name, k, moved.message)
    return set(found)


def test_tolerances_are_those_that_are_applied(task: Path) -> None:
    spec = {**SPEC, "require": [r for r in SPEC["require"] if "ADDGRID" not in r["name"]]}
    spec["require"] += [
        {"name": "SIGMA", "equals": 50, "unit": "meV", "atol": 1, "reason": "rounding of settings"},
        {"name": "EDIFFG", "at_most": -1e-3, "id": "negative"},
        {"name": "SYMPREC", "at_least": 1e-6, "explicit": True},
        {"name": "k_mesh", "at_least": [7, 7, 8]},
        {"name": "k_offset", "equals": [0, 0], "axes": [0, 1], "atol": 0.01, "reason": "digits of a shift"},
        {"name": "volume", "same_as": "other", "rtol": 0.01, "reason": "rounding of lengths"},
    ]
    case = evidence({**FILES, **{f"other/{name}": text for name, text in FILES.items()}})
    found = swept(spec, task, case)
    names = ("ediff", "encut", "k_spacing", "structure", "sigma", "negative", "symprec", "k_mesh", "k_offset", "volume")
    assert found == {f"forces_{name}" for name in names}


EQUIVALENT = {
    "lower case, semicolons": {"INCAR": "encut = 520; ediff = 1d-7; prec = a; ismear = 0; sigma=.05; addgrid = .true."},
    "cubic cell": {"POSCAR": CONVENTIONAL, "KPOINTS": "k\n0\nGamma\n4 4 4\n"},
    "file elsewhere": {"POSCAR": None, "cells/POSCAR": POSCAR},
    "spacing instead of a file": {"KPOINTS": None, "INCAR": INCAR + "KSPACING = 0.25\n"},
}


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_decks(name: str, task: Path) -> None:
    files = {n: t for n, t in {**FILES, **EQUIVALENT[name]}.items() if t is not None}
    if name == "cubic cell":
        files["KPOINTS"] = "k\n0\nGamma\n5 5 5\n"
    assert failed(judge(SPEC, task, files)) == set()


@pytest.mark.parametrize(
    ("role", "old", "new", "criterion"),
    [
        ("INCAR", "1e-7", "1e-6", "forces_ediff"),
        ("INCAR", "EDIFF = 1e-7\n", "", "forces_ediff"),
        ("INCAR", "520", "400", "forces_encut"),
        ("INCAR", "ENCUT = 520\n", "", "forces_encut"),
        ("INCAR", "Accurate", "Normal", "forces_prec"),
        ("INCAR", "ISMEAR = 0", "ISMEAR = 1", "forces_ismear"),
        ("INCAR", ".FALSE.", "Auto", "forces_lreal"),
        ("INCAR", "ADDGRID = T\n", "", "forces_addgrid"),
        ("KPOINTS", "8 8 8", "4 4 8", "forces_k_spacing"),
        ("POSCAR", "5.43", "5.7", "forces_structure"),
        ("POTCAR.spec", "Si", "Si_GW", "forces_potcar"),
    ],
)
def test_a_wrong_choice_fails_its_requirement_alone(role: str, old: str, new: str, criterion: str, task: Path) -> None:
    assert old in FILES[role]
    result = judge(SPEC, task, {**FILES, role: FILES[role].replace(old, new, 1)})
    assert failed(result) == {criterion}
    judgement = result[criterion]
    assert judgement.failure is (Failure.WRONG_IMPLEMENTATION if criterion == "forces_ismear" else Failure.WRONG_CHOICE)
    assert judgement.message


def test_another_axis_does_not_count(task: Path) -> None:
    assert failed(judge(SPEC, task, {**FILES, "KPOINTS": "k\n0\nGamma\n8 8 1\n"})) == set()


def test_relaxation_where_a_static_run_was_asked_for(task: Path) -> None:
    result = judge(SPEC, task, {**FILES, "INCAR": INCAR + "NSW = 10\nIBRION = 2\n"})
    assert failed(result) == {"forces_ibrion", "forces_nsw"}


def test_messages_do_not_tell_the_right_value(task: Path) -> None:
    result = judge(SPEC, task, {**FILES, "INCAR": INCAR.replace("1e-7", "1e-4").replace("Accurate", "Low")})
    assert "1e-07" not in result["forces_ediff"].message
    assert "0.0001" in result["forces_ediff"].message
    assert "accurate" not in result["forces_prec"].message.lower().replace("forces_prec", "")


def test_silently_ignored_tags_are_named(task: Path) -> None:
    result = judge(SPEC, task, {**FILES, "INCAR": INCAR.replace("EDIFF", "EDIF")})
    assert "EDIF" in result["forces_ediff"].message
    assert result["forces_accepted"].holds


def test_a_refused_deck_fails_with_the_reason(task: Path) -> None:
    result = judge(SPEC, task, {**FILES, "INCAR": INCAR + "NELM = many\n"})
    assert failed(result) == set(result)
    assert all(j.failure is Failure.SOFTWARE_USAGE for j in result.values())
    assert "NELM" in result["forces_accepted"].message


@pytest.mark.parametrize("name", ["INCAR", "POSCAR"])
def test_a_missing_file_is_a_matter_of_format(name: str, task: Path) -> None:
    result = judge(SPEC, task, {n: t for n, t in FILES.items() if n != name})
    assert failed(result) == set(result)
    assert {j.failure for j in result.values()} == {Failure.FORMAT}
    assert failed(judge(SPEC, task, {})) == set(result), "nothing holds before anything was done"


def test_moments_are_part_of_a_structure(task: Path) -> None:
    spec = {
        **{k: v for k, v in SPEC.items() if k != "require"},
        "require": [
            {"name": "structure", "same_as": "up", "options": {"moments": "signs"}},
            {"name": "ENCUT", "same_as": "up"},
        ],
    }
    magnetic = {**FILES, "INCAR": INCAR + "ISPIN = 2\nMAGMOM = 3 -3\n"}
    pair = {f"up/{n}": t for n, t in magnetic.items()}
    assert failed(judge(spec, task, {**magnetic, **pair})) == set()
    flipped = {**magnetic, "INCAR": magnetic["INCAR"].replace("3 -3", "-2.5 2.5")}
    assert failed(judge(spec, task, {**flipped, **pair})) == set()
    ferromagnetic = {**magnetic, "INCAR": magnetic["INCAR"].replace("3 -3", "3 3")}
    assert failed(judge(spec, task, {**ferromagnetic, **pair})) == {"forces_structure"}
    cheaper = {n: t.replace("520", "400") for n, t in pair.items()}
    assert failed(judge(spec, task, {**magnetic, **cheaper})) == {"forces_encut"}
    assert failed(judge(spec, task, magnetic)) == {"forces_structure", "forces_encut"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"code": "castep"}, "field code"),
        ({"files": {"INCAR": "INCAR"}}, "POSCAR"),
        ({"files": {"INCARR": "INCAR"}}, "role"),
        ({"foldr": "."}, "foldr"),
        ({"folder": "../x"}, "field folder"),
        ({"require": [{"name": "ENCUTT", "equals": 1}]}, "ENCUTT"),
        ({"require": [{"name": "ENCUT"}]}, "exactly one"),
        ({"require": [{"name": "ENCUT", "equals": 1, "at_most": 2}]}, "exactly one"),
        ({"require": [{"name": "ENCUT", "at_most": "many"}]}, "at_most"),
        ({"require": [{"name": "ENCUT", "between": [3, 1]}]}, "between"),
        ({"require": [{"name": "ENCUT", "equals": 1, "unit": "volts"}]}, "unit"),
        ({"require": [{"name": "ENCUT", "equals": 1, "failure": "bad luck"}]}, "failure"),
        ({"require": [{"name": "ENCUT", "equals": 1, "rtol": 0.1}]}, "reason"),
        ({"require": [{"name": "PREC", "equals": "extreme"}]}, "PREC"),
        ({"require": [{"name": "ENCUT", "equals": 1}, {"name": "encut", "at_most": 2}]}, "encut"),
        (
            {"require": [{"name": "structure", "equivalent_to": "reference/POSCAR", "options": {"momants": "signs"}}]},
            "momants",
        ),
        (
            {"require": [{"name": "structure", "equivalent_to": "reference/POSCAR", "options": {"moments": "sign"}}]},
            "moments",
        ),
        (
            {"require": [{"name": "structure", "equivalent_to": "reference/POSCAR", "options": {"vacuum": "z"}}]},
            "vacuum",
        ),
        ({"require": {}}, "require"),
    ],
)
def test_a_wrong_spec_is_refused_naming_the_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSpec, match=r"task\.yaml: decks") as caught:
        validate_spec({**SPEC, **change}, "task.yaml: decks")
    assert words in str(caught.value)


WRITTEN_AS_TEXT = {
    "number": (("vasp", "EDIFF", "1e-7"), ("quantum-espresso", "conv_thr", "1.0d-10"), ("wannier90", "dis_win_max", "1.7d1")),
    "truth": (("vasp", "LREAL", ".FALSE."), ("vasp", "ADDGRID", "T"), ("quantum-espresso", "nosym", ".false.")),
    "list": (("wannier90", "mp_grid", "2 2 2"), ("vasp", "SAXIS", "2*0 1")),
}  # fmt: skip


@pytest.mark.parametrize("case", [c for cases in WRITTEN_AS_TEXT.values() for c in cases], ids=str)
def test_values_that_a_task_writes_as_the_code_does(case: tuple[str, str, str], task: Path) -> None:
    """YAML itself takes 1e-7 for text."""
    code, name, value = case
    roles = {
        "vasp": {n.split(".")[0]: n for n in FILES},
        "quantum-espresso": {"input": "pw.in"},
        "wannier90": {"win": "si.win"},
    }
    files = {**FILES, "pw.in": SILICON, "si.win": WIN}
    spec = {"code": code, "files": roles[code], "require": [{"name": name, "equals": value}]}
    assert failed(judge(spec, task, files)) == set()
    spec["require"] = [{"name": name, "equals": "zzz"}]
    with pytest.raises(BadSpec, match="require"):
        validate_spec(spec, "task.yaml: decks")


def test_units_are_converted(task: Path) -> None:
    spec = {
        "code": "quantum-espresso",
        "files": {"input": ["pw.in", "scf.in"]},
        "require": [
            {"name": "ecutwfc", "at_least": 400, "unit": "eV"},
            {"name": "conv_thr", "at_most": 1e-10, "unit": "Ha"},
            {
                "name": "volume",
                "equals": 265.302,
                "unit": "bohr^3",
                "rtol": 1e-4,
                "reason": "rounding of the lattice constant",
            },
            {"name": "k_spacing", "at_most": 0.4, "unit": "1/bohr"},
            {"name": "Hubbard_U.Si", "equals": 0},
            {"name": "occupations", "equals": "fixed"},
            {"name": "celldm(1)", "equals": 10.2},
        ],
    }
    assert failed(judge(spec, task, {"scf.in": SILICON})) == set()
    assert failed(judge(spec, task, {"scf.in": SILICON.replace("= 30", "= 29")})) == {"quantum_espresso_ecutwfc"}
    assert failed(judge(spec, task, {"scf.in": SILICON.replace("d-10", "d-9")})) == {"quantum_espresso_conv_thr"}


def collect(spec: Any, task: Path, files: dict[str, str]) -> dict[str, Any]:
    probes = deck_probes(spec, task)({n: t.encode() for n, t in files.items()})
    assert len({p.name for p in probes}) == len(probes)
    return {p.name: run(p) for p in probes}


@needs_espresso
def test_pw_is_asked(task: Path) -> None:
    (task / "Si.UPF").write_bytes((PSEUDO / "Si.pz-vbc.UPF").read_bytes())
    spec = {
        "code": "quantum-espresso",
        "folder": "scf",
        "files": {"input": "pw.in"},
        "support": {"Si.pz-vbc.UPF": "Si.UPF"},
        "require": [{"name": "functional", "equals": "pz"}, {"name": "ecutwfc", "equals": 30, "unit": "Ry"}],
    }
    files = {"scf/pw.in": SILICON}
    assert failed(judge(spec, task, files, collect(spec, task, files))) == set()
    bad = {"scf/pw.in": SILICON.replace("Si.pz-vbc", "Si.other")}
    result = judge(spec, task, bad, collect(spec, task, bad))
    assert "not found" in result["scf_accepted"].message


@needs_wannier90
def test_wannier90_is_asked(task: Path) -> None:
    spec = {
        "code": "wannier90",
        "files": {"win": "si.win"},
        "require": [
            {"name": "projections.Si", "equals": ["sp3"]},
            {"name": "dis_froz_max", "between": [6, 7], "unit": "eV"},
            {"name": "exclude_bands", "absent": True},
        ],
    }
    files = {"si.win": WIN}
    assert failed(judge(spec, task, files, collect(spec, task, files))) == set()
    other = {"si.win": WIN.replace("sp3", "s")}
    assert failed(judge(spec, task, other, collect(spec, task, other))) >= {"wannier90_projections_si"}


@needs_lammps
def test_lammps_is_asked_and_compared_with_a_reference_deck(task: Path) -> None:
    (task / "reference" / "in.lammps").write_text(HEAD + MODEL)
    (task / "cell.txt").write_text(HEAD)
    spec = {
        "code": "lammps",
        "folder": "md",
        "files": {"deck": "in.lammps"},
        "support": {"inputs/cell.in": "cell.txt"},
        "require": [
            {"name": "forces", "equivalent_to": "reference/in.lammps", "rtol": 1e-6, "reason": "digits of coordinates"},
            {"name": "fix_styles", "includes": "nvt"},
            {"name": "temperature", "equals": 300, "unit": "K"},
            {"name": "timestep", "at_most": 1, "unit": "fs"},
            {"name": "total_steps", "at_least": 1000},
            {"name": "natoms", "equals": 64},
        ],
    }
    right = {"md/in.lammps": "include ../inputs/cell.in\n" + MODEL + RUN}
    collected = collect(spec, task, right)
    assert failed(judge(spec, task, right, collected)) == set()
    assert swept(spec, task, evidence(right, collected)) == {"md_forces", "md_timestep", "md_total_steps"}
    swapped = {"md/in.lammps": HEAD + MODEL.replace("Si(D) Ge", "Ge Si(D)") + RUN}
    assert failed(judge(spec, task, swapped, collect(spec, task, swapped))) == {"md_forces"}
    broken = {"md/in.lammps": HEAD + MODEL.replace(" Ge", "") + RUN}
    result = judge(spec, task, broken, collect(spec, task, broken))
    assert failed(result) == set(result)
    assert "element to type mappings" in result["md_accepted"].message


def test_files_of_a_deck() -> None:
    deck = DeckFiles({"deck": b"x"}, {"deck": "in"}, "a/b", {"a/b/in": b"x"})
    assert deck.path("deck") == "a/b/in"
    assert DeckFiles.of({"win": b""}).path("win") == "win"
