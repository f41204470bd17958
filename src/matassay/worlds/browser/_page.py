"""A page that cannot leave its instrument, and whose death is noticed."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, CDPSession, Error, Page

from matassay.core import EnvironmentFailure

from ._launch import new_context

T = TypeVar("T")

#: Longest time for one action of the browser, s. Reached only if the machine or the browser hangs.
DEADLINE = 60.0

#: What the browser says when a page is replaced while it is being asked something.
_LEAVING = ("navigated", "context was destroyed", "Cannot find context", "Cannot find default execution context")


class PinnedPage:
    """One page in a context of its own, pinned to one origin. Make it with `open`.

    Parameters
    ----------
    context : BrowserContext
        The episode's profile.
    page : Page
        Its only page.
    cdp : CDPSession
        The DevTools session through which everything is done.
    origin : str
        Where it may go.
    """

    def __init__(self, context: BrowserContext, page: Page, cdp: CDPSession, origin: str) -> None:
        self.origin = origin
        self.cdp = cdp
        self._context = context
        self._page = page
        self._broken: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    @classmethod
    async def open(cls, browser: Browser, origin: str) -> PinnedPage:
        """An empty page that can reach ``origin`` only.

        Raises
        ------
        EnvironmentFailure
            If the browser does not make one.
        """
        context = None
        try:
            context = await new_context(browser, origin)
            page = await context.new_page()
            pinned = cls(context, page, await context.new_cdp_session(page), origin)
            await pinned._pin()
        except Error as error:
            if context is not None:
                await _close(context)
            raise EnvironmentFailure(f"the browser made no page: {error}") from error
        except BaseException:
            if context is not None:
                await _close(context)
            raise
        return pinned

    async def _pin(self) -> None:
        self._page.on("crash", lambda _: self.fail("the page crashed"))
        self._page.on("close", lambda _: self.fail("the page was closed"))
        self._context.on("close", lambda _: self.fail("the browser was closed"))
        if (browser := self._context.browser) is not None:
            browser.on("disconnected", lambda _: self.fail("the browser crashed"))
        self._context.on("page", self._close_stranger)
        self._page.on("dialog", lambda dialog: dialog.dismiss())
        # Navigation is answered before it happens, so that a refused one leaves the page as it is. Only documents are
        # held up here: everything else is stopped by the context's proxy, at no cost to the instrument.
        self.cdp.on("Fetch.requestPaused", self._judge)
        await self.cdp.send("Fetch.enable", {"patterns": [{"urlPattern": "*", "resourceType": "Document"}]})

    def _judge(self, event: dict[str, Any]) -> None:
        allowed = _origin_of(event["request"]["url"]) == self.origin
        request = {"requestId": event["requestId"]}
        if allowed:
            self._later(self.cdp.send("Fetch.continueRequest", request))
        else:
            self._later(self.cdp.send("Fetch.failRequest", {**request, "errorReason": "Aborted"}))

    def _close_stranger(self, page: Page) -> None:
        if page is not self._page:
            self._later(page.close())

    def _later(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(_ignoring_errors(work))
        _running.add(task)
        task.add_done_callback(_running.discard)

    def fail(self, reason: str) -> None:
        """Say that nothing can come of this page any more: whoever waits for it gets an `EnvironmentFailure`."""
        if not self._broken.done():
            self._broken.set_result(reason)

    @property
    def url(self) -> str:
        """Where the page is."""
        return self._page.url

    async def guarded(self, work: Coroutine[Any, Any, T], deadline: float = DEADLINE) -> T:
        """Await something of the browser, which never answers once the page is dead.

        Parameters
        ----------
        work : coroutine
            What to do.
        deadline : float
            Longest time, s.

        Raises
        ------
        EnvironmentFailure
            If page or browser died, answered with an error or not in time.
        """
        task = asyncio.ensure_future(work)
        try:
            either: set[asyncio.Future[Any]] = {task, self._broken}
            await asyncio.wait(either, timeout=deadline, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise EnvironmentFailure(
                self._broken.result() if self._broken.done() else f"the browser did not answer in {deadline:g} s"
            )
        except Error as error:
            reason = self._broken.result() if self._broken.done() else str(error)
            raise EnvironmentFailure(f"the browser failed: {reason}") from error
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})

    async def goto(self, path: str) -> None:
        """Open a page of the origin (``path`` begins with a slash)."""
        await self.guarded(self._page.goto(self.origin + path, wait_until="domcontentloaded"))

    async def wait_for(self, predicate: str, deadline: float = DEADLINE) -> None:
        """Wait until a JavaScript expression holds; the page looks every few milliseconds.

        Raises
        ------
        EnvironmentFailure
            If it does not hold in time, s.
        """
        look = (
            f"new Promise(done => {{ const look = () => ({predicate}) ? done(true) : setTimeout(look, 4); look(); }})"
        )

        async def until() -> None:
            while await self.evaluate(look) is not True:  # the page went away while it looked: ask the next one
                pass

        await self.guarded(until(), deadline)

    async def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression or promise in the page; None if it throws or the page is just leaving."""
        try:
            reply = await self.cdp.send(
                "Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True}
            )
        except Error as error:
            if any(words in str(error) for words in _LEAVING):
                return None
            raise
        return None if "exceptionDetails" in reply else reply["result"].get("value")

    async def fonts(self) -> str:
        """Fonts with which the page is drawn, by the browser's own account."""
        await self.cdp.send("DOM.enable")
        await self.cdp.send("CSS.enable")
        root = (await self.cdp.send("DOM.getDocument", {"depth": 0}))["root"]["nodeId"]
        query = {"nodeId": root, "selector": "body, button, label, text, output, h1"}
        nodes = (await self.cdp.send("DOM.querySelectorAll", query))["nodeIds"][:40]
        used = await asyncio.gather(*(self.cdp.send("CSS.getPlatformFontsForNode", {"nodeId": n}) for n in nodes))
        await self.cdp.send("CSS.disable")
        await self.cdp.send("DOM.disable")
        return ", ".join(sorted({font["postScriptName"] for reply in used for font in reply["fonts"]}))

    async def close(self) -> None:
        """Drop the page and its profile; may be called twice and in any state."""
        await _close(self._context)


#: Tasks that nobody awaits must be held by somebody.
_running: set[asyncio.Future[None]] = set()


async def _ignoring_errors(work: Coroutine[Any, Any, Any]) -> None:
    """For work on things that may be gone already."""
    try:
        await work
    except Error:
        return


async def _close(context: BrowserContext) -> None:
    try:
        await asyncio.wait_for(context.close(), DEADLINE)
    except (Error, TimeoutError):
        return


def _origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
