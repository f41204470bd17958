"""Harmonic lattice dynamics of the diamond structure from force constants of a supercell: our own, without phonopy.

Conventions: the dynamical matrix is ``D(q)[ia, jb] = sum_R Phi(0 i a, R j b) exp(i q.(r_j + R - r_i)) / sqrt(m_i m_j)``,
its eigenvalues are the squares of angular frequencies, and ordinary frequencies are reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations, product

import numpy as np

__all__ = ["THZ", "DiamondPhonons", "mesh_frequencies", "rows_from_one_displacement", "sound_speeds"]

_EV, _U, _ANGSTROM = 1.602176634e-19, 1.66053906660e-27, 1e-10

THZ = float(np.sqrt(_EV / _U) / _ANGSTROM / (2 * np.pi) / 1e12)
"""Ordinary frequency, THz, of a force constant of 1 eV/A^2 on a mass of 1 u."""


class DiamondPhonons:
    """Phonons of a diamond crystal.

    Parameters
    ----------
    force_constants
        ``Phi[i, a, j, b]``, eV/A^2, shape (2, 3, n, 3): rows for atom 0 and for the first atom of the other
        sublattice (number n/2) of a block whose first half is one sublattice, like those of `cells.diamond_supercell`.
    positions
        Cartesian positions of the block, A.
    cell
        Cell vectors of the block as rows, A; any cell that has the symmetry of the crystal.
    mass
        Atomic mass, u.
    sum_rule
        Whether the force constants of each row are made to sum to zero by correcting the atom's own block.

    Notes
    -----
    A block of force constants between atoms that are equally far apart through several faces of the block is shared
    among all of these images, which keeps the symmetry of the crystal.
    """

    def __init__(
        self,
        force_constants: np.ndarray,
        positions: np.ndarray,
        cell: np.ndarray,
        mass: float,
        *,
        sum_rule: bool = True,
    ) -> None:
        count = len(positions)
        blocks = np.array(force_constants, dtype=float).reshape(2, 3, count, 3)
        rows = (0, count // 2)
        if sum_rule:
            for index, atom in enumerate(rows):
                blocks[index, :, atom] -= blocks[index].sum(axis=1)
        images = np.array(list(product((-1, 0, 1), repeat=3))) @ cell
        self._terms: list[tuple[int, int, np.ndarray, np.ndarray]] = []
        for index, atom in enumerate(rows):
            vectors = _wrapped(positions - positions[atom], cell)[:, None, :] + images[None]
            lengths = np.linalg.norm(vectors, axis=2)
            nearest = lengths < lengths.min(axis=1, keepdims=True) + 1e-5
            atoms, which = np.nonzero(nearest)
            weighted = blocks[index][:, atoms].transpose(1, 0, 2) / (nearest.sum(axis=1)[atoms][:, None, None] * mass)
            for kind in (0, 1):
                mine = (atoms >= count // 2) == bool(kind)
                self._terms.append((index, kind, vectors[atoms, which][mine], weighted[mine]))

    def dynamical_matrix(self, q: Sequence[float]) -> np.ndarray:
        """Return D(q), eV/(A^2 u), Hermitian (6, 6); q is Cartesian, 1/A, with the factor 2 pi."""
        matrix = np.zeros((6, 6), dtype=complex)
        for i, j, vectors, blocks in self._terms:
            phases = np.exp(1j * (vectors @ np.asarray(q, dtype=float)))
            matrix[3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = np.tensordot(phases, blocks, axes=1)
        return (matrix + matrix.conj().T) / 2

    def gradient(self, q: Sequence[float]) -> np.ndarray:
        """Return dD/dq, eV/(A u), shape (3, 6, 6)."""
        result = np.zeros((3, 6, 6), dtype=complex)
        for i, j, vectors, blocks in self._terms:
            phases = 1j * vectors * np.exp(1j * (vectors @ np.asarray(q, dtype=float)))[:, None]
            result[:, 3 * i : 3 * i + 3, 3 * j : 3 * j + 3] = np.einsum("ka,kxy->axy", phases, blocks)
        return (result + result.conj().transpose(0, 2, 1)) / 2

    def modes(self, q: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
        """Return the frequencies, THz, rising (imaginary ones as negative numbers), and the eigenvectors as columns."""
        squares, vectors = np.linalg.eigh(self.dynamical_matrix(q))
        return np.sign(squares) * np.sqrt(np.abs(squares)) * THZ, vectors

    def frequencies(self, q: Sequence[float]) -> np.ndarray:
        """Return the frequencies, THz, rising."""
        return self.modes(q)[0]

    def speeds(self, q: Sequence[float], direction: Sequence[float]) -> np.ndarray:
        """Return the derivative of the angular frequency along a direction, m/s, for each mode in rising order.

        Within a degenerate set the derivative's own eigenvectors are taken.
        """
        unit = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
        frequencies, vectors = self.modes(q)
        slope = np.tensordot(unit, self.gradient(q), axes=1)
        # 2 omega d omega = v^H dD v; 1 THz A = 100 m/s.
        scale = 2 * np.pi * THZ**2 * 100
        result = np.empty(len(frequencies))
        start = 0
        while start < len(frequencies):
            stop = start + 1
            while stop < len(frequencies) and frequencies[stop] - frequencies[stop - 1] < 1e-4:
                stop += 1
            block = vectors[:, start:stop]
            result[start:stop] = (
                np.linalg.eigvalsh(block.conj().T @ slope @ block) * scale / (2 * frequencies[start:stop])
            )
            start = stop
        return result

    def longitudinal_share(self, q: Sequence[float]) -> np.ndarray:
        """Return, for each mode, the share of the squared displacement that is along q."""
        unit = np.asarray(q, dtype=float) / np.linalg.norm(q)
        vectors = self.modes(q)[1].reshape(2, 3, -1)
        return (np.abs(np.einsum("a,iam->im", unit, vectors)) ** 2).sum(axis=0)


def rows_from_one_displacement(
    forces: np.ndarray, displacement: Sequence[float], positions: np.ndarray, cell: np.ndarray
) -> np.ndarray:
    """Return the force constants of both sublattices from a single displacement of atom 0.

    Parameters
    ----------
    forces
        Forces of the displaced block, eV/A, shape (n, 3).
    displacement
        Cartesian displacement of atom 0, A.
    positions
        Undisplaced positions, A; the first half are of one sublattice, and the vector from atom 0 to atom n/2 is a
        quarter of the cube's diagonal.
    cell
        Cell vectors of the block as rows, A; any cell that has the symmetry of the crystal.

    Returns
    -------
    numpy.ndarray
        ``Phi[i, a, j, b]``, eV/A^2, shape (2, 3, n, 3), as `DiamondPhonons` takes it.

    Raises
    ------
    ValueError
        If the block lacks the symmetry that is used.

    Notes
    -----
    The 24 operations of the tetrahedral site turn the displacement into 24 others with known forces; together they
    determine all force constants of the atom by least squares, and average out the odd anharmonic parts. The inversion
    about the middle of a bond carries them to the other sublattice.
    """
    count = len(positions)

    def index_of(points: np.ndarray) -> np.ndarray:
        apart = _wrapped(points[:, None, :] - positions[None], cell)
        found = np.argmin((apart**2).sum(axis=2), axis=1)
        if np.abs(apart[np.arange(len(points)), found]).max() > 1e-3:
            raise ValueError("positions: the block does not have the symmetry of diamond about atom 0")
        return found

    moved, acting = [], []
    for order in permutations(range(3)):
        for signs in ((1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)):
            operation = np.zeros((3, 3))
            operation[range(3), order] = signs
            images = index_of((positions - positions[0]) @ operation.T + positions[0])
            turned = np.empty_like(forces)
            turned[images] = forces @ operation.T
            moved.append(operation @ np.asarray(displacement, dtype=float))
            acting.append(turned)
    solved = -np.tensordot(np.linalg.pinv(np.array(moved)), np.array(acting), axes=1)
    middle = positions[0] + positions[count // 2]
    mirrored = np.empty_like(solved)
    mirrored[:, index_of(middle - positions)] = solved
    return np.stack([solved, mirrored])


def _wrapped(vectors: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """Return vectors moved by lattice vectors so that their coordinates lie within half a cell of zero."""
    return vectors - np.round(vectors @ np.linalg.inv(cell) - 1e-9) @ cell


def mesh_frequencies(model: DiamondPhonons, constant: float, count: int) -> np.ndarray:
    """Return the frequencies, THz, shape (points, 6), of a regular mesh that contains Gamma, all points equally heavy.

    Parameters
    ----------
    constant
        Cubic lattice constant, A.
    count
        Points along each primitive reciprocal vector.

    Notes
    -----
    A point and its negative have the same frequencies, and so have points whose coordinates are permuted: about a
    tenth
    of them is computed.
    """
    reciprocal = 2 * np.pi / constant * np.array([[-1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [1.0, 1.0, -1.0]])
    known: dict[tuple[int, ...], np.ndarray] = {}
    rows = []
    for point in np.ndindex(count, count, count):
        # Permutations of the primitive axes are symmetry operations of diamond, and so is inversion.
        mirrored = tuple(-p % count for p in point)
        key = min(tuple(sorted(point)), tuple(sorted(mirrored)))
        if key not in known:
            known[key] = model.frequencies(np.array(key) @ reciprocal / count)
        rows.append(known[key])
    return np.array(rows)


def sound_speeds(stiffness: Sequence[float], density: float, direction: Sequence[float]) -> np.ndarray:
    """Return the three sound speeds, m/s, rising, of a cubic crystal by Christoffel's equation.

    Parameters
    ----------
    stiffness
        C11, C12, C44, GPa.
    density
        kg/m^3.
    """
    c11, c12, c44 = np.asarray(stiffness, dtype=float) * 1e9
    n = np.asarray(direction, dtype=float) / np.linalg.norm(direction)
    matrix = (c12 + c44) * np.outer(n, n) + np.diag(c44 + (c11 - c12 - 2 * c44) * n**2)
    return np.sqrt(np.linalg.eigvalsh(matrix) / density)
