"""What all kinds of sandboxes have in common: a first process inside that starts programs, and a folder."""

from __future__ import annotations

import abc
import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from matassay.core import EnvironmentFailure

from ._arguments import base_environment, check_names
from ._channel import Channel, Running, describe_start, gone
from ._reader import Caps, harvest, read_beneath, relative, write_beneath
from ._streams import Collector, Feeder, reader_of, writer_of
from ._types import HOME, INPUTS, MANUALS, MIB, Completed, Limits, Outputs, WorkspaceEnded
from ._users import free_user, release_user
from .software import Software

#: Longest time that a start may take, s.
DEADLINE = 60.0


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

    def release(self) -> None:
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


class Served(abc.ABC):
    """The common part of the sandboxes; see `Workspace`."""

    label: str

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
        self._uid: int | None = None
        self._channel: Channel | None = None
        self._home = -1
        self._end = ""
        self._outputs: Outputs | None = None
        self._processes: list[SandboxProcess] = []

    @property
    def pid(self) -> int:
        """Number of the first process on the host, 0 where it has no namespaces of its own."""
        return 0

    # --- what each kind does in its own way ------------------------------------------------------------------

    @abc.abstractmethod
    def _check(self) -> None:
        """Refuse what cannot be, before anything is made: `EnvironmentFailure` with cause and cure."""

    @abc.abstractmethod
    async def _start(self, channel: Channel) -> None:
        """Make it and wait until its first process listens; from then on `_home` is open."""

    @abc.abstractmethod
    def _own_facts(self) -> Mapping[str, str]:
        """What kind it is (``sandbox``), what holds it to its limits (``limits``), and the like."""

    @abc.abstractmethod
    def _is_alive(self) -> bool:
        """Whether programs can be started."""

    @abc.abstractmethod
    async def _kill_and_wait(self) -> None:
        """Kill everything in it and wait until it is dead; in any state, and more than once."""

    def _usage(self) -> Mapping[str, str]:
        """When everything is dead: what it has used."""
        return {}

    @abc.abstractmethod
    async def _remove(self) -> None:
        """Remove what was made for it on the host; in any state, and more than once."""

    def _cwd(self, cwd: str) -> str:
        """Where a folder of the sandbox lies for the first process."""
        return cwd

    # --- start and end --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Make it and wait until its first process listens.

        Raises
        ------
        EnvironmentFailure
            With cause and cure, if it cannot be made.
        """
        self._check()
        if self._channel is not None:
            raise EnvironmentFailure("a sandbox is started once")
        self._uid = free_user() if os.geteuid() == 0 else None
        self._channel = Channel()
        try:
            await asyncio.wait_for(self._start(self._channel), DEADLINE)
        except BaseException as error:
            await self.close()
            if isinstance(error, TimeoutError):
                raise EnvironmentFailure(f"the sandbox was not ready after {DEADLINE:g} s") from error
            if isinstance(error, OSError):  # no room for its files, for example
                raise EnvironmentFailure(f"the sandbox cannot be made: {error}") from error
            raise
        self.facts = {
            **self._own_facts(),
            "user": f"{self._uid} (we are root)" if self._uid is not None else f"{os.geteuid()} (ours)",
            "kernel": os.uname().release,
            **{f"workspace {name}": version for name, version in self._software.versions.items()},
        }

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
            self.facts = {**self.facts, **self._usage()}
            await self.close()
        return self._outputs

    async def close(self) -> None:
        """Kill everything and leave nothing behind."""
        await self._kill_and_wait()
        for process in self._processes:
            process.release()
        if self._channel is not None:
            self._channel.close()
        home, self._home = self._home, -1
        if home >= 0:
            await asyncio.to_thread(os.close, home)  # millions of files go with it
        await self._remove()
        if self._uid is not None:
            release_user(self._uid)

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
        order = describe_start(argv, self._cwd(cwd), {**self._environment, **(env or {})})
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
                async with asyncio.timeout(timeout):
                    # The start too: what runs inside already can hold it up.
                    await asyncio.shield(running.started)
                    code = await asyncio.shield(running.ended)
            except TimeoutError:
                late = True
                await self._stop(channel, running)
            except OSError as error:
                text = f"{argv[0]}: {error.strerror}\n".encode()
                return Completed(127 if isinstance(error, FileNotFoundError) else 126, b"", text)
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

    async def _stop(self, channel: Channel, running: Running) -> None:
        """Kill a program and wait for its end; a sandbox in which that does not come is given up."""
        channel.kill_tree(running)
        try:
            await asyncio.wait_for(asyncio.shield(running.ended), DEADLINE)
        except TimeoutError:
            self._end = f"a program in it could not be stopped within {DEADLINE:g} s"
            channel.close()
            raise self._ended() from None

    async def spawn(
        self, argv: Sequence[str], *, cwd: str = HOME, env: Mapping[str, str] | None = None
    ) -> SandboxProcess:
        """Start a program and talk to it; see `Workspace.spawn`.

        Raises
        ------
        EnvironmentFailure
            If the sandbox is gone, or the program cannot be started.
        """
        order = describe_start(argv, self._cwd(cwd), {**self._environment, **(env or {})})
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
            try:
                process.pid = await asyncio.wait_for(asyncio.shield(running.started), DEADLINE)
            except BaseException:
                channel.kill_tree(running)
                raise
        except BaseException as error:
            for fd in ours:
                os.close(fd)
            if isinstance(error, EnvironmentFailure):
                raise self._ended() from None
            if isinstance(error, OSError):
                why = error.strerror or f"not within {DEADLINE:g} s"
                raise EnvironmentFailure(f"{argv[0]} cannot be started in the sandbox: {why}") from error
            raise
        await process.connect(*ours)
        self._processes.append(process)
        return process

    def _living(self) -> Channel:
        if self._channel is None:
            raise EnvironmentFailure("the sandbox has not been started")
        if not self._is_alive():
            raise self._ended()
        return self._channel

    def _ended(self) -> WorkspaceEnded:
        """What is known of the end: a sandbox that used too much memory is no fault of the machine."""
        if self._end:
            return WorkspaceEnded(f"the sandbox was ended: {self._end}")
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
