"""Plausible wrong ways through the tasks of the diffractometer; every one must fail, at every seed."""

from __future__ import annotations

from matassay.core import Attempt, Observation, Scenario
from matassay.kit.moves import (
    Move,
    as_policy,
    choose,
    choose_neighbour,
    enter,
    leave_list,
    look,
    press,
    switch,
    wait_until,
)

from . import reference as r
from .criteria import coarsest_step
from .instrument import RATES, STEPS


def _type_without_enter(screen: Observation, name: str, text: str, role: str = "spinbutton") -> Move:
    yield {"action": "triple_click", "coordinate": list(screen.find(role, name).center)}
    return (yield {"action": "type", "text": text})


# --- S1


@as_policy
def _s01_neighbour(scenario: Scenario) -> Move:
    screen = yield from choose_neighbour((yield from look()), r.SPECIMEN, scenario.goal["specimen"])
    return (yield from enter(screen, r.SAMPLE_ID, scenario.goal["sample_id"], role="textbox"))


@as_policy
def _s01_truncated_id(scenario: Scenario) -> Move:
    return (yield from r.select((yield from look()), scenario.goal["specimen"], scenario.goal["sample_id"][:-1]))


@as_policy
def _s01_id_in_wrong_case(scenario: Scenario) -> Move:
    return (yield from r.select((yield from look()), scenario.goal["specimen"], scenario.goal["sample_id"].lower()))


@as_policy
def _s01_loaded(scenario: Scenario) -> Move:
    screen = yield from r.select((yield from look()), scenario.goal["specimen"], scenario.goal["sample_id"])
    return (yield from r.load(screen))


@as_policy
def _s01_escaped(scenario: Scenario) -> Move:
    screen = yield from enter((yield from look()), r.SAMPLE_ID, scenario.goal["sample_id"], role="textbox")
    return (yield from leave_list(screen, r.SPECIMEN, scenario.goal["specimen"]))


S01 = (
    Attempt("neighbour", "the entry next to the right one", _s01_neighbour),
    Attempt("truncated_id", "the sample ID without its last digit", _s01_truncated_id),
    Attempt("id_in_wrong_case", "the sample ID in lower case", _s01_id_in_wrong_case),
    Attempt("loaded", "loads the specimen as well, which was not asked for", _s01_loaded),
    Attempt("escaped", "highlights the right entry but leaves the list with Escape", _s01_escaped),
)

# --- S2


@as_policy
def _s02_doors_left_open(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "closed")
    screen = yield from r.doors(screen, "open")
    return (yield from press(screen, "LOAD"))


@as_policy
def _s02_not_loaded(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "closed")
    screen = yield from r.doors(screen, "open")
    return (yield from r.doors(screen, "closed"))


@as_policy
def _s02_shutter_open(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "open")
    screen = yield from r.doors(screen, "open")
    screen = yield from press(screen, "LOAD")
    screen = yield from r.doors(screen, "closed")
    return (yield from r.warm_up(screen))


@as_policy
def _s02_other_selected(scenario: Scenario) -> Move:
    screen = yield from choose_neighbour((yield from look()), r.SPECIMEN, scenario.goal["specimen"])
    return (yield from r.load(screen))


@as_policy
def _s02_too_early(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "closed")
    screen = yield from press(screen, "OPEN DOORS")
    screen = yield from press(screen, "LOAD")
    screen = yield from wait_until(lambda s: s.has("img", "Doors open: on"), screen, seconds=0.1)
    return (yield from r.doors(screen, "closed"))


S02 = (
    Attempt("doors_left_open", "loads but does not close the doors", _s02_doors_left_open),
    Attempt("not_loaded", "opens and closes the doors only", _s02_not_loaded),
    Attempt("shutter_open", "opens the doors with the shutter open, and mends the trip afterwards", _s02_shutter_open),
    Attempt("other_selected", "loads the neighbour in the list", _s02_other_selected),
    Attempt("too_early", "presses LOAD while the doors still move", _s02_too_early),
)

# --- S3


@as_policy
def _s03_standby_only(scenario: Scenario) -> Move:
    return (yield from r.warm_up((yield from look())))


@as_policy
def _s03_cold(scenario: Scenario) -> Move:
    screen = yield from r.set_point((yield from look()), scenario.goal["voltage"], scenario.goal["current"])
    screen = yield from press(screen, "POWER ON")
    return (yield {"action": "wait", "duration": 2})


@as_policy
def _s03_one_kv_off(scenario: Scenario) -> Move:
    screen = yield from r.warm_up((yield from look()))
    screen = yield from r.set_point(screen, scenario.goal["voltage"] - 1, scenario.goal["current"])
    return (yield from r.power_on(screen))


@as_policy
def _s03_current_forgotten(scenario: Scenario) -> Move:
    screen = yield from r.warm_up((yield from look()))
    screen = yield from enter(screen, r.VOLTAGE, f"{scenario.goal['voltage']}")
    return (yield from r.power_on(screen))


@as_policy
def _s03_not_awaited(scenario: Scenario) -> Move:
    screen = yield from r.warm_up((yield from look()))
    screen = yield from r.set_point(screen, scenario.goal["voltage"], scenario.goal["current"])
    return (yield from press(screen, "POWER ON"))


S03 = (
    Attempt("standby_only", "stops at standby", _s03_standby_only),
    Attempt("cold", "powers on without standby and does not notice the refusal", _s03_cold),
    Attempt("one_kv_off", "one step of the voltage control below", _s03_one_kv_off),
    Attempt("current_forgotten", "sets the voltage only", _s03_current_forgotten),
    Attempt("not_awaited", "stops while the generator still ramps", _s03_not_awaited),
)

# --- S4


@as_policy
def _s04_end_off(scenario: Scenario) -> Move:
    return (yield from r.angles((yield from look()), scenario.goal["start_angle"], scenario.goal["end_angle"] + 0.1))


@as_policy
def _s04_theta(scenario: Scenario) -> Move:
    g = scenario.goal
    return (yield from r.angles((yield from look()), g["start_angle"] / 2, g["end_angle"] / 2))


@as_policy
def _s04_not_entered(scenario: Scenario) -> Move:
    screen = yield from enter((yield from look()), r.START_ANGLE, f"{scenario.goal['start_angle']:.1f}")
    return (yield from _type_without_enter(screen, r.END_ANGLE, f"{scenario.goal['end_angle']:.1f}"))


@as_policy
def _s04_step_changed(scenario: Scenario) -> Move:
    screen = yield from r.angles((yield from look()), scenario.goal["start_angle"], scenario.goal["end_angle"])
    return (yield from r.step(screen, 0.01))


S04 = (
    Attempt("end_off", "end angle one step too far", _s04_end_off),
    Attempt("theta", "enters theta instead of two-theta", _s04_theta),
    Attempt("not_entered", "types the end angle without Enter", _s04_not_entered),
    Attempt("step_changed", "changes the step size as well", _s04_step_changed),
)

# --- S5


def _step_at(scenario: Scenario, offset: int) -> float:
    return STEPS[STEPS.index(coarsest_step(scenario.goal["fwhm"])) + offset]


@as_policy
def _s05_too_coarse(scenario: Scenario) -> Move:
    return (yield from r.step((yield from look()), _step_at(scenario, +1)))


@as_policy
def _s05_too_fine(scenario: Scenario) -> Move:
    return (yield from r.step((yield from look()), _step_at(scenario, -1)))


@as_policy
def _s05_rate_changed(scenario: Scenario) -> Move:
    screen = yield from r.step((yield from look()), coarsest_step(scenario.goal["fwhm"]))
    return (yield from r.rate(screen, 1.0))


@as_policy
def _s05_range_changed(scenario: Scenario) -> Move:
    screen = yield from r.step((yield from look()), coarsest_step(scenario.goal["fwhm"]))
    return (yield from enter(screen, r.END_ANGLE, f"{scenario.goal['end_angle'] + 5:.1f}"))


S05 = (
    Attempt("too_coarse", "the next coarser step: fewer than five across the width", _s05_too_coarse),
    Attempt("too_fine", "the next finer step: enough, but not the coarsest", _s05_too_fine),
    Attempt("rate_changed", "changes the scan rate as well", _s05_rate_changed),
    Attempt("range_changed", "changes the range as well", _s05_range_changed),
)

# --- S6


def _rate_at(screen: Observation, scenario: Scenario, offset: int) -> float:
    right = r.rate_for(screen, scenario.goal["survey_rate"], scenario.goal["least_counts"])
    return RATES[RATES.index(right) + offset]


@as_policy
def _s06_too_fast(scenario: Scenario) -> Move:
    screen = yield from look()
    return (yield from r.rate(screen, _rate_at(screen, scenario, +1)))


@as_policy
def _s06_too_slow(scenario: Scenario) -> Move:
    screen = yield from look()
    return (yield from r.rate(screen, _rate_at(screen, scenario, -1)))


@as_policy
def _s06_inverted(scenario: Scenario) -> Move:
    # takes counts to be proportional to the rate, and so stays at the fastest
    screen = yield from look()
    return (yield from r.rate(screen, max(RATES)))


@as_policy
def _s06_by_slit(scenario: Scenario) -> Move:
    screen = yield from look()
    screen = yield from r.rate(screen, _rate_at(screen, scenario, 0))
    return (yield from choose(screen, "Divergence slit (deg)", "0.125"))


S06 = (
    Attempt("too_fast", "the next faster rate: too few counts", _s06_too_fast),
    Attempt("too_slow", "the next slower rate: enough counts, but not the fastest", _s06_too_slow),
    Attempt("inverted", "takes counts to rise with the rate", _s06_inverted),
    Attempt("by_slit", "right rate, but another divergence slit", _s06_by_slit),
)

# --- S7


@as_policy
def _s07_dark(scenario: Scenario) -> Move:
    return (yield from r.scan((yield from look())))


@as_policy
def _s07_not_awaited(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "open")
    screen = yield from press(screen, "START SCAN")
    screen = yield {"action": "wait", "duration": 0.2}
    return (yield from r.shutter(screen, "closed"))


@as_policy
def _s07_shutter_left_open(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "open")
    return (yield from r.scan(screen))


@as_policy
def _s07_other_rate(scenario: Scenario) -> Move:
    screen = yield from r.rate((yield from look()), 16.0)
    screen = yield from r.shutter(screen, "open")
    screen = yield from r.scan(screen)
    return (yield from r.shutter(screen, "closed"))


@as_policy
def _s07_stopped(scenario: Scenario) -> Move:
    screen = yield from r.shutter((yield from look()), "open")
    screen = yield from press(screen, "START SCAN")
    screen = yield {"action": "wait", "duration": 0.2}
    screen = yield from press(screen, "STOP")
    return (yield from r.shutter(screen, "closed"))


S07 = (
    Attempt("dark", "scans with the shutter closed", _s07_dark),
    Attempt("not_awaited", "closes the shutter while the scan runs", _s07_not_awaited),
    Attempt("shutter_left_open", "leaves the shutter open at the end", _s07_shutter_left_open),
    Attempt("other_rate", "measures at the fastest rate instead of the one set", _s07_other_rate),
    Attempt("stopped", "stops the scan half way", _s07_stopped),
)

# --- S8


@as_policy
def _s08_one_format(scenario: Scenario) -> Move:
    return (yield from r.save((yield from look()), scenario.goal["file_name"], xrdml=False))


@as_policy
def _s08_other_name(scenario: Scenario) -> Move:
    return (yield from r.save((yield from look()), scenario.goal["file_name"] + "0"))


@as_policy
def _s08_cancelled(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "SAVE DIFFRACTOGRAM")
    screen = yield from enter(screen, r.FILE_NAME, scenario.goal["file_name"], role="textbox")
    screen = yield from switch(screen, r.XRDML, True)
    return (yield from press(screen, "Cancel"))


@as_policy
def _s08_replaced(scenario: Scenario) -> Move:
    screen = yield from r.save((yield from look()), scenario.goal["archive"][0].removesuffix(".xy"))
    screen = yield from press(screen, "Replace")
    return (yield from r.save(screen, scenario.goal["file_name"]))


S08 = (
    Attempt("one_format", "saves the .xy file only", _s08_one_format),
    Attempt("other_name", "one character too many in the name", _s08_other_name),
    Attempt("cancelled", "leaves the dialog with Cancel", _s08_cancelled),
    Attempt("replaced", "replaces an older file on the way", _s08_replaced),
)

# --- workflow


def _workflow(scenario: Scenario, mistake: str) -> Move:
    g = scenario.goal
    screen = yield from r.select((yield from look()), g["specimen"], g["sample_id"])
    if mistake != "not_loaded":
        screen = yield from r.load(screen)
    screen = yield from r.warm_up(screen)
    screen = yield from r.set_point(screen, g["voltage"] - (5 if mistake == "low_power" else 0), g["current"])
    screen = yield from r.power_on(screen)
    screen = yield from r.angles(screen, g["start_angle"], g["end_angle"] - (5 if mistake == "short_range" else 0))
    screen = yield from r.step(screen, STEPS[-1] if mistake == "coarse_step" else coarsest_step(g["fwhm"]))
    screen = yield from r.rate(screen, max(RATES) if mistake == "survey_only" else 1.0)
    if mistake != "dark":
        screen = yield from r.shutter(screen, "open")
    screen = yield from r.scan(screen)
    if mistake != "left_open":
        screen = yield from r.shutter(screen, "closed")
        screen = yield from press(screen, "STANDBY")
    return (yield from r.save(screen, g["file_name"], xrdml=mistake != "one_format"))


def _workflow_attempt(mistake: str, description: str) -> Attempt:
    return Attempt(mistake, description, as_policy(lambda scenario: _workflow(scenario, mistake)))


WORKFLOW = (
    _workflow_attempt("survey_only", "saves the fast survey: too few counts"),
    _workflow_attempt("not_loaded", "selects the specimen but measures the one that lay on the stage"),
    _workflow_attempt("low_power", "5 kV below the voltage asked for"),
    _workflow_attempt("short_range", "stops 5 degrees before the end of the range"),
    _workflow_attempt("coarse_step", "leaves the step at its coarsest"),
    _workflow_attempt("dark", "scans with the shutter closed"),
    _workflow_attempt("left_open", "leaves shutter and generator on"),
    _workflow_attempt("one_format", "saves the .xy file only"),
)
