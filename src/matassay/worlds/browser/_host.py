"""What all episodes of a process share: one browser, and one server for each set of instruments.

They live in an event loop of their own, in a thread, for two reasons: they outlast the event loops of runs and tests,
and a busy event loop of the runner (the engine, a model's client) does not delay the browser's traffic.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import secrets
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

from playwright.async_api import Browser, Error, Playwright, async_playwright

from matassay.core import EnvironmentFailure
from matassay.worlds.process import Child

from ._control import Control
from ._discovery import find_browser
from ._launch import launch

T = TypeVar("T")

#: Longest time that an orderly end may take, s; after that the children are left to notice that we are gone.
CLOSING_DEADLINE = 20.0


#: Longest time that a browser may take to say that it is there, s: long, since a busy one is not a dead one.
ANSWERING_DEADLINE = 30.0

#: Longest time that is spent on the end of a browser that does not answer, s.
DROPPING_DEADLINE = 5.0


async def _answers(browser: Browser) -> bool:
    """Whether a browser, and the driver between it and us, are there."""
    if not browser.is_connected():
        return False
    try:
        # A browser whose driver was killed still counts as connected: only asking it something tells.
        session = await asyncio.wait_for(browser.new_browser_cdp_session(), ANSWERING_DEADLINE)
        await asyncio.wait_for(session.detach(), ANSWERING_DEADLINE)
    except Exception:  # noqa: BLE001 - the driver's end is told by a bare Exception
        return False
    return True


class Server:
    """The instrument server of this process for one set of instruments."""

    def __init__(self, child: Child, control: Control) -> None:
        self.child = child
        """Its process."""
        self.control = control
        """The way to it."""


class Host:
    """Owner of the thread, the browser and the servers. Use `host`, which gives the one of this process."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="matassay-browser", daemon=True)
        self.fonts: dict[str, str] = {}
        """Fonts in use by instrument: looked up once, because it takes longer than a step."""
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._servers: dict[str, Server] = {}
        self._preparing: set[asyncio.Task[Any]] = set()
        self._browser_lock, self._server_lock = asyncio.Lock(), asyncio.Lock()
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        self._loop.close()

    async def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the thread and await it from any event loop; cancelling the wait cancels the work."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something in the thread and hold the caller's thread until it is done."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def browser(self) -> Browser:
        """The browser, started if there is none or if it or its driver died. To be called in the thread."""
        async with self._browser_lock:
            if self._browser is None or not await _answers(self._browser):
                program = find_browser()
                if self._browser is not None:
                    await self._drop_browser()
                if self._playwright is None:
                    self._playwright = await async_playwright().start()
                try:
                    self._browser = await launch(self._playwright, program)
                except EnvironmentFailure:
                    await self._drop_browser()  # the driver too: it may be what is broken
                    raise
            return self._browser

    async def _drop_browser(self) -> None:
        """Let go of a browser that does not answer, and of its driver, which may be what died."""
        browser, driver = self._browser, self._playwright
        self._browser = self._playwright = None
        for part in (browser.close() if browser else None, driver.stop() if driver else None):
            if part is not None:
                with contextlib.suppress(Exception):  # it is gone already
                    await asyncio.wait_for(part, DROPPING_DEADLINE)

    async def server(self, instruments: str) -> Server:
        """The server of these instruments (``module:NAME``), started if there is none or if it died.

        To be called in the thread.
        """
        async with self._server_lock:
            server = self._servers.get(instruments)
            if server is not None and not server.child.alive:
                await self._stop(self._servers.pop(instruments))
                server = None
            if server is None:
                server = self._servers[instruments] = await self._start(instruments)
            return server

    def prepare(self, instruments: str) -> None:
        """Begin to start browser and server, and return at once: whoever needs them finds them started or starting."""

        async def begin() -> None:
            # what fails here fails again, and is reported, when an episode needs it
            await asyncio.gather(self.browser(), self.server(instruments), return_exceptions=True)

        def schedule() -> None:
            task = self._loop.create_task(begin())
            self._preparing.add(task)
            task.add_done_callback(self._preparing.discard)

        self._loop.call_soon_threadsafe(schedule)

    async def _start(self, instruments: str) -> Server:
        token = secrets.token_urlsafe(32)
        argv = [sys.executable, "-m", "matassay.kit.serve", "--instruments", instruments, "--port", "0"]
        child = await Child.spawn("the instrument server", argv, secret=token)
        port = child.greeting.get("port")
        if not isinstance(port, int):
            await child.stop()
            raise EnvironmentFailure(f"the instrument server said {dict(child.greeting)!r} instead of its port")
        return Server(child, Control(f"http://127.0.0.1:{port}", token))

    async def _stop(self, server: Server) -> None:
        await server.control.close()
        await server.child.stop()

    def close(self) -> None:
        """End the browser, the servers and the thread; from any other thread."""
        if not self._thread.is_alive():
            return
        ending = asyncio.run_coroutine_threadsafe(self._shut_down(), self._loop)
        try:
            ending.result(CLOSING_DEADLINE)
        except TimeoutError:
            ending.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(CLOSING_DEADLINE)

    async def _shut_down(self) -> None:
        # what nobody came to need is started to its end: half of it would leave tasks and children behind
        await asyncio.gather(*self._preparing, return_exceptions=True)
        async with self._browser_lock, self._server_lock:
            servers, self._servers = list(self._servers.values()), {}
            browser, driver = self._browser, self._playwright
            self._browser = self._playwright = None
            await asyncio.gather(_end(browser, driver), *(self._stop(server) for server in servers))


async def _end(browser: Browser | None, driver: Playwright | None) -> None:
    try:
        if browser is not None:
            await browser.close()
        if driver is not None:
            await driver.stop()
    except Error:  # it is gone already
        pass


_host: Host | None = None
_guard = threading.Lock()


def host() -> Host:
    """The host of this process, made when it is first needed."""
    global _host
    with _guard:
        if _host is None:
            _host = Host()
            atexit.register(close_shared)
        return _host


def close_shared() -> None:
    """End the browser and the servers of this process now rather than at its end; the next world starts new ones."""
    global _host
    with _guard:
        if _host is not None:
            _host.close()
            _host = None
            atexit.unregister(close_shared)


def release_shared() -> None:
    """Begin to end them, and return at once; the end of the process waits for that."""
    global _host
    with _guard:
        if _host is not None:
            threading.Thread(target=_host.close, name="matassay-closing").start()
            _host = None
            atexit.unregister(close_shared)
