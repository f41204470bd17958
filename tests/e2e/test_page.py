"""The instrument page in a real browser: every widget by mouse, wheel and keyboard, and all that may go wrong."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import re
import shutil
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import numpy as np
import pytest
import uvicorn
import websockets
from PIL import Image
from playwright.async_api import Browser, BrowserContext, CDPSession, Locator, Page, WebSocketRoute, async_playwright

from matassay.kit.server import STATIC, make_app

from .gallery import IMAGE, INSTRUMENTS, Gallery

pytestmark = pytest.mark.browser

TOKEN = "a-control-token-for-tests"
VIEWPORT = {"width": 1366, "height": 768}
DEADLINE = 60.0
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-partial-raster",
    "--disable-background-networking",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--disable-lcd-text",
]


class Proxy:
    """A wire between page and server that can be cut."""

    def __init__(self, port: int) -> None:
        self.target, self.port, self.cut = port, 0, False
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.drop()
        self._server.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop(self) -> None:
        """Cut every connection that there is now."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        if self.cut:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self._writers |= {writer, back}
        await asyncio.gather(self._pipe(reader, back), self._pipe(there, writer), return_exceptions=True)
        for end in (writer, back):
            self._writers.discard(end)
            end.close()

    @staticmethod
    async def _pipe(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while data := await source.read(65536):
                sink.write(data)
                await sink.drain()
        finally:
            sink.close()


async def until(holds: Callable[[], Awaitable[Any]], what: str) -> None:
    """Ask again and again until the answer is true."""
    try:
        async with asyncio.timeout(DEADLINE):
            while not await holds():
                pass
    except TimeoutError:
        pytest.fail(f"waited {DEADLINE} s for: {what}")


class Desk:
    """A page on a session, with the runner's side at hand."""

    def __init__(self, page: Page, cdp: CDPSession, client: httpx.AsyncClient, session: str) -> None:
        self.page, self.cdp, self.client, self.session = page, cdp, client, session
        self.mouse, self.keys = page.mouse, page.keyboard
        self.complaints: list[str] = []
        page.on("pageerror", lambda e: self.complaints.append(str(e)))
        page.on("console", lambda m: self.complaints.append(m.text) if m.type in ("error", "warning") else None)

    async def step(self, dt: float = 0.0) -> dict[str, Any]:
        """The settled handshake; gives the instrument's state."""
        mark = await self.page.evaluate("matassay.mark()")
        answer = await self.client.post(f"/control/sessions/{self.session}/step", json={**mark, "dt": dt})
        assert answer.status_code == 200, answer.text
        state: dict[str, Any] = answer.json()["evidence"]["state"]
        return state

    async def painted(self) -> None:
        await until(lambda: self.page.evaluate("window.matassay?.connected && matassay.painted > 0"), "the first paint")

    async def heard(self) -> list[list[Any]]:
        heard: list[list[Any]] = (await self.step())["heard"]
        return heard

    def get(self, role: Any, name: str, exact: bool = True) -> Locator:
        return self.page.get_by_role(role, name=name, exact=exact)

    async def box(self, target: Locator) -> tuple[float, float, float, float]:
        box = await target.bounding_box()
        assert box is not None, f"{target} is not on the screen"
        return box["x"], box["y"], box["width"], box["height"]

    async def middle(self, target: Locator) -> tuple[float, float]:
        x, y, width, height = await self.box(target)
        return x + width / 2, y + height / 2

    async def wheel(self, target: Locator, clicks: int) -> None:
        await self.mouse.move(*await self.middle(target))
        await self.mouse.wheel(0, 100 * clicks)

    async def drag(self, start: tuple[float, float], end: tuple[float, float], moves: int = 4) -> None:
        await self.mouse.move(*start)
        await self.mouse.down()
        await self.mouse.move(*end, steps=moves)
        await self.mouse.up()

    async def shot(self) -> bytes:
        answer = await self.cdp.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        return base64.b64decode(answer["data"])

    async def ax(self) -> list[dict[str, Any]]:
        """Accessibility tree: role, name, properties, box (of what is on the screen)."""
        nodes = (await self.cdp.send("Accessibility.getFullAXTree"))["nodes"]
        out = []
        for node in nodes:
            if node["ignored"]:
                continue
            out.append(
                {
                    "role": node["role"]["value"],
                    "name": node.get("name", {}).get("value", ""),
                    "backend": node.get("backendDOMNodeId"),
                    **{p["name"]: p["value"].get("value") for p in node.get("properties", [])},
                }
            )
        return out

    async def centre(self, backend: int) -> tuple[float, float]:
        quad = (await self.cdp.send("DOM.getBoxModel", {"backendNodeId": backend}))["model"]["border"]
        return (quad[0] + quad[4]) / 2, (quad[1] + quad[5]) / 2


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        await browser.close()


@pytest.fixture
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    context = await browser.new_context(viewport=VIEWPORT, device_scale_factor=1)
    context.set_default_timeout(DEADLINE * 1000)
    yield context
    await context.close()


@pytest.fixture
async def client(port: int) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30) as client:
        yield client


async def new_session(client: httpx.AsyncClient, instrument: str = "gallery", **body: Any) -> str:
    body = {"instrument": instrument, "seed": 1, "start": {}, "mode": "benchmark"} | body
    return str((await client.post("/control/sessions", json=body)).json()["session"])


async def open_page(
    context: BrowserContext, client: httpx.AsyncClient, session: str, port: int = 0, query: str = ""
) -> Desk:
    page = await context.new_page()
    desk = Desk(page, await context.new_cdp_session(page), client, session)
    await page.goto(f"http://127.0.0.1:{port or client.base_url.port}/s/{session}/{query}")
    await desk.painted()
    return desk


@pytest.fixture
async def desk(context: BrowserContext, client: httpx.AsyncClient) -> AsyncIterator[Desk]:
    session = await new_session(client)
    desk = await open_page(context, client, session)
    await desk.step()
    yield desk
    await client.delete(f"/control/sessions/{session}")
    # whatever a test did, the page must not have complained: no exception, no blocked style, no bad message
    assert desk.complaints == []


# --- the page as a whole


async def test_it_fills_the_window_and_does_not_scroll(desk: Desk) -> None:
    size = await desk.page.evaluate(
        "(() => { const e = document.documentElement, p = document.querySelector('#panel');"
        "return [e.scrollWidth, e.scrollHeight, p.scrollWidth - p.clientWidth, p.scrollHeight - p.clientHeight,"
        "p.getBoundingClientRect().bottom]; })()"
    )
    assert size == [1366, 768, 0, 0, 768]
    await desk.mouse.move(600, 300)
    for _ in range(3):
        await desk.mouse.wheel(0, 600)
    assert await desk.page.evaluate("[scrollX, scrollY]") == [0, 0]


async def test_nothing_moves_when_values_change(desk: Desk) -> None:
    boxes = (
        "[...document.querySelectorAll('#panel [data-id]')].map(e => { const r = e.getBoundingClientRect();"
        "return [e.dataset.id, r.x, r.y, r.width, r.height]; })"
    )
    before = await desk.page.evaluate(boxes)
    await desk.get("button", "Emergency off").click()
    await desk.get("button", "X-rays on").click()
    await desk.get("tab", "Control").click()
    await desk.step(31.4)
    await desk.get("switch", "Lock panel").click()
    await desk.step()
    assert await desk.page.evaluate(boxes) == before


async def test_every_control_has_a_role_and_a_name(desk: Desk) -> None:
    roles = {
        "button", "switch", "combobox", "listbox", "slider", "spinbutton", "textbox", "tab", "image", "application",
        "option", "img", "RootWebArea",
    }  # fmt: skip
    for tab in ("Peaks", "Control"):
        await desk.get("tab", tab).click()
        await desk.step()
        controls = [n for n in await desk.ax() if n.get("focusable")]
        assert len(controls) > 25
        for control in controls:
            assert control["role"] in roles, control
            assert control["name"].strip(), control
    names = {(n["role"], n["name"]) for n in await desk.ax()}
    for expected in [
        ("spinbutton", "Tube voltage (kV)"),
        ("button", "Increase Tube voltage"),
        ("button", "Decrease Tube voltage"),
        ("slider", "Focus (mm)"),
        ("spinbutton", "Focus value (mm)"),
        ("slider", "Stigmator X (%)"),
        ("combobox", "Detector"),
        ("listbox", "Specimen"),
        ("switch", "Door"),
        ("image", "X-rays: off"),
        ("image", "Ready: on"),
        ("status", "Voltage (kV)"),
        ("status", "Message"),
        ("progressbar", "Scan"),
        ("image", "Diffraction pattern"),
        ("application", "Live image"),
    ]:
        assert expected in names, expected


async def test_nothing_is_left_to_the_browser(desk: Desk) -> None:
    """What a browser draws outside the page is not in a screenshot."""
    native = "select, datalist, [title], input:not([type=text]), input[list], video, audio, iframe"
    assert await desk.page.evaluate(f"document.querySelectorAll('{native}').length") == 0
    entries = await desk.page.evaluate(
        "[...document.querySelectorAll('input')].map(e => [e.autocomplete, e.spellcheck, getComputedStyle(e).caretColor])"
    )
    assert entries
    assert all(e == ["off", False, "rgba(0, 0, 0, 0)"] for e in entries)
    for source in STATIC.glob("*.js"):
        text = source.read_text()
        assert not re.search(r"\b(alert|confirm|prompt)\(|\beval\(|new Function|innerHTML", text), source.name
        assert "://" not in text.replace("http://www.w3.org/2000/svg", ""), f"{source.name} names a foreign address"


async def test_all_of_it_is_small_and_arrives_once(desk: Desk) -> None:
    assert sum(f.stat().st_size for f in STATIC.iterdir()) < 115_000
    loaded = await desk.page.evaluate(
        "performance.getEntriesByType('resource').map(e => new URL(e.name).pathname).filter(p => p.startsWith('/static/'))"
    )
    assert sorted(loaded) == sorted(f"/static/{f.name}" for f in STATIC.iterdir() if f.name != "index.html")


async def test_tab_reaches_everything_in_order(desk: Desk) -> None:
    ids = []
    for _ in range(60):
        await desk.keys.press("Tab")
        at = await desk.page.evaluate(
            "(() => { const e = document.activeElement, s = getComputedStyle(e), l = e.closest('.scroller') ?? e;"
            "return e === document.body ? null : [e.dataset.focus ?? e.role ?? e.tagName,"
            " s.outlineStyle !== 'none' || getComputedStyle(l).outlineStyle !== 'none']; })()"
        )
        if at is None:
            break
        assert at[1], f"{at[0]} has the focus and does not show it"
        ids.append(at[0])
    bound = [
        "tube_voltage",
        "door",
        "xrays_on",
        "emergency",
        "specimen",
        "carousel/a",
        "start_angle",
        "frames",
        "comment",
    ]
    bound += [
        "detector",
        "filter",
        "diffraction-pattern",
        "live-image",
        "focus",
        "contrast-slider",
        "stigmator",
        "bottom",
    ]
    assert [i for i in ids if i in bound] == bound


# --- numbers and text


async def test_number_by_typing(desk: Desk) -> None:
    field = desk.get("spinbutton", "Start angle (deg)")
    await field.click()
    await desk.keys.type("31.5")
    assert (await desk.step())["start_angle"] == 20.0, "half typed"
    assert await field.input_value() == "31.5", "a commit must not disturb typing"
    await desk.keys.press("Enter")
    assert (await desk.step())["start_angle"] == 31.5
    assert await field.input_value() == "31.50"
    await desk.keys.type("44")  # Enter left the text selected
    await desk.get("spinbutton", "Frames").click()
    assert (await desk.step())["start_angle"] == 44
    await field.click()
    await desk.keys.type("99")
    await desk.keys.press("Escape")
    await desk.get("spinbutton", "Frames").click()
    assert (await desk.step())["start_angle"] == 44
    assert await field.input_value() == "44.00"


@pytest.mark.parametrize("typed", ["abc", "", "1e999", "0x10", "200", "-5", "NaN"])
async def test_number_refuses_nonsense(desk: Desk, typed: str) -> None:
    field = desk.get("spinbutton", "Start angle (deg)")
    await field.fill(typed)
    await field.press("Enter")
    state = await desk.step()
    assert (state["start_angle"], state["level"]) == (20.0, "warning")
    assert "Start angle" in state["message"]
    assert await field.input_value() == "20.00"
    assert "Start angle" in await desk.get("status", "Message").inner_text()


async def test_number_by_buttons_keys_and_wheel(desk: Desk) -> None:
    field = desk.get("spinbutton", "Tube voltage (kV)")
    for _ in range(3):  # before any commit: they add up
        await desk.get("button", "Increase Tube voltage").click()
    assert (await desk.step())["tube_voltage"] == 45
    await desk.get("button", "Decrease Tube voltage").click()
    await desk.keys.press("ArrowDown")  # the field has the focus now
    assert (await desk.step())["tube_voltage"] == 35
    await desk.wheel(field, -1)
    assert (await desk.step())["tube_voltage"] == 40
    await desk.wheel(field, 3)
    assert (await desk.step())["tube_voltage"] == 25
    angle = desk.get("spinbutton", "Start angle (deg)")
    await angle.focus()
    for key in ("PageUp", "PageUp", "PageDown", "ArrowUp"):
        await desk.keys.press(key)
    assert (await desk.step())["start_angle"] == 20.11
    await angle.fill("50")
    await desk.keys.press("ArrowUp")  # typed text first, then the step
    assert (await desk.step())["start_angle"] == 50.01
    assert [h for h in await desk.heard() if h[0] == "angle"][-2:] == [["angle", 50.0], ["angle", 50.01]]


async def test_text(desk: Desk) -> None:
    field = desk.get("textbox", "Comment")
    await field.click()
    await desk.keys.type("sample 7, as received, and more")
    assert (await desk.step())["comment"] == ""
    await desk.keys.press("Enter")
    assert (await desk.step())["comment"] == "sample 7, as received, a"
    await desk.keys.press("End")
    await desk.keys.press("Backspace")
    await desk.keys.press("Tab")
    assert (await desk.step())["comment"] == "sample 7, as received,", (
        "a blank at the end, which nobody sees, is dropped"
    )


# --- switches and buttons


async def test_toggle(desk: Desk) -> None:
    switch = desk.get("switch", "Door")
    await switch.click()
    assert (await desk.step())["door"] is True
    assert await switch.get_attribute("aria-checked") == "true"
    assert await desk.get("img", "Door: on").count() == 1
    await switch.click()
    await switch.click()
    await desk.keys.press("Space")
    assert (await desk.step())["door"] is False
    assert [h for h in await desk.heard() if h[0] == "door"] == [["door", v] for v in (True, False, True, False)]


async def test_button(desk: Desk) -> None:
    button = desk.get("button", "X-rays on")
    assert await button.get_attribute("aria-pressed") == "false"
    await button.click()
    assert (await desk.step())["xrays"] is True
    assert await button.get_attribute("aria-pressed") == "true"
    await button.press("Enter")
    await button.press("Space")
    assert [h[1] for h in await desk.heard() if h[0] == "x-rays"] == [True, False, True]


async def test_what_is_locked_looks_and_acts_so(desk: Desk) -> None:
    await desk.get("tab", "Control").click()
    await desk.step()
    await desk.get("switch", "Lock panel").click()
    await desk.step()
    for role, name in [
        ("spinbutton", "Tube voltage (kV)"), ("button", "Increase Tube voltage"), ("switch", "Door"),
        ("listbox", "Specimen"), ("textbox", "Comment"), ("combobox", "Detector"), ("slider", "Focus (mm)"),
        ("spinbutton", "Focus value (mm)"), ("slider", "Stigmator X (%)"), ("button", "Start scan"),
    ]:  # fmt: skip
        target = desk.get(role, name)
        assert await target.is_disabled(), name
        await desk.mouse.click(*await desk.middle(target))
        await desk.wheel(target, -2)
        await desk.keys.press("ArrowUp")
        await desk.keys.press("Enter")
    mark = await desk.page.evaluate("matassay.mark()")
    assert mark["seq"] == 2, "the tab and the lock, nothing since"


# --- sliders and knobs


async def test_slider_by_mouse(desk: Desk) -> None:
    track = desk.page.locator("[data-id=focus] .rail")
    x, y, width, height = await desk.box(track)
    at = lambda fraction: (x + 1 + (width - 2) * fraction, y + height / 2)  # noqa: E731
    await desk.mouse.click(*at(0.75))
    assert (await desk.step())["focus"] == pytest.approx(15.5, abs=0.1)
    await desk.drag(at(0.75), at(0.25))
    assert (await desk.step())["focus"] == pytest.approx(6.5, abs=0.2)
    await desk.drag(at(0.25), (x + width + 300, y + 200))  # far outside: held at the limit
    assert (await desk.step())["focus"] == 20
    await desk.mouse.move(*at(1))
    await desk.mouse.down()
    await desk.keys.down("Shift")
    await desk.mouse.move(at(1)[0] - 100, at(1)[1], steps=4)
    await desk.mouse.up()
    await desk.keys.up("Shift")
    fine = 100 / (width - 2) * 18 * 0.1
    assert (await desk.step())["focus"] == pytest.approx(20 - fine, abs=0.06)


async def test_slider_by_wheel_keys_and_typing(desk: Desk) -> None:
    slider = desk.get("slider", "Focus (mm)")
    await desk.wheel(slider, -2)
    assert (await desk.step())["focus"] == 8.02
    await desk.keys.down("Shift")
    await desk.wheel(slider, -2)
    await desk.keys.up("Shift")
    assert (await desk.step())["focus"] == 9.02
    await slider.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowLeft", "PageUp", "PageUp", "PageDown"):
        await desk.keys.press(key)
    assert (await desk.step())["focus"] == 9.53
    await desk.keys.press("End")
    assert (await desk.step())["focus"] == 20
    await desk.keys.press("Home")
    assert (await desk.step())["focus"] == 2
    assert await slider.get_attribute("aria-valuenow") == "2"
    field = desk.get("spinbutton", "Focus value (mm)")
    await field.fill("11.237")
    await field.press("Enter")
    assert (await desk.step())["focus"] == 11.24
    assert await field.input_value() == "11.24"
    await desk.get("button", "Increase Focus").click()
    assert (await desk.step())["focus"] == 11.25


async def test_knob(desk: Desk) -> None:
    knob = desk.get("slider", "Stigmator X (%)")
    x, y = await desk.middle(knob)
    await desk.drag((x, y), (x, y - 40))  # a fifth of the range
    assert (await desk.step())["stigmator"] == 20
    await desk.drag((x, y), (x - 20, y))
    assert (await desk.step())["stigmator"] == 10
    await desk.mouse.move(x, y)
    await desk.mouse.down()
    await desk.keys.down("Shift")
    await desk.mouse.move(x, y + 40, steps=3)
    await desk.mouse.up()
    await desk.keys.up("Shift")
    assert (await desk.step())["stigmator"] == pytest.approx(8)
    await desk.mouse.click(x + 25, y)  # on the scale, at three o'clock: 90 of 135 degrees
    assert (await desk.step())["stigmator"] == pytest.approx(100 / 3, abs=2)
    await desk.drag((x + 25, y), (x - 25, y))
    assert (await desk.step())["stigmator"] == pytest.approx(-100 / 3, abs=2)
    await knob.focus()
    await desk.keys.press("Home")
    await desk.keys.press("ArrowUp")
    await desk.keys.press("PageUp")
    assert (await desk.step())["stigmator"] == -48.9
    await desk.wheel(knob, -1)
    assert (await desk.step())["stigmator"] == -48.8
    field = desk.get("spinbutton", "Stigmator X value (%)")
    await field.fill("-3.3")
    await field.press("Enter")
    assert (await desk.step())["stigmator"] == -3.3


# --- choices


async def options(desk: Desk, inside: str) -> dict[str, tuple[float, float]]:
    """Options of the open list, with their middles, as the accessibility tree has them."""
    x, y, width, height = await desk.box(desk.page.locator(inside))
    found = {}
    for node in await desk.ax():
        if node["role"] == "option":
            at = await desk.centre(node["backend"])
            if x <= at[0] <= x + width and y <= at[1] <= y + height:
                found[node["name"]] = at
    return found


async def test_select_by_coordinates(desk: Desk) -> None:
    combo = desk.get("combobox", "Detector")
    await desk.mouse.click(*await desk.middle(combo))
    await desk.step()
    assert await combo.get_attribute("aria-expanded") == "true"
    found = await options(desk, ".popup:popover-open")
    assert list(found) == ["InLens", "SE2", "BSE", "STEM"]
    await desk.mouse.click(*found["BSE"])
    assert (await desk.step())["detector"] == "BSE"
    assert await combo.get_attribute("aria-expanded") == "false"
    assert await combo.inner_text() == "BSE"
    await combo.click()
    await desk.mouse.click(600, 300)  # elsewhere: closes and chooses nothing
    assert await combo.get_attribute("aria-expanded") == "false"
    assert (await desk.step())["detector"] == "BSE"


async def test_select_that_is_long_or_low(desk: Desk) -> None:
    combo = desk.get("combobox", "Filter")
    await combo.click()
    popup = desk.page.locator(".popup:popover-open")
    x, y, width, height = await desk.box(popup)
    top = (await desk.box(combo))[1]
    assert y + height <= top + 1, "no room below: it opens upwards"
    assert "Filter 30" not in await options(desk, ".popup:popover-open")
    await desk.mouse.move(x + 40, y + height / 2)
    for _ in range(9):
        await desk.mouse.wheel(0, 100)
    await desk.step()
    found = await options(desk, ".popup:popover-open")
    assert "Filter 30" in found
    await desk.mouse.click(*found["Filter 30"])
    assert (await desk.step())["filter"] == "Filter 30"
    await desk.get("combobox", "Noise reduction").click()
    x, y, width, height = await desk.box(desk.page.locator(".popup:popover-open"))
    assert 0 <= y < y + height <= 768
    # its scroll bar can be dragged, too
    await desk.keys.press("Escape")
    await combo.click()
    x, y, width, height = await desk.box(desk.page.locator(".popup:popover-open .thumb"))
    await desk.drag((x + 4, y + 10), (x + 4, y - 500))
    assert "Filter 01" in await options(desk, ".popup:popover-open")


async def test_select_by_keyboard(desk: Desk) -> None:
    combo = desk.get("combobox", "Filter")
    await combo.focus()
    await desk.keys.press("ArrowDown")  # opens
    await desk.keys.press("ArrowDown")
    assert (await desk.step())["filter"] == "Filter 03", "nothing is chosen on the way"
    active = await combo.get_attribute("aria-activedescendant")
    assert await desk.page.locator(f"#{active}").inner_text() == "Filter 04"
    await desk.keys.press("Enter")
    assert (await desk.step())["filter"] == "Filter 04"
    await desk.keys.press("Space")
    await desk.keys.press("End")
    await desk.keys.press("Enter")
    assert (await desk.step())["filter"] == "Filter 40"
    await desk.keys.press("Enter")
    await desk.keys.press("Home")
    await desk.keys.press("Escape")
    assert (await desk.step())["filter"] == "Filter 40"
    detector = desk.get("combobox", "Detector")
    await detector.focus()
    await desk.keys.press("b")
    await desk.keys.press("Enter")
    assert (await desk.step())["detector"] == "BSE"
    await desk.keys.press("Enter")
    await desk.keys.type("ste")
    await desk.keys.press("Enter")
    assert (await desk.step())["detector"] == "STEM"
    await desk.keys.press("Enter")
    await desk.keys.press("Tab")
    assert await detector.get_attribute("aria-expanded") == "false"


async def test_listbox(desk: Desk) -> None:
    box = desk.get("listbox", "Specimen")
    await box.get_by_role("option", name="Quartz").click()
    assert (await desk.step())["specimen"] == "Quartz"
    for key in ("ArrowDown", "ArrowDown", "ArrowUp"):
        await desk.keys.press(key)
    assert (await desk.step())["specimen"] == "Halite"
    await desk.keys.press("End")
    assert (await desk.step())["specimen"] == "Zincite"
    assert "Zincite" in await options(desk, "[data-id=specimen] .scroller")
    await desk.keys.press("c")
    assert (await desk.step())["specimen"] == "Corundum"
    await desk.wheel(desk.page.locator("[data-id=specimen] .window"), 2)
    found = await options(desk, "[data-id=specimen] .scroller")
    assert "Zincite" in found
    assert "Silicon 640f" not in found
    await desk.mouse.click(*found["Rutile"])
    assert (await desk.step())["specimen"] == "Rutile"


# --- tabs, dialogs, tips


async def test_tabs(desk: Desk) -> None:
    control, peaks = desk.get("tab", "Control"), desk.get("tab", "Peaks")
    assert await desk.get("button", "Start scan").count() == 0, "what a hidden page holds cannot be reached"
    await control.click()
    await desk.step()
    assert await control.get_attribute("aria-selected") == "true"
    assert await desk.get("button", "Start scan").is_visible()
    await desk.keys.press("ArrowRight")  # round to the first
    await desk.step()
    assert await peaks.get_attribute("aria-selected") == "true"
    assert await desk.page.evaluate("document.activeElement.textContent") == "Peaks"


async def test_dialog(desk: Desk) -> None:
    await desk.get("tab", "Control").click()
    await desk.step()
    await desk.get("button", "Vent...").click()
    await desk.step()
    dialog = desk.get("dialog", "Vent the chamber?")
    assert await dialog.is_visible()
    seq = (await desk.page.evaluate("matassay.mark()"))["seq"]
    await desk.mouse.click(80, 216)  # behind it: X-rays on
    for _ in range(6):
        await desk.keys.press("Tab")
    assert await desk.page.evaluate(
        "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
    )
    field = dialog.get_by_role("spinbutton", name="Frames")
    await field.fill("7")
    await desk.keys.press("Escape")  # takes back the typing only
    assert await field.input_value() == "4"
    assert (await desk.page.evaluate("matassay.mark()"))["seq"] == seq
    for _ in range(3):  # a browser that is asked often enough closes a dialog by force
        await desk.keys.press("Escape")
        assert await dialog.is_visible(), "only the server closes a dialog"
    state = await desk.step()
    assert not state["asking"]
    assert not state["xrays"]
    assert await dialog.count() == 0
    await desk.get("button", "Vent...").click()
    await desk.step()
    await dialog.get_by_role("button", name="Yes, vent").press("Enter")
    assert ["vented"] in await desk.heard()


async def test_tool_tips(desk: Desk) -> None:
    tip = desk.page.locator("#tip:popover-open")
    await desk.get("spinbutton", "Tube voltage (kV)").hover()
    assert await tip.inner_text() == "Acceleration of the electrons in the tube"
    await desk.mouse.move(600, 300)
    assert await tip.count() == 0
    button = desk.get("button", "X-rays on")
    assert await button.get_attribute("aria-description") == "Ramps the generator up"
    await desk.get("switch", "Door").focus()
    await desk.keys.press("Tab")
    assert await tip.inner_text() == "Ramps the generator up"
    await desk.keys.press("Tab")
    assert await tip.count() == 0
    await desk.get("switch", "Door").click()
    await desk.step()
    assert await button.is_disabled()
    await desk.mouse.move(*await desk.middle(button))  # why something is greyed is just what one wants to know
    assert await tip.inner_text() == "Ramps the generator up"
    await desk.mouse.move(600, 300)
    assert await tip.count() == 0


# --- things that are moved by hand


async def test_tray_and_slot(desk: Desk) -> None:
    slot = desk.page.locator("[data-id=stage] .place")
    item = desk.get("button", "Holder B")
    await desk.drag(await desk.middle(item), await desk.middle(slot))
    assert (await desk.step())["holds"] == "b"
    assert await slot.get_attribute("aria-label") == "Stage: Holder B"
    await desk.drag(await desk.middle(desk.get("button", "Holder A")), (600, 300))
    assert (await desk.step())["holds"] == "b", "dropped beside it"
    await desk.get("button", "Holder A").click()
    assert await desk.get("button", "Holder A").get_attribute("aria-pressed") == "true"
    await slot.click()
    assert (await desk.step())["holds"] == "a"
    await desk.get("button", "Holder C").focus()
    await desk.keys.press("Enter")
    await desk.keys.press("Tab")
    await desk.keys.press("Enter")
    assert (await desk.step())["holds"] == "c"
    await slot.click()  # with nothing in the hand
    assert [h for h in await desk.heard() if h[0] == "drop"] == [["drop", k] for k in "bac"]


async def test_view_by_mouse(desk: Desk) -> None:
    x, y, width, height = await desk.box(desk.get("application", "Live image"))
    assert (width, height) == (IMAGE, IMAGE)
    await desk.mouse.click(x + 40, y + 60)
    assert await desk.heard() == [["click", 40, 60]]
    await desk.drag((x + 50, y + 50), (x + 120, y + 90))
    await desk.drag((x + 200, y + 200), (x + 900, y + 210))  # beyond the edge
    assert (await desk.heard())[1:] == [["drag", 50, 50, 120, 90], ["drag", 200, 200, IMAGE, 210]]
    await desk.mouse.dblclick(x + 10, y + 20)
    assert (await desk.heard())[3:] == [["click", 10, 20], ["click", 10, 20], ["double", 10, 20]]
    await desk.keys.down("Shift")
    await desk.drag((x + 100, y + 100), (x + 130, y + 90))
    await desk.keys.up("Shift")
    pans = [h[1:] for h in await desk.heard() if h[0] == "pan"]
    assert [sum(p) for p in zip(*pans, strict=True)] == [30, -10]
    await desk.wheel(desk.get("application", "Live image"), -2)
    assert (await desk.heard())[-1] == ["wheel", 128, 128, 2]
    shapes = await desk.page.evaluate("document.querySelector('.view .lines').getAttribute('d')")
    assert "M200.0 200.0H256.0V210.0H200.0Z" in shapes


async def test_view_by_keyboard(desk: Desk) -> None:
    await desk.get("application", "Live image").focus()
    for key in ("ArrowRight", "Shift+ArrowDown", "Enter"):
        await desk.keys.press(key)
    for key in ("Space", "Shift+ArrowRight", "Shift+ArrowDown", "Space"):
        await desk.keys.press(key)
    await desk.keys.press("d")
    await desk.keys.press("PageUp")
    await desk.keys.press("Control+ArrowLeft")
    assert await desk.heard() == [
        ["click", 129, 144],
        ["drag", 129, 144, 145, 160],
        ["double", 145, 160],
        ["wheel", 145, 160, 1],
        ["pan", -16, 0],
    ]


async def test_view_that_is_drawn_larger_reports_image_pixels(desk: Desk) -> None:
    x, y, width, height = await desk.box(desk.get("application", "Map"))
    assert (width, height) == (80, 50)
    await desk.mouse.click(x + 45, y + 15)
    assert await desk.heard() == [["pick", 36, 12]]


async def pictures(desk: Desk) -> list[np.ndarray]:
    """Pixels of all views, as they are on the canvas."""
    urls = await desk.page.evaluate("[...document.querySelectorAll('.view canvas')].map(c => c.toDataURL('image/png'))")
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(u.split(",")[1]))).convert("RGB")) for u in urls]


async def test_images_are_lossless(desk: Desk) -> None:
    live, chart = await pictures(desk)
    gallery = Gallery(1)
    assert np.array_equal(live[..., 0], gallery.image())
    assert np.array_equal(chart, gallery.colours())


async def test_images_as_jpeg(context: BrowserContext, client: httpx.AsyncClient) -> None:
    desk = await open_page(context, client, await new_session(client), query="?codec=jpeg")
    live, _ = await pictures(desk)
    assert 0 < np.abs(live[..., 0].astype(float) - Gallery(1).image()).mean() < 6


# --- the plot

VIEW = "document.querySelector('.plot .face').ariaDescription"


async def test_plot_zoom(desk: Desk) -> None:
    face = desk.get("img", "Diffraction pattern")
    x, y, width, height = await desk.box(face)
    left, right, top, bottom = x + 66, x + width - 14, y + 10, y + height - 40
    at = lambda u, v: (left + (right - left) * u, top + (bottom - top) * v)  # noqa: E731
    full = await desk.page.evaluate(VIEW)
    assert "2θ (°): 20.00 to 80.00" in full
    assert "2 series of 12001 points" in full
    await desk.drag(at(0.1, 0.2), at(0.2, 0.7))
    assert await desk.page.evaluate(VIEW) == full, "the zoom is the server's"
    await desk.step()
    zoomed = await desk.page.evaluate(VIEW)
    assert "2θ (°): 26.000 to 32.000" in zoomed
    assert "zoomed" in zoomed
    await desk.mouse.dblclick(*at(0.5, 0.5))
    await desk.step()
    assert await desk.page.evaluate(VIEW) == full
    await desk.drag(at(0.5, 0.5), at(0.6, 0.502))  # flat: only x
    await desk.step()
    assert "2θ (°): 50.0" in await desk.page.evaluate(VIEW)
    assert full.split(";")[1] in await desk.page.evaluate(VIEW)
    await desk.mouse.dblclick(*at(0.5, 0.5))
    await desk.step()
    await desk.mouse.move(*at(0.5, 0.5))
    await desk.mouse.wheel(0, -100)
    await desk.mouse.wheel(0, -100)
    await desk.step()
    assert "2θ (°): 30.80 to 69.20" in await desk.page.evaluate(VIEW)
    await face.focus()
    await desk.keys.press("-")
    await desk.keys.press("-")
    await desk.step()
    assert "2θ (°): 20.0" in await desk.page.evaluate(VIEW)
    await desk.keys.press("Home")
    await desk.step()
    assert await desk.page.evaluate(VIEW) == full


async def test_plot_cursor(desk: Desk) -> None:
    x, y, width, height = await desk.box(desk.get("img", "Diffraction pattern"))
    cursor = desk.page.locator(".plot .cursor")
    before = await desk.shot()
    await desk.mouse.move(round(x + 66 + (width - 80) / 2), y + 100)
    counts = Gallery(1).pattern()
    text = await cursor.inner_text()
    shown = float(text.split()[1])
    assert shown == pytest.approx(50, abs=0.1)
    near = np.abs(counts[0] - shown) < 0.06
    assert float(text.split()[3]) in counts[1][near]
    assert await desk.shot() != before
    await desk.mouse.move(x + 66 + (width - 80) / 2, y - 300)
    assert await cursor.inner_text() == ""
    assert await desk.shot() == before
    await desk.get("img", "Diffraction pattern").focus()
    await desk.keys.press("ArrowRight")
    assert (await cursor.inner_text()).startswith("x 50")


async def test_plot_scales(desk: Desk) -> None:
    await desk.get("tab", "Control").click()
    await desk.step()
    shots = {await desk.shot()}
    for scale in ("log", "sqrt", "linear"):
        await desk.get("combobox", "Counts axis").click()
        await desk.get("option", scale).click()
        await desk.step()
        assert f"Counts ({scale})" in await desk.page.evaluate(VIEW)
        shots.add(await desk.shot())
    assert len(shots) == 3  # linear, twice the same


async def test_plot_is_fast_enough_for_live_data(desk: Desk) -> None:
    spent = await desk.page.evaluate(
        "(async () => { const { draw, layout } = await import('/static/chart.js');"
        "const n = 20000, x = Float32Array.from({ length: n }, (_, i) => i), y = x.map(v => Math.sin(v) * 50 + 60);"
        "const g = Object.assign(document.createElement('canvas'), { width: 740, height: 480 }).getContext('2d', { willReadFrequently: true });"
        "const frame = layout(740, 480, { x0: 0, x1: n, y0: 0, y1: 120, kind: 'linear' });"
        "const theme = { series: ['#000'], font: '11px sans-serif', bold: '11px sans-serif' }, times = [];"
        "for (let i = 0; i < 7; i++) { const t = performance.now(); draw(g, frame, { rows: [x, y], titles: {}, marks: [], theme }); g.getImageData(0, 0, 1, 1); times.push(performance.now() - t); }"
        "return times.sort((a, b) => a - b)[3]; })()"
    )
    assert spent < 100  # about 10 ms on an idle machine


# --- connections


async def test_reconnect(context: BrowserContext, client: httpx.AsyncClient, port: int) -> None:
    session = await new_session(client)
    async with Proxy(port) as proxy:
        desk = await open_page(context, client, session, proxy.port)
        await desk.get("tab", "Control").click()
        await desk.step()
        await desk.get("switch", "Lock panel").click()
        x, y, *_ = await desk.box(desk.get("img", "Diffraction pattern"))
        await desk.drag((x + 200, y + 100), (x + 300, y + 200))
        await desk.step()
        await desk.page.evaluate("document.activeElement.blur()")
        before, first = await desk.shot(), await desk.page.evaluate("matassay.mark()")
        proxy.cut = True
        proxy.drop()
        await until(lambda: desk.page.evaluate("!matassay.connected"), "the page to notice")
        assert await desk.page.locator("#lost:popover-open").is_visible()
        await desk.mouse.click(80, 216)
        await desk.keys.press("Enter")
        assert await desk.page.evaluate("document.querySelector('#panel').inert")
        answer = await client.post(f"/control/sessions/{session}/step", json={**first, "dt": 0})
        assert answer.status_code == 409
        proxy.cut = False
        await until(
            lambda: desk.page.evaluate("matassay.connected && !document.querySelector('#panel').inert"),
            "the page to return",
        )
        again = await desk.page.evaluate("matassay.mark()")
        assert again["connection"] != first["connection"]
        assert again["seq"] == 0
        state = await desk.step()
        assert state["lock"]
        assert not state["xrays"]
        await desk.mouse.move(x + 300, y + 200)
        assert await desk.shot() == before, "tab, zoom and values come from the server"
        await desk.get("switch", "Lock panel").click()
        assert not (await desk.step())["lock"]
        # the browser logs the failed attempts; the page itself has nothing to say
        assert [c for c in desk.complaints if "WebSocket" not in c] == []
        await desk.page.close()


async def test_two_pages_on_one_session(desk: Desk, context: BrowserContext, client: httpx.AsyncClient) -> None:
    other = await open_page(context, client, desk.session)
    await desk.get("tab", "Control").click()
    field = desk.get("spinbutton", "Start angle (deg)")
    await field.fill("77")
    await field.press("Enter")
    await desk.step()
    await until(
        lambda: other.page.evaluate("document.querySelector('[data-id=start_angle] input').value === '77.00'"),
        "the other page to follow",
    )
    assert await other.get("tab", "Control").get_attribute("aria-selected") == "true"
    await other.get("button", "Start scan").click()
    assert ["start"] in (await other.step())["heard"]
    await until(lambda: desk.page.evaluate("document.querySelector('.message').textContent === 'start'"), "the answer")
    assert other.complaints == []


FORGED: list[str] = [
    "",
    "no json",
    "[]",
    "null",
    '{"seq": 1}',
    '{"seq": 1, "id": "nothing", "args": []}',
    '{"seq": 1, "id": ["xrays_on"], "args": []}',
    '{"seq": 1, "id": "tube_voltage", "args": "45"}',
    '{"seq": 1, "id": "tube_voltage", "args": [1e400]}',
    '{"seq": 1, "id": "tube_voltage", "args": [45, 45]}',
    '{"seq": 1, "id": "tube_voltage", "args": [{"a": 1}]}',
    '{"seq": 1, "id": "detector", "args": ["__class__"]}',
    '{"seq": 1, "id": "door", "args": ["yes"]}',
    '{"seq": 1, "id": "stage", "args": [], "gesture": "drop"}',
    '{"seq": 1, "id": "stage", "args": ["a"], "gesture": "setup"}',
    '{"seq": 1, "id": "results", "args": [-1], "gesture": "select"}',
    '{"seq": 1, "id": "diffraction-pattern", "args": [1, 0, 0, 1], "gesture": "zoom"}',
    '{"seq": 1, "id": "live-image", "args": ["x", 2], "gesture": "click"}',
    '{"seq": 1, "id": "message", "args": ["forged"]}',
    '{"painted": 999999999, "id": "message"}',
]


async def test_forged_events_are_refused_with_a_message(desk: Desk, port: int) -> None:
    clean = await desk.step()
    for text in FORGED:
        await desk.get(
            "button", "X-rays on"
        ).click()  # a good message, so that the refusal that follows is seen to be new
        await desk.step()
        async with websockets.connect(f"ws://127.0.0.1:{port}/s/{desk.session}/ws") as socket:
            await socket.recv()
            await socket.send(text)
            await socket.send(json.dumps({"painted": 1}))

            async def refused() -> bool:
                return (await desk.step())["level"] == "warning"

            await until(refused, f"a refusal of {text}")
        assert await desk.page.locator(".message").get_attribute("data-level") == "warning"
    state = await desk.step()
    quiet = ("heard", "xrays", "message", "level")
    assert {k: v for k, v in state.items() if k not in quiet} == {k: v for k, v in clean.items() if k not in quiet}


def panel(tree: dict[str, Any]) -> str:
    return json.dumps({"t": "panel", "title": "Stub", "theme": "light", "connection": "c1", "tree": tree, "extra": 1})


STUB = {
    "kind": "column",
    "children": [
        {"kind": "number", "id": "n", "label": "N", "lo": 0, "hi": 9, "step": 1, "colour": "pink"},
        {"kind": "hologram", "id": "h", "label": "H"},
        {"kind": "constructor", "id": "c"},
        {"kind": "view", "id": "v", "label": "V", "size": [4, 2]},
        {"kind": "message", "id": "m"},
    ],
}


async def test_bad_messages_do_not_kill_the_page(context: BrowserContext, client: httpx.AsyncClient) -> None:
    sockets: list[WebSocketRoute] = []
    told: list[dict[str, Any]] = []

    def server(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        socket.on_message(lambda text: told.append(json.loads(text)))
        for message in [
            "no json",
            panel(STUB),
            "null",
            json.dumps({"t": "surprise"}),
            b"",
            b"\x00" * 5,
            struct.pack("<HBxHHI", 4, 0, 4000, 4000, 1),  # promises more than it brings
            struct.pack("<HBxHHI", 99, 0, 1, 1, 1) + b"\x01",  # nobody there
            struct.pack("<HBxHHI", 4, 77, 1, 1, 1),
            struct.pack("<HBxHHI", 4, 0, 4, 2, 1) + bytes(range(8)),
            json.dumps(
                {
                    "t": "commit",
                    "rev": 1,
                    "seq": 0,
                    "frames": 9,
                    "set": {
                        "n": {"value": 3, "odd": []},
                        "who": {"value": 1},
                        "h": {"value": 2},
                        "v": {"overlay": [["blob", 1], 7]},
                        "m": {"value": None},
                    },
                }
            ),
            json.dumps({"t": "commit", "rev": 2, "set": {"n": None}}),
        ]:
            socket.send(message)

    page = await context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda e: errors.append(str(e)))
    await page.route_web_socket(re.compile("/ws$"), server)
    await page.goto(f"{client.base_url}/s/{await new_session(client)}/")
    await until(lambda: page.evaluate("matassay.painted === 2"), "both commits")
    assert {"painted": 1} in told
    assert errors == []
    field = page.get_by_role("spinbutton", name="N", exact=True)
    assert await field.input_value() == "3"
    assert (
        await page.evaluate("document.querySelector('.view canvas').getContext('2d').getImageData(3, 1, 1, 1).data[0]")
        == 7
    )
    # an answer that is older than the last event does not take the operator's value away
    await field.press("ArrowUp")
    await field.press("ArrowUp")
    await until(lambda: page.evaluate("matassay.mark().seq === 2"), "two events")
    sockets[0].send(json.dumps({"t": "commit", "rev": 3, "seq": 1, "frames": 0, "set": {"n": {"value": 4}}}))
    await until(lambda: page.evaluate("matassay.painted === 3"), "the late answer")
    assert await field.input_value() == "5"
    sockets[0].send(json.dumps({"t": "commit", "rev": 4, "seq": 2, "frames": 0, "set": {"n": {"value": 1}}}))
    await until(lambda: page.evaluate("matassay.painted === 4"), "the answer")
    assert await field.input_value() == "1"
    events = [t for t in told if "seq" in t]
    assert [{k: e[k] for k in ("seq", "id", "args")} for e in events] == [
        {"seq": 1, "id": "n", "args": [4]},
        {"seq": 2, "id": "n", "args": [5]},
    ]
    await page.close()


async def test_human_mode(context: BrowserContext, client: httpx.AsyncClient) -> None:
    session = await new_session(client, mode="human")
    desk = await open_page(context, client, session)
    comment, slider = desk.get("textbox", "Comment"), desk.get("slider", "Focus (mm)")
    await comment.click()
    await desk.keys.type("half")
    seen = await desk.page.evaluate("matassay.painted")
    await until(lambda: desk.page.evaluate(f"matassay.painted > {seen} + 3"), "time to pass")
    assert await comment.input_value() == "half"
    at = [round(v) for v in await desk.middle(desk.get("button", "X-rays on"))]
    await desk.mouse.click(*at)
    await until(
        lambda: desk.page.evaluate("document.querySelector('.message').textContent === 'x-rays True'"), "the answer"
    )
    await slider.press("ArrowRight")
    x, y = await desk.middle(slider)
    await desk.drag((x, y), (x + 60, y), moves=30)
    recorded: list[dict[str, Any]] = []

    async def complete() -> bool:
        answer = await client.get(f"/control/sessions/{session}/gestures")
        recorded[:] = answer.json()["gestures"]
        return len(recorded) == (await desk.page.evaluate("matassay.mark()"))["seq"]

    await until(complete, "all gestures")
    assert [(g["id"], g["args"], g["at"]) for g in recorded[:2]] == [("comment", ["half"], at), ("xrays_on", [], at)]
    assert (recorded[2]["id"], recorded[2]["args"], recorded[2]["at"]) == ("focus", [8.01], None)
    last = recorded[-1]["args"][0]
    await until(
        lambda: desk.page.evaluate(f"document.querySelector('[data-id=focus] input').value === '{last:.2f}'"), "focus"
    )
    assert desk.complaints == []
    await client.delete(f"/control/sessions/{session}")


async def test_a_hidden_page_answers_too(desk: Desk) -> None:
    await desk.page.evaluate("Object.defineProperty(document, 'hidden', { get: () => true })")
    await desk.page.evaluate("window.requestAnimationFrame = () => 0")
    await desk.get("button", "X-rays on").click()
    assert (await desk.step())["xrays"]


# --- screenshots


async def tour(desk: Desk, look: Callable[[], Awaitable[None]]) -> None:
    """Something of everything; `look` after each settled step."""

    async def settled(dt: float = 0.0) -> None:
        await desk.step(dt)
        await look()

    await settled()
    await desk.get("button", "X-rays on").click()
    await settled(3.7)
    await desk.get("combobox", "Filter").click()
    await settled()
    await desk.keys.press("End")
    await desk.keys.press("Enter")
    await settled()
    await desk.get("spinbutton", "Start angle (deg)").fill("33.3")
    await settled()
    await desk.keys.press("Tab")
    await settled(1)
    await desk.get("tab", "Control").click()
    await settled()
    x, y, width, height = await desk.box(desk.get("img", "Diffraction pattern"))
    await desk.drag((x + 150, y + 60), (x + 240, y + 300))
    await settled()
    await desk.get("combobox", "Counts axis").click()
    await settled()
    await desk.mouse.click(*(await options(desk, ".popup:popover-open"))["log"])
    await settled()
    await desk.wheel(desk.get("slider", "Focus (mm)"), -30)
    await settled(2)
    x, y, *_ = await desk.box(desk.get("application", "Live image"))
    await desk.drag((x + 30, y + 30), (x + 200, y + 120))
    await settled()
    await desk.get("button", "Vent...").click()
    await settled()
    await desk.keys.press("Escape")
    await settled()
    await desk.get("spinbutton", "Tube voltage (kV)").hover()
    await settled()
    await desk.get("button", "Emergency off").click()
    await settled(100)


@pytest.mark.slow
async def test_settled_means_that_nothing_changes_any_more(desk: Desk) -> None:
    async def look() -> None:
        first, began = await desk.shot(), time.monotonic()
        while time.monotonic() - began < 0.35:
            assert await desk.shot() == first

    await tour(desk, look)


@pytest.mark.parametrize("instrument", ["gallery", "dark"])
async def test_two_runs_give_the_same_pixels(browser: Browser, client: httpx.AsyncClient, instrument: str) -> None:
    runs: list[list[bytes]] = []
    for _ in range(2):
        async with contextlib.AsyncExitStack() as stack:
            context = await browser.new_context(viewport=VIEWPORT, device_scale_factor=1)
            stack.push_async_callback(context.close)
            session = await new_session(client, instrument)
            desk = await open_page(context, client, session)
            shots: list[bytes] = []

            async def look(desk: Desk = desk, shots: list[bytes] = shots) -> None:
                shots.append(await desk.shot())

            await tour(desk, look)
            runs.append(shots)
            await client.delete(f"/control/sessions/{session}")
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 12
