"""A workspace without any walls: a folder, and the protocol that the kernel speaks. For tests of the kernel alone."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from matassay.worlds.workspace._types import Outputs


class PlainProcess:
    def __init__(self, process, control_in, control_out, transports):
        self.process, self.control_in, self.control_out = process, control_in, control_out
        self.stdout, self.stderr = process.stdout, process.stderr
        self.transports = transports

    def send_signal(self, number: int) -> None:
        os.kill(self.process.pid, number)

    async def wait(self) -> int:
        return await self.process.wait()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def release(self) -> None:
        for transport in self.transports:
            transport.close()


class PlainWorkspace:
    """``/workspace`` is a folder of the test."""

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        self.folder, self.python = folder, python
        self.processes: list[PlainProcess] = []

    label = "plain"
    facts = MappingProxyType({"walls": "none"})

    async def start(self) -> None:
        pass

    async def conclude(self) -> Outputs:
        await self.close()
        names = (path for path in sorted(self.folder.rglob("*")) if path.is_file())
        return Outputs({path.relative_to(self.folder).as_posix(): path.read_bytes() for path in names})

    async def spawn(
        self, argv: Sequence[str], *, cwd: str = "/workspace", env: Mapping[str, str] | None = None
    ) -> PlainProcess:
        loop = asyncio.get_running_loop()
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()

        # Out of the way of 3 and 4, where the shell puts them: the kernel expects them there.
        to_high, from_high = (fcntl.fcntl(fd, fcntl.F_DUPFD, 100) for fd in (to_read, from_write))
        os.close(to_read)
        os.close(from_write)
        move = f'exec "$@" 3<&{to_high} 4>&{from_high} {to_high}<&- {from_high}>&-'
        program = [self.python if argv[0] == "python3" else argv[0], *argv[1:]]
        process = await asyncio.create_subprocess_exec(
            "/bin/bash", "-c", move, "bash", *program,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            cwd=self.folder, env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), **(env or {})},
            pass_fds=(to_high, from_high), start_new_session=True,
        )  # fmt: skip
        os.close(to_high)
        os.close(from_high)
        reader = asyncio.StreamReader()
        read, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(from_read, "rb"))
        write, protocol = await loop.connect_write_pipe(
            lambda: asyncio.streams.FlowControlMixin(loop=loop), os.fdopen(to_write, "wb")
        )
        writer = asyncio.StreamWriter(write, protocol, None, loop)
        made = PlainProcess(process, writer, reader, (read, write))
        self.processes.append(made)
        return made

    async def close(self) -> None:
        for made in self.processes:
            made.kill()
            await made.wait()
            for transport in (*made.transports, made.process._transport):
                transport.close()
        self.processes.clear()
        await asyncio.sleep(0)
