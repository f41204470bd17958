"""Scripted agents, and the loop that runs any of them without a model or an evaluation engine."""

from ._policies import AGENTS, PolicyFactory, attempt_named, null, public, random, reference
from ._run import Finished, describe, run_episode, run_policy

__all__ = [
    "AGENTS",
    "Finished",
    "PolicyFactory",
    "attempt_named",
    "describe",
    "null",
    "public",
    "random",
    "reference",
    "run_episode",
    "run_policy",
]
