"""What a task says about a deck that it grades: read and checked once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Final

from matassay.core import UNITS, Failure, MatAssayError, convert, is_number

from ._codes import CODES
from ._model import DeckCode

OPERATIONS: Final = (
    "equals", "one_of", "at_least", "at_most", "between", "absent", "includes", "equivalent_to", "same_as",
)  # fmt: skip
_OPTIONS: Final = {
    "name", "id", "unit", "rtol", "atol", "axes", "reason", "failure", "description", "explicit", "options", *OPERATIONS,
}  # fmt: skip
_FIELDS: Final = {"code", "name", "folder", "files", "support", "context", "require"}
_SCIENTIFIC: Final = (Failure.WRONG_CHOICE, Failure.WRONG_IMPLEMENTATION)


class BadSpec(MatAssayError, ValueError):
    """A task's `decks` field is wrong; names file and field."""


@dataclass(frozen=True)
class Requirement:
    """One thing that must hold of a deck's effective values."""

    id: str
    """Name of the criterion, without the deck's prefix."""
    name: str
    """Canonical name of the value."""
    operation: str
    """One of `OPERATIONS`."""
    operand: Any
    """What it is compared with, in the code's canonical spelling."""
    unit: str | None
    """Unit of the operand; None: the value's own."""
    rtol: float
    """Relative tolerance of `equals`, `one_of` and `same_as`."""
    atol: float
    """Absolute tolerance, in `unit`."""
    toleranced: bool
    """Whether the task states a tolerance."""
    axes: tuple[int, ...] | None
    """Of a value with several parts: which count."""
    explicit: bool
    """Whether the deck itself must set it."""
    failure: Failure
    """Kind of mistake if it does not hold."""
    description: str
    """One sentence."""
    options: Mapping[str, Any]
    """Further options of structure comparison."""


@dataclass(frozen=True)
class DeckSpec:
    """One deck that a task grades."""

    name: str
    """Prefix of its criteria."""
    code: DeckCode
    """The code it is for."""
    folder: str
    """Its folder, relative to the workspace."""
    files: Mapping[str, tuple[str, ...]]
    """Names of the file that plays each role; the first that is there counts."""
    support: Mapping[str, str]
    """Files that the code needs beside the deck: place in the workspace, to place in the task's folder."""
    context: Mapping[str, Any]
    """What the deck cannot say (see `DeckCode.effective`)."""
    require: tuple[Requirement, ...] = field(default=())
    """What must hold."""


def read_spec(raw: Any, where: str) -> DeckSpec:
    """Check one deck of a task.

    Raises
    ------
    BadSpec
        Naming ``where`` and the field.
    """
    if not isinstance(raw, Mapping):
        raise BadSpec(f"{where}: expected a mapping, got {type(raw).__name__}")
    extra = sorted(set(raw) - _FIELDS)
    if extra:
        raise BadSpec(f"{where}: unknown field {extra[0]!r}; known: {', '.join(sorted(_FIELDS))}")
    code = CODES.get(str(raw.get("code")))
    if code is None:
        raise BadSpec(f"{where}: field code: expected one of {', '.join(CODES)}, got {raw.get('code')!r}")
    folder = str(raw.get("folder", "."))
    if folder.startswith("/") or ".." in folder.split("/"):
        raise BadSpec(f"{where}: field folder: expected a folder of the workspace, got {folder!r}")
    files = _files(raw.get("files"), code, where)
    for name in ("support", "context"):
        if not isinstance(raw.get(name, {}), Mapping):
            raise BadSpec(f"{where}: field {name}: expected a mapping")
    prefix = str(raw.get("name") or (_slug(folder) if folder != "." else _slug(code.name)))
    required = raw.get("require", [])
    if not isinstance(required, list):
        raise BadSpec(f"{where}: field require: expected a list")
    requirements = tuple(_requirement(r, code, f"{where}: require[{i}]") for i, r in enumerate(required))
    ids = [r.id for r in requirements]
    twice = next((i for i in ids if ids.count(i) > 1), None)
    if twice is not None:
        raise BadSpec(f"{where}: field require: two requirements are called {twice!r}; give one an id")
    return DeckSpec(
        _slug(prefix),
        code,
        folder,
        files,
        MappingProxyType({str(k): str(v) for k, v in raw.get("support", {}).items()}),
        MappingProxyType(dict(raw.get("context", {}))),
        requirements,
    )


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "deck"


def _files(raw: Any, code: DeckCode, where: str) -> dict[str, tuple[str, ...]]:
    if not isinstance(raw, Mapping) or not raw:
        raise BadSpec(f"{where}: field files: expected a mapping from roles ({', '.join(code.files)}) to file names")
    out = {}
    for role, names in raw.items():
        if role not in code.files:
            raise BadSpec(f"{where}: field files: {code.name} has no role {role!r}; known: {', '.join(code.files)}")
        choices = [names] if isinstance(names, str) else names
        if not isinstance(choices, list) or not all(isinstance(n, str) and n and ".." not in n for n in choices):
            raise BadSpec(f"{where}: field files.{role}: expected a file name, got {names!r}")
        out[role] = tuple(choices)
    missing = [role for role, needed in code.files.items() if needed and role not in out]
    if missing:
        raise BadSpec(f"{where}: field files: {code.name} needs {', '.join(missing)}")
    return out


def _requirement(raw: Any, code: DeckCode, where: str) -> Requirement:
    if not isinstance(raw, Mapping):
        raise BadSpec(f"{where}: expected a mapping, got {type(raw).__name__}")
    extra = sorted(set(raw) - _OPTIONS)
    if extra:
        raise BadSpec(f"{where}: unknown field {extra[0]!r}; known: {', '.join(sorted(_OPTIONS))}")
    if not isinstance(raw.get("name"), str):
        raise BadSpec(f"{where}: field name: expected the name of a value")
    operations = [o for o in OPERATIONS if o in raw]
    if len(operations) != 1:
        raise BadSpec(f"{where}: expected exactly one of {', '.join(OPERATIONS)}, got {operations or 'none'}")
    operation = operations[0]
    operand = raw[operation]
    try:
        name, _ = code.canonical(raw["name"])
        if operation in ("equals", "includes"):
            operand = code.canonical(name, operand)[1]
        elif operation == "one_of":
            if not isinstance(operand, list) or not operand:
                raise ValueError("one_of: expected a list")
            operand = [code.canonical(name, o)[1] for o in operand]
    except ValueError as error:
        raise BadSpec(f"{where}: field name: {error}") from error
    _check_operand(operation, operand, where)
    unit = raw.get("unit")
    if unit is not None and unit not in UNITS:
        raise BadSpec(f"{where}: field unit: unknown unit {unit!r}; known: {', '.join(u for u in UNITS if u)}")
    failure = str(raw.get("failure", Failure.WRONG_CHOICE))
    if failure not in [str(f) for f in Failure if f not in (Failure.LIMIT, Failure.UNCLASSIFIED)]:
        raise BadSpec(f"{where}: field failure: expected one of {', '.join(_SCIENTIFIC)}, got {failure!r}")
    axes = raw.get("axes")
    if axes is not None and not (isinstance(axes, list) and all(a in (0, 1, 2) for a in axes) and axes):
        raise BadSpec(f"{where}: field axes: expected a list of 0, 1, 2, got {axes!r}")
    tolerances = [raw.get("rtol", 1e-6), raw.get("atol", 0.0)]
    if not all(is_number(t) and t >= 0 for t in tolerances):
        raise BadSpec(f"{where}: fields rtol and atol: expected numbers that are not negative, got {tolerances}")
    if tolerances != [1e-6, 0.0] and not raw.get("reason"):
        raise BadSpec(f"{where}: field reason: a tolerance needs its reason")
    if raw.get("options"):
        _check_options(raw["options"], where)
    return Requirement(
        id=str(raw.get("id") or _slug(raw["name"])),
        name=name,
        operation=operation,
        operand=operand,
        unit=unit,
        rtol=float(tolerances[0]),
        atol=float(tolerances[1]),
        toleranced=bool({"rtol", "atol"} & set(raw)),
        axes=tuple(axes) if axes is not None else None,
        explicit=bool(raw.get("explicit", False)),
        failure=Failure(failure),
        description=str(raw.get("description") or raw.get("reason") or f"effective {name} is what the task asks for"),
        options=MappingProxyType(dict(raw.get("options") or {})),
    )


def _check_options(options: Any, where: str) -> None:
    from matassay.grading.structures import AXES, MOMENTS, Match

    try:
        match = Match(**options)
    except TypeError as error:
        known = ", ".join(f.name for f in fields(Match))
        raise BadSpec(f"{where}: field options: expected some of {known}, got {options!r}") from error
    for name, value, allowed in (("vacuum", match.vacuum, (None, *AXES)), ("moments", match.moments, MOMENTS)):
        if value not in allowed:
            raise BadSpec(f"{where}: field options.{name}: expected one of {allowed}, got {value!r}")


def _check_operand(operation: str, operand: Any, where: str) -> None:
    numbers = operand if isinstance(operand, list) else [operand]
    if operation in ("at_least", "at_most") and not all(is_number(n) for n in numbers):
        raise BadSpec(f"{where}: field {operation}: expected a number, got {operand!r}")
    if operation == "between" and not (
        isinstance(operand, list)
        and len(operand) == 2
        and all(is_number(n) for n in operand)
        and operand[0] <= operand[1]
    ):
        raise BadSpec(f"{where}: field between: expected [lowest, highest], got {operand!r}")
    if operation == "absent" and operand is not True:
        raise BadSpec(f"{where}: field absent: expected true, got {operand!r}")
    if operation in ("equivalent_to", "same_as") and not isinstance(operand, str):
        raise BadSpec(f"{where}: field {operation}: expected a path, got {operand!r}")


def in_unit(value: float, unit: str, to: str | None, where: str) -> float:
    """A value in the unit that a task names."""
    if to is None or to == unit:
        return value
    try:
        return convert(value, unit, to)
    except ValueError as error:
        raise BadSpec(f"{where}: field unit: {error}") from error
