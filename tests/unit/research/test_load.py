"""A broken task folder is left out, said with file and field, and stops nothing else."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from matassay.cli._app import main
from matassay.cli._play import choose
from matassay.core import BrokenTask, MatAssayError, UnknownTask, find_task, select_tasks, suites
from matassay.suites import research
from matassay.suites.research import TaskFolder, load

SPEC = """
id: research/study/202603_998-toy
title: A toy
revision: 1
kind: run_and_analyze
inputs: {a.json: numbers}
goal: {n: 5}
answer: {fields: {x: {type: number, unit: "1"}, rows: {type: table, key: {k: {type: integer}}, columns: {y: {type: integer}}}}}
"""
FILES = {
    "task.yaml": SPEC,
    "prompt.md": "Take {{n}}.\n<!-- method -->\nAdd.\n<!-- /method -->\n",
    "solution.py": "x = 1\n",
    "near_misses.py": "MISSES = ()\n",
    "inputs/a.json": "[1]",
    "reference.json": json.dumps({"x": 1.5, "rows": [{"k": 1, "y": 2}]}),
}


def write(place: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    return place


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return write(tmp_path / "study" / "toy")


def test_a_sound_folder_is_loaded(toy: Path) -> None:
    found = load(toy.parents[1])
    assert ([*found.folders], dict(found.broken)) == (["research/study/202603_998-toy"], {})
    assert [task.id for task in found.tasks] == [*found.folders]


FAULTS = [
    ("task.yaml", "revision: 1\n", "", r"task\.yaml: field revision: is missing; expected a whole number"),
    ("task.yaml", "revision", "revison", r"field revison: there is no such field \(did you mean revision\?\); known: id, title"),
    ("task.yaml", "title: A toy", "title: A toy\nlimits: {step: 3}", r"field limits\.step: .*did you mean steps"),
    ("task.yaml", "kind: run_and_analyze", "kind: cook", r"field kind: expected 'prepare_inputs'.*; got 'cook'$"),
    ("task.yaml", "revision: 1", "revision: many", r"field revision: expected a valid integer.*; got 'many'$"),
    ("task.yaml", "202603_998-toy", "toy", r"field id: expected research/study/<number>-<short-name>, got"),
    ("task.yaml", "title: A toy", "title: A toy\nmanuals: [vaps]", r"field manuals: .*vasp.*got 'vaps'"),
    ("task.yaml", "title: A toy", "title: A toy\nrequires: [vasp]", r"field requires: .*lammps.*got 'vasp'"),
    ("task.yaml", "title: A toy", "title: A toy\nseeds: {kind: generated}", r"reproduce\.py: is missing"),
    ("task.yaml", "a.json", "b.json", r"lists b\.json, which .*inputs does not have; does not list a\.json, which"),
    ("task.yaml", "inputs: {a.json: numbers}", "", r"field inputs: does not list a\.json, which .*inputs has$"),
    ("task.yaml", "answer: {", "answer: {fiel: 1, ", r"task\.yaml: answer.*fiel"),
    ("prompt.md", "{{n}}", "{{m}}", r"prompt\.md: \{\{m\}\} is not in the task's goal, which has n"),
    ("prompt.md", "<!-- /method -->", "", r"prompt\.md: the last <!-- method --> is never closed"),
    ("near_misses.py", "MISSES = ()", "raise SystemExit(3)", r"near_misses\.py: cannot be run \(SystemExit: 3\)"),
    ("near_misses.py", "MISSES = ()", "from matassay.suites.research import Miss\nMISSES = (Miss('m', '', {'y': 'z'}),)",
     r"near_misses\.py: m: fragment 'y' occurs 0 times"),
    ("reference.json", '"x"', '"z"', r"reference\.json: is not a right answer .*\bz\b"),
    ("reference.json", "1.5", '"1.5"', r"reference\.json: is not a right answer .*\bx\b.*expected"),
    ("reference.json", '"y": 2', '"w": 2', r"reference\.json: is not a right answer .*rows.*\bw\b"),
    ("reference.json", "{", "[{", r"reference\.json: cannot be read"),
]  # fmt: skip


@pytest.mark.parametrize(("file", "old", "new", "words"), FAULTS)
def test_each_fault_is_said_with_file_and_field(toy: Path, file: str, old: str, new: str, words: str) -> None:
    sound = write(toy.parent / "sound")
    change(sound / "task.yaml", "998-toy", "997-sound")
    change(toy / file, old, new)
    with pytest.warns(BrokenTask, match=words) as told:
        found = load(toy.parents[1])
    assert [*found.folders] == ["research/study/202603_997-sound"]
    (message,) = (str(w.message) for w in told)
    assert message.startswith("left out research/study/")
    assert len(message.splitlines()) == 1
    assert len(message) < 600


def test_an_unreadable_file_is_known_by_its_folder(toy: Path) -> None:
    (toy / "task.yaml").write_bytes(b"\xff\xfe: [")
    with pytest.warns(BrokenTask, match="left out research/study/toy: .*cannot be read"):
        assert [*load(toy.parents[1]).broken] == ["research/study/toy"]


def test_two_folders_with_one_id_or_one_name(toy: Path) -> None:
    write(toy.parent / "twin")
    with pytest.warns(
        BrokenTask, match=r"twin/task\.yaml: field id: .*toy has 'research/study/202603_998-toy' already"
    ):
        assert len(load(toy.parents[1]).tasks) == 1
    (toy.parent / "twin" / "task.yaml").unlink()
    change(write(toy.parents[1] / "other" / "toy") / "task.yaml", "research/study", "research/other")
    with pytest.warns(BrokenTask, match="has the same name"):
        assert len(load(toy.parents[1]).tasks) == 1


def test_one_that_raises_anything_is_left_out(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TaskFolder, "check", lambda self: 1 / 0)
    with pytest.warns(BrokenTask, match="toy: ZeroDivisionError"):
        assert load(toy.parents[1]).tasks == ()


def test_a_broken_folder_fails_a_test_run(toy: Path) -> None:
    change(toy / "task.yaml", "revision: 1", "")
    with pytest.raises(BrokenTask):
        load(toy.parents[1])


@pytest.fixture
def installed(toy: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The toy, broken, is all that the research suite has."""
    change(toy / "task.yaml", "revision: 1", "")
    monkeypatch.setattr(research, "STUDIES", toy.parents[1])
    monkeypatch.delitem(vars(research), "SUITE", raising=False)
    for cached in (research.loaded, suites):
        cached.cache_clear()
    yield toy
    for cached in (research.loaded, suites):
        cached.cache_clear()
    vars(research).pop("SUITE", None)


def test_other_tasks_are_listed_and_the_broken_one_says_why(installed: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["list", "instruments/xrd", "--format", "json"]) == 0
        out, said = capfd.readouterr()
        assert len(json.loads(out)["tasks"]) > 5
        assert said.splitlines() == [
            f"matassay: left out research/study/202603_998-toy: {installed}/task.yaml: field revision: is missing; "
            "expected a whole number, 1 for a new task"
        ]
        assert research.folders() == {}
        for command in (["list"], ["grade"], ["reproduce"]):
            research.loaded.cache_clear()  # as in a process of its own
            folder = [str(installed)] if command == ["grade"] else []
            assert main([*command, "research/study/202603_998", *folder]) == 2
            assert "field revision: is missing" in capfd.readouterr().err
    with pytest.raises(UnknownTask, match=r"202603_998-toy is left out: .*field revision"):
        find_task("research/study/202603_998-toy")
    with pytest.raises(UnknownTask, match="no task id begins"):
        select_tasks(["research/study/202603_99"])


def test_all_studies_are_loaded_in_half_a_second() -> None:
    load(research.STUDIES)  # what is imported at first use
    begin = time.process_time()
    found = load(research.STUDIES)
    assert time.process_time() - begin < 0.5
    assert len(found.tasks) >= 10


@pytest.mark.parametrize("words", [("research/202603_si_ge_interface/202603_016", None), ("research", None),
                                   ("202603_si_ge_interface", "202603_016")])  # fmt: skip
def test_research_tasks_are_not_played(words: tuple[str, str | None]) -> None:
    with pytest.raises(MatAssayError, match=r"by code, not at an instrument: matassay run research\S* --agent code"):
        choose(*words)


def test_who_plays_nonsense_is_told_of_instruments_alone() -> None:
    with pytest.raises(UnknownTask, match=r"there are: sem, xrd$"):
        choose("nonsense", None)


def test_playing_a_research_task_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["play", "research/202603_si_ge_interface/202603_016"]) == 2
    said = capfd.readouterr().err.splitlines()
    assert len(said) == 1
    assert "--agent code" in said[0]
    assert list(tmp_path.iterdir()) == []
