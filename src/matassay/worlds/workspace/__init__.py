"""A sandboxed place to calculate in: files, programs and a Python environment, without a network."""

from ._box import BACKENDS, open_workspace
from ._reader import Caps
from ._types import HOME, Completed, Limits, Outputs, Process, Workspace
from .software import Missing, Software, bare_software, find_software, missing

__all__ = [
    "BACKENDS",
    "HOME",
    "Caps",
    "Completed",
    "Limits",
    "Missing",
    "Outputs",
    "Process",
    "Software",
    "Workspace",
    "bare_software",
    "find_software",
    "missing",
    "open_workspace",
]
