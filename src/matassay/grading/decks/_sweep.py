"""Tolerances of requirements, and evidence in which the judged value lies a number of them from its target (check B3).

What is moved is the effective value: what a deck with that value would give. So the sweep shows that the tolerance which
is stated is the one that is applied; that decks are read rightly is shown elsewhere.

A requirement has a tolerance if the task states one (`rtol`, `atol`), if it asks for an interval or a limit, or if it
compares structures. A limit is one end of an interval: at most 5 is 0 within 5, at least 5 is 10 within 5. Words, exact
numbers and `one_of` have none, nor has a limit of zero.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from matassay.core import Evidence, Goal, Tolerance, is_number

from ._crystal import Crystal
from ._model import Effective
from ._spec import Requirement, in_unit

Wanted = Callable[[Evidence], Any]
"""What a value is compared with: the operand, or the value of another deck, in the value's own unit."""


@dataclass(frozen=True)
class Moved(Evidence):
    """Evidence in which one effective value of the deck in one folder is another."""

    base: Evidence = field(default_factory=Evidence)
    """The evidence as it is."""
    folder: str = "."
    """Where the deck lies."""
    name: str = ""
    """The value's name."""
    value: Any = None
    """What it is instead, in its own unit."""

    @classmethod
    def of(cls, evidence: Evidence, folder: str, name: str, value: Any) -> Moved:
        """From any evidence."""
        base = evidence.base if isinstance(evidence, Moved) else evidence
        shared = {f.name: getattr(base, f.name) for f in dataclasses.fields(Evidence)}
        return cls(**shared, base=base, folder=folder, name=name, value=value)

    def applied(self, effective: Effective) -> Effective:
        """Effective values with this one among them."""
        values = {**effective.values, self.name: self.value}
        return dataclasses.replace(effective, values=values, explicit=effective.explicit | {self.name})


def tolerance(
    requirement: Requirement, folder: str, effective: Callable[[Evidence], Effective], wanted: Wanted
) -> Tolerance | None:
    """The tolerance of a requirement on the deck in ``folder``, if it has one.

    Parameters
    ----------
    requirement : Requirement
        What must hold.
    folder : str
        Folder of the deck.
    effective : callable
        Effective values of that deck.
    wanted : callable
        Of `same_as` and `equivalent_to`: the value of the other deck, or the reference structure.
    """
    stated = _stated(requirement)
    if stated is None:
        return None

    def displaced(evidence: Evidence, goal: Goal, k: float) -> Evidence:
        name = requirement.name
        mine = effective(evidence)
        if requirement.operation in ("same_as", "equivalent_to"):
            value = _moved_from(wanted(evidence), requirement, k)
        else:
            value = _in_own_unit(_moved(requirement, k), mine.units.get(name, ""), requirement)
        return Moved.of(evidence, folder, name, _shaped(value, mine.values.get(name), requirement))

    return Tolerance(*stated, requirement.description, displaced)


def _stated(r: Requirement) -> tuple[float, str] | None:
    """Number and unit of the tolerance as it is listed."""
    unit = r.unit or "1"
    if r.operation == "between":
        low, high = r.operand
        return ((high - low) / 2, unit) if high > low else None
    if r.operation in ("at_most", "at_least"):
        limits = np.abs(np.array(r.operand, dtype=float))
        return (float(np.max(limits)), unit) if np.min(limits) > 0 else None
    if r.name == "structure":
        from matassay.grading.structures import Match

        return Match(**r.options).length * 100, "%"
    numbers = r.operand if isinstance(r.operand, list) else [r.operand]
    measured = r.operation in ("same_as", "equivalent_to") or (r.operation == "equals" and all(map(is_number, numbers)))
    if not (measured and r.toleranced):
        return None
    relative = r.name != "energies" and (r.rtol > 1e-6 or not r.atol)
    return (r.rtol * 100, "%") if relative else (r.atol, unit)


def _moved(r: Requirement, k: float) -> Any:
    """A number, or a list of them, ``k`` tolerances from the target, in the unit in which the task speaks."""
    if r.operation == "between":
        low, high = r.operand
        return (low + high) / 2 + k * (high - low) / 2
    operand = np.array(r.operand, dtype=float)
    if r.operation == "equals":
        return (operand + k * (r.atol + r.rtol * np.abs(operand))).tolist()
    # A limit that a value must stay below in size is the end of the interval around zero, any other of that around twice it.
    inside = (operand > 0) == (r.operation == "at_most")
    return (operand * np.where(inside, abs(k), 2 - abs(k))).tolist()


def _moved_from(wanted: Any, r: Requirement, k: float) -> Any:
    """The same, from the value of another deck."""
    if r.name == "structure":
        return _strained(wanted, r, k)
    if r.name == "forces":
        forces = wanted.forces.copy()
        forces[0, 0, 0] += k * r.rtol * max(float(np.abs(forces).max()), 1e-6)
        return dataclasses.replace(wanted, forces=forces)
    if r.name == "energies":
        energies = wanted.energies.copy()
        energies[1] += k * (r.atol or 1e-6)
        return dataclasses.replace(wanted, energies=energies)
    value = np.array(wanted, dtype=float)
    return (value + k * (r.atol + r.rtol * np.abs(value))).tolist()


def _strained(wanted: Any, r: Requirement, k: float) -> Crystal:
    """The structure that is wanted under an isotropic strain; of a slab, in its plane."""
    from matassay.grading.structures import AXES, Match

    match = Match(**r.options)
    strain = np.full((3, 1), 1 + k * match.length)
    if match.vacuum is not None:
        strain[AXES.index(match.vacuum)] = 1
    own = isinstance(wanted, Crystal)
    positions = wanted.positions if own else np.array(wanted.fractional)
    return Crystal(np.array(wanted.lattice) * strain, wanted.species, positions, wanted.moments)


def _in_own_unit(value: Any, unit: str, r: Requirement) -> Any:
    if r.unit is None:
        return value
    if isinstance(value, list):
        return [_in_own_unit(v, unit, r) for v in value]
    return in_unit(value, r.unit, unit, f"requirement {r.id}")


def _shaped(value: Any, present: Any, r: Requirement) -> Any:
    """As the deck has it: one number stands for all of a list, some axes for those that count."""
    if not isinstance(present, list):
        return value
    if not isinstance(value, list):
        return [value] * len(present)
    if r.axes is not None and len(present) == 3 and len(value) == len(r.axes):
        return [value[r.axes.index(i)] if i in r.axes else p for i, p in enumerate(present)]
    return value
