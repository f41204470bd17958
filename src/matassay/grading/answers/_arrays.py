"""Fields that hold many values: arrays, sets, spectra."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from matassay.core import Judgement, is_number

from ._parse import Unusable, kind_of, shown
from ._part import RIGHT, Asked, Part
from ._scalars import Label, Schema, unit_text
from ._spec import Entry, SpecError
from ._tolerance import Allowed

Floats = NDArray[np.float64]
T = TypeVar("T")

#: Numbers of greater magnitude are refused in arrays, where sums of squares are taken.
GREATEST: Final = 1e150
#: Greatest whole number up to which all have a double of their own.
EXACT: Final = 2**53
#: Most values of an array, a set or a spectrum.
MOST_VALUES: Final = 400_000


class _Bad(Exception):
    """A list does not hold what it should; the text stands after the field's name."""


def _numbers(value: Any, shape: Sequence[int | None] | None, whole: bool = False) -> Floats:
    """An array from nested lists of finite numbers."""
    found: list[float] = []
    sizes: list[int] = []

    def walk(item: Any, depth: int, path: str) -> None:
        if not isinstance(item, list):
            raise _Bad(f"{path or 'it'} {_words(item)}; expected a list")
        if len(sizes) <= depth:
            sizes.append(len(item))
        if len(item) != sizes[depth]:
            raise _Bad(
                f"{path or 'it'} has {len(item)} entries, where others have {sizes[depth]}: rows differ in length"
            )
        nested = depth + 1 < len(shape) if shape is not None else bool(item) and isinstance(item[0], list)
        if depth > 7:
            raise _Bad("it has more than eight dimensions")
        for n, inner in enumerate(item):
            if nested:
                walk(inner, depth + 1, f"{path}[{n}]")
            elif not is_number(inner) or abs(inner) > GREATEST:
                raise _Bad(f"entry {path}[{n}] {_words(inner)}; expected a {'whole' if whole else 'finite'} number")
            elif whole and not isinstance(inner, int):
                raise _Bad(f"entry {path}[{n}] {_words(inner)}; write whole numbers without a decimal point")
            elif whole and abs(inner) > EXACT:
                raise _Bad(f"entry {path}[{n}] is beyond {EXACT}, the whole numbers that are compared")
            else:
                found.append(float(inner))
                if len(found) > MOST_VALUES:
                    raise _Bad(f"it has more than {MOST_VALUES} entries")

    walk(value, 0, "")
    if shape is not None and any(n not in (None, m) for n, m in zip(shape, sizes, strict=False)):
        raise _Bad(f"its shape is {_shape(sizes)}, expected {_shape(shape)}")
    return np.array(found).reshape(sizes)


def _of_reference(read: Callable[..., T], *arguments: Any) -> T:
    """What a reader makes of a reference, whose faults are the task's."""
    try:
        return read(*arguments)
    except _Bad as bad:
        raise SpecError(f"the reference: {bad}") from bad


def _words(value: Any) -> str:
    return value.text if isinstance(value, Unusable) else f"is {kind_of(value)}"


def _shape(sizes: Sequence[int | None]) -> str:
    return " x ".join("any" if n is None else str(n) for n in sizes)


@dataclass(frozen=True)
class Array:
    """Numbers in rows and columns."""

    unit: str
    shape: tuple[int | None, ...] | None
    """Published; None, as a whole or in one place: not told."""
    whole: bool
    """Whole numbers, which must be exact."""
    compare: str
    """``elementwise``, ``scale`` (each within a share of the largest) or ``norm`` (of the difference)."""
    sign: bool
    """Whether the sign of the whole matters; it does not for eigenvectors."""
    allowed: Allowed | None

    KEYS = ("unit", "shape", "element", "compare", "sign", "rtol", "atol", "reason")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        whole = entry.choice("element", ("number", "integer"), "number") == "integer"
        unit = entry.unit(default="1" if whole else None)
        shape = tuple(entry.listed("shape")) if "shape" in entry.raw else None
        if shape and not all(n is None or (isinstance(n, int) and not isinstance(n, bool) and n > 0) for n in shape):
            raise entry.error("shape", "a list of positive whole numbers, or null for a size that is not told")
        if whole and {"rtol", "atol", "compare"} & entry.raw.keys():
            raise SpecError(f"{entry.where}: whole numbers are compared exactly; rtol, atol and compare do not apply")
        compare = entry.choice("compare", ("elementwise", "scale", "norm"), "elementwise")
        sign = entry.choice("sign", ("matters", "free"), "matters") == "matters"
        return cls(unit, shape, whole, compare, sign, None if whole else Allowed.read(entry, unit))

    def parts(self) -> tuple[Part, ...]:
        """One: near enough to the reference."""
        if self.allowed is None:
            return (Part("", "is exactly the reference's array of whole numbers", self._check),)
        text = f"agrees with the reference within {self.allowed.text}{self._how}"
        return (Part("", text, self._check, self.allowed.stated, self._displaced),)

    @property
    def _how(self) -> str:
        return {"elementwise": ", each entry", "scale": " of its largest entry, each entry", "norm": ", in norm"}[
            self.compare
        ]

    def schema(self) -> Schema:
        """Nested arrays."""
        inner: Schema = {"type": "integer" if self.whole else "number"}
        for size in reversed(self.shape or (None,)):
            inner = {"type": "array", "items": inner}
            if size is not None:
                inner |= {"minItems": size, "maxItems": size}
        shape = f" Shape: {_shape(self.shape)}." if self.shape else ""
        if self.shape is None:
            inner = {"type": "array"}
        sign = "" if self.sign else " The sign of the whole is free."
        within = (
            "Exact." if self.allowed is None else f"May differ from the reference by {self.allowed.text}{self._how}."
        )
        return inner | {"description": f"{unit_text(self.unit)}{shape} {within}{sign}"}

    def _reference(self, reference: Any) -> Floats:
        found = _of_reference(_numbers, reference, self.shape, self.whole)
        if not found.size:
            raise SpecError("the reference array is empty")
        return found

    def _widths(self, reference: Floats) -> Floats:
        """Tolerance of each entry; of the norm in a single number."""
        assert self.allowed is not None
        if self.compare == "elementwise":
            return np.array([self.allowed.width(float(x)) for x in reference.ravel()]).reshape(reference.shape)
        size = np.abs(reference).max() if self.compare == "scale" else np.linalg.norm(reference)
        return np.full(reference.shape, self.allowed.width(float(size)))

    def _check(self, asked: Asked) -> Judgement:
        reference = self._reference(asked.reference)
        if not isinstance(asked.value, list):
            return asked.malformed("a list" + (" of lists" if reference.ndim > 1 else ""))
        try:
            found = _numbers(asked.value, self.shape, self.whole)
        except _Bad as bad:
            return asked.refused(str(bad))
        if found.shape != reference.shape:
            return asked.refused(f"its shape is {_shape(found.shape)}, which is not the one that was asked for")
        senses = (1,) if self.sign else (1, -1)
        if self.allowed is None:
            if any((sense * found == reference).all() for sense in senses):
                return RIGHT
            return asked.wrong(f"{_counted(found != reference)} not right, and must be exact")
        return min((self._near(asked, sense * found, reference) for sense in senses), key=lambda j: not j.holds)

    def _near(self, asked: Asked, found: Floats, reference: Floats) -> Judgement:
        assert self.allowed is not None
        distance = np.abs(found - reference)
        widths = self._widths(reference)
        if self.compare == "norm":
            distance = np.full(reference.shape, np.linalg.norm(distance))
        outside = distance > widths + 1e-9 * np.abs(reference) * max(self.allowed.rtol, 1e-6)
        if not outside.any():
            return RIGHT
        if self.compare == "norm":
            share = f"{float(distance.flat[0] / widths.flat[0]):.3g}"
            return asked.wrong(f"the norm of its difference from the reference is {share} times the one allowed")
        worst = np.unravel_index(np.argmax(distance / widths), reference.shape)
        place = "".join(f"[{n}]" for n in worst)
        share = f"{float(distance[worst] / widths[worst]):.3g}"
        return asked.wrong(f"{_counted(outside)} off; the worst, entry {place}, by {share} times the tolerance")

    def _displaced(self, reference: Any, k: float) -> Any:
        """The reference with its first entry off; in norm that is the whole difference."""
        array = self._reference(reference)
        moved = array.copy()
        moved.flat[0] += k * self._widths(array).flat[0]
        return moved.tolist()


def _counted(bad: NDArray[np.bool_]) -> str:
    return f"{int(bad.sum())} of {bad.size} entries are"


@dataclass(frozen=True)
class Members:
    """A collection without order: of labels, whole numbers, or numbers with a tolerance."""

    of: str
    unit: str
    allowed: Allowed | None
    label: Label | None

    KEYS = ("of", "unit", "rtol", "atol", "reason", "values", "aliases", "case")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        of = entry.choice("of", ("number", "integer", "label"), "number")
        if of == "label":
            entry.only("type", "description", "failure", "diagnosis", "of", *Label.KEYS)
            return cls(of, "1", None, Label.read(entry))
        unit = entry.unit(default="1" if of == "integer" else None)
        return cls(of, unit, Allowed.read(entry, unit) if of == "number" else None, None)

    def parts(self) -> tuple[Part, ...]:
        """One: the same members."""
        if self.allowed is None:
            return (Part("", "has exactly the reference's members, in any order", self._check),)
        text = f"has the reference's numbers, in any order, each within {self.allowed.text}"
        return (Part("", text, self._check, self.allowed.stated, self._displaced),)

    def schema(self) -> Schema:
        """An array."""
        if self.label is not None:
            return {"type": "array", "items": self.label.schema(), "uniqueItems": True, "description": "In any order."}
        within = f" Each may differ from the reference by {self.allowed.text}." if self.allowed else " Exact."
        items = {"type": self.of}
        return {"type": "array", "items": items, "description": f"{unit_text(self.unit)} In any order.{within}"}

    def _check(self, asked: Asked) -> Judgement:
        if not isinstance(asked.value, list):
            return asked.malformed("a list")
        if self.label is not None:
            return self._labels(asked, self.label)
        try:
            found = np.sort(_numbers(asked.value, (None,), self.of == "integer"))
        except _Bad as bad:
            return asked.refused(str(bad))
        wanted = np.sort(_of_reference(_numbers, asked.reference, (None,), self.of == "integer"))
        if len(found) != len(wanted):
            return asked.wrong(
                f"{len(found)} numbers, which are {'more' if len(found) > len(wanted) else 'fewer'} than there are"
            )
        if self.allowed is None:
            return (
                RIGHT
                if (found == wanted).all()
                else asked.wrong(f"{_counted(found != wanted)} not right, or others are missing")
            )
        # Both ends of the accepted intervals rise with the reference, so the sorted pairing is the best one.
        near = [self.allowed.holds(float(a), float(b)) for a, b in zip(found, wanted, strict=True)]
        if all(near):
            return RIGHT
        return asked.wrong(f"{near.count(False)} of {len(near)} numbers have no counterpart within {self.allowed.text}")

    def _labels(self, asked: Asked, label: Label) -> Judgement:
        meant: list[str] = []
        for n, text in enumerate(asked.value):
            spoken = label.meant(text) if isinstance(text, str) else None
            if spoken is None:
                given = shown(text) if isinstance(text, str) else _words(text).removeprefix("is ")
                return asked.refused(f"entry [{n}], {given}, is none of {', '.join(label.values)}")
            meant.append(spoken)
        word, count = Counter(meant).most_common(1)[0] if meant else ("", 0)
        if count > 1:
            return asked.refused(f"{shown(word)} stands in it more than once")
        wanted = {label.meant(str(text)) for text in asked.reference}
        wrong = [w for w in meant if w not in wanted]
        if wrong:
            return asked.wrong(f"{shown(wrong[0])} does not belong there")
        return RIGHT if len(meant) == len(wanted) else asked.wrong("something is missing")

    def _displaced(self, reference: Any, k: float) -> Any:
        """The largest moved up or the smallest moved down, which changes no pairing."""
        assert self.allowed is not None
        numbers = sorted(_of_reference(_numbers, reference, (None,)).tolist())
        at = -1 if k >= 0 else 0
        numbers[at] += k * self.allowed.width(numbers[at])
        return numbers


@dataclass(frozen=True)
class Axis:
    """One of the two lists of a spectrum."""

    name: str
    unit: str


@dataclass(frozen=True)
class Spectrum:
    """A curve: two lists of equal length, the first of which increases."""

    x: Axis
    y: Axis
    window: tuple[float, float]
    """Range of x that is compared, in the unit of x; the curve must cover it."""
    least_points: int
    """Points that must lie in the window."""
    checks: dict[str, Allowed]
    """Tolerance of each thing that is compared."""

    KEYS = ("x", "y", "window", "least_points", "checks")

    @classmethod
    def read(cls, entry: Entry) -> Self:
        """From a task's description."""
        axes = []
        for key in ("x", "y"):
            raw = entry.entry(key)
            raw.only("name", "unit")
            axes.append(Axis(raw.text("name"), raw.unit()))
        if axes[0].name == axes[1].name:
            raise entry.error("y", "another name than that of x")
        window = entry.listed("window")
        if len(window) != 2 or not all(map(is_number, window)) or not window[0] < window[1]:
            raise entry.error("window", "two numbers, the lower first")
        checks: dict[str, Allowed] = {}
        raw = entry.entry("checks", {"difference": {}})
        raw.only(*_MEASURES, "peak_position")
        for name in raw.raw:
            inner = raw.entry(name)
            inner.only("rtol", "atol", "reason")
            unit = {"peak_position": axes[0].unit, "peak_height": axes[1].unit}.get(name, "1")
            checks[name] = Allowed.read(inner, unit, default=name != "peak_position")
            if checks[name].atol and name in ("difference", "area"):
                raise inner.error("atol", "a relative tolerance: the size of an area has no unit of its own here")
            if checks[name].rtol and name == "peak_position":
                raise inner.error("rtol", f"an absolute tolerance, in {unit}")
        return cls(axes[0], axes[1], (float(window[0]), float(window[1])), entry.whole("least_points", 10), checks)

    def parts(self) -> tuple[Part, ...]:
        """One for each thing that is compared."""
        words = {
            "difference": "the area between curve and reference, relative to the reference's area, is within {}",
            "area": "the area below the curve agrees with the reference's within {}",
            "peak_height": "the greatest value agrees with the reference's within {}",
            "peak_position": "the place of the greatest value agrees with the reference's within {}",
        }
        return tuple(
            Part(
                name,
                words[name].format(allowed.text),
                self._checker(name, allowed),
                allowed.stated,
                self._shifted(allowed) if name == "peak_position" else self._scaled(name, allowed),
            )
            for name, allowed in self.checks.items()
        )

    def schema(self) -> Schema:
        """An object of two arrays."""
        low, high = self.window
        numbers: Schema = {"type": "array", "items": {"type": "number"}, "minItems": self.least_points}
        lists = {axis.name: numbers | {"description": unit_text(axis.unit)} for axis in (self.x, self.y)}
        within = "; ".join(f"{n.replace('_', ' ')} (within {a.text})" for n, a in self.checks.items())
        return {
            "type": "object",
            "properties": lists,
            "required": list(lists),
            "additionalProperties": False,
            "description": f"A curve: {self.y.name} at increasing {self.x.name}, of equal length, covering {low:g} to "
            f"{high:g} {self.x.unit} with at least {self.least_points} points. Compared there: {within}.",
        }

    def members(self) -> tuple[str, ...]:
        """Keys of the object."""
        return (self.x.name, self.y.name)

    def _curve(self, value: Any) -> tuple[Floats, Floats]:
        """Both lists, checked."""
        if not isinstance(value, dict):
            raise _Bad(f"{_words(value)}; expected an object with {self.x.name} and {self.y.name}")
        lists = []
        for axis in (self.x, self.y):
            if axis.name not in value:
                raise _Bad(f"{axis.name} is missing")
            try:
                lists.append(_numbers(value[axis.name], (None,)))
            except _Bad as bad:
                raise _Bad(f"{axis.name}: {bad}") from bad
        x, y = lists
        if len(x) != len(y):
            raise _Bad(f"{len(x)} values of {self.x.name} and {len(y)} of {self.y.name}")
        if (np.diff(x) <= 0).any():
            raise _Bad(f"{self.x.name} does not increase throughout")
        low, high = self.window
        margin = 1e-6 * (high - low)
        if not len(x) or x[0] > low + margin or x[-1] < high - margin:
            raise _Bad(f"{self.x.name} does not cover {low:g} to {high:g} {self.x.unit}")
        inside = int(((x >= low - margin) & (x <= high + margin)).sum())
        if inside < self.least_points:
            raise _Bad(
                f"{inside} points between {low:g} and {high:g} {self.x.unit}; at least {self.least_points} are needed"
            )
        return x, y

    def _checker(self, name: str, allowed: Allowed) -> Callable[[Asked], Judgement]:
        def check(asked: Asked) -> Judgement:
            reference = _of_reference(self._curve, asked.reference)
            try:
                found = self._curve(asked.value)
            except _Bad as bad:
                return asked.refused(str(bad))
            if name == "difference":
                value, target = self._apart(found, reference) + 1.0, 1.0  # relative to an area of one
            else:
                value, target = self._measure(name, *found), self._measure(name, *reference)
            if allowed.holds(value, target):
                return RIGHT
            return asked.wrong(f"its {name.replace('_', ' ')} {allowed.excess(value, target)}")

        return check

    def _apart(self, found: tuple[Floats, Floats], reference: tuple[Floats, Floats]) -> float:
        """Area between two curves in the window over the area below the absolute reference."""
        size = _area(*self._cut(reference[0], np.abs(reference[1])))
        if size <= 0:
            raise SpecError("the reference curve is zero everywhere")
        grid = np.unique(np.concatenate([self._cut(*found)[0], self._cut(*reference)[0]]))
        return _area(grid, np.abs(np.interp(grid, *found) - np.interp(grid, *reference))) / size

    def _measure(self, name: str, x: Floats, y: Floats) -> float:
        x, y = self._cut(x, y)
        return float(_MEASURES[name](x, y)) if name in _MEASURES else float(x[np.argmax(y)])

    def _cut(self, x: Floats, y: Floats) -> tuple[Floats, Floats]:
        """The part in the window, with interpolated ends."""
        low, high = self.window
        grid = np.concatenate([[low], x[(x > low) & (x < high)], [high]])
        return grid, np.interp(grid, x, y)

    def _scaled(self, name: str, allowed: Allowed) -> Callable[[Any, float], Any]:
        def displaced(reference: Any, k: float) -> Any:
            x, y = _of_reference(self._curve, reference)
            target = 1.0 if name == "difference" else self._measure(name, x, y)
            width = allowed.width(target)
            return {self.x.name: x.tolist(), self.y.name: (y * (1 + k * width / target)).tolist()}

        return displaced

    def _shifted(self, allowed: Allowed) -> Callable[[Any, float], Any]:
        def displaced(reference: Any, k: float) -> Any:
            x, y = _of_reference(self._curve, reference)
            low, high = self.window
            x = x + k * allowed.width(0.0)
            if x[0] > low:
                x, y = np.concatenate([[low], x]), np.concatenate([y[:1], y])
            if x[-1] < high:
                x, y = np.concatenate([x, [high]]), np.concatenate([y, y[-1:]])
            return {self.x.name: x.tolist(), self.y.name: y.tolist()}

        return displaced


def _area(x: Floats, y: Floats) -> float:
    return float(np.trapezoid(y, x))


_MEASURES: Final[dict[str, Callable[[Floats, Floats], float]]] = {
    "difference": lambda x, y: _area(x, np.abs(y)),
    "area": _area,
    "peak_height": lambda x, y: float(y.max()),
}
