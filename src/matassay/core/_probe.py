"""A question to a foreign program about what an agent wrote, asked in a fresh sandbox while evidence is collected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Probe:
    """One run of a program on the agent's files; its result goes into the evidence, and grading reads that."""

    name: str
    """Key of the result in ``state["collected"]``."""
    argv: tuple[str, ...]
    """Program and arguments; the current folder is ``/workspace``."""
    files: Mapping[str, bytes]
    """Files by their names relative to ``/workspace``."""
    outputs: tuple[str, ...] = ()
    """Files whose text is taken into the result."""
    seconds: float = 60.0
    """Longest time, s."""
    memory: int = 2 * 1024**3
    """Most memory, bytes."""
