"""From a task's `decks` to criteria and probes."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from matassay.core import Criterion, Evidence, Goal, Judgement, Probe, is_number

from ._crystal import Crystal
from ._files import DeckFiles
from ._model import Effective
from ._spec import BadSpec, DeckSpec, Requirement, in_unit, read_spec
from ._sweep import Moved, tolerance

Answer = tuple[bool, str]
"""Whether something holds, and if not, why."""


def validate_spec(spec: Any, where: str) -> None:
    """Check a task's `decks`: one deck, or a list of them.

    Raises
    ------
    ValueError
        Naming ``where`` and the field.
    """
    for index, one in enumerate(spec if isinstance(spec, list) else [spec]):
        read_spec(one, f"{where}[{index}]" if isinstance(spec, list) else where)


def deck_criteria(spec: Any, task: Path | str = ".") -> tuple[Criterion, ...]:
    """Criteria of one deck, or of a list of decks.

    Parameters
    ----------
    spec : mapping or list
        A task's `decks`.
    task : path
        Folder of the task, in which references lie.

    Returns
    -------
    tuple of Criterion
        Per deck ``<deck>_accepted`` (all files are there, and the code would take them) and one for each requirement.
    """
    return tuple(c for one in _each(spec) for c in _Deck(one, Path(task)).criteria())


def deck_probes(spec: Any, task: Path | str = ".") -> Callable[[Mapping[str, bytes]], list[Probe]]:
    """What to ask real programs about decks: a function of the files that an agent left, by name."""
    decks = [_Deck(one, Path(task)) for one in _each(spec)]

    def probes(files: Mapping[str, bytes]) -> list[Probe]:
        found = {p.name: p for deck in decks for p in deck.probes(files)}
        return list(found.values())

    return probes


def _each(spec: Any) -> list[DeckSpec]:
    return [read_spec(one, f"decks[{i}]") for i, one in enumerate(spec if isinstance(spec, list) else [spec])]


class _Deck:
    """One graded deck of a task."""

    def __init__(self, spec: DeckSpec, task: Path) -> None:
        self.spec = spec
        self.task = task
        self._last: tuple[Evidence, dict[str, Effective]] | None = None
        self._support: dict[str, bytes] | None = None

    # files

    def find(self, tree: Mapping[str, bytes], folder: str) -> DeckFiles:
        """The deck in a folder: each role is played by the first of its names that is there."""
        roles, names = {}, {}
        for role, choices in self.spec.files.items():
            names[role] = choices[0]
            for name in choices:
                data = tree.get(posixpath.normpath(posixpath.join(folder, name)))
                if data is not None:
                    roles[role], names[role] = data, name
                    break
        return DeckFiles(roles, names, folder, tree)

    def reference_deck(self, path: str) -> DeckFiles:
        """A deck in the task's folder: a folder that holds the same names, or the one file that matters."""
        place = self.task / path
        folder = place if place.is_dir() else place.parent
        inside = {
            posixpath.normpath(posixpath.join(self.spec.folder, p.relative_to(folder).as_posix())): p.read_bytes()
            for p in sorted(folder.rglob("*"))
            if p.is_file()
        }
        deck = self.find(inside, self.spec.folder)
        if place.is_file():
            role = next(role for role, needed in self.spec.code.files.items() if needed)
            deck[role] = place.read_bytes()
            deck.names[role] = place.name
        return deck

    def support(self) -> dict[str, bytes]:
        if self._support is None:
            self._support = {name: (self.task / path).read_bytes() for name, path in self.spec.support.items()}
        return self._support

    def probe_name(self, folder: str, reference: bool = False) -> str:
        main = next(names[0] for role, names in self.spec.files.items() if self.spec.code.files[role])
        place = posixpath.normpath(posixpath.join(folder, main))
        return f"deck {self.spec.code.name} {place}{' (reference)' if reference else ''}"

    def probes(self, files: Mapping[str, bytes]) -> list[Probe]:
        out = []
        deck = self.find(files, self.spec.folder)
        probe = self.spec.code.probe(deck, self.support())
        if probe is not None:
            out.append(dataclasses.replace(probe, name=self.probe_name(self.spec.folder)))
        for path in self.reference_paths() if probe is not None else ():
            asked = self.spec.code.probe(self.reference_deck(path), self.support())
            if asked is not None:
                out.append(dataclasses.replace(asked, name=f"{self.probe_name(self.spec.folder, True)} {path}"))
        return out

    def reference_paths(self) -> list[str]:
        """Reference decks whose values are needed; a structure's reference is a plain file."""
        return sorted(
            {r.operand for r in self.spec.require if r.operation == "equivalent_to" and r.name != "structure"}
        )

    # values

    def effective(self, evidence: Evidence, key: str, deck: Callable[[], DeckFiles], probe: str) -> Effective:
        """Effective values, once per evidence and deck."""
        if self._last is None or self._last[0] is not evidence:
            self._last = (evidence, {})
        known = self._last[1]
        if key not in known:
            collected = evidence.state.get("collected", {}).get(probe)
            known[key] = self.spec.code.effective(deck(), collected, self.spec.context)
        return known[key]

    def of_folder(self, evidence: Evidence, folder: str) -> Effective:
        if isinstance(evidence, Moved):
            found = self.of_folder(evidence.base, folder)
            return evidence.applied(found) if folder == evidence.folder else found
        tree = {a.name: a.data for a in evidence.artefacts if a.data is not None}
        return self.effective(evidence, folder, lambda: self.find(tree, folder), self.probe_name(folder))

    def of_reference(self, evidence: Evidence, path: str) -> Effective:
        evidence = evidence.base if isinstance(evidence, Moved) else evidence
        probe = f"{self.probe_name(self.spec.folder, True)} {path}"
        return self.effective(evidence, f"reference {path}", lambda: self.reference_deck(path), probe)

    # criteria

    def criteria(self) -> list[Criterion]:
        spec = self.spec
        what = f"the {spec.code.name} deck in {spec.folder if spec.folder != '.' else 'the workspace'}"
        accepted = Criterion(f"{spec.name}_accepted", f"{what} is complete, and the code would take it", self.accepted)
        return [accepted, *(self.criterion(r) for r in spec.require)]

    def accepted(self, evidence: Evidence, goal: Goal) -> Judgement:
        refusal = self.of_folder(evidence, self.spec.folder).refusal
        return Judgement(True) if refusal is None else Judgement(False, str(refusal), refusal.failure)

    def criterion(self, requirement: Requirement) -> Criterion:
        def check(evidence: Evidence, goal: Goal) -> Judgement:
            return self.judge(requirement, evidence)

        def own(evidence: Evidence) -> Effective:
            return self.of_folder(evidence, self.spec.folder)

        def wanted(evidence: Evidence) -> Any:
            if requirement.operation == "same_as":
                return self.of_folder(evidence, requirement.operand).values[requirement.name]
            if requirement.name == "structure":
                path = self.task / requirement.operand
                return _reference(path.read_bytes(), path.name)
            return self.of_reference(evidence, requirement.operand).values[requirement.name]

        swept = tolerance(requirement, self.spec.folder, own, wanted)
        return Criterion(f"{self.spec.name}_{requirement.id}", requirement.description, check, tolerance=swept)

    def judge(self, requirement: Requirement, evidence: Evidence) -> Judgement:
        mine = self.of_folder(evidence, self.spec.folder)
        if mine.refusal is not None:
            # A deck that the code does not take has no effective values.
            return Judgement(False, f"not judged, since the deck is refused: {mine.refusal}", mine.refusal.failure)
        name = requirement.name
        if requirement.operation == "absent":
            holds = name not in mine.explicit
            return Judgement(holds, "" if holds else f"{name} is set", None if holds else requirement.failure)
        if name not in mine.values:
            why = mine.unknown.get(name, "the deck does not have it")
            return Judgement(False, f"{name}: {why}{_notes(mine)}", requirement.failure)
        if requirement.explicit and name not in mine.explicit:
            return Judgement(False, f"{name} is left to its default, but must be set", requirement.failure)
        holds, why = self.compare(requirement, mine, evidence)
        if holds:
            return Judgement(True)
        return Judgement(False, f"{why}{_notes(mine)}", requirement.failure)

    def compare(self, requirement: Requirement, mine: Effective, evidence: Evidence) -> Answer:
        name, value = requirement.name, mine.values[requirement.name]
        unit = mine.units.get(name, "")
        if requirement.operation == "equivalent_to" and name == "structure":
            return _same_structure(value, self.task / requirement.operand, requirement)
        if requirement.operation in ("equivalent_to", "same_as"):
            other = (
                self.of_reference(evidence, requirement.operand)
                if requirement.operation == "equivalent_to"
                else self.of_folder(evidence, requirement.operand)
            )
            holds, why = self.compare_decks(requirement, value, other)
            return holds, why or ("" if holds else f"{_shown(mine, name)}: not the same")
        if isinstance(value, Crystal) or (
            isinstance(value, dict) and requirement.operation not in ("equals", "one_of")
        ):
            raise BadSpec(f"requirement {requirement.id}: {requirement.operation} says nothing about {name}")
        value = _chosen(value, requirement)
        holds = _OPERATIONS[requirement.operation](value, unit, requirement)
        return holds, "" if holds else _shown(mine, name)

    def compare_decks(self, requirement: Requirement, value: Any, other: Effective) -> Answer:
        name = requirement.name
        if name not in other.values:
            where = requirement.operand if requirement.operation == "same_as" else "the reference"
            if requirement.operation == "equivalent_to":
                raise BadSpec(f"requirement {requirement.id}: {where} has no {name}: {other.refusal or other.unknown}")
            return False, f"{name} cannot be compared with the deck in {where}: {other.refusal or 'it is not there'}"
        wanted = other.values[name]
        if name in ("forces", "energies"):
            from .lammps._forces import compare_energies, compare_forces

            if name == "forces":
                return compare_forces(value, wanted, requirement.rtol)
            return compare_energies(value, wanted, requirement.atol or 1e-6)
        if name == "structure":
            return _equivalent(value, wanted, requirement.options)
        value, wanted = _chosen(value, requirement), _chosen(wanted, requirement)
        return _same(value, wanted, requirement.rtol, requirement.atol), ""


def _chosen(value: Any, requirement: Requirement) -> Any:
    if requirement.axes is None or not isinstance(value, list) or len(value) != 3:
        return value
    return [value[a] for a in requirement.axes]


def _notes(effective: Effective) -> str:
    """What the code would pass over in silence: often the reason why a value is not what was meant."""
    notes = [str(p) for p in effective.problems if not p.refuses][:3]
    return f" (note: {'; '.join(notes)})" if notes else ""


def _shown(effective: Effective, name: str) -> str:
    value, source = effective.values[name], effective.sources.get(name, "deck")
    return f"{name} is {_show(value, effective.units.get(name, ''))} ({source})"


def _show(value: Any, unit: str) -> str:
    text = f"{value:.6g}" if is_number(value) and not isinstance(value, int) else str(value)
    return f"{text[:120]} {unit}".strip()


def _numbers(value: Any) -> list[float] | None:
    values = value if isinstance(value, list) else [value]
    return [float(v) for v in values] if values and all(is_number(v) for v in values) else None


def _converted(value: Any, unit: str, requirement: Requirement) -> Any:
    """The value in the unit in which the task speaks."""
    if requirement.unit is None:
        return value
    if isinstance(value, list):
        return [_converted(v, unit, requirement) for v in value]
    return in_unit(value, unit, requirement.unit, f"requirement {requirement.id}") if is_number(value) else value


def _same(value: Any, wanted: Any, rtol: float, atol: float) -> bool:
    """Equality of any two values: numbers within tolerance, labels without case, lists part by part."""
    if isinstance(value, bool) or isinstance(wanted, bool):
        return value is wanted
    if is_number(value) and is_number(wanted):
        return abs(value - wanted) <= atol + rtol * abs(wanted) + 1e-300
    if isinstance(value, str) and isinstance(wanted, str):
        return value.strip().casefold() == wanted.strip().casefold()
    if isinstance(value, list) and isinstance(wanted, list):
        return len(value) == len(wanted) and all(_same(v, w, rtol, atol) for v, w in zip(value, wanted, strict=True))
    if isinstance(value, list) and not isinstance(wanted, dict):
        return bool(value) and all(_same(v, wanted, rtol, atol) for v in value)
    if isinstance(value, dict) and isinstance(wanted, dict):
        return set(value) == set(wanted) and all(_same(value[k], wanted[k], rtol, atol) for k in value)
    return False


def _equals(value: Any, unit: str, requirement: Requirement, wanted: Any = None) -> bool:
    wanted = requirement.operand if wanted is None else wanted
    if requirement.name in ("species", "groups", "fix_styles", "pair_styles", "compute_styles", "dump_styles"):
        # Order is the deck's own business there.
        wanted = wanted if isinstance(wanted, list) else [wanted]
        return sorted(str(v) for v in value) == sorted(str(w) for w in wanted)
    return _same(_converted(value, unit, requirement), wanted, requirement.rtol, requirement.atol)


def _one_of(value: Any, unit: str, requirement: Requirement) -> bool:
    return any(_equals(value, unit, requirement, wanted) for wanted in requirement.operand)


def _bounded(value: Any, unit: str, requirement: Requirement, low: Any, high: Any) -> bool:
    numbers = _numbers(_converted(value, unit, requirement))
    if numbers is None:
        return False
    lows, highs = (b if isinstance(b, list) else [b] * len(numbers) for b in (low, high))
    if not len(lows) == len(highs) == len(numbers):
        return False
    # A relative slack of 1e-9 covers decimal settings; a limit itself is allowed.
    slack = 1e-9
    return all(
        (lo is None or n >= lo - slack * abs(lo)) and (hi is None or n <= hi + slack * abs(hi))
        for n, lo, hi in zip(numbers, lows, highs, strict=True)
    )


def _at_least(value: Any, unit: str, requirement: Requirement) -> bool:
    return _bounded(value, unit, requirement, requirement.operand, None)


def _at_most(value: Any, unit: str, requirement: Requirement) -> bool:
    return _bounded(value, unit, requirement, None, requirement.operand)


def _between(value: Any, unit: str, requirement: Requirement) -> bool:
    return _bounded(value, unit, requirement, *requirement.operand)


def _includes(value: Any, unit: str, requirement: Requirement) -> bool:
    wanted = requirement.operand if isinstance(requirement.operand, list) else [requirement.operand]
    parts = value if isinstance(value, list) else [value]
    return all(any(_same(p, w, requirement.rtol, requirement.atol) for p in parts) for w in wanted)


_OPERATIONS: Mapping[str, Callable[[Any, str, Requirement], bool]] = {
    "equals": _equals,
    "one_of": _one_of,
    "at_least": _at_least,
    "at_most": _at_most,
    "between": _between,
    "includes": _includes,
}


def _same_structure(value: Crystal, path: Path, requirement: Requirement) -> Answer:
    return _difference(value, _reference(path.read_bytes(), path.name), requirement.options)


@lru_cache(maxsize=32)
def _reference(data: bytes, name: str) -> Any:
    from matassay.grading import structures

    return structures.read_structure(data, name)


def _equivalent(value: Crystal, wanted: Crystal, options: Mapping[str, Any]) -> Answer:
    from matassay.grading import structures

    moments = wanted.moments if wanted.moments is None or np.ndim(wanted.moments) == 1 else None
    other = structures.Crystal.of(wanted.lattice, wanted.species, wanted.positions, moments)
    return _difference(value, other, options)


def _difference(value: Crystal, wanted: Any, options: Mapping[str, Any]) -> Answer:
    from matassay.grading import structures

    try:
        found = structures.Crystal.of(value.lattice, value.species, value.positions, value.moments)
    except structures.StructureUnreadable as error:
        return False, f"the structure cannot be compared: {error}"
    difference = structures.difference(found, wanted, structures.Match(**options))
    return (True, "") if difference is None else (False, f"the structure {difference.message}")
