"""A simulated instrument in a real browser page."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cached_property
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, TypeVar

from matassay.core import (
    SCREEN,
    Action,
    EnvironmentFailure,
    Evidence,
    Observation,
    action_cost,
    parse_action,
)

from . import _eyes
from ._hands import Hands
from ._host import Host, Server, host
from ._page import PinnedPage

T = TypeVar("T")
U = TypeVar("U")

#: The instruments that a world finds unless it is told otherwise, as ``module:NAME``.
INSTRUMENTS = "matassay.suites.instruments:INSTRUMENTS"

#: How often a page may reconnect during one action before the world is given up.
RECONNECTS = 5

_READY = "window.matassay?.connected && window.matassay.painted > 0"
_MARK = "window.matassay?.connected ? window.matassay.mark() : null"


class BrowserWorld:
    """One session of an instrument, shown in a page, operated by mouse and keyboard.

    Parameters
    ----------
    instrument : str
        Name of the instrument.
    seed : int
        Fixes the hidden truth and all noise.
    start : mapping, optional
        Start state, as JSON types; empty: as at power-on.
    time_scale : float
        Instrument seconds per agent second of ``wait``.
    instruments : str
        Where the instrument is found: ``module:NAME`` of a mapping of names to factories.
    """

    def __init__(
        self,
        instrument: str,
        *,
        seed: int,
        start: Mapping[str, Any] = MappingProxyType({}),
        time_scale: float = 1.0,
        instruments: str = INSTRUMENTS,
    ) -> None:
        self._instrument, self._seed, self._start, self._time_scale = instrument, seed, dict(start), time_scale
        self._instruments = instruments
        self._server: Server | None = None
        self._session = ""
        self._path = ""
        self._watch: asyncio.Task[None] | None = None
        self._page: PinnedPage | None = None
        self._hands: Hands | None = None
        self._versions: dict[str, str] = {}
        self._painted: dict[str, Any] = {}
        self._files: dict[str, bytes] = {}
        self._look: Action | None = None
        self._timings: dict[str, float] = {}

    @cached_property
    def _host(self) -> Host:
        return host()  # late: making a world costs nothing and starts nothing

    def prepare(self) -> None:
        """Begin to start what all worlds of this process share, without waiting for it."""
        self._host.prepare(self._instruments)

    # The browser lives in a thread of its own: each of these runs its namesake there.

    async def start(self) -> None:
        """Make the session and open its page.

        Raises
        ------
        EnvironmentFailure
            If browser, server or page cannot be brought up.
        """
        await self._host.call(self._do_start())

    def parse(self, raw: Mapping[str, Any]) -> Action:
        """Check an action of mouse, keyboard or time.

        Raises
        ------
        InvalidAction
            As `matassay.core.parse_action` says.
        """
        return parse_action(raw)

    async def act(self, action: Action) -> None:
        """Carry out one action, move the instrument's clock by its cost, and wait until the page shows the result.

        Raises
        ------
        InvalidAction
            If a key is unknown or refused, or a button is not in a state that allows the action.
        EnvironmentFailure
            If page, browser or server broke.
        """
        await self._host.call(self._do_act(action))

    async def observe(self, *, accessible: bool = False, picture: bool = True) -> Observation:
        """Take a screenshot; after ``zoom`` the region, after ``cursor_position`` with its text.

        Parameters
        ----------
        accessible : bool
            Whether the list of visible elements is taken too.
        picture : bool
            False for a policy of ours that looks at few pictures or none: `picture` takes one when it is wanted.
        """
        return await self._host.call(self._do_observe(accessible, picture))

    def picture(self) -> bytes:
        """The picture that `observe` left out, until the next action; holds the caller's thread."""
        return self._host.ask(self._do_picture())

    async def notify(self, message: str) -> None:
        """Show a line in the panel's message area."""
        await self._host.call(self._do_notify(message))

    async def conclude(self) -> None:
        """Nothing to do: the instrument's state is out of the agent's reach at all times."""

    async def evidence(self) -> Evidence:
        """What a grader would see now; files that are new since the last call are fetched."""
        return await self._host.call(self._do_evidence())

    async def close(self) -> None:
        """Drop page and session; may be called twice and in any state."""
        await self._host.call(self._do_close())

    async def inspect(self, look: Callable[[PinnedPage], Awaitable[T]]) -> T:
        """Look into the page as no agent can, in the browser's thread; for leak tests.

        Parameters
        ----------
        look : callable
            Is given the page, and awaited.
        """
        return await self._host.call(self._do_inspect(look))

    # --- in the browser's thread

    async def _do_inspect(self, look: Callable[[PinnedPage], Awaitable[T]]) -> T:
        return await look(self._opened()[0])

    async def _do_start(self) -> None:
        if self._page is not None:
            raise EnvironmentFailure("the world was started already")
        browser, server = await asyncio.gather(self._host.browser(), self._host.server(self._instruments))
        self._server, control = server, server.control
        self._session, self._path = await control.create(self._instrument, self._seed, self._start)
        self._page = await PinnedPage.open(browser, control.origin)
        self._hands = Hands(self._page.cdp)
        self._watch = asyncio.create_task(_watch(server, self._page))
        began = time.perf_counter()
        await self._enter(self._page)
        self._timings = {"load": time.perf_counter() - began}
        self._versions = {
            "browser": f"{browser.browser_type.name} {browser.version}",
            "playwright": version("playwright"),
            "screen": f"{SCREEN[0]} x {SCREEN[1]} pixels, scale 1",
            "fonts": await self._fonts(self._page),
        }
        await self._settle(self._page, 0.0)

    async def _enter(self, page: PinnedPage) -> None:
        await page.goto(self._path)
        await page.wait_for(_READY)

    async def _fonts(self, page: PinnedPage) -> str:
        known = self._host.fonts.get(self._instrument)
        if known is None:
            known = self._host.fonts[self._instrument] = await page.guarded(page.fonts())
        return known

    async def _do_act(self, action: Action) -> None:
        page, hands = self._opened()
        self._look = None
        began = time.perf_counter()
        cost = action_cost(action, self._time_scale)
        if action.kind == "hold_key":
            press, let_go = hands.hold(action)
            await page.guarded(press())
            await self._settle(page, action.duration or 0.0)
            await page.guarded(let_go())
            acted = time.perf_counter()
            await self._settle(page, cost - (action.duration or 0.0))
        else:
            deed = hands.plan(action)
            if deed is not None:
                await page.guarded(deed())
            elif action.kind != "wait":  # looking touches neither the page nor the clock
                self._look = action
            acted = time.perf_counter()
            if self._look is None:
                await self._settle(page, cost)
        self._timings |= {"act": acted - began, "settle": time.perf_counter() - acted}

    async def _settle(self, page: PinnedPage, dt: float) -> None:
        """Wait until the server has handled all that the page sent, and the page shows it ``dt`` seconds later."""
        assert self._server is not None
        for _ in range(RECONNECTS):
            mark = await page.guarded(page.evaluate(_MARK))
            if mark is not None:
                reply = await page.guarded(
                    self._server.control.step(self._session, mark["connection"], mark["seq"], dt)
                )
                if reply is not None:
                    self._painted = reply
                    return
            # The page has lost its connection, or the operator managed to leave it: all that it shows is kept by
            # the server.
            if page.url != page.origin + self._path:
                await self._enter(page)
            else:
                await page.wait_for(_READY)
        raise EnvironmentFailure(f"the page reconnected {RECONNECTS} times during one action")

    async def _do_picture(self) -> bytes:
        page, _ = self._opened()
        if self._zoomed is not None:
            return await page.guarded(_eyes.zoomed(page.cdp, self._zoomed))
        return await page.guarded(_eyes.screenshot(page.cdp))

    @property
    def _zoomed(self) -> tuple[int, int, int, int] | None:
        return self._look.region if self._look is not None and self._look.kind == "zoom" else None

    async def _do_observe(self, accessible: bool, picture: bool) -> Observation:
        page, hands = self._opened()
        began = time.perf_counter()
        look, text, image, nodes = self._look, "", b"", None
        if accessible and picture and self._zoomed is None:
            # The page describes itself while another process encodes the picture.
            image, nodes = await page.guarded(_both(_eyes.screenshot(page.cdp), _eyes.accessible(page.cdp)))
        else:
            if picture:
                image = await self._do_picture()
            if accessible:
                nodes = await page.guarded(_eyes.accessible(page.cdp))
        if look is not None and look.kind == "cursor_position":
            text = f"X={hands.pointer[0]}, Y={hands.pointer[1]}"
        seen = time.perf_counter()
        return Observation(
            image=image,
            accessible=nodes,
            text=text,
            time=float(self._painted["time"]),
            extra={"seconds": {**self._timings, "screenshot": seen - began}},
        )

    async def _do_notify(self, message: str) -> None:
        page, _ = self._opened()
        assert self._server is not None
        await page.guarded(self._server.control.notice(self._session, message))

    async def _do_evidence(self) -> Evidence:
        if self._server is None or not self._painted:
            raise EnvironmentFailure("the world was not started")
        raw = self._painted["evidence"]
        for digest in {a["sha256"] for a in raw["artefacts"]} - set(self._files):
            self._files[digest] = await self._server.control.file(self._session, digest)
        try:
            return Evidence.from_json({**raw, "versions": {**raw.get("versions", {}), **self._versions}}, self._files)
        except ValueError as error:
            raise EnvironmentFailure(f"a file arrived damaged: {error}") from error

    async def _do_close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
        if self._page is not None:
            await self._page.close()
        if self._server is not None and self._session:
            await self._server.control.delete(self._session)
        self._page = self._hands = None
        self._session = ""

    def _opened(self) -> tuple[PinnedPage, Hands]:
        if self._page is None or self._hands is None:
            raise EnvironmentFailure("the world is not open")
        return self._page, self._hands


async def _watch(server: Server, page: PinnedPage) -> None:
    """Without its server a page waits for ever."""
    await server.child.wait()
    page.fail(f"the instrument server died\n{server.child.last_words}".rstrip())


async def _both(first: Coroutine[Any, Any, T], second: Coroutine[Any, Any, U]) -> tuple[T, U]:
    return await asyncio.gather(first, second)
