"""What an agent must find out can be found out in no other way, and nothing else can be reached."""

from __future__ import annotations

import re
import struct
from collections.abc import AsyncIterator, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from matassay.core import Action, Guidance, Interface, is_number
from matassay.worlds.browser import BrowserWorld, PinnedPage

from ._case import Case
from ._exposure import PICTURES, Exposure, expose
from ._finding import Finding

#: Stands in every task file, so that corpora can be filtered.
CANARY = "matassay:8c1f4c1e-2f0b-4d53-9b75-6f1f0e0d7a31"

#: Shorter texts and numbers of fewer digits occur by chance.
LEAST_LETTERS, LEAST_DIGITS = 6, 3


async def truth_shows_nowhere(case: Case) -> AsyncIterator[Finding]:
    """A6."""
    exposure = await expose(case.task, case.seed)
    words = "\n".join(case.scenario.instructions.values())
    exposure.add("instructions", words)
    other: Exposure | None = None
    for name, value in secrets(case.scenario.truth):
        found = places(value, exposure)
        if found:
            # What shows in an episode with another truth as well says nothing about this one.
            if other is None:
                other = await expose(case.task, case.seed + 1)
            others = dict(secrets(case.other.scenario.truth))
            if others.get(name) != value:
                found = [place for place in found if place not in places(value, other)]
        detail = f"{name} shows in {', '.join(found)}" if found else f"{name} shows nowhere"
        searchable = bool(patterns(value) or encodings(value))
        yield Finding(not found, detail if searchable else f"{name} = {value!r} is too common to be searched for")
    size = sum(map(len, exposure.texts.values()))
    yield Finding(size > 0, f"{len(exposure.texts)} places with {size} characters were searched")


def secrets(truth: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Single values of the truth, however deep, with the path to each."""
    todo: list[tuple[str, Any]] = list(truth.items())
    while todo:
        path, value = todo.pop(0)
        if isinstance(value, Mapping):
            todo += [(f"{path}.{k}", v) for k, v in value.items()]
        elif isinstance(value, list | tuple):
            todo += [(f"{path}[{i}]", v) for i, v in enumerate(value)]
        else:
            yield path, value


def places(value: Any, exposure: Exposure) -> list[str]:
    """Where a value shows."""
    found = []
    if forms := patterns(value):
        pattern = re.compile("|".join(forms))
        found += [place for place, text in exposure.texts.items() if pattern.search(text)]
    for encoding in encodings(value):
        for place, blob in exposure.blobs.items():
            by_chance = place == PICTURES and len(encoding) == 4
            if not by_chance and place not in found and encoding in blob:
                found.append(place)
    return found


def patterns(value: Any) -> list[str]:
    """Regular expressions for every way in which a value is commonly written; without its sign."""
    if isinstance(value, str):
        return [re.escape(value)] if len(value) >= LEAST_LETTERS else []
    if not _is_rare(value):
        return []
    size = abs(value)
    if isinstance(value, int):
        return [rf"(?<![\w.]){form}(?!\w)" for form in (f"{size}", f"{size:,}", f"{size}\\.0")]
    cut = re.match(r"[0.]*(?:\d\.?){1,4}", f"{size:.15f}")
    assert cut is not None  # a number begins with a digit
    forms = {repr(size), f"{size:.4g}", cut.group(), repr(_single(size)), f"{size:.4e}", f"{size:g}"}
    # .0123 as well as 0.0123, but not 10.0123; more digits may follow
    return [
        r"(?<![\w.])" + re.sub(r"^0\\.", r"0?\.", re.escape(f)) for f in sorted(forms) if _digits(f) >= LEAST_DIGITS
    ]


def encodings(value: Any) -> list[bytes]:
    """Bytes of a number in the formats of binary messages and files, both signs and both orders."""
    if not isinstance(value, float) or not _is_rare(value):
        return []
    signed = (value, -value)
    return [
        struct.pack(order + kind, v) for v in signed for order in "<>" for kind in "fd" if kind == "d" or _single(v)
    ]


def _is_rare(value: Any) -> bool:
    """Whether a number has digits enough not to stand somewhere by chance."""
    return is_number(value) and _digits(repr(abs(value))) >= LEAST_DIGITS


def _single(value: float) -> float:
    """The number as it comes out of a 32-bit float; 0 if it does not fit into one."""
    return float(struct.unpack("<f", struct.pack("<f", value))[0]) if abs(value) < 3e38 else 0.0


def _digits(form: str) -> int:
    """Significant digits of a number in words."""
    return len(re.sub(r"e.*$|\.", "", form).strip("0"))


async def truth_is_declared(case: Case) -> AsyncIterator[Finding]:
    """A7."""
    declared, there = set(case.task.truth_fields), set(case.scenario.truth)
    detail = f"declared: {', '.join(sorted(declared))}"
    if declared != there:
        detail += f"; but there are: {', '.join(sorted(there)) or 'none'}"
    yield Finding(bool(declared) and declared == there, detail)
    public = dict(secrets(case.goal))
    for name, value in secrets(case.scenario.truth):
        asked = name in public or (bool(patterns(value)) and value in public.values())
        yield Finding(not asked, f"{name} is {'part' if asked else 'no part'} of the goal")
        words = "\n".join(case.scenario.instructions.get(g, "") for g in Guidance)
        told = any(re.search(p, words) for p in patterns(value))
        yield Finding(not told, f"{name} is {'given away' if told else 'not told'} in the instructions")


#: What a script in the page could try, had somebody got one in: promises that must not be kept.
ESCAPES = {
    "another web site": "fetch('http://example.org/')",
    "another port": "fetch('http://127.0.0.1:9/')",
    "another name of this machine": "fetch('http://localhost:' + location.port + '/')",
    "a file": "fetch('file:///etc/hostname')",
    "a socket elsewhere": "new Promise((y, n) => Object.assign(new WebSocket('ws://example.org/'), {onopen: y, onerror: n}))",
    "the evidence": "granted('/control' + location.pathname.replace('/s/', '/sessions/') + 'evidence')",
    "the sessions": "granted('/control/sessions', {method: 'POST', body: '{}'})",
}
GRANTED = "const granted = (...what) => fetch(...what).then(r => r.ok ? r : Promise.reject(r));"

#: Where it could try to go.
EXITS = {
    "a file": "location.href = 'file:///etc/hostname'",
    "another web site": "location.href = 'http://example.org/'",
    "a page of the browser": "location.href = 'chrome://version/'",
    "the source of the page": "location.href = 'view-source:' + location.href",
    "a new window": "window.open('http://example.org/') && window.open('about:blank')",
}


async def browser_is_pinned(case: Case) -> AsyncIterator[Finding]:
    """A9."""
    world = case.task.open_world(case.scenario)
    if not isinstance(world, BrowserWorld):
        yield Finding(True, "no browser")
        return
    try:
        await world.start()
        before = await world.evidence()
        for what, script in ESCAPES.items():
            reached = await world.inspect(lambda page, script=script: _reaches(page, script))  # type: ignore[misc]
            yield Finding(not reached, f"{what} can{'' if reached else 'not'} be reached from the page")
        for what, script in EXITS.items():
            left = await world.inspect(lambda page, script=script: _leaves(page, script))  # type: ignore[misc]
            yield Finding(not left, f"the page can{'' if left else 'not'} be left for {what}")
        await world.act(Action("wait", duration=0.0))  # fetches what the server has now
        after = await world.evidence()
        yield Finding(before.to_json() == after.to_json(), "nothing of this changes the evidence")
    finally:
        await world.close()


async def _reaches(page: PinnedPage, script: str) -> bool:
    """Whether a promise of the page is kept."""
    expression = f"{{ {GRANTED} Promise.resolve().then(() => {script}).then(() => true, () => false) }}"
    ask = page.cdp.send("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
    return bool((await page.guarded(ask))["result"].get("value"))


async def _leaves(page: PinnedPage, script: str) -> bool:
    """Whether the page is another one after it tried to go away."""
    await page.guarded(page.evaluate(f"window.stays = true; {script}"))
    # a round trip through the page's own queue and the network: the refused navigation has been answered
    await page.guarded(page.cdp.send("Runtime.evaluate", {"expression": "fetch(location.href)", "awaitPromise": True}))
    return not await page.guarded(page.evaluate("window.stays === true"))


async def canary_is_there(case: Case) -> AsyncIterator[Finding]:
    """C8."""
    if case.task.interface is Interface.WORKSPACE:
        without = [f.name for f in case.task.grader_files[:1] if CANARY not in f.read_text("utf-8")]
        yield Finding(not without, f"{', '.join(without)} has no canary" if without else "the canary is there")
        return
    spec = find_spec(case.task.grader_package)
    origin = Path(spec.origin) if spec and spec.origin else Path()
    file = origin.with_name("tasks.py") if origin.name == "__init__.py" else origin
    there = file.is_file() and CANARY in file.read_text("utf-8")
    yield Finding(there, f"{'the' if there else 'no'} canary in {case.task.grader_package}: {file.name}")
