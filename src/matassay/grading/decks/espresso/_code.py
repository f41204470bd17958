"""Effective values of an input of pw.x."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from matassay.core import Probe
from matassay.grading.decks._crystal import BOHR, STRUCTURE_NAMES, Crystal, describe, element_of_label, spacings
from matassay.grading.decks._mesh import Mesh
from matassay.grading.decks._model import NOTHING, Builder, Effective, Problem, open_deck

from . import _table
from ._cards import Cell, read_cell, read_k_points, read_sites, read_species
from ._namelist import ORDER, Assignment, BadNamelist, Input, read_input
from ._schema import BadSchema, read_schema

_DERIVED = (
    "k_scheme", "k_mesh", "k_offset", "k_gamma", "k_spacing", "k_path", "k_per_segment", "functional", "pseudos", "motion",
    "cell_moves", "ions_move", "labels", "n_fixed", "spin", "total_moment",
)  # fmt: skip
_PER_SPECIES = re.compile(
    r"(starting_magnetization|hubbard_u|hubbard_j0|hubbard_alpha|hubbard_beta|starting_charge|angle1|angle2|pseudo|mass|label_count)"
    r"\.(\w[\w-]*)\Z",
    re.IGNORECASE,
)
_INDEXED = re.compile(r"\w+\(\s*\d+(\s*,\s*\d+)*\s*\)\Z")
_XML = "tmp/matassay.save/data-file-schema.xml"
_FIRST_NAMES = {name.lower(): name for name in ("starting_magnetization", "Hubbard_U", "Hubbard_J0", "Hubbard_alpha", "Hubbard_beta", "starting_charge", "angle1", "angle2", "pseudo", "mass")}  # fmt: skip  # noqa: E501


class QuantumEspresso:
    """pw.x of Quantum ESPRESSO 6.7."""

    name = "quantum-espresso"
    files: Mapping[str, bool] = {"input": True}

    def canonical(self, name: str, value: Any = None) -> tuple[str, Any]:
        """Variables in the spelling of the manual."""
        if name == "functional":
            return name, _table.canonical(name, value)
        if name in _DERIVED or name in STRUCTURE_NAMES:
            return name, value
        per_species = _PER_SPECIES.match(name)
        if per_species:
            return (
                f"{_FIRST_NAMES.get(per_species.group(1).lower(), per_species.group(1))}.{per_species.group(2)}",
                value,
            )
        base = name.split("(")[0].strip().lower()
        if base not in _table.types() or ("(" in name and not _INDEXED.match(name)):
            raise ValueError(f"pw.x has no variable {name!r}")
        _, spelling, _ = _table.types()[base]
        index = "(" + re.sub(r"\s", "", name.split("(")[1]) if "(" in name else ""
        return spelling + index, _table.canonical(spelling, value)

    def probe(self, files: Mapping[str, bytes], support: Mapping[str, bytes]) -> Probe | None:
        """A run of pw.x that ends after its set-up: it finds the file that asks it to stop before it starts.

        Needs the pseudopotentials among ``support`` (by name, in any folder).
        """
        text = open_deck(files, "input").text
        if text is None or not support:
            return None
        staged = {f"pseudo/{name.rsplit('/', 1)[-1]}": data for name, data in support.items()}
        staged["pw.in"] = _prepared(text).encode()
        staged["tmp/matassay.EXIT"] = b""
        argv = ("env", *_ALONE, "pw.x", "-in", "pw.in")
        return Probe(name="quantum-espresso", argv=argv, files=staged, outputs=(_XML,), seconds=20.0)

    def effective(
        self,
        files: Mapping[str, bytes],
        collected: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] = NOTHING,
    ) -> Effective:
        """Our own reading, overruled by pw.x where it could be asked."""
        builder, _, text, file = open_deck(files, "input")
        if text is None:
            return builder.build()
        _Reading(text, file, builder).run()
        if collected is not None:
            _ask_code(collected, file, builder)
        _derive(builder)
        return builder.build()


def _prepared(text: str) -> str:
    """The input with folders of ours; what needs an earlier run starts from scratch, which changes no other value."""
    try:
        given = read_input(text)
    except BadNamelist:
        return text
    if "control" not in given.namelists:
        return text
    ours = [
        "outdir='./tmp'",
        "wfcdir='./tmp'",
        "prefix='matassay'",
        "pseudo_dir='./pseudo'",
        "restart_mode='from_scratch'",
    ]
    last = [a.values[0] for a in given.namelists["control"] if a.name.lower() == "calculation" and a.values][-1:]
    calculation = last[0].strip("'\" ") if last and last[0] else "scf"
    if calculation in ("nscf", "bands"):
        ours += ["calculation='scf'", "lberry=.false."]
    end = given.ends["control"]
    return f"{text[:end]}\n {', '.join(ours)}\n{text[end:]}"


def reason(stdout: str) -> str | None:
    r"""Why pw.x stopped, in its own words; None if it does not say.

    Examples
    --------
    >>> reason(" %%%%%%%%\n     Error in routine readpp (1):\n     file Si.UPF not found\n %%%%%%%%\n")
    'Error in routine readpp (1): file Si.UPF not found'
    """
    match = re.search(r"%{8,}[^\S\n]*\n(.*?)\n[^\S\n]*%{8,}", stdout, re.DOTALL)
    return " ".join(match.group(1).split())[:500] if match else None


#: Open MPI for one process: no daemon, no search for networks, other processes or the machine's layout. All of that
#: would take five times as long as pw.x needs to read an input.
_ALONE = (
    "OMP_NUM_THREADS=1",
    "OMPI_MCA_ess_singleton_isolated=1",
    "OMPI_MCA_pml=ob1",
    "OMPI_MCA_btl=self",
    "OMPI_MCA_coll=self,basic,libnbc",
    "OMPI_MCA_osc=^ucx,pt2pt",
    "OMPI_MCA_mtl=^ofi,psm,psm2",
    "HWLOC_COMPONENTS=no_os,stop",
)


class _Reading:
    """Our own reading of an input."""

    def __init__(self, text: str, file: str, builder: Builder) -> None:
        self.text = text
        self.file = file
        self.b = builder
        self.v = builder.values

    def attempt(self, action: Any, *arguments: Any) -> Any:
        try:
            return action(*arguments)
        except BadNamelist as error:
            self.b.complain(self.file, str(error), error.line)
            return None

    def run(self) -> None:
        given = self.attempt(read_input, self.text)
        if given is None:
            return
        if "HUBBARD" in given.cards:
            line = given.cards["HUBBARD"][2]
            self.b.complain(self.file, "the card HUBBARD came with pw.x 7.1: 6.7 ignores it", line, refuses=False)
        for card, line in given.ignored:
            self.b.complain(
                self.file, f"card {card} is ignored: pw.x 6.7 knows it in capitals only", line, refuses=False
            )
        self.namelists(given)
        self.rules()
        self.needed(given)
        cell: Cell | None = self.attempt(read_cell, self.v, given)
        self.lengths()
        species = self.attempt(read_species, given, self.v.get("ntyp", 1))
        if cell is not None and species is not None:
            labels = [label for label, _, _ in species]
            found = self.attempt(read_sites, given, self.v.get("nat", 1), cell, labels)
            if found is not None:
                put_structure(self.b, found[0], found[1], self.file)
        if species is not None:
            self.species(species)
        sampling = self.attempt(read_k_points, given, cell)
        if sampling is not None:
            scheme, mesh, points, segments = sampling
            put_mesh(self.b, mesh, scheme, self.file)
            if scheme == "path" and points is not None:
                self.b.put("k_path", points.tolist(), self.file, explicit=True)
                shared = segments[0] if len(set(segments)) == 1 else segments
                self.b.put("k_per_segment", shared, self.file, explicit=True)

    def namelists(self, given: Input) -> None:
        for name in given.namelists:
            if name not in ORDER:
                self.b.complain(self.file, f"pw.x has no namelist &{name}: it is ignored", refuses=False)
        for namelist in ORDER:
            for assignment in given.namelists.get(namelist, ()):
                self.assign(namelist, assignment)
        for name, value in _table.defaults().items():
            self.b.default(name, value, "default, INPUT_PW of Quantum ESPRESSO 6.7", unit=_table.units().get(name, ""))

    def assign(self, namelist: str, assignment: Assignment) -> None:
        entry = _table.types().get(assignment.name.lower())
        if entry is None or entry[0] != namelist:
            text = f'bad line in namelist &{namelist}: "{assignment.name}"'
            self.b.complain(self.file, text, assignment.line)
            return
        _, name, kind = entry
        source = f"{self.file}, line {assignment.line}"
        try:
            values = [None if t is None else _table.convert(name, kind, t) for t in assignment.values]
        except _table.BadVariable as error:
            self.b.complain(self.file, f"bad line in namelist &{namelist}: {error}", assignment.line)
            return
        if all(v is None for v in values):
            return
        if kind == "reals":
            self.array(name, assignment, values, source)
        elif values[0] is not None:
            self.scalar(name, values[0], source, assignment.line)

    def scalar(self, name: str, value: Any, source: str, line: int) -> None:
        unit = _table.units().get(name, "")
        words = _table.WORDS.get(name)
        if words is not None and value not in words:
            # pw.x compares words with their case; of some it says nothing and goes on without what was meant.
            silent = name in _table.SILENT
            text = f"{name} {value[:20]!r} is none of {', '.join(words)}"
            self.b.complain(self.file, f"{text}: it counts as 'none'" if silent else text, line, refuses=not silent)
            value = "none" if silent else value
        self.b.put(name, _table.canonical(name, value), source, unit=unit, explicit=True)

    def array(self, name: str, assignment: Assignment, values: list[Any], source: str) -> None:
        unit = _table.units().get(name, "")
        first = re.fullmatch(r"\s*(\d{1,3})?\s*(:\s*\d*\s*)?", assignment.index or "1")
        if first is None or not 0 < int(first[1] or 1) <= 100:
            key = f"{name}({re.sub(r'[^0-9,]', '', assignment.index or '')})"
            self.b.put(key, values[0], source, unit=unit, explicit=True)
            return
        start = int(first[1] or 1)
        array = list(self.v.get(name, []))
        array += [0.0] * (start - 1 + len(values) - len(array))
        for place, number in enumerate(values, start):
            if number is not None:
                array[place - 1] = number
                self.b.put(f"{name}({place})", number, source, unit=unit, explicit=True)
        self.b.put(name, array, source, unit=unit, explicit=True)

    def rules(self) -> None:
        v, follow = self.v, self.b.default
        calculation = v["calculation"]
        moving = calculation in ("relax", "md", "vc-relax", "vc-md")
        variable = calculation in ("vc-relax", "vc-md")
        for name, on in (("tprnfor", moving), ("tstress", variable)):
            if on:
                self.b.put(name, True, f"calculation = {calculation}", explicit=name in self.b.explicit)
            follow(name, False, "default")
        follow("nstep", 50 if moving else 1, "default, by calculation")
        if "ecutwfc" in v:
            follow("ecutrho", 4 * v["ecutwfc"], "default, 4 ecutwfc", unit="Ry")
            follow("ecutfock", v["ecutrho"], "default, ecutrho", unit="Ry")
        follow(
            "ion_dynamics",
            {"relax": "bfgs", "vc-relax": "bfgs", "md": "verlet", "vc-md": "beeman"}.get(calculation, "none"),
            "default, by calculation",
        )
        follow("cell_dynamics", "bfgs" if calculation == "vc-relax" else "none", "default, by calculation")
        follow("cell_factor", 2.0 if variable else 0.0, "default, by calculation")
        fixed, again = calculation in ("nscf", "bands"), v["restart_mode"] != "from_scratch"
        follow("startingpot", "file" if fixed or again else "atomic", "default, by calculation and restart_mode")
        follow("startingwfc", "file" if again and not fixed else "atomic+random", "default, by restart_mode")
        if v["nspin"] not in (1, 2, 4):
            self.b.complain(self.file, f"nspin = {v['nspin']} is none of 1, 2, 4")
        if v["nspin"] == 2 and v["occupations"] == "fixed" and "tot_magnetization" not in self.b.explicit:
            self.b.complain(self.file, "fixed occupations and lsda need tot_magnetization")
        if v["occupations"] == "smearing" and v["degauss"] == 0:
            self.b.complain(self.file, "smearing requires nonzero degauss")
        if "input_dft" in v:
            self.b.put("functional", _table.canonical("functional", v["input_dft"]), "input_dft", explicit=True)
        # Older variables of the same meaning: either says both.
        for name, word in (("london", "grimme-d2"), ("ts_vdw", "ts"), ("xdm", "xdm")):
            if v[name]:
                self.b.put("vdw_corr", word, name, explicit=True)
            elif v["vdw_corr"] == word:
                self.b.put(name, True, "vdw_corr", explicit=True)
        if v["noncolin"]:
            self.b.put("nspin", 4, "noncolin", explicit="nspin" in self.b.explicit)
        for name in ("nbnd", "input_dft", "exx_fraction", "screening_parameter", "wmass", "disk_io", "pseudo_dir"):
            self.b.cannot_tell(name, "it is not set, and its default depends on pseudopotentials or surroundings")

    def lengths(self) -> None:
        """`celldm(1)` to `(3)` and `A`, `B`, `C` say the same: whichever is given, both are there."""
        v, lengths = self.v, ("A", "B", "C")
        if "celldm" in v and v["celldm"][0] and not v["A"]:
            scale = v["celldm"][0] * BOHR
            for name, ratio in zip(lengths, [1.0, *v["celldm"][1:3]], strict=False):
                if ratio:
                    self.b.put(name, ratio * scale, "celldm", unit="angstrom", explicit=True)
        elif v["A"] and "celldm" not in v:
            ratios = [v["A"] / BOHR, v["B"] / v["A"], v["C"] / v["A"]]
            self.b.put("celldm", ratios, "A, B, C", explicit=True)
            for place, ratio in enumerate(ratios, 1):
                if ratio:
                    self.b.put(f"celldm({place})", ratio, "A, B, C", explicit=True)

    def needed(self, given: Input) -> None:
        for name in ("nat", "ntyp", "ecutwfc"):
            value = self.v.get(name)
            if (value is None or value <= 0) and not (name == "nat" and self.v["space_group"]):
                self.b.complain(self.file, f"{name} is not set")
        order = [name for name in given.namelists if name in ORDER]
        if order != sorted(order, key=list(ORDER).index):
            self.b.complain(self.file, f"namelists stand in the order {', '.join(order)}: pw.x reads on, never back")
        for namelist in ("control", "system", "electrons"):
            if namelist not in given.namelists:
                self.b.complain(self.file, f"namelist &{namelist} is missing")
        moving = self.v["calculation"] in ("relax", "md", "vc-relax", "vc-md")
        for namelist, on in (("ions", moving), ("cell", self.v["calculation"].startswith("vc-"))):
            if on and namelist not in given.namelists:
                self.b.complain(self.file, f"namelist &{namelist} is missing")

    def species(self, species: list[tuple[str, float, str]]) -> None:
        symbols = [element_of_label(label) for label, _, _ in species]
        labels = [label for label, _, _ in species]
        self.b.put("pseudos", {label: file for label, _, file in species}, self.file, explicit=True)
        # An element with several species (`Fe1`, `Fe2`) has its own entry, too: one value, or one of each species.
        members = {label: [i] for i, label in enumerate(labels)}
        for symbol in dict.fromkeys(symbols):
            members.setdefault(symbol, [i for i, s in enumerate(symbols) if s == symbol])
        for key, indices in members.items():
            self.per_species(f"pseudo.{key}", [species[i][2] for i in indices], explicit=True)
            self.per_species(f"mass.{key}", [species[i][1] for i in indices], "u", explicit=True)
            for name in _FIRST_NAMES.values():
                if name in ("pseudo", "mass"):
                    continue
                array = self.v.get(name, [])
                acts = self.v["lda_plus_u"] or not name.startswith("Hubbard")
                found = [array[i] if acts and i < len(array) else 0.0 for i in indices]
                unit = "eV" if name.startswith("Hubbard") else ""
                self.per_species(f"{name}.{key}", found, unit, explicit=all(i < len(array) for i in indices))

    def per_species(self, name: str, values: list[Any], unit: str = "", *, explicit: bool) -> None:
        value = values[0] if len(set(values)) == 1 else values
        self.b.put(name, value, self.file, unit=unit, explicit=explicit)


def put_structure(b: Builder, crystal: Crystal, labels: list[str], source: str) -> None:
    """Structure with the moments that the species' starting magnetisations give."""
    for name, (value, unit) in describe(crystal).items():
        b.put(name, value, source, unit=unit, explicit=True)
    b.put("labels", labels, source, explicit=True)
    b.put("n_fixed", sum(not all(f) for f in crystal.free or ()), source)


def put_mesh(b: Builder, mesh: Mesh | None, scheme: str, source: str) -> None:
    """K points under the names that all codes share."""
    b.put("k_scheme", "mesh" if mesh else scheme, source, explicit=True)
    if mesh is None:
        for name in ("k_mesh", "k_offset", "k_gamma", "k_spacing"):
            b.cannot_tell(name, f"the k points are no regular mesh ({scheme})")
        return
    b.put("k_mesh", list(mesh.counts), source, explicit=True)
    b.put("k_offset", list(mesh.offset), source, explicit=True)
    b.put("k_gamma", mesh.holds_gamma, source, explicit=True)


def _ask_code(collected: Mapping[str, Any], file: str, builder: Builder) -> None:
    """Let what pw.x itself said overrule our reading."""
    text = (collected.get("files") or {}).get(_XML)
    why = reason(str(collected.get("stdout", "")))
    if not text:
        if collected.get("timed_out") or collected.get("exit_code") in (126, 127) or why is None:
            # The program is not there, or failed without a word about the deck: our own reading has to do.
            return
        ours = [Problem(p.file, p.line, p.text, p.failure, refuses=False) for p in builder.problems]
        builder.problems = [Problem(file, None, why), *ours]
        return
    try:
        said = read_schema(text)
    except BadSchema:
        return
    builder.problems = [Problem(p.file, p.line, p.text, p.failure, refuses=False) for p in builder.problems]
    for name, value in said.items():
        if name in ("structure", "labels", "mesh", "species"):
            continue
        value = _table.canonical(name, value)
        unit = _table.units().get(name, "")
        if builder.values.get(name) != value:
            builder.put(name, value, "pw.x 6.7", unit=unit, explicit=name in builder.explicit)
    if "structure" in said:
        crystal: Crystal = said["structure"]
        before = builder.values.get("structure")
        free = before.free if before is not None and len(before.species) == len(crystal.species) else None
        whole = Crystal(crystal.lattice, crystal.species, crystal.positions, free=free)
        put_structure(builder, whole, said["labels"], "pw.x 6.7")
    if "mesh" in said:
        put_mesh(builder, said["mesh"], "mesh", "pw.x 6.7")


def _derive(builder: Builder) -> None:
    """What rests on the final values."""
    v = builder.values
    if "structure" in v and v.get("k_mesh"):
        values = spacings(v["structure"].lattice, v["k_mesh"])
        builder.put("k_spacing", values, "k points and cell", unit="1/angstrom", explicit=True)
    calculation = v.get("calculation")
    if calculation is None:
        return
    kind = {"relax": "relaxation", "vc-relax": "relaxation", "md": "dynamics", "vc-md": "dynamics"}.get(
        calculation, "static"
    )
    builder.put("motion", kind, "calculation")
    builder.put("cell_moves", calculation.startswith("vc-"), "calculation")
    builder.put("ions_move", kind != "static", "calculation")
    spin = "noncollinear" if v["noncolin"] else "collinear" if v["nspin"] == 2 else "none"
    builder.put("spin", spin, "nspin and noncolin")
    labels = v.get("labels")
    if spin == "collinear" and labels and "structure" in v:
        moments = [float(v.get(f"starting_magnetization.{label}", 0.0)) for label in labels]
        crystal: Crystal = v["structure"]
        v["structure"] = Crystal(
            np.asarray(crystal.lattice),
            crystal.species,
            crystal.positions,
            tuple(moments),
            crystal.periodic,
            crystal.free,
        )
