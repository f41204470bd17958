"""One prompt for both guidances: reduced is full without the marked method passages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from matassay.core import Guidance, MatAssayError

BEGIN: Final = "<!-- method -->"
END: Final = "<!-- /method -->"

_FIELD: Final = re.compile(r"\{\{\s*([a-z_][a-z0-9_]*)\s*\}\}", re.IGNORECASE)


def render(source: str, guidance: Guidance, goal: Mapping[str, Any], where: str = "prompt.md") -> str:
    """The words for the agent.

    Parameters
    ----------
    source : str
        The prompt's source. What stands between lines `BEGIN` and `END` explains the method, and only full guidance
        has it. ``{{name}}`` is replaced by the goal's value of that name.
    guidance : Guidance
        Which of the two.
    goal : mapping
        Public numbers.
    where : str
        File, for messages.

    Raises
    ------
    MatAssayError
        If marks are not in pairs, or a name is not in the goal.
    """
    kept, method, passages = [], False, 0
    for number, line in enumerate(source.splitlines(), 1):
        mark = line.strip()
        if mark in (BEGIN, END):
            if method is (mark == BEGIN):
                raise MatAssayError(f"{where}, line {number}: {mark} does not follow its counterpart")
            method = mark == BEGIN
            passages += method
        elif not method or guidance is Guidance.FULL:
            kept.append(line)
    if method:
        raise MatAssayError(f"{where}: the last {BEGIN} is never closed by {END}")

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in goal:
            known = ", ".join(goal) or "nothing"
            raise MatAssayError(f"{where}: {{{{{name}}}}} is not in the task's goal, which has {known}")
        return told(goal[name])

    text = _FIELD.sub(value, "\n".join(kept))
    return re.sub(r"\n{3,}", "\n\n", text).strip("\n") + "\n"


def told(value: Any) -> str:
    """A value in the words of a prompt: a list is told with commas."""
    if isinstance(value, list | tuple):
        return ", ".join(told(v) for v in value)
    return value if isinstance(value, str) else json.dumps(value)


def method_passages(source: str) -> list[str]:
    """What only full guidance has."""
    return [
        part.strip() for part in re.findall(rf"(?ms)^\s*{re.escape(BEGIN)}\s*$(.*?)^\s*{re.escape(END)}\s*$", source)
    ]
