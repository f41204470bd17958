"""What lies on the diffractometer's shelf: phases from the stored line lists, and specimens made of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

__all__ = ["SPECIMENS", "Atoms", "Component", "Family", "Phase", "Specimen", "load_atoms", "load_phase"]

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Family:
    """Symmetry-equivalent reflections of a phase: one powder line."""

    hkl: tuple[int, int, int]
    """Miller indices of the representative."""
    multiplicity: int
    """Number of equivalent reflections, Friedel mates included."""
    d: float
    """Lattice spacing, angstrom."""
    f2: Mapping[str, float]
    """Squared structure factor with Debye-Waller factor by emission line (``k_alpha``, ``k_beta``), electrons^2."""
    texture: tuple[tuple[float, float], ...]
    """(cos^2 of the angle to the texture axis, share of the equivalents that have it)."""


@dataclass(frozen=True)
class Phase:
    """A crystalline phase as `make_lines` stored it."""

    key: str
    """File stem in ``data/``."""
    name: str
    """Display name."""
    formula: str
    """Chemical formula."""
    volume: float
    """Cell volume, angstrom^3."""
    density: float
    """X-ray density, g/cm^3."""
    mass_fractions: Mapping[str, float]
    """Mass fraction by element."""
    texture_axis: tuple[int, int, int]
    """hkl of the planes that the texture of a specimen lays flat."""
    families: tuple[Family, ...]
    """Powder lines, largest spacing first."""
    diffuse: Mapping[str, tuple[float, ...]]
    """Scattering without peaks: ``compton``, ``thermal``, ``coherent`` (cm^2/(g sr)) at ``two_theta`` (deg)."""
    source: str
    """Publications of the structure."""


@dataclass(frozen=True)
class Atoms:
    """Atomic data that are common to all phases."""

    energies: Mapping[str, float]
    """Photon energies by name, keV: tube lines, and fluorescence lines as ``Fe_KA``."""
    mass_attenuation: Mapping[str, Mapping[str, float]]
    """Element -> name of an energy -> mass attenuation coefficient, cm^2/g."""
    fluorescence: Mapping[str, tuple[tuple[str, Mapping[str, float]], ...]]
    """Element -> (name of the line's energy, production cross-section by tube line in cm^2/g)."""
    air: Mapping[str, float]
    """Mass fractions of dry air."""
    nickel_density: float
    """Density of the filter foil, g/cm^3."""
    k_beta_per_k_alpha: float
    """Photons of copper K-beta per photon of K-alpha that a thin anode emits."""
    air_scattering: Mapping[str, tuple[float, ...]]
    """``cross_section`` of a nitrogen molecule (cm^2/sr) at ``two_theta`` (deg)."""


@dataclass(frozen=True)
class Component:
    """A phase's part in a specimen."""

    phase: str
    """Key of a phase."""
    weight_fraction: float
    """Mass fraction among the crystalline phases; those of a specimen add up to 1."""
    crystallite_size: float | None = None
    """Volume-weighted crystallite size in nm where it differs from the specimen's."""


@dataclass(frozen=True)
class Specimen:
    """A prepared specimen."""

    key: str
    """Name in the programme."""
    name: str
    """Name on the label."""
    components: tuple[Component, ...]
    """Phases with their weight fractions."""
    crystallite_size: float = 300.0
    """Volume-weighted crystallite size, nm."""
    microstrain: float = 0.0
    """Upper-limit strain e = delta d / d of Stokes and Wilson, dimensionless."""
    texture: float = 1.0
    """March-Dollase parameter r: 1 random, < 1 plates lying flat."""
    form: str = field(default="powder")
    """``powder`` (pressed into a cavity) or ``solid`` (polished plate)."""
    amorphous_fraction: float = 0.0
    """Mass fraction of silica glass (binder, capillary wool, unreacted glass)."""

    def __post_init__(self) -> None:
        total = sum(component.weight_fraction for component in self.components)
        if self.components and abs(total - 1.0) > 1e-9:
            raise ValueError(f"weight fractions of {self.key} add up to {total}, not 1")
        if self.form not in ("powder", "solid"):
            raise ValueError(f"{self.key}: form {self.form!r} is neither powder nor solid")

    @property
    def packing(self) -> float:
        """Share of the volume that is solid: 0.6 is usual for a pressed powder (Klug & Alexander 1974, chapter 5)."""
        return 0.6 if self.form == "powder" else 1.0


def _document(stem: str) -> dict[str, Any]:
    text = (resources.files(__package__) / "data" / f"{stem}.json").read_text(encoding="ascii")
    document: dict[str, Any] = json.loads(text)
    if document["schema_version"] != SCHEMA_VERSION:
        raise ValueError(f"{stem}.json has schema version {document['schema_version']}, not {SCHEMA_VERSION}")
    return document


def _frozen_lists(table: Mapping[str, list[float]]) -> Mapping[str, tuple[float, ...]]:
    return MappingProxyType({name: tuple(values) for name, values in table.items()})


@cache
def load_phase(key: str) -> Phase:
    """Read a phase's stored line list."""
    document = _document(key)
    families = tuple(
        Family(
            hkl=tuple(row["hkl"]),
            multiplicity=row["multiplicity"],
            d=row["d"],
            f2=MappingProxyType({"k_alpha": row["f2_k_alpha"], "k_beta": row["f2_k_beta"]}),
            texture=tuple((square, share) for square, share in row["texture"]),
        )
        for row in document["families"]
    )
    return Phase(
        key=key,
        name=document["name"],
        formula=document["formula"],
        volume=document["volume"],
        density=document["density"],
        mass_fractions=MappingProxyType(document["mass_fractions"]),
        texture_axis=tuple(document["texture_axis"]),
        families=families,
        diffuse=_frozen_lists(document["diffuse"]),
        source=document["source"],
    )


@cache
def load_atoms() -> Atoms:
    """Read the stored atomic data."""
    document = _document("atoms")
    fluorescence = {
        element: tuple((f"{element}_{row['line']}", MappingProxyType(row["production"])) for row in rows)
        for element, rows in document["fluorescence"].items()
    }
    return Atoms(
        energies=MappingProxyType(document["energies"]),
        mass_attenuation=MappingProxyType(document["mass_attenuation"]),
        fluorescence=MappingProxyType(fluorescence),
        air=MappingProxyType(document["air"]),
        nickel_density=document["nickel_density"],
        k_beta_per_k_alpha=document["k_beta_per_k_alpha"],
        air_scattering=_frozen_lists(document["air_scattering"]),
    )


def _pure(phase: str) -> tuple[Component, ...]:
    return (Component(phase, 1.0),)


def _mixture(**fractions: float) -> tuple[Component, ...]:
    return tuple(Component(phase, fraction) for phase, fraction in fractions.items())


_ALL = (
    Specimen("silicon", "Silicon powder (line-position standard)", _pure("silicon"), 500.0),
    Specimen("lanthanum_hexaboride", "LaB6 powder (line-shape standard)", _pure("lanthanum_hexaboride"), 700.0),
    Specimen("corundum", "Corundum, Al2O3 powder", _pure("corundum"), 250.0, texture=0.95),
    Specimen("quartz", "Quartz, SiO2 powder", _pure("quartz"), 300.0),
    Specimen("halite", "Halite, NaCl powder", _pure("halite"), 250.0, texture=0.80),
    Specimen("fluorite", "Fluorite, CaF2 powder", _pure("fluorite"), 150.0),
    Specimen("rutile", "Rutile, TiO2 powder", _pure("rutile"), 120.0),
    Specimen("anatase", "Anatase, TiO2 nanopowder", _pure("anatase"), 22.0),
    Specimen("zincite", "Zincite, ZnO powder", _pure("zincite"), 90.0, texture=0.90),
    Specimen("alpha_iron", "Iron powder, carbonyl", _pure("alpha_iron"), 60.0, microstrain=8e-4),
    Specimen("nickel", "Nickel foil, rolled", _pure("nickel"), 80.0, 1.2e-3, 0.70, "solid"),
    Specimen("copper", "Copper sheet, rolled", _pure("copper"), 90.0, 1.0e-3, 0.65, "solid"),
    Specimen("aluminium", "Aluminium plate", _pure("aluminium"), 200.0, 4e-4, 0.75, "solid"),
    Specimen("tungsten", "Tungsten powder", _pure("tungsten"), 120.0, 3e-4),
    Specimen("periclase", "Periclase, MgO powder", _pure("periclase"), 60.0),
    Specimen("ceria", "Ceria, CeO2 nanopowder", _pure("ceria"), 12.0),
    Specimen("quartz_corundum", "Quartz + corundum 1:1", _mixture(quartz=0.5, corundum=0.5), 300.0),
    Specimen(
        "titania_mix",
        "Titania pigment, anatase + rutile",
        (Component("anatase", 0.75, 22.0), Component("rutile", 0.25, 45.0)),
        22.0,
    ),
    Specimen("halite_fluorite", "Halite + fluorite 3:2", _mixture(halite=0.6, fluorite=0.4), 200.0),
    Specimen("zincite_silicon", "ZnO with silicon standard 4:1", _mixture(zincite=0.8, silicon=0.2), 120.0),
    Specimen("sand", "Glassy sand: quartz with glass", _pure("quartz"), 250.0, amorphous_fraction=0.35),
)

SPECIMENS: Mapping[str, Specimen] = MappingProxyType({specimen.key: specimen for specimen in _ALL})
"""Every specimen on the shelf, by key."""
