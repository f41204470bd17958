"""Pipes between the host and programs in a sandbox."""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable

_CHUNK = 1 << 16
#: Most that a pipe can hold when we have not asked for more, bytes.
_PIPE = 1 << 16


class Keeper:
    """Keeps the beginning and the end of what is written, and counts the rest.

    >>> keeper = Keeper(4)
    >>> keeper.add(b"abcdef"); keeper.add(b"gh")
    >>> keeper.content, keeper.truncated
    (b'abgh', True)
    """

    def __init__(self, limit: int) -> None:
        self.head, self.tail = bytearray(), bytearray()
        self.total = 0
        self._half, self._rest = limit - limit // 2, limit // 2

    def add(self, data: bytes) -> None:
        """Take what was read."""
        self.total += len(data)
        room = self._half - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self._rest + _CHUNK:
            del self.tail[: len(self.tail) - self._rest]

    @property
    def truncated(self) -> bool:
        """Whether more was written than is kept."""
        return self.total > self._half + self._rest

    @property
    def content(self) -> bytes:
        """What is kept."""
        return bytes(self.head) + (bytes(self.tail[-self._rest :]) if self._rest else b"")


class Collector:
    """Reads a pipe as long as somebody writes, without holding the event loop."""

    def __init__(self, fd: int, limit: int) -> None:
        os.set_blocking(fd, False)
        self.kept = Keeper(limit)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(fd, self._read)

    def _read(self) -> bool:
        """Read once; False if there was nothing."""
        try:
            data = os.read(self._fd, _CHUNK)
        except BlockingIOError:
            return False
        self.kept.add(data)
        if not data:
            self.close()
        return bool(data)

    def finish(self) -> None:
        """Take what is in the pipe; a program left in the background may still hold it, and is not waited for."""
        left = max(_PIPE, fcntl.fcntl(self._fd, fcntl.F_GETPIPE_SZ)) // _CHUNK + 1 if self._fd >= 0 else 0
        while left > 0 and self._fd >= 0 and self._read():
            left -= 1
        self.close()

    def close(self) -> None:
        """Read no more."""
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1


class Feeder:
    """Writes to a pipe as fast as the program reads; a program that does not care is no error."""

    def __init__(self, fd: int, data: bytes) -> None:
        os.set_blocking(fd, False)
        self._fd, self._left = fd, memoryview(data)
        self._loop = asyncio.get_running_loop()
        self._loop.add_writer(fd, self._write)

    def _write(self) -> None:
        try:
            while self._left:
                self._left = self._left[os.write(self._fd, self._left) :]
        except BlockingIOError:
            return
        except OSError:
            self._left = memoryview(b"")
        self.close()

    def close(self) -> None:
        """Write no more."""
        if self._fd >= 0:
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1


async def reader_of(fd: int, limit: int = 1 << 20) -> tuple[asyncio.StreamReader, Callable[[], None]]:
    """A stream that reads from a descriptor, and what closes it."""
    reader = asyncio.StreamReader(limit=limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb", buffering=0)
    )
    return reader, transport.close


async def writer_of(fd: int) -> asyncio.StreamWriter:
    """A stream that writes to a descriptor."""
    loop = asyncio.get_running_loop()
    # Flow control comes with the protocol of a reader, which reads nothing here.
    protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
    transport, _ = await loop.connect_write_pipe(lambda: protocol, os.fdopen(fd, "wb", buffering=0))
    return asyncio.StreamWriter(transport, protocol, None, loop)
