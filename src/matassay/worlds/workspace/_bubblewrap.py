"""A sandbox made by bubblewrap: one set of namespaces per sample, in which programs are started one after another.

``host -> launcher (gives up rights) -> bwrap (makes the namespaces) -> first process (starts programs) -> programs``

The host talks to the first process over a socket and hands it pipes. Nothing enters the namespaces later, so that all
that ever runs in them is under the same user, filter and limits. When the host dies in whatever way, the socket
closes, the first process ends, and the kernel kills the rest.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import resource
import select
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from matassay.core import EnvironmentFailure

from . import _watchdog
from ._arguments import Sources, binds, build_arguments, command, reachable
from ._channel import Channel
from ._limits import Cage, build_cage
from ._reader import Caps
from ._refusals import explain, not_installed
from ._seccomp import VERIFIED, seccomp_filter
from ._served import DEADLINE, Served
from ._streams import Collector
from ._types import HOME, Limits
from .software import Software

#: Where root's launcher mounts what the sandbox's user could not reach; in a mount namespace of its own.
_STAGE = Path("/tmp")  # noqa: S108 - nothing is written there


class Bubblewrap(Served):
    """One sandbox; see `Workspace`."""

    label = "bubblewrap"

    def __init__(
        self,
        inputs: Mapping[str, bytes | Path],
        manuals: Mapping[str, bytes | Path],
        limits: Limits,
        software: Software,
        caps: Caps,
    ) -> None:
        super().__init__(inputs, manuals, limits, software, caps)
        self._cage: Cage | None = None
        self._program: Path | None = None
        self._bwrap: asyncio.subprocess.Process | None = None
        self._pid = 0
        self._pidfd = -1
        self._dead: asyncio.Event | None = None
        self._watchdog: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Number of the first process on the host."""
        return self._pid

    def _is_alive(self) -> bool:
        return self._pidfd >= 0 and self._dead is not None and not self._dead.is_set()

    # --- start ----------------------------------------------------------------------------------------------

    def _check(self) -> None:
        self._program = find_bubblewrap()
        if self._program is None:
            raise not_installed()

    def _own_facts(self) -> Mapping[str, str]:
        assert self._cage is not None
        assert self._program is not None
        return {
            "sandbox": f"bubblewrap {bubblewrap_version(self._program)}",
            "limits": self._cage.step,
            "seccomp": "verified table" if VERIFIED.get(os.uname().machine) else "unverified table",
        }

    async def _start(self, channel: Channel) -> None:
        program = self._program
        assert program is not None
        self._cage = cage = build_cage(self._limits)
        if self._uid is None:
            self._limits = replace(self._limits, open_files=_spared(self._limits.open_files))
        self._dead = asyncio.Event()
        sources, status = Sources(), os.pipe2(os.O_CLOEXEC)
        errors = os.pipe2(os.O_CLOEXEC)
        try:
            paper, fds = self._orders(program, cage, channel, sources, status[1])
            self._bwrap = await asyncio.create_subprocess_exec(
                str(self._software.interpreter),
                *("-I", "-S", "-B", str(Path(__file__).with_name("_launch.py")), str(paper)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=errors[1],
                env={},
                cwd="/",
                pass_fds=fds,
                start_new_session=True,
            )
        except OSError as error:
            for fd in (*status, *errors):
                os.close(fd)
            raise EnvironmentFailure(f"{self._software.interpreter} cannot be started: {error.strerror}") from error
        finally:
            sources.close()
        os.close(status[1])
        os.close(errors[1])
        channel.release()
        said = Collector(errors[0], 4000)
        try:
            try:
                await channel.ready
            except EnvironmentFailure:
                await self._bwrap.wait()
                said.finish()
                raise explain(said.kept.content.decode(errors="replace")) from None
            self._adopt(_child(status[0]))
        finally:
            said.close()
            os.close(status[0])
        if cage.watched:
            self._watchdog = asyncio.create_task(self._watch())

    def _orders(
        self, program: Path, cage: Cage, channel: Channel, sources: Sources, status: int
    ) -> tuple[int, list[int]]:
        """For the launcher: as text behind a descriptor, and all descriptors that are to be passed on."""
        staged = [] if self._uid is None else [path for path in binds(self._software) if not reachable(path)]
        places = {path: str(_STAGE / str(index)) for index, path in enumerate(staged)}
        args = build_arguments(
            self._software,
            self._limits,
            self._inputs,
            self._manuals,
            sources,
            places,
            self._environment,
            status,
            seccomp_filter(counted=not cage.watched),
            counted=not cage.watched,
        )
        listing = sources.text(b"".join(os.fsencode(arg) + b"\0" for arg in args))
        orders = [("parent", str(os.getpid())), *(("cgroup", str(path)) for path in cage.procs)]
        if staged:
            orders += [("stage", str(_STAGE)), *(("bind", str(path)) for path in staged)]
        if self._uid is not None:
            orders.append(("uid", str(self._uid)))
        argv = ["--args", str(listing), "--", *command(self._software, self._limits, channel.theirs)]
        orders += [("exec", str(program)), *(("arg", arg) for arg in argv)]
        paper = sources.text(b"".join(os.fsencode(f"{key}={value}") + b"\0" for key, value in orders))
        return paper, [*sources.fds, status, channel.theirs]

    def _adopt(self, pid: int) -> None:
        """Get hold of the first process and of its folder."""
        self._pid = pid
        try:
            self._pidfd = os.pidfd_open(pid)
            self._home = os.open(f"/proc/{pid}/root{HOME}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise EnvironmentFailure(f"the sandbox ended while it started: {error.strerror}") from error
        asyncio.get_running_loop().add_reader(self._pidfd, self._died)

    def _died(self) -> None:
        """The first process is gone; the kernel reports it only when all others of its namespace are."""
        asyncio.get_running_loop().remove_reader(self._pidfd)
        assert self._channel is not None
        assert self._dead is not None
        self._channel.close()
        self._dead.set()

    async def _watch(self) -> None:
        """Hold the whole sandbox to its memory: first the largest program goes, then, if that does not help, all."""
        assert self._dead is not None
        namespace = os.readlink(f"/proc/{self._pid}/ns/pid")  # noqa: PTH115 - it is no path
        clock = asyncio.get_running_loop().time
        pause, warned, before, then = _watchdog.INTERVAL, False, 0, clock()
        while not self._dead.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._dead.wait(), pause)
                return
            usage = await asyncio.to_thread(_watchdog.measure, namespace, self._pid, self._limits.memory)
            now, pause = clock(), _watchdog.INTERVAL  # who is killed needs time to go
            if usage.total <= self._limits.memory:
                warned = False
                pause = _watchdog.pause(self._limits.memory - usage.total, (usage.total - before) / (now - then))
            elif warned or usage.largest is None:
                self._end = f"it used more than {self._limits.memory} bytes of memory"
                self._kill()
            else:
                warned = True
                with contextlib.suppress(OSError):
                    os.kill(usage.largest, signal.SIGKILL)
            before, then = usage.total, now

    # --- end ------------------------------------------------------------------------------------------------

    def _usage(self) -> Mapping[str, str]:
        return self._cage.usage() if self._cage is not None else {}

    async def _remove(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._pidfd = -1
        if self._cage is not None:
            self._cage.remove()

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    async def _kill_and_wait(self) -> None:
        if self._dead is not None and self._pidfd >= 0:
            self._kill()
            await self._dead.wait()
        if self._watchdog is not None:
            await self._watchdog
        if self._bwrap is not None:
            # Its child is dead, and it ends by itself; killed all the same, if it never had one.
            if self._pidfd < 0 and self._bwrap.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    self._bwrap.kill()
            await self._bwrap.wait()


def _spared(files: int) -> int:
    """Descriptors of a sandbox of our own user, so that we have more.

    Those that lie in sockets are counted per user: who has as many there as it may open can send no more, and without
    that no sandbox gets anything to do.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * files if hard == resource.RLIM_INFINITY else min(4 * files, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        soft = wanted
    return files if soft == resource.RLIM_INFINITY else min(files, soft // 2)


def _child(status: int) -> int:
    """Number of the first process, from what bubblewrap wrote before it let it go."""
    said, ready = b"", select.poll()
    ready.register(status, select.POLLIN)
    while b"\n" not in said:
        chunk = os.read(status, 4096) if ready.poll(DEADLINE * 1000) else b""
        if not chunk:
            raise EnvironmentFailure(f"bubblewrap did not say which process it started: {said!r}")
        said += chunk
    return int(json.loads(said.partition(b"\n")[0])["child-pid"])


# --- the program --------------------------------------------------------------------------------------------


def find_bubblewrap() -> Path | None:
    """The program, if it is installed."""
    found = shutil.which("bwrap") or shutil.which("bwrap", path="/usr/local/bin:/usr/bin:/bin")
    return Path(found) if found else None


@functools.cache
def bubblewrap_version(program: Path) -> str:
    """Its version."""
    reply = subprocess.run(  # noqa: S603 - found on the user's own path
        [program, "--version"], capture_output=True, text=True, timeout=60, check=False, env={}
    )
    return reply.stdout.rpartition(" ")[2].strip() or "unknown"
