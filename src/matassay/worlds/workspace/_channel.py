"""The host's end of the socket to the first process of a sandbox."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from matassay.core import EnvironmentFailure

from ._types import WorkspaceEnded

_PACKET = struct.Struct(">III")
_START, _SIGNAL, _KILL_TREE = 1, 2, 3
_READY, _STARTED, _FAILED, _EXITED = 1, 2, 3, 4


def describe_start(argv: Sequence[str], cwd: str, environment: Mapping[str, str]) -> bytes:
    """What to start, as the process inside reads it.

    Raises
    ------
    ValueError
        If a text holds a zero character, or there is no program.
    """
    if not argv:
        raise ValueError("there is no program to run")
    pairs = [f"{key}={value}" for key, value in environment.items()]
    texts = [cwd, *argv, *pairs]
    if any("\0" in text for text in texts) or any(not key or "=" in key for key in environment):
        raise ValueError("a zero character, or a variable without a proper name, cannot be passed to a program")
    return b"\0".join([str(len(argv)).encode(), *(os.fsencode(text) for text in texts), b""])


class Running:
    """A program in the sandbox, as far as the host knows."""

    def __init__(self, number: int) -> None:
        self.number = number
        loop = asyncio.get_running_loop()
        self.started: asyncio.Future[int] = loop.create_future()
        """Number of the process inside; `OSError` if it could not be started."""
        self.ended: asyncio.Future[int] = loop.create_future()
        """How it ended, -n by signal n."""
        for future in (self.started, self.ended):
            future.add_done_callback(lambda done: None if done.cancelled() else done.exception())


class Channel:
    """Requests to the process inside and its answers.

    The other end is held by a process that nothing inside can trace or kill. Should it be subverted all the same, all
    that it can do is to tell lies about how its own children ended.
    """

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.setblocking(False)
        self._running: dict[int, Running] = {}
        self._count = 0
        self._loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self._loop.create_future()
        """Done when the process inside listens; fails when it is gone."""
        self.ready.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        self._loop.add_reader(self._ours, self._receive)

    @property
    def theirs(self) -> int:
        """Descriptor of the end that the sandbox inherits."""
        return self._theirs.fileno()

    def release(self) -> None:
        """Close our copy of their end, when they have it."""
        self._theirs.close()

    def start(self, order: bytes, fds: Sequence[int]) -> Running:
        """Ask for a program; ``fds`` become its descriptors 0, 1, 2, ...

        Raises
        ------
        WorkspaceEnded
            If the sandbox is gone.
        EnvironmentFailure
            If we cannot reach it, for want of descriptors for example.
        """
        if self._ours.fileno() < 0:
            raise gone()
        self._count += 1
        running = Running(self._count)
        paper = os.memfd_create("order", os.MFD_CLOEXEC)
        try:
            view = memoryview(order)
            while view:
                view = view[os.write(paper, view) :]
            os.lseek(paper, 0, os.SEEK_SET)
            self._running[running.number] = running
            socket.send_fds(self._ours, [_PACKET.pack(_START, running.number, 0)], [paper, *fds])
        except OSError as error:
            self._running.pop(running.number, None)
            if error.errno in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
                raise gone() from error
            raise EnvironmentFailure(f"the sandbox cannot be asked for anything: {error.strerror}") from error
        finally:
            os.close(paper)
        return running

    def signal(self, running: Running, number: int) -> None:
        """Send a signal to a program, if it still runs."""
        self._send(_SIGNAL, running.number, signal.Signals(number))

    def kill_tree(self, running: Running) -> None:
        """Kill a program and all that it started."""
        self._send(_KILL_TREE, running.number, 0)

    def close(self) -> None:
        """Let go of the sandbox: its first process ends, and with it all others."""
        if self._ours.fileno() >= 0:
            self._loop.remove_reader(self._ours)
            self._ours.close()
        self._theirs.close()
        self._fail()

    def _send(self, operation: int, number: int, value: int) -> None:
        if self._ours.fileno() >= 0:
            try:
                self._ours.send(_PACKET.pack(operation, number, value))
            except OSError:
                self._fail()

    def _receive(self) -> None:
        while True:
            try:
                packet = self._ours.recv(64)
            except BlockingIOError:
                return
            except OSError:
                packet = b""
            if len(packet) != _PACKET.size:
                self.close()
                return
            self._answer(*_PACKET.unpack(packet))

    def _answer(self, kind: int, number: int, value: int) -> None:
        if kind == _READY:
            if not self.ready.done():
                self.ready.set_result(None)
            return
        running = self._running.get(number)
        if running is None:
            return
        if kind == _STARTED and not running.started.done():
            running.started.set_result(value)
        elif kind == _FAILED and not running.started.done():
            del self._running[number]
            running.started.set_exception(OSError(value, os.strerror(value)))
            running.ended.set_result(127)
        elif kind == _EXITED and not running.ended.done():
            del self._running[number]
            running.ended.set_result(value - (1 << 32) if value >> 31 else value)

    def _fail(self) -> None:
        running, self._running = self._running, {}
        futures: list[asyncio.Future[Any]] = [self.ready]
        futures += [future for one in running.values() for future in (one.started, one.ended)]
        for future in futures:
            if not future.done():
                future.set_exception(gone())


def gone() -> WorkspaceEnded:
    """The sandbox is not there any more."""
    return WorkspaceEnded("the sandbox has ended")
