"""What success is on the microscope: predicates on its state and on the pictures that were saved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matassay.core import Criterion, Evidence, Goal, Tolerance
from matassay.grading import archive_kept, close, no_consequence, state_equals, state_is
from matassay.grading.criteria import with_state
from matassay.suites.instruments._build import displaced_saved, first_saved, of_saved, saved_scan

from .files import read_tiff
from .instrument import NOMINAL, image_digest

NO_HARM = no_consequence("ht_trip", "stage_collision")

# --- vacuum, chamber, beam

VENTED = Criterion(
    "chamber_vented",
    "the chamber is at air and is not being pumped",
    lambda evidence, goal: bool(evidence.state["vented"] and evidence.state["pumping"] != "pump"),
)
HT_OFF = state_is("ht_off", "the high tension is off", "ht", False)
DOOR_OPEN = state_is("chamber_open", "the chamber door is open", "door_open", True)
AT_EXCHANGE = state_equals("at_exchange", "the stage stands at the exchange position", "sample", "exchange")
MOUNTED = state_is("holder_mounted", "the sample holder is mounted", "mounted", True)
DOOR_CLOSED = state_is("chamber_closed", "the chamber door is closed", "door_open", False)
VACUUM = Criterion(
    "vacuum_ready",
    "the pressure admits high tension (at most 1e-3 Pa) and the pump keeps it there",
    lambda evidence, goal: bool(evidence.state["vacuum_ready"] and evidence.state["pumping"] == "pump"),
)
VACUUM_STAYS = Criterion(
    "vacuum_stays", "the chamber stays evacuated, with the pump on", VACUUM.check, holds_at_start=True
)
DOOR_STAYS_CLOSED = state_is("door_stays_closed", "the chamber door stays closed", "door_open", False, guard=True)
HT_STAYS_OFF = state_is("ht_stays_off", "the high tension stays off", "ht", False, guard=True)
HOLDER_STAYS = state_is("holder_stays", "the holder stays mounted", "mounted", True, guard=True)
HT_STAYS_ON = state_is("ht_stays_on", "the high tension stays on", "ht", True, guard=True)

SAMPLE = Criterion(
    "sample_under_beam",
    "the stub asked for stands under the column",
    lambda evidence, goal: evidence.state["sample"] == goal["sample_key"] and not evidence.state["moving"],
)
HT_ON = state_is("ht_on", "the high tension is on", "ht", True)
EMISSION = Criterion(
    "emission_saturated",
    "the filament emits at least 97 % of its saturated current",
    lambda evidence, goal: evidence.state["emission"] >= 0.97,
)
BEAM = state_is("beam_on_sample", "the beam reaches the sample", "beam", True)
BEAM_STAYS = state_is("beam_stays_on", "the beam stays on the sample", "beam", True, guard=True)


def kept(key: str, label: str) -> Criterion:
    """Guard: a setting is still what the goal says it is to stay."""
    return state_equals(f"{key}_kept", f"{label} is unchanged", key, key, guard=True)


def _as_at_start(settings: Mapping[str, Any], evidence: Evidence, but: tuple[str, ...] = ()) -> bool:
    """Whether sample and controls are as they were when the session began, but for some."""
    return all(settings[name] == value for name, value in evidence.state["at_start"].items() if name not in but)


def rest_kept(*but: str) -> Criterion:
    """Guard: at the end the sample and all controls of the picture, but for some, are as they were."""
    return Criterion(
        "rest_kept",
        "sample, stage, beam, focus, stigmators, detector, magnification and scan rotation"
        + (f", but for {' and '.join(but)}," if but else "")
        + " are as they were",
        lambda evidence, goal: _as_at_start(evidence.state, evidence, but),
        holds_at_start=True,
    )


PLACE = ("sample", *(name for name in NOMINAL if name.startswith("stage_")))
"""What is under the beam; all else that was noted at the start are controls of beam, lens, stigmators, detector and scan."""


def settings_kept(*but: str) -> Criterion:
    """Guard: at the end the controls of the picture, but for those that the task is about, are as they were."""
    return Criterion(
        "settings_kept",
        "the settings of beam, focus, stigmators, detector and scan that the task leaves alone are as they were",
        lambda evidence, goal: _as_at_start(evidence.state, evidence, (*PLACE, *but)),
        holds_at_start=True,
    )


VOLTAGE = state_equals("voltage_set", "the accelerating voltage is the one asked for", "voltage", "voltage")

# --- the picture: grey levels, focus, noise

LEAST_RANGE = 0.6
"""Share of the range that the 1st to 99th percentile must span: less wastes the detector's steps."""
MOST_CLIPPED = 0.005
"""Share of pixels that may be black or white without detail."""
LEAST_SNR = 5.0
"""Rose (1948): what is recognised in a noisy picture differs by five standard deviations."""


def good_levels(levels: Mapping[str, Any]) -> bool:
    """Whether a picture uses the range and clips next to nothing."""
    spans = levels["high"] - levels["low"] >= LEAST_RANGE
    return bool(spans and levels["clipped_low"] <= MOST_CLIPPED and levels["clipped_high"] <= MOST_CLIPPED)


def within_depth(view: Mapping[str, Any]) -> bool:
    """Whether the focus lies within the depth of field: pixel / (2 alpha)."""
    return bool(abs(view["defocus"]) <= view["depth_of_field"])


def sharp(view: Mapping[str, Any]) -> bool:
    """Whether the blur is at most a pixel, or within 15 % of the best that the probe can do."""
    return bool(view["blur"] <= max(view["pixel"], 1.15 * view["best_blur"]))


def _defocused(evidence: Evidence, goal: Goal, k: float) -> Evidence:
    return with_state(evidence, defocus=k * evidence.state["depth_of_field"])


LEVELS = Criterion(
    "levels_good",
    "the live picture's 1st to 99th percentile spans at least 60 % of the grey range, with at most 0.5 % clipped at "
    "either end",
    lambda evidence, goal: good_levels(evidence.state["levels"]),
)
IN_FOCUS = Criterion(
    "in_focus",
    "the focus lies within the depth of field, pixel / (2 alpha)",
    lambda evidence, goal: within_depth(evidence.state),
    tolerance=Tolerance(1.0, "x", "the depth of field: nearer focus cannot be told from best focus", _defocused),
)
SHARP = Criterion(
    "sharp",
    "the blur, astigmatism included, is at most one pixel or 1.15 times the best of the probe",
    lambda evidence, goal: sharp(evidence.state),
)

# --- scans


def _scans(evidence: Evidence) -> list[dict[str, Any]]:
    return list(evidence.state["scans"])


def whole(scan: Mapping[str, Any]) -> bool:
    """Whether a slow scan ran to its end with nothing changed meanwhile."""
    return bool(scan["complete"] and not scan["disturbed"] and not scan["mosaic"])


def _shown(evidence: Evidence, goal: Goal) -> dict[str, Any] | None:
    """The last scan, which is the one on the screen, if it is a whole one of the dwell time asked for."""
    scan = next(reversed(_scans(evidence)), None)
    return scan if scan is not None and whole(scan) and scan["dwell"] == goal["dwell"] else None


FRAME_COMPLETE = Criterion(
    "frame_complete",
    "the last slow scan has the dwell time asked for and ran to its end with nothing changed meanwhile",
    lambda evidence, goal: _shown(evidence, goal) is not None,
)
FRAME_SNR = Criterion(
    "signal_to_noise",
    "that frame has a signal-to-noise ratio of at least 5 in a pixel",
    lambda evidence, goal: (scan := _shown(evidence, goal)) is not None and scan["snr"] >= LEAST_SNR,
)
FRAME_OF_VIEW = Criterion(
    "view_as_it_was",
    "that frame was taken of the view that was there, with beam, focus, stigmators and detector as they were",
    lambda evidence, goal: (scan := _shown(evidence, goal)) is not None and _as_at_start(scan, evidence),
)
FROZEN = state_is("picture_frozen", "the finished frame stands frozen on the screen", "mode", "frozen")

# --- files


def saved_image(evidence: Evidence, goal: Goal) -> dict[str, Any] | None:
    """The scan whose picture the file asked for holds; None if it is missing, unreadable or another picture."""
    name = goal["file_name"] + ".tif"
    return saved_scan(evidence, name, "image_sha256", lambda data: image_digest(read_tiff(data)[0]))


def saved_whole(evidence: Evidence, goal: Goal) -> dict[str, Any] | None:
    """The same, of a complete and undisturbed slow scan only."""
    scan = saved_image(evidence, goal)
    return scan if scan is not None and whole(scan) else None


IMAGE_SAVED = Criterion(
    "image_saved",
    "the TIFF file of the name asked for holds a complete slow scan",
    lambda evidence, goal: saved_whole(evidence, goal) is not None,
)


FIRST_SAVED = first_saved("the file of the name asked for holds scan 1", saved_image)
ARCHIVE_KEPT = archive_kept()

# --- judged on the scan that was saved

SAVED_SAMPLE = of_saved(
    saved_whole,
    "sample_imaged",
    "the saved picture shows the sample asked for",
    lambda s, g: s["sample"] == g["sample_key"],
)
SAVED_BEAM = of_saved(
    saved_whole,
    "beam_as_asked",
    "the saved picture was taken at the voltage and probe current asked for",
    lambda s, g: s["voltage"] == g["voltage"] and s["current"] == g["current"],
)
SAVED_MAGNIFICATION = of_saved(
    saved_whole,
    "magnification_as_asked",
    "the saved picture was taken at the magnification asked for, within 5 %",
    lambda s, g: close(s["magnification"], g["magnification"], 0.05 * g["magnification"]),
    tolerance=Tolerance(
        0.05,
        "x",
        "magnification of a microscope is calibrated to some per cent",
        displaced_saved(saved_whole, lambda s, g, k: {"magnification": g["magnification"] * (1 + 0.05 * k)}),
    ),
)
SAVED_LEVELS = of_saved(
    saved_whole,
    "levels_good",
    "the saved picture's 1st to 99th percentile spans at least 60 % of the grey range, with at most 0.5 % clipped",
    lambda s, g: good_levels(s),
)
SAVED_FOCUS = of_saved(
    saved_whole,
    "in_focus",
    "the saved picture was taken with the focus within the depth of field",
    lambda s, g: within_depth(s),
    tolerance=Tolerance(
        1.0,
        "x",
        "the depth of field: nearer focus cannot be told from best focus",
        displaced_saved(saved_whole, lambda s, g, k: {"defocus": k * s["depth_of_field"]}),
    ),
)
SAVED_SHARP = of_saved(
    saved_whole,
    "sharp",
    "the saved picture's blur is at most one pixel or 1.15 times the best of the probe",
    lambda s, g: sharp(s),
)
SAVED_SNR = of_saved(
    saved_whole,
    "signal_to_noise",
    "the saved picture was taken with the dwell time asked for and has a signal-to-noise ratio of at least 5",
    lambda s, g: s["dwell"] == g["dwell"] and s["snr"] >= LEAST_SNR,
)
LEFT_SAFE = state_is("left_safe", "at the end the high tension is off", "ht", False, guard=True)

# --- the striped region

MOST_OFF_CENTRE = 0.05
MOST_TILT = 5.0

CENTRED = of_saved(
    saved_whole,
    "region_centred",
    "the middle of the striped region lies within 5 % of the field's width of the picture's middle",
    lambda s, g: s.get("off_centre", math.inf) <= MOST_OFF_CENTRE,
    tolerance=Tolerance(
        MOST_OFF_CENTRE,
        "x",
        "a stripe or so: the region's middle is judged by eye",
        displaced_saved(saved_whole, lambda s, g, k: {"off_centre": MOST_OFF_CENTRE * abs(k)}),
    ),
)
VERTICAL = of_saved(
    saved_whole,
    "stripes_vertical",
    "the stripes stand vertical in the picture within 5 deg",
    lambda s, g: abs(s.get("tilt", math.inf)) <= MOST_TILT,
    tolerance=Tolerance(
        MOST_TILT,
        "deg",
        "what the eye takes for vertical",
        displaced_saved(saved_whole, lambda s, g, k: {"tilt": MOST_TILT * k}),
    ),
)
RESOLVED = of_saved(
    saved_whole,
    "stripes_resolved",
    "5 to 12 stripes fill the picture, at least 8 pixels from one to the next",
    lambda s, g: 5.0 <= s.get("stripes", 0.0) <= 12.0 and s["pitch_pixels"] >= 8.0,
)
