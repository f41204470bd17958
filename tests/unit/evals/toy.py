"""A lamp: the smallest world in which everything that the adapter must handle can happen."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from matassay.core import (
    SCREEN,
    AccessibleNode,
    Action,
    Artefact,
    Attempt,
    Category,
    Consequence,
    Criterion,
    EnvironmentFailure,
    Evidence,
    Guidance,
    InvalidAction,
    Level,
    Observation,
    Policy,
    Scenario,
    Span,
    Suite,
    Task,
    parse_action,
)

#: The switch and the save button: x, y, width, height.
SWITCH = (100, 100, 80, 40)
SAVE = (300, 100, 80, 40)

#: Number of worlds that are open; the tests hold it to 0 at their end.
OPEN: list[int] = [0]


class Lamp:
    """A switch, a save button, a clock. ``F9`` breaks the world, ``F8`` makes a mishap, ``F7`` is refused."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.on, self.time, self.pointer, self.message = False, 0.0, (0, 0), ""
        self.files: list[Artefact] = []
        self.mishaps: list[Consequence] = []
        self.open = False

    async def start(self) -> None:
        trace("start", self.scenario.seed)
        if self.scenario.start.get("broken"):
            raise EnvironmentFailure("no lamp in stock")
        self.open = True
        OPEN[0] += 1

    async def act(self, action: Action) -> None:
        self.message = ""
        if action.coordinate:
            self.pointer = action.coordinate
        if action.kind == "wait":
            self.time += action.duration or 0
        if action.kind == "left_click" and inside(self.pointer, SWITCH):
            self.on = not self.on
        if action.kind == "left_click" and inside(self.pointer, SAVE):
            self.files.append(Artefact.of("lamp.txt", b"lamp %d\n" % self.on * 200, "text/plain"))
        if action.kind == "key":
            self._key(action.text or "")

    def _key(self, key: str) -> None:
        if key == "F9":
            raise EnvironmentFailure("the lamp exploded")
        if key == "F10":
            raise PermissionError("a bug in the world")
        if key == "F8":
            self.mishaps.append(Consequence("flicker", self.time, "The lamp flickered."))
        if key == "F7":
            raise InvalidAction("unknown key 'F7'")

    def parse(self, raw: Any) -> Any:
        return parse_action(raw)

    async def conclude(self) -> None:
        pass

    async def observe(self, *, accessible: bool = False) -> Observation:
        image = Image.new("P", SCREEN, 0)
        image.putpalette([230, 232, 236, 40, 60, 90, 250, 220, 60])
        draw = ImageDraw.Draw(image)
        for x, y, w, h in (SWITCH, SAVE):
            draw.rectangle((x, y, x + w, y + h), fill=1)
        draw.ellipse((600, 200, 800, 400), fill=2 if self.on else 1)
        draw.text((20, 740), f"t={self.time} {self.message}", fill=1)
        out = io.BytesIO()
        image.save(out, "PNG")
        nodes = (AccessibleNode("switch", "Lamp", SWITCH), AccessibleNode("button", "Save", SAVE))
        return Observation(out.getvalue(), nodes if accessible else None, time=self.time)

    async def notify(self, message: str) -> None:
        self.message = message

    async def evidence(self) -> Evidence:
        state = {"on": self.on, "files": len(self.files), "measures": {"light_percent": 100.0 * self.on}}
        return Evidence(state, tuple(self.files), tuple(self.mishaps), self.time, {"lamp": "1.0"})

    async def close(self) -> None:
        OPEN[0] -= self.open
        self.open = False


def trace(word: str, seed: int) -> None:
    """Append to the file that the resume test reads, if there is one."""
    if path := os.environ.get("TOY_TRACE"):
        with Path(path).open("a") as f:
            f.write(f"{word} {seed}\n")


def inside(point: tuple[int, int], box: tuple[int, int, int, int]) -> bool:
    return box[0] <= point[0] < box[0] + box[2] and box[1] <= point[1] < box[1] + box[3]


def click(role: str, name: str, seen: Observation) -> dict[str, object]:
    return {"action": "left_click", "coordinate": list(seen.find(role, name).center)}


def right_way(scenario: Scenario) -> Policy:
    assert not scenario.truth
    assert not scenario.start
    seen = yield {"action": "screenshot"}
    seen = yield click("switch", "Lamp", seen)
    yield {"action": "wait", "duration": 2}
    yield click("button", "Save", seen)


def forgets_to_save(scenario: Scenario) -> Policy:
    seen = yield {"action": "screenshot"}
    yield click("switch", "Lamp", seen)


def raises(scenario: Scenario) -> Policy:
    seen = yield {"action": "screenshot"}
    seen.find("button", "Nowhere")
    yield {}


def presses(key: str):
    def policy(scenario: Scenario) -> Policy:
        yield {"action": "key", "text": key}

    return policy


def saved_on(evidence: Evidence, goal: object) -> bool:
    file = evidence.artefact("lamp.txt")
    return file is not None and file.data is not None and file.data.startswith(b"lamp 1")


def crash(evidence: Evidence, goal: object) -> bool:
    raise KeyError("nothing here")


GOALS = (
    Criterion("on", "The lamp is on.", lambda e, g: e.state["on"]),
    Criterion("saved", "lamp.txt says that the lamp is on.", saved_on),
    Criterion("on_time", "At most 100 s have passed.", lambda e, g: e.time <= g["latest"], holds_at_start=True),
)


def scenario(seed: int, **start: object) -> Scenario:
    words = {g: f"Switch the lamp on and save ({g}), before {100} s have passed." for g in Guidance}
    return Scenario(seed, {"latest": 100.0}, dict(start), {"serial": f"hidden-{seed}"}, words)


def make(name: str, **changes: object) -> Task:
    fields = {
        "id": f"toy/lamp/{name}",
        "title": "Lamp",
        "span": Span.SINGLE,
        "level": Level.EASY,
        "category": Category.EXECUTION,
        "revision": 1,
        "step_limit": 60,
        "criteria": GOALS,
        "scenario": scenario,
        "open_world": Lamp,
        "truth_fields": ("serial",),
        "grader_package": __name__,
        "needs_gui": "It is a toy.",
        "reference": Attempt("reference", "Does it.", right_way),
        "near_misses": (
            Attempt("unsaved", "Forgets to save.", forgets_to_save),
            Attempt("raises", "Looks for a control that is not there.", raises),
            Attempt("breaks", "Breaks the world.", presses("F9")),
            Attempt("bug", "Meets a bug of the world.", presses("F10")),
            Attempt("mishap", "Has a mishap.", presses("F8")),
        ),
    }
    return Task(**{**fields, **changes})  # type: ignore[arg-type]


LAMP = make("s01-switch-on")
SECOND = make("s02-again", span=Span.WORKFLOW)
UNGRADABLE = make("s03-broken-grader", criteria=(Criterion("crash", "Raises.", crash),))
OUT_OF_STOCK = make("s04-broken-world", scenario=lambda seed: scenario(seed, broken=True))

SUITE = Suite("toy", (LAMP, SECOND, UNGRADABLE, OUT_OF_STOCK))


@contextmanager
def registered() -> Iterator[None]:
    """The toy suite in place of the installed ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("matassay.core._registry.suites", lambda: {"toy": SUITE})
        yield
