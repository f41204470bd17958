"""How far a number may lie from its reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ._spec import Entry, SpecError

#: Relative tolerance where a task states none, and why.
DEFAULT: Final = 0.10
DEFAULT_REASON: Final = "the benchmark's default: between discretisations that are all defensible"

#: Closed intervals hold their ends in spite of binary rounding.
_SLACK: Final = 1e-9


@dataclass(frozen=True)
class Allowed:
    """A relative and an absolute tolerance, of which the larger counts."""

    rtol: float
    """Relative to the magnitude of the reference; 0 if there is none."""
    atol: float
    """In ``unit``; 0 if there is none."""
    unit: str
    """Of the value."""
    reason: str
    """Why that far."""
    period: float | None = None
    """Values this far apart, in ``unit``, mean the same; for angles and phases."""

    @classmethod
    def read(cls, entry: Entry, unit: str, *, period: float | None = None, default: bool = True) -> Allowed:
        """From ``rtol``, ``atol`` and ``reason``; 10 % relative if neither is given."""
        rtol, atol = entry.number("rtol"), entry.number("atol")
        if rtol is None and atol is None:
            if not default:
                raise entry.error("atol", "a tolerance")
            return cls(DEFAULT, 0.0, unit, entry.text("reason", DEFAULT_REASON), period)
        if rtol is not None and rtol >= 0.5:
            raise entry.error("rtol", "less than 0.5: at 0.5, twice the tolerance reaches zero")
        reason = entry.text("reason")
        if len(reason.split()) < 2:
            raise entry.error("reason", "a few words: which noise, discretisation or convention it follows from")
        return cls(rtol or 0.0, atol or 0.0, unit, reason, period)

    def width(self, reference: float) -> float:
        """Half width of the accepted interval, in ``unit``.

        Raises
        ------
        SpecError
            If it is zero, or wider than a quarter of the period.
        """
        width = max(self.atol, self.rtol * abs(reference))
        if width <= 0:
            raise SpecError("the reference is 0 and there is only a relative tolerance: state atol")
        if self.period is not None and width >= self.period / 4:
            raise SpecError("the tolerance reaches a quarter of the period")
        return width

    def apart(self, value: float, reference: float) -> float:
        """Distance of two values, in ``unit``."""
        distance = abs(value - reference)
        if self.period is not None:
            distance = abs((value - reference + self.period / 2) % self.period - self.period / 2)
        return distance

    def holds(self, value: float, reference: float) -> bool:
        """Whether a value is near enough."""
        return self.apart(value, reference) <= self.width(reference) + _SLACK * abs(reference) * max(self.rtol, 1e-6)

    def excess(self, value: float, reference: float) -> str:
        """What to say of a value that is not: how far it lies from the reference, and not where that is."""
        distance, width = self.apart(value, reference), self.width(reference)
        if self.rtol * abs(reference) >= self.atol and self.period is None:
            share = distance / abs(reference)
            return f"differs from the reference by {_more(share * 100, self.rtol * 100)} %, allowed {self.rtol * 100:.4g} %"
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        return f"differs from the reference by {_more(distance, width)}{unit}, allowed {width:.4g}{unit}"

    @property
    def text(self) -> str:
        """For the agent: ``0.1 % or 0.0001 eV, whichever is larger``."""
        unit = "" if self.unit in ("", "1") else f" {self.unit}"
        parts = [f"{self.rtol * 100:.4g} %"] if self.rtol else []
        parts += [f"{self.atol:.4g}{unit}"] if self.atol else []
        return " or ".join(parts) + (", whichever is larger" if len(parts) > 1 else "")

    @property
    def stated(self) -> tuple[float, str, str]:
        """Number, unit and reason of the tolerance as it is listed: the relative one, if there is one."""
        if self.rtol:
            return self.rtol * 100, "%", f"{self.reason} ({self.text})" if self.atol else self.reason
        return self.atol, self.unit, self.reason


def _more(value: float, allowed: float) -> str:
    """A number that exceeds another, with as many digits as it takes to see that."""
    for digits in (2, 3, 4, 6, 9):
        text = f"{value:.{digits}g}"
        if float(text) > allowed * (1 + 1e-12):
            return text
    return f"{value:.12g}"
