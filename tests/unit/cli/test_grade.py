"""`matassay grade`: a folder of files is judged as what an agent left would be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from matassay.cli import _grade
from matassay.cli._console import Format
from matassay.core import MatAssayError
from matassay.suites import research
from tests.unit.evals import toy

TASK_YAML = """
id: research/study/000_001-gap
title: A band gap
revision: 3
kind: run_and_analyze
outputs: [answer.json, cells/*]
goal: {planes: [1, 2]}
answer:
  fields:
    gap: {type: number, unit: eV, atol: 0.01, reason: noise of the fit}
    planes: {type: table, key: {plane: {type: integer, goal: planes}}, columns: {atoms: {type: integer}}}
    cell: {type: structure, given: file, format: poscar}
"""
SILICON = {
    "lattice": [[0, 2.7, 2.7], [2.7, 0, 2.7], [2.7, 2.7, 0]],
    "species": ["Si", "Si"],
    "fractional": [[0, 0, 0], [0.25, 0.25, 0.25]],
}
ROWS = [{"plane": 1, "atoms": 4}, {"plane": 2, "atoms": 8}]
ANSWER = {"gap": 1.17, "planes": ROWS, "cell": "cells/si.vasp"}
POSCAR = "si\n1.0\n0 2.7 2.7\n2.7 0 2.7\n2.7 2.7 0\nSi\n2\nDirect\n0 0 0\n.25 .25 .25\n"


@pytest.fixture(autouse=True)
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One task in a folder of its own."""
    place = tmp_path / "study" / "t001"
    place.mkdir(parents=True)
    (place / "task.yaml").write_text(TASK_YAML)
    (place / "prompt.md").write_text("What is the gap?\n")
    (place / "solution.py").write_text("# %%\nprint(1)\n")
    (place / "near_misses.py").write_text("MISSES = ()\n")
    (place / "reference.json").write_text(json.dumps({"gap": 1.17, "planes": ROWS, "cell": SILICON}))
    folder = research.TaskFolder(place)
    made = folder.task()
    monkeypatch.setattr(research, "folders", lambda: {made.id: folder})
    monkeypatch.setattr(
        _grade, "select_tasks", lambda prefixes: [made] if prefixes[0] in made.id else [*toy.SUITE.tasks]
    )


@pytest.fixture
def grade(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """Grades files; gives exit code and what was printed."""

    def call(files: dict[str, Any], format: Format = Format.TABLE) -> SimpleNamespace:
        folder = tmp_path / "left"
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
        folder.mkdir(exist_ok=True)
        with pytest.raises(typer.Exit) as ended:
            _grade.grade("research/study", folder, 0, format)
        said = capsys.readouterr()
        return SimpleNamespace(code=ended.value.exit_code, out=said.out, err=said.err)

    return call


def test_right_files(grade: Any) -> None:
    done = grade({"answer.json": ANSWER, "cells/si.vasp": POSCAR, "notes.txt": "not asked for"})
    assert done.code == 0, done.out
    assert done.out.splitlines()[0] == "ok     answer_readable (guard)"
    assert done.out.endswith("5 of 5 checks hold: success, score 1.000\n")


def test_rows_of_a_table_that_hold_stand_in_one_line(grade: Any) -> None:
    done = grade({"answer.json": ANSWER, "cells/si.vasp": POSCAR})
    assert "ok     planes: 2 of 2 checks of its rows\n" in done.out
    assert done.out.count("planes") == 1
    wrong = [ROWS[0], {"plane": 2, "atoms": 9}]
    done = grade({"answer.json": {**ANSWER, "planes": wrong}, "cells/si.vasp": POSCAR})
    assert "ok     planes: 1 of 2 checks of its rows\nFAILED planes_2_atoms\n       " in done.out
    assert done.out.endswith("4 of 5 checks hold: no success, score 0.750\n")


def test_wrong_files_say_why(grade: Any) -> None:
    done = grade({"answer.json": {**ANSWER, "gap": 1.3, "planes": ROWS[:1]}, "cells/si.vasp": POSCAR})
    assert done.code == 1
    assert (
        "FAILED gap\n       gap: 1.3 differs from the reference by 0.13 eV, allowed 0.01 eV [wrong implementation]\n"
        in done.out
    )
    assert "planes: no row for plane = 2 (plane echoed as given) [format]" in done.out
    assert "1.17" not in done.out
    assert done.out.endswith("3 of 5 checks hold: no success, score 0.500\n")


def test_json(grade: Any) -> None:
    done = grade({"answer.json": {**ANSWER, "gap": "1.17"}, "cells/si.vasp": POSCAR}, Format.JSON)
    told = json.loads(done.out)
    assert done.code == 1
    assert (told["task"], told["revision"], told["seed"], told["ok"]) == ("research/study/000_001-gap", 3, 0, False)
    assert told["files"] == ["answer.json", "cells/si.vasp"]
    assert told["verdict"]["criteria"]["gap"] is False
    assert told["verdict"]["failures"] == {"gap": "format"}
    assert "write it without quotes" in told["verdict"]["messages"]["gap"]


def test_links_and_pipes_are_not_read(grade: Any, tmp_path: Path) -> None:
    (tmp_path / "secret.json").write_text(json.dumps(ANSWER))
    (tmp_path / "left" / "cells").mkdir(parents=True)
    (tmp_path / "left" / "answer.json").symlink_to(tmp_path / "secret.json")
    os.mkfifo(tmp_path / "left" / "cells" / "si.vasp")
    done = grade({})
    assert done.code == 1
    assert "not read: answer.json: is a symbolic link" in done.out
    assert "not read: cells/si.vasp: is a FIFO" in done.out
    assert "answer.json was not read: is a symbolic link [format]" in done.out
    assert "holds none of the files that are asked for: answer.json, cells/*" in done.err


def test_an_empty_folder(grade: Any) -> None:
    done = grade({})
    assert done.code == 1
    # Said once, however many checks share it.
    assert "FAILED gap, planes_1_atoms, planes_2_atoms and 1 more\n" in done.out
    assert "       4 checks fail: answer.json is not there [format]\n" in done.out
    assert done.out.count("is not there") == 1
    assert "ok     planes" not in done.out


def test_what_cannot_be_graded(tmp_path: Path) -> None:
    with pytest.raises(MatAssayError, match="No such file or directory"):
        _grade.grade("research/study", tmp_path / "nowhere", 0, Format.TABLE)
    with pytest.raises(MatAssayError, match="Not a directory"):
        _grade.grade("research/study", tmp_path / "study" / "t001" / "task.yaml", 0, Format.TABLE)
    with pytest.raises(MatAssayError, match="name one of them"):
        _grade.grade("toy", tmp_path, 0, Format.TABLE)


def test_tasks_with_a_screen_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_grade, "select_tasks", lambda prefixes: [toy.SUITE.tasks[0]])
    with pytest.raises(MatAssayError, match="judged by the state of its instrument"):
        _grade.grade("toy/lamp/s01", tmp_path, 0, Format.TABLE)
