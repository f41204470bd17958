"""An instrument with its panel, operated by events: the same for a browser session, the gym and a unit test."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from matassay.core import is_number

from .instrument import Instrument
from .panel import Widget, check_panel
from .parameters import Refused


class Desk:
    """Takes events of the operator, moves time, and says what is to be seen.

    Parameters
    ----------
    instrument : Instrument
        What is operated.
    """

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.widgets = check_panel(type(instrument).panel)
        self._dynamic = [w for w in self.widgets if w.bind or w.live or w.source or w.gestures or w.kind == "tabs"]
        self._by_id = {w.id: w for w in self._dynamic}
        # what the operator looks at, not what the instrument is: chosen tabs and zooms
        self._looks: dict[str, Any] = {w.id: 0 if w.kind == "tabs" else None for w in self._dynamic}
        self._rendered: dict[int, tuple[Any, np.ndarray]] = {}
        self.refusals = 0

    def tree(self) -> dict[str, Any]:
        """The panel for the page."""
        return type(self.instrument).panel.tree()

    def event(self, id: Any, args: Any = (), gesture: Any = None) -> str | None:
        """Handle what the operator did; never raises, whatever the input.

        Parameters
        ----------
        id : str
            Widget id.
        args : sequence
            Arguments.
        gesture : str, optional
            Named gesture; None operates what the widget is bound to.

        Returns
        -------
        str or None
            Why it was refused, also shown in the message area.
        """
        try:
            self._handle(id, args, gesture)
        except Refused as refused:
            self.refusals += 1
            self.instrument.say(str(refused), "warning")
            return str(refused)
        return None

    def _handle(self, id: Any, args: Any, gesture: Any) -> None:
        widget = self._by_id.get(id) if isinstance(id, str) else None
        if widget is None or not isinstance(args, list | tuple):
            raise Refused("The panel sent something that this instrument does not know")
        if gesture is None:
            if widget.bind is None:
                raise Refused("The panel sent something that this instrument does not know")
            widget.bind.operate(self.instrument, *args)
        elif widget.kind == "tabs" and gesture == "select":
            if len(args) != 1 or type(args[0]) is not int or not 0 <= args[0] < len(widget.children):
                raise Refused("There is no such tab")
            self._looks[widget.id] = args[0]
        elif widget.kind == "plot" and gesture == "zoom":
            self._looks[widget.id] = _zoom(args)
        elif isinstance(gesture, str) and gesture in widget.gestures:
            widget.gestures[gesture].operate(self.instrument, *args)
        else:
            raise Refused("The panel sent something that this instrument does not know")

    def press(self, id: str) -> str | None:
        """Press a button."""
        return self.event(id)

    def set(self, id: str, value: Any) -> str | None:
        """Set a parameter by its widget."""
        return self.event(id, [value])

    def advance(self, dt: float) -> None:
        """Move the virtual clock on by ``dt`` s."""
        self.instrument.agenda.advance(dt)

    def notice(self, text: str) -> None:
        """Show a line that does not come from the instrument."""
        self.instrument.say(text, "warning")

    def snapshot(self) -> dict[str, dict[str, Any]]:
        """Live properties of every widget that has any."""
        out = {}
        for w in self._dynamic:
            state = w.state(self.instrument)
            if w.kind == "tabs":
                state["selected"] = self._looks[w.id]
            elif w.kind == "plot":
                state["view"] = self._looks[w.id]
            out[w.id] = state
        return out

    def sources(self) -> list[tuple[int, Widget]]:
        """Index and widget of everything that shows an array."""
        return [(i, w) for i, w in enumerate(self.widgets) if w.source]

    def render(self, index: int) -> tuple[Any, np.ndarray]:
        """Key and array of the widget at an index; rendered only if its key changed (no key: always)."""
        widget = self.widgets[index]
        assert widget.source is not None
        key = widget.key(self.instrument) if widget.key else object()
        if index not in self._rendered or self._rendered[index][0] != key:
            self._rendered[index] = key, np.ascontiguousarray(widget.source(self.instrument))
        return self._rendered[index]

    def evidence(self) -> dict[str, Any]:
        """State, consequences, files (by reference) and time, as JSON types."""
        s = self.instrument
        return {
            "state": s.state(),
            "consequences": [c.to_json() for c in s.consequences],
            "artefacts": [f.reference() for f in s.files],
            "time": round(s.now, 6),
        }


def _zoom(args: Sequence[Any]) -> list[float] | None:
    if not args:
        return None
    if len(args) != 4 or not all(is_number(a) and abs(a) < 1e15 for a in args):
        raise Refused("A zoom needs four numbers")
    x0, x1, y0, y1 = args
    if not (x0 < x1 and y0 < y1):
        raise Refused("A zoom needs a region that is not empty")
    return [float(x0), float(x1), float(y0), float(y1)]


Factory = Callable[[int, Mapping[str, Any]], Instrument]
"""``factory(seed, start)`` makes an instrument; an `Instrument` subclass is one."""
