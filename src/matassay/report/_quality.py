"""Continuous measures of quality: their names as words and units, and which of them belong together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

#: A measure of this name before another's name is the best value of the episode.
BEST: Final = "best_"

#: Ends of names -> units; docs/reference/results.md lists them.
SUFFIXES: Final = {
    "db": "dB", "percent": "%", "px": "px", "cycles_per_px": "cycles/px", "per_px": "/px", "per_um": "/µm",
    "pm": "pm", "nm": "nm", "um": "µm", "mm": "mm", "deg": "°", "mrad": "mrad", "s": "s", "ms": "ms", "us": "µs",
    "kv": "kV", "v": "V", "ev": "eV", "kev": "keV", "na": "nA", "counts": "counts", "counts_per_s": "counts/s",
}  # fmt: skip

#: Words that are written in capitals.
CAPITALS: Final = frozenset({"psnr", "snr", "ssim", "rms", "rmse", "fwhm", "mtf", "roi", "cnr"})


@dataclass(frozen=True)
class Measured:
    """One measure over a set of episodes."""

    n: int
    """Graded episodes that have it."""
    mean: float
    """Arithmetic mean."""
    median: float
    """Median."""


@dataclass(frozen=True)
class Quantity:
    """A measure as a report shows it: the value at the end and, where there is one, the best of the episode."""

    name: str
    """Name of the measure at the end."""
    best: str | None
    """Name of the measure of the best value."""
    label: str
    """In words."""
    unit: str
    """Symbol; empty for a number without unit."""


def quantities(names: Iterable[str]) -> list[Quantity]:
    """Measures in the order of their names, each ``best_x`` beside its ``x``.

    Examples
    --------
    >>> [(q.label, q.unit, q.best) for q in quantities(["best_psnr_db", "psnr_db", "probe_nm"])]
    [('probe', 'nm', None), ('PSNR', 'dB', 'best_psnr_db')]
    """
    known = set(names)
    paired = {BEST + name for name in known} & known
    out = []
    for name in sorted(known - paired):
        stem, unit = _split(name)
        words = " ".join(w.upper() if w in CAPITALS else w for w in stem.split("_"))
        out.append(Quantity(name, BEST + name if BEST + name in paired else None, words, unit))
    return out


def _split(name: str) -> tuple[str, str]:
    parts = name.split("_")
    for i in range(max(1, len(parts) - 3), len(parts)):  # the longest unit wins
        unit = SUFFIXES.get("_".join(parts[i:]))
        if unit is not None:
            return "_".join(parts[:i]), unit
    return name, ""


def figure(value: float) -> str:
    """A number with three significant digits, whole numbers with all of theirs.

    Examples
    --------
    >>> [figure(v) for v in (0, 0.12345, 0.09999, 28.449, 1234.5, 1.2e-7)]
    ['0', '0.123', '0.100', '28.4', '1234', '1.2e-07']
    """
    if value == 0:
        return "0"
    size = abs(float(f"{value:.2e}"))  # 0.09999 is 0.100
    if not 1e-3 <= size < 1e6:
        return f"{value:.3g}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(size)))}f}"


def in_words(measures: Mapping[str, float]) -> list[dict[str, str]]:
    """The measures of one episode for people: ``name`` and ``value`` with unit and best."""
    out = []
    for q in quantities(measures):
        unit = f" {q.unit}" if q.unit else ""
        best = f" (best {figure(measures[q.best])}{unit})" if q.best else ""
        out.append({"name": q.label, "value": f"{figure(measures[q.name])}{unit}{best}"})
    return out
