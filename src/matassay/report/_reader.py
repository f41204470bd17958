"""What the readers of an episode have in common: the record that the log keeps of it, its pictures and its steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from ._steps import Image, ReplayStep

#: Names under which the episode's record is kept in the sample's store (`matassay.evals`).
RECORD: Final = "Record:"


class Reader:
    """Walks through a sample of the engine.

    Parameters
    ----------
    sample
        The engine's sample.
    """

    def __init__(self, sample: Any) -> None:
        self.sample = sample
        self.record = record_of(sample)
        self.images: dict[str, Image] = {}
        self.first: str | None = None
        self.screen: str | None = None
        self.steps: list[ReplayStep] = []
        self.closing = ""

    @abstractmethod
    def read(self) -> None:
        """Find the steps, the pictures and the closing words."""

    def keep(self, image: Image) -> str:
        """Keep a picture; its key."""
        self.images.setdefault(image.key, image)
        return image.key


def record_of(sample: Any) -> dict[str, Any]:
    """The episode's record in a sample."""
    return {k[len(RECORD) :]: v for k, v in (sample.store or {}).items() if k.startswith(RECORD)}


def action_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The action of a step as it was sent, possibly nonsense."""
    action = record.get("action")
    return dict(action) if isinstance(action, Mapping) else {"action": str(action)}


def finite(value: Any) -> float | None:
    """A number of a log; None for anything else."""
    if isinstance(value, bool | int | float) and value == value and abs(value) != float("inf"):
        return float(value)
    return None
