"""From a surface and a probe to a picture.

`ideal` is what a perfect probe and an endless dwell would show: signal electrons per beam electron, on a grid. `render`
adds what the operator can do something about: blur, shot noise, the detector's gain and offset, drift, charging and
contamination.

The signal: secondaries (SE) come from the surface where the beam enters (SE1), where backscattered electrons leave
(SE2), and from pole piece and chamber where those arrive (SE3); topography changes them by tilt, edges and shadows.
Backscattered electrons (BSE) tell atomic numbers.

Pictures are indexed by row and column; x is to the right and y down the screen, in um.

References
----------
Kanaya & Okayama, J. Phys. D 5 (1972) 43; Lin & Joy, Surf. Interface Anal. 37 (2005) 895; Peters, Scanning Electron
Microscopy IV (1982) 1359; Reimer, Scanning Electron Microscopy, 2nd ed. (1998); Reuter, Proc. 6th Int. Conf. X-Ray
Optics and Microanalysis (1972) 121; Seiler, J. Appl. Phys. 54 (1983) R1; Goldstein et al., Scanning Electron Microscopy
and X-Ray Microanalysis, 4th ed. (2018).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import fft, ndimage, sparse

from matassay.suites.instruments.sem.optics import Column, blur_ellipse
from matassay.suites.instruments.sem.specimens import (
    SIZE,
    TEXTURE_PITCH,
    Material,
    Surface,
)

__all__ = [
    "COLLECTION",
    "ELEMENTARY_CHARGE",
    "Detector",
    "Frame",
    "Patch",
    "balanced",
    "beam_electrons",
    "charging",
    "collected",
    "crossover",
    "electron_range",
    "emitted_secondaries",
    "eta",
    "expected",
    "gain",
    "histogram",
    "ideal",
    "offset",
    "render",
    "secondary_yield",
    "snr",
    "tilt_factor",
]

Picture = npt.NDArray[np.float32]
Detector = Literal["SE", "BSE"]

ELEMENTARY_CHARGE = 1.602176634e-19
"""Charge of an electron, C (SI)."""
COLLECTION = {"SE": 0.5, "BSE": 0.3}
"""Share of the emitted electrons that a detector registers.

Half of the secondaries reach an Everhart-Thornley detector on a smooth specimen (Reimer 1998, section 5.2); an annular
detector under the pole piece covers about a third of the backscattered ones.
"""
REFERENCE_CURRENT = 100.0
"""Probe current for which contrast 50 % has a gain of one, pA."""
STEEPEST = 6.0
"""Largest gain of secondaries by tilt; at grazing incidence 1/cos ends where the escape depth meets the side walls."""
MARGIN = 64
"""Pixels computed around a view: room for blur and drift."""

_BACKSCATTER_LIMIT = 0.89  # of the Darlington-Reimer law: backscattering at grazing incidence
_SE2_SHARE = 2.5  # secondaries that a backscattered electron releases over those of an arriving one (Seiler 1983)
_SE3_SHARE = 0.67  # secondaries per backscattered electron from pole piece and chamber (Peters 1982)
_HALO = 0.22  # standard deviation of where backscattered electrons leave, over the electron range
_CLIFF = 1.0  # map pixels by which cliffs are softened in the closest views
_FILL = 0.10  # light that reaches a secondary in the deepest hole


# --- yields -------------------------------------------------------------------------------------------------


def secondary_yield(material: Material, voltage: float) -> float:
    """Secondary yield delta at normal incidence, electrons per electron (Lin & Joy 2005).

    delta / delta_max = 1.28 (E / E_max)^-0.67 (1 - exp(-1.614 (E / E_max)^1.67)). The printed factor 1.28 gives 1.025 at
    E = E_max; 1 / (1 - exp(-1.614)) = 1.249 is used instead, so that the largest value is delta_max.
    """
    e = voltage / material.energy_max
    return material.delta_max * e**-0.67 * (1.0 - math.exp(-1.614 * e**1.67)) / (1.0 - math.exp(-1.614))


def emitted_secondaries(material: Material, voltage: float) -> float:
    """What an Everhart-Thornley detector is offered by a flat surface: SE1 + SE2 (the yield) and SE3, per beam electron.

    SE3 come from pole piece and chamber, where backscattered electrons release them. Of gold's signal at 20 kV they are
    61 %, SE1 and SE2 together 37 % (Peters 1982), hence 0.67 per backscattered electron: the reason why heavy elements
    are brighter in pictures of secondaries as well.
    """
    return secondary_yield(material, voltage) + _SE3_SHARE * eta(material.z)


def eta(z: float) -> float:
    """Backscatter coefficient at normal incidence (Reuter 1972): 20 kV, and nearly so from 5 to 40 kV."""
    return -0.0254 + 0.016 * z - 1.86e-4 * z**2 + 8.3e-7 * z**3


def electron_range(material: Material, voltage: float) -> float:
    """Range of beam electrons, um (Kanaya & Okayama 1972).

    R = 0.0276 A E^1.67 / (Z^0.89 rho), E in kV, rho in g/cm^3.
    """
    return 0.0276 * material.a * voltage**1.67 / (material.z**0.89 * material.density)


def tilt_exponent(z: float) -> float:
    """Exponent n of delta ~ 1 / cos(theta)^n: 1.3 for light elements to 0.8 for heavy ones (Reimer 1998, section 4.2.2)."""
    return 1.3 - 0.5 * min(max((z - 6.0) / (79.0 - 6.0), 0.0), 1.0)


def tilt_factor(cos_theta: npt.ArrayLike, z: float) -> Picture:
    """Secondary yield over that at normal incidence: 1 / cos(theta)^n, bent over smoothly to at most `STEEPEST`."""
    factor = np.asarray(cos_theta, dtype=np.float32) ** np.float32(-tilt_exponent(z))
    # Follows the cosine law to 1 % up to a factor of 3.
    more = factor - np.float32(1.0)
    return np.asarray(1.0 + more / (1.0 + (more / np.float32(STEEPEST - 1.0)) ** 4) ** 0.25, dtype=np.float32)


def tilted_eta(cos_theta: npt.ArrayLike, z: float) -> Picture:
    """Backscatter coefficient under tilt: 0.89 (eta / 0.89)^cos(theta) (Darlington 1975; Reimer 1998, eq. 4.17)."""
    base = eta(z) / _BACKSCATTER_LIMIT
    return np.asarray(_BACKSCATTER_LIMIT * base ** np.asarray(cos_theta, dtype=np.float32), dtype=np.float32)


@lru_cache(maxsize=64)
def crossover(material: Material) -> float:
    """Second crossover E2 in kV: above it more electrons arrive than leave, delta + eta < 1; 0 if they always do."""
    back = eta(material.z)
    low, high = material.energy_max, 60.0
    if secondary_yield(material, low) + back <= 1.0:
        return 0.0
    for _ in range(50):
        middle = math.sqrt(low * high)
        if secondary_yield(material, middle) + back > 1.0:
            low = middle
        else:
            high = middle
    return low


def charging(surface: Surface, voltage: float, current: float) -> float:
    """How badly a specimen charges, 0 (not at all) to 1: grows from E2 on with voltage and with probe current.

    The sign follows from delta + eta; how strongly a picture suffers depends on leakage that nobody knows, so the
    measure is a phenomenological one: log2(E / E2) / 3, times (I / 100 pA)^(1/4), capped.
    """
    worst = 0.0
    for material in surface.materials:
        if material.insulator and voltage > (limit := crossover(material)):
            worst = max(worst, math.log2(voltage / limit) / 3.0)
    return min(1.0, worst * (current / REFERENCE_CURRENT) ** 0.25)


# --- sampling -----------------------------------------------------------------------------------------------


def _bspline(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Cubic B-spline."""
    a = np.abs(x)
    return np.where(a < 1.0, 2.0 / 3.0 - a**2 + a**3 / 2.0, np.where(a < 2.0, (2.0 - a) ** 3 / 6.0, 0.0))


def _weights(start: float, step: float, count: int, size: int) -> tuple[sparse.csr_matrix, int, int]:
    """Interpolation along one axis, as a matrix on a run of samples.

    Samples ``start + i * step`` (map pixels) from a periodic map; where the step is more than a pixel, the kernel widens
    with it, so that nothing aliases. Returns the matrix, the first sample of the run and its length.
    """
    wide = max(1.0, step * 0.75)  # B-splines never overshoot: a cliff would ring
    at = start + np.arange(count) * step
    reach = math.ceil(2.0 * wide)
    first = np.floor(at).astype(np.int64) - reach
    taps = np.arange(2 * reach + 2)
    index = first[:, None] + taps[None, :]
    value = _bspline((index - at[:, None]) / wide)
    value /= value.sum(axis=1, keepdims=True)
    begin, length = int(index.min()), int(index.max() - index.min()) + 1
    rows = np.repeat(np.arange(count), len(taps))
    matrix = sparse.csr_matrix(
        (value.ravel().astype(np.float32), (rows, (index - begin).ravel())), shape=(count, length)
    )
    return matrix, begin, length


def _piece(a: npt.NDArray[Any], row: int, rows: int, col: int, cols: int) -> npt.NDArray[Any]:
    """Rows and columns of a periodic map from (row, col) on; a view where nothing crosses the edge."""
    row, col = row % a.shape[0], col % a.shape[1]
    if row + rows <= a.shape[0] and col + cols <= a.shape[1]:
        return a[row : row + rows, col : col + cols]
    # Runs between edges, put together: ten times as fast as an index per pixel.
    part = np.concatenate([a[run] for run in _runs(row, rows, a.shape[0])])
    return np.concatenate([part[:, run] for run in _runs(col, cols, a.shape[1])], axis=1)


def _runs(start: int, count: int, size: int) -> list[slice]:
    """The stretches between edges of ``count`` places from ``start`` on, of a periodic axis of ``size``."""
    ends = [*range(size, start + count, size), start + count]
    starts = [start, *ends[:-1]]
    return [slice(i % size, i % size + j - i) for i, j in zip(starts, ends, strict=True)]


def _sample(
    a: npt.NDArray[np.float32], x: float, y: float, step: float, shape: tuple[int, int], soft: float = 0.0
) -> Picture:
    """Resample a periodic map at a grid from (x, y) on, all in map pixels; ``soft``: blur it first by so many."""
    across, x0, nx = _weights(x, step, shape[1], a.shape[1])
    down, y0, ny = _weights(y, step, shape[0], a.shape[0])
    part = _piece(a, y0, ny, x0, nx)
    if soft > 0.0:
        part = ndimage.gaussian_filter(part, soft, mode="nearest", truncate=3.0)
    return np.asarray((across @ (down @ part).T).T, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class _Relief:
    """A piece of a surface on a view's grid."""

    height: Picture
    """um."""
    texture: Picture | None
    """Fine texture to add to the height, um, if the view is close enough to show it."""
    shares: tuple[Picture, ...]
    """Share of every material in a pixel."""
    pixel: float
    """um."""


def _relief(surface: Surface, x: float, y: float, pixel: float, shape: tuple[int, int]) -> _Relief:
    """Sample a surface; (x, y) is the centre of the first pixel, um."""
    step = pixel / surface.pitch
    col, row = x / surface.pitch + SIZE / 2, y / surface.pitch + SIZE / 2
    # A slanting cliff is a staircase of map pixels, which must not show when they are seen closer than they are stored.
    height = _sample(surface.height, col, row, step, shape, soft=_CLIFF * math.sqrt(max(0.0, 1.0 - step**2)))
    kinds = len(surface.materials)
    if kinds == 1:
        shares: tuple[Picture, ...] = (np.ones(shape, dtype=np.float32),)
    else:
        # Only the box that is needed is turned into one mask per material.
        some = [np.clip(_sample_mask(surface.material, m, col, row, step, shape), 0.0, 1.0) for m in range(1, kinds)]
        shares = (np.clip(1.0 - sum(some), 0.0, 1.0), *some)
    if pixel < 2.0 * surface.pitch:
        fine = step / TEXTURE_PITCH
        texture = _sample(surface.texture, col / TEXTURE_PITCH, row / TEXTURE_PITCH, fine, shape)
        texture *= sum(np.float32(r) * s for r, s in zip(surface.specimen.roughness, shares, strict=True))
    else:
        texture = None
    return _Relief(height, texture, shares, pixel)


def _sample_mask(
    a: npt.NDArray[np.uint8], value: int, x: float, y: float, step: float, shape: tuple[int, int]
) -> Picture:
    """Like `_sample`, of the pixels that equal a value."""
    across, x0, nx = _weights(x, step, shape[1], SIZE)
    down, y0, ny = _weights(y, step, shape[0], SIZE)
    part = _piece(a, y0, ny, x0, nx) == value
    if not part.any():
        return np.zeros(shape, dtype=np.float32)
    mask = part.astype(np.float32)
    if step < 1.0:
        # Seen closer than it is stored, a boundary would show its pixels.
        mask = ndimage.gaussian_filter(mask, 0.7, mode="nearest", truncate=3.0)
    return np.asarray((across @ (down @ mask).T).T, dtype=np.float32)


# --- the sharp view -----------------------------------------------------------------------------------------


class _Blurs:
    """Gaussian blurs of pictures of one size, through the Fourier transform; periodic, so give them a margin."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.shape = shape
        ky = np.fft.fftfreq(shape[0]).astype(np.float32)[:, None]
        kx = np.fft.rfftfreq(shape[1]).astype(np.float32)[None, :]
        self.square = -2.0 * np.float32(math.pi) ** 2 * (ky**2 + kx**2)

    def forward(self, a: Picture) -> npt.NDArray[np.complex64]:
        """Transform a picture."""
        return np.asarray(fft.rfft2(a), dtype=np.complex64)

    def back(self, spectrum: npt.NDArray[np.complex64], sigma: float) -> Picture:
        """Blur by sigma pixels."""
        return np.asarray(fft.irfft2(spectrum * np.exp(self.square * np.float32(sigma**2)), s=self.shape))


def _slopes(height: Picture, pixel: float) -> tuple[Picture, Picture]:
    """Derivatives along x and y; central differences, one-sided at the rim."""
    dy, dx = np.gradient(height, pixel)
    return np.asarray(dx, dtype=np.float32), np.asarray(dy, dtype=np.float32)


def _horizon(height: Picture, pixel: float) -> Picture:
    """Tangent of the elevation of the skyline towards the Everhart-Thornley detector, which is up the screen."""
    out = np.zeros_like(height)
    distance = 1
    while distance < min(MARGIN, height.shape[0] - 1):
        rise = (height[:-distance] - height[distance:]) / np.float32(distance * pixel)
        np.maximum(out[distance:], rise, out=out[distance:])
        distance = max(distance + 1, round(distance * 1.6))
    return out


def _openness(blurs: _Blurs, spectrum: npt.NDArray[np.complex64], relief: _Relief) -> Picture:
    """Share of the electrons that get out of the hole they start in.

    A stand-in for the sky seen from the place: depth below the mean surface around it, over the size of the
    surroundings, at several sizes (multi-scale ambient occlusion).
    """
    depth = np.zeros(blurs.shape, dtype=np.float32)
    for size in (0.4, 1.2, 3.6, 10.0):
        sigma = size / relief.pixel
        if not 0.6 <= sigma <= MARGIN:
            continue
        depth += np.maximum((blurs.back(spectrum, sigma) - relief.height) / np.float32(size), 0.0)
    return np.asarray(_FILL + (1.0 - _FILL) / (1.0 + 0.8 * depth) ** 1.5, dtype=np.float32)


def _signal(surface: Surface, relief: _Relief, voltage: float, detector: Detector) -> Picture:
    """Yield at every pixel of a piece of surface."""
    # Blurs run on beyond opposite rims; the margin is there for that, too.
    blurs = _Blurs((relief.height.shape[0], relief.height.shape[1]))
    spectrum = blurs.forward(relief.height)
    dx, dy = _slopes(relief.height, relief.pixel)
    cos = 1.0 / np.sqrt(1.0 + dx**2 + dy**2)
    fine = None
    if relief.texture is not None:
        tx, ty = _slopes(relief.texture, relief.pixel)
        fine = 1.0 / np.sqrt(1.0 + (dx + tx) ** 2 + (dy + ty) ** 2)
        dy = dy + ty
    openness = _openness(blurs, spectrum, relief)
    total = np.zeros_like(relief.height)
    near = np.zeros_like(relief.height)
    backscattered = np.zeros_like(relief.height)
    for material, share in zip(surface.materials, relief.shares, strict=True):
        if not share.any():
            continue
        reach = electron_range(material, voltage)
        halo = min(_HALO * reach / relief.pixel, float(MARGIN))
        # The interaction volume comes close to the surface at edges: what stands out over its surroundings, in ranges.
        stands = (relief.height - blurs.back(spectrum, max(halo, 0.7))) / np.float32(max(0.5 * reach, relief.pixel))
        edge = np.clip(stands, -0.35, 1.0)
        back = tilted_eta(cos, material.z) * (1.0 + 0.35 * edge) * share
        if halo > 0.3:
            back = blurs.back(blurs.forward(back), halo)
        backscattered += back
        if detector == "BSE":
            continue
        normal = secondary_yield(material, voltage)
        ratio = _SE2_SHARE * eta(material.z)
        direct = normal / (1.0 + ratio)
        tilt = tilt_factor(cos, material.z)
        if fine is not None:
            # Cliffs of the stored map are no sharper than its pixels; the texture on them is.
            sigma = 0.6 * surface.pitch / relief.pixel
            tilt = blurs.back(blurs.forward(tilt), sigma) * (tilt_factor(fine, material.z) / tilt)
        near += share * direct * tilt * (1.0 + 0.5 * edge)
        # SE2 leave where the backscattered electrons do, through whatever slope is there.
        total += direct * _SE2_SHARE * back * np.sqrt(tilt) * (1.0 + 0.8 * edge)
    total += near
    # Straight lines: holes keep more of the backscattered electrons than of the secondaries.
    backscattered *= openness**1.3
    if detector == "BSE":
        # A ring above: slopes that face sideways send less.
        return np.asarray(backscattered * (0.6 + 0.4 * cos), dtype=np.float32)
    sky = _horizon(relief.height, relief.pixel)
    # The collecting field bends secondaries round corners: a skyline towards the detector takes some, never all.
    screened = 1.0 - 0.45 * sky / np.sqrt(1.0 + sky**2)
    facing = (
        1.0 + 0.22 * dy * cos
    )  # the normal's share towards the detector: surfaces that rise down the screen face it
    # SE3 know nothing of the surface where they come from, wherever it is that the detector stands.
    return np.asarray(total * openness * screened * facing + _SE3_SHARE * backscattered, dtype=np.float32)


def _grid(
    centre: tuple[float, float], width: float, shape: tuple[int, int], margin: int
) -> tuple[float, float, float, tuple[int, int]]:
    """First pixel's x and y (um), pixel size (um) and shape of a view with a margin."""
    pixel = width / shape[1]
    rows, cols = shape[0] + 2 * margin, shape[1] + 2 * margin
    return centre[0] - (cols - 1) / 2 * pixel, centre[1] - (rows - 1) / 2 * pixel, pixel, (rows, cols)


class _View(NamedTuple):
    """All that a sharp view depends on; equal views share what was computed of them."""

    surface: Surface
    voltage: float
    """kV."""
    detector: Detector
    centre: tuple[float, float]
    """um."""
    width: float
    """um."""
    shape: tuple[int, int]
    """Rows and columns."""
    rotation: float
    """deg."""

    def signal(self, x: float, y: float, shape: tuple[int, int]) -> Picture:
        """The upright signal from a first pixel on, um."""
        relief = _relief(self.surface, x, y, self.width / self.shape[1], shape)
        return _signal(self.surface, relief, self.voltage, self.detector)


@lru_cache(maxsize=6)
def _wide(view: _View) -> Picture:
    """The sharp view with its margin."""
    centre, shape = view.centre, view.shape
    if view.rotation == 0.0:
        x, y, _, full = _grid(centre, view.width, shape, MARGIN)
        out = view.signal(x, y, full)
        out.setflags(write=False)
        return out
    # Shadows belong to the chamber, not to the scan: compute upright, then turn.
    turn = math.radians(view.rotation)
    cos, sin = math.cos(turn), math.sin(turn)
    rows, cols = shape[0] + 2 * MARGIN, shape[1] + 2 * MARGIN
    pixel = view.width / shape[1]
    around = (
        math.ceil(abs(rows * cos) + abs(cols * sin)) + 4,
        math.ceil(abs(rows * sin) + abs(cols * cos)) + 4,
    )
    around = (fft.next_fast_len(around[0], real=True), fft.next_fast_len(around[1], real=True))
    x, y = centre[0] - (around[1] - 1) / 2 * pixel, centre[1] - (around[0] - 1) / 2 * pixel
    upright = view.signal(x, y, around)
    # Row and column of the upright picture for those of the turned one.
    matrix = np.array([[cos, sin], [-sin, cos]])
    shift = np.array([(around[0] - 1) / 2, (around[1] - 1) / 2]) - matrix @ np.array([(rows - 1) / 2, (cols - 1) / 2])
    out = ndimage.affine_transform(upright, matrix, shift, output_shape=(rows, cols), order=3, mode="nearest")
    out = np.maximum(out, 0.0).astype(np.float32)
    out.setflags(write=False)
    return out


def ideal(
    surface: Surface,
    voltage: float,
    detector: Detector,
    centre: tuple[float, float],
    width: float,
    shape: tuple[int, int] = (512, 512),
    rotation: float = 0.0,
) -> Picture:
    """Emitted signal electrons per beam electron: a sharp view without noise.

    Parameters
    ----------
    surface : the specimen.
    voltage : accelerating voltage, kV.
    detector : ``SE`` or ``BSE``.
    centre : what is in the middle, um.
    width : width of the field, um; pixels are square.
    shape : rows and columns.
    rotation : scan rotation, deg; a positive one turns the picture counter-clockwise on the screen.
    """
    wide = _wide(_View(surface, voltage, detector, _exact(centre), width, shape, rotation))
    return wide[MARGIN:-MARGIN, MARGIN:-MARGIN]


def _exact(centre: tuple[float, float]) -> tuple[float, float]:
    """Plain floats, so that caches see equal keys."""
    return float(centre[0]), float(centre[1])


@lru_cache(maxsize=6)
def _wide_spectrum(view: _View) -> npt.NDArray[np.complex64]:
    """Transform of the sharp view with its margin, so that a frame takes only the way back."""
    return np.asarray(fft.rfft2(_wide(view)), np.complex64)


# --- the detector -------------------------------------------------------------------------------------------


def beam_electrons(current: float, dwell: float) -> float:
    """Beam electrons per pixel: I t / e; ``current`` in pA, ``dwell`` in us."""
    return current * 1e-12 * dwell * 1e-6 / ELEMENTARY_CHARGE


def collected(yields: float, current: float, dwell: float, detector: Detector) -> float:
    """Signal electrons registered per pixel, on average."""
    return yields * COLLECTION[detector] * beam_electrons(current, dwell)


def snr(yields: float, current: float, dwell: float, detector: Detector) -> float:
    """Signal over standard deviation in one pixel: sqrt(n) of a Poisson process with n registered electrons.

    Rose (1948): a feature is recognised from 5 on. That one beam electron may release several secondaries, which arrive
    together, is left out (Reimer 1998, section 4.2.4: it costs a factor of about sqrt(1 + delta)).
    """
    return math.sqrt(collected(yields, current, dwell, detector))


def gain(contrast: float) -> float:
    """Gain of the detector: 1 at contrast 50 %, ten times more for every 25 % (a photomultiplier's power law)."""
    return float(10.0 ** ((contrast - 50.0) / 25.0))


def offset(brightness: float) -> float:
    """Offset in units of the grey range: -2 to 2 for brightness 0 to 100 %."""
    return (brightness - 50.0) / 25.0


def balanced(
    yields: npt.ArrayLike, current: float, detector: Detector, low: float = 0.08, high: float = 0.85
) -> tuple[float, float]:
    """Contrast and brightness (%) that put the 1st and the 99th percentile of a view at two grey levels (0 to 1)."""
    first, last = np.percentile(np.asarray(yields), [1.0, 99.0])
    scale = COLLECTION[detector] * current / REFERENCE_CURRENT
    factor = (high - low) / max(float(last - first) * scale, 1e-12)
    bright = low - factor * float(first) * scale
    return 50.0 + 25.0 * math.log10(factor), 50.0 + 25.0 * bright


@dataclass(frozen=True)
class Patch:
    """A rectangle in which the beam has cracked hydrocarbons to a film."""

    x: float
    """Centre, um."""
    y: float
    """Centre, um."""
    width: float
    """um."""
    height: float
    """um."""
    dose: float
    """Charge per area, pC/um^2."""
    rotation: float = 0.0
    """Scan rotation under which it was scanned, deg."""


CONTAMINATION_DOSE = 20.0
"""Dose at which a contamination film has grown to 63 % of its final effect, pC/um^2."""
CONTAMINATION_DEPTH = 0.35
"""Share of the signal that a thick film takes: carbon's yield instead of the specimen's."""


@dataclass(frozen=True)
class Frame:
    """How a picture is taken, besides where and with which probe."""

    dwell: float
    """Time per pixel, us."""
    contrast: float
    """Detector gain, %."""
    brightness: float
    """Detector offset, %."""
    detector: Detector = "SE"
    """Detector."""
    shift: tuple[float, float] = (0.0, 0.0)
    """Where the specimen has drifted to at the start of the frame, um to the right and down the screen."""
    drift: tuple[float, float] = (0.0, 0.0)
    """Its velocity, um/s."""
    patches: tuple[Patch, ...] = ()
    """Contaminated rectangles."""
    integration: int = 1
    """Frames averaged."""


def _otf(shape: tuple[int, int], column: Column, pixel: float, shift: tuple[float, float]) -> npt.NDArray[np.complex64]:
    """Transfer function of the blur, with a displacement by ``shift`` um."""
    major, minor, direction = blur_ellipse(column)
    turn = math.radians(-direction)  # rows count down the screen
    cos, sin = math.cos(turn), math.sin(turn)
    a, b = (major / pixel) ** 2, (minor / pixel) ** 2
    xx, yy, xy = a * cos**2 + b * sin**2, a * sin**2 + b * cos**2, (a - b) * sin * cos
    ky = np.fft.fftfreq(shape[0]).astype(np.float32)[:, None]
    kx = np.fft.rfftfreq(shape[1]).astype(np.float32)[None, :]
    factor = np.float32(-2.0 * math.pi**2)
    out = np.exp(factor * (np.float32(xx) * kx**2 + np.float32(yy) * ky**2 + np.float32(2.0 * xy) * kx * ky))
    if shift == (0.0, 0.0):
        return np.asarray(out, dtype=np.complex64)
    phase_x = np.exp(np.complex64(-2j * math.pi) * kx * np.float32(shift[0] / pixel))
    phase_y = np.exp(np.complex64(-2j * math.pi) * ky * np.float32(shift[1] / pixel))
    return np.asarray(out * phase_x * phase_y, dtype=np.complex64)


def _film(
    patches: Sequence[Patch], centre: tuple[float, float], width: float, shape: tuple[int, int], rotation: float
) -> Picture:
    """Share of the signal that contamination leaves."""
    pixel = width / shape[1]
    cols = ((np.arange(shape[1]) - (shape[1] - 1) / 2) * pixel).astype(np.float32)[None, :]
    rows = ((np.arange(shape[0]) - (shape[0] - 1) / 2) * pixel).astype(np.float32)[:, None]
    dose = np.zeros(shape, dtype=np.float32)
    for p in patches:
        # From the screen to the specimen, then into the frame in which the patch was scanned.
        turn = math.radians(rotation - p.rotation)
        back = math.radians(p.rotation)
        px = math.cos(back) * (centre[0] - p.x) + math.sin(back) * (centre[1] - p.y)
        py = -math.sin(back) * (centre[0] - p.x) + math.cos(back) * (centre[1] - p.y)
        u = px + math.cos(turn) * cols - math.sin(turn) * rows
        v = py + math.sin(turn) * cols + math.cos(turn) * rows
        soft = 0.25  # um: hydrocarbons diffuse over the edge
        inside = np.minimum(p.width / 2 - np.abs(u), p.height / 2 - np.abs(v)) / soft + 0.5
        dose += np.float32(p.dose) * np.clip(inside, 0.0, 1.0)
    return np.asarray(1.0 - CONTAMINATION_DEPTH * (1.0 - np.exp(-dose / CONTAMINATION_DOSE)), dtype=np.float32)


def _scanned(wide: Picture, frame: Frame, pixel: float) -> Picture:
    """Cut the margin off; while the specimen moves, every row shows it a little farther on."""
    rows, cols = wide.shape[0] - 2 * MARGIN, wide.shape[1] - 2 * MARGIN
    row_time = cols * frame.dwell * 1e-6 * frame.integration
    moved_x, moved_y = (v * row_time / pixel for v in frame.drift)  # pixels a row
    if max(abs(moved_x), abs(moved_y)) * rows < 0.05:
        return wide[MARGIN:-MARGIN, MARGIN:-MARGIN]
    index = np.arange(rows, dtype=np.float64)
    source_y = np.clip(MARGIN + index - moved_y * index, 0.0, wide.shape[0] - 1.001)
    y0 = source_y.astype(np.intp)
    fy = (source_y - y0).astype(np.float32)[:, None]
    out = wide[y0] * (1.0 - fy) + wide[y0 + 1] * fy
    source_x = np.clip(MARGIN + np.arange(cols)[None, :] - (moved_x * index)[:, None], 0.0, wide.shape[1] - 1.001)
    x0 = source_x.astype(np.intp)
    fx = (source_x - x0).astype(np.float32)
    return np.asarray(np.take_along_axis(out, x0, 1) * (1.0 - fx) + np.take_along_axis(out, x0 + 1, 1) * fx)


def expected(
    surface: Surface,
    column: Column,
    frame: Frame,
    centre: tuple[float, float],
    width: float,
    shape: tuple[int, int] = (512, 512),
    rotation: float = 0.0,
) -> Picture:
    """Emitted signal electrons per beam electron as the probe shows them: blurred, moved, contaminated; no noise."""
    at = _exact(centre)
    spectrum = _wide_spectrum(_View(surface, column.voltage, frame.detector, at, width, shape, rotation))
    full = (shape[0] + 2 * MARGIN, shape[1] + 2 * MARGIN)
    pixel = width / shape[1]
    # A blur that reaches beyond the margin is as flat as one that ends there.
    wide = fft.irfft2(spectrum * _otf(full, column, pixel, frame.shift), s=full)
    out = np.maximum(_scanned(wide, frame, pixel), 0.0).astype(np.float32)
    if frame.patches:
        here = (at[0] - frame.shift[0], at[1] - frame.shift[1])
        out = out * _film(frame.patches, here, width, shape, rotation)
    return out


def _lagging(x: npt.NDArray[Any], new: float, kept: float) -> npt.NDArray[np.float64]:
    """What follows its input with a delay along the last axis: y[i] = new * x[i] + kept * y[i - 1].

    As ``scipy.signal.lfilter`` has it, to the last bit and as fast; importing that takes longer than a server's start.
    """
    along = np.ascontiguousarray(np.moveaxis(x, -1, 0), dtype=np.float64) * new
    for i in range(1, len(along)):
        along[i] += kept * along[i - 1]
    return np.moveaxis(along, 0, -1)


def _charged(video: Picture, severity: float, dwell: float, rng: np.random.Generator) -> Picture:
    """What charging does to a picture: glow, bright trails along the scan, lines that jump, bands.

    Phenomenological, after the pictures in Goldstein 2018, chapter 9: the surface's potential follows the beam with a
    delay, so that bright places drag a trail, and breaks down now and then, which shifts lines.
    """
    rows, cols = video.shape
    level = float(video.mean())
    trail = _lagging(np.maximum(video - level, 0.0), 0.04, 0.96).astype(np.float32)
    # The slow wander of the potential, line after line: an AR(1) process that forgets in about 12 lines.
    steps = rng.standard_normal(rows)
    wander = _lagging(np.asarray(steps), math.sqrt(1 - 0.92**2), 0.92)
    jumps = np.where(rng.random(rows) < 0.06 * severity, rng.standard_normal(rows), 0.0)
    jumps = _lagging(jumps, 1.0, 0.7)
    pushed = np.rint(4.0 * severity * (0.6 * wander + 1.2 * jumps)).astype(np.intp)
    columns = np.clip(np.arange(cols)[None, :] - pushed[:, None], 0, cols - 1)
    out = np.take_along_axis(video + 1.6 * severity * trail, columns, 1)
    band = (1.0 + severity * (0.55 + 0.10 * wander + 0.22 * jumps)).astype(np.float32)
    # A slow scan has more time to charge.
    worse = min(1.5, 0.8 + 0.2 * math.log10(max(dwell, 0.1) * 10.0))
    return np.asarray(out * band[:, None] ** worse, dtype=np.float32)


def _noisy(mean: Picture, rng: np.random.Generator) -> Picture:
    """Poisson numbers.

    From 20 on a normal deviate of the same variance: the largest difference between the two distribution functions is
    then 0.4 / sqrt(20) = 0.03 of the skewness term (Berry-Esseen scale), below one grey level of a picture.
    """
    if float(mean.mean()) < 20.0:
        return rng.poisson(mean).astype(np.float32)
    out = mean + np.sqrt(mean) * rng.standard_normal(mean.shape, dtype=np.float32)
    few = mean < 20.0
    if few.any():
        out[few] = rng.poisson(mean[few])
    return np.asarray(out, dtype=np.float32)


def render(
    surface: Surface,
    column: Column,
    frame: Frame,
    centre: tuple[float, float],
    width: float,
    key: Sequence[int],
    shape: tuple[int, int] = (512, 512),
    rotation: float = 0.0,
) -> npt.NDArray[np.uint8]:
    """Take a picture.

    Grey = 255 (gain * registered electrons * (I / 100 pA) + offset), clipped: brighter with more current, not with a
    longer dwell, which only lowers the noise.

    Parameters
    ----------
    surface : the specimen.
    column : probe.
    frame : detector, dwell and what else happens.
    centre : what the deflection is aimed at, um; a drifted specimen shows something else there.
    width : width of the field, um.
    key : what the noise is drawn from (seed, number of the frame, ...): equal keys give equal pictures.
    shape : rows and columns.
    rotation : scan rotation, deg.
    """
    rng = np.random.default_rng([int(k) for k in key])
    emitted = expected(surface, column, frame, centre, width, shape, rotation)
    severity = charging(surface, column.voltage, column.current)
    if severity > 0.0:
        emitted = _charged(emitted, severity, frame.dwell, rng)
    electrons = beam_electrons(column.current, frame.dwell) * frame.integration
    share = COLLECTION[frame.detector]
    counts = _noisy(emitted * np.float32(share * electrons), rng)
    level = gain(frame.contrast) * column.current / REFERENCE_CURRENT / max(electrons, 1e-9)
    grey = counts * np.float32(255.0 * level) + np.float32(255.0 * offset(frame.brightness) + 0.5)
    return np.asarray(np.clip(grey, 0.0, 255.0), dtype=np.uint8)


def histogram(image: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Pixels at each of the 256 grey levels."""
    return np.bincount(np.asarray(image, dtype=np.uint8).ravel(), minlength=256)
