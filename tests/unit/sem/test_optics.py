"""The probe against hand calculations, limits, and rays."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from matassay.suites.instruments.sem import optics
from matassay.suites.instruments.sem.optics import Column

COLUMN = Column(voltage=20.0, current=100.0, working_distance=10.0, stage_z=10.0)


@pytest.mark.parametrize(
    ("voltage", "published"), [(1.0, 38.76), (10.0, 12.20), (20.0, 8.588), (30.0, 6.979), (100.0, 3.701)]
)
def test_wavelength(voltage: float, published: float) -> None:
    # Relativistic wavelengths in pm: Reimer & Kohl, Transmission Electron Microscopy, table 2.2, and Williams & Carter.
    assert optics.wavelength(voltage) * 1000.0 == pytest.approx(published, rel=1e-3)


def test_probe_by_hand() -> None:
    # alpha = 75 um / 15 mm. d_A = 0.54 * 0.008588 / 0.005; d_S = 0.18 * 20e6 * 0.005^3; d_C = 0.34 * 12e6 * 0.005 * 1e-4;
    # d_I = 2 / (0.005 pi) * sqrt(1e-10 / (5e4 * 2e4)) m.
    p = optics.probe_parts(COLUMN)
    assert optics.alpha(COLUMN) == pytest.approx(5.0)
    assert p.diffraction == pytest.approx(0.9275, rel=1e-3)
    assert p.spherical == pytest.approx(0.45, rel=1e-6)
    assert p.chromatic == pytest.approx(2.04, rel=1e-6)
    assert p.source == pytest.approx(40.26, rel=1e-3)
    # (0.7401 + 0.0410)^0.325 = 0.923; 40.26^1.3 = 122.0; 122.9^1.5385 = 1640; + 4.16; root = 40.55.
    assert optics.probe_diameter(COLUMN) == pytest.approx(40.55, abs=0.03)


def test_probe_limits() -> None:
    big = replace(COLUMN, current=1e6)
    assert optics.probe_diameter(big) == pytest.approx(optics.probe_parts(big).source, rel=0.01)
    assert optics.probe_diameter(replace(COLUMN, current=4e6)) == pytest.approx(
        2.0 * optics.probe_diameter(big), rel=0.01
    )
    small = replace(COLUMN, current=1e-9)
    p = optics.probe_parts(small)
    alone = math.sqrt(math.sqrt(p.diffraction**4 + p.spherical**4) + p.chromatic**2)
    assert optics.probe_diameter(small) == pytest.approx(alone, rel=0.01)


def test_probe_trends() -> None:
    """Less current, more voltage, a shorter working distance: a smaller probe."""
    best = [optics.best_probe(v, 100.0, 10.0) for v in (1.0, 5.0, 10.0, 20.0, 30.0)]
    assert best == sorted(best, reverse=True)
    best = [optics.best_probe(20.0, i, 10.0) for i in (1.0, 10.0, 100.0, 1000.0)]
    assert best == sorted(best)
    best = [optics.best_probe(20.0, 100.0, d) for d in (5.0, 10.0, 20.0, 40.0)]
    assert best == sorted(best)


def test_blur_in_focus_is_the_probe() -> None:
    major, minor, _ = optics.blur_ellipse(COLUMN)
    assert major == minor == pytest.approx(optics.probe_diameter(COLUMN) / 1000.0 / 2.35482, rel=1e-5)
    assert optics.blur_diameter(COLUMN) * 1000.0 == pytest.approx(optics.probe_diameter(COLUMN))


@pytest.mark.parametrize("offset", [-0.4, 0.4])
def test_defocus_disc(offset: float) -> None:
    """Far from focus the blur is that of a disc of radius alpha * df: half of it."""
    column = replace(COLUMN, working_distance=10.0 + offset)
    assert optics.defocus(column) == pytest.approx(1000.0 * offset)
    major, minor, _ = optics.blur_ellipse(column)
    disc = optics.alpha(column) * 1e-3 * 400.0 / 2.0
    assert major == pytest.approx(minor)
    assert major == pytest.approx(disc, rel=0.01)


def test_surface_height_moves_the_focus() -> None:
    """A place 100 um higher is in focus when the lens focuses 100 um nearer."""
    column = replace(COLUMN, working_distance=9.9)
    assert optics.blur_ellipse(column, height=100.0)[0] == pytest.approx(
        optics.blur_ellipse(replace(column, stage_z=9.9))[0]
    )


def test_line_foci() -> None:
    """Astigmatism of a um: lines at df = +-a, turned by 90 degrees, and a disc half-way."""
    a = 20.0 * optics.ASTIGMATISM_PER_PERCENT
    astigmatic = replace(COLUMN, stigmator_x=20.0)
    over = replace(astigmatic, working_distance=10.0 + a / 1000.0)
    under = replace(astigmatic, working_distance=10.0 - a / 1000.0)
    for column, direction in ((over, 0.0), (under, -90.0)):
        major, minor, angle = optics.blur_ellipse(column)
        assert minor * 1000.0 * optics.FW50_PER_SIGMA == pytest.approx(optics.probe_diameter(column), rel=1e-6)
        assert major > 20.0 * minor
        assert angle == pytest.approx(direction)
    major, minor, _ = optics.blur_ellipse(astigmatic)
    assert major == pytest.approx(minor)


def test_stigmators_cancel_the_column() -> None:
    column = replace(COLUMN, astig_x=-13.0, astig_y=7.0)
    assert optics.blur_diameter(column) > 5.0 * optics.blur_diameter(COLUMN)
    cured = optics.in_focus(replace(column, working_distance=10.3, focus_error=20.0))
    assert optics.blur_diameter(cured) == pytest.approx(optics.blur_diameter(COLUMN))


def test_ellipse_against_rays() -> None:
    """The covariance of a filled cone of rays through a defocused, astigmatic lens."""
    column = replace(COLUMN, working_distance=10.2, stigmator_x=6.0, stigmator_y=-11.0, current=1.0)
    rng = np.random.default_rng(5)
    n = 400_000
    radius, phi = np.sqrt(rng.random(n)), 2.0 * np.pi * rng.random(n)
    along, across = optics.residual_astigmatism(column)
    df, angle = optics.defocus(column), optics.alpha(column) * 1e-3
    x = angle * radius * ((df + along) * np.cos(phi) + across * np.sin(phi))
    y = angle * radius * (across * np.cos(phi) + (df - along) * np.sin(phi))
    values, vectors = np.linalg.eigh(np.cov(x, y))
    major, minor, direction = optics.blur_ellipse(column)
    probe = optics.probe_diameter(column) / 1000.0 / optics.FW50_PER_SIGMA
    assert math.hypot(math.sqrt(values[1]), probe) == pytest.approx(major, rel=0.005)
    assert math.hypot(math.sqrt(values[0]), probe) == pytest.approx(minor, rel=0.005)
    assert (math.degrees(math.atan2(vectors[1, 1], vectors[0, 1])) - direction + 90.0) % 180.0 == pytest.approx(
        90.0, abs=0.5
    )


def test_depth_of_field() -> None:
    # 0.1 um pixels at 5 mrad: +-10 um; a defocus of that much makes a disc one pixel wide.
    assert optics.depth_of_field(0.1, 5.0) == pytest.approx(10.0)
    assert 2.0 * 5e-3 * optics.depth_of_field(0.1, 5.0) == pytest.approx(0.1)


def test_focus_follows_voltage() -> None:
    assert optics.focus_shift(20.0, 20.0, 10.0) == 0.0
    assert 20.0 < optics.focus_shift(20.0, 10.0, 10.0) < 60.0
    assert optics.focus_shift(5.0, 10.0, 10.0) == pytest.approx(-optics.focus_shift(10.0, 5.0, 10.0))


def test_magnification() -> None:
    assert optics.magnification(127.0) == pytest.approx(1000.0)
    assert optics.field_width(optics.magnification(33.0)) == pytest.approx(33.0)
