"""The runner's side of the control routes (docs/explanation/panel-protocol.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from matassay.core import EnvironmentFailure

#: Longest time for the server to answer, s: longer than the server itself waits for a page to paint.
ANSWER_DEADLINE = 120.0

BASE = "/control/sessions"


class Control:
    """Client of one instrument server.

    Parameters
    ----------
    origin : str
        Where the server listens.
    token : str
        The control token. It is sent in a header of our own requests and nowhere else.
    """

    def __init__(self, origin: str, token: str) -> None:
        self.origin = origin
        """Where the server listens."""
        self._http = httpx.AsyncClient(
            base_url=origin,
            headers={"Authorization": f"Bearer {token}"},
            timeout=ANSWER_DEADLINE,
            limits=httpx.Limits(max_connections=None),
            trust_env=False,  # a proxy for the outside must not see the token
        )

    async def create(self, instrument: str, seed: int, start: Mapping[str, Any]) -> tuple[str, str]:
        """Make a session; returns its id and the path of its page.

        Raises
        ------
        EnvironmentFailure
            If the server refuses or is gone.
        """
        body = {"instrument": instrument, "seed": seed, "start": dict(start), "mode": "benchmark"}
        reply = (await self._ask("POST", "", json=body)).json()
        return reply["session"], reply["path"]

    async def step(self, session: str, connection: str, seq: int, dt: float) -> dict[str, Any] | None:
        """Let the server handle all events up to ``seq``, move its clock by ``dt`` s, and wait until that is painted.

        Returns
        -------
        dict or None
            ``rev``, ``time`` and ``evidence``; None if that connection is gone and nothing has happened.
        """
        body = {"connection": connection, "seq": seq, "dt": dt}
        reply = await self._ask("POST", f"/{session}/step", json=body, accept=(409,))
        return None if reply.status_code == 409 else reply.json()

    async def notice(self, session: str, text: str) -> None:
        """Show a line in the panel's message area, painted when this returns."""
        await self._ask("POST", f"/{session}/notice", json={"text": text}, accept=(409,))

    async def file(self, session: str, sha256: str) -> bytes:
        """Bytes of a saved file."""
        return (await self._ask("GET", f"/{session}/files/{sha256}")).content

    async def delete(self, session: str) -> None:
        """End a session; a server that is gone is no error."""
        try:
            await self._http.request("DELETE", f"{BASE}/{session}")
        except httpx.HTTPError:
            return

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _ask(self, method: str, path: str, *, json: Any = None, accept: tuple[int, ...] = ()) -> httpx.Response:
        try:
            reply = await self._http.request(method, BASE + path, json=json)
        except httpx.HTTPError as error:
            raise EnvironmentFailure(f"the instrument server does not answer: {error!r}") from error
        if not reply.is_success and reply.status_code not in accept:
            raise EnvironmentFailure(f"the instrument server answered {reply.status_code}: {reply.text[:500]}")
        return reply
