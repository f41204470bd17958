"""Any operator, at any instrument, doing anything at any time: nothing breaks, and physics holds."""

from __future__ import annotations

import json
import math
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from matassay.kit import Choice, Desk, Flag, Instrument, Real, Text
from matassay.suites.instruments import INSTRUMENTS
from matassay.suites.instruments.xrd import INSTRUMENT as XRD
from matassay.suites.instruments.xrd.specimens import SPECIMENS

#: More digits than a float holds.
huge = st.sampled_from([10**400, -(10**400)])
scalars = st.none() | st.booleans() | st.integers() | huge | st.floats() | st.text(max_size=12)
hostile = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
#: What a forged message might name: attributes and methods of the instrument that are no controls.
HIDDEN = (
    "alignment",
    "begin",
    "setup",
    "evolve",
    "state",
    "seed",
    "files",
    "suffer",
    "agenda",
    "__class__",
    "scans",
    "",
)
pauses = st.sampled_from([0.0, 0.1, 1.0, 4.0, 30.0, 600.0, 7200.0]) | st.floats(0, 1e5)


def fitting(bind: Any) -> st.SearchStrategy[list[Any]]:
    """Arguments that a control accepts."""
    if isinstance(bind, Choice):
        return st.sampled_from([[bind.show_as(c)] for c in bind.choices])
    if isinstance(bind, Flag):
        return st.booleans().map(lambda v: [v])
    if isinstance(bind, Real):
        return st.floats(bind.lo, bind.hi).map(lambda v: [v])
    if isinstance(bind, Text):
        return st.text("abAB01_-.", max_size=12).map(lambda v: [v])
    return st.just([])


class Operator(RuleBasedStateMachine):
    """The machine of one instrument; subclasses name it."""

    instrument: type[Instrument]

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self.desk = Desk(self.instrument(seed))
        self.operable = [w for w in self.desk.widgets if w.bind is not None]
        self.others = [w for w in self.desk.widgets if w.gestures or w.kind in ("tabs", "plot")]
        self.ready()

    def ready(self) -> None:
        """For subclasses."""

    def told(self, refused: str | None) -> None:
        """A refusal is said and shown; it is always words."""
        assert refused is None or (isinstance(refused, str) and refused)
        if refused is not None:
            assert self.desk.instrument.message == refused

    @rule(data=st.data())
    def operate(self, data: st.DataObject) -> None:
        widget = data.draw(st.sampled_from(self.operable))
        self.told(self.desk.event(widget.id, data.draw(fitting(widget.bind))))

    @rule(data=st.data(), args=st.lists(hostile, max_size=4) | hostile, gesture=hostile)
    def forge(self, data: st.DataObject, args: Any, gesture: Any) -> None:
        ids = st.sampled_from([w.id for w in self.desk.widgets] + list(HIDDEN)) | hostile
        self.told(self.desk.event(data.draw(ids), args, data.draw(st.just(None) | st.just(gesture))))

    @rule(data=st.data(), args=st.lists(st.floats() | st.integers(-10, 600), max_size=6))
    def gesture(self, data: st.DataObject, args: list[Any]) -> None:
        if self.others:
            widget = data.draw(st.sampled_from(self.others))
            known = [*widget.gestures, "select", "zoom"]
            self.told(self.desk.event(widget.id, args, data.draw(st.sampled_from(known))))

    @rule(dt=pauses)
    def wait(self, dt: float) -> None:
        before = self.desk.instrument.now
        self.desk.advance(dt)
        assert self.desk.instrument.now == pytest.approx(before + dt)

    @rule()
    def look(self) -> None:
        for index, _ in self.desk.sources():
            _, array = self.desk.render(index)
            assert array.dtype in (np.uint8, np.float32)

    @invariant()
    def everything_can_be_sent(self) -> None:
        if not hasattr(self, "desk"):
            return
        # strict JSON: the page and the log read no NaN in it
        json.dumps(self.desk.snapshot(), allow_nan=False)
        json.dumps(self.desk.evidence(), allow_nan=False)
        json.dumps(self.desk.tree(), allow_nan=False)
        assert isinstance(self.desk.instrument.message, str)
        assert self.desk.instrument.message_level in ("info", "warning", "error")

    @invariant()
    def parameters_stay_in_range(self) -> None:
        if not hasattr(self, "desk"):
            return
        for w in self.operable:
            if isinstance(w.bind, Real):
                value = w.bind.show(self.desk.instrument)
                assert w.bind.lo <= value <= w.bind.hi
                assert math.isfinite(value)
            if isinstance(w.bind, Choice):
                assert w.bind.show(self.desk.instrument) in w.bind.spec()["choices"]


class XrdOperator(Operator):
    """The diffractometer, with what must hold of X-rays and counts."""

    instrument = XRD

    def ready(self) -> None:
        self.seen: dict[int, np.ndarray] = {}
        self.known: list[str] = []

    @rule(data=st.data())
    def prepare(self, data: st.DataObject) -> None:
        """A skilled hand brings it to where scans are possible: chance alone rarely does."""
        self.desk.set("specimen", SPECIMENS[data.draw(st.sampled_from(list(SPECIMENS)))].name)
        self.desk.set("start_angle", 20.0)
        self.desk.set("end_angle", data.draw(st.sampled_from([21.0, 25.0, 19.0, 140.0])))
        self.desk.press("standby")
        self.desk.advance(20.0)
        self.desk.press("power_on")
        self.desk.advance(data.draw(st.sampled_from([60.0, 60.0, 8.0])))

    @rule(wait=st.floats(0, 400), lit=st.booleans())
    def measure(self, wait: float, lit: bool) -> None:
        if lit is not self.desk.instrument.state()["shutter_open"]:
            self.desk.press("shutter")
        self.desk.press("start_scan")
        self.desk.advance(wait)

    @rule(pause=st.floats(0, 10))
    def load(self, pause: float) -> None:
        for press in ("move_doors", "load", "move_doors"):
            self.desk.press(press)
            self.desk.advance(pause)

    @rule()
    def walk_in(self) -> None:
        """Opens the doors whatever is going on."""
        self.desk.press("move_doors")
        self.desk.advance(5.0)

    @rule(name=st.text("ab", min_size=1, max_size=2))
    def save(self, name: str) -> None:
        self.desk.press("save_diffractogram")
        self.desk.set("file_name", name)
        self.desk.press("confirm_save")
        self.desk.press("confirm_replace")

    @invariant()
    def no_xrays_unless_enclosed(self) -> None:
        if not hasattr(self, "desk"):
            return
        state = self.desk.instrument.state()
        assert not state["xrays"] or (state["doors"] == "closed" and state["shutter_open"])
        assert not (state["shutter_open"] and state["doors"] != "closed"), "shutter open at an open enclosure"

    @invariant()
    def shutter_is_closed_without_high_voltage(self) -> None:
        if not hasattr(self, "desk"):
            return
        state = self.desk.instrument.state()
        if state["generator"] == "off":
            assert not state["shutter_open"]
            assert state["voltage"] == state["current"] == 0
        assert state["voltage"] * state["current"] <= 1800 + 1e-6

    @invariant()
    def what_was_counted_stays(self) -> None:
        if not hasattr(self, "desk"):
            return
        scans = self.desk.instrument.scans  # type: ignore[attr-defined]
        assert len(scans) >= len(self.seen), "no scan is lost"
        for scan in scans:
            before = self.seen.get(scan.number, np.zeros(0, dtype=np.int64))
            assert scan.done >= len(before)
            assert np.array_equal(scan.counts[: len(before)], before)
            assert 0 <= scan.lit_points <= scan.done <= len(scan.two_theta)
            assert not scan.counts[scan.done :].any(), "nothing is counted ahead of time"
            self.seen[scan.number] = scan.counts[: scan.done].copy()

    @invariant()
    def mishaps_and_files_stay(self) -> None:
        if not hasattr(self, "desk"):
            return
        names = [c.name for c in self.desk.instrument.consequences]
        assert names[: len(self.known)] == self.known
        self.known = names
        files = [f.name for f in self.desk.instrument.files]
        assert len(set(files)) == len(files)


def test_case(machine: type[Operator], examples: int, steps: int) -> Any:
    case = machine.TestCase
    case.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    return case


TestXrd = test_case(XrdOperator, examples=30, steps=25)
for _name, _instrument in INSTRUMENTS.items():
    _machine = type(f"{_name}_Operator", (Operator,), {"instrument": _instrument})
    globals()[f"Test_{_name}"] = test_case(_machine, examples=15, steps=20)
del test_case
