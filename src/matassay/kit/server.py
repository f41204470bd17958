"""The web server: pages behind unguessable session tokens, control routes behind a token that no page ever sees."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from .desk import Factory
from .session import NotPainted, PageGone, Session

STATIC = Path(__file__).parent / "static"
TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css"}
MAX_SESSIONS = 256
MAX_STEP = 1e7

#: The page may load its own modules and talk to its own socket, nothing else.
POLICY = "default-src 'self'; img-src 'self' blob: data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class BadRequest(Exception):
    """A control request that does not fit; the text names the field."""


def make_app(instruments: Mapping[str, Factory], control_token: str) -> Starlette:
    """Make the application.

    Parameters
    ----------
    instruments : mapping
        Name to factory.
    control_token : str
        Secret for the control routes; at least 16 characters.
    """
    if len(control_token) < 16:
        raise ValueError("control_token: at least 16 characters are needed")
    sessions: dict[str, Session] = {}
    # a page asks for all of them at once: from memory that costs a quarter of what the file system does
    assets = {f.name: f.read_bytes() for f in STATIC.iterdir() if f.suffix[1:] in TYPES}

    def control(handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            given = request.headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), control_token.encode()):
                return Response(status_code=404)  # as if there were no such route
            try:
                return await handler(request)
            except BadRequest as error:
                return JSONResponse({"error": str(error)}, 400)
            except PageGone:
                return JSONResponse({"error": "that page is not connected (any more): read mark() again"}, 409)
            except NotPainted:
                return JSONResponse({"error": "the page did not paint in time"}, 504)

        return guarded

    def session_of(request: Request) -> Session:
        session = sessions.get(request.path_params["session"])
        if session is None:
            raise BadRequest("no such session")
        return session

    @control
    async def create(request: Request) -> Response:
        body = await _json(request)
        name, seed, start, mode = (body.get(k) for k in ("instrument", "seed", "start", "mode"))
        if not isinstance(name, str) or name not in instruments:
            raise BadRequest(f"instrument: {name!r} is not one of {sorted(instruments)}")
        if type(seed) is not int:
            raise BadRequest(f"seed: an integer is expected, got {seed!r}")
        if not isinstance(start, dict) or mode not in ("benchmark", "human"):
            raise BadRequest("start: an object, mode: 'benchmark' or 'human' are expected")
        speed = _seconds(body, "speed", 1.0, 1e4)
        if len(sessions) >= MAX_SESSIONS:
            raise BadRequest(f"there are {MAX_SESSIONS} sessions already")
        try:
            instrument = instruments[name](seed, start)
        except Exception as error:
            raise BadRequest(f"start: {error}") from error
        id = secrets.token_urlsafe(24)
        sessions[id] = Session(instrument, human=mode == "human", speed=speed)
        return JSONResponse({"session": id, "path": f"/s/{id}/"}, 201)

    @control
    async def step(request: Request) -> Response:
        session, body = session_of(request), await _json(request)
        connection, seq = body.get("connection"), body.get("seq")
        if not isinstance(connection, str) or type(seq) is not int:
            raise BadRequest("connection: text, seq: an integer are expected")
        rev = await session.step(connection, seq, _seconds(body, "dt", None, MAX_STEP))
        return JSONResponse({"rev": rev, "time": session.desk.instrument.now, "evidence": session.desk.evidence()})

    @control
    async def notice(request: Request) -> Response:
        session, body = session_of(request), await _json(request)
        await session.notice(str(body.get("text", ""))[:300])
        return JSONResponse({})

    @control
    async def evidence(request: Request) -> Response:
        return JSONResponse(session_of(request).desk.evidence())

    @control
    async def file(request: Request) -> Response:
        for artefact in session_of(request).desk.instrument.files:
            if artefact.sha256 == request.path_params["sha256"]:
                return Response(artefact.data, media_type="application/octet-stream")
        raise BadRequest("no such file")

    @control
    async def gestures(request: Request) -> Response:
        since = request.query_params.get("since", "0")
        return JSONResponse({"gestures": session_of(request).gestures[int(since) if since.isdigit() else 0 :]})

    @control
    async def delete(request: Request) -> Response:
        session = sessions.pop(request.path_params["session"], None)
        if session is not None:
            await session.close()
        return JSONResponse({})

    async def page(request: Request) -> Response:
        if request.path_params["session"] not in sessions:
            return Response("No such session", 404, headers=HEADERS)
        return Response(assets["index.html"], media_type="text/html", headers=HEADERS)

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in assets:
            return Response(status_code=404)
        return Response(assets[name], media_type=TYPES[name.rpartition(".")[2]], headers=HEADERS)

    async def socket(ws: WebSocket) -> None:
        session = sessions.get(ws.path_params["session"])
        origin = ws.headers.get("origin")
        # a page of another origin that learned the token still may not operate the instrument
        if session is None or (origin is not None and urlsplit(origin).netloc != ws.headers.get("host")):
            await ws.close(1008)
            return
        await session.serve(ws)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for session in sessions.values():
            await session.close()

    base = "/control/sessions/{session}"
    return Starlette(
        routes=[
            Route("/static/{name}", asset),
            Route("/s/{session}/", page),
            WebSocketRoute("/s/{session}/ws", socket),
            Route("/control/sessions", create, methods=["POST"]),
            Route(base + "/step", step, methods=["POST"]),
            Route(base + "/notice", notice, methods=["POST"]),
            Route(base + "/evidence", evidence),
            Route(base + "/gestures", gestures),
            Route(base + "/files/{sha256}", file),
            Route(base, delete, methods=["DELETE"]),
        ],
        lifespan=lifespan,
    )


def _seconds(body: dict[str, Any], field: str, default: float | None, limit: float) -> float:
    value = body.get(field, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= limit:
        raise BadRequest(f"{field}: a number from 0 to {limit:g} is expected, got {value!r}")
    return float(value)


async def _json(request: Request) -> dict[str, Any]:
    try:
        body = await request.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        raise BadRequest("body: a JSON object is expected")
    return body
