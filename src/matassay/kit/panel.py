"""Panel vocabulary: a panel is a tree of widgets, written once; any property may be a function of the instrument.

`docs/explanation/panel-protocol.md` says what the page makes of each kind.
"""
# ruff: noqa: N802 - widgets read as the nouns that they are, though functions make them

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .commands import Command
from .parameters import Choice, Flag, Parameter, Real, Text

if TYPE_CHECKING:
    from .instrument import Instrument

Live = Callable[[Any], Any]
"""A property that is computed from the instrument at every revision."""


class Widget:
    """A node of a panel; made by the functions of this module.

    Parameters
    ----------
    kind : str
        A kind of the panel protocol.
    *children : Widget
        What it contains.
    bind : Parameter or Command, optional
        What it operates.
    gestures : dict of str to Command, optional
        Commands for named gestures.
    source : callable, optional
        ``source(instrument)`` gives the array that it shows: uint8 (h, w) or (h, w, 3) for a view, float32
        (1 + series, n) for a plot.
    key : callable, optional
        ``key(instrument)`` changes whenever the array may; equal keys skip rendering and sending.
    **props
        Properties; callables are live.
    """

    def __init__(
        self,
        kind: str,
        *children: Widget,
        bind: Parameter[Any] | Command | None = None,
        gestures: dict[str, Command] | None = None,
        source: Callable[[Any], np.ndarray] | None = None,
        key: Live | None = None,
        id: str = "",
        **props: Any,
    ) -> None:
        self.kind, self.children, self.bind, self.source, self.key = kind, children, bind, source, key
        self.gestures = gestures or {}
        self.live: dict[str, Live] = {k: v for k, v in props.items() if callable(v)}
        self.props = {k: v for k, v in props.items() if not callable(v) and v is not None}
        self._id = id

    @property
    def id(self) -> str:
        """Given, or the name of what it operates, or made from the label."""
        # late: a parameter learns its name only when its class is made
        if self._id or self.bind is None:
            label = self.props.get("label", "")
            return self._id or re.sub(r"\W+", "-", str(label).lower()).strip("-")
        return self.bind.name

    def walk(self) -> Iterator[Widget]:
        """Yield the widget and all below it, in pre-order: the position is the widget index of binary frames."""
        yield self
        for child in self.children:
            yield from child.walk()

    def tree(self) -> dict[str, Any]:
        """The fixed part, as the page gets it."""
        spec = self.bind.spec() if self.bind else {}
        return {
            "kind": self.kind,
            "id": self.id,
            **spec,
            **self.props,
            "on": list(self.gestures),
            "children": [c.tree() for c in self.children],
        }

    def state(self, instrument: Instrument) -> dict[str, Any]:
        """The live part now."""
        out = {name: prop(instrument) for name, prop in self.live.items()}
        if self.bind is not None:
            out.setdefault("enabled", self.bind.enabled(instrument))
            if isinstance(self.bind, Parameter):
                out.setdefault("value", self.bind.show(instrument))
        return out


def check_panel(root: Widget) -> list[Widget]:
    """All widgets of a panel in pre-order, after a check that ids are unique among those that need one.

    Raises
    ------
    ValueError
        If two widgets share an id or one that changes has none.
    """
    widgets = list(root.walk())
    seen: dict[str, str] = {}
    for w in widgets:
        if not (w.bind or w.live or w.source or w.gestures or w.kind in ("tabs", "plot")):
            continue
        if not w.id:
            raise ValueError(f"a {w.kind} widget changes but has neither id nor label")
        if w.id in seen:
            raise ValueError(f"two widgets have the id {w.id!r}: a {seen[w.id]} and a {w.kind}; give one `id=`")
        seen[w.id] = w.kind
    return widgets


# --- containers


def Row(*children: Widget, **props: Any) -> Widget:
    """Children side by side."""
    return Widget("row", *children, **props)


def Column(*children: Widget, **props: Any) -> Widget:
    """Children one under the other."""
    return Widget("column", *children, **props)


def Grid(columns: int, *children: Widget, **props: Any) -> Widget:
    """Children in rows of ``columns``."""
    return Widget("grid", *children, columns=columns, **props)


def Group(label: str, *children: Widget, **props: Any) -> Widget:
    """A framed, titled box."""
    return Widget("group", *children, label=label, **props)


def Tabs(label: str, *pages: Widget, **props: Any) -> Widget:
    """One page at a time; each page needs a ``label``."""
    return Widget("tabs", *pages, label=label, **props)


def Dialog(
    label: str,
    *children: Widget,
    open: Live,  # noqa: A002 - the property's name
    cancel: Command | None = None,
    **props: Any,
) -> Widget:
    """A modal box, shown while ``open(instrument)`` holds; Escape gives ``cancel``."""
    return Widget("dialog", *children, label=label, open=open, gestures={"cancel": cancel} if cancel else {}, **props)


# --- controls


def Button(command: Command, **props: Any) -> Widget:
    """Gives a command."""
    return Widget("button", bind=command, **props)


def Toggle(flag: Flag, on_label: str = "On", off_label: str = "Off", **props: Any) -> Widget:
    """Switches a flag."""
    return Widget("toggle", bind=flag, on_label=on_label, off_label=off_label, **props)


def Select(choice: Choice[Any], **props: Any) -> Widget:
    """Drop-down list."""
    return Widget("select", bind=choice, **props)


def ListBox(choice: Choice[Any], rows: int = 6, **props: Any) -> Widget:
    """List with several rows in sight."""
    return Widget("listbox", bind=choice, rows=rows, **props)


def Slider(real: Real, **props: Any) -> Widget:
    """Slider with a field for typing."""
    return Widget("slider", bind=real, **props)


def Knob(real: Real, **props: Any) -> Widget:
    """Rotary knob with a field for typing."""
    return Widget("knob", bind=real, **props)


def Number(real: Real, **props: Any) -> Widget:
    """Field with arrows."""
    return Widget("number", bind=real, **props)


def TextField(text: Text, **props: Any) -> Widget:
    """Field for one line."""
    return Widget("text", bind=text, **props)


# --- indicators


def Lamp(label: str, lit: Live, color: str = "green", **props: Any) -> Widget:
    """A coloured lamp."""
    return Widget("lamp", label=label, lit=lit, color=color, **props)


def Readout(label: str, value: Live, unit: str = "", digits: int = 7, **props: Any) -> Widget:
    """A display of ``value(instrument)``, text of at most ``digits`` characters."""
    return Widget("readout", label=label, value=value, unit=unit, digits=digits, **props)


def Message(**props: Any) -> Widget:
    """The message line."""
    return Widget("message", id="message", value=lambda s: s.message, level=lambda s: s.message_level, **props)


def Progress(label: str, value: Live, text: Live, **props: Any) -> Widget:
    """A bar of ``value(instrument)`` in 0 to 1, with words on it."""
    return Widget("progress", label=label, value=value, text=text, **props)


def Table(label: str, columns: Sequence[str], cells: Live, rows: int = 5, **props: Any) -> Widget:
    """Read-only table; ``cells(instrument)`` gives rows of texts."""
    return Widget("table", label=label, columns=list(columns), cells=cells, rows=rows, **props)


def Plot(
    label: str, data: Callable[[Any], np.ndarray], x: str, y: str, series: Sequence[str], key: Live, **props: Any
) -> Widget:
    """A zoomable diagram; row 0 of ``data(instrument)`` is x, the others are the series."""
    return Widget("plot", label=label, source=data, x=x, y=y, series=list(series), key=key, **props)


def View(
    label: str,
    source: Callable[[Any], np.ndarray],
    size: tuple[int, int] = (512, 512),
    overlay: Live | None = None,
    key: Live | None = None,
    click: Command | None = None,
    double: Command | None = None,
    drag: Command | None = None,
    pan: Command | None = None,
    wheel: Command | None = None,
    **props: Any,
) -> Widget:
    """A live image of ``size`` (width, height); gestures arrive in image pixels at the given commands."""
    named = {"click": click, "double": double, "drag": drag, "pan": pan, "wheel": wheel}
    return Widget(
        "view",
        label=label,
        source=source,
        key=key,
        size=list(size),
        overlay=overlay or (lambda s: []),
        gestures={name: c for name, c in named.items() if c},
        **props,
    )


# --- drag and drop


def Tray(label: str, items: Live, **props: Any) -> Widget:
    """Items ``[[key, text], ...]`` that can be dragged to a `Slot`."""
    return Widget("tray", label=label, items=items, **props)


def Slot(label: str, holds: Live, drop: Command, **props: Any) -> Widget:
    """Where items are dropped: gives ``drop`` with the item's key."""
    return Widget("slot", label=label, holds=holds, gestures={"drop": drop}, **props)
