"""Makes a copy of a LAMMPS deck that is loaded in full but does not run.

``run`` and ``minimize`` become runs of no steps, which still set everything up and find every error; what they asked
for is kept in a variable whose definition LAMMPS echoes with all substitutions made. ``-skiprun`` is no way: it leaves
out the set-up as well, and then every line that prints an energy fails. Behind each run the copy counts, and stops
where the driver wants it to: many decks clean up after their last run, and what counts is what ran.
"""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Iterator, Mapping

_COMMAND = re.compile(r"^(run|minimize|quit|timer|echo|neb|neb/spin|temper|temper/grem|prd|tad|hyper|log)\b(.*)$")
_QUOTED_RUN = re.compile(r'(["\'])(run|minimize)\s+([^"\']*)\1')
_PACKED = re.compile(r"^(?:read_data|read_dump|dump|write_dump|write_data)\b(?!.*/(?:gz|zstd)\b)")
_GZIP = re.compile(r"\.gz(?=[\s\"']|$)")
_REPLICA = ("neb", "neb/spin", "temper", "temper/grem", "prd", "tad", "hyper")


def logical_lines(text: str) -> list[tuple[int, str]]:
    """Commands with their first line's number; lines that end with ``&`` go on, triple quotes span lines."""
    out: list[tuple[int, str]] = []
    pending, start, triple = "", 0, False
    for number, line in enumerate(text.split("\n"), 1):
        if not pending:
            start = number
        triple ^= line.count('"""') % 2 == 1
        stripped = line.rstrip()
        if triple:
            pending += line + "\n"
        elif stripped.endswith("&"):
            pending += stripped[:-1] + " "
        else:
            out.append((start, pending + line))
            pending = ""
    if pending:
        out.append((start, pending))
    return out


def unquoted(line: str) -> Iterator[tuple[int, str]]:
    """Places and characters of a line that stand outside quotes."""
    quote = ""
    for i, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            yield i, char


def without_comment(line: str) -> str:
    """The line up to an unquoted ``#``."""
    return next((line[:i] for i, char in unquoted(line) if char == "#"), line)


def rewrite(text: str, names: str, *, main: bool) -> str:
    """The copy.

    Parameters
    ----------
    text : str
        A LAMMPS input script.
    names : str
        Part of the names of our variables: ``asked_<names>`` keeps what a run asked for, ``count_<names>`` counts runs;
        at run number ``stop_<names>`` the copy ends with an error. The last two must be defined before.
    main : bool
        Whether ``quit`` at the top level ends the deck; in an included file it stays.
    """
    out = []
    for _, raw in logical_lines(text):
        # At the first column what LAMMPS echoes can be told from what it prints.
        line = raw.lstrip()
        match = _COMMAND.match(line)
        if match is None:
            if line.startswith("if"):
                line = _QUOTED_RUN.sub(lambda found: _quoted(found, names), line)
            # LAMMPS packs and unpacks by starting gzip, which no program may do here; see `unpacked`.
            out.append(_GZIP.sub("", line) if _PACKED.match(line) else line)
            continue
        command, rest = match.groups()
        rest = without_comment(rest)
        if command == "quit":
            if main and not rest.strip():
                break
            out.append(line)
        elif command in ("run", "minimize"):
            out += _watched(command, rest, names)
        elif command in _REPLICA:
            out.append(_asked(command, rest, names))
        # timer, echo and log would only hide what we want to see
    return "\n".join(out) + "\n"


def _asked(command: str, rest: str, names: str) -> str:
    # Outside quotes LAMMPS puts in the values of variables.
    return f"variable asked_{names} index {command} {rest.strip()}".rstrip()


def _watched(command: str, rest: str, names: str) -> list[str]:
    count, stop = f"count_{names}", f"stop_{names}"
    return [
        _asked(command, rest, names),
        _stopped(command, rest),
        f"variable {count} equal $(v_{count}+1)",
        f"if $(v_{count}>=v_{stop})==1 then {stop}",
    ]


def _stopped(command: str, rest: str) -> str:
    words = rest.split()
    if command == "minimize":
        return f"minimize {' '.join(words[:2])} 0 0" if len(words) == 4 else f"minimize {rest.strip()}"
    # A number of steps that cannot be one stays, so that LAMMPS can refuse it.
    if not words or not re.match(r"[\d$]|v_", words[0]):
        return f"run {rest.strip()}"
    return "run 0"


def _quoted(match: re.Match[str], names: str) -> str:
    """Inside `if ... then "run 100"` each command has its own quotes."""
    quote, command, rest = match.groups()
    return " ".join(f"{quote}{line}{quote}" for line in _watched(command, rest, names))


def unpacked(tree: Mapping[str, bytes], most: int = 64 * 1024**2) -> dict[str, bytes]:
    """Files whose names end in ``.gz`` under their names without it, as the copy reads them; ``most`` bytes in all."""
    out: dict[str, bytes] = {}
    for name, data in tree.items():
        if name.endswith(".gz") and name[:-3] not in tree and most > 0:
            with contextlib.suppress(zlib.error):
                out[name[:-3]] = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, most)
                most -= len(out[name[:-3]])
    return out
