"""Answers: every kind of field, every way to be wrong, and what the agent is told."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from matassay.core import Artefact, Criterion, Evidence, Failure, Judgement
from matassay.grading.answers import (
    READABLE,
    SpecError,
    answer_criteria,
    answer_schema,
    reference_artefacts,
    validate_spec,
)
from matassay.grading.answers._parse import AnswerUnreadable, parse_answer
from matassay.grading.answers._scalars import composition
from matassay.grading.structures import crystal_from_json, write_structure

REASON = "noise of the reference method"
GOAL = {"frequencies_THz": [1.0, 5.05, 11.5]}

#: Transmission through an interface: counts, sums, a zero where transmission is forbidden by symmetry.
TABLE = {
    "type": "table",
    "key": {"frequency_THz": {"unit": "THz", "goal": "frequencies_THz"}},
    "columns": {
        "n_Si": {"type": "integer", "failure": "wrong_choice"},
        "Xi": {"type": "number", "unit": "1", "rtol": "1e-3", "atol": 1e-4, "reason": REASON},
        "polarisation": {
            "type": "label",
            "values": ["transverse", "longitudinal"],
            "aliases": {"transverse": ["TA", "T"]},
        },
    },
}
ROWS = [
    {"frequency_THz": 1.0, "n_Si": 3, "Xi": 2.8129, "polarisation": "transverse"},
    {"frequency_THz": 5.05, "n_Si": 11, "Xi": 4.8164, "polarisation": "longitudinal"},
    {"frequency_THz": 11.5, "n_Si": 5, "Xi": 0.0, "polarisation": "transverse"},
]
SILICON = {
    "lattice": [[0, 2.7155, 2.7155], [2.7155, 0, 2.7155], [2.7155, 2.7155, 0]],
    "species": ["Si", "Si"],
    "fractional": [[0, 0, 0], [0.25, 0.25, 0.25]],
}
X = np.linspace(0, 16, 161)
DOS = np.exp(-((X - 5) ** 2)) + 0.6 * np.exp(-((X - 14) ** 2) / 0.5)
SPEC: dict[str, Any] = {
    "file": "answer.json",
    "fields": {
        "gap": {"type": "number", "unit": "eV", "atol": 0.005, "reason": REASON, "description": "band gap", "failure": "wrong_choice"},
        "conductivity": {"type": "number", "unit": "W/m/K"},
        "phase": {"type": "number", "unit": "deg", "atol": 2, "period": 360, "reason": "convention of the branch"},
        "bands": {"type": "integer"},
        "metal": {"type": "boolean"},
        "stacking": {"type": "label", "values": ["AB", "BA"], "case": "exact"},
        "author": {"type": "text", "case": "ignore"},
        "compound": {"type": "formula"},
        "group": {"type": "space_group"},
        "velocity": {"type": "array", "unit": "km/s", "shape": [2, 3], "rtol": 0.01, "atol": 0.001, "reason": REASON},
        "mode": {"type": "array", "unit": "1", "compare": "norm", "sign": "free", "rtol": 0.02, "reason": REASON},
        "dynamical": {"type": "array", "unit": "eV/angstrom^2", "compare": "scale", "rtol": 0.01, "reason": REASON},
        "shells": {"type": "array", "element": "integer", "shape": [None]},
        "levels": {"type": "set", "unit": "meV", "rtol": 0.02, "reason": REASON},
        "branches": {"type": "set", "of": "label", "values": ["TA", "LA", "TO", "LO"]},
        "orders": {"type": "set", "of": "integer"},
        "dos": {
            "type": "spectrum", "x": {"name": "frequency_THz", "unit": "THz"}, "y": {"name": "states", "unit": "states/THz"},
            "window": [1, 15],
            "checks": {"difference": {"rtol": 0.05, "reason": REASON}, "area": {"rtol": 0.02, "reason": REASON},
                       "peak_height": {"rtol": 0.05, "reason": REASON}, "peak_position": {"atol": 0.2, "reason": "spacing of the grid"}},
        },
        "cell": {"type": "structure", "given": "inline", "reason": REASON},
        "relaxed": {"type": "structure", "given": "file", "format": "poscar"},
        "details": {"type": "object", "fields": {"inner": {"type": "number", "unit": "GPa", "diagnosis": True}, "deep": {"type": "object", "fields": {"n": {"type": "integer"}}}}},
        "results": TABLE,
    },
}  # fmt: skip
RIGHT: dict[str, Any] = {
    "gap": 1.17, "conductivity": 148.0, "phase": 179.0, "bands": 8, "metal": False, "stacking": "AB", "author": "Stillinger",
    "compound": "GaAs", "group": 216, "velocity": [[8.4, 5.8, 0.0], [-4.9, 3.5, 1e-9]], "mode": [[0.6, 0.0], [0.0, -0.8]],
    "dynamical": [[10.0, 0.0], [0.0, 1e-6]], "shells": [4, 12, 12], "levels": [1.0, 1.02, 35.0, 35.0], "branches": ["TA", "LA"],
    "orders": [3, 1, 2], "dos": {"frequency_THz": X.tolist(), "states": DOS.tolist()}, "cell": SILICON, "relaxed": SILICON,
    "details": {"inner": 98.0, "deep": {"n": 3}}, "results": ROWS,
}  # fmt: skip


def reference(_: Evidence) -> Mapping[str, Any]:
    return RIGHT


CRITERIA = {c.name: c for c in answer_criteria(SPEC, reference, GOAL)}
POSCAR = write_structure(crystal_from_json(SILICON), "poscar")


def evidence(
    answer: Any, files: Mapping[str, bytes] | None = None, refused: Mapping[str, str] | None = None
) -> Evidence:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    made = [Artefact.of("answer.json", data)] if answer is not None else []
    made += [Artefact.of(name, content) for name, content in {"si.vasp": POSCAR.encode(), **(files or {})}.items()]
    return Evidence(state={"seed": 0, "outputs_refused": dict(refused or {}), "collected": {}}, artefacts=tuple(made))


ANSWER = {**RIGHT, "relaxed": "si.vasp"}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The right answer with another value at ``results.0.Xi``."""
    answer = copy.deepcopy(ANSWER)
    *above, last = [int(p) if p.isdigit() else p for p in path.split(".")]
    inner: Any = answer
    for part in above:
        inner = inner[part]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return answer


def judge(criterion: Criterion, seen: Evidence, goal: Mapping[str, Any] = GOAL) -> Judgement:
    judgement = criterion.check(seen, goal)
    assert isinstance(judgement, Judgement)
    assert judgement.holds or judgement.message
    assert judgement.holds or judgement.failure is not None
    return judgement


def failed(seen: Evidence) -> dict[str, Judgement]:
    return {name: j for name, c in CRITERIA.items() if not (j := judge(c, seen)).holds}


# --- the right answer


def test_the_description_is_valid_and_the_reference_passes() -> None:
    validate_spec(SPEC, "t/task.yaml: answer")
    validate_spec(SPEC, "t/task.yaml: answer", RIGHT, GOAL)
    assert failed(evidence(ANSWER)) == {}


def test_criteria_are_named_after_fields_and_rows() -> None:
    assert list(CRITERIA)[:3] == [READABLE, "gap", "conductivity"]
    assert {
        "results_1.00_Xi",
        "results_5.05_n_Si",
        "results_11.50_polarisation",
        "details_inner",
        "details_deep_n",
        "dos_peak_position",
    } <= CRITERIA.keys()
    assert [n for n, c in CRITERIA.items() if c.holds_at_start] == [READABLE]
    assert [n for n, c in CRITERIA.items() if c.diagnosis] == ["details_inner"]
    assert (
        CRITERIA["results_5.05_Xi"].description
        == "Xi at 5.05 THz agrees with the reference within 0.1 % or 0.0001, whichever is larger"
    )
    assert CRITERIA["conductivity"].description == "conductivity agrees with the reference within 10 %"


@pytest.mark.parametrize(
    "answer",
    [
        changed("results", ROWS[::-1]),
        changed("results.0.frequency_THz", 1),
        changed("results.1.frequency_THz", 5.0500001),
        changed("results.0.polarisation", " ta "),
        changed("results.0.polarisation", "Transverse"),
        changed("gap", 1.175),
        changed("gap", 1.165),
        changed("bands", 8),
        changed("phase", -181.0),
        changed("phase", 899.5),
        changed("author", " STILLINGER\n"),
        changed("compound", "Ga4 As_4"),
        changed("compound", "AsGa"),
        changed("group", "F-43m"),
        changed("group", "F -4 3 m"),
        changed("mode", [[-0.6, 0.0], [0.0, 0.8]]),
        changed("dynamical", [[10.05, 0.09], [0.09, 0.0]]),
        changed("levels", [35.0, 1.02, 35.5, 1.0]),
        changed("branches", ["la", "ta"]),
        changed("orders", [1, 2, 3]),
        changed("velocity", [[8.43, 5.8, 0.0009], [-4.9, 3.5, 0]]),
        changed("dos", {"frequency_THz": X[5:-5:2].tolist(), "states": DOS[5:-5:2].tolist()}),
        changed("cell", {**SILICON, "fractional": [[0.1, 0.1, 0.1], [0.35, 0.35, 0.35]]}),
        changed("relaxed", "./si.vasp"),
        changed("relaxed", "/workspace/si.vasp"),
        b"\xef\xbb\xbf" + json.dumps(ANSWER).encode(),
        b"\n\n" + json.dumps(ANSWER, indent=2).encode() + b"\n",
    ],
)
def test_other_right_answers(answer: Any) -> None:
    assert failed(evidence(answer)) == {}


# --- wrong values, each with its words

FORMAT, CHOICE, IMPLEMENTATION = Failure.FORMAT, Failure.WRONG_CHOICE, Failure.WRONG_IMPLEMENTATION


@pytest.mark.parametrize(
    ("path", "value", "criterion", "words", "failure"),
    [
        ("gap", 1.2, "gap", "gap: 1.2 differs from the reference by 0.03 eV, allowed 0.005 eV", CHOICE),
        ("conductivity", 100, "conductivity", "conductivity: 100 differs from the reference by 32 %, allowed 10 %", IMPLEMENTATION),
        ("conductivity", 162.82, "conductivity", "differs from the reference by 10.01 %, allowed 10 %", IMPLEMENTATION),
        ("conductivity", "148", "conductivity", "conductivity: is text ('148'); expected a number, in W/m/K: write it without quotes", FORMAT),
        ("conductivity", True, "conductivity", "conductivity: is true; expected a number", FORMAT),
        ("conductivity", None, "conductivity", "conductivity: is null; expected a number", FORMAT),
        ("conductivity", [148.0], "conductivity", "conductivity: is a list; expected a number", FORMAT),
        ("conductivity", {"value": 148}, "conductivity", "conductivity: is an object; expected a number", FORMAT),
        ("conductivity", math.nan, "conductivity", "conductivity: is NaN; expected a number", FORMAT),
        ("conductivity", -math.inf, "conductivity", "conductivity: is -Infinity; expected a number", FORMAT),
        ("conductivity", 10**350, "conductivity", "conductivity: is not a finite number", FORMAT),
        ("conductivity", 10**450, "conductivity", "conductivity: is a whole number of 451 digits; expected a number", FORMAT),
        ("conductivity", ..., "conductivity", "conductivity is missing", FORMAT),
        ("phase", 182.0, "phase", "phase: 182 differs from the reference by 3 deg, allowed 2 deg", IMPLEMENTATION),
        ("phase", -179.0 + 2.5, "phase", "differs", IMPLEMENTATION),
        ("bands", 9, "bands", "bands: 9 is not the right number, which must be exact", IMPLEMENTATION),
        ("bands", 8.0, "bands", "bands: is a number with a decimal point (8.0); expected a whole number: write it without a decimal point", FORMAT),
        ("bands", "8", "bands", "bands: is text ('8'); expected a whole number: write it without quotes", FORMAT),
        ("bands", True, "bands", "bands: is true; expected a whole number", FORMAT),
        ("bands", 10**350, "bands", "is not the right number", IMPLEMENTATION),
        ("metal", True, "metal", "metal: true is not right", IMPLEMENTATION),
        ("metal", 0, "metal", "metal: is a whole number; expected true or false", FORMAT),
        ("metal", "false", "metal", "metal: is text ('false'); expected true or false", FORMAT),
        ("metal", None, "metal", "metal: is null; expected true or false", FORMAT),
        ("stacking", "BA", "stacking", "stacking: 'BA' is not right", IMPLEMENTATION),
        ("stacking", "ab", "stacking", "stacking: 'ab' is none of AB, BA", FORMAT),
        ("stacking", 1, "stacking", "stacking: is a whole number; expected one of AB, BA", FORMAT),
        ("stacking", "AB and BA", "stacking", "is none of", FORMAT),
        ("author", "Stillinger and Weber", "author", "author: 'Stillinger and Weber' is not right", IMPLEMENTATION),
        ("author", 3, "author", "expected a text", FORMAT),
        ("compound", "Ga2As", "compound", "compound: 'Ga2As' is not right", IMPLEMENTATION),
        ("compound", "gallium", "compound", "compound: 'gallium' is no chemical formula", FORMAT),
        ("group", 215, "group", "group: space group 215 is not the right one", IMPLEMENTATION),
        ("group", "Fm-3m", "group", "group: space group 225 is not the right one", IMPLEMENTATION),
        ("group", "216", "group", "group: a number as text", FORMAT),
        ("group", "cubic", "group", "group: 'cubic' is not the symbol of a space group", FORMAT),
        ("group", 216.0, "group", "expected the number or the symbol", FORMAT),
        ("group", 500, "group", "1 to 230", FORMAT),
        ("velocity", [[8.4, 5.8, 0.0], [-4.9, 3.7, 0]], "velocity", "velocity: 1 of 6 entries are off; the worst, entry [1][1], by 5.71 times the tolerance", IMPLEMENTATION),
        ("velocity", [[8.4, 5.8], [-4.9, 3.5]], "velocity", "velocity: its shape is 2 x 2, expected 2 x 3", FORMAT),
        ("velocity", [[8.4, 5.8, 0.0], [-4.9, 3.5]], "velocity", "velocity: [1] has 2 entries, where others have 3: rows differ in length", FORMAT),
        ("velocity", [[8.4, 5.8, math.nan], [-4.9, 3.5, 0]], "velocity", "velocity: entry [0][2] is NaN; expected a finite number", FORMAT),
        ("velocity", [[8.4, 5.8, "0"], [-4.9, 3.5, 0]], "velocity", "velocity: entry [0][2] is text ('0'); expected a finite number", FORMAT),
        ("velocity", [[8.4, 5.8, False], [-4.9, 3.5, 0]], "velocity", "velocity: entry [0][2] is false; expected", FORMAT),
        ("velocity", 8.4, "velocity", "expected a list of lists", FORMAT),
        ("velocity", [8.4, 5.8, 0], "velocity", "velocity: [0] is a number with a decimal point (8.4); expected a list", FORMAT),
        ("velocity", [[[8.4]]], "velocity", "entry [0][0] is a list; expected a finite number", FORMAT),
        ("velocity", [], "velocity", "velocity: its shape is 0, expected 2 x 3", FORMAT),
        ("mode", [[0.6, 0.0], [0.0, 0.8]], "mode", "the norm of its difference from the reference is 80 times the one allowed", IMPLEMENTATION),
        ("mode", [0.6, -0.8], "mode", "its shape is 2, which is not the one that was asked for", FORMAT),
        ("dynamical", [[10.0, 0.0], [0.2, 0.0]], "dynamical", "entry [1][0], by 2 times", IMPLEMENTATION),
        ("shells", [4, 12, 6], "shells", "shells: 1 of 3 entries are not right, and must be exact", IMPLEMENTATION),
        ("shells", [4, 12], "shells", "which is not the one that was asked for", FORMAT),
        ("shells", [4, 12, 12.0], "shells", "shells: entry [2] is a number with a decimal point (12.0); write whole numbers without a decimal point", FORMAT),
        ("shells", [4, 12, 2**60], "shells", "beyond", FORMAT),
        ("levels", [1.0, 1.0, 35.0], "levels", "levels: 3 numbers, which are fewer than there are", IMPLEMENTATION),
        ("levels", [1.0, 1.0, 35.0, 35.0, 36], "levels", "more than there are", IMPLEMENTATION),
        ("levels", [1.0, 1.0, 1.0, 35.0], "levels", "levels: 1 of 4 numbers have no counterpart within 2 %", IMPLEMENTATION),
        ("levels", [1.0, 1.0, None, 35.0], "levels", "levels: entry [2] is null; expected a finite number", FORMAT),
        ("branches", ["TA"], "branches", "branches: something is missing", IMPLEMENTATION),
        ("branches", ["TA", "LA", "TO"], "branches", "branches: 'TO' does not belong there", IMPLEMENTATION),
        ("branches", ["TA", "LA", "ta"], "branches", "branches: 'TA' stands in it more than once", FORMAT),
        ("branches", ["TA", "XX"], "branches", "entry [1], 'XX', is none of TA, LA, TO, LO", FORMAT),
        ("branches", ["TA", 3], "branches", "entry [1], a whole number, is none of", FORMAT),
        ("branches", "TA, LA", "branches", "expected a list", FORMAT),
        ("orders", [1, 2, 4], "orders", "orders: 1 of 3 entries are not right, or others are missing", IMPLEMENTATION),
        ("orders", [1.0, 2, 3], "orders", "without a decimal point", FORMAT),
        ("cell", {**SILICON, "species": ["Si", "Ge"]}, "cell", "cell: it has the composition GeSi, which is not the right one", IMPLEMENTATION),
        ("cell", {**SILICON, "species": ["Si"]}, "cell", "cell: fractional: expected 1 rows", FORMAT),
        ("cell", "si.vasp", "cell", "cell: is text ('si.vasp'); expected a structure as an object", FORMAT),
        ("relaxed", SILICON, "relaxed", "relaxed: is an object; expected the name of a structure file", FORMAT),
        ("relaxed", "ge.vasp", "relaxed", "relaxed: ge.vasp is not there", FORMAT),
        ("relaxed", "link.vasp", "relaxed", "relaxed: link.vasp was not read: is a symbolic link", FORMAT),
        ("relaxed", "../../etc/passwd", "relaxed", "is no name of a file in the workspace", FORMAT),
        ("relaxed", "/etc/passwd", "relaxed", "is no name of a file in the workspace", FORMAT),
        ("relaxed", "", "relaxed", "is no name of a file in the workspace", FORMAT),
        ("relaxed", "answer.json", "relaxed", "relaxed: answer.json: it ends after line 1", FORMAT),
        ("details", 3, "details_deep_n", "details: is a whole number; expected an object", FORMAT),
        ("details.deep", ..., "details_deep_n", "details.deep is missing", FORMAT),
        ("details.deep.n", 4, "details_deep_n", "details.deep.n: 4 is not the right number", IMPLEMENTATION),
        ("details.inner", 3.0, "details_inner", "details.inner: 3 differs", IMPLEMENTATION),
        ("results.0.Xi", 2.91, "results_1.00_Xi", "Xi at 1.00 THz: 2.91 differs from the reference by 3.5 %, allowed 0.1 %", IMPLEMENTATION),
        ("results.2.Xi", 2e-4, "results_11.50_Xi", "Xi at 11.50 THz: 0.0002 differs from the reference by 0.0002, allowed 0.0001", IMPLEMENTATION),
        ("results.0.n_Si", 4, "results_1.00_n_Si", "n_Si at 1.00 THz: 4 is not the right number", CHOICE),
        ("results.0.n_Si", 3.0, "results_1.00_n_Si", "n_Si at 1.00 THz: is a number with a decimal point (3.0)", FORMAT),
        ("results.0.n_Si", ..., "results_1.00_n_Si", "n_Si at 1.00 THz is missing", FORMAT),
        ("results", ROWS[:2], "results_11.50_Xi", "results: no row for 11.50 THz (frequency_THz echoed as given)", FORMAT),
        ("results", {}, "results_1.00_Xi", "results: is an object; expected a list of rows", FORMAT),
        ("results", [*ROWS, ROWS[0]], "results_1.00_Xi", "results: 2 rows for 1.00 THz", FORMAT),
        ("results.0.frequency_THz", 1.01, "results_1.00_Xi", "results: no row for 1.00 THz", FORMAT),
        ("results.0.frequency_THz", "1.00", "results_1.00_Xi", "results: no row for 1.00 THz", FORMAT),
        ("results.0.frequency_THz", True, "results_1.00_Xi", "results: no row for 1.00 THz", FORMAT),
        ("results", ..., "results_1.00_Xi", "results is missing", FORMAT),
        ("results", [1, None, "x", []], "results_1.00_Xi", "results: no row for 1.00 THz", FORMAT),
    ],
)  # fmt: skip
def test_wrong_values(path: str, value: Any, criterion: str, words: str, failure: Failure) -> None:
    found = judge(CRITERIA[criterion], evidence(changed(path, value), refused={"link.vasp": "is a symbolic link"}))
    assert not found.holds
    assert words in found.message
    assert found.failure is failure


def spectrum(x: Any, y: Any) -> dict[str, Any]:
    return changed("dos", {"frequency_THz": np.asarray(x).tolist(), "states": np.asarray(y).tolist()})


@pytest.mark.parametrize(
    ("answer", "words", "names"),
    [
        (spectrum(X, DOS * 1.2), "its difference differs from the reference by 20 %, allowed 5 %", {"difference", "area", "peak_height"}),
        (spectrum(X + 1.5, DOS), "does not cover 1 to 15 THz", set()),
        (spectrum(X[:100], DOS[:100]), "does not cover", set()),
        (spectrum(np.concatenate([[0], X + 0.4]), np.concatenate([[0], DOS])), "its peak position differs from the reference by 0.4 THz, allowed 0.2 THz", {"difference", "area", "peak_position"}),
        (spectrum(X[::-1], DOS[::-1]), "does not increase throughout", set()),
        (spectrum([0, 8, 8, 16], [1, 1, 1, 1]), "does not increase throughout", set()),
        (spectrum([0, 8, 16], [1, 1, 1]), "1 points between 1 and 15 THz; at least 10 are needed", set()),
        (spectrum(X, DOS[:-1]), "161 values of frequency_THz and 160 of states", set()),
        (spectrum([], []), "does not cover", set()),
        (changed("dos.states.7", math.nan), "states: entry [7] is NaN; expected a finite number", set()),
        (changed("dos.states", "none"), "states: it is text ('none'); expected a list", set()),
        (changed("dos.states", ...), "states is missing", set()),
        (changed("dos", DOS.tolist()), "is a list; expected an object with frequency_THz and states", set()),
    ],
)  # fmt: skip
def test_wrong_curves(answer: Any, words: str, names: set[str]) -> None:
    found = {n: j for n, j in failed(evidence(answer)).items() if n.startswith("dos_")}
    assert found.keys() == {f"dos_{n}" for n in names or ("difference", "area", "peak_height", "peak_position")}
    assert any(words in j.message for j in found.values())
    assert all((j.failure is IMPLEMENTATION) is bool(names) for j in found.values())


def test_no_message_tells_the_reference() -> None:
    """Messages may say how far off a value is, and what was written; not the number that was wanted."""
    wrong = changed("results", [{**row, "Xi": 7.7, "n_Si": 99, "polarisation": "longitudinal"} for row in ROWS])
    wrong |= {
        "gap": 9.9,
        "bands": 77,
        "conductivity": 1.0,
        "levels": [1.0, 2.0],
        "group": 1,
        "compound": "H2O",
        "shells": [1, 2, 3],
    }
    told = " ".join(j.message for j in failed(evidence(wrong)).values())
    for secret in ("2.8129", "4.8164", "1.17", "148", "216", "GaAs", "12,", "35", " 8 "):
        assert secret not in told, secret


# --- the answer as a whole


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "answer.json is empty"),
        (b"  \n", "answer.json is empty"),
        (b"[]", "answer.json holds a list; expected an object"),
        (b"null", "answer.json holds null"),
        (b"NaN", "answer.json holds what cannot be used"),
        (b'{"gap": 1.17', "answer.json is no JSON: line 1, column 13"),
        (b'{"gap": 1.17,}', "answer.json is no JSON"),
        (b"{'gap': 1.17}", "answer.json is no JSON: line 1, column 2"),
        (b'{"gap": 1.17} trailing', "answer.json is no JSON"),
        (b'{"gap": .5}', "answer.json is no JSON"),
        (b'{"gap": 0x10}', "answer.json is no JSON"),
        (b'{"gap": __import__("os")}', "answer.json is no JSON"),
        (b"\x80\x04}q\x00.", "answer.json is not UTF-8 text: byte 0"),
        ('{"author": "Bj\u00f6rn"}'.encode("latin-1"), "answer.json is not UTF-8 text: byte 14"),
        (json.dumps(ANSWER).encode("utf-16"), "answer.json is UTF-16 text"),
        (json.dumps(ANSWER).encode("utf-16-le"), "answer.json is no JSON"),
        (b"\x00" * 100, "answer.json is no JSON"),
        (b"[" * 100_000, "answer.json is nested more than 32 deep"),
        (b'{"gap":' * 5000 + b"1" + b"}" * 5000, "answer.json is nested more than 32 deep"),
        (b'{"a": "' + b"x" * 8_000_001 + b'"}', "8000001"),
    ],
)
def test_answers_that_cannot_be_read(data: bytes, words: str) -> None:
    found = failed(evidence(data))
    assert found.keys() == CRITERIA.keys(), "nothing of it passes"
    assert {j.failure for j in found.values()} == {FORMAT}
    if words != "8000001":
        assert words in found[READABLE].message
        assert words in found["gap"].message
    else:
        assert "at most are read" in found[READABLE].message


def test_an_answer_that_is_missing() -> None:
    found = failed(evidence(None))
    assert found.keys() == CRITERIA.keys() - {READABLE}, "a guard holds before anything is written"
    assert found["gap"].message == "answer.json is not there"
    assert {j.failure for j in found.values()} == {FORMAT}
    assert failed(Evidence()).keys() == found.keys()


def test_an_answer_that_was_not_read() -> None:
    found = failed(evidence(None, refused={"answer.json": "is a symbolic link"}))
    assert found.keys() == CRITERIA.keys()
    assert found[READABLE].message == found["gap"].message == "answer.json was not read: is a symbolic link"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (changed("note", "see above"), "note was not asked for"),
        (changed("details.extra", 1), "details.extra was not asked for"),
        (changed("results.1.R", 0.1), "results[1].R was not asked for"),
        (changed("dos.label", "x"), "dos.label was not asked for"),
        (
            changed("results", [*ROWS, {"frequency_THz": 2.0}]),
            "results[3] is a row that was not asked for (frequency_THz = 2)",
        ),
        (changed("results", [*ROWS, 7]), "results[3] is a whole number; expected an object"),
        (changed("results", [*ROWS, {"frequency_THz": "x" * 500}]), "..."),
        (changed("results", [*ROWS, *({"frequency_THz": 100 + n} for n in range(2500))]), "results has 2503 rows"),
        (changed("conductivity", math.nan), "conductivity is NaN"),
        (changed("details.inner", math.inf), "details.inner is Infinity"),
        (changed("velocity.1.2", math.nan), "velocity[1][2] is NaN"),
        (json.dumps(ANSWER).replace("148.0", "1e999").encode(), "conductivity is beyond the range of a number"),
        (
            json.dumps(ANSWER).replace('"gap": 1.17', '"gap": 1.17, "gap": 1.17').encode(),
            "gap stands twice in its object",
        ),
        (
            json.dumps(ANSWER).replace('"n_Si": 3', '"n_Si": 3, "n_Si": 4').encode(),
            "results[0].n_Si stands twice in its object",
        ),
        (changed("a\ud800b", 1), "was not asked for"),
        (changed("x" * 100_000, 1), "was not asked for"),
        ({**ANSWER, **{f"extra{n}": 1 for n in range(50)}}, "and 45 more"),
    ],
)
def test_answers_with_something_else_in_them(answer: Any, words: str) -> None:
    found = failed(evidence(answer))
    assert words in found[READABLE].message
    assert len(found[READABLE].message) < 1000
    assert found[READABLE].message.encode(), "fit for a log"
    assert found[READABLE].failure is FORMAT


def test_a_key_that_stands_twice_does_not_pass_even_if_both_are_right() -> None:
    found = failed(evidence(json.dumps(ANSWER).replace('"gap": 1.17', '"gap": 1.17, "gap": 1.17').encode()))
    assert found["gap"].message == "gap: stands twice in its object; expected a number, in eV"


def test_extra_fields_may_be_let_pass() -> None:
    spec = {"fields": {"n": {"type": "integer"}}, "extra_fields": "ignore"}
    criteria = answer_criteria(spec, lambda _: {"n": 3})
    assert all(judge(c, evidence({"n": 3, "comment": "fine"})).holds for c in criteria)
    assert not all(judge(c, evidence(b'{"n": 3, "m": NaN}')).holds for c in criteria)
    assert answer_schema(spec)["additionalProperties"] is True


def test_evidence_without_content_is_an_error_of_the_grader() -> None:
    bare = Artefact("answer.json", "application/json", "0" * 64, 10)
    with pytest.raises(ValueError, match="no content"):
        CRITERIA["gap"].check(Evidence(artefacts=(bare,)), GOAL)


def test_a_reference_without_a_field_is_an_error_of_the_grader() -> None:
    broken = answer_criteria(SPEC, lambda _: {"gap": 1.0}, GOAL)
    with pytest.raises(SpecError, match="the reference has no such value: bands is missing"):
        {c.name: c for c in broken}["bands"].check(evidence(ANSWER), GOAL)


# --- tolerances


@pytest.mark.parametrize("name", [n for n, c in CRITERIA.items() if c.tolerance is not None])
@pytest.mark.parametrize(
    "start",
    [ANSWER, None, b"{", changed("results", ROWS[:1]), changed("gap", math.nan)],
    ids=["right", "missing", "broken", "short", "nan"],
)
def test_tolerances_are_sharp_from_any_answer(name: str, start: Any) -> None:
    criterion = CRITERIA[name]
    assert criterion.tolerance is not None
    for k in (0.0, 0.5, 0.9, 1.1, 2.0):
        for sign in (1, -1):
            moved = criterion.tolerance.displaced(evidence(start), GOAL, sign * k)
            assert judge(criterion, moved).holds is (k < 1), (sign * k, judge(criterion, moved).message)
    assert len(criterion.tolerance.reason.split()) >= 2


def test_displacing_one_value_leaves_the_others() -> None:
    tolerance = CRITERIA["results_5.05_Xi"].tolerance
    assert tolerance is not None
    assert failed(tolerance.displaced(evidence(ANSWER), GOAL, 2.0)).keys() == {"results_5.05_Xi"}
    assert (tolerance.value, tolerance.unit) == (pytest.approx(0.1), "%")
    gap = CRITERIA["gap"].tolerance
    assert gap is not None
    assert (gap.value, gap.unit, gap.reason) == (0.005, "eV", REASON)


def test_every_kind_with_a_tolerance_states_it() -> None:
    with_tolerance = {n.split("_")[0] for n, c in CRITERIA.items() if c.tolerance}
    assert with_tolerance == {
        "gap",
        "conductivity",
        "phase",
        "velocity",
        "mode",
        "dynamical",
        "levels",
        "dos",
        "details",
        "results",
        "cell",
        "relaxed",
    }


def test_the_larger_of_two_tolerances_counts() -> None:
    spec = {"fields": {"x": {"type": "number", "unit": "1", "rtol": 0.01, "atol": 0.5, "reason": REASON}}}
    for target, width in ((10.0, 0.5), (1000.0, 10.0), (-1000.0, 10.0), (0.0, 0.5)):
        (_, x) = answer_criteria(spec, lambda _, t=target: {"x": t})
        assert judge(x, evidence({"x": target + 0.99 * width})).holds
        assert not judge(x, evidence({"x": target - 1.01 * width})).holds


def test_closed_intervals_hold_their_ends() -> None:
    spec = {"fields": {"x": {"type": "number", "unit": "1", "atol": 0.1, "reason": REASON}}}
    (_, x) = answer_criteria(spec, lambda _: {"x": 0.3})
    assert judge(x, evidence({"x": 0.4})).holds
    assert judge(x, evidence({"x": 0.2})).holds


# --- tables


def test_ordered_tables() -> None:
    spec = {"fields": {"results": {**TABLE, "ordered": True}}}
    criteria = {c.name: c for c in answer_criteria(spec, reference, GOAL)}
    assert all(judge(c, evidence({"results": ROWS})).holds for c in criteria.values())
    found = judge(criteria["results_1.00_Xi"], evidence({"results": ROWS[::-1]}))
    assert found.message == "results: the row for 1.00 THz is number 3, not 1 as asked for"


def two_keys(combine: str) -> dict[str, Any]:
    key = {"temperature": {"unit": "K", "values": [77, 300]}, "branch": {"type": "text", "values": ["TA", "LA"]}}
    return {
        "fields": {
            "v": {
                "type": "table",
                "combine": combine,
                "key": key,
                "columns": {"speed": {"type": "number", "unit": "km/s"}},
            }
        }
    }


def test_rows_with_two_keys() -> None:
    rows = [
        {"temperature": t, "branch": b, "speed": s}
        for t, b, s in ((77, "TA", 5.8), (300, "LA", 8.4), (77, "LA", 8.5), (300, "TA", 5.7))
    ]
    pairs = answer_criteria(two_keys("rows"), lambda _: {"v": rows[:2]})
    assert [c.name for c in pairs[1:]] == ["v_77_TA_speed", "v_300_LA_speed"]
    crossed = answer_criteria(two_keys("product"), lambda _: {"v": rows})
    assert [c.name for c in crossed[1:]] == ["v_77_TA_speed", "v_77_LA_speed", "v_300_TA_speed", "v_300_LA_speed"]
    assert all(judge(c, evidence({"v": rows[::-1]})).holds for c in crossed)
    wrong = [{**r, "speed": 1.0} for r in rows]
    assert judge(crossed[1], evidence({"v": wrong})).message.startswith(
        "speed at temperature = 77 K, branch = TA: 1 differs"
    )


def test_keys_of_another_seed_come_with_its_goal() -> None:
    goal = {"frequencies_THz": [2.0, 3.0, 4.0]}
    rows = [{**row, "frequency_THz": f} for row, f in zip(ROWS, goal["frequencies_THz"], strict=True)]
    criteria = answer_criteria({"fields": {"results": {**TABLE, "naming": "row"}}}, lambda _: {"results": rows}, GOAL)
    assert criteria[1].name == "results_row1_n_Si"
    assert all(judge(c, evidence({"results": rows}), goal).holds for c in criteria)
    assert "no row for 2.0 THz" in judge(criteria[1], evidence({"results": ROWS}), goal).message.replace(
        "2 THz", "2.0 THz"
    )


def test_keys_that_are_told_nowhere_are_those_of_the_reference() -> None:
    table = {**TABLE, "key": {"frequency_THz": {"unit": "THz"}}}
    criteria = answer_criteria(
        {"fields": {"outer": {"type": "object", "fields": {"results": table}}}}, lambda _: {"outer": {"results": ROWS}}
    )
    assert criteria[2].name == "outer_results_1.00_Xi"
    assert all(judge(c, evidence({"outer": {"results": ROWS[::-1]}})).holds for c in criteria)
    assert not judge(criteria[0], evidence({"outer": {"results": [*ROWS, {**ROWS[0], "frequency_THz": 9}]}})).holds
    validate_spec({"fields": {"results": table}}, "t")
    with pytest.raises(SpecError, match="two rows of the reference"):
        answer_criteria({"fields": {"results": table}}, lambda _: {"results": [ROWS[0], ROWS[0]]})
    with pytest.raises(SpecError, match="no such table"):
        answer_criteria({"fields": {"results": table}}, lambda _: {})


# --- structures in answers


def structure(**options: Any) -> dict[str, Any]:
    return {"fields": {"cell": {"type": "structure", **options}}}


@pytest.mark.parametrize("format", ["poscar", "cif", "extxyz", "lammps-data"])
def test_structure_files_of_each_format(format: str) -> None:
    spec = structure(given="file", format=format)
    validate_spec(spec, "t", {"cell": SILICON})
    made = reference_artefacts(spec, {"cell": SILICON})
    assert len(made) == 2
    (_, cell) = answer_criteria(spec, lambda _: {"cell": SILICON})
    assert judge(cell, Evidence(artefacts=made)).holds
    broken = judge(cell, evidence({"cell": "x"}, files={"x": b"\xff\xfe nothing"}))
    assert broken.failure is FORMAT


def test_slabs_in_answers() -> None:
    slab = {
        "lattice": [[2.5, 0, 0], [-1.25, 2.165, 0], [0, 0, 20.0]],
        "species": ["B", "N"],
        "fractional": [[0, 0, 0.1], [1 / 3, 2 / 3, 0.1]],
    }
    spec = structure(vacuum="c", least_vacuum=15, flip=False, ltol=0.01)
    validate_spec(spec, "t", {"cell": slab})
    (_, cell) = answer_criteria(spec, lambda _: {"cell": slab})
    taller = {**slab, "lattice": [*slab["lattice"][:2], [0, 0, 30.0]]}
    assert judge(cell, evidence({"cell": taller})).holds
    thin = judge(cell, evidence({"cell": {**slab, "lattice": [*slab["lattice"][:2], [0, 0, 12.0]]}}))
    assert "12.00 angstrom of vacuum along c, needed are 15" in thin.message
    assert cell.tolerance is not None
    assert (cell.tolerance.value, cell.tolerance.unit) == (pytest.approx(1.0), "%")


def test_moments_of_structures() -> None:
    chain = {
        "lattice": [[8, 0, 0], [0, 4, 0], [0, 0, 4]],
        "species": ["Cr", "Cr"],
        "fractional": [[0, 0, 0], [0.5, 0, 0]],
    }
    up_down = {**chain, "magnetic_moments": [3, -3]}
    (_, cell) = answer_criteria(structure(moments="signs"), lambda _: {"cell": up_down})
    assert judge(cell, evidence({"cell": {**chain, "magnetic_moments": [[0, 0, -2.5], [0, 0, 2.5]]}})).holds
    wrong = judge(cell, evidence({"cell": {**chain, "magnetic_moments": [3, 3]}}))
    assert (wrong.failure, wrong.message) == (
        IMPLEMENTATION,
        "cell: it has the right sites, but not the right magnetic moments",
    )
    missing = judge(cell, evidence({"cell": chain}))
    assert (missing.failure, missing.message) == (FORMAT, "cell: gives no magnetic moments")


# --- descriptions that make no sense


def field(**options: Any) -> dict[str, Any]:
    return {"fields": {"x": options}}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ([], "t/task.yaml: answer: expected a mapping"),
        ({}, "t/task.yaml: answer.fields: expected a mapping, which is missing"),
        ({"fields": {}}, "answer.fields: expected at least one entry"),
        ({"fields": {"x": 3}}, "answer.fields.x: expected a mapping"),
        ({"field": {}}, "answer.field: unknown key; did you mean fields?"),
        ({"file": "/etc/passwd", "fields": {"x": {"type": "integer"}}}, "answer.file: expected a name within the workspace"),
        ({"fields": {"0x": {"type": "integer"}}}, "begins with a letter"),
        ({"fields": {"a b": {"type": "integer"}}}, "begins with a letter"),
        ({"fields": {READABLE: {"type": "integer"}}}, "two criteria would be called 'answer_readable'"),
        ({"fields": {"a_b": {"type": "integer"}, "a": {"type": "object", "fields": {"b": {"type": "integer"}}}}}, "two criteria would be called 'a_b'"),
        (field(), "answer.fields.x.type: expected one of number,"),
        (field(type="real"), "answer.fields.x.type: expected one of number,"),
        (field(type="number"), "answer.fields.x.unit: expected a unit"),
        (field(type="number", unit="furlong"), "got 'furlong'"),
        (field(type="number", unit="1", rtol=-1), "answer.fields.x.rtol: expected a positive number, got -1"),
        (field(type="number", unit="1", rtol=0, reason=REASON), "answer.fields.x.rtol: expected a positive number"),
        (field(type="number", unit="1", rtol="wide", reason=REASON), "answer.fields.x.rtol: expected a number, got 'wide'"),
        (field(type="number", unit="1", rtol=True, reason=REASON), "answer.fields.x.rtol: expected a positive number"),
        (field(type="number", unit="1", rtol=0.5, reason=REASON), "less than 0.5"),
        (field(type="number", unit="1", rtol=0.01), "answer.fields.x.reason: expected a text, which is missing"),
        (field(type="number", unit="1", rtol=0.01, reason="noise"), "a few words"),
        (field(type="number", unit="1", atol=math.nan, reason=REASON), "answer.fields.x.atol: expected a positive number"),
        (field(type="number", unit="1", tolerance=0.1), "answer.fields.x.tolerance: unknown key"),
        (field(type="integer", atol=1), "answer.fields.x.atol: unknown key"),
        (field(type="integer", failure="format"), "answer.fields.x.failure: expected one of wrong_choice, wrong_implementation"),
        (field(type="integer", diagnosis="yes"), "answer.fields.x.diagnosis: expected true or false"),
        (field(type="label", values=[]), "a list that is not empty"),
        (field(type="label", values=["a", "a"]), "no two alike"),
        (field(type="label", values=["a", "b"], aliases={"c": ["d"]}), "one of the values a, b"),
        (field(type="label", values=["a", "b"], aliases={"a": ["B"]}), "stands for one value only"),
        (field(type="array", unit="1", shape=[3, 0]), "answer.fields.x.shape"),
        (field(type="array", unit="1", compare="loosely"), "answer.fields.x.compare: expected one of elementwise"),
        (field(type="array", element="integer", rtol=0.1, reason=REASON), "compared exactly"),
        (field(type="set", of="label", values=["a"], unit="eV"), "answer.fields.x.unit: unknown key"),
        (field(type="set"), "answer.fields.x.unit"),
        (field(type="spectrum"), "answer.fields.x.x: expected a mapping"),
        (field(type="spectrum", x={"name": "a", "unit": "THz"}, y={"name": "a", "unit": "1"}, window=[0, 1]), "another name"),
        (field(type="spectrum", x={"name": "a", "unit": "THz"}, y={"name": "b", "unit": "1"}, window=[1, 0]), "the lower first"),
        (field(type="spectrum", x={"name": "a", "unit": "THz"}, y={"name": "b", "unit": "1"}, window=[0, 1], checks={"peak_position": {}}), "peak_position.atol: expected a tolerance"),
        (field(type="spectrum", x={"name": "a", "unit": "THz"}, y={"name": "b", "unit": "1"}, window=[0, 1], checks={"area": {"atol": 1, "reason": REASON}}), "area.atol: expected a relative tolerance"),
        (field(type="structure", ltol=0.5), "at most 0.1"),
        (field(type="structure", flip=False), "since flip is given"),
        (field(type="structure", moments="all"), "answer.fields.x.moments"),
        (field(type="object"), "answer.fields.x.fields"),
        (field(type="table"), "answer.fields.x.key"),
        (field(type="table", key={"k": {"unit": "1", "values": [1]}}), "answer.fields.x.columns"),
        (field(type="table", key={"k": {"unit": "1", "values": [1]}}, columns={"c": {"type": "table"}}), "a type that fits into a cell"),
        (field(type="table", key={"k": {"unit": "1", "values": [1]}}, columns={"k": {"type": "integer"}}), "other names than those of the key (k)"),
        (field(type="table", key={"k": {"unit": "1", "values": ["a"]}}, columns={"c": {"type": "integer"}}), "a list of values of type number"),
        (field(type="table", key={"k": {"unit": "1", "values": [1], "goal": "g"}}, columns={"c": {"type": "integer"}}), "not both"),
        (field(type="table", key={"k": {"unit": "1", "goal": "g"}}, columns={"c": {"type": "integer"}}), "goal has no list 'g'"),
        (field(type="table", key={"k": {"unit": "1", "values": [1, 2]}, "l": {"unit": "1", "values": [1]}}, columns={"c": {"type": "integer"}}), "its keys list [2, 1] values"),
        (field(type="table", key={"k": {"unit": "1", "values": [1, 1]}}, columns={"c": {"type": "integer"}}), "two criteria would be called"),
    ],
)  # fmt: skip
def test_descriptions_that_make_no_sense(spec: Any, words: str) -> None:
    with pytest.raises(SpecError) as error:
        validate_spec(spec, "t/task.yaml: answer", goal={})
    assert words in str(error.value)
    assert str(error.value).startswith("t/task.yaml: answer")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"conductivity": 0.0}, "conductivity: the reference is 0 and there is only a relative tolerance: state atol"),
        ({"conductivity": "148"}, "conductivity: the reference fails its own grader: conductivity: is text"),
        ({"gap": math.nan}, "the reference is no JSON"),
        ({"bands": 8.0}, "bands: the reference fails its own grader"),
        ({"stacking": "AC"}, "stacking: the reference fails its own grader"),
        ({"extra": 1}, "answer_readable: the reference fails its own grader: answer.json: extra was not asked for"),
        ({"group": "Xx"}, "group: "),
        ({"cell": {**SILICON, "species": ["Si", "Q"]}}, "cell: the reference is no structure"),
        (
            {"dos": {"frequency_THz": X.tolist(), "states": (0 * DOS).tolist()}},
            "dos_difference: the reference curve is zero everywhere",
        ),
        ({"results": ROWS[:2]}, "results: no row for 11.50 THz"),
        ({"velocity": [[0, 0, 0], [0, 0]]}, "velocity: the reference: [1] has 2 entries"),
        ({"levels": [1, None]}, "levels: the reference: entry [1] is null"),
        ({"dos": {"frequency_THz": [1, 2], "states": [1]}}, "dos_difference: the reference: 2 values"),
    ],
)
def test_references_that_cannot_be_graded_by(change: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError) as error:
        validate_spec(SPEC, "t/task.yaml: answer", {**RIGHT, **change}, GOAL)
    assert words in str(error.value)
    assert str(error.value).startswith("t/task.yaml: answer")


def test_a_missing_field_of_the_reference() -> None:
    with pytest.raises(SpecError, match="bands is missing"):
        validate_spec(SPEC, "t", {k: v for k, v in RIGHT.items() if k != "bands"}, GOAL)


# --- what the agent is told


def test_the_schema_says_units_and_tolerances_and_no_values() -> None:
    schema = answer_schema(SPEC, GOAL)
    fields = schema["properties"]
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert fields["gap"]["description"] == "band gap. Unit: eV. May differ from the reference by 0.005 eV."
    assert fields["conductivity"]["description"] == "Unit: W/m/K. May differ from the reference by 10 %."
    row = fields["results"]["items"]["properties"]
    assert row["frequency_THz"] == {
        "type": "number",
        "enum": [1.0, 5.05, 11.5],
        "description": "Echoed as given. Unit: THz.",
    }
    assert row["n_Si"]["type"] == "integer"
    assert fields["results"]["minItems"] == 3
    assert fields["velocity"]["minItems"] == 2
    assert fields["velocity"]["items"]["maxItems"] == 3
    text = json.dumps(schema)
    for secret in ("2.8129", "4.8164", "1.17", "148", "216", "GaAs", "Stillinger", "35.0"):
        assert secret not in text


def test_the_schema_is_valid_and_agrees_with_the_graders() -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = answer_schema(SPEC, GOAL)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(ANSWER)) == []
    for answer in (
        changed("gap", "1.17"), changed("gap", ...), changed("bands", 8.5), changed("metal", 0), changed("note", 1),
        changed("results.0.frequency_THz", 1.5), changed("results", ROWS[:2]), changed("results.0.n_Si", True),
        changed("velocity", [[1, 2], [3, 4]]), changed("dos.states", ...), changed("cell", "si.vasp"), changed("relaxed", SILICON),
        changed("branches", ["TA", "TA"]), changed("details.deep", 3), changed("cell.species", ...), changed("group", 231),
    ):  # fmt: skip
        assert list(validator.iter_errors(answer)), answer
        assert failed(evidence(answer))


def test_schemas_without_keys_and_shapes() -> None:
    spec = {
        "fields": {
            "t": {"type": "table", "key": {"k": {"unit": "1"}}, "columns": {"c": {"type": "label"}}},
            "a": {"type": "array", "unit": "1"},
            "s": {"type": "set", "of": "label", "values": ["x"]},
        }
    }
    fields = answer_schema(spec)["properties"]
    assert "minItems" not in fields["t"]
    assert "enum" not in fields["t"]["items"]["properties"]["k"]
    assert fields["t"]["items"]["properties"]["c"] == {"type": "string", "description": "One word."}
    assert fields["a"]["type"] == "array"
    assert "items" not in fields["a"]


# --- small parts


@pytest.mark.parametrize(
    ("formula", "counts"),
    [
        ("GaAs", {"Ga": 1, "As": 1}),
        ("Ca(OH)2", {"Ca": 1, "O": 2, "H": 2}),
        ("Hf0.5Zr0.5O2", None),
        ("Al2(SO4)3", {"Al": 2, "S": 3, "O": 12}),
        ("H₂O", {"H": 2, "O": 1}),
        ("$SiO_{2}$", {"Si": 1, "O": 2}),
        ("water", None),
        ("", None),
        ("(", None),
        (")2", None),
        ("Si)", None),
        ("Si0", None),
        ("Xx2", None),
        ("((((((((((Si))))))))))", None),
        ("Si" * 200, None),
    ],
)
def test_formulas(formula: str, counts: dict[str, int] | None) -> None:
    assert composition(formula) == counts


def test_formulas_that_are_not_reduced() -> None:
    (_, x) = answer_criteria({"fields": {"x": {"type": "formula", "reduced": False}}}, lambda _: {"x": "Si8"})
    assert judge(x, evidence({"x": "Si8"})).holds
    assert not judge(x, evidence({"x": "Si"})).holds


def test_strings_with_brackets_are_no_nesting() -> None:
    assert parse_answer(json.dumps({"a": "[" * 1000 + '\\"' + "{" * 1000}).encode()).problems == ()


@pytest.mark.parametrize(
    "piece", [b"[", b'"', b'\\"', b"{", b'"\\', b"[],", b"1,", b"-", b"\xf0\x9f\x98\x80", b'"a":', b"9"]
)
def test_reading_takes_no_longer_than_the_file_is_long(piece: bytes) -> None:
    for start in (b"", b"[", b'{"a": ', b'{"a": "'):
        with pytest.raises(AnswerUnreadable):
            parse_answer(start + piece * (300_000 // len(piece)))


@pytest.mark.parametrize("path", ["branches", "levels", "shells", "results", "cell.species", "dos.states", "author"])
@pytest.mark.parametrize("piece", ["TA", 1, None, {}])
def test_long_lists_are_judged_in_a_short_time(path: str, piece: Any) -> None:
    """Whatever compares each with each would take hours."""
    seen = evidence(changed(path, [piece] * 100_000))
    own = [c for name, c in CRITERIA.items() if name.startswith((READABLE, path.split(".")[0]))]
    assert any(not judge(criterion, seen).holds for criterion in own)


def test_no_answer_is_evaluated(tmp_path: Path) -> None:
    """Texts that would run if somebody handed them to Python, YAML or a shell."""
    mark = tmp_path / "mark"
    attack = f"__import__('pathlib').Path({str(mark)!r}).touch()"
    for value in (attack, f"!!python/object/apply:os.system ['touch {mark}']", f"$(touch {mark})", f"`touch {mark}`"):
        for path in ("gap", "stacking", "author", "compound", "group", "relaxed", "cell", "results", "shells"):
            assert failed(evidence(changed(path, value)))
    assert not mark.exists()
