"""Reader of ``.win`` files (format after the Wannier90 3.1 user guide)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

BLOCKS = (
    "unit_cell_cart", "atoms_frac", "atoms_cart", "projections", "kpoints", "kpoint_path", "nnkpts", "shell_list",
    "dis_spheres", "slwf_centres",
)  # fmt: skip


class BadWin(ValueError):
    """Wannier90 could not read it; carries the line."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


@dataclass
class Win:
    """Keywords and blocks."""

    keywords: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Value as text and line number, by keyword in lower case."""
    blocks: dict[str, tuple[list[str], int]] = field(default_factory=dict)
    """Lines, and number of the line that begins the block."""


def read_win(text: str) -> Win:
    """Split a ``.win`` file.

    Raises
    ------
    BadWin
        If a keyword or a block occurs twice, or a block does not end.
    """
    out = Win()
    inside: str | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = re.split(r"[!#]", raw)[0].replace("\t", " ").strip()
        if not line:
            continue
        low = line.lower()
        if inside is not None:
            if re.fullmatch(rf"end[\s:=]*{re.escape(inside)}(\s.*)?", low):
                inside = None
            else:
                out.blocks[inside][0].append(line)
            continue
        opened = re.match(r"begin[\s:=]*(\w+)", low)
        if opened:
            inside = opened[1]
            if inside in out.blocks:
                raise BadWin(f"Error: Found begin {inside} more than once in input file", number)
            out.blocks[inside] = ([], number)
            continue
        match = re.match(r"(\w+)\s*(?:[=:]\s*)?(.*)\Z", low)
        if match is None:
            raise BadWin(f"cannot be read: {line[:40]!r}", number)
        name = match.group(1)
        if name in out.keywords:
            raise BadWin(f"Error: Found keyword {name} more than once in input file", number)
        out.keywords[name] = (match.group(2).strip(), number)
    if inside is not None:
        raise BadWin(f"Error: Could not find 'end {inside}' in input file", out.blocks[inside][1])
    return out


def ranges(text: str) -> list[int]:
    """Numbers of a list such as ``1-4, 6``; colons make ranges too, and a range may run backwards.

    Examples
    --------
    >>> ranges("1-4,6  7"), ranges("4:2")
    ([1, 2, 3, 4, 6, 7], [2, 3, 4])

    Raises
    ------
    BadWin
        If Wannier90 could not read it, or a number is there twice.
    """
    out: list[int] = []
    for part in re.sub(r"\s*([-:])\s*", r"\1", text).replace(",", " ").replace(";", " ").split():
        match = re.fullmatch(r"(\d{1,9})(?:[-:](\d{1,9}))?", part, re.ASCII)
        if match is None:
            raise BadWin(f"cannot be parsed: {part[:20]!r}")
        low, high = sorted((int(match[1]), int(match[2] or match[1])))
        if high - low + len(out) > 100_000:
            raise BadWin("a range of bands is absurd")
        out.extend(range(low, high + 1))
    if len(set(out)) < len(out):
        raise BadWin("has duplicate values")
    if not out or min(out) < 1:
        raise BadWin("must contain positive numbers")
    return sorted(out)
