"""Criteria of the diffractometer's tasks on evidence made by hand: what passes, and what almost does."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from matassay.core import Artefact, Evidence, Verdict, find_task, grade
from matassay.kit import Desk
from matassay.suites.instruments.xrd import INSTRUMENT as XRD
from matassay.suites.instruments.xrd import criteria as c
from matassay.suites.instruments.xrd.instrument import RATES, STEPS, time_per_step
from tests.unit.blind import every_control_once, one_control


def operated(task: str, seed: int, *presses: Any) -> tuple[Evidence, dict[str, Any]]:
    """Evidence after events at a desk in the task's start state: a name presses, a pair sets, a number waits."""
    scenario = find_task(f"instruments/xrd/{task}").scenario(seed)
    desk = Desk(XRD(seed, dict(scenario.start)))
    for press in presses:
        if isinstance(press, str):
            desk.press(press)
        elif isinstance(press, tuple):
            desk.set(*press)
        else:
            desk.advance(press)
    blobs = {f.sha256: f.data for f in desk.instrument.files if f.data is not None}
    return Evidence.from_json({**desk.evidence(), "versions": {}}, blobs), dict(scenario.goal)


def verdict(task: str, evidence: Evidence, goal: dict[str, Any]) -> Verdict:
    return grade(find_task(f"instruments/xrd/{task}"), evidence, goal)


def missing(task: str, evidence: Evidence, goal: dict[str, Any]) -> list[str]:
    return [name for name, holds in verdict(task, evidence, goal).criteria.items() if not holds]


# --- what is worked out


@pytest.mark.parametrize(
    ("fwhm", "step"),
    [(0.1, 0.02), (0.0999, 0.01), (0.05, 0.01), (0.4, 0.08), (1.0, 0.08), (0.025, 0.005), (0.001, 0.005)],
)
def test_coarsest_step_has_five_across_the_width(fwhm: float, step: float) -> None:
    assert c.coarsest_step(fwhm) == step
    assert step in STEPS


@pytest.mark.parametrize(("peak_rate", "rate"), [(3333.4, 4.0), (3333.0, 2.0), (1e9, 16.0), (1.0, None)])
def test_fastest_rate_has_enough_counts(peak_rate: float, rate: float | None) -> None:
    assert c.fastest_rate(peak_rate, 0.02, 1000) == rate
    faster = [r for r in RATES if r > (rate or 0.0)]
    assert all(peak_rate * time_per_step(0.02, r) < 1000 for r in faster)


@pytest.mark.parametrize("seed", range(8))
def test_questions_have_one_answer_with_room_around_it(seed: int) -> None:
    goal = find_task("instruments/xrd/s05-set-step-size").scenario(seed).goal
    assert c.coarsest_step(0.91 * goal["fwhm"]) == c.coarsest_step(1.09 * goal["fwhm"])
    evidence, goal = operated("s06-set-scan-rate", seed)
    s = evidence.state
    right = c.fastest_rate(s["expected_peak_rate"], s["step_size"], goal["least_counts"])
    expected = s["expected_peak_rate"] * time_per_step(s["step_size"], right)
    # four standard deviations of a survey's highest point on either side
    survey = s["scans"][0]["peak_counts"]
    assert expected / goal["least_counts"] == pytest.approx(2**0.5, rel=0.06)
    by_survey = max(r for r in RATES if survey * goal["survey_rate"] / r >= goal["least_counts"])
    assert by_survey == right


# --- states


def test_select_specimen() -> None:
    evidence, goal = operated("s01-select-specimen", 0)
    assert missing("s01-select-specimen", evidence, goal) == ["specimen_selected", "sample_id_entered"]
    right, goal = operated("s01-select-specimen", 0, ("specimen", goal["specimen"]), ("sample_id", goal["sample_id"]))
    assert verdict("s01-select-specimen", right, goal).success
    for wrong in (goal["sample_id"].lower(), goal["sample_id"][:-1], goal["sample_id"] + "0"):
        other, goal = operated("s01-select-specimen", 0, ("specimen", goal["specimen"]), ("sample_id", wrong))
        assert missing("s01-select-specimen", other, goal) == ["sample_id_entered"], wrong


def test_power_up_is_judged_by_the_tube_not_by_the_setting() -> None:
    _, goal = operated("s03-power-up", 0)
    set_point = (("voltage_set", goal["voltage"]), ("current_set", goal["current"]))
    evidence, goal = operated("s03-power-up", 0, "standby", 20.0, *set_point, "power_on", 10.0)
    assert missing("s03-power-up", evidence, goal) == [
        "voltage_reached",
        "current_reached",
        "generator_settled",
    ]
    evidence, goal = operated("s03-power-up", 0, "standby", 20.0, *set_point, "power_on", 70.0)
    assert verdict("s03-power-up", evidence, goal).success
    evidence, goal = operated("s03-power-up", 0, "standby", 20.0, *set_point, "power_on", 70.0, "shutter")
    assert missing("s03-power-up", evidence, goal) == ["shutter_closed"]


def test_trip_is_not_forgotten() -> None:
    shutter = () if operated("s02-load-sample", 1)[0].state["shutter_open"] else ("shutter",)
    evidence, goal = operated(
        "s02-load-sample", 1, *shutter, "move_doors", 5.0, "load", "move_doors", 5.0, "standby", 30.0
    )
    assert missing("s02-load-sample", evidence, goal) == ["not_switched_off", "no_trip"]
    assert verdict("s02-load-sample", evidence, goal).score == 1.0, "the goal is reached, success is not"


# --- scans and files

SCAN = ("shutter", "start_scan", 4e4, "shutter")


def test_scan_counts_with_the_program_asked_for_only() -> None:
    evidence, goal = operated("s07-run-scan", 0, *SCAN)
    assert verdict("s07-run-scan", evidence, goal).success
    evidence, goal = operated("s07-run-scan", 0, ("end_angle", goal["end_angle"] - 0.1), *SCAN)
    assert missing("s07-run-scan", evidence, goal) == ["scan_complete", "scan_with_xrays"]
    evidence, goal = operated("s07-run-scan", 0, "shutter", "start_scan", 30.0, "shutter", 4e4)
    assert missing("s07-run-scan", evidence, goal) == ["scan_with_xrays"]


def saved(seed: int = 0) -> tuple[Evidence, dict[str, Any]]:
    _, goal = operated("s08-save-result", seed)
    return operated(
        "s08-save-result",
        seed,
        "save_diffractogram",
        ("file_name", goal["file_name"]),
        ("write_xrdml", True),
        "confirm_save",
    )


def with_file(evidence: Evidence, name: str, data: bytes) -> Evidence:
    files = tuple(Artefact.of(name, data) if a.name == name else a for a in evidence.artefacts)
    return dataclasses.replace(evidence, artefacts=files)


def test_saved_files_are_compared_by_their_counts() -> None:
    evidence, goal = saved()
    assert verdict("s08-save-result", evidence, goal).success
    name = goal["file_name"] + ".xy"
    data = next(a.data for a in evidence.artefacts if a.name == name)
    assert data is not None
    lines = data.decode().splitlines()
    angle, count = lines[-1].split()
    assert missing("s08-save-result", with_file(evidence, name, "\r\n".join(lines).encode()), goal) == []
    for forged in (
        [*lines[:-1], f"{angle} {int(count) + 1}"],
        lines[:-1],
        [*lines, f"{float(angle) + 0.02:.5f} 5"],
        [*lines[:-2], lines[-1], lines[-2]],
        [line for line in lines if not line.startswith("# status")],
    ):
        other = with_file(evidence, name, "\n".join(forged).encode())
        assert missing("s08-save-result", other, goal) == ["xy_saved"], forged[-1]


def test_formats_and_names_are_not_interchangeable() -> None:
    evidence, goal = saved()
    xy, xrdml = goal["file_name"] + ".xy", goal["file_name"] + ".xrdml"
    data = {a.name: a.data or b"" for a in evidence.artefacts}
    swapped = with_file(with_file(evidence, xy, data[xrdml]), xrdml, data[xy])
    assert missing("s08-save-result", swapped, goal) == ["xy_saved", "xrdml_saved", "right_scan_saved"]
    renamed = tuple(dataclasses.replace(a, name=a.name.upper()) for a in evidence.artefacts)
    other = dataclasses.replace(evidence, artefacts=renamed)
    assert missing("s08-save-result", other, goal) == [
        "xy_saved",
        "xrdml_saved",
        "right_scan_saved",
        "archive_kept",
    ]


def test_archive_may_not_shrink() -> None:
    evidence, goal = saved()
    fewer = tuple(a for a in evidence.artefacts if a.name != goal["archive"][0])
    assert missing("s08-save-result", dataclasses.replace(evidence, artefacts=fewer), goal) == ["archive_kept"]


def test_bytes_that_are_missing_are_a_mistake_of_the_runner() -> None:
    evidence, goal = saved()
    bare = dataclasses.replace(evidence, artefacts=tuple(dataclasses.replace(a, data=None) for a in evidence.artefacts))
    with pytest.raises(ValueError, match="not among the evidence"):
        c.saved_xy(bare, goal)


def test_part_of_a_scan_is_not_the_scan() -> None:
    goal = find_task("instruments/xrd/s08-save-result").scenario(0).goal
    evidence, goal = operated(
        "s08-save-result", 0, *SCAN[:2], 40.0, "stop_scan", "save_diffractogram", ("file_name", goal["file_name"]),
        ("write_xrdml", True), "confirm_save",
    )  # fmt: skip
    assert evidence.artefact(goal["file_name"] + ".xy") is not None
    assert missing("s08-save-result", evidence, goal) == ["xy_saved", "xrdml_saved", "right_scan_saved"]


# --- the workflow is judged by the scan that was saved


def workflow(**changes: Any) -> tuple[Evidence, dict[str, Any]]:
    _, g = operated("workflow", 0)
    with_: dict[str, Any] = {
        "specimen": g["specimen"], "sample_id": g["sample_id"], "voltage": g["voltage"], "end_angle": g["end_angle"],
        "step": f"{c.coarsest_step(g['fwhm']):.3f}", "rate": "1", "leave": ("shutter", "standby"), **changes,
    }  # fmt: skip
    return operated(
        "workflow", 0, ("specimen", with_["specimen"]), ("sample_id", with_["sample_id"]), "move_doors", 5.0, "load",
        "move_doors", 5.0, "standby", 20.0, ("voltage_set", with_["voltage"]), ("current_set", g["current"]), "power_on",
        70.0, ("start_angle", g["start_angle"]), ("end_angle", with_["end_angle"]), ("step_size", with_["step"]),
        ("scan_rate", with_["rate"]), "shutter", "start_scan", 4e4, *with_["leave"], "save_diffractogram",
        ("file_name", g["file_name"]), ("write_xrdml", True), "confirm_save",
    )  # fmt: skip


def test_workflow_succeeds() -> None:
    assert missing("workflow", *workflow()) == []


@pytest.mark.parametrize(
    ("change", "lost"),
    [
        ({"sample_id": "X11-111"}, ["specimen_measured"]),
        ({"end_angle": 60.0}, ["range_complete"]),
        ({"step": "0.080"}, ["profile_sampled"]),
        ({"rate": "16"}, ["enough_counts"]),
        ({"leave": ("standby",)}, ["left_safe"]),
        ({"leave": ("shutter",)}, ["left_safe"]),
        ({"leave": ("power_off",)}, []),
        ({"leave": ("shutter", "standby", ("nickel_filter", False))}, ["optics_kept"]),
    ],
)
def test_each_mistake_costs_its_own_criterion(change: dict[str, Any], lost: list[str]) -> None:
    assert missing("workflow", *workflow(**change)) == lost


def test_settings_after_the_scan_do_not_mend_it() -> None:
    evidence, goal = workflow(voltage=30)
    mended = dataclasses.replace(evidence, state={**evidence.state, "voltage": goal["voltage"]})
    assert "generator_at_set_point" in missing("workflow", mended, goal)


# --- ways that once passed without doing what the task says (found by a hostile reader)


@pytest.mark.parametrize(
    "trick",
    [
        (("voltage_set", 20), ("current_set", 5), ("scan_rate", "0.5")),
        ("move_doors", 5.0, "unload", "move_doors", 5.0, ("scan_rate", "0.5")),
        (
            ("specimen", "Glassy sand: quartz with glass"),
            "move_doors",
            5.0,
            "load",
            "move_doors",
            5.0,
            ("scan_rate", "0.5"),
        ),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_rate_is_not_right_because_nothing_would_be(trick: tuple[Any, ...], seed: int) -> None:
    assert not verdict("s06-set-scan-rate", *operated("s06-set-scan-rate", seed, *trick)).success


@pytest.mark.parametrize("task", ["s04-set-angles", "s05-set-step-size", "s06-set-scan-rate"])
def test_a_scan_that_was_not_to_be_started_counts_against_it(task: str) -> None:
    evidence, goal = operated(task, 0, "shutter", "start_scan", 5.0)
    assert "no_scan_started" in missing(task, evidence, goal)


def _resaved(*between: Any, xy: bool = True, xrdml: bool = True) -> list[str]:
    goal = find_task("instruments/xrd/s08-save-result").scenario(0).goal
    return missing(
        "s08-save-result",
        *operated(
            "s08-save-result", 0, "save_diffractogram", ("file_name", goal["file_name"]), ("write_xrdml", True),
            ("write_xy", not xy), ("write_xrdml", not xrdml), "confirm_save", *between, "save_diffractogram",
            ("file_name", goal["file_name"]), ("write_xy", xy), ("write_xrdml", xrdml), "confirm_save", "confirm_replace",
        ),
    )  # fmt: skip


def test_another_scan_under_the_right_name_is_the_wrong_file() -> None:
    dark = (("start_angle", 5.0), ("end_angle", 10.0), ("step_size", "0.080"), ("scan_rate", "16"), "start_scan", 100.0)
    assert "right_scan_saved" in _resaved(*dark)
    assert "right_scan_saved" in _resaved(*dark, xy=False)
    assert _resaved() == [], "saving the same scan again, over one's own file, harms nothing"


def test_ramping_through_the_set_point_is_not_being_there() -> None:
    _, goal = operated("s03-power-up", 0)
    higher = (("voltage_set", goal["voltage"]), ("current_set", 40 if goal["current"] < 40 else 45))
    for stop in (2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0):
        evidence, goal = operated("s03-power-up", 0, "standby", 20.0, *higher, "power_on", stop)
        assert not verdict("s03-power-up", evidence, goal).success


@pytest.mark.parametrize(
    "change",
    [("voltage_set", 20), ("divergence_slit", "0.125"), ("receiving_slit", "0.1"), ("nickel_filter", False)],
)
def test_a_degraded_measurement_is_not_the_one_asked_for(change: tuple[str, Any]) -> None:
    evidence, goal = operated("s07-run-scan", 0, change, 60.0, *SCAN)
    assert missing("s07-run-scan", evidence, goal) == ["scan_complete", "scan_with_xrays"]


def test_standby_left_and_found_again_was_left() -> None:
    assert "not_switched_off" in missing(
        "s02-load-sample", *operated("s02-load-sample", 0, "power_off", "standby", 30.0)
    )


def test_optics_put_back_after_the_scan_were_still_wrong() -> None:
    evidence, goal = workflow(leave=("shutter", "standby"))
    wrong = [{**s, "divergence_slit": 0.125} for s in evidence.state["scans"]]
    forged = dataclasses.replace(evidence, state={**evidence.state, "scans": wrong})
    assert missing("workflow", forged, goal) == ["optics_kept"]


def test_rate_is_chosen_with_the_generator_left_on() -> None:
    for switch in ("power_off", "standby"):
        evidence, goal = operated("s06-set-scan-rate", 0, switch)
        right = c.fastest_rate(evidence.state["expected_peak_rate"], goal["step_size"], goal["least_counts"])
        assert missing("s06-set-scan-rate", *operated("s06-set-scan-rate", 0, ("scan_rate", f"{right:g}"))) == []
        evidence, goal = operated("s06-set-scan-rate", 0, ("scan_rate", f"{right:g}"), switch)
        assert missing("s06-set-scan-rate", evidence, goal) == ["generator_stays_on"]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    "task",
    [
        "s01-select-specimen",
        "s02-load-sample",
        "s03-power-up",
        "s04-set-angles",
        "s05-set-step-size",
        "s06-set-scan-rate",
    ],
)
def test_blind_hands_reach_nothing(task: str, seed: int) -> None:
    """Every control touched once, each dragged to both ends, one by one and all in turn."""
    scenario = find_task(f"instruments/xrd/{task}").scenario(seed)
    for hands in (one_control, every_control_once):
        for desk, what in hands(lambda: Desk(XRD(seed, dict(scenario.start)))):
            evidence = Evidence.from_json({**desk.evidence(), "versions": {}}, {})
            assert not verdict(task, evidence, dict(scenario.goal)).success, what
