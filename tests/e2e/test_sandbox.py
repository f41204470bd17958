"""The sandbox on this machine: what it does for an agent, that it leaves nothing behind, and that attacks fail."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from matassay.core import EnvironmentFailure, MatAssayError, Probe
from matassay.verify._sandbox import ATTACK_NAMES, SandboxReport, attack_rows, attack_sandbox
from matassay.worlds.workspace import (
    Limits,
    Software,
    Workspace,
    WorkspaceEnded,
    bare_software,
    open_workspace,
    probe_sandbox,
    run_probes,
    software,
)
from matassay.worlds.workspace import _bubblewrap as bubblewrap
from matassay.worlds.workspace._ipc import left_by

MIB = 1 << 20
INPUTS = {"data.csv": b"1,2\n", "sub/more.txt": b"more"}


@pytest.fixture(scope="session", autouse=True)
def there_is_a_sandbox() -> None:
    """Where there can be none, the reason is what the program would say."""
    try:
        asyncio.run(probe_sandbox(bare_software()))
    except EnvironmentFailure as error:
        pytest.skip(str(error))


@pytest.fixture
async def box() -> AsyncIterator[Workspace]:
    workspace = open_workspace(inputs=INPUTS, manuals={"m.md": b"manual"}, software=bare_software())
    try:
        await workspace.start()
        yield workspace
    finally:
        await workspace.close()


# --- what it does for an agent ------------------------------------------------------------------------------


async def test_a_program_runs_to_its_end(box: Workspace) -> None:
    done = await box.run(["sh", "-c", "cat; echo error >&2; exit 3"], input=b"given")
    assert (done.exit_code, done.stdout, done.stderr) == (3, b"given", b"error\n")
    done = await box.run(
        ["sh", "-c", "pwd; cat inputs/data.csv inputs/sub/more.txt manuals/m.md; echo $A$HOME"], env={"A": "b"}
    )
    assert done.stdout == b"/workspace\n1,2\nmoremanualb/workspace\n"
    assert (await box.run(["pwd"], cwd="/tmp")).stdout == b"/tmp\n"


async def test_what_cannot_be_started_says_why(box: Workspace) -> None:
    done = await box.run(["no-such-program"])
    assert (done.exit_code, done.stderr) == (127, b"no-such-program: No such file or directory\n")
    assert (await box.run(["/etc/passwd"])).exit_code == 126
    assert (await box.run(["true"], cwd="/nowhere")).exit_code == 127
    assert (await box.run(["sh", "-c", "kill -9 $$"])).exit_code == 137
    with pytest.raises(EnvironmentFailure, match="no-such-program cannot be started"):
        await box.spawn(["no-such-program"])


async def test_a_slow_program_is_killed_with_its_children(box: Workspace) -> None:
    done = await box.run(["sh", "-c", "trap '' TERM INT; sleep 100 & echo begun; sleep 100"], timeout=2)
    assert done.timed_out
    assert done.exit_code is None
    assert done.stdout == b"begun\n"
    assert b"sleep" not in (await box.run(["sh", "-c", "cat /proc/[0-9]*/cmdline"])).stdout.replace(b"\0", b" ")


async def test_programs_in_the_background_live_on_and_hear_each_other(box: Workspace) -> None:
    """As a bridge for agents on the command line needs it: a server on the sandbox's own loopback."""
    server = "import http.server as h; h.HTTPServer(('127.0.0.1', 8123), h.SimpleHTTPRequestHandler).serve_forever()"
    await box.run(["sh", "-c", f'echo hello > page; python3 -c "{server}" > /dev/null 2>&1 &'])
    ask = """
import time, urllib.request
for _ in range(100):
    try: print(urllib.request.urlopen("http://localhost:8123/page").read()); break
    except OSError: time.sleep(0.05)
"""
    assert (await box.run(["python3", "-c", ask], timeout=30)).stdout == b"b'hello\\n'\n"


async def test_long_lived_programs_have_pipes_of_their_own(box: Workspace) -> None:
    process = await box.spawn(["sh", "-c", "while read -r x <&3; do echo got $x >&4; done; echo bye; exit 5"])
    for word in (b"one", b"two"):
        process.control_in.write(word + b"\n")
        assert await process.control_out.readline() == b"got " + word + b"\n"
    assert process.returncode is None
    process.control_in.close()
    assert await process.stdout.read() == b"bye\n"
    assert await process.wait() == 5
    process.send_signal(signal.SIGINT)  # it has ended: nothing happens

    process = await box.spawn(["sleep", "100"])
    process.send_signal(signal.SIGINT)
    assert await process.wait() == -signal.SIGINT
    process = await box.spawn(["sh", "-c", "trap '' INT TERM; sleep 100; :"])
    process.kill()
    assert await process.wait() == -signal.SIGKILL


async def test_much_output_is_cut_and_many_arguments_pass(box: Workspace) -> None:
    done = await box.run(["sh", "-c", "echo start; head -c 5000000 /dev/zero; echo end"], output_limit=1000)
    assert done.truncated
    assert len(done.stdout) == 1000
    assert done.stdout.startswith(b"start\n")
    assert done.stdout.endswith(b"end\n")
    chunk = "x" * 60_000
    assert len((await box.run(["printf", "%s", *[chunk] * 16])).stdout) == 16 * 60_000


async def test_many_programs_at_once(box: Workspace) -> None:
    texts = [f"text {n}" for n in range(20)]
    done = await asyncio.gather(*(box.run(["sh", "-c", f"sleep 0.1; echo {text}"]) for text in texts))
    assert [d.stdout.decode().strip() for d in done] == texts


async def test_files_in_and_out(box: Workspace) -> None:
    await box.write("a/b.txt", b"from outside")
    assert (await box.run(["sh", "-c", "cat a/b.txt; echo more >> a/b.txt; stat -c %U a a/b.txt"])).stdout == (
        b"from outsideagent\nagent\n"
    )
    assert await box.read("/workspace/a/b.txt", 100) == b"from outsidemore\n"
    with pytest.raises(OSError, match=r"."):
        await box.write("inputs/data.csv", b"other")
    outputs = await box.conclude()
    assert outputs.files == {"a/b.txt": b"from outsidemore\n"}
    assert await box.conclude() is outputs
    with pytest.raises(EnvironmentFailure, match="has ended"):
        await box.run(["true"])


async def test_facts_name_kind_and_limits(box: Workspace) -> None:
    assert box.label == "bubblewrap"
    assert {"sandbox", "limits", "user", "seccomp", "kernel", "workspace python"} <= set(box.facts)
    assert not box.facts["user"].startswith("0 ")


async def test_a_sandbox_that_used_too_much_goes_on_or_says_so() -> None:
    workspace = open_workspace(inputs={}, software=bare_software(), limits=Limits(memory=128 * MIB))
    try:
        await workspace.start()
        grab = "import os; [os.write(os.memfd_create('x'), bytes(1 << 24)) for _ in range(100)]"
        done = await workspace.run(["python3", "-c", grab], timeout=60)
        assert done.exit_code not in (0, None)
        assert (await workspace.run(["true"])).exit_code == 0
    finally:
        await workspace.close()


async def test_a_sandbox_that_is_brought_down_is_no_fault_of_the_machine_and_can_be_read() -> None:
    """The largest process goes first; of one that holds memory in files, that may be the sandbox's first."""
    workspace = open_workspace(inputs={}, software=bare_software())
    try:
        await workspace.start()
        await workspace.write("answer.json", b"{}")
        os.kill(workspace.pid, signal.SIGKILL)  # type: ignore[attr-defined]
        with pytest.raises(WorkspaceEnded, match="has ended"):
            await workspace.run(["sleep", "10"])
        assert (await workspace.conclude()).files == {"answer.json": b"{}"}
    finally:
        await workspace.close()


async def test_a_probe_that_brings_its_sandbox_down_has_an_answer() -> None:
    """As a deck with shell commands may: that is a result, and the machine is not at fault."""
    fill = "for f in a b c d; do head -c 60000000 /dev/zero > /workspace/$f; done; echo never"
    hungry = Probe("hungry", ("sh", "-c", "echo kept > out; " + fill), {}, ("out",), 60, 64 * MIB)
    found = await run_probes([hungry, Probe("next", ("echo", "alive"), {}, (), 60, 64 * MIB)])
    assert found["next"]["stdout"] == "alive\n"
    assert "never" not in found["hungry"]["stdout"]


async def test_a_probe_whose_sandbox_is_gone_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def another(inputs: Mapping[str, bytes | Path]) -> Workspace:
        made = open_workspace(inputs=inputs, software=bare_software())
        start = made.start

        async def doomed() -> None:
            await start()
            await made.write("out", b"kept")
            os.kill(made.pid, signal.SIGKILL)  # type: ignore[attr-defined]

        monkeypatch.setattr(made, "start", doomed)
        return made

    found = await run_probes([Probe("p", ("sleep", "5"), {}, ("out",), 60, 64 * MIB)], another=another)
    assert found["p"]["exit_code"] is None
    assert "has ended" in found["p"]["stderr"]
    assert found["p"]["files"] == {"out": "kept"}


# --- it leaves nothing behind -------------------------------------------------------------------------------


async def test_eight_at_once_know_nothing_of_each_other() -> None:
    boxes = [open_workspace(inputs={"n": str(n).encode()}, software=bare_software()) for n in range(8)]
    try:
        await asyncio.gather(*(box.start() for box in boxes))
        await asyncio.gather(
            *(box.run(["sh", "-c", "cat inputs/n > /tmp/mine; cp /tmp/mine /workspace/n"]) for box in boxes)
        )
        seen = await asyncio.gather(
            *(box.run(["sh", "-c", "ls /tmp; [ $(ls -d /proc/[0-9]* | wc -l) -le 5 ]; echo $?"]) for box in boxes)
        )
        assert {one.stdout for one in seen} == {b"mine\n0\n"}
        outputs = await asyncio.gather(*(box.conclude() for box in boxes))
        assert [o.files["n"] for o in outputs] == [str(n).encode() for n in range(8)]
    finally:
        await asyncio.gather(*(box.close() for box in boxes))


async def test_closing_at_any_moment_leaves_no_process_and_no_descriptor() -> None:
    async def once(act: Callable[[Workspace], object]) -> None:
        workspace = open_workspace(inputs=INPUTS, software=bare_software())
        task = asyncio.ensure_future(workspace.start())
        await asyncio.wait([task], timeout=0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await workspace.close()
        await workspace.close()

    await once(lambda box: None)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        await once(lambda box: None)
    async with asyncio.timeout(60):  # the last ones are closed in the next turns of the loop
        while len(list(Path("/proc/self/fd").iterdir())) > before:
            await asyncio.sleep(0)


HOST = """
import asyncio, sys
from matassay.worlds.workspace import bare_software, open_workspace

async def main():
    box = open_workspace(inputs={}, software=bare_software(), backend=sys.argv[1])
    await box.start()
    await box.run(["sh", "-c", "(setsid sleep 4242 &) ; sleep 4242 >/dev/null 2>&1 & echo"])
    print("ready", flush=True)
    await box.run(["sh", "-c", "trap '' TERM INT HUP; sleep 4242; :"])

asyncio.run(main())
"""


@pytest.mark.parametrize("backend", ["bubblewrap", "none"])
def test_a_killed_host_takes_everything_with_it(backend: str) -> None:
    def left() -> list[int]:
        return [int(p.parent.name) for p in Path("/proc").glob("[0-9]*/cmdline") if read(p) == b"sleep\x004242\0"]

    with subprocess.Popen([sys.executable, "-c", HOST, backend], stdout=subprocess.PIPE) as host:
        try:
            assert host.stdout is not None
            assert host.stdout.readline() == b"ready\n"
            until(lambda: len(left()) == 3)
            pidfds = [os.pidfd_open(pid) for pid in left()]
        finally:
            host.kill()
    for fd in pidfds:
        assert select.select([fd], [], [], 60)[0], "a process outlived its host by a minute"
        os.close(fd)
    assert not left()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        threading.Event().wait(0.02)


# --- other users, other places ------------------------------------------------------------------------------

ordinary = pytest.mark.skipif(os.geteuid() != 0, reason="we are an ordinary user already")


@ordinary
async def test_an_interpreter_that_the_user_cannot_reach(tmp_path: Path) -> None:
    """As pyenv's in root's home."""
    hidden = tmp_path / "shut" / "python"
    (hidden / "bin").mkdir(parents=True)
    (tmp_path / "shut").chmod(0o700)
    base = bare_software()
    (hidden / "bin" / "python3").symlink_to(base.interpreter)
    (hidden / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    found = Software(hidden / "bin" / "python3", hidden, base.interpreter, base.base, {}, {})
    workspace = open_workspace(inputs={}, software=found)
    try:
        await workspace.start()
        done = await workspace.run(["python3", "-c", "import sys; print(sys.prefix)"])
        assert done.stdout.decode().strip() == str(hidden), done.stderr
    finally:
        await workspace.close()


USER = """
import asyncio, concurrent.futures.thread, ctypes, json, os
from matassay.verify._sandbox import attack_sandbox
from matassay.worlds.workspace import bare_software

os.setgroups([]); os.setresgid(4242, 4242, 4242); os.setresuid(4242, 4242, 4242)
report = asyncio.run(attack_sandbox(software=bare_software()))
print(report.facts["limits"], "|", report.facts["user"])
print([(row.name, row.seen) for row in report.rows if row.held is False])
"""


@ordinary
@pytest.mark.slow
def test_it_holds_for_an_ordinary_user_without_control_groups() -> None:
    reply = subprocess.run([sys.executable, "-c", USER], capture_output=True, text=True, timeout=110, check=False)
    assert reply.stdout.splitlines() == ["rlimits and watchdog | 4242 (ours)", "[]"], reply.stderr


CROWDED = """
import asyncio, concurrent.futures.thread, ctypes, json, os, resource
from matassay.worlds.workspace import bare_software, open_workspace

os.setgroups([]); os.setresgid(4242, 4242, 4242); os.setresuid(4242, 4242, 4242)
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
FILL = '''
import os, socket
if os.fork(): os._exit(0)
os.setsid()
held = []
try:
    while True:
        held.append(socket.socketpair())
        for _ in range(8): socket.send_fds(held[-1][0], [b"x"], [0] * 200)
except OSError as error:
    open("said", "w").write(str(error))
os.read(os.pipe()[0], 1)
'''

async def main():
    one, other = (open_workspace(inputs={}, software=bare_software()) for _ in range(2))
    await one.start(); await other.start()
    await one.run(["python3", "-c", FILL], timeout=20)
    said = b""
    while not said:  # it is there before anything is in it
        try: said = await one.read("said", 100)
        except OSError: pass
        await asyncio.sleep(0.05)
    print(said)
    print((await other.run(["echo", "alive"])).stdout)
    await other.run(["sh", "-c", "echo a > answer.json; mkdir d e; echo b > d/in; echo c > e/in; chmod 400 d; chmod 0 e ."])
    print(sorted((await other.conclude()).files))
    await one.close(); await other.close()

asyncio.run(main())
"""


@ordinary
def test_descriptors_that_one_sandbox_holds_in_sockets_are_not_missing_in_others() -> None:
    """The kernel counts them per user, and ours is that of all our sandboxes."""
    reply = subprocess.run([sys.executable, "-c", CROWDED], capture_output=True, text=True, timeout=60, check=False)
    assert "Too many references" in reply.stdout, reply.stderr
    assert "b'alive\\n'\n" in reply.stdout, reply.stderr
    assert reply.stdout.endswith("['answer.json', 'd/in', 'e/in']\n"), "what is shut is lost"


# --- attacks ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
async def report() -> SandboxReport:
    return await attack_sandbox()


@pytest.mark.parametrize("name", ATTACK_NAMES)
def test_attack(report: SandboxReport, name: str) -> None:
    (row,) = [row for row in report.rows if row.name == name]
    if row.held is None:
        pytest.skip(row.seen)
    assert row.held, f"{row.attack}: expected {row.expected}, seen {row.seen}"


def test_there_are_no_other_attacks(report: SandboxReport) -> None:
    assert [row.name for row in report.rows] == list(ATTACK_NAMES)
    assert len(set(ATTACK_NAMES)) == len(ATTACK_NAMES) > 60


# What the attacks must find when a wall is taken away: an attack that always holds proves nothing.
WALLS = {
    "filter": (
        "--seccomp",
        2,
        {"call_add_key", "call_io_uring_setup", "ptrace", "call_shmget", "identity", "lease", "socket_program"},
    ),
    "network": ("--unshare-net", 1, {"loopback", "unix"}),
    "read-only root": ("--remount-ro", 2, {"write_folders", "inputs", "first_program"}),
    "masks of /proc": ("/dev/null", -2, {"kernel_files"}),
}


async def found_open(change: Callable[[list[str]], list[str]], monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Attacks that get through a sandbox whose arguments were changed."""
    build = bubblewrap.build_arguments
    monkeypatch.setattr(bubblewrap, "build_arguments", lambda *args, **kwargs: change(build(*args, **kwargs)))
    workspace = open_workspace(inputs=INPUTS, software=bare_software())
    try:
        await workspace.start()
        return {row.name for row in await attack_rows(workspace) if row.held is False}
    finally:
        await workspace.close()


@pytest.mark.parametrize("wall", WALLS)
async def test_attacks_find_a_missing_wall(wall: str, monkeypatch: pytest.MonkeyPatch) -> None:
    option, width, expected = WALLS[wall]

    def without(found: list[str]) -> list[str]:
        while option in found:
            at = found.index(option)
            del found[at - 1 if width < 0 else at : at + abs(width)]
        return found

    assert expected <= await found_open(without, monkeypatch)


async def test_attacks_find_what_is_mounted_by_mistake(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(found: list[str]) -> list[str]:
        at = found.index("--proc")
        extra = ["--ro-bind", str(software.package_folder()), "/opt/matassay", "--ro-bind", "/tmp", "/var/lib"]
        return [*found[:at], *extra, *found[at:]]

    assert {"source", "host_folders", "mounts"} <= await found_open(too_much, monkeypatch)


async def test_no_attack_gets_through_when_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await found_open(lambda found: found, monkeypatch) == set()


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("bwrap: No permissions to create new namespace, likely because the kernel does not allow it", "switched off"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
    ],
)
async def test_a_refusal_is_explained_and_nothing_runs_unsandboxed(
    said: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text(
        textwrap.dedent(f"""\
        #!/bin/sh
        echo "{said}" >&2
        exit 1
    """)
    )
    fake.chmod(0o755)
    machine = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if machine in folder.parents:  # of the tests, not the machine's own above them
            folder.chmod(0o755)
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda: fake)
    workspace = open_workspace(inputs={}, software=bare_software())
    with pytest.raises(EnvironmentFailure, match=f"(?s){cause}.*cure.*--sandbox sandlock"):
        await workspace.start()
    await workspace.close()


async def test_without_bubblewrap_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda: None)
    with pytest.raises(EnvironmentFailure, match="apt-get install bubblewrap"):
        await open_workspace(inputs={}, software=bare_software()).start()


# --- the weaker kinds ---------------------------------------------------------------------------------------


@pytest.fixture(params=["sandlock", "none"])
async def weak(request: pytest.FixtureRequest) -> AsyncIterator[Workspace]:
    workspace = open_workspace(inputs=INPUTS, software=bare_software(), backend=request.param)
    try:
        await workspace.start()
        yield workspace
    except EnvironmentFailure as error:
        pytest.skip(str(error))
    finally:
        await workspace.close()


async def test_the_weaker_kinds_work_and_say_what_they_are(weak: Workspace) -> None:
    assert weak.label in weak.facts["sandbox"]
    assert ("not comparable" in weak.facts["sandbox"]) == (weak.label == "none")
    done = await weak.run(
        ["sh", "-c", "cat inputs/data.csv; touch inputs/new; (setsid sleep 4343 &); echo x > answer.json"]
    )
    assert done.stdout == b"1,2\n"
    assert b"ermission denied" in done.stderr or os.geteuid() != 0
    assert (await weak.run(["sleep", "100"], timeout=0.3)).timed_out
    await weak.write("a/b", b"in")
    shared = "import multiprocessing; print(multiprocessing.Lock().acquire())"  # as MPI, it needs /dev/shm
    assert (await weak.run(["python3", "-c", shared])).stdout == b"True\n"
    process = await weak.spawn(["sh", "-c", "read x <&3; cat $x >&4"])
    process.control_in.write(b"a/b\n")
    assert await process.control_out.read() == b"in"
    outputs = await weak.conclude()
    assert outputs.files == {"answer.json": b"x\n", "a/b": b"in"}
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x004343\0" in read(p)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's sandboxes have users of their own")
async def test_the_weaker_kinds_leave_no_shared_memory_behind(weak: Workspace) -> None:
    made = await weak.run(["sh", "-c", "ipcmk -M 4096; ipcmk -S 1; ipcmk -Q; echo > /dev/shm/$$; echo $$; id -u"])
    *_, name, uid = made.stdout.split()
    file = Path("/dev/shm", name.decode())
    assert any(left_by(int(uid)).values())  # sandlock's own at the least
    assert file.exists() == (weak.label == "none")  # the other has a folder of its own there
    await weak.conclude()
    assert not any(left_by(int(uid)).values())
    assert not file.exists()


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


async def test_sandlock_hides_what_is_not_the_agents(weak: Workspace, tmp_path: Path) -> None:
    if weak.label != "sandlock":
        pytest.skip("the other has no walls")
    (tmp_path / "secret").write_text("secret")
    tmp_path.chmod(0o755)
    for path in (tmp_path / "secret", Path("/etc/shadow"), software.package_folder() / "__init__.py"):
        assert (await weak.run(["cat", str(path)])).stdout == b""


async def test_what_has_no_walls_is_not_attacked() -> None:
    with pytest.raises(MatAssayError, match="no walls"):
        await attack_sandbox("none")
