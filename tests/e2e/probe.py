"""A test instrument that reports where it was touched: an image, a field, a list that scrolls, a file, a clock."""

from __future__ import annotations

from typing import Any

import numpy as np

from matassay.kit import (
    Button,
    Choice,
    Column,
    Flag,
    Instrument,
    ListBox,
    Message,
    Pixel,
    Readout,
    Real,
    Row,
    Select,
    Slider,
    Tabs,
    Text,
    TextField,
    Toggle,
    View,
    command,
)

SIZE = (640, 480)


class Probe(Instrument):
    """Keeps account of every gesture on its image."""

    title = "Probe"

    comment = Text("", max_length=40, label="Comment")
    channel = Choice("Channel 01", [f"Channel {i:02d}" for i in range(1, 31)], label="Channel")
    mode = Choice("fast", ["fast", "slow", "off"], label="Mode")
    gain = Real(1.0, 0.0, 10.0, 0.1, label="Gain", unit="V")
    beam = Flag(False, label="Beam")
    locked = Real(5.0, 0.0, 10.0, 1.0, label="Locked", unit="V", guard=lambda s: "never")

    def setup(self) -> None:
        self.heard: list[list[Any]] = []
        self.secret = float(self.rng("secret").uniform(1000, 9999))

    @command
    def click(self, x: Pixel, y: Pixel) -> None:
        self.heard.append(["click", x, y])

    @command
    def double(self, x: Pixel, y: Pixel) -> None:
        self.heard.append(["double", x, y])

    @command
    def drag(self, x0: Pixel, y0: Pixel, x1: Pixel, y1: Pixel) -> None:
        self.heard.append(["drag", x0, y0, x1, y1])

    @command
    def wheel(self, x: Pixel, y: Pixel, clicks: Pixel) -> None:
        self.heard.append(["wheel", clicks])

    @command(label="Save")
    def write(self) -> None:
        self.save("note.txt", f"{self.comment} at {self.now:.1f} s".encode(), "text/plain")
        self.say("Saved note.txt")

    @command(label="Hit the wall")
    def crash(self) -> None:
        self.suffer("collision", "The stage hit the wall")

    def image(self) -> np.ndarray:
        # pure noise of (seed, time): the hardest picture to encode, and any other frame would show
        return self.rng("noise", int(self.now * 10)).integers(0, 256, SIZE[::-1], dtype=np.uint8)

    def state(self) -> dict[str, Any]:
        names = ("heard", "comment", "channel", "mode", "gain", "beam", "secret")
        return {name: getattr(self, name) for name in names}

    panel = Column(
        Row(
            View("Camera", image, size=SIZE, click=click, double=double, drag=drag, wheel=wheel),
            Column(
                TextField(comment),
                Slider(gain, coarse=1.0),
                Slider(locked, coarse=1.0),
                Select(mode),
                Toggle(beam),
                Row(Button(write, style="primary"), Button(crash, style="danger")),
                ListBox(channel, rows=6),
                Readout("Clock", lambda s: f"{s.now:.1f}", "s", digits=7),
                Tabs("Pages", Column(Readout("First page", lambda s: "1"), label="First"), Column(
                    Readout("Second page", lambda s: "2"), label="Second"), id="pages", height=120),
                grow=1,
            ),
            grow=1,
        ),
        Message(),
    )  # fmt: skip


INSTRUMENTS = {"probe": Probe}
