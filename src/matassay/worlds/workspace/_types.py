"""What a sandbox is to the rest of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from matassay.core import EnvironmentFailure

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

#: Where the agent works: its folder and its home, and the only place that is read afterwards.
HOME = "/workspace"
#: Read-only folders below it.
INPUTS, MANUALS = "inputs", "manuals"


@dataclass(frozen=True)
class Limits:
    """What one sandbox may use."""

    memory: int = 4 * GIB
    """Memory of all processes together, bytes; also the largest data segment of each."""
    processes: int = 256
    """Processes and threads at the same time."""
    disk: int = 1 * GIB
    """Size of ``/workspace``, bytes."""
    tmp: int = 512 * MIB
    """Size of ``/tmp``, bytes; ``/dev/shm`` has the same."""
    file: int = 1 * GIB
    """Largest single file, bytes."""
    open_files: int = 4096
    """Open files per process."""
    cpu_seconds: int | None = None
    """Processor time of each process, s; None: no limit but the caller's time-outs."""

    def __post_init__(self) -> None:
        for name in ("memory", "processes", "disk", "tmp", "file", "open_files"):
            if getattr(self, name) <= 0:
                raise ValueError(f"limits.{name} must be positive, not {getattr(self, name)}")


@dataclass(frozen=True)
class Completed:
    """A program that has run."""

    exit_code: int | None
    """As a shell has it: 126 and 127 if it could not be started, 128 + n if signal n killed it.
    None: it was killed because its time was over."""
    stdout: bytes
    """What it wrote, at most as much as was asked for."""
    stderr: bytes
    """What it wrote to standard error, likewise."""
    timed_out: bool = False
    """Whether it was killed because its time was over."""
    truncated: bool = False
    """Whether it wrote more than was kept; the beginning and the end are."""


@dataclass(frozen=True)
class Outputs:
    """What a sandbox left behind in ``/workspace``, without the read-only folders."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """Regular files by name relative to ``/workspace``."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What was not read, and why; names are escaped where they are no plain text."""


class WorkspaceEnded(EnvironmentFailure):
    """A sandbox that had started is gone, and not by us: what runs inside has brought it down.

    An agent can do that, by taking all memory for example, so that it must not count as a fault of the machine. What
    it left can still be read by `Workspace.conclude`.
    """


class Process(Protocol):
    """A program that runs beside the caller, with two pipes of its own."""

    @property
    def pid(self) -> int:
        """Its number inside the sandbox."""

    @property
    def control_in(self) -> asyncio.StreamWriter:
        """What is written here, the program reads from descriptor 3."""

    @property
    def control_out(self) -> asyncio.StreamReader:
        """What the program writes to descriptor 4."""

    @property
    def stdout(self) -> asyncio.StreamReader:
        """Standard output."""

    @property
    def stderr(self) -> asyncio.StreamReader:
        """Standard error."""

    @property
    def returncode(self) -> int | None:
        """How it ended (-n: by signal n), None while it runs."""

    def send_signal(self, number: int) -> None:
        """Send a signal to the program itself; nothing happens if it has ended."""

    async def wait(self) -> int:
        """Wait until it has ended."""

    def kill(self) -> None:
        """Kill it and all that it started."""

    def release(self) -> None:
        """Let go of its pipes, whoever inside still holds the other ends; may be called twice."""


class Workspace(Protocol):
    """One sandbox of one sample. Used by one event loop; `start` comes first, `close` last and in any case."""

    @property
    def label(self) -> str:
        """What kind it is: ``bubblewrap``, ``sandlock``, ``none``. Goes into the result."""

    @property
    def facts(self) -> Mapping[str, str]:
        """Versions, the step on the ladder of limits, and whatever else tells how strong it is."""

    async def start(self) -> None:
        """Make it; raises `EnvironmentFailure` with cause and cure if that cannot be."""

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
        """Run a program to its end; one that is too slow (``timeout``, s) is killed with all that it started."""

    async def spawn(self, argv: Sequence[str], *, cwd: str = HOME, env: Mapping[str, str] | None = None) -> Process:
        """Start a program and talk to it."""

    async def write(self, path: str, data: bytes) -> None:
        """Write a file below ``/workspace``; never through a link."""

    async def read(self, path: str, limit: int) -> bytes:
        """Read a regular file below ``/workspace``; never through a link; `ValueError` if it is larger."""

    async def conclude(self) -> Outputs:
        """Kill everything, wait until it is dead, then read what it left. A second call returns the same."""

    async def close(self) -> None:
        """Leave nothing behind. May be called twice."""
