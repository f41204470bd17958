"""Child processes: started, waited for, ended. The one place where waiting on the wall clock is allowed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from matassay.core import EnvironmentFailure

#: Bytes of a child's standard error that are kept, from its end, to explain why it died.
TAIL = 4000


class Child:
    """A process that cannot outlive us; make one with `spawn`.

    It reads a secret on its first line of input, says in one line of JSON when it is ready, and lives until its input
    closes, which happens however we end.
    """

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self.name = name
        """What to call it in messages."""
        self.greeting: Mapping[str, Any] = {}
        """What it said when it was ready."""
        self._process = process
        self._errors = b""
        self._drains = [asyncio.create_task(self._drain())]

    @classmethod
    async def spawn(cls, name: str, argv: Sequence[str], *, secret: str, deadline: float = 60.0) -> Child:
        """Start a process and wait until it is ready.

        Parameters
        ----------
        name : str
            What to call it in messages.
        argv : sequence of str
            Program and arguments. Nothing secret belongs here: everybody on the machine can read it.
        secret : str
            First line of its standard input.
        deadline : float
            Longest time to wait for the line that says that it is ready, s.

        Raises
        ------
        EnvironmentFailure
            If it does not start; the text has the end of what it wrote to standard error.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,  # Ctrl+C ends us, and we end it: it must not be hit by the same signal
            )
        except OSError as error:
            raise EnvironmentFailure(f"{name} cannot be started: {error}") from error
        child = cls(process, name)
        try:
            await asyncio.wait_for(child._become_ready(secret), deadline)
        except (TimeoutError, OSError, ValueError) as error:
            why = "it was not ready in time" if isinstance(error, TimeoutError) else str(error)
            await child.stop(grace=0.0)
            raise EnvironmentFailure(f"{name} did not start: {why}\n{child.last_words}".rstrip()) from error
        except BaseException:
            await child.stop(grace=0.0)
            raise
        return child

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.returncode is None

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def last_words(self) -> str:
        """The end of what it wrote to standard error."""
        return self._errors.decode(errors="replace").strip()

    async def wait(self) -> None:
        """Wait until it has ended."""
        await self._process.wait()

    async def stop(self, grace: float = 5.0) -> None:
        """End it: close its input, and kill it if it is still there after ``grace`` seconds. May be called twice."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), grace)
        except TimeoutError:
            if self.alive:
                self._process.kill()
            await self._process.wait()
        await asyncio.gather(*self._drains)

    async def _become_ready(self, secret: str) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(secret.encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # it has ended already, which is told below
            await self._process.stdin.drain()
        line = await self._process.stdout.readline()
        if not line:
            raise OSError("it ended at once")
        greeting = json.loads(line)
        if not isinstance(greeting, dict):
            raise ValueError(f"it said {line!r} instead of a JSON object")
        self.greeting = greeting
        self._drains.append(asyncio.create_task(self._discard_output()))

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(1 << 16):
            self._errors = (self._errors + chunk)[-TAIL:]

    async def _discard_output(self) -> None:
        """A child that fills a pipe which nobody reads stands still."""
        assert self._process.stdout is not None
        while await self._process.stdout.read(1 << 16):
            pass
