"""An instrument that a person operates in a browser of their own, in real time; we look on through a page of ours."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from matassay.core import SCREEN, Action, EnvironmentFailure, InvalidAction
from matassay.worlds.process import Child

from ._control import Control
from ._host import Server
from ._page import PinnedPage
from ._world import BrowserWorld


class HumanControl(Control):
    """The control routes of human mode."""

    speed = 1.0
    """Instrument seconds per second on the wall."""

    async def create(self, instrument: str, seed: int, start: Mapping[str, Any]) -> tuple[str, str]:
        """Make a session whose time follows the wall; returns its id and the path of its page."""
        body = {"instrument": instrument, "seed": seed, "start": dict(start), "mode": "human", "speed": self.speed}
        reply = (await self._ask("POST", "", json=body)).json()
        return reply["session"], reply["path"]

    async def gestures(self, session: str, since: int) -> list[dict[str, Any]]:
        """What the operator has done, from number ``since`` on."""
        gestures: list[dict[str, Any]] = (await self._ask("GET", f"/{session}/gestures?since={since}")).json()[
            "gestures"
        ]
        return gestures


class HumanWorld(BrowserWorld):
    """A session in human mode with a server of its own, mirrored in a headless page for screenshots.

    Parameters
    ----------
    world : BrowserWorld
        The task's own world, not started; instrument, seed and start state are taken from it.
    port : int
        Port of the server; 0 takes a free one.
    speed : float
        Instrument seconds per second on the wall.
    """

    def __init__(self, world: BrowserWorld, port: int = 0, speed: float = 1.0) -> None:
        # The same class: what a world was made from is no secret among its kind.
        super().__init__(
            world._instrument,  # noqa: SLF001 - of its own kind
            seed=world._seed,  # noqa: SLF001 - of its own kind
            start=world._start,  # noqa: SLF001 - of its own kind
            time_scale=world._time_scale,  # noqa: SLF001 - of its own kind
            instruments=world._instruments,  # noqa: SLF001 - of its own kind
        )
        self._port, self._speed = port, speed
        self._seen = 0
        self.url = ""
        """Address of the page for the person, once started."""

    async def gestures(self) -> list[dict[str, Any]]:
        """What the person has done since the last call: ``id``, ``args``, ``gesture``, ``at``, ``refused``, ..."""
        return await self._host.call(self._do_gestures())

    # --- in the browser's thread

    async def _do_start(self) -> None:
        if self._page is not None:
            raise EnvironmentFailure("the world was started already")
        browser = await self._host.browser()
        token = secrets.token_urlsafe(32)
        argv = [
            sys.executable,
            "-m",
            "matassay.kit.serve",
            "--instruments",
            self._instruments,
            "--port",
            str(self._port),
        ]
        child = await Child.spawn("the instrument server", argv, secret=token)
        control = HumanControl(f"http://127.0.0.1:{child.greeting['port']}", token)
        control.speed = self._speed
        self._server = Server(child, control)
        self._session, self._path = await control.create(self._instrument, self._seed, self._start)
        self.url = control.origin + self._path
        self._page, self._hands = await self._open(await PinnedPage.open(browser, control.origin))
        self._versions = {
            "browser": f"{browser.browser_type.name} {browser.version}",
            "playwright": version("playwright"),
            "screen": f"{SCREEN[0]} x {SCREEN[1]} pixels, scale 1",
            "fonts": await self._fonts(self._page),
        }
        await self._settle(self._page, 0.0)

    async def _open(self, page: PinnedPage) -> tuple[PinnedPage, Any]:
        from ._hands import Hands

        began = time.perf_counter()
        await self._enter(page)
        self._timings = {"load": time.perf_counter() - began}
        return page, Hands(page.cdp)

    async def _do_act(self, action: Action) -> None:
        raise InvalidAction("here a person acts, in the page itself")

    async def _do_gestures(self) -> list[dict[str, Any]]:
        assert self._server is not None
        assert isinstance(self._server.control, HumanControl)
        new = await self._server.control.gestures(self._session, self._seen)
        self._seen += len(new)
        return new

    async def _do_observe(self, accessible: bool, picture: bool) -> Any:
        page, _ = self._opened()
        await self._settle(page, 0.0)
        return await super()._do_observe(accessible, picture)

    async def _do_evidence(self) -> Any:
        page, _ = self._opened()
        await self._settle(page, 0.0)
        return await super()._do_evidence()

    async def _do_close(self) -> None:
        await super()._do_close()
        server, self._server = self._server, None
        if server is not None:
            await server.control.close()
            await server.child.stop()
