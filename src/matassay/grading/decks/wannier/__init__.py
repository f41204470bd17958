"""Wannier90: its own ``-pp`` run tells what it understood; our own reader where the program is missing."""

from ._code import Wannier90

__all__ = ["Wannier90"]
