"""Criteria that say why, and what a run failed of."""

from __future__ import annotations

import pytest

from matassay.core import (
    Category,
    Criterion,
    EpisodeResult,
    Evidence,
    Failure,
    GraderFailure,
    Interface,
    Judgement,
    Level,
    Outcome,
    Span,
    Task,
    failure_of,
    grade,
)


def task(*criteria: Criterion, **other: object) -> Task:
    return Task(**{  # type: ignore[arg-type]
        "id": "toy/group/name", "title": "", "span": Span.SINGLE, "level": Level.EASY,
        "category": Category.ANALYZE_OUTPUTS, "revision": 1, "step_limit": 1, "criteria": criteria,
        "scenario": None, "open_world": None, "truth_fields": ("x",), "grader_package": "matassay.core",
        "interface": Interface.WORKSPACE, **other,
    })  # fmt: skip


def says(holds: bool, failure: Failure | None = Failure.WRONG_CHOICE):
    return lambda evidence, goal: Judgement(holds, "because", failure)


def test_reasons_are_kept_for_what_does_not_hold_alone() -> None:
    verdict = grade(task(Criterion("a", "", says(True)), Criterion("b", "", says(False))), Evidence(), {})
    assert (verdict.success, verdict.score) == (False, 0.5)
    assert verdict.messages == {"b": "because"}
    assert verdict.failures == {"b": "wrong_choice"}


def test_a_diagnosis_is_told_and_counts_for_nothing() -> None:
    stage = Criterion("stage", "", says(False), diagnosis=True)
    verdict = grade(task(Criterion("end", "", says(True)), stage), Evidence(), {})
    assert (verdict.success, verdict.score) == (True, 1.0)
    assert verdict.criteria == {"end": True, "stage": False}
    assert verdict.messages == {"stage": "because"}
    assert verdict.failures == {}  # a stage is no cause of a failure that is not there


def test_a_task_of_diagnoses_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one goal"):
        task(Criterion("stage", "", says(True), diagnosis=True))


def test_only_a_task_with_a_screen_says_why_it_needs_one() -> None:
    with pytest.raises(ValueError, match="needs_gui"):
        task(Criterion("a", "", says(True)), needs_gui="to see")
    with pytest.raises(ValueError, match="needs_gui"):
        task(Criterion("a", "", says(True)), interface=Interface.SCREEN)


def test_neither_a_text_nor_none_is_a_judgement() -> None:
    for value in ("yes", None, 1, Judgement("yes", "")):  # type: ignore[arg-type]
        with pytest.raises(GraderFailure, match="instead of a bool"):
            grade(task(Criterion("a", "", lambda e, g, v=value: v)), Evidence(), {})


@pytest.mark.parametrize(
    ("kinds", "limit", "expected"),
    [
        ((), False, Failure.UNCLASSIFIED),
        ((), True, Failure.LIMIT),
        (("format",), True, Failure.LIMIT),
        (("wrong_implementation", "wrong_choice"), False, Failure.WRONG_CHOICE),
        (("wrong_choice", "software_usage"), False, Failure.SOFTWARE_USAGE),
        (("wrong_implementation", "format"), False, Failure.FORMAT),
        (("wrong_implementation",), False, Failure.WRONG_IMPLEMENTATION),
    ],
)
def test_the_first_cause_in_order_counts(kinds: tuple[str, ...], limit: bool, expected: Failure) -> None:
    assert failure_of(kinds, limit=limit) is expected


def test_groups_are_those_of_the_paper() -> None:
    assert [f.group for f in Failure] == [
        "operational",
        "operational",
        "scientific",
        "scientific",
        "limit",
        "unclassified",
    ]


def test_only_a_failed_run_has_a_failure() -> None:
    def result(success: bool | None, outcome: Outcome = Outcome.SCORED) -> EpisodeResult:
        failures = {"a": "format"} if success is False else {}
        return EpisodeResult(
            "t/g/n", "single", "full", 0, outcome, success, 0.0, 1, 0, {}, [], 1, "", failures=failures
        )

    assert result(True).failure is None
    assert result(None, Outcome.GRADER_ERROR).failure is None
    assert result(False).failure is Failure.FORMAT
    assert result(False, Outcome.LIMIT).failure is Failure.LIMIT
