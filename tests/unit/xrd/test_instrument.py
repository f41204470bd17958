"""The diffractometer as an operator finds it, without a page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from matassay.kit import Desk
from matassay.suites.instruments.xrd import INSTRUMENT as XRD
from matassay.suites.instruments.xrd.files import read_xrdml, read_xy
from matassay.suites.instruments.xrd.instrument import (
    EPOCH,
    counts_digest,
    hidden_alignment,
    scan_angles,
    time_per_step,
)
from matassay.suites.instruments.xrd.specimens import SPECIMENS

BENCH = {"specimen": "silicon", "on_stage": "silicon", "generator": "on", "voltage_set": 45, "current_set": 40}
PROGRAM = {"start_angle": 27.0, "end_angle": 30.0, "step_size": 0.02, "scan_rate": 4.0}
SECONDS = 3.0 / 4.0 * 60 + 0.3  # of that program; the last step is counted as well
SLEW = (27.0 - 5.0) / 5.0


def desk(seed: int = 1, **start: Any) -> Desk:
    return Desk(XRD(seed, start))


def state(d: Desk) -> dict[str, Any]:
    found: dict[str, Any] = d.evidence()["state"]
    return found


def mishaps(d: Desk) -> list[str]:
    return [c.name for c in d.instrument.consequences]


def ready(seed: int = 1, **more: Any) -> Desk:
    d = desk(seed, **BENCH, **PROGRAM, **more)
    assert d.press("shutter") is None
    return d


def measured(seed: int = 1, **more: Any) -> Desk:
    d = ready(seed, **more)
    assert d.press("start_scan") is None
    d.advance(SLEW + SECONDS)
    return d


def test_power_on_state() -> None:
    assert state(desk()) == {
        "specimen": "", "sample_id": "", "on_stage": "", "doors": "closed", "shutter_open": False, "xrays": False,
        "generator": "off", "voltage": 0.0, "current": 0.0, "start_angle": 5.0, "end_angle": 80.0, "step_size": 0.04,
        "scan_rate": 8.0, "divergence_slit": 0.5, "receiving_slit": 0.2, "nickel_filter": True,
        "expected_peak_rate": 0.0, "scans": [], "saved": {}, "archive": {}, "generator_ready": False, "ramping": False,
        "hv_drops": 0, "voltage_set": 30, "current_set": 10,
    }  # fmt: skip


def test_start_state_sets_what_it_names() -> None:
    d = desk(**BENCH, shutter_open=True, gain=1.5, archive=["old_1.xy", "old_2.xy"], measured={"scan_rate": 16.0})
    s = state(d)
    assert (s["generator"], s["voltage"], s["current"], s["xrays"]) == ("on", 45.0, 40.0, True)
    assert [f.name for f in d.instrument.files] == ["old_1.xy", "old_2.xy"]
    assert d.instrument.files[0].data != d.instrument.files[1].data
    assert [(x["number"], x["scan_rate"], x["complete"], x["lit_points"] == x["points"]) for x in s["scans"]] == [
        (1, 16.0, True, True)
    ]
    assert mishaps(d) == []


# --- generator


def test_cold_filament_gets_no_full_voltage() -> None:
    d = desk()
    assert "filament is cold" in str(d.press("power_on"))
    d.press("standby")
    d.advance(5.0)
    assert "filament is cold" in str(d.press("power_on")), "15 kV come first, then the current"
    d.advance(15.0)
    assert d.press("power_on") is None


def test_generator_ramps_voltage_first_and_lands_on_the_set_point() -> None:
    d = desk(generator="standby", voltage_set=45, current_set=40)
    d.press("power_on")
    d.advance(10.0)
    assert (state(d)["voltage"], state(d)["current"]) == (25.0, 5.0)
    d.advance(25.0)
    assert (state(d)["voltage"], state(d)["current"]) == (45.0, 10.0)
    assert not d.snapshot()["at-set-point"]["lit"]
    d.advance(30.0)
    assert (state(d)["voltage"], state(d)["current"]) == (45.0, 40.0)
    assert d.snapshot()["at-set-point"]["lit"]


@pytest.mark.parametrize("pieces", [1, 7, 65])
def test_ramp_does_not_depend_on_how_time_is_cut(pieces: int) -> None:
    d = desk(generator="standby", voltage_set=40, current_set=30)
    d.press("power_on")
    for _ in range(pieces):
        d.advance(40.0 / pieces)
    assert (state(d)["voltage"], state(d)["current"]) == pytest.approx((40.0, 20.0))


def test_tube_is_not_overloaded() -> None:
    d = desk(generator="standby", voltage_set=50, current_set=50)
    assert "2500 W exceed the tube's limit of 1800 W" in str(d.press("power_on"))
    d.set("voltage_set", 45)
    d.set("current_set", 40)
    assert d.press("power_on") is None
    d.advance(70.0)
    assert d.set("current_set", 41) is None
    assert mishaps(d) == ["generator_overload"]
    assert (state(d)["generator"], state(d)["voltage"]) == ("off", 0.0)


def test_high_voltage_off_is_at_once() -> None:
    d = ready()
    d.press("power_off")
    s = state(d)
    assert (s["generator"], s["voltage"], s["current"], s["shutter_open"], s["xrays"]) == (
        "off",
        0.0,
        0.0,
        False,
        False,
    )
    assert mishaps(d) == []


# --- doors and shutter


def test_doors_take_their_time() -> None:
    d = desk()
    d.press("move_doors")
    assert d.press("move_doors") == "The doors are moving"
    d.advance(3.9)
    assert state(d)["doors"] == "opening"
    assert "Open the doors" in str(d.press("load"))
    d.advance(0.1)
    assert state(d)["doors"] == "open"
    d.press("move_doors")
    d.advance(4.0)
    assert state(d)["doors"] == "closed"


def test_shutter_obeys_the_interlock() -> None:
    d = desk()
    assert "needs the generator" in str(d.press("shutter"))
    d = desk(generator="standby")
    d.press("move_doors")
    assert "Interlock" in str(d.press("shutter"))
    d.advance(4.0)
    assert "Interlock" in str(d.press("shutter"))
    assert not state(d)["shutter_open"]


def test_opening_the_doors_on_an_open_shutter_trips() -> None:
    d = ready()
    assert state(d)["xrays"]
    d.press("move_doors")
    s = state(d)
    assert (s["xrays"], s["shutter_open"], s["generator"], s["doors"]) == (False, False, "off", "opening")
    assert mishaps(d) == ["generator_trip"]


def test_loading() -> None:
    d = desk(specimen="quartz", on_stage="silicon")
    d.press("move_doors")
    d.advance(4.0)
    assert d.press("unload") is None
    assert state(d)["on_stage"] == ""
    assert d.press("load") is None
    assert state(d)["on_stage"] == "quartz"
    bare = desk()
    bare.press("move_doors")
    bare.advance(4.0)
    assert bare.press("load") == "Select a specimen first"


# --- scans


def test_scan_counts_every_point_in_its_time() -> None:
    d = ready()
    d.press("start_scan")
    d.advance(SLEW)
    assert state(d)["scans"][0]["done"] == 0
    d.advance(30.0)
    assert state(d)["scans"][0]["done"] == 100
    d.advance(30.0)
    scan = state(d)["scans"][0]
    assert (scan["done"], scan["points"], scan["lit_points"], scan["complete"]) == (151, 151, 151, True)
    assert d.instrument.message == "Scan 1 finished: 151 points"


@pytest.mark.parametrize("cut", [0.3, 1.0, 7.7, 1000.0])
def test_counts_do_not_depend_on_how_time_is_cut_or_who_looks(cut: float) -> None:
    d = ready()
    d.press("start_scan")
    for _ in range(int(60 / cut) + 1):
        d.advance(cut)
        d.snapshot()
    assert state(d)["scans"] == state(measured())["scans"]


def test_program_is_locked_while_it_runs() -> None:
    d = ready()
    d.press("start_scan")
    for refused in (
        d.set("step_size", "0.010"),
        d.set("end_angle", 50),
        d.press("start_scan"),
        d.press("save_diffractogram"),
    ):
        assert refused == "Not while a scan is running"
    snapshot = d.snapshot()
    assert not snapshot["step_size"]["enabled"]
    assert snapshot["stop_scan"]["enabled"]


def test_stopped_scan_keeps_what_was_counted() -> None:
    d = ready()
    d.press("start_scan")
    d.advance(SLEW + 30.0)
    d.press("stop_scan")
    before = state(d)["scans"][0]
    d.advance(1000.0)
    assert state(d)["scans"][0] == before
    assert (before["done"], before["complete"]) == (100, False)
    d.press("start_scan")
    assert [s["number"] for s in state(d)["scans"]] == [1, 2]


def test_shutter_decides_point_by_point() -> None:
    d = ready()
    d.press("start_scan")
    d.advance(SLEW + 15.0)
    d.press("shutter")
    d.advance(15.0)
    d.press("shutter")
    d.advance(60.0)
    scan = state(d)["scans"][0]
    assert (scan["done"], scan["lit_points"]) == (151, 101)
    counts = d.instrument.scans[0].counts  # type: ignore[attr-defined]
    assert counts[50:100].mean() < 0.5 < 2 < counts[:50].mean()


def test_a_point_that_was_shaded_for_a_part_is_dark() -> None:
    d = ready()
    d.press("start_scan")
    d.advance(SLEW)
    for _ in range(20):  # 0.3 s a point: open for 0.1 s, shut for 0.2 s of each
        d.advance(0.1)
        d.press("shutter")
        d.advance(0.2)
        d.press("shutter")
    scan = state(d)["scans"][0]
    assert (scan["done"], scan["lit_points"]) == (20, 0)


@pytest.mark.parametrize(
    ("prepare", "text"),
    [
        ({"generator": "standby"}, "not at its set point"),
        ({"end_angle": 27.9}, "exceed the start angle by at least 1 deg"),
        ({"end_angle": 20.0}, "exceed the start angle"),
    ],
)
def test_scan_is_refused(prepare: dict[str, Any], text: str) -> None:
    d = desk(**{**BENCH, **PROGRAM, **prepare})
    assert text in str(d.press("start_scan"))
    assert state(d)["scans"] == []


def test_scan_needs_closed_doors() -> None:
    d = desk(**BENCH, **PROGRAM)
    d.press("move_doors")
    assert d.press("start_scan") == "Interlock: close the doors"


def test_wasted_scans_are_consequences() -> None:
    dark = desk(**BENCH, **PROGRAM)
    dark.press("start_scan")
    dark.advance(100.0)
    assert mishaps(dark) == ["dark_scan"]
    empty = desk(**{**BENCH, "on_stage": ""}, **PROGRAM)
    empty.press("shutter")
    empty.press("start_scan")
    empty.advance(100.0)
    assert mishaps(empty) == ["empty_scan"]


def test_noise_is_fixed_by_seed_and_number_of_the_scan() -> None:
    one, again, other = (state(measured(seed))["scans"][0]["counts_sha256"] for seed in (1, 1, 2))
    assert one == again != other
    d = measured()
    d.press("start_scan")
    d.advance(100.0)
    first, second = state(d)["scans"]
    assert first["counts_sha256"] == one != second["counts_sha256"]
    assert first["peak_counts"] != second["peak_counts"]


def test_peak_of_silicon_is_where_bragg_has_it() -> None:
    d = measured()
    angle = float(d.snapshot()["highest-at"]["value"])
    # 28.443 deg for Cu K alpha 1, moved by zero error and height of at most 0.02 and 0.03 deg
    assert angle == pytest.approx(28.443, abs=0.07)
    assert int(d.snapshot()["highest-point"]["value"]) == state(d)["scans"][0]["peak_counts"]


def test_expected_rate_is_what_is_counted_in_the_mean() -> None:
    d = measured()
    s = state(d)
    expected = s["expected_peak_rate"] * time_per_step(0.02, 4.0)
    assert s["scans"][0]["peak_counts"] == pytest.approx(expected, abs=5 * np.sqrt(expected))


def test_expected_rate_follows_the_settings() -> None:
    d = desk(**BENCH, **PROGRAM)
    before = state(d)["expected_peak_rate"]
    d.set("divergence_slit", "1")
    assert state(d)["expected_peak_rate"] > 1.5 * before
    d.set("current_set", 20)
    assert 0 < state(d)["expected_peak_rate"] < 1.1 * before


def test_hidden_alignment_is_small_and_named() -> None:
    for seed in range(50):
        a = hidden_alignment(seed)
        assert abs(a.zero_error) <= 0.02
        assert abs(a.displacement) <= 0.06
        assert 0.8 <= a.gain <= 1.2
    assert XRD.truth_fields == ("zero_error", "displacement", "gain")


def test_angles_of_a_scan() -> None:
    assert scan_angles(27.0, 30.0, 0.02).tolist()[:3] == [27.0, 27.02, 27.04]
    assert len(scan_angles(5.0, 140.0, 0.005)) == 27001
    assert scan_angles(5.0, 5.9, 0.08)[-1] <= 5.9
    assert time_per_step(0.02, 4.0) == pytest.approx(0.3)


# --- saving


def test_saved_files_hold_the_scan() -> None:
    d = measured(sample_id="A12-345")
    d.press("save_diffractogram")
    d.set("file_name", "silicon_7")
    d.set("write_xrdml", True)
    assert d.snapshot()["save-diffractogram"]["open"]
    assert d.press("confirm_save") is None
    assert not d.snapshot()["save-diffractogram"]["open"]
    files = {f.name: f.data for f in d.instrument.files}
    assert set(files) == {"silicon_7.xy", "silicon_7.xrdml"}
    for read, name in ((read_xy, "silicon_7.xy"), (read_xrdml, "silicon_7.xrdml")):
        data = read(files[name] or b"")
        assert counts_digest(data.counts) == state(d)["scans"][0]["counts_sha256"]
        assert (data.sample_id, data.specimen_label, data.completed) == ("A12-345", SPECIMENS["silicon"].name, True)
        assert data.started.startswith(EPOCH.date().isoformat())
    assert state(d)["saved"] == {"silicon_7.xy": 1, "silicon_7.xrdml": 1}


@pytest.mark.parametrize("name", ["", " ", "a b", "../x", "a/b", "a..b", ".hidden", "ä", "a\\b", "-x"])
def test_file_name_that_is_none(name: str) -> None:
    d = measured()
    d.press("save_diffractogram")
    d.set("file_name", name)
    assert "File name: letters" in str(d.press("confirm_save"))
    assert d.instrument.files == []


def test_saving_needs_a_format_a_dialog_and_something_to_save() -> None:
    d = desk()
    assert d.press("save_diffractogram") == "There is nothing to save"
    assert d.press("confirm_save") == "There is nothing to save"
    assert d.press("confirm_replace") == "There is nothing to replace"
    d = measured()
    d.press("save_diffractogram")
    d.set("file_name", "x")
    d.set("write_xy", False)
    assert d.press("confirm_save") == "Choose at least one format"
    assert d.event("save-diffractogram", [], "cancel") is None
    assert d.press("confirm_save") == "There is nothing to save"


def test_replacing_is_asked_for_and_recorded() -> None:
    d = measured(archive=["old.xy"])
    before = d.instrument.files[0].data
    d.press("save_diffractogram")
    d.set("file_name", "old.xy")
    d.press("confirm_save")
    assert d.snapshot()["replace-files"]["open"]
    assert d.instrument.files[0].data == before
    d.press("confirm_replace")
    assert d.instrument.files[0].data != before
    assert [f.name for f in d.instrument.files] == ["old.xy"]
    assert mishaps(d) == ["file_overwritten"]


# --- what is seen


def test_hidden_numbers_are_on_no_panel() -> None:
    d = measured()
    seen = json.dumps([d.tree(), d.snapshot()])
    a = hidden_alignment(1)
    for value in (a.zero_error, a.displacement, a.gain, state(d)["expected_peak_rate"]):
        assert f"{abs(value):g}" not in seen
    assert "expected_peak_rate" not in seen


def test_lamps_and_readouts_follow() -> None:
    d = ready()
    s = d.snapshot()
    assert (s["x-rays"]["lit"], s["shutter-open"]["lit"], s["doors-closed"]["lit"]) == (True, True, True)
    assert s["shutter"]["label"] == "CLOSE SHUTTER"
    assert (s["points"]["value"], s["scan-time"]["value"]) == ("151", "0:00:45")
    d.advance(75.0)
    assert d.snapshot()["clock"]["value"] == "09:01:15"


def test_rate_meter_is_the_same_for_everybody_within_a_second() -> None:
    d = ready()
    assert d.instrument.count_rate == d.instrument.count_rate  # type: ignore[attr-defined]
    rates = set()
    for _ in range(5):
        d.advance(1.0)
        rates.add(d.instrument.count_rate)  # type: ignore[attr-defined]
    assert len(rates) > 1
    d.press("shutter")
    assert d.instrument.count_rate < 5  # type: ignore[attr-defined]
