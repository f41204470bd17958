"""Right ways through the tasks of the diffractometer, by what the panel shows and the goal says."""

from __future__ import annotations

from matassay.core import Attempt, Observation, Scenario
from matassay.kit.moves import Move, as_policy, choose, choose_by_keys, enter, look, press, reading, switch, wait_until

from .criteria import coarsest_step
from .instrument import RATES

SPECIMEN = "Specimen"
SAMPLE_ID = "Sample ID"
VOLTAGE, CURRENT = "Voltage (kV)", "Current (mA)"
START_ANGLE, END_ANGLE = "Start angle (deg)", "End angle (deg)"
STEP_SIZE, SCAN_RATE = "Step size (deg)", "Scan rate (deg/min)"
FILE_NAME, XY, XRDML = "File name", "XY data (.xy)", "XRDML document (.xrdml)"


# --- blocks, each from a screen to a screen


def select(screen: Observation, label: str, sample_id: str) -> Move:
    """Choose the specimen and enter the sample ID."""
    screen = yield from choose(screen, SPECIMEN, label)
    return (yield from enter(screen, SAMPLE_ID, sample_id, role="textbox"))


def doors(screen: Observation, to: str) -> Move:
    """Move the doors and wait until they are ``open`` or ``closed``."""
    screen = yield from press(screen, "OPEN DOORS" if to == "open" else "CLOSE DOORS")
    return (yield from wait_until(lambda s: s.has("img", f"Doors {to}: on"), screen, seconds=0.1))


def shutter(screen: Observation, to: str) -> Move:
    """Bring the shutter to ``open`` or ``closed``."""
    if screen.has("button", "OPEN SHUTTER" if to == "open" else "CLOSE SHUTTER"):
        screen = yield from press(screen, "OPEN SHUTTER" if to == "open" else "CLOSE SHUTTER")
    return screen


def load(screen: Observation) -> Move:
    """Exchange the specimen on the stage for the selected one."""
    screen = yield from shutter(screen, "closed")
    screen = yield from doors(screen, "open")
    screen = yield from press(screen, "LOAD")
    return (yield from doors(screen, "closed"))


def warm_up(screen: Observation) -> Move:
    """Go to standby and wait for it."""
    screen = yield from press(screen, "STANDBY")
    return (yield from wait_until(lambda s: s.has("img", "Standby: on"), screen, seconds=0.2))


def set_point(screen: Observation, voltage: float, current: float) -> Move:
    """Enter voltage (kV) and current (mA)."""
    screen = yield from enter(screen, VOLTAGE, f"{voltage:g}")
    return (yield from enter(screen, CURRENT, f"{current:g}"))


def power_on(screen: Observation) -> Move:
    """Ramp to the set point and wait for it."""
    screen = yield from press(screen, "POWER ON")
    return (yield from wait_until(lambda s: s.has("img", "At set point: on"), screen, seconds=0.2))


def angles(screen: Observation, start: float, end: float) -> Move:
    """Enter start and end angle, deg."""
    screen = yield from enter(screen, START_ANGLE, f"{start:.1f}")
    return (yield from enter(screen, END_ANGLE, f"{end:.1f}"))


def step(screen: Observation, size: float) -> Move:
    """Choose the step size, deg."""
    return (yield from choose(screen, STEP_SIZE, f"{size:.3f}"))


def rate(screen: Observation, value: float) -> Move:
    """Choose the scan rate, deg/min."""
    return (yield from choose(screen, SCAN_RATE, f"{value:g}"))


def rate_for(screen: Observation, survey_rate: float, least_counts: float, margin: float = 1.0) -> float:
    """The fastest rate (deg/min) that the survey on the screen promises enough counts for."""
    counts = int(reading(screen, "Highest point (counts)"))
    return max((r for r in RATES if counts * survey_rate / r >= margin * least_counts), default=min(RATES))


def scan(screen: Observation) -> Move:
    """Start a scan and wait for its end."""
    screen = yield from press(screen, "START SCAN")
    return (yield from wait_until(lambda s: not s.find("button", "STOP").enabled, screen, seconds=2.0))


def save(screen: Observation, name: str, xy: bool = True, xrdml: bool = True) -> Move:
    """Save under a name in the formats asked for."""
    screen = yield from press(screen, "SAVE DIFFRACTOGRAM")
    screen = yield from enter(screen, FILE_NAME, name, role="textbox")
    screen = yield from switch(screen, XY, xy)
    screen = yield from switch(screen, XRDML, xrdml)
    return (yield from press(screen, "Save"))


# --- the tasks


@as_policy
def _s01(scenario: Scenario) -> Move:
    return (yield from select((yield from look()), scenario.goal["specimen"], scenario.goal["sample_id"]))


@as_policy
def _s01_keys(scenario: Scenario) -> Move:
    screen = yield from enter((yield from look()), SAMPLE_ID, scenario.goal["sample_id"], role="textbox")
    return (yield from choose_by_keys(screen, SPECIMEN, scenario.goal["specimen"]))


@as_policy
def _s02(scenario: Scenario) -> Move:
    return (yield from load((yield from look())))


@as_policy
def _s02_unload(scenario: Scenario) -> Move:
    screen = yield from shutter((yield from look()), "closed")
    screen = yield from doors(screen, "open")
    screen = yield from press(screen, "UNLOAD")
    screen = yield from press(screen, "LOAD")
    return (yield from doors(screen, "closed"))


@as_policy
def _s03(scenario: Scenario) -> Move:
    screen = yield from warm_up((yield from look()))
    screen = yield from set_point(screen, scenario.goal["voltage"], scenario.goal["current"])
    return (yield from power_on(screen))


@as_policy
def _s03_arrows(scenario: Scenario) -> Move:
    screen = yield from look()
    for name, unit_name, target in (
        ("Current", CURRENT, scenario.goal["current"]),
        ("Voltage", VOLTAGE, scenario.goal["voltage"]),
    ):
        now = float(screen.find("spinbutton", unit_name).value)
        screen = yield from press(screen, f"Increase {name}")
        yield {"action": "left_click", "coordinate": list(screen.find("spinbutton", unit_name).center)}
        if more := round(target - now) - 1:
            screen = yield {"action": "key", "text": "Up", "repeat": more}
    screen = yield from warm_up(screen)
    return (yield from power_on(screen))


@as_policy
def _s04(scenario: Scenario) -> Move:
    return (yield from angles((yield from look()), scenario.goal["start_angle"], scenario.goal["end_angle"]))


@as_policy
def _s04_end_first(scenario: Scenario) -> Move:
    screen = yield from enter((yield from look()), END_ANGLE, f"{scenario.goal['end_angle'] - 0.1:.1f}")
    screen = yield from press(screen, "Increase End angle")
    return (yield from enter(screen, START_ANGLE, f"{scenario.goal['start_angle']:.1f}"))


@as_policy
def _s05(scenario: Scenario) -> Move:
    return (yield from step((yield from look()), coarsest_step(scenario.goal["fwhm"])))


@as_policy
def _s05_keys(scenario: Scenario) -> Move:
    size = coarsest_step(scenario.goal["fwhm"])
    return (yield from choose_by_keys((yield from look()), STEP_SIZE, f"{size:.3f}"))


def _rate_from_survey(screen: Observation, scenario: Scenario) -> float:
    return rate_for(screen, scenario.goal["survey_rate"], scenario.goal["least_counts"])


@as_policy
def _s06(scenario: Scenario) -> Move:
    screen = yield from look()
    return (yield from rate(screen, _rate_from_survey(screen, scenario)))


@as_policy
def _s06_keys(scenario: Scenario) -> Move:
    screen = yield from look()
    return (yield from choose_by_keys(screen, SCAN_RATE, f"{_rate_from_survey(screen, scenario):g}"))


@as_policy
def _s07(scenario: Scenario) -> Move:
    screen = yield from shutter((yield from look()), "open")
    screen = yield from scan(screen)
    return (yield from shutter(screen, "closed"))


@as_policy
def _s07_again(scenario: Scenario) -> Move:
    # stops a first scan and measures anew: only a complete scan counts, how many there were does not
    screen = yield from shutter((yield from look()), "open")
    screen = yield from press(screen, "START SCAN")
    screen = yield from press(screen, "STOP")
    screen = yield from scan(screen)
    return (yield from shutter(screen, "closed"))


@as_policy
def _s08(scenario: Scenario) -> Move:
    return (yield from save((yield from look()), scenario.goal["file_name"]))


@as_policy
def _s08_twice(scenario: Scenario) -> Move:
    screen = yield from save((yield from look()), scenario.goal["file_name"] + ".xrdml", xy=False, xrdml=True)
    return (yield from save(screen, scenario.goal["file_name"], xy=True, xrdml=False))


@as_policy
def _workflow(scenario: Scenario) -> Move:
    g = scenario.goal
    screen = yield from select((yield from look()), g["specimen"], g["sample_id"])
    screen = yield from load(screen)
    screen = yield from warm_up(screen)
    screen = yield from set_point(screen, g["voltage"], g["current"])
    screen = yield from power_on(screen)
    screen = yield from angles(screen, g["start_angle"], g["end_angle"])
    screen = yield from step(screen, coarsest_step(g["fwhm"]))
    screen = yield from rate(screen, max(RATES))
    screen = yield from shutter(screen, "open")
    screen = yield from scan(screen)
    screen = yield from rate(screen, rate_for(screen, max(RATES), g["least_counts"]))
    screen = yield from scan(screen)
    screen = yield from shutter(screen, "closed")
    screen = yield from press(screen, "STANDBY")
    return (yield from save(screen, g["file_name"]))


@as_policy
def _workflow_slow(scenario: Scenario) -> Move:
    # generator first, no survey: at 1 deg/min there are counts enough on any day
    g = scenario.goal
    screen = yield from set_point((yield from look()), g["voltage"], g["current"])
    screen = yield from warm_up(screen)
    screen = yield from step(screen, coarsest_step(g["fwhm"]))
    screen = yield from rate(screen, 1.0)
    screen = yield from enter(screen, END_ANGLE, f"{g['end_angle']:.1f}")
    screen = yield from enter(screen, START_ANGLE, f"{g['start_angle']:.1f}")
    screen = yield from select(screen, g["specimen"], g["sample_id"])
    screen = yield from load(screen)
    screen = yield from power_on(screen)
    screen = yield from shutter(screen, "open")
    screen = yield from scan(screen)
    screen = yield from save(screen, g["file_name"])
    screen = yield from press(screen, "HV OFF")
    return (yield from shutter(screen, "closed"))


S01 = Attempt("reference", "chooses from the list by mouse, types the sample ID", _s01)
S01_OTHER = (Attempt("by_keyboard", "sample ID first, list by arrow keys", _s01_keys),)
S02 = Attempt("reference", "closes the shutter if need be, opens, loads, closes", _s02)
S02_OTHER = (Attempt("unload_first", "takes the old specimen off before loading the new one", _s02_unload),)
S03 = Attempt("reference", "standby, set point, power on", _s03)
S03_OTHER = (Attempt("set_point_first", "sets current and voltage by arrows before standby", _s03_arrows),)
S04 = Attempt("reference", "types both angles", _s04)
S04_OTHER = (Attempt("end_first", "end angle first, the last step by the arrow", _s04_end_first),)
S05 = Attempt("reference", "works out the step and chooses it by mouse", _s05)
S05_OTHER = (Attempt("by_keyboard", "chooses it by keys", _s05_keys),)
S06 = Attempt("reference", "reads the survey's highest point and chooses the rate", _s06)
S06_OTHER = (Attempt("by_keyboard", "chooses it by keys", _s06_keys),)
S07 = Attempt("reference", "shutter, scan, shutter", _s07)
S07_OTHER = (Attempt("second_try", "stops a scan and measures again", _s07_again),)
S08 = Attempt("reference", "saves both formats at once", _s08)
S08_OTHER = (Attempt("one_by_one", "saves each format by itself, one with the extension typed", _s08_twice),)
WORKFLOW = Attempt("reference", "specimen, generator, survey, scan, save", _workflow)
WORKFLOW_OTHER = (
    Attempt("slow_and_safe", "generator first, no survey but a slow scan, saves before HV off", _workflow_slow),
)
