"""The layout of an answer: fields, objects of fields, and tables whose rows are known by what they echo."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from matassay.core import Failure, Goal, is_number

from ._arrays import Array, Members, Spectrum
from ._crystals import Structure
from ._parse import Unusable, kind_of, shown
from ._part import Kind
from ._scalars import Boolean, Formula, Integer, Label, Number, SpaceGroup, Text, unit_text
from ._spec import Entry, SpecError

#: Kinds of fields by the name of their type.
KINDS: Final[Mapping[str, Any]] = {
    "number": Number,
    "integer": Integer,
    "text": Text,
    "label": Label,
    "boolean": Boolean,
    "formula": Formula,
    "array": Array,
    "spectrum": Spectrum,
    "set": Members,
    "space_group": SpaceGroup,
    "structure": Structure,
}
TYPES: Final = (*KINDS, "object", "table")

#: Keys that every field may have.
COMMON: Final = ("type", "description", "failure", "diagnosis")

#: Rows of a table that are looked at.
MOST_ROWS: Final = 2_000

#: Echoed numbers are the same up to this share of the greatest one: enough for a number that was printed and read again.
_ECHO: Final = 1e-6

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,63}")


class Missing(Exception):
    """A value does not stand where it should; the text says so in full."""


@dataclass(frozen=True)
class Given:
    """What tells which rows a table has."""

    goal: Goal
    """The public goal of the episode."""
    right: Callable[[], Mapping[str, Any]]
    """The right answer; asked for only where the task does not tell."""


@dataclass(frozen=True)
class Field:
    """One graded value."""

    name: str
    kind: Kind
    description: str
    failure: Failure
    diagnosis: bool

    def schema(self, given: Given) -> dict[str, Any]:
        """JSON Schema."""
        schema = dict(self.kind.schema())
        if self.description:
            schema["description"] = f"{self.description.rstrip('.')}. {schema.get('description', '')}".rstrip()
        return schema


@dataclass(frozen=True)
class Key:
    """A column that echoes an input."""

    name: str
    type: str
    unit: str
    values: tuple[Any, ...] | None
    """As the task lists them, if it does."""
    goal: str
    """Name of their list in the goal, if they stand there."""
    description: str

    @property
    def told(self) -> bool:
        """Whether the task says where the values stand; if not, they are those of the reference."""
        return self.values is not None or bool(self.goal)

    def listed(self, goal: Goal) -> tuple[Any, ...]:
        """The values that the task tells."""
        if self.values is not None:
            return self.values
        if not isinstance(goal.get(self.goal), list | tuple):
            raise SpecError(f"key {self.name}: the task's goal has no list {self.goal!r}")
        return tuple(goal[self.goal])

    def same(self, found: Any, wanted: Any, span: float) -> bool:
        """Whether a cell echoes a value."""
        if isinstance(wanted, str):
            return isinstance(found, str) and found.strip() == wanted.strip()
        return is_number(found) and abs(found - wanted) <= _ECHO * span

    def schema(self, given: Given) -> dict[str, Any]:
        """JSON Schema; the values are public."""
        unit = "" if self.type == "text" else f" {unit_text(self.unit)}"
        text = f"{self.description.rstrip('.')}. " if self.description else ""
        kind = {"text": "string", "integer": "integer"}.get(self.type, "number")
        values = {"enum": list(dict.fromkeys(self.listed(given.goal)))} if self.told else {}
        return {"type": kind, **values, "description": f"{text}Echoed as given.{unit}"}


@dataclass(frozen=True)
class Table:
    """Rows that are known by the inputs that they echo."""

    path: tuple[str, ...]
    """Names of the objects around it, and its own."""
    keys: tuple[Key, ...]
    columns: tuple[Field, ...]
    ordered: bool
    crossed: bool
    numbered: bool
    description: str

    @property
    def name(self) -> str:
        """Its own name."""
        return self.path[-1]

    @property
    def told(self) -> bool:
        """Whether the task says which rows there are; if not, the reference does."""
        return all(key.told for key in self.keys)

    def rows(self, given: Given) -> list[tuple[Any, ...]]:
        """Key values of each row."""
        if not self.told:
            return self._reference_rows(given)
        lists = [key.listed(given.goal) for key in self.keys]
        if self.crossed:
            return list(product(*lists))
        if len({len(values) for values in lists}) != 1:
            raise SpecError(f"table {self.name}: its keys list {[len(v) for v in lists]} values; combine: product?")
        return list(zip(*lists, strict=True))

    def _reference_rows(self, given: Given) -> list[tuple[Any, ...]]:
        rows: Any = given.right()
        for name in self.path:
            rows = rows.get(name) if isinstance(rows, Mapping) else None
        if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
            raise SpecError(f"table {'.'.join(self.path)}: the reference has no such table with rows")
        names = [key.name for key in self.keys]
        if any(not is_number(row.get(name)) and not isinstance(row.get(name), str) for row in rows for name in names):
            raise SpecError(f"table {'.'.join(self.path)}: a row of the reference lacks {' or '.join(names)}")
        found = [tuple(row[name] for name in names) for row in rows]
        if len(set(found)) < len(found):
            raise SpecError(f"table {'.'.join(self.path)}: two rows of the reference have the same {', '.join(names)}")
        return found

    def texts(self, given: Given) -> list[tuple[str, ...]]:
        """Key values of each row as they stand in messages and names: numbers with the same decimals."""
        rows = self.rows(given)
        return list(zip(*(decimals(column) for column in zip(*rows, strict=True)), strict=True))

    def label(self, texts: tuple[str, ...]) -> str:
        """``1.00 THz``; several keys with their names."""
        parts = [
            f"{text} {key.unit}" if key.unit not in ("", "1") else text
            for key, text in zip(self.keys, texts, strict=True)
        ]
        if len(parts) == 1 and self.keys[0].unit not in ("", "1"):
            return parts[0]
        return ", ".join(f"{key.name} = {part}" for key, part in zip(self.keys, parts, strict=True))

    def spans(self, given: Given) -> list[float]:
        """Greatest magnitude of each key, by which echoes are compared."""
        columns = zip(*self.rows(given), strict=True)
        return [max((abs(v) for v in column if not isinstance(v, str)), default=1.0) or 1.0 for column in columns]

    def matches(self, row: Any, wanted: tuple[Any, ...], spans: Sequence[float]) -> bool:
        """Whether a row of an answer echoes these inputs."""
        return isinstance(row, dict) and all(
            key.name in row and key.same(row[key.name], value, span)
            for key, value, span in zip(self.keys, wanted, spans, strict=True)
        )

    def find(self, value: Any, index: int, given: Given, path: str) -> dict[str, Any]:
        """The row of an answer with the inputs of row ``index``.

        Raises
        ------
        Missing
            If there is none, or more than one.
        """
        wanted, text = self.rows(given)[index], self.label(self.texts(given)[index])
        if not isinstance(value, list):
            raise Missing(f"{path}: {_words(value)}; expected a list of rows")
        spans = self.spans(given)
        found = [(n, row) for n, row in enumerate(value[:MOST_ROWS]) if self.matches(row, wanted, spans)]
        if not found:
            names = ", ".join(key.name for key in self.keys)
            raise Missing(f"{path}: no row for {text} ({names} echoed as given)")
        if len(found) > 1:
            raise Missing(f"{path}: {len(found)} rows for {text}")
        if self.ordered and found[0][0] != index:
            raise Missing(f"{path}: the row for {text} is number {found[0][0] + 1}, not {index + 1} as asked for")
        row: dict[str, Any] = found[0][1]
        return row

    def schema(self, given: Given) -> dict[str, Any]:
        """JSON Schema: as many objects as there are rows."""
        count = len(self.rows(given)) if self.told else 0
        properties = {key.name: key.schema(given) for key in self.keys}
        properties |= {column.name: column.schema(given) for column in self.columns}
        names = " and ".join(key.name for key in self.keys)
        order = "in the order listed" if self.ordered else "in any order"
        text = f"{self.description.rstrip('.')}. " if self.description else ""
        return {
            "type": "array",
            "items": _object(properties),
            **({"minItems": count, "maxItems": count} if count else {}),
            "description": f"{text}One row for each {names}, {order}.",
        }


@dataclass(frozen=True)
class Group:
    """Fields within an object."""

    name: str
    members: tuple[Field | Table | Group, ...]
    description: str

    def schema(self, given: Given) -> dict[str, Any]:
        """JSON Schema."""
        schema = _object({member.name: member.schema(given) for member in self.members})
        return schema | ({"description": self.description} if self.description else {})


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


Node = Field | Table | Group


@dataclass(frozen=True)
class Place:
    """Where a graded value stands."""

    groups: tuple[str, ...]
    """Objects around it."""
    table: Table | None
    row: int
    """Of the table."""
    field: Field

    @property
    def path(self) -> str:
        """Of the field or of its table, with dots."""
        return ".".join((*self.groups, self.table.name if self.table else self.field.name))

    def name(self, given: Given) -> str:
        """Of the criterion: ``results_1.00_Xi``."""
        if self.table is None:
            return "_".join((*self.groups, self.field.name))
        texts = (f"row{self.row + 1}",) if self.table.numbered else self.table.texts(given)[self.row]
        words = [re.sub(r"[^A-Za-z0-9.+-]+", "_", text).strip("_") or "blank" for text in texts]
        return "_".join((*self.groups, self.table.name, *words, self.field.name))

    def where(self, given: Given) -> str:
        """In messages: ``Xi at 1.00 THz``."""
        if self.table is None:
            return self.path
        return f"{self.field.name} at {self.table.label(self.table.texts(given)[self.row])}"

    def holder(self, answer: Any, given: Given) -> dict[str, Any]:
        """The object that holds the value.

        Raises
        ------
        Missing
            If something on the way is not there or of another kind.
        """
        inner = answer
        for n, name in enumerate(self.groups):
            inner = _member(inner, name, ".".join(self.groups[:n]))
            if not isinstance(inner, dict):
                raise Missing(f"{'.'.join(self.groups[: n + 1])}: {_words(inner)}; expected an object")
        if self.table is not None:
            table = _member(inner, self.table.name, ".".join(self.groups))
            return self.table.find(table, self.row, given, self.path)
        if not isinstance(inner, dict):
            raise Missing(f"the answer {_words(inner)}; expected an object")
        return inner

    def value(self, answer: Any, given: Given) -> Any:
        """The value itself."""
        holder = self.holder(answer, given)
        if self.field.name not in holder:
            raise Missing(f"{self.where(given)} is missing")
        return holder[self.field.name]


def _member(value: Any, name: str, path: str) -> Any:
    if not isinstance(value, dict) or name not in value:
        raise Missing(f"{path}.{name} is missing".lstrip("."))
    return value[name]


def _words(value: Any) -> str:
    return value.text if isinstance(value, Unusable) else f"is {kind_of(value)}"


def places(nodes: Sequence[Node], given: Given, groups: tuple[str, ...] = ()) -> Iterator[Place]:
    """All graded values, in the task's order."""
    for node in nodes:
        match node:
            case Group():
                yield from places(node.members, given, (*groups, node.name))
            case Table():
                for row in range(len(node.rows(given))):
                    for column in node.columns:
                        yield Place(groups, node, row, column)
            case Field():
                yield Place(groups, None, 0, node)


def tables(nodes: Sequence[Node]) -> Iterator[Table]:
    """All tables, however deep."""
    for node in nodes:
        if isinstance(node, Table):
            yield node
        elif isinstance(node, Group):
            yield from tables(node.members)


def surplus(nodes: Sequence[Node], value: Any, given: Given, path: str = "") -> Iterator[str]:
    """What stands in an answer and was not asked for."""
    if not isinstance(value, dict):
        return
    known = {node.name: node for node in nodes}
    for name, inner in value.items():
        here = f"{path}.{shown(name, quotes=False)}".lstrip(".")
        match known.get(name):
            case None:
                yield f"{here} was not asked for"
            case Group(members=members):
                yield from surplus(members, inner, given, here)
            case Table() as table:
                yield from _surplus_rows(table, inner, given, here)
            case Field(kind=Spectrum() as spectrum) if isinstance(inner, dict):
                extra = [k for k in inner if k not in spectrum.members()]
                yield from (f"{here}.{shown(k, quotes=False)} was not asked for" for k in extra)
            case _:
                pass


def _surplus_rows(table: Table, value: Any, given: Given, path: str) -> Iterator[str]:
    if not isinstance(value, list):
        return
    if len(value) > MOST_ROWS:
        yield f"{path} has {len(value)} rows"
        return
    known = {key.name for key in table.keys} | {column.name for column in table.columns}
    wanted, spans = table.rows(given), table.spans(given)
    for n, row in enumerate(value):
        if not isinstance(row, dict):
            yield f"{path}[{n}] {_words(row)}; expected an object"
            continue
        yield from (f"{path}[{n}].{shown(k, quotes=False)} was not asked for" for k in row if k not in known)
        if not any(table.matches(row, keys, spans) for keys in wanted):
            echoed = ", ".join(f"{key.name} = {_echo(row.get(key.name))}" for key in table.keys)
            yield f"{path}[{n}] is a row that was not asked for ({echoed})"


def _echo(value: Any) -> str:
    if value is None:
        return "nothing"
    return shown(value) if isinstance(value, str) else f"{value:.6g}" if is_number(value) else _words(value)


def decimals(values: Sequence[Any]) -> list[str]:
    """Numbers with the same decimals, as few as tell them apart from what they are not.

    Examples
    --------
    >>> decimals([1.0, 5.05, 11.5]), decimals([300, 77]), decimals(["TA", "LA"])
    (['1.00', '5.05', '11.50'], ['300', '77'], ['TA', 'LA'])
    """
    if any(isinstance(v, str) for v in values):
        return [str(v).strip() for v in values]
    for digits in range(7):
        if all(abs(round(v, digits) - v) <= 1e-9 * max(abs(v), 1e-12) for v in values):
            return [f"{v:.{digits}f}" for v in values]
    return [f"{v:.9g}" for v in values]


# --- from a task's description


def read_nodes(entries: Mapping[str, Entry], groups: tuple[str, ...] = ()) -> tuple[Node, ...]:
    """Fields of an object."""
    if len(groups) > 4:
        raise SpecError(f"{next(iter(entries.values())).where}: objects are nested more than four deep")
    return tuple(_node(name, entry, groups) for name, entry in entries.items())


def _node(name: str, entry: Entry, groups: tuple[str, ...]) -> Node:
    _check_name(name, entry)
    kind = entry.choice("type", TYPES, "")
    if kind == "object":
        entry.only("type", "description", "fields")
        return Group(name, read_nodes(entry.entries("fields"), (*groups, name)), entry.text("description", ""))
    return _table((*groups, name), entry) if kind == "table" else _field(name, entry)


def _check_name(name: str, entry: Entry) -> None:
    if not _NAME.fullmatch(name):
        raise SpecError(f"{entry.where}: a name has letters, digits, underscores and points and begins with a letter")


def _field(name: str, entry: Entry) -> Field:
    _check_name(name, entry)
    kind = KINDS[entry.choice("type", tuple(KINDS), "")]
    entry.only(*COMMON, *kind.KEYS)
    return Field(name, kind.read(entry), entry.text("description", ""), entry.failure(), entry.flag("diagnosis"))


def _table(path: tuple[str, ...], entry: Entry) -> Table:
    entry.only("type", "description", "key", "columns", "ordered", "combine", "naming")
    keys = tuple(_key(key, inner) for key, inner in entry.entries("key").items())
    columns = tuple(_column(column, inner) for column, inner in entry.entries("columns").items())
    twice = {key.name for key in keys} & {column.name for column in columns}
    if twice:
        raise entry.error("columns", f"other names than those of the key ({', '.join(sorted(twice))})")
    return Table(
        path,
        keys,
        columns,
        entry.flag("ordered"),
        entry.choice("combine", ("rows", "product"), "rows") == "product",
        entry.choice("naming", ("value", "row"), "value") == "row",
        entry.text("description", ""),
    )


def _column(name: str, entry: Entry) -> Field:
    if entry.raw.get("type") in ("table", "object", "spectrum"):
        raise entry.error("type", "a type that fits into a cell")
    return _field(name, entry)


def _key(name: str, entry: Entry) -> Key:
    _check_name(name, entry)
    entry.only("type", "unit", "values", "goal", "description")
    kind = entry.choice("type", ("number", "integer", "text"), "number")
    if "values" in entry.raw and "goal" in entry.raw:
        raise entry.error("values", "either values or goal (the name of their list in the task's goal), not both")
    unit = entry.unit() if kind == "number" else entry.unit(default="1")
    values = tuple(entry.listed("values")) if "values" in entry.raw else None
    for value in values or ():
        good = isinstance(value, str) and value.strip() if kind == "text" else is_number(value)
        if not good or (kind == "integer" and not isinstance(value, int)):
            raise entry.error("values", f"a list of values of type {kind}")
    goal = entry.text("goal") if "goal" in entry.raw else ""
    return Key(name, kind, unit, values, goal, entry.text("description", ""))
