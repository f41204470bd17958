"""LAMMPS: the program itself loads the deck, tells what it understood, and gives the forces that the deck means."""

from ._code import Lammps

__all__ = ["Lammps"]
