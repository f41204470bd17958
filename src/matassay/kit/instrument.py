"""What an instrument is: parameters, commands, and physics on a virtual clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from matassay.core import Agenda, Artefact, Consequence, stream

from .panel import Widget
from .parameters import Parameter, Refused

MAX_FILES = 50
MAX_FILE_SIZE = 32 * 2**20


class Instrument:
    """Base of all instruments.

    Parameters
    ----------
    seed : int
        Fixes the hidden truth and all noise.
    start : mapping, optional
        State in which the instrument begins; see `begin`. Empty: as at power-on.
    """

    title: ClassVar[str] = "Instrument"
    """Shown in the title bar."""
    theme: ClassVar[str] = "light"
    """``light`` or ``dark``."""
    time_scale: ClassVar[float] = 1.0
    """Instrument seconds per agent second of ``wait``."""
    truth_fields: ClassVar[tuple[str, ...]] = ()
    """Names of the quantities that are hidden from the operator."""
    panel: ClassVar[Widget]
    """Root widget."""

    def __init__(self, seed: int = 0, start: Mapping[str, Any] | None = None) -> None:
        self.seed = int(seed)
        self.agenda = Agenda(self.evolve)
        self.message, self.message_level = "Ready", "info"
        self.files: list[Artefact] = []
        self.archive: dict[str, str] = {}
        self.consequences: list[Consequence] = []
        self.setup()
        self.begin(dict(start or {}))

    # --- to be written by each instrument

    def setup(self) -> None:
        """Set the state that is not a parameter, and draw the hidden truth from the seed."""

    def begin(self, start: dict[str, Any]) -> None:
        """Put the instrument into a start state.

        Here: assign the parameters named in ``start``; instruments pop what needs more and call this for the rest.

        Raises
        ------
        ValueError
            If a key is not a parameter.
        """
        for name, value in start.items():
            if not isinstance(getattr(type(self), name, None), Parameter):
                raise ValueError(f"{type(self).__name__}: start state names {name!r}, which is no parameter")
            setattr(self, name, value)

    def evolve(self, dt: float) -> None:
        """Continuous physics over ``dt`` seconds of virtual time."""

    def state(self) -> dict[str, Any]:
        """Physical state for the grader, as JSON types; documented in the instrument's README."""
        return {}

    # --- for the physics to use

    @property
    def now(self) -> float:
        """Virtual clock, s since the session began."""
        return self.agenda.now

    def after(self, delay: float, action: Callable[[], object]) -> int:
        """Do something in ``delay`` s; returns a ticket for ``agenda.cancel``."""
        return self.agenda.after(delay, action)

    def rng(self, *names: str | int) -> Any:
        """The random stream of a named quantity of this instrument and seed."""
        return stream(self.seed, type(self).__name__.lower(), *names)

    def say(self, message: str, level: str = "info") -> None:
        """Show a line in the message area (level ``info``, ``warning`` or ``error``)."""
        self.message, self.message_level = message, level

    def suffer(self, name: str, message: str) -> None:
        """Record a consequence and show it."""
        self.consequences.append(Consequence(name, round(self.now, 3), message))
        self.say(message, "error")

    def save_before(self, name: str, data: bytes, media_type: str) -> None:
        """Put a file into the folder that was there before the session; graders know its digest."""
        self.archive[name] = self.save(name, data, media_type).sha256

    def save(self, name: str, data: bytes, media_type: str) -> Artefact:
        """Keep a file that the operator saved; a file of the same name is replaced.

        Raises
        ------
        Refused
            If the folder is full: nothing that is there is ever dropped to make room.
        """
        if len(data) > MAX_FILE_SIZE:
            raise ValueError(f"{name}: {len(data)} bytes exceed the limit of {MAX_FILE_SIZE}")
        artefact = Artefact.of(name, data, media_type)
        others = [f for f in self.files if f.name != name]
        if len(others) >= MAX_FILES:
            raise Refused(f"The data folder is full: {MAX_FILES} files")
        self.files = [*others, artefact]
        return artefact
