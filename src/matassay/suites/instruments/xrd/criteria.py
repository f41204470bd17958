"""What success is on the diffractometer: predicates on its state and on the files that were saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from matassay.core import Criterion, Evidence, Goal, Tolerance
from matassay.grading import archive_kept, close, no_consequence, state_equals, state_is, state_within
from matassay.suites.instruments._build import displaced_saved, first_saved, of_saved, saved_scan

from .files import read_xrdml, read_xy
from .instrument import RATES, STEPS, counts_digest, time_per_step

#: The generator regulates far better; half the control's step is the largest difference that cannot be another setting.
TUBE_TOLERANCE = 0.5
TUBE_REASON = "half a step of the set point control: nearer values cannot be told apart by setting it"
#: Half the step of the angle fields.
ANGLE_TOLERANCE = 0.05
ANGLE_REASON = "half a step of the angle control: nearer values cannot be told apart by setting it"

NO_TRIP = no_consequence("generator_trip", "generator_overload", guard_name="no_trip")
DOORS_CLOSED = state_is("doors_closed", "the enclosure is closed", "doors", "closed", guard=True)
SHUTTER_CLOSED = state_is("shutter_closed", "the beam shutter is closed", "shutter_open", False, guard=True)


def kept(key: str, label: str) -> Criterion:
    """Guard: a setting is still what the goal says it is to stay."""
    return state_equals(f"{key}_kept", f"{label} is unchanged", key, f"{key}", guard=True)


SPECIMEN_SELECTED = state_equals(
    "specimen_selected", "the specimen asked for is selected in the list", "specimen", "specimen_key"
)
SAMPLE_ID = state_equals("sample_id_entered", "the sample ID is the one asked for", "sample_id", "sample_id")
ON_STAGE = state_equals("specimen_on_stage", "the specimen asked for lies on the stage", "on_stage", "specimen_key")
STAGE_UNTOUCHED = state_is("stage_untouched", "nothing was put on the stage", "on_stage", "", guard=True)
NOT_SWITCHED_OFF = state_is("not_switched_off", "the high voltage was never switched off", "hv_drops", 0, guard=True)
GENERATOR_STANDBY = state_is(
    "generator_in_standby", "the generator stayed in standby", "generator", "standby", guard=True
)
GENERATOR_STAYS_ON = state_is("generator_stays_on", "the generator stays on", "generator", "on", guard=True)

VOLTAGE = state_within(
    "voltage_reached",
    "the tube voltage is the one asked for, within 0.5 kV",
    "voltage",
    "voltage",
    TUBE_TOLERANCE,
    "kV",
    TUBE_REASON,
)
CURRENT = state_within(
    "current_reached",
    "the tube current is the one asked for, within 0.5 mA",
    "current",
    "current",
    TUBE_TOLERANCE,
    "mA",
    TUBE_REASON,
)
SETTLED = state_is("generator_settled", "the generator is on and has reached its set point", "generator_ready", True)
START_ANGLE = state_within(
    "start_angle_set",
    "the start angle is the one asked for",
    "start_angle",
    "start_angle",
    ANGLE_TOLERANCE,
    "deg",
    ANGLE_REASON,
)
END_ANGLE = state_within(
    "end_angle_set",
    "the end angle is the one asked for",
    "end_angle",
    "end_angle",
    ANGLE_TOLERANCE,
    "deg",
    ANGLE_REASON,
)


# --- sampling: at least five steps across the narrowest profile (McCusker et al. 1999, J. Appl. Cryst. 32, 36)

STEPS_PER_FWHM = 5


def coarsest_step(fwhm: float) -> float:
    """The coarsest step on offer (deg) that puts at least five steps across a profile of ``fwhm`` (deg)."""
    return max((s for s in STEPS if s * STEPS_PER_FWHM <= fwhm), default=min(STEPS))


STEP_SIZE = Criterion(
    "step_size_set",
    "the step is the coarsest on offer with at least five steps across the full width at half maximum",
    lambda evidence, goal: evidence.state["step_size"] == coarsest_step(goal["fwhm"]),
)


# --- counting: the relative standard deviation of N counts is 1 / sqrt(N), 3 % for 1000


def no_new_scan(before: int) -> Criterion:
    """Guard: no scan was started; ``before`` were taken before the task began."""
    return Criterion(
        "no_scan_started",
        "no scan was started",
        lambda evidence, goal: len(_scans(evidence)) == before,
        holds_at_start=True,
    )


def fastest_rate(peak_rate: float, step_size: float, least_counts: float) -> float | None:
    """The fastest scan rate on offer (deg/min) at which the highest point has ``least_counts``; None if none has.

    Parameters
    ----------
    peak_rate : float
        Counts/s at the highest point, dead time included.
    step_size : float
        deg.
    least_counts : float
        Counts a step.
    """
    enough = (r for r in RATES if peak_rate * time_per_step(step_size, r) >= least_counts)
    return max(enough, default=None)


def _fastest_rate_set(evidence: Evidence, goal: Goal) -> bool:
    s = evidence.state
    return bool(s["scan_rate"] == fastest_rate(s["expected_peak_rate"], s["step_size"], goal["least_counts"]))


SCAN_RATE = Criterion(
    "scan_rate_set",
    "the scan rate is the fastest on offer at which the strongest peak is expected to reach the counts asked for",
    _fastest_rate_set,
)


# --- the measurement


def _scans(evidence: Evidence) -> list[dict[str, Any]]:
    return list(evidence.state["scans"])


def _covers(scan: dict[str, Any], goal: Goal) -> bool:
    return close(scan["start_angle"], goal["start_angle"], ANGLE_TOLERANCE, "deg") and close(
        scan["end_angle"], goal["end_angle"], ANGLE_TOLERANCE, "deg"
    )


def _as_asked(scan: dict[str, Any], goal: Goal) -> bool:
    return bool(
        _covers(scan, goal)
        and scan["complete"]
        and scan["specimen"] == goal["specimen_key"]
        and scan["step_size"] == goal["step_size"]
        and scan["scan_rate"] == goal["scan_rate"]
        and close(scan["voltage"], goal["voltage"], TUBE_TOLERANCE, "kV")
        and close(scan["current"], goal["current"], TUBE_TOLERANCE, "mA")
        and _optics_as_asked(scan, goal)
    )


def _optics_as_asked(settings: Mapping[str, Any], goal: Goal) -> bool:
    return bool(
        settings["divergence_slit"] == goal["divergence_slit"]
        and settings["receiving_slit"] == goal["receiving_slit"]
        and settings["nickel_filter"] is True
    )


SCAN_COMPLETE = Criterion(
    "scan_complete",
    "a scan with the settings of the program was counted from the start to the end angle",
    lambda evidence, goal: any(_as_asked(s, goal) for s in _scans(evidence)),
)
SCAN_LIT = Criterion(
    "scan_with_xrays",
    "in that scan every point was counted with X-rays on the specimen",
    lambda evidence, goal: any(_as_asked(s, goal) and s["lit_points"] == s["points"] for s in _scans(evidence)),
)


# --- files


def saved_xy(evidence: Evidence, goal: Goal) -> dict[str, Any] | None:
    """The scan in the .xy file asked for."""
    name = goal["file_name"] + ".xy"
    return saved_scan(evidence, name, "counts_sha256", lambda data: counts_digest(read_xy(data).counts))


def saved_xrdml(evidence: Evidence, goal: Goal) -> dict[str, Any] | None:
    """The scan in the .xrdml file asked for."""
    name = goal["file_name"] + ".xrdml"
    return saved_scan(evidence, name, "counts_sha256", lambda data: counts_digest(read_xrdml(data).counts))


XY_SAVED = Criterion(
    "xy_saved",
    "the .xy file of the name asked for holds the whole scan",
    lambda evidence, goal: (scan := saved_xy(evidence, goal)) is not None and scan["complete"],
)
XRDML_SAVED = Criterion(
    "xrdml_saved",
    "the .xrdml file of the name asked for holds the whole scan, the same as the .xy file if there is one",
    lambda evidence, goal: _same_scan_in_xrdml(evidence, goal),
)


def _same_scan_in_xrdml(evidence: Evidence, goal: Goal) -> bool:
    scan, other = saved_xrdml(evidence, goal), saved_xy(evidence, goal)
    return scan is not None and scan["complete"] and (other is None or other["number"] == scan["number"])


FIRST_SAVED = first_saved("every file of the name asked for holds scan 1", saved_xy, saved_xrdml)
ARCHIVE_KEPT = archive_kept()

# --- the workflow is judged on the scan that was saved


def _with_saved_value(key: str, goal_key: str, tolerance: float) -> Callable[[Evidence, Goal, float], Evidence]:
    """Displaces a value of the saved scan for the sweep test."""
    return displaced_saved(saved_xy, lambda scan, goal, k: {key: goal[goal_key] + k * tolerance})


SAVED_SPECIMEN = of_saved(
    saved_xy,
    "specimen_measured",
    "the saved scan was taken of the specimen asked for, under its sample ID",
    lambda scan, goal: scan["specimen"] == goal["specimen_key"] and scan["sample_id"] == goal["sample_id"],
)
SAVED_TUBE = of_saved(
    saved_xy,
    "generator_at_set_point",
    "the saved scan was taken at the voltage and current asked for, with X-rays on the specimen at every point",
    lambda scan, goal: (
        close(scan["voltage"], goal["voltage"], TUBE_TOLERANCE, "kV")
        and close(scan["current"], goal["current"], TUBE_TOLERANCE, "mA")
        and scan["lit_points"] == scan["points"]
    ),
    tolerance=Tolerance(TUBE_TOLERANCE, "kV", TUBE_REASON, _with_saved_value("voltage", "voltage", TUBE_TOLERANCE)),
)
SAVED_RANGE = of_saved(
    saved_xy,
    "range_complete",
    "the saved scan covers the whole range asked for",
    lambda scan, goal: _covers(scan, goal) and scan["complete"],
    tolerance=Tolerance(
        ANGLE_TOLERANCE, "deg", ANGLE_REASON, _with_saved_value("end_angle", "end_angle", ANGLE_TOLERANCE)
    ),
)
SAVED_STEP = of_saved(
    saved_xy,
    "profile_sampled",
    "the saved scan has at least five steps across the full width at half maximum",
    lambda scan, goal: scan["step_size"] * STEPS_PER_FWHM <= goal["fwhm"],
)
SAVED_COUNTS = of_saved(
    saved_xy,
    "enough_counts",
    "the highest point of the saved scan has at least the counts asked for",
    lambda scan, goal: scan["peak_counts"] >= goal["least_counts"],
)


def _optics_kept(evidence: Evidence, goal: Goal) -> bool:
    scan = saved_xy(evidence, goal) if "file_name" in goal else None
    return _optics_as_asked(evidence.state, goal) and (scan is None or _optics_as_asked(scan, goal))


OPTICS_KEPT = Criterion(
    "optics_kept",
    "slits and filter are unchanged, and the saved scan was taken with them",
    _optics_kept,
    holds_at_start=True,
)
LEFT_SAFE = Criterion(
    "left_safe",
    "at the end the doors and the shutter are closed and the generator is in standby or off",
    lambda evidence, goal: (
        evidence.state["doors"] == "closed"
        and not evidence.state["shutter_open"]
        and evidence.state["generator"] in ("standby", "off")
    ),
    holds_at_start=True,
)
