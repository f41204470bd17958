"""Plausible wrong ways through the tasks of the microscope; every one must fail, at every seed."""

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

# --- S1


@as_policy
def _s01_ht_left_on(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "VENT")
    return (yield from wait_until(r.lit("Vented"), screen, seconds=1.0))


@as_policy
def _s01_not_awaited(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "HT OFF")
    return (yield from press(screen, "VENT"))


@as_policy
def _s01_ht_only(scenario: Scenario) -> Move:
    return (yield from press((yield from look()), "HT OFF"))


@as_policy
def _s01_pumped_again(scenario: Scenario) -> Move:
    screen = yield from r.vent((yield from look()))
    screen = yield from press(screen, "EVACUATE")
    return (yield {"action": "wait", "duration": 2})


S01 = (
    Attempt("ht_left_on", "vents with the high tension on", _s01_ht_left_on),
    Attempt("not_awaited", "stops before the chamber is at air", _s01_not_awaited),
    Attempt("ht_only", "switches the high tension off and forgets to vent", _s01_ht_only),
    Attempt("pumped_again", "evacuates after venting", _s01_pumped_again),
)

# --- S2


@as_policy
def _s02_not_driven(scenario: Scenario) -> Move:
    return (yield from press((yield from look()), "OPEN CHAMBER"))


@as_policy
def _s02_driven_only(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "EXCHANGE POSITION")
    return (yield from wait_until(r.arrived, screen, seconds=1.0))


@as_policy
def _s02_too_early(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "EXCHANGE POSITION")
    screen = yield from press(screen, "OPEN CHAMBER")
    return (yield {"action": "wait", "duration": 2})


@as_policy
def _s02_closed_again(scenario: Scenario) -> Move:
    screen = yield from r.open_chamber((yield from look()))
    return (yield from press(screen, "CLOSE CHAMBER"))


S02 = (
    Attempt("not_driven", "opens the door with the stub under the column", _s02_not_driven),
    Attempt("driven_only", "drives the stage and leaves the door shut", _s02_driven_only),
    Attempt("too_early", "opens the door while the stage still moves", _s02_too_early),
    Attempt("closed_again", "closes the door at the end", _s02_closed_again),
)

# --- S3


@as_policy
def _s03_not_mounted(scenario: Scenario) -> Move:
    return (yield from press((yield from look()), "CLOSE CHAMBER"))


@as_policy
def _s03_left_open(scenario: Scenario) -> Move:
    return (yield from press((yield from look()), "MOUNT HOLDER"))


@as_policy
def _s03_taken_off(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "MOUNT HOLDER")
    screen = yield from press(screen, "REMOVE HOLDER")
    return (yield from press(screen, "CLOSE CHAMBER"))


S03 = (
    Attempt("not_mounted", "closes the chamber without the holder", _s03_not_mounted),
    Attempt("left_open", "mounts the holder and leaves the chamber open", _s03_left_open),
    Attempt("taken_off", "takes the holder off again", _s03_taken_off),
)

# --- S4


@as_policy
def _s04_not_awaited(scenario: Scenario) -> Move:
    yield from press((yield from look()), "EVACUATE")
    return (yield {"action": "wait", "duration": 5})


@as_policy
def _s04_vented(scenario: Scenario) -> Move:
    screen = yield from r.evacuate((yield from look()))
    screen = yield from press(screen, "VENT")
    return (yield {"action": "wait", "duration": 1})


@as_policy
def _s04_holder_removed(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "OPEN CHAMBER")
    screen = yield from press(screen, "REMOVE HOLDER")
    screen = yield from press(screen, "CLOSE CHAMBER")
    return (yield from r.evacuate(screen))


@as_policy
def _s04_ht_on(scenario: Scenario) -> Move:
    screen = yield from r.evacuate((yield from look()))
    return (yield from press(screen, "HT ON"))


S04 = (
    Attempt("not_awaited", "stops at rough vacuum", _s04_not_awaited),
    Attempt("vented", "vents again at the end", _s04_vented),
    Attempt("holder_removed", "takes the holder out before pumping", _s04_holder_removed),
    Attempt("ht_on", "switches the high tension on, which was not asked for", _s04_ht_on),
)

# --- S5


def _other_sample(screen: Observation, label: str) -> Move:
    screen = yield from press(screen, r.SAMPLE, role="combobox")
    others = [n.name for n in screen.find_all("option") if n.name not in (label, "(exchange position)")]
    yield {"action": "key", "text": "Escape"}
    return (yield from r.select((yield from look()), others[0]))


@as_policy
def _s05_other(scenario: Scenario) -> Move:
    return (yield from _other_sample((yield from look()), scenario.goal["sample"]))


@as_policy
def _s05_not_awaited(scenario: Scenario) -> Move:
    return (yield from choose((yield from look()), r.SAMPLE, scenario.goal["sample"]))


@as_policy
def _s05_driven_back(scenario: Scenario) -> Move:
    screen = yield from r.select((yield from look()), scenario.goal["sample"])
    screen = yield from press(screen, "EXCHANGE POSITION")
    return (yield {"action": "wait", "duration": 1})


@as_policy
def _s05_ht_on(scenario: Scenario) -> Move:
    screen = yield from r.select((yield from look()), scenario.goal["sample"])
    return (yield from press(screen, "HT ON"))


S05 = (
    Attempt("other", "another sample of the list", _s05_other),
    Attempt("not_awaited", "stops while the stage moves", _s05_not_awaited),
    Attempt("driven_back", "drives to the exchange position afterwards", _s05_driven_back),
    Attempt("ht_on", "switches the high tension on as well", _s05_ht_on),
)

# --- S6


@as_policy
def _s06_blanked(scenario: Scenario) -> Move:
    yield from press((yield from look()), "HT ON")
    return (yield {"action": "wait", "duration": 4})


@as_policy
def _s06_not_awaited(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "HT ON")
    return (yield from switch(screen, "Beam blank", False))


@as_policy
def _s06_no_ht(scenario: Scenario) -> Move:
    yield from switch((yield from look()), "Beam blank", False)
    return (yield {"action": "wait", "duration": 4})


@as_policy
def _s06_other_voltage(scenario: Scenario) -> Move:
    other = "30" if scenario.goal["voltage"] != 30 else "5"
    screen = yield from choose((yield from look()), r.VOLTAGE, other)
    return (yield from r.beam_on(screen))


S06 = (
    Attempt("blanked", "leaves the beam blanked", _s06_blanked),
    Attempt("not_awaited", "stops before the filament is saturated", _s06_not_awaited),
    Attempt("no_ht", "unblanks without high tension", _s06_no_ht),
    Attempt("other_voltage", "changes the voltage as well", _s06_other_voltage),
)

# --- S7


@as_policy
def _s07_neighbour(scenario: Scenario) -> Move:
    return (yield from choose_neighbour((yield from look()), r.VOLTAGE, f"{scenario.goal['voltage']:g}"))


@as_policy
def _s07_escaped(scenario: Scenario) -> Move:
    return (yield from leave_list((yield from look()), r.VOLTAGE, f"{scenario.goal['voltage']:g}"))


@as_policy
def _s07_current_changed(scenario: Scenario) -> Move:
    screen = yield from choose((yield from look()), r.VOLTAGE, f"{scenario.goal['voltage']:g}")
    return (yield from choose(screen, r.CURRENT, "400"))


@as_policy
def _s07_ht_off(scenario: Scenario) -> Move:
    screen = yield from choose((yield from look()), r.VOLTAGE, f"{scenario.goal['voltage']:g}")
    return (yield from press(screen, "HT OFF"))


S07 = (
    Attempt("neighbour", "the voltage next to the right one", _s07_neighbour),
    Attempt("escaped", "leaves the list with Escape", _s07_escaped),
    Attempt("current_changed", "changes the probe current as well", _s07_current_changed),
    Attempt("ht_off", "switches the high tension off", _s07_ht_off),
)

# --- S8


@as_policy
def _s08_flat(scenario: Scenario) -> Move:
    return (yield from r.adjust_levels((yield from look()), 0.35, 0.65))


@as_policy
def _s08_clipped(scenario: Scenario) -> Move:
    screen = yield from r.adjust_levels((yield from look()))
    contrast = float(screen.find("spinbutton", r.CONTRAST).value)
    return (yield from enter(screen, r.CONTRAST, f"{contrast + 15:.1f}"))


@as_policy
def _s08_brightness_only(scenario: Scenario) -> Move:
    return (yield from enter((yield from look()), r.BRIGHTNESS, "60"))


@as_policy
def _s08_by_magnification(scenario: Scenario) -> Move:
    screen = yield from r.adjust_levels((yield from look()))
    return (yield from enter(screen, r.MAGNIFICATION, "3000"))


S08 = (
    Attempt("flat", "leaves the picture flat: a third of the range", _s08_flat),
    Attempt("clipped", "turns the contrast up until the picture clips", _s08_clipped),
    Attempt("brightness_only", "moves the brightness alone", _s08_brightness_only),
    Attempt("by_magnification", "right levels, but at another magnification", _s08_by_magnification),
)

# --- S9


@as_policy
def _s09_coarse(scenario: Scenario) -> Move:
    screen = yield from look()
    z = float(screen.find("spinbutton", r.FOCUS).value)
    screen, _ = yield from r.search(screen, r.FOCUS, z, 0.12, 2, 3)
    return screen


@as_policy
def _s09_no_stigmators(scenario: Scenario) -> Move:
    screen = yield from look()
    z = float(screen.find("spinbutton", r.FOCUS).value)
    for step, side in ((0.12, 2), (0.05, 1), (0.02, 1), (0.01, 1)):
        screen, z = yield from r.search(screen, r.FOCUS, z, step, side, 3)
    return screen


@as_policy
def _s09_stigmators_only(scenario: Scenario) -> Move:
    screen, _ = yield from r.search((yield from look()), r.STIGMATOR_X, 0.0, 5.0, 1, 2)
    screen, _ = yield from r.search(screen, r.STIGMATOR_Y, 0.0, 5.0, 1, 2)
    return screen


@as_policy
def _s09_overshoot(scenario: Scenario) -> Move:
    screen = yield from r.focus((yield from look()))
    z = float(screen.find("spinbutton", r.FOCUS).value)
    return (yield from enter(screen, r.FOCUS, f"{z + 0.05:.3f}"))


S09 = (
    Attempt("coarse", "focuses coarsely and leaves the stigmators", _s09_coarse),
    Attempt("no_stigmators", "focuses finely and leaves the stigmators", _s09_no_stigmators),
    Attempt("stigmators_only", "leaves the focus", _s09_stigmators_only),
    Attempt("overshoot", "turns the focus 50 um past the best at the end", _s09_overshoot),
)

# --- S10


@as_policy
def _s10_not_awaited(scenario: Scenario) -> Move:
    screen = yield from choose((yield from look()), r.DWELL, f"{scenario.goal['dwell']:g}")
    return (yield from press(screen, "START SCAN"))


@as_policy
def _s10_other_dwell(scenario: Scenario) -> Move:
    return (yield from r.scan((yield from look()), 3.0))


@as_policy
def _s10_disturbed(scenario: Scenario) -> Move:
    screen = yield from choose((yield from look()), r.DWELL, f"{scenario.goal['dwell']:g}")
    screen = yield from press(screen, "START SCAN")
    z = float(screen.find("spinbutton", r.FOCUS).value)
    screen = yield from enter(screen, r.FOCUS, f"{z + 0.02:.3f}")
    return (yield {"action": "wait", "duration": 10})


@as_policy
def _s10_other_view(scenario: Scenario) -> Move:
    screen = yield from enter((yield from look()), r.MAGNIFICATION, "4000")
    screen = yield from r.scan(screen, scenario.goal["dwell"])
    return (yield from enter(screen, r.MAGNIFICATION, f"{scenario.goal['magnification']:.0f}"))


@as_policy
def _s10_live_again(scenario: Scenario) -> Move:
    screen = yield from r.scan((yield from look()), scenario.goal["dwell"])
    return (yield from press(screen, "LIVE"))


S10 = (
    Attempt("not_awaited", "does not wait for the end of the frame", _s10_not_awaited),
    Attempt("other_dwell", "scans with another dwell time", _s10_other_dwell),
    Attempt("disturbed", "turns the focus while the frame is scanned", _s10_disturbed),
    Attempt("other_view", "scans at another magnification and sets it back afterwards", _s10_other_view),
    Attempt("live_again", "returns to the live picture, so that nothing is frozen", _s10_live_again),
)

# --- S11


@as_policy
def _s11_other_name(scenario: Scenario) -> Move:
    return (yield from r.save((yield from look()), scenario.goal["file_name"] + "0"))


@as_policy
def _s11_cancelled(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "SAVE IMAGE")
    screen = yield from enter(screen, "File name", scenario.goal["file_name"], role="textbox")
    return (yield from press(screen, "Cancel"))


@as_policy
def _s11_mosaic(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "MOSAIC 2 x 2")
    return (yield from r.save(screen, scenario.goal["file_name"]))


@as_policy
def _s11_replaced(scenario: Scenario) -> Move:
    screen = yield from r.save((yield from look()), scenario.goal["archive"][0].removesuffix(".tif"))
    screen = yield from press(screen, "Replace")
    return (yield from r.save(screen, scenario.goal["file_name"]))


S11 = (
    Attempt("other_name", "one character too many in the name", _s11_other_name),
    Attempt("cancelled", "leaves the dialog with Cancel", _s11_cancelled),
    Attempt("mosaic", "saves a mosaic under the right name", _s11_mosaic),
    Attempt("replaced", "replaces an older file on the way", _s11_replaced),
)

# --- S12


def _s12(scenario: Scenario, mistake: str) -> Move:
    g = scenario.goal
    screen = yield from look()
    if mistake == "mosaic_saved":
        return (yield from r.save(screen, g["file_name"]))
    if mistake == "other_region":
        x, y = r.find_stripes(screen)
        screen = yield from r.double_click(screen, 640 - x, 480 - y)
    else:
        screen = yield from r.centre_stripes(screen)
    if mistake == "tilted":
        screen = yield from enter(screen, r.ROTATION, "0")
    screen = yield from enter(screen, r.MAGNIFICATION, "1000" if mistake == "too_wide" else "2300")
    if mistake != "blurred":
        screen = yield from r.refocus(screen)
    if mistake == "black":
        screen = yield from enter(screen, r.BRIGHTNESS, "0")
    screen = yield from r.scan(screen, g["dwell"])
    return (yield from r.save(screen, g["file_name"]))


def _s12_attempt(mistake: str, description: str) -> Attempt:
    return Attempt(mistake, description, as_policy(lambda scenario: _s12(scenario, mistake)))


S12 = (
    _s12_attempt("mosaic_saved", "saves the mosaic itself"),
    _s12_attempt("other_region", "goes to the region opposite the stripes"),
    _s12_attempt("tilted", "leaves the stripes tilted"),
    _s12_attempt("too_wide", "too many stripes in the picture"),
    _s12_attempt("blurred", "does not focus"),
    _s12_attempt("black", "turns the brightness down until nothing is seen"),
)

# --- workflow


def _workflow(scenario: Scenario, mistake: str) -> Move:
    g = scenario.goal
    screen = yield from press((yield from look()), "VENT")
    screen = yield from wait_until(r.lit("Vented"), screen, seconds=1.0)
    screen = yield from press(screen, "OPEN CHAMBER")
    screen = yield from r.mount_and_close(screen)
    screen = yield from r.evacuate(screen)
    if mistake == "other_sample":
        screen = yield from _other_sample(screen, g["sample"])
    else:
        screen = yield from r.select(screen, g["sample"])
    if mistake != "other_voltage":
        screen = yield from choose(screen, r.VOLTAGE, f"{g['voltage']:g}")
    screen = yield from choose(screen, r.CURRENT, f"{g['current']:g}")
    screen = yield from r.beam_on(screen)
    screen = yield from enter(screen, r.MAGNIFICATION, f"{g['magnification']:.0f}")
    if mistake != "flat":
        screen = yield from r.adjust_levels(screen)
    if mistake != "not_focused":
        screen = yield from r.focus(screen)
        screen = yield from r.refocus(screen)
    screen = yield from r.scan(screen, g["dwell"])
    screen = yield from r.save(screen, g["file_name"])
    if mistake != "left_on":
        screen = yield from press(screen, "HT OFF")
    return screen


def _workflow_attempt(mistake: str, description: str) -> Attempt:
    return Attempt(mistake, description, as_policy(lambda scenario: _workflow(scenario, mistake)))


WORKFLOW = (
    _workflow_attempt("not_focused", "leaves focus and stigmators as they are"),
    _workflow_attempt("other_sample", "images another sample"),
    _workflow_attempt("other_voltage", "leaves the voltage as it is"),
    _workflow_attempt("left_on", "leaves the high tension on"),
)
