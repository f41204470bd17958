"""What a replay shows, as plain data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matassay.core import EpisodeResult, Scalar


@dataclass(frozen=True)
class Image:
    """A screenshot."""

    media_type: str
    """MIME type."""
    data: bytes
    """The file."""

    @property
    def key(self) -> str:
        """Digest of the bytes."""
        return hashlib.sha256(self.data).hexdigest()[:24]


@dataclass(frozen=True)
class ReplayStep:
    """One primitive action."""

    number: int
    """1 for the first."""
    action: Mapping[str, Any]
    """As it was sent: ``action`` and its fields, possibly nonsense."""
    error: str | None
    """Why it was refused, if it was."""
    time: float | None
    """Virtual clock after it, s."""
    before: str | None
    """Key of the last screenshot of the whole screen before it: what the agent knew."""
    after: str | None
    """Key of the screenshot after the batch that it belongs to."""
    pointer: tuple[float, float] | None
    """Where the pointer was before it, as far as the actions tell, pixels."""
    says: str = ""
    """What the agent said before it."""
    place: tuple[int, int] = (1, 1)
    """Its number in the batch, and the size of the batch."""
    changes: Mapping[str, Scalar] = field(default_factory=dict)
    """What it changed in the instrument's state; null also for an entry that is gone."""
    code: str | None = None
    """In a workspace, the code that was run, or what the agent wrote in place of it."""
    shown: str = ""
    """In a workspace, what the agent was shown of it."""
    thought: str = ""
    """In a workspace, why the agent did it: its own words, without what its model reasoned before them."""
    plots: tuple[str, ...] = ()
    """In a workspace, keys of the pictures that came of it, whether or not the agent was shown them."""
    elapsed: float | None = None
    """Wall-clock time from the beginning of the attempt to the reply that asked for it, s."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """What that reply cost, by bucket; only at the first step of a reply."""


@dataclass(frozen=True)
class Replay:
    """One episode as it can be shown."""

    result: EpisodeResult
    """How it ended, and whose it is."""
    instruction: str
    """What the agent was told."""
    images: Mapping[str, Image]
    """Screenshots by key."""
    first: str | None
    """Key of the screen at the start."""
    last: str | None
    """Key of the last screenshot of the whole screen."""
    steps: tuple[ReplayStep, ...]
    """In order."""
    closing: str = ""
    """What the agent said at the end."""
    descriptions: Mapping[str, str] = field(default_factory=dict)
    """What each criterion asks for, where the task is installed."""
    initial: Mapping[str, Scalar] = field(default_factory=dict)
    """Scalar entries of the instrument's state at the start; empty in logs that were written before these were kept."""
    workspace: bool = False
    """Whether the agent worked by code, without a screen."""

    def state(self, step: int) -> dict[str, Scalar]:
        """The instrument's state after so many steps: the changes laid over the initial state."""
        found = dict(self.initial)
        for s in self.steps[:step]:
            found.update(s.changes)
        return found
