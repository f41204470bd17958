"""Quantum ESPRESSO inputs: our reader, and pw.x itself where it is installed."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matassay.core import Failure
from matassay.grading.decks import CODES, DeckFiles, Effective
from matassay.grading.decks.espresso import _table
from matassay.grading.decks.espresso._lattice import lattice

from .running import needs_espresso, run

PW = CODES["quantum-espresso"]
PSEUDO = Path("/usr/share/espresso/pseudo")
A = 10.2 * 0.529177210903

SILICON = """&CONTROL
  calculation = 'scf'
/
&SYSTEM
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1
  ecutwfc = 30
/
&ELECTRONS
  conv_thr = 1.0d-10
/
ATOMIC_SPECIES
 Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
 Si 0.00 0.00 0.00
 Si 0.25 0.25 0.25
K_POINTS automatic
 4 4 4 0 0 0
"""


def read(text: str) -> Effective:
    return PW.effective({"input": text.encode()})


def ask(text: str, *pseudos: str) -> Effective:
    support = {name: (PSEUDO / name).read_bytes() for name in pseudos or ("Si.pz-vbc.UPF",)}
    files = {"input": text.encode()}
    return PW.effective(files, run(PW.probe(files, support)))


def values(text: str) -> dict[str, Any]:
    found = read(text)
    assert found.refusal is None, found.refusal
    return dict(found.values)


def test_values_and_defaults() -> None:
    v = values(SILICON)
    assert (v["ecutwfc"], v["ecutrho"], v["conv_thr"], v["mixing_beta"], v["occupations"]) == (
        30,
        120,
        1e-10,
        0.7,
        "fixed",
    )
    assert (v["nspin"], v["tprnfor"], v["nstep"], v["motion"], v["spin"]) == (1, False, 1, "static", "none")
    assert (v["k_mesh"], v["k_gamma"], v["composition"]) == ([4, 4, 4], True, {"Si": 2})
    assert v["volume"] == pytest.approx(A**3 / 4)
    assert v["k_spacing"] == pytest.approx([2 * np.pi * np.sqrt(3) / A / 4] * 3)


SAME = {
    "capitals and commas": SILICON.replace("ecutwfc = 30", "ECUTWFC=3.0D1,"),
    "comments": SILICON.replace("  ecutwfc = 30", "! ecutwfc = 80\n  ecutwfc = 30 ! Ry"),
    "last one counts": SILICON.replace("ecutwfc = 30", "ecutwfc = 90\n ecutwfc = 30"),
    "angstrom": SILICON.replace("celldm(1) = 10.2", f"A = {A:.12f}"),
    "celldm as a range": SILICON.replace("celldm(1) = 10.2", "celldm(1:3) = 10.2, 2*0.0"),
    "null values": SILICON.replace("celldm(1) = 10.2", "celldm = 10.2, , 0.0"),
    "unit in a remark": SILICON.replace(" alat", " ! crystal is what counts").replace("0.25 0.25 0.25", "-0.25 0.75 -0.25"),
    "celldm as a list": SILICON.replace("celldm(1) = 10.2", "celldm = 10.2, 2*0.0"),
    "one line": SILICON.replace("&SYSTEM\n  ibrav = 2", "&system ibrav=2"),
    "crystal": SILICON.replace("alat", "{crystal}"),
    "bohr": SILICON.replace("alat", "(bohr)").replace("0.25 0.25 0.25", "2.55 2.55 2.55"),
    "free cell": SILICON.replace("ibrav = 2, celldm(1) = 10.2", "ibrav = 0").replace("alat", "crystal") + f"CELL_PARAMETERS angstrom\n{-A / 2} 0 {A / 2}\n0 {A / 2} {A / 2}\n{-A / 2} {A / 2} 0\n",
    "cell in alat": SILICON.replace("ibrav = 2", "ibrav = 0") + "CELL_PARAMETERS {alat}\n-0.5 0 0.5\n0 0.5 0.5\n-0.5 0.5 0\n",
    "cards in another order": SILICON.replace("K_POINTS automatic\n 4 4 4 0 0 0\n", "").replace("ATOMIC_SPECIES", "K_POINTS automatic\n 4 4 4 0 0 0\nATOMIC_SPECIES"),
    "fractions": SILICON.replace("0.25 0.25 0.25", "1/4 0.5*0.5 .25"),
    "windows": SILICON.replace("\n", "\r\n"),
    "listed points": SILICON.split("K_POINTS")[0] + "K_POINTS crystal\n64\n" + "\n".join(f"{i / 4} {j / 4} {k / 4} 1" for i in range(4) for j in range(4) for k in range(4)) + "\n",
}  # fmt: skip
# In crystal coordinates of this cell the second atom stands at (-1/4, 3/4, -1/4), which is 1/4 of each cubic axis.
for _name in ("crystal", "free cell"):
    SAME[_name] = SAME[_name].replace("0.25 0.25 0.25", "-0.25 0.75 -0.25")


def signature(found: Effective) -> tuple[Any, ...]:
    v = found.values
    sites = sorted((v["structure"].positions @ v["structure"].lattice % A / A * 4).round(4).tolist())
    return (
        round(v["ecutwfc"], 9),
        round(v["ecutrho"], 9),
        round(v["volume"], 5),
        v["k_mesh"],
        v["k_offset"],
        v["conv_thr"],
        sites,
    )


@pytest.mark.parametrize("name", SAME)
def test_equivalent_inputs(name: str) -> None:
    found = read(SAME[name])
    assert found.refusal is None, found.refusal
    assert signature(found) == signature(read(SILICON))


@needs_espresso
@pytest.mark.parametrize(
    "name",
    [
        "angstrom",
        "cell in alat",
        "celldm as a range",
        "null values",
        "unit in a remark",
        "one line",
        "windows",
        "fractions",
    ],
)
def test_pw_reads_equivalent_inputs_as_we_do(name: str) -> None:
    found = ask(SAME[name])
    assert found.refusal is None, found.refusal
    assert found.sources["structure"] == "pw.x 6.7"
    assert signature(found) == signature(read(SILICON))


@needs_espresso
@pytest.mark.parametrize("reader", [read, ask])
def test_without_k_points_it_is_gamma_alone(reader: Any) -> None:
    assert reader(SILICON.split("K_POINTS")[0]).values["k_mesh"] == [1, 1, 1]


@needs_espresso
@pytest.mark.parametrize("reader", [read, ask])
@pytest.mark.parametrize("card", ["k_points", "K_Points"])
def test_cards_are_known_in_capitals_only(reader: Any, card: str) -> None:
    """pw.x passes over any other card in silence and runs at Gamma alone."""
    found = reader(SILICON.replace("K_POINTS", card))
    assert found.values["k_mesh"] == [1, 1, 1]
    assert f"card {card} is ignored" in " ".join(map(str, found.problems))


@needs_espresso
@pytest.mark.parametrize(
    ("variable", "word", "counts"),
    [
        ("vdw_corr", "DFT-D", "grimme-d2"),
        ("vdw_corr", "Dft-D", "none"),
        ("assume_isolated", "mt", "martyna-tuckerman"),
        ("assume_isolated", "M-T", "none"),
    ],
)
def test_words_that_pw_does_not_know_count_as_none(variable: str, word: str, counts: str) -> None:
    text = SILICON.replace("ibrav = 2", "ibrav = 1").replace("ecutwfc", f"{variable} = '{word}', ecutwfc")
    files = {"input": text.encode()}
    said = run(PW.probe(files, {"Si.pz-vbc.UPF": (PSEUDO / "Si.pz-vbc.UPF").read_bytes()}))
    assert ("Grimme-D2" in said["stdout"] or "Martyna-Tuckerman" in said["stdout"]) is (counts != "none")
    for collected in (None, said):
        assert PW.effective(files, collected).values[variable] == counts


def test_paths() -> None:
    """In crystal coordinates and in units of 2 pi / a, L of this cell is another triple."""
    card = "K_POINTS {}\n3\n0 0 0 20 ! G\n{} 20\n0 0 0 1\n"
    found = [
        values(SILICON.split("K_POINTS")[0] + card.format(*c))
        for c in (("crystal_b", ".5 .5 .5"), ("tpiba_b", "-.5 .5 .5"))
    ]
    assert np.array(found[0]["k_path"]) == pytest.approx(np.array(found[1]["k_path"]))
    assert [v["k_per_segment"] for v in found] == [20, 20]
    uneven = values(SILICON.split("K_POINTS")[0] + "K_POINTS crystal_b\n3\n0 0 0 20\n.5 .5 .5 10\n.5 0 .5 1\n")
    assert uneven["k_per_segment"] == [20, 10]


def test_older_names_of_one_thing() -> None:
    old, new = (values(SILICON.replace("ecutwfc", f"{x}, ecutwfc")) for x in ("london = .true.", "vdw_corr = 'dft-d'"))
    assert [old[k] for k in ("london", "vdw_corr")] == [new[k] for k in ("london", "vdw_corr")] == [True, "grimme-d2"]
    lengths = values(SILICON.replace("celldm(1) = 10.2", f"A = {A:.12f}"))
    assert lengths["celldm(1)"] == pytest.approx(10.2)
    assert values(SILICON)["A"] == pytest.approx(A)


@pytest.mark.parametrize(
    ("one", "other"), [("PBE", "sla+pw+pbx+pbc"), ("PBE", "SLA PW PBX PBC"), ("LDA", "pz"), ("pz", "SLA-PZ-NOGX-NOGC")]
)
def test_functionals_by_their_parts(one: str, other: str) -> None:
    found = [values(SILICON.replace("ecutwfc", f"input_dft = '{x}', ecutwfc"))["functional"] for x in (one, other)]
    assert found[0] == found[1] == PW.canonical("functional", other)[1]


@needs_espresso
@pytest.mark.parametrize("calculation", ["nscf", "bands", "relax", "vc-relax", "md"])
def test_every_kind_of_calculation_can_be_asked(calculation: str) -> None:
    text = SILICON.replace("'scf'", f"'{calculation}'").replace("ATOMIC_SPECIES", "&ions\n/\n&cell\n/\nATOMIC_SPECIES")
    found = ask(text)
    assert found.refusal is None, found.refusal
    v = found.values
    assert v["calculation"] == calculation
    assert v["tprnfor"] is (calculation in ("relax", "vc-relax", "md"))
    assert (v["cell_moves"], v["nstep"]) == (
        calculation == "vc-relax",
        50 if "relax" in calculation or calculation == "md" else 1,
    )


REFUSED = [
    ("ecutwfc = 30", "ecutwfcc = 30", "bad line in namelist &system"),
    ("ecutwfc = 30", "ecutwfc = high", "bad line in namelist &system"),
    ("ecutwfc = 30", "", "ecutwfc"),
    ("'scf'", "'scff'", "calculation"),
    ("'scf'", "scf", "bad line in namelist &control"),
    ("'scf'", "'relax'", "ions"),
    ("ibrav = 2", "ibrav = 77", "ibrav"),
    ("nat = 2", "nat = 3", ""),
    (" Si 0.25", " Ge 0.25", "species"),
    ("4 4 4 0 0 0", "4 4 4 0 0 2", ""),
    ("conv_thr = 1.0d-10\n/", "conv_thr = 1.0d-10\n", ""),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED)
def test_refusals_without_the_program(old: str, new: str, words: str) -> None:
    assert old in SILICON
    refusal = read(SILICON.replace(old, new, 1)).refusal
    assert refusal is not None
    assert words in refusal.text
    assert refusal.failure is Failure.SOFTWARE_USAGE


@needs_espresso
@pytest.mark.parametrize(("old", "new", "words"), [*REFUSED, ("Si.pz-vbc.UPF", "Si.upf", "not found")])
def test_pw_refuses_the_same_with_its_own_reason(old: str, new: str, words: str) -> None:
    refusal = ask(SILICON.replace(old, new, 1)).refusal
    assert refusal is not None


@needs_espresso
def test_reason_is_in_the_words_of_the_program() -> None:
    refusal = ask(SILICON.replace("ecutwfc", "ecutwfcc")).refusal
    assert refusal is not None
    assert refusal.text.startswith("Error in routine read_namelists (1): bad line in namelist &system")


def test_species_carry_their_settings() -> None:
    text = SILICON.replace(
        "ntyp = 1",
        "ntyp = 2, nspin = 2, occupations = 'smearing', degauss = 0.01, lda_plus_u = .true., Hubbard_U(2) = 3.5, starting_magnetization(1) = 0.5, starting_magnetization(2) = -0.5",
    )
    text = (
        text.replace(" Si 28.086 Si.pz-vbc.UPF", " Si1 28.086 Si.pz-vbc.UPF\n Si2 28.086 Si.pz-vbc.UPF")
        .replace(" Si 0.00", " Si1 0.00")
        .replace(" Si 0.25", " Si2 0.25")
    )
    v = values(text)
    assert (v["Hubbard_U.Si2"], v["Hubbard_U.Si1"], v["pseudo.Si1"]) == (3.5, 0, "Si.pz-vbc.UPF")
    assert v["structure"].moments == (0.5, -0.5)
    assert v["composition"] == {"Si": 2}
    assert values(text.replace("lda_plus_u = .true.,", ""))["Hubbard_U.Si2"] == 0, "U acts only where it is switched on"


@pytest.mark.parametrize(
    ("word", "canonical"),
    [
        ("mv", "marzari-vanderbilt"),
        ("cold", "marzari-vanderbilt"),
        ("m-p", "methfessel-paxton"),
        ("gauss", "gaussian"),
        ("Fermi-Dirac", "fermi-dirac"),
    ],
)
def test_names_of_smearing(word: str, canonical: str) -> None:
    text = SILICON.replace("ecutwfc", f"occupations='smearing', smearing='{word}', degauss=0.01, ecutwfc")
    assert values(text)["smearing"] == canonical
    assert PW.canonical("smearing", word) == ("smearing", canonical)


CELLS = {
    1: [10, 0, 0, 0, 0, 0], 2: [10, 0, 0, 0, 0, 0], 3: [10, 0, 0, 0, 0, 0], -3: [10, 0, 0, 0, 0, 0], 4: [8, 0, 1.6, 0, 0, 0],
    5: [9, 0, 0, 0.3, 0, 0], -5: [9, 0, 0, 0.3, 0, 0], 6: [8, 0, 1.3, 0, 0, 0], 7: [8, 0, 1.3, 0, 0, 0], 8: [8, 1.2, 1.3, 0, 0, 0],
    9: [8, 1.2, 1.3, 0, 0, 0], -9: [8, 1.2, 1.3, 0, 0, 0], 91: [8, 1.2, 1.3, 0, 0, 0], 10: [8, 1.2, 1.3, 0, 0, 0], 11: [8, 1.2, 1.3, 0, 0, 0],
    12: [8, 1.2, 1.3, 0.2, 0, 0], -12: [8, 1.2, 1.3, 0, 0.2, 0], 13: [8, 1.2, 1.3, 0.2, 0, 0], -13: [8, 1.2, 1.3, 0, 0.2, 0], 14: [8, 1.2, 1.3, 0.1, 0.2, 0.3],
}  # fmt: skip


@needs_espresso
@pytest.mark.parametrize("ibrav", CELLS)
def test_every_lattice_is_that_of_pw(ibrav: int) -> None:
    celldm = CELLS[ibrav]
    given = ", ".join(f"celldm({i}) = {c}" for i, c in enumerate(celldm, 1) if c)
    text = SILICON.replace("ibrav = 2, celldm(1) = 10.2, nat = 2", f"ibrav = {ibrav}, {given}, nat = 1").replace(
        " Si 0.25 0.25 0.25\n", ""
    )
    found = ask(text)
    assert found.refusal is None, found.refusal
    assert found.sources["structure"] == "pw.x 6.7"
    assert found.values["structure"].lattice == pytest.approx(lattice(ibrav, celldm) * 0.529177210903, abs=1e-6)


def test_defaults_that_the_manual_states_otherwise_than_the_program() -> None:
    """The program wins: what pw.x 6.7 writes into `data-file-schema.xml`, and `diago_david_ndim` after its notes."""
    v = values(SILICON)
    assert (v["eamp"], v["q2sigma"], v["trust_radius_min"], v["diago_david_ndim"]) == (0.0, 0.01, 1e-4, 2)
    assert "xdm_a1" not in v, "it is that of the functional"
    assert read(SILICON.replace("'scf'", "'vc-md'")).values["cell_dynamics"] == "none"
    again = values(SILICON.replace("'scf'", "'scf', restart_mode = 'restart'"))
    assert (again["startingpot"], again["startingwfc"]) == ("file", "file")


@needs_espresso
def test_every_variable_of_the_table_is_one_of_pw() -> None:
    """pw.x takes each variable with a value of its type; all in one run, and one that is none is refused."""
    example = {"bool": ".false.", "int": "1", "real": "1.0", "reals": "1.0", "str": "'x'"}
    text = SILICON.replace("'scf'", "'vc-relax'").replace("ATOMIC_SPECIES", "&ions\n/\n&cell\n/\nATOMIC_SPECIES")
    for namelist, mark in (
        ("control", "  calculation"),
        ("system", "  ibrav"),
        ("electrons", "  conv_thr"),
        ("ions", "&ions\n"),
        ("cell", "&cell\n"),
    ):
        names = [(spelling, kind) for place, spelling, kind in _table.types().values() if place == namelist]
        lines = "".join(
            f"  {n}{'(1,1,1)' if n in ('starting_ns_eigenvalue', 'Hubbard_V') else '(1,1)' if n == 'Hubbard_J' else '(1)' if k == 'reals' else ''} = {example[k]}\n"
            for n, k in names
        )
        text = text.replace(mark, mark + lines if mark.startswith("&") else lines + mark, 1)
    refusal = ask(text).refusal
    assert refusal is not None, "these values make no sense together"
    assert "bad line" not in refusal.text, refusal.text


@settings(max_examples=40, deadline=None)
@given(
    st.permutations(["ibrav = 2", "celldm(1) = 10.2", "nat = 2", "ntyp = 1", "ecutwfc = 30", "nosym = .true."]),
    st.lists(st.sampled_from([", ", "\n", " \n ! remark\n", ",\n", "   "]), min_size=6, max_size=6),
    st.booleans(),
)
def test_order_and_layout_do_not_matter(order: list[str], between: list[str], upper: bool) -> None:
    body = "".join(f"{o.upper() if upper else o}{b}" for o, b in zip(order, between, strict=True))
    text = SILICON.replace("  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1\n  ecutwfc = 30\n", body + "\n")
    found = read(text)
    assert found.refusal is None, found.refusal
    assert signature(found) == signature(read(SILICON))
    assert found.values["nosym"] is True


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"&control " + b"a=1," * 300_000,
        b"&control " * 100_000,
        b"K_POINTS automatic\n" * 10_000,
        b"&system nat=999999999, ntyp=1 /\n",
        b"'" * 500_000,
        b"&system celldm(999999999)=1 /",
        b"&system celldm=99999999*1 /",
    ],
    ids=lambda d: repr(d[:20]),
)
def test_hostile_files_end_soon(data: bytes) -> None:
    start = time.process_time()
    PW.effective({"input": data})
    assert PW.effective({"input": data}).refusal is not None
    assert time.process_time() - start < 10


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=100), st.integers(0, len(SILICON)))
def test_no_bytes_make_it_crash(data: bytes, at: int) -> None:
    PW.effective({"input": SILICON.encode()[:at] + data + SILICON.encode()[at:]})


def test_missing_file_is_a_matter_of_format() -> None:
    refusal = PW.effective({}).refusal
    assert refusal is not None
    assert refusal.failure is Failure.FORMAT
    assert PW.probe({}, {"a": b""}) is None


TWO_IRONS = SILICON.replace("nat = 2, ntyp = 1", "nat = 2, ntyp = 2, nspin = 2, occupations = 'smearing', degauss = 0.01").replace(
    " Si 28.086 Si.pz-vbc.UPF", " Fe1 55.845 Fe.pz-nd-rrkjus.UPF\n Fe2 55.845 Fe.pz-nd-rrkjus.UPF"
).replace(" Si 0.00", " Fe1 0.00").replace(" Si 0.25", " Fe2 0.25")  # fmt: skip


def test_an_element_in_two_species() -> None:
    """An antiferromagnet: requirements on the element cover both species."""
    text = TWO_IRONS.replace(
        "ecutwfc",
        "lda_plus_u = .true., Hubbard_U(1) = 4, Hubbard_U(2) = 4\n starting_magnetization = 0.5, -0.5\n ecutwfc",
    )
    v = values(text)
    assert (v["Hubbard_U.Fe"], v["Hubbard_U.Fe2"], v["mass.Fe"], v["pseudo.Fe"]) == (
        4,
        4,
        55.845,
        "Fe.pz-nd-rrkjus.UPF",
    )
    assert v["starting_magnetization.Fe"] == [0.5, -0.5]
    found = read(text.replace(", Hubbard_U(2) = 4", ""))
    assert found.values["Hubbard_U.Fe"] == [4, 0]
    assert ("Hubbard_U.Fe1" in found.explicit, "Hubbard_U.Fe" in found.explicit) == (True, False)


REFUSED_BY_ALL = {
    "cell twice": SILICON.replace("ibrav = 2", "ibrav = 0") + "CELL_PARAMETERS bohr\n0 5.1 5.1\n5.1 0 5.1\n5.1 5.1 0\n",
    "cell and A": SILICON.replace("ibrav = 2, celldm(1) = 10.2", "ibrav = 0, A = 5.4") + "CELL_PARAMETERS angstrom\n0 2.7 2.7\n2.7 0 2.7\n2.7 2.7 0\n",
    "no broadening": SILICON.replace("ecutwfc", "occupations = 'smearing', ecutwfc"),
    "capitals": SILICON.replace("'scf'", "'SCF'"),
    "order of namelists": SILICON.replace("&ELECTRONS\n  conv_thr = 1.0d-10\n/\n", "").replace("&SYSTEM", "&ELECTRONS\n/\n&SYSTEM"),
    "blank before the index": SILICON.replace("celldm(1)", "celldm (1)"),
    "positions before species": SILICON.split("ATOMIC_SPECIES")[0] + "ATOMIC_POSITIONS alat\n Si 0 0 0\n Si .25 .25 .25\nATOMIC_SPECIES\n Si 28.086 Si.pz-vbc.UPF\n",
    "case of a species": SILICON.replace(" Si 0.25", " si 0.25"),
    "remark in a card": SILICON.replace(" Si 0.25", "! second\n Si 0.25"),
    "remark of another kind": SILICON.replace("0.25 0.25 0.25", "0.25 0.25 0.25 # second"),
    "cell of two kinds": SILICON + "CELL_PARAMETERS bohr\n0 5.1 5.1\n5.1 0 5.1\n5.1 5.1 0\n",
    "negative length": SILICON.replace("ibrav = 2", "ibrav = 6, celldm(3) = -1.6"),
    "three spins": SILICON.replace("ecutwfc", "nspin = 3, ecutwfc"),
    "case of a word": SILICON.replace("conv_thr", "mixing_mode = 'tf', conv_thr"),
    "two spins": SILICON.replace("ecutwfc", "nspin = 2, ecutwfc"),
}  # fmt: skip


@needs_espresso
@pytest.mark.parametrize("name", REFUSED_BY_ALL)
def test_what_pw_refuses_is_refused_by_our_reader(name: str) -> None:
    for found in (read(REFUSED_BY_ALL[name]), ask(REFUSED_BY_ALL[name])):
        assert found.refusal is not None
        assert found.refusal.failure is Failure.SOFTWARE_USAGE


def test_functional_without_pw() -> None:
    assert values(SILICON.replace("ecutwfc", "input_dft = 'PBE', ecutwfc"))["functional"] == "pbe"


@pytest.mark.parametrize("count", ["0", "-1", "1000000000"])
@pytest.mark.parametrize("name", ["nat = 2", "ntyp = 1"])
def test_absurd_counts_are_refused(name: str, count: str) -> None:
    assert read(SILICON.replace(name, f"{name.split()[0]} = {count}")).refusal is not None


@needs_espresso
def test_a_card_of_later_versions_is_named() -> None:
    """pw.x 6.7 says in its output that it ignores the card, and runs without U."""
    text = SILICON + "HUBBARD (ortho-atomic)\nU Si-3p 4.0\n"
    for found in (read(text), ask(text)):
        assert found.refusal is None, found.refusal
        assert found.values["Hubbard_U.Si"] == 0
        assert any("HUBBARD" in str(problem) for problem in found.problems)


@pytest.mark.timeout(20)
def test_an_input_of_countless_empty_lines_is_read_at_once() -> None:
    text = b"\n" * 300_000
    deck = DeckFiles({"input": text}, {"input": "pw.in"}, ".", {"pw.in": text})
    found = CODES["quantum-espresso"].effective(
        deck, {"files": {}, "exit_code": 1, "timed_out": False, "stdout": "", "stderr": ""}
    )
    assert found.problems
