"""The outer end of the persistent Python: sends cells in, believes nothing that comes back."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import importlib.resources
import json
import secrets
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Protocol

from matassay.core import EnvironmentFailure
from matassay.worlds.workspace._types import Process

from ._picture import safe_png
from ._words import Kept, Words, readable, shortened

#: Longest reply that is read, bytes; a longer one ends the kernel.
MAX_REPLY: Final = 16 * 1024 * 1024
#: Most brackets and commas of a reply. Texts have so few; more are a million little things, which take a hundred times
#: their length when they are read.
MAX_MARKS: Final = 400_000
#: Sum of the pictures of a cell that are passed on, bytes.
MAX_PICTURES: Final = 8_000_000
#: Longest cell, bytes.
MAX_CODE: Final = 4 * 1024 * 1024
#: Longest text of a value, of a traceback, of closing words, characters.
MAX_TEXT: Final = 110_000
#: Output of a cell that is kept unless told otherwise, bytes.
OUTPUT_LIMIT: Final = 1024 * 1024
#: How long a new interpreter may take until it is ready, s.
DEADLINE: Final = 60.0
#: How long a cell may go on after it was interrupted, s; after that its process is ended.
GRACE: Final = 3.0
#: How long output that was written before the reply may take to arrive, s.
SETTLE: Final = 2.0

#: Runs the text of `_loop` under a name of its own, which is how it knows its frames in tracebacks.
_BOOT: Final = "import sys; exec(compile(sys.argv.pop(1), '<kernel>', 'exec', dont_inherit=True))"


class Spawner(Protocol):
    """The part of a workspace that a kernel needs."""

    async def spawn(
        self, argv: Sequence[str], *, cwd: str = "/workspace", env: Mapping[str, str] | None = None
    ) -> Process:
        """Start a long-lived program inside."""


@dataclass(frozen=True)
class Display:
    """A picture that a cell showed."""

    media_type: str
    """``image/png``."""
    data: bytes
    """The file, of our own encoding."""


@dataclass(frozen=True)
class CellError:
    """What a cell raised."""

    name: str
    """Class of the exception."""
    value: str
    """Its words."""
    traceback: str
    """As Python prints it, without the kernel's own frames."""


@dataclass(frozen=True)
class CellResult:
    """What came of a cell."""

    ok: bool
    """It ran to its end."""
    stdout: str
    """What was printed, by programs that it started as well; beginning and end if there was much."""
    value: str = ""
    """Text of the last line's value, if that is an expression."""
    error: CellError | None = None
    """What it raised."""
    displays: tuple[Display, ...] = ()
    """Plots and other pictures."""
    bytes_printed: int = 0
    """All that was printed, bytes."""
    seconds: float = 0.0
    """Duration, measured outside, s."""
    interrupted: bool = False
    """It was stopped, by its time limit or from outside."""
    died: bool = False
    """The process has ended with it: the next cell gets a new one, without variables and imports."""
    exit_code: int | None = None
    """Of a process that ended by itself; negative after a signal."""
    final: str | None = None
    """Closing words, if the cell called ``final_answer``."""
    notes: tuple[str, ...] = ()
    """What the agent has to be told besides."""

    def report(self, limit: int | None = None) -> str:
        """All of it as text for an agent.

        Parameters
        ----------
        limit : int, optional
            Longest text, characters: what is printed is cut in its middle.
        """
        rest = [self.value, self.error.traceback if self.error else "", *(f"[{note}]" for note in self.notes)]
        tail = "\n".join(part.rstrip("\n") for part in rest if part.strip())
        printed = self.stdout.rstrip("\n")
        if limit is not None:
            tail = shortened(tail, limit)
            printed = shortened(printed, max(limit - len(tail), limit // 4))
        return "\n".join(part for part in (printed, tail) if part)


@cache
def loop_source() -> str:
    """The text of the program that runs inside."""
    return importlib.resources.files(__package__).joinpath("_loop.py").read_text("utf-8")


class Kernel:
    """A Python interpreter that lives from cell to cell in a workspace; make one with `start`."""

    def __init__(self, workspace: Spawner, *, python: str, output_limit: int, grace: float) -> None:
        self.starts = 0
        """Interpreters that were started so far."""
        self.version = ""
        """Version of the interpreter, as it says."""
        self._workspace = workspace
        self._python = python
        self._limit = output_limit
        self._grace = grace
        self._process: Process | None = None
        self._exit: asyncio.Task[int | None] | None = None
        self._pump: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[dict[str, Any]] | None = None
        self._words = Words(output_limit)
        self._interrupted = False
        self._cell = 0
        self._busy = False
        self._ended = False

    @classmethod
    async def start(
        cls,
        workspace: Spawner,
        *,
        python: str = "python3",
        output_limit: int = OUTPUT_LIMIT,
        grace: float = GRACE,
    ) -> Kernel:
        """Start the interpreter and wait until it takes cells.

        Parameters
        ----------
        workspace : Spawner
            Where it runs.
        python : str
            Program to run, as the workspace finds it.
        output_limit : int
            Output of a cell that is kept, bytes.
        grace : float
            Time that an interrupted cell has until its process is ended, s.

        Raises
        ------
        EnvironmentFailure
            If it does not become ready; the text has what it said.
        """
        kernel = cls(workspace, python=python, output_limit=output_limit, grace=grace)
        try:
            await kernel._connect()
        except BaseException:
            await kernel.close()
            raise
        return kernel

    @property
    def alive(self) -> bool:
        """Whether the interpreter runs; after it died, `run` starts a new one."""
        return self._exit is not None and not self._exit.done() and not self._ended

    async def run(self, code: str, *, timeout: float | None = None) -> CellResult:  # noqa: ASYNC109 - the cell's, not ours
        """Run a cell.

        Whatever the cell does is told in the result. If the interpreter is gone, a new one is started first.

        Parameters
        ----------
        code : str
            Python.
        timeout : float, optional
            Time after which it is interrupted, s.
        """
        if self._busy:
            raise RuntimeError("a cell is running already")
        if len(code.encode("utf-8", "surrogatepass")) > MAX_CODE:
            return _refused("CodeTooLong", f"the cell has more than {MAX_CODE} bytes")
        self._busy = True
        try:
            if not self.alive:
                await self.restart()
            return await self._run(code, timeout)
        except EnvironmentFailure as failure:
            # Not the first start: what keeps a new one from starting is most likely what the cells before have left.
            return _refused("KernelNotStarted", str(failure))
        except BaseException:
            self._end()  # cancelled: nobody knows where the cell stands
            raise
        finally:
            self._busy = False

    async def interrupt(self) -> None:
        """Stop the cell that is running; without one, nothing happens."""
        if self._busy and self._process is not None:
            self._interrupted = True
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGINT)

    async def restart(self) -> None:
        """End the interpreter and start a new one; files stay.

        Raises
        ------
        EnvironmentFailure
            If it does not become ready.
        """
        await self.close()
        await self._connect()

    async def close(self) -> None:
        """End the interpreter; may be called twice and in any state."""
        self._end()
        if self._exit is not None:
            await asyncio.wait({self._exit}, timeout=SETTLE)
        tasks = [task for task in (self._exit, self._pump, self._reading) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._process is not None:
            self._process.release()
        self._process = self._exit = self._pump = self._reading = None

    def _end(self) -> None:
        if self._process is not None and self.alive:
            self._ended = True
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _connect(self) -> None:
        self.starts += 1
        self._ended = False
        self._words = Words(self._limit)
        argv = [self._python, "-I", "-X", "utf8", "-c", _BOOT, loop_source(), "3", "4", "1"]
        process = self._process = await self._workspace.spawn(argv)
        self._exit = asyncio.create_task(_wait(process))
        self._pump = asyncio.create_task(self._collect(process))
        try:
            ready = await self._receive(process, DEADLINE)
            why = "it did not say that it was ready" if ready is None else ""
        except _Broken as broken:
            ready, why = None, str(broken)
        if ready is None or not isinstance(ready.get("ready"), int):
            await self._settle(process)
            code = self._exit.result() if self._exit.done() else None
            said = self._words.end().text().strip()[-2000:]
            await self.close()
            ended = f" ({ending(code)})" if code is not None else ""
            raise EnvironmentFailure(f"Python does not start in the workspace: {why}{ended}\n{said}".rstrip())
        self.version = _text(ready.get("python"), 40)

    async def _run(self, code: str, limit: float | None) -> CellResult:
        process, loop = self._process, asyncio.get_running_loop()
        assert process is not None
        self._cell += 1
        self._interrupted = False
        mark = secrets.token_bytes(16)
        self._words.begin(mark)
        began = loop.time()
        message = json.dumps({"code": code, "mark": mark.hex()}).encode()
        reply, why, limit_hit = None, "", False
        try:
            process.control_in.write(len(message).to_bytes(4, "big") + message)
            reply = await self._receive(process, limit)
            if reply is None:
                limit_hit = True
                await self.interrupt()
                reply = await self._receive(process, self._grace)
                if reply is None:
                    why = f"it did not stop within {self._grace:g} s after it was interrupted, and was ended"
                    self._end()
        except _Broken as broken:
            why = str(broken)
            self._end()
        seconds = loop.time() - began
        if reply is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._words.marked.wait(), SETTLE)
        else:
            await self._settle(process)
        printed = self._words.end()
        notes = []
        if limit_hit:
            notes.append(f"interrupted: the cell ran longer than its limit of {limit:g} s")
        if reply is None:
            assert self._exit is not None
            exit_code = self._exit.result() if self._exit.done() and not why else None
            how = why or f"the Python process ended ({ending(exit_code)})"
            notes.append(f"{how}. The next cell runs in a new one: variables and imports are gone, files are kept")
            return CellResult(
                ok=False,
                stdout=printed.text(),
                bytes_printed=printed.total,
                error=CellError("KernelDied", how, ""),
                seconds=seconds,
                interrupted=self._interrupted,
                died=True,
                exit_code=exit_code,
                notes=tuple(notes),
            )
        return await self._result(reply, printed, seconds, notes)

    async def _result(self, reply: Mapping[str, Any], printed: Kept, seconds: float, notes: list[str]) -> CellResult:
        """The reply, field by field: what has not the right type counts as if it were not there."""
        error = reply.get("error")
        told = None
        if isinstance(error, Mapping):
            told = CellError(
                _text(error.get("name"), 200), _text(error.get("value"), 2100), _text(error.get("traceback"), MAX_TEXT)
            )
        sent = reply.get("displays")
        pictures = [p for p in sent if isinstance(p, str)][:8] if isinstance(sent, list) else []
        displays = await asyncio.to_thread(_pictures, pictures) if pictures else ()
        left_out = reply.get("left_out")
        lost = len(pictures) - len(displays) + (left_out if type(left_out) is int and 0 <= left_out < 10_000 else 0)
        if lost:
            notes.append(f"{lost} picture{'s' * (lost > 1)} left out: too many, too large or damaged")
        final = reply.get("final")
        return CellResult(
            ok=reply.get("ok") is True and told is None,
            stdout=printed.text(),
            value=_text(reply.get("value"), MAX_TEXT),
            error=told,
            displays=displays,
            bytes_printed=printed.total,
            seconds=seconds,
            interrupted=self._interrupted,
            final=_text(final, MAX_TEXT) if isinstance(final, str) else None,
            notes=tuple(notes),
        )

    async def _receive(self, process: Process, seconds: float | None) -> dict[str, Any] | None:
        """The next message; None when the time is over before it came.

        Raises
        ------
        _Broken
            If the process has ended or what it says makes no sense.
        """
        assert self._exit is not None
        if self._reading is None:
            self._reading = asyncio.create_task(_message(process.control_out))
        # The end is watched besides the pipe: a copy of the process may still hold that open.
        await asyncio.wait({self._reading, self._exit}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if self._exit.done() and not self._reading.done():
            await asyncio.wait({self._reading}, timeout=0.1)
            if not self._reading.done():
                self._reading.cancel()
                await asyncio.gather(self._reading, return_exceptions=True)
        if not self._reading.done():
            return None
        reading, self._reading = self._reading, None
        if reading.cancelled():
            raise _Broken("")
        return reading.result()

    async def _collect(self, process: Process) -> None:
        """Read all output as it comes: a program whose pipe is full stands still."""
        await asyncio.gather(self._follow(process.stdout), self._follow(process.stderr))

    async def _follow(self, stream: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await stream.read(1 << 16):
                self._words.feed(data)

    async def _settle(self, process: Process) -> None:
        """After the end of the process: let what it has written arrive."""
        assert self._exit is not None
        assert self._pump is not None
        await asyncio.wait({self._exit}, timeout=SETTLE)
        await asyncio.wait({self._pump}, timeout=0.2)


class _Broken(Exception):
    """The process has ended, or what it says makes no sense (then the text says what)."""


async def _message(stream: asyncio.StreamReader) -> dict[str, Any]:
    try:
        length = int.from_bytes(await stream.readexactly(4), "big")
        if length > MAX_REPLY:
            raise _Broken(f"its reply announced {length} bytes, more than {MAX_REPLY}: it was ended")
        data = await stream.readexactly(length)
        if sum(data.count(mark) for mark in (b"[", b"{", b",")) > MAX_MARKS:
            raise _Broken("its reply had too many parts: it was ended")
        message = json.loads(data)
    except (asyncio.IncompleteReadError, OSError) as error:
        raise _Broken("") from error
    except (ValueError, RecursionError) as error:
        raise _Broken("its reply was not valid JSON: it was ended") from error
    if not isinstance(message, dict):
        raise _Broken("its reply was not a JSON object: it was ended")
    return message


async def _wait(process: Process) -> int | None:
    return await process.wait()


def _text(value: object, limit: int) -> str:
    return readable(value[: limit + 1])[:limit] if isinstance(value, str) else ""


def _pictures(sent: Sequence[str]) -> tuple[Display, ...]:
    found: list[Display] = []
    room = MAX_PICTURES
    for text in sent:
        try:
            picture = safe_png(base64.b64decode(text, validate=True))
        except (binascii.Error, ValueError):
            picture = None
        if picture is not None and len(picture) <= room:
            found.append(Display("image/png", picture))
            room -= len(picture)
    return tuple(found)


def _refused(name: str, why: str) -> CellResult:
    return CellResult(ok=False, stdout="", error=CellError(name, why, f"{name}: {why}"))


def ending(code: int | None) -> str:
    """In words how a process ended.

    Examples
    --------
    >>> ending(3), ending(-11), ending(137)
    ('exit code 3', 'signal SIGSEGV', 'signal SIGKILL')
    """
    if code is None:
        return "exit code unknown"
    number = -code if code < 0 else code - 128
    if number > 0:
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(number).name}"
    return f"exit code {code}"
