"""The electron column: from settings to the size and shape of the probe on the specimen.

A thermionic (tungsten) gun, a conical objective lens and one final aperture. Units: kV, pA, mm for distances along the
axis, um on the specimen, nm for probe diameters, mrad for angles, per cent for stigmators.

Diameters are FW50: they contain half of the current. Blurs are Gaussians of the same variance, given by their standard
deviation.

References
----------
Barth & Kruit, Optik 101 (1996) 101; Goldstein et al., Scanning Electron Microscopy and X-Ray Microanalysis, 4th ed.
(2018); Reimer, Scanning Electron Microscopy, 2nd ed. (1998).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

__all__ = [
    "APERTURE",
    "ASTIGMATISM_PER_PERCENT",
    "BRIGHTNESS",
    "ENERGY_SPREAD",
    "FW50_PER_SIGMA",
    "LENS_DEPTH",
    "Column",
    "ProbeParts",
    "alpha",
    "best_probe",
    "blur_diameter",
    "blur_ellipse",
    "chromatic_aberration",
    "defocus",
    "depth_of_field",
    "field_width",
    "focus_shift",
    "in_focus",
    "magnification",
    "probe_diameter",
    "probe_parts",
    "residual_astigmatism",
    "spherical_aberration",
    "wavelength",
]

BRIGHTNESS = 5.0e4
"""Reduced brightness of the gun, A / (m^2 sr V): 1e5 A / (cm^2 sr) at 20 kV, tungsten (Goldstein 2018, table 5.1)."""
ENERGY_SPREAD = 2.0
"""Energy spread of the beam, eV FWHM: tungsten, 1-3 eV (Goldstein 2018, table 5.1)."""
APERTURE = 150.0
"""Diameter of the final aperture in use unless a column says otherwise, um."""
LENS_DEPTH = 5.0
"""Principal plane of the objective above the face of its pole piece, mm; working distances count from the face."""
OBJECT_DISTANCE = 150.0
"""Distance from the objective's object to its principal plane, mm; only `focus_shift` needs it."""
ASTIGMATISM_PER_PERCENT = 12.0
"""Half the distance between the two line foci for one per cent of a stigmator, um."""
FW50_PER_SIGMA = 2.0 * math.sqrt(2.0 * math.log(2.0))
"""FW50 over standard deviation of a round two-dimensional Gaussian.

The share of a Gaussian within radius r is 1 - exp(-r^2 / (2 sigma^2)); it is one half at r = sigma sqrt(2 ln 2).
"""
POLAROID_WIDTH = 127_000.0
"""Width to which magnifications refer, um: the 5 inch side of Polaroid 4 x 5 film, the usual convention."""

_ELECTRON_WAVELENGTH = 1.22643  # nm V^(1/2), h / sqrt(2 m e), CODATA 2018
_RELATIVISTIC = 0.978476e-6  # 1/V, e / (2 m c^2), CODATA 2018


@dataclass(frozen=True)
class Column:
    """Settings of the column, and the two things about it that no readout shows: where the specimen is, and its errors.

    Examples
    --------
    >>> column = Column(voltage=20.0, current=100.0, working_distance=10.0, stage_z=10.0)
    >>> round(probe_diameter(column))
    41
    """

    voltage: float
    """Accelerating voltage, kV."""
    current: float
    """Probe current, pA."""
    working_distance: float
    """Distance from the pole piece at which the lens focuses, as read out, mm."""
    stage_z: float
    """True distance from the pole piece to the specimen, mm."""
    stigmator_x: float = 0.0
    """Stigmator acting along 0 and 90 deg, %."""
    stigmator_y: float = 0.0
    """Stigmator acting along 45 and 135 deg, %."""
    astig_x: float = 0.0
    """Setting of stigmator X that cancels the column's own astigmatism, %; hidden."""
    astig_y: float = 0.0
    """Setting of stigmator Y that cancels the column's own astigmatism, %; hidden."""
    aperture: float = APERTURE
    """Diameter of the final aperture, um."""
    focus_error: float = 0.0
    """By how much the lens focuses farther away than its readout says, um; hidden."""


@dataclass(frozen=True)
class ProbeParts:
    """Contributions to the diameter of the probe, FW50 in nm."""

    diffraction: float
    """Diffraction at the aperture."""
    spherical: float
    """Spherical aberration."""
    chromatic: float
    """Chromatic aberration."""
    source: float
    """Demagnified image of the gun's crossover."""


# --- lens ---------------------------------------------------------------------------------------------------


def wavelength(voltage: float) -> float:
    """De Broglie wavelength in nm of electrons of ``voltage`` kV, relativistic (Reimer 1998, eq. 2.9)."""
    volts = 1000.0 * voltage
    return _ELECTRON_WAVELENGTH / math.sqrt(volts * (1.0 + _RELATIVISTIC * volts))


def spherical_aberration(working_distance: float) -> float:
    """Coefficient Cs in mm.

    Image-side aberrations of a lens of given bore rise steeply as it is weakened to focus farther away, with about the
    third power of the distance (Reimer 1998, section 2.2.2). 20 mm at 10 mm is typical of a conical lens.
    """
    return 5.0 + 0.015 * working_distance**3


def chromatic_aberration(working_distance: float) -> float:
    """Coefficient Cc in mm: of the order of the focal length, growing with it (Reimer 1998, section 2.2.2)."""
    return 4.0 + 0.8 * working_distance


def alpha(column: Column) -> float:
    """Semi-angle of the probe, mrad: radius of the aperture over its distance from the focus."""
    return column.aperture / 2.0 / (column.working_distance + LENS_DEPTH)


def probe_parts(column: Column) -> ProbeParts:
    """Contributions to the probe in focus, without astigmatism (Barth & Kruit 1996).

    d_A = 0.54 lambda / alpha, d_S = 0.18 Cs alpha^3, d_C = 0.34 Cc alpha dE / E,
    d_I = 2 / (pi alpha) sqrt(I / (B_r V)). The factor 0.34 takes dE as FWHM; it is 0.6 for a dE that holds half of
    the electrons (Hagen & Kruit, J. Vac. Sci. Technol. B 27 (2009) 2654).
    """
    angle = alpha(column) * 1e-3
    volts = 1000.0 * column.voltage
    source = 2.0 / (math.pi * angle) * math.sqrt(column.current * 1e-12 / (BRIGHTNESS * volts))  # m
    return ProbeParts(
        diffraction=0.54 * wavelength(column.voltage) / angle,
        spherical=0.18 * spherical_aberration(column.working_distance) * 1e6 * angle**3,
        chromatic=0.34 * chromatic_aberration(column.working_distance) * 1e6 * angle * ENERGY_SPREAD / volts,
        source=source * 1e9,
    )


def probe_diameter(column: Column) -> float:
    """FW50 of the probe in focus, without astigmatism, nm.

    d^2 = [(d_A^4 + d_S^4)^(1.3/4) + d_I^1.3]^(2/1.3) + d_C^2 (Barth & Kruit 1996, eq. 8).
    """
    p = probe_parts(column)
    aberrated = (p.diffraction**4 + p.spherical**4) ** (1.3 / 4.0)
    return math.sqrt((aberrated + p.source**1.3) ** (2.0 / 1.3) + p.chromatic**2)


def best_probe(voltage: float, current: float, working_distance: float, aperture: float = APERTURE) -> float:
    """FW50 in nm of the smallest probe at a voltage (kV), current (pA), working distance (mm) and aperture (um)."""
    return probe_diameter(Column(voltage, current, working_distance, working_distance, aperture=aperture))


# --- focus and astigmatism ----------------------------------------------------------------------------------


def defocus(column: Column) -> float:
    """Distance of the focus below the specimen's reference plane, um; negative above it."""
    return 1000.0 * (column.working_distance - column.stage_z) + column.focus_error


def residual_astigmatism(column: Column) -> tuple[float, float]:
    """What the stigmators leave, um, along 0 deg and along 45 deg.

    Along its direction a residual moves the focus down by that much, and up across it.
    """
    return (
        ASTIGMATISM_PER_PERCENT * (column.stigmator_x - column.astig_x),
        ASTIGMATISM_PER_PERCENT * (column.stigmator_y - column.astig_y),
    )


def blur_ellipse(column: Column, height: float = 0.0) -> tuple[float, float, float]:
    """Blur of the picture on the specimen.

    A ray through the aperture at azimuth phi meets the specimen beside the axis by alpha M (cos phi, sin phi), where
    M = [[df + a0, a45], [a45, df - a0]]: defocus and two-fold astigmatism (Reimer 1998, section 2.2.2). The filled
    cone therefore makes an ellipse of semi-axes alpha |df +- a|, evenly filled, whose standard deviation along an axis
    is half of the semi-axis. The probe in focus adds in quadrature with FW50 / 2.355.

    Parameters
    ----------
    column : the settings.
    height : height of the surface above the specimen's reference plane, um.

    Returns
    -------
    standard deviation along the long axis (um), along the short axis (um), and direction of the long axis (deg,
    counter-clockwise from the picture's x axis as seen on the screen, in [-90, 90)).
    """
    along, across = residual_astigmatism(column)
    amount = math.hypot(along, across)
    distance = defocus(column) + height
    angle = alpha(column) * 1e-3
    probe = probe_diameter(column) * 1e-3 / FW50_PER_SIGMA
    plus = math.hypot(probe, angle * abs(distance + amount) / 2.0)
    minus = math.hypot(probe, angle * abs(distance - amount) / 2.0)
    direction = math.degrees(math.atan2(across, along)) / 2.0
    if minus > plus:
        plus, minus, direction = minus, plus, direction + 90.0
    return plus, minus, (direction + 90.0) % 180.0 - 90.0


def blur_diameter(column: Column) -> float:
    """FW50 of the blur along its long axis, um; what sharpness is judged by."""
    return FW50_PER_SIGMA * blur_ellipse(column)[0]


def depth_of_field(pixel_size: float, semi_angle: float) -> float:
    """Largest defocus that blurs by no more than a pixel, um: pixel / (2 alpha) (Goldstein 2018, section 6.3).

    ``pixel_size`` in um, ``semi_angle`` in mrad. The whole depth is twice this.
    """
    return pixel_size / (2.0 * semi_angle * 1e-3)


def focus_shift(voltage: float, reference: float, working_distance: float, residual: float = 0.003) -> float:
    """Shift of the focus after a change of voltage, um.

    At constant excitation the focal length goes with the voltage, f ~ V / (N I)^2 (Reimer 1998, eq. 2.21). The
    instrument corrects the lens current by a table; a share ``residual`` of the change stays. By the lens equation
    1/f = 1/u + 1/v a small change of f moves the focus by dv = (v / f)^2 df.

    Parameters
    ----------
    voltage, reference : voltage now and that at which the focus was adjusted, kV.
    working_distance : mm.
    residual : share of the change that the table misses.
    """
    image = working_distance + LENS_DEPTH
    focal = 1.0 / (1.0 / OBJECT_DISTANCE + 1.0 / image)
    change = residual * math.log(voltage / reference) * focal
    return 1000.0 * (image / focal) ** 2 * change


def magnification(width: float) -> float:
    """Magnification of a field ``width`` um wide, on Polaroid 4 x 5 film (127 mm)."""
    return POLAROID_WIDTH / width


def field_width(magnification: float) -> float:
    """Width of the field in um at a magnification on Polaroid 4 x 5 film (127 mm)."""
    return POLAROID_WIDTH / magnification


def in_focus(column: Column) -> Column:
    """The column with focus and stigmators at their best: what the reference picture of a view is taken with."""
    return replace(
        column,
        working_distance=column.stage_z,
        focus_error=0.0,
        stigmator_x=column.astig_x,
        stigmator_y=column.astig_y,
    )
