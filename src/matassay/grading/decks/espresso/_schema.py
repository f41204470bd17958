"""Reads ``data-file-schema.xml``, in which pw.x writes down with what it would run."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np

from matassay.grading.decks._crystal import BOHR, Crystal, element_of_label
from matassay.grading.decks._mesh import Mesh

# `forces` and `stress` are left out: pw.x writes what was asked for, before it switches them on for relaxations.
_SCALARS = (
    # (path below <input>, variable, type, factor to the variable's unit: Hartree to Rydberg where it is an energy)
    ("control_variables/nstep", "nstep", "int", 1),
    ("control_variables/etot_conv_thr", "etot_conv_thr", "real", 2),
    ("control_variables/forc_conv_thr", "forc_conv_thr", "real", 2),
    ("control_variables/press_conv_thr", "press_conv_thr", "real", 1),
    ("spin/noncolin", "noncolin", "bool", 1),
    ("spin/spinorbit", "lspinorb", "bool", 1),
    ("bands/tot_charge", "tot_charge", "real", 1),
    ("basis/ecutwfc", "ecutwfc", "real", 2),
    ("basis/ecutrho", "ecutrho", "real", 2),
    ("electron_control/mixing_mode", "mixing_mode", "str", 1),
    ("electron_control/mixing_beta", "mixing_beta", "real", 1),
    ("electron_control/mixing_ndim", "mixing_ndim", "int", 1),
    ("electron_control/conv_thr", "conv_thr", "real", 2),
    ("electron_control/max_nstep", "electron_maxstep", "int", 1),
    ("symmetry_flags/nosym", "nosym", "bool", 1),
    ("symmetry_flags/noinv", "noinv", "bool", 1),
    ("symmetry_flags/no_t_rev", "no_t_rev", "bool", 1),
    ("dft/functional", "functional", "str", 1),
)


class BadSchema(ValueError):
    """The file is not what pw.x writes."""


def read_schema(text: str) -> dict[str, Any]:
    """Effective values by variable; ``structure`` and ``mesh`` besides.

    Raises
    ------
    BadSchema
        If it cannot be read.
    """
    if "<!DOCTYPE" in text[:2000] or "<!ENTITY" in text:
        raise BadSchema("has a document type, which pw.x never writes")
    try:
        # Entities, the only danger of this parser, are excluded above.
        root = ElementTree.fromstring(text)  # noqa: S314
    except ElementTree.ParseError as error:
        raise BadSchema(str(error)) from error
    block = root.find("input")
    if block is None:
        raise BadSchema("has no input block")
    out: dict[str, Any] = {}
    for path, name, kind, scale in _SCALARS:
        raw = block.findtext(path)
        if raw is not None and raw.strip():
            out[name] = _value(raw.strip(), kind, scale)
    out["species"] = {
        s.get("name", ""): (float(s.findtext("mass") or 0), (s.findtext("pseudo_file") or "").strip())
        for s in block.iterfind("atomic_species/species")
    }
    structure = block.find("atomic_structure")
    if structure is not None:
        cell = np.array([_vector(structure.findtext(f"cell/a{i}")) for i in (1, 2, 3)]) * BOHR
        atoms = list(structure.iterfind("atomic_positions/atom"))
        if atoms:
            places = np.array([_vector(a.text) for a in atoms]) * BOHR
            labels = [a.get("name", "") for a in atoms]
            out["labels"] = labels
            out["structure"] = Crystal(cell, tuple(element_of_label(x) for x in labels), places @ np.linalg.inv(cell))
    grid = block.find("k_points_IBZ/monkhorst_pack")
    if grid is not None:
        counts = [int(grid.get(f"nk{i}", "1")) for i in (1, 2, 3)]
        out["mesh"] = Mesh.centred(counts, [int(grid.get(f"k{i}", "0")) / 2 for i in (1, 2, 3)])
    return out


def _value(raw: str, kind: str, scale: float) -> Any:
    if kind == "bool":
        return raw == "true"
    if kind == "str":
        return raw.lower()
    # Two digits are lost in the way from Rydberg to Hartree and back.
    return int(raw) if kind == "int" else float(f"{float(raw) * scale:.13g}")


def _vector(text: str | None) -> list[float]:
    return [float(t) for t in (text or "").split()]
