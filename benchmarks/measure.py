"""The measurements. None of them knows an instrument: they use whatever controls a panel shows."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

from matassay.core import AccessibleNode, parse_action
from matassay.kit.desk import Desk
from matassay.kit.parameters import Real
from matassay.kit.serve import load_instruments
from matassay.worlds.browser import BrowserWorld

from .memory import resident

#: Controls that a click and the arrow keys do no harm to.
ROLES = ("spinbutton", "slider", "combobox", "tab")


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 95th percentile, ms."""
    ordered = sorted(seconds)
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return {"median": round(1e3 * statistics.median(ordered), 1), "p95": round(1e3 * p95, 1)}


def gestures(nodes: Sequence[AccessibleNode]) -> Iterator[dict[str, Any]]:
    """Endless work at a panel: go to a control, press a key, let time pass."""
    controls = [n for n in nodes if n.enabled and n.role in ROLES]
    for node in itertools.cycle(controls or [AccessibleNode("screen", "", (680, 380, 4, 4))]):
        yield {"action": "left_click", "coordinate": list(node.center)}
        yield {"action": "key", "text": "Up"}
        yield {"action": "key", "text": "Escape"}
        yield {"action": "wait", "duration": 0.1}


async def work(world: BrowserWorld, steps: int) -> list[dict[str, float]]:
    """Act and look ``steps`` times; seconds of each part of each step."""
    shown = await world.observe(accessible=True)
    parts = []
    for gesture in itertools.islice(gestures(shown.accessible or ()), steps):
        began = time.perf_counter()
        await world.act(parse_action(gesture))
        seen = await world.observe()
        parts.append({**seen.extra["seconds"], "step": time.perf_counter() - began})
    return parts


async def opened(name: str, instruments: str, seed: int = 0) -> BrowserWorld:
    world = BrowserWorld(name, seed=seed, instruments=instruments)
    await world.start()
    return world


async def step_latency(name: str, instruments: str, steps: int) -> dict[str, Any]:
    """Time of one step (act, settle, screenshot), without a model, ms."""
    world = await opened(name, instruments)
    try:
        await work(world, 5)
        parts = await work(world, steps)
    finally:
        await world.close()
    return {key: milliseconds([p[key] for p in parts]) for key in ("act", "settle", "screenshot", "step")}


async def page_load(name: str, instruments: str, times: int) -> dict[str, Any]:
    """Time from navigation to the first painted panel, and of a whole start, ms. The first start warms up."""
    loads, starts = [], []
    for seed in range(times + 1):
        began = time.perf_counter()
        world = await opened(name, instruments, seed)
        starts.append(time.perf_counter() - began)
        loads.append((await world.observe()).extra["seconds"]["load"])
        await world.close()
    return {"load": milliseconds(loads[1:]), "start": milliseconds(starts[1:]), "first_start": milliseconds(starts[:1])}


async def throughput(name: str, instruments: str, episodes: int, steps: int) -> float:
    """Steps per second of several episodes side by side."""
    worlds = await asyncio.gather(*(opened(name, instruments, seed) for seed in range(episodes)))
    try:
        began = time.perf_counter()
        await asyncio.gather(*(work(world, steps) for world in worlds))
        return round(episodes * steps / (time.perf_counter() - began), 1)
    finally:
        await asyncio.gather(*(world.close() for world in worlds))


async def memory_per_episode(name: str, instruments: str, episodes: int, steps: int) -> float:
    """Memory of a further episode: browser, server and runner together, MiB."""
    worlds = [await opened(name, instruments)]
    try:
        await work(worlds[0], steps)
        before = resident(os.getpid())
        for seed in range(1, episodes + 1):
            worlds.append(await opened(name, instruments, seed))
            await work(worlds[-1], steps)
        return round((resident(os.getpid()) - before) / episodes, 1)
    finally:
        await asyncio.gather(*(world.close() for world in worlds))


def headless(name: str, instruments: str, steps: int) -> float:
    """Steps per second of an instrument without server and browser: set a parameter, pass 0.3 s, read the panel."""
    desk = Desk(load_instruments(instruments)[name](0, {}))
    numbers = [w for w in desk.widgets if isinstance(w.bind, Real)]
    began = time.perf_counter()
    for i in range(steps):
        if numbers:
            real = numbers[i % len(numbers)].bind
            assert isinstance(real, Real)
            desk.set(real.name, real.lo if i % 2 else real.default)
        desk.advance(0.3)
        desk.snapshot()
        desk.evidence()
    return round(steps / (time.perf_counter() - began), 1)


def reference_suite(prefix: str) -> dict[str, Any]:
    """Wall time of all tasks of an instrument by the reference agent, s; null with a reason if they cannot be run."""
    with tempfile.TemporaryDirectory() as logs:
        argv = [sys.executable, "-m", "matassay", "run", prefix, "--agent", "reference", "--format", "json"]
        began = time.perf_counter()
        done = subprocess.run([*argv, "--log-dir", logs], capture_output=True, text=True)
        seconds = round(time.perf_counter() - began, 2)
    if done.returncode != 0:
        return {"seconds": None, "reason": (done.stderr.strip().splitlines() or ["no message"])[-1][:300]}
    summary = json.loads(done.stdout)["summary"]
    return {"seconds": seconds, "tasks": summary["attempted"], "success_rate": summary["success_rate"]}
