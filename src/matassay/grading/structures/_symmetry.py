"""Space groups: by number, by any usual symbol, and of a structure."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from matassay.core import EnvironmentFailure

from ._crystal import Crystal

if TYPE_CHECKING:
    from types import ModuleType

#: Pairs of groups that are mirror images of each other.
_ENANTIOMORPHS: Final = (
    (76, 78), (91, 95), (92, 96), (144, 145), (151, 153), (152, 154), (169, 170), (171, 172), (178, 179), (180, 181),
    (212, 213),
)  # fmt: skip

#: Symbols before the double glide plane e was introduced (International Tables A, 4th ed., 1995), and the older short
#: symbols of the cubic groups without the bar (editions before 1983).
_OLD_SYMBOLS: Final = {
    "Abm2": 39, "Aba2": 41, "Cmca": 64, "Cmma": 67, "Ccca": 68,
    "Pm3": 200, "Pn3": 201, "Fm3": 202, "Fd3": 203, "Im3": 204, "Pa3": 205, "Ia3": 206,
    "Pm3m": 221, "Pn3n": 222, "Pm3n": 223, "Pn3m": 224, "Fm3m": 225, "Fm3c": 226, "Fd3m": 227, "Fd3c": 228,
    "Im3m": 229, "Ia3d": 230,
}  # fmt: skip

#: Number of Hall symbols in the tables.
_HALL_NUMBERS = 530

_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆", "0123456")


class SymmetryUnknown(ValueError):
    """No symmetry can be found for a structure."""


class NoSpaceGroup(ValueError):
    """A word or a number is not a space group."""


def _spglib() -> ModuleType:
    try:
        import spglib
    except ImportError as error:
        raise EnvironmentFailure("space groups need the Python package spglib: pip install spglib") from error
    return spglib


def _plain(symbol: str) -> str:
    """Without blanks, underscores, brackets, LaTeX and overbars, the setting after a colon kept apart."""
    text = symbol.strip().strip("$").translate(_SUBSCRIPTS)
    text = re.sub(r"\\(?:bar|overline)\s*\{?\s*(\d)\s*\}?", r"-\1", text)
    text = re.sub(r"(\d)\u0304|(\d)\u0305", lambda m: "-" + (m[1] or m[2]), text)
    text = text.replace("\u2212", "-").replace("\u2013", "-")
    text = re.sub(r":\s*[12RHrh]$", "", text)
    return re.sub(r"[\s_{}()]", "", text).lower()


@cache
def _symbols() -> dict[str, int]:
    """Number of each space group by its symbols in all settings, in the form of `_plain`."""
    spglib = _spglib()
    found: dict[str, set[int]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # spglib's own, about its future way to report errors
        types = [spglib.get_spacegroup_type(n) for n in range(1, _HALL_NUMBERS + 1)]
    for group in types:
        names = {group.international_short, group.international_full, group.schoenflies}
        for name in [*names, *(re.split(r"\s*=\s*", group.international))]:
            words = name.split()
            if len(words) == 4 and words[1:].count("1") == 2:  # P 1 21/n 1 is written P21/n as well
                found.setdefault(_plain("".join(w for w in words if w != "1")), set()).add(int(group.number))
            found.setdefault(_plain(name), set()).add(int(group.number))
    for name, number in _OLD_SYMBOLS.items():
        found.setdefault(_plain(name), set()).add(number)
    return {name: numbers.pop() for name, numbers in found.items() if len(numbers) == 1}


def space_group_number(value: Any) -> int:
    """Number of a space group, from its number or a symbol of it.

    Short and full Hermann-Mauguin symbols of all tabulated settings (``P2_1/n`` is 14), older symbols (``Cmca``,
    ``Fm3m``) and Schoenflies symbols (``Oh^5``) are known; blanks, underscores, LaTeX and case do not matter.

    Raises
    ------
    NoSpaceGroup
        If it is none; the text says why.
    EnvironmentFailure
        If it is a symbol and spglib is not installed.

    Examples
    --------
    >>> [space_group_number(g) for g in (225, "Fm-3m", "F 4/m -3 2/m", "P2_1/n", "C m c a", "Oh^7")]
    [225, 225, 225, 14, 64, 227]
    """
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise NoSpaceGroup("expected the number or the symbol of a space group")
    if isinstance(value, int):
        if not 1 <= value <= 230:
            raise NoSpaceGroup("the numbers of space groups are 1 to 230")
        return value
    if re.fullmatch(r"\s*\d+\s*", value):
        raise NoSpaceGroup("a number as text: write a number without quotes, or a symbol")
    number = _symbols().get(_plain(value)) if len(value) <= 40 else None
    if number is None:
        raise NoSpaceGroup(f"{value[:40]!r} is not the symbol of a space group")
    return number


def same_space_group(found: int, wanted: int, *, enantiomorph: bool = False) -> bool:
    """Whether two numbers mean the same group; with ``enantiomorph``, a mirror image counts as the same."""
    return found == wanted or (enantiomorph and tuple(sorted((found, wanted))) in _ENANTIOMORPHS)


def space_group_of(crystal: Crystal, symprec: float = 1e-3) -> int:
    """Number of the space group of a structure, magnetic moments left aside.

    Parameters
    ----------
    crystal : Crystal
        The structure.
    symprec : float
        Distance within which sites count as symmetric, angstrom.

    Raises
    ------
    SymmetryUnknown
        If none is found, as for atoms on top of each other.
    EnvironmentFailure
        If spglib is not installed.
    """
    spglib = _spglib()
    kinds = sorted(set(crystal.species))
    cell = (crystal.cell, crystal.sites, [kinds.index(s) + 1 for s in crystal.species])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            found = spglib.get_symmetry_dataset(cell, symprec=symprec)
        except spglib.SpglibError as error:
            raise SymmetryUnknown(str(error)) from error
    if found is None:
        raise SymmetryUnknown("atoms lie too close to each other, or the cell is degenerate")
    return int(found.number)
