"""Values of INCAR tags: types, spellings, defaults."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from matassay.grading.decks._numbers import expand_repeats, fortran_integer, fortran_logical, fortran_real

TYPES = ("bool", "int", "real", "str", "reals", "ints", "bools")

_NO_VALUE = ("rule", "potcar", "run", "none")
"""Words of the table that stand for a default made elsewhere, by the POTCAR, while running, or not at all."""

_ALGORITHMS = (
    # (how it may begin, canonical); the first that fits counts, and GW-like names must be given in full
    ("not", "none"),
    ("non", "none"),
    ("n", "normal"),
    ("v", "veryfast"),
    ("f", "fast"),
    ("c", "all"),
    ("a", "all"),
    ("d", "damped"),
    ("s", "subrot"),
    ("ei", "eigenval"),
    ("ex", "exact"),
)
_OLD_ALGORITHMS = {"of": "old fast", "fo": "old fast", "ov": "old veryfast", "vo": "old veryfast"}
"""Abbreviations of `Old Fast` and `Old VeryFast`, the algorithms of VASP 5."""

_MANY_BODY_SYNONYMS = {
    "gw0": "evgw0", "gw": "evgw", "scgw0": "qpgw0", "scgw": "qpgw", "rpa": "acfdt", "rpar": "acfdtr",
}  # fmt: skip
"""Names of VASP 5 for what has another name since VASP 6, and synonyms."""

MANY_BODY = {
    "chi", "tdhf", "bse", "timeev", "acfdt", "acfdtr", "acfdtrk", "evgw0", "evgw", "qpgw0", "qpgw", "evgw0r", "g0w0",
    "g0w0r", "gw0r", "gwr", "scgw0r", "crpa", "crpar", "2e4w", "2e4wa", "mp2", "mp2kpar", "mp2ns", "ldau", "normalgw",
}  # fmt: skip
"""Algorithms of many-body perturbation theory and time-dependent theory."""

_FUNCTIONALS = {
    "libxc": "li", "pz": "ca", "pz_c": "ca_c",
    "ca_c": "ca_c", "pbe_x": "pbe_x", "pbe_c": "pbe_c", "pw92": "pw92", "pw92_c": "pw92_c",
}  # fmt: skip
"""Values of GGA that are more than two letters, or mean the same as another."""

_PRECISIONS = {"l": "low", "m": "medium", "h": "high", "n": "normal", "a": "accurate", "s": "single"}
_FOCK_PRECISIONS = {"l": "low", "m": "medium", "f": "fast", "n": "normal", "a": "accurate", "s": "single"}

_TEXTS = ("SYSTEM", "WANNIER90_WIN", "LOCPROJ", "ML_GRACE_MODEL")
"""Tags whose value is a text of any form."""

_SYNONYMS: Mapping[str, Mapping[int, int]] = {"IVDW": {1: 10, 2: 20}}
"""Numbers of which the wiki names two for the same (page `IVDW`: D2 is 1 or 10, Tkatchenko-Scheffler 2 or 20)."""

_LISTS: Mapping[str, tuple[Callable[[str], float | None], str]] = {
    "reals": (fortran_real, "number"),
    "ints": (fortran_integer, "integer"),
    "bools": (fortran_logical, "truth value"),
}


class BadValue(ValueError):
    """VASP could not read the value."""


@cache
def table() -> dict[str, Any]:
    """The packaged table of tags."""
    return tomllib.loads(resources.files(__package__).joinpath("tags.toml").read_text("utf-8"))


@cache
def types() -> Mapping[str, str]:
    """Type of every tag that VASP knows."""
    data = table()
    own = {tag: kind for kind in TYPES for tag in data[kind]}
    return own | {tag: kind for kind in TYPES for tag in data["known"][kind]}


@cache
def units() -> Mapping[str, str]:
    """Unit of every tag that has one."""
    return {tag: unit for unit, tags in table()["units"].items() for tag in tags}


@cache
def defaults() -> Mapping[str, Any]:
    """Fixed defaults."""
    data = table()
    return {
        t: v for kind in TYPES for t, v in data[kind].items() if v not in _NO_VALUE or (t, v) == ("METAGGA", "none")
    }


def read(tag: str, text: str) -> tuple[Any, str]:
    """Value of a tag, and what stands behind it unread (a comment without its sign, or a forgotten separator).

    Raises
    ------
    BadValue
        If VASP would stop with "Error reading item".
    """
    kind = types()[tag]
    if _is_word(tag):
        return canonical(tag, text), "" if tag in _TEXTS else " ".join(text.split()[1:])
    tokens = expand_repeats(text.replace(",", " ").split())
    if not tokens:
        raise BadValue("there is no value" if tokens is not None else "too many values")
    if kind in _LISTS:
        convert, what = _LISTS[kind]
        values: list[float] = []
        for token in tokens:
            number = convert(token)
            if number is None:
                break
            values.append(number)
        if not values:
            raise BadValue(f"{tokens[0][:40]!r} is no {what}")
        return values, " ".join(tokens[len(values) :])
    value: Any = {"bool": fortran_logical, "int": fortran_integer, "real": fortran_real}[kind](tokens[0])
    if value is None:
        expected = {"bool": "truth value", "int": "integer", "real": "number"}[kind]
        raise BadValue(f"{tokens[0][:40]!r} is no {expected}")
    return _SYNONYMS.get(tag, {}).get(value, value), " ".join(tokens[1:])


def canonical(tag: str, value: Any) -> Any:
    """Canonical spelling of a value, whether it comes from a deck or from a task.

    Examples
    --------
    >>> canonical("PREC", "A"), canonical("ALGO", "VERYFAST"), canonical("LREAL", "Auto"), canonical("LREAL", ".FALSE.")
    ('accurate', 'veryfast', 'auto', False)
    >>> canonical("EDIFF", "1e-8"), canonical("LWAVE", ".FALSE."), canonical("MAGMOM", "2*1.0")
    (1e-08, False, [1.0, 1.0])
    """
    if not isinstance(value, str):
        return _SYNONYMS[tag].get(value, value) if tag in _SYNONYMS and isinstance(value, int) else value
    if types().get(tag) and not _is_word(tag):
        # YAML reads 1e-8 as text, and people write .FALSE.: what VASP would read is meant.
        return read(tag, value)[0]
    text = value.strip()
    if tag in _TEXTS:
        return text
    if tag in ("XC", "ELPH_SCATTERING_APPROX", "WRT_DENSITY", "WRT_POTENTIAL"):
        return " ".join(text.lower().split())
    if tag == "ALGO" and re.match(r"old\s+[fv]", text, re.IGNORECASE):
        return "old fast" if text.split()[1][0].lower() == "f" else "old veryfast"
    word = (text.split() or [""])[0].lower()
    found = _word(tag, word)
    if found is None:
        raise BadValue(f"{word[:40]!r} is none of its values")
    return found


def _is_word(tag: str) -> bool:
    """Whether a tag's value is a word, or may be one."""
    return types()[tag] == "str" or tag == "LREAL"


def _word(tag: str, word: str) -> str | bool | None:
    """Canonical word, or None if VASP does not know it for this tag."""
    if tag == "ALGO":
        word = _MANY_BODY_SYNONYMS.get(word, word)
        if word in MANY_BODY:
            return word
        if word in _OLD_ALGORITHMS:
            return _OLD_ALGORITHMS[word]
        return next((name for start, name in _ALGORITHMS if word.startswith(start)), None)
    if tag == "PREC":
        if word == "singlen":
            return word
        return _PRECISIONS.get(word[:1])
    if tag == "PRECFOCK":
        return _FOCK_PRECISIONS.get(word[:1])
    if tag == "LREAL":
        special = {"o": "on", "a": "auto"}.get(word[:1])
        return special or fortran_logical(word)
    if tag == "GGA":
        # VASP looks at two letters: PBE written in full is PB, which is another functional than PE.
        return _FUNCTIONALS.get(word, word[:2])
    if tag == "METAGGA":
        return re.sub(r"[^a-z0-9]", "", word) or "none"
    return word
