from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from matassay.core import (
    Criterion,
    Evidence,
    MatAssayError,
    Outcome,
    Suite,
    UnknownTask,
    all_tasks,
    find_task,
    grade,
    grader_checksum,
    select_tasks,
    suites,
)
from matassay.core._result import EpisodeResult

SOME = all_tasks()[0]
GUARD = Criterion("guard", "", lambda e, g: True, holds_at_start=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"id": "xrd"}, "expected suite/group/name"),
        ({"id": "instruments/XRD/s01"}, "lower case"),
        ({"truth_fields": ()}, "declares no truth fields"),
        ({"criteria": (SOME.criteria[0], SOME.criteria[0])}, "not unique"),
        ({"criteria": (GUARD,)}, "needs at least one goal"),
        ({"criteria": ()}, "needs at least one goal"),
        ({"revision": 0}, "must be positive"),
        ({"step_limit": 0}, "must be positive"),
        ({"time_scale": 0.0}, "must be positive"),
    ],
)
def test_task_that_cannot_be_is_refused(change: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        dataclasses.replace(SOME, **change)


def test_parts_of_the_id() -> None:
    task = dataclasses.replace(SOME, id="instruments/xrd/deep/name")
    assert (task.suite, task.group, task.name) == ("instruments", "xrd", "deep/name")


def test_suite_holds_its_own_tasks_only() -> None:
    with pytest.raises(ValueError, match="of another suite"):
        Suite("software", (SOME,))


def test_suites_are_found_by_entry_point() -> None:
    assert "instruments" in suites()
    assert all(task.suite == suite.name for suite in suites().values() for task in suite.tasks)


def test_tasks_are_found_by_their_whole_id_only() -> None:
    assert find_task(SOME.id) is SOME
    with pytest.raises(UnknownTask, match=rf"did you mean {SOME.id}.*matassay list"):
        find_task(SOME.id[:-1])


def test_prefix_ends_at_a_part_of_the_id() -> None:
    assert [t.name for t in select_tasks(["instruments/xrd/s04"])] == ["s04-set-angles"]
    assert [t.name for t in select_tasks(["instruments/xrd/s04-set-angles"])] == ["s04-set-angles"]
    assert select_tasks(["/instruments/"]) == [t for t in all_tasks() if t.suite == "instruments"]
    assert select_tasks([]) == all_tasks()
    for part in ("instruments/x", "instruments/xrd/s0", "xrd", "instruments/xrd/s04-set"):
        if part.endswith("-set"):
            assert select_tasks([part])
            continue
        with pytest.raises(UnknownTask, match="no task id begins with"):
            select_tasks([part])
    for wrong, meant in (
        ("instruments/xdr", "instruments/xrd"),
        ("instrument", "instruments"),
        ("reserch", "research"),
    ):
        with pytest.raises(UnknownTask, match=rf"did you mean {meant}[,?]"):
            select_tasks([wrong])


def test_span_selects() -> None:
    spans = {t.span for t in all_tasks()}
    assert sum(len(select_tasks([], span)) for span in spans) == len(all_tasks())


def test_ids_are_unique(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("matassay.core._registry.suites", lambda: {"a": Suite("instruments", (SOME, SOME))})
    with pytest.raises(MatAssayError, match="not unique"):
        all_tasks()


def test_checksum_follows_the_grading_code(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "judges_of_a_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "criteria.py").write_text("LIMIT = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    task = dataclasses.replace(SOME, grader_package="judges_of_a_test")
    before = grader_checksum(task)
    assert before == grader_checksum(task)
    assert before != grader_checksum(SOME)
    twin = tmp_path / "judges_of_a_test_2"
    twin.mkdir()
    (twin / "__init__.py").write_text("")
    (twin / "criteria.py").write_text("LIMIT = 2\n")
    assert grader_checksum(dataclasses.replace(SOME, grader_package="judges_of_a_test_2")) != before
    with pytest.raises(ValueError, match="cannot be found"):
        grader_checksum(dataclasses.replace(SOME, grader_package="no_such_package"))


def test_guard_is_needed_for_success_and_left_out_of_the_score() -> None:
    goals = (Criterion("a", "", lambda e, g: True), Criterion("b", "", lambda e, g: e.state["b"]))
    task = dataclasses.replace(SOME, criteria=(*goals, dataclasses.replace(GUARD, check=lambda e, g: e.state["g"])))
    told = {
        (b, g): (v.success, v.score)
        for b in (True, False)
        for g in (True, False)
        for v in [grade(task, Evidence({"b": b, "g": g}), {})]
    }
    assert told == {
        (True, True): (True, 1.0),
        (True, False): (False, 1.0),
        (False, True): (False, 0.5),
        (False, False): (False, 0.5),
    }


def test_only_broken_worlds_and_graders_leave_the_rates() -> None:
    assert {o for o in Outcome if not o.graded} == {Outcome.ENVIRONMENT_ERROR, Outcome.GRADER_ERROR}


def test_row_of_the_contract() -> None:
    row = EpisodeResult(
        id="a/b/c", span="single", guidance="full", seed=0, outcome=Outcome.SCORED, success=False, score=0.5, steps=3,
        invalid_actions=1, criteria={"x": True}, consequences=[{"name": "crash", "step": 2, "time": 1.0}],
        task_revision=1, grader_checksum="0" * 16, agent="null", usage={"input": 5},
    )  # fmt: skip
    assert list(row.contract()) == [
        "id", "span", "guidance", "seed", "outcome", "success", "score", "steps", "invalid_actions", "criteria",
        "consequences", "task_revision", "grader_checksum",
    ]  # fmt: skip
    assert row.contract()["outcome"] == "scored"
    assert row.contract()["consequences"] == [{"name": "crash", "step": 2}]
    assert row.false_termination
