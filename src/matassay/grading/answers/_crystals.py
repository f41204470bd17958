"""Fields that hold a structure: as an object in the answer, or in a file that the answer names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np

from matassay.core import Artefact, Judgement
from matassay.grading.structures import (
    AXES,
    ENDINGS,
    FORMATS,
    MOMENTS,
    Crystal,
    Match,
    StructureUnreadable,
    crystal_from_json,
    difference,
    read_structure,
    write_structure,
)

from ._part import RIGHT, Asked, Handed, NoFile, Part
from ._scalars import Schema
from ._spec import Entry

#: Why structures may differ as far as they do by default.
DEFAULT_REASON: Final = "the benchmark's default: more than rounding and less than the difference of any two phases"


@dataclass(frozen=True)
class Structure:
    """A periodic structure, judged by equivalence."""

    match: Match
    given: str
    """``inline``, ``file`` or ``either``."""
    format: str | None
    """Of the file; None: its name tells."""
    species: tuple[str, ...] | None
    """Elements of the groups or types of files that do not name them."""
    reason: str
    """Why structures may differ that far."""

    KEYS = (
        "given", "format", "species", "ltol", "stol", "angle_tol", "supercell", "mirror", "vacuum", "least_vacuum",
        "flip", "moments", "moment_tol", "charge", "symprec", "reason",
    )  # fmt: skip

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        usual = Match()
        numbers = {
            "length": entry.number("ltol") or usual.length,
            "site": entry.number("stol") or usual.site,
            "angle": entry.number("angle_tol") or usual.angle,
            "moment": entry.number("moment_tol") or usual.moment,
            "least_vacuum": entry.number("least_vacuum") or usual.least_vacuum,
        }
        if numbers["length"] > 0.1 or numbers["site"] > 0.2 or numbers["angle"] > 5:
            raise entry.error(
                "ltol", "at most 0.1, stol at most 0.2 and angle_tol at most 5: wider ones match anything"
            )
        vacuum = entry.choice("vacuum", AXES, "c") if "vacuum" in entry.raw else None
        for key in ("least_vacuum", "flip"):
            if key in entry.raw and vacuum is None:
                raise entry.error("vacuum", f"the lattice vector along which there is vacuum, since {key} is given")
        match = Match(
            **numbers,
            supercell=entry.choice("supercell", ("any", "same"), "any") == "any",
            mirror=entry.flag("mirror", True),
            vacuum=vacuum,
            flip=entry.flag("flip", True),
            moments=entry.choice("moments", MOMENTS, "ignore"),
            charge=entry.flag("charge"),
            symprec=entry.number("symprec"),
        )
        return cls(
            match,
            entry.choice("given", ("inline", "file", "either"), "either"),
            entry.choice("format", FORMATS, FORMATS[0]) if "format" in entry.raw else None,
            tuple(entry.texts("species")) if "species" in entry.raw else None,
            entry.text("reason", DEFAULT_REASON),
        )

    def parts(self) -> tuple[Part, ...]:
        """One: equivalent to the reference."""
        text = f"is equivalent to the reference structure, lengths within {self.match.length:.3g}"
        return (Part("", text, self._check, (self.match.length * 100, "%", self.reason), self._displaced),)

    def schema(self) -> Schema:
        """An object, the name of a file, or either."""
        row = {"type": "array", "items": {"type": "number"}, "minItems": 3, "maxItems": 3}
        rows = {"type": "array", "items": row}
        moment = {"anyOf": [{"type": "number"}, row]}
        properties = {
            "lattice": rows | {"minItems": 3, "maxItems": 3, "description": "Lattice vectors as rows. Unit: angstrom."},
            "species": {"type": "array", "items": {"type": "string"}, "description": "Element of each site."},
            "fractional": rows | {"description": "Positions in units of the lattice vectors."},
            "cartesian": rows | {"description": "Positions. Unit: angstrom."},
            "magnetic_moments": {
                "type": "array",
                "items": moment,
                "description": "Moment of each site, a number or a vector. Unit: muB.",
            },
            "charge": {"type": "number", "description": "Of the cell. Unit: e."},
        }
        required = ["lattice", "species"]
        required += ["magnetic_moments"] if self.match.moments != "ignore" else []
        required += ["charge"] if self.match.charge else []
        inline: Schema = {
            "type": "object",
            "properties": properties,
            "required": required,
            "oneOf": [{"required": ["fractional"]}, {"required": ["cartesian"]}],
            "additionalProperties": False,
        }
        formats = self.format or "POSCAR, CIF, extended XYZ or LAMMPS data"
        file: Schema = {"type": "string", "description": f"Name of a file in the workspace ({formats})."}
        chosen = {"inline": inline, "file": file, "either": {"anyOf": [inline, file]}}[self.given]
        return chosen | {"description": self._description(formats)}

    def _description(self, formats: str) -> str:
        match = self.match
        said = [
            {"inline": "A structure", "file": f"Name of a structure file ({formats})"}.get(
                self.given, f"A structure, or the name of a structure file ({formats})"
            )
            + f"; lengths within {match.length:.3g} relative, angles within {match.angle:g} deg, sites within "
            f"{match.site:.3g} of the cube root of the volume per atom. Origin, orientation and order of sites are free",
            "supercells are equivalent" if match.supercell else "the number of atoms counts",
        ]
        if match.vacuum:
            said.append(
                f"a slab with vacuum along {match.vacuum}, at least {max(match.least_vacuum, 3.0):g} angstrom of it"
            )
            said.append("either side up" if match.flip else "not upside down")
        if match.moments != "ignore":
            said.append("magnetic moments count, up to reversal of all")
        if match.charge:
            said.append("the charge counts")
        return "; ".join(said) + "."

    def handed(self, reference: Any, name: str) -> Handed:
        """The reference as somebody would hand it in: inline, or as a file of that name and its ending."""
        return self._handed(self._wanted(reference), name)

    def _handed(self, crystal: Crystal, name: str) -> Handed:
        if self.given != "file":
            return Handed(crystal.to_json())
        format = self.format or "poscar"
        file = f"{name}{ENDINGS[format]}"
        return Handed(file, Artefact.of(file, write_structure(crystal, format).encode(), "text/plain"))

    def _displaced(self, reference: Any, k: float) -> Handed:
        """The reference under an isotropic strain; of a slab, in its plane."""
        crystal = self._wanted(reference)
        strain = np.full((3, 1), 1 + k * self.match.length)
        if self.match.vacuum is not None:
            strain[AXES.index(self.match.vacuum)] = 1
        strained = Crystal.of(
            crystal.cell * strain, crystal.species, crystal.fractional, crystal.moments, crystal.charge
        )
        return self._handed(strained, "displaced")

    def _check(self, asked: Asked) -> Judgement:
        wanted = self._wanted(asked.reference)
        value = asked.value
        try:
            if isinstance(value, str) and self.given != "inline":
                found = read_structure(asked.files(value), value.strip(), format=self.format, species=self.species)
            elif isinstance(value, dict) and self.given != "file":
                found = crystal_from_json(value)
            else:
                expected = {"inline": "a structure as an object", "file": "the name of a structure file"}
                return asked.malformed(expected.get(self.given, "a structure as an object, or the name of a file"))
        except (NoFile, StructureUnreadable) as error:
            return asked.refused(str(error))
        unlike = difference(found, wanted, self.match)
        if unlike is None:
            return RIGHT
        return asked.refused(unlike.message) if unlike.missing else asked.wrong(f"it {unlike.message}")

    def _wanted(self, reference: Any) -> Crystal:
        """The reference: inline as in an answer, or the text of a file with its format."""
        if isinstance(reference, Crystal):
            return reference
        if isinstance(reference, Mapping) and set(reference) == {"format", "text"}:
            data = str(reference["text"]).encode()
            return read_structure(data, "reference", format=reference["format"], species=self.species)
        return crystal_from_json(reference)
