"""Projections of Wannier90, however they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from matassay.grading.decks._crystal import BOHR, Crystal, Matrix
from matassay.grading.decks._numbers import fortran_real

_ORBITALS: dict[str, list[tuple[int, int]]] = {
    "s": [(0, 1)],
    "p": [(1, 1), (1, 2), (1, 3)],
    "pz": [(1, 1)],
    "px": [(1, 2)],
    "py": [(1, 3)],
    "d": [(2, m) for m in range(1, 6)],
    "dz2": [(2, 1)],
    "dxz": [(2, 2)],
    "dyz": [(2, 3)],
    "dx2-y2": [(2, 4)],
    "dxy": [(2, 5)],
    "f": [(3, m) for m in range(1, 8)],
    "fz3": [(3, 1)],
    "fxz2": [(3, 2)],
    "fyz2": [(3, 3)],
    "fz(x2-y2)": [(3, 4)],
    "fxyz": [(3, 5)],
    "fx(x2-3y2)": [(3, 6)],
    "fy(3x2-y2)": [(3, 7)],
    "sp": [(-1, 1), (-1, 2)],
    "sp-1": [(-1, 1)],
    "sp-2": [(-1, 2)],
    "sp2": [(-2, m) for m in range(1, 4)],
    "sp2-1": [(-2, 1)],
    "sp2-2": [(-2, 2)],
    "sp2-3": [(-2, 3)],
    "sp3": [(-3, m) for m in range(1, 5)],
    "sp3-1": [(-3, 1)],
    "sp3-2": [(-3, 2)],
    "sp3-3": [(-3, 3)],
    "sp3-4": [(-3, 4)],
    "sp3d": [(-4, m) for m in range(1, 6)],
    "sp3d2": [(-5, m) for m in range(1, 7)],
}
_SHELLS = ("s", "p", "d", "f", "sp", "sp2", "sp3", "sp3d", "sp3d2")
_NAME = {pairs[0]: name for name, pairs in _ORBITALS.items() if len(pairs) == 1}


@dataclass(frozen=True)
class Projection:
    """One trial orbital."""

    centre: tuple[float, float, float]
    """Fractional coordinates."""
    angular: int
    """l; negative for hybrids."""
    component: int
    """Number mr of the angular function."""
    radial: int = 1
    """Number of the radial function."""
    axes: tuple[float, ...] = (0.0, 0.0, 1.0, 1.0, 0.0, 0.0)
    """Direction of z, then of x."""
    spin: int = 0
    """1 or -1 for spinors, else 0."""
    zona: float = 1.0
    """Z/a of the radial function, 1/angstrom."""

    def key(self) -> str:
        """Text that is the same for the same orbital."""
        place = " ".join(f"{round(c % 1.0, 3) % 1.0:.3f}" for c in self.centre)
        axes = "" if self.axes == (0, 0, 1, 1, 0, 0) else " axes " + " ".join(f"{a:.3f}" for a in self.axes)
        spin = f" spin {self.spin}" if self.spin else ""
        zona = "" if self.zona == 1 else f" zona {self.zona:.2f}"
        return f"{place} l={self.angular} mr={self.component} r={self.radial}{axes}{spin}{zona}"


def expand(
    lines: list[str], crystal: Crystal | None, labels: list[str], lattice: Matrix, spinors: bool
) -> list[Projection]:
    """Trial orbitals of a `projections` block.

    Raises
    ------
    ValueError
        If a line cannot be read; options beyond sites and angular functions are only understood by Wannier90 itself.
    """
    unit = 1.0
    out: list[Projection] = []
    for index, line in enumerate(lines):
        if index == 0 and line.strip().lower() in ("ang", "bohr"):
            unit = BOHR if line.strip().lower() == "bohr" else 1.0
            continue
        site, _, rest = line.partition(":")
        # Wannier90 takes out all blanks: `s p` is the hybrid sp.
        functions, *options = ["".join(part.split()).lower() for part in rest.split(":")]
        radial, axes, zona = _options(options)
        names = (n for part in functions.split(";") for n in ([part] if "=" in part else part.split(",")))
        pairs = [pair for name in names for pair in _functions(name)]
        for centre in _centres(site.strip(), crystal, labels, lattice, unit):
            out.extend(
                Projection(centre, angular, component, radial, axes, spin, zona)
                for angular, component in sorted(pairs)
                for spin in ((1, -1) if spinors else (0,))
            )
    if len(out) > 10_000:
        raise ValueError("too many projections")
    return out


def _options(options: list[str]) -> tuple[int, tuple[float, ...], float]:
    """Radial function, directions of z and x of length 1, and zona."""
    given = dict(o.split("=", 1) for o in options if "=" in o)
    axes = []
    for name, default in (("z", [0.0, 0.0, 1.0]), ("x", [1.0, 0.0, 0.0])):
        values = [fortran_real(v) for v in given[name].split(",")] if name in given else default
        vector = np.array([np.nan if v is None else v for v in values], dtype=float)
        length = np.linalg.norm(vector)
        if len(vector) != 3 or not length > 0:
            raise ValueError(f"{name}= needs three numbers, found {given[name][:20]!r}")
        axes.append(vector / length)
    if abs(axes[0] @ axes[1]) > 1e-6:
        raise ValueError("z and x axes are not orthogonal")
    radial, zona = fortran_real(given.get("r", "1")), fortran_real(given.get("zona", "1"))
    if radial is None or zona is None:
        raise ValueError("r= and zona= need a number")
    return int(radial), tuple(float(v) for v in np.concatenate(axes)), zona


def _functions(name: str) -> list[tuple[int, int]]:
    if name in _ORBITALS:
        return _ORBITALS[name]
    match = re.fullmatch(r"l\s*=\s*(-?\d)(?:\s*,\s*mr\s*=\s*([\d,]+))?", name)
    if match is None:
        raise ValueError(f"there is no angular function {name[:20]!r}")
    angular = int(match.group(1))
    whole = next((p for p in _ORBITALS.values() if p[0] == (angular, 1) and len(p) == _size(angular)), None)
    if whole is None:
        raise ValueError(f"there is no l = {angular}")
    if match.group(2) is None:
        return whole
    return [(angular, int(m)) for m in match.group(2).split(",") if m]


def _size(angular: int) -> int:
    return 2 * angular + 1 if angular >= 0 else 1 - angular


def _centres(
    site: str, crystal: Crystal | None, labels: list[str], lattice: Matrix, unit: float
) -> list[tuple[float, float, float]]:
    kind, equals, numbers = site.partition("=")
    if equals and kind.strip().lower() in ("f", "c"):
        read = [fortran_real(v.strip()) for v in numbers.split(",")]
        values = [v for v in read if v is not None]
        if len(values) != 3 or len(read) != 3:
            raise ValueError(f"expected three coordinates, found {site[:30]!r}")
        if kind.strip().lower() == "c":
            values = [float(v) for v in np.array(values) * unit @ np.linalg.inv(lattice)]
        return [(values[0], values[1], values[2])]
    # Labels of sites, `Fe1`, are compared as a whole and without case, as Wannier90 does.
    label = site.strip().lower()
    if crystal is None or label not in labels:
        raise ValueError(f"there is no atom {site[:20]!r}")
    rows = [p for name, p in zip(labels, crystal.positions, strict=True) if name == label]
    return [(float(p[0]), float(p[1]), float(p[2])) for p in rows]


def from_nnkp(text: str) -> list[Projection]:
    """Trial orbitals from a ``.nnkp`` file."""
    match = re.search(r"begin (spinor_)?projections\s*\n\s*(\d+)\s*\n(.*?)end \1?projections", text, re.DOTALL)
    if match is None:
        return []
    spinors = match.group(1) is not None
    rows = [line.split() for line in match.group(3).strip().split("\n")]
    out = []
    step = 3 if spinors else 2
    for i in range(0, len(rows) - step + 1, step):
        head, axes = rows[i], rows[i + 1]
        spin = int(rows[i + 2][0]) if spinors else 0
        centre = (float(head[0]), float(head[1]), float(head[2]))
        *values, zona = (float(a) for a in axes[:7])
        out.append(Projection(centre, int(head[3]), int(head[4]), int(head[5]), tuple(values), spin, zona))
    return out


def by_element(found: list[Projection], crystal: Crystal) -> dict[str, list[str]]:
    """Names of shells and orbitals on the sites of each element; left out where sites of one element differ."""
    per_site: dict[int, set[tuple[int, int]]] = {}
    for projection in found:
        delta = crystal.positions - np.array(projection.centre)
        delta -= np.rint(delta)
        distances = np.linalg.norm(delta @ crystal.lattice, axis=1)
        site = int(distances.argmin())
        # The .nnkp file rounds to five digits of a fraction.
        if distances[site] < 0.05:
            per_site.setdefault(site, set()).add((projection.angular, projection.component))
    out: dict[str, list[str]] = {}
    for symbol in dict.fromkeys(crystal.species):
        sites = [i for i, s in enumerate(crystal.species) if s == symbol]
        sets = [frozenset(per_site.get(i, ())) for i in sites]
        if len(set(sets)) == 1:
            out[symbol] = _names(set(sets[0]))
    return out


def _names(pairs: set[tuple[int, int]]) -> list[str]:
    names = []
    for shell in _SHELLS:
        whole = set(_ORBITALS[shell])
        if whole <= pairs:
            names.append(shell)
            pairs -= whole
    return sorted(names + [_NAME.get(p, f"l={p[0]},mr={p[1]}") for p in pairs])
