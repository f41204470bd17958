"""Parameters: values that an operator sets. Each is declared once and gives range, unit, guard and accessible name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from typing_extensions import override

from matassay.core import UNITS, is_number

if TYPE_CHECKING:
    from .instrument import Instrument

T = TypeVar("T")

Guard = Callable[[Any], "str | None"]
"""Tells why something cannot be done now, or None when it can; greys the control and guards the call alike."""


class Refused(Exception):
    """The instrument will not do that now; the text is shown to the operator on the panel."""


class Parameter(ABC, Generic[T]):
    """A value that the operator can set; read and assigned as a plain attribute by the physics.

    Parameters
    ----------
    default : T
        Value at power-on.
    label : str
        Accessible name; by default made from the attribute's name.
    unit : str
        A key of `matassay.core.UNITS`; shown after the label.
    guard : callable, optional
        ``guard(instrument)`` gives the reason why the parameter is locked, or None.
    soft : bool
        True leaves the control live while the guard holds: trying it shows the reason.
    """

    def __init__(
        self, default: T, *, label: str = "", unit: str = "", guard: Guard | None = None, soft: bool = False
    ) -> None:
        if unit not in UNITS:
            raise ValueError(f"parameter {label!r}: unknown unit {unit!r}")
        self.name = ""
        self.default, self.label, self.unit, self.guard, self.soft = default, label, unit, guard, soft
        self._hook: Callable[[Any], None] | None = None

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name
        self.label = self.label or name.replace("_", " ").capitalize()

    @overload
    def __get__(self, instrument: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instrument: Instrument, owner: type | None = None) -> T: ...
    def __get__(self, instrument: Instrument | None, owner: type | None = None) -> Self | T:
        if instrument is None:
            return self
        value: T = instrument.__dict__.get(self.name, self.default)
        return value

    def __set__(self, instrument: Instrument, value: Any) -> None:
        instrument.__dict__[self.name] = self.check(value)

    def changed(self, hook: Callable[[Any], None]) -> Callable[[Any], None]:
        """Decorator: call ``hook(self)`` after the *operator* changed this parameter."""
        self._hook = hook
        return hook

    def blocked(self, instrument: Instrument) -> str | None:
        """Why the operator cannot set it now, or None."""
        return self.guard(instrument) if self.guard else None

    def enabled(self, instrument: Instrument) -> bool:
        """Whether the control is live."""
        return self.soft or self.blocked(instrument) is None

    def operate(self, instrument: Instrument, *args: Any) -> None:
        """The operator's way in.

        Raises
        ------
        Refused
            If it is locked, or the value is not one that it can take.
        """
        if len(args) != 1:
            raise Refused(f"{self.label}: one value expected")
        if reason := self.blocked(instrument):
            raise Refused(reason)
        instrument.__dict__[self.name] = self.check(args[0])
        if self._hook:
            self._hook(instrument)

    @abstractmethod
    def check(self, value: Any) -> T:
        """The value as the instrument keeps it; raises `Refused` if it cannot be."""

    def show(self, instrument: Instrument) -> Any:
        """The value as the page gets it."""
        return self.__get__(instrument)

    def spec(self) -> dict[str, Any]:
        """Fixed properties for the page."""
        return {"label": self.label, "unit": self.unit}


class Real(Parameter[float]):
    """A number with range and step.

    Parameters
    ----------
    default, lo, hi, step : float
        Value at power-on, smallest and largest value, distance between values, in ``unit``.
    """

    def __init__(
        self,
        default: float,
        lo: float,
        hi: float,
        step: float,
        *,
        label: str = "",
        unit: str = "",
        guard: Guard | None = None,
        soft: bool = False,
    ) -> None:
        super().__init__(default, label=label, unit=unit, guard=guard, soft=soft)
        if not (lo < hi and step > 0):
            raise ValueError(f"parameter {label!r}: range {lo} to {hi} with step {step} is empty")
        self.lo, self.hi, self.step = lo, hi, step
        self.decimals = max(0, -math.floor(math.log10(step) + 1e-9))

    @override
    def check(self, value: Any) -> float:
        if isinstance(value, str):
            try:
                value = float(value.strip().replace(",", "."))
            except ValueError:
                raise Refused(f"{self.label}: {value[:40]!r} is not a number") from None
        if not is_number(value):
            raise Refused(f"{self.label}: a number is expected")
        # half a step of slack: what rounds to a limit is the limit
        if not self.lo - self.step / 2 <= value <= self.hi + self.step / 2:
            raise Refused(f"{self.label}: {value:g} is outside {self.lo:g} to {self.hi:g} {self.unit}".rstrip())
        steps = round((value - self.lo) / self.step)
        return min(max(round(self.lo + steps * self.step, 9), self.lo), self.hi)

    @override
    def spec(self) -> dict[str, Any]:
        return super().spec() | {"lo": self.lo, "hi": self.hi, "step": self.step, "decimals": self.decimals}


class Int(Real):
    """A whole number with range and step."""

    @override
    def check(self, value: Any) -> float:
        return int(super().check(value))


class Flag(Parameter[bool]):
    """On or off."""

    @override
    def check(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise Refused(f"{self.label}: on or off is expected")
        return value


class Text(Parameter[str]):
    """One line of text."""

    def __init__(
        self,
        default: str,
        *,
        max_length: int = 64,
        label: str = "",
        guard: Guard | None = None,
        soft: bool = False,
    ) -> None:
        super().__init__(default, label=label, guard=guard, soft=soft)
        self.max_length = max_length

    @override
    def check(self, value: Any) -> str:
        if not isinstance(value, str) or len(value) > self.max_length or not (value.isprintable()):
            raise Refused(f"{self.label}: one line of at most {self.max_length} characters is expected")
        return value.strip()  # blanks at an end cannot be seen

    @override
    def spec(self) -> dict[str, Any]:
        return super().spec() | {"max_length": self.max_length}


class Choice(Parameter[T]):
    """One of a list.

    Parameters
    ----------
    default : T
        Value at power-on; one of the choices.
    choices : sequence of T
        Values in the order in which they are offered.
    show_as : callable
        Turns a value into the text that the page shows.
    """

    def __init__(
        self,
        default: T,
        choices: Sequence[T],
        *,
        show_as: Callable[[T], str] = str,
        label: str = "",
        unit: str = "",
        guard: Guard | None = None,
        soft: bool = False,
    ) -> None:
        super().__init__(default, label=label, unit=unit, guard=guard, soft=soft)
        self.choices, self.show_as = tuple(choices), show_as
        if default not in self.choices:
            raise ValueError(f"parameter {label!r}: default {default!r} is not among the choices")
        self._by_text = {show_as(c): c for c in self.choices}

    @override
    def check(self, value: Any) -> T:
        if isinstance(value, str) and value in self._by_text:
            return self._by_text[value]
        for choice in self.choices:
            if type(choice) is type(value) and choice == value:
                return choice
        raise Refused(f"{self.label}: no such choice")

    @override
    def show(self, instrument: Instrument) -> str:
        return self.show_as(self.__get__(instrument))

    @override
    def spec(self) -> dict[str, Any]:
        return super().spec() | {"choices": [self.show_as(c) for c in self.choices]}
