"""Variables of pw.x: types, defaults, canonical spellings."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from matassay.grading.decks._numbers import fortran_integer, fortran_logical, fortran_real

from ._namelist import ORDER

_ALIASES: Mapping[str, Mapping[str, str]] = {
    "diagonalization": {"davidson": "david"},
    "smearing": {
        "gauss": "gaussian", "m-p": "methfessel-paxton", "mp": "methfessel-paxton", "cold": "marzari-vanderbilt",
        "m-v": "marzari-vanderbilt", "mv": "marzari-vanderbilt", "f-d": "fermi-dirac", "fd": "fermi-dirac",
    },
    "vdw_corr": {
        "dft-d": "grimme-d2", "dft-d3": "grimme-d3", "ts": "ts", "ts-vdw": "ts", "tkatchenko-scheffler": "ts",
    },
    "assume_isolated": {"m-p": "makov-payne", "mp": "makov-payne", "m-t": "martyna-tuckerman", "mt": "martyna-tuckerman"},
    "verbosity": {"debug": "high", "medium": "high", "default": "low", "minimal": "low"},
}  # fmt: skip

CALCULATIONS = ("scf", "nscf", "bands", "relax", "md", "vc-relax", "vc-md")

WORDS: Mapping[str, tuple[str, ...]] = {
    "calculation": CALCULATIONS,
    "occupations": (
        "smearing", "fixed", "from_input", "tetrahedra", "tetrahedra_lin", "tetrahedra-lin", "tetrahedra_opt",
        "tetrahedra-opt",
    ),
    "smearing": (
        "gaussian", "gauss", "Gaussian", "Gauss", "methfessel-paxton", "m-p", "mp", "Methfessel-Paxton", "M-P", "MP",
        "marzari-vanderbilt", "cold", "m-v", "mv", "Marzari-Vanderbilt", "M-V", "MV",
        "fermi-dirac", "f-d", "fd", "Fermi-Dirac", "F-D", "FD",
    ),
    "mixing_mode": ("plain", "TF", "local-TF"),
    "diagonalization": ("david", "davidson", "cg", "ppcg", "paro"),
    "vdw_corr": (
        "none", "grimme-d2", "Grimme-D2", "DFT-D", "dft-d", "grimme-d3", "Grimme-D3", "DFT-D3", "dft-d3",
        "TS", "ts", "ts-vdw", "ts-vdW", "tkatchenko-scheffler", "XDM", "xdm",
    ),
    "assume_isolated": ("none", "makov-payne", "m-p", "mp", "martyna-tuckerman", "m-t", "mt", "esm", "2D"),
}  # fmt: skip
"""Words of which pw.x 6.7 takes no other, letter by letter (asked, November 2026)."""

SILENT = ("vdw_corr", "assume_isolated")
"""Variables of which pw.x passes over any other word in silence, and goes on with ``none``."""

_FUNCTIONALS: Mapping[str, str] = {
    "lda": "pz", "sla+pz": "pz", "sla+pw+pbx+pbc": "pbe", "sla+pw+psx+psc": "pbesol", "sla+pw+ggx+ggc": "pw91",
    "sla+lyp+b88+blyp": "blyp", "sla+pw+revx+pbc": "revpbe",
}  # fmt: skip
"""Functionals by their parts, and the short names that mean the same (INPUT_PW, variable `input_dft`)."""


class BadVariable(ValueError):
    """pw.x could not read the value."""


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("defaults.toml").read_text("utf-8"))


@cache
def types() -> Mapping[str, tuple[str, str, str]]:
    """Namelist, spelling and type of every variable, by its name in lower case."""
    out = {}
    for namelist in ORDER:
        for name, value in _data()[namelist].items():
            kind = value[5:] if isinstance(value, str) and value.startswith("none:") else type(value).__name__
            out[name.lower()] = (namelist, name, {"float": "real"}.get(kind, kind))
    return out


@cache
def defaults() -> Mapping[str, Any]:
    """Fixed defaults by canonical spelling."""
    return {
        name: value
        for namelist in ORDER
        for name, value in _data()[namelist].items()
        if not (isinstance(value, str) and value.startswith("none:"))
    }


@cache
def units() -> Mapping[str, str]:
    """Unit of every variable that has one."""
    return {name: unit for unit, names in _data()["units"].items() for name in names}


def canonical(name: str, value: Any) -> Any:
    """Canonical spelling of a value.

    Examples
    --------
    >>> canonical("smearing", "M-V"), canonical("diagonalization", "davidson"), canonical("nosym", ".true.")
    ('marzari-vanderbilt', 'david', True)
    >>> canonical("conv_thr", "1.0d-8")
    1e-08

    Raises
    ------
    ValueError
        If the variable is a number or a truth value, and the text is none.
    """
    if not isinstance(value, str):
        return value
    kind = types().get(name.lower(), ("", "", "str"))[2]
    if kind != "str":
        # YAML reads 1e-8 as text, and people write .true.: what Fortran would read is meant.
        return convert(name, kind, value.strip())
    word = value.strip()
    if name.lower() in ("title", "prefix", "outdir", "pseudo_dir", "wfcdir"):
        return word
    if name.lower() in ("functional", "input_dft"):
        parts = re.sub(r"(\+nogx)?(\+nogc)?\Z", "", "+".join(re.split(r"[\s+-]+", word.lower())))
        return _FUNCTIONALS.get(parts, word.lower())
    return _ALIASES.get(name.lower(), {}).get(word.lower(), word.lower())


def convert(name: str, kind: str, token: str) -> Any:
    """Value of one token.

    Raises
    ------
    BadVariable
        If Fortran could not read it as the variable's type.
    """
    quoted = re.fullmatch(r"(['\"])(.*)\1", token, re.DOTALL)
    if kind == "str":
        if quoted is None:
            raise BadVariable(f"{name} needs a text in quotes, found {token[:30]!r}")
        return quoted.group(2).strip()
    if quoted is not None:
        raise BadVariable(f"{name} needs no text, found {token[:30]!r}")
    value: Any = {"bool": fortran_logical, "int": fortran_integer, "real": fortran_real, "reals": fortran_real}[kind](
        token
    )
    if value is None:
        raise BadVariable(f"{name}: {token[:30]!r} cannot be read")
    return value
