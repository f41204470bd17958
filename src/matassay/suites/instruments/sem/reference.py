"""Right ways through the tasks of the microscope. Focus and stigmators are found from the pixels alone."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
from PIL import Image
from scipy import ndimage

from matassay.core import Attempt, Observation, Scenario
from matassay.kit.moves import Move, as_policy, choose, choose_by_keys, enter, look, press, switch, wait_until

from . import quality
from .optics import field_width
from .optics import magnification as magnification_of

SAMPLE, VOLTAGE, CURRENT = "Sample", "Acc. voltage (kV)", "Probe current (pA)"
FOCUS, STIGMATOR_X, STIGMATOR_Y = "Working distance value (mm)", "Stigmator X value (%)", "Stigmator Y value (%)"
CONTRAST, BRIGHTNESS = "Contrast value (%)", "Brightness value (%)"
MAGNIFICATION, ROTATION, DWELL = "Magnification value (x)", "Scan rotation (deg)", "Dwell time (us)"


# --- vacuum, stage, beam


def lit(lamp: str) -> Callable[[Observation], bool]:
    """Whether a lamp is on."""
    return lambda screen: screen.has("img", f"{lamp}: on")


def vent(screen: Observation) -> Move:
    """High tension off, air in."""
    screen = yield from press(screen, "HT OFF")
    screen = yield from press(screen, "VENT")
    return (yield from wait_until(lit("Vented"), screen, seconds=1.0))


def open_chamber(screen: Observation) -> Move:
    """Stage out of the way, door open."""
    screen = yield from press(screen, "EXCHANGE POSITION")
    screen = yield from wait_until(arrived, screen, seconds=1.0)
    return (yield from press(screen, "OPEN CHAMBER"))


def arrived(screen: Observation) -> bool:
    """Whether the stage has come to rest at a stub."""
    return screen.find("status", "Message").value.startswith("At ")


def mount_and_close(screen: Observation) -> Move:
    """Holder in, door closed."""
    screen = yield from press(screen, "MOUNT HOLDER")
    return (yield from press(screen, "CLOSE CHAMBER"))


def evacuate(screen: Observation) -> Move:
    """Pump and wait."""
    screen = yield from press(screen, "EVACUATE")
    return (yield from wait_until(lit("Vacuum ready"), screen, seconds=10.0))


def select(screen: Observation, label: str) -> Move:
    """Drive to a stub."""
    screen = yield from choose(screen, SAMPLE, label)
    return (yield from wait_until(arrived, screen, seconds=1.0))


def beam_on(screen: Observation) -> Move:
    """High tension, filament, blanking."""
    screen = yield from press(screen, "HT ON")
    screen = yield from switch(screen, "Beam blank", False)
    return (yield from wait_until(lit("Beam on sample"), screen, seconds=1.0))


# --- pictures


def picture(screen: Observation) -> np.ndarray:
    """Grey values of the image on the screen, float, rows by columns."""
    x, y, width, height = (round(v) for v in screen.find("application", "Image").box)
    whole = Image.open(io.BytesIO(screen.image)).convert("L")
    return np.asarray(whole.crop((x, y, x + width, y + height)), dtype=np.float64)


def inner(image: np.ndarray) -> np.ndarray:
    """Without the rim, where the scale bar is drawn."""
    rows, cols = image.shape
    return image[rows // 8 : -rows // 8, cols // 8 : -cols // 8]


def levels(screen: Observation) -> tuple[float, float, float]:
    """1st and 99th percentile (0 to 1), and the larger fraction of pixels at an end of the range."""
    a = picture(screen)
    a = a[: -a.shape[0] // 8]  # the scale bar lies at the bottom
    low, high = np.percentile(a, [1, 99]) / 255
    return float(low), float(high), float(max((a <= 0).mean(), (a >= 255).mean()))


def adjust_levels(screen: Observation, low: float = 0.10, high: float = 0.80) -> Move:
    """Bring the 1st and 99th percentile of the live picture near two grey levels, by trying."""
    for _ in range(8):
        first, last, _clipped = levels(screen)
        if abs(first - low) < 0.025 and abs(last - high) < 0.04:
            break
        screen = yield from retune(screen, first, last, low, high)
    return screen


def retune(screen: Observation, first: float, last: float, low: float, high: float) -> Move:
    """Set contrast and brightness so that two grey levels move to where they should be.

    Contrast is a gain in decades (25 % of the control are a factor of ten), brightness an offset; how the two act is
    what every operator of such a detector knows.
    """
    contrast = float(screen.find("spinbutton", CONTRAST).value)
    brightness = float(screen.find("spinbutton", BRIGHTNESS).value)
    # what is clipped lies beyond the end of the range, nobody knows how far: say a quarter of it
    first = -0.25 if first <= 0.002 else first
    last = 1.25 if last >= 0.998 else last
    factor = (high - low) / max(last - first, 0.01)
    # grey = gain * signal + offset: scaling the gain moves the low end as well
    offset = (brightness - 50) / 25
    if abs(math.log10(factor)) > 0.02:
        screen = yield from _type(screen, CONTRAST, contrast + 25 * math.log10(factor))
    return (yield from _type(screen, BRIGHTNESS, 50 + 25 * (low - factor * (first - offset))))


def scan_with_levels(screen: Observation, dwell: float) -> Move:
    """Take slow frames until one uses the grey range: without the live picture's noise, it spans less of it."""
    high = 0.86
    for _ in range(5):
        screen = yield from scan(screen, dwell)
        first, last, clipped = levels(screen)
        if last - first >= 0.63 and clipped < 0.004:
            break
        if clipped >= 0.004:
            high -= 0.06  # a few bright edges lie far above the 99th percentile
        screen = yield from retune(screen, first, last, 0.09, high)
    return screen


def _type(screen: Observation, name: str, value: float) -> Move:
    return (yield from enter(screen, name, f"{min(100.0, max(0.0, value)):.2f}"))


# --- focus: the negative logarithm of sharpness has its least value where the blur has, for each control by itself

Search = Generator[dict[str, Any], Observation, tuple[Observation, float]]


def blurred(screen: Observation) -> float:
    """How blurred the live picture is; only differences count."""
    return -2.0 * math.log(max(1e-4, quality.sharpness(inner(picture(screen)))))


def search(screen: Observation, name: str, start: float, step: float, each_side: int, decimals: int) -> Search:
    """Find the least blur along one control: a ladder, longer if the best is at its end, then a parabola."""
    yield {"action": "triple_click", "coordinate": list(screen.find("spinbutton", name).center)}
    values: list[float] = []
    blurs: list[float] = []

    def put(value: float) -> Search:
        # Enter marks what stands in the field, so that the next number replaces it
        after = yield {"action": "type", "text": f"{value:.{decimals}f}", "press_enter": True}
        return after, blurred(after)

    seen = blurred(screen)  # where the control stands now
    for i in range(-each_side, each_side + 1):
        values.append(start + i * step)
        if i:
            screen, b = yield from put(values[-1])
        blurs.append(b if i else seen)
    for _ in range(3):
        best = int(np.argmin(blurs))
        if 0 < best < len(values) - 1:
            break
        at = 0 if best == 0 else len(values)
        value = values[0] - step if best == 0 else values[-1] + step
        screen, b = yield from put(value)
        values.insert(at, value)
        blurs.insert(at, b)
    found = least(values, blurs)
    screen, _ = yield from put(found)
    return screen, found


def least(values: list[float], blurs: list[float]) -> float:
    """Where a parabola through the five points nearest to the best has its least value."""
    x, y = np.array(values), np.array(blurs)
    best = int(np.argmin(y))
    near = np.argsort(np.abs(x - x[best]))[:5]
    scale = float(np.ptp(x[near])) or 1.0
    a, b, _ = np.polyfit((x[near] - x[best]) / scale, y[near], 2)
    if a <= 0:
        return float(x[best])
    return float(np.clip(x[best] - scale * b / (2 * a), x.min(), x.max()))


def focus(screen: Observation) -> Move:
    """Focus and stigmators in turn, with smaller and smaller steps: mm for the focus, % for the stigmators."""
    at = {name: float(screen.find("spinbutton", name).value) for name in (FOCUS, STIGMATOR_X, STIGMATOR_Y)}
    for name, step, each_side in FOCUSING:
        screen, at[name] = yield from search(screen, name, at[name], step, each_side, 3 if name == FOCUS else 2)
    return screen


FOCUSING = (
    (FOCUS, 0.12, 2),
    (STIGMATOR_X, 5.0, 1),
    (STIGMATOR_Y, 5.0, 1),
    (FOCUS, 0.05, 1),
    (STIGMATOR_X, 2.5, 1),
    (STIGMATOR_Y, 2.5, 1),
    (FOCUS, 0.02, 1),
    (STIGMATOR_X, 1.25, 1),
    (STIGMATOR_Y, 1.25, 1),
)


def refocus(screen: Observation) -> Move:
    """Focus alone, from not too far away."""
    z = float(screen.find("spinbutton", FOCUS).value)
    for step in (0.06, 0.02, 0.008):
        screen, z = yield from search(screen, FOCUS, z, step, 1, 3)
    return screen


# --- scanning and saving


def scan(screen: Observation, dwell: float) -> Move:
    """Take a slow frame and wait for it."""
    if screen.find("combobox", DWELL).value != f"{dwell:g}":
        screen = yield from choose(screen, DWELL, f"{dwell:g}")
    screen = yield from press(screen, "START SCAN")
    return (yield from wait_until(lambda s: "complete" in _progress(s), screen, seconds=2.0))


def _progress(screen: Observation) -> str:
    return " ".join(n.name for n in screen.find_all("text") if n.name.startswith("scan "))


def save(screen: Observation, name: str) -> Move:
    """Save the frozen picture."""
    screen = yield from press(screen, "SAVE IMAGE")
    screen = yield from enter(screen, "File name", name, role="textbox")
    return (yield from press(screen, "Save"))


# --- the striped region


def region_centre(image: np.ndarray, near: tuple[float, float], pitch: int) -> tuple[float, float]:
    """Middle of the patterned region at a place of a picture, pixels (x, y).

    Smoothed over a pitch, a striped region is an even grey; the connected piece above half of it is the region.
    """
    smooth = ndimage.uniform_filter(image, pitch)
    x, y = (round(v) for v in near)
    inside = smooth[max(0, y - pitch) : y + pitch, max(0, x - pitch) : x + pitch]
    border = np.percentile(smooth, 5)
    mask = smooth > (float(np.median(inside)) + border) / 2
    pieces, _ = ndimage.label(mask)
    rows, cols = np.nonzero(pieces == pieces[y, x])
    return float(cols.min() + cols.max()) / 2, float(rows.min() + rows.max()) / 2


def stripe_angle(image: np.ndarray) -> float:
    """Angle of stripes to the vertical, deg, counter-clockwise positive: from the structure tensor."""
    smooth = ndimage.gaussian_filter(image, 2.0)
    gy, gx = np.gradient(smooth)
    # direction across the stripes; rows count downwards
    across = 0.5 * math.degrees(math.atan2(2 * float((gx * gy).sum()), float((gx * gx - gy * gy).sum())))
    return -across


def stripe_pitch(image: np.ndarray) -> float:
    """Distance between upright stripes, pixels: the strongest period of the middle's column means."""
    rows, cols = image.shape
    part = image[rows // 4 : -rows // 4, cols // 4 : -cols // 4].mean(axis=0)
    part = (part - part.mean()) * np.hanning(len(part))
    padded = 8 * len(part)
    power = np.abs(np.fft.rfft(part, padded)) ** 2
    least_cycles = 8 * 4  # of at least four periods in the part
    return float(padded / (least_cycles + int(np.argmax(power[least_cycles:]))))


def stripedness(image: np.ndarray, size: int = 40) -> np.ndarray:
    """How much a place looks like stripes in one direction that are nearly vertical, 0 to 1 times contrast."""
    smooth = ndimage.gaussian_filter(image, 1.0)
    gy, gx = np.gradient(smooth)
    xx, yy, xy = (ndimage.uniform_filter(v, size) for v in (gx * gx, gy * gy, gx * gy))
    return np.asarray((np.hypot(xx - yy, 2 * xy) / (xx + yy + 1e-9)) * np.sqrt(xx) * (xx > yy))


def find_stripes(screen: Observation) -> tuple[float, float]:
    """Where in the mosaic the stripes are, image pixels."""
    found = stripedness(picture(screen))
    found[:30], found[-30:], found[:, :30], found[:, -30:] = 0, 0, 0, 0
    y, x = np.unravel_index(int(np.argmax(ndimage.uniform_filter(found, 40))), found.shape)
    return float(x), float(y)


def double_click(screen: Observation, x: float, y: float) -> Move:
    """Double click a place of the picture."""
    left, top, _, _ = screen.find("application", "Image").box
    return (yield {"action": "double_click", "coordinate": [round(left + x), round(top + y)]})


def centre_stripes(screen: Observation) -> Move:
    """From the mosaic to the striped region, centred and upright."""
    x, y = find_stripes(screen)
    screen = yield from double_click(screen, x, y)
    screen = yield from enter(screen, MAGNIFICATION, "850")
    for _ in range(6):  # as long as an end of the region is out of sight, its middle is only nearer, not reached
        image = picture(screen)
        rows, cols = image.shape
        x, y = region_centre(image, (cols / 2, rows / 2), 22)
        if math.hypot(x - cols / 2, y - rows / 2) <= 3:
            break
        screen = yield from double_click(screen, x, y)
    angle = stripe_angle(inner(picture(screen)))
    return (yield from enter(screen, ROTATION, f"{-angle:.1f}"))


# --- the tasks


@as_policy
def _s01(scenario: Scenario) -> Move:
    return (yield from vent((yield from look())))


@as_policy
def _s02(scenario: Scenario) -> Move:
    return (yield from open_chamber((yield from look())))


@as_policy
def _s02_by_list(scenario: Scenario) -> Move:
    screen = yield from choose((yield from look()), SAMPLE, "(exchange position)")
    screen = yield from wait_until(arrived, screen, seconds=1.0)
    return (yield from press(screen, "OPEN CHAMBER"))


@as_policy
def _s03(scenario: Scenario) -> Move:
    return (yield from mount_and_close((yield from look())))


@as_policy
def _s04(scenario: Scenario) -> Move:
    return (yield from evacuate((yield from look())))


@as_policy
def _s05(scenario: Scenario) -> Move:
    return (yield from select((yield from look()), scenario.goal["sample"]))


@as_policy
def _s05_by_keys(scenario: Scenario) -> Move:
    screen = yield from choose_by_keys((yield from look()), SAMPLE, scenario.goal["sample"])
    return (yield from wait_until(arrived, screen, seconds=1.0))


@as_policy
def _s06(scenario: Scenario) -> Move:
    return (yield from beam_on((yield from look())))


@as_policy
def _s06_blank_first(scenario: Scenario) -> Move:
    screen = yield from switch((yield from look()), "Beam blank", False)
    screen = yield from press(screen, "HT ON")
    return (yield from wait_until(lit("Beam on sample"), screen, seconds=1.0))


@as_policy
def _s07(scenario: Scenario) -> Move:
    return (yield from choose((yield from look()), VOLTAGE, f"{scenario.goal['voltage']:g}"))


@as_policy
def _s07_by_keys(scenario: Scenario) -> Move:
    return (yield from choose_by_keys((yield from look()), VOLTAGE, f"{scenario.goal['voltage']:g}"))


@as_policy
def _s08(scenario: Scenario) -> Move:
    return (yield from adjust_levels((yield from look())))


@as_policy
def _s08_darker(scenario: Scenario) -> Move:
    return (yield from adjust_levels((yield from look()), 0.06, 0.76))


@as_policy
def _s09(scenario: Scenario) -> Move:
    return (yield from focus((yield from look())))


@as_policy
def _s10(scenario: Scenario) -> Move:
    return (yield from scan((yield from look()), scenario.goal["dwell"]))


@as_policy
def _s10_again(scenario: Scenario) -> Move:
    # a first scan is given up; only the complete one counts
    screen = yield from choose((yield from look()), DWELL, f"{scenario.goal['dwell']:g}")
    screen = yield from press(screen, "START SCAN")
    screen = yield from press(screen, "LIVE")
    return (yield from scan(screen, scenario.goal["dwell"]))


@as_policy
def _s11(scenario: Scenario) -> Move:
    return (yield from save((yield from look()), scenario.goal["file_name"]))


@as_policy
def _s11_extension(scenario: Scenario) -> Move:
    return (yield from save((yield from look()), scenario.goal["file_name"] + ".tif"))


def mosaic_region(screen: Observation, dwell: float, name: str, stripes: float = 10.5) -> Move:
    """The whole of S12, with so many stripes in the picture."""
    screen = yield from centre_stripes(screen)
    pitch = stripe_pitch(picture(screen)) * field_width(850.0) / picture(screen).shape[1]
    screen = yield from enter(screen, MAGNIFICATION, f"{magnification_of(stripes * pitch):.0f}")
    screen = yield from refocus(screen)
    screen = yield from scan(screen, dwell)
    return (yield from save(screen, name))


@as_policy
def _s12(scenario: Scenario) -> Move:
    return (yield from mosaic_region((yield from look()), scenario.goal["dwell"], scenario.goal["file_name"]))


@as_policy
def _s12_closer(scenario: Scenario) -> Move:
    return (yield from mosaic_region((yield from look()), scenario.goal["dwell"], scenario.goal["file_name"], 9.3))


def imaging(screen: Observation, scenario: Scenario) -> Move:
    """From a mounted sample under vacuum to the saved picture."""
    g = scenario.goal
    screen = yield from select(screen, g["sample"])
    screen = yield from choose(screen, VOLTAGE, f"{g['voltage']:g}")
    screen = yield from choose(screen, CURRENT, f"{g['current']:g}")
    screen = yield from beam_on(screen)
    screen = yield from enter(screen, MAGNIFICATION, f"{g['magnification']:.0f}")
    screen = yield from adjust_levels(screen)
    screen = yield from focus(screen)
    screen = yield from refocus(screen)
    screen = yield from scan_with_levels(screen, g["dwell"])
    screen = yield from save(screen, g["file_name"])
    return (yield from press(screen, "HT OFF"))


@as_policy
def _workflow(scenario: Scenario) -> Move:
    screen = yield from press((yield from look()), "VENT")
    screen = yield from wait_until(lit("Vented"), screen, seconds=1.0)
    screen = yield from press(screen, "OPEN CHAMBER")
    screen = yield from mount_and_close(screen)
    screen = yield from evacuate(screen)
    return (yield from imaging(screen, scenario))


S01 = Attempt("reference", "high tension off, vent, wait", _s01)
S02 = Attempt("reference", "stage to the exchange position, then the door", _s02)
S02_OTHER = (Attempt("by_list", "drives to the exchange position from the list of samples", _s02_by_list),)
S03 = Attempt("reference", "mounts the holder, closes the door", _s03)
S04 = Attempt("reference", "evacuates and waits", _s04)
S05 = Attempt("reference", "chooses the sample and waits for the stage", _s05)
S05_OTHER = (Attempt("by_keyboard", "chooses it by keys", _s05_by_keys),)
S06 = Attempt("reference", "high tension, then the beam", _s06)
S06_OTHER = (Attempt("blank_first", "unblanks before the high tension", _s06_blank_first),)
S07 = Attempt("reference", "chooses the voltage by mouse", _s07)
S07_OTHER = (Attempt("by_keyboard", "chooses it by keys", _s07_by_keys),)
S08 = Attempt("reference", "adjusts contrast and brightness by the picture's grey levels", _s08)
S08_OTHER = (Attempt("darker", "another pair of levels that is right as well", _s08_darker),)
S09 = Attempt("reference", "searches the least blur in the pixels, control by control", _s09)
S10 = Attempt("reference", "sets the dwell time, scans, waits", _s10)
S10_OTHER = (Attempt("second_try", "gives up a first scan", _s10_again),)
S11 = Attempt("reference", "saves under the name asked for", _s11)
S11_OTHER = (Attempt("extension_typed", "types the extension as well", _s11_extension),)
S12 = Attempt("reference", "finds the stripes in the mosaic, centres, turns, focuses, scans, saves", _s12)
S12_OTHER = (Attempt("closer", "at a higher magnification", _s12_closer),)
WORKFLOW = Attempt("reference", "from venting to the saved picture", _workflow)
