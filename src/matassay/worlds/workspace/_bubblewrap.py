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
import secrets
import select
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path

from matassay.core import EnvironmentFailure

from . import _watchdog
from ._arguments import Sources, base_environment, binds, build_arguments, check_names, command, reachable
from ._channel import Channel, Running, describe_start, gone
from ._limits import Cage, build_cage
from ._reader import Caps, harvest, read_beneath, relative, write_beneath
from ._refusals import explain, not_installed
from ._seccomp import VERIFIED, seccomp_filter
from ._streams import Collector, Feeder, reader_of, writer_of
from ._types import HOME, INPUTS, MANUALS, MIB, Completed, Limits, Outputs
from .software import Software

#: Longest time that a start may take, s.
DEADLINE = 60.0

#: Where root's launcher mounts what the sandbox's user could not reach; in a mount namespace of its own.
_STAGE = Path("/tmp")  # noqa: S108 - nothing is written there

#: Users that belong to nobody: systemd keeps them free for such purposes.
_USERS = range(61184, 65520)


class SandboxProcess:
    """A program that runs in the sandbox beside the caller."""

    def __init__(self, channel: Channel, running: Running) -> None:
        self._channel, self._running = channel, running
        self.pid = 0
        self.control_in: asyncio.StreamWriter
        self.control_out: asyncio.StreamReader
        self.stdout: asyncio.StreamReader
        self.stderr: asyncio.StreamReader
        self._closers: list[Callable[[], None]] = []

    @property
    def returncode(self) -> int | None:
        """How it ended, None while it runs; -9 if the sandbox went with it."""
        ended = self._running.ended
        if not ended.done():
            return None
        return ended.result() if ended.exception() is None else -signal.SIGKILL

    def send_signal(self, number: int) -> None:
        """Send a signal to the program itself."""
        self._channel.signal(self._running, number)

    async def wait(self) -> int:
        """Wait until it has ended."""
        with contextlib.suppress(EnvironmentFailure):
            await asyncio.shield(self._running.ended)
        code = self.returncode
        assert code is not None
        return code

    def kill(self) -> None:
        """Kill it and all that it started."""
        self._channel.kill_tree(self._running)

    def close(self) -> None:
        """Close its pipes."""
        self.control_in.close()
        for close in self._closers:
            close()

    async def connect(self, stdout: int, stderr: int, control_in: int, control_out: int) -> None:
        """Take over our ends of its pipes."""
        self.control_in = await writer_of(control_in)
        self.stdout, close_stdout = await reader_of(stdout)
        self.stderr, close_stderr = await reader_of(stderr)
        self.control_out, close_control = await reader_of(control_out)
        self._closers = [close_stdout, close_stderr, close_control]


class Bubblewrap:
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
        check_names(inputs, INPUTS)
        check_names(manuals, MANUALS)
        self._inputs, self._manuals = dict(inputs), dict(manuals)
        self._limits, self._software, self._caps = limits, software, caps
        self._environment = base_environment(software)
        self.facts: Mapping[str, str] = {}
        self._cage: Cage | None = None
        self._uid: int | None = None
        self._channel: Channel | None = None
        self._bwrap: asyncio.subprocess.Process | None = None
        self._pid = 0
        self._pidfd = -1
        self._home = -1
        self._dead: asyncio.Event | None = None
        self._end = ""
        self._watchdog: asyncio.Task[None] | None = None
        self._outputs: Outputs | None = None
        self._processes: list[SandboxProcess] = []

    @property
    def pid(self) -> int:
        """Number of the first process on the host."""
        return self._pid

    # --- start ----------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Make the namespaces and wait until the first process listens.

        Raises
        ------
        EnvironmentFailure
            With cause and cure, if it cannot be made.
        """
        program = find_bubblewrap()
        if program is None:
            raise not_installed()
        if self._bwrap is not None:
            raise EnvironmentFailure("a sandbox is started once")
        self._cage = build_cage(self._limits)
        self._uid = free_user() if os.geteuid() == 0 else None
        self._channel = Channel()
        self._dead = asyncio.Event()
        try:
            await asyncio.wait_for(self._start(program), DEADLINE)
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise EnvironmentFailure(f"the sandbox was not ready after {DEADLINE:g} s") from error
            raise
        self.facts = {
            "sandbox": f"bubblewrap {bubblewrap_version(program)}",
            "limits": self._cage.step,
            "user": f"{self._uid} (we are root)" if self._uid is not None else f"{os.geteuid()} (ours)",
            "seccomp": "verified table" if VERIFIED.get(os.uname().machine) else "unverified table",
            "kernel": os.uname().release,
            **{f"workspace {name}": version for name, version in self._software.versions.items()},
        }

    async def _start(self, program: Path) -> None:
        assert self._channel is not None
        sources, status = Sources(), os.pipe2(os.O_CLOEXEC)
        errors = os.pipe2(os.O_CLOEXEC)
        try:
            paper, fds = self._orders(program, sources, status[1])
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
        self._channel.release()
        said = Collector(errors[0], 4000)
        try:
            try:
                await self._channel.ready
            except EnvironmentFailure:
                await self._bwrap.wait()
                said.finish()
                raise explain(said.kept.content.decode(errors="replace")) from None
            self._adopt(_child(status[0]))
        finally:
            said.close()
            os.close(status[0])
        if self._cage is not None and self._cage.watched:
            self._watchdog = asyncio.create_task(self._watch())

    def _orders(self, program: Path, sources: Sources, status: int) -> tuple[int, list[int]]:
        """For the launcher: as text behind a descriptor, and all descriptors that are to be passed on."""
        assert self._channel is not None
        assert self._cage is not None
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
            seccomp_filter(),
        )
        listing = sources.text(b"".join(os.fsencode(arg) + b"\0" for arg in args))
        orders = [("parent", str(os.getpid())), *(("cgroup", str(path)) for path in self._cage.procs)]
        if staged:
            orders += [("stage", str(_STAGE)), *(("bind", str(path)) for path in staged)]
        if self._uid is not None:
            orders.append(("uid", str(self._uid)))
        argv = ["--args", str(listing), "--", *command(self._software, self._limits, self._channel.theirs)]
        orders += [("exec", str(program)), *(("arg", arg) for arg in argv)]
        paper = sources.text(b"".join(os.fsencode(f"{key}={value}") + b"\0" for key, value in orders))
        return paper, [*sources.fds, status, self._channel.theirs]

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
        warned = False
        while not self._dead.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._dead.wait(), _watchdog.INTERVAL)
                return
            usage = await asyncio.to_thread(_watchdog.measure, namespace, self._pid)
            if usage.total <= self._limits.memory:
                warned = False
            elif warned or usage.largest is None:
                self._end = f"it used more than {self._limits.memory} bytes of memory"
                self._kill()
            else:
                warned = True
                with contextlib.suppress(OSError):
                    os.kill(usage.largest, signal.SIGKILL)

    # --- programs -------------------------------------------------------------------------------------------

    async def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - as subprocess has it
        cwd: str = HOME,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the program is killed, not the task
        output_limit: int = 10 * MIB,
    ) -> Completed:
        """Run a program to its end; see `Workspace.run`.

        Raises
        ------
        EnvironmentFailure
            If the sandbox is gone, which may be the agent's doing: the text says what is known.
        """
        order = describe_start(argv, cwd, {**self._environment, **(env or {})})
        channel = self._living()
        stdin, stdout, stderr = (os.pipe2(os.O_CLOEXEC) for _ in range(3))
        feeder = Feeder(stdin[1], input)
        kept = [Collector(stdout[0], output_limit), Collector(stderr[0], output_limit)]
        running: Running | None = None
        code: int | None = None
        late = False
        try:
            try:
                running = channel.start(order, (stdin[0], stdout[1], stderr[1]))
            finally:
                for fd in (stdin[0], stdout[1], stderr[1]):
                    os.close(fd)
            try:
                await running.started
            except OSError as error:
                text = f"{argv[0]}: {error.strerror}\n".encode()
                return Completed(127 if isinstance(error, FileNotFoundError) else 126, b"", text)
            try:
                code = await asyncio.wait_for(asyncio.shield(running.ended), timeout)
            except TimeoutError:
                late = True
                channel.kill_tree(running)
                await running.ended
            for collector in kept:
                collector.finish()
        except EnvironmentFailure:
            raise self._ended() from None
        except asyncio.CancelledError:
            if running is not None:
                channel.kill_tree(running)
            raise
        finally:
            feeder.close()
            for collector in kept:
                collector.close()
        truncated = any(collector.kept.truncated for collector in kept)
        shown = None if late or code is None else code if code >= 0 else 128 - code
        return Completed(shown, kept[0].kept.content, kept[1].kept.content, late, truncated)

    async def spawn(
        self, argv: Sequence[str], *, cwd: str = HOME, env: Mapping[str, str] | None = None
    ) -> SandboxProcess:
        """Start a program and talk to it; see `Workspace.spawn`.

        Raises
        ------
        EnvironmentFailure
            If the sandbox is gone, or the program cannot be started.
        """
        order = describe_start(argv, cwd, {**self._environment, **(env or {})})
        channel = self._living()
        stdout, stderr, control_in, control_out = (os.pipe2(os.O_CLOEXEC) for _ in range(4))
        ours = (stdout[0], stderr[0], control_in[1], control_out[0])
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        theirs = (null, stdout[1], stderr[1], control_in[0], control_out[1])
        try:
            try:
                running = channel.start(order, theirs)
            finally:
                for fd in theirs:
                    os.close(fd)
            process = SandboxProcess(channel, running)
            process.pid = await running.started
        except OSError as error:
            for fd in ours:
                os.close(fd)
            raise EnvironmentFailure(f"{argv[0]} cannot be started in the sandbox: {error.strerror}") from error
        except EnvironmentFailure:
            for fd in ours:
                os.close(fd)
            raise self._ended() from None
        await process.connect(*ours)
        self._processes.append(process)
        return process

    def _living(self) -> Channel:
        if self._channel is None:
            raise EnvironmentFailure("the sandbox has not been started")
        if self._dead is None or self._dead.is_set() or self._pidfd < 0:
            raise self._ended()
        return self._channel

    def _ended(self) -> EnvironmentFailure:
        """What is known of the end: a sandbox that used too much memory is no fault of the machine."""
        if self._end:
            return EnvironmentFailure(f"the sandbox was ended: {self._end}")
        return gone()

    # --- files ----------------------------------------------------------------------------------------------

    async def write(self, path: str, data: bytes) -> None:
        """Write a file below ``/workspace``, owned by the agent.

        Raises
        ------
        ValueError
            If the path does not lie there.
        OSError
            If a link or the read-only folders are in the way, or there is no room.
        """
        name = relative(path, HOME)
        if self._home < 0:
            raise self._ended()
        await asyncio.to_thread(write_beneath, self._home, name, data, self._uid)

    async def read(self, path: str, limit: int) -> bytes:
        """Content of a regular file below ``/workspace``; see `Workspace.read`.

        Raises
        ------
        ValueError
            If the path does not lie there, or is no regular file of at most ``limit`` bytes.
        OSError
            If it is not there, or a link is in the way.
        """
        name = relative(path, HOME)
        if self._home < 0:
            raise self._ended()
        return await asyncio.to_thread(read_beneath, self._home, name, limit)

    # --- end ------------------------------------------------------------------------------------------------

    async def conclude(self) -> Outputs:
        """Kill everything, wait until it is dead, then read what it left; see `Workspace.conclude`.

        Raises
        ------
        EnvironmentFailure
            If it was never started.
        """
        if self._outputs is None:
            if self._home < 0:
                raise EnvironmentFailure("the sandbox has not been started")
            await self._kill_and_wait()
            self._outputs = await asyncio.to_thread(harvest, self._home, self._caps)
            if self._cage is not None:
                self.facts = {**self.facts, **self._cage.usage()}
            await self.close()
        return self._outputs

    async def close(self) -> None:
        """Kill everything and leave nothing behind."""
        await self._kill_and_wait()
        for process in self._processes:
            process.close()
        if self._channel is not None:
            self._channel.close()
        for fd in (self._pidfd, self._home):
            if fd >= 0:
                os.close(fd)
        self._pidfd = self._home = -1
        if self._cage is not None:
            self._cage.remove()
        if self._uid is not None:
            _taken.discard(self._uid)

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


def _child(status: int) -> int:
    """Number of the first process, from what bubblewrap wrote before it let it go."""
    said = b""
    while b"\n" not in said:
        chunk = os.read(status, 4096) if select.select([status], [], [], DEADLINE)[0] else b""
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


# --- users --------------------------------------------------------------------------------------------------

_taken: set[int] = set()


def free_user() -> int:
    """A user that owns no process: what one sandbox does never counts against another."""
    busy = set(_taken)
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                busy.add(entry.stat().st_uid)
    start = secrets.randbelow(len(_USERS))
    for index in range(len(_USERS)):
        uid = _USERS[(start + index) % len(_USERS)]
        if uid not in busy:
            _taken.add(uid)
            return uid
    raise EnvironmentFailure(f"all users from {_USERS[0]} to {_USERS[-1]} have processes")


@contextlib.asynccontextmanager
async def opened(workspace: Bubblewrap) -> AsyncIterator[Bubblewrap]:
    """Start a sandbox and close it in any case."""
    try:
        await workspace.start()
        yield workspace
    finally:
        await workspace.close()
