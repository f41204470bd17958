"""Scanning electron microscope: what the operator sees and does, from top to bottom.

The physics is in `optics` (the probe), `specimens` (surfaces) and `imaging` (what the detector makes of them); `quality`
measures pictures, `files` saves them.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import numpy as np

from matassay.core import stream
from matassay.kit import (
    Button,
    Choice,
    Column,
    Flag,
    Grid,
    Group,
    Knob,
    Lamp,
    Message,
    Number,
    Pixel,
    Plot,
    Progress,
    Readout,
    Real,
    Refused,
    Row,
    SavingInstrument,
    Select,
    Slider,
    Table,
    Toggle,
    View,
    command,
    save_dialogs,
)

from . import imaging, optics, quality
from .files import Metadata, to_tiff
from .specimens import SPECIMENS, Surface, surface

ROWS, COLS = 480, 640
WINDOW = 2  # the reduced window is this many times smaller on each side, and as many squared times slower to scan
EPOCH = datetime(2026, 3, 3, 9, 0, 0, tzinfo=UTC)  # the clock on the wall when a session begins

AIR = 1.0e5  # Pa
BASE_PRESSURE = 2.0e-4  # Pa
HT_PRESSURE = 1.0e-3  # Pa, above which the high tension is locked
CROSSOVER = 5.0  # Pa, where the turbo pump takes over from the roughing pump
ROUGHING_TIME = 12.0  # s, e-folding time of the roughing pump on the chamber
TURBO_TIME = 20.0  # s, e-folding time of the turbo pump
VENTING_TIME = 4.0  # s, e-folding time towards air
VENTED = 0.95 * AIR  # Pa, from which the door opens
EMISSION_TIME = 20.0  # s to saturate the filament
DRIVE_TIME = 8.0  # s for the stage from stub to stub
LIVE_DWELL = 1.0  # us
STUB_RANGE = 75.0  # um around a stub's centre

VOLTAGES = (5.0, 10.0, 15.0, 20.0, 30.0)  # kV
CURRENTS = (25.0, 50.0, 100.0, 200.0, 400.0)  # pA
DWELLS = (3.0, 10.0, 30.0, 100.0)  # us, slow scan
REFERENCE_VOLTAGE = 15.0  # kV at which the lens table was made
MOSAIC_WIDTH = 250.0  # um over both tiles
NO_SAMPLE = ""

NOMINAL = (
    "voltage",
    "current",
    "detector",
    "contrast",
    "brightness",
    "working_distance",
    "stigmator_x",
    "stigmator_y",
    "magnification",
    "scan_rotation",
    "stage_x",
    "stage_y",
    "stage_z",
)
"""Controls that a picture depends on."""

Mode = Literal["live", "scan", "frozen", "mosaic"]


@dataclass(frozen=True)
class Hidden:
    """What a real day moves."""

    height: float
    """Height of the stub below the stage's reference plane, mm."""
    astig_x: float
    """Setting of stigmator X that cancels the column's astigmatism, %."""
    astig_y: float
    """The same of stigmator Y, %."""
    drift_x: float
    """Drift of the specimen, um/s."""
    drift_y: float
    """The same down the screen, um/s."""


def hidden(seed: int, day: str = "") -> Hidden:
    """The state of the day: stub heights within 0.3 mm, astigmatism of 3 to 8 %, drift of up to 1 nm/s.

    Every task has a day of its own: who remembers the focus of one task has nothing for the next.
    """
    rng = stream(seed, "sem", "hidden", day)
    height, drift_x, drift_y = (float(v) for v in rng.uniform(-1, 1, 3))
    amount = [float(v) for v in rng.uniform(3, 8, 2)]
    sign = [1 if v else -1 for v in rng.integers(2, size=2)]
    return Hidden(
        height=round(0.3 * height, 4),
        astig_x=round(sign[0] * amount[0], 3),
        astig_y=round(sign[1] * amount[1], 3),
        drift_x=round(0.001 * drift_x, 6),
        drift_y=round(0.001 * drift_y, 6),
    )


@dataclass
class Scan:
    """A slow scan."""

    number: int
    """1 for the first of a session."""
    dwell: float
    """us."""
    began: float
    """Virtual clock, s."""
    mosaic: bool
    """Whether it is a mosaic of 2 x 2 views."""
    settings: dict[str, Any]
    """Conditions when it was started, for the grader."""
    metadata: Metadata
    """Nominal settings, for the file."""
    image: np.ndarray = field(default_factory=lambda: np.zeros((ROWS, COLS), np.uint8))
    """(480, 640) grey values; only the first ``done`` rows are."""
    done: int = 0
    """Rows scanned."""
    disturbed: bool = False
    """Whether something was changed while it ran."""
    quality: dict[str, float] = field(default_factory=dict)
    """Measures of the finished picture."""

    @property
    def complete(self) -> bool:
        """Whether every row was scanned."""
        return self.done == ROWS

    @property
    def row_time(self) -> float:
        """S."""
        return COLS * self.dwell * 1e-6

    def summary(self) -> dict[str, Any]:
        """For the grader, as JSON types."""
        return {
            "number": self.number,
            "dwell": self.dwell,
            "complete": self.complete,
            "disturbed": self.disturbed,
            "mosaic": self.mosaic,
            "image_sha256": image_digest(self.image) if self.complete else "",
            **self.settings,
            **self.quality,
        }


def image_digest(image: np.ndarray) -> str:
    """SHA-256 of grey values and shape: tells whether a file holds a scan's picture."""
    return hashlib.sha256(repr(image.shape).encode() + np.ascontiguousarray(image, np.uint8).tobytes()).hexdigest()


def grey_levels(image: np.ndarray) -> dict[str, float]:
    """How a picture uses the range: 1st and 99th percentile as fractions of it, and the fractions clipped."""
    counts = np.bincount(image.ravel(), minlength=256)
    total = np.cumsum(counts) / image.size
    return {
        "low": round(int(np.searchsorted(total, 0.01)) / 255, 4),
        "high": round(int(np.searchsorted(total, 0.99)) / 255, 4),
        "clipped_low": round(float(counts[0]) / image.size, 5),
        "clipped_high": round(float(counts[255]) / image.size, 5),
    }


def _moving(s: Sem) -> str | None:
    return "The stage is moving" if s.moving else None


def _acquiring(s: Sem) -> str | None:
    return "Not while a slow scan is running" if s.mode == "scan" else None


def _power(value: float) -> str:
    """Two digits and a power of ten, as gauges show it: 2.0e-4."""
    digits, _, exponent = f"{value:.1e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _label(key: str) -> str:
    return SPECIMENS[key].name if key else "(exchange position)"


class Sem(SavingInstrument):
    """The microscope."""

    title = "Scanning Electron Microscope  -  Control"
    theme = "dark"
    time_scale = 10.0
    truth_fields = ("height", "astig_x", "astig_y", "drift_x", "drift_y")

    # --- specimen stage

    sample = Choice(
        NO_SAMPLE,
        (NO_SAMPLE, *SPECIMENS),
        show_as=_label,
        label="Sample",
        guard=lambda s: s.sample_reason,
        soft=True,
    )
    stage_x = Real(0.0, -STUB_RANGE, STUB_RANGE, 0.5, label="Stage X", unit="um", guard=lambda s: s.stage_reason)
    stage_y = Real(0.0, -STUB_RANGE, STUB_RANGE, 0.5, label="Stage Y", unit="um", guard=lambda s: s.stage_reason)
    stage_z = Real(10.0, 6.0, 20.0, 0.1, label="Stage Z", unit="mm", guard=lambda s: s.stage_reason)

    # --- beam

    voltage = Choice(15.0, VOLTAGES, label="Acc. voltage", unit="kV", guard=_acquiring, show_as=lambda v: f"{v:g}")
    current = Choice(100.0, CURRENTS, label="Probe current", unit="pA", guard=_acquiring, show_as=lambda v: f"{v:g}")
    blank = Flag(True, label="Beam blank")

    # --- lens and stigmators

    working_distance = Real(10.0, 4.0, 25.0, 0.001, label="Working distance", unit="mm")
    stigmator_x = Real(0.0, -20.0, 20.0, 0.25, label="Stigmator X", unit="%")
    stigmator_y = Real(0.0, -20.0, 20.0, 0.25, label="Stigmator Y", unit="%")
    window = Flag(False, label="Focus window")

    # --- detector

    detector: Choice[imaging.Detector] = Choice("SE", ("SE", "BSE"), label="Detector", guard=_acquiring)
    contrast = Real(50.0, 0.0, 100.0, 0.5, label="Contrast", unit="%")
    brightness = Real(50.0, 0.0, 100.0, 0.25, label="Brightness", unit="%")

    # --- scan

    magnification = Real(1000, 850, 6000, 10, label="Magnification", unit="x", guard=_acquiring)
    scan_rotation = Real(0.0, -180.0, 180.0, 0.5, label="Scan rotation", unit="deg", guard=_acquiring)
    dwell = Choice(10.0, DWELLS, label="Dwell time", unit="us", guard=_acquiring, show_as=lambda v: f"{v:g}")

    def setup(self) -> None:
        """Power-on: evacuated, high tension off, stage at the exchange position, nothing mounted."""
        super().setup()
        self.hidden = hidden(self.seed)
        self.pressure = BASE_PRESSURE
        self.pumping: Literal["pump", "vent", "off"] = "pump"
        self.door_open = False
        self.mounted = False
        self.at = NO_SAMPLE  # the stub under the beam
        self.moving = False
        self.ht = False
        self.emission = 0.0
        self.mode: Mode = "live"
        self.scan: Scan | None = None
        self.scans: list[Scan] = []
        self.mosaic_scan: Scan | None = None
        self.patches: dict[tuple[Any, ...], imaging.Patch] = {}
        self._drive: int | None = None
        self._frames: dict[Any, np.ndarray] = {}
        self._best: dict[str, float] = {}
        self._measured: tuple[Any, dict[str, float]] = (None, {})

    def begin(self, start: dict[str, Any]) -> None:
        """Start state of a task.

        Beside parameters: ``day`` (whose hidden state it is), ``pressure`` (Pa), ``pumping``, ``door_open``, ``mounted``,
        ``at`` (stub), ``ht``, ``focused`` (lens and stigmators at their best, to the step of the controls), ``defocus``
        (um, added to the best focus), ``levels`` (contrast and brightness that use the range), ``mosaic`` (shows the
        mosaic), ``scanned`` (a finished slow scan of the present view) and ``archive`` (names of files that are there
        already).
        """
        self.hidden = hidden(self.seed, start.pop("day", ""))
        for name in ("pressure", "pumping", "door_open", "mounted", "at", "ht"):
            if name in start:
                setattr(self, name, start.pop(name))
        special = {
            name: start.pop(name, None) for name in ("focused", "defocus", "levels", "mosaic", "scanned", "archive")
        }
        if self.at:
            start.setdefault("sample", self.at)
        super().begin(start)
        self.emission = 1.0 if self.ht else 0.0
        if special["focused"]:
            self.stigmator_x, self.stigmator_y = self.hidden.astig_x, self.hidden.astig_y
        if special["focused"] or special["defocus"] is not None:
            best = self.working_distance - optics.defocus(self.column) / 1000.0
            self.working_distance = best + (special["defocus"] or 0.0) / 1000.0
        if special["levels"]:
            view = imaging.ideal(self.surface, self.voltage, self.detector, self.centre, self.width, (ROWS, COLS))
            low, high = special["levels"]
            self.contrast, self.brightness = imaging.balanced(view, self.current, self.detector, low, high)
        for name in special["archive"] or []:
            # an old picture of the lab's: a flat field, so that it cannot be taken for a scan of this session
            picture = np.full((ROWS, COLS), 128, np.uint8)
            self.save_before(name, to_tiff(picture, self._metadata(10.0)), "image/tiff")
        self.at_start = self.nominal()
        if special["scanned"]:
            self._begin_scan(mosaic=False, dwell=float(special["scanned"]))
            assert self.scan is not None
            self.scan.image[:] = self._slow_frame(self.scan)
            self.scan.done = ROWS
            self._finish(self.scan)
        if special["mosaic"]:
            self._show_mosaic()
        self.say("Ready")

    # --- vacuum and chamber

    @property
    def vented(self) -> bool:
        """Whether the chamber is at air."""
        return self.pressure >= VENTED

    @property
    def vacuum_ready(self) -> bool:
        """Whether the pressure admits high tension."""
        return self.pressure <= HT_PRESSURE and not self.door_open

    @command(label="VENT", guard=lambda s: "The chamber is open" if s.door_open else _acquiring(s), soft=True)
    def vent(self) -> None:
        """Let air into the chamber."""
        if self.ht:
            self._ht_off()
            self.suffer("ht_trip", "Safety circuit: vented with the high tension on, the filament was exposed to air")
        else:
            self.say("Venting")
        self.pumping = "vent"

    @command(label="EVACUATE", guard=lambda s: "Close the chamber first" if s.door_open else None, soft=True)
    def evacuate(self) -> None:
        """Pump the chamber."""
        self.pumping = "pump"
        self.say("Evacuating")

    @command(label="CHAMBER", soft=True, guard=lambda s: s.door_reason)
    def move_door(self) -> None:
        """Open or close the chamber door."""
        if self.door_open:
            self.door_open = False
            self.say("The chamber is closed")
            return
        self.door_open, self.pumping = True, "off"
        if self.at or self.moving:
            self.suffer(
                "stage_collision", "The door was opened with the stage under the column: the stub hit the detector"
            )
        else:
            self.say("The chamber is open")

    @property
    def door_reason(self) -> str | None:
        """Why the door cannot be moved."""
        if self.door_open or self.vented:
            return None
        return "The chamber is under vacuum: vent it first"

    @command(label="HOLDER", soft=True, guard=lambda s: None if s.door_open else "Open the chamber to reach the stage")
    def move_holder(self) -> None:
        """Mount the holder with its stubs, or take it off."""
        self.mounted = not self.mounted
        self.say("The sample holder is mounted" if self.mounted else "The sample holder is taken off")

    @command(label="EXCHANGE POSITION", soft=True, guard=lambda s: s.stage_reason)
    def exchange(self) -> None:
        """Drive the stage away from the column, to where samples are exchanged."""
        self._drive_to(NO_SAMPLE)

    @property
    def stage_reason(self) -> str | None:
        """Why the stage cannot be driven."""
        if self.door_open:
            return "The stage is locked while the chamber is open"
        return _acquiring(self) or _moving(self)

    @property
    def sample_reason(self) -> str | None:
        """Why no stub can be chosen."""
        return self.stage_reason or (None if self.mounted else "No sample holder is mounted")

    @sample.changed
    def _sample_changed(self) -> None:
        self._drive_to(str(self.sample))

    def _drive_to(self, stub: str) -> None:
        self.agenda.cancel(self._drive)
        self.moving, self.sample = True, stub
        self.say(f"The stage drives to: {_label(stub)}")
        self._drive = self.after(DRIVE_TIME, lambda: self._arrive(stub))

    def _arrive(self, stub: str) -> None:
        self.at, self.moving = stub, False
        self.stage_x = self.stage_y = 0.0
        self.say(f"At {_label(stub)}")

    # --- beam

    @property
    def ht_reason(self) -> str | None:
        """Why there is no high tension to be had."""
        if self.pumping == "vent":
            return "The chamber is being vented"
        return None if self.vacuum_ready else "The vacuum is not good enough"

    @command(label="HT ON", soft=True, guard=lambda s: s.ht_reason)
    def ht_on(self) -> None:
        """Switch the high tension on; the filament saturates by itself."""
        if not self.ht:
            self.ht, self.emission = True, 0.0
            self.say(f"High tension {self.voltage:g} kV is on, the filament is heating")

    @command(label="HT OFF")
    def ht_off(self) -> None:
        """Switch the high tension off."""
        self._ht_off()
        self.say("High tension is off")

    def _ht_off(self) -> None:
        self.ht, self.emission = False, 0.0
        if self.mode == "scan":
            self._abort()

    @property
    def beam(self) -> bool:
        """Whether electrons reach a specimen."""
        return (
            self.ht and self.emission >= 1.0 and not self.blank and bool(self.at) and not self.moving and self.mounted
        )

    # --- optics

    @property
    def column(self) -> optics.Column:
        """Settings of the column with what is hidden of it."""
        h = self.hidden
        table = optics.focus_shift(self.voltage, REFERENCE_VOLTAGE, self.working_distance)
        return optics.Column(
            voltage=self.voltage,
            current=self.current,
            working_distance=self.working_distance,
            stage_z=self.stage_z + h.height,
            stigmator_x=self.stigmator_x,
            stigmator_y=self.stigmator_y,
            astig_x=h.astig_x,
            astig_y=h.astig_y,
            focus_error=table,
        )

    @property
    def width(self) -> float:
        """Width of the field, um."""
        return optics.field_width(self.magnification)

    @property
    def pixel(self) -> float:
        """Um."""
        return self.width / COLS

    @property
    def surface(self) -> Surface:
        """What lies under the beam."""
        return surface(self.at, self.seed)

    @property
    def centre(self) -> tuple[float, float]:
        """Where the stage has the middle of the field, um."""
        return float(self.stage_x), float(self.stage_y)

    # --- pictures

    def _conditions(self) -> tuple[Any, ...]:
        """All that a picture depends on, besides noise and time."""
        return (
            self.at,
            self.beam,
            self.voltage,
            self.current,
            self.working_distance,
            self.stage_z,
            self.stigmator_x,
            self.stigmator_y,
            self.contrast,
            self.brightness,
            self.detector,
            self.magnification,
            self.scan_rotation,
            self.stage_x,
            self.stage_y,
        )

    def _render(
        self,
        dwell: float,
        key: tuple[int, ...],
        shape: tuple[int, int] = (ROWS, COLS),
        width: float | None = None,
        centre: tuple[float, float] | None = None,
        began: float | None = None,
    ) -> np.ndarray:
        if not self.beam:
            level = round(255 * min(1.0, max(0.0, imaging.offset(self.brightness))))
            return np.full(shape, level, np.uint8)
        t = self.now if began is None else began
        h = self.hidden
        frame = imaging.Frame(
            dwell=dwell,
            contrast=self.contrast,
            brightness=self.brightness,
            detector=self.detector,
            shift=(h.drift_x * t, h.drift_y * t),
            drift=(h.drift_x, h.drift_y),
            patches=tuple(p for k, p in self.patches.items() if k[0] == self.at),
        )
        return imaging.render(
            self.surface,
            self.column,
            frame,
            centre or self.centre,
            self.width if width is None else width,
            (self.seed, *key),
            shape,
            self.scan_rotation,
        )

    def _cached(self, key: Any, make: Any) -> np.ndarray:
        """A picture by what it depends on; the last few are kept."""
        if key not in self._frames:
            if len(self._frames) > 3:
                self._frames.clear()
            self._frames[key] = make()
        return self._frames[key]

    @property
    def _live_number(self) -> int:
        return int(self.now / (ROWS * COLS * LIVE_DWELL * 1e-6))

    def live(self) -> np.ndarray:
        """The live picture now, (480, 640) uint8."""
        n = self._live_number
        return self._cached(("live", n, self._conditions()), lambda: self._render(LIVE_DWELL, (1, n)))

    def _windowed(self) -> np.ndarray:
        """The live picture with the reduced window: its middle scanned slowly, the rest dimmed."""
        n, rows, cols = self._live_number, ROWS // WINDOW, COLS // WINDOW

        def make() -> np.ndarray:
            out = self.live() // 2
            middle = self._render(LIVE_DWELL * WINDOW**2, (2, n), (rows, cols), self.width / WINDOW)
            out[(ROWS - rows) // 2 : (ROWS + rows) // 2, (COLS - cols) // 2 : (COLS + cols) // 2] = middle
            return out

        return self._cached(("window", n, self._conditions()), make)

    def _slow_frame(self, scan: Scan) -> np.ndarray:
        """The whole frame as it would be under the present conditions."""
        key = ("slow", scan.number, self._conditions())
        return self._cached(key, lambda: self._render(scan.dwell, (3, scan.number), began=scan.began))

    def _mosaic_frame(self, scan: Scan) -> np.ndarray:
        """Four views around the stub's centre, side by side."""
        out = np.zeros((ROWS, COLS), np.uint8)
        rows, cols, half = ROWS // 2, COLS // 2, MOSAIC_WIDTH / 2
        for i in range(2):
            for j in range(2):
                centre = self._turned((j - 0.5) * half, (i - 0.5) * half * rows / cols)
                tile = self._render(scan.dwell, (4, scan.number, i, j), (rows, cols), half, centre, scan.began)
                out[i * rows : (i + 1) * rows, j * cols : (j + 1) * cols] = tile
        return out

    def picture(self) -> np.ndarray:
        """What the screen shows, (480, 640) uint8."""
        if self.mode == "live":
            return self._windowed() if self.window and self.beam else self.live()
        assert self.scan is not None
        if self.mode == "scan":
            out = self.scan.image.copy()
            out[self.scan.done :] //= 2
            return out
        return self.scan.image

    @property
    def picture_key(self) -> tuple[Any, ...]:
        """Changes whenever `picture` may."""
        if self.mode == "live":
            return ("live", self._live_number if self.beam else 0, self.window, self._conditions())
        assert self.scan is not None
        return (self.mode, self.scan.number, self.scan.done)

    # --- scanning

    def _metadata(self, dwell: float, mosaic: bool = False) -> Metadata:
        return Metadata(
            voltage=self.voltage,
            current=self.current,
            working_distance=self.working_distance,
            field_width=MOSAIC_WIDTH if mosaic else self.width,
            dwell=dwell,
            detector=self.detector,
            contrast=self.contrast,
            brightness=self.brightness,
            stage_x=self.stage_x / 1000.0,
            stage_y=self.stage_y / 1000.0,
            stage_z=self.stage_z,
            scan_rotation=self.scan_rotation,
            stigmator_x=self.stigmator_x,
            stigmator_y=self.stigmator_y,
            specimen=_label(self.at),
            user="user",
            taken=(EPOCH + timedelta(seconds=int(self.now))).isoformat(),
            tiles=2 if mosaic else 1,
        )

    def nominal(self) -> dict[str, Any]:
        """The stub under the column, and every control that a picture depends on."""
        return {"sample": self.at, **{name: getattr(self, name) for name in NOMINAL}}

    def _settings(self) -> dict[str, Any]:
        """Conditions of a picture for the grader, true values included."""
        return {
            "beam": self.beam,
            **self.nominal(),
            "field_width": round(self.width, 4),
            **self.focus(),
            **self._stripes(),
        }

    def _stripes(self) -> dict[str, float]:
        """How the picture lies on the striped region of the test chip; empty on other samples."""
        if self.at != "stripes":
            return {}
        region = self.surface.feature("stripes")
        away = math.hypot(self.stage_x - region.x, self.stage_y - region.y)
        return {
            "off_centre": round(away / self.width, 5),
            "tilt": round((region.angle + self.scan_rotation + 90.0) % 180.0 - 90.0, 3),
            "stripes": round(self.width / region.pitch, 3),
            "pitch_pixels": round(region.pitch / self.pixel, 3),
        }

    def focus(self) -> dict[str, float]:
        """How sharp the probe is, um: FW50 of the blur, its best under these conditions, defocus and its depth."""
        c = self.column
        return {
            "pixel": round(self.pixel, 5),
            "blur": round(optics.blur_diameter(c), 5),
            "best_blur": round(optics.blur_diameter(optics.in_focus(c)), 5),
            "defocus": round(optics.defocus(c), 3),
            "depth_of_field": round(optics.depth_of_field(self.pixel, optics.alpha(c)), 3),
        }

    def _shown(self) -> Metadata:
        """Nominal settings of the picture on the screen: those of a frozen one stay, whatever is turned meanwhile."""
        if self.mode != "live" and self.scan is not None:
            return self.scan.metadata
        return self._metadata(LIVE_DWELL * (WINDOW**2 if self.window else 1))

    def _begin_scan(self, *, mosaic: bool, dwell: float) -> None:
        number = len(self.scans) + 1
        self.scan = Scan(number, dwell, self.now, mosaic, self._settings(), self._metadata(dwell, mosaic))
        self.scans.append(self.scan)
        self.mode = "scan"

    @command(label="START SCAN", soft=True, guard=lambda s: _acquiring(s) or _moving(s))
    def start_scan(self) -> None:
        """Take one slow frame, line by line; it is frozen when it is complete."""
        if not self.beam:
            raise Refused("There is no beam on a specimen")
        self._begin_scan(mosaic=False, dwell=self.dwell)
        self.say(f"Slow scan {len(self.scans)} is running")

    @command(label="MOSAIC 2 x 2", soft=True, guard=lambda s: _acquiring(s) or _moving(s))
    def take_mosaic(self) -> None:
        """Survey the stub: four views side by side, at the lowest magnification; double click drives there."""
        if not self.beam:
            raise Refused("There is no beam on a specimen")
        self._show_mosaic()
        self.say("Mosaic of 2 x 2 views")

    def _show_mosaic(self) -> None:
        self._begin_scan(mosaic=True, dwell=LIVE_DWELL)
        assert self.scan is not None
        self.scan.image[:] = self._mosaic_frame(self.scan)
        self.scan.done = ROWS
        self.mode = "mosaic"

    @command(label="LIVE")
    def go_live(self) -> None:
        """Back to the live picture."""
        if self.mode == "scan":
            self._abort()
        self.mode = "live"
        self.say("Live")

    def _abort(self) -> None:
        assert self.scan is not None
        self.mode = "live"
        self.say(f"Slow scan {self.scan.number} was stopped", "warning")

    def _finish(self, scan: Scan) -> None:
        self.mode = "frozen"
        levels = grey_levels(scan.image)
        mean = imaging.expected(
            self.surface,
            self.column,
            imaging.Frame(scan.dwell, self.contrast, self.brightness, self.detector),
            self.centre,
            self.width,
            (ROWS, COLS),
            self.scan_rotation,
        ).mean()
        scan.quality = {
            **levels,
            "snr": round(imaging.snr(float(mean), self.current, scan.dwell, self.detector), 3),
            **self._compare(scan.image),
        }
        if max(levels["clipped_low"], levels["clipped_high"]) > 0.05:
            self.suffer("detector_saturated", f"Scan {scan.number}: more than 5 % of the picture is clipped")
        else:
            self.say(f"Slow scan {scan.number} is complete and frozen")

    def evolve(self, dt: float) -> None:
        """Vacuum, filament, contamination and the running scan."""
        self._vacuum(dt)
        if self.ht:
            self.emission = min(1.0, self.emission + dt / EMISSION_TIME)
            if self.pressure > HT_PRESSURE:
                self._ht_off()
        if self.beam and self.mode in ("live", "scan"):
            self._contaminate(dt)
        if self.mode == "scan":
            self._scan_on()

    def _vacuum(self, dt: float) -> None:
        if self.door_open:
            self.pressure = AIR
        elif self.pumping == "vent":
            self.pressure = AIR - (AIR - self.pressure) * math.exp(-dt / VENTING_TIME)
        elif self.pumping == "pump":
            if self.pressure > CROSSOVER:
                needed = ROUGHING_TIME * math.log(self.pressure / CROSSOVER)
                self.pressure *= math.exp(-min(dt, needed) / ROUGHING_TIME)
                dt = max(0.0, dt - needed)
            self.pressure = max(BASE_PRESSURE, self.pressure * math.exp(-dt / TURBO_TIME))

    def _contaminate(self, dt: float) -> None:
        """The beam cracks hydrocarbons where it scans: dose is charge per area."""
        key = (self.at, self.magnification, self.stage_x, self.stage_y, self.scan_rotation)
        area = self.width**2 * ROWS / COLS
        dose = self.current * dt / area + (self.patches[key].dose if key in self.patches else 0.0)
        self.patches.pop(key, None)
        # whole pC/um2 are enough for the eye, and leave the picture's cache alone between them
        self.patches[key] = imaging.Patch(
            self.stage_x, self.stage_y, self.width, self.width * ROWS / COLS, dose, self.scan_rotation
        )
        while len(self.patches) > 6:
            self.patches.pop(min(self.patches, key=lambda k: self.patches[k].dose))

    def _scan_on(self) -> None:
        scan = self.scan
        assert scan is not None
        if not self.beam:
            self._abort()
            return
        scan.disturbed |= self._settings() != scan.settings
        reached = min(ROWS, int((self.now - scan.began) / scan.row_time + 1e-6))
        if reached > scan.done:
            rows = slice(scan.done, reached)
            scan.image[rows] = self._slow_frame(scan)[rows]
            scan.done = reached
        if scan.complete:
            self._finish(scan)

    # --- gestures on the picture

    def _to_specimen(self, x: float, y: float) -> tuple[float, float]:
        """From image pixels to um around the stub's centre."""
        shown = self._shown()
        pixel = shown.field_width / COLS
        right, down = self._turned((x - COLS / 2) * pixel, (y - ROWS / 2) * pixel, shown.scan_rotation)
        if self.mode == "mosaic":
            return right, down
        return 1000.0 * shown.stage_x + right, 1000.0 * shown.stage_y + down

    def _turned(self, dx: float, dy: float, rotation: float | None = None) -> tuple[float, float]:
        """A displacement on the screen as one of the specimen, by a scan rotation (deg; by default the present one)."""
        a = math.radians(self.scan_rotation if rotation is None else rotation)
        return dx * math.cos(a) - dy * math.sin(a), dx * math.sin(a) + dy * math.cos(a)

    def _go(self, x: float, y: float) -> None:
        if reason := self.stage_reason:
            raise Refused(reason)
        self.stage_x = min(STUB_RANGE, max(-STUB_RANGE, x))
        self.stage_y = min(STUB_RANGE, max(-STUB_RANGE, y))
        if self.mode != "live":
            self.mode = "live"
        self.say(f"Stage at {self.stage_x:.1f}, {self.stage_y:.1f} µm")

    @command(label="Centre")
    def centre_on(self, x: Pixel, y: Pixel) -> None:
        """Drive the stage so that a place of the picture comes to its middle."""
        self._go(*self._to_specimen(x, y))

    @command(label="Pan")
    def pan(self, dx: Pixel, dy: Pixel) -> None:
        """Drag the picture."""
        if self.mode == "mosaic":
            raise Refused("The mosaic is not moved: double click a place in it")
        shown = self._shown()
        pixel = shown.field_width / COLS
        right, down = self._turned(dx * pixel, dy * pixel, shown.scan_rotation)
        self._go(1000.0 * shown.stage_x - right, 1000.0 * shown.stage_y - down)

    @command(label="Zoom", guard=_acquiring)
    def zoom(self, x: Pixel, y: Pixel, clicks: Pixel) -> None:
        """Magnify by a tenth per notch."""
        limits = type(self).magnification
        wanted = self.magnification * 1.1 ** max(-10.0, min(10.0, -clicks))
        self.magnification = min(limits.hi, max(limits.lo, wanted))

    # --- saving

    @property
    def save_reason(self) -> str | None:
        """Why there is nothing to save."""
        frozen = self.mode in ("frozen", "mosaic") and self.scan is not None and self.scan.complete
        return None if frozen else "Take a slow scan first: only a frozen picture is saved"

    @property
    def save_number(self) -> int:
        """Number of the scan that is frozen."""
        assert self.scan is not None  # else there is a reason not to save
        return self.scan.number

    @property
    def save_extensions(self) -> tuple[str, ...]:
        """One format."""
        return (".tif",)

    def save_content(self, extension: str) -> tuple[bytes, str]:
        """The frozen picture as TIFF."""
        assert self.scan is not None
        return to_tiff(self.scan.image, self.scan.metadata), "image/tiff"

    # --- what is seen and judged

    def histogram(self) -> np.ndarray:
        """Grey values of the picture in 64 bins, per cent; (2, 64) float32."""
        counts = imaging.histogram(self.picture()).reshape(64, 4).sum(axis=1)
        return np.vstack([np.arange(64) * 4 + 2, counts * (100.0 / counts.sum())]).astype(np.float32)

    def _compare(self, image: np.ndarray) -> dict[str, float]:
        """Sharpness of a picture, and its likeness to the sharp, noise-free view of the same place."""
        rows, cols = slice(ROWS // 2 - 128, ROWS // 2 + 128), slice(COLS // 2 - 128, COLS // 2 + 128)
        sharp = imaging.ideal(
            self.surface, self.voltage, self.detector, self.centre, self.width, (ROWS, COLS), self.scan_rotation
        )
        return {
            "psnr_db": round(quality.psnr(image[rows, cols], sharp[rows, cols]), 2),
            "sharpness_cycles_per_px": round(quality.sharpness(image[rows, cols]), 5),
        }

    def measures(self) -> dict[str, float]:
        """Quality of the view that is shown, final and best so far; empty without a beam."""
        if not self.beam or self.mode in ("mosaic", "scan"):
            return dict(self._best)
        key = self.picture_key
        if self._measured[0] != key:
            image = self.live() if self.mode == "live" else self.picture()
            self._measured = key, self._compare(image)
            for name, value in self._measured[1].items():
                self._best[f"best_{name}"] = max(value, self._best.get(f"best_{name}", -math.inf))
        return {**self._measured[1], **self._best}

    def levels(self) -> dict[str, float]:
        """Grey levels of the present live view, or zeros without a beam."""
        return grey_levels(self.live()) if self.beam else grey_levels(np.zeros((8, 8), np.uint8))

    def state(self) -> dict[str, Any]:
        """Physical state for the grader; README.md names every key."""
        return {
            "pressure": float(f"{self.pressure:.4g}"),
            "pumping": self.pumping,
            "vented": self.vented,
            "vacuum_ready": self.vacuum_ready,
            "door_open": self.door_open,
            "mounted": self.mounted,
            "moving": self.moving,
            "ht": self.ht,
            "emission": round(self.emission, 4),
            "blank": self.blank,
            "beam": self.beam,
            **self.nominal(),
            "at_start": dict(self.at_start),
            "dwell": self.dwell,
            "mode": self.mode,
            **self.focus(),
            "levels": self.levels(),
            "measures": self.measures(),
            "scans": [s.summary() for s in self.scans],
            "saved": dict(self.saved),
            "archive": dict(self.archive),
        }

    def clock(self) -> str:
        """The clock on the wall."""
        return (EPOCH + timedelta(seconds=int(self.now))).strftime("%H:%M:%S")

    def status_line(self) -> str:
        """The data bar under the picture: the settings that it was taken with."""
        m = self._shown()
        beam = f"HV {m.voltage:g} kV  {m.current:g} pA  WD {m.working_distance:.3f} mm"
        return f"{beam}  mag {m.magnification:.0f} x  HFW {m.field_width:.1f} µm  {m.detector}  {m.dwell:g} µs"

    def vacuum_status(self) -> str:
        """What the vacuum system does."""
        if self.pumping == "vent":
            return "VENTED" if self.vented else "VENTING"
        if self.pumping == "off":
            return "AIR" if self.vented else "CLOSED"
        if self.vacuum_ready:
            return "READY"
        return "ROUGHING" if self.pressure > CROSSOVER else "TURBO PUMP"

    def progress(self) -> float:
        """Fraction of the running or last scan."""
        return self.scan.done / ROWS if self.scan else 0.0

    def progress_text(self) -> str:
        """Words on the progress bar."""
        if self.scan is None:
            return "no scan"
        if self.mode == "scan":
            return f"scan {self.scan.number}: line {self.scan.done} of {ROWS}"
        return f"scan {self.scan.number}: " + ("complete" if self.scan.complete else "stopped")

    def scale_bar(self) -> list[list[Any]]:
        """Overlay: a bar of round length, and the frame of the reduced window."""
        width = self._shown().field_width
        length = max(v for v in (1, 2, 5, 10, 20, 50) if v <= 0.25 * width)
        pixels = length / width * COLS
        shapes: list[list[Any]] = [
            ["line", 16, ROWS - 18, 16 + pixels, ROWS - 18],
            ["text", 16, ROWS - 24, f"{length} µm"],
        ]
        if self.mode == "mosaic":
            shapes += [["line", COLS / 2, 0, COLS / 2, ROWS], ["line", 0, ROWS / 2, COLS, ROWS / 2]]
        elif self.mode == "live" and self.window:
            w, h = COLS / WINDOW / 2, ROWS / WINDOW / 2
            shapes.append(["rect", COLS / 2 - w, ROWS / 2 - h, COLS / 2 + w, ROWS / 2 + h])
        return shapes

    panel = Column(
        Row(
            Column(
                Group(
                    "Vacuum",
                    Row(Button(vent), Button(evacuate)),
                    Row(
                        Button(move_door, label=lambda s: "CLOSE CHAMBER" if s.door_open else "OPEN CHAMBER"),
                        Button(move_holder, label=lambda s: "REMOVE HOLDER" if s.mounted else "MOUNT HOLDER"),
                    ),
                    Row(
                        Readout("Pressure", lambda s: _power(s.pressure), "Pa", 7),
                        Readout("Vacuum", lambda s: s.vacuum_status(), "", 10),
                    ),
                    Grid(
                        2,
                        Lamp("Vacuum ready", lambda s: s.vacuum_ready, "green"),
                        Lamp("Vented", lambda s: s.vented, "amber"),
                        Lamp("Chamber open", lambda s: s.door_open, "red"),
                        Lamp("Holder mounted", lambda s: s.mounted, "blue"),
                    ),
                ),
                Group(
                    "Beam",
                    Row(Button(ht_on, style="primary"), Button(ht_off, style="danger")),
                    Select(voltage),
                    Select(current),
                    Toggle(blank, "On", "Off"),
                    Row(Readout("Emission", lambda s: f"{100 * s.emission:.0f}", "%", 5)),
                    Grid(
                        2,
                        Lamp("HT on", lambda s: s.ht, "red"),
                        Lamp("Beam on sample", lambda s: s.beam, "green"),
                    ),
                ),
                Group(
                    "Data folder",
                    Table(
                        "Files",
                        ["Name", "Size"],
                        lambda s: [[f.name, f"{f.size / 1024:.0f} kB"] for f in reversed(s.files)],
                        rows=5,
                        grow=1,
                    ),
                    grow=1,
                ),
                width=270,
            ),
            Column(
                View(
                    "Image",
                    lambda s: s.picture(),
                    (COLS, ROWS),
                    key=lambda s: s.picture_key,
                    overlay=lambda s: s.scale_bar(),
                    double=centre_on,
                    pan=pan,
                    wheel=zoom,
                    style="plain",
                ),
                Readout("Image data", lambda s: s.status_line(), digits=72, style="wide"),
                Group(
                    "Stage",
                    Row(Select(sample, grow=1), Button(exchange)),
                    Row(Number(stage_x, grow=1), Number(stage_y, grow=1), Number(stage_z, grow=1)),
                ),
                Group(
                    "Acquisition",
                    Row(
                        Button(go_live),
                        Button(take_mosaic),
                        Button(start_scan, style="primary"),
                        Button(SavingInstrument.ask_to_save, label="SAVE IMAGE", id="save_image"),
                    ),
                    Progress("Progress", lambda s: s.progress(), lambda s: s.progress_text()),
                    grow=1,
                ),
                width=642,
            ),
            Column(
                Group(
                    "Focus",
                    Row(
                        Knob(working_distance, coarse=0.1, grow=1), Knob(stigmator_x, grow=1), Knob(stigmator_y, grow=1)
                    ),
                    Toggle(window, "On", "Off"),
                ),
                Group(
                    "Detector",
                    Select(detector),
                    Slider(contrast),
                    Slider(brightness),
                    Plot(
                        "Histogram",
                        lambda s: s.histogram(),
                        "grey value",
                        "%",
                        ["pixels"],
                        key=lambda s: s.picture_key,
                        xlim=[0, 256],
                        grow=1,
                    ),
                    grow=1,
                ),
                Group(
                    "Scan",
                    Slider(magnification),
                    Row(Number(scan_rotation, grow=1), Select(dwell, grow=1)),
                    Row(Readout("Clock", lambda s: s.clock(), "", 8)),
                ),
                grow=1,
            ),
            grow=1,
        ),
        Message(),
        *save_dialogs("Save image"),
        grow=1,
    )
