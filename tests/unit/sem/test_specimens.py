"""Surfaces: made from the seed alone, without edges, and what their rules say."""

from __future__ import annotations

import numpy as np
import pytest

from matassay.suites.instruments.sem.specimens import MATERIALS, SIZE, SPECIMENS, surface


def test_there_are_enough() -> None:
    assert len(SPECIMENS) >= 6
    assert any(s.insulator for s in SPECIMENS.values())
    for s in SPECIMENS.values():
        assert len(s.roughness) == len(s.materials)
        assert set(s.materials) <= set(MATERIALS)


@pytest.mark.parametrize("key", sorted(SPECIMENS))
def test_surface(key: str) -> None:
    s = surface(key, 1)
    assert s.height.shape == s.material.shape == (SIZE, SIZE)
    assert s.height.dtype == np.float32
    assert np.isfinite(s.height).all()
    assert int(s.material.max()) < len(s.materials)
    assert len(np.unique(s.material)) == len(s.materials)
    half = s.specimen.extent / 2.0
    assert s.features or key == "fibres"
    for f in s.features:
        assert abs(f.x) <= half
        assert abs(f.y) <= half
        assert s.feature(f.name) is f
    assert abs(float(s.texture.std()) - 1.0) < 1e-3
    # Opposite sides meet: the step across the map's edge is like any other.
    inner = np.abs(np.diff(s.height, axis=1)).mean(axis=0)
    assert np.abs(s.height[:, 0] - s.height[:, -1]).mean() < inner.mean() + 8.0 * inner.std()


def test_surface_is_made_from_the_seed() -> None:
    first = surface("abrasive", 11)
    surface.cache_clear()
    again, other = surface("abrasive", 11), surface("abrasive", 12)
    assert np.array_equal(first.height, again.height)
    assert first.features == again.features
    assert not np.array_equal(first.height, other.height)
    assert surface("abrasive", 11) is again


def test_unknown_feature() -> None:
    with pytest.raises(KeyError):
        surface("abrasive", 11).feature("nothing")


def test_stripes_have_the_stated_pitch_and_angle() -> None:
    s = surface("stripes", 1)
    f = s.feature("stripes")
    assert 4.0 <= f.pitch <= 6.0
    assert 5.0 < abs(f.angle) < 15.0
    col, row = (int(c / s.pitch + SIZE / 2) for c in (f.x, f.y))
    n = 256
    part = (s.material[row - n : row + n, col - n : col + n] == 1).astype(float)
    window = np.hanning(2 * n)[:, None] * np.hanning(2 * n)
    power = np.abs(np.fft.fft2((part - part.mean()) * window, (2048, 2048))) ** 2
    y, x = np.unravel_index(np.argmax(power[:, :1024]), (2048, 1024))
    frequency = np.hypot(np.fft.fftfreq(2048)[y], x / 2048) / s.pitch
    assert 1.0 / frequency == pytest.approx(f.pitch, rel=0.01)
    # The wave vector of vertical stripes lies along x; the picture's y points down, so it counts the other way.
    assert np.degrees(np.arctan2(-np.fft.fftfreq(2048)[y], x / 2048)) == pytest.approx(f.angle, abs=0.5)


def test_balls_follow_a_power_law() -> None:
    """Tin covers a third to two thirds; the biggest ball is many times the smallest."""
    s = surface("tin_balls", 1)
    assert 0.25 < (s.material == 1).mean() < 0.65
    sizes = [f.width for f in s.features]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 8.0
