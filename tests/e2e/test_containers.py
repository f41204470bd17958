"""A workspace over nothing but the engine's general interface of a sandbox: run this, and give me its output.

There is no Docker daemon where tests run. Its place takes a provider whose containers are our own sandboxes, of which
nothing is used but what every provider has.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import sys
import zipfile
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.util import SandboxEnvironment, SandboxEnvironmentSpec, SandboxUnavailableError, sandboxenv

from matassay import evals
from matassay.cli import main
from matassay.core import EnvironmentFailure, Interface, MatAssayError, Outcome, Probe, find_task
from matassay.evals import _containers
from matassay.evals._containers import CONFIG_VARIABLE, EngineWorkspace, container_spec
from matassay.evals._sandbox import WorkspaceConfig, WorkspaceSandbox
from matassay.evals._task import sandbox_of
from matassay.worlds.workspace import SANDBOX_VARIABLE, Caps, find_software, missing, run_probes
from matassay.worlds.workspace.kernel import Kernel
from matassay.worlds.workspace.software import place

CELLS = "research/202603_si_ge_interface/202603_016-si-ge-interface-cells"

pytestmark = [pytest.mark.timeout(300)]

#: Of a container /tmp is its own, while the double shows it what lies there on the host.
elsewhere = pytest.mark.skipif(
    str(place()).startswith(("/tmp/", "/var/tmp/")), reason="the workspace environment lies below /tmp"
)


@sandboxenv(name="matassay-double")
class Double(SandboxEnvironment):
    """Any sandbox of the engine's: what it is made of is not to be seen."""

    #: Calls so far, and how many of the next ones get lost on their way back.
    calls, lost = 0, 0

    def __init__(self, hidden: WorkspaceSandbox) -> None:
        super().__init__()
        self._hidden = hidden

    @classmethod
    async def sample_init(cls, task_name: str, config: Any, metadata: dict[str, str]) -> dict[str, SandboxEnvironment]:
        made = await WorkspaceSandbox.sample_init(task_name, WorkspaceConfig(), metadata)
        return {"default": cls(made["default"].as_type(WorkspaceSandbox))}

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Any, environments: Any, interrupted: bool) -> None:
        hidden: dict[str, SandboxEnvironment] = {name: each._hidden for name, each in environments.items()}
        await WorkspaceSandbox.sample_cleanup(task_name, None, hidden, interrupted)

    async def exec(self, cmd: list[str], input: Any = None, cwd: Any = None, env: Any = None, user: Any = None,  # noqa: A002
                   timeout: Any = None, timeout_retry: bool = True, concurrency: bool = True) -> Any:  # fmt: skip
        done = await self._hidden.exec(cmd, input, cwd, env, user, timeout)
        type(self).calls += 1
        if type(self).lost > 0:
            type(self).lost -= 1
            raise ConnectionError("the answer was lost")
        return done

    async def write_file(self, file: str, contents: str | bytes) -> None:
        raise AssertionError("not needed")

    async def read_file(self, file: str, text: bool = True) -> Any:
        raise AssertionError("it follows links, and Docker's does not see a tmpfs")


@pytest.fixture(scope="module", autouse=True)
def _folders_can_be_written() -> AsyncIterator[None]:
    """In a container the task's files are written by us; our sandbox has folders of these names, read-only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matassay.worlds.workspace._arguments.INPUTS", ".box/one")
        patch.setattr("matassay.worlds.workspace._arguments.MANUALS", ".box/two")
        yield


@contextlib.asynccontextmanager
async def container() -> AsyncIterator[SandboxEnvironment]:
    try:
        environments = await Double.sample_init("test", None, {})
    except EnvironmentFailure as failure:
        pytest.skip(f"no sandbox here: {failure}")
    try:
        yield environments["default"]
    finally:
        await Double.sample_cleanup("test", None, environments, False)


@pytest.fixture(scope="module")
async def workspace() -> AsyncIterator[EngineWorkspace]:
    """One for all tests that leave it whole."""
    async with container() as environment:
        made = EngineWorkspace(environment, "docker", inputs={"a/data.txt": b"1 2 3"}, manuals={"m.md": b"read me"})
        await made.start()
        yield made
        await made.close()


# --- programs -----------------------------------------------------------------------------------------------


async def test_what_it_is_goes_into_the_result(workspace: EngineWorkspace) -> None:
    facts = workspace.facts
    assert (workspace.label, facts["sandbox"], facts["engine"]) == ("docker", "docker", "Double")
    assert (facts["user"], facts["network"], int(facts["capabilities"], 16)) == ("1000", "none", 0)
    assert facts["workspace python"].startswith("3.")


async def test_a_program_runs_to_its_end(workspace: EngineWorkspace) -> None:
    script = "cat; echo $A >&2; pwd; exit 3"
    done = await workspace.run(["sh", "-c", script], input=b"\0\xff", env={"A": "b c"}, cwd="/tmp")
    assert (done.exit_code, done.stdout, done.stderr) == (3, b"\0\xff/tmp\n", b"b c\n")
    assert (await workspace.run(["sh", "-c", "kill -9 $$"])).exit_code == 137
    assert (await workspace.run(["nowhere"])).exit_code == 127
    assert (await workspace.run(["/etc/passwd"])).exit_code == 126


async def test_a_slow_program_is_killed_with_what_it_started(workspace: EngineWorkspace) -> None:
    done = await workspace.run(["sh", "-c", "echo begun; sleep 765 & wait"], timeout=2)
    assert (done.exit_code, done.timed_out, done.stdout) == (None, True, b"begun\n")
    assert (await workspace.run(["pgrep", "-f", "^sleep 765"])).exit_code == 1


async def test_of_much_output_the_beginning_and_the_end_are_kept(workspace: EngineWorkspace) -> None:
    done = await workspace.run(["sh", "-c", "echo first; head -c 9000000 /dev/urandom; echo last"])
    assert done.truncated
    assert len(done.stdout) == 3 << 20
    assert done.stdout.startswith(b"first\n")
    assert done.stdout.endswith(b"last\n")
    done = await workspace.run(["seq", "100000"], output_limit=10)
    assert (done.stdout, done.truncated) == (b"1\n2\n30000\n", True)


async def test_large_input_reaches_a_program_and_one_that_does_not_read_ends(workspace: EngineWorkspace) -> None:
    assert (await workspace.run(["wc", "-c"], input=bytes(3_000_000))).stdout == b"3000000\n"
    assert (await workspace.run(["true"], input=bytes(3_000_000))).exit_code == 0
    done = await asyncio.wait_for(workspace.run(["sh", "-c", "sleep 100 & echo done"]), 60)
    assert done.stdout == b"done\n"


# --- a program that is talked to ----------------------------------------------------------------------------

ECHO = """
import os, sys
os.write(1, b"out"); os.write(2, b"err")
while data := os.read(3, 1 << 16):
    while data:
        data = data[os.write(4, data):]
sys.exit(7)
"""


async def test_a_program_has_pipes_of_its_own(workspace: EngineWorkspace) -> None:
    process = await workspace.spawn(["python3", "-c", ECHO])
    assert (await process.stdout.readexactly(3), await process.stderr.readexactly(3)) == (b"out", b"err")
    process.control_in.write(b"a question")
    await process.control_in.drain()
    assert await process.control_out.readexactly(10) == b"a question"
    assert process.returncode is None
    process.control_in.close()
    assert await process.wait() == process.returncode == 7
    assert await process.control_out.read() == await process.stdout.read() == b""


async def test_much_goes_through_whole_in_both_directions(workspace: EngineWorkspace) -> None:
    process = await workspace.spawn(["python3", "-c", ECHO])
    sent = os.urandom(3_000_000)
    process.control_in.write(sent)
    assert await process.control_out.readexactly(len(sent)) == sent
    process.kill()
    assert await process.wait() == -signal.SIGKILL


async def test_a_reader_who_does_not_come_stops_the_program(workspace: EngineWorkspace) -> None:
    code = "import os\nfor n in range(80): os.write(4, bytes(1 << 17)); os.write(1, b'%d\\n' % n)"
    process = await workspace.spawn(["python3", "-c", code])
    assert await process.stdout.readline() == b"0\n"
    held = 0
    with contextlib.suppress(TimeoutError):
        while line := await asyncio.wait_for(process.stdout.readline(), 3):
            held = int(line)
    assert 10 < held < 60, "it wrote all, though nobody read"
    assert len(await process.control_out.readexactly(80 << 17)) == 80 << 17
    assert await process.wait() == 0


async def test_signals_reach_the_program_and_kill_all_that_it_started(workspace: EngineWorkspace) -> None:
    code = "import signal, os\nsignal.signal(2, lambda *_: os.write(4, b'x'))\nos.write(4, b'r')\nos.system('sleep 2')"
    process = await workspace.spawn(["python3", "-c", code])
    assert await process.control_out.readexactly(1) == b"r"
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == -signal.SIGTERM
    process.send_signal(signal.SIGTERM)  # nothing happens
    process = await workspace.spawn(["sh", "-c", "sleep 654 & echo up; wait"])
    assert await process.stdout.readline() == b"up\n"
    process.kill()
    assert await process.wait() == -signal.SIGKILL
    assert (await workspace.run(["pgrep", "-f", "^sleep 654"])).exit_code == 1


async def test_pipes_that_somebody_holds_can_be_let_go(workspace: EngineWorkspace) -> None:
    process = await workspace.spawn(["sh", "-c", "setsid sleep 321 & echo up"])
    assert await process.stdout.readline() == b"up\n"
    assert await process.wait() == 0
    process.release()
    process.release()
    assert await asyncio.wait_for(process.stdout.read(), 60) == b""
    assert (await workspace.run(["pkill", "-f", "^sleep 321"])).exit_code == 0


async def test_what_cannot_be_started_is_said(workspace: EngineWorkspace) -> None:
    with pytest.raises(EnvironmentFailure, match="nowhere cannot be started in the sandbox: No such file"):
        await workspace.spawn(["nowhere"])


async def test_a_program_whose_relay_is_killed_has_ended(workspace: EngineWorkspace) -> None:
    process = await workspace.spawn(["sh", "-c", "echo up; sleep 1; kill -9 -1; sleep 100"])
    assert await process.stdout.readline() in (b"up\n", b"")
    assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
    assert (await workspace.run(["true"])).exit_code == 0, "the container lives"


async def test_answers_that_get_lost_are_fetched_again_and_nothing_is_done_twice(workspace: EngineWorkspace) -> None:
    process = await workspace.spawn(["python3", "-c", ECHO])
    for index in range(3):
        Double.lost = 1
        process.control_in.write(b"%d" % index)
        assert await process.control_out.readexactly(1) == b"%d" % index
    Double.lost = 0
    process.control_in.close()
    assert await process.wait() == 7
    assert await process.control_out.read() == b""


async def test_a_container_that_is_full_of_processes_is_emptied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or no command could be given in it any more, not even the one that ends everything."""
    source = _containers._relay_source()
    assert source.count('"/sys/fs/cgroup"') == 1
    monkeypatch.setattr(_containers, "_relay_source", lambda: source.replace('"/sys/fs/cgroup"', '"/workspace/cgroup"'))
    async with container() as environment:
        made = EngineWorkspace(environment, "docker")
        await made.start()
        await made.write("cgroup/pids.max", b"256\n")
        await made.write("cgroup/pids.current", b"10\n")
        await made.run(["sh", "-c", "setsid sleep 876 > /dev/null 2>&1 &"])
        kernel = await Kernel.start(made)
        assert (await kernel.run("import time; time.sleep(1.5)")).ok
        result = await kernel.run("open('cgroup/pids.current', 'w').write('250'); import time; time.sleep(60)")
        assert (result.died, result.exit_code) == (True, -signal.SIGKILL)
        await made.write("cgroup/pids.current", b"3\n")
        assert (await made.run(["pgrep", "-f", "^sleep 876"])).exit_code == 1
        assert (await kernel.run("1 + 1")).value == "2"
        await kernel.close()
        await made.close()


async def test_the_kernel_lives_in_it(workspace: EngineWorkspace) -> None:
    kernel = await Kernel.start(workspace)
    try:
        assert (await kernel.run("x = read_file('inputs/a/data.txt'); x")).value == "1 2 3"
        assert (await kernel.run("x + read_file('manuals/m.md')")).value == "'1 2 3read me'"
        result = await kernel.run("print('y' * 3_000_000); shell('echo from a program')")
        assert (result.ok, result.bytes_printed > 3_000_000) == (True, True)
        assert "from a program" in result.report()
        result = await kernel.run("while True: pass", timeout=0.5)
        assert (result.interrupted, result.died) == (True, False)
        assert (await kernel.run("x")).value == "1 2 3", "an interrupted kernel has kept its variables"
        result = await kernel.run("import os; os._exit(3)")
        assert (result.died, result.exit_code) == (True, 3)
        assert (await kernel.run("'x' in globals()")).value == "False"
        result = await kernel.run("import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass", timeout=0.3)
        assert (result.interrupted, result.died) == (True, True)
        assert (await kernel.run("final_answer('done')")).final == "done"
    finally:
        await kernel.close()


# --- files --------------------------------------------------------------------------------------------------


async def test_files_are_written_and_read_never_through_a_link(workspace: EngineWorkspace) -> None:
    await workspace.write("new/deep/file", b"\0" * 7_000_000)
    assert await workspace.read("/workspace/new/deep/file", 7_000_000) == b"\0" * 7_000_000
    with pytest.raises(ValueError, match="larger than 6999999 bytes"):
        await workspace.read("new/deep/file", 6_999_999)
    await workspace.run(["sh", "-c", "ln -s /etc link; ln -s /etc/passwd name; mkfifo fifo; ln new/deep/file second"])
    for path in ("link/passwd", "name"):
        with pytest.raises(OSError, match=r"Too many levels|Not a directory"):
            await workspace.read(path, 100)
    with pytest.raises(OSError, match=r"Too many levels|Not a directory"):
        await workspace.write("link/passwd", b"")
    for path, reason in (("fifo", "no regular file"), ("second", "second name"), ("new", "Is a directory")):
        with pytest.raises((ValueError, OSError), match=reason):
            await workspace.read(path, 100)
    await workspace.write("name", b"mine")  # in place of the link
    assert await workspace.read("name", 100) == b"mine"
    for path in ("../etc/passwd", "/etc/passwd", "/workspace"):
        with pytest.raises(ValueError, match="does not lie below"):
            await workspace.read(path, 100)
    with pytest.raises(FileNotFoundError):
        await workspace.read("nothing", 100)


async def test_the_tasks_files_are_read_only(workspace: EngineWorkspace) -> None:
    script = "echo x > inputs/a/data.txt; echo x > inputs/new; rm manuals/m.md; cat inputs/a/data.txt manuals/m.md"
    done = await workspace.run(["sh", "-c", script])
    assert done.stdout == b"1 2 3read me"


# --- the end ------------------------------------------------------------------------------------------------

MESS = r"""
open("answer.json", "w").write("{}")
import os
os.makedirs("results/a"); open("results/a/b.csv", "w").write("1,2")
os.symlink("/etc/passwd", "link.json"); os.mkfifo("fifo.json"); os.symlink("/etc", "etc")
open("one.json", "w").write("x"); os.link("one.json", "two.json")
open("large.json", "wb").truncate(3_000_000)
open(b"\xff.json", "w").close(); open("new\nline.json", "w").close()
os.makedirs("d/" * 20); open("notes.txt", "w").write("not asked for")
os.system("setsid nohup sh -c 'while true; do date > late.json; sleep 0.01; done' > /dev/null 2>&1 &")
os.system("for i in 1 2 3 4 5; do setsid sleep 543 & done")
"""


async def test_at_the_end_all_is_killed_and_what_is_asked_for_is_read() -> None:
    async with container() as environment:
        caps = Caps(file=2_000_000)
        made = EngineWorkspace(environment, "k8s", wanted=lambda name: not name.endswith(".txt"), caps=caps)
        with pytest.raises(EnvironmentFailure, match="has not been started"):
            await made.conclude()
        await made.start()
        kernel = await Kernel.start(made)
        assert (await kernel.run(MESS)).ok
        outputs = await made.conclude()
        late = outputs.files.pop("late.json")
        assert outputs.files == {"answer.json": b"{}", "results/a/b.csv": b"1,2"}
        told = {name: reason for name, reason in outputs.refused.items() if not name.startswith((".box", "d/"))}
        assert told == {
            "link.json": "is a symbolic link",
            "etc": "is a symbolic link",
            "fifo.json": "is a FIFO",
            "one.json": "has a second name (hard link)",
            "two.json": "has a second name (hard link)",
            "large.json": "is larger than 2000000 bytes",
            "\\udcff.json": "has no plain name",
            "new\\nline.json": "has no plain name",
            "notes.txt": "is not asked for",
        }
        assert any(reason.startswith("lies deeper than 16") for reason in outputs.refused.values())
        assert await made.conclude() is outputs
        assert (await environment.exec(["cat", "late.json"])).stdout.encode() == late, "something still writes"
        alive = (await environment.exec(["ps", "-e", "-o", "pid=,comm="])).stdout.split("\n")
        assert len([line for line in alive if line.strip()]) == 2, alive  # the first process and this one
        await kernel.close()
        await made.close()


async def test_more_names_than_are_looked_at() -> None:
    async with container() as environment:
        made = EngineWorkspace(environment, "docker", caps=Caps(count=8, first=("wanted.json", "results/*.csv")))
        await made.start()
        await made.run(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo $i > f$i; done; mkdir results"])
        await made.run(["sh", "-c", "echo > wanted.json; echo > results/w.csv; echo > results/a.txt"])
        outputs = await made.conclude()
        # The folder is a name too, and three are our own sandbox's.
        assert set(outputs.files) == {"wanted.json", "results/w.csv", "results/a.txt", "f1"}
        assert outputs.refused["f2"] == "is more than 8 names"
        assert "f8" not in outputs.refused
        await made.close()


async def test_what_forks_as_fast_as_it_can_is_ended_too() -> None:
    async with container() as environment:
        made = EngineWorkspace(environment, "docker")
        await made.start()
        bomb = "import os\nfor _ in range(5):\n    os.fork()\nwhile True:\n    if os.fork() == 0: os.setsid()\n    else: os._exit(0)"
        await made.run(["sh", "-c", 'setsid python3 -c "$1" > /dev/null 2>&1 &', "sh", bomb])
        assert (await made.conclude()).files == {}
        assert (await made._ask("end", {"seconds": 0.0}))["left"] == 0
        await made.close()


@elsewhere
async def test_questions_about_what_was_left_are_asked_in_the_emptied_container() -> None:
    async with container() as environment:
        made = EngineWorkspace(environment, "docker", inputs={"in.txt": b"public"})
        await made.start()
        trap = "echo trap > x; mkdir -p /tmp/t; echo trap > /tmp/t/x; chmod 0 /tmp/t; setsid sleep 432 &"
        await made.run(["sh", "-c", trap])
        await made.conclude()
        script = "ls -A | grep -v box; ls -A /tmp /var/tmp /dev/shm; cat inputs/in.txt deck; pgrep sleep; echo 1 > out"
        files = {"deck": b" deck ", "inputs/in.txt": b"public"}
        probe = Probe("p", ("sh", "-c", script), files, ("out", "none"), 60, 1 << 30)
        found = await run_probes([probe, Probe("q", ("ls", "out"), {}, (), 60, 1 << 30)], another=made.another)
        said = "deck\ninputs\n/dev/shm:\n\n/tmp:\n\n/var/tmp:\npublic deck "
        assert (found["p"]["stdout"], found["p"]["files"]) == (said, {"out": "1\n", "none": None})
        assert found["q"]["exit_code"] == 2
        await made.close()


# --- containers that are not what they must be --------------------------------------------------------------


class Said(SandboxEnvironment):
    """A container that answers what it is told to."""

    def __init__(self, said: Any) -> None:
        super().__init__()
        self.said, self.calls = said, 0

    @classmethod
    async def sample_cleanup(cls, task_name: str, config: Any, environments: Any, interrupted: bool) -> None:
        raise NotImplementedError

    async def exec(self, cmd: list[str], *args: Any, **options: Any) -> Any:
        from inspect_ai.util import ExecResult

        self.calls += 1
        said = self.said.get(cmd[-1], {}) if isinstance(self.said, dict) else self.said
        if isinstance(said, Exception):
            raise said
        text = said if isinstance(said, str) else base64.b64encode(zlib.compress(json.dumps(said).encode())).decode()
        return ExecResult(True, 0, text, "")

    async def write_file(self, file: str, contents: str | bytes) -> None:
        raise NotImplementedError

    async def read_file(self, file: str, text: bool = True) -> Any:
        raise NotImplementedError


GOOD = {"uid": 1000, "writable": True, "programs": ["lmp"], "boot": "elsewhere", "pid namespace": "pid:[1]"}


@pytest.mark.parametrize(
    ("look", "requires", "match"),
    [
        ({"uid": 0}, (), "runs as root\n  cure: .*1000:1000"),
        ({"writable": False}, (), "/workspace cannot be written"),
        ({}, ("quantum-espresso",), "has no quantum-espresso\n  cure: build its image"),
        (
            {
                "boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
                "pid namespace": str(Path("/proc/self/ns/pid").readlink()),
            },
            (),
            "sees all processes of this machine",
        ),
    ],
)
async def test_what_a_container_must_be(look: dict[str, Any], requires: tuple[str, ...], match: str) -> None:
    made = EngineWorkspace(Said({"look": {**GOOD, **look}}), "docker", requires=requires)
    with pytest.raises(EnvironmentFailure, match=match):
        await made.start()


async def test_an_image_with_our_graders_in_it_is_refused() -> None:
    listing = {"code": 0, "late": False, "cut": False, "out": base64.b64encode(b"matassay 1.0\n").decode(), "err": ""}
    made = EngineWorkspace(Said({"look": GOOD, "run": listing}), "docker", requires=("lammps",))
    with pytest.raises(EnvironmentFailure, match="holds matassay itself"):
        await made.start()


BOMB = base64.b64encode(zlib.compress(b'{"a":"' + b"x" * (80 << 20) + b'"}')).decode()


@pytest.mark.parametrize(
    "said", ["", "garbage", "bm90IHppcHBlZA==", [1, 2], BOMB, SandboxUnavailableError("it is gone")]
)
async def test_a_container_that_makes_no_sense_is_the_environments_fault(
    said: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_containers, "_WAIT", 0.001)
    environment = Said(said)
    with pytest.raises(EnvironmentFailure, match=r"the sandbox 'docker' does not answer \(look\)"):
        await EngineWorkspace(environment, "docker").start()
    assert environment.calls == 4


async def test_a_relay_that_talks_nonsense_counts_as_a_dead_program() -> None:
    for talk in ({}, {"done": 0, "code": None, "out": {"stdout": [5, ""]}, "over": []}, {"gone": True}):
        made = EngineWorkspace(Said({"serve": {"pid": 7}, "talk": talk}), "docker")
        process = await made.spawn(["anything"])
        process.control_in.write(b"x")
        assert await asyncio.wait_for(process.wait(), 60) == -signal.SIGKILL
        assert await process.stdout.read() == b""
        await made.close()


# --- choosing one -------------------------------------------------------------------------------------------


@pytest.fixture
def nothing_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without docker, helm and the package."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_containers.importlib.util, "find_spec", lambda name: None)
    _containers._check.cache_clear()
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def test_without_docker_the_cause_and_the_cure_are_said_before_anything_runs(nothing_there: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="docker is not installed\n  cure: sudo apt-get install docker"):
        container_spec("docker")
    program(nothing_there, "docker", 'echo "Cannot connect to the Docker daemon" >&2; exit 1')
    with pytest.raises(
        EnvironmentFailure, match=r"no Docker daemon answers: Cannot connect .*\n  cure: sudo systemctl"
    ):
        container_spec("docker")
    program(nothing_there, "docker", '[ "$1" = version ] && echo 28.2.2')
    with pytest.raises(EnvironmentFailure, match=r"Docker Compose 2\.21 or later is needed, it is not installed"):
        container_spec("docker")
    program(nothing_there, "docker", '[ "$1" = version ] && echo 28.2.2 || echo v2.20.3')
    with pytest.raises(EnvironmentFailure, match=r"2\.21 or later is needed, it is version v2\.20\.3"):
        container_spec("docker")
    program(nothing_there, "docker", '[ "$1" = version ] && echo 28.2.2 || echo 2.35.1')
    spec = container_spec("docker")
    assert (spec.type, Path(str(spec.config)).name) == ("docker", "compose.yaml")


def test_without_a_cluster_likewise(nothing_there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentFailure, match="package is not installed\n  cure: pip install inspect-k8s-sandbox"):
        container_spec("k8s")
    monkeypatch.setattr(_containers.importlib.util, "find_spec", lambda name: object())
    with pytest.raises(EnvironmentFailure, match="helm is not installed"):
        container_spec("k8s")
    program(nothing_there, "helm", "true")
    with pytest.raises(EnvironmentFailure, match=r"no cluster answers \(ModuleNotFoundError"):
        container_spec("k8s")
    monkeypatch.setattr(_containers, "_check_cluster", lambda: None)
    spec = container_spec("k8s")
    assert (spec.type, Path(str(spec.config)).name) == ("k8s", "values.yaml")


def test_another_file_can_be_named(nothing_there: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(nothing_there, "docker", '[ "$1" = version ] && echo 28.2.2 || echo 2.35.1')
    monkeypatch.setenv(CONFIG_VARIABLE, str(tmp_path / "mine.yaml"))
    with pytest.raises(MatAssayError, match=rf"{CONFIG_VARIABLE}: .*mine\.yaml is no file"):
        container_spec("docker")
    (tmp_path / "mine.yaml").write_text("services: {}")
    assert container_spec("docker").config == str(tmp_path / "mine.yaml")


def test_the_command_says_it_too(
    nothing_there: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SANDBOX_VARIABLE, "")  # put back what the command sets
    logs = tmp_path / "logs"
    assert main(["run", CELLS, "--agent", "reference", "--sandbox", "docker", "--log-dir", str(logs)]) == 2
    said = capsys.readouterr().err
    assert "the sandbox 'docker' cannot be had: the program docker is not installed" in said
    assert "--sandbox bubblewrap" in said
    assert not list(tmp_path.rglob("*.eval"))


def test_a_screen_needs_no_container(nothing_there: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    task = find_task("instruments/xrd/s01-select-specimen")
    assert task.interface is Interface.SCREEN
    assert sandbox_of(task, 0) is None


# --- the whole ----------------------------------------------------------------------------------------------


def test_the_reference_succeeds_in_a_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    task = find_task(CELLS)
    if lacking := missing(task.requires):
        pytest.skip("; ".join(map(str, lacking)))
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    monkeypatch.setattr("matassay.evals._task.container_spec", lambda name: SandboxEnvironmentSpec("matassay-double"))
    before = Double.calls
    (result,) = evals.run([task], agent="reference", log_dir=tmp_path)
    assert (result.outcome, result.success, result.score) == (Outcome.SCORED, True, 1.0), result.error
    assert result.versions["sandbox"] == "docker"
    assert result.versions["engine"] == "Double"
    assert Double.calls > before + 5
    (log,) = tmp_path.glob("*.eval")
    with zipfile.ZipFile(log) as parts:
        assert not any(b"_FORGOTTEN" in parts.read(name) for name in parts.namelist()), "our calls are in the log"


@elsewhere
def test_the_engines_own_provider_for_docker_takes_our_files(
    nothing_there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of the way that there is without a daemon: compose file, engine, ``docker exec``, first process, relay."""
    task = find_task(CELLS)
    if lacking := missing(task.requires):
        pytest.skip("; ".join(map(str, lacking)))
    monkeypatch.undo()
    if any(shutil.which(tool) is None for tool in ("bwrap", "nsenter", "setpriv")):
        pytest.skip("no bubblewrap here")
    state = nothing_there / "state"
    state.mkdir()
    script = Path(__file__).with_name("docker_double.py")
    program(nothing_there, "docker", f'exec {sys.executable} {script} "$@"')
    monkeypatch.setenv("PATH", f"{nothing_there}:{os.environ['PATH']}")
    monkeypatch.setenv("DOUBLE_STATE", str(state))
    monkeypatch.setenv("DOUBLE_PREFIX", str(find_software().prefix))
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    (result,) = evals.run([task], agent="reference", log_dir=nothing_there / "logs")
    assert (result.outcome, result.success, result.score) == (Outcome.SCORED, True, 1.0), result.error
    versions = result.versions
    assert (versions["sandbox"], versions["engine"]) == ("docker", "DockerSandboxEnvironment")
    assert (versions["user"], versions["network"], int(versions["capabilities"], 16)) == ("1000", "none", 0)
    calls = (state / "calls").read_text().split()
    assert calls.count("up") == calls.count("down") == 1
    assert calls.count("exec") > 10


def test_a_container_that_cannot_be_used_is_the_environments_fault(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(SANDBOX_VARIABLE, "docker")
    monkeypatch.setattr("matassay.evals._task.container_spec", lambda name: SandboxEnvironmentSpec("matassay-double"))
    source = _containers._relay_source()
    monkeypatch.setattr(_containers, "_relay_source", lambda: source.replace("os.getuid()", "0"))
    (result,) = evals.run([find_task(CELLS)], agent="reference", log_dir=tmp_path, retries=0)
    assert (result.outcome, result.success) == (Outcome.ENVIRONMENT_ERROR, None)
    assert "the sandbox 'docker' runs as root" in str(result.error)
