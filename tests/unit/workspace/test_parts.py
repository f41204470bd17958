"""Small parts of the sandbox: streams, limits, refusals, arguments, requests, software, leftovers."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import mmap
import os
import select
import socket
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.core import EnvironmentFailure, MatAssayError
from matassay.worlds import workspace
from matassay.worlds.workspace import (
    _arguments,
    _channel,
    _folder,
    _ipc,
    _limits,
    _refusals,
    _users,
    _watchdog,
    build,
    software,
)
from matassay.worlds.workspace._streams import Keeper
from matassay.worlds.workspace._types import Limits

# --- streams ------------------------------------------------------------------------------------------------


@given(st.lists(st.binary(max_size=50)), st.integers(0, 60))
def test_a_keeper_keeps_beginning_and_end(chunks: list[bytes], limit: int) -> None:
    keeper, whole = Keeper(limit), b"".join(chunks)
    for chunk in chunks:
        keeper.add(chunk)
    assert keeper.total == len(whole)
    if len(whole) <= limit:
        assert keeper.content == whole
        assert not keeper.truncated
    else:
        assert keeper.truncated
        assert len(keeper.content) == limit
        head, tail = limit - limit // 2, limit // 2
        assert keeper.content == whole[:head] + (whole[-tail:] if tail else b"")


def test_a_keeper_holds_little() -> None:
    keeper = Keeper(1000)
    for _ in range(1000):
        keeper.add(bytes(65536))
    assert len(keeper.head) + len(keeper.tail) < 300_000


# --- limits -------------------------------------------------------------------------------------------------


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def as_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1234)


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.usefixtures("as_root")
def test_v2_comes_before_v1(tmp_path: Path) -> None:
    root = tree(
        tmp_path / "cg",
        {
            "cgroup.controllers": "cpu memory pids",
            "matassay/cgroup.subtree_control": "memory pids",
            "memory/cgroup.procs": "",
            "pids/cgroup.procs": "",
        },
    )
    cage = _limits.build_cage(Limits(memory=1000, processes=10), root, tree(tmp_path, {"own": "0::/\n"}) / "own")
    assert cage.step == "cgroup v2, as root"
    (procs,) = cage.procs
    assert (procs.parent / "memory.max").read_text() == "1000"
    assert int((procs.parent / "pids.max").read_text()) >= 10
    assert not cage.watched


@pytest.mark.usefixtures("as_user")
def test_a_delegated_group_is_used(tmp_path: Path) -> None:
    root = tree(
        tmp_path / "cg",
        {"cgroup.controllers": "", "user/me/cgroup.subtree_control": "memory pids", "user/me/cgroup.procs": "1"},
    )
    own = tree(tmp_path, {"own": "0::/user/me\n"}) / "own"
    cage = _limits.build_cage(Limits(), root, own)
    assert cage.step == "cgroup v2, delegated"
    assert cage.procs[0].parent.parent == root / "user" / "me"


@pytest.mark.usefixtures("as_root")
def test_v1_as_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tree(tmp_path / "cg", {"memory/cgroup.procs": "", "pids/cgroup.procs": ""})
    (root / "memory" / "matassay" / "matassay-4194305-old").mkdir(parents=True)
    more = ("memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes")  # as the kernel makes them
    made = Path.mkdir

    def mkdir(path: Path, *args: Any, **kwargs: Any) -> None:
        made(path, *args, **kwargs)
        if path.parent == root / "memory" / "matassay":
            for name in more:
                (path / name).touch()

    monkeypatch.setattr(Path, "mkdir", mkdir)
    cage = _limits.build_cage(Limits(memory=5000), root, tree(tmp_path, {"own": "4:memory:/x\n"}) / "own")
    assert cage.step == "cgroup v1, as root"
    assert {path.parent.parent.parent.name for path in cage.procs} == {"memory", "pids"}
    assert {(cage.procs[0].parent / name).read_text() for name in more} == {"5000"}, "connections count apart"
    assert not (root / "memory" / "matassay" / "matassay-4194305-old").exists(), "what a killed host left is removed"


@pytest.mark.usefixtures("as_user")
def test_else_the_watchdog(tmp_path: Path) -> None:
    root = tree(tmp_path / "cg", {"memory/cgroup.procs": "", "pids/cgroup.procs": ""})
    cage = _limits.build_cage(Limits(), root, tmp_path / "none")
    assert cage.step == "rlimits and watchdog"
    assert cage.watched
    assert cage.procs == ()


def test_what_the_kernel_notes_for_a_process_is_seen() -> None:
    with contextlib.ExitStack() as stack:
        # One page in two can be read: each is a mapping of its own.
        area = mmap.mmap(-1, 4000 * mmap.PAGESIZE)
        libc = ctypes.CDLL(None)
        place = ctypes.addressof(ctypes.c_char.from_buffer(area))
        before = _watchdog._mappings(os.getpid())
        for page in range(0, 4000, 2):
            assert libc.mprotect(ctypes.c_void_p(place + page * mmap.PAGESIZE), mmap.PAGESIZE, mmap.PROT_READ) == 0
        assert _watchdog._mappings(os.getpid()) >= before + 3900

        file = stack.enter_context(tempfile.TemporaryFile())
        for at in range(0, 200, 2):
            fcntl.lockf(file, fcntl.LOCK_EX, 1, at)
        own = str(os.getpid()).encode()
        assert _watchdog._locks({own})[own] >= 100
        assert _watchdog._locks(set()) == {}

        stack.enter_context(select.epoll())
        assert "anon_inode:[eventpoll]" in _watchdog._descriptors(os.getpid())

        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        client = stack.enter_context(socket.create_connection(server.getsockname()))
        client.setblocking(False)
        waiting = client.send(bytes(1 << 20))
        assert _watchdog._queued(os.getpid()) >= waiting > 0


def test_no_more_is_looked_at_than_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at many processes of many mappings takes longer than they need to go on."""
    looked: list[int] = []
    monkeypatch.setattr(_watchdog, "members", lambda namespace: [1, 2, 3, 4])
    monkeypatch.setattr(_watchdog, "_resident", lambda pid: looked.append(pid) or 100)
    for name in ("_mappings", "_sockets", "_queued", "_names"):
        monkeypatch.setattr(_watchdog, name, lambda pid: 0)
    monkeypatch.setattr(_watchdog, "_descriptors", lambda pid: [f"pipe:[{pid // 3}]", "/dev/null"])
    pipe = _watchdog._PIPE
    assert _watchdog.measure("pid:[1]", 1, 1 << 30) == _watchdog.Usage(400 + 2 * pipe, 2)
    looked.clear()
    assert _watchdog.measure("pid:[1]", 1, 150 + pipe).largest == 2
    assert looked == [1, 2]


def test_large_tables_of_pages_are_not_walked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {b"VmPTE:": 50, b"RssAnon:": 6, b"RssShmem:": 3, b"Pss_Anon:": 5, b"Pss_Shmem:": 2}
    looked: list[str] = []

    def told(path: str, keys: tuple[bytes, ...]) -> int:
        looked.append(Path(path).name)
        return sum(found[key] for key in keys)

    monkeypatch.setattr(_watchdog, "_sum", told)
    monkeypatch.setattr(_watchdog, "_WALKED", 60)
    assert (_watchdog._resident(1), looked) == (57, ["status", "smaps_rollup"])
    looked.clear()
    monkeypatch.setattr(_watchdog, "_WALKED", 40)
    assert (_watchdog._resident(1), looked) == (59, ["status", "status"])


def test_shared_memory_of_killed_hosts_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = tree(
        tmp_path / "sysvipc",
        {
            "shm": "key shmid perms size cpid lpid nattch uid gid\n0 3 600 40 1 1 0 70001 70001\n0 4 600 40 1 1 0 0 0\n",
            "sem": "key semid perms nsems uid gid\n0 5 600 1 70002 70002\n",
        },
    )
    files = tree(tmp_path / "shm", {"ours": "x"})
    removed: list[tuple[str, int]] = []
    monkeypatch.setattr(_ipc, "_TABLES", tables)
    monkeypatch.setattr(_ipc, "_FILES", files)
    monkeypatch.setattr(_ipc, "USERS", {70001, 70002, os.geteuid()})
    monkeypatch.setattr(_ipc, "owners", lambda: {70002})
    removers = {kind: lambda number, kind=kind: removed.append((kind, number)) for kind in ("shm", "sem", "msg")}
    monkeypatch.setattr(_ipc, "_removers", lambda: removers)
    _ipc.remove_leftover_ipc()
    assert ("shm", 3) in removed
    assert ("sem", 5) not in removed, "its user has processes"
    assert not (files / "ours").exists()


# --- users --------------------------------------------------------------------------------------------------


def test_a_user_that_another_host_has_taken_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no process yet, so that nothing else tells."""
    monkeypatch.setattr(_users, "USERS", range(70001, 70003))
    monkeypatch.setattr(_users, "_taken", set())
    file = tmp_path / "users"
    registers = [os.open(file, os.O_RDWR | os.O_CREAT, 0o600), os.open(file, os.O_RDWR)]  # ours, another host's
    monkeypatch.setattr(_users, "_register", lambda: registers[0])
    try:
        first = _users.free_user()
        assert {first, _users.free_user()} == {70001, 70002}
        with pytest.raises(EnvironmentFailure, match="have processes"):
            _users.free_user()
        monkeypatch.setattr(_users, "_register", lambda: registers[1])
        monkeypatch.setattr(_users, "_taken", set())
        with pytest.raises(EnvironmentFailure, match="have processes"):
            _users.free_user()
        os.close(registers[0])  # it was killed
        assert _users.free_user() in (70001, 70002)
    finally:
        os.close(registers[1])


@pytest.mark.parametrize("name", ["memory", "processes", "disk", "tmp", "file", "open_files"])
def test_limits_must_be_positive(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Limits(**{name: 0})


# --- refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
        (
            "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged "
            "user namespaces.",
            "switched off",
        ),
        ("bwrap: No permissions to creating new namespace, likely because", "switched off"),
        ("bwrap: Creating new namespace failed: Permission denied", "security module"),
        (
            "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
            "limited to none",
        ),
        ("bwrap: Failed to make / slave: Operation not permitted", "may not mount"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "hides parts of /proc"),
        ("bwrap: Can't read /proc/sys/kernel/overflowuid: No such file or directory", "no /proc"),
        ("bwrap: Can't find source path /srv/x/python: Permission denied", "cannot reach /srv/x/python"),
        ("bwrap: execvp /run/box/python3: No such file or directory", "/run/box/python3 is not in the sandbox"),
        ("bwrap: Unknown option --disable-userns", "older than 0.8"),
        ("something else", "not known here"),
        ("", "without a word"),
    ],
)
def test_a_refusal_says_cause_and_offers_other_kinds(said: str, cause: str) -> None:
    text = str(_refusals.explain(said))
    assert cause in text
    assert "--sandbox sandlock" in text
    assert said in text


def test_a_missing_program_is_named() -> None:
    assert "apt-get install bubblewrap" in str(_refusals.not_installed())


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(MatAssayError, match=r"chroot.*known: auto"):
        workspace.open_workspace(inputs={}, backend="chroot")


# --- arguments ----------------------------------------------------------------------------------------------


def arguments(**changes: object) -> list[str]:
    sources = _arguments.Sources()
    try:
        given = {"inputs": {"a.txt": b"x"}, "manuals": {}, "software": software.bare_software(), **changes}
        return _arguments.build_arguments(
            limits=Limits(), sources=sources, places={}, environment={"A": "b"}, status=9, calls=b"", **given
        )
    finally:
        sources.close()


def test_nothing_of_the_host_is_mounted_but_programs() -> None:
    args = arguments()
    mounted = {args[i + 1] for i, arg in enumerate(args) if arg in ("--ro-bind", "--ro-bind-try")}
    assert mounted <= {"/usr", "/dev/null", str(software.bare_software().base)} | {
        f"/etc/{name}" for name in _arguments._ETC
    }
    assert not {"--bind", "--dev-bind", "--share-net"} & set(args)


def test_our_source_is_masked_if_it_lies_in_what_is_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arguments, "protected", lambda software: [Path("/usr/share")])
    args = arguments()
    at = args.index("--tmpfs")
    assert args[at + 1] == "/usr/share"
    assert args[args.index("/usr/share", at + 2) - 1] == "--remount-ro"


def test_another_copy_of_our_source_is_masked_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A checkout is at work, and an older version installed where the workspace's interpreter has its packages."""
    copy = tmp_path / "lib" / "python3.11" / "site-packages" / "matassay"
    copy.mkdir(parents=True)
    (copy.parent / "matassay-1.0.dist-info").mkdir()
    monkeypatch.setattr(software, "checkout", lambda: tmp_path.parent)
    found = replace(software.bare_software(), prefix=tmp_path)
    kept = _arguments.protected(found)
    assert copy in kept
    args = arguments(software=found)
    assert args[args.index(str(copy)) - 1] == "--tmpfs"
    box = _folder.FolderWorkspace("sandlock", {}, {}, Limits(), found, workspace.Caps())
    policy = box._policy()
    assert str(copy) in policy["fs_denied"]
    around = [name for name in policy["fs_denied"] if tmp_path.is_relative_to(name)]
    assert not around, "a checkout around its environment"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "", "a/../b", "a//b", "./a", "a\0"])
def test_names_of_task_files_are_plain(name: str) -> None:
    with pytest.raises(ValueError, match="plain relative name"):
        _arguments.check_names({name: b""}, "inputs")


def test_a_missing_task_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match=r"gone\.txt"):
        arguments(inputs={"gone.txt": tmp_path / "gone.txt"})


def test_reachable(tmp_path: Path) -> None:
    assert _arguments.reachable(Path("/usr/bin"))
    (tmp_path / "shut").mkdir(mode=0o700)
    assert not _arguments.reachable(tmp_path / "shut")


# --- requests -----------------------------------------------------------------------------------------------


def test_a_request_survives_any_text() -> None:
    order = _channel.describe_start(["printf", "a b\n'\"$x", "é"], "/workspace", {"A": "x=y\n"})
    count, cwd, *rest = order.split(b"\0")
    assert int(count) == 3
    assert cwd == b"/workspace"
    assert rest == [b"printf", b"a b\n'\"$x", "é".encode(), b"A=x=y\n", b""]


@pytest.mark.parametrize(
    ("argv", "environment"), [([], {}), (["a\0b"], {}), (["a"], {"B": "\0"}), (["a"], {"B=C": "d"}), (["a"], {"": "d"})]
)
def test_what_cannot_be_passed_is_refused(argv: list[str], environment: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"."):
        _channel.describe_start(argv, "/", environment)


# --- software -----------------------------------------------------------------------------------------------


def test_the_place_can_be_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MATASSAY_WORKSPACE", str(tmp_path / "env"))
    assert software.place() == tmp_path / "env"
    with pytest.raises(EnvironmentFailure, match=r"missing.*\n.*cure: (make research|.*workspace\.build)"):
        software.find_software()
    monkeypatch.delenv("MATASSAY_WORKSPACE")
    root = software.checkout()
    assert root is None or software.place() == root / ".workspace"


def test_an_environment_that_holds_the_graders_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to("/usr/bin/python3")
    (tmp_path / "lib" / "python3.11" / "site-packages" / "matassay-0.1.dist-info").mkdir(parents=True)
    monkeypatch.setenv("MATASSAY_WORKSPACE", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="holds matassay itself"):
        software.find_software()


def test_what_is_missing_is_named_with_its_cure() -> None:
    bare = software.bare_software()
    names = [str(need) for need in software.missing(["quantum-espresso", "lammps"], bare)]
    assert names[0] == "quantum-espresso is not installed: sudo apt-get install quantum-espresso"
    assert software.BUILD in names[1]
    with pytest.raises(MatAssayError, match=r"gaussian.*known"):
        software.missing(["gaussian"], bare)


def test_the_lock_holds_exact_versions_and_never_ourselves() -> None:
    lines = [line for line in build.REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert all(line.count("==") == 1 for line in lines)
    names = {line.partition("==")[0].lower() for line in lines}
    assert {"numpy", "scipy", "h5py", "matplotlib", "phonopy", "spglib", "pymatgen", "ase", "lammps", "mpich"} <= names
    assert "matassay" not in names
    assert "inspect-ai" not in names


def test_an_environment_of_another_list_is_not_current(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    assert not build.is_current(tmp_path, "python3")
    (tmp_path / ".stamp").write_text(build.fingerprint(tmp_path, "python3"))
    assert build.is_current(tmp_path, "python3")
    assert not build.is_current(tmp_path, "another")


def test_a_failed_build_leaves_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "env"
    place.mkdir()
    (place / "kept").touch()
    with pytest.raises(EnvironmentFailure, match="exit code"):
        build.build(place, "/bin/false", say=lambda text: None)
    assert (place / "kept").exists()


# --- leftovers ----------------------------------------------------------------------------------------------


def test_a_tree_of_any_kind_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    fd = os.open(top, os.O_RDONLY)
    for _ in range(600):  # deeper than a path may be long
        os.mkdir("deeper", dir_fd=fd)
        below = os.open("deeper", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = below
    os.close(fd)
    (top / "closed").mkdir()
    (top / "closed" / "in").touch()
    (top / "closed").chmod(0)
    (top / "link").symlink_to(tmp_path)
    os.mkfifo(top / "fifo")
    (Path(os.fsdecode(os.fsencode(top) + b"/\xff\n"))).touch()
    (tmp_path / "other").touch()
    _folder.remove_tree(top)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_folders_of_dead_hosts_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_folder.tempfile, "gettempdir", lambda: str(tmp_path))
    alive, dead = tmp_path / f"matassay-box-{os.getpid()}-x", tmp_path / "matassay-box-4194305-x"
    alive.mkdir()
    dead.mkdir()
    _folder.remove_leftovers()
    assert alive.exists()
    assert not dead.exists()


# --- the first process --------------------------------------------------------------------------------------

MASKS = """
import _signal as signal, socket
from matassay.worlds.workspace._inside import Server

def masked(where):
    print(where, signal.SIGCHLD in signal.pthread_sigmask(signal.SIG_BLOCK, ()))

class Polling:
    def register(self, *_): ...
    def poll(self):
        masked("polling")
        return [(ours.fileno(), 1)]

class Masked(Server):
    def request(self):
        masked("working")
        return next(more)

more = iter([True, False])
theirs, ours = socket.socketpair()
server = Masked(ours, 0)
server.poll = Polling()
server.serve()
masked("after")
"""


def test_the_end_of_a_program_breaks_off_nothing_but_the_poll() -> None:
    # Under sandlock a directory listing or a fork would otherwise fail with EINTR, and the sandbox end.
    done = subprocess.run([sys.executable, "-c", MASKS], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["polling", "False", "working", "True"] * 2 + ["after", "True"]
