"""Powder diffractometer, Bragg-Brentano, copper tube: what the operator sees and does, from top to bottom.

The physics is in `physics`, the shelf of specimens in `specimens`, the file formats in `files`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from matassay.core import stream
from matassay.kit import (
    Button,
    Choice,
    Column,
    Flag,
    Grid,
    Group,
    Lamp,
    Message,
    Number,
    Plot,
    Progress,
    Readout,
    Real,
    Refused,
    Row,
    SavingInstrument,
    Select,
    Table,
    Text,
    TextField,
    Toggle,
    View,
    command,
    save_dialogs,
)

from . import mimic, physics
from .files import Diffractogram, to_xrdml, to_xy
from .specimens import SPECIMENS

DOOR_TIME = 4.0  # s from closed to open
VOLTAGE_RAMP = 1.0  # kV/s
CURRENT_RAMP = 1.0  # mA/s
STANDBY = physics.Tube(voltage=15.0, current=5.0)
TUBE_LIMIT = 1800.0  # W, long fine focus copper tube
SLEW_RATE = 5.0  # deg/s, goniometer drive without counting
PARK = 5.0  # deg two-theta, where the goniometer rests
EPOCH = datetime(2026, 3, 2, 9, 0, 0, tzinfo=UTC)  # the clock on the instrument's wall when a session begins

RATES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)  # deg/min
STEPS = (0.005, 0.01, 0.02, 0.04, 0.08)  # deg
DIVERGENCE_SLITS = (0.125, 0.25, 0.5, 1.0)  # deg
RECEIVING_SLITS = (0.1, 0.2, 0.3)  # mm

NO_SPECIMEN = ""


def hidden_alignment(seed: int) -> physics.Alignment:
    """What a real day moves: zero error, height of the specimen, brightness of the tube.

    Half widths are those of a goniometer that was aligned some months ago: 0.02 deg and 0.06 mm.
    """
    rng = stream(seed, "xrd", "alignment")
    zero, height, gain = (float(v) for v in rng.uniform(-1, 1, 3))
    return physics.Alignment(
        zero_error=round(0.02 * zero, 5), displacement=round(0.06 * height, 5), gain=round(1.0 + 0.2 * gain, 5)
    )


def time_per_step(step_size: float, scan_rate: float) -> float:
    """Counting time of a step, s, of a continuous scan with ``step_size`` in deg and ``scan_rate`` in deg/min."""
    return step_size / scan_rate * 60.0


def scan_angles(start: float, end: float, step: float) -> np.ndarray:
    """Goniometer readings of a scan, deg."""
    return np.round(start + step * np.arange(int(np.floor((end - start) / step + 1e-6)) + 1), 6)


def counts_digest(counts: np.ndarray) -> str:
    """SHA-256 of counts as little-endian 64-bit integers: tells whether a file holds a scan's data."""
    return hashlib.sha256(counts.astype("<i8").tobytes()).hexdigest()


@dataclass
class Scan:
    """A scan: its settings when it was started, and what was counted so far."""

    number: int
    """1 for the first of a session."""
    specimen: str
    """Key of the specimen on the stage."""
    sample_id: str
    """As typed."""
    start_angle: float
    """deg."""
    end_angle: float
    """deg."""
    step_size: float
    """deg."""
    scan_rate: float
    """deg/min."""
    tube: physics.Tube
    """Generator while counting."""
    optics: physics.Optics
    """Slits and filter."""
    began: float
    """Virtual clock when counting begins, s."""
    two_theta: np.ndarray
    """(n,) deg."""
    lit: np.ndarray
    """(n,) counts if X-rays reach the specimen; drawn when the scan starts, so that looking changes nothing."""
    dark: np.ndarray
    """(n,) counts if they do not."""
    counts: np.ndarray = field(init=False)
    """(n,) counts as measured; only the first ``done`` are."""
    done: int = 0
    """Points counted."""
    lit_points: int = 0
    """Of those, with X-rays on the specimen all the time."""
    shaded: bool = False
    """Whether the beam has been off at some time during the point that is being counted."""
    ended: bool = False
    """Complete or stopped."""
    ended_at: float = 0.0
    """Virtual clock when it ended, s."""

    def __post_init__(self) -> None:
        self.counts = np.zeros(len(self.two_theta), dtype=np.int64)

    @property
    def time_per_step(self) -> float:
        """S."""
        return time_per_step(self.step_size, self.scan_rate)

    @property
    def complete(self) -> bool:
        """Whether every point was counted."""
        return self.done == len(self.two_theta)

    def summary(self) -> dict[str, Any]:
        """For the grader, as JSON types."""
        return {
            "number": self.number,
            "specimen": self.specimen,
            "sample_id": self.sample_id,
            "start_angle": self.start_angle,
            "end_angle": self.end_angle,
            "step_size": self.step_size,
            "scan_rate": self.scan_rate,
            "voltage": self.tube.voltage,
            "current": self.tube.current,
            "divergence_slit": self.optics.divergence_slit,
            "receiving_slit": self.optics.receiving_slit,
            "nickel_filter": self.optics.nickel_filter,
            "points": len(self.two_theta),
            "done": self.done,
            "lit_points": self.lit_points,
            "complete": self.complete,
            "peak_counts": int(self.counts[: self.done].max(initial=0)),
            "counts_sha256": counts_digest(self.counts[: self.done]),
        }

    def diffractogram(self) -> Diffractogram:
        """What is saved: nominal settings and the points that were counted."""
        started = EPOCH + timedelta(seconds=round(self.began))
        return Diffractogram(
            sample_id=self.sample_id,
            specimen_label=SPECIMENS[self.specimen].name if self.specimen else "empty holder",
            operator="user",
            two_theta=self.two_theta[: self.done],
            counts=self.counts[: self.done],
            time_per_step=self.time_per_step,
            scan_rate=self.scan_rate,
            tube=self.tube,
            optics=self.optics,
            started=started.isoformat(),
            completed=self.complete,
        )


def _idle(s: Xrd) -> str | None:
    return "Not while a scan is running" if s.scan and not s.scan.ended else None


def _towards(value: float, target: float, most: float) -> float:
    """Move ``value`` to ``target`` by at most ``most``; lands on it exactly."""
    return min(target, value + most) if value < target else max(target, value - most)


def _name_of(key: str) -> str:
    return SPECIMENS[key].name if key else "(none)"


class Xrd(SavingInstrument):
    """The diffractometer."""

    title = "X-ray Diffractometer  -  Data Collector"
    time_scale = 300.0
    truth_fields = ("zero_error", "displacement", "gain")

    # --- specimen and enclosure

    specimen = Choice(NO_SPECIMEN, (NO_SPECIMEN, *SPECIMENS), show_as=_name_of, label="Specimen", guard=_idle)
    sample_id = Text("", max_length=24, label="Sample ID", guard=_idle)

    # --- generator

    voltage_set = Real(30, 20, 50, 1, label="Voltage", unit="kV", guard=_idle)
    current_set = Real(10, 5, 50, 1, label="Current", unit="mA", guard=_idle)

    # --- optics

    divergence_slit = Choice(
        0.5, DIVERGENCE_SLITS, label="Divergence slit", unit="deg", guard=_idle, show_as=lambda v: f"{v:g}"
    )
    receiving_slit = Choice(
        0.2, RECEIVING_SLITS, label="Receiving slit", unit="mm", guard=_idle, show_as=lambda v: f"{v:g}"
    )
    nickel_filter = Flag(True, label="Ni filter", guard=_idle)

    # --- scan program

    start_angle = Real(5.0, 5.0, 110.0, 0.1, label="Start angle", unit="deg", guard=_idle)
    end_angle = Real(80.0, 10.0, 140.0, 0.1, label="End angle", unit="deg", guard=_idle)
    step_size = Choice(0.04, STEPS, label="Step size", unit="deg", guard=_idle, show_as=lambda v: f"{v:.3f}")
    scan_rate = Choice(8.0, RATES, label="Scan rate", unit="deg/min", guard=_idle, show_as=lambda v: f"{v:g}")

    # --- saving

    write_xy = Flag(True, label="XY data (.xy)")
    write_xrdml = Flag(False, label="XRDML document (.xrdml)")

    def setup(self) -> None:
        """Power-on: generator off, doors closed, nothing measured."""
        super().setup()
        self.alignment = hidden_alignment(self.seed)
        self.on_stage = NO_SPECIMEN
        self.doors = "closed"  # closed, opening, open, closing
        self.shutter_open = False
        self.generator = "off"  # off, standby, on
        self.voltage = 0.0
        self.current = 0.0
        self.scan: Scan | None = None
        self.scans: list[Scan] = []
        self.hv_drops = 0
        self._peak_rate: tuple[Any, float] = (None, 0.0)

    def begin(self, start: dict[str, Any]) -> None:
        """Start state of a task.

        Beside parameters: ``gain`` (hidden brightness), ``on_stage``, ``generator`` (with tube values at its target),
        ``shutter_open``, ``measured`` (a scan taken with these settings, optional ``scan_rate`` of its own), and
        ``archive`` (file names of earlier work, each with a short real scan of silicon in it).
        """
        gain = start.pop("gain", None)
        self.on_stage = start.pop("on_stage", NO_SPECIMEN)
        generator = start.pop("generator", "off")
        shutter = start.pop("shutter_open", False)
        measured = start.pop("measured", None)
        archive = start.pop("archive", [])
        super().begin(start)
        if gain is not None:
            self.alignment = physics.Alignment(self.alignment.zero_error, self.alignment.displacement, float(gain))
        self.generator = generator
        self.voltage, self.current = self._target
        self.shutter_open = shutter
        for day, name in enumerate(archive, 1):
            scan = self._take(-day, "silicon", 27.0, 30.0, 0.02, 4.0, physics.Tube(45, 40))
            scan.began = -86400.0 * day
            self.save_before(name, to_xy(scan.diffractogram()), "text/plain")
        if measured is not None:
            rate = measured.get("scan_rate", self.scan_rate)
            scan = self._take(1, self.on_stage, self.start_angle, self.end_angle, self.step_size, rate)
            self.scan = scan
            self.scans.append(scan)
        self.say("Ready")

    # --- the tube

    @property
    def _target(self) -> tuple[float, float]:
        """Voltage (kV) and current (mA) to which the generator regulates."""
        return {
            "off": (0.0, 0.0),
            "standby": (STANDBY.voltage, STANDBY.current),
            "on": (self.voltage_set, self.current_set),
        }[self.generator]

    @property
    def generator_ready(self) -> bool:
        """Whether the generator is on and has reached its set point."""
        return self.generator == "on" and (self.voltage, self.current) == self._target

    @property
    def ramping(self) -> bool:
        """Whether tube voltage or current is on its way."""
        return (self.voltage, self.current) != self._target

    @property
    def xrays(self) -> bool:
        """Whether X-rays leave the tube housing."""
        return self.voltage > 0.0 and self.shutter_open and self.doors == "closed"

    @command(label="STANDBY", guard=_idle)
    def standby(self) -> None:
        """Heat the filament, or come down from power."""
        self.generator = "standby"
        self.say("Generator goes to standby: 15 kV, 5 mA")

    @command(label="POWER ON", soft=True, guard=_idle)
    def power_on(self) -> None:
        """Ramp to the set point."""
        if self.generator == "off" or (self.generator == "standby" and self.current < STANDBY.current):
            raise Refused("The filament is cold: go to standby first and wait until it is reached")
        if self.voltage_set * self.current_set > TUBE_LIMIT:
            watts = self.voltage_set * self.current_set
            raise Refused(f"{watts:g} W exceed the tube's limit of {TUBE_LIMIT:g} W: lower voltage or current")
        self.generator = "on"
        self.say(f"Generator ramps to {self.voltage_set:g} kV, {self.current_set:g} mA")

    @command(label="HV OFF")
    def power_off(self) -> None:
        """Switch the high voltage off at once."""
        self._high_voltage_off()
        self.say("High voltage is off")

    @voltage_set.changed
    @current_set.changed
    def _set_point_changed(self) -> None:
        if self.generator == "on" and self.voltage_set * self.current_set > TUBE_LIMIT:
            self._high_voltage_off()
            self.suffer("generator_overload", "Generator tripped: the set point exceeds the tube's power limit")

    def _high_voltage_off(self) -> None:
        self.hv_drops += self.generator != "off"
        self.generator, self.voltage, self.current, self.shutter_open = "off", 0.0, 0.0, False

    def _ramp(self, dt: float) -> None:
        """Voltage leads upwards so that the anode is never hit by slow electrons in quantity; both fall together."""
        voltage, current = self._target
        left = dt - max(0.0, voltage - self.voltage) / VOLTAGE_RAMP  # s in which the current may rise
        self.voltage = _towards(self.voltage, voltage, VOLTAGE_RAMP * dt)
        if current < self.current:
            self.current = _towards(self.current, current, CURRENT_RAMP * dt)
        elif left > 0:
            self.current = _towards(self.current, current, CURRENT_RAMP * left)

    # --- shutter and doors

    @command(label="SHUTTER", soft=True, guard=lambda s: s.shutter_reason)
    def shutter(self) -> None:
        """Open or close the beam shutter."""
        self.shutter_open = not self.shutter_open
        self.say("Shutter is open" if self.shutter_open else "Shutter is closed")

    @property
    def shutter_reason(self) -> str | None:
        """Why the shutter cannot be moved."""
        if self.shutter_open:
            return None
        if self.doors != "closed":
            return "Interlock: the shutter stays closed while the doors are not closed"
        if self.generator == "off":
            return "The shutter needs the generator in standby or on"
        return None

    @command(label="DOORS", guard=lambda s: "The doors are moving" if s.doors in ("opening", "closing") else None)
    def move_doors(self) -> None:
        """Open or close the enclosure."""
        if self.doors == "closed":
            if self.shutter_open:
                # the safety circuit drops shutter and high voltage before the latch lets go
                self._high_voltage_off()
                self.suffer("generator_trip", "Safety circuit: doors opened with the shutter open, generator tripped")
            else:
                self.say("Doors are opening")
            self.doors = "opening"
            self.after(DOOR_TIME, lambda: self._doors_are("open"))
        else:
            self.doors = "closing"
            self.say("Doors are closing")
            self.after(DOOR_TIME, lambda: self._doors_are("closed"))

    def _doors_are(self, state: str) -> None:
        self.doors = state
        if self.message_level == "info":
            self.say(f"Doors are {state}")

    @command(label="LOAD", soft=True, guard=_idle)
    def load(self) -> None:
        """Put the selected specimen on the stage."""
        if self.doors != "open":
            raise Refused("Open the doors to reach the stage")
        if self.specimen == NO_SPECIMEN:
            raise Refused("Select a specimen first")
        self.on_stage = self.specimen
        self.say(f"On the stage: {_name_of(self.on_stage)}")

    @command(label="UNLOAD", soft=True, guard=_idle)
    def unload(self) -> None:
        """Take the specimen off the stage."""
        if self.doors != "open":
            raise Refused("Open the doors to reach the stage")
        self.on_stage = NO_SPECIMEN
        self.say("The stage is empty")

    # --- scanning

    @property
    def optics(self) -> physics.Optics:
        """Slits and filter as set."""
        return physics.Optics(self.divergence_slit, self.receiving_slit, self.nickel_filter)

    def _prepare(
        self, number: int, specimen: str, start: float, end: float, step: float, rate: float, tube: physics.Tube
    ) -> Scan:
        angles, dwell = scan_angles(start, end, step), time_per_step(step, rate)
        on_stage = SPECIMENS[specimen] if specimen else None
        # noise is a function of seed and scan number, never of how often anybody looked
        lit = physics.measure(angles, dwell, on_stage, self.optics, self.alignment, tube, self.rng("counts", number))
        dark = self.rng("dark", number).poisson(physics.dark_rate() * dwell, len(angles))
        began = self.now + abs(start - PARK) / SLEW_RATE
        return Scan(
            number, specimen, self.sample_id, start, end, step, rate, tube, self.optics, began, angles, lit, dark
        )

    def _take(
        self,
        number: int,
        specimen: str,
        start: float,
        end: float,
        step: float,
        rate: float,
        tube: physics.Tube | None = None,
    ) -> Scan:
        """A scan that was measured before the session began."""
        tube = tube or physics.Tube(self.voltage_set, self.current_set)
        scan = self._prepare(number, specimen, start, end, step, rate, tube)
        scan.counts[:] = scan.lit
        scan.done = scan.lit_points = len(scan.two_theta)
        scan.ended, scan.ended_at = True, -3600.0
        return scan

    @command(label="START SCAN", soft=True, guard=_idle)
    def start_scan(self) -> None:
        """Measure from start to end angle."""
        if self.end_angle < self.start_angle + 1.0:
            raise Refused("The end angle must exceed the start angle by at least 1 deg")
        if self.doors != "closed":
            raise Refused("Interlock: close the doors")
        if not self.generator_ready:
            raise Refused("The generator is not at its set point")
        number = len(self.scans) + 1
        self.scan = self._prepare(
            number,
            self.on_stage,
            self.start_angle,
            self.end_angle,
            self.step_size,
            self.scan_rate,
            physics.Tube(self.voltage, self.current),
        )
        self.scans.append(self.scan)
        self.say(f"Scan {number} is running" + ("" if self.on_stage else ": the stage is empty"))

    @command(label="STOP", guard=lambda s: None if _idle(s) else "No scan is running")
    def stop_scan(self) -> None:
        """Stop the running scan; what was counted is kept."""
        assert self.scan is not None  # the guard says so
        self.scan.ended, self.scan.ended_at = True, self.now
        self.say(f"Scan {self.scan.number} was stopped after {self.scan.done} points", "warning")

    def evolve(self, dt: float) -> None:
        """Ramp the generator and count."""
        self._ramp(dt)
        scan = self.scan
        if scan is None or scan.ended:
            return
        # a hair of slack: a point whose time is up to rounding is counted
        reached = int((self.now - scan.began) / scan.time_per_step + 1e-6) if self.now > scan.began else 0
        fresh = slice(scan.done, min(reached, len(scan.two_theta)))
        beam = self.xrays and self.generator_ready
        counted_none = fresh.stop <= fresh.start
        self._count(scan, fresh, beam)
        # the point that has begun is spoilt if there was no beam during any part of it
        begun = self.now - scan.began > scan.done * scan.time_per_step + 1e-6
        scan.shaded = begun and (not beam or (scan.shaded and counted_none))
        if scan.complete:
            self._finish(scan)

    def _count(self, scan: Scan, fresh: slice, beam: bool) -> None:
        """Count points whose time is up; beam and settings were the same since the last event."""
        for points, lit in (
            (slice(fresh.start, min(fresh.start + 1, fresh.stop)), beam and not scan.shaded),  # begun under other light
            (slice(min(fresh.start + 1, fresh.stop), fresh.stop), beam),
        ):
            number = max(0, points.stop - points.start)
            scan.counts[points] = (scan.lit if lit else scan.dark)[points]
            scan.done += number
            scan.lit_points += number if lit else 0

    def _finish(self, scan: Scan) -> None:
        scan.ended, scan.ended_at = True, self.now
        if not scan.lit_points:
            self.suffer("dark_scan", f"Scan {scan.number} finished without X-rays on the specimen")
        elif scan.specimen == NO_SPECIMEN:
            self.suffer("empty_scan", f"Scan {scan.number} finished with an empty stage")
        else:
            self.say(f"Scan {scan.number} finished: {scan.done} points")

    @property
    def scanning(self) -> bool:
        """Whether a scan is running."""
        return self.scan is not None and not self.scan.ended

    @property
    def position(self) -> float:
        """Where the goniometer stands, deg two-theta."""
        if self.scan is None:
            return PARK
        if self.scan.ended:
            reached = float(self.scan.two_theta[self.scan.done - 1]) if self.scan.done else PARK
            return max(PARK, reached - SLEW_RATE * (self.now - self.scan.ended_at))
        if not self.scan.done:
            slewed = self.scan.start_angle - SLEW_RATE * max(0.0, self.scan.began - self.now)
            return max(PARK, slewed)
        return float(self.scan.two_theta[self.scan.done - 1])

    # --- saving

    @property
    def save_reason(self) -> str | None:
        """Why there is nothing to save."""
        return _idle(self) or (None if self.scan and self.scan.done > 1 else "There is nothing to save")

    @property
    def save_number(self) -> int:
        """Number of the scan that is shown."""
        assert self.scan is not None  # else there is a reason not to save
        return self.scan.number

    @property
    def save_extensions(self) -> tuple[str, ...]:
        """Of the formats that are switched on."""
        return tuple(e for e, wanted in ((".xy", self.write_xy), (".xrdml", self.write_xrdml)) if wanted)

    def save_content(self, extension: str) -> tuple[bytes, str]:
        """The scan that is shown in a format."""
        assert self.scan is not None
        data = self.scan.diffractogram()
        return (to_xy(data), "text/plain") if extension == ".xy" else (to_xrdml(data), "application/xrdml+xml")

    # --- what is seen

    @property
    def mimic_key(self) -> tuple[float, float, bool, bool, bool]:
        """Arguments of the goniometer's picture."""
        doors = {"closed": 0.0, "opening": 0.5, "closing": 0.5, "open": 1.0}[self.doors]
        return round(self.position, 1), doors, self.shutter_open, self.xrays, self.on_stage != NO_SPECIMEN

    def pattern(self) -> np.ndarray:
        """Rows two-theta (deg) and counts of the scan that is shown; (2, n) float32."""
        if self.scan is None:
            return np.zeros((2, 0), dtype=np.float32)
        n = self.scan.done
        return np.vstack([self.scan.two_theta[:n], self.scan.counts[:n]]).astype(np.float32)

    @property
    def pattern_key(self) -> tuple[int, int]:
        """Changes whenever `pattern` does."""
        return (self.scan.number, self.scan.done) if self.scan else (0, 0)

    @property
    def count_rate(self) -> int:
        """Rate meter, counts/s: Poisson counts of the last second at the present angle."""
        second = int(self.now)
        if not self.xrays or self.voltage < STANDBY.voltage:
            return int(self.rng("ratemeter", second).poisson(physics.dark_rate()))
        tube = physics.Tube(self.voltage, self.current)
        specimen = SPECIMENS[self.on_stage] if self.on_stage else None
        mean = physics.expected_counts(np.array([self.position]), 1.0, specimen, self.optics, self.alignment, tube)
        return int(self.rng("ratemeter", second).poisson(mean[0]))

    @property
    def strongest(self) -> tuple[int, float] | None:
        """Counts and angle (deg) of the highest point of the scan that is shown."""
        if self.scan is None or not self.scan.done:
            return None
        best = int(np.argmax(self.scan.counts[: self.scan.done]))
        return int(self.scan.counts[best]), float(self.scan.two_theta[best])

    def scan_time(self) -> str:
        """How long the scan program takes."""
        minutes = max(0.0, self.end_angle - self.start_angle) / self.scan_rate
        return f"{int(minutes // 60)}:{int(minutes % 60):02d}:{int(minutes * 60 % 60):02d}"

    def progress(self) -> float:
        """Fraction of the running or last scan."""
        return self.scan.done / len(self.scan.two_theta) if self.scan else 0.0

    def progress_text(self) -> str:
        """Words on the progress bar."""
        if self.scan is None:
            return "no scan"
        if self.scanning:
            left = self.scan.began + self.scan.time_per_step * len(self.scan.two_theta) - self.now
            return f"scan {self.scan.number}: {100 * self.progress():.0f} %, {left / 60:.1f} min left"
        return f"scan {self.scan.number}: " + ("complete" if self.scan.complete else "stopped")

    def clock(self) -> str:
        """The clock on the wall."""
        return (EPOCH + timedelta(seconds=int(self.now))).strftime("%H:%M:%S")

    def plot_title(self) -> str:
        """Which scan the diagram shows."""
        if self.scan is None:
            return ""
        s = self.scan
        return f"Scan {s.number}: {_name_of(s.specimen)}, {s.step_size:.3f} deg, {s.scan_rate:g} deg/min"

    @property
    def expected_peak_rate(self) -> float:
        """Noise-free counts/s at the highest point of the scan program at the set point: the grader's, never shown."""
        if self.on_stage == NO_SPECIMEN or self.end_angle <= self.start_angle:
            return 0.0
        tube = physics.Tube(self.voltage_set, self.current_set)
        angles = scan_angles(self.start_angle, self.end_angle, self.step_size)
        on_stage = SPECIMENS[self.on_stage]
        key = (self.on_stage, self.optics, tube, self.start_angle, self.end_angle, self.step_size)
        if self._peak_rate[0] != key:  # asked for after every action
            rates = physics.expected_counts(angles, 1.0, on_stage, self.optics, self.alignment, tube)
            self._peak_rate = key, round(float(rates.max()), 3)
        return self._peak_rate[1]

    def state(self) -> dict[str, Any]:
        """Physical state for the grader; README.md names every key."""
        return {
            "specimen": self.specimen,
            "sample_id": self.sample_id,
            "on_stage": self.on_stage,
            "doors": self.doors,
            "shutter_open": self.shutter_open,
            "xrays": self.xrays,
            "generator": self.generator,
            "generator_ready": self.generator_ready,
            "ramping": self.ramping,
            "hv_drops": self.hv_drops,
            "voltage_set": self.voltage_set,
            "current_set": self.current_set,
            "voltage": round(self.voltage, 3),
            "current": round(self.current, 3),
            "start_angle": self.start_angle,
            "end_angle": self.end_angle,
            "step_size": self.step_size,
            "scan_rate": self.scan_rate,
            "divergence_slit": self.divergence_slit,
            "receiving_slit": self.receiving_slit,
            "nickel_filter": self.nickel_filter,
            "expected_peak_rate": self.expected_peak_rate,
            "scans": [s.summary() for s in self.scans],
            "saved": dict(self.saved),
            "archive": dict(self.archive),
        }

    panel = Column(
        Row(
            Column(
                Group(
                    "Specimen",
                    Select(specimen),
                    TextField(sample_id),
                    Row(Button(load), Button(unload)),
                    Readout("On stage", lambda s: _name_of(s.on_stage), digits=36, style="wide"),
                ),
                Group(
                    "Enclosure",
                    Row(
                        Button(
                            move_doors,
                            label=lambda s: "CLOSE DOORS" if s.doors in ("open", "closing") else "OPEN DOORS",
                        ),
                        Button(shutter, label=lambda s: "CLOSE SHUTTER" if s.shutter_open else "OPEN SHUTTER"),
                    ),
                    Grid(
                        2,
                        Lamp("Doors closed", lambda s: s.doors == "closed", "green"),
                        Lamp("Doors open", lambda s: s.doors == "open", "amber"),
                        Lamp("Shutter open", lambda s: s.shutter_open, "red"),
                        Lamp("X-RAYS", lambda s: s.xrays, "red"),
                    ),
                ),
                Group(
                    "Generator",
                    Row(Button(standby), Button(power_on, style="primary"), Button(power_off, style="danger")),
                    Row(Number(voltage_set, grow=1), Number(current_set, grow=1)),
                    Row(
                        Readout("Tube voltage", lambda s: f"{s.voltage:.1f}", "kV", 5, style="large"),
                        Readout("Tube current", lambda s: f"{s.current:.1f}", "mA", 5, style="large"),
                    ),
                    Grid(
                        3,
                        Lamp(
                            "Standby",
                            lambda s: s.generator == "standby" and s.current >= STANDBY.current,
                            "amber",
                            id="lamp-standby",
                        ),
                        Lamp("Ramping", lambda s: s.ramping, "blue"),
                        Lamp("At set point", lambda s: s.generator_ready, "green"),
                    ),
                ),
                Group(
                    "Optics",
                    Row(Select(divergence_slit, grow=1), Select(receiving_slit, grow=1)),
                    Toggle(nickel_filter, "In", "Out"),
                ),
                Group(
                    "Goniometer",
                    View(
                        "Goniometer picture", lambda s: mimic.draw(*s.mimic_key), mimic.SIZE, key=lambda s: s.mimic_key
                    ),
                    grow=1,
                ),
                width=344,
            ),
            Column(
                Plot(
                    "Diffractogram",
                    lambda s: s.pattern(),
                    "2θ (°)",
                    "Intensity (counts)",
                    ["counts"],
                    key=lambda s: s.pattern_key,
                    xlim=lambda s: [s.scan.start_angle, s.scan.end_angle] if s.scan else [s.start_angle, s.end_angle],
                    title=lambda s: s.plot_title(),
                    grow=1,
                ),
                Row(
                    Readout("2θ", lambda s: f"{s.position:.3f}", "deg", 8, style="large"),
                    Readout("Count rate", lambda s: f"{s.count_rate}", "counts/s", 7, style="large"),
                    Readout("Highest point", lambda s: f"{s.strongest[0]}" if s.strongest else "-", "counts", 7),
                    Readout("Highest at", lambda s: f"{s.strongest[1]:.3f}" if s.strongest else "-", "deg", 8),
                    Readout("Clock", lambda s: s.clock(), "", 8),
                ),
                grow=1,
            ),
            Column(
                Group(
                    "Scan program",
                    Number(start_angle),
                    Number(end_angle),
                    Select(step_size),
                    Select(scan_rate),
                    Row(
                        Readout(
                            "Points",
                            lambda s: (
                                f"{len(scan_angles(s.start_angle, max(s.end_angle, s.start_angle), s.step_size))}"
                            ),
                            "",
                            6,
                        ),
                        Readout("Scan time", lambda s: s.scan_time(), "h:m:s", 8),
                    ),
                ),
                Group(
                    "Measurement",
                    Row(Button(start_scan, style="primary"), Button(stop_scan, style="danger")),
                    Progress("Progress", lambda s: s.progress(), lambda s: s.progress_text()),
                    Button(SavingInstrument.ask_to_save, label="SAVE DIFFRACTOGRAM", id="save_diffractogram"),
                ),
                Group(
                    "Data folder",
                    Table(
                        "Files",
                        ["Name", "Size"],
                        lambda s: [[f.name, f"{f.size / 1024:.1f} kB"] for f in reversed(s.files)],
                        rows=8,
                        grow=1,
                    ),
                    grow=1,
                ),
                width=300,
            ),
            grow=1,
        ),
        Message(),
        *save_dialogs("Save diffractogram", Toggle(write_xy, "Yes", "No"), Toggle(write_xrdml, "Yes", "No")),
        grow=1,
    )
