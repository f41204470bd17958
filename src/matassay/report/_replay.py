"""A replay: one self-contained page that shows what an agent saw and did, step by step."""

from __future__ import annotations

import base64
import io
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any

from matassay import __version__
from matassay.core import SCREEN

from ._html import count, render, script_json, short_ids
from ._quality import in_words
from ._report import write_whole
from ._steps import Image, Replay, ReplayStep

#: What may be drawn or written of an action; anything else that an agent sent is not passed on to the page.
FIELDS = (
    "coordinate", "start_coordinate", "path", "text", "duration", "scroll_direction", "scroll_amount", "region",
    "repeat", "press_enter",
)  # fmt: skip

CLICKS = {
    "left_click": "click", "right_click": "right click", "middle_click": "middle click",
    "double_click": "double click", "triple_click": "triple click",
}  # fmt: skip


#: Buckets of tokens in words.
TOKENS = {"input": "input", "cache_read": "cached", "cache_write": "written to the cache", "output": "output"}

#: Failed checks of one cause that stand in one line.
MANY = 4

#: Quality of pictures that are made smaller: fine print stays legible at a third of the size.
QUALITY = 80


def write_replay(replays: Iterable[Replay], path: Path, title: str, *, smaller: bool = False) -> Path:
    """Write one page with all episodes given; equal pictures are kept once.

    Parameters
    ----------
    replays : iterable of Replay
        Episodes.
    path : Path
        The page.
    title : str
        Its title.
    smaller : bool
        Code the screenshots anew, slightly lossy; the log keeps the originals.
    """
    return write_whole(path, replay_html(replays, title, smaller=smaller))


def replay_html(replays: Iterable[Replay], title: str, *, smaller: bool = False) -> str:
    """The page as text; see `write_replay`."""
    images: list[str] = []
    numbers: dict[str, int] = {}
    episodes = []
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        coded: Iterator[str] = iter(())
        for replay in replays:  # the next episode is read while the pictures of the last one are coded
            images += coded
            new = {key: image for key, image in replay.images.items() if key not in numbers}
            numbers.update(zip(new, range(len(numbers), len(numbers) + len(new)), strict=True))
            coded = pool.map(_data_uri, new.values(), repeat(smaller))
            episodes.append(_episode(replay, numbers))
        images += coded
    for episode, name in zip(episodes, short_ids([e["id"] for e in episodes]), strict=True):
        episode["name"] = name
    data = {"screen": list(SCREEN), "images": images, "episodes": episodes}
    from markupsafe import Markup

    return render("replay.html", title=title, data=Markup(script_json(data)), version=__version__)  # noqa: S704


def _data_uri(image: Image, smaller: bool) -> str:
    media_type, data = image.media_type, image.data
    if smaller and media_type == "image/png":
        from PIL import Image as Picture

        buffer = io.BytesIO()
        with Picture.open(io.BytesIO(data)) as picture:
            plain = picture if picture.mode == "RGB" else picture.convert("RGB")
            plain.save(buffer, "WEBP", quality=QUALITY, method=0)  # the fastest: a third less time, an eighth larger
        media_type, data = "image/webp", buffer.getvalue()
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def describe(action: Mapping[str, Any]) -> str:
    """An action in a few words for people."""
    kind = str(action.get("action") or action.get("kind") or "nothing")
    text = action.get("text")
    at = _at(action.get("coordinate"))
    held = f" with {text} held" if isinstance(text, str) and text else ""
    if kind in CLICKS:
        return f"{CLICKS[kind]}{at}{held}"
    if kind == "left_click_drag":
        return f"drag{_at(action.get('start_coordinate'), ' from')}{at.replace(' at', ' to')}{held}"
    if kind == "scroll":
        return f"scroll {action.get('scroll_direction')} by {action.get('scroll_amount', 1)}{at}{held}"
    if kind == "type":
        return f"type “{text}”" + (" and Return" if action.get("press_enter") else "")
    if kind in ("key", "hold_key"):
        times = f", {action['repeat']} times" if action.get("repeat") not in (None, 1) else ""
        held = f" for {action.get('duration')} s" if kind == "hold_key" else ""
        return f"{'hold' if kind == 'hold_key' else 'press'} {text}{held}{times}"
    if kind == "wait":
        return f"wait {action.get('duration')} s"
    if kind == "run_code":
        return _telling_line(str(action.get("code", ""))) or "run code"
    if kind == "call":
        return f"{action.get('tool')}: {_telling_line(str(action.get('code', '')))}".rstrip(": ")
    if kind == "reply":
        return "a reply without a call"
    if kind == "malformed_reply":
        return "a reply from which no code could be taken"
    if kind == "unusable_call":
        return f"a call of {action.get('tool')} that could not be carried out"
    words = {
        "mouse_move": f"move the pointer{at.replace(' at', ' to')}",
        "left_mouse_down": f"press the button{at}",
        "left_mouse_up": f"release the button{at}",
        "screenshot": "look",
        "zoom": "look closer",
        "cursor_position": "ask where the pointer is",
    }
    return words.get(kind, kind)


def _telling_line(code: str) -> str:
    """The first line that says something: no comment, no import; else the first that is not empty."""
    lines = [stripped for line in code.splitlines() if (stripped := line.strip())]
    telling = (line for line in lines if not line.startswith(("#", "import ", "from ")))
    return next(telling, lines[0] if lines else "")


def _name(step: ReplayStep) -> str:
    """What a step is called in the list: the first sentence of the agent's thought, else what it did."""
    if step.thought and step.place[0] == 1:
        line = step.thought.split("\n", 1)[0].strip()
        return re.split(r"(?<=[.!?])\s+(?=[A-Z])", line, maxsplit=1)[0]
    return describe(step.action)


def _at(point: Any, word: str = " at") -> str:
    if isinstance(point, list | tuple) and len(point) == 2:
        return f"{word} ({point[0]}, {point[1]})"
    return ""


def _episode(replay: Replay, numbers: Mapping[str, int]) -> dict[str, Any]:
    r = replay.result
    mishaps: dict[int, list[str]] = {}
    for c in r.consequences:
        mishaps.setdefault(int(c.get("step") or 0), []).append(_mishap(c))
    about = {"agent": r.agent, "model": r.model, "guidance": r.guidance, "seed": str(r.seed)}
    return {
        "id": r.sample_id,
        "task": r.id,
        "about": {name: value for name, value in about.items() if value},
        "instruction": replay.instruction,
        "first": numbers.get(replay.first or ""),
        "last": numbers.get(replay.last or ""),
        "counted": r.steps,
        "steps": [_step(s, numbers, mishaps.get(s.number, [])) for s in replay.steps],
        "closing": replay.closing,
        "outcome": str(r.outcome).replace("_", " "),
        "success": r.success,
        "score": r.score,
        "criteria": _criteria(replay),
        "consequences": [{"step": c.get("step"), "text": _mishap(c)} for c in r.consequences],
        "measures": in_words(r.measures),
        "initial": dict(replay.initial),
        "byCode": replay.workspace,
        "error": r.error or "",
    }


def _criteria(replay: Replay) -> list[dict[str, Any]]:
    """What is asked for and whether it holds; what many failed checks say stands once, with their number."""
    r = replay.result
    sharing = Counter(r.messages.get(name, "") for name, holds in r.criteria.items() if not holds)
    shown: list[dict[str, Any]] = []
    for name, holds in r.criteria.items():
        message = "" if holds else r.messages.get(name, "")
        many = sharing[message] if message else 0
        if many >= MANY:
            sharing[message] = -1  # told here, and no more
        if many >= 0:
            words = f"{many} checks" if many >= MANY else name.replace("_", " ")
            shown.append({"name": words, "holds": holds, "description": message or replay.descriptions.get(name, "")})
    return shown


def _mishap(c: Mapping[str, Any]) -> str:
    name = str(c["name"]).replace("_", " ")
    return f"{name}: {c['message']}" if c.get("message") else name


def _step(step: ReplayStep, numbers: Mapping[str, int], mishaps: list[str]) -> dict[str, Any]:
    action = step.action
    return {
        "n": step.number,
        "kind": str(action.get("action") or action.get("kind") or "")[:40],
        "words": _name(step)[:400],
        "error": step.error,
        "time": step.time,
        "before": numbers.get(step.before or ""),
        "after": numbers.get(step.after or ""),
        "pointer": step.pointer,
        "says": step.says,
        "place": step.place,
        "mishaps": mishaps,
        "changes": dict(step.changes),
        **({} if step.code is None else _of_cell(step, numbers)),
        **{name: _drawable(action[name]) for name in FIELDS if action.get(name) is not None},
    }


def _of_cell(step: ReplayStep, numbers: Mapping[str, int]) -> dict[str, Any]:
    tokens = {name: n for name in TOKENS if (n := step.tokens.get(name))}
    return {
        "code": step.code,
        "shown": step.shown,
        "plots": [numbers[key] for key in step.plots if key in numbers],
        "elapsed": step.elapsed,
        "tokens": f"tokens: {', '.join(f'{count(n)} {TOKENS[name]}' for name, n in tokens.items())}" if tokens else "",
        **({"tool": str(step.action.get("tool"))[:80]} if step.action.get("action") == "call" else {}),
    }


def _drawable(value: Any) -> Any:
    """Numbers, texts and flat lists of them; anything else as text, so that the page need not guard itself."""
    if isinstance(value, bool | int) or (isinstance(value, float) and abs(value) < 1e9):
        return value
    if isinstance(value, list | tuple):
        return [_drawable(v) for v in value[:250]]
    return str(value)[:2000]
