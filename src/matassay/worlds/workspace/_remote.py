"""A program in a container, talked to by way of the relay: what `_relay` is to the inside, this is to the host.

Two tasks per program. One asks for news and hands out what comes; the other brings what is to be written, signals and
the like, in order. Both number what they say, so that a request may be sent again when nobody knows whether it arrived.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import signal
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

#: Brings a request inside and the answer back; the second number is how long the answer may take by itself, s.
Ask = Callable[[dict[str, Any], float], Awaitable[Mapping[str, Any]]]

#: How long the relay waits for news, s.
PATIENCE: Final = 20.0

#: Bytes that are written at a time.
_PIECE: Final = 1 << 20

#: Bytes of a stream that are held here for a reader who does not come.
_HELD: Final = 1 << 20

#: Bytes for the program that are held here before a writer is asked to wait.
_WAITING: Final = 4 << 20

#: An answer that comes sooner than this, s, without anything new, is none that the relay would give.
_HASTY: Final = 0.3


class _Source(asyncio.ReadTransport):
    """Tells a stream's reader from one that is full."""

    def __init__(self) -> None:
        super().__init__()
        self.flowing = asyncio.Event()
        self.flowing.set()

    def pause_reading(self) -> None:
        self.flowing.clear()

    def resume_reading(self) -> None:
        self.flowing.set()

    def is_closing(self) -> bool:
        return False


class _Drain(asyncio.WriteTransport):
    """Where what is written to the program goes."""

    def __init__(self, process: RemoteProcess, protocol: asyncio.StreamReaderProtocol) -> None:
        super().__init__()
        self._process, self._protocol = process, protocol
        self._closed = self._paused = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._closed:
            self._process.say("write", bytes(data))
            if not self._paused and self._process.unsaid > _WAITING:
                self._paused = True
                self._protocol.pause_writing()

    def relieved(self) -> None:
        """There is room again."""
        if self._paused and self._process.unsaid <= _WAITING:
            self._paused = False
            self._protocol.resume_writing()

    def is_closing(self) -> bool:
        return self._closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.close()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._process.say("end", b"")

    def lose(self) -> None:
        """The program is gone."""
        self._closed = True
        if self._paused:
            self._paused = False
            self._protocol.resume_writing()


class RemoteProcess:
    """One program; see `matassay.worlds.workspace.Process`.

    Parameters
    ----------
    ask : callable
        Asks the relay that watches over it.
    pid : int
        Its number inside.
    """

    def __init__(self, ask: Ask, pid: int) -> None:
        self.pid = pid
        self._ask = ask
        self._streams: dict[str, asyncio.StreamReader] = {}
        self._sources: dict[str, _Source] = {}
        for name in ("stdout", "stderr", "control"):
            reader, source = asyncio.StreamReader(limit=_HELD // 2), _Source()
            reader.set_transport(source)
            self._streams[name], self._sources[name] = reader, source
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(asyncio.StreamReader())
        self._drain = _Drain(self, protocol)
        self.control_in = asyncio.StreamWriter(self._drain, protocol, None, loop)
        self._ended: asyncio.Future[int] = loop.create_future()
        self._got = dict.fromkeys(self._streams, 0)
        self._over: set[str] = set()
        self._said: list[tuple[str, bytes | int]] = []
        self._next = 1
        self.unsaid = 0
        """Bytes that have not gone yet."""
        self._more = asyncio.Event()
        self._tasks = [asyncio.create_task(self._listen()), asyncio.create_task(self._speak())]

    @property
    def control_out(self) -> asyncio.StreamReader:
        """What the program writes to descriptor 4."""
        return self._streams["control"]

    @property
    def stdout(self) -> asyncio.StreamReader:
        """Standard output."""
        return self._streams["stdout"]

    @property
    def stderr(self) -> asyncio.StreamReader:
        """Standard error."""
        return self._streams["stderr"]

    @property
    def returncode(self) -> int | None:
        """How it ended, None while it runs; -9 if the relay or the container went with it."""
        return self._ended.result() if self._ended.done() else None

    def send_signal(self, number: int) -> None:
        """Send a signal to the program itself."""
        if self.returncode is None:
            self.say("signal", int(number))

    async def wait(self) -> int:
        """Wait until it has ended."""
        return await asyncio.shield(self._ended)

    def kill(self) -> None:
        """Kill it and all that it started."""
        self.say("kill", 0)

    def release(self) -> None:
        """Let the relay go, which holds its pipes; what has not been fetched is dropped."""
        self.control_in.close()
        self.say("bye", 0)

    async def close(self) -> None:
        """Talk to it no more; the relay goes away, what the program left in the background stays."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._lose()

    def say(self, kind: str, value: bytes | int) -> None:
        """Queue something for the program."""
        if kind == "write" and isinstance(value, bytes):
            for index in range(0, len(value), _PIECE):
                self._said.append((kind, value[index : index + _PIECE]))
            self.unsaid += len(value)
        else:
            self._said.append((kind, value))
        self._more.set()

    # --- the two tasks --------------------------------------------------------------------------------------

    async def _speak(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._more.wait()
            self._more.clear()
            while self._said:
                batch: list[list[Any]] = []
                size = 0
                for kind, value in self._said:
                    if batch and size + (len(value) if isinstance(value, bytes) else 0) > _PIECE:
                        break
                    size += len(value) if isinstance(value, bytes) else 0
                    batch.append([kind, base64.b64encode(value).decode() if isinstance(value, bytes) else value])
                began = loop.time()
                try:
                    answer = await self._ask({"do": batch, "from": self._next, "wait": 5.0}, 5.0)
                    done = min(max(int(answer["done"]) - self._next + 1, 0), len(batch))
                    if not done and loop.time() - began < _HASTY:
                        raise _Lost
                except asyncio.CancelledError:
                    raise
                except Exception:  # noqa: BLE001 - of the engine's, whatever it is: nobody can talk to it any more
                    self._lose()
                    return
                self._next += done
                for _, value in self._said[:done]:
                    self.unsaid -= len(value) if isinstance(value, bytes) else 0
                del self._said[:done]
                self._drain.relieved()

    async def _listen(self) -> None:
        with contextlib.suppress(_Lost):
            while self._over != set(self._streams) or not self._ended.done():
                await self._hear()
            # Only now may the relay go: all is here.
            self.say("bye", 0)
            return
        self._lose()

    async def _hear(self) -> None:
        flowing = [name for name, source in self._sources.items() if source.flowing.is_set()]
        open_ = [name for name in flowing if name not in self._over]
        if not open_ and self._ended.done():
            await self._any_flows()
            return
        request = {
            "got": {name: self._got[name] for name in open_},
            "over": sorted(self._over),
            "ended": self._ended.done(),
            "wait": PATIENCE if len(flowing) == len(self._sources) else 1.0,
        }
        loop = asyncio.get_running_loop()
        began, known = loop.time(), (dict(self._got), self._ended.done())
        try:
            answer = await self._ask(request, PATIENCE)
            code = answer["code"]
            for name, (first, text) in answer["out"].items():
                self._take(name, int(first), base64.b64decode(text, validate=True))
            over = set(answer["over"]) & set(open_)
            if code is not None:
                self._end(int(code))
            if not over and (self._got, self._ended.done()) == known and loop.time() - began < _HASTY:
                raise _Lost
        except asyncio.CancelledError:
            raise
        except Exception as error:  # as above, and answers that make no sense
            raise _Lost from error
        for name in over:
            # What had been read when it ended came with the same answer.
            self._over.add(name)
            self._streams[name].feed_eof()

    def _take(self, name: str, first: int, data: bytes) -> None:
        got = self._got[name]
        if first > got:
            raise binascii.Error(f"bytes of {name} from {got} to {first} are missing")
        data = data[got - first :]
        if data:
            self._got[name] += len(data)
            self._streams[name].feed_data(data)

    async def _any_flows(self) -> None:
        waits = [asyncio.ensure_future(s.flowing.wait()) for n, s in self._sources.items() if n not in self._over]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)

    def _lose(self) -> None:
        self._end(-signal.SIGKILL)
        self._drain.lose()
        for name, stream in self._streams.items():
            if name not in self._over:
                self._over.add(name)
                stream.feed_eof()


class _Lost(Exception):
    """Nobody can talk to the program any more."""
