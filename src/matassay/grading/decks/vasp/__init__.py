"""VASP: INCAR, KPOINTS, POSCAR, and a list of POTCAR names (the POTCAR files themselves must not be shipped)."""

from ._code import Vasp

__all__ = ["Vasp"]
