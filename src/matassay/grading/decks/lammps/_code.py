"""Effective settings and forces of a LAMMPS deck."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

import numpy as np

from matassay.core import EnvironmentFailure, Probe, convert
from matassay.grading.decks._crystal import BOHR, STRUCTURE_NAMES, Crystal, describe, element_of_mass
from matassay.grading.decks._files import DeckFiles, is_program, is_text
from matassay.grading.decks._model import NOTHING, Builder, Effective, open_deck
from matassay.grading.decks._numbers import fortran_integer

from ._echo import executed, keywords, number, system
from ._forces import ForceField
from ._rewrite import rewrite, unpacked

_JOULE, _KILOGRAM = convert(1.0, "J", "eV"), convert(1.0, "kg", "u")

#: unit system -> (length in angstrom, energy in eV, time in fs, mass in u); reduced units have no meaning outside
_UNITS: Mapping[str, tuple[float, float, float, float]] = {
    "metal": (1.0, 1.0, 1e3, 1.0),
    "real": (1.0, convert(1.0, "kcal/mol", "eV"), 1.0, 1.0),
    "electron": (BOHR, convert(1.0, "Ha", "eV"), 1.0, 1.0),
    "si": (1e10, _JOULE, 1e15, _KILOGRAM),
    "cgs": (1e8, 1e-7 * _JOULE, 1e15, 1e-3 * _KILOGRAM),
    "micro": (1e4, 1e-15 * _JOULE, 1e9, 1e-15 * _KILOGRAM),
    "nano": (10.0, 1e-21 * _JOULE, 1e6, 1e-21 * _KILOGRAM),
    "lj": (1.0, 1.0, 1.0, 1.0),
}
_BAR = {
    "metal": 1.0, "real": 1.01325, "electron": 1e-5, "si": 1e-5, "cgs": 1e-6, "micro": 1e-2, "nano": 10.0, "lj": 1.0,
}  # fmt: skip
"""The deck's unit of pressure in bar (LAMMPS manual, command `units`); reduced units have no meaning outside."""

_SKIN = {"metal": 2.0, "real": 2.0, "lj": 0.3, "si": 0.001, "cgs": 0.1, "electron": 2.0, "micro": 0.1, "nano": 0.1}
"""Default distance of the neighbour list beyond the cut-off, in the deck's units (LAMMPS manual, command `neighbor`)."""

_SUFFIX = re.compile(r"/(?:omp|opt|kk|intel|gpu)(?:/(?:device|host))?\Z")
_ACCELERATOR = ("omp", "opt", "kk", "intel", "gpu")

_FIXED_NAMES = frozenset(
    {
        "units", "atom_style", "dimension", "boundary", "pair_style", "pair_styles", "pair_arguments", "pair_elements",
        "bond_style", "angle_style", "dihedral_style", "improper_style", "kspace_style", "kspace_accuracy", "masses",
        "elements", "elements_match", "ntypes", "timestep", "skin", "neigh_every", "neigh_delay", "neigh_check",
        "groups", "fix_styles", "compute_styles", "dump_styles", "run_steps", "total_steps", "minimize", "min_style",
        "actions", "thermo", "special_bonds", "charge", "type_charges", "ensemble", "temperature",
        "temperature_damping", "pressure", "pressure_damping", "forces", "energies", "newton",
    }
)  # fmt: skip
_OPEN_NAMES = ("fix.", "group.", "compute.", "dump.", "command.", "elements.", "charges.", "pair_elements.")

_COMMANDS = frozenset(
    {
        "angle_coeff", "angle_style", "atom_modify", "atom_style", "balance", "bond_coeff", "bond_style", "boundary",
        "box", "change_box", "clear", "comm_modify", "comm_style", "compute", "compute_modify", "create_atoms",
        "create_bonds", "create_box", "delete_atoms", "delete_bonds", "dielectric", "dihedral_coeff", "dihedral_style",
        "dimension", "displace_atoms", "dump", "dump_modify", "echo", "fix", "fix_modify", "group", "improper_coeff",
        "improper_style", "kspace_modify", "kspace_style", "labelmap", "lattice", "mass", "min_modify", "min_style",
        "molecule", "neigh_modify", "neighbor", "newton", "pair_coeff", "pair_modify", "pair_style", "print",
        "processors", "read_data", "read_dump", "read_restart", "region", "replicate", "reset_atoms", "reset_timestep",
        "restart", "run_style", "set", "special_bonds", "suffix", "thermo", "thermo_modify", "thermo_style", "timestep",
        "uncompute", "undump", "unfix", "units", "variable", "velocity", "write_data", "write_dump", "write_restart",
    }
)  # fmt: skip

_RUNS = re.compile(rb"^[ \t]*(?:run|minimize)[ \t]", re.MULTILINE)

CONFIGURATIONS = 3
"""Displaced configurations of which forces are compared."""
MOST_ATOMS = 10_000
"""Larger systems are described, but no forces are taken."""


class Lammps:
    """LAMMPS of the workspace (22 Jul 2025)."""

    name = "lammps"
    files: Mapping[str, bool] = {"deck": True}

    def canonical(self, name: str, value: Any = None) -> tuple[str, Any]:
        """Names are as they are; styles lose the suffix of an accelerator."""
        if name not in _FIXED_NAMES and name not in STRUCTURE_NAMES and not name.startswith(_OPEN_NAMES):
            raise ValueError(f"nothing named {name!r} is known of LAMMPS decks")
        if isinstance(value, str) and name.endswith("_style"):
            return name, _plain(value)
        return name, value

    def probe(self, files: Mapping[str, bytes], support: Mapping[str, bytes]) -> Probe | None:
        """A run of the driver on copies in which nothing runs."""
        _, deck, text, _ = open_deck(files, "deck")
        if text is None:
            return None
        nonce, names = _nonce(deck), _nonce(deck, b"names")
        config = {
            "deck": posixpath.basename(deck.path("deck")) if deck.folder == "." else deck.names["deck"],
            "folder": deck.folder,
            "nonce": nonce,
            "names": names,
            "amplitude": 0.05,
            "most_atoms": MOST_ATOMS,
            "fields": [[], *_fields()],
            "commands": sorted(_COMMANDS),
        }
        if deck.folder == ".":
            config["deck"] = deck.path("deck")
        staged = {**deck.tree, **support}
        # What was packed too: code in the same process could write whatever it likes in the place of the result.
        staged = {name: data for name, data in {**unpacked(staged), **staged}.items() if not is_program(data)}
        staged = _without_runs(staged, deck.path("deck"), names)
        staged["matassay_probe.py"] = _driver()
        staged["matassay_probe.json"] = json.dumps(config).encode()
        return Probe(
            name="lammps",
            argv=("python3", "matassay_probe.py"),
            files=staged,
            outputs=(f"result_{nonce}.json",),
            seconds=30.0,
        )

    def effective(
        self,
        files: Mapping[str, bytes],
        collected: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] = NOTHING,
    ) -> Effective:
        """Read the probe's result.

        Raises
        ------
        EnvironmentFailure
            If LAMMPS could not be started: that says nothing about the deck.
        """
        builder, deck, text, file = open_deck(files, "deck")
        if text is None:
            return builder.build()
        result = _result(collected, _nonce(deck), file, builder)
        if result is None:
            return builder.build()
        _Reading(result, deck, builder).run()
        return builder.build()


@cache
def _driver() -> bytes:
    return resources.files(__package__).joinpath("_driver.py").read_bytes()


@cache
def _fields() -> list[list[list[float]]]:
    """Seeded displacement fields: plane waves with wave vectors of the box, so that they are periodic."""
    out = []
    for seed in range(CONFIGURATIONS):
        rng = np.random.default_rng([20_250_722, seed])
        waves = []
        for axis in (0, 1, 2):
            for _ in range(4):
                k = [float(v) for v in rng.integers(-7, 8, 3)]
                waves.append([*k, float(axis), float(rng.uniform(0, 2 * np.pi)), 0.5])
        out.append(waves)
    return out


def _nonce(deck: DeckFiles, use: bytes = b"result") -> str:
    """Part of the result's name, or of our variables'; since it hashes the deck, no deck can contain it.

    The names of variables are another one: a deck can list its variables, and must not learn the result's name by that.
    """
    digest = hashlib.sha256(use)
    for name, data in sorted(deck.tree.items()):
        digest.update(name.encode() + b"\0" + hashlib.sha256(data).digest())
    return digest.hexdigest()[:24]


def _without_runs(tree: Mapping[str, bytes], main: str, names: str) -> dict[str, bytes]:
    """Copies of the deck and of all files that it may include, in which nothing runs."""
    out = dict(tree)
    scripts = {main}
    queue = [main]
    running = [path for path, data in tree.items() if is_text(data) and _RUNS.search(data)]
    while queue:
        name = queue.pop()
        text = tree[name].decode("utf-8", "replace").replace("\r\n", "\n")
        out[name] = rewrite(text, names, main=name == main).encode()
        targets = dict.fromkeys(re.findall(r"\b(?:include|jump)\s+[\"']?([^\s\"']+)", text))
        paths = [
            posixpath.normpath(path)
            for target in targets
            for path in (posixpath.join(posixpath.dirname(main), target), target)
        ]
        if any("$" in target for target in targets):
            # A name that a variable holds may be any file that runs something.
            paths += [path for path in running if path not in scripts]
        for path in paths:
            if path in tree and path not in scripts and is_text(tree[path]):
                scripts.add(path)
                queue.append(path)
    return out


def _result(collected: Mapping[str, Any] | None, nonce: str, file: str, builder: Builder) -> Mapping[str, Any] | None:
    """What the driver wrote; None with a problem noted if it did not come to that."""
    if collected is None:
        raise EnvironmentFailure("the evidence has no result of loading the LAMMPS deck: was LAMMPS there?")
    text = (collected.get("files") or {}).get(f"result_{nonce}.json")
    if text:
        result: Mapping[str, Any] = json.loads(text)
        return result
    stderr = str(collected.get("stderr", ""))
    if "No module named 'lammps'" in stderr or "libmpi" in stderr or collected.get("exit_code") in (126, 127):
        raise EnvironmentFailure(f"LAMMPS could not be started: {stderr.strip().splitlines()[-1:]}")
    if collected.get("timed_out"):
        builder.complain(file, "LAMMPS was not through with reading the deck when its time was up")
    else:
        builder.complain(file, f"LAMMPS ended before the deck was through: {stderr.strip()[-300:] or 'quit?'}")
    return None


def _plain(style: str) -> str:
    return _SUFFIX.sub("", style)


def error_text(message: str) -> str:
    """LAMMPS's reason without what only its developers need.

    Examples
    --------
    >>> error_text("ERROR on proc 0: Unknown pair style: foo (src/src/force.cpp:258)")
    'Unknown pair style: foo'
    """
    text = re.sub(r"^(?:Exception: )?ERROR(?: on proc \d+)?:\s*", "", message.strip())
    text = re.sub(r"\s*\((?:src/)?[\w./-]+\.(?:cpp|h):\d+\)", "", text)
    text = re.sub(r"\n*For more information see https?://\S+", "", text)
    return " ".join(text.split())[:600]


class _Reading:
    """Turns the driver's result into values."""

    def __init__(self, result: Mapping[str, Any], deck: DeckFiles, builder: Builder) -> None:
        self.result = result
        self.deck = deck
        self.b = builder
        self.file = deck.names.get("deck", "deck")
        self.commands = executed(str(result.get("screen", "")), _COMMANDS)
        # Up to the last run, if the deck cleans up behind it.
        self.at_run = executed(str(result["screen_at_run"]), _COMMANDS) if "screen_at_run" in result else self.commands
        self.marker = f"asked_{_nonce(deck, b'names')}"

    def put(self, name: str, value: Any, source: str = "LAMMPS", unit: str = "") -> None:
        self.b.put(name, value, source, unit=unit, explicit=True)

    def run(self) -> None:
        error = self.result.get("error")
        if error is not None:
            text, ours = error_text(str(error["message"])), error["stage"] == "forces"
            # What fails only while we take forces is no fault of a deck that asks for none.
            self.b.complain(self.file, text, refuses=not ours)
            if ours:
                self.b.cannot_tell("forces", text)
                self.b.cannot_tell("energies", text)
        if "info" not in self.result:
            return
        facts = system(self.result["info"])
        self.scale = _UNITS.get(str(self.result.get("units")), _UNITS["lj"])
        self.settings(facts)
        self.atoms()
        self.mapping()
        self.neighbours()
        self.fixes(facts)
        self.actions()
        self.forces()

    def last(self, command: str) -> list[str] | None:
        return next((c[1:] for c in reversed(self.at_run) if c[0] == command), None)

    def settings(self, facts: Mapping[str, Any]) -> None:
        for name in ("units", "atom_style"):
            self.put(name, facts.get(name, "none"))
        for name in ("pair_style", "bond_style", "angle_style", "dihedral_style", "improper_style", "kspace_style"):
            self.put(name, _plain(facts.get(name, "none").split()[0]))
        self.put("dimension", int(facts.get("dimension", 3)))
        if "boundary" in facts:
            faces = [part.split(",") for part in facts["boundary"].split()]
            self.put("boundary", [low if low == high else low + high for low, high in faces])
        arguments = self.last("pair_style") or []
        hybrid = arguments[:1] and _plain(arguments[0]).startswith("hybrid")
        styles = [a for a in arguments[1:] if _is_style(a)] if hybrid else arguments[:1]
        self.put("pair_styles", sorted({_plain(s) for s in styles}))
        self.put("pair_arguments", [number(a) for a in arguments[1:]])
        kspace = self.last("kspace_style")
        if kspace and len(kspace) > 1:
            self.put("kspace_accuracy", number(kspace[1]))
        self.put("timestep", float(self.result["dt"]) * self.scale[2], unit="fs")
        thermo = self.last("thermo")
        self.put("thermo", number(thermo[0]) if thermo else 0)
        self.put("min_style", (self.last("min_style") or ["cg"])[0])
        self.put("special_bonds", " ".join(self.last("special_bonds") or []) or "none")
        for command in self.commands:
            self.put(f"command.{command[0]}", " ".join(command[1:]), "command as executed")
        self.put("groups", sorted(facts["groups"]))
        for count, name in re.findall(r"^(\d+) atoms in group (\S+)$", str(self.result.get("screen")), re.MULTILINE):
            self.put(f"group.{name}", int(count))

    def atoms(self) -> None:
        result = self.result
        if not result.get("has_box"):
            self.b.complain(self.file, "the deck makes no simulation box", refuses=False)
            return
        self.put("natoms", int(result["natoms"]))
        self.put("ntypes", int(result["ntypes"]))
        masses = result.get("masses")
        elements = [f"type{i}" for i in range(1, result["ntypes"] + 1)]
        if masses is not None:
            values = [float(m) * self.scale[3] for m in masses]
            self.put("masses", values, unit="u")
            elements = [element_of_mass(m) or name for m, name in zip(values, elements, strict=True)]
            self.put("elements", elements)
        self.elements = elements
        atoms = result.get("atoms")
        if not atoms or not atoms["id"]:
            return
        box = result["box"]
        low, high = np.array(box["lo"]), np.array(box["hi"])
        lengths = high - low
        lattice = np.array(
            [[lengths[0], 0, 0], [box["xy"], lengths[1], 0], [box["xz"], box["yz"], lengths[2]]], dtype=float
        )
        positions = np.array(atoms["x"]) @ np.linalg.inv(lattice)
        periodic = tuple(bool(p) for p in box["periodic"])
        crystal = Crystal(
            lattice * self.scale[0],
            tuple(elements[t - 1] for t in atoms["type"]),
            positions,
            periodic=(periodic[0], periodic[1], periodic[2]),
        )
        for name, (value, unit) in describe(crystal).items():
            self.put(name, value, unit=unit)
        if "q" in atoms:
            charges = np.array(atoms["q"])
            types = np.array(atoms["type"])
            self.put("charge", float(charges.sum()), unit="e")
            per_type = [
                float(charges[types == t].mean()) if (types == t).any() else 0.0 for t in range(1, result["ntypes"] + 1)
            ]
            self.put("type_charges", per_type, unit="e")
            for symbol in dict.fromkeys(elements):
                values = [c for c, e in zip(per_type, elements, strict=True) if e == symbol]
                if len(values) == 1:
                    self.put(f"charges.{symbol}", values[0], unit="e")

    def mapping(self) -> None:
        """Elements that ``pair_coeff * * file El El ...`` gives to the types, against those of the masses."""
        agree: list[bool] = []
        for command in self.commands:
            if command[0] != "pair_coeff" or command[1:3] != ["*", "*"]:
                continue
            arguments = command[3:]
            style = _plain(self.b.values["pair_style"])
            if style.startswith("hybrid") and arguments:
                style, arguments = _plain(arguments[0]), arguments[1:]
                if arguments and number(arguments[0]) in (1, 2, 3, 4, 5, 6, 7, 8, 9):
                    arguments = arguments[1:]
            named = arguments[-self.result.get("ntypes", 0) :]
            symbols = [_symbol(n) for n in named]
            if len(arguments) <= len(named) or not any(symbols):
                continue
            self.put(f"pair_elements.{style}", named, "pair_coeff")
            self.put("pair_elements", named, "pair_coeff")
            for symbol, by_mass in zip(symbols, self.elements, strict=True):
                if symbol and not by_mass.startswith("type"):
                    agree.append(symbol == by_mass)
        if agree:
            self.put("elements_match", all(agree), "pair_coeff against masses")

    def neighbours(self) -> None:
        # Set-up reports are no source: a minimisation uses its own settings for itself, and unchanged ones are not shown.
        settings = {"every": "1", "delay": "0", "check": "yes"}
        for command in self.at_run:
            if command[0] == "neigh_modify":
                settings |= {k: v for k, v in pairwise(command[1:]) if k in settings}
        self.put("neigh_every", number(settings["every"]))
        self.put("neigh_delay", number(settings["delay"]))
        self.put("neigh_check", settings["check"] in ("yes", "on", "true"))
        skin = self.last("neighbor")
        value = number(skin[0]) if skin else _SKIN.get(str(self.result.get("units")), 2.0)
        if not isinstance(value, str):
            self.put("skin", value * self.scale[0], unit="angstrom")

    def fixes(self, facts: Mapping[str, Any]) -> None:
        """Fixes and dumps that are there at the end, with their arguments as executed."""
        styles = []
        for name, style, group in facts["fixes"]:
            if style[:1].isupper():
                continue  # a helper that LAMMPS made for itself
            plain = _plain(style)
            styles.append(plain)
            command = next(
                (c for c in reversed(self.at_run) if c[:3] == ["fix", name, group] and _plain(c[3]) == plain), None
            ) or ["fix", name, group, style]
            arguments = command[4:]
            self.put(f"fix.{plain}", [number(a) for a in arguments], "fix as executed")
            self.put(f"fix.{plain}.group", group)
            for key, values in keywords(arguments).items():
                self.put(f"fix.{plain}.{key}", values[0] if len(values) == 1 else values, "fix as executed")
        self.put("fix_styles", sorted(styles))
        self.put("compute_styles", sorted(_plain(s) for n, s in facts["computes"] if not n.startswith("thermo_")))
        gone = {c[1] for c in self.at_run if c[0] == "undump" and len(c) > 1}
        dumps = [c for c in self.at_run if c[0] == "dump" and len(c) > 5 and c[1] not in gone]
        self.put("dump_styles", sorted(c[3] for c in dumps))
        # `dump_modify ID every N` counts from then on.
        changed = {c[1]: dict(pairwise(c[2:])) for c in self.at_run if c[0] == "dump_modify" and "every" in c[2:]}
        for command in dumps:
            self.put(f"dump.{command[3]}.every", number(changed.get(command[1], {}).get("every", command[4])))
            self.put(f"dump.{command[3]}.group", command[2])
            self.put(f"dump.{command[3]}.file", command[5])
            self.put(f"dump.{command[3]}", command[6:])
        self.ensemble(styles)

    def ensemble(self, styles: Sequence[str]) -> None:
        values = self.b.values
        integrator = next((s.split("/")[0] for s in styles if s.split("/")[0] in ("npt", "nph", "nvt", "nve")), "none")
        bath = next(
            (s for s in styles if s in ("langevin", "temp/berendsen", "temp/csvr", "temp/rescale", "gjf")), None
        )
        piston = "press/berendsen" in styles
        kind = {("nve", True): "nvt", ("nph", True): "npt"}.get((integrator, bath is not None), integrator)
        kind = {"nvt": "npt", "nve": "nph"}.get(kind, kind) if piston else kind
        self.put("ensemble", kind, "fixes")
        temperature = next(
            (values[f"fix.{s}.temp"] for s in styles if isinstance(values.get(f"fix.{s}.temp"), list)), None
        )
        rescaled = bath == "temp/rescale"
        if temperature is None and bath is not None:
            temperature = values[f"fix.{bath}"][1:] if rescaled else values[f"fix.{bath}"]
        if temperature and len(temperature) >= 3 and all(isinstance(t, int | float) for t in temperature[:3]):
            self.put("temperature", [float(t) for t in temperature[:2]], "fixes", "K")
            if rescaled:
                self.b.cannot_tell("temperature_damping", "temp/rescale has none")
            else:
                self.put("temperature_damping", float(temperature[2]) * self.scale[2], "fixes", "fs")
        self.pressure(styles)

    def pressure(self, styles: Sequence[str]) -> None:
        """Pressure and its damping, where all axes that have one have the same."""
        found = [
            tuple(given)
            for style in styles
            if style.startswith(("npt", "nph", "press/"))
            for key in ("iso", "aniso", "tri", "x", "y", "z")
            if isinstance(given := self.b.values.get(f"fix.{style}.{key}"), list)
            if len(given) == 3 and all(isinstance(p, int | float) for p in given)
        ]
        if len(set(found)) == 1:
            bar = _BAR.get(str(self.result.get("units")), 1.0)
            self.put("pressure", [float(p) * bar for p in found[0][:2]], "fixes", "bar")
            self.put("pressure_damping", float(found[0][2]) * self.scale[2], "fixes", "fs")
        elif found:
            for name in ("pressure", "pressure_damping"):
                self.b.cannot_tell(name, "it differs from axis to axis")

    def actions(self) -> None:
        steps: list[Any] = []
        kinds = []
        now: int | None = 0
        for command in self.commands:
            if command[0] == "reset_timestep" and len(command) > 1:
                now = fortran_integer(command[1])
            if command[0] == "read_restart":
                now = None
            if command[:2] != ["variable", self.marker] or len(command) < 4:
                continue
            asked = command[3:]
            kinds.append(asked[0])
            if asked[0] == "run" and len(asked) > 1:
                count, why = run_length(asked[1:], now)
                now = None if now is None or count is None else now + count
                steps.append(number(asked[1]) if count is None else count)
                if why:
                    self.b.complain(self.file, why)
            if asked[0] == "minimize":
                now = None
                self.put("minimize", [number(a) for a in asked[1:]], "minimize as executed")
        self.put("actions", kinds, "commands as executed")
        self.put("run_steps", steps, "run as executed")
        self.put("total_steps", sum(s for s in steps if not isinstance(s, str)), "run as executed")

    def forces(self) -> None:
        result = self.result
        complete = len(result.get("forces", ())) == len(result.get("energies", ())) == CONFIGURATIONS + 1
        if not complete or "structure" not in self.b.values:
            if result.get("stage") == "forces":
                for name in ("forces", "energies"):
                    self.b.cannot_tell(name, "LAMMPS crashed over the forces of displaced atoms")
            return
        crystal: Crystal = self.b.values["structure"]
        length, energy = self.scale[:2]
        field = ForceField(
            crystal.lattice,
            crystal.positions,
            crystal.species,
            np.array(result["forces"]) * energy / length,
            np.array(result["energies"]) * energy,
            str(result["units"]) == "lj",
        )
        self.put("forces", field, "LAMMPS, forces of displaced configurations", "eV/angstrom")
        self.put("energies", field, "LAMMPS, energies of displaced configurations", "eV")


def run_length(arguments: Sequence[str], now: int | None) -> tuple[int | None, str]:
    """Steps that a `run` makes from step ``now`` on, and if LAMMPS would refuse it, why.

    The copy that is loaded runs no steps, so LAMMPS does not see these arguments.

    Examples
    --------
    >>> run_length(["1e6"], 0)
    (None, "Expected integer parameter instead of '1e6' in input script or data file")
    >>> run_length(["1000", "upto"], 400)
    (600, '')
    """
    count = fortran_integer(arguments[0])
    if count is None:
        return None, f"Expected integer parameter instead of '{arguments[0][:40]}' in input script or data file"
    words = {"upto": 1, "start": 2, "stop": 2, "pre": 2, "post": 2}
    at = 1
    while at < len(arguments) and arguments[at] != "every":
        if arguments[at] not in words:
            return None, f"Unknown run keyword: {arguments[at][:40]}"
        at += words[arguments[at]]
    if at > len(arguments):
        return None, "Illegal run command: missing argument(s)"
    if "upto" in arguments[1:at]:
        if now is None:
            return None, ""
        if count < now:
            return None, f"Invalid run command upto value: {count}. Must be >= {now}"
        return count - now, ""
    return (count, "") if count >= 0 else (None, f"Invalid run command N value: {count}")


def _is_style(word: str) -> bool:
    return bool(re.match(r"[a-z]", word)) and word not in ("no", "yes", "shift", "mix") and not _keyword(word)


def _keyword(word: str) -> bool:
    """Options of sub-styles that look like styles (`ilp/tmd 16.0 0`, `sw maxdelcs ...`)."""
    return word in ("maxdelcs", "threebody", "safezone", "checkqeq", "lgvdw", "on", "off", *_ACCELERATOR)


def _symbol(label: str) -> str | None:
    """Element in a label of a potential file such as ``Si(D)``, ``Ge`` or ``Mo1``; None for NULL and others."""
    match = re.match(r"([A-Z][a-z]?)(?![a-z])", label)
    from matassay.grading.decks._crystal import masses

    return match.group(1) if match and match.group(1) in masses() else None
