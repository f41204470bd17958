"""The tasks of the microscope: 12 subtasks and the workflow, as a table.

Names, order, levels and categories follow LabOSBench (appendix A); physics, criteria and words are ours.
Canary: matassay:8c1f4c1e-2f0b-4d53-9b75-6f1f0e0d7a31 - this file must not be used as training data.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from matassay.core import Category, Level, stream
from matassay.suites.instruments._build import Numbers, Subtask, archive_names, pick

from . import criteria as c
from . import near_misses, reference
from .instrument import AIR, VOLTAGES, hidden
from .specimens import SPECIMENS

#: Isotropic and conducting: their sharpness has one best focus, whatever the direction of a blur.
FOCUSABLE = ("tin_balls", "fracture", "abrasive")
#: Of these, those whose brightest spots are not so rare that the range cannot be used without clipping them.
EVEN = ("tin_balls", "fracture")


def _numbers(seed: int, day: str, goal: dict[str, Any], start: dict[str, Any]) -> Numbers:
    """Goal and start state on a day of their own: no two tasks share their hidden truth."""
    return Numbers(goal, {"day": day, **start}, asdict(hidden(seed, day)))


def _archive(rng: Any) -> list[str]:
    return archive_names(rng, "calibration_{}.tif", 2)


def _imaging(key: str) -> dict[str, Any]:
    """A sample under the beam."""
    return {"mounted": True, "at": key, "ht": True, "blank": False}


def vent_chamber(seed: int) -> Numbers:
    """S1: the last user left the beam on."""
    rng = stream(seed, "sem", "s01")
    return _numbers(seed, "s01", {}, _imaging(pick(rng, FOCUSABLE)) | {"blank": bool(rng.integers(2))})


def open_chamber(seed: int) -> Numbers:
    """S2."""
    rng = stream(seed, "sem", "s02")
    start = {"mounted": True, "at": pick(rng, list(SPECIMENS)), "pressure": AIR, "pumping": "off"}
    return _numbers(seed, "s02", {"exchange": ""}, start)


def close_chamber(seed: int) -> Numbers:
    """S3."""
    start = {"mounted": False, "door_open": True, "pressure": AIR, "pumping": "off"}
    return _numbers(seed, "s03", {}, start)


def evacuate_chamber(seed: int) -> Numbers:
    """S4."""
    return _numbers(seed, "s04", {}, {"mounted": True, "pressure": AIR, "pumping": "off"})


def select_sample(seed: int) -> Numbers:
    """S5."""
    rng = stream(seed, "sem", "s05")
    key = pick(rng, list(SPECIMENS)[1:-1])  # neither end of the list, where a blind hand lands
    return _numbers(seed, "s05", {"sample_key": key, "sample": SPECIMENS[key].name}, {"mounted": True})


def turn_on_ht(seed: int) -> Numbers:
    """S6."""
    rng = stream(seed, "sem", "s06")
    beam = {"voltage": pick(rng, VOLTAGES), "current": 100.0}
    sample = pick(rng, FOCUSABLE)
    goal = {**beam, "sample": sample, "label": SPECIMENS[sample].name}
    start = {"mounted": True, "at": sample, **beam, "focused": True}
    return _numbers(seed, "s06", goal, start)


def set_acc_voltage(seed: int) -> Numbers:
    """S7."""
    rng = stream(seed, "sem", "s07")
    # neither at an end of the list nor next to the present one, where a blind hand lands
    asked = pick(rng, VOLTAGES[1:-1])
    at = VOLTAGES.index(asked)
    other = pick(rng, [v for i, v in enumerate(VOLTAGES) if abs(i - at) > 1])
    goal = {"voltage": asked, "current": pick(rng, (50.0, 100.0, 200.0))}
    start = _imaging(pick(rng, FOCUSABLE)) | {"voltage": other, "current": goal["current"], "focused": True}
    return _numbers(seed, "s07", goal, start)


def set_contrast(seed: int) -> Numbers:
    """S8: flat on even seeds, clipped on odd ones."""
    rng = stream(seed, "sem", "s08")
    sample = pick(rng, EVEN)
    goal = {
        "sample": sample,
        "label": SPECIMENS[sample].name,
        "magnification": float(100 * int(rng.integers(10, 21))),
        "voltage": 15.0,
        "current": 200.0,
        "detector": "SE",
    }
    wrong = (0.42, 0.60) if seed % 2 == 0 else (-0.35, 1.4)
    start = _imaging(sample) | {
        "magnification": goal["magnification"],
        "current": goal["current"],
        "focused": True,
        "levels": wrong,
    }
    return _numbers(seed, "s08", goal, start)


def adjust_clarity(seed: int) -> Numbers:
    """S9: out of focus by 0.16 to 0.24 mm on either side, and astigmatic."""
    rng = stream(seed, "sem", "s09")
    sample = pick(rng, FOCUSABLE)
    goal = {
        "sample": sample,
        "label": SPECIMENS[sample].name,
        "magnification": float(pick(rng, (1300, 1400, 1500))),
        "voltage": 15.0,
        "current": 100.0,
    }
    away = float(rng.uniform(160, 240)) * (1 if rng.integers(2) else -1)
    start = _imaging(sample) | {
        "magnification": goal["magnification"],
        "defocus": away,
        "levels": (0.12, 0.82),
    }
    return _numbers(seed, "s09", goal, start)


def start_scan(seed: int) -> Numbers:
    """S10."""
    rng = stream(seed, "sem", "s10")
    asked = pick(rng, (10.0, 30.0))
    sample = pick(rng, FOCUSABLE)
    goal = {
        "dwell": asked,
        "label": SPECIMENS[sample].name,
        "magnification": float(100 * int(rng.integers(10, 21))),
    }
    start = _imaging(sample) | {
        "magnification": goal["magnification"],
        "focused": True,
        "levels": (0.12, 0.82),
        "dwell": 100.0,
    }
    return _numbers(seed, "s10", goal, start)


def save_image(seed: int) -> Numbers:
    """S11."""
    rng = stream(seed, "sem", "s11")
    key = pick(rng, FOCUSABLE)
    archive = _archive(rng)
    goal = {"file_name": f"{key}_{int(rng.integers(100, 1000))}", "archive": archive}
    start = _imaging(key) | {
        "magnification": float(100 * int(rng.integers(10, 21))),
        "focused": True,
        "levels": (0.12, 0.82),
        "scanned": 10.0,
        "archive": archive,
    }
    return _numbers(seed, "s11", goal, start)


def mosaic_roi(seed: int) -> Numbers:
    """S12: the mosaic is on the screen; out of focus by 60 to 170 um on either side."""
    rng = stream(seed, "sem", "s12")
    archive = _archive(rng)
    goal = {"file_name": f"stripes_{int(rng.integers(100, 1000))}", "archive": archive, "dwell": 10.0}
    start = _imaging("stripes") | {
        "focused": True,
        "defocus": float(rng.uniform(60, 170)) * (1 if rng.integers(2) else -1),
        "levels": (0.10, 0.86),
        "mosaic": True,
        "archive": archive,
    }
    return _numbers(seed, "s12", goal, start)


def workflow(seed: int) -> Numbers:
    """From an empty, evacuated chamber to the saved picture."""
    rng = stream(seed, "sem", "workflow")
    key = pick(rng, EVEN)
    archive = _archive(rng)
    goal = {
        "sample_key": key,
        "sample": SPECIMENS[key].name,
        "voltage": pick(rng, (10.0, 20.0)),
        "current": 100.0,
        "magnification": float(pick(rng, (1300, 1400, 1500))),
        "dwell": pick(rng, (10.0, 30.0)),
        "file_name": f"{key}_{int(rng.integers(100, 1000))}",
        "archive": archive,
    }
    return _numbers(seed, "workflow", goal, {"archive": archive, "current": 50.0, "contrast": 44.0})


_GREY = "the 1st to 99th percentile of its grey values spans at least 60 % of the range and at most 0.5 % are clipped"
_SHARP = (
    "in focus within the depth of field and free of astigmatism: the blur is at most one pixel, or 1.15 times the best "
    "that the probe can do"
)
_FOCUSING = (
    "Focus is the knob Working distance; it can be turned, dragged, or typed in mm and taken over with Enter. Change it in "
    "large steps first and watch fine detail; then in smaller ones on both sides of the best. Astigmatism draws detail "
    "out in one direction, and in the other on the other side of focus: at the best focus, turn stigmator X, then Y, "
    "for the sharpest picture, and focus again. The focus window scans the middle more slowly, with less noise."
)
_LEVELS = (
    "Contrast is the gain of the detector and brightness its offset; they act together, so adjust them in turn and watch "
    "the histogram: it should fill most of the range without piling up at either end."
)
_SCANNING = (
    "Choose the dwell time, press START SCAN and wait until the progress bar says that the scan is complete: a frame "
    "takes 307,200 times the dwell time. Nothing may be changed meanwhile. The finished picture stays frozen."
)
_SETTINGS = "the settings of beam, focus, stigmators, detector and scan"
_G = {"voltage": "g", "current": "g", "magnification": "g", "dwell": "g"}

SUBTASKS = (
    Subtask(
        name="s01-vent-chamber",
        title="Vent the chamber",
        level=Level.EASY,
        category=Category.PREPARATION,
        numbers=vent_chamber,
        goal=f"""
Bring the specimen chamber to air, with the high tension off. The last user has left the beam on. Leave the door closed,
the holder in and {_SETTINGS} as they are.
""",
        method="""
The hot filament must not meet air: switch the high tension off first (HT OFF). Then press VENT and wait until the lamp
Vented lights, a quarter of a minute of instrument time.
""",
        criteria=(c.VENTED, c.HT_OFF, c.DOOR_STAYS_CLOSED, c.HOLDER_STAYS, c.settings_kept(), c.NO_HARM),
        reference=reference.S01,
        alternatives=(),
        near_misses=near_misses.S01,
        revision=3,
    ),
    Subtask(
        name="s02-open-chamber",
        title="Open the chamber",
        level=Level.EASY,
        category=Category.PREPARATION,
        numbers=open_chamber,
        goal=f"""
The chamber is at air. Drive the stage to the exchange position and open the chamber door. Leave the holder in and
{_SETTINGS} as they are.
""",
        method="""
The door carries the stage: opened with a stub under the column it hits the detector. Press EXCHANGE POSITION and wait
for the message that the stage has arrived (8 s of instrument time), then press OPEN CHAMBER.
""",
        criteria=(c.DOOR_OPEN, c.AT_EXCHANGE, c.HOLDER_STAYS, c.settings_kept(), c.NO_HARM),
        reference=reference.S02,
        alternatives=reference.S02_OTHER,
        near_misses=near_misses.S02,
        revision=2,
    ),
    Subtask(
        name="s03-close-chamber",
        title="Mount the holder and close the chamber",
        level=Level.MEDIUM,
        category=Category.PREPARATION,
        numbers=close_chamber,
        goal=f"""
The chamber is open and the stage empty. Mount the sample holder and close the chamber door. Leave {_SETTINGS} as they
are.
""",
        method="Press MOUNT HOLDER; the lamp Holder mounted lights. Then press CLOSE CHAMBER.",
        criteria=(c.MOUNTED, c.DOOR_CLOSED, c.settings_kept(), c.NO_HARM),
        reference=reference.S03,
        alternatives=(),
        near_misses=near_misses.S03,
        revision=2,
    ),
    Subtask(
        name="s04-evacuate-chamber",
        title="Evacuate the chamber",
        level=Level.EASY,
        category=Category.PREPARATION,
        numbers=evacuate_chamber,
        goal=f"""
The chamber is closed and at air, with the holder mounted. Pump it until the pressure admits high tension (at most 1e-3
Pa). Leave the holder in, the high tension off and {_SETTINGS} as they are.
""",
        method="""
Press EVACUATE and wait. The roughing pump takes the chamber to some Pa in two minutes, the turbo pump goes on from
there; after five minutes or so the lamp Vacuum ready lights.
""",
        criteria=(c.VACUUM, c.HOLDER_STAYS, c.HT_STAYS_OFF, c.settings_kept(), c.NO_HARM),
        reference=reference.S04,
        alternatives=(),
        near_misses=near_misses.S04,
        revision=3,
    ),
    Subtask(
        name="s05-select-sample",
        title="Select the sample",
        level=Level.EASY,
        category=Category.PREPARATION,
        numbers=select_sample,
        goal=f"""
Bring the sample "{{sample}}" under the column. Leave the chamber evacuated, the high tension off and {_SETTINGS} as they
are.
""",
        method="""
The holder carries several stubs. Choose one from the drop-down list Sample in the group Stage: the stage drives there in
8 s of instrument time, and the message line says when it has arrived.
""",
        criteria=(c.SAMPLE, c.HT_STAYS_OFF, c.HOLDER_STAYS, c.VACUUM_STAYS, c.settings_kept(), c.NO_HARM),
        reference=reference.S05,
        alternatives=reference.S05_OTHER,
        near_misses=near_misses.S05,
        revision=3,
    ),
    Subtask(
        name="s06-turn-on-ht",
        title="Turn on the high tension",
        level=Level.MEDIUM,
        category=Category.ACTIVATION,
        numbers=turn_on_ht,
        goal="""
"{label}" is under the column. Bring the beam onto it: high tension on, filament saturated, beam not blanked. Leave the
voltage at {voltage} kV, the probe current at {current} pA, and the other settings as they are: focus, stigmators,
detector and scan.
""",
        method="""
Press HT ON. The filament takes 20 s to saturate; the readout Emission shows how far it is. Switch Beam blank off. The
lamp "Beam on sample" lights when electrons arrive, and the picture appears.
""",
        criteria=(
            c.HT_ON,
            c.EMISSION,
            c.BEAM,
            c.kept("sample", "the sample"),
            c.kept("voltage", "the accelerating voltage"),
            c.kept("current", "the probe current"),
            c.settings_kept(),
            c.NO_HARM,
        ),
        reference=reference.S06,
        alternatives=reference.S06_OTHER,
        near_misses=near_misses.S06,
        revision=3,
        formats=_G,
    ),
    Subtask(
        name="s07-set-acc-voltage",
        title="Set the accelerating voltage",
        level=Level.HARD,
        category=Category.CONFIGURATION,
        numbers=set_acc_voltage,
        goal="""
Set the accelerating voltage to {voltage} kV. Leave the high tension on, the probe current at {current} pA, and detector,
contrast, brightness and scan rotation as they are; the focus may follow the voltage.
""",
        method="""
Choose it from the drop-down list in the group Beam. A higher voltage goes deeper and makes a finer probe, a lower one
shows more of the surface and charges less. Focus moves a little with it.
""",
        criteria=(
            c.VOLTAGE,
            c.kept("current", "the probe current"),
            c.settings_kept("voltage", "working_distance", "stigmator_x", "stigmator_y", "magnification"),
            c.HT_STAYS_ON,
            c.NO_HARM,
        ),
        reference=reference.S07,
        alternatives=reference.S07_OTHER,
        near_misses=near_misses.S07,
        revision=3,
        formats=_G,
    ),
    Subtask(
        name="s08-set-contrast",
        title="Set contrast and brightness",
        level=Level.HARD,
        category=Category.CONFIGURATION,
        numbers=set_contrast,
        goal=f"""
Adjust contrast and brightness so that the live picture uses the grey range: {_GREY}. Leave the rest as it is: "{{label}}"
under the beam, {{voltage}} kV, {{current}} pA, detector {{detector}}, magnification {{magnification}} x, and also the
stage, the focus, the stigmators and the scan rotation.
""",
        method=_LEVELS,
        criteria=(
            c.LEVELS,
            c.rest_kept("contrast", "brightness"),
            c.HT_STAYS_ON,
            c.NO_HARM,
        ),
        reference=reference.S08,
        alternatives=reference.S08_OTHER,
        near_misses=near_misses.S08,
        revision=3,
        formats=_G,
    ),
    Subtask(
        name="s09-adjust-clarity",
        title="Adjust focus and stigmators",
        level=Level.HARD,
        category=Category.CONFIGURATION,
        numbers=adjust_clarity,
        goal=f"""
Make the live picture sharp: {_SHARP}. Leave "{{label}}" under the beam, the magnification at {{magnification}} x, the
voltage at {{voltage}} kV, the probe current at {{current}} pA and the beam on the sample.
""",
        method=_FOCUSING,
        criteria=(
            c.IN_FOCUS,
            c.SHARP,
            c.BEAM_STAYS,
            c.kept("sample", "the sample"),
            c.kept("magnification", "the magnification"),
            c.kept("voltage", "the accelerating voltage"),
            c.kept("current", "the probe current"),
            c.NO_HARM,
        ),
        reference=reference.S09,
        alternatives=(),
        near_misses=near_misses.S09,
        revision=3,
        formats=_G,
    ),
    Subtask(
        name="s10-start-scan",
        title="Take a slow scan",
        level=Level.EASY,
        category=Category.EXECUTION,
        numbers=start_scan,
        goal="""
Take a complete slow scan of the present view ("{label}" at {magnification} x) as it stands: leave stage, beam, focus,
stigmators, detector, magnification and scan rotation as they are. The dwell time is to be {dwell} us, with a
signal-to-noise ratio of at least 5 in a pixel. Leave the finished frame frozen on the screen.
""",
        method=_SCANNING,
        criteria=(
            c.FRAME_COMPLETE,
            c.FRAME_SNR,
            c.FRAME_OF_VIEW,
            c.FROZEN,
            c.rest_kept(),
            c.HT_STAYS_ON,
            c.NO_HARM,
        ),
        reference=reference.S10,
        alternatives=reference.S10_OTHER,
        near_misses=near_misses.S10,
        revision=3,
        formats=_G,
    ),
    Subtask(
        name="s11-save-image",
        title="Save the image",
        level=Level.EASY,
        category=Category.COMPLETION,
        numbers=save_image,
        goal="""
Scan 1 stands frozen on the screen. Save it as {file_name}.tif. Files that are in the data folder already must not
be replaced.
""",
        method="""
SAVE IMAGE opens a dialog. Type the name without extension, take it over with Enter, press Save. The data folder lists
what was written.
""",
        criteria=(c.IMAGE_SAVED, c.FIRST_SAVED, c.ARCHIVE_KEPT, c.HT_STAYS_ON, c.NO_HARM),
        reference=reference.S11,
        alternatives=reference.S11_OTHER,
        near_misses=near_misses.S11,
        revision=2,
    ),
    Subtask(
        name="s12-mosaic-roi-region-save",
        title="Find, centre and save a region from the mosaic",
        level=Level.HARD,
        category=Category.COMPLETION,
        numbers=mosaic_roi,
        goal=f"""
The screen shows a mosaic of a test chip. One region of it consists of long parallel stripes. Save a slow scan of it as
{{file_name}}.tif, with a dwell time of {{dwell}} us, in which
- the middle of the striped region lies within 5 % of the field's width of the picture's middle,
- the stripes stand vertical within 5 deg,
- 5 to 12 stripes fill the width, at least 8 pixels from one to the next,
- the picture is {_SHARP},
- the picture uses the grey range: {_GREY},
- the signal-to-noise ratio is at least 5 in a pixel.
No file that is in the data folder may be replaced.
""",
        method=f"""
Double click the striped region in the mosaic: the stage drives there and the picture is live. At the lowest
magnification the whole region is in sight; double click its middle to centre it. Turn the scan rotation until the
stripes stand upright, then magnify. {_FOCUSING} {_SCANNING} Then save: type the name without extension.
""",
        criteria=(
            c.IMAGE_SAVED,
            c.CENTRED,
            c.VERTICAL,
            c.RESOLVED,
            c.SAVED_LEVELS,
            c.SAVED_FOCUS,
            c.SAVED_SHARP,
            c.SAVED_SNR,
            c.ARCHIVE_KEPT,
            c.NO_HARM,
        ),
        reference=reference.S12,
        alternatives=reference.S12_OTHER,
        near_misses=near_misses.S12,
        revision=3,
        formats=_G,
    ),
    Subtask(
        name="workflow",
        title="Image a sample from the empty chamber to the saved picture",
        level=Level.HARD,
        category=Category.WORKFLOW,
        numbers=workflow,
        goal=f"""
Take a picture of the sample "{{sample}}" and save it as {{file_name}}.tif. The chamber is evacuated and empty, the high
tension is off, the stage stands at the exchange position.

The saved picture must be a complete slow scan
- of this sample at {{voltage}} kV, {{current}} pA and a magnification of {{magnification}} x (within 5 %),
- with a dwell time of {{dwell}} us and a signal-to-noise ratio of at least 5 in a pixel,
- that uses the grey range: {_GREY},
- {_SHARP}.

Replace no file that is there already, never vent with the high tension on, never open the chamber with a stub under the
column, and leave the high tension off at the end.
""",
        method=f"""
1. VENT, wait until the chamber is at air, OPEN CHAMBER, MOUNT HOLDER, CLOSE CHAMBER, EVACUATE, wait for the vacuum.
2. Choose the sample and wait for the stage; set voltage and probe current; HT ON, Beam blank off.
3. Set the magnification. {_LEVELS}
4. {_FOCUSING}
5. Check contrast and brightness again: a sharp picture has more of both ends.
6. {_SCANNING}
7. SAVE IMAGE: type the name, Enter, Save. Then HT OFF.
""",
        criteria=(
            c.IMAGE_SAVED,
            c.SAVED_SAMPLE,
            c.SAVED_BEAM,
            c.SAVED_MAGNIFICATION,
            c.SAVED_LEVELS,
            c.SAVED_FOCUS,
            c.SAVED_SHARP,
            c.SAVED_SNR,
            c.ARCHIVE_KEPT,
            c.LEFT_SAFE,
            c.NO_HARM,
        ),
        reference=reference.WORKFLOW,
        alternatives=(),
        near_misses=near_misses.WORKFLOW,
        revision=2,
        steps=1100,
        formats=_G,
    ),
)
