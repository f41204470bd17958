"""Scanning electron microscope; see README.md in this folder."""

from .instrument import Sem as INSTRUMENT  # noqa: N814 - every instrument package offers itself by this name
from .tasks import SUBTASKS

__all__ = ["INSTRUMENT", "SUBTASKS"]
