"""Server and sessions over real sockets on the loopback, with a page made of Python."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
import websockets

from matassay.kit.server import MAX_SESSIONS, make_app
from matassay.kit.session import FLOATS, GREY, JPEG, encode

from .toaster import INSTRUMENTS

TOKEN = "a-control-token-for-tests"
DEADLINE = 60.0


@pytest.fixture(scope="module")
async def port() -> AsyncIterator[int]:
    config = uvicorn.Config(make_app(INSTRUMENTS, TOKEN), port=0, log_level="warning", ws="websockets-sansio")
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    async with asyncio.timeout(DEADLINE):
        while not server.started:
            await asyncio.sleep(0)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


@pytest.fixture
async def runner(port: int) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=DEADLINE, verify=False
    ) as client:
        yield client


@pytest.fixture
async def stranger(port: int) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=DEADLINE, verify=False) as client:
        yield client


class Page:
    """What the renderer does on the wire."""

    def __init__(self, socket: websockets.ClientConnection) -> None:
        self.socket = socket
        self.seq = 0
        self.shown: dict[str, dict[str, Any]] = {}
        self.frames: list[bytes] = []

    async def receive(self) -> Any:
        async with asyncio.timeout(DEADLINE):
            return await self.socket.recv()

    async def hello(self) -> None:
        self.panel = json.loads(await self.receive())
        self.connection = self.panel["connection"]
        assert self.panel["t"] == "panel"
        await self.commit()

    async def commit(self, paint: bool = True) -> dict[str, Any]:
        """Apply what comes up to the next commit; gives what it set."""
        frames = []
        while isinstance(message := await self.receive(), bytes):
            frames.append(message)
        commit = json.loads(message)
        assert commit["t"] == "commit"
        assert commit["frames"] == len(frames)
        self.frames += frames
        for id, props in commit["set"].items():
            self.shown.setdefault(id, {}).update(props)
        self.rev, self.heard = commit["rev"], commit["seq"]
        if paint:
            await self.paint()
        changed: dict[str, Any] = commit["set"]
        return changed

    async def paint(self) -> None:
        await self.socket.send(json.dumps({"painted": self.rev}))

    async def send(self, id: Any, *args: Any, **more: Any) -> None:
        self.seq += 1
        await self.socket.send(json.dumps({"seq": self.seq, "id": id, "args": list(args), **more}))


async def make(runner: httpx.AsyncClient, **body: Any) -> str:
    answer = await runner.post(
        "/control/sessions", json={"instrument": "toaster", "seed": 1, "start": {}, "mode": "benchmark"} | body
    )
    assert answer.status_code == 201, answer.text
    session = str(answer.json()["session"])
    assert answer.json()["path"] == f"/s/{session}/"
    assert len(session) == 32
    return session


@asynccontextmanager
async def page(port: int, session: str, query: str = "", **more: Any) -> AsyncIterator[Page]:
    async with websockets.connect(f"ws://127.0.0.1:{port}/s/{session}/ws{query}", **more) as socket:
        page = Page(socket)
        await page.hello()
        yield page


def ask(runner: httpx.AsyncClient, session: str, page: Page, dt: float = 0.0) -> asyncio.Task[httpx.Response]:
    body = {"connection": page.connection, "seq": page.seq, "dt": dt}
    return asyncio.create_task(runner.post(f"/control/sessions/{session}/step", json=body))


async def step(runner: httpx.AsyncClient, session: str, page: Page, dt: float = 0.0) -> dict[str, Any]:
    asked = ask(runner, session, page, dt)
    await page.commit()
    answer = await asked
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert told["rev"] == page.rev
    return told


# --- the settled handshake


async def test_step_handles_moves_time_commits_and_waits_for_the_paint(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.send("level", 2.0)
        await p.send("push")
        asked = ask(runner, session, p, dt=1.5)
        changed = await p.commit(paint=False)
        assert changed["level"]["value"] == 2.0
        assert changed["hot"] == {"lit": True}
        assert p.heard == 2
        evidence = (await runner.get(f"/control/sessions/{session}/evidence")).json()
        assert evidence["state"]["energy"] == 1.5
        assert not asked.done(), "the page has not painted"
        await p.paint()
        told = (await asked).json()
        assert told["time"] == 1.5
        assert told["evidence"]["state"] == {"hot": True, "toasted": 0, "energy": 1.5, "level": 2.0}


async def test_step_waits_for_the_events_before_it(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        p.seq = 1
        asked = ask(runner, session, p)  # the runner was faster than the page's message
        await runner.get(f"/control/sessions/{session}/evidence")
        assert not asked.done()
        p.seq = 0
        await p.send("level", 5.0)
        await p.commit()
        assert (await asked).json()["evidence"]["state"]["level"] == 5.0


async def test_nothing_is_shown_between_steps(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        before = p.rev
        for value in (2.0, 3.0, 4.0):
            await p.send("level", value)
        await step(runner, session, p)
        assert p.rev == before + 1


async def test_paint_that_is_claimed_ahead_does_not_count(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.socket.send(json.dumps({"painted": 10**9}))
        asked = ask(runner, session, p)
        await p.commit(paint=False)
        await runner.get(f"/control/sessions/{session}/evidence")
        assert not asked.done()
        await p.paint()
        assert (await asked).status_code == 200


async def test_page_that_is_not_connected_is_a_conflict(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        pass
    assert (await ask(runner, session, p)).status_code == 409
    p.connection = "nonsense"
    assert (await ask(runner, session, p)).status_code == 409
    evidence = (await runner.get(f"/control/sessions/{session}/evidence")).json()
    assert evidence["time"] == 0.0


async def test_time_moves_once_when_the_page_leaves_in_the_middle(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        asked = ask(runner, session, p, dt=2.0)
        await p.commit(paint=False)
    assert (await asked).status_code == 409
    async with page(port, session) as q:
        assert (await step(runner, session, q, dt=2.0))["time"] == 2.0
        assert (await step(runner, session, q, dt=2.0))["time"] == 4.0


async def test_page_that_does_not_paint_is_a_time_out(
    port: int, runner: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("matassay.kit.session.PAINT_DEADLINE", 0.05)
    session = await make(runner)
    async with page(port, session) as p:
        asked = ask(runner, session, p)
        await p.commit(paint=False)
        answer = await asked
        assert (answer.status_code, answer.json()) == (504, {"error": "the page did not paint in time"})


async def test_notice_is_painted_when_it_is_answered(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        asked = asyncio.create_task(
            runner.post(f"/control/sessions/{session}/notice", json={"text": "Refused: " + "x" * 999})
        )
        changed = await p.commit(paint=False)
        assert changed["message"]["value"].startswith("Refused: xxx")
        assert len(changed["message"]["value"]) == 300
        assert not asked.done()
        await p.paint()
        assert (await asked).status_code == 200


# --- pages


async def test_commit_holds_what_changed_and_what_was_touched(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.send("slots", 99)  # refused: the old value must show again
        asked = ask(runner, session, p)
        changed = await p.commit()
        await asked
        assert changed == {
            "slots": {"value": 2, "enabled": True},
            "message": {"value": "Slots: 99 is outside 1 to 4", "level": "warning"},
        }


async def test_page_that_comes_back_gets_everything(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.send("bread", "rye")
        await p.send("pages", 1, gesture="select")
        await p.send("push")
        await step(runner, session, p, dt=10.0)
        before, first = p.shown, p.connection
    async with page(port, session) as q:
        assert q.connection != first
        assert q.shown == before
        assert q.shown["bread"]["value"] == "rye"
        assert q.shown["pages"]["selected"] == 1
        assert len(q.frames) == 2
        assert q.panel["tree"] == p.panel["tree"]
        assert (await step(runner, session, q))["time"] == 10.0


async def test_all_pages_of_a_session_show_the_same(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p, page(port, session) as q:
        await p.commit()  # of q's joining
        await p.send("level", 6.0)
        asked = ask(runner, session, p)
        await p.commit()
        await q.commit()
        assert (await asked).status_code == 200
        assert q.shown == p.shown
        assert q.shown["level"]["value"] == 6.0
        assert q.heard == 0


async def test_frames_are_sent_when_they_change(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p, page(port, session, "?codec=jpeg") as q:
        await p.commit()
        headers = [struct.unpack_from("<HBxHHI", f) for f in p.frames]
        assert [(codec, w, h) for _, codec, w, h, _ in headers] == [(GREY, 6, 4), (FLOATS, 2, 2)]
        assert struct.unpack_from("<HBxHHI", q.frames[0])[1] == JPEG
        assert q.frames[0][12:14] == b"\xff\xd8"
        p.frames.clear()
        asked = ask(runner, session, p, dt=1.0)
        await p.commit()
        await q.commit()
        await asked
        assert p.frames == []


def test_encoding() -> None:
    grey = encode(3, np.array([[1, 2, 3]], dtype=np.uint8), 7, jpeg=False)
    assert grey == struct.pack("<HBxHHI", 3, GREY, 3, 1, 7) + b"\x01\x02\x03"
    colour = encode(0, np.zeros((2, 1, 3), dtype=np.uint8), 2**32 + 5, jpeg=False)
    assert struct.unpack_from("<HBxHHI", colour) == (0, 2, 1, 2, 5)
    assert len(colour) == 12 + 6
    floats = encode(1, np.array([[0.5, np.nan]], dtype=np.float64), 1, jpeg=False)
    assert floats[12:16] == struct.pack("<f", 0.5)
    assert np.isnan(np.frombuffer(floats[16:], "<f4")[0])


# --- what should not come from a page

FORGED = {
    "hidden truth": '{"seq": 1, "id": "wear", "args": [1]}',
    "a method": '{"seq": 1, "id": "begin", "args": [{}]}',
    "no JSON": "push",
    "a list": "[1, 2]",
    "a number": "7",
    "nothing": "",
    "not a number": '{"seq": 1, "id": "level", "args": [NaN]}',
    "half a character": '{"seq": 1, "id": "bread", "args": ["\\ud800"]}',
    "an id that is a list": '{"seq": 1, "id": ["push"], "args": []}',
    "a gesture that is an object": '{"seq": 1, "id": "window", "gesture": {"a": 1}}',
    "arguments that are none": '{"seq": 1, "id": "push", "args": null}',
    "very deep": '{"seq": 1, "id": "push", "args": ' + "[" * 20_000 + "]" * 20_000 + "}",
    "very long": '{"seq": 1, "id": "note", "args": ["' + "a" * 200_000 + '"]}',
    "very many digits": '{"seq": 1, "id": "level", "args": [' + "9" * 4000 + "]}",
    "too many digits": '{"seq": 1, "id": "level", "args": [' + "9" * 9000 + "]}",
    "a huge sequence number": '{"seq": 1e300, "id": "wear"}',
    "a negative sequence number": '{"seq": -5, "id": "wear"}',
}


@pytest.mark.parametrize("what", FORGED)
async def test_forged_message_is_refused_on_the_panel_and_changes_nothing(
    port: int, runner: httpx.AsyncClient, what: str
) -> None:
    session = await make(runner)
    before = (await runner.get(f"/control/sessions/{session}/evidence")).json()
    async with page(port, session) as p:
        await p.socket.send(FORGED[what])
        told = await step(runner, session, p)
        assert told["evidence"] == before
        assert p.shown["message"]["level"] == "warning"
        assert p.heard <= 1
        # the session is alive and well
        p.seq = 1
        await p.send("level", 4.0)
        assert (await step(runner, session, p))["evidence"]["state"]["level"] == 4.0


async def test_binary_message_ends_the_connection_and_not_the_session(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.socket.send(b"\x00\x01")
        with pytest.raises(websockets.ConnectionClosed):
            await p.receive()
    async with page(port, session) as q:
        assert (await step(runner, session, q))["time"] == 0.0


async def test_message_that_is_both_event_and_paint_is_an_event(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.send("level", 6.0, painted=10**6)
        assert (await step(runner, session, p))["evidence"]["state"]["level"] == 6.0


# --- who may do what

CONTROL = [
    ("POST", "/control/sessions"),
    ("POST", "/control/sessions/{s}/step"),
    ("POST", "/control/sessions/{s}/notice"),
    ("GET", "/control/sessions/{s}/evidence"),
    ("GET", "/control/sessions/{s}/gestures"),
    ("GET", "/control/sessions/{s}/files/" + "0" * 64),
    ("DELETE", "/control/sessions/{s}"),
]


@pytest.mark.parametrize(("method", "path"), CONTROL)
@pytest.mark.parametrize(
    "auth", [None, "", "Bearer", "Bearer wrong", TOKEN[:-1], "Basic " + TOKEN, f"Bearer  {TOKEN}", "Bearer ü"]
)
async def test_control_routes_do_not_exist_without_the_token(
    runner: httpx.AsyncClient, stranger: httpx.AsyncClient, method: str, path: str, auth: str | None
) -> None:
    session = await make(runner)
    headers = [] if auth is None else [(b"Authorization", auth.encode("latin-1"))]
    answer = await stranger.request(
        method, path.format(s=session), headers=headers, json={} if method == "POST" else None
    )
    assert (answer.status_code, answer.content) == (404, b"")
    assert (await runner.get(f"/control/sessions/{session}/evidence")).status_code == 200


async def test_token_is_not_taken_from_anywhere_else(runner: httpx.AsyncClient, stranger: httpx.AsyncClient) -> None:
    session = await make(runner)
    for how in (
        {"params": {"token": TOKEN}},
        {"cookies": {"authorization": f"Bearer {TOKEN}"}},
        {"headers": {"X-Authorization": f"Bearer {TOKEN}"}},
    ):
        async with httpx.AsyncClient(base_url=stranger.base_url, verify=False, **how) as other:
            assert (await other.get(f"/control/sessions/{session}/evidence")).status_code == 404


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static//etc/passwd",
                                  "/static/....//server.py", "/server.py", "/static/index.html/../../server.py", "/s/../control/sessions"])  # fmt: skip
async def test_only_the_pages_own_files_are_served(port: int, path: str) -> None:
    # by hand: a client would tidy the path up before it sends it
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
    answer = await asyncio.wait_for(reader.read(), DEADLINE)
    writer.close()
    await writer.wait_closed()
    assert answer.split(b" ", 2)[1] in (b"404", b"405"), answer[:200]
    assert b"make_app" not in answer


async def test_page_needs_the_sessions_name(runner: httpx.AsyncClient, stranger: httpx.AsyncClient) -> None:
    session = await make(runner)
    there = await stranger.get(f"/s/{session}/")
    assert there.status_code == 200
    assert "frame-ancestors 'none'" in there.headers["content-security-policy"]
    assert there.headers["cache-control"] == "no-store"
    assert TOKEN not in there.text
    for guess in (session[:-1], session + "a", session.swapcase(), "x"):
        assert (await stranger.get(f"/s/{guess}/")).status_code == 404


@pytest.mark.parametrize("origin", ["http://example.org", "http://127.0.0.1:1", "null", "file://", "https://127.0.0.1"])
async def test_socket_is_for_pages_of_the_same_origin(port: int, runner: httpx.AsyncClient, origin: str) -> None:
    session = await make(runner)
    with pytest.raises(websockets.InvalidStatus, match="403"):
        await websockets.connect(f"ws://127.0.0.1:{port}/s/{session}/ws", origin=origin)  # type: ignore[arg-type]
    async with page(port, session, origin=f"http://127.0.0.1:{port}"):
        pass


async def test_socket_of_an_unknown_session_is_refused(port: int) -> None:
    with pytest.raises(websockets.InvalidStatus, match="403"):
        await websockets.connect(f"ws://127.0.0.1:{port}/s/nonsense/ws")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ([], "body: a JSON object"),
        ({"instrument": "kettle"}, "instrument: 'kettle' is not one of"),
        ({"instrument": ["toaster"]}, "instrument:"),
        ({"seed": "1"}, "seed: an integer"),
        ({"seed": True}, "seed: an integer"),
        ({"start": []}, "start: an object"),
        ({"mode": "fast"}, "mode:"),
        ({"start": {"wear": 1}}, "start: Toaster: start state names 'wear'"),
        ({"start": {"level": 99}}, "start: Level: 99 is outside"),
        ({"instrument": "broken"}, "start: out of stock"),
        ({"speed": -1}, "speed: a number from 0"),
    ],
)
async def test_session_that_cannot_be_made_is_explained(runner: httpx.AsyncClient, body: Any, text: str) -> None:
    usual = {"instrument": "toaster", "seed": 1, "start": {}, "mode": "benchmark"}
    answer = await runner.post("/control/sessions", json=usual | body if isinstance(body, dict) else body)
    assert answer.status_code == 400
    assert text in answer.json()["error"]


@pytest.mark.parametrize(
    "body", [{"dt": -1}, {"dt": "1"}, {"dt": None}, {"dt": 1e9}, {"dt": True}, {"seq": 1.5}, {"connection": 5}]
)
async def test_step_that_does_not_fit_is_explained(runner: httpx.AsyncClient, body: dict[str, Any]) -> None:
    session = await make(runner)
    answer = await runner.post(
        f"/control/sessions/{session}/step", json={"connection": "x", "seq": 0, "dt": 0.0} | body
    )
    assert answer.status_code == 400
    assert next(iter(body)) in answer.json()["error"]


async def test_body_that_is_no_json_is_explained(runner: httpx.AsyncClient) -> None:
    answer = await runner.post("/control/sessions", content=b"\xff{")
    assert (answer.status_code, answer.json()["error"]) == (400, "body: a JSON object is expected")


def test_token_must_be_long() -> None:
    with pytest.raises(ValueError, match="at least 16 characters"):
        make_app(INSTRUMENTS, "short")


# --- several at once, and the end


async def test_sessions_of_a_process_do_not_touch(port: int, runner: httpx.AsyncClient) -> None:
    one, two = await make(runner, seed=1), await make(runner, seed=2, start={"level": 5.0})
    async with page(port, one) as p, page(port, two) as q:
        await p.send("level", 2.0)
        await p.send("push")
        told = await step(runner, one, p, dt=3.0)
        assert told["evidence"]["state"] == {"hot": False, "toasted": 1, "energy": 2.0, "level": 2.0}
        digest = told["evidence"]["artefacts"][0]["sha256"]
        other = await step(runner, two, q)
        assert other["evidence"]["state"] == {"hot": False, "toasted": 0, "energy": 0.0, "level": 5.0}
        assert other["time"] == 0.0
        assert (await runner.get(f"/control/sessions/{one}/files/{digest}")).content == b"brown\n"
        assert (await runner.get(f"/control/sessions/{two}/files/{digest}")).status_code == 400
        # a page's name is good for its own session only
        p.seq = 0
        assert (await ask(runner, two, p)).status_code == 409


async def test_deleted_session_is_gone(port: int, runner: httpx.AsyncClient, stranger: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        assert (await runner.delete(f"/control/sessions/{session}")).status_code == 200
        with pytest.raises(websockets.ConnectionClosed) as closed:
            await p.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
    assert (await stranger.get(f"/s/{session}/")).status_code == 404
    assert (await runner.get(f"/control/sessions/{session}/evidence")).json() == {"error": "no such session"}
    assert (await runner.delete(f"/control/sessions/{session}")).status_code == 200


async def test_number_of_sessions_is_bounded(runner: httpx.AsyncClient) -> None:
    app = make_app(INSTRUMENTS, TOKEN)
    transport = httpx.ASGITransport(app)
    body = {"instrument": "toaster", "seed": 1, "start": {}, "mode": "benchmark"}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=runner.headers) as client:
        made = [(await client.post("/control/sessions", json=body)).json()["session"] for _ in range(MAX_SESSIONS)]
        answer = await client.post("/control/sessions", json=body)
        assert (answer.status_code, answer.json()["error"]) == (400, f"there are {MAX_SESSIONS} sessions already")
        await client.delete(f"/control/sessions/{made[0]}")
        assert (await client.post("/control/sessions", json=body)).status_code == 201
        for session in [*made[1:], (await client.post("/control/sessions", json=body)).json().get("session")]:
            await client.delete(f"/control/sessions/{session}")
    async with app.router.lifespan_context(app):
        pass  # ends what is left


# --- human mode


async def test_time_follows_the_wall_for_people(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner, mode="human", speed=1000.0)
    async with page(port, session) as p:
        clocks = []
        while len(clocks) < 3:
            changed = await p.commit()
            if "clock" in changed:
                clocks.append(float(changed["clock"]["value"]))
        assert clocks == sorted(set(clocks))
        assert clocks[-1] > 10.0
    await runner.delete(f"/control/sessions/{session}")


async def test_people_see_every_event_at_once_and_it_is_recorded(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner, mode="human", speed=0.0)
    async with page(port, session) as p:
        await p.send("level", 5.0, at=[10, 20])
        while p.shown["level"]["value"] != 5.0:
            await p.commit()
        await p.send("level", 99)
        await p.socket.send('{"seq": 3, "id": "level", "args": [NaN]}')
        await p.socket.send('{"seq": 4, "id": "bread", "args": ["\\ud800"]}')
        p.seq = 4
        while p.heard < 4:
            await p.commit()
    gestures = (await runner.get(f"/control/sessions/{session}/gestures")).json()["gestures"]
    assert [(g["n"], g["id"], g["args"]) for g in gestures] == [
        (0, "level", [5.0]), (1, "level", [99]), (2, "level", "[nan]"), (3, "bread", "['\\ud800']"),
    ]  # fmt: skip
    assert gestures[0]["at"] == [10, 20]
    assert gestures[0]["refused"] is None
    assert "outside" in gestures[1]["refused"]
    later = await runner.get(f"/control/sessions/{session}/gestures", params={"since": 3})
    assert [g["n"] for g in later.json()["gestures"]] == [3]
    await runner.delete(f"/control/sessions/{session}")


async def test_benchmark_records_no_gestures(port: int, runner: httpx.AsyncClient) -> None:
    session = await make(runner)
    async with page(port, session) as p:
        await p.send("level", 5.0)
        await step(runner, session, p)
    assert (await runner.get(f"/control/sessions/{session}/gestures")).json() == {"gestures": []}
