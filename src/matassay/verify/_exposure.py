"""Everything that the agent's side of an episode could get hold of, whether the agent can read it or not."""

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matassay.agents import public, run_policy
from matassay.core import EnvironmentFailure, Episode, Observation, Outcome, Policy, Task
from matassay.worlds.browser import BrowserWorld, PinnedPage

from ._trials import NoReference

#: Every number and text that a script in the page could reach from `window`, without calling anything.
GLOBALS = """(() => {
  const seen = new Set(), out = [], todo = [window];
  while (todo.length && out.length < 500000) {
    const value = todo.pop();
    if (["number", "string", "bigint"].includes(typeof value)) out.push(String(value));
    if (value === null || !["object", "function"].includes(typeof value) || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Map || value instanceof Set) todo.push([...value]);
    for (const key of Object.keys(value)) {
      out.push(key);
      try { todo.push(value[key]); } catch { /* other origins, storages that are switched off */ }
    }
  }
  return out.join("\\n");
})()"""

#: The page has been loaded anew, and shows something.
RELOADED = "!window.beforeReload && window.matassay?.connected && window.matassay.painted > 0"


@dataclass
class Exposure:
    """Texts and bytes by the place where they were found."""

    texts: dict[str, str] = field(default_factory=dict)
    """Place to text."""
    blobs: dict[str, bytes] = field(default_factory=dict)
    """Place to bytes."""

    def add(self, place: str, content: Any) -> None:
        """Keep something; what is neither text nor bytes is kept as JSON, and of a TIFF its pixels apart."""
        if isinstance(content, bytes):
            content, pixels = tiff_parts(content)
            if pixels:
                self.blobs[PICTURES] = self.blobs.get(PICTURES, b"") + pixels
            self.blobs[place] = self.blobs.get(place, b"") + content
            if place == PICTURES:
                return  # dark pixels have the codes of digits
            content = content.decode("utf-8", "replace")
        text = content if isinstance(content, str) else json.dumps(content)
        self.texts[place] = self.texts.get(place, "") + text + "\n"


#: Where pixels are kept. Millions of them hold any four bytes by chance, so that only longer encodings tell anything.
PICTURES = "pictures sent to the page or saved"


def tiff_parts(data: bytes) -> tuple[bytes, bytes]:
    """A TIFF file without the pixels in its strips, and these pixels; anything else whole, and nothing.

    Only what the first directory's strips (tags 273 and 279, TIFF 6.0) point at is taken for pixels: header, tags and
    whatever else is hidden between or behind them is searched as text.
    """
    order = {b"II*\0": "<", b"MM\0*": ">"}.get(data[:4])
    if order is None:
        return data, b""
    try:
        strips = list(zip(_numbers(data, order, 273), _numbers(data, order, 279), strict=True))
    except (struct.error, ValueError):
        return data, b""
    rest, pixels, at = b"", b"", 0
    for start, size in sorted(strips):
        start, end = max(start, at), max(start + size, at)
        rest, pixels, at = rest + data[at:start], pixels + data[start:end], end
    return rest + data[at:], pixels


def _numbers(data: bytes, order: str, tag: int) -> list[int]:
    """Whole numbers in a field of the first directory; raises if they are not there."""
    (directory,) = struct.unpack_from(order + "I", data, 4)
    (count,) = struct.unpack_from(order + "H", data, directory)
    for entry in range(directory + 2, directory + 2 + 12 * count, 12):
        found, kind, number = struct.unpack_from(order + "HHI", data, entry)
        if found == tag:
            form, size = {3: ("H", 2), 4: ("I", 4)}.get(kind, ("", 0))
            if not form or number * size > len(data):
                raise ValueError(f"field {tag} of type {kind} with {number} entries")
            where = entry + 8 if number * size <= 4 else struct.unpack_from(order + "I", data, entry + 8)[0]
            return list(struct.unpack_from(f"{order}{number}{form}", data, where))
    raise ValueError(f"no field {tag}")


class Wire:
    """Listens to what the browser is sent."""

    def __init__(self) -> None:
        self.exposure = Exposure()
        self._responses: dict[str, str] = {}

    async def tap(self, page: PinnedPage) -> None:
        """Load the page again with an ear at the wire."""
        page.cdp.on("Network.responseReceived", self._response)
        page.cdp.on("Network.webSocketFrameReceived", self._frame)
        page.cdp.on("Network.webSocketHandshakeResponseReceived", self._handshake)
        await page.guarded(page.cdp.send("Network.enable"))
        await page.guarded(page.evaluate("window.beforeReload = true"))
        await page.guarded(page.cdp.send("Page.reload"))
        await page.wait_for(RELOADED)

    def _response(self, event: dict[str, Any]) -> None:
        response = event["response"]
        self._responses[event["requestId"]] = response["url"]
        self.exposure.add(f"headers of {_path(response['url'])}", response["headers"])

    def _handshake(self, event: dict[str, Any]) -> None:
        self.exposure.add("headers of the socket", event["response"]["headers"])

    def _frame(self, event: dict[str, Any]) -> None:
        frame = event["response"]
        if frame["opcode"] == 2:
            message = base64.b64decode(frame["payloadData"])
            # byte 2 of the header is the codec of the panel protocol; 3 are numbers, the others pixels
            numbers = len(message) < 12 or message[2] == 3
            self.exposure.add("binary messages to the page" if numbers else PICTURES, message)
        else:
            self.exposure.add("messages to the page", frame["payloadData"])

    async def read(self, page: PinnedPage) -> None:
        """Read the page as it is now, and what it loaded."""
        for request, url in self._responses.items():
            body = await page.guarded(page.cdp.send("Network.getResponseBody", {"requestId": request}))
            data = body["body"]
            self.exposure.add(f"body of {_path(url)}", base64.b64decode(data) if body["base64Encoded"] else data)
        self.exposure.add("address", page.url)
        self.exposure.add("document", await page.guarded(page.evaluate("document.documentElement.outerHTML")))
        self.exposure.add("accessibility tree", await page.guarded(page.cdp.send("Accessibility.getFullAXTree", {})))
        self.exposure.add("globals", await page.guarded(page.evaluate(GLOBALS)))


def _path(url: str) -> str:
    return "/" + url.split("/", 3)[-1]


async def expose(task: Task, seed: int) -> Exposure:
    """Run the reference and collect what it, its browser and its process could have seen.

    Raises
    ------
    EnvironmentFailure
        If the world broke.
    """
    if task.reference is None:
        raise NoReference("the task has no reference")
    episode = Episode.of(task, seed)
    wire = Wire()
    exposure = wire.exposure
    browser = episode.world if isinstance(episode.world, BrowserWorld) else None
    try:
        await episode.start()
        if browser is not None:
            await browser.inspect(wire.tap)
        policy = _told(task.reference.policy(public(episode.scenario)), exposure)
        outcome, error = await run_policy(policy, episode)
        if outcome is Outcome.ENVIRONMENT_ERROR:
            raise EnvironmentFailure(error or "the world broke")
        if browser is not None:
            await browser.inspect(wire.read)
        evidence = await episode.conclude()
        _look_at_processes(exposure)
    finally:
        await episode.close()
    for artefact in evidence.artefacts:
        exposure.add(f"file {artefact.name}", artefact.data or b"")
    exposure.add("mishaps", [c.to_json() for c in evidence.consequences])
    return exposure


def _told(policy: Policy, exposure: Exposure) -> Policy:
    """The same policy; what it is shown in words is kept."""
    screen: Observation | None = None
    while True:
        try:
            action = next(policy) if screen is None else policy.send(screen)
        except StopIteration:
            return
        screen = yield action
        exposure.add("observations", screen.text)
        exposure.add("observations", [[n.role, n.name, n.value] for n in screen.accessible or ()])


def _look_at_processes(exposure: Exposure) -> None:
    """Arguments, environment and working directory of every process that we have started."""
    for pid in _descendants(os.getpid()):
        for place, file in (("arguments", "cmdline"), ("environment", "environ")):
            exposure.add(f"{place} of processes", _read(Path(f"/proc/{pid}/{file}")))
    exposure.add("names in the working directory", sorted(p.name for p in Path.cwd().iterdir()))


def _descendants(root: int) -> Iterator[int]:
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        # pid (name) state ppid ...; the name may hold anything, brackets and blanks included
        after_name = _read(folder / "stat").rpartition(b")")[2].split()
        if len(after_name) > 1:
            children.setdefault(int(after_name[1]), []).append(int(folder.name))
    todo = list(children.get(root, ()))
    while todo:
        pid = todo.pop()
        yield pid
        todo += children.get(pid, ())


def _read(file: Path) -> bytes:
    """Bytes of a file of /proc, whose process may have ended meanwhile."""
    try:
        return file.read_bytes()
    except OSError:
        return b""
