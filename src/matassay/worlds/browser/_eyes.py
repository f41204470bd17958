"""What an agent sees: the pixels, a part of them enlarged, and the accessibility tree with boxes."""

from __future__ import annotations

import asyncio
import base64
import inspect
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from PIL import Image
from playwright.async_api import CDPSession

from matassay.core import SCREEN, AccessibleNode

#: Roles of nodes that only structure the tree.
_STRUCTURE = {"none", "generic", "GenericContainer", "InlineTextBox", "RootWebArea", "LineBreak", "LabelText", "Legend"}

#: Names of the browser's own for what ARIA calls otherwise.
_ROLES = {
    "StaticText": "text",
    "MenuListPopup": "listbox",
    "MenuListOption": "option",
    "ComboBoxSelect": "combobox",
    "ComboBoxMenuButton": "combobox",
    "TextField": "textbox",
    "image": "img",
    "Canvas": "img",
    "Abbr": "text",
    "SvgRoot": "img",
    "graphics-document": "img",
    "Figcaption": "caption",
}
_STATES = ("checked", "expanded", "selected", "focused", "pressed")

#: Computed styles that decide what of an element can be seen.
_STYLES = ("overflow-x", "overflow-y", "position", "visibility", "opacity")

#: Colour around an enlarged part, red, green, blue.
_FRAME = (128, 128, 128)

Box = tuple[float, float, float, float]
_SCREEN_BOX: Box = (0.0, 0.0, float(SCREEN[0]), float(SCREEN[1]))


async def ask(cdp: CDPSession, method: str, params: dict[str, Any]) -> Any:
    """Reply of the browser as it came.

    Playwright looks through every reply for objects of its own; in a tree of a thousand nodes, where there are none,
    that takes longer than all else. Where its insides are not as expected, the reply is looked through.
    """
    bare = getattr(cdp, "_impl_obj", None)
    if bare is not None and _takes(type(bare)) == ("method", "params", "timeout"):
        return await bare.send(method=method, params=params, timeout=None)
    return await cdp.send(method, params)


def _takes(kind: type) -> tuple[str, ...]:
    """Names of what the method ``send`` of a class takes."""
    send = getattr(kind, "send", None)
    return tuple(inspect.signature(send).parameters)[1:] if send is not None else ()


async def screenshot(cdp: CDPSession) -> bytes:
    """The screen as PNG, lossless, encoded for speed rather than size."""
    reply = await ask(cdp, "Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
    return base64.b64decode(reply["data"])


async def zoomed(cdp: CDPSession, region: tuple[int, int, int, int]) -> bytes:
    """A part of the screen, drawn anew as large as fits into a screen, in the middle of a picture of a screen's size.

    Proportions are kept; what the part does not fill is grey.

    Parameters
    ----------
    cdp : CDPSession
        Session with the page.
    region : tuple of int
        x0, y0, x1, y1 in pixels.
    """
    x0, y0, x1, y1 = region
    width, height = x1 - x0, y1 - y0
    scale = min(SCREEN[0] / width, SCREEN[1] / height)
    clip = {"x": x0, "y": y0, "width": width, "height": height, "scale": scale}
    reply = await ask(cdp, "Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True, "clip": clip})
    return await asyncio.to_thread(_framed, base64.b64decode(reply["data"]))


def _framed(png: bytes) -> bytes:
    part = Image.open(io.BytesIO(png)).convert("RGB")
    if part.size == SCREEN:
        return png
    frame = Image.new("RGB", SCREEN, _FRAME)
    frame.paste(part, ((SCREEN[0] - part.width) // 2, (SCREEN[1] - part.height) // 2))
    out = io.BytesIO()
    frame.save(out, "PNG", compress_level=1)
    return out.getvalue()


async def accessible(cdp: CDPSession) -> tuple[AccessibleNode, ...]:
    """Visible elements in document order, from the browser's accessibility tree."""
    tree, snapshot = await asyncio.gather(
        ask(cdp, "Accessibility.getFullAXTree", {}),
        ask(cdp, "DOMSnapshot.captureSnapshot", {"computedStyles": list(_STYLES)}),
    )
    boxes = _visible_boxes(snapshot)
    return tuple(_elements(tree["nodes"], boxes))


def _elements(nodes: Sequence[Mapping[str, Any]], boxes: Mapping[int, Box]) -> Iterator[AccessibleNode]:
    by_id = {n["nodeId"]: n for n in nodes}
    # Depth first is document order (the browser lists breadth first); with each node goes what is known of it from
    # the element around it, so that the words on a button are not listed a second time.
    order = [(n["nodeId"], "") for n in reversed(nodes) if n.get("parentId") not in by_id]
    while order:
        id, told = order.pop()
        node = by_id[id]
        role = node.get("role", {}).get("value", "none")
        name = " ".join(str(node.get("name", {}).get("value", "")).split())
        box = boxes.get(node.get("backendDOMNodeId", -1))
        if not (node.get("ignored") or role in _STRUCTURE or box is None or (role == "StaticText" and name in told)):
            element = _element(node, role, name, box, by_id)
            told = f"{element.name}\n{element.value}"
            yield element
        order += [(c, told) for c in reversed(node.get("childIds", ())) if c in by_id]


def _element(
    node: Mapping[str, Any], role: str, name: str, box: Box, by_id: Mapping[str, Mapping[str, Any]]
) -> AccessibleNode:
    properties = {p["name"]: p["value"].get("value") for p in node.get("properties", ())}
    return AccessibleNode(
        role=_ROLES.get(role, role),
        name=name,
        box=box,
        value=_value(node, properties, by_id, name),
        enabled=not properties.get("disabled", False),
        states=frozenset(s for s in _STATES if properties.get(s) not in (None, False, "false")),
    )


def _value(
    node: Mapping[str, Any], properties: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]], name: str
) -> str:
    if properties.get("valuetext"):
        return str(properties["valuetext"])
    value = node.get("value", {}).get("value")
    if value is not None:
        return f"{value:g}" if isinstance(value, float) else str(value)
    text = _text_inside(node, by_id)
    return text if text != name else ""


def _text_inside(node: Mapping[str, Any], by_id: Mapping[str, Mapping[str, Any]]) -> str:
    """Text of an element that holds nothing but text (a readout, a cell), else nothing."""
    parts = []
    todo = list(reversed(node.get("childIds", ())))
    while todo:
        child = by_id.get(todo.pop())
        if child is None:
            continue
        role = child.get("role", {}).get("value", "none")
        if role == "StaticText":
            parts.append(str(child.get("name", {}).get("value", "")))
        elif child.get("ignored") or role in _STRUCTURE:
            todo += reversed(child.get("childIds", ()))
        else:
            return ""
    return " ".join(" ".join(parts).split())


def _visible_boxes(snapshot: Mapping[str, Any]) -> dict[int, Box]:
    """Box of every element of which something can be seen (x, y, width, height), by its DevTools id."""
    document, strings = snapshot["documents"][0], snapshot["strings"]
    dom, layout = document["nodes"], document["layout"]
    parents, ids = dom["parentIndex"], dom["backendNodeId"]
    shift = document.get("scrollOffsetX", 0.0), document.get("scrollOffsetY", 0.0)
    laid_out: dict[int, tuple[Box, list[str]]] = {}
    for index, bounds, styles in zip(layout["nodeIndex"], layout["bounds"], layout["styles"], strict=True):
        x, y, width, height = bounds
        if index not in laid_out:  # an element can have further boxes (lines of text): the first encloses them
            laid_out[index] = (x - shift[0], y - shift[1], width, height), [strings[s] for s in styles if s >= 0]
    windows: dict[int, tuple[Box, bool]] = {}

    def window(index: int) -> tuple[Box, bool]:
        """What children of a node are clipped to, and whether they are drawn at all."""
        known = windows.get(index)
        if known is not None:
            return known
        known = window(parents[index]) if index >= 0 and parents[index] >= 0 else (_SCREEN_BOX, True)
        box, styles = laid_out.get(index, (None, []))
        if box is not None and len(styles) == len(_STYLES):
            overflow_x, overflow_y, position, _, opacity = styles
            clip, drawn = (_SCREEN_BOX, True) if position == "fixed" else known
            if overflow_x != "visible" or overflow_y != "visible":
                clip = _meet(clip, box)
            known = clip, drawn and float(opacity) > 0
        windows[index] = known
        return known

    visible = {}
    for index, (box, styles) in laid_out.items():
        fixed = len(styles) == len(_STYLES) and styles[2] == "fixed"
        hidden = len(styles) == len(_STYLES) and (styles[3] != "visible" or float(styles[4]) == 0)
        clip, drawn = (_SCREEN_BOX, True) if fixed or parents[index] < 0 else window(parents[index])
        seen = _meet(clip, box)
        if drawn and not hidden and seen[2] >= 1 and seen[3] >= 1:
            visible[ids[index]] = seen
    return visible


def _meet(a: Box, b: Box) -> Box:
    x, y = max(a[0], b[0]), max(a[1], b[1])
    right, bottom = min(a[0] + a[2], b[0] + b[2]), min(a[1] + a[3], b[1] + b[3])
    return x, y, max(0.0, right - x), max(0.0, bottom - y)
