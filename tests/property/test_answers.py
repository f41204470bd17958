"""What holds of the graders of answers, whatever they are given."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from matassay.core import Artefact, Evidence, Judgement
from matassay.grading.answers import (
    READABLE,
    AnswerUnreadable,
    answer_criteria,
    answer_schema,
    parse_answer,
    validate_spec,
)
from matassay.grading.structures import Crystal, Match, difference

REASON = "noise of the reference method"
SPEC: dict[str, Any] = {
    "fields": {
        "x": {"type": "number", "unit": "eV", "rtol": 0.01, "atol": 1e-3, "reason": REASON},
        "n": {"type": "integer"},
        "flag": {"type": "boolean"},
        "word": {"type": "label", "values": ["up", "down"], "aliases": {"up": ["u"]}},
        "text": {"type": "text"},
        "formula": {"type": "formula"},
        "group": {"type": "space_group"},
        "a": {"type": "array", "unit": "1", "shape": [2, 2], "atol": 0.1, "reason": REASON},
        "s": {"type": "set", "unit": "1", "atol": 0.1, "reason": REASON},
        "c": {
            "type": "spectrum",
            "x": {"name": "x", "unit": "THz"},
            "y": {"name": "y", "unit": "1"},
            "window": [0, 1],
            "least_points": 2,
        },
        "cell": {"type": "structure"},
        "o": {"type": "object", "fields": {"n": {"type": "integer"}}},
        "t": {
            "type": "table",
            "key": {"k": {"unit": "1", "values": [1, 2]}},
            "columns": {"v": {"type": "number", "unit": "1"}},
        },
    }
}
RIGHT: dict[str, Any] = {
    "x": -2.5, "n": 7, "flag": True, "word": "up", "text": "abc", "formula": "SiO2", "group": 227, "a": [[1, 2], [3, 4]], "s": [1, 2, 3],
    "c": {"x": [0, 0.5, 1], "y": [1, 2, 1]}, "cell": {"lattice": [[3, 0, 0], [0, 3, 0], [0, 0, 3]], "species": ["Si"], "fractional": [[0, 0, 0]]},
    "o": {"n": 3}, "t": [{"k": 1, "v": 10.0}, {"k": 2, "v": 20.0}],
}  # fmt: skip
CRITERIA = answer_criteria(SPEC, lambda _: RIGHT)

names = st.sampled_from([*SPEC["fields"], "k", "v", "y", "lattice", "species", "fractional", "extra"])
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    | st.sampled_from([10**400, -(10**4001), 1e308, 1e-320, "up", "NaN", "answer.json", "7", "\ud800", RIGHT["cell"], RIGHT["t"], RIGHT["c"]])
)  # fmt: skip
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5), max_leaves=25
)


def evidence(data: Any) -> Evidence:
    content = data if isinstance(data, bytes) else dumped(data)
    return Evidence(state={"seed": 0, "outputs_refused": {}}, artefacts=(Artefact.of("answer.json", content),))


def dumped(value: Any) -> bytes:
    """JSON as a careless program writes it: with NaN, and integers of any length."""

    def plain(v: Any) -> str:
        if isinstance(v, dict):
            return "{" + ", ".join(f"{json.dumps(k)}: {plain(w)}" for k, w in v.items()) + "}"
        if isinstance(v, list):
            return "[" + ", ".join(map(plain, v)) + "]"
        if isinstance(v, int) and not isinstance(v, bool) and abs(v) >= 10**4000:
            return ("-" if v < 0 else "") + "1" + "0" * 5000
        return json.dumps(v)

    return plain(value).encode()


def judged(data: Any) -> dict[str, Judgement]:
    found = {}
    for criterion in CRITERIA:
        judgement = criterion.check(evidence(data), {})
        assert isinstance(judgement, Judgement)
        assert judgement.holds or (judgement.message and judgement.failure is not None)
        assert len(judgement.message) < 2000
        judgement.message.encode()
        found[criterion.name] = judgement
    return found


@given(values)
@settings(max_examples=80, deadline=None)
def test_no_answer_crashes_a_grader(value: Any) -> None:
    judged(value)


@given(field=st.sampled_from([f for f in SPEC["fields"] if f not in ("text",)]), value=values)
@settings(max_examples=80, deadline=None)
def test_one_field_of_anything_at_all_passes_only_if_it_is_right(field: str, value: Any) -> None:
    assume(value != RIGHT[field])
    found = judged({**RIGHT, field: value})
    others = [n for n in found if n.split("_")[0] != field and n != READABLE]
    assert all(found[n].holds for n in others), "the other fields are judged by themselves"
    own = [found[n].holds for n in found if n.split("_")[0] == field]
    if all(own) and found[READABLE].holds:
        near = {
            "x": lambda v: math.isclose(v, -2.5, rel_tol=0.011),
            "word": lambda v: v.strip().casefold() in ("up", "u"),
            "formula": lambda v: "Si" in v,
            "group": lambda v: isinstance(v, str) and v[:1].upper() in "FO",
            "flag": lambda v: v is True,
            "n": lambda v: type(v) is int and v == 7,
        }
        assert field in near, (field, value)
        assert near[field](value)


@given(st.binary(max_size=200))
@settings(max_examples=200, deadline=None)
def test_no_bytes_crash_the_parser(data: bytes) -> None:
    with suppress(AnswerUnreadable):
        parse_answer(data)
    assert not all(j.holds for j in judged(data).values())


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_damaged_file_is_refused_or_read_as_what_it_says(data: st.DataObject) -> None:
    right = json.dumps(RIGHT).encode()
    at = data.draw(st.integers(0, len(right)))
    length = data.draw(st.integers(0, 5))
    damaged = right[:at] + data.draw(st.binary(max_size=4)) + right[at + length :]
    judged(damaged)


finite = st.floats(-1e12, 1e12, allow_nan=False).filter(lambda v: v == 0 or abs(v) > 1e-9)


@given(target=finite, rtol=st.none() | st.floats(1e-6, 0.4), atol=st.none() | st.floats(1e-6, 1e6))
@settings(max_examples=200, deadline=None)
def test_tolerances_are_sharp_at_any_reference(target: float, rtol: float | None, atol: float | None) -> None:
    options = {k: v for k, v in (("rtol", rtol), ("atol", atol)) if v is not None}
    width = max((0.1 if not options else rtol or 0.0) * abs(target), atol or 0.0)
    assume(width > 1e-9 * abs(target))
    assume(width > 0)
    spec = {"fields": {"x": {"type": "number", "unit": "eV", **options, **({"reason": REASON} if options else {})}}}
    (_, criterion) = answer_criteria(spec, lambda _: {"x": target})
    assert criterion.tolerance is not None
    for k in (0.5, -0.5, 0.9, -0.9, 1.1, -1.1, 2, -2):
        moved = criterion.tolerance.displaced(evidence({}), {}, k)
        verdict = criterion.check(moved, {})
        assert isinstance(verdict, Judgement)
        assert verdict.holds is (abs(k) < 1)


@given(st.lists(finite, min_size=1, max_size=8), st.floats(1e-4, 0.3), st.randoms(use_true_random=False))
@settings(max_examples=100, deadline=None)
def test_sets_of_numbers_are_matched_as_well_as_they_can_be(numbers: list[float], rtol: float, random: Any) -> None:
    """Any order, each moved within its tolerance: there is a matching, so it must be found."""
    spec = {"fields": {"s": {"type": "set", "unit": "1", "rtol": rtol, "atol": 1e-6, "reason": REASON}}}
    (_, criterion) = answer_criteria(spec, lambda _: {"s": numbers})
    moved = [v + 0.99 * random.uniform(-1, 1) * max(rtol * abs(v), 1e-6) for v in numbers]
    random.shuffle(moved)
    verdict = criterion.check(evidence({"s": moved}), {})
    assert isinstance(verdict, Judgement)
    assert verdict.holds, verdict.message
    assert criterion.tolerance is not None
    for k in (0.9, -0.9, 1.1, -1.1, 2, -2):
        verdict = criterion.check(criterion.tolerance.displaced(evidence({}), {}, k), {})
        assert isinstance(verdict, Judgement)
        assert verdict.holds is (abs(k) < 1)


@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    compare=st.sampled_from(["elementwise", "scale", "norm"]),
    sign=st.sampled_from(["matters", "free"]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None)
def test_tolerances_of_arrays_are_sharp(shape: list[int], compare: str, sign: str, seed: int) -> None:
    reference = (np.random.default_rng(seed).normal(size=shape) + 3).tolist()
    spec = {
        "fields": {
            "a": {
                "type": "array",
                "unit": "1",
                "shape": shape,
                "compare": compare,
                "sign": sign,
                "rtol": 0.02,
                "reason": REASON,
            }
        }
    }
    validate_spec(spec, "t", {"a": reference})


@given(st.floats(0.01, 100), st.floats(-3, 3), st.integers(20, 60))
@settings(max_examples=60, deadline=None)
def test_tolerances_of_curves_are_sharp(height: float, middle: float, points: int) -> None:
    x = np.linspace(-5, 5, points)
    y = height * (np.exp(-((x - middle) ** 2)) + 0.01)
    checks = {
        "difference": {"rtol": 0.03, "reason": REASON},
        "area": {"rtol": 0.02, "reason": REASON},
        "peak_height": {"rtol": 0.04, "reason": REASON},
        "peak_position": {"atol": 0.1, "reason": REASON},
    }
    axes = {"x": {"name": "e", "unit": "eV"}, "y": {"name": "d", "unit": "1/eV"}}
    spec = {"fields": {"c": {"type": "spectrum", **axes, "window": [-4.5, 4.5], "checks": checks}}}
    validate_spec(spec, "t", {"c": {"e": x.tolist(), "d": y.tolist()}})


@given(values)
@settings(max_examples=80, deadline=None)
def test_what_the_schema_refuses_never_passes(value: Any) -> None:
    """The other way round does not hold: a schema cannot know the right values."""
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(answer_schema(SPEC))
    try:
        read = json.loads(dumped(value))
    except ValueError:
        return
    if list(validator.iter_errors(read)):
        assert not all(j.holds for j in judged(value).values())


@given(seed=st.integers(0, 10_000), strain=st.floats(-0.05, 0.05))
@settings(max_examples=60, deadline=None)
def test_the_verdict_on_a_strain_is_that_of_its_size(seed: int, strain: float) -> None:
    assume(abs(abs(strain) - 0.02) > 5e-4)
    rng = np.random.default_rng(seed)
    cell = np.diag(rng.uniform(3, 6, 3)) + rng.uniform(-0.5, 0.5, (3, 3))
    crystal = Crystal.of(cell, ["Ba", "Ti", "O"], rng.random((3, 3)))
    other = Crystal.of(cell * (1 + strain), crystal.species, crystal.fractional)
    assert (difference(other, crystal, Match(length=0.02)) is None) is (abs(strain) < 0.02)
