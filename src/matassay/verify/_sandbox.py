"""Whether a sandbox holds: attacks from inside, bait outside, and what a hostile program may leave behind."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from matassay.core import EnvironmentFailure, MatAssayError
from matassay.worlds.workspace import (
    Caps,
    Completed,
    Limits,
    Outputs,
    Software,
    Workspace,
    WorkspaceEnded,
    bare_software,
    find_software,
    open_workspace,
    package_folder,
)

from ._attacks import ATTACKS, RESOURCES

MIB = 1 << 20

#: Small, so that they are reached soon.
LIMITS = Limits(memory=256 * MIB, processes=64, disk=64 * MIB, tmp=48 * MIB, file=32 * MIB, open_files=256)


class AttackRow(NamedTuple):
    """One attack and what came of it."""

    name: str
    """Short and stable."""
    group: str
    """What it is after."""
    attack: str
    """What was tried."""
    expected: str
    """What a sandbox that holds shows."""
    seen: str
    """What was seen."""
    held: bool | None
    """Whether it held; None: it could not be tried here, and ``seen`` says why."""


class SandboxReport(NamedTuple):
    """All attacks on one kind of sandbox."""

    label: str
    """What kind it is."""
    facts: Mapping[str, str]
    """Versions, limits, user."""
    rows: tuple[AttackRow, ...]

    @property
    def holds(self) -> bool:
        """Whether no attack got through."""
        return all(row.held is not False for row in self.rows)


Told = Callable[[AttackRow], None]


async def attack_sandbox(
    backend: str = "auto", progress: Told | None = None, software: Software | None = None
) -> SandboxReport:
    """Try every attack on a fresh sandbox of this machine.

    Parameters
    ----------
    backend : str
        Kind of sandbox, see `open_workspace`.
    progress : callable, optional
        Told of every row as it is found.
    software : Software, optional
        What the sandbox works with; by default what this machine has, else its bare interpreter.

    Raises
    ------
    MatAssayError
        If the kind has no walls that could be attacked.
    EnvironmentFailure
        If there can be no sandbox; the text has cause and cure.
    """
    if backend == "none":
        raise MatAssayError("the kind none has no walls: the attacks would be on your own account")
    if software is None:
        try:
            software = find_software()
        except EnvironmentFailure:
            software = bare_software()
    rows: list[AttackRow] = []

    def add(row: AttackRow) -> None:
        rows.append(row)
        if progress is not None:
            progress(row)

    with _bait() as bait:
        workspace = open_workspace(
            inputs={"data.csv": b"1,2\n"},
            limits=LIMITS,
            backend=backend,
            software=software,
        )
        try:
            await workspace.start()
            facts = workspace.facts
            for row in await _inside(workspace, bait):
                add(row)
        finally:
            await workspace.close()
        for name, group, what, expected, test in _FROM_OUTSIDE:
            if test is _kill_all and workspace.label != "bubblewrap":
                why = "not tried: without process numbers of its own, it could reach others of this user"
                add(AttackRow(name, group, what, expected, why, None))
                continue
            workspace = open_workspace(
                inputs={"data.csv": b"1,2\n"},
                limits=LIMITS,
                backend=backend,
                software=software,
                caps=Caps(first=("answer.json",)),
            )
            try:
                await workspace.start()
                seen = await test(workspace, bait)
            except (EnvironmentFailure, TimeoutError) as error:
                seen = f"{type(error).__name__}: {error}"
            finally:
                await workspace.close()
            add(AttackRow(name, group, what, expected, seen or expected, seen is None))
    return SandboxReport(workspace.label, facts, tuple(rows))


async def attack_rows(workspace: Workspace) -> list[AttackRow]:
    """Attacks that reach for the host, the network and the graders, on a sandbox that runs already.

    Parameters
    ----------
    workspace : Workspace
        Started, of any task. What the attacks leave in it is not removed.

    Returns
    -------
    list of AttackRow
        Without those that cannot be tried on this machine, and those that use up what a sandbox may use.
    """
    with _bait() as bait:
        rows = await _inside(workspace, {**bait, "resources": False})
    return [row for row in rows if row.held is not None and row.group != RESOURCES]


async def _inside(workspace: Workspace, bait: Mapping[str, Any]) -> list[AttackRow]:
    await workspace.write(".attack/attack.py", Path(__file__).with_name("_attacks.py").read_bytes())
    await workspace.write(".attack/bait.json", json.dumps(bait).encode())
    done = await workspace.run(["python3", ".attack/attack.py", ".attack/bait.json"], timeout=600)
    found = {}
    for line in done.stdout.splitlines():
        with contextlib.suppress(ValueError):
            row = json.loads(line)
            found[row["name"]] = row
    rows = []
    for attack in ATTACKS:
        row = found.get(attack.name, {"held": False, "seen": f"it did not report: {_end(done)}"})
        rows.append(AttackRow(attack.name, attack.group, attack.what, "refused", row["seen"], row["held"]))
    return rows


def _end(done: Completed) -> str:
    return f"exit {done.exit_code}, {done.stderr[-200:].decode(errors='replace')!r}"


# --- bait ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _bait() -> Iterator[dict[str, Any]]:
    """What an attacker would like to reach: a hidden file, a key in the environment, servers, a process."""
    secret = secrets.token_hex(16)
    before = os.environ.get("MATASSAY_BAIT_API_KEY")
    with tempfile.TemporaryDirectory(prefix="matassay-bait-") as folder, contextlib.ExitStack() as stack:
        os.environ["MATASSAY_BAIT_API_KEY"] = secret
        Path(folder).chmod(0o755)
        hidden = Path(folder) / "reference.json"
        hidden.write_text(json.dumps({"truth": secret}))
        hidden.chmod(0o644)
        abstract = "matassay-" + secrets.token_hex(8)
        named = str(Path(folder) / "socket")
        port = stack.enter_context(_server(("127.0.0.1", 0), socket.AF_INET))
        stack.enter_context(_server("\0" + abstract, socket.AF_UNIX))
        stack.enter_context(_server(named, socket.AF_UNIX))
        try:
            yield {
                "hidden": str(hidden),
                "folder": folder,
                "in_tmp": folder,
                "package": str(package_folder()),
                # Turned round, so that finding it elsewhere is a finding.
                "reversed": secret[::-1],
                "port": port,
                "abstract": abstract,
                "socket": named,
                "pid": os.getpid(),
                "resources": True,
                "processes": LIMITS.processes,
                "memory": LIMITS.memory,
                "disk": LIMITS.disk,
                "tmp": LIMITS.tmp,
                "file": LIMITS.file,
                "open_files": LIMITS.open_files,
            }
        finally:
            if before is None:
                del os.environ["MATASSAY_BAIT_API_KEY"]
            else:
                os.environ["MATASSAY_BAIT_API_KEY"] = before


@contextlib.contextmanager
def _server(address: Any, family: socket.AddressFamily) -> Iterator[int]:
    """A server that greets whoever connects; gives its port."""
    with socket.socket(family) as server:
        server.bind(address)
        server.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(b"greetings from the host")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1] if family == socket.AF_INET else 0
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


# --- seen from outside --------------------------------------------------------------------------------------


async def _script(workspace: Workspace, text: str, timeout: float = 60) -> Completed:  # noqa: ASYNC109 - of the program
    return await workspace.run(["python3", "-c", text], timeout=timeout)


async def _links(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """Every trick by which a name may lead elsewhere, hang, or flood."""
    text = f"""
import os, socket
os.symlink({bait["hidden"]!r}, "answer.json")
os.symlink("../../.." + {bait["hidden"]!r}, "relative.json")
os.symlink({bait["folder"]!r}, "folder")
os.symlink("/proc/self/environ", "environ")
os.symlink("/proc/1/root" + {bait["hidden"]!r}, "root")
os.symlink("inputs/data.csv", "input")
os.mkfifo("fifo")
socket.socket(socket.AF_UNIX).bind("socket")
open("twice", "w").write("x"); os.link("twice", "again")
with open("sparse", "wb") as f: f.truncate(30 << 20)
os.mkdir("closed"); open("closed/inner", "w").write("inside"); os.chmod("closed", 0)
open("unreadable", "w").write("mine"); os.chmod("unreadable", 0)
for name in (b"new\\nline", b"\\xff\\xfe", b"\\x1b[31mred"): open(name, "w").close()
here = os.getcwd()
for _ in range(300):
    os.mkdir("d"); os.chdir("d")
os.chdir(here)
open("good.txt", "w").write("good")
"""
    done = await _script(workspace, text)
    if done.exit_code != 0:
        return f"the attack itself failed: {_end(done)}"
    outputs = await asyncio.wait_for(workspace.conclude(), 60)
    return _judge_outputs(outputs, bait)


def _judge_outputs(outputs: Outputs, bait: Mapping[str, Any]) -> str | None:
    secret = str(bait["reversed"])[::-1].encode()
    if any(secret in data for data in outputs.files.values()):
        return "the hidden reference came out"
    links = {"answer.json", "relative.json", "folder", "environ", "root", "input", "fifo", "socket", "twice", "again"}
    if read := links & set(outputs.files):
        return f"read although they are no plain files: {', '.join(sorted(read))}"
    if missing := links - set(outputs.refused):
        return f"refused without a word: {', '.join(sorted(missing))}"
    if any(not name.isprintable() for name in (*outputs.files, *outputs.refused)):
        return "a name with control characters came out"
    if outputs.files.get("good.txt") != b"good":
        return "what is good was lost"
    return None


async def _many_files(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    done = await _script(workspace, "for i in range(20000): open(f'f{i}', 'w').close()")
    outputs = await asyncio.wait_for(workspace.conclude(), 60)
    if done.exit_code != 0:
        return f"the attack itself failed: {_end(done)}"
    return None if len(outputs.files) <= 2000 and outputs.refused else f"{len(outputs.files)} files came out"


async def _late_writer(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """A program that outlives its parent and goes on writing must be dead before anything is read."""
    await _script(
        workspace,
        """
import os, signal
open("answer.json", "w").write("right")
for _ in range(8):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in range(1, 65):
                try: signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError): pass
            count = 0
            while True:
                count += 1
                with open(f"late{os.getpid()}", "w") as f: f.write(str(count))
        os._exit(0)
""",
    )
    before = _own_processes(workspace)
    outputs = await asyncio.wait_for(workspace.conclude(), 30)
    if before is not None and (left := _alive(before)):
        return f"{len(left)} processes outlived the sandbox"
    return None if outputs.files.get("answer.json") == b"right" else "the answer was lost"


def _own_processes(workspace: Workspace) -> list[int] | None:
    pid = getattr(workspace, "pid", 0)
    if not pid:
        return None
    namespace = Path("/proc", str(pid), "ns", "pid").readlink()
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and (folder / "ns" / "pid").readlink() == namespace:
                found.append(int(folder.name))
    return found


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path("/proc", str(pid)).exists()]


async def _kill_all(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    await _script(workspace, "import os; os.kill(-1, 9)")
    done = await workspace.run(["sh", "-c", "echo alive"], timeout=30)
    return None if done.stdout == b"alive\n" else f"the next program did not run: {_end(done)}"


async def _full_sockets(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """Memory that lies in sockets, of as many processes as it takes: whatever is killed for it, it must end."""
    text = f"""
import os, socket
held, sent = [], 0
while sent < {4 * LIMITS.memory}:
    if len(held) > {LIMITS.open_files // 2 - 20}:
        if pid := os.fork():
            os.waitpid(pid, 0)
            break
        held = []
    held.append(socket.socketpair())
    held[-1][0].setblocking(False)
    try:
        while True: sent += held[-1][0].send(bytes(65536))
    except BlockingIOError: pass
    with open("taken", "w") as f: f.write(str(sent))
"""
    return await _hoard(workspace, text)


async def _connections(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """The same in connections to itself, which hold ten times as much and may be counted apart."""
    text = f"""
import select, socket
server, block, sent, held = socket.create_server(("127.0.0.1", 0)), bytes(1 << 20), 0, []
while sent < {4 * LIMITS.memory} and len(held) < {LIMITS.open_files - 40}:
    held += [socket.create_connection(server.getsockname()), server.accept()[0]]
    for one in held[-2:]:
        one.setblocking(False)
        for _ in range(12):
            try: sent += one.send(block)
            except BlockingIOError: pass
    select.select([], [], [], 0.01)  # no faster than anybody looks
    with open("taken", "w") as f: f.write(str(sent))
"""
    return await _hoard(workspace, text)


async def _page_tables(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """Memory that tells where other memory is, of which there is none."""
    text = f"""
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
size, taken = 1 << 40, 0
while taken < {4 * LIMITS.memory}:
    place = libc.mmap(None, size, 1, 0x4022, -1, 0)  # to be read only, which no limit of a process counts
    libc.madvise(ctypes.c_void_p(place), ctypes.c_size_t(size), 15)
    for at in range(place, place + size, 1 << 21):
        bytes(ctypes.c_char.from_address(at))
        taken += 4096
        if taken % (1 << 22) == 0:
            with open("taken", "w") as f: f.write(str(taken))
"""
    return await _hoard(workspace, text)


async def _hoard(workspace: Workspace, text: str) -> str | None:
    """Run what takes memory and notes in a file how much; it may be killed for it, with all that is there."""
    with contextlib.suppress(WorkspaceEnded):
        await _script(workspace, text)
    taken = int((await asyncio.wait_for(workspace.conclude(), 60)).files.get("taken") or 0)
    return f"took {taken} of {LIMITS.memory}" if taken > 2 * LIMITS.memory else None


async def _flood(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    done = await workspace.run(["sh", "-c", "head -c 300000000 /dev/zero"], timeout=60, output_limit=MIB)
    return None if len(done.stdout) <= MIB and done.truncated else f"{len(done.stdout)} bytes were kept"


async def _too_slow(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    text = """
import os, signal
for number in (1, 2, 13, 15): signal.signal(number, signal.SIG_IGN)
for _ in range(5):
    if os.fork() == 0: break
signal.pause()
"""
    done = await _script(workspace, text, timeout=1)
    left = await workspace.run(["sh", "-c", "ls -d /proc/[0-9]* | wc -l"], timeout=30)
    if not done.timed_out:
        return "it was not stopped"
    # The first process, the shell and its two.
    return None if int(left.stdout) <= 4 else f"{left.stdout.decode().strip()} processes are left"


async def _endless_input(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    done = await workspace.run(["true"], input=bytes(4 * MIB), timeout=30)
    return None if done.exit_code == 0 else _end(done)


async def _held_start(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """Between its birth and its program, a process is one of the sandbox's user and can be stopped."""
    text = """
import os, signal
if os.fork(): os._exit(0)
os.setsid()
while True:
    with open("/proc/loadavg") as stream: last = int(stream.read().split()[-1])
    for pid in range(last + 1, last + 40):
        try: os.kill(pid, signal.SIGSTOP)
        except OSError: pass
"""
    await _script(workspace, text)
    for _ in range(5):
        await asyncio.wait_for(workspace.run(["true"], timeout=1), 20)
    await asyncio.wait_for(workspace.conclude(), 20)
    return None


async def _crowd(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """An answer among more names than are looked at, and more folders than the host may have descriptors."""
    text = """
import os
open("answer.json", "w").write("right")
for i in range(1900): os.makedirs(f"d{i:04}/e")
for i in range(60000): os.mknod(f"f{i}")
"""
    done = await _script(workspace, text)
    most, running = 0, asyncio.ensure_future(workspace.conclude())
    while not running.done():
        most = max(most, len(os.listdir("/proc/self/fd")))  # noqa: PTH208 - as fast as can be
        await asyncio.sleep(0)
    outputs = await running
    if done.exit_code != 0:
        return f"the attack itself failed: {_end(done)}"
    if outputs.files.get("answer.json") != b"right":
        return "the answer was lost"
    return f"the host had {most} files open" if most > 500 else None


async def _background(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """A program in the background that keeps the output open must not hold the host."""
    done = await asyncio.wait_for(workspace.run(["sh", "-c", "sleep 1000 & echo done"]), 30)
    return None if done.stdout == b"done\n" else _end(done)


def _content(path: str) -> bytes:
    return Path(path).read_bytes()


async def _link_swap(workspace: Workspace, bait: Mapping[str, Any]) -> str | None:
    """While it lives: reading and writing for the agent must not follow its links."""
    await _script(
        workspace,
        f"import os; os.symlink({bait['hidden']!r}, 'link'); os.symlink({bait['folder']!r}, 'folder'); os.mkfifo('fifo')",
    )
    for path in ("link", "folder/reference.json", "../etc/passwd", "/etc/passwd", "inputs/../link", "fifo"):
        with contextlib.suppress(OSError, ValueError):
            return f"{path}: {await asyncio.wait_for(workspace.read(path, 1000), 10)!r}"
    for path in ("folder/new", "../x", "/etc/x", "inputs/x"):
        with contextlib.suppress(OSError, ValueError):
            await asyncio.wait_for(workspace.write(path, b"x"), 10)
            return f"{path} was written"
    await workspace.write("link", b"new")  # the link is replaced, not followed
    return None if b"truth" in _content(bait["hidden"]) else "the hidden file was overwritten"


_FROM_OUTSIDE = (
    ("outputs", "what is left", "leave links, FIFOs, sockets, second names, odd and deep names", "refused", _links),
    ("many_outputs", "what is left", "leave 20,000 files", "a bounded number is read", _many_files),
    ("crowd", "what is left", "hide the answer in 60,000 names and 1,900 folders", "found, few files open", _crowd),
    ("late_writer", "what is left", "go on writing after the end", "dead before it is read", _late_writer),
    ("link_swap", "what is left", "make the host read or write through a link", "refused", _link_swap),
    ("kill_all", "processes", "kill everything in the sandbox", "the next program runs", _kill_all),
    ("held_start", "processes", "stop programs before they have begun", "stopped in time", _held_start),
    ("too_slow", "processes", "ignore the end of the time, with children", "all killed", _too_slow),
    ("background", "processes", "keep the output open in the background", "the host goes on", _background),
    ("full_sockets", "resources", "take memory in what sockets hold", "stopped in time", _full_sockets),
    ("connections", "resources", "take memory in connections to oneself", "stopped in time", _connections),
    ("page_tables", "resources", "take memory in tables of pages", "stopped in time", _page_tables),
    ("flood", "resources", "print 300 MB", "kept up to the limit", _flood),
    ("deaf", "resources", "not read what the host writes", "the host goes on", _endless_input),
)

#: Names of all attacks.
ATTACK_NAMES = (*(attack.name for attack in ATTACKS), *(row[0] for row in _FROM_OUTSIDE))
