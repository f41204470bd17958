"""Reading what a task says about its answer. Every error names the file, the field and what was expected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeVar

from matassay.core import UNITS, Failure, MatAssayError, is_number

T = TypeVar("T")

_MISSING: Final = object()


class SpecError(MatAssayError, ValueError):
    """A task describes its answer in a way that cannot be graded."""


@dataclass(frozen=True)
class Entry:
    """One mapping of a task's description, and where it stands."""

    raw: Mapping[str, Any]
    """Its content."""
    where: str
    """File and path to it."""

    @classmethod
    def of(cls, raw: Any, where: str) -> Entry:
        """Make sure that it is a mapping with keys of text."""
        if not isinstance(raw, Mapping) or not all(isinstance(k, str) for k in raw):
            raise SpecError(f"{where}: expected a mapping with names as keys, got {type(raw).__name__}")
        return cls(raw, where)

    def error(self, key: str, expected: str) -> SpecError:
        """An error about one key."""
        got = f", got {self.raw[key]!r}" if key in self.raw else ", which is missing"
        return SpecError(f"{self.where}.{key}: expected {expected}{got}")

    def only(self, *known: str) -> None:
        """Refuse other keys."""
        for key in self.raw:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(sorted(known))}"
                raise SpecError(f"{self.where}.{key}: unknown key{hint}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty, or the default."""
        value = self.raw.get(key, default)
        if not isinstance(value, str) or (key in self.raw and not value.strip()):
            raise self.error(key, "a text")
        return value

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of a few words."""
        value = self.raw.get(key, default)
        if value not in choices:
            raise self.error(key, f"one of {', '.join(choices)}")
        return str(value)

    def flag(self, key: str, default: bool = False) -> bool:
        """True or false."""
        value = self.raw.get(key, default)
        if not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value

    def number(self, key: str, *, positive: bool = True) -> float | None:
        """A number, or None if it is not given. ``1e-3``, which YAML takes for text, is one."""
        value = self.raw.get(key)
        if value is None and key not in self.raw:
            return None
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                raise self.error(key, "a number") from None
        if not is_number(value) or (positive and value <= 0):
            raise self.error(key, "a positive number" if positive else "a number")
        return float(value)

    def whole(self, key: str, default: int) -> int:
        """A positive whole number."""
        value = self.raw.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error(key, "a positive whole number")
        return value

    def unit(self, key: str = "unit", default: str | None = None) -> str:
        """A unit that is known."""
        value = self.raw.get(key, default)
        if not isinstance(value, str) or value not in UNITS:
            raise self.error(key, f"a unit (one of {', '.join(u for u in UNITS if u)}; 1 for a plain number)")
        return value

    def listed(self, key: str, default: Sequence[Any] | None = None) -> list[Any]:
        """A list that is not empty."""
        value = self.raw.get(key, default)
        if not isinstance(value, list | tuple) or (key in self.raw and not value):
            raise self.error(key, "a list that is not empty")
        return list(value)

    def texts(self, key: str, default: Sequence[str] | None = None) -> list[str]:
        """A list of texts, no two alike."""
        values = self.listed(key, default)
        if not all(isinstance(v, str) and v.strip() for v in values) or len(set(values)) != len(values):
            raise self.error(key, "a list of texts, no two alike")
        return values

    def entry(self, key: str, default: Any = _MISSING) -> Entry:
        """A mapping within this one."""
        if key not in self.raw and default is _MISSING:
            raise self.error(key, "a mapping")
        return Entry.of(self.raw.get(key, default), f"{self.where}.{key}")

    def entries(self, key: str) -> dict[str, Entry]:
        """A mapping of names to mappings, at least one."""
        found = self.entry(key)
        if not found.raw:
            raise self.error(key, "at least one entry")
        return {name: Entry.of(raw, f"{found.where}.{name}") for name, raw in found.raw.items()}

    def failure(self) -> Failure:
        """To which kind of mistake a wrong value belongs."""
        choices = (Failure.WRONG_CHOICE, Failure.WRONG_IMPLEMENTATION)
        return Failure(self.choice("failure", choices, Failure.WRONG_IMPLEMENTATION))
