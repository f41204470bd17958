"""How good a picture is, from its pixels alone: sharpness, noise, and likeness to a sharp, noise-free view.

Nothing here knows the state of the microscope, so an agent may use it on a screenshot.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import fft, ndimage

__all__ = ["Likeness", "likeness", "noise", "psnr", "sharpness", "shift_between"]

Picture = npt.NDArray[np.float64]


def _windowed(image: npt.ArrayLike) -> Picture:
    """The picture without its mean, faded out at the rim so that opposite sides meet (Hann window)."""
    a = np.asarray(image, dtype=np.float64)
    if a.ndim == 3:
        a = a[..., :3].mean(axis=2)
    if a.ndim != 2 or min(a.shape) < 16:
        raise ValueError(f"a picture of at least 16 x 16 pixels is needed, not {a.shape}")
    window = _window(a.shape)
    return (a - (a * window).sum() / window.sum()) * window


# What depends on a picture's size alone is made once: every step of an episode measures the view that it leaves.


@functools.lru_cache(maxsize=4)
def _window(shape: tuple[int, ...]) -> Picture:
    return np.hanning(shape[0])[:, None] * np.hanning(shape[1])[None, :]


@functools.lru_cache(maxsize=4)
def _frequencies(shape: tuple[int, ...]) -> Picture:
    """Spatial frequency of the coefficients of a real transform, cycles per pixel."""
    return np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :])


@functools.lru_cache(maxsize=4)
def _rings(shape: tuple[int, ...]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Ring of one step of frequency of every coefficient, the size of each ring, and the corners beyond all signal."""
    k = _frequencies(shape)
    ring = np.rint(k * min(shape)).astype(np.intp).ravel()
    return ring, np.bincount(ring), k > 0.55


@functools.lru_cache(maxsize=4)
def _low_pass(shape: tuple[int, ...], blur: float) -> Picture:
    """Transfer function of a Gaussian of ``blur`` pixels."""
    return np.exp(-2.0 * (math.pi * blur * _frequencies(shape)) ** 2)


def sharpness(image: npt.ArrayLike) -> float:
    """Sharpness of a picture in cycles per pixel: the root mean square spatial frequency of what is not noise.

    The power spectrum, less the level it has in its corners (white noise), weighted by frequency squared: the mean
    square gradient over the variance. Contrast and brightness drop out; so does noise, on average. A Gaussian blur
    lowers it always, because it takes from high frequencies more than from low ones. The measure is that of gradient
    autofocus (Groen, Young & Ligthart, Cytometry 6 (1985) 81), written in Fourier space to take off the noise.

    Parameters
    ----------
    image : grey or colour picture, any range.

    Returns
    -------
    0 for a picture with nothing but noise.
    """
    a = _windowed(image)
    f = fft.rfft2(a)
    power = f.real**2 + f.imag**2
    # Means over rings of one step of frequency; the corners beyond half a cycle per pixel hold the noise alone.
    size = min(a.shape)
    ring, number, corners = _rings(a.shape)
    mean = np.bincount(ring, weights=power.ravel()) / np.maximum(number, 1)
    floor = float(power[corners].mean())
    first, last = 2, size // 2  # a window spreads the mean over ring 1
    # Signal ends where three rings in a row cannot be told from noise: a ring of n coefficients scatters by 1/sqrt(n).
    hidden = mean <= floor * (1.0 + 4.0 / np.sqrt(np.maximum(number, 1)))
    run = hidden[first:last] & hidden[first + 1 : last + 1] & hidden[first + 2 : last + 2]
    end = first + int(np.argmax(run)) if run.any() else last
    if end <= first:
        return 0.0
    rings = np.arange(first, end)
    above = np.maximum(mean[first:end] - floor, 0.0) * rings  # a ring's area grows with its radius
    total = float(above.sum())
    return math.sqrt(float((above * rings**2).sum()) / total) / size if total > 0.0 else 0.0


def noise(image: npt.ArrayLike) -> float:
    """Standard deviation of a picture's white noise, in its own units.

    Median absolute deviation of the finest diagonal Haar coefficients over 0.6745 (Donoho & Johnstone, Biometrika 81
    (1994) 425): edges are outliers to a median.
    """
    a = np.asarray(image, dtype=np.float64)
    a = a[: a.shape[0] // 2 * 2, : a.shape[1] // 2 * 2]
    diagonal = (a[::2, ::2] - a[1::2, ::2] - a[::2, 1::2] + a[1::2, 1::2]) / 2.0
    return float(np.median(np.abs(diagonal - np.median(diagonal))) / 0.6745)


def shift_between(image: npt.ArrayLike, reference: npt.ArrayLike, blur: float = 1.5) -> tuple[float, float]:
    """How far a picture's content lies to the right of and below a reference's, pixels.

    Phase correlation (Kuglin & Hines 1975) with a Gaussian low-pass of ``blur`` pixels against noise, and a parabola
    through the three values at the peak for fractions of a pixel.
    """
    a, b = _windowed(image), _windowed(reference)
    if a.shape != b.shape:
        raise ValueError(f"pictures of {a.shape} and {b.shape} pixels")
    cross = fft.rfft2(a) * np.conj(fft.rfft2(b))
    size = np.abs(cross)
    # Whitened by the square root only: full whitening gives every frequency a vote, also those that hold only noise.
    cross = cross / np.sqrt(size + 1e-12 * float(size.max()) + 1e-300)
    cross *= _low_pass(a.shape, blur)
    peak = fft.irfft2(cross, s=a.shape)
    row, col = (int(i) for i in np.unravel_index(int(np.argmax(peak)), peak.shape))

    def fraction(before: float, at: float, after: float) -> float:
        bend = before - 2.0 * at + after
        return 0.0 if bend == 0.0 else 0.5 * (before - after) / bend

    rows, cols = peak.shape
    at = float(peak[row, col])
    down = row + fraction(float(peak[row - 1, col]), at, float(peak[(row + 1) % rows, col]))
    right = col + fraction(float(peak[row, col - 1]), at, float(peak[row, (col + 1) % cols]))
    return (right + cols / 2) % cols - cols / 2, (down + rows / 2) % rows - rows / 2


@dataclass(frozen=True)
class Likeness:
    """How a picture compares with a sharp, noise-free view of the same place."""

    psnr: float
    """Peak signal-to-noise ratio after registration and an affine grey fit, dB."""
    correlation: float
    """Correlation coefficient after registration."""
    shift: tuple[float, float]
    """Where the picture lies relative to the view, pixels to the right and down."""


def likeness(image: npt.ArrayLike, reference: npt.ArrayLike, largest_shift: float = 0.15) -> Likeness:
    """Compare a picture with the sharp, noise-free view of its place.

    The view is moved onto the picture by `shift_between` (not at all if that finds more than ``largest_shift`` of the
    picture's width, which is no drift but a wrong peak), the rim is left out, and grey values are fitted as
    view = a * picture + b by least squares. In this direction contrast, brightness and gain drop out, and a picture
    that shows nothing comes out worst: its error is the view's own variance. The peak is the view's range between
    its 0.5th and 99.5th percentile.

    PSNR = 10 log10(peak^2 / mean square error).
    """
    a, b = np.asarray(image, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    right, down = shift_between(a, b)
    limit = largest_shift * a.shape[1]
    if abs(right) > limit or abs(down) > limit:
        right = down = 0.0
    moved = ndimage.shift(b, (down, right), order=3, mode="nearest")
    rim_y, rim_x = (max(2, math.ceil(abs(s)) + 1) for s in (down, right))
    inside = (slice(rim_y, a.shape[0] - rim_y), slice(rim_x, a.shape[1] - rim_x))
    x, y = a[inside].ravel(), moved[inside].ravel()
    low, high = np.percentile(y, [0.5, 99.5])
    peak = float(high - low)
    if peak <= 0.0:
        raise ValueError("the reference shows nothing")
    x, variance = x - x.mean(), float(y.var())
    spread = float((x * x).mean())
    r = 0.0 if spread == 0.0 else float((x * (y - y.mean())).mean()) / math.sqrt(spread * variance)
    error = max(variance * (1.0 - r * r), 1e-12 * peak**2)
    return Likeness(10.0 * math.log10(peak**2 / error), r, (right, down))


def psnr(image: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """PSNR in dB of a picture against a sharp, noise-free view; see `likeness`."""
    return likeness(image, reference).psnr
