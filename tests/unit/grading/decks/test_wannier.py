"""Wannier90 inputs: our reader, and wannier90.x itself where it is installed."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matassay.core import Failure
from matassay.grading.decks import CODES, Effective

from .running import needs_wannier90, run

W90 = CODES["wannier90"]

POINTS = "\n".join(f"{i / 2} {j / 2} {k / 2}" for i in range(2) for j in range(2) for k in range(2))
WIN = f"""num_wann = 8
num_bands = 12
mp_grid = 2 2 2
dis_win_max = 17.0
dis_froz_max = 6.4
num_iter = 200
begin unit_cell_cart
ang
0 2.715 2.715
2.715 0 2.715
2.715 2.715 0
end unit_cell_cart
begin atoms_frac
Si 0 0 0
Si 0.25 0.25 0.25
end atoms_frac
begin projections
Si:sp3
end projections
begin kpoints
{POINTS}
end kpoints
"""


def read(text: str) -> Effective:
    return W90.effective({"win": text.encode()})


def ask(text: str) -> Effective:
    files = {"win": text.encode()}
    return W90.effective(files, run(W90.probe(files, {})))


def test_values_and_defaults() -> None:
    v = read(WIN).values
    assert read(WIN).problems == ()
    assert (v["num_wann"], v["num_bands"], v["disentangle"], v["dis_win_max"], v["dis_num_iter"]) == (
        8,
        12,
        True,
        17,
        200,
    )
    assert (v["k_mesh"], v["n_kpoints"], v["num_iter"], v["use_ws_distance"]) == ([2, 2, 2], 8, 200, True)
    assert (v["projections.Si"], v["n_projections"], v["composition"]) == (["sp3"], 8, {"Si": 2})
    assert "dis_froz_min" not in v


BOHR = 0.529177210903
SAME = {
    "bohr": WIN.replace("ang\n", "bohr\n").replace("2.715", f"{2.715 / BOHR:.10f}"),
    "colons": WIN.replace(" = ", " : "),
    "blanks": WIN.replace(" = ", "  "),
    "capitals": WIN.upper().replace("SI", "Si"),
    "comments": WIN.replace("num_wann = 8", "! num_wann = 4\nnum_wann = 8 # eight"),
    "exponents": WIN.replace("17.0", "1.7d1"),
    "cartesian": WIN.replace("atoms_frac", "atoms_cart").replace("0.25 0.25 0.25", "1.3575 1.3575 1.3575"),
    "sites by place": WIN.replace("Si:sp3", "f=0,0,0:sp3\nf=0.25,0.25,0.25:l=-3"),
    "verbose": "iprint = 2\n" + WIN,
    "points in another order": WIN.replace(POINTS, "\n".join(reversed(POINTS.split("\n")))),
}


def test_defaults_that_follow_from_others() -> None:
    v = read(WIN).values
    assert (v["conv_window"], v["dist_cutoff_hc"], v["slwf_num"], v["ws_search_size"]) == (-1, 1000.0, 8, [2, 2, 2])
    assert read("conv_noise_amp = 1.0\n" + WIN).values["conv_window"] == 5
    assert read("conv_noise_amp = 1.0\nconv_window = 3\n" + WIN).values["conv_window"] == 3


@needs_wannier90
@pytest.mark.parametrize("read_it", [read, ask])
def test_random_projections(read_it: Any) -> None:
    """Their places differ from run to run: what can be required is that they are random, or what is listed besides."""
    assert read_it(WIN.replace("Si:sp3", "random")).values["projections"] == ["random"]
    partly = WIN.replace("Si:sp3", "random\nSi:s")
    assert read_it(partly).values["projections.Si"] == ["s"]


@needs_wannier90
@pytest.mark.parametrize(
    "text",
    [
        WIN + "gamma_only = T\n",
        WIN + "bands_plot = T\n",
        WIN + "begin atoms_cart\nSi 0 0 0\nSi 1.3575 1.3575 1.3575\nend atoms_cart\n",
    ],
)
def test_what_wannier90_refuses_is_refused_by_our_reader(text: str) -> None:
    assert read(text).refusal is not None
    assert ask(text).refusal is not None


def test_places_with_fortran_exponents() -> None:
    text = WIN.replace("Si:sp3", "f=0,0,0:sp3\nf=2.5d-1, .25, 0.25 :sp3")
    assert signature(read(text)) == signature(read(WIN))
    assert "coordinates" in str(read(WIN.replace("Si:sp3", "f=0,0,x:sp3")).refusal)


def signature(found: Effective) -> tuple[Any, ...]:
    v = found.values
    names = ("num_wann", "num_bands", "dis_win_max", "dis_froz_max", "k_mesh", "projections", "projections.Si")
    return (*(v[n] for n in names), round(v["volume"], 4))


@pytest.mark.parametrize("name", SAME)
def test_equivalent_inputs(name: str) -> None:
    found = read(SAME[name])
    assert found.refusal is None, found.refusal
    assert signature(found) == signature(read(WIN))


@needs_wannier90
@pytest.mark.parametrize("name", SAME)
def test_wannier90_reads_them_as_we_do(name: str) -> None:
    found = ask(SAME[name])
    assert found.refusal is None, found.refusal
    assert found.sources["projections"].startswith("wannier90.x")
    assert found.values["neighbours_per_k"] == 8
    assert signature(found) == signature(read(WIN))


@pytest.mark.parametrize("reader", [read, pytest.param(ask, marks=needs_wannier90)])
def test_labels_of_sites(reader: Any) -> None:
    """Two labels of one element get different orbitals: then the element as such has none to tell."""
    text = WIN.replace("Si 0 0 0", "Si1 0 0 0").replace("Si 0.25", "Si2 0.25").replace("Si:sp3", "Si1:sp3\nsi2 : s;p")
    found = reader(text)
    assert found.refusal is None, found.refusal
    assert found.values["n_projections"] == 8
    assert "projections.Si" not in found.values
    assert reader(text.replace("s;p", "sp3")).values["projections.Si"] == ["sp3"]


@needs_wannier90
def test_projections_that_only_the_program_expands() -> None:
    found = ask(WIN.replace("Si:sp3", "Si:s;p:z=0,0,1:x=1,0,0"))
    assert found.values["projections.Si"] == ["p", "s"]


def test_other_choices_are_other_values() -> None:
    assert read(WIN.replace("sp3", "s;p")).values["projections"] != read(WIN).values["projections"]
    assert read(WIN.replace("sp3", "d")).values["projections.Si"] == ["d"]
    assert read(WIN + "spinors = T\n").values["n_projections"] == 16
    assert read(WIN + "exclude_bands : 1-3, 5\n").values["exclude_bands"] == [1, 2, 3, 5]
    assert read(WIN.replace("17.0", "12")).values["dis_win_max"] == 12


REFUSED = [
    ("num_wann = 8", "num_wnn = 8", "num_w"),
    ("num_wann = 8", "num_wann = 8\nnum_wann = 4", "more than once"),
    ("num_bands = 12", "num_bands = 4", "num_bands"),
    ("0.5 0.5 0.5\n", "", "kpoints"),
    ("end projections\n", "", "projections"),
    ("mp_grid = 2 2 2", "mp_grid = 2 2", "mp_grid"),
    ("dis_froz_max = 6.4", "dis_froz_max = 6.4\ndis_froz_min = 8", "dis_froz"),
    ("Si:sp3", "Ge:sp3", ""),
    ("Si:sp3", "Si:q", ""),
    ("num_iter = 200", "num_iter = many", "num_iter"),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED)
def test_refusals_without_the_program(old: str, new: str, words: str) -> None:
    assert old in WIN
    refusal = read(WIN.replace(old, new, 1)).refusal
    assert refusal is not None
    assert refusal.failure is Failure.SOFTWARE_USAGE


@needs_wannier90
@pytest.mark.parametrize(("old", "new", "words"), REFUSED)
def test_wannier90_refuses_the_same_in_its_words(old: str, new: str, words: str) -> None:
    refusal = ask(WIN.replace(old, new, 1)).refusal
    assert refusal is not None
    assert refusal.failure is Failure.SOFTWARE_USAGE
    assert words in refusal.text or "kpoint" in refusal.text


@needs_wannier90
def test_every_keyword_of_the_table_is_one_of_wannier90() -> None:
    from matassay.grading.decks.wannier._code import _types

    example = {"bool": "F", "int": "1", "real": "1.0", "reals": "0 0 0", "ints": "2 2 2", "str": "x", "range": "1"}
    # What has a value already, or needs another keyword beside it.
    left_out = [
        "num_wann",
        "num_bands",
        "mp_grid",
        "dis_win_max",
        "dis_froz_max",
        "num_iter",
        "iprint",
        "fermi_energy_max",
        "fermi_energy_step",
    ]
    names = [k for k in _types() if k not in left_out]
    # Of these the example is no value, or contradicts another keyword's: each is refused, but never as unknown.
    alone = [
        "spin", "length_unit", "restart", "select_projections", "dis_spheres_num", "dist_cutoff_mode", "num_shells",
        "fixed_step", "fermi_energy_min", "kmesh_spacing",
    ]  # fmt: skip
    together = [k for k in names if k not in alone]
    text = WIN + "".join(f"{k} = {example[_types()[k]]}\n" for k in together)
    # It stops over values without sense only behind the place where it names keywords that it does not know.
    assert "kmesh_get" in str(ask(text).refusal)
    assert "Unrecognised keyword" in str(ask(WIN + "nonsense = 1\n").refusal)
    for keyword in alone:
        refusal = ask(WIN + f"{keyword} = {example[_types()[keyword]]}\n").refusal
        assert refusal is None or "Unrecognised keyword" not in refusal.text, refusal.text


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"begin " * 200_000,
        b"begin kpoints\n" + b"0 0 0\n" * 200_000,
        b"exclude_bands = 1-999999999",
        b"begin projections\n" + b"f=0,0,0:s\n" * 50_000 + b"end projections",
        b"=" * 1_000_000,
    ],
    ids=lambda d: repr(d[:20]),
)
def test_hostile_files_end_soon(data: bytes) -> None:
    start = time.process_time()
    assert W90.effective({"win": data}).refusal is not None
    assert W90.effective({"win": WIN.encode() + b"\n" + data}) is not None
    assert time.process_time() - start < 10


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.integers(0, len(WIN)))
def test_no_bytes_make_it_crash(data: bytes, at: int) -> None:
    W90.effective({"win": WIN.encode()[:at] + data + WIN.encode()[at:]})


def test_missing_file_is_a_matter_of_format() -> None:
    refusal = W90.effective({}).refusal
    assert refusal is not None
    assert refusal.failure is Failure.FORMAT


def with_line(line: str) -> str:
    return WIN.replace("num_iter", f"{line}\nnum_iter")


@pytest.mark.parametrize("text", ["1-4", "1:4", "4-1", "1 - 2, 3:4", "1,2;3 4", "1 -4"])
def test_ranges_of_bands(text: str) -> None:
    assert read(with_line(f"exclude_bands = {text}")).values["exclude_bands"] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "line", ["exclude_bands = 1-4,4", "exclude_bands = 1..4", "exclude_bands = 0", "exclude_bands = 1 to 4"]
)
def test_lists_that_wannier90_cannot_parse(line: str) -> None:
    refusal = read(with_line(line)).refusal
    assert refusal is not None
    assert "Error parsing keyword exclude_bands" in refusal.text


@needs_wannier90
def test_ranges_are_those_of_the_program() -> None:
    text = with_line("exclude_bands = 4-3, 1:2")
    said = run(W90.probe({"win": text.encode()}, {}))["files"]["deck.nnkp"]
    listed = said.split("begin exclude_bands")[1].split("end exclude_bands")[0].split()
    assert sorted(int(n) for n in listed[1:]) == read(text).values["exclude_bands"]


PROJECTIONS = {
    "commas": ("Si:sp3", "Si : sp3-1, sp3-2,sp3-3;sp3-4", True),
    "blanks": ("Si:sp3", "Si : s p 3", True),
    "length of an axis": ("Si:sp3", "Si:sp3:z=0,0,2", True),
    "radial function": ("Si:sp3", "Si:sp3:r=1:zona=1.0", True),
    "another axis": ("Si:sp3", "Si:sp3:z=1,1,1:x=1,-1,0", False),
    "another radius": ("Si:sp3", "Si:sp3:zona=1.5", False),
}


@needs_wannier90
@pytest.mark.parametrize("name", PROJECTIONS)
def test_spellings_of_projections(name: str) -> None:
    old, new, same = PROJECTIONS[name]
    first = read(WIN).values["projections"]
    mine, asked = (reader(WIN.replace(old, new)) for reader in (read, ask))
    assert mine.refusal is None, mine.refusal
    assert mine.values["projections"] == asked.values["projections"]
    assert (mine.values["projections"] == first) is same


@pytest.mark.parametrize("line", ["Si:sp3:z=1,1,1", "Si:sp3;", "Si:s", "Si:sp3:z=0,0,0", "Si:sp3:zona=x"])
def test_projections_that_wannier90_refuses(line: str) -> None:
    assert "projections" in str(read(WIN.replace("Si:sp3", line)).refusal)


def test_blocks_and_paths_in_other_spellings() -> None:
    glued = read(WIN.replace("begin kpoints", "beginkpoints").replace("end kpoints", "End : kpoints"))
    assert glued.values["k_mesh"] == [2, 2, 2]
    path = "begin kpoint_path\nL {} {} {} G 0 0.0 .0\nend kpoint_path\n"
    one, other = (read(WIN + path.format(*[x] * 3)).values["k_path"] for x in ("0.5", ".50"))
    assert one == other == W90.canonical("k_path", ["L 0.5 0.5 0.5  G 0.0 0.0 0.0"])[1]
