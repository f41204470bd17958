"""What the engine finds through the entry point ``inspect_ai``: task, scorer, solvers, tool, provider, hooks."""

from inspect_ai.model import ModelAPI, modelapi

from ._agent import gui, open_episode
from ._progress import ProgressHooks
from ._sandbox import WorkspaceSandbox
from ._scorer import verdict
from ._task import instruments, research
from ._tool import computer


@modelapi(name="reference")
def reference() -> type[ModelAPI]:
    """Scripted agents in the place of a model; works offline."""
    from ._provider import ReferenceModel

    return ReferenceModel


__all__ = [
    "ProgressHooks",
    "WorkspaceSandbox",
    "computer",
    "gui",
    "instruments",
    "open_episode",
    "reference",
    "research",
    "verdict",
]
