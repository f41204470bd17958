"""In which loop a model acts: one name for each, and the interface that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from matassay.core import Interface, MatAssayError, Task

from ._policies import AGENTS

GUI: Final = "gui"
CODE: Final = "code"
TOOLS: Final = "tools"

#: Loops by name. Scripted agents are models and act through any of them that fits the task.
LOOPS: Final[Mapping[str, Interface]] = MappingProxyType(
    {
        GUI: Interface.SCREEN,
        CODE: Interface.WORKSPACE,
        TOOLS: Interface.WORKSPACE,
        "codex": Interface.WORKSPACE,
        "claude-code": Interface.WORKSPACE,
    }
)

#: The loop of a task whose agent is not named.
USUAL: Final[Mapping[Interface, str]] = MappingProxyType({Interface.SCREEN: GUI, Interface.WORKSPACE: CODE})


def loop_for(tasks: Sequence[Task], agent: str | None) -> str:
    """The loop in which a model acts on some tasks.

    Parameters
    ----------
    tasks : sequence of Task
        What is to be done.
    agent : str, optional
        Its name; by default the usual one for these tasks.

    Raises
    ------
    MatAssayError
        If there is no such loop, it cannot do these tasks, or they need different ones.
    """
    needed = {t.interface for t in tasks}
    if agent is None:
        if len(needed) > 1:
            raise MatAssayError("tasks with a screen and tasks with a workspace need different agents: run them apart")
        return USUAL[needed.pop()]
    if agent not in LOOPS:
        raise MatAssayError(f"unknown agent {agent!r}; known: {', '.join((*AGENTS, *LOOPS))}")
    if other := [t.id for t in tasks if t.interface is not LOOPS[agent]]:
        raise MatAssayError(f"agent {agent!r} needs a {LOOPS[agent]}, which {other[0]} does not have")
    return agent
