"""Compute the versioned line lists in ``data/`` from published crystal structures.

Run once by a developer, never by the instrument::

    python -m matassay.suites.instruments.xrd.make_lines           # write data/*.json
    python -m matassay.suites.instruments.xrd.make_lines --check   # recompute and compare

Symmetry operations come from spglib, free-atom form factors (Waasmaier & Kirfel 1995) from xraydb, and
anomalous terms, attenuation, Compton functions and fluorescence cross-sections from xraylib. The structure-factor sum
is our own.  Every energy-dependent number has that one source, so that simulator and graders cannot disagree.

References
----------
Waasmaier & Kirfel, Acta Cryst. A51 (1995) 416: analytical f0 up to sin(theta)/lambda = 6 1/angstrom.
Schoonjans et al., Spectrochim. Acta B 66 (2011) 776: xraylib.
Hoelzer et al., Phys. Rev. A 56 (1997) 4554: copper K emission energies.
Sears & Shelley, Acta Cryst. A47 (1991) 441: Debye-Waller factors of cubic elements.

Compared with public texts: the cells of the four NIST standards (certificates; silicon, corundum and ceria also as
calibration programs hold them), B of silicon and of the cubic metals, the structure of quartz and its B (American
Mineralogist Crystal Structure Database), the copper spectrum. Rutile and corundum agree with other refinements
(Abrahams & Bernstein, J. Chem. Phys. 55 (1971) 3206; Lutterotti & Scardi, J. Appl. Cryst. 23 (1990) 246) within 0.00002
and 0.0004 in the positions. The other positions and B rest on the articles named, which were not at hand.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

DATA = Path(__file__).parent / "data"
SCHEMA_VERSION = 1
HC = 12.398419843  # keV angstrom, CODATA 2018 (exact h, c, e)
CLASSICAL_RADIUS = 2.8179403e-13  # cm, CODATA 2018
AVOGADRO = 6.02214076e23  # 1/mol
D_MIN = 0.705  # angstrom: K-beta (1.392 angstrom) stays below 160 degrees two-theta

ENERGIES: Mapping[str, float] = {"k_alpha": 8.0411, "k_beta": 8.9053, "w_l_alpha": 8.3976}
"""Tube energies in keV: copper K-alpha centroid, copper K-beta, tungsten L-alpha1 (filament deposit on the anode)."""


@dataclass(frozen=True)
class Site:
    """One atom of the asymmetric unit."""

    scatterer: str
    """Name in the Waasmaier-Kirfel table, ion charge included (``O2-``)."""
    position: tuple[float, float, float]
    """Fractional coordinates in the setting of the structure's Hall number."""
    b_iso: float
    """Isotropic Debye-Waller parameter B, angstrom squared, near 295 K."""

    @property
    def element(self) -> str:
        """Chemical symbol without the ion charge."""
        return self.scatterer.rstrip("+-0123456789")


@dataclass(frozen=True)
class Structure:
    """A published crystal structure near room temperature."""

    name: str
    """Display name."""
    formula: str
    """Chemical formula."""
    hall_number: int
    """spglib's number (1-530) of the space-group setting."""
    space_group: str
    """Hermann-Mauguin symbol of that setting, for readers."""
    cell: tuple[float, float, float, float, float, float]
    """a, b, c (angstrom), alpha, beta, gamma (deg)."""
    sites: tuple[Site, ...]
    """Asymmetric unit."""
    texture_axis: tuple[int, int, int]
    """hkl of the planes that lie flat when such a powder is pressed or such a metal is rolled."""
    source: str
    """Where cell, positions and displacement parameters come from."""


def _cubic(a: float) -> tuple[float, float, float, float, float, float]:
    return (a, a, a, 90.0, 90.0, 90.0)


def _hexagonal(a: float, c: float) -> tuple[float, float, float, float, float, float]:
    return (a, a, c, 90.0, 90.0, 120.0)


def _tetragonal(a: float, c: float) -> tuple[float, float, float, float, float, float]:
    return (a, a, c, 90.0, 90.0, 90.0)


_ORIGIN = (0.0, 0.0, 0.0)
_CENTRE = (0.5, 0.5, 0.5)
_SEARS = "B: Sears & Shelley, Acta Cryst. A47 (1991) 441."

STRUCTURES: Mapping[str, Structure] = {
    "silicon": Structure(
        "Silicon",
        "Si",
        525,
        "F d -3 m :1",
        _cubic(5.431144),
        (Site("Si", _ORIGIN, 0.469),),
        (1, 1, 1),
        "a: NIST SRM 640f certificate. B: Flensburg & Stewart, Phys. Rev. B 60 (1999) 284.",
    ),
    "lanthanum_hexaboride": Structure(
        "Lanthanum hexaboride",
        "LaB6",
        517,
        "P m -3 m",
        _cubic(4.156826),
        (Site("La", _ORIGIN, 0.40), Site("B", (0.1993, 0.5, 0.5), 0.30)),
        (1, 0, 0),
        "a: NIST SRM 660c certificate. x(B): Eliseev et al., Kristallografiya 31 (1986) 803. B: typical.",
    ),
    "corundum": Structure(
        "Corundum",
        "Al2O3",
        460,
        "R -3 c :H",
        _hexagonal(4.759091, 12.991779),
        (Site("Al", (0.0, 0.0, 0.35219), 0.23), Site("O", (0.30633, 0.0, 0.25), 0.27)),
        (0, 0, 1),
        "a, c: NIST SRM 676a certificate. Positions, B: Ishizawa et al., Acta Cryst. B36 (1980) 228, B rounded.",
    ),
    "quartz": Structure(
        "Quartz (alpha)",
        "SiO2",
        443,
        "P 32 2 1",
        _hexagonal(4.9134, 5.4052),
        (Site("Si", (0.4697, 0.0, 2.0 / 3.0), 0.62), Site("O", (0.4135, 0.2669, 0.1191 + 2.0 / 3.0), 1.06)),
        (1, 0, 1),
        "a, c: ICDD 46-1045. Positions, B (equivalent): Levien, Prewitt & Weidner, Am. Mineral. 65 (1980) 920,"
        " origin moved by c x 2/3.",
    ),
    "halite": Structure(
        "Halite",
        "NaCl",
        523,
        "F m -3 m",
        _cubic(5.6402),
        (Site("Na1+", _ORIGIN, 1.65), Site("Cl1-", _CENTRE, 1.35)),
        (1, 0, 0),
        "a: Swanson & Fuyat, NBS Circular 539, II (1953) 41. B: Abrahams & Bernstein, Acta Cryst. 18 (1965) 926,"
        " rounded.",
    ),
    "fluorite": Structure(
        "Fluorite",
        "CaF2",
        523,
        "F m -3 m",
        _cubic(5.46305),
        (Site("Ca2+", _ORIGIN, 0.48), Site("F1-", (0.25, 0.25, 0.25), 0.68)),
        (1, 1, 1),
        "a: NBS Monograph 25, sect. 21 (1984) 52. B: Cheetham, Fender & Cooper, J. Phys. C 4 (1971) 3107, rounded.",
    ),
    "rutile": Structure(
        "Rutile",
        "TiO2",
        419,
        "P 42/m n m",
        _tetragonal(4.5937, 2.9587),
        (Site("Ti", _ORIGIN, 0.42), Site("O", (0.30478, 0.30478, 0.0), 0.50)),
        (1, 1, 0),
        "Howard, Sabine & Dickson, Acta Cryst. B47 (1991) 462; B rounded.",
    ),
    "anatase": Structure(
        "Anatase",
        "TiO2",
        426,
        "I 41/a m d :1",
        _tetragonal(3.7845, 9.5143),
        (Site("Ti", _ORIGIN, 0.39), Site("O", (0.0, 0.0, 0.20806), 0.55)),
        (1, 0, 1),
        "Howard, Sabine & Dickson, Acta Cryst. B47 (1991) 462; B rounded.",
    ),
    "zincite": Structure(
        "Zincite",
        "ZnO",
        480,
        "P 63 m c",
        _hexagonal(3.2501, 5.2071),
        (Site("Zn", (1.0 / 3.0, 2.0 / 3.0, 0.0), 0.62), Site("O", (1.0 / 3.0, 2.0 / 3.0, 0.3821), 0.63)),
        (0, 0, 1),
        "Kisi & Elcombe, Acta Cryst. C45 (1989) 1867; B rounded.",
    ),
    "alpha_iron": Structure(
        "Iron (alpha)",
        "Fe",
        529,
        "I m -3 m",
        _cubic(2.8664),
        (Site("Fe", _ORIGIN, 0.34),),
        (1, 1, 0),
        "a: Swanson, Fuyat & Ugrinic, NBS Circular 539, IV (1955) 3. " + _SEARS,
    ),
    "nickel": Structure(
        "Nickel",
        "Ni",
        523,
        "F m -3 m",
        _cubic(3.5238),
        (Site("Ni", _ORIGIN, 0.34),),
        (1, 0, 0),
        "a: Swanson & Tatge, NBS Circular 539, I (1953) 13. " + _SEARS,
    ),
    "copper": Structure(
        "Copper",
        "Cu",
        523,
        "F m -3 m",
        _cubic(3.6150),
        (Site("Cu", _ORIGIN, 0.56),),
        (1, 0, 0),
        "a: Swanson & Tatge, NBS Circular 539, I (1953) 15. " + _SEARS,
    ),
    "aluminium": Structure(
        "Aluminium",
        "Al",
        523,
        "F m -3 m",
        _cubic(4.0494),
        (Site("Al", _ORIGIN, 0.81),),
        (1, 0, 0),
        "a: Swanson & Tatge, NBS Circular 539, I (1953) 11. " + _SEARS,
    ),
    "tungsten": Structure(
        "Tungsten",
        "W",
        529,
        "I m -3 m",
        _cubic(3.1648),
        (Site("W", _ORIGIN, 0.16),),
        (1, 0, 0),
        "a: Swanson & Tatge, NBS Circular 539, I (1953) 28. " + _SEARS,
    ),
    "periclase": Structure(
        "Periclase",
        "MgO",
        523,
        "F m -3 m",
        _cubic(4.2117),
        (Site("Mg2+", _ORIGIN, 0.31), Site("O2-", _CENTRE, 0.34)),
        (1, 0, 0),
        "Sasaki, Fujino & Takeuchi, Proc. Jpn. Acad. B 55 (1979) 43; a and B rounded.",
    ),
    "ceria": Structure(
        "Ceria",
        "CeO2",
        523,
        "F m -3 m",
        _cubic(5.411651),
        (Site("Ce", _ORIGIN, 0.25), Site("O", (0.25, 0.25, 0.25), 0.45)),
        (1, 1, 1),
        "a: NIST SRM 674b certificate. B: typical, oxygen above cerium as in Yashima et al., Chem. Phys. Lett. 372 (2003)"
        " 784.",
    ),
}


def metric_tensor(cell: Sequence[float]) -> npt.NDArray[np.float64]:
    """Direct metric tensor in angstrom squared (International Tables A, section 9.1)."""
    a, b, c = cell[:3]
    ca, cb, cg = (round(math.cos(math.radians(angle)), 15) for angle in cell[3:])
    return np.array([[a * a, a * b * cg, a * c * cb], [a * b * cg, b * b, b * c * ca], [a * c * cb, b * c * ca, c * c]])


def _operations(hall_number: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Rotations and translations of a space-group setting."""
    import spglib

    with warnings.catch_warnings():
        # spglib 2.7 announces with every call that its way of reporting errors will change.
        warnings.simplefilter("ignore", DeprecationWarning)
        symmetry = spglib.get_symmetry_from_database(hall_number)
    if symmetry is None:
        raise ValueError(f"spglib knows no Hall number {hall_number}")
    return symmetry["rotations"], symmetry["translations"]


def expand(structure: Structure) -> list[tuple[Site, npt.NDArray[np.float64]]]:
    """All atoms of the conventional cell as (site, fractional positions of its orbit)."""
    rotations, translations = _operations(structure.hall_number)
    atoms = []
    for site in structure.sites:
        images = rotations @ np.array(site.position) + translations
        unique: list[npt.NDArray[np.float64]] = []
        for image in images - np.floor(images + 1e-9):
            gaps = [np.abs(image - other - np.round(image - other)).max() for other in unique]
            if not gaps or min(gaps) > 1e-5:
                unique.append(image)
        atoms.append((site, np.array(unique)))
    return atoms


def form_factor(scatterer: str, s: npt.NDArray[np.float64], energy: float) -> npt.NDArray[np.complex128]:
    """Atomic form factor f0(s) + f' + i f'' in electrons.

    Parameters
    ----------
    scatterer : name in the Waasmaier-Kirfel table.
    s : sin(theta)/lambda, 1/angstrom.
    energy : keV.

    Notes
    -----
    f0: Waasmaier & Kirfel 1995. f', f'': xraylib (which returns f'' with a negative sign).
    """
    import xraydb
    import xraylib

    number = xraylib.SymbolToAtomicNumber(scatterer.rstrip("+-0123456789"))
    anomalous = complex(xraylib.Fi(number, energy), -xraylib.Fii(number, energy))
    return np.asarray(xraydb.f0(scatterer, np.atleast_1d(s)), dtype=float) + anomalous


def structure_factors(
    atoms: list[tuple[Site, npt.NDArray[np.float64]]],
    hkl: npt.NDArray[np.int64],
    d: npt.NDArray[np.float64],
    energy: float,
) -> npt.NDArray[np.complex128]:
    """F(hkl) = sum f exp(-B s^2) exp(2 pi i h.x) over the cell, in electrons (Warren 1969, eq. 3.18 and 3.30)."""
    s = 0.5 / d
    total = np.zeros(len(hkl), dtype=complex)
    for site, positions in atoms:
        phase = np.exp(2j * np.pi * (hkl @ positions.T)).sum(axis=1)
        total += form_factor(site.scatterer, s, energy) * np.exp(-site.b_iso * s**2) * phase
    return total


def _reciprocal_vectors(metric: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """All integer hkl with d >= D_MIN and their spacings d in angstrom."""
    limits = [int(math.sqrt(metric[i, i]) / D_MIN) + 1 for i in range(3)]
    axes = [np.arange(-n, n + 1) for n in limits]
    hkl = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    hkl = hkl[np.any(hkl != 0, axis=1)]
    inverse = np.linalg.inv(metric)
    d = 1.0 / np.sqrt(np.einsum("ij,jk,ik->i", hkl, inverse, hkl))
    keep = d >= D_MIN
    return hkl[keep], d[keep]


def _families(structure: Structure, hkl: npt.NDArray[np.int64]) -> list[list[tuple[int, ...]]]:
    """Sets of reflections that the Laue group makes equal; the first of each is its representative."""
    rotations = np.unique(_operations(structure.hall_number)[0], axis=0)
    seen: set[tuple[int, ...]] = set()
    families = []
    for vector in hkl:
        if tuple(vector.tolist()) in seen:
            continue
        images = vector @ rotations
        orbit = {tuple(image) for image in np.concatenate([images, -images]).tolist()}
        seen |= orbit
        families.append(sorted(orbit, reverse=True))
    return families


def _texture_cosines(
    orbit: Sequence[tuple[int, ...]], axis: Sequence[int], metric: npt.NDArray[np.float64]
) -> list[list[float]]:
    """[cos^2(angle to the texture axis), share] over an orbit: what the March-Dollase average needs."""
    inverse = np.linalg.inv(metric)
    vectors = np.array(orbit, dtype=float)
    pole = np.array(axis, dtype=float)
    norms = np.einsum("ij,jk,ik->i", vectors, inverse, vectors) * (pole @ inverse @ pole)
    squares = (vectors @ inverse @ pole) ** 2 / norms
    counts = Counter(round(float(value), 9) for value in squares)
    return [[value, count / len(orbit)] for value, count in sorted(counts.items())]


def mass_fractions(structure: Structure) -> dict[str, float]:
    """Mass fraction of each element."""
    import xraylib

    masses: Counter[str] = Counter()
    for site, positions in expand(structure):
        masses[site.element] += len(positions) * xraylib.AtomicWeight(xraylib.SymbolToAtomicNumber(site.element))
    total = sum(masses.values())
    return {element: mass / total for element, mass in sorted(masses.items())}


def diffuse_scattering(structure: Structure) -> dict[str, list[float]]:
    """Differential cross-sections per mass that make the smooth background, cm^2/(g sr), against two-theta.

    ``compton``: incoherent (free-atom incoherent-scattering function of xraylib).
    ``thermal``: f^2 (1 - exp(-2 B s^2)), atoms vibrating independently (Warren 1969, eq. 11.6).
    ``coherent``: f^2 of independent atoms: what a white-radiation continuum scatters on average over wavelengths.

    All carry the Thomson polarisation factor r_e^2 (1 + cos^2 2theta) / 2.
    """
    import xraylib

    two_theta = np.arange(0.0, 165.1, 2.5)
    s = np.sin(np.radians(two_theta / 2)) * ENERGIES["k_alpha"] / HC
    thomson = CLASSICAL_RADIUS**2 * (1 + np.cos(np.radians(two_theta)) ** 2) / 2
    mass = 0.0
    sums = {name: np.zeros_like(s) for name in ("compton", "thermal", "coherent")}
    for site, positions in expand(structure):
        number = xraylib.SymbolToAtomicNumber(site.element)
        count = len(positions)
        mass += count * xraylib.AtomicWeight(number)
        # xraylib's q is sin(theta)/lambda; it refuses q = 0, where the function is 0.
        sums["compton"] += count * np.array([xraylib.SF_Compt(number, q) if q > 0 else 0.0 for q in s])
        square = count * np.abs(form_factor(site.scatterer, s, ENERGIES["k_alpha"])) ** 2
        sums["thermal"] += square * -np.expm1(-2 * site.b_iso * s**2)
        sums["coherent"] += square
    scale = AVOGADRO / mass * thomson
    table = {name: [float(v) for v in values * scale] for name, values in sums.items()}
    return {"two_theta": two_theta.tolist(), **table}


def phase_document(key: str) -> dict[str, Any]:
    """The JSON document of one phase."""
    import xraylib

    structure = STRUCTURES[key]
    metric = metric_tensor(structure.cell)
    volume = math.sqrt(np.linalg.det(metric))
    atoms = expand(structure)
    mass = sum(
        len(positions) * xraylib.AtomicWeight(xraylib.SymbolToAtomicNumber(site.element)) for site, positions in atoms
    )
    hkl, spacings = _reciprocal_vectors(metric)
    spacing = {tuple(v): d for v, d in zip(hkl.tolist(), spacings, strict=True)}
    rows: list[dict[str, Any]] = []
    for orbit in _families(structure, hkl):
        vectors = np.array(orbit)
        d = np.full(len(orbit), spacing[orbit[0]])
        # Friedel mates differ in a non-centrosymmetric crystal, and a powder shows their mean.
        squares = {
            line: float(np.mean(np.abs(structure_factors(atoms, vectors, d, ENERGIES[line])) ** 2))
            for line in ("k_alpha", "k_beta")
        }
        rows.append(
            {
                "hkl": list(orbit[0]),
                "multiplicity": len(orbit),
                "d": float(d[0]),
                "f2_k_alpha": squares["k_alpha"],
                "f2_k_beta": squares["k_beta"],
                "texture": _texture_cosines(orbit, structure.texture_axis, metric),
            }
        )
    strongest = max(row["multiplicity"] * row["f2_k_alpha"] for row in rows)
    rows = [row for row in rows if row["multiplicity"] * row["f2_k_alpha"] > 1e-6 * strongest]
    rows.sort(key=lambda row: (-row["d"], row["hkl"]))
    return {
        "schema_version": SCHEMA_VERSION,
        "key": key,
        "name": structure.name,
        "formula": structure.formula,
        "space_group": structure.space_group,
        "hall_number": structure.hall_number,
        "cell": list(structure.cell),
        "sites": [
            {
                "scatterer": site.scatterer,
                "position": list(site.position),
                "multiplicity": len(pos),
                "b_iso": site.b_iso,
            }
            for site, pos in atoms
        ],
        "source": structure.source,
        "units": "cell, d: angstrom and deg; b_iso: angstrom^2; volume: angstrom^3; density: g/cm^3; f2: electrons^2",
        "energies": {name: ENERGIES[name] for name in ("k_alpha", "k_beta")},
        "volume": volume,
        "density": mass / AVOGADRO / (volume * 1e-24),
        "mass_fractions": mass_fractions(structure),
        "texture_axis": list(structure.texture_axis),
        "families": rows,
        "diffuse": diffuse_scattering(structure),
        "made_with": _versions(),
    }


_LINES = ("KA", "KB", "LA", "LB")
_LOWEST_LINE = 3.0  # keV: softer fluorescence dies in the air path and below the detector's window
_AIR = {"N": 0.755, "O": 0.232, "Ar": 0.013}  # mass fractions of dry air


def _fluorescence(number: int) -> list[dict[str, Any]]:
    """Lines that the tube's lines excite in an element: energy (keV), production cross-sections (cm^2/g)."""
    import xraylib

    rows = []
    for name in _LINES:
        line = getattr(xraylib, name + "_LINE")
        try:
            energy = xraylib.LineEnergy(number, line)
        except ValueError:
            continue
        produced: dict[str, float] = {}
        for tube in ENERGIES:
            try:
                produced[tube] = xraylib.CS_FluorLine(number, line, ENERGIES[tube])
            except ValueError:
                produced[tube] = 0.0
        if energy > _LOWEST_LINE and max(produced.values()) > 0.01:
            rows.append({"line": name, "energy": energy, "production": produced})
    return rows


def atoms_document() -> dict[str, Any]:
    """Elements: attenuation at every energy that occurs, fluorescence, and free-molecule scattering of air."""
    import xraylib

    elements = sorted({site.element for s in STRUCTURES.values() for site in s.sites} | {"N", "O", "Ar", "Ni"})
    numbers = {element: xraylib.SymbolToAtomicNumber(element) for element in elements}
    lines = {element: _fluorescence(number) for element, number in numbers.items()}
    energies = dict(ENERGIES)
    for element, rows in lines.items():
        energies.update({f"{element}_{row['line']}": row["energy"] for row in rows})
    two_theta = np.arange(0.0, 165.1, 2.5)
    return {
        "schema_version": SCHEMA_VERSION,
        "units": "energies: keV; mass_attenuation, production: cm^2/g; air_scattering: cm^2/(molecule sr); deg",
        "source": "xraylib (attenuation, fluorescence, Compton), Waasmaier & Kirfel 1995 (nitrogen f0)",
        "energies": energies,
        "mass_attenuation": {
            element: {name: xraylib.CS_Total(number, energy) for name, energy in energies.items()}
            for element, number in numbers.items()
        },
        "fluorescence": {element: rows for element, rows in lines.items() if rows},
        "air": _AIR,
        "nickel_density": xraylib.ElementDensity(28),
        "k_beta_per_k_alpha": xraylib.RadRate(29, xraylib.KB_LINE) / xraylib.RadRate(29, xraylib.KA_LINE),
        "air_scattering": {"two_theta": two_theta.tolist(), "cross_section": _air_scattering(two_theta)},
        "made_with": _versions(),
    }


def _air_scattering(two_theta: npt.NDArray[np.float64]) -> list[float]:
    """Cross-section of a nitrogen molecule: Debye's formula for two atoms 1.098 angstrom apart, plus Compton."""
    import xraylib

    s = np.sin(np.radians(two_theta / 2)) * ENERGIES["k_alpha"] / HC
    coherent = 2 * np.abs(form_factor("N", s, ENERGIES["k_alpha"])) ** 2 * (1 + np.sinc(4 * s * 1.098))
    compton = 2 * np.array([xraylib.SF_Compt(7, q) if q > 0 else 0.0 for q in s])
    thomson = CLASSICAL_RADIUS**2 * (1 + np.cos(np.radians(two_theta)) ** 2) / 2
    return [float(v) for v in thomson * (coherent + compton)]


def _versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("spglib", "xraydb", "xraylib")}


DOCUMENTS: Mapping[str, Callable[[], dict[str, Any]]] = {
    "atoms": atoms_document,
    **{key: (lambda key=key: phase_document(key)) for key in STRUCTURES},  # type: ignore[misc]
}
"""File stem in ``data/`` -> the function that computes its content."""


def differences(stored: Any, fresh: Any, path: str = "") -> list[str]:
    """Where two documents differ by more than rounding; the versions of packages may differ."""
    if path == "/made_with":
        return []
    if isinstance(stored, dict) and isinstance(fresh, dict):
        if stored.keys() != fresh.keys():
            return [f"{path}: keys differ"]
        return [text for key in stored for text in differences(stored[key], fresh[key], f"{path}/{key}")]
    if isinstance(stored, list) and isinstance(fresh, list):
        if len(stored) != len(fresh):
            return [f"{path}: {len(stored)} entries stored, {len(fresh)} computed"]
        pairs = enumerate(zip(stored, fresh, strict=True))
        return [text for i, (a, b) in pairs for text in differences(a, b, f"{path}/{i}")]
    if isinstance(stored, float) and isinstance(fresh, float):
        # 1e-7 is far above the rounding of a sum over a cell and far below any effect of physics.
        return [] if math.isclose(stored, fresh, rel_tol=1e-7, abs_tol=1e-12) else [f"{path}: {stored} != {fresh}"]
    return [] if stored == fresh else [f"{path}: {stored!r} != {fresh!r}"]


def serialise(document: Mapping[str, Any]) -> str:
    """JSON text with one reflection family per line, so that a change shows as a short diff."""
    head = {key: value for key, value in document.items() if key != "families"}
    text = json.dumps(head, indent=1, sort_keys=True, ensure_ascii=True)
    # Lists of bare numbers on one line.
    text = re.sub(r"\[[^][{}]*\]", lambda match: " ".join(match.group().split()), text)
    if "families" not in document:
        return text + "\n"
    rows = ",\n  ".join(json.dumps(row) for row in document["families"])
    return text[:-2] + ',\n "families": [\n  ' + rows + "\n ]\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the documents, or with ``--check`` compare them with the stored ones."""
    parser = argparse.ArgumentParser(description="line lists of the simulated diffractometer")
    parser.add_argument("--check", action="store_true", help="recompute and compare instead of writing")
    check = parser.parse_args(arguments).check
    faults: list[str] = []
    for stem, compute in DOCUMENTS.items():
        path = DATA / f"{stem}.json"
        # A detour through JSON makes tuples lists and keys strings, as in the stored file.
        fresh = json.loads(serialise(compute()))
        if not check:
            DATA.mkdir(exist_ok=True)
            path.write_text(serialise(fresh), encoding="ascii")
        elif not path.exists():
            faults.append(f"{stem}: no stored file")
        else:
            faults += [stem + text for text in differences(json.loads(path.read_text("ascii")), fresh)]
    sys.stderr.writelines(text + "\n" for text in faults)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main())
