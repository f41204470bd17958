"""The tasks of the diffractometer: 8 subtasks and the workflow, as a table.

Names, order, levels and categories follow LabOSBench (appendix A); physics, criteria and words are ours.
Canary: matassay:8c1f4c1e-2f0b-4d53-9b75-6f1f0e0d7a31 - this file must not be used as training data.
"""

from __future__ import annotations

from typing import Any

from matassay.core import Category, Level, stream
from matassay.suites.instruments._build import Numbers, Subtask, archive_names, pick

from . import criteria as c
from . import near_misses, physics, reference
from .instrument import RATES, STEPS, hidden_alignment, scan_angles, time_per_step
from .specimens import SPECIMENS

SURVEY_RATE = max(RATES)
LEAST_COUNTS = 1000

#: Set points within the tube's limit of 1.8 kW.
SET_POINTS = ((45, 40), (40, 40), (40, 35), (45, 30), (35, 40), (40, 30))

#: Strong enough that 1000 counts are a question of minutes, not of a night.
STRONG = (
    "silicon",
    "lanthanum_hexaboride",
    "corundum",
    "quartz",
    "halite",
    "fluorite",
    "zincite",
    "nickel",
    "copper",
    "aluminium",
    "tungsten",
    "periclase",
    "quartz_corundum",
    "halite_fluorite",
    "zincite_silicon",
)


def _truth(seed: int, **more: Any) -> dict[str, Any]:
    a = hidden_alignment(seed)
    return {"zero_error": a.zero_error, "displacement": a.displacement, "gain": a.gain, **more}


def _sample_id(rng: Any) -> str:
    return f"{pick(rng, 'ABCDEFGHKLMNPQRSTUVWXYZ')}{int(rng.integers(10, 100))}-{int(rng.integers(100, 1000))}"


def _two_specimens(rng: Any) -> tuple[str, str]:
    """Target and another one."""
    keys = list(SPECIMENS)
    target = pick(rng, keys)
    keys.remove(target)
    return target, pick(rng, keys)


def _bench(key: str) -> dict[str, Any]:
    """A specimen on the stage, generator on, shutter closed: ready to measure."""
    return {"specimen": key, "on_stage": key, "generator": "on", "voltage_set": 45, "current_set": 40}


def select_specimen(seed: int) -> Numbers:
    """S1."""
    rng = stream(seed, "xrd", "s01")
    target, other = _two_specimens(rng)
    goal = {"specimen_key": target, "specimen": SPECIMENS[target].name, "sample_id": _sample_id(rng)}
    return Numbers(goal, {"specimen": other, "sample_id": ""}, _truth(seed))


def load_sample(seed: int) -> Numbers:
    """S2. On every other day the last user left the shutter open."""
    rng = stream(seed, "xrd", "s02")
    target, other = _two_specimens(rng)
    start = {"specimen": target, "on_stage": other, "generator": "standby", "shutter_open": bool(rng.integers(2))}
    return Numbers({"specimen_key": target, "specimen": SPECIMENS[target].name}, start, _truth(seed))


def power_up(seed: int) -> Numbers:
    """S3."""
    rng = stream(seed, "xrd", "s03")
    voltage, current = pick(rng, SET_POINTS)
    key = pick(rng, list(SPECIMENS))
    start = {"specimen": key, "on_stage": key, "voltage_set": 25, "current_set": 10}
    return Numbers({"voltage": voltage, "current": current}, start, _truth(seed))


def set_angles(seed: int) -> Numbers:
    """S4."""
    rng = stream(seed, "xrd", "s04")
    key = pick(rng, STRONG)
    goal = {
        "start_angle": round(float(rng.integers(24, 61)) / 2 + 0.1 * int(rng.integers(1, 5)), 1),
        "end_angle": round(float(rng.integers(130, 201)) / 2 + 0.1 * int(rng.integers(1, 5)), 1),
        "step_size": 0.02,
        "scan_rate": 4.0,
    }
    start = {**_bench(key), "step_size": 0.02, "scan_rate": 4.0, "start_angle": 5.0, "end_angle": 60.0}
    return Numbers(goal, start, _truth(seed))


def _around_strongest(rng: Any, key: str) -> tuple[float, float]:
    """A range (deg) that holds the strongest line and some 30 degrees beyond."""
    lines = physics.peak_positions(SPECIMENS[key], 15.0, 90.0)
    strongest = max(lines, key=lambda line: line.intensity).two_theta
    start = max(10.0, round(strongest - 6.0 - 0.5 * int(rng.integers(8)), 0))
    return start, round(strongest + 20.0 + 0.5 * int(rng.integers(30)), 0)


def _step_question(rng: Any) -> tuple[str, physics.Optics, float, float, float]:
    """Specimen, optics, range (deg) and stated width (deg) for which the right step is beyond dispute."""
    while True:
        key = pick(rng, STRONG)
        optics = physics.Optics(0.5, pick(rng, (0.1, 0.2, 0.3)), True)
        start, end = _around_strongest(rng, key)
        fwhm = round(physics.narrowest_fwhm(SPECIMENS[key], optics, start, end), 3)
        step = c.coarsest_step(fwhm)
        finer_than_coarsest = step < STEPS[-2]  # so that there is a coarser one to begin with
        # a tenth away from a boundary: reading or rounding the width cannot change the answer
        if finer_than_coarsest and c.coarsest_step(0.9 * fwhm) == step == c.coarsest_step(1.1 * fwhm):
            return key, optics, start, end, fwhm


def set_step_size(seed: int) -> Numbers:
    """S5."""
    key, optics, start_angle, end_angle, fwhm = _step_question(stream(seed, "xrd", "s05"))
    goal = {"fwhm": fwhm, "start_angle": start_angle, "end_angle": end_angle, "scan_rate": 4.0}
    start = {
        **_bench(key),
        "receiving_slit": optics.receiving_slit,
        "start_angle": start_angle,
        "end_angle": end_angle,
        "step_size": STEPS[-1],
        "scan_rate": 4.0,
    }
    return Numbers(goal, start, _truth(seed))


def _rate_question(rng: Any, seed: int, set_point: tuple[int, int]) -> dict[str, Any]:
    """Specimen, range and brightness of the day for which the right scan rate is beyond dispute.

    The brightness is set so that the highest point gets about 1000 * sqrt(2) counts at the right rate: half way, in
    counts, to either neighbour, four standard deviations of a survey's highest point away from both.
    """
    while True:
        key = pick(rng, STRONG)
        optics = physics.Optics(pick(rng, (0.25, 0.5, 1.0)), 0.2, True)
        rate = pick(rng, (2.0, 4.0, 8.0))
        aim = LEAST_COUNTS * float(rng.uniform(1.36, 1.48))
        start, end = _around_strongest(rng, key)
        fwhm = round(physics.narrowest_fwhm(SPECIMENS[key], optics, start, end), 3)
        step = c.coarsest_step(fwhm)
        if not (step < STEPS[-2] and c.coarsest_step(0.9 * fwhm) == step == c.coarsest_step(1.1 * fwhm)):
            continue
        a = hidden_alignment(seed)
        tube = physics.Tube(*map(float, set_point))
        at_gain_1 = physics.count_rate(
            scan_angles(start, end, step),
            SPECIMENS[key],
            optics,
            physics.Alignment(a.zero_error, a.displacement, 1.0),
            tube,
        ).max()
        wanted = aim / time_per_step(step, rate)
        gain = round(wanted / (1 - wanted * physics.DEAD_TIME) / float(at_gain_1), 5)
        if 0.3 <= gain <= 2.0:
            return {
                "key": key,
                "optics": optics,
                "rate": rate,
                "start_angle": start,
                "end_angle": end,
                "step": step,
                "fwhm": fwhm,
                "gain": gain,
            }


def set_scan_rate(seed: int) -> Numbers:
    """S6."""
    q = _rate_question(stream(seed, "xrd", "s06"), seed, (45, 40))
    goal = {
        "specimen": SPECIMENS[q["key"]].name,
        "on_stage": q["key"],
        "voltage_set": 45,
        "current_set": 40,
        "least_counts": LEAST_COUNTS,
        "survey_rate": SURVEY_RATE,
        "start_angle": q["start_angle"],
        "end_angle": q["end_angle"],
        "step_size": q["step"],
        "divergence_slit": q["optics"].divergence_slit,
        "receiving_slit": q["optics"].receiving_slit,
    }
    start = {
        **_bench(q["key"]),
        "divergence_slit": q["optics"].divergence_slit,
        "start_angle": q["start_angle"],
        "end_angle": q["end_angle"],
        "step_size": q["step"],
        "scan_rate": SURVEY_RATE,
        "gain": q["gain"],
        "measured": {"scan_rate": SURVEY_RATE},
    }
    return Numbers(goal, start, _truth(seed, gain=q["gain"]))


def run_scan(seed: int) -> Numbers:
    """S7."""
    rng = stream(seed, "xrd", "s07")
    key = pick(rng, STRONG)
    start_angle, end_angle = _around_strongest(rng, key)
    program = {
        "start_angle": start_angle,
        "end_angle": end_angle,
        "step_size": 0.02,
        "scan_rate": pick(rng, (2.0, 4.0, 8.0)),
    }
    goal = {
        "specimen_key": key,
        "specimen": SPECIMENS[key].name,
        **program,
        "voltage": 45,
        "current": 40,
        "divergence_slit": 0.5,
        "receiving_slit": 0.2,
    }
    return Numbers(goal, {**_bench(key), **program}, _truth(seed))


def _archive(rng: Any) -> list[str]:
    return archive_names(rng, "si_check_{}.xy", 3)


def save_result(seed: int) -> Numbers:
    """S8."""
    rng = stream(seed, "xrd", "s08")
    key = pick(rng, STRONG)
    start_angle, end_angle = _around_strongest(rng, key)
    archive = _archive(rng)
    goal = {"file_name": f"{key}_{int(rng.integers(100, 1000))}", "archive": archive}
    start = {
        **_bench(key),
        "sample_id": _sample_id(rng),
        "start_angle": start_angle,
        "end_angle": end_angle,
        "step_size": 0.02,
        "scan_rate": 4.0,
        "measured": {},
        "archive": archive,
    }
    return Numbers(goal, start, _truth(seed))


def workflow(seed: int) -> Numbers:
    """From power-on to the saved diffractogram."""
    rng = stream(seed, "xrd", "workflow")
    set_point = pick(rng, SET_POINTS)
    q = _rate_question(rng, seed, set_point)
    archive = _archive(rng)
    other = pick(rng, [k for k in SPECIMENS if k != q["key"]])
    goal = {
        "specimen_key": q["key"],
        "specimen": SPECIMENS[q["key"]].name,
        "sample_id": _sample_id(rng),
        "voltage": set_point[0],
        "current": set_point[1],
        "start_angle": q["start_angle"],
        "end_angle": q["end_angle"],
        "fwhm": q["fwhm"],
        "least_counts": LEAST_COUNTS,
        "divergence_slit": q["optics"].divergence_slit,
        "receiving_slit": q["optics"].receiving_slit,
        "file_name": f"{q['key']}_{int(rng.integers(100, 1000))}",
        "archive": archive,
    }
    start = {
        "on_stage": other,
        "divergence_slit": q["optics"].divergence_slit,
        "voltage_set": 25,
        "current_set": 10,
        "start_angle": 5.0,
        "end_angle": 100.0,
        "step_size": STEPS[-1],
        "scan_rate": 8.0,
        "gain": q["gain"],
        "archive": archive,
    }
    return Numbers(goal, start, _truth(seed, gain=q["gain"]))


ANGLES = {"start_angle": ".1f", "end_angle": ".1f"}

_SHUTTER_RULE = (
    "While the shutter is open the doors are part of the radiation protection: opening them then trips the generator."
)

SUBTASKS = (
    Subtask(
        name="s01-select-specimen",
        title="Select specimen",
        level=Level.EASY,
        category=Category.PREPARATION,
        numbers=select_specimen,
        goal="""
On the diffractometer, choose the specimen "{specimen}" in the specimen list and enter the sample ID {sample_id}. Leave
the doors closed and the stage as it is.
""",
        method="""
The group Specimen at the top left has a drop-down list with everything that is on the shelf; several labels are alike,
so compare the whole text. The sample ID is typed into the field below it and taken over with Enter; it goes into the
header of every file that is saved. Selecting only tells the program what will be measured: loading comes later.
""",
        criteria=(c.SPECIMEN_SELECTED, c.SAMPLE_ID, c.DOORS_CLOSED, c.STAGE_UNTOUCHED),
        reference=reference.S01,
        alternatives=reference.S01_OTHER,
        near_misses=near_misses.S01,
    ),
    Subtask(
        name="s02-load-sample",
        title="Load sample",
        level=Level.MEDIUM,
        category=Category.PREPARATION,
        numbers=load_sample,
        goal="""
The specimen "{specimen}" is selected in the list, but another one lies on the stage. Put the selected specimen on the
stage and leave the enclosure closed. The generator is in standby and must stay so all the time.
""",
        method=f"""
{_SHUTTER_RULE} So look at the shutter lamp first, and close the shutter if it is open. Then open the doors, wait until
they are open (a few seconds of instrument time), press LOAD, which exchanges the specimen on the stage for the selected
one, and close the doors again. The line "On stage" shows what lies there.
""",
        criteria=(c.ON_STAGE, c.DOORS_CLOSED, c.GENERATOR_STANDBY, c.NOT_SWITCHED_OFF, c.NO_TRIP),
        reference=reference.S02,
        alternatives=reference.S02_OTHER,
        near_misses=near_misses.S02,
    ),
    Subtask(
        name="s03-power-up",
        title="Power up",
        level=Level.MEDIUM,
        category=Category.ACTIVATION,
        numbers=power_up,
        goal="""
The X-ray generator is off. Bring the tube to {voltage} kV and {current} mA (readouts, within 0.5 kV and 0.5 mA) and let
it settle at this set point. Leave doors and shutter closed.
""",
        method="""
A cold filament must not get full voltage. Press STANDBY and wait until the standby lamp lights (15 kV, 5 mA). Then set
voltage and current, each taken over with Enter, and press POWER ON. The generator ramps by 1 kV and 1 mA a second,
voltage first; the lamp "At set point" lights when both are reached. The product of voltage and current must not exceed
1800 W.
""",
        criteria=(c.VOLTAGE, c.CURRENT, c.SETTLED, c.SHUTTER_CLOSED, c.DOORS_CLOSED, c.NO_TRIP),
        reference=reference.S03,
        alternatives=reference.S03_OTHER,
        near_misses=near_misses.S03,
    ),
    Subtask(
        name="s04-set-angles",
        title="Set angles",
        level=Level.MEDIUM,
        category=Category.CONFIGURATION,
        numbers=set_angles,
        goal="""
Set the scan program to go from {start_angle} deg to {end_angle} deg two-theta. Leave the step size at {step_size} deg
and the scan rate at {scan_rate} deg/min, and do not start a scan.
""",
        method="""
The group Scan program at the top right has a field for each angle. Type a value and take it over with Enter, or use
the small arrows, which change it by one step of 0.1 deg. The line with points and scan time follows the settings, so
it tells whether a value was taken over.
""",
        criteria=(
            c.START_ANGLE,
            c.END_ANGLE,
            c.kept("step_size", "the step size"),
            c.kept("scan_rate", "the scan rate"),
            c.no_new_scan(0),
        ),
        reference=reference.S04,
        alternatives=reference.S04_OTHER,
        near_misses=near_misses.S04,
        formats={**ANGLES, "scan_rate": "g"},
    ),
    Subtask(
        name="s05-set-step-size",
        title="Set step size",
        level=Level.MEDIUM,
        category=Category.CONFIGURATION,
        numbers=set_step_size,
        goal="""
The narrowest strong peak of this specimen has a full width at half maximum of {fwhm} deg two-theta. Set the coarsest
step size on offer that puts at least five steps across this width. Leave the range ({start_angle} to {end_angle} deg)
and the scan rate ({scan_rate} deg/min) as they are, and do not start a scan.
""",
        method="""
A profile that is sampled too coarsely loses its shape, one that is sampled too finely only costs counts per step. The
step may be at most the width divided by five. Work out that number, then choose from the drop-down list Step size in the
group Scan program the largest entry that does not exceed it.
""",
        criteria=(
            c.STEP_SIZE,
            c.kept("start_angle", "the start angle"),
            c.kept("end_angle", "the end angle"),
            c.kept("scan_rate", "the scan rate"),
            c.no_new_scan(0),
        ),
        reference=reference.S05,
        alternatives=reference.S05_OTHER,
        near_misses=near_misses.S05,
        formats={**ANGLES, "fwhm": ".3f", "scan_rate": "g"},
    ),
    Subtask(
        name="s06-set-scan-rate",
        title="Set scan rate",
        level=Level.MEDIUM,
        category=Category.CONFIGURATION,
        numbers=set_scan_rate,
        goal="""
The diagram shows a survey of the specimen at {survey_rate} deg/min. Set the fastest scan rate on offer at which the
highest point of the diffractogram can be expected to reach at least {least_counts} counts. Leave everything else as it
is, and do not start a scan: "{specimen}" on the stage, the generator at {voltage_set} kV and {current_set} mA, the range
from {start_angle} to {end_angle} deg, the step size {step_size} deg, the slits {divergence_slit} deg and
{receiving_slit} mm, and the filter.
""",
        method="""
N counts have a relative standard deviation of 1/sqrt(N), about 3 % for 1000. The counts of a step are proportional to
the time spent on it, and so inversely proportional to the scan rate: half the rate gives twice the counts. Read the
counts of the survey's highest point from the line below the diagram, work out what each rate on offer would give, and
choose the fastest that is enough from the drop-down list Scan rate.
""",
        criteria=(
            c.SCAN_RATE,
            c.kept("start_angle", "the start angle"),
            c.kept("end_angle", "the end angle"),
            c.kept("step_size", "the step size"),
            c.kept("on_stage", "the specimen on the stage"),
            c.kept("voltage_set", "the set voltage"),
            c.kept("current_set", "the set current"),
            c.GENERATOR_STAYS_ON,
            c.OPTICS_KEPT,
            c.no_new_scan(1),
        ),
        reference=reference.S06,
        alternatives=reference.S06_OTHER,
        near_misses=near_misses.S06,
        revision=2,
        formats={**ANGLES, "survey_rate": "g", "divergence_slit": "g"},
    ),
    Subtask(
        name="s07-run-scan",
        title="Run scan",
        level=Level.EASY,
        category=Category.EXECUTION,
        numbers=run_scan,
        goal="""
"{specimen}" is on the stage, the generator is at its set point and the scan program is set ({start_angle} to
{end_angle} deg, step {step_size} deg, {scan_rate} deg/min). Measure the complete diffractogram with this program, at
{voltage} kV and {current} mA, with the slits at {divergence_slit} deg and {receiving_slit} mm and the filter in, with
X-rays on the specimen from the first to the last point. Leave doors and shutter closed at the end.
""",
        method="""
Open the shutter, otherwise the detector counts nothing but its own noise. Press START SCAN and wait until the progress
bar says that the scan is complete; the scan time stands in the scan program. Opening the doors would trip the generator.
Close the shutter when the scan is complete.
""",
        criteria=(c.SCAN_COMPLETE, c.SCAN_LIT, c.SHUTTER_CLOSED, c.DOORS_CLOSED, c.NO_TRIP),
        reference=reference.S07,
        alternatives=reference.S07_OTHER,
        near_misses=near_misses.S07,
        formats={**ANGLES, "scan_rate": "g", "divergence_slit": "g"},
    ),
    Subtask(
        name="s08-save-result",
        title="Save result",
        level=Level.EASY,
        category=Category.COMPLETION,
        numbers=save_result,
        goal="""
Scan 1 has just finished and stands in the diagram. Save it under the file name {file_name} in both formats, as
{file_name}.xy and as {file_name}.xrdml. Files that are in the data folder already must not be replaced.
""",
        method="""
SAVE DIFFRACTOGRAM opens a dialog. Type the file name without extension and take it over with Enter, switch both formats
on, and press Save. The data folder at the right lists what was written.
""",
        criteria=(c.XY_SAVED, c.XRDML_SAVED, c.FIRST_SAVED, c.ARCHIVE_KEPT),
        reference=reference.S08,
        alternatives=reference.S08_OTHER,
        near_misses=near_misses.S08,
    ),
    Subtask(
        name="workflow",
        title="Measure a diffractogram from power-on to saved files",
        level=Level.HARD,
        category=Category.WORKFLOW,
        numbers=workflow,
        goal="""
Measure a powder diffractogram of "{specimen}" and save it. The diffractometer has just been switched on; another
specimen lies on the stage.

The saved scan must
- be taken of this specimen, with the sample ID {sample_id} entered before the scan is started,
- be taken at {voltage} kV and {current} mA, with X-rays on the specimen from the first to the last point,
- run from {start_angle} to {end_angle} deg two-theta without a gap,
- have at least five steps across the narrowest peak, whose full width at half maximum is {fwhm} deg,
- have at least {least_counts} counts at its highest point,
- be saved as {file_name}.xy and {file_name}.xrdml.

Leave slits ({divergence_slit} deg, {receiving_slit} mm) and filter as they are, replace no file that is there already,
do not trip the generator, and leave the instrument safe: doors and shutter closed, generator in standby or off.
""",
        method="""
1. Select the specimen, enter the sample ID, open the doors, press LOAD, close the doors.
2. Press STANDBY and wait for the standby lamp. Set voltage and current, press POWER ON and wait for "At set point".
3. Set start and end angle. The step may be at most the width divided by five; a finer one costs counts per step.
4. The brightness of the tube is not known. Open the shutter, take a survey at the fastest scan rate and read the counts
   of its highest point. Counts are inversely proportional to the scan rate: choose a rate that gives {least_counts}
   counts with something to spare, as the count itself fluctuates by its square root.
5. Start the scan and wait until it is complete.
6. Close the shutter before anything else; go to STANDBY.
7. SAVE DIFFRACTOGRAM: type the name, switch both formats on, save.
""",
        criteria=(
            c.SAVED_SPECIMEN,
            c.SAVED_TUBE,
            c.SAVED_RANGE,
            c.SAVED_STEP,
            c.SAVED_COUNTS,
            c.XY_SAVED,
            c.XRDML_SAVED,
            c.OPTICS_KEPT,
            c.ARCHIVE_KEPT,
            c.LEFT_SAFE,
            c.NO_TRIP,
        ),
        reference=reference.WORKFLOW,
        alternatives=reference.WORKFLOW_OTHER,
        near_misses=near_misses.WORKFLOW,
        steps=450,
        formats={**ANGLES, "fwhm": ".3f", "divergence_slit": "g"},
    ),
)
