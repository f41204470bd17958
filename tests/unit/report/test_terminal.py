"""Tables in terminals: whole columns go before a word is cut, and who acted always stands there."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from matassay.cli import _console, _list, _run
from matassay.cli._report import _summary_table, report
from matassay.core import MatAssayError
from matassay.report import summarise
from tests.unit.report.rows import row

MODELS = ("anthropic/claude-opus-4-1", "openai/gpt-5-codex-mini-2026")
STUDY = "202603_si_ge_interface"
TASKS = ("202603_020-si-ge-mode-resolved-transmission", "202603_021-si-ge-diffuse-mismatch-transmission")


def episodes():
    found = [
        row(task, n, n > 0, model=model, group=STUDY, id=f"research/{STUDY}/{task}", suite="research", sample_id=f"{n}{model}{task}")
        for task in TASKS for n in range(2) for model in MODELS
    ]  # fmt: skip
    return [*found, row(agent="reference", model="")]


def out(width: int) -> tuple[_console.Out, io.StringIO]:
    stream = io.StringIO()
    made = _console.Out(stream)
    made._console = Console(file=stream, width=width, highlight=False)
    return made, stream


@pytest.mark.parametrize("width", [80, 100, 120, 240])
def test_rates_say_who_acted_and_cut_nothing(width: int) -> None:
    real, stream = out(width)
    real.table(_summary_table(summarise(episodes()), real.console))
    head, *lines = stream.getvalue().splitlines()
    assert max(map(len, [head, *lines])) <= width
    for needed in ("agent or model", "guidance", "success"):
        assert needed in head
    assert ("invalid" in head) == (width == 240)
    for model in MODELS:
        assert sum(f"{model} " in line for line in lines) == 4
    assert f"{STUDY} " in stream.getvalue()
    assert "…" not in stream.getvalue()
    assert all(line.strip() for line in lines)  # nothing goes on in a second line


@pytest.mark.parametrize("width", [80, 120])
def test_episodes_of_a_run_leave_out_what_all_ids_begin_with(width: int) -> None:
    real, stream = out(width)
    _run._print(real, episodes()[:-1], {"report": Path("a/report.html"), "failures": Path("a/failures.html")})
    first, head, *lines = stream.getvalue().splitlines()
    assert first.strip() == f"research/{STUDY}/"
    assert all(name in head for name in ("task", "guidance", "seed", "success", "score"))
    assert sum(line.startswith(f"{TASKS[1]} ") for line in lines) == 4
    assert "report   a/report.html" in lines
    assert "failures a/failures.html" in lines


def test_words_end_lines_where_nothing_else_helps() -> None:
    real, stream = out(60)
    _run._print(real, episodes(), {})
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 60
    broken = [line for line in lines if line.startswith("research/")]
    assert broken
    assert all(line.split(" ")[0].endswith(("/", "-", "_")) for line in broken)


def test_cells_in_lines_keep_their_text() -> None:
    broken = _console._in_lines("research/some_study/001-a-long-name", 12)
    assert [len(line) <= 12 for line in broken.split("\n")] == [True] * 4
    assert broken.replace("\n", "") == "research/some_study/001-a-long-name"
    assert Text.from_markup(_console._in_lines(r"a\[/b]-c", 3)).plain.replace("\n", "") == "a[/b]-c"


def test_a_pipe_gets_whole_ids() -> None:
    real, stream = out(_console.WIDE)
    _run._print(real, episodes()[:-1], {})
    assert stream.getvalue().count(f"research/{STUDY}/2026") == 8


@pytest.mark.parametrize("width", [80, 120])
def test_list_of_tasks_cuts_nothing(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, stream = out(width)

    class Claimed:
        def __enter__(self) -> _console.Out:
            return real

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setattr(_list, "claim_stdout", Claimed)
    _list.list_tasks(["instruments/sem"])
    first, head, *lines = stream.getvalue().splitlines()
    assert first.strip() == "instruments/sem/"
    assert head.split()[0] == "id"
    assert lines[0].split()[:3] == ["s01-vent-chamber", "Vent", "the"] or "easy" in lines[0]
    assert max(map(len, [head, *lines])) <= width
    assert len(lines) - 1 == int(lines[-1].split()[0])  # a line each


def test_failures_html_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from matassay import evals

    monkeypatch.setattr(evals, "read_results", lambda folder: [row(success=False)])
    monkeypatch.setattr("matassay.report.logs.read_settings", lambda places: [])
    monkeypatch.setattr("matassay.cli._report.write_folder_replay", lambda *_: None)
    pages = _run._pages(tmp_path, [row(success=False)])
    assert pages == {"report": tmp_path / "report.html", "failures": tmp_path / "failures.html"}
    assert pages["failures"].is_file()


def test_report_says_which_overrules_fit_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from matassay import evals

    monkeypatch.setattr(evals, "read_results", lambda folder: [row(success=False, seed=1)])
    monkeypatch.setattr("matassay.report.logs.read_settings", lambda places: [])
    right, wrong = (f"instruments/xrd/s01-load@full#{n}|gui|maker/model" for n in (1, 7))
    entries = [{"run": run, "failure": "format", "by": "me", "why": "seen"} for run in (right, wrong)]
    (tmp_path / "failures.json").write_text(json.dumps({"overrules": entries}))
    report([tmp_path])
    said = capsys.readouterr().err
    assert f"note: causes set by a person change nothing where no run of that name failed: {wrong}\n" in said
    assert right not in said
    with pytest.raises(MatAssayError, match="there is no such folder"):
        report([tmp_path / "nowhere"])
