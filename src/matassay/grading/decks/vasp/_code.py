"""Effective values of a VASP deck."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from matassay.core import Failure, Probe
from matassay.grading.decks._crystal import STRUCTURE_NAMES, describe, masses, spacings
from matassay.grading.decks._model import NOTHING, Builder, Effective, read_text

from . import _values
from ._incar import statements
from ._kpoints import BadKpoints, Sampling, automatic, read_kpoints
from ._poscar import BadPoscar, Poscar, element, read_poscar
from ._rules import apply_rules

_DERIVED = {
    "k_scheme": "mesh, points or path",
    "k_mesh": "points of the mesh along each reciprocal vector",
    "k_offset": "displacement of the mesh from Gamma in spacings",
    "k_gamma": "whether the mesh holds Gamma",
    "k_spacing": "distance of neighbouring points along each reciprocal vector",
    "k_path": "corners of the path",
    "k_per_segment": "points per segment of the path",
    "potcar": "names of the POTCAR data sets",
    "potcar_functional": "functional that POTCAR.spec names",
    "motion": "static, relaxation, dynamics or response",
    "cell_moves": "whether a relaxation changes the cell",
    "ions_move": "whether a relaxation moves ions",
    "charge": "charge of the cell",
    "total_moment": "sum of the initial moments",
    "selective_dynamics": "whether single coordinates are fixed",
    "n_fixed": "sites with at least one fixed coordinate",
    "IALGO": "",
    "LNONCOLLINEAR": "",
}
_PER_SPECIES = re.compile(r"(LDAUL|LDAUU|LDAUJ|U_eff)\.[A-Z][a-z]?\d*\Z", re.IGNORECASE)
_TITLES = {"PAW_PBE": "PBE", "PAW_GGA": "PW91", "PAW_LDA": "LDA", "PAW": "LDA"}
"""How the title of a POTCAR file begins, and the functional that it means."""
_BESIDE = re.compile(r"(TITEL|-|\d\d[A-Za-z]{3}\d{4})\Z", re.IGNORECASE)
_FUNCTIONAL = re.compile(r"(PBE|LDA|PW91|PBEsol|USPP|US)(_\w+)?\Z", re.IGNORECASE)


class Vasp:
    """VASP 6.5, by our own readers: the program is not free to ship."""

    name = "vasp"
    files: Mapping[str, bool] = {"INCAR": True, "KPOINTS": False, "POSCAR": True, "POTCAR": False}

    def probe(self, files: Mapping[str, bytes], support: Mapping[str, bytes]) -> Probe | None:
        """Nothing can be asked: there is no engine."""
        return None

    def canonical(self, name: str, value: Any = None) -> tuple[str, Any]:
        """Tags in capitals; names of what follows as they are."""
        if name in _DERIVED or name in STRUCTURE_NAMES:
            return name, value
        if _PER_SPECIES.match(name):
            head, _, symbol = name.partition(".")
            return f"{'U_eff' if head.lower() == 'u_eff' else head.upper()}.{symbol}", value
        tag = name.upper()
        if tag not in _values.types():
            raise ValueError(f"VASP has no tag {name!r}")
        try:
            return tag, _values.canonical(tag, value)
        except _values.BadValue as error:
            raise ValueError(f"{tag}: {error}") from error

    def effective(
        self,
        files: Mapping[str, bytes],
        collected: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] = NOTHING,
    ) -> Effective:
        """Read all files; a file that cannot be read leaves out what depends on it."""
        builder = Builder()
        potcar = _read_potcar(files, builder)
        poscar = _read_structure(files, potcar, builder)
        if _read_incar(files, builder):
            apply_rules(builder, poscar, files, context)
        _read_mesh(files, poscar, builder)
        if poscar is not None and "MAGMOM" in builder.values:
            _attach_moments(poscar, builder)
        return builder.build()


def _read_potcar(files: Mapping[str, bytes], builder: Builder) -> tuple[str, ...]:
    if "POTCAR" not in files:
        return ()
    text = read_text(files, "POTCAR", builder)
    if text is None:
        return ()
    labels: list[str] = []
    functional = None
    for line in text.split("\n"):
        for token in re.split(r"[\s,=]+", re.split(r"[#!]", line)[0].strip()):
            # Titles (`PAW_PBE Ge_d 03Jul2007`), paths (`potpaw_PBE/Si/POTCAR`), lists (`["Ni_pv", "O"]`) and pairs
            # (`Ni: Ni_pv`) name the data set as well.
            bare = token.strip("[]{}\"'")
            parts = [p for p in bare.split("/") if p and p.upper() != "POTCAR" and not bare.endswith(":")]
            word = parts[-1] if parts else ""
            if word.upper() in _TITLES or (not labels and _FUNCTIONAL.match(word)):
                functional = functional or _TITLES.get(word.upper(), word.upper())
            elif word and not _BESIDE.match(word):
                labels.append(word)
    if functional:
        builder.put("potcar_functional", functional, "POTCAR", explicit=True)
    if len(labels) > 200 or any(element(label) not in masses() for label in labels):
        builder.complain("POTCAR", "expected the names of POTCAR data sets, one per species", failure=Failure.FORMAT)
        return ()
    builder.put("potcar", labels, "POTCAR", explicit=True)
    return tuple(labels)


def _read_structure(files: Mapping[str, bytes], potcar: tuple[str, ...], builder: Builder) -> Poscar | None:
    text = read_text(files, "POSCAR", builder)
    if text is None:
        return None
    try:
        poscar = read_poscar(text, tuple(element(label) for label in potcar))
    except BadPoscar as error:
        builder.complain("POSCAR", str(error), error.line)
        return None
    elements = tuple(element(name) for name in poscar.names)
    if potcar and poscar.named and elements != tuple(element(label) for label in potcar):
        text = (
            "type information on POSCAR and POTCAR are incompatible; POTCAR overwrites the type information in POSCAR"
        )
        builder.complain("POSCAR", text, refuses=False)
    if not potcar and not poscar.named:
        for name in STRUCTURE_NAMES:
            builder.cannot_tell(name, "neither POSCAR nor POTCAR name the species")
        return poscar
    unknown = [s for s in poscar.crystal.species if s not in masses()]
    if unknown:
        builder.complain("POSCAR", f"{unknown[0][:20]!r} is no element", refuses=False)
    for name, (value, unit) in describe(poscar.crystal).items():
        builder.put(name, value, "POSCAR", unit=unit, explicit=True)
    free = poscar.crystal.free
    builder.put("selective_dynamics", free is not None, "POSCAR")
    builder.put("n_fixed", sum(not all(f) for f in free or ()), "POSCAR")
    return poscar


def _read_incar(files: Mapping[str, bytes], builder: Builder) -> bool:
    text = read_text(files, "INCAR", builder)
    if text is None:
        return False
    seen: dict[str, int] = {}
    for statement in statements(text):
        tag, line = statement.tag, statement.line
        if tag in seen:
            note = f"{tag} is set again; VASP uses the first, on line {seen[tag]}"
            builder.complain("INCAR", note, line, refuses=False)
            continue
        seen[tag] = line
        if tag not in _values.types():
            builder.complain("INCAR", f"VASP has no tag {tag[:40]}: it is ignored", line, refuses=False)
            continue
        try:
            value, rest = _values.read(tag, statement.value)
        except _values.BadValue as error:
            builder.complain("INCAR", f"Error reading item '{tag}' from file INCAR: {error}", line)
            continue
        if "=" in rest:
            note = f"{rest[:60]!r} after {tag} is not read: statements on one line need a semicolon"
            builder.complain("INCAR", note, line, refuses=False)
        builder.put(tag, value, f"INCAR, line {line}", unit=_values.units().get(tag, ""), explicit=True)
    for tag, value in _values.defaults().items():
        builder.default(tag, value, "default, VASP Wiki (VASP 6.5)", unit=_values.units().get(tag, ""))
    return True


def _read_mesh(files: Mapping[str, bytes], poscar: Poscar | None, builder: Builder) -> None:
    lattice = poscar.crystal.lattice if poscar else None
    if "KPOINTS" in files:
        text = read_text(files, "KPOINTS", builder)
        if text is None:
            return
        try:
            sampling = read_kpoints(text, lattice, poscar.scale if poscar else 1.0)
        except BadKpoints as error:
            builder.complain("KPOINTS", str(error), error.line)
            return
        source = "KPOINTS"
    elif lattice is not None and "KSPACING" in builder.values:
        spacing = builder.values["KSPACING"]
        if spacing <= 0:
            builder.complain("INCAR", f"KSPACING = {spacing} must be positive")
            return
        sampling, source = automatic(lattice, spacing, builder.values["KGAMMA"]), "KSPACING and KGAMMA"
    else:
        return
    _put_sampling(sampling, poscar, source, builder)
    points = math.prod(sampling.mesh.counts) if sampling.mesh else 4
    if builder.values.get("ISMEAR") in (-4, -5, -14, -15) and points < 4:
        builder.complain(source.split()[0], f"Tetrahedron method fails for NKPT<4. NKPT = {points}")


def _put_sampling(sampling: Sampling, poscar: Poscar | None, source: str, builder: Builder) -> None:
    explicit = source == "KPOINTS" or "KSPACING" in builder.explicit
    scheme = "mesh" if sampling.mesh else sampling.scheme
    builder.put("k_scheme", scheme, source, explicit=explicit)
    if sampling.mesh is not None:
        builder.put("k_mesh", list(sampling.mesh.counts), source, explicit=explicit)
        builder.put("k_offset", list(sampling.mesh.offset), source, explicit=explicit)
        builder.put("k_gamma", sampling.mesh.holds_gamma, source, explicit=explicit)
        if poscar is not None:
            values = spacings(poscar.crystal.lattice, sampling.mesh.counts)
            builder.put("k_spacing", values, f"{source} and POSCAR", unit="1/angstrom", explicit=explicit)
    elif sampling.points is not None and sampling.scheme == "path":
        builder.put("k_path", sampling.points.tolist(), source, explicit=explicit)
        builder.put("k_per_segment", sampling.per_segment, source, explicit=explicit)
    reason = f"the k points are no regular mesh ({scheme})"
    for name in ("k_mesh", "k_offset", "k_gamma", "k_spacing"):
        builder.cannot_tell(name, reason)


def _attach_moments(poscar: Poscar, builder: Builder) -> None:
    """The initial moments belong to the structure: without them antiferromagnetic orders look alike.

    Vectors count by their component along the axis that they share; where they share none, the structure has no moments.
    """
    crystal = poscar.crystal
    moments = np.array(builder.values["MAGMOM"], dtype=float)
    if builder.values["LNONCOLLINEAR"] and len(moments) == 3 * len(crystal.species):
        vectors = moments.reshape(-1, 3)
        longest = vectors[np.linalg.norm(vectors, axis=1).argmax()]
        axis = longest / (np.linalg.norm(longest) or 1.0)
        moments = vectors @ axis
        if np.abs(vectors - np.outer(moments, axis)).max() > 1e-6:
            return
    if len(moments) != len(crystal.species) or "structure" not in builder.values:
        return
    with_moments = type(crystal)(
        crystal.lattice,
        crystal.species,
        crystal.positions,
        tuple(float(m) for m in moments),
        crystal.periodic,
        crystal.free,
    )
    builder.values["structure"] = with_moments
