"""Steps of published computational studies, carried out by code in a sandboxed workspace."""

from functools import cache
from pathlib import Path

from matassay.core import Suite

from ._attempts import Miss
from ._load import Loaded, load
from ._material import run_reproduce
from ._prompt import method_passages
from ._reproduce import Difference, Reproduction, reproduce
from ._task import TaskFolder, find_folders

#: Where the studies lie.
STUDIES = Path(__file__).parent / "studies"


@cache
def loaded() -> Loaded:
    """What the studies hold, read once."""
    return load(STUDIES)


def folders() -> dict[str, TaskFolder]:
    """Folders of all tasks by the tasks' ids, without those that are broken."""
    return dict(loaded().folders)


def __getattr__(name: str) -> Suite:
    # Late: `near_misses.py` of a task imports `Miss` from here while the suite is being made.
    if name != "SUITE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    suite = Suite("research", loaded().tasks, loaded().broken)
    globals()["SUITE"] = suite
    return suite


__all__ = [
    "STUDIES",
    "SUITE",
    "Difference",
    "Loaded",
    "Miss",
    "Reproduction",
    "TaskFolder",
    "find_folders",
    "folders",
    "load",
    "method_passages",
    "reproduce",
    "run_reproduce",
]
