"""The codes whose decks can be graded; another one joins by one line."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ._model import DeckCode
from .espresso import QuantumEspresso
from .lammps import Lammps
from .vasp import Vasp
from .wannier import Wannier90

CODES: Final[Mapping[str, DeckCode]] = MappingProxyType(
    {code.name: code for code in (Vasp(), QuantumEspresso(), Lammps(), Wannier90())}
)
