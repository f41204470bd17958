"""What an agent gets to see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class AccessibleNode:
    """One element of the screen as assistive technology sees it."""

    role: str
    """ARIA role: ``button``, ``combobox``, ``option``, ``spinbutton``, ``img``, ..."""
    name: str
    """Accessible name."""
    box: tuple[float, float, float, float]
    """x, y, width, height in pixels of the screen."""
    value: str = ""
    """Current value or text, if the element has one."""
    enabled: bool = True
    """False when the control does not react now."""
    states: frozenset[str] = frozenset()
    """Of ``checked``, ``expanded``, ``selected``, ``focused``, ``pressed``: those that hold."""

    @property
    def center(self) -> tuple[int, int]:
        """The pixel in the middle of the box (x, y)."""
        x, y, width, height = self.box
        return int(x + width / 2), int(y + height / 2)


@dataclass(frozen=True)
class Observation:
    """The screen after an action."""

    image: bytes = b""
    """PNG of the whole screen, `SCREEN` pixels; after ``zoom`` the enlarged region; empty for a workspace."""
    accessible: tuple[AccessibleNode, ...] | None = None
    """Visible elements in document order, if they were asked for."""
    text: str = ""
    """Words that go with it: the pointer's position after ``cursor_position``; in a workspace, what was printed."""
    images: tuple[bytes, ...] = ()
    """PNG of each plot that a cell drew in a workspace."""
    final: str | None = None
    """The agent's closing words, once it has declared in a workspace that it is done."""
    time: float = 0.0
    """Virtual clock of the world, s."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Timings and the like for benchmarks; never shown to an agent."""

    def find_all(self, role: str, name: str | None = None) -> list[AccessibleNode]:
        """All visible elements of a role and, if given, of exactly this name."""
        if self.accessible is None:
            raise LookupError("this observation was made without the accessibility list")
        return [n for n in self.accessible if n.role == role and (name is None or n.name == name)]

    def find(self, role: str, name: str) -> AccessibleNode:
        """The one visible element of this role and name.

        Raises
        ------
        LookupError
            If there is none, or more than one; the text lists what there is of that role.
        """
        found = self.find_all(role, name)
        if len(found) == 1:
            return found[0]
        names = [n.name for n in self.find_all(role)]
        raise LookupError(f"{len(found)} elements of role {role!r} named {name!r}; of that role there are {names}")

    def has(self, role: str, name: str) -> bool:
        """Whether at least one such element is visible."""
        return bool(self.find_all(role, name))
