"""A research task from end to end: sandbox, kernel, engine, log, verdict, replay; and the commands around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from matassay import evals
from matassay.cli import main
from matassay.core import Guidance, Outcome, find_task
from matassay.report.logs import find_logs, read_replays
from matassay.suites.research import folders
from matassay.worlds.workspace import missing

CELLS = "research/202603_si_ge_interface/202603_016-si-ge-interface-cells"

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if lacking := missing(find_task(CELLS).requires):
        pytest.skip("; ".join(map(str, lacking)))
    place = tmp_path_factory.mktemp("research")
    evals.run([find_task(CELLS)], agent="reference", guidances=list(Guidance), log_dir=place / "reference")
    evals.run([find_task(CELLS)], agent="null", log_dir=place / "null")
    return place


def test_the_reference_succeeds_under_both_guidances(logs: Path) -> None:
    results = evals.read_results(logs / "reference")
    assert [(r.guidance, r.outcome, r.success, r.score) for r in results] == [
        ("full", Outcome.SCORED, True, 1.0),
        ("reduced", Outcome.SCORED, True, 1.0),
    ]
    assert all(r.versions["sandbox"].startswith("bubblewrap") for r in results)
    assert results[0].labels == {"code": [], "method": list(folders()[CELLS].spec.methods)}


def test_who_does_nothing_fails_for_the_format_of_the_answer(logs: Path) -> None:
    (result,) = evals.read_results(logs / "null")
    assert (result.success, result.score, str(result.failure)) == (False, 0.0, "format")
    assert "answer.json is not there" in result.messages.values()


def test_the_reference_never_reaches_the_log_before_grading(logs: Path) -> None:
    """What the agent could read of the log in a live run holds no value of the reference."""
    (log,) = find_logs([logs / "null"])
    truth = find_task(CELLS).scenario(0).truth
    raw = log.read_bytes()
    assert not any(repr(v).encode() in raw for v in truth.values() if isinstance(v, float))


def test_the_replay_shows_code_and_what_it_printed(logs: Path) -> None:
    (log,) = find_logs([logs / "reference"])
    replay = next(iter(read_replays(log)))
    assert replay.result.steps == len(replay.steps) > 2
    assert replay.steps[0].code is not None
    assert replay.steps[0].code.startswith("import json")
    assert all(step.after is None for step in replay.steps)


def test_old_runs_are_graded_again_without_a_sandbox(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    (log,) = find_logs([logs / "reference"])
    pairs = evals.regrade(log, tmp_path / "again.eval")
    assert [(old.success, new.success) for old, new in pairs] == [(True, True)] * 2


def test_grading_a_folder_needs_no_run(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "answer.json").write_text('{"a_parallel_A": "5.5"}')
    assert main(["grade", CELLS, str(tmp_path), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert "number" in found["verdict"]["messages"]["a_parallel_A"]


def test_a_reference_is_made_again(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", CELLS, "--format", "json"]) == 0
    (task,) = json.loads(capsys.readouterr().out)["tasks"]
    assert task["reproduced"] is True
    assert set(task["inputs"].values()) <= {"same", "same numbers"}


def test_what_is_no_research_task_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "research/nowhere"]) == 2
    assert "no task id begins with 'research/nowhere'" in capsys.readouterr().err
    assert main(["grade", "instruments/xrd/s01-select-specimen", "."]) == 2
    assert "only research tasks leave files" in capsys.readouterr().err
