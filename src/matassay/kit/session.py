"""A session: one instrument, any number of pages that show it, one task that handles everything in order."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import secrets
import struct
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image
from starlette.websockets import WebSocket, WebSocketDisconnect

from .desk import Desk
from .instrument import Instrument

HEADER = struct.Struct("<HBxHHI")
GREY, JPEG, RGB, FLOATS = range(4)
PAINT_DEADLINE = 15.0
TICK = 0.1
MAX_GESTURES = 100_000


class PageGone(Exception):
    """The page that the runner names is not connected (any more)."""


class NotPainted(Exception):
    """The page did not paint in time."""


class Connection:
    """A page: what it was sent and what it told us."""

    def __init__(self, socket: WebSocket, jpeg: bool) -> None:
        self.socket, self.jpeg = socket, jpeg
        self.id = secrets.token_hex(4)
        self.seq = 0
        self.painted = 0
        self.sent: dict[str, dict[str, Any]] = {}
        self.frame_keys: dict[int, Any] = {}
        self.touched: set[str] = set()
        self.alive = True
        self._news = asyncio.Event()

    def news(self) -> None:
        """Wake whoever waits for this page."""
        self._news.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds of this page.

        Raises
        ------
        PageGone
            If it disconnects first.
        NotPainted
            If the deadline passes.
        """
        try:
            async with asyncio.timeout(PAINT_DEADLINE):
                while not holds():
                    if not self.alive:
                        raise PageGone
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise NotPainted from None


class Session:
    """Owns a desk; all that happens to it goes through one inbox.

    Parameters
    ----------
    instrument : Instrument
        What the session shows.
    human : bool
        True: time follows the wall and every event is shown at once. False (benchmark): time moves by `step` alone,
        and nothing is shown between steps.
    speed : float
        Human mode: instrument seconds per second on the wall.
    """

    def __init__(self, instrument: Instrument, human: bool = False, speed: float = 1.0) -> None:
        self.desk, self.human, self.speed = Desk(instrument), human, speed
        self.rev = 0
        self.connections: dict[str, Connection] = {}
        self.gestures: list[dict[str, Any]] = []
        self.began = time.monotonic()
        self._inbox: asyncio.Queue[Callable[[], bool]] = asyncio.Queue()
        self._unseen: float | None = None  # time that a step moved and no page has shown yet, s
        self._tasks = [asyncio.create_task(self._run())]
        if human:
            self._tasks.append(asyncio.create_task(self._tick()))

    async def close(self) -> None:
        """End the session; its pages are disconnected."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for connection in list(self.connections.values()):
            self._drop(connection)
            with contextlib.suppress(RuntimeError):  # already closed by the other side
                await connection.socket.close(1001)

    # --- pages

    async def serve(self, socket: WebSocket) -> None:
        """Serve one page until it leaves."""
        await socket.accept()
        c = Connection(socket, socket.query_params.get("codec") == "jpeg")
        title, theme = type(self.desk.instrument).title, type(self.desk.instrument).theme
        hello = {"t": "panel", "title": title, "theme": theme, "connection": c.id, "tree": self.desk.tree()}
        try:
            await socket.send_text(json.dumps(hello))
            self._post(lambda: self._join(c))
            while True:
                await self._receive(c, await socket.receive_text())
        except (WebSocketDisconnect, RuntimeError, KeyError):
            pass  # KeyError: starlette's answer to a binary message, which our page never sends
        finally:
            self._drop(c)

    async def _receive(self, c: Connection, text: str) -> None:
        try:
            message = json.loads(text) if len(text) < 100_000 else None
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            message = {}  # handled as an event that the instrument does not know: refused with a message
        painted, seq = message.get("painted"), message.get("seq")
        if type(painted) is int and not message.get("id"):
            c.painted = max(c.painted, min(painted, self.rev))
            c.news()
        else:
            self._post(lambda: self._event(c, message, seq if type(seq) is int and 0 < seq < 2**53 else 0))

    def _join(self, c: Connection) -> bool:
        self.connections[c.id] = c
        return True

    def _drop(self, c: Connection) -> None:
        c.alive = False
        self.connections.pop(c.id, None)
        c.news()

    def _event(self, c: Connection, message: dict[str, Any], seq: int) -> bool:
        id, args, gesture = message.get("id"), message.get("args", []), message.get("gesture")
        refused = self.desk.event(id, args, gesture)
        if isinstance(id, str):
            for other in self.connections.values():
                other.touched.add(id)
        if self.human and len(self.gestures) < MAX_GESTURES:
            now = round(time.monotonic() - self.began, 3)
            sent = {"id": id, "args": args, "gesture": gesture, "at": message.get("at")}
            entry = {"n": len(self.gestures), **{k: _recordable(v) for k, v in sent.items()}}
            self.gestures.append(entry | {"refused": refused, "time": self.desk.instrument.now, "wall": now})
        c.seq = max(c.seq, seq)
        c.news()
        return self.human

    # --- runner

    async def step(self, connection: str, seq: int, dt: float) -> int:
        """Handle all that a page sent up to ``seq``, move time by ``dt`` s, and wait until the page shows it.

        Returns
        -------
        int
            The revision that is painted.

        Raises
        ------
        PageGone, NotPainted
            See there.
        """
        c = self.connections.get(connection)
        if c is None:
            raise PageGone
        await c.until(lambda: c.seq >= seq)
        # A page can leave between the advance and the paint. The runner then asks for the same step again, through
        # the page that follows: time must not move twice.
        missing = 0.0 if self._unseen == dt else dt
        await self._do(lambda: self.desk.advance(missing))
        self._unseen = dt
        rev = self.rev
        await c.until(lambda: c.painted >= rev)
        self._unseen = None
        return rev

    async def notice(self, text: str) -> None:
        """Show a line on all pages and wait until they have painted it."""
        await self._do(lambda: self.desk.notice(text))
        rev = self.rev
        for c in list(self.connections.values()):
            await c.until(lambda c=c: c.painted >= rev)  # type: ignore[misc]

    async def _do(self, action: Callable[[], None]) -> None:
        """Run an action in its turn and wait for the commit that shows it."""
        done = asyncio.get_running_loop().create_future()

        def turn() -> bool:
            try:
                action()
            except Exception as error:  # noqa: BLE001 - the runner gets it, the session lives on
                done.set_exception(error)
                return False
            self._waiting.append(done)
            return True

        self._post(turn)
        await done

    # --- the actor

    def _post(self, turn: Callable[[], bool]) -> None:
        self._inbox.put_nowait(turn)

    async def _run(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []
        while True:
            turns = [await self._inbox.get()]
            while not self._inbox.empty():
                turns.append(self._inbox.get_nowait())
            show = [turn() for turn in turns]  # all of them run, then one commit shows the result
            if any(show):
                await self._commit()
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def _tick(self) -> None:
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK)  # human mode only: time follows the wall
            now = time.monotonic()
            if all(c.painted >= self.rev for c in self.connections.values()):  # else a page is behind: skip a beat
                dt, last = now - last, now
                self._post(lambda dt=dt: self._beat(dt))  # type: ignore[misc]

    def _beat(self, dt: float) -> bool:
        self.desk.advance(dt * self.speed)
        return True

    async def _commit(self) -> None:
        self.rev += 1
        connections = list(self.connections.values())
        if not connections:
            return
        snapshot = self.desk.snapshot()
        rendered = []
        for index, widget in self.desk.sources():
            # a view may take milliseconds: not on the event loop; a plot's data are at hand
            if widget.kind == "view":
                rendered.append((index, *await asyncio.to_thread(self.desk.render, index)))
            else:
                rendered.append((index, *self.desk.render(index)))
        encoded: dict[tuple[int, bool], bytes] = {}
        for c in connections:
            frames = []
            for index, key, array in rendered:
                if index in c.frame_keys and c.frame_keys[index] == key:
                    continue
                c.frame_keys[index] = key
                if (index, c.jpeg) not in encoded:
                    encoded[index, c.jpeg] = encode(index, array, self.rev, c.jpeg)
                frames.append(encoded[index, c.jpeg])
            changed = {}
            for id, props in snapshot.items():
                old = {} if id in c.touched else c.sent.get(id, {})
                new = {k: v for k, v in props.items() if k not in old or old[k] != v}
                if new:
                    changed[id] = new
            c.touched.clear()
            c.sent = snapshot
            commit = {"t": "commit", "rev": self.rev, "seq": c.seq, "frames": len(frames), "set": changed}
            try:
                for frame in frames:
                    await c.socket.send_bytes(frame)
                await c.socket.send_text(json.dumps(commit))
            except (WebSocketDisconnect, RuntimeError):
                self._drop(c)


def _recordable(value: Any) -> Any:
    """What can be written as strict JSON; anything else in words."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return repr(value)[:200]
    return value


def encode(index: int, array: np.ndarray, rev: int, jpeg: bool) -> bytes:
    """A binary frame of the panel protocol."""
    height, width = array.shape[:2]
    if array.dtype == np.uint8:
        if jpeg:
            buffer = io.BytesIO()
            Image.fromarray(array).save(buffer, "JPEG", quality=90)
            return HEADER.pack(index, JPEG, width, height, rev & 0xFFFFFFFF) + buffer.getvalue()
        codec = GREY if array.ndim == 2 else RGB
        return HEADER.pack(index, codec, width, height, rev & 0xFFFFFFFF) + array.tobytes()
    return HEADER.pack(index, FLOATS, width, height, rev & 0xFFFFFFFF) + array.astype("<f4").tobytes()
