"""Fields that hold one value: numbers, integers, texts, labels, booleans, formulas, space groups."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from math import gcd
from typing import Any, Self

from matassay.core import Judgement, is_number
from matassay.grading.structures import NoSpaceGroup, same_space_group, space_group_number

from ._parse import kind_of, shown
from ._part import RIGHT, Asked, Part
from ._spec import Entry
from ._tolerance import Allowed

Schema = dict[str, Any]


def unit_text(unit: str) -> str:
    """``Unit: THz.``, for descriptions."""
    return "Dimensionless." if unit in ("", "1") else f"Unit: {unit}."


def not_a_number(asked: Asked, unit: str) -> Judgement | None:
    """What is wrong with a value that should be a finite number; None if it is one."""
    value = asked.value
    expected = "a number" if unit in ("", "1") else f"a number, in {unit}"
    if isinstance(value, str):
        return asked.malformed(f"{expected}: write it without quotes")
    if isinstance(value, int | float) and not isinstance(value, bool) and not is_number(value):
        return asked.refused("is not a finite number")
    return None if is_number(value) else asked.malformed(expected)


@dataclass(frozen=True)
class Number:
    """A number with a unit and a tolerance."""

    unit: str
    allowed: Allowed

    KEYS = ("unit", "rtol", "atol", "reason", "period")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        unit = entry.unit()
        return cls(unit, Allowed.read(entry, unit, period=entry.number("period")))

    def parts(self) -> tuple[Part, ...]:
        """One: near enough to the reference."""
        text = f"agrees with the reference within {self.allowed.text}"
        return (Part("", text, self._check, self.allowed.stated, self._displaced),)

    def schema(self) -> Schema:
        """A number."""
        period = f" Modulo {self.allowed.period:g}." if self.allowed.period else ""
        return {
            "type": "number",
            "description": f"{unit_text(self.unit)}{period} May differ from the reference by {self.allowed.text}.",
        }

    def _check(self, asked: Asked) -> Judgement:
        if bad := not_a_number(asked, self.unit):
            return bad
        value, reference = float(asked.value), float(asked.reference)
        if self.allowed.holds(value, reference):
            return RIGHT
        return asked.wrong(f"{value:.6g} {self.allowed.excess(value, reference)}")

    def _displaced(self, reference: Any, k: float) -> float:
        return float(reference) + k * self.allowed.width(float(reference))


@dataclass(frozen=True)
class Integer:
    """A count, which must be exact; ``3.0`` is none, since it may come from a quantity that only happens to be whole."""

    unit: str

    KEYS = ("unit",)

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        return cls(entry.unit(default="1"))

    def parts(self) -> tuple[Part, ...]:
        """One: the same number."""
        return (Part("", "is exactly the reference's whole number", self._check),)

    def schema(self) -> Schema:
        """An integer."""
        unit = "" if self.unit in ("", "1") else f" {unit_text(self.unit)}"
        return {"type": "integer", "description": f"A whole number, written without a decimal point; exact.{unit}"}

    def _check(self, asked: Asked) -> Judgement:
        bad = not_an_integer(asked)
        if bad is None and asked.value != asked.reference:
            return asked.wrong(f"{shown(str(asked.value), quotes=False)} is not the right number, which must be exact")
        return bad or RIGHT


def not_an_integer(asked: Asked) -> Judgement | None:
    """What is wrong with a value that should be a whole number; None if it is one."""
    value = asked.value
    if isinstance(value, str):
        return asked.malformed("a whole number: write it without quotes")
    if isinstance(value, float):
        return asked.malformed("a whole number: write it without a decimal point")
    return None if isinstance(value, int) and not isinstance(value, bool) else asked.malformed("a whole number")


@dataclass(frozen=True)
class Boolean:
    """True or false."""

    KEYS = ()

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        return cls()

    def parts(self) -> tuple[Part, ...]:
        """One: the same."""
        return (Part("", "is the reference's true or false", self._check),)

    def schema(self) -> Schema:
        """A boolean."""
        return {"type": "boolean", "description": "true or false."}

    def _check(self, asked: Asked) -> Judgement:
        if not isinstance(asked.value, bool):
            return asked.malformed("true or false")
        return RIGHT if asked.value == asked.reference else asked.wrong(f"{kind_of(asked.value)} is not right")


@dataclass(frozen=True)
class Text:
    """Any text, which must be the reference's but for blanks around it."""

    case: bool

    KEYS = ("case",)

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        return cls(entry.choice("case", ("exact", "ignore"), "exact") == "exact")

    def parts(self) -> tuple[Part, ...]:
        """One: the same text."""
        return (Part("", "is the reference's text", self._check),)

    def schema(self) -> Schema:
        """A string."""
        return {"type": "string", "description": "Exact, " + ("case included." if self.case else "but for case.")}

    def _check(self, asked: Asked) -> Judgement:
        if not isinstance(asked.value, str):
            return asked.malformed("a text")
        found, wanted = asked.value.strip(), str(asked.reference).strip()
        same = found == wanted if self.case else found.casefold() == wanted.casefold()
        return RIGHT if same else asked.wrong(f"{shown(found)} is not right")


@dataclass(frozen=True)
class Label:
    """One of a few words."""

    values: tuple[str, ...]
    """Words of the task, in the order in which they are published; empty if it does not tell them."""
    meaning: Mapping[str, str]
    """The word that each accepted spelling stands for."""
    case: bool
    """Whether case matters."""

    KEYS = ("values", "aliases", "case")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        case = entry.choice("case", ("exact", "ignore"), "ignore") == "exact"
        aliases = entry.entry("aliases", {})
        values = entry.texts("values", ())
        meaning: dict[str, str] = {}
        for name in aliases.raw:
            if values and name not in values:
                raise aliases.error(name, f"one of the values {', '.join(values)}")
        for value in values or aliases.raw:
            for spelling in (value, *(aliases.texts(value) if value in aliases.raw else ())):
                key = spelling.strip() if case else spelling.strip().casefold()
                if meaning.setdefault(key, value) != value:
                    raise entry.error("aliases", f"that {spelling!r} stands for one value only")
        return cls(tuple(values), meaning, case)

    def parts(self) -> tuple[Part, ...]:
        """One: the same word."""
        return (Part("", "is the reference's label", self._check),)

    def schema(self) -> Schema:
        """One of the words; other spellings are accepted and not advertised."""
        if not self.values:
            return {"type": "string", "description": "One word; case matters." if self.case else "One word."}
        return {"type": "string", "enum": list(self.values), "description": f"One of: {', '.join(self.values)}."}

    def meant(self, text: str) -> str | None:
        """The word that a text stands for; None if it is none of those of the task."""
        plain = text.strip() if self.case else text.strip().casefold()
        return self.meaning.get(plain, None if self.values else plain)

    def _check(self, asked: Asked) -> Judgement:
        if not isinstance(asked.value, str):
            return asked.malformed(f"one of {', '.join(self.values)}" if self.values else "a word")
        meant = self.meant(asked.value)
        if meant is None:
            return asked.refused(f"{shown(asked.value)} is none of {', '.join(self.values)}")
        if meant == self.meant(str(asked.reference)):
            return RIGHT
        return asked.wrong(f"{shown(asked.value.strip())} is not right")


@dataclass(frozen=True)
class Formula:
    """A chemical formula, whatever the order of its elements and their common factor."""

    reduced: bool

    KEYS = ("reduced",)

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        return cls(entry.flag("reduced", True))

    def parts(self) -> tuple[Part, ...]:
        """One: the same composition."""
        return (Part("", "is the reference's composition", self._check),)

    def schema(self) -> Schema:
        """A string."""
        factor = "A common factor does not matter." if self.reduced else "The numbers of atoms count as they are."
        return {"type": "string", "description": f"Chemical formula such as Ca(OH)2. {factor}"}

    def _check(self, asked: Asked) -> Judgement:
        if not isinstance(asked.value, str):
            return asked.malformed("a chemical formula")
        found, wanted = composition(asked.value), composition(str(asked.reference))
        if found is None:
            return asked.refused(f"{shown(asked.value)} is no chemical formula")
        if self.reduced and wanted:
            found, wanted = _divided(found), _divided(wanted)
        return RIGHT if found == wanted else asked.wrong(f"{shown(asked.value)} is not right")


_PIECE = re.compile(r"([A-Z][a-z]?|\(|\))(\d{0,6})")


def composition(formula: str) -> dict[str, int] | None:
    """Atoms of each element in a formula with whole numbers, or None if it is none.

    Examples
    --------
    >>> composition("Ca(OH)2"), composition("water")
    ({'Ca': 1, 'O': 2, 'H': 2}, None)
    """
    from matassay.grading.structures import ELEMENTS

    text = re.sub(r"[\s_{}$]", "", formula.translate(str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")))
    if not text or len(text) > 200:
        return None
    levels: list[dict[str, int]] = [{}]
    at = 0
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:
            return None
        at = match.end()
        symbol, count = match[1], int(match[2] or 1)
        if symbol == "(":
            if match[2] or len(levels) > 8:
                return None
            levels.append({})
        elif symbol == ")" and len(levels) > 1:
            for element, n in levels.pop().items():
                levels[-1][element] = levels[-1].get(element, 0) + n * count
        elif symbol in ELEMENTS and count:
            levels[-1][symbol] = levels[-1].get(symbol, 0) + count
        else:
            return None
    return levels[0] if len(levels) == 1 and levels[0] else None


def _divided(counts: Mapping[str, int]) -> dict[str, int]:
    unit = reduce(gcd, counts.values())
    return {element: n // unit for element, n in counts.items()}


@dataclass(frozen=True)
class SpaceGroup:
    """A space group, by its number or any usual symbol."""

    enantiomorph: bool

    KEYS = ("enantiomorph",)

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        return cls(entry.flag("enantiomorph"))

    def parts(self) -> tuple[Part, ...]:
        """One: the same group."""
        return (Part("", "is the reference's space group", self._check),)

    def schema(self) -> Schema:
        """A number or a symbol."""
        return {
            "anyOf": [{"type": "integer", "minimum": 1, "maximum": 230}, {"type": "string"}],
            "description": "Space group: its number, or its Hermann-Mauguin symbol in any setting, such as Fm-3m.",
        }

    def _check(self, asked: Asked) -> Judgement:
        expected = "the number or the symbol of a space group"
        if isinstance(asked.value, bool) or not isinstance(asked.value, int | str):
            return asked.malformed(expected)
        try:
            found = space_group_number(asked.value)
        except NoSpaceGroup as error:
            return asked.refused(f"{error}; expected {expected}")
        if same_space_group(found, space_group_number(asked.reference), enantiomorph=self.enantiomorph):
            return RIGHT
        return asked.wrong(f"space group {found} is not the right one")
