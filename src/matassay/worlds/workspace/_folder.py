"""Where namespaces are forbidden: a folder on the disk, confined by Landlock (``sandlock``), or by nothing (``none``).

Both are only ever taken by name, and the name goes into the result. What ``sandlock`` lacks beside bubblewrap:
names and sizes of files elsewhere can be asked for, permissions of files of the same user can be changed, there are
no own process numbers and no own loopback, and the folder has no size of its own. ``none`` has no walls at all: it is
for people who try their own solutions.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import secrets
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matassay.core import EnvironmentFailure

from ._arguments import MASKED, RUN, Sources, protected
from ._channel import Channel
from ._ipc import remove_ipc, remove_leftover_ipc
from ._reader import Caps
from ._seccomp import seccomp_filter
from ._served import Served
from ._streams import Collector
from ._types import HOME, INPUTS, MANUALS, Limits
from .software import Software

#: Beginning of the names of our folders; our process number follows.
PREFIX = "matassay-box-"


class FolderWorkspace(Served):
    """A sandbox that is a folder."""

    def __init__(
        self,
        label: str,
        inputs: Mapping[str, bytes | Path],
        manuals: Mapping[str, bytes | Path],
        limits: Limits,
        software: Software,
        caps: Caps,
    ) -> None:
        super().__init__(inputs, manuals, limits, software, caps)
        self.label = label
        self._confined = label == "sandlock"
        self._top: Path | None = None
        self._guard: asyncio.subprocess.Process | None = None

    def _is_alive(self) -> bool:
        return self._guard is not None and self._guard.returncode is None and self._home >= 0

    def _cwd(self, cwd: str) -> str:
        if self._confined or not (cwd == HOME or cwd.startswith(HOME + "/")):
            return cwd
        return f"{self._top}/home{cwd.removeprefix(HOME)}"

    def _check(self) -> None:
        if self._confined and importlib.util.find_spec("sandlock") is None:
            raise EnvironmentFailure("no sandbox: sandlock is not installed\n  cure: pip install sandlock")

    def _own_facts(self) -> Mapping[str, str]:
        return {
            "sandbox": self.label if self._confined else "none: unsandboxed, not comparable",
            "limits": "rlimits, memory and processes by sandlock" if self._confined else "rlimits",
        }

    def _fill(self) -> Path:
        remove_leftovers()
        if self._uid is not None:
            remove_leftover_ipc()
        top = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        top.chmod(0o755)
        for name in ("home", "tmp", "shm", "run"):
            (top / name).mkdir(mode=0o755)
        for folder, files in ((INPUTS, self._inputs), (MANUALS, self._manuals)):
            place = top / "home" / folder
            place.mkdir(mode=0o755)
            if self._confined:
                # Outside the folder that may be written, and mounted there: our own user could change their modes.
                place.chmod(0o555)
                place = top / folder
                place.mkdir()
            for name, content in files.items():
                target = place / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content.read_bytes() if isinstance(content, Path) else content)
                target.chmod(0o444)
            for below in (place, *(path for path in place.rglob("*") if path.is_dir())):
                below.chmod(0o555)
        shutil.copyfile(Path(__file__).with_name("_inside.py"), top / "run" / "init")
        (top / "run" / "init").chmod(0o444)
        if self._confined:
            (top / "run" / "calls").write_bytes(seccomp_filter(numbered=False))
            (top / "run" / "calls").chmod(0o444)
        if self._uid is not None:
            # Only what is the agent's: task files stay root's.
            for name in ("home", "tmp", "shm"):
                os.chown(top / name, self._uid, self._uid)
        return top

    async def _start(self, channel: Channel) -> None:
        self._top = await asyncio.to_thread(self._fill)
        self._home = os.open(self._top / "home", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not self._confined:
            self._environment = {**self._environment, "HOME": f"{self._top}/home", "TMPDIR": f"{self._top}/tmp"}  # noqa: S108 - our own
        limits = self._limits
        numbers = (limits.file, limits.memory, 0, limits.open_files, limits.cpu_seconds or 0)
        script = f"{RUN}/init" if self._confined else f"{self._top}/run/init"
        orders = {
            "parent": os.getpid(),
            "uid": self._uid,
            "sandlock": self._confined,
            "cwd": f"{self._top}/home",
            "argv": [str(self._software.interpreter), "-I", "-S", "-B", script, "0", *map(str, numbers)],
            "environment": self._environment,
            "policy": self._policy(),
        }
        sources, errors = Sources(), os.pipe2(os.O_CLOEXEC)
        try:
            self._guard = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-B", str(Path(__file__).with_name("_confine.py")), str(sources.text(json.dumps(orders).encode()))),
                stdin=channel.theirs,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors[1],
                env={},
                cwd="/",
                pass_fds=sources.fds,
                start_new_session=True,
            )
        finally:
            sources.close()
            os.close(errors[1])
            said = Collector(errors[0], 4000)
        channel.release()
        try:
            await channel.ready
        except EnvironmentFailure:
            await self._guard.wait()
            said.finish()
            text = said.kept.content.decode(errors="replace").strip().splitlines()[-1:] or ["it ended without a word"]
            raise EnvironmentFailure(
                f"no sandbox: {self.label} cannot be used here\n  it said: {text[0]}\n"
                "  cure: sandlock needs Linux 6.12 or later with Landlock; or choose another kind: --sandbox docker or k8s"
            ) from None
        finally:
            said.close()

    def _policy(self) -> dict[str, Any]:
        """What sandlock allows."""
        readable = ["/usr", "/lib", "/lib64", "/bin", "/proc", f"{self._top}/run"]
        readable += [f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "fd")]
        readable += [f"{self._top}/{INPUTS}", f"{self._top}/{MANUALS}"]
        readable += [
            f"/etc/{name}" for name in ("ld.so.cache", "alternatives", "localtime", "fonts", "passwd", "group")
        ]
        readable += [str(path) for path in (self._software.base, self._software.prefix) if path is not None]
        denied = [Path("/proc", name) for name in (*MASKED, "sysvipc")]
        # Only what lies in one of these: what lies around them, as a checkout around its environment, is not shown.
        denied += [path for path in protected(self._software) if any(path.is_relative_to(top) for top in readable)]
        return {
            "chroot": "/",
            "fs_mount": {
                HOME: f"{self._top}/home",
                "/tmp": f"{self._top}/tmp",  # noqa: S108 - of the sandbox
                "/dev/shm": f"{self._top}/shm",  # noqa: S108 - likewise; MPI and multiprocessing do not run without
            },
            "fs_mount_ro": {
                RUN: f"{self._top}/run",
                f"{HOME}/{INPUTS}": f"{self._top}/{INPUTS}",
                f"{HOME}/{MANUALS}": f"{self._top}/{MANUALS}",
            },
            "fs_readable": [path for path in readable if Path(path).exists()],
            "fs_denied": [str(path) for path in denied if path.exists()],
            "fs_writable": ["/dev/null", *(f"{self._top}/{name}" for name in ("home", "tmp", "shm"))],
            "cwd": f"{self._top}/home",
            "clean_env": True,
            "env": self._environment,
            "max_memory": self._limits.memory,
            "max_processes": self._limits.processes,
            "no_coredump": True,
        }

    async def _remove(self) -> None:
        if self._top is not None:
            await asyncio.to_thread(remove_tree, self._top)
            self._top = None

    async def _kill_and_wait(self) -> None:
        if self._guard is None:
            return
        if self._guard.returncode is None:
            await asyncio.to_thread(kill_with_descendants, self._guard.pid)
        if self._channel is not None:
            self._channel.close()
        await self._guard.wait()
        if self._uid is not None:
            await asyncio.to_thread(kill_user, self._uid)
            await asyncio.to_thread(remove_ipc, self._uid)


def _parents() -> dict[int, int]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError, ValueError):
                fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                if fields[0] not in (b"Z", b"X"):
                    found[int(folder.name)] = int(fields[1])
    return found


def kill_with_descendants(root: int) -> None:
    """Kill what descends from a process, again as long as something does, since orphans fall back to it; then itself."""
    for _ in range(1000):
        parents, found = _parents(), {root}
        size = 0
        while size != len(found):
            size = len(found)
            found |= {pid for pid, parent in parents.items() if parent in found}
        if found == {root}:
            break
        for pid in found - {root}:
            _kill(pid)
    _kill(root)


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_user(uid: int) -> None:
    """Kill every process of a user who is nobody else's."""
    for _ in range(1000):
        found = []
        for folder in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if folder.name.isdigit() and folder.stat().st_uid == uid:
                    found.append(int(folder.name))
        if not found:
            return
        for pid in found:
            _kill(pid)


def remove_leftovers() -> None:
    """Folders of sandboxes whose host was killed."""
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*-*"):
        number = path.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if number.isdigit() and not Path("/proc", number).exists() and path.lstat().st_uid == os.geteuid():
                remove_tree(path)


def remove_tree(top: Path) -> None:
    """Remove a folder whatever is in it: closed folders, deep ones, links, odd names."""
    grave = top.with_name(f"{top.name}-{secrets.token_hex(4)}")
    with contextlib.suppress(OSError):
        top.rename(grave)
        top = grave
    fd = os.open(top.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _remove(fd, os.fsencode(top.name))
    finally:
        os.close(fd)


def _remove(parent: int, name: bytes) -> None:
    """Depth first, without recursion: what is deep is pulled up beside its top, one level at a time."""
    pending = [name]
    while pending:
        here = pending[-1]
        try:
            os.chmod(here, stat.S_IRWXU, dir_fd=parent)
            fd = os.open(here, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        except OSError:
            return
        try:
            for entry in [os.fsencode(entry) for entry in os.listdir(fd)]:  # noqa: PTH208 - by descriptor
                if stat.S_ISDIR(os.stat(entry, dir_fd=fd, follow_symlinks=False).st_mode):
                    pulled = name + b"-" + secrets.token_hex(8).encode()
                    os.chmod(entry, stat.S_IRWXU, dir_fd=fd)
                    os.rename(entry, pulled, src_dir_fd=fd, dst_dir_fd=parent)
                    pending.insert(0, pulled)
                else:
                    os.unlink(entry, dir_fd=fd)
        finally:
            os.close(fd)
        os.rmdir(here, dir_fd=parent)
        pending.remove(here)
