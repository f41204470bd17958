"""A Bragg-Brentano powder diffractometer with a copper tube: from structure factors to counts.

The pattern is computed on an absolute scale. One number, `PHOTONS_AT_FULL_POWER`, sets the brightness of the tube; how
Bragg peaks, fluorescence, Compton, thermal and air scattering compare follows from cross-sections.

Order of the file: constants, settings, tube and optics, peak positions and widths, the profile of one reflection,
intensities, background, then the public functions that put them together.

References
----------
Alexander & Klug, Anal. Chem. 20 (1948) 886; Caglioti, Paoletti & Ricci, Nucl. Instrum. 3 (1958) 223;
Dollase, J. Appl. Cryst. 19 (1986) 267; Finger, Cox & Jephcoat, J. Appl. Cryst. 27 (1994) 892;
Green & Cosslett, J. Phys. D 1 (1968) 425; Hoelzer et al., Phys. Rev. A 56 (1997) 4554;
Klug & Alexander, X-Ray Diffraction Procedures, 2nd ed. (1974); Thompson, Cox & Hastings, J. Appl. Cryst. 20 (1987) 79;
Warren, X-Ray Diffraction (1969).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from matassay.physics.counting import observed_rate, poisson_counts
from matassay.suites.instruments.xrd.specimens import (
    Component,
    Family,
    Phase,
    Specimen,
    load_atoms,
    load_phase,
)

__all__ = [
    "DEAD_TIME",
    "HOLDER",
    "RADIUS",
    "SPECIMEN_LENGTH",
    "WAVELENGTHS",
    "Alignment",
    "Optics",
    "Reflection",
    "Tube",
    "beam_on_specimen",
    "count_rate",
    "dark_rate",
    "expected_counts",
    "measure",
    "narrowest_fwhm",
    "peak_positions",
]

FloatArray = npt.NDArray[np.float64]

# --- the instrument -----------------------------------------------------------------------------------------

RADIUS = 240.0
"""Goniometer radius R, mm."""
SPECIMEN_LENGTH = 20.0
"""Length of the specimen along the beam, mm."""
AXIAL_APERTURE = 10.0
"""Length of the receiving slit across the diffraction plane, mm."""
AXIAL_DIVERGENCE = 0.02
"""Half-height over radius of source/specimen and of receiving slit behind 0.04 rad Soller slits (S/L = H/L)."""
NICKEL_THICKNESS = 0.020
"""K-beta filter foil in front of the detector, mm."""
DEAD_TIME = 1.0e-6
"""Non-paralysable dead time of the scintillation counter with its electronics, s."""
DARK_RATE = 0.4
"""Pulses inside the window with the shutter closed: phototube noise and cosmic rays, 1/s."""
PULSE_WINDOW = (6.0, 10.5)
"""Pulse-height window, keV."""
DETECTOR_RESOLUTION = 0.45
"""FWHM / energy of the scintillation counter at copper K-alpha."""
PHOTONS_AT_FULL_POWER = 5.0e9
"""K-alpha photons per second on the specimen at 45 kV, 40 mA and a 0.5 degree divergence slit.

Set so that the strongest line of silicon gives several thousand counts/s through the filter, as such machines do.
"""
CONTINUUM = 0.10
"""Bremsstrahlung photons inside the pulse window per K-alpha photon: an estimate for a tube near 40 kV."""
TUNGSTEN = 0.001
"""W L-alpha photons per K-alpha photon: the deposit of an ageing filament on the anode."""
K_EDGE = 8.979
"""Copper K absorption edge, keV: no characteristic line below it."""

_FULL_POWER = (45.0, 40.0, 0.5)  # kV, mA, degrees
_HC = 12.398419843  # keV angstrom, CODATA 2018
_ELECTRON_RADIUS = 2.8179403e-5  # classical radius, angstrom, CODATA 2018
_ELECTRON_RADIUS_CM = 2.8179403e-13
_AVOGADRO = 6.02214076e23
_SCHERRER = 0.9  # K for the FWHM of roughly spherical crystallites, Klug & Alexander 1974, table 9-1
# Caglioti U, V, W in deg^2 of everything Gaussian but the receiving slit: focal spot, flat specimen, mosaic of errors.
_CAGLIOTI = (5.0e-4, -4.0e-4, 1.4e-3)
_FWHM_PER_SIGMA = 2.0 * math.sqrt(2.0 * math.log(2.0))


@dataclass(frozen=True)
class EmissionLine:
    """One Lorentzian of the tube's spectrum."""

    group: str
    """``k_alpha``, ``k_beta`` or ``w_l_alpha``: what attenuation and structure factors are stored for."""
    energy: float
    """Centre, keV."""
    width: float
    """FWHM, keV."""
    share: float
    """Share of the group's photons."""

    @property
    def wavelength(self) -> float:
        """Wavelength of the centre, angstrom."""
        return _HC / self.energy


# Hoelzer et al. 1997, tables II and III: centre (eV), FWHM (eV), integrated intensity. W L-alpha1: Deslattes et al.,
# Rev. Mod. Phys. 75 (2003) 35, with the natural width of Campbell & Papp, At. Data Nucl. Data Tables 77 (2001) 1 (level
# widths of xraydb add up to 7.0 eV; no difference at this resolution).
_K_ALPHA_1 = ((8047.837, 2.285, 0.579), (8045.367, 3.358, 0.080))
_K_ALPHA_2 = ((8027.993, 2.666, 0.236), (8026.504, 3.571, 0.105))
_K_BETA = (
    (8905.532, 3.52, 0.485),
    (8903.109, 3.52, 0.248),
    (8908.462, 3.55, 0.110),
    (8897.387, 8.08, 0.100),
    (8911.393, 5.31, 0.055),
)
_W_L_ALPHA = ((8398.24, 6.5, 1.0),)


def _lines(group: str, rows: Sequence[tuple[float, float, float]], norm: float) -> tuple[EmissionLine, ...]:
    return tuple(EmissionLine(group, e / 1000.0, w / 1000.0, share / norm) for e, w, share in rows)


_K_ALPHA_NORM = sum(share for _, _, share in _K_ALPHA_1 + _K_ALPHA_2)
_K_ALPHA_1_LINES = _lines("k_alpha", _K_ALPHA_1, _K_ALPHA_NORM)
EMISSION: tuple[EmissionLine, ...] = (
    _K_ALPHA_1_LINES
    + _lines("k_alpha", _K_ALPHA_2, _K_ALPHA_NORM)
    + _lines("k_beta", _K_BETA, sum(share for _, _, share in _K_BETA))
    + _lines("w_l_alpha", _W_L_ALPHA, 1.0)
)
"""The tube's spectrum without its continuum."""


def _peak_wavelength(rows: Sequence[tuple[float, float, float]]) -> float:
    """Wavelength (angstrom) at which a sum of Lorentzians is highest, to 1 meV."""
    energy = np.arange(min(e for e, _, _ in rows) - 2.0, max(e for e, _, _ in rows) + 2.0, 0.001)
    total = sum(share * width / ((energy - e) ** 2 + (width / 2) ** 2) for e, width, share in rows)
    return float(_HC / (energy[np.argmax(total)] / 1000.0))


WAVELENGTHS: Mapping[str, float] = MappingProxyType(
    {
        "k_alpha_1": _peak_wavelength(_K_ALPHA_1),
        "k_alpha_2": _peak_wavelength(_K_ALPHA_2),
        "k_beta": _peak_wavelength(_K_BETA),
        "w_l_alpha": _peak_wavelength(_W_L_ALPHA),
    }
)
"""Peak wavelengths in angstrom, from the energies of Hoelzer et al. 1997 with CODATA's hc."""

# --- settings -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Optics:
    """What the operator puts into the beam."""

    divergence_slit: float = 0.5
    """Fixed divergence slit, deg."""
    receiving_slit: float = 0.2
    """Width of the receiving slit, mm."""
    nickel_filter: bool = True
    """Whether the K-beta filter is in."""


@dataclass(frozen=True)
class Alignment:
    """What the operator does not know about the goniometer of the day."""

    zero_error: float = 0.0
    """Added to every two-theta, deg."""
    displacement: float = 0.0
    """Specimen surface below the goniometer's axis (positive: away from the tube's side of the focusing circle), mm."""
    gain: float = 1.0
    """Brightness of tube and alignment relative to a new tube."""


@dataclass(frozen=True)
class Tube:
    """Generator set point."""

    voltage: float
    """Tube voltage, kV."""
    current: float
    """Tube current, mA."""


@dataclass(frozen=True)
class Reflection:
    """A line of the ideal pattern."""

    phase: str
    """Key of the phase."""
    hkl: tuple[int, int, int]
    """Miller indices of the representative."""
    d: float
    """Spacing, angstrom."""
    two_theta: float
    """Angle for the K-alpha1 peak wavelength, deg, no alignment error."""
    multiplicity: int
    """Equivalent reflections."""
    intensity: float
    """Integrated intensity, 100 for the strongest line in the range."""


# --- tube and optics ----------------------------------------------------------------------------------------


def tube_output(tube: Tube) -> float:
    """K-alpha photons per second on the specimen through a 0.5 degree slit.

    Proportional to i (U / U_K - 1)^1.63, zero up to the K edge (Green & Cosslett 1968).
    """

    def strength(voltage: float, current: float) -> float:
        return float(current * max(voltage / K_EDGE - 1.0, 0.0) ** 1.63)

    return PHOTONS_AT_FULL_POWER * strength(tube.voltage, tube.current) / strength(*_FULL_POWER[:2])


def filter_transmission(energy_name: str, optics: Optics) -> float:
    """Share of photons of a stored energy that pass the nickel foil: exp(-mu t), Lambert-Beer."""
    if not optics.nickel_filter:
        return 1.0
    atoms = load_atoms()
    return math.exp(-atoms.mass_attenuation["Ni"][energy_name] * atoms.nickel_density * NICKEL_THICKNESS / 10.0)


@cache
def air_transmission(energy_name: str) -> float:
    """Share of photons that cross the air from specimen to detector (Lambert-Beer; dry air of 1.2e-3 g/cm^3)."""
    atoms = load_atoms()
    attenuation = sum(w * atoms.mass_attenuation[element][energy_name] for element, w in atoms.air.items())
    return math.exp(-attenuation * 1.2e-3 * RADIUS / 10.0)


def pulse_acceptance(energy: float) -> float:
    """Share of pulses of photons of ``energy`` (keV) inside the pulse-height window.

    Pulse heights of a scintillation counter are normal with FWHM / E falling as 1 / sqrt(E) (Knoll 2010, section 10).
    """
    sigma = DETECTOR_RESOLUTION / _FWHM_PER_SIGMA * math.sqrt(energy * 8.041)
    low, high = ((edge - energy) / (math.sqrt(2.0) * sigma) for edge in PULSE_WINDOW)
    return float(0.5 * (math.erf(high) - math.erf(low)))


def detection(energy_name: str, optics: Optics) -> float:
    """Share of photons leaving the specimen towards the receiving slit that become counts."""
    energy = load_atoms().energies[energy_name]
    return filter_transmission(energy_name, optics) * air_transmission(energy_name) * pulse_acceptance(energy)


def group_flux(group: str) -> float:
    """Photons on the specimen in a group of lines per K-alpha photon."""
    return {"k_alpha": 1.0, "k_beta": load_atoms().k_beta_per_k_alpha, "w_l_alpha": TUNGSTEN}[group]


def footprint(two_theta: npt.ArrayLike, divergence_slit: float) -> FloatArray:
    """Length of the beam on the specimen, mm: R alpha / sin(theta) (Klug & Alexander 1974, section 5-3)."""
    theta = np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0)
    return np.asarray(RADIUS * math.radians(divergence_slit) / np.sin(theta))


def beam_on_specimen(two_theta: npt.ArrayLike, divergence_slit: float) -> FloatArray:
    """Share of the beam that falls on the specimen: 1 above the angle where the beam is as long as the specimen."""
    return np.minimum(1.0, SPECIMEN_LENGTH / footprint(two_theta, divergence_slit))


def _solid_angle(optics: Optics) -> float:
    """Solid angle of the receiving slit seen from the specimen, sr."""
    return optics.receiving_slit * AXIAL_APERTURE / RADIUS**2


# --- positions and widths -----------------------------------------------------------------------------------


def bragg_angle(d: npt.ArrayLike, wavelength: float) -> FloatArray:
    """Two-theta in deg by Bragg's law, lambda = 2 d sin(theta); nan where there is no reflection."""
    ratio = wavelength / (2.0 * np.asarray(d, dtype=np.float64))
    return np.degrees(2.0 * np.arcsin(np.where(ratio < 1.0, ratio, np.nan)))


def displacement_shift(two_theta: npt.ArrayLike, displacement: float) -> FloatArray:
    """Shift in deg two-theta of a specimen ``displacement`` mm below the axis.

    -2 s cos(theta) / R in radians (Klug & Alexander 1974, section 5-3; Wilson 1963).
    """
    theta = np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0)
    return np.degrees(-2.0 * displacement * np.cos(theta) / RADIUS)


def flat_specimen_shift(two_theta: npt.ArrayLike, divergence_slit: float) -> FloatArray:
    """Centroid shift in deg because a flat specimen leaves the focusing circle: -alpha^2 cot(theta) / 12 (Wilson 1963).

    Where the beam is longer than the specimen, only the part on it counts: alpha shrinks to what the specimen subtends.
    """
    angle = np.asarray(two_theta, dtype=np.float64)
    alpha = math.radians(divergence_slit) * beam_on_specimen(angle, divergence_slit)
    return np.degrees(-(alpha**2) / (12.0 * np.tan(np.radians(angle / 2.0))))


def transparency_shift(two_theta: npt.ArrayLike, linear_attenuation: float) -> FloatArray:
    """Centroid shift in deg of a thick specimen: -sin(2 theta) / (2 mu R) (Klug & Alexander 1974, section 5-3).

    ``linear_attenuation`` in 1/cm, of the packed powder.
    """
    angle = np.radians(np.asarray(two_theta, dtype=np.float64))
    return np.degrees(-np.sin(angle) / (2.0 * linear_attenuation * RADIUS / 10.0))


def gaussian_fwhm(two_theta: npt.ArrayLike, optics: Optics) -> FloatArray:
    """Gaussian instrumental FWHM, deg.

    U tan^2 + V tan + W (Caglioti, Paoletti & Ricci 1958) plus the receiving slit: a box of width w / R has the variance
    of a Gaussian with FWHM 2.355 w / (R sqrt(12)).
    """
    u, v, w = _CAGLIOTI
    tangent = np.tan(np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0))
    slit = _FWHM_PER_SIGMA * math.degrees(optics.receiving_slit / RADIUS) / math.sqrt(12.0)
    return np.asarray(np.sqrt(u * tangent**2 + v * tangent + w + slit**2))


def size_fwhm(two_theta: npt.ArrayLike, crystallite_size: float, wavelength: float) -> FloatArray:
    """Lorentzian FWHM in deg of crystallites of ``crystallite_size`` nm: K lambda / (D cos(theta)), Scherrer 1918."""
    theta = np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0)
    return np.degrees(_SCHERRER * wavelength / (10.0 * crystallite_size * np.cos(theta)))


def strain_fwhm(two_theta: npt.ArrayLike, microstrain: float) -> FloatArray:
    """Lorentzian FWHM in deg of strain e: 4 e tan(theta) (Stokes & Wilson, Proc. Phys. Soc. 56 (1944) 174)."""
    return np.degrees(4.0 * microstrain * np.tan(np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0)))


def emission_fwhm(two_theta: npt.ArrayLike, line: EmissionLine) -> FloatArray:
    """Lorentzian FWHM in deg of a line's natural width: 2 tan(theta) dE / E (Bragg's law, differentiated)."""
    theta = np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0)
    return np.degrees(2.0 * np.tan(theta) * line.width / line.energy)


def pseudo_voigt_parameters(gaussian: npt.ArrayLike, lorentzian: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    """FWHM and mixing parameter eta of the pseudo-Voigt nearest to a Voigt (Thompson, Cox & Hastings 1987)."""
    g, lo = np.asarray(gaussian, dtype=np.float64), np.asarray(lorentzian, dtype=np.float64)
    fifth = g**5 + 2.69269 * g**4 * lo + 2.42843 * g**3 * lo**2 + 4.47163 * g**2 * lo**3 + 0.07842 * g * lo**4 + lo**5
    fwhm = fifth**0.2
    ratio = lo / fwhm
    return fwhm, 1.36603 * ratio - 0.47719 * ratio**2 + 0.11116 * ratio**3


def pseudo_voigt(x: FloatArray, fwhm: FloatArray, eta: FloatArray) -> FloatArray:
    """Pseudo-Voigt of unit area at distance ``x`` from its centre (same unit as ``fwhm``)."""
    reduced = (2.0 * x / fwhm) ** 2
    gauss = 2.0 * math.sqrt(math.log(2.0) / math.pi) / fwhm * np.exp(-math.log(2.0) * reduced)
    return np.asarray(eta * 2.0 / (math.pi * fwhm) / (1.0 + reduced) + (1.0 - eta) * gauss)


# --- the profile of one reflection --------------------------------------------------------------------------


@cache
def _legendre(count: int) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on (-1, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def axial_nodes(two_theta: float, resolution: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Apparent angles (deg) of a reflection at ``two_theta``, and their weights (sum 1), by axial divergence.

    Finger, Cox & Jephcoat 1994 for S = H. Their integral over the apparent angle 2 phi has an integrable pole at the
    reflection. Written over the height h at which a ray meets the detector's cylinder, cos(2 phi) = cos(2 theta)
    sqrt(1 + (h/L)^2), the pole cancels and the weight becomes (2 H - h) / ((1 + (h/L)^2) sin(2 phi)), smooth enough for
    Gauss-Legendre nodes. Fewer will do where the spread is small against ``resolution``, the FWHM in deg.
    """
    cosine_true = math.cos(math.radians(two_theta))
    lowest = math.acos(max(-1.0, min(1.0, cosine_true * math.sqrt(1.0 + 4.0 * AXIAL_DIVERGENCE**2))))
    spread = abs(math.degrees(lowest) - two_theta)
    nodes, quadrature = _legendre(12 if spread >= resolution else 3 + math.ceil(9.0 * spread / resolution))
    height = AXIAL_DIVERGENCE * (nodes + 1.0)  # h / L on (0, 2 H / L)
    apparent = np.arccos(np.clip(cosine_true * np.sqrt(1.0 + height**2), -1.0, 1.0))
    weights = quadrature * (2.0 * AXIAL_DIVERGENCE - height) / (1.0 + height**2)
    weights = weights / np.maximum(np.sin(apparent), 1e-9)
    return np.degrees(apparent), weights / weights.sum()


_FARTHEST_TAIL = 12.0
"""Distance from its centre to which the profile of a very strong reflection is followed, deg."""
_FAINTEST_TAIL = 0.01
"""Rate at full power below which a tail is cut, counts/s: far below the noise of any scan."""


def _sinh_grid(points: int, finest: float, half: float) -> FloatArray:
    """Symmetric grid of ``2 points + 1`` distances up to ``half``, about ``finest`` apart at the centre."""
    low, high = 1e-3, 20.0
    for _ in range(60):  # bisection for the stretch b with half = finest points sinh(b) / b
        middle = 0.5 * (low + high)
        low, high = (middle, high) if finest * points * math.sinh(middle) / middle < half else (low, middle)
    t = np.linspace(-1.0, 1.0, 2 * points + 1)
    return np.asarray(half * np.sinh(low * t) / math.sinh(low))


def _line_fwhm(
    two_theta: FloatArray, line: EmissionLine, component: Component, specimen: Specimen, optics: Optics
) -> tuple[FloatArray, FloatArray]:
    """FWHM (deg) and eta of one emission line: the Lorentzian widths of size, strain and emission add."""
    size = component.crystallite_size or specimen.crystallite_size
    lorentzian = (
        size_fwhm(two_theta, size, line.wavelength)
        + strain_fwhm(two_theta, specimen.microstrain)
        + emission_fwhm(two_theta, line)
    )
    return pseudo_voigt_parameters(gaussian_fwhm(two_theta, optics), lorentzian)


def _profile(
    d: float,
    lines: Sequence[EmissionLine],
    component: Component,
    specimen: Specimen,
    optics: Optics,
    strength: float = math.inf,
) -> tuple[FloatArray, FloatArray]:
    """Profile of a reflection in a few emission lines: angles (deg, no alignment error) and density (1/deg).

    The first line gives the centre of the grid; all must lie within about a FWHM of it. The grid is fine (FWHM / 60) at
    the centre and widens with distance, because a profile's curvature falls. It ends where a peak of area ``strength``
    (counts/s deg at full power) has a tail, w / (2 pi x^2) of a Lorentzian, below `_FAINTEST_TAIL`.
    """
    centres = np.array([bragg_angle(d, line.wavelength) for line in lines])
    angles, weights, fwhms, etas = [], [], [], []
    for centre, line in zip(centres, lines, strict=True):
        apparent, share = axial_nodes(float(centre), float(gaussian_fwhm(centre, optics)))
        fwhm, eta = _line_fwhm(apparent, line, component, specimen, optics)
        angles.append(apparent)
        weights.append(line.share * share)
        fwhms.append(fwhm)
        etas.append(eta)
    nodes, weight, fwhm, eta = (np.concatenate(part)[:, None] for part in (angles, weights, fwhms, etas))
    reach = math.sqrt(strength * float(fwhm.max()) / (2.0 * math.pi * _FAINTEST_TAIL))
    half = min(max(reach, 10.0 * float(fwhm.max())), _FARTHEST_TAIL)
    x = centres[0] + _sinh_grid(90, float(fwhm.min()) / 60.0, half)
    return x, (weight * pseudo_voigt(x - nodes, fwhm, eta)).sum(axis=0)


# --- intensities --------------------------------------------------------------------------------------------


def lorentz_polarisation(two_theta: npt.ArrayLike) -> FloatArray:
    """(1 + cos^2 2theta) / (sin(theta) sin(2 theta)): powder, no monochromator (Warren 1969, eq. 4.10)."""
    angle = np.radians(np.asarray(two_theta, dtype=np.float64))
    return np.asarray((1.0 + np.cos(angle) ** 2) / (np.sin(angle / 2.0) * np.sin(angle)))


def march_dollase(family: Family, r: float) -> float:
    """Mean over a family of (r^2 cos^2 a + sin^2 a / r)^(-3/2); 1 for r = 1 (Dollase 1986, eq. 5)."""
    return float(sum(share * (r**2 * square + (1.0 - square) / r) ** -1.5 for square, share in family.texture))


_GLASS = "quartz"  # silica glass has the composition, hence attenuation and form factors, of quartz
HOLDER = Specimen("holder", "Empty holder (silica glass plate)", (), form="solid", amorphous_fraction=1.0)
"""What the beam falls on when no specimen is loaded."""


def _parts(specimen: Specimen) -> list[tuple[Phase, float, Component]]:
    """Crystalline phases with their mass fractions in the whole specimen."""
    crystalline = 1.0 - specimen.amorphous_fraction
    return [(load_phase(part.phase), crystalline * part.weight_fraction, part) for part in specimen.components]


@cache
def _elements(specimen: Specimen) -> Mapping[str, float]:
    """Mass fraction of each element in a specimen."""
    total: dict[str, float] = {}
    masses = [(phase.mass_fractions, weight) for phase, weight, _ in _parts(specimen)]
    if specimen.amorphous_fraction:
        masses.append((load_phase(_GLASS).mass_fractions, specimen.amorphous_fraction))
    for fractions, weight in masses:
        for element, fraction in fractions.items():
            total[element] = total.get(element, 0.0) + weight * fraction
    return total


def mass_attenuation(specimen: Specimen, energy_name: str) -> float:
    """Mass attenuation coefficient of a specimen, cm^2/g: the mass-weighted mean (Klug & Alexander 1974, eq. 3-7)."""
    table = load_atoms().mass_attenuation
    return sum(fraction * table[element][energy_name] for element, fraction in _elements(specimen).items())


def _density(specimen: Specimen) -> float:
    """Density of the solid matter of a specimen, g/cm^3."""
    volume = sum(weight / phase.density for phase, weight, _ in _parts(specimen))
    return 1.0 / (volume + specimen.amorphous_fraction / 2.20)  # silica glass: 2.20 g/cm^3


def integrated_intensity(
    phase: Phase, weight: float, family: Family, group: str, wavelength: float, specimen: Specimen
) -> float:
    """Integrated intensity of a reflection: photons per incident photon, per length of slit in units of R.

    Dimensionless; times `AXIAL_APERTURE` / `RADIUS` it is what passes a slit as it is swept across the whole line.

    I = r_e^2 lambda^3 / (16 pi) * m |F|^2 / V^2 * LP * (w / rho) / (2 mu_m) * texture

    Warren 1969, eq. 4.10 with I0 V = P0 / (2 mu) for an infinitely thick plate at equal angles; a phase that fills
    part of a mixture scatters with w / rho of the volume against the mixture's mu_m (Alexander & Klug 1948).
    """
    square = family.f2["k_alpha" if group == "k_alpha" else "k_beta"]
    # w / (2 rho mu_m) is a length: the depth of this phase that takes part, in cm; 1e8 angstrom make one.
    depth = weight / (2.0 * phase.density * mass_attenuation(specimen, group)) * 1e8
    scattering = _ELECTRON_RADIUS**2 * wavelength**3 / (16.0 * math.pi) * family.multiplicity * square / phase.volume**2
    two_theta = float(bragg_angle(family.d, wavelength))
    lp = float(lorentz_polarisation(two_theta))
    return scattering * depth * lp * march_dollase(family, specimen.texture)


# --- the Bragg pattern --------------------------------------------------------------------------------------

_GRID = np.arange(500, 83001) * 0.002  # deg; linear interpolation on it is wrong by less than 0.1 % of a peak
_SUBGROUPS: tuple[tuple[EmissionLine, ...], ...] = (EMISSION[:2], EMISSION[2:4], EMISSION[4:9], EMISSION[9:])


@lru_cache(maxsize=32)
def _bragg_pattern(specimen: Specimen, optics: Optics, zero_error: float, displacement: float) -> FloatArray:
    """Counts of all reflections on `_GRID` per K-alpha photon on a specimen that catches the whole beam.

    This is the slow part (up to 0.15 s), kept for as long as specimen, slits and alignment stay.
    """
    total = np.zeros_like(_GRID)
    step = float(_GRID[1] - _GRID[0])
    acceptance = AXIAL_APERTURE / RADIUS * math.degrees(optics.receiving_slit / RADIUS)
    for phase, weight, component in _parts(specimen):
        attenuation = mass_attenuation(specimen, "k_alpha") * _density(specimen) * specimen.packing
        for family in phase.families:
            for lines in _SUBGROUPS:
                group, wavelength = lines[0].group, lines[0].wavelength
                ideal = float(bragg_angle(family.d, wavelength))
                if not ideal < 164.0:  # also when it is nan
                    continue
                strength = integrated_intensity(phase, weight, family, group, wavelength, specimen)
                strength *= group_flux(group) * detection(group, optics) * acceptance
                strength *= float(beam_on_specimen(ideal, optics.divergence_slit))
                x, density = _profile(family.d, lines, component, specimen, optics)
                x = (
                    x
                    + zero_error
                    + float(
                        displacement_shift(ideal, displacement)
                        + flat_specimen_shift(ideal, optics.divergence_slit)
                        + transparency_shift(ideal, attenuation)
                    )
                )
                first = max(0, math.ceil((x[0] - _GRID[0]) / step))
                last = min(len(_GRID), math.floor((x[-1] - _GRID[0]) / step) + 1)
                total[first:last] += strength * np.interp(_GRID[first:last], x, density)
    total.flags.writeable = False
    return total


# --- background ---------------------------------------------------------------------------------------------

_SEEN_WIDTH = 2.0
"""Width of the beam that the anti-scatter slit lets the detector see, mm."""
_LONGEST_AIR_PATH = 100.0
"""Length of the air path between the tube's and the detector's slits that can scatter into the detector, mm."""


def glass_structure_factor(two_theta: npt.ArrayLike) -> FloatArray:
    """Structure factor S(Q) of silica glass, dimensionless.

    An empirical curve: small at low Q, a first sharp diffraction peak of about 1.5 at Q = 1.52 1/angstrom, 1 above
    (position and height as in Mozzi & Warren, J. Appl. Cryst. 2 (1969) 164).
    """
    theta = np.radians(np.asarray(two_theta, dtype=np.float64) / 2.0)
    q = 4.0 * math.pi * np.sin(theta) / WAVELENGTHS["k_alpha_1"]
    return np.asarray(1.0 - 0.95 * np.exp(-((q / 1.2) ** 4)) + 0.75 * np.exp(-0.5 * ((q - 1.52) / 0.26) ** 2))


def _diffuse(two_theta: FloatArray, specimen: Specimen, optics: Optics) -> FloatArray:
    """Compton, thermal, glass and scattered continuum, counts per K-alpha photon."""
    cross_section = np.zeros_like(two_theta)
    for phase, weight, _ in _parts(specimen):
        nodes = phase.diffuse["two_theta"]
        for name, share in (("compton", 1.0), ("thermal", 1.0), ("coherent", CONTINUUM)):
            cross_section += weight * share * np.interp(two_theta, nodes, phase.diffuse[name])
    if specimen.amorphous_fraction:
        glass = load_phase(_GLASS).diffuse
        coherent = np.interp(two_theta, glass["two_theta"], glass["coherent"])
        compton = np.interp(two_theta, glass["two_theta"], glass["compton"])
        structure = glass_structure_factor(two_theta) + CONTINUUM
        cross_section += specimen.amorphous_fraction * (coherent * structure + compton)
    # Half the depth 1 / (2 mu) as for Bragg peaks: the beam goes in and out at the same angle.
    per_photon = cross_section / (2.0 * mass_attenuation(specimen, "k_alpha"))
    return np.asarray(per_photon * _solid_angle(optics) * detection("k_alpha", optics))


def fluorescence(specimen: Specimen, optics: Optics) -> float:
    """Fluorescence counts per K-alpha photon on the specimen.

    A layer at depth z is excited through exp(-mu z / sin theta) and seen through exp(-mu' z / sin theta), so that a
    thick plate emits w sigma / (mu + mu') photons into 4 pi, at every angle alike (Jenkins, X-Ray Fluorescence
    Spectrometry, 2nd ed. (1999), chapter 12; no secondary excitation).
    """
    atoms = load_atoms()
    total = 0.0
    for element, fraction in _elements(specimen).items():
        for energy_name, production in atoms.fluorescence.get(element, ()):
            seen = mass_attenuation(specimen, energy_name)
            emitted = sum(
                group_flux(group) * cross_section / (mass_attenuation(specimen, group) + seen)
                for group, cross_section in production.items()
            )
            total += fraction * emitted * detection(energy_name, optics)
    return total * _solid_angle(optics) / (4.0 * math.pi)


def air_scatter(two_theta: npt.ArrayLike, optics: Optics) -> FloatArray:
    """Counts per K-alpha photon from air above the specimen.

    Molecules per volume times their cross-section times the length of beam that the detector sees, which grows as
    1 / sin(2 theta); half of it is above the specimen.
    """
    angle = np.asarray(two_theta, dtype=np.float64)
    table = load_atoms().air_scattering
    cross_section = np.interp(angle, table["two_theta"], table["cross_section"])
    seen = np.minimum(_SEEN_WIDTH / np.maximum(np.sin(np.radians(angle)), 1e-6), _LONGEST_AIR_PATH) / 10.0
    molecules = 1.2e-3 / 28.96 * _AVOGADRO  # 1/cm^3, dry air at room temperature
    return np.asarray(0.5 * molecules * cross_section * seen * _solid_angle(optics) * detection("k_alpha", optics))


# --- what the instrument calls ------------------------------------------------------------------------------


def count_rate(
    two_theta: npt.ArrayLike, specimen: Specimen | None, optics: Optics, alignment: Alignment, tube: Tube
) -> FloatArray:
    """Rate of pulses at the detector before dead time, shutter open.

    Parameters
    ----------
    two_theta : goniometer readings, deg; a value depends on its own angle only, however a range is cut.
    specimen : what is loaded; None is the empty holder.
    optics, alignment, tube : the settings, and the hidden state of the day.

    Returns
    -------
    counts/s.
    """
    angle = np.asarray(two_theta, dtype=np.float64)
    loaded = HOLDER if specimen is None else specimen
    flux = tube_output(tube) * alignment.gain * optics.divergence_slit / _FULL_POWER[2]
    if flux <= 0.0:
        return np.full_like(angle, DARK_RATE)
    true_angle = np.maximum(angle - alignment.zero_error, 0.1)
    pattern = _bragg_pattern(loaded, optics, alignment.zero_error, alignment.displacement)
    from_specimen = _diffuse(true_angle, loaded, optics) + fluorescence(loaded, optics)
    from_specimen = from_specimen * beam_on_specimen(true_angle, optics.divergence_slit)
    from_specimen = from_specimen + np.interp(angle, _GRID, pattern)
    return np.asarray(flux * (from_specimen + air_scatter(true_angle, optics)) + DARK_RATE)


def dark_rate() -> float:
    """Counts/s with the shutter closed."""
    return DARK_RATE


def expected_counts(
    two_theta: npt.ArrayLike,
    time_per_step: float,
    specimen: Specimen | None,
    optics: Optics,
    alignment: Alignment,
    tube: Tube,
) -> FloatArray:
    """Mean registered counts per step of ``time_per_step`` seconds, dead time included."""
    return observed_rate(count_rate(two_theta, specimen, optics, alignment, tube), DEAD_TIME) * time_per_step


def measure(
    two_theta: npt.ArrayLike,
    time_per_step: float,
    specimen: Specimen | None,
    optics: Optics,
    alignment: Alignment,
    tube: Tube,
    rng: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Registered counts of a scan, Poisson distributed around `expected_counts`."""
    return poisson_counts(expected_counts(two_theta, time_per_step, specimen, optics, alignment, tube), rng)


def peak_positions(specimen: Specimen, start: float = 5.0, end: float = 150.0) -> tuple[Reflection, ...]:
    """Ideal K-alpha1 line positions between two angles (deg) with integrated intensities, strongest = 100.

    Families of one phase that fall on the same spacing (511 and 333 of a cubic crystal) stay separate entries.
    """
    wavelength = WAVELENGTHS["k_alpha_1"]
    found = []
    for phase, weight, _ in _parts(specimen):
        for family in phase.families:
            two_theta = float(bragg_angle(family.d, wavelength))
            if start <= two_theta <= end:
                strength = integrated_intensity(phase, weight, family, "k_alpha", wavelength, specimen)
                found.append((phase.key, family, two_theta, strength))
    strongest = max((strength for *_, strength in found), default=1.0)
    found.sort(key=lambda item: item[2])
    return tuple(
        Reflection(key, family.hkl, family.d, two_theta, family.multiplicity, 100.0 * strength / strongest)
        for key, family, two_theta, strength in found
    )


def narrowest_fwhm(specimen: Specimen, optics: Optics, start: float = 5.0, end: float = 150.0) -> float:
    """FWHM in deg of the narrowest strong K-alpha1 profile between two angles.

    Strong means at least a fifth of the strongest line in the range. The width is read off the computed profile, axial
    asymmetry included.

    Raises
    ------
    ValueError
        if the specimen has no reflection in the range.
    """
    strong = [line for line in peak_positions(specimen, start, end) if line.intensity >= 20.0]
    if not strong:
        raise ValueError(f"{specimen.key} has no reflection between {start} and {end} degrees")
    parts = {part.phase: part for part in specimen.components}
    return min(_half_width(*_profile(line.d, _K_ALPHA_1_LINES, parts[line.phase], specimen, optics)) for line in strong)


def _half_width(x: FloatArray, y: FloatArray) -> float:
    """Full width at half maximum of a single peak, same unit as ``x``."""
    top = int(np.argmax(y))
    half = y[top] / 2.0
    left = float(np.interp(half, y[: top + 1], x[: top + 1]))
    right = float(np.interp(-half, -y[top:], x[top:]))
    return right - left
