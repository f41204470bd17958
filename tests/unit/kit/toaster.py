"""A toaster: every kind of parameter and command, and time that matters."""

from __future__ import annotations

from typing import Any

import numpy as np

from matassay.kit import (
    Button,
    Choice,
    Column,
    Dialog,
    Flag,
    Instrument,
    Int,
    Lamp,
    Message,
    Number,
    Pixel,
    Plot,
    Readout,
    Real,
    Refused,
    Select,
    Slider,
    Tabs,
    Text,
    TextField,
    Toggle,
    View,
    command,
)


def _cold(s: Toaster) -> str | None:
    return "Not while it is hot" if s.hot else None


class Toaster(Instrument):
    title = "Toaster"
    truth_fields = ("wear",)

    level = Real(3.0, 1.0, 6.0, 0.5, label="Level", unit="s", guard=_cold)
    slots = Int(2, 1, 4, 1, label="Slots")
    bread = Choice("white", ("white", "rye", "bagel"), label="Bread")
    width = Choice(1.0, (0.5, 1.0, 2.0), show_as=lambda v: f"{v:g}", label="Width", unit="mm")
    crumbs = Flag(False, label="Crumb tray")
    note = Text("", max_length=10, label="Note", soft=True, guard=_cold)

    def setup(self) -> None:
        self.wear = float(self.rng("wear").uniform())
        self.hot = False
        self.toasted = 0
        self.spots: list[tuple[float, float]] = []
        self.energy = 0.0
        self.asking = False

    @level.changed
    def _level_changed(self) -> None:
        self.say(f"Level {self.level:g}")

    @command(label="PUSH", guard=_cold)
    def push(self) -> None:
        self.hot = True
        self.after(self.level, self._pop)

    def _pop(self) -> None:
        self.hot = False
        self.toasted += 1
        self.save(f"toast-{self.toasted}.txt", b"brown\n" * self.toasted, "text/plain")

    @command(label="BURN", soft=True, guard=lambda s: None if s.hot else "It is cold")
    def burn(self) -> None:
        self.suffer("burnt", "Smoke")

    @command
    def touch(self, x: Pixel, y: Pixel) -> None:
        self.spots.append((x, y))

    @command(label="Explode")
    def explode(self) -> None:
        raise Refused("It does not explode")

    @command
    def ask(self) -> None:
        self.asking = True

    @command
    def cancel(self) -> None:
        self.asking = False

    def evolve(self, dt: float) -> None:
        if self.hot:
            self.energy += dt

    def image(self) -> np.ndarray:
        return np.full((4, 6), self.toasted, dtype=np.uint8)

    def curve(self) -> np.ndarray:
        return np.array([[0, 1], [self.energy, self.toasted]], dtype=np.float32)

    def state(self) -> dict[str, Any]:
        return {"hot": self.hot, "toasted": self.toasted, "energy": round(self.energy, 9), "level": self.level}

    panel = Column(
        Slider(level),
        Number(slots),
        Select(bread),
        Select(width),
        Toggle(crumbs),
        TextField(note),
        Button(push),
        Button(burn),
        Button(explode),
        Button(ask),
        Lamp("Hot", lambda s: s.hot),
        Readout("Clock", lambda s: f"{s.now:.1f}", "s"),
        View("Window", lambda s: s.image(), (6, 4), key=lambda s: s.toasted, click=touch),
        Plot("Energy", lambda s: s.curve(), "t", "E", ["E"], key=lambda s: (s.energy, s.toasted)),
        Tabs("Pages", Column(label="One"), Column(label="Two")),
        Dialog("Sure?", Button(cancel), open=lambda s: s.asking, cancel=cancel),
        Message(),
    )


def broken(seed: int, start: Any) -> Toaster:
    raise RuntimeError("out of stock")


INSTRUMENTS = {"toaster": Toaster, "broken": broken}
