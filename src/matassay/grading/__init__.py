"""Pure functions from evidence to verdicts: typed comparison, criteria on state and files. Imports `core` alone."""

from .compare import close, same_integer, same_text
from .criteria import archive_kept, no_consequence, state_equals, state_is, state_within

__all__ = [
    "archive_kept",
    "close",
    "no_consequence",
    "same_integer",
    "same_text",
    "state_equals",
    "state_is",
    "state_within",
]
