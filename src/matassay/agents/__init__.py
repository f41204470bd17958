"""Scripted agents, and the loop that runs any of them without a model or an evaluation engine."""

from ._loops import CODE, GUI, LOOPS, TOOLS, USUAL, loop_for
from ._policies import AGENTS, PolicyFactory, attempt_named, null, public, random, reference
from ._run import Finished, describe, run_episode, run_policy
from ._workspace import everything

__all__ = [
    "AGENTS",
    "CODE",
    "GUI",
    "LOOPS",
    "TOOLS",
    "USUAL",
    "Finished",
    "PolicyFactory",
    "attempt_named",
    "describe",
    "everything",
    "loop_for",
    "null",
    "public",
    "random",
    "reference",
    "run_episode",
    "run_policy",
]
