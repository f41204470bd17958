"""An operator who does anything, at an instrument without a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from matassay.core import stream
from matassay.kit import Choice, Desk, Flag, Real, Text

Event = tuple[str, list[Any], str | None]
"""Arguments of `Desk.event`: widget id, arguments, gesture."""

#: Time between two events, s: a click, a wait, a coffee, a night.
PAUSES = (0.0, 0.3, 1.0, 5.0, 60.0, 3600.0)


def random_events(desk: Desk, seed: int, *names: str) -> Iterator[tuple[Event, float]]:
    """Endless events of an operator who knows every control and no purpose, each with the time that follows it (s)."""
    rng = stream(seed, "verify", *names)
    widgets = [w for w in desk.widgets if w.bind is not None or w.gestures]
    while True:
        widget = widgets[int(rng.integers(len(widgets)))]
        pause = PAUSES[int(rng.integers(len(PAUSES)))]
        if widget.gestures and (widget.bind is None or rng.integers(2)):
            gesture = list(widget.gestures)[int(rng.integers(len(widget.gestures)))]
            yield (widget.id, [float(v) for v in rng.integers(0, 512, int(rng.integers(5)))], gesture), pause
        else:
            yield (widget.id, _arguments(rng, widget.bind), None), pause


def _arguments(rng: np.random.Generator, bind: Any) -> list[Any]:
    if isinstance(bind, Choice):
        return [bind.show_as(bind.choices[int(rng.integers(len(bind.choices)))])]
    if isinstance(bind, Flag):
        return [bool(rng.integers(2))]
    if isinstance(bind, Real):
        return [float(rng.uniform(bind.lo, bind.hi))]
    if isinstance(bind, Text):
        return ["".join(rng.choice(list("abc019._-"), int(rng.integers(1, 9))))]
    return []
