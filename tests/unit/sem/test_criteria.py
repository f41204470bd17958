"""Criteria of the microscope's tasks at the instrument itself: right ways, and ways that once passed without the skill."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from matassay.core import Evidence, Verdict, find_task, grade, select_tasks
from matassay.kit import Desk
from matassay.suites.instruments.sem import INSTRUMENT as SEM
from matassay.suites.instruments.sem import imaging, optics
from matassay.suites.instruments.sem.specimens import SPECIMENS
from tests.unit.blind import every_control_once, one_control

S01, S02, S03 = "s01-vent-chamber", "s02-open-chamber", "s03-close-chamber"
S04, S05 = "s04-evacuate-chamber", "s05-select-sample"
S06, S07, S08, S09 = "s06-turn-on-ht", "s07-set-acc-voltage", "s08-set-contrast", "s09-adjust-clarity"
S10, S11, S12 = "s10-start-scan", "s11-save-image", "s12-mosaic-roi-region-save"
SEEDS = range(2)
FRAME = 12.0  # s, longer than a frame of 30 us a pixel

Step = Any
"""A name presses, a pair sets, a triple is a gesture, a number waits, a function does what it likes."""


@pytest.fixture(autouse=True)
def no_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Likeness to the sharp view is reported, never judged; it takes most of the time."""
    monkeypatch.setattr(SEM, "measures", lambda self: {})
    monkeypatch.setattr(SEM, "_compare", lambda self, image: {})


def start(task: str, seed: int) -> tuple[Desk, dict[str, Any]]:
    scenario = find_task(f"instruments/sem/{task}").scenario(seed)
    return Desk(SEM(seed, dict(scenario.start))), dict(scenario.goal)


def verdict(task: str, desk: Desk, goal: dict[str, Any]) -> Verdict:
    if task != S08:
        # judged there alone; elsewhere a live picture, and the surface in it, for nothing
        desk.instrument.levels = dict  # type: ignore[attr-defined]
    blobs = {f.sha256: f.data for f in desk.instrument.files if f.data is not None}
    return grade(
        find_task(f"instruments/sem/{task}"), Evidence.from_json({**desk.evidence(), "versions": {}}, blobs), goal
    )


def missing(task: str, seed: int, *steps: Step) -> list[str]:
    """Names of the criteria that do not hold after some steps."""
    desk, goal = start(task, seed)
    for step in steps:
        if callable(step):
            step(desk, goal)
        elif isinstance(step, str):
            desk.press(step)
        elif isinstance(step, tuple):
            desk.event(*step) if len(step) == 3 else desk.set(*step)
        else:
            desk.advance(step)
    return [name for name, holds in verdict(task, desk, goal).criteria.items() if not holds]


# --- what an operator does who knows the hidden truth


def focused(desk: Desk, goal: dict[str, Any]) -> None:
    s: Any = desk.instrument
    desk.set("stigmator_x", s.hidden.astig_x)
    desk.set("stigmator_y", s.hidden.astig_y)
    desk.set("working_distance", s.working_distance - optics.defocus(s.column) / 1000)


def off_focus(um: float) -> Callable[..., None]:
    def turn(desk: Desk, goal: dict[str, Any]) -> None:
        desk.set("working_distance", desk.instrument.working_distance + um / 1000)  # type: ignore[attr-defined]

    return turn


def levelled(desk: Desk, goal: dict[str, Any], low: float = 0.08, high: float = 0.82) -> None:
    s: Any = desk.instrument
    view = imaging.ideal(s.surface, s.voltage, s.detector, s.centre, s.width, (480, 640))
    contrast, brightness = imaging.balanced(view, s.current, s.detector, low, high)
    desk.set("contrast", contrast)
    desk.set("brightness", brightness)


def on_stripes(desk: Desk, goal: dict[str, Any], stripes: float = 9.0) -> None:
    s: Any = desk.instrument
    region = s.surface.feature("stripes")
    desk.event("image", [320, 240], "double")
    for name, value in (("stage_x", region.x), ("stage_y", region.y), ("scan_rotation", -region.angle)):
        assert desk.set(name, value) is None
    desk.set("magnification", optics.magnification(stripes * region.pitch))


def scanned(desk: Desk, goal: dict[str, Any]) -> None:
    desk.set("dwell", f"{goal['dwell']:g}")
    desk.press("start_scan")
    desk.advance(FRAME)


def saved(desk: Desk, goal: dict[str, Any]) -> None:
    desk.press("save_image")
    desk.set("file_name", goal["file_name"])
    desk.press("confirm_save")


def to(name: str) -> Callable[..., None]:
    """Set a control to what the goal says."""
    return lambda desk, goal: desk.set(name, f"{goal[name]:g}")


def to_sample(desk: Desk, goal: dict[str, Any]) -> None:
    assert desk.set("sample", goal["sample"]) is None


def other_sample(desk: Desk, goal: dict[str, Any]) -> None:
    other = "tin_balls" if desk.instrument.at != "tin_balls" else "fracture"  # type: ignore[attr-defined]
    assert desk.set("sample", SPECIMENS[other].name) is None
    desk.advance(9.0)


def prepared(desk: Desk, goal: dict[str, Any]) -> None:
    """Of the workflow, until the sample is live."""
    for press, wait in (
        ("vent", 20.0),
        ("move_door", 0.0),
        ("move_holder", 0.0),
        ("move_door", 0.0),
        ("evacuate", 400.0),
    ):
        desk.press(press)
        desk.advance(wait)
    desk.set("sample", goal["sample"])
    for name in ("voltage", "current"):
        desk.set(name, f"{goal[name]:g}")
    desk.advance(9.0)
    desk.press("ht_on")
    desk.set("blank", False)
    desk.advance(21.0)
    desk.set("magnification", goal["magnification"])


# --- right ways


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("task", "steps"),
    [
        (S01, ("exchange", 9.0, "ht_off", "vent", 13.0)),
        (S02, ("exchange", 9.0, "move_door")),
        (S04, ("vent", 5.0, "evacuate", 400.0)),
        (S06, (("blank", False), "ht_on", 21.0)),
        (S07, ("ht_off", to("voltage"), "ht_on", 21.0)),
        (S07, (to("voltage"), off_focus(20.0), ("magnification", 3000))),
        (S08, (levelled,)),
        (S09, (focused,)),
        (S09, (("stage_z", 12.0), ("detector", "BSE"), ("contrast", 30), focused)),
        (S09, (focused, ("dwell", "3"), "start_scan", FRAME)),
        (S10, (scanned,)),
        (S10, (("stage_x", 20), 1.0, ("stage_x", 0), ("dwell", "3"), "start_scan", 3.0, scanned)),
        (S11, (saved,)),
        (S12, (on_stripes, focused, scanned, saved)),
        (S12, (on_stripes, focused, ("contrast", 0), scanned, saved, "go_live", levelled, scanned, saved, "confirm_replace")),
        ("workflow", (prepared, focused, levelled, scanned, saved, "ht_off")),
        ("workflow", (prepared, levelled, focused, scanned, saved, "ht_off", "vent", 20.0)),
    ],
)  # fmt: skip
def test_right_ways(task: str, steps: tuple[Step, ...], seed: int) -> None:
    assert missing(task, seed, *steps) == []


# --- ways that once passed without doing what the task says (found by a hostile reader)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("task", "steps", "lost"),
    [
        # on its way out of the goal
        (S01, ("ht_off", "vent", 20.0, "evacuate"), ["chamber_vented"]),
        (S04, ("evacuate", 400.0, "vent"), ["vacuum_ready"]),
        # more than was asked for
        (S01, ("exchange", 9.0, "ht_off", "vent", 20.0, "move_door"), ["door_stays_closed"]),
        (S01, ("ht_off", "vent", 20.0, ("contrast", 20)), ["settings_kept"]),
        (S02, ("exchange", 9.0, "move_door", "move_holder"), ["holder_stays"]),
        (S03, ("move_holder", "move_door", ("voltage", "30")), ["settings_kept"]),
        (S04, ("evacuate", 400.0, ("scan_rotation", 10)), ["settings_kept"]),
        (S05, (to_sample, 9.0, "vent", 20.0), ["vacuum_stays"]),
        (S05, (to_sample, 9.0, ("magnification", 3000)), ["settings_kept"]),
        (S06, (("blank", False), "ht_on", 21.0, ("detector", "BSE")), ["settings_kept"]),
        (S07, (to("voltage"), ("brightness", 60)), ["settings_kept"]),
        # the beam, but on another sample, or none at the end
        (S06, (other_sample, ("blank", False), "ht_on", 21.0), ["sample_kept"]),
        (S09, (focused, "ht_off"), ["beam_stays_on"]),
        (S09, (focused, ("blank", True)), ["beam_stays_on"]),
        # right grey levels of another picture
        (S08, (off_focus(60), levelled), ["rest_kept"]),
        (S08, (levelled, ("scan_rotation", 90)), ["rest_kept"]),
        # a frame of something else
        (S10, (("contrast", 0), scanned), ["view_as_it_was", "rest_kept"]),
        (S10, (("contrast", 100), scanned), ["view_as_it_was", "rest_kept"]),
        (S10, (off_focus(500), scanned, off_focus(-500)), ["view_as_it_was"]),
        (S10, (("magnification", 5000), scanned, to("magnification")), ["view_as_it_was"]),
        (S10, (("detector", "BSE"), scanned, ("detector", "SE")), ["view_as_it_was"]),
        (S10, (("current", "25"), scanned, ("current", "100")), ["view_as_it_was"]),
        (S10, (scanned, ("dwell", "3"), "start_scan", FRAME), ["frame_complete", "signal_to_noise", "view_as_it_was"]),
        (S10, (scanned, other_sample), ["rest_kept"]),
        # sharp by calculation, but there is nothing to be seen
        (S12, (on_stripes, focused, ("contrast", 0), scanned, saved), ["levels_good"]),
        (S12, (on_stripes, focused, ("contrast", 100), scanned, saved), ["levels_good"]),
        (S12, (on_stripes, focused, ("brightness", 0), scanned, saved), ["levels_good"]),
        ("workflow", (prepared, focused, levelled, ("contrast", 100), scanned, saved, "ht_off"), ["levels_good"]),
    ],
)
def test_ways_around_the_task(task: str, steps: tuple[Step, ...], lost: list[str], seed: int) -> None:
    assert missing(task, seed, *steps) == lost


def test_no_high_tension_while_air_comes_in() -> None:
    desk, _ = start(S01, 0)
    desk.press("ht_off")
    desk.press("vent")
    assert desk.press("ht_on") == "The chamber is being vented"
    desk.press("evacuate")
    assert desk.press("ht_on") is None


def test_saving_before_the_scan_is_complete_is_refused() -> None:
    desk, _ = start(S12, 0)
    desk.press("go_live")
    desk.press("start_scan")
    desk.advance(1.0)
    assert "only a frozen picture" in str(desk.press("save_image"))
    assert desk.press("confirm_save") == "There is nothing to save"


@pytest.mark.parametrize("change", [("blank", True), ("contrast", 20), ("working_distance", 12), ("stigmator_x", 20)])
def test_a_change_in_the_middle_of_a_frame_spoils_it(change: tuple[str, Any]) -> None:
    desk, goal = start(S10, 0)
    before = getattr(desk.instrument, change[0])
    desk.set("dwell", f"{goal['dwell']:g}")
    desk.press("start_scan")
    desk.advance(1.0)
    desk.set(*change)
    desk.advance(0.2)
    desk.set(change[0], before)
    desk.advance(FRAME)
    assert not verdict(S10, desk, goal).success


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("side", [-1, 1])
def test_stripes_are_not_in_focus_by_a_guess(seed: int, side: int) -> None:
    """The widest guess that stays within the depth of field covers a small part of where the focus may be."""
    desk, goal = start(S12, seed)
    on_stripes(desk, goal)
    focus = desk.instrument.focus()  # type: ignore[attr-defined]
    assert 2 * focus["depth_of_field"] <= 0.12 * 2 * (170 - 60)
    assert 55 <= abs(focus["defocus"]) <= 175


@pytest.mark.parametrize("seed", range(5))
def test_what_is_asked_for_is_not_where_a_blind_hand_lands(seed: int) -> None:
    desk, goal = start(S07, seed)
    offered = SEM.voltage.choices
    asked, now = offered.index(goal["voltage"]), offered.index(desk.instrument.voltage)  # type: ignore[attr-defined]
    assert 0 < asked < len(offered) - 1
    assert abs(asked - now) > 1
    assert start(S05, seed)[1]["sample_key"] not in ("tin_balls", "solder")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("task", [S01, S02, S03, S04, S05, S06, S07, S09, S10, S11, S12, "workflow"])
def test_blind_hands_reach_nothing(task: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every control touched once, each dragged to both ends, one by one and all in turn."""
    monkeypatch.setattr(SEM, "_render", grey)  # none of these judges a picture
    _, goal = start(task, seed)
    for hands in (one_control, every_control_once):
        if hands is one_control and task in (S10, S11, S12, "workflow"):
            continue  # a dwell time and a scan, a name and a button: more than one control anyway, and dear
        for desk, what in hands(lambda: start(task, seed)[0]):
            assert not verdict(task, desk, goal).success, what


def grey(self: Any, dwell: float, key: Any, shape: Any = (480, 640), *_: Any, **__: Any) -> np.ndarray:
    """In place of a picture."""
    return np.full(shape, 128, np.uint8)


@pytest.mark.parametrize("seed", range(5))
def test_one_hand_on_contrast_or_brightness_does_not_use_the_range(seed: int) -> None:
    """The only two controls that S08 lets be touched; any other spoils it by what it changes."""
    _, goal = start(S08, seed)
    for control in ("contrast", "brightness"):
        for value in (0, 50, 100):
            desk, _ = start(S08, seed)
            desk.set(control, value)
            assert not verdict(S08, desk, goal).success, (control, value)


@pytest.mark.parametrize(
    "control", ["stage_x", "working_distance", "stigmator_x", "magnification", "voltage", "detector"]
)
def test_other_hands_spoil_the_levels_task(control: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SEM, "levels", lambda self: {"low": 0.1, "high": 0.9, "clipped_low": 0.0, "clipped_high": 0.0})
    desk, goal = start(S08, 0)
    assert verdict(S08, desk, goal).success  # by levels that are given away
    desk.set(control, {"voltage": "5", "detector": "BSE", "magnification": 3000.0}.get(control, 14.0))
    assert not verdict(S08, desk, goal).success


# --- one task tells nothing of another


def test_tasks_share_no_hidden_truth() -> None:
    """An agent that remembers its episodes must not find the focus of one task in another."""
    rows = select_tasks(["instruments/sem"])
    truths = [t.scenario(seed).truth for t in rows for seed in range(5)]
    assert len(rows) == 13
    assert len({(h["height"], h["astig_x"], h["astig_y"]) for h in truths}) == len(truths)


@pytest.mark.parametrize("task", [S01, S09, "workflow"])
def test_the_instrument_hides_what_the_task_says(task: str) -> None:
    scenario = find_task(f"instruments/sem/{task}").scenario(3)
    assert asdict(SEM(3, dict(scenario.start)).hidden) == scenario.truth


# --- a frozen picture


def test_a_frozen_picture_keeps_its_data_bar_and_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is turned afterwards: the picture on the screen was taken before."""
    monkeypatch.setattr(SEM, "_render", grey)
    desk, _ = start(S11, 0)
    s: Any = desk.instrument
    line, bar, place = s.status_line(), s.scale_bar(), s._to_specimen(100, 50)
    assert "10 µs" in line
    desk.set("magnification", 4000)
    desk.set("voltage", "30")
    desk.set("scan_rotation", 45)
    assert (s.mode, s.status_line(), s.scale_bar(), s._to_specimen(100, 50)) == ("frozen", line, bar, place)
    desk.press("go_live")
    assert (
        s.status_line() == "HV 30 kV  100 pA  WD " + f"{s.working_distance:.3f} mm  mag 4000 x  HFW 31.8 µm  SE  1 µs"
    )


@pytest.mark.parametrize("rotation", [0.0, 35.0, -90.0])
def test_a_double_click_in_the_mosaic_drives_to_what_is_seen(rotation: float) -> None:
    """Also under scan rotation, which turns the mosaic as a whole: a view of the place looks as the mosaic there."""
    desk, _ = start(S12, 0)
    s: Any = desk.instrument
    desk.set("scan_rotation", rotation)
    desk.press("take_mosaic")
    seen = s.picture().astype(float)
    for x, y in ((200, 120), (450, 380)):
        s.mode = "mosaic"
        desk.event("image", [x, y], "double")
        desk.set("magnification", optics.magnification(60.0))
        live = ndimage.zoom(s.live().astype(float), 60.0 / 250.0, order=1)
        rows, cols = (n // 2 for n in live.shape)
        part = seen[y - rows : y - rows + live.shape[0], x - cols : x - cols + live.shape[1]]
        alike = [
            np.corrcoef(ndimage.gaussian_filter(a, 2.0).ravel(), ndimage.gaussian_filter(part, 2.0).ravel())[0, 1]
            for a in (live, live[::-1])
        ]
        assert alike[0] > 0.8 > alike[1], alike


@pytest.mark.parametrize(
    ("pumping", "pressure", "shown"),
    [("vent", 10.0, "VENTING"), ("vent", 1e5, "VENTED"), ("off", 1e5, "AIR"), ("pump", 1e5, "ROUGHING"),
     ("pump", 1.0, "TURBO PUMP"), ("pump", 2e-4, "READY")],
)  # fmt: skip
def test_the_vacuum_says_what_it_does(pumping: str, pressure: float, shown: str) -> None:
    desk = Desk(SEM(0, {"pumping": pumping, "pressure": pressure}))
    assert desk.snapshot()["vacuum"]["value"] == shown
    assert desk.snapshot()["pressure"]["value"] == {10.0: "1.0e1", 1e5: "1.0e5", 1.0: "1.0e0", 2e-4: "2.0e-4"}[pressure]
