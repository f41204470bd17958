"""A test instrument that has every widget there is, and keeps account of what reaches it."""

from __future__ import annotations

from typing import Any

import numpy as np

from matassay.kit import (
    Button,
    Choice,
    Column,
    Dialog,
    Flag,
    Grid,
    Group,
    Instrument,
    Int,
    Knob,
    Lamp,
    ListBox,
    Message,
    Number,
    Pixel,
    Plot,
    Progress,
    Readout,
    Real,
    Refused,
    Row,
    Select,
    Slider,
    Slot,
    Table,
    Tabs,
    Text,
    TextField,
    Toggle,
    Tray,
    View,
    command,
)

SPECIMENS = ["Silicon 640f", "LaB6 660c", "Corundum", "Quartz", "Halite", "Fluorite", "Rutile", "Anatase", "Zincite"]
MANY = [f"Filter {i:02d}" for i in range(1, 41)]
IMAGE = 256


def locked(s: Any) -> str | None:
    return "The panel is locked" if s.lock else None


def door_open(s: Any) -> str | None:
    return "Close the door first" if s.door else None


class Gallery(Instrument):
    """Every widget kind, in a layout like that of a real instrument."""

    title = "Widget Gallery"

    tube_voltage = Real(30.0, 20.0, 45.0, 5.0, label="Tube voltage", unit="kV", guard=locked)
    start_angle = Real(20.0, 5.0, 140.0, 0.01, label="Start angle", unit="deg", guard=locked)
    frames = Int(4, 1, 64, 1, label="Frames", guard=locked)
    comment = Text("", max_length=24, label="Comment", guard=locked)
    detector = Choice("SE2", ["InLens", "SE2", "BSE", "STEM"], label="Detector", guard=locked)
    filter = Choice(MANY[2], MANY, label="Filter")
    bottom = Choice("none", ["none", "Kalman", "average", "integrate"], label="Noise reduction")
    specimen = Choice(SPECIMENS[0], SPECIMENS, label="Specimen", guard=locked)
    focus = Real(8.0, 2.0, 20.0, 0.01, label="Focus", unit="mm", guard=locked)
    contrast = Real(50.0, 0.0, 100.0, 0.5, label="Contrast", unit="%", guard=locked)
    stigmator = Real(0.0, -50.0, 50.0, 0.1, label="Stigmator X", unit="%", guard=locked)
    door = Flag(False, label="Door", guard=locked)
    lock = Flag(False, label="Lock panel")
    scale = Choice("linear", ["linear", "log", "sqrt"], label="Counts axis")

    def setup(self) -> None:
        self.asking = self.xrays = self.extra = False
        self.holds, self.region, self.spot, self.pan_x, self.turns = "", [], [], 0.0, 0.0
        self.heard: list[list[Any]] = []

    def note(self, what: str, *args: Any) -> None:
        self.heard.append([what, *args])
        self.say(" ".join([what, *(f"{a:g}" if isinstance(a, float) else str(a) for a in args)]))

    @tube_voltage.changed
    def _(self) -> None:
        self.note("kV", self.tube_voltage)

    @start_angle.changed
    def _(self) -> None:
        self.note("angle", self.start_angle)

    @focus.changed
    def _(self) -> None:
        self.note("focus", self.focus)

    @contrast.changed
    def _(self) -> None:
        self.note("contrast", self.contrast)

    @stigmator.changed
    def _(self) -> None:
        self.note("stigmator", self.stigmator)

    @comment.changed
    def _(self) -> None:
        self.note("comment", self.comment)

    @detector.changed
    def _(self) -> None:
        self.note("detector", self.detector)

    @specimen.changed
    def _(self) -> None:
        self.note("specimen", self.specimen)

    @door.changed
    def _(self) -> None:
        self.note("door", self.door)

    @command(label="X-rays on", guard=door_open)
    def xrays_on(self) -> None:
        self.xrays = not self.xrays
        self.note("x-rays", self.xrays)

    @command(label="Start scan", guard=locked)
    def start(self) -> None:
        self.note("start")

    @command(label="Emergency off")
    def emergency(self) -> None:
        self.xrays = False
        self.say("Emergency off: the generator has been tripped", "error")

    @command(label="Vent...", guard=locked)
    def vent(self) -> None:
        self.asking = True

    @command(label="Yes, vent")
    def yes(self) -> None:
        self.asking = False
        self.note("vented")

    @command(label="No")
    def no(self) -> None:
        self.asking = False
        self.note("cancelled")

    @command
    def refuse(self) -> None:
        raise Refused("This instrument cannot do that")

    @command
    def drop(self, key: str) -> None:
        self.holds = key
        self.note("drop", key)

    @command
    def click(self, x: Pixel, y: Pixel) -> None:
        self.spot = [x, y]
        self.note("click", x, y)

    @command
    def pick(self, x: Pixel, y: Pixel) -> None:
        self.note("pick", x, y)

    @command
    def double(self, x: Pixel, y: Pixel) -> None:
        self.note("double", x, y)

    @command
    def drag(self, x0: Pixel, y0: Pixel, x1: Pixel, y1: Pixel) -> None:
        self.region = [min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)]
        self.note("drag", x0, y0, x1, y1)

    @command
    def pan(self, dx: Pixel, dy: Pixel) -> None:
        self.pan_x += dx
        self.note("pan", dx, dy)

    @command
    def wheel(self, x: Pixel, y: Pixel, clicks: Pixel) -> None:
        self.turns += clicks
        self.note("wheel", x, y, clicks)

    def image(self) -> np.ndarray:
        y, x = np.indices((IMAGE, IMAGE))
        rings = 120 + 70 * np.cos(np.hypot(x - 128 + self.pan_x, y - 128) / (2 + 0.2 * self.focus))
        noise = np.random.default_rng((self.seed, int(self.now))).integers(0, 30, rings.shape)
        return (rings + noise).clip(0, 255).astype(np.uint8)

    def colours(self) -> np.ndarray:
        y, x = np.indices((40, 64))
        return np.stack([x * 4, y * 6, 255 - x * 4], axis=-1).astype(np.uint8)

    def overlay(self) -> list[list[Any]]:
        shapes: list[list[Any]] = [["line", 170, 240, 240, 240], ["text", 178, 234, "200 nm"]]
        if self.region:
            shapes += [["rect", *self.region], ["text", self.region[0], self.region[1] - 4, "ROI 1"]]
        return shapes + ([["cross", *self.spot]] if self.spot else [])

    def pattern(self) -> np.ndarray:
        x = np.linspace(20, 80, 12001)
        y = 30 + 0 * x
        for at, height in [(28.44, 5200), (47.30, 2900), (56.12, 1600), (69.13, 360), (76.38, 620)]:
            y += height / (1 + ((x - at) / 0.06) ** 2)
        counts = np.random.default_rng(self.seed).poisson(y).astype(np.float32)
        smooth = (y + 250).astype(np.float32)
        smooth[4000:4200] = np.nan
        return np.stack([x.astype(np.float32), counts, smooth])

    def state(self) -> dict[str, Any]:
        return {
            "heard": self.heard,
            "tube_voltage": self.tube_voltage,
            "start_angle": self.start_angle,
            "frames": self.frames,
            "comment": self.comment,
            "detector": self.detector,
            "filter": self.filter,
            "bottom": self.bottom,
            "specimen": self.specimen,
            "focus": self.focus,
            "contrast": self.contrast,
            "stigmator": self.stigmator,
            "door": self.door,
            "lock": self.lock,
            "xrays": self.xrays,
            "asking": self.asking,
            "holds": self.holds,
            "turns": self.turns,
            "message": self.message,
            "level": self.message_level,
        }

    panel = Column(
        Row(
            Column(
                Group(
                    "Generator",
                    Number(tube_voltage, tip="Acceleration of the electrons in the tube"),
                    Row(
                        Readout("Voltage", lambda s: f"{s.tube_voltage:.1f}", "kV", digits=5, style="large", grow=1),
                        Readout("Current", lambda s: "40.0" if s.xrays else "0.0", "mA", 5, style="large", grow=1),
                    ),
                    Row(
                        Lamp("X-rays", lambda s: s.xrays, "amber", id="l1", grow=1),
                        Lamp("Door", lambda s: s.door, "red", id="l2", grow=1),
                        Lamp("Ready", lambda s: True, "green", id="l3", grow=1),
                        Lamp("Water", lambda s: True, "blue", id="l4"),
                    ),
                    Toggle(door, "open", "closed"),
                    Row(
                        Button(xrays_on, style="primary", lit=lambda s: s.xrays, grow=1, tip="Ramps the generator up"),
                        Button(emergency, style="danger", grow=1),
                    ),
                ),
                Group(
                    "Specimen",
                    ListBox(specimen, rows=5),
                    Tray("Carousel", lambda s: [["a", "Holder A"], ["b", "Holder B"], ["c", "Holder C"]]),
                    Slot("Stage", lambda s: {"a": "Holder A", "b": "Holder B", "c": "Holder C"}.get(s.holds, ""), drop),
                ),
                Group(
                    "Scan",
                    Number(start_angle),
                    Number(frames),
                    TextField(comment),
                    Select(detector),
                    Select(filter),
                    grow=1,
                ),
                width=300,
            ),
            Column(
                Plot(
                    "Diffraction pattern",
                    pattern,
                    x="2θ (°)",
                    y="Counts",
                    series=["measured", "model"],
                    key=lambda s: 0,
                    log=lambda s: {"linear": False, "log": True, "sqrt": "sqrt"}[s.scale],
                    marks=lambda s: [[28.44, "Si 111"], [47.3, "Si 220"]],
                    grow=1,
                ),
                Tabs(
                    "Results",
                    Column(
                        Table(
                            "Peaks",
                            ["2θ (°)", "d (Å)", "Counts", "Phase"],
                            lambda s: [
                                [f"{20 + i * 3.5:.2f}", f"{4.4 - i * 0.2:.4f}", str(900 - i * 41), "Si"]
                                for i in range(12)
                            ],
                            rows=6,
                        ),
                        label="Peaks",
                    ),
                    Grid(
                        3,
                        Progress(
                            "Scan", lambda s: (s.now % 60) / 60, lambda s: f"{s.now % 60:.0f} s of 60 s", id="progress"
                        ),
                        Select(scale),
                        Toggle(lock),
                        Button(start, style="primary"),
                        Button(vent),
                        Button(refuse, style="plain"),
                        label="Control",
                    ),
                    id="results",
                    height=196,
                ),
                grow=1,
            ),
            Column(
                Group(
                    "Image",
                    View(
                        "Live image",
                        image,
                        size=(IMAGE, IMAGE),
                        overlay=overlay,
                        click=click,
                        double=double,
                        drag=drag,
                        pan=pan,
                        wheel=wheel,
                        align="center",
                    ),
                ),
                Group(
                    "Column",
                    Slider(focus, coarse=0.5),
                    Slider(contrast, id="contrast-slider"),
                    Row(
                        Knob(stigmator, grow=1),
                        Knob(contrast, grow=1),
                        View("Map", colours, size=(64, 40), width=80, height=50, key=lambda s: 0, click=pick),
                    ),
                    Select(bottom),
                    grow=1,
                ),
                width=300,
            ),
            grow=1,
        ),
        Message(),
        Dialog(
            "Vent the chamber?",
            Number(frames, id="dialog-frames"),
            Row(Button(yes, style="primary"), Button(no, id="dialog-no")),
            open=lambda s: s.asking,
            cancel=no,
        ),
    )


class DarkGallery(Gallery):
    """The same in the dark theme."""

    theme = "dark"


INSTRUMENTS = {"gallery": Gallery, "dark": DarkGallery}
