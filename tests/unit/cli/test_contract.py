"""The contract for scripts: exit codes, one JSON object on standard output, resume. On the toy suite, offline."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from matassay import evals
from matassay.cli import main
from matassay.core import suites
from tests.unit.evals import toy

LAMP, WORKFLOW, UNGRADABLE, BROKEN = "toy/lamp/s01-switch-on", "toy/lamp/s02-again", "toy/lamp/s03", "toy/lamp/s04"


@pytest.fixture(autouse=True)
def toy_suite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """The toy is the one installed suite, and everything happens in an empty folder."""
    point = SimpleNamespace(name="toy", load=lambda: toy.SUITE)
    monkeypatch.setattr("matassay.core._registry.entry_points", lambda group: [point])
    monkeypatch.chdir(tmp_path)
    suites.cache_clear()
    yield
    suites.cache_clear()


@pytest.fixture
def shell(capfd):
    """Run a command; gives exit code, standard output and standard error, as a shell would see them."""

    def call(*args: str) -> SimpleNamespace:
        capfd.readouterr()
        code = main([str(a) for a in args])
        out, err = capfd.readouterr()
        return SimpleNamespace(code=code, out=out, err=err, json=lambda: json.loads(out))

    return call


# --- list


def test_list_json(shell):
    ran = shell("list", "toy/lamp/s01", "--format", "json")
    assert ran.code == 0
    assert ran.json() == {
        "schema_version": 1,
        "tasks": [
            {
                "id": LAMP, "suite": "toy", "group": "lamp", "span": "single", "level": "easy",
                "category": "Experimental Execution", "guidances": ["full", "reduced"], "revision": 1,
            }
        ],
    }  # fmt: skip


def test_list_table(shell):
    ran = shell("list")
    assert ran.code == 0
    assert [line.split()[0] for line in ran.out.splitlines()[1:5]] == [t.id for t in toy.SUITE.tasks]
    assert ran.out.endswith("4 tasks\n")


def test_list_imports_nothing_heavy():
    code = (
        "import sys; from matassay.cli import main; main(['list']);"
        "sys.exit(len({'inspect_ai', 'matplotlib', 'playwright', 'pandas'} & set(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


# --- run


def test_run_json(shell):
    ran = shell("run", "toy/lamp/s01", "--agent", "reference", "--seeds", "2", "--format", "json", "--log-dir", "d")
    assert ran.code == 0
    found = ran.json()
    assert list(found) == ["schema_version", "agent", "model", "log_dir", "tasks", "summary", "skipped"]
    assert (found["schema_version"], found["agent"], found["model"], found["log_dir"]) == (1, "reference", None, "d")
    assert found["summary"] == {"attempted": 2, "scored": 2, "success_rate": 1.0, "mean_score": 1.0, "mean_steps": 4.0}
    first, second = found["tasks"]
    assert list(first) == [
        "id", "span", "guidance", "seed", "outcome", "success", "score", "steps", "invalid_actions", "criteria",
        "consequences", "task_revision", "grader_checksum",
    ]  # fmt: skip
    assert (first["id"], first["span"], first["guidance"], first["outcome"]) == (LAMP, "single", "full", "scored")
    assert (first["seed"], second["seed"]) == (0, 1)
    assert first["criteria"] == {"on": True, "saved": True, "on_time": True}
    assert re.fullmatch("[0-9a-f]{16}", first["grader_checksum"])
    assert re.findall(r"\[([12])/2\] toy/lamp/s01-switch-on", ran.err) == ["1", "2"]
    assert {"report.html", "report.csv", "report.json", "replay.html"} <= {p.name for p in Path("d").iterdir()}


def test_run_table_and_default_folder(shell):
    ran = shell("run", LAMP, WORKFLOW, "--agent", "reference")
    assert ran.code == 0
    (folder,) = Path("logs").iterdir()
    assert re.fullmatch(r"\d{8}-\d{6}-reference", folder.name)
    assert re.search(rf"{LAMP}\s+full\s+0\s+scored\s+yes\s+1\.00\s+4\s+0", ran.out)
    assert WORKFLOW in ran.out  # both spans, unless told otherwise
    assert "2 of 2 episodes graded: success rate 100.0%, mean score 1.000, mean steps 4.0" in ran.out
    for what, name in (("report", "report.html"), ("replay", "replay.html"), ("logs", "")):
        (path,) = re.findall(rf"^{what} +(\S+)$", ran.out, re.MULTILINE)
        assert Path(path).resolve() == (folder / name).resolve()


def test_choices_of_episodes(shell):
    def chosen(*args: str) -> list[tuple[str, str, int]]:
        ran = shell("run", *args, "--agent", "null", "--format", "json")
        return [(t["id"].split("/")[-1], t["guidance"], t["seed"]) for t in ran.json()["tasks"]]

    assert chosen(WORKFLOW, LAMP, "--span", "workflow", "--seed", "7") == [("s02-again", "full", 7)]
    assert chosen(LAMP, "--guidance", "reduced") == [("s01-switch-on", "reduced", 0)]
    both = [("s01-switch-on", "full", 0), ("s01-switch-on", "reduced", 0)]
    assert chosen(LAMP, "--guidance", "both") == both
    assert chosen(LAMP, "--guidance", "reduced", "--guidance", "full") == both


@pytest.mark.parametrize(("agent", "expect", "code"), [("null", True, 1), ("null", False, 0), ("reference", True, 0)])
def test_expect_success(shell, agent, expect, code):
    ran = shell("run", LAMP, "--agent", agent, "--format", "json", *(["--expect-success"] if expect else []))
    assert ran.code == code
    assert ran.json()["summary"]["success_rate"] == (agent == "reference")


@pytest.mark.parametrize(("task", "outcome"), [(UNGRADABLE, "grader_error"), (BROKEN, "environment_error")])
def test_what_cannot_be_graded_is_null_leaves_the_rates_and_exits_with_2(shell, task, outcome):
    ran = shell("run", LAMP, task, "--agent", "reference", "--format", "json", "--expect-success")
    assert ran.code == 2
    good, bad = ran.json()["tasks"]
    assert good["success"] is True
    assert (bad["outcome"], bad["success"], bad["score"], bad["criteria"]) == (outcome, None, None, {})
    assert ran.json()["summary"] == {
        "attempted": 2,
        "scored": 1,
        "success_rate": 1.0,
        "mean_score": 1.0,
        "mean_steps": 4.0,
    }
    assert "1 of 2 episodes could not be graded" in ran.err
    alone = shell("run", task, "--agent", "reference", "--format", "json")
    assert alone.json()["summary"] == {
        "attempted": 1, "scored": 0, "success_rate": None, "mean_score": None, "mean_steps": None,
    }  # fmt: skip
    assert "not graded" in alone.err
    assert "0 of 1 episode graded" in shell("run", task, "--agent", "reference").out


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--agent", "reference"],
        [LAMP],
        [LAMP, "--agent", "nobody"],
        [LAMP, "--agent", "gui"],
        [LAMP, "--agent", "reference", "--model", "maker/m"],
        [LAMP, "--agent", "reference", "--seeds", "2", "--seed", "1"],
        [LAMP, "--agent", "reference", "--seeds", "0"],
        [LAMP, "--agent", "reference", "--seed", "-1"],
        [LAMP, "--agent", "reference", "--seeds", "x"],
        [LAMP, "--agent", "reference", "--span", "double"],
        [LAMP, "--agent", "reference", "--guidance", "none"],
        [LAMP, "--agent", "reference", "--format", "yaml"],
        [LAMP, "--agent", "reference", "--max-parallel", "0"],
        [LAMP, "--agent", "reference", "--span", "workflow"],
        [LAMP, "--agent", "reference", "--what"],
        ["toy/lamp/s0", "--agent", "reference"],
        ["toy/l", "--agent", "reference"],
        ["nowhere", "--agent", "reference"],
        [LAMP, "--model", "nobody/model"],
        [LAMP, "--model", "reference/reference", "-M", "novalue"],
    ],
    ids=" ".join,
)
def test_bad_use(shell, args):
    ran = shell("run", *args, "--format", "json") if "--format" not in args else shell("run", *args)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.strip()
    assert "Traceback" not in ran.err
    assert not list(Path().rglob("*.eval"))


def test_a_model_implies_gui(shell, monkeypatch):
    asked = {}
    monkeypatch.setattr(evals, "run", lambda tasks, **options: asked.update(options) or [])
    options = ["--step-limit", "9", "--token-limit", "100", "--cost-limit", "0.5", "--time-limit", "60"]
    ran = shell(
        "run", LAMP, "--model", "maker/m", "-M", "n=3", "-M", "s=text", "--model-base-url", "http://x", "--function-tools",
        "--max-parallel", "3", "--format", "json", *options,
    )  # fmt: skip
    assert ran.code == 0
    assert (ran.json()["agent"], ran.json()["model"]) == ("gui", "maker/m")
    assert (asked["agent"], asked["model"], asked["max_parallel"]) == ("gui", "maker/m", 3)
    assert (asked["model_args"], asked["model_base_url"], asked["internal_tools"]) == (
        {"n": 3, "s": "text"},
        "http://x",
        False,
    )
    assert [asked[f"{name}_limit"] for name in ("step", "token", "cost", "time")] == [9, 100, 0.5, 60]


def test_finished_episodes_are_not_run_again(shell, monkeypatch, tmp_path):
    monkeypatch.setenv("TOY_TRACE", str(tmp_path / "trace"))
    args = ["run", LAMP, "--agent", "reference", "--log-dir", "d", "--format", "json"]
    first = shell(*args, "--seeds", "2")
    again = shell(*args, "--seeds", "2")
    more = shell(*args, "--seeds", "3")
    assert first.json() == again.json()
    assert more.json()["tasks"][:2] == first.json()["tasks"]
    assert (tmp_path / "trace").read_text().splitlines() == ["start 0", "start 1", "start 2"]


def test_a_run_that_is_finished_says_so(shell):
    args = ["run", LAMP, "--agent", "null", "--log-dir", "d"]
    assert "finished already" not in shell(*args).err
    assert "1 of 1 are finished already, nothing to do" in shell(*args).err
    assert "1 of 2 are finished already\n" in shell(*args, "--seeds", "2").err


def test_a_folder_of_logs_is_that_folder_only(shell):
    shell("run", LAMP, "--agent", "null", "--log-dir", "d/inside")
    assert shell("report", "d").code == 2
    ran = shell("run", LAMP, "--agent", "null", "--log-dir", "d")
    assert "finished already" not in ran.err
    assert len(list(Path("d").glob("*.eval"))) == 1


@pytest.mark.parametrize("folder", ["file", "file/below", "/proc/nope", ""])
def test_folder_that_cannot_be_written_is_said_before_anything_runs(shell, folder):
    Path("file").touch()
    ran = shell("run", LAMP, "--agent", "null", "--log-dir", folder)
    assert (ran.code, ran.out) == (2, "")
    assert (f"cannot write logs to {folder}: " if folder else "the name of a folder is empty") in ran.err
    assert "Starting" not in ran.err


@pytest.mark.parametrize("model", ["gpt-5", "openai/", "/gpt-5"])
def test_model_without_a_provider_is_said_before_anything_runs(shell, model):
    ran = shell("run", LAMP, "--model", model)
    assert (ran.code, ran.out) == (2, "")
    assert f"model {model!r} is not PROVIDER/NAME" in ran.err
    assert "Starting" not in ran.err


def test_model_that_cannot_be_used_is_one_line_and_leaves_no_folder(shell, monkeypatch):
    ran = shell("run", LAMP, "--model", "nobody/model")
    assert "matassay: model 'nobody/model' cannot be used: " in ran.err
    assert not Path("logs").exists()

    def refuse(*args, **options):
        raise ValueError("ERROR: No client\n\nNo [bold][blue]SOME_KEY[/blue][/bold] defined.")

    monkeypatch.setattr("matassay.evals._run.get_model", refuse)
    ran = shell("run", LAMP, "--model", "nobody/model")
    assert ran.err.endswith("cannot be used: No client No SOME_KEY defined.\n")


def test_interrupted(shell, monkeypatch):
    real = evals.run

    def cut(tasks, *, progress, **options):
        def once(*args):
            progress(*args)
            raise KeyboardInterrupt

        results = real(tasks, **options)
        once(1, 2, results[0])

    monkeypatch.setattr(evals, "run", cut)
    ran = shell("run", LAMP, "--agent", "reference", "--seeds", "2", "--log-dir", "d", "--format", "json")
    assert ran.code == 2
    assert len(ran.json()["tasks"]) == 1
    assert re.search(r"interrupted.*\n.*--log-dir d\ngoes on", ran.err)


def test_incomplete(shell, monkeypatch):
    def cut(tasks, **options):
        raise evals.RunIncomplete("text", [], ["a", "b"])

    monkeypatch.setattr(evals, "run", cut)
    ran = shell("run", LAMP, "--agent", "reference", "--seeds", "2", "--format", "json")
    assert ran.code == 2
    assert ran.json()["summary"]["attempted"] == 0
    assert "2 of 2 episodes came to no end" in ran.err
    ran = shell("run", LAMP, "--agent", "reference", "--seeds", "2")
    assert (ran.code, ran.out) == (2, "")  # no table of nothing


NOISY = """
import os, subprocess, sys
from matassay.cli import main
from tests.unit.evals import toy

act = toy.Lamp.act

async def noisy(self, action):
    print("from a library")
    os.write(1, b"from C\\n")
    subprocess.run(["/bin/echo", "from a child"], check=True)
    await act(self, action)

toy.Lamp.act = noisy
with toy.registered():
    sys.exit(main(sys.argv[1:]))
"""


def test_stray_output_does_not_reach_standard_output():
    args = ["run", LAMP, "--agent", "reference", "--format", "json"]
    root = Path(__file__).parents[3]
    ran = subprocess.run(
        [sys.executable, "-c", NOISY, *args], capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(root)}
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["summary"]["scored"] == 1
    for words in ("from C", "from a child"):  # the engine keeps what Python prints in its log
        assert words in ran.stderr


# --- errors


def test_errors_are_one_line_unless_asked(shell, monkeypatch):
    def broken(prefixes, span=None):
        raise ZeroDivisionError("deep down")

    monkeypatch.setattr("matassay.cli._list.select_tasks", broken)
    ran = shell("list", "--format", "json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("matassay: ZeroDivisionError: deep down\n")
    assert "Traceback" not in ran.err
    for args in (["--debug", "list"], ["list", "--debug"]):
        with pytest.raises(ZeroDivisionError):
            main(args)


def test_missing_browser_is_said_before_anything_runs(capfd, monkeypatch):
    monkeypatch.undo()  # the real suite
    suites.cache_clear()
    monkeypatch.setenv("MATASSAY_BROWSER", "/nowhere/browser")
    for args in (
        ["run", "instruments/xrd", "--agent", "reference"],
        ["play", "xrd"],
        ["verify", "instruments/xrd/s01"],
    ):
        assert main(args) == 2
        out, err = capfd.readouterr()
        assert out == ""
        assert "/nowhere/browser" in err
        assert "matassay doctor" in err
        assert "make setup" in err


def test_help_and_version(shell):
    ran = shell("--help")
    assert ran.code == 0
    for command in ("list", "run", "verify", "report", "regrade", "replay", "view", "play", "doctor"):
        assert re.search(rf"^\s+{command}\s", ran.out, re.MULTILINE)
        assert shell(command, "--help").code == 0
    assert shell("--version").out.startswith("matassay ")
    assert shell("nonsense").code == 2
    assert shell().code == 2


# --- what is done with logs


@pytest.fixture
def logs(shell, tmp_path_factory):
    """A folder with a model's place taken by the null agent, and one of the reference; run once, then copied."""
    made = tmp_path_factory.getbasetemp() / "logs-of-the-toy"
    if not made.exists():
        shell("run", LAMP, UNGRADABLE, "--agent", "reference", "--seeds", "2", "--log-dir", made / "ref")
        shell("run", LAMP, "--agent", "null", "--seeds", "2", "--log-dir", made / "null")
    for name in ("ref", "null"):
        shutil.copytree(made / name, name)


def test_report(shell, logs):
    ran = shell("report", "ref", "null", "--out", "out", "--format", "json")
    assert ran.code == 0
    found = ran.json()
    rates = {r["agent"]: r["success"]["rate"] for r in found["tables"]["overall"]}
    assert rates == {"reference": 1.0, "null": 0.0}
    assert found["runs"][0]["settings"]["observation mode"] == "screenshot"
    files = found.pop("files")
    assert found == json.loads(Path(files["json"]).read_text())
    assert all(Path(p).parent == Path("out") and Path(p).is_file() for p in files.values())
    table = shell("report", "ref")
    assert table.code == 0
    assert re.search(r"all\s+reference\s+full\s+2 of 4\s+100.0%", table.out)
    assert "note: 2 of 4 episodes could not be graded" in table.err
    assert shell("report", "nowhere").code == 2
    Path("empty").mkdir()
    empty = shell("report", "empty", "--format", "json")
    assert (empty.code, empty.out) == (2, "")
    assert "no finished episode in empty" in empty.err
    assert not list(Path("empty").iterdir())


@pytest.mark.parametrize("place", ["file", "/proc/nope"])
def test_pages_for_which_there_is_no_place_are_refused_in_words(shell, logs, place):
    Path("file").touch()
    for command, out, what in (("report", place, "report"), ("replay", f"{place}/page.html", "replay")):
        ran = shell(command, "ref", "--out", out)
        assert (ran.code, ran.out) == (2, "")
        assert f"cannot write the {what} to {place}: " in ran.err


def test_regrade(shell, logs, monkeypatch):
    ran = shell("regrade", "ref", "--format", "json")
    assert ran.code == 2  # a grader is still broken
    episodes = ran.json()["episodes"]
    assert [e["changed"] for e in episodes] == [False] * 4
    assert episodes[0]["before"] == episodes[0]["after"]
    ran = shell("regrade", *Path("null").glob("*.eval"))
    assert ran.code == 0
    assert "2 episodes of 1 log graded again, 0 verdicts changed" in ran.out
    dark = toy.Criterion("dark", "It is dark.", lambda e, g: not e.state["on"])
    other = toy.Suite("toy", (toy.make("s01-switch-on", criteria=(*toy.GOALS[2:], dark)),))
    monkeypatch.setattr("matassay.core._registry.suites", lambda: {"toy": other})
    rest = shell("regrade", "ref", "null")  # the suite has one of the two tasks of `ref` no longer
    assert rest.code == 2
    assert re.search(r"not graded again: .*/ref/.*: no task has the id", rest.err)
    assert "no success, score 0.00 -> success, score 1.00" in rest.out
    assert shell("regrade", "nowhere").code == 2
    Path("empty").mkdir()
    assert shell("regrade", "empty").code == 2


def test_replay(shell, logs):
    ran = shell("replay", "ref", "--format", "json")
    assert (ran.code, ran.json()) == (0, {"schema_version": 1, "files": ["ref/replay.html"]})
    (log,) = Path("ref").glob("*.eval")
    one = shell("replay", log, "--sample", f"{LAMP}@full#1", "--out", "one.html")
    assert one.out == "replay  one.html\n"
    assert Path("one.html").read_text().count(f"{LAMP}@full#1") == 1
    assert shell("replay", log).out == f"replay  {log.with_suffix('')}.replay.html\n"
    assert shell("replay", "ref", "--sample", "s03").out == "replay  ref/replay.s03.html\n"
    for args in (["nowhere"], ["ref", "--sample", "nothing"], [log, "--sample", "nothing"]):
        assert shell("replay", *args).code == 2


def test_view_says_that_its_port_is_taken(shell):
    Path("logs").mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = shell("view", "--port", str(port))
    assert ran.code == 2
    assert f"port {port} of 127.0.0.1 cannot be used (Address already in use)" in ran.err


def test_view(shell, monkeypatch):
    started = []
    monkeypatch.setattr(subprocess, "run", lambda argv, check: started.append(argv) or SimpleNamespace(returncode=0))
    assert shell("view", "nowhere").code == 2
    Path("logs").mkdir()
    assert shell("view", "--port", "7000").code == 0
    assert started[0][1:] == [
        "-m",
        "inspect_ai",
        "view",
        "start",
        "--log-dir",
        "logs",
        "--host",
        "127.0.0.1",
        "--port",
        "7000",
    ]


# --- doctor and verify


def test_doctor(shell, monkeypatch):
    from matassay.cli._needs import Need

    ran = shell("doctor", "--format", "json")
    found = {n["name"]: n for n in ran.json()["needs"]}
    assert {"python", "packages", "browser", "font", "tasks", "logs", "anthropic", "display"} <= set(found)
    assert ran.code == (0 if ran.json()["ok"] else 1)
    assert found["tasks"]["detail"] == "4 tasks in toy"
    needs = [
        Need("a", True, "there"),
        Need("b", False, "gone", "fetch b"),
        Need("c", False, "no", "buy c", needed=False),
    ]
    monkeypatch.setattr("matassay.cli._doctor.all_needs", lambda: needs)
    ran = shell("doctor")
    assert ran.code == 1
    assert re.search(r"MISSING b +gone\n +fetch b\n", ran.out)
    monkeypatch.setattr("matassay.cli._doctor.all_needs", lambda: [needs[0], needs[2]])
    assert shell("doctor").code == 0


def test_doctor_names_the_command_that_mends(monkeypatch, shell):
    monkeypatch.setenv("MATASSAY_BROWSER", "/nowhere/browser")

    def missing(name: str) -> str:
        raise __import__("importlib.metadata").metadata.PackageNotFoundError(name)

    monkeypatch.setattr("matassay.cli._needs.version", missing)
    found = {n["name"]: n for n in shell("doctor", "--format", "json").json()["needs"]}
    assert not found["browser"]["found"]
    assert "make setup" in found["browser"]["mend"]
    assert found["packages"]["mend"] == "make setup"
    assert "inspect-ai" in found["packages"]["detail"]


def test_verify(shell):
    ran = shell("verify", LAMP, "--check", "A2", "--seeds", "1", "--format", "json")
    assert ran.code == 0, ran.err
    assert {(r["task"], r["check"], r["passed"]) for r in ran.json()["rows"]} == {(LAMP, "A2", True)}
    table = shell("verify", UNGRADABLE, "--check", "A1", "--seeds", "1")
    assert table.code == 1
    assert "FAILED A1" in table.out
    assert shell("verify", LAMP, "--check", "Z9").code == 2
    assert shell("verify", "nowhere").code == 2
