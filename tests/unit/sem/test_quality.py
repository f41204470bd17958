"""Measures of a picture's quality."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import ndimage

from matassay.suites.instruments.sem import quality


@pytest.fixture(scope="module")
def scene() -> np.ndarray:
    """A sharp picture with edges of all sizes."""
    rng = np.random.default_rng(2)
    out = np.zeros((320, 384))
    yy, xx = np.mgrid[:320, :384]
    for _ in range(300):
        x, y, r = rng.random() * 384, rng.random() * 320, rng.pareto(1.8) * 2.0 + 2.0
        out[(xx - x) ** 2 + (yy - y) ** 2 < r * r] = rng.random()
    return ndimage.gaussian_filter(out, 0.6)


def test_sharpness_falls_with_blur(scene: np.ndarray) -> None:
    values = [
        quality.sharpness(ndimage.gaussian_filter(scene, s)) for s in (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0, 12.0)
    ]
    assert values == sorted(values, reverse=True)
    assert values[0] > 5.0 * values[-1]


def test_sharpness_of_a_gaussian_spectrum() -> None:
    """White noise blurred by sigma has an rms frequency of 1 / (2 pi sigma)."""
    rng = np.random.default_rng(1)
    for sigma in (1.5, 3.0, 6.0):
        image = ndimage.gaussian_filter(rng.standard_normal((512, 512)), sigma, mode="wrap")
        assert quality.sharpness(image) == pytest.approx(1.0 / (2.0 * math.pi * sigma), rel=0.04)


def test_sharpness_knows_no_contrast_and_little_noise(scene: np.ndarray) -> None:
    rng = np.random.default_rng(3)
    blurred = ndimage.gaussian_filter(scene, 2.0)
    plain = quality.sharpness(blurred)
    assert quality.sharpness(37.0 * blurred + 12.0) == pytest.approx(plain, rel=1e-6)
    assert quality.sharpness(blurred + 0.05 * rng.standard_normal(scene.shape)) == pytest.approx(plain, rel=0.1)
    assert quality.sharpness(np.repeat(blurred[..., None], 3, axis=2)) == pytest.approx(plain)


def test_sharpness_of_nothing() -> None:
    rng = np.random.default_rng(3)
    assert quality.sharpness(np.full((64, 64), 7.0)) == 0.0
    assert quality.sharpness(rng.standard_normal((256, 256))) == 0.0
    with pytest.raises(ValueError, match="16 x 16"):
        quality.sharpness(np.zeros((8, 8)))


def test_noise_estimate(scene: np.ndarray) -> None:
    rng = np.random.default_rng(4)
    assert quality.noise(scene) < 0.01
    assert quality.noise(scene + 0.1 * rng.standard_normal(scene.shape)) == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize("shift", [(0.0, 0.0), (3.0, -5.0), (0.4, 0.3), (-12.7, 8.2)])
def test_registration(scene: np.ndarray, shift: tuple[float, float]) -> None:
    rng = np.random.default_rng(5)
    moved = ndimage.shift(scene, (shift[1], shift[0]), order=3, mode="wrap")
    found = quality.shift_between(moved + 0.05 * rng.standard_normal(scene.shape), scene)
    assert found == pytest.approx(shift, abs=0.15)
    with pytest.raises(ValueError, match="pixels"):
        quality.shift_between(scene, scene[:100])


def test_psnr_closed_form(scene: np.ndarray) -> None:
    """White noise of sigma on a view of variance v: error v s^2 / (v + s^2) after the best affine fit."""
    rng = np.random.default_rng(6)
    sigma = 0.08
    low, high = np.percentile(scene, [0.5, 99.5])
    error = scene.var() * sigma**2 / (scene.var() + sigma**2)
    expected = 10.0 * math.log10((high - low) ** 2 / error)
    assert quality.psnr(scene + sigma * rng.standard_normal(scene.shape), scene) == pytest.approx(expected, abs=0.25)


def test_psnr_ignores_gain_offset_and_drift(scene: np.ndarray) -> None:
    rng = np.random.default_rng(7)
    noisy = scene + 0.05 * rng.standard_normal(scene.shape)
    plain = quality.psnr(noisy, scene)
    assert quality.psnr(80.0 * noisy + 20.0, scene) == pytest.approx(plain, abs=1e-6)
    moved = ndimage.shift(scene, (4.0, -7.0), mode="wrap") + 0.05 * rng.standard_normal(scene.shape)
    compared = quality.likeness(moved, scene)
    assert compared.shift == pytest.approx((-7.0, 4.0), abs=0.1)
    assert compared.psnr == pytest.approx(plain, abs=0.5)


def test_a_flat_picture_is_the_worst(scene: np.ndarray) -> None:
    rng = np.random.default_rng(8)
    flat = quality.psnr(np.full(scene.shape, 128.0), scene)
    assert flat < quality.psnr(ndimage.gaussian_filter(scene, 10.0), scene)
    assert quality.psnr(rng.standard_normal(scene.shape), scene) == pytest.approx(flat, abs=0.4)
    with pytest.raises(ValueError, match="nothing"):
        quality.psnr(scene, np.zeros(scene.shape))
