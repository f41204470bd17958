"""Lattice vectors of pw.x by `ibrav` and `celldm` (INPUT_PW of Quantum ESPRESSO 6.7)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from matassay.grading.decks._crystal import Matrix


def lattice(ibrav: int, celldm: Sequence[float]) -> Matrix:
    """Lattice vectors as rows, in units of ``celldm(1)``'s unit.

    Raises
    ------
    ValueError
        For an unknown `ibrav` or impossible `celldm`.
    """
    a = celldm[0]
    b, c = celldm[1], celldm[2]
    x, y, z = celldm[3:6]
    if a <= 0:
        raise ValueError("celldm(1) must be positive")
    if b < 0 or c < 0:
        raise ValueError("celldm(2) and celldm(3) must be positive")
    half = 0.5
    fixed = {
        1: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        2: [[-half, 0, half], [0, half, half], [-half, half, 0]],
        3: [[half, half, half], [-half, half, half], [-half, -half, half]],
        -3: [[-half, half, half], [half, -half, half], [half, half, -half]],
        4: [[1, 0, 0], [-half, math.sqrt(3) / 2, 0], [0, 0, c]],
        6: [[1, 0, 0], [0, 1, 0], [0, 0, c]],
        7: [[half, -half, c / 2], [half, half, c / 2], [-half, -half, c / 2]],
        8: [[1, 0, 0], [0, b, 0], [0, 0, c]],
        9: [[half, b / 2, 0], [-half, b / 2, 0], [0, 0, c]],
        -9: [[half, -b / 2, 0], [half, b / 2, 0], [0, 0, c]],
        91: [[1, 0, 0], [0, b / 2, -c / 2], [0, b / 2, c / 2]],
        10: [[half, 0, c / 2], [half, b / 2, 0], [0, b / 2, c / 2]],
        11: [[half, b / 2, c / 2], [-half, b / 2, c / 2], [-half, -b / 2, c / 2]],
    }
    if ibrav in fixed:
        rows = np.array(fixed[ibrav], dtype=float)
    elif ibrav in (5, -5):
        rows = _trigonal(ibrav, x)
    elif ibrav in (12, -12, 13, -13):
        rows = _monoclinic(ibrav, b, c, x, y)
    elif ibrav == 14:
        rows = _triclinic(b, c, x, y, z)
    else:
        raise ValueError(f"there is no ibrav = {ibrav}")
    if abs(np.linalg.det(rows)) < 1e-9:
        raise ValueError(f"celldm does not make a cell for ibrav = {ibrav}")
    return rows * a


def _sine(cosine: float) -> float:
    if not -1 < cosine < 1:
        raise ValueError("a cosine in celldm is not between -1 and 1")
    return math.sqrt(1 - cosine**2)


def _trigonal(ibrav: int, cosine: float) -> Matrix:
    if not -0.5 < cosine < 1:
        raise ValueError("celldm(4) of a trigonal cell must lie between -1/2 and 1")
    tx, ty, tz = math.sqrt((1 - cosine) / 2), math.sqrt((1 - cosine) / 6), math.sqrt((1 + 2 * cosine) / 3)
    if ibrav == 5:
        return np.array([[tx, -ty, tz], [0, 2 * ty, tz], [-tx, -ty, tz]])
    u, v = (tz - 2 * math.sqrt(2) * ty) / math.sqrt(3), (tz + math.sqrt(2) * ty) / math.sqrt(3)
    return np.array([[u, v, v], [v, u, v], [v, v, u]])


def _monoclinic(ibrav: int, b: float, c: float, x: float, y: float) -> Matrix:
    if ibrav == 12:
        return np.array([[1, 0, 0], [b * x, b * _sine(x), 0], [0, 0, c]])
    if ibrav == -12:
        return np.array([[1, 0, 0], [0, b, 0], [c * y, 0, c * _sine(y)]])
    if ibrav == 13:
        return np.array([[0.5, 0, -c / 2], [b * x, b * _sine(x), 0], [0.5, 0, c / 2]])
    return np.array([[0.5, b / 2, 0], [-0.5, b / 2, 0], [c * y, 0, c * _sine(y)]])


def _triclinic(b: float, c: float, cos_bc: float, cos_ac: float, cos_ab: float) -> Matrix:
    sin_ab = _sine(cos_ab)
    height = 1 + 2 * cos_bc * cos_ac * cos_ab - cos_bc**2 - cos_ac**2 - cos_ab**2
    if height <= 0:
        raise ValueError("the cosines in celldm make no cell")
    return np.array(
        [
            [1, 0, 0],
            [b * cos_ab, b * sin_ab, 0],
            [c * cos_ac, c * (cos_bc - cos_ac * cos_ab) / sin_ab, c * math.sqrt(height) / sin_ab],
        ]
    )
