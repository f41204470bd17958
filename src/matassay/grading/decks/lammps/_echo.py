"""What LAMMPS said while it loaded a deck: the commands as it executed them, and its own reports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ._rewrite import unquoted

_QUOTED = re.compile(r'"""(.*?)"""|"([^"]*)"|\'([^\']*)\'|(\S+)', re.DOTALL)


def words(line: str) -> list[str]:
    """Words of a command, quotes taken off and comments left out.

    Examples
    --------
    >>> words("print 'a b' # c")
    ['print', 'a b']
    """
    out = []
    for triple, double, single, plain in _QUOTED.findall(line):
        if plain.startswith("#"):
            break
        if "#" in plain:
            out.append(plain.split("#")[0])
            break
        out.append(triple or double or single or plain)
    return out


def executed(screen: str, known: frozenset[str]) -> list[list[str]]:
    """Commands in the order in which they were executed, variables substituted.

    LAMMPS echoes each line, and again after substitution. The text that ``print`` puts out is left out, since it could
    look like a command: at most the number of lines that its argument has follow its echo.
    """
    out: list[list[str]] = []
    skip = 0
    lines = screen.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if skip:
            skip -= 1
            continue
        head = line.split(None, 1)[0] if line[:1].strip() else ""
        if head not in known:
            continue
        while line.count('"""') % 2 == 1 and at < len(lines):
            line += "\n" + lines[at]
            at += 1
        if head == "print":
            if _substituted_later(line):
                continue
            parts = words(line)
            silent = "screen" in parts[2:] and parts[parts.index("screen", 2) + 1 :][:1] == ["no"]
            skip = 0 if silent or len(parts) < 2 else parts[1].count("\n") + 1
            continue
        if not _substituted_later(line):
            out.append(words(line))
    return out


def _substituted_later(line: str) -> bool:
    """Whether a ``$`` stands outside quotes: then LAMMPS echoes the line again, substituted."""
    for i, char in unquoted(line):
        if char == "#":
            return False
        if char == "$" and i + 1 < len(line):
            return True
    return False


def number(word: str) -> float | str:
    """A word as a number if it is one."""
    try:
        value = float(word)
    except ValueError:
        return word
    return int(value) if value.is_integer() and abs(value) < 1e15 and re.fullmatch(r"[+-]?\d+", word) else value


def keywords(arguments: Sequence[str]) -> dict[str, list[Any]]:
    """Numbers and labels behind each keyword of a list of arguments.

    Examples
    --------
    >>> keywords("temp 300 300 0.1 iso 0 0 1".split())
    {'temp': [300, 300, 0.1], 'iso': [0, 0, 1]}
    """
    out: dict[str, list[Any]] = {}
    current = None
    for word in arguments:
        value = number(word)
        named = current == "file" and not out["file"]
        if isinstance(value, str) and not named and value not in ("yes", "no", "NULL") and not value.startswith("v_"):
            current = word
            out[current] = []
        elif current is not None:
            out[current].append(value)
    return out


def system(info: str) -> dict[str, Any]:
    """Facts from the report of ``info``."""
    out: dict[str, Any] = {}
    for key, pattern in (
        ("units", r"^Units\s+= (.+)$"),
        ("atom_style", r"^Atom style\s+= (.+)$"),
        ("pair_style", r"^Atoms\s+=.*style = (.+)$"),
        ("bond_style", r"^Bonds\s+=.*style = (.+)$"),
        ("angle_style", r"^Angles\s+=.*style = (.+)$"),
        ("dihedral_style", r"^Dihedrals\s+=.*style = (.+)$"),
        ("improper_style", r"^Impropers\s+=.*style = (.+)$"),
        ("kspace_style", r"^Kspace style = (.+)$"),
        ("dimension", r"^Dimensions = (\d)"),
        ("boundary", r"^Boundaries = (\S+ \S+ \S+)"),
    ):
        match = re.search(pattern, info, re.MULTILINE)
        if match:
            out[key] = match.group(1).strip()
    out["fixes"] = re.findall(r"^Fix\[ *\d+\]:\s+(\S+),\s+style = ([^,\s]+),\s+group = (\S+)", info, re.MULTILINE)
    out["computes"] = re.findall(r"^Compute\[ *\d+\]:\s+(\S+),\s+style = ([^,\s]+)", info, re.MULTILINE)
    out["dumps"] = re.findall(r"^Dump\[ *\d+\]:\s+(.+)$", info, re.MULTILINE)
    out["groups"] = re.findall(r"^Group\[ *\d+\]:\s+(\S+)", info, re.MULTILINE)
    return out
