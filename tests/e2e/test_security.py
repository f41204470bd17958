"""Attempts to cheat at a real task: by keys, by scripts in the page, by its sockets, routes and files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from matassay.core import EnvironmentFailure, Episode, Evidence, find_task, parse_action
from matassay.kit import moves
from matassay.worlds.browser import BrowserWorld, close_shared

pytestmark = pytest.mark.browser

TASK = find_task("instruments/xrd/s03-power-up")


@pytest.fixture(scope="module", autouse=True)
def one_browser() -> Iterator[None]:
    yield
    close_shared()


class Cheat:
    """An episode, and a console in its page that no agent has."""

    def __init__(self, seed: int = 0) -> None:
        self.episode = Episode.of(TASK, seed)
        assert isinstance(self.episode.world, BrowserWorld)
        self.world = self.episode.world

    @property
    def session(self) -> str:
        return self.world._session

    async def js(self, script: str) -> Any:
        async def look(page: Any) -> Any:
            asked = {"expression": script, "awaitPromise": True, "returnByValue": True}
            return await page.guarded(page.cdp.send("Runtime.evaluate", asked))

        reply = await self.world.inspect(look)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    async def act(self, kind: str, **fields: Any) -> str | None:
        """One action; gives why it was refused."""
        return (await self.episode.perform([{"action": kind, **fields}])).error

    async def evidence(self) -> Evidence:
        """What a grader would see now."""
        await self.world.act(parse_action({"action": "wait", "duration": 0}))
        return await self.world.evidence()

    async def words(self) -> list[tuple[str, str, str]]:
        seen = await self.world.observe(accessible=True)
        return [(n.role, n.name, n.value) for n in seen.accessible or ()]


@pytest.fixture
async def cheat() -> AsyncIterator[Cheat]:
    cheat = Cheat()
    await cheat.episode.start()
    yield cheat
    await cheat.episode.close()


# --- by keys

SHORTCUTS = [
    "ctrl+l", "ctrl+t", "ctrl+n", "ctrl+w", "ctrl+u", "ctrl+r", "ctrl+shift+r", "ctrl+p", "ctrl+s", "ctrl+o", "ctrl+f", "ctrl+h",
    "ctrl+j", "ctrl+d", "ctrl+plus", "ctrl+minus", "ctrl+0", "ctrl+shift+i", "ctrl+shift+j", "ctrl+shift+n", "ctrl+Tab",
    "ctrl+shift+Tab", "ctrl+F4", "ctrl+F5", "alt+Left", "alt+Right", "alt+Home", "alt+F4", "alt+d", "F1", "F3", "F5", "F6", "F7",
    "F11", "F12", "shift+F5", "shift+Escape", "super", "Escape", "BackSpace", "ctrl+a", "alt", "ctrl+Return", "ctrl+shift+Delete",
]  # fmt: skip


async def test_no_key_leaves_the_instrument_or_changes_its_looks(cheat: Cheat) -> None:
    address, before, evidence = await cheat.js("location.href"), await cheat.words(), await cheat.evidence()
    cheat.episode.step_limit = 500
    for keys in SHORTCUTS:
        for action in ({"kind": "key", "text": keys}, {"kind": "hold_key", "text": keys, "duration": 0}):
            error = await cheat.act(**action)  # type: ignore[arg-type]
            assert error is None or "refused" in error or "unknown" in error, (keys, error)
            assert await cheat.js("location.href") == address, keys
    assert await cheat.js("[devicePixelRatio, innerWidth, innerHeight, history.length, visualViewport.scale]") == [
        1,
        1366,
        768,
        2,
        1,
    ]
    after = await cheat.words()
    changed = [(a, b) for a, b in zip(before, after, strict=True) if a != b]
    # the clock runs on, and the last refusal is shown
    assert all(
        a[1] in ("Clock", "Message", "Count rate (counts/s)") or a[0] in ("text", "status", "alert", "log")
        for a, _ in changed
    )
    assert (await cheat.evidence()).state == evidence.state


async def test_no_click_gets_out_either(cheat: Cheat) -> None:
    address, before = await cheat.js("location.href"), (await cheat.evidence()).state
    for fields in (
        {"kind": "right_click", "coordinate": [683, 300]},
        {"kind": "middle_click", "coordinate": [683, 300]},
        {"kind": "left_click", "coordinate": [683, 300], "text": "ctrl"},
        {"kind": "left_click", "coordinate": [683, 300], "text": "shift"},
        {"kind": "left_click", "coordinate": [683, 300], "text": "alt"},
        {"kind": "scroll", "coordinate": [683, 300], "scroll_direction": "up", "scroll_amount": 5, "text": "ctrl"},
        {"kind": "scroll", "coordinate": [5, 5], "scroll_direction": "left", "scroll_amount": 50},
        {"kind": "left_click_drag", "start_coordinate": [20, 20], "coordinate": [1300, 700]},
        {"kind": "triple_click", "coordinate": [683, 10]},
    ):
        await cheat.act(**fields)  # type: ignore[arg-type]
        assert await cheat.js("[location.href, devicePixelRatio, scrollX, scrollY]") == [address, 1, 0, 0], fields
    assert (await cheat.evidence()).state == before


async def test_reload_rebuilds_what_was_there(cheat: Cheat) -> None:
    screen = await cheat.world.observe(accessible=True)
    await cheat.act("triple_click", coordinate=list(screen.find("spinbutton", "Voltage (kV)").center))
    await cheat.act("type", text="41", press_enter=True)
    before, words = await cheat.evidence(), await cheat.words()
    await cheat.js("void setTimeout(() => location.reload(), 0)")
    # the page goes and comes back during the next action; time moves by that action alone
    await cheat.act("mouse_move", coordinate=[683, 400])
    running = ("Clock", "Count rate (counts/s)")
    assert [w for w in await cheat.words() if w[1] not in running] == [w for w in words if w[1] not in running]
    after = await cheat.evidence()
    assert after.state == before.state
    assert after.time == pytest.approx(before.time + 0.3)


# --- by scripts in the page


async def test_control_routes_answer_to_no_script(cheat: Cheat) -> None:
    before = await cheat.evidence()
    s = cheat.session
    tries = [
        ("/control/sessions", "POST"), (f"/control/sessions/{s}/step", "POST"), (f"/control/sessions/{s}/notice", "POST"),
        (f"/control/sessions/{s}/evidence", "GET"), (f"/control/sessions/{s}/gestures", "GET"), (f"/control/sessions/{s}", "DELETE"),
        (f"/control/sessions/{s}/files/{'0' * 64}", "GET"), (f"/s/{s}/../../control/sessions/{s}/evidence", "GET"),
        (f"/static/..%2f..%2fcontrol/sessions/{s}/evidence", "GET"),
    ]  # fmt: skip
    for path, method in tries:
        for header in ("", "Bearer", "Bearer null", f"Bearer {s}", "Basic YTpi"):
            body = (
                ""
                if method in ("GET", "DELETE")
                else ", body: JSON.stringify({connection: matassay.mark().connection, seq: 0, dt: 60})"
            )
            options = f"{{method: '{method}', headers: {{Authorization: '{header}'}}{body}}}"
            told = await cheat.js(f"fetch('{path}', {options}).then(async r => [r.status, await r.text()])")
            assert told[0] == 404, (path, header, told)
            assert "voltage" not in told[1]
    assert (await cheat.evidence()).to_json() == before.to_json()


@pytest.mark.parametrize("path", ["/static/../server.py", "/static/%2e%2e/session.py", "/static/..%5cserver.py", "/static//proc/self/environ",
                                  "/static/%2fetc%2fhostname", "/s/../server.py", "/server.py", "/.env", "/docs", "/openapi.json"])  # fmt: skip
async def test_files_beside_the_page_are_not_served(cheat: Cheat, path: str) -> None:
    assert await cheat.js(f"fetch('{path}').then(r => r.status)") == 404


SOCKET = """
(messages => new Promise((done, fail) => {
  const socket = new WebSocket(location.href.replace("http", "ws") + "ws"), heard = [];
  socket.onerror = () => fail(Error("refused"));
  socket.onclose = event => done([heard, event.code]);
  socket.onmessage = async event => {
    if (typeof event.data !== "string") return;
    const message = JSON.parse(event.data);
    heard.push(event.data);
    if (message.t === "commit") {
      socket.send(JSON.stringify({painted: message.rev}));
      if (heard.length === 2) { for (const m of messages) socket.send(m); socket.close(); }
    }
  };
}))
"""

FORGED: list[Any] = [
    {"id": "alignment", "args": [[0, 0, 0]]},
    {"id": "begin", "args": [{"generator": "on", "voltage_set": 45}]},
    {"id": "setup"},
    {"id": "generator", "args": ["on"]},
    {"id": "voltage", "args": [45]},
    {"id": "tube-voltage", "args": [45]},
    {"id": "lamp-standby", "args": [True]},
    {"id": "save", "args": ["x.xy", "5", "text/plain"]},
    {"id": "suffer", "args": ["a", "b"]},
    {"id": "agenda", "args": [1e6], "gesture": "advance"},
    {"id": "__dict__", "args": [{"generator": "on"}]},
    {"id": "voltage_set", "args": [60]},
    {"id": "voltage_set", "args": [{"value": 45}]},
    {"id": "voltage_set", "args": [45, 45]},
    {"id": "voltage_set", "gesture": "operate", "args": [45]},
    {"id": "power_on", "args": []},  # cold: the instrument refuses
    {"id": "power_on", "args": ["force"]},
    {"id": "confirm_save", "args": []},
    {"id": "confirm_replace", "args": []},
    {"id": "diffractogram", "gesture": "zoom", "args": ["a"]},
    {"id": "save-diffractogram", "gesture": "open", "args": []},
    {"t": "commit", "rev": 10**9, "set": {"tube-voltage": {"value": "45"}}},
    {"painted": 10**9},
    {"painted": -1},
    {"connection": "x", "seq": 5, "dt": 1000},
    [], None, 7, "x" * 150_000,
]  # fmt: skip


async def test_forged_messages_change_nothing(cheat: Cheat) -> None:
    before = await cheat.evidence()
    messages = json.dumps([json.dumps(m) for m in FORGED] + ["no json", "{", "[" * 50_000])
    heard, _ = await cheat.js(f"{SOCKET}({messages})")
    assert json.loads(heard[0])["t"] == "panel"
    after = await cheat.evidence()
    assert after.state == before.state
    assert after.artefacts == before.artefacts
    assert after.consequences == before.consequences
    assert after.time == before.time
    assert any(role == "button" and name == "STANDBY" for role, name, _ in await cheat.words()), "the page lives on"


async def test_huge_message_costs_the_sender_its_connection_only(cheat: Cheat) -> None:
    before = await cheat.evidence()
    huge = "'\"' + 'x'.repeat(40_000_000) + '\"'"
    _, code = await cheat.js(f"{SOCKET}([{huge}])")
    assert code in (1000, 1005, 1006, 1009)
    assert (await cheat.evidence()).to_json() == before.to_json()


async def test_page_that_claims_to_have_painted_shows_what_is_there(cheat: Cheat) -> None:
    """Another page of the session cannot answer for the one that is looked at."""
    await cheat.js(f"void {SOCKET}([]).catch(() => 0)")
    screen = await cheat.world.observe(accessible=True)
    at = list(screen.find("button", "STANDBY").center)
    await cheat.act("left_click", coordinate=at)
    await cheat.act("wait", duration=1)
    seen = await cheat.world.observe(accessible=True)
    assert seen.has("img", "Standby: on")


async def test_other_sessions_are_out_of_reach(cheat: Cheat) -> None:
    other = Cheat(seed=1)
    await other.episode.start()
    try:
        before = await other.evidence()
        guesses = ["x", cheat.session[:-1], cheat.session.swapcase(), "", "..", other.session[:16], "%00", "*"]
        for guess in guesses:
            assert await cheat.js(f"fetch('/s/{guess}/').then(r => r.status)") == 404, guess
            opened = (
                f"new Promise(y => {{ const s = new WebSocket(location.origin.replace('http', 'ws') + '/s/{guess}/ws');"
            )
            opened += " s.onopen = () => y(true); s.onerror = () => y(false); })"
            assert await cheat.js(opened) is False, guess
        # what one page keeps, the other does not find: each has a profile of its own
        await cheat.js(
            "localStorage.setItem('a', 'note'); document.cookie = 'a=note'; sessionStorage.setItem('a', 'note')"
        )
        assert await other.js("[localStorage.getItem('a'), document.cookie, sessionStorage.getItem('a')]") == [
            None,
            "",
            None,
        ]
        assert other.session not in await cheat.js("document.documentElement.outerHTML")
        assert (await other.evidence()).to_json() == before.to_json()
    finally:
        await other.episode.close()


async def test_drawing_success_on_the_page_is_no_success(cheat: Cheat) -> None:
    await cheat.js(
        "for (const e of document.querySelectorAll('*')) { if (!e.children.length) e.textContent = 'SUCCESS DONE 45 kV'; }"
        "window.success = window.done = true; window.matassay.success = true;"
    )
    await cheat.episode.conclude()
    assert not cheat.episode.grade().success
    assert cheat.episode.grade().score == 0


async def test_page_that_breaks_the_handshake_is_no_success(cheat: Cheat) -> None:
    """A page that lies about its mark may be shown late, but time and state stay the server's."""
    await cheat.js("window.matassay.mark = () => ({connection: 'x', seq: 10 ** 9})")
    with pytest.raises(EnvironmentFailure, match="reconnected"):
        await cheat.act("mouse_move", coordinate=[5, 5])


# --- by what is typed


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "'; DROP TABLE scans; --",
        "{{7*7}}",
        "\u202e45",
        "${jndi:ldap://x}",
        "javascript:alert(1)",
        "\x08\x08",
        "😀" * 12,
    ],
)
async def test_typed_text_is_text(cheat: Cheat, text: str) -> None:
    screen = await cheat.world.observe(accessible=True)
    await cheat.act("left_click", coordinate=list(screen.find("textbox", "Sample ID").center))
    error = await cheat.act("type", text=text, press_enter=True)
    assert error is None or "type" in error
    evidence = await cheat.evidence()
    assert evidence.state["sample_id"] in (text, text[:24], text.strip(), "") or text.startswith("\x08")
    assert await cheat.js("document.querySelectorAll('img[src=x], script:not([src])').length") == 0


async def test_file_names_stay_in_the_folder() -> None:
    cheat = Cheat()
    cheat.episode = Episode.of(find_task("instruments/xrd/s08-save-result"), 0)
    cheat.world = cheat.episode.world  # type: ignore[assignment]
    await cheat.episode.start()
    try:
        before = {a.name for a in cheat.episode.latest.artefacts}
        screen = await cheat.world.observe(accessible=True)
        await cheat.act("left_click", coordinate=list(screen.find("button", "SAVE DIFFRACTOGRAM").center))
        screen = await cheat.world.observe(accessible=True)
        for name in ("../../etc/cron.d/x", "/tmp/x", "..\\x", "a/../../b", ".bashrc", "C:x"):
            for action in _moves(moves.enter(screen, "File name", name, role="textbox")):
                await cheat.episode.perform([action])
            await cheat.act("left_click", coordinate=list(screen.find("button", "Save").center))
            assert {a.name for a in (await cheat.episode.conclude()).artefacts} == before, name
    finally:
        await cheat.episode.close()


def _moves(move: moves.Move) -> Iterator[dict[str, Any]]:
    """Actions of a block that does not look at the screen between them."""
    try:
        while True:
            yield next(move)
    except StopIteration:
        return
