"""VASP decks: what INCAR, KPOINTS and POSCAR mean, however they are written."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matassay.core import Failure
from matassay.grading.decks import CODES, Effective
from matassay.grading.decks.vasp import _values

VASP = CODES["vasp"]

POSCAR = """silicon
5.43
0.0 0.5 0.5
0.5 0.0 0.5
0.5 0.5 0.0
Si
2
Direct
0 0 0
0.25 0.25 0.25
"""
CONVENTIONAL = """silicon, cubic cell
1.0
5.43 0 0
0 5.43 0
0 0 5.43
Si
8
Direct
0 0 0
0.5 0.5 0
0.5 0 0.5
0 0.5 0.5
0.25 0.25 0.25
0.75 0.75 0.25
0.75 0.25 0.75
0.25 0.75 0.75
"""


def deck(
    incar: str = "", kpoints: str | None = None, poscar: str | None = POSCAR, potcar: str | None = None, **extra: str
) -> dict[str, bytes]:
    files = {"INCAR": incar, "KPOINTS": kpoints, "POSCAR": poscar, "POTCAR": potcar, **extra}
    return {name: text.encode() for name, text in files.items() if text is not None}


def read(*args: Any, context: dict[str, Any] | None = None, **kwargs: Any) -> Effective:
    return VASP.effective(deck(*args, **kwargs), None, context or {})


def values(incar: str, **kwargs: Any) -> dict[str, Any]:
    effective = read(incar, **kwargs)
    assert effective.refusal is None, effective.refusal
    return dict(effective.values)


@pytest.mark.parametrize(
    "incar",
    [
        "EDIFF = 1d-6",
        "EDIFF = 1E-06",
        "EDIFF=.000001",
        "  ediff = 1.0D-06 ! tight",
        "EDIFF = \\\n 1e-6",
        "ENCUT = 400; EDIFF = 1e-6 # both",
        "ENCUT = 400 eV ; EDIFF = 1e-6 eV",
        "EDIFF = 1e-6\nEDIFF = 1e-4",
        '# EDIFF = 1e-3\nEDIFF = "1e-6"',
        "just some words\nEDIFF = 1e-6",
        "EDIFF\t=\t1e-6\r\n",
        "EDIFF = 1.0-6",
    ],
)
def test_spellings_of_one_number(incar: str) -> None:
    assert values(incar)["EDIFF"] == pytest.approx(1e-6, rel=1e-12)


@pytest.mark.parametrize(
    ("word", "truth"),
    [(".TRUE.", True), ("T", True), (".T.", True), ("true", True), ("F", False), (".false.", False), ("FALSE", False)],
)
def test_spellings_of_truth(word: str, truth: bool) -> None:
    assert values(f"LWAVE = {word} and a remark")["LWAVE"] is truth


@pytest.mark.parametrize(
    ("incar", "item"),
    [
        ("LWAVE = yes", "LWAVE"),
        ("NSW = 10.5", "NSW"),
        ("NSW = ten", "NSW"),
        ("ENCUT = high", "ENCUT"),
        ("ENCUT =", "ENCUT"),
        ("PREC = extreme", "PREC"),
        ("EDIFF = 1e-6x", "EDIFF"),
    ],
)
def test_what_vasp_cannot_read_is_refused_in_its_words(incar: str, item: str) -> None:
    refusal = read(incar).refusal
    assert refusal is not None
    assert f"Error reading item '{item}' from file INCAR" in refusal.text
    assert refusal.failure is Failure.SOFTWARE_USAGE
    assert refusal.line == 1


def test_defaults_follow_from_other_tags() -> None:
    static = values("")
    assert (static["NSW"], static["IBRION"], static["ISIF"], static["motion"]) == (0, -1, 2, "static")
    assert static["EDIFFG"] == pytest.approx(1e-3)
    assert (static["ISMEAR"], static["SIGMA"], static["PREC"], static["ALGO"], static["LASPH"]) == (
        1,
        0.2,
        "normal",
        "normal",
        False,
    )
    assert (static["ISTART"], static["ICHARG"], static["ISYM"], static["LREAL"]) == (0, 2, 2, False)
    moving = values("NSW = 50\nPOTIM = 1\nTEBEG = 300\n")
    assert (moving["IBRION"], moving["ISIF"], moving["TEEND"], moving["motion"]) == (0, 0, 300, "dynamics")
    relaxed = values("NSW = 50; IBRION = 2; ISIF = 3; EDIFF = 1e-7")
    assert (relaxed["motion"], relaxed["cell_moves"], relaxed["ions_move"], relaxed["POTIM"]) == (
        "relaxation",
        True,
        True,
        0.5,
    )
    assert relaxed["EDIFFG"] == pytest.approx(1e-6)
    hybrid = values("LHFCALC = T; HFSCREEN = 0.2")
    assert (hybrid["AEXX"], hybrid["ISYM"], hybrid["AGGAX"], hybrid["ISIF"]) == (0.25, 3, 0.75, 0)
    restarted = values("", WAVECAR="x")
    assert (restarted["ISTART"], restarted["ICHARG"]) == (1, 0)
    spinor = values("LSORBIT = .TRUE.")
    assert spinor["LNONCOLLINEAR"] is True
    assert spinor["MAGMOM"] == [1.0] * 6


def test_dynamics_need_a_time_step() -> None:
    assert "POTIM" in str(read("IBRION = 0; NSW = 100").refusal)


@pytest.mark.parametrize(
    ("word", "canonical"),
    [("A", "accurate"), ("Accurate", "accurate"), ("acc", "accurate"), ("NORMAL", "normal"), ("High", "high")],
)
def test_first_letter_of_precision_counts(word: str, canonical: str) -> None:
    assert values(f"PREC = {word}")["PREC"] == canonical


@pytest.mark.parametrize(
    ("incar", "algorithm", "number"),
    [
        ("ALGO = F", "fast", 68),
        ("ALGO = Normal", "normal", 38),
        ("ALGO = N", "normal", 38),
        ("ALGO = Nothing", "none", 2),
        ("IALGO = 2", "none", 2),
        ("ALGO = Conjugate", "all", 58),
        ("ALGO = VeryFast", "veryfast", 48),
        ("IALGO = 48", "veryfast", 48),
        ("ALGO = All", "all", 58),
        ("ALGO = None", "none", 2),
        ("IALGO = 38\nALGO = Fast", "fast", 68),
    ],
)
def test_two_tags_for_the_algorithm(incar: str, algorithm: str, number: int) -> None:
    found = values(incar)
    assert (found["ALGO"], found["IALGO"]) == (algorithm, number)


@pytest.mark.parametrize(
    ("tag", "one", "other", "same"),
    [
        ("ALGO", "Old Fast", "of", True),
        ("ALGO", "Old VeryFast", "VeryFast", False),
        ("ALGO", "GW0", "EVGW0", True),
        ("ALGO", "RPA", "ACFDT", True),
        ("ALGO", "EVGW0R", "EVGW0", False),
        ("PREC", "SingleN", "Single", False),
        ("GGA", "PZ", "CA", True),
        ("GGA", "CA_C", "CA", False),
        ("GGA", "PBE", "PE", False),
        ("XC", "SCAN_X PBE_C", "scan_x  pbe_c", True),
        ("XC", "SCAN_X PBE_C", "SCAN_X", False),
    ],
)
def test_words_with_the_same_meaning(tag: str, one: str, other: str, same: bool) -> None:
    assert (values(f"{tag} = {one}")[tag] == values(f"{tag} = {other}")[tag]) is same
    assert VASP.canonical(tag, one)[1] == values(f"{tag} = {one}")[tag]


RELAXATION = "ENCUT = 400; NSW = 100; IBRION = 2; ISIF = 4; EDIFFG = -0.01; ISMEAR = 0; SIGMA = 0.05; NBANDS = 24"
"""INCAR of a run of VASP 6 on chromium whose OUTCAR is public."""


def test_defaults_are_those_that_vasp_prints() -> None:
    printed = {
        "NWRITE": 2, "PREC": "normal", "ISTART": 0, "ICHARG": 2, "ISPIN": 1, "LSORBIT": False, "INIWAV": 1,
        "LASPH": False, "NELM": 60, "NELMIN": 2, "NELMDL": -5, "EDIFF": 1e-4, "LREAL": False, "NLSPLINE": False,
        "GGA_COMPAT": True, "LMAXMIX": 2, "VOSKOWN": 0, "NBLOCK": 1, "KBLOCK": 100, "NFREE": 1, "IWAVPR": 11, "ISYM": 2,
        "LCORR": True, "POTIM": 0.5, "TEBEG": 0, "TEEND": 0, "SMASS": -3, "SCALEE": 1, "NPACO": 256, "APACO": 10,
        "PSTRESS": 0, "NUPDOWN": -1, "IALGO": 38, "LDIAG": True, "LSUBROT": False, "IMIX": 4, "AMIX": 0.4, "BMIX": 1,
        "AMIX_MAG": 1.6, "BMIX_MAG": 1, "AMIN": 0.1, "WC": 100, "INIMIX": 1, "MIXPRE": 1, "MAXMIX": -45,
        "WEIMIN": 0.001, "DEPER": 0.3, "TIME": 0.4, "LWAVE": True, "LDOWNSAMPLE": False, "LCHARG": True,
        "LVTOT": False, "LVHAR": False, "LELF": False, "LORBIT": 0, "LMONO": False, "LDIPOL": False, "IDIPOL": 0,
        "EPSILON": 1, "LHFCALC": False, "AEXX": 0, "LEPSILON": False, "LRPA": False, "LNABLA": False, "CSHIFT": 0.1,
        "DEG_THRESHOLD": 2e-3, "KPOINTS_OPT_MODE": 1, "LCHIMAG": False, "DQ": 1e-3, "LLRAUG": False, "NEDOS": 301,
    }  # fmt: skip
    found = values(RELAXATION)
    assert {tag: found.get(tag) for tag in printed} == printed
    assert found["EBREAK"] == pytest.approx(0.10e-5, rel=0.05)


@pytest.mark.parametrize(
    ("incar", "tag", "value"),
    [
        ("", "WEIMIN", 0.0),
        ("NSW = 3; POTIM = 1", "WEIMIN", 0.001),
        ("NSW = 3; POTIM = 1", "IWAVPR", 12),
        ("NSW = 3; POTIM = 1; ML_LMLFF = T", "IWAVPR", 11),
        ("ALGO = VeryFast", "NELMDL", -12),
        ("ALGO = Exact", "NELMDL", -5),
        ("ISTART = 1", "NELMDL", 0),
        ("LHFCALC = T; LRHFCALC = T", "AEXX", 1.0),
        ("LHFCALC = T; AEXX = 1", "ALDAC", 0.0),
        ("AEXX = 1", "AGGAC", 1.0),
        ("LHFCALC = T", "ALDAX", 0.75),
        ("PREC = SingleN", "PRECFOCK", "single"),
        ("ALGO = RPAR", "PRECFOCK", "fast"),
        ("AMIX = 0.02", "AMIN", 0.02),
        ("LREAL = On; PREC = Low", "ROPT", [2 / 3]),
        ("LREAL = Auto; PREC = Single", "ROPT", [-5e-4]),
        ("LCALCEPS = T", "EFIELD_PEAD", [0.01] * 3),
        ("ALGO = CHI; NOMEGA = 50", "LSPECTRAL", True),
        ("", "LSPECTRAL", False),
        ("", "PHON_LBOSE", True),
        ("LVDW_ONECELL = F F T", "LVDW_ONECELL", [False, False, True]),
        ("NTARGET_STATES = 1 2 3", "NTARGET_STATES", [1, 2, 3]),
        ("ENMAX = 300", "ENMAX", 300.0),
    ],
)
def test_defaults_and_types_of_single_tags(incar: str, tag: str, value: Any) -> None:
    assert values(incar)[tag] == value


def test_what_follows_from_what_is_not_there_is_not_claimed() -> None:
    assert values("", WAVECAR="x")["NELMDL"] == 0
    assert {"CSHIFT", "LSPECTRAL"} <= set(read("ALGO = EVGW0").unknown)
    assert "METAGGA" in read("METAGGA = SCAN", context={"functional": "PBE"}).unknown["GGA"]
    assert {"motion", "ions_move"} <= set(read("IBRION = 44; NSW = 10").unknown)


def test_tags_that_were_checked_elsewhere_are_in_the_table() -> None:
    named = [tag for tags in _values.table()["checked"].values() for tag in tags]
    assert len(named) == len(set(named))
    assert set(named) <= set(_values.types())
    kinds = [tag for kind in _values.TYPES for tag in [*_values.table()[kind], *_values.table()["known"][kind]]]
    assert len(kinds) == len(set(kinds))


def test_moments_of_an_antiferromagnet() -> None:
    found = values("ISPIN = 2\nMAGMOM = 1*3 \\\n -3 ! up, down")
    assert found["MAGMOM"] == [3, -3]
    assert found["structure"].moments == (3, -3)
    assert found["total_moment"] == 0
    assert "MAGMOM" not in read("MAGMOM = 3 -3").values, "VASP does not read it without ISPIN = 2"
    assert values("ISPIN = 2")["MAGMOM"] == [1, 1]
    assert "MAGMOM" in str(read("ISPIN = 2; MAGMOM = 3").refusal)
    assert values("ISPIN = 2; MAGMOM = 4*3")["MAGMOM"] == [3, 3]


def test_hubbard_terms_belong_to_species() -> None:
    poscar = "CrN\n1\n4 0 0\n0 4 0\n0 0 4\nCr N\n1 1\nDirect\n0 0 0\n.5 .5 .5\n"
    found = values("LDAU = T; LDAUL = 2 -1; LDAUU = 4 0; LDAUJ = 0.94 0", poscar=poscar)
    assert found["U_eff.Cr"] == pytest.approx(3.06)
    assert found["U_eff.N"] == 0
    assert found["LDAUTYPE"] == 2
    swapped = poscar.replace("Cr N", "N Cr")
    assert values("LDAU = T; LDAUL = 2 -1; LDAUU = 4 0; LDAUJ = 0.94 0", poscar=swapped)["U_eff.Cr"] == 0
    assert values("LDAUL = 2 -1; LDAUU = 4 0", poscar=poscar)["U_eff.Cr"] == 0, "LDAU itself is off"
    assert "LDAUU" in str(read("LDAU = T; LDAUL = 2 -1; LDAUU = 4", poscar=poscar).refusal)


NICKEL_OXIDE = (
    "NiO\n4.17\n1 .5 .5\n.5 1 .5\n.5 .5 1\nNi Ni O\n1 1 2\nDirect\n0 0 0\n.5 .5 .5\n.25 .25 .25\n.75 .75 .75\n"
)


@pytest.mark.parametrize(
    ("incar", "u"),
    [
        ("LDAU = T; LDAUL = 2 2 -1; LDAUU = 5.3 5.3 0; LDAUJ = 3*0", 5.3),
        ("LDAU = T; LDAUL = 2 -1 -1; LDAUU = 5.3 5.3 0; LDAUJ = 3*0", [5.3, 0]),
    ],
)
def test_an_element_in_two_groups(incar: str, u: Any) -> None:
    """The usual way to write an antiferromagnet: the element's value is there, and covers both groups."""
    found = values(incar, poscar=NICKEL_OXIDE)
    assert (found["U_eff.Ni"], found["U_eff.Ni1"], found["U_eff.O"]) == (u, 5.3, 0)


@pytest.mark.parametrize(
    ("incar", "moments"),
    [
        ("ISPIN = 2; MAGMOM = 2 -2", (2, -2)),
        ("LSORBIT = T; MAGMOM = 0 0 2 0 0 -2", (2, -2)),
        ("LSORBIT = T; MAGMOM = 0 3 4 0 -3 -4", (5, -5)),
        ("LSORBIT = T; MAGMOM = 2 0 0 0 2 0", None),
        ("LSORBIT = T; MAGMOM = 6*0", (0, 0)),
        ("MAGMOM = 2 -2", None),
    ],
)
def test_moments_belong_to_the_structure(incar: str, moments: tuple[float, ...] | None) -> None:
    found = values(incar)["structure"].moments
    assert found == (None if moments is None else pytest.approx(moments))


def test_moments_that_vasp_does_not_look_at() -> None:
    found = read("MAGMOM = 2 -2")
    assert "ISPIN = 1" in found.unknown["total_moment"]
    assert "MAGMOM" not in found.values


@pytest.mark.parametrize("incar", ["LATTICE_CONSTRAINTS = .TRUE. .TRUE. .FALSE.", "LATTICE_CONSTRAINTS = T T F # slab"])
def test_lists_of_truth_values(incar: str) -> None:
    assert values(incar)["LATTICE_CONSTRAINTS"] == [True, True, False]


def test_projections_are_text() -> None:
    assert values('LOCPROJ = "1 : s : Pr\n2 : p : Pr"')["LOCPROJ"] == "1 : s : Pr\n2 : p : Pr"


@pytest.mark.parametrize("incar", ["EDIFF\u00a0= 1e-8", "EDIFF = \u0661e-8", "\uff25DIFF = 1e-8"])
def test_only_ascii_is_read_as_fortran_does(incar: str) -> None:
    found = read(incar)
    assert found.refusal is not None or found.values["EDIFF"] == 1e-4


def test_what_is_passed_over_in_silence_is_noted() -> None:
    effective = read("ENCUTT = 500\nIBRION = 2 NSW = 100\nISMEAR = 0\nISMEAR = -5")
    assert effective.refusal is None
    assert effective.values["ISMEAR"] == 0
    assert effective.values["NSW"] == 0
    notes = " ".join(str(p) for p in effective.problems)
    assert "ENCUTT" in notes
    assert "semicolon" in notes
    assert "ISMEAR is set again" in notes


def test_cutoff_without_potcar_cannot_be_told() -> None:
    effective = read("")
    assert "ENCUT" not in effective.values
    assert "POTCAR" in effective.unknown["ENCUT"]
    assert read("", context={"ENMAX": {"Si": 245.3}}).values["ENCUT"] == 245.3
    charged = read("NELECT = 7", context={"ZVAL": {"Si": 4}})
    assert charged.values["charge"] == 1


@pytest.mark.parametrize(
    ("incar", "refused"),
    [
        ("NBANDS = 3", True),
        ("NBANDS = 4", False),
        ("NBANDS = 4\nISPIN = 2", False),
        ("NBANDS = 7\nLSORBIT = T", True),
        ("NBANDS = 8\nLNONCOLLINEAR = T", False),
        ("NBANDS = 3\nNELECT = 6", False),
    ],
)
def test_bands_must_hold_the_electrons(incar: str, refused: bool) -> None:
    found = read(incar, context={"ZVAL": {"Si": 4}}).refusal
    assert (found is not None) == refused, found


def test_the_old_switch_of_dispersion() -> None:
    assert values("LVDW = .TRUE.")["IVDW"] == values("IVDW = 1")["IVDW"] == 10
    assert values("LVDW = .TRUE.\nIVDW = 11")["IVDW"] == 11
    assert values("LVDW = .FALSE.")["IVDW"] == 0


def test_groups_and_quotes() -> None:
    found = values(
        'WANNIER90_WIN = "\nnum_wann = 8\nENCUT = 3\n"\nENCUT = 400\nKERNEL_TRUNCATION {\n LTRUNCATE = T\n}\nNSW = 3; POTIM = 1'
    )
    assert found["ENCUT"] == 400
    assert "num_wann" in found["WANNIER90_WIN"]
    assert found["KERNEL_TRUNCATION/LTRUNCATE"] is True
    assert found["NSW"] == 3


@pytest.mark.parametrize(
    ("kpoints", "mesh", "offset"),
    [
        ("k\n0\nGamma\n4 4 4\n0 0 0\n", [4, 4, 4], [0, 0, 0]),
        ("k\n0\nGamma\n4 4 4\n", [4, 4, 4], [0, 0, 0]),
        ("k\n0\nMonkhorst-Pack\n4 4 4\n0 0 0\n", [4, 4, 4], [0.5] * 3),
        ("k\n0\nM\n5 5 5\n0 0 0\n", [5, 5, 5], [0, 0, 0]),
        ("k\n0\nM\n4 4 4\n0.5 0.5 0.5\n", [4, 4, 4], [0, 0, 0]),
        ("k\n0\ng\n4 4 4\n0.5 0.5 0.5\n", [4, 4, 4], [0.5] * 3),
        ("k\n0\nAuto\n20\n", [6, 6, 6], [0, 0, 0]),
        ("k\n0\nReciprocal\n0.25 0 0\n0 0.25 0\n0 0 0.25\n0 0 0\n", [4, 4, 4], [0, 0, 0]),
        ("k\n2\nReciprocal\n0 0 0 1\n0.5 0 0 1\n", [2, 1, 1], [0, 0, 0]),
        ("k\n2\nrec\n0 0 0 1\n0.33333333 0 0 2\n", [3, 1, 1], [0, 0, 0]),
    ],
)
def test_meshes(kpoints: str, mesh: list[int], offset: list[float]) -> None:
    found = values("", kpoints=kpoints)
    assert found["k_mesh"] == mesh
    assert found["k_offset"] == offset
    assert found["k_gamma"] is (offset == [0, 0, 0])


def test_spacing_is_that_of_the_cell() -> None:
    """8 x 8 x 8 for two atoms samples the cubic cell's axes as finely as that cell's mesh of 2 pi / a / spacing."""
    primitive = values("", kpoints="k\n0\nG\n8 8 8\n")
    cubic = values("", kpoints="k\n0\nG\n6 6 6\n", poscar=CONVENTIONAL)
    assert primitive["k_spacing"] == pytest.approx([2 * np.pi * np.sqrt(3) / 5.43 / 8] * 3)
    assert cubic["k_spacing"] == pytest.approx([2 * np.pi / 5.43 / 6] * 3)


def test_mesh_without_kpoints_file() -> None:
    found = values("KSPACING = 0.2", poscar=CONVENTIONAL)
    assert (found["k_mesh"], found["k_gamma"]) == ([6, 6, 6], True)
    assert values("", poscar=CONVENTIONAL)["k_mesh"] == [3, 3, 3]
    assert values("KSPACING = 0.2; KGAMMA = F", poscar=CONVENTIONAL)["k_offset"] == [0.5] * 3
    ruled = values("KSPACING = 0.2", poscar=CONVENTIONAL, kpoints="k\n0\nG\n2 2 2\n")
    assert ruled["k_mesh"] == [2, 2, 2]


def test_spacing_in_the_incar_is_a_choice_of_the_deck() -> None:
    assert "k_spacing" in read("KSPACING = 0.3").explicit
    assert "k_spacing" not in read("").explicit


@pytest.mark.parametrize(("mesh", "refused"), [("1 1 1", True), ("1 1 3", True), ("2 2 2", False)])
def test_tetrahedra_need_points(mesh: str, refused: bool) -> None:
    for smearing in (-5, 0):
        found = read(f"ISMEAR = {smearing}", f"k\n0\nGamma\n{mesh}\n")
        assert (found.refusal is not None) == (refused and smearing == -5)
        assert found.refusal is None or "Tetrahedron" in found.refusal.text


@pytest.mark.parametrize(("number", "same"), [(1, 10), (2, 20)])
def test_numbers_of_which_two_mean_the_same(number: int, same: int) -> None:
    assert values(f"IVDW = {number}")["IVDW"] == VASP.canonical("IVDW", number)[1] == same


def test_a_forgotten_semicolon_behind_a_word_is_noted() -> None:
    found = read("PREC = Accurate ISMEAR = 0\nSYSTEM = a = 5.43")
    assert (found.values["PREC"], found.values["ISMEAR"], len(found.problems)) == ("accurate", 1, 1)
    assert "semicolon" in str(found.problems[0])


def test_spin_of_noncollinear_calculations() -> None:
    found = read("LSORBIT = T; ISPIN = 2")
    assert found.values["ISPIN"] == 1
    assert "total_moment" not in found.values


@pytest.mark.parametrize(
    ("behind", "refused"), [("\nend of path", False), ("0.5 0.5 x", True), ("0.5 0.5 0.5\nend", True)]
)
def test_what_stands_behind_a_path(behind: str, refused: bool) -> None:
    found = read("", kpoints=f"path\n40\nLine-mode\nReciprocal\n0 0 0\n0.5 0 0.5\n{behind}\n")
    assert (found.refusal is not None) is refused


def test_path() -> None:
    found = values(
        "", kpoints="path\n40\nLine-mode\nReciprocal\n0 0 0 Gamma\n0.5 0 0.5 X\n\n0.5 0 0.5\n0.5 0.25 0.75\n"
    )
    assert (found["k_scheme"], found["k_per_segment"], len(found["k_path"])) == ("path", 40, 4)
    assert "k_mesh" not in found


@pytest.mark.parametrize(
    "kpoints",
    [
        "",
        "k\nx\nG\n2 2 2\n",
        "k\n0\nG\n2 2\n",
        "k\n0\nG\n0 2 2\n",
        "k\n0\nG\n2.5 2 2\n",
        "k\n3\nrec\n0 0 0 1\n",
        "k\n10\nline\nrec\n0 0 0\n",
        "k\n0\nG\n2 2 2\n0 0 nan\n",
        "k\n0\nG\n2 2 2\nno shift\n",
        "k\n0\nG\n2 2 2\n0 0 1.7e308\n",
    ],
)
def test_meshes_that_vasp_refuses(kpoints: str) -> None:
    refusal = read("", kpoints=kpoints).refusal
    assert refusal is not None
    assert refusal.file == "KPOINTS"


SAME_SILICON = {
    "volume": POSCAR.replace("5.43", f"-{5.43**3 / 4:.10f}", 1),
    "cartesian": POSCAR.replace("Direct", "Cartesian"),
    "kartesisch": POSCAR.replace("Direct", "kartesisch"),
    "three factors": POSCAR.replace("5.43", "5.43 5.43 5.43", 1),
    "vasp4": POSCAR.replace("Si\n2", "2"),
    "selective": POSCAR.replace("Direct", "Selective\nDirect").replace("0 0 0\n0.25 0.25 0.25", "0 0 0 T T T\n.25 .25 .25 F F F"),
    "empty lines": POSCAR.replace("Direct\n", "Direct\n\n").replace("0.25 0.25 0.25", "\n0.25 0.25 0.25"),
    "order": POSCAR.replace("0 0 0\n0.25 0.25 0.25", "0.25 0.25 0.25 Si\n1 1 1 Si"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAME_SILICON)
def test_one_structure_in_many_spellings(name: str) -> None:
    found = values("", poscar=SAME_SILICON[name], potcar="Si")
    assert found["volume"] == pytest.approx(5.43**3 / 4)
    assert found["composition"] == {"Si": 2}
    sites = np.sort(found["structure"].positions.round(9) % 1, axis=0)
    assert sites == pytest.approx(np.array([[0, 0, 0], [0.25, 0.25, 0.25]]))


@pytest.mark.parametrize(
    "spec",
    [
        "Si\nGe_d",
        "Si Ge_d",
        "Si, Ge_d # in this order",
        "PBE\nSi\nGe_d\n",
        "PAW_PBE Si 05Jan2001\nPAW_PBE Ge_d 03Jul2007\n",
        "TITEL = PAW_PBE Si 05Jan2001\nTITEL = PAW_PBE Ge_d 03Jul2007",
        "potpaw_PBE.54/Si/POTCAR\npotpaw_PBE.54/Ge_d/POTCAR",
        "- Si\n- Ge_d",
        '["Si", "Ge_d"]',
        "Si: Si\nGe: Ge_d",
        "{Si: 'Si', Ge: 'Ge_d'}",
    ],
)
def test_names_of_data_sets(spec: str) -> None:
    poscar = "SiGe\n1\n5 0 0\n0 5 0\n0 0 5\nSi Ge\n1 1\nDirect\n0 0 0\n.5 .5 .5\n"
    effective = read("", poscar=poscar, potcar=spec)
    assert effective.problems == ()
    assert effective.values["potcar"] == ["Si", "Ge_d"]
    if "PBE" in spec and "/" not in spec:
        assert effective.values["potcar_functional"] == "PBE"


def test_potcar_overrules_the_names_in_poscar() -> None:
    poscar = "SiGe\n1\n5 0 0\n0 5 0\n0 0 5\nSi Ge\n1 2\nDirect\n0 0 0\n.5 .5 .5\n.2 .2 .2\n"
    right = read("", poscar=poscar, potcar="Si\nGe_d\n")
    assert right.values["composition"] == {"Ge": 2, "Si": 1}
    assert right.values["potcar"] == ["Si", "Ge_d"]
    swapped = read("", poscar=poscar, potcar="PBE_54\nGe_d Si")
    assert swapped.refusal is None
    assert swapped.values["composition"] == {"Ge": 1, "Si": 2}
    assert "POTCAR" in str(swapped.problems[0])
    assert "species" in str(read("", poscar=poscar, potcar="Si").refusal)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2\nDirect", "3\nDirect"),
        ("5.43", "0"),
        ("Si\n2", "Si Ge\n2"),
        ("0.25 0.25 0.25", "0.25 0.25"),
        ("0.5 0.5 0.0", "0.5 0.5"),
        ("0.0 0.5 0.5", "0.5 0.0 0.5"),
        ("0.0 0.5 0.5\n0.5 0.0 0.5", "0.5 0.0 0.5\n0.0 0.5 0.5"),
        ("2\nDirect", "99999999\nDirect"),
        ("5.43", "nan"),
    ],
)
def test_structures_that_vasp_refuses(old: str, new: str) -> None:
    refusal = read("", poscar=POSCAR.replace(old, new, 1)).refusal
    assert refusal is not None
    assert refusal.file == "POSCAR"


@pytest.mark.parametrize("role", ["INCAR", "POSCAR"])
def test_missing_file_is_a_matter_of_format(role: str) -> None:
    files = deck("ENCUT = 400")
    del files[role]
    refusal = VASP.effective(files).refusal
    assert refusal is not None
    assert (refusal.file, refusal.failure) == (role, Failure.FORMAT)


@pytest.mark.parametrize(
    "data",
    [
        b"\0" * 100,
        b"ENCUT = 4\x00",
        b"A = " + b"1 " * 5_000_000,
        b"{" * 100_000,
        b"A{" * 100_000,
        b'A = "' * 100_000,
        b"\\\n" * 200_000,
        b"MAGMOM = 999999999*1\nISPIN=2",
        b"\xff\xfe\x00",
        b"=;" * 200_000,
        b"NSW = " + b"9" * 5000,
        b"EDIFF = 1e99999",
    ],
    ids=lambda d: repr(d[:12]),
)
def test_hostile_files_end_soon_and_without_an_exception(data: bytes) -> None:
    start = time.process_time()
    for role in ("INCAR", "POSCAR", "KPOINTS", "POTCAR"):
        VASP.effective({**deck("ENCUT = 400", "k\n0\nG\n2 2 2\n"), role: data})
    assert time.process_time() - start < 10


TAG_VALUES = {"ENCUT": ("520", 520.0), "EDIFF": ("1e-7", 1e-7), "NELM": ("77", 77), "LREAL": ("Auto", "auto"), "ADDGRID": ("T", True), "PREC": ("Accurate", "accurate"), "SIGMA": ("0.05", 0.05), "ISYM": ("0", 0)}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(sorted(TAG_VALUES)),
    st.lists(
        st.sampled_from(["\n", ";", " ; ", " # remark\n", " ! x = 3\n", "\n\n  ", "\r\n"]), min_size=8, max_size=8
    ),
    st.lists(st.sampled_from(["=", " = ", "  =\\\n ", "\t= "]), min_size=8, max_size=8),
    st.booleans(),
)
def test_order_and_layout_do_not_matter(order: list[str], ends: list[str], equals: list[str], lower: bool) -> None:
    text = "".join(
        f"{tag.lower() if lower else tag}{sign}{TAG_VALUES[tag][0]}{end}"
        for tag, sign, end in zip(order, equals, ends, strict=True)
    )
    found = values(text)
    assert {tag: found[tag] for tag in TAG_VALUES} == {tag: value for tag, (_, value) in TAG_VALUES.items()}


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.sampled_from(["INCAR", "POSCAR", "KPOINTS", "POTCAR"]))
def test_no_bytes_make_it_crash(data: bytes, role: str) -> None:
    VASP.effective({**deck("ENCUT = 400", "k\n0\nG\n2 2 2\n"), role: data})
