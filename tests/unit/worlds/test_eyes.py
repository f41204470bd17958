"""Looking at the page: what is asked of Playwright's insides."""

from __future__ import annotations

from playwright._impl.cdp_session import CDPSession

from matassay.worlds.browser import _eyes


def test_replies_are_not_looked_through_with_the_pinned_playwright() -> None:
    assert _eyes._takes(CDPSession) == ("method", "params", "timeout")


async def test_they_are_where_its_insides_are_others() -> None:
    class Session:
        async def send(self, method: str, params: dict[str, int]) -> object:
            return method, params

    assert await _eyes.ask(Session(), "DOM.enable", {"depth": 0}) == ("DOM.enable", {"depth": 0})  # type: ignore[arg-type]
