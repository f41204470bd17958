"""The browser world in a real browser: what the agent does arrives, what it must not reach it cannot, nothing leaks."""

from __future__ import annotations

import asyncio
import http.server
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from matassay.core import SCREEN, EnvironmentFailure, InvalidAction, Observation, parse_action
from matassay.worlds.browser import BrowserWorld, close_shared, release_shared

pytestmark = pytest.mark.browser

INSTRUMENTS = "tests.e2e.probe:INSTRUMENTS"
ROOT = Path(__file__).parents[2]

# Listens to what the browser gives the page; `event.target` is left out, so that only the input itself counts.
LISTEN = """
window.seen = [];
for (const type of ["pointerdown", "pointermove", "pointerup", "click", "dblclick", "auxclick", "contextmenu", "wheel"])
  addEventListener(type, e => seen.push([type, e.clientX, e.clientY, e.button, e.detail,
    (e.ctrlKey ? "c" : "") + (e.shiftKey ? "s" : "") + (e.altKey ? "a" : ""), e.deltaX ?? 0, e.deltaY ?? 0]), true);
for (const type of ["keydown", "keyup"])
  addEventListener(type, e => seen.push([type, e.key, e.code, e.repeat, e.isTrusted]), true);
"""


@pytest.fixture(scope="module", autouse=True)
def one_browser() -> Iterator[None]:
    """All tests of this file share a browser, and leave none behind."""
    yield
    close_shared()


@pytest.fixture(scope="module", autouse=True)
def importable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The server is a child process: it must find the test instrument."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
        yield


def probe(seed: int = 3, **more: Any) -> BrowserWorld:
    return BrowserWorld("probe", seed=seed, instruments=INSTRUMENTS, **more)


@pytest.fixture
async def world() -> AsyncIterator[BrowserWorld]:
    w = probe(time_scale=10.0)
    await w.start()
    yield w
    await w.close()


async def act(world: BrowserWorld, kind: str, **fields: Any) -> None:
    await world.act(parse_action({"action": kind, **fields}))


async def act_until_it_breaks(world: BrowserWorld) -> None:
    while True:
        await act(world, "left_click", coordinate=[300, 300])


async def state(world: BrowserWorld) -> dict[str, Any]:
    return dict((await world.evidence()).state)


async def evaluate(world: BrowserWorld, script: str) -> Any:
    """Run a script in the page, as no agent can; promises are awaited."""
    page = world._page
    assert page is not None
    work = page.cdp.send("Runtime.evaluate", {"expression": script, "awaitPromise": True, "returnByValue": True})
    reply = await world._host.call(work)
    assert "exceptionDetails" not in reply, reply
    return reply["result"].get("value")


async def seen(world: BrowserWorld, *types: str) -> list[list[Any]]:
    """Events since the last call."""
    events = await evaluate(world, "seen.splice(0)")
    return [e for e in events if not types or e[0] in types]


async def look(world: BrowserWorld) -> Observation:
    return await world.observe(accessible=True)


async def camera(world: BrowserWorld) -> tuple[float, float]:
    """Top left pixel of the image on the screen (it is drawn with a border of 0 or 1 pixel)."""
    x, y, width, height = (await look(world)).find("application", "Camera").box
    return x + (width - 640) / 2, y + (height - 480) / 2


# --- what is done arrives


@pytest.mark.parametrize("point", [(10, 12), (333, 222), (639, 479)])
async def test_click_arrives_at_the_pixel(world: BrowserWorld, point: tuple[int, int]) -> None:
    x, y = await camera(world)
    await act(world, "left_click", coordinate=[x + point[0], y + point[1]])
    kind, got_x, got_y = (await state(world))["heard"][-1]
    assert kind == "click"
    assert (got_x, got_y) == pytest.approx(point, abs=0.51)


async def test_every_mouse_action_is_the_one_that_was_asked_for(world: BrowserWorld) -> None:
    await evaluate(world, LISTEN)
    await act(world, "left_click", coordinate=[400, 300])
    assert await seen(world) == [
        ["pointermove", 400, 300, -1, 0, "", 0, 0],
        ["pointerdown", 400, 300, 0, 0, "", 0, 0],
        ["pointerup", 400, 300, 0, 0, "", 0, 0],
        ["click", 400, 300, 0, 1, "", 0, 0],
    ]
    await act(world, "left_click", coordinate=[401, 300], text="ctrl+shift")
    assert [e[5] for e in await seen(world, "pointerdown", "click")] == ["cs", "cs"]
    await act(world, "right_click", coordinate=[402, 300])
    assert [e[:4] for e in await seen(world, "pointerdown", "contextmenu")] == [
        ["pointerdown", 402, 300, 2],
        ["contextmenu", 402, 300, 2],
    ]
    await act(world, "middle_click", coordinate=[403, 300])
    assert [e[:4] for e in await seen(world, "auxclick")] == [["auxclick", 403, 300, 1]]
    await act(world, "double_click", coordinate=[404, 300])
    assert [(e[0], e[4]) for e in await seen(world, "click", "dblclick")] == [
        ("click", 1),
        ("click", 2),
        ("dblclick", 2),
    ]
    await act(world, "triple_click", coordinate=[405, 300])
    assert [e[4] for e in await seen(world, "click")] == [1, 2, 3]
    await act(world, "mouse_move", coordinate=[410, 310])
    assert [e[:3] for e in await seen(world)] == [["pointermove", 410, 310]]
    await act(world, "left_click")
    assert (await seen(world, "click"))[0][1:3] == [410, 310], "without a coordinate: where the pointer is"


async def test_a_drag_arrives_point_by_point(world: BrowserWorld) -> None:
    await evaluate(world, LISTEN)
    path = [[200 + 3 * i, 200 + (i * 7) % 50] for i in range(40)]
    await act(world, "left_click_drag", start_coordinate=[190, 190], path=path, coordinate=[350, 260])
    events = await seen(world, "pointerdown", "pointermove", "pointerup")
    moves = [e[1:3] for e in events if e[0] == "pointermove"]
    assert moves == [[190, 190], *path, [350, 260]]
    assert [e[0] for e in events if e[0] != "pointermove"] == ["pointerdown", "pointerup"]
    x, y = await camera(world)
    assert (await state(world))["heard"][-1] == pytest.approx(["drag", 190 - x, 190 - y, 350 - x, 260 - y], abs=0.51)


async def test_buttons_can_be_held_and_released_apart(world: BrowserWorld) -> None:
    x, y = await camera(world)
    await act(world, "left_mouse_down", coordinate=[x + 50, y + 50])
    with pytest.raises(InvalidAction, match="the left button is down"):
        await act(world, "left_click", coordinate=[300, 300])
    await act(world, "mouse_move", coordinate=[x + 90, y + 70])
    await act(world, "left_mouse_up", coordinate=[x + 150, y + 100])
    assert (await state(world))["heard"] == [pytest.approx(["drag", 50, 50, 150, 100], abs=0.51)]
    with pytest.raises(InvalidAction, match="not down"):
        await act(world, "left_mouse_up")


async def test_scrolling_in_four_directions(world: BrowserWorld) -> None:
    await evaluate(world, LISTEN)
    for direction, delta in {"up": [0, -100], "down": [0, 100], "left": [-100, 0], "right": [100, 0]}.items():
        await act(world, "scroll", coordinate=[300, 300], scroll_direction=direction, scroll_amount=2)
        assert [e[6:] for e in await seen(world, "wheel")] == [delta, delta], direction
    await act(world, "scroll", coordinate=[300, 300], scroll_direction="down", scroll_amount=1, text="ctrl")
    assert [e[5] for e in await seen(world, "wheel")] == ["c"]
    assert await evaluate(world, "visualViewport.scale * devicePixelRatio") == 1, "the page is not zoomed"
    assert sum(abs(h[1]) for h in (await state(world))["heard"]) >= 4

    box = (await look(world)).find("listbox", "Channel")
    assert not (await look(world)).has("option", "Channel 20")
    await act(world, "scroll", coordinate=list(box.center), scroll_direction="down", scroll_amount=6)
    option = (await look(world)).find("option", "Channel 20")
    await act(world, "left_click", coordinate=list(option.center))
    assert (await state(world))["channel"] == "Channel 20"


async def test_typing_and_keys(world: BrowserWorld) -> None:
    await evaluate(world, LISTEN)
    field = (await look(world)).find("textbox", "Comment").center
    await act(world, "left_click", coordinate=list(field))
    await act(world, "type", text="Ab 1!ä µ", press_enter=True)
    assert (await state(world))["comment"] == "Ab 1!ä µ"
    assert [e[1] for e in await seen(world, "keydown")][:4] == ["Shift", "A", "b", " "]
    await act(world, "key", text="ctrl+a")
    await act(world, "key", text="ctrl+C")
    await act(world, "key", text="End")
    await act(world, "key", text="ctrl+v")
    await act(world, "key", text="Return")
    assert (await state(world))["comment"] == "Ab 1!ä µ" * 2
    await act(world, "key", text="BackSpace", repeat=3)
    await act(world, "key", text="shift+Home")
    await act(world, "key", text="ctrl+x")
    await act(world, "type", text="z\n")
    assert (await state(world))["comment"] == "z"
    assert all(e[-1] for e in await seen(world, "keydown", "keyup")), "events of a real keyboard"


async def test_a_held_key_repeats_and_time_passes_before_it_is_released(world: BrowserWorld) -> None:
    await evaluate(world, LISTEN)
    before = (await world.evidence()).time
    await act(world, "hold_key", text="shift+Right", duration=1.0)
    events = await seen(world, "keydown", "keyup")
    assert [e[:2] for e in events[:2]] == [["keydown", "Shift"], ["keydown", "ArrowRight"]]
    assert sum(e[3] for e in events) == 13, "after half a second, 25 a second"
    assert [e[:2] for e in events[-2:]] == [["keyup", "ArrowRight"], ["keyup", "Shift"]]
    assert (await world.evidence()).time - before == pytest.approx(1.3)


async def test_time_moves_by_actions_only(world: BrowserWorld) -> None:
    times = [(await world.evidence()).time]
    for fields in (
        {"kind": "wait", "duration": 2.5},
        {"kind": "screenshot"},
        {"kind": "left_click", "coordinate": [300, 300]},
    ):
        await act(world, **fields)
        await world.observe()
        times.append((await world.evidence()).time)
    assert times == pytest.approx([0.0, 25.0, 25.0, 25.5])
    assert (await look(world)).find("status", "Clock (s)").value == "25.5"


async def test_looking_closer(world: BrowserWorld) -> None:
    plain = (await world.observe()).image
    assert Image.open(io.BytesIO(plain)).size == SCREEN
    await act(world, "zoom", region=[100, 100, 300, 200])
    closer = Image.open(io.BytesIO((await world.observe()).image))
    assert closer.size == SCREEN
    assert {closer.getpixel((x, y)) for x in (0, 1365) for y in (0, 41, 726, 767)} == {(128, 128, 128)}
    assert closer.getpixel((683, 42)) != (128, 128, 128)
    await act(world, "zoom", region=[0, 0, 8, 768])
    assert Image.open(io.BytesIO((await world.observe()).image)).size == SCREEN
    await act(world, "zoom", region=[0, 0, *SCREEN])
    whole = Image.open(io.BytesIO((await world.observe()).image)).convert("RGB")
    assert whole.tobytes() == Image.open(io.BytesIO(plain)).convert("RGB").tobytes()
    await act(world, "mouse_move", coordinate=[7, 760])
    await act(world, "cursor_position")
    assert (await world.observe()).text == "X=7, Y=760"


async def test_what_cannot_be_done_is_said_and_changes_nothing(world: BrowserWorld) -> None:
    await evaluate(world, LISTEN)
    before = await world.evidence()
    for kind, fields, text in (
        ("key", {"text": "flurb"}, "unknown key 'flurb'"),
        ("key", {"text": "ctrl+t"}, "shortcut of the browser"),
        ("key", {"text": "F12"}, "shortcut of the browser"),
        ("key", {"text": "alt+Left"}, "shortcut of the browser"),
        ("key", {"text": "ctrl+shift+i"}, "shortcut of the browser"),
        ("hold_key", {"text": "super", "duration": 1}, "Super key"),
        ("left_click", {"coordinate": [5, 5], "text": "q"}, "only ctrl, shift and alt"),
    ):
        with pytest.raises(InvalidAction, match=text):
            await act(world, kind, **fields)
    assert await seen(world) == []
    assert await world.evidence() == before
    await world.notify("Action refused: unknown key 'flurb'")
    assert "flurb" in (await look(world)).find("status", "Message").value


# --- what the agent sees


async def test_the_accessible_list(world: BrowserWorld) -> None:
    screen = await look(world)
    assert screen.find("button", "Save").enabled
    assert not screen.find("slider", "Locked (V)").enabled
    assert screen.find("slider", "Gain (V)").value == "1"
    assert "checked" not in screen.find("switch", "Beam").states
    assert screen.find("combobox", "Mode").value == "fast"
    assert screen.has("status", "First page")
    assert not screen.has("status", "Second page"), "on a tab that is not shown"
    assert len(screen.find_all("option")) == 6, "only rows of the list that are in sight"
    for node in screen.accessible or ():
        assert node.box[0] >= 0
        assert node.box[0] + node.box[2] <= SCREEN[0]

    await act(world, "left_click", coordinate=list(screen.find("switch", "Beam").center))
    await act(world, "left_click", coordinate=list(screen.find("tab", "Second").center))
    await act(world, "left_click", coordinate=list(screen.find("combobox", "Mode").center))
    screen = await look(world)
    assert "checked" in screen.find("switch", "Beam").states
    assert "expanded" in screen.find("combobox", "Mode").states
    assert screen.has("status", "Second page")
    await act(world, "left_click", coordinate=list(screen.find("option", "slow").center))
    assert (await state(world))["mode"] == "slow"


async def episode(seed: int) -> list[bytes]:
    world = probe(seed)
    await world.start()
    try:
        shots = [(await world.observe()).image]
        for fields in (
            {"action": "left_click", "coordinate": [200, 200]},
            {"action": "left_click", "coordinate": [1000, 80]},
            {"action": "type", "text": "same again"},
            {"action": "wait", "duration": 1},
            {"action": "left_click_drag", "start_coordinate": [100, 100], "coordinate": [300, 250]},
            {"action": "zoom", "region": [600, 0, 1366, 400]},
        ):
            await world.act(parse_action(fields))
            shots.append((await world.observe()).image)
        return shots
    finally:
        await world.close()


async def test_same_seed_and_actions_give_the_same_pixels() -> None:
    first = await episode(5)
    other = await episode(6)
    assert await episode(5) == first, "byte for byte, with another episode between"
    assert await asyncio.gather(episode(5), episode(5), episode(6)) == [first, first, other], "and beside each other"
    assert first != other


async def test_the_screen_is_settled_when_the_action_returns(world: BrowserWorld) -> None:
    for x in range(200, 260, 10):
        await act(world, "left_click", coordinate=[x, 200])
        now = (await world.observe()).image
        await evaluate(world, "new Promise(done => setTimeout(done, 150))")
        assert (await world.observe()).image == now


# --- evidence


async def test_files_and_consequences(world: BrowserWorld) -> None:
    screen = await look(world)
    await act(world, "left_click", coordinate=list(screen.find("button", "Save").center))
    await act(world, "left_click", coordinate=list(screen.find("button", "Hit the wall").center))
    evidence = await world.evidence()
    artefact = evidence.artefact("note.txt")
    assert artefact is not None
    assert artefact.data == b" at 0.0 s"
    assert [c.name for c in evidence.consequences] == ["collision"]
    assert {"browser", "playwright", "screen", "fonts"} <= set(evidence.versions)


# --- what cannot be reached


class Stranger(http.server.BaseHTTPRequestHandler):
    """Another server on the same machine."""

    def do_GET(self) -> None:
        self.server.visits.append(self.path)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<h1>elsewhere</h1>")

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def stranger() -> Iterator[http.server.ThreadingHTTPServer]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger) as server:
        server.visits = []  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


async def test_the_page_reaches_its_instrument_only(world: BrowserWorld, stranger: Any) -> None:
    port = stranger.server_port
    assert world._page is not None
    # The page's own content policy would refuse all this as well: this is about what holds if it did not.
    await world._host.call(world._page.cdp.send("Page.setBypassCSP", {"enabled": True}))
    await world._host.call(world._enter(world._page))
    attempts = {
        "fetch": f"fetch('http://127.0.0.1:{port}/a', {{mode: 'no-cors'}})",
        "localhost": f"fetch('http://localhost:{port}/b', {{mode: 'no-cors'}})",
        "file": "fetch('file:///etc/passwd', {mode: 'no-cors'})",
        "outside": "fetch('http://example.com/', {mode: 'no-cors'})",
        "socket": f"new Promise((y, n) => {{ const s = new WebSocket('ws://127.0.0.1:{port}/c');"
        " s.onopen = y; s.onerror = () => n(Error('refused')); })",
        "image": f"new Promise((y, n) => {{ const i = new Image(); i.onload = y; i.onerror = () => n(Error('refused'));"
        f" i.src = 'http://127.0.0.1:{port}/d'; }})",
        "worker": "new Promise((y, n) => { const w = new Worker(URL.createObjectURL(new Blob([`fetch("
        f"'http://127.0.0.1:{port}/e', {{mode: 'no-cors'}}).then(() => postMessage(1), () => postMessage(0))`])));"
        " w.onmessage = m => m.data ? y() : n(Error('refused')); w.onerror = () => n(Error('refused')); })",
    }
    for name, script in attempts.items():
        outcome = await evaluate(world, f"({script}).then(() => 'reached', e => String(e))")
        assert "Error" in outcome, name
    assert stranger.visits == []
    own = await evaluate(world, "fetch('/static/main.js').then(r => r.status)")
    assert own == 200, "what belongs to the instrument still loads"


async def test_the_page_cannot_be_left(world: BrowserWorld, stranger: Any) -> None:
    page = world._page
    assert page is not None
    home = page.url
    elsewhere = f"http://127.0.0.1:{stranger.server_port}/"
    for target in (elsewhere, "file:///etc/passwd", f"view-source:{home}", "data:text/html,hi", "chrome://version"):
        await evaluate(world, f"location.href = {json.dumps(target)}")
        await act(world, "wait", duration=0)
        assert page.url == home, target
    for target in (elsewhere, "/static/main.js"):
        await evaluate(world, f"window.open({json.dumps(target)})")
        await evaluate(
            world,
            f"(() => {{ const a = document.createElement('a'); a.href = {json.dumps(target)}; a.target = '_blank';"
            " a.textContent = 'out'; a.style = 'position:fixed;z-index:9;left:0;top:0;font-size:60px';"
            " document.body.append(a); })()",
        )
        for fields in ({"action": "left_click"}, {"action": "middle_click"}, {"action": "left_click", "text": "ctrl"}):
            await world.act(parse_action({**fields, "coordinate": [20, 30]}))
            assert page.url == home
    assert len(page._context.pages) == 1
    assert stranger.visits == []


async def test_a_page_that_was_left_or_reloaded_comes_back_with_its_state(world: BrowserWorld) -> None:
    x, y = await camera(world)
    await act(world, "left_click", coordinate=[x + 5, y + 5])
    for leave in ("location.reload()", "location.href = 'about:blank'", "history.back()"):
        await evaluate(world, f"void setTimeout(() => {{ {leave} }}, 0)")
        await act(world, "left_click", coordinate=[x + 9, y + 9])
        await act(world, "left_click", coordinate=[x + 9, y + 9])
        assert (await look(world)).has("application", "Camera"), leave
    assert len((await state(world))["heard"]) >= 4


async def test_control_routes_and_truth_are_out_of_reach(world: BrowserWorld) -> None:
    secret = (await state(world))["secret"]
    session = world._session
    for path, options in (
        (f"/control/sessions/{session}/evidence", "{}"),
        (f"/control/sessions/{session}/evidence", "{headers: {Authorization: 'Bearer '}}"),
        (f"/control/sessions/{session}/step", "{method: 'POST', body: '{\"dt\": 9}'}"),
        ("/control/sessions", "{method: 'POST', body: '{}'}"),
    ):
        status = await evaluate(world, f"fetch({json.dumps(path)}, {options}).then(r => r.status)")
        assert status in (401, 403, 404), path
    server = world._server
    assert server is not None
    token = server.control._http.headers["authorization"].removeprefix("Bearer ")
    assert len(token) >= 32
    html = await evaluate(world, "document.documentElement.outerHTML + JSON.stringify(Object.keys(window))")
    places = [html, world._page.url if world._page else ""]
    for pid in family(os.getpid()):
        places += [Path(f"/proc/{pid}/{n}").read_bytes().decode(errors="replace") for n in ("cmdline", "environ")]
    for place in places:
        assert token not in place
        assert f"{secret:.2f}" not in place


async def test_clipboards_of_episodes_are_apart(world: BrowserWorld) -> None:
    other = probe(4)
    await other.start()
    try:
        for w, text in ((world, "of the first"), (other, "")):
            field = (await look(w)).find("textbox", "Comment").center
            await act(w, "left_click", coordinate=list(field))
            if text:
                await act(w, "type", text=text)
                await act(w, "key", text="ctrl+a")
                await act(w, "key", text="ctrl+c")
            else:
                await act(w, "key", text="ctrl+v")
                await act(w, "middle_click", coordinate=list(field))
            await act(w, "key", text="Return")
        assert (await state(world))["comment"] == "of the first"
        assert (await state(other))["comment"] == ""
    finally:
        await other.close()


# --- what breaks is the environment's fault


async def test_a_crashed_page_is_an_environment_failure(world: BrowserWorld) -> None:
    assert world._page is not None
    crash = asyncio.ensure_future(world._host.call(world._page.cdp.send("Page.crash")))
    with pytest.raises(EnvironmentFailure, match="crash"):
        await act_until_it_breaks(world)
    crash.cancel()
    with pytest.raises(EnvironmentFailure):
        await world.observe()
    fresh = probe()
    await fresh.start()
    await fresh.close()


async def test_a_dead_server_is_an_environment_failure() -> None:
    world = probe()
    await world.start()
    assert world._server is not None
    os.kill(world._server.child.pid, signal.SIGKILL)
    with pytest.raises(EnvironmentFailure, match="instrument server"):
        await act_until_it_breaks(world)
    await world.close()
    fresh = probe()
    await fresh.start()
    assert fresh._server is not world._server
    await fresh.close()


async def test_a_dead_browser_is_an_environment_failure() -> None:
    world = probe()
    await world.start()
    for pid in family(os.getpid()):  # not Debian's script around the program
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        if b"--remote-debugging-pipe" in command and b"/bin/sh" not in command and b"--type=" not in command:
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(EnvironmentFailure):
        await act_until_it_breaks(world)
    await world.close()
    fresh = probe()
    await fresh.start()
    await fresh.close()


async def test_a_dead_driver_is_an_environment_failure() -> None:
    world = probe()
    await world.start()
    (driver,) = (pid for pid in family(os.getpid()) if b"run-driver" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(driver, signal.SIGKILL)
    with pytest.raises(EnvironmentFailure):
        await act_until_it_breaks(world)
    await world.close()
    for _ in range(2):
        fresh = probe()
        await fresh.start()
        await fresh.close()


async def test_a_driver_that_dies_between_two_episodes_is_replaced() -> None:
    for _ in range(2):
        world = probe()
        await world.start()
        await world.close()
        (driver,) = (pid for pid in family(os.getpid()) if b"run-driver" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(driver, signal.SIGKILL)
    await world.start()
    await world.close()


async def test_what_is_let_go_ends_and_is_started_again_when_needed() -> None:
    for _ in range(2):
        world = probe()
        await world.start()
        await world.close()
        release_shared()
    for thread in threading.enumerate():
        if thread.name == "matassay-closing":
            thread.join()
    commands = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family(os.getpid())[1:]]
    assert not [c for c in commands if b"kit.serve" in c or b"run-driver" in c]


async def test_what_cannot_start_says_why() -> None:
    with pytest.raises(EnvironmentFailure, match="'nonesuch' is not one of"):
        await BrowserWorld("nonesuch", seed=0, instruments=INSTRUMENTS).start()
    with pytest.raises(EnvironmentFailure, match=r"did not start(.|\n)*No module named 'no_such_module'"):
        await BrowserWorld("probe", seed=0, instruments="no_such_module:X").start()
    unstarted = probe()
    with pytest.raises(EnvironmentFailure, match="not open"):
        await unstarted.observe()
    await unstarted.close()
    await unstarted.close()


RUNNER = """
import asyncio, sys
from matassay.worlds.browser import BrowserWorld
async def main():
    world = BrowserWorld("probe", seed=0, instruments="tests.e2e.probe:INSTRUMENTS")
    await world.start()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""


@pytest.mark.parametrize("end", ["kill -9", "without a close"])
def test_nothing_outlives_the_runner(end: str) -> None:
    argv = [sys.executable, "-W", "error::ResourceWarning", "-c", RUNNER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(argv, text=True, cwd=ROOT, **pipes) as runner:
        assert runner.stdout is not None
        assert runner.stdout.readline() == "ready\n"
        children = family(runner.pid)
        assert len(children) > 3
        if end == "kill -9":
            runner.kill()
            runner.wait()
        else:
            _, errors = runner.communicate(timeout=60)
            assert (runner.returncode, errors) == (0, "")
    deadline = time.monotonic() + 60
    while left := [pid for pid in children if alive(pid)]:
        assert time.monotonic() < deadline, [Path(f"/proc/{pid}/cmdline").read_bytes()[:200] for pid in left]
        threading.Event().wait(0.02)


def family(root: int) -> list[int]:
    """All descendants of a process."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(stat.rsplit(")", 1)[1].split()[1]), []).append(int(entry.name))
    found, todo = [], [root]
    while todo:
        found += parents.get(todo[-1], [])
        todo += parents.get(todo.pop(), [])
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False
