"""Makes a copy of a LAMMPS deck that is loaded in full but does not run.

``run`` and ``minimize`` become runs of no steps, which still set everything up and find every error; what they asked
for is kept in a variable whose definition LAMMPS echoes with all substitutions made. ``-skiprun`` is no way: it leaves
out the set-up as well, and then every line that prints an energy fails.
"""

from __future__ import annotations

import re

_COMMAND = re.compile(r"^(run|minimize|quit|timer|echo|neb|neb/spin|temper|temper/grem|prd|tad|hyper|log)\b(.*)$")
_QUOTED_RUN = re.compile(r'(["\'])(run|minimize)\s+([^"\']*)\1')
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


def without_comment(line: str) -> str:
    """The line up to an unquoted ``#``."""
    quote = ""
    for i, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char == "#":
            return line[:i]
    return line


def rewrite(text: str, marker: str, *, main: bool) -> str:
    """The copy.

    Parameters
    ----------
    text : str
        A LAMMPS input script.
    marker : str
        Name of the variable that keeps what runs asked for.
    main : bool
        Whether ``quit`` at the top level ends the deck; in an included file it stays.
    """
    out = []
    for _, raw in logical_lines(text):
        # At the first column what LAMMPS echoes can be told from what it prints.
        line = raw.lstrip()
        match = _COMMAND.match(line)
        if match is None:
            # Inside `if ... then "run 100"` only the number of steps can be taken away.
            out.append(_QUOTED_RUN.sub(_stop_quoted, line) if line.startswith("if") else line)
            continue
        command, rest = match.groups()
        rest = without_comment(rest)
        if command == "quit":
            if main and not rest.strip():
                break
            out.append(line)
        elif command in ("run", "minimize"):
            asked = f"{command} {rest.strip()}".replace('"', "'").replace("\n", " ")
            out.append(f'variable {marker} string "{asked}"')
            out.append(_stopped(command, rest))
        elif command in _REPLICA:
            asked = f"{command} {rest.strip()}".replace('"', "'").replace("\n", " ")
            out.append(f'variable {marker} string "{asked}"')
        # timer, echo and log would only hide what we want to see
    return "\n".join(out) + "\n"


def _stopped(command: str, rest: str) -> str:
    words = rest.split()
    if command == "minimize":
        return f"minimize {' '.join(words[:2])} 0 0" if len(words) == 4 else f"minimize {rest.strip()}"
    # A number of steps that cannot be one stays, so that LAMMPS can refuse it.
    if not words or not re.match(r"[\d$]|v_", words[0]):
        return f"run {rest.strip()}"
    return "run 0"


def _stop_quoted(match: re.Match[str]) -> str:
    quote, command, rest = match.groups()
    return f"{quote}{_stopped(command, rest)}{quote}"
