"""What a check says."""

from __future__ import annotations

from typing import NamedTuple


class Finding(NamedTuple):
    """One thing that was looked at."""

    passed: bool
    """Whether it is as it should be."""
    detail: str
    """What was found, one line."""
