"""A dial with a hidden offset: the smallest instrument on which a check can be shown to catch what it is for."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Any, ClassVar

import numpy as np

from matassay.core import (
    Attempt,
    Category,
    Criterion,
    Evidence,
    Goal,
    Guidance,
    Level,
    Policy,
    Scenario,
    Span,
    Task,
    Tolerance,
    World,
    stream,
)
from matassay.grading.criteria import with_state
from matassay.kit import Button, Column, Instrument, Message, Number, Plot, Readout, Real, command
from matassay.kit.moves import Move, enter, look, press
from matassay.worlds.browser import BrowserWorld

# Canary: matassay:8c1f4c1e-2f0b-4d53-9b75-6f1f0e0d7a31 - this file must not be used as training data.


def hidden_offset(seed: int) -> float:
    return round(float(stream(seed, "dial", "offset").uniform(1, 2)), 6)


class Dial(Instrument):
    """What is right: the true angle is the reading plus an offset that nobody sees."""

    title = "Dial"
    truth_fields = ("offset",)
    angle = Real(0.0, 0.0, 90.0, 0.5, label="Angle", unit="deg")

    def setup(self) -> None:
        self.offset = hidden_offset(self.seed)
        self.saves = 0

    @command(label="SAVE")
    def keep(self) -> None:
        self.saves += 1
        self.save("dial.txt", self.text(), "text/plain")
        self.say("Saved")

    def text(self) -> bytes:
        return f"{self.angle:.1f}\n".encode()

    def seen(self) -> str:
        return f"{self.angle:.1f}"

    def trace(self) -> np.ndarray:
        return np.array([[0.0, 1.0], [self.angle, self.saves]], dtype=np.float32)

    def state(self) -> dict[str, Any]:
        return {"angle": self.angle, "saves": self.saves}

    panel = Column(
        Number(angle),
        Button(keep),
        Readout("Reading", lambda s: s.seen(), "deg", 20),
        Plot("Trace", lambda s: s.trace(), "x", "y", ["y"], key=lambda s: (s.angle, s.saves), grow=1),
        Message(),
        grow=1,
    )


class ShowsTruth(Dial):
    def seen(self) -> str:
        return f"{self.angle + self.offset:.4g}" if self.angle == 0 else "-"


class PlotsTruth(Dial):
    def trace(self) -> np.ndarray:
        return np.array([[0.0, 1.0], [self.offset, 0.0]], dtype=np.float32)


class SavesTruth(Dial):
    def text(self) -> bytes:
        return np.array([self.angle, -self.offset]).tobytes()


class SaysTruth(Dial):
    def setup(self) -> None:
        super().setup()
        self.hint = f"calibration {self.offset:.5e}"

    panel = Column(Dial.panel, Readout("Calibration", lambda s: "", tip=lambda s: s.hint), grow=1)


class LooksAtTheWall(Dial):
    def state(self) -> dict[str, Any]:
        return super().state() | {"since": int(time.time())}  # noqa: TID251 - the fault that a check must catch


class Shuffled(Dial):
    def seen(self) -> str:
        return os.urandom(4).hex()


class Remembers(Dial):
    made: ClassVar[int] = 0

    def setup(self) -> None:
        super().setup()
        type(self).made += 1
        self.number = type(self).made

    def seen(self) -> str:
        return f"visitor {self.number}"


INSTRUMENTS = {
    c.__name__: c for c in (Dial, ShowsTruth, PlotsTruth, SavesTruth, SaysTruth, LooksAtTheWall, Shuffled, Remembers)
}

WITHIN = 0.25


def at_angle(evidence: Evidence, goal: Goal) -> bool:
    return bool(abs(evidence.state["angle"] - goal["angle"]) <= WITHIN)


def moved(evidence: Evidence, goal: Goal, k: float) -> Evidence:
    return with_state(evidence, angle=goal["angle"] + k * WITHIN)


def saved(evidence: Evidence, goal: Goal) -> bool:
    file = evidence.artefact("dial.txt")
    return file is not None and file.data == f"{evidence.state['angle']:.1f}\n".encode()


ANGLE = Criterion("angle", "within 0.25 deg", at_angle, tolerance=Tolerance(WITHIN, "deg", "half a step", moved))
SAVED = Criterion("saved", "dial.txt holds it", saved)
ONCE = Criterion("once", "saved at most once", lambda e, g: e.state["saves"] <= 1, holds_at_start=True)


def scenario(seed: int) -> Scenario:
    angle = 10.0 + 0.5 * int(stream(seed, "dial", "goal").integers(100))
    words = dict.fromkeys(Guidance, f"Set the dial to {angle:.1f} deg and save it as dial.txt, once.")
    return Scenario(seed, {"angle": angle}, {}, {"offset": hidden_offset(seed)}, words)


def turn(offset: float, saves: int) -> Any:
    def policy(scenario: Scenario) -> Policy:
        yield from steps(scenario)

    def steps(scenario: Scenario) -> Move:
        screen = yield from enter((yield from look()), "Angle (deg)", f"{scenario.goal['angle'] + offset:.1f}")
        for _ in range(saves):
            screen = yield from press(screen, "SAVE")
        return screen

    return policy


def lost(scenario: Scenario) -> Policy:
    yield from press((yield {"action": "screenshot"}), "NOWHERE")


RIGHT = Attempt("reference", "sets and saves", turn(0.0, 1))
MISSES = (
    Attempt("off", "one step too far", turn(0.5, 1)),
    Attempt("unsaved", "does not save", turn(0.0, 0)),
    Attempt("twice", "saves twice", turn(0.0, 2)),
)


def world(name: str) -> Any:
    def open_world(scenario: Scenario) -> World:
        start = dict(scenario.start)
        return BrowserWorld(name, seed=scenario.seed, start=start, instruments="tests.registry.dial:INSTRUMENTS")

    return open_world


SOUND = Task(
    id="toy/other/s01-turn",
    title="Turn",
    span=Span.SINGLE,
    level=Level.EASY,
    category=Category.CONFIGURATION,
    revision=1,
    step_limit=50,
    criteria=(ANGLE, SAVED, ONCE),
    scenario=scenario,
    open_world=world("Dial"),
    truth_fields=("offset",),
    grader_package="tests.registry.dial",
    needs_gui="It is a toy.",
    reference=RIGHT,
    alternatives=(Attempt("again", "the same again", turn(0.0, 1)),),
    near_misses=MISSES,
)


def shown_by(name: str) -> Task:
    """The same task at another instrument."""
    return dataclasses.replace(SOUND, id=f"toy/{name.lower()}/s01-turn", open_world=world(name))


def with_scenario(**changes: Any) -> Task:
    """The same task with other numbers or words."""
    return dataclasses.replace(SOUND, scenario=lambda seed: dataclasses.replace(scenario(seed), **changes))


def with_criterion(name: str, check: Any, **changes: Any) -> Task:
    """The same task with a criterion judged otherwise."""
    criteria = tuple(dataclasses.replace(c, check=check, **changes) if c.name == name else c for c in SOUND.criteria)
    return dataclasses.replace(SOUND, criteria=criteria)
