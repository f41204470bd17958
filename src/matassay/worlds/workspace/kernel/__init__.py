"""The persistent Python of a workspace, and how to speak with it."""

from .client import CellError, CellResult, Display, Kernel

__all__ = ["CellError", "CellResult", "Display", "Kernel"]
