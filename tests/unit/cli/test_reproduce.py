"""``matassay reproduce`` of what is broken or unknown: what is told, and that the others go on."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from matassay.cli import main
from matassay.core import BrokenTask, MatAssayError, Suite
from matassay.suites import research
from tests.unit.evals import toy

pytestmark = pytest.mark.filterwarnings("always::matassay.core.BrokenTask")

GOOD, BAD, DEAR, BROKEN = (f"research/s/0{n}" for n in range(4))
WHY = "/x/task.yaml: field level: expected 'easy', 'medium' or 'hard'; got 'eas'"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three tasks, of which the second one's script leaves nonsense; a fourth that was left out."""

    def folder(id: str, dear: bool = False) -> Any:
        path = tmp_path / id
        path.mkdir(parents=True)
        (path / "reproduce.py").touch()
        return SimpleNamespace(path=path, spec=SimpleNamespace(id=id, dear=dear, requires=()))

    folders = {id: folder(id, id == DEAR) for id in (GOOD, BAD, DEAR)}

    def reproduce(folder: Any, seed: int, *, keep: Path | None) -> research.Reproduction:
        if folder.spec.id == BAD:
            raise MatAssayError("answer: structure: the reference has no such value")
        return research.Reproduction(folder.spec.id, seed, (), {}, passes=True, said="")

    def known() -> dict[str, Any]:
        warnings.warn(f"left out {BROKEN}: {WHY}", BrokenTask, stacklevel=2)
        return folders

    monkeypatch.setattr(research, "folders", known)
    monkeypatch.setattr(research, "reproduce", reproduce)
    suites = {"toy": Suite("toy", (toy.LAMP,)), "research": Suite("research", (), {BROKEN: WHY})}
    monkeypatch.setattr("matassay.core._registry.suites", lambda: suites)


def test_one_that_fails_does_not_stop_the_others(
    study: None, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["reproduce", BAD, GOOD, "--format", "json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert (found["ok"], [t["task"] for t in found["tasks"]]) == (False, [GOOD])
    assert found["failed"] == {BAD: f"{tmp_path / BAD}: answer: structure: the reference has no such value"}
    assert main(["reproduce", "research/s"]) == 2
    told = capsys.readouterr()
    assert f"FAILED  {BAD}" in told.out
    assert "1 of 2 references reproduced" in told.out
    assert f"left out, takes more than a minute: {DEAR}" in told.err
    assert main(["reproduce", GOOD]) == 0


def test_nothing_to_make_again_is_no_success(study: None) -> None:
    assert main(["reproduce", DEAR]) == 2
    assert main(["reproduce", DEAR, "--dear"]) == 0


@pytest.mark.parametrize(
    ("id", "words"),
    [
        (BROKEN, f"{BROKEN} is left out (see above)"),
        ("research/s/9", "no task id begins with 'research/s/9'"),
        ("toy/lamp/s01-switch-on", "toy/lamp/s01-switch-on is no research task"),
        ("", "the id of a task is empty"),
        (" / ", "the id of a task is empty"),
    ],
)
def test_an_id_that_is_none_is_told(study: None, capsys: pytest.CaptureFixture[str], id: str, words: str) -> None:
    assert main(["reproduce", id]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert words in told.err
    assert "not expected" not in told.err
    assert told.err.count(WHY) == (0 if "empty" in words else 1)


@pytest.mark.parametrize("place", ["file", "/proc/nowhere"])
def test_a_place_that_takes_nothing_is_said_first(
    study: None, capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    (tmp_path / "file").touch()
    assert main(["reproduce", GOOD, "--keep", str(tmp_path / place)]) == 2
    assert "cannot write what is made to" in capsys.readouterr().err


@pytest.mark.parametrize(
    "args",
    [
        ["run", "", "--agent", "null"], ["list", ""], ["verify", "/"], ["grade", "", "."], ["report", ""],
        ["replay", " "], ["regrade", ""], ["view", ""], ["replay", ".", "--out", ""], ["report", ".", "--failures", ""],
    ],
    ids=" ".join,
)  # fmt: skip
def test_an_empty_name_is_not_everything(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A variable of a script that was not set must not run all tasks, or read the folder where one happens to be."""
    assert main(args) == 2
    assert "is empty" in capsys.readouterr().err
