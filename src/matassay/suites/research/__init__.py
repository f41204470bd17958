"""Steps of published computational studies, carried out by code in a sandboxed workspace."""

from functools import cache
from pathlib import Path

from matassay.core import MatAssayError, Suite

from ._attempts import Miss
from ._material import run_reproduce
from ._prompt import method_passages
from ._reproduce import Difference, Reproduction, reproduce
from ._task import TaskFolder, find_folders

#: Where the studies lie.
STUDIES = Path(__file__).parent / "studies"


@cache
def folders() -> dict[str, TaskFolder]:
    """Folders of all tasks by the tasks' ids."""
    found = sorted((TaskFolder(path) for path in find_folders(STUDIES)), key=lambda folder: folder.spec.id)
    ids = [f.spec.id for f in found]
    if twice := {i for i in ids if ids.count(i) > 1}:
        raise MatAssayError(f"{STUDIES}: two folders have the id {', '.join(sorted(twice))}")
    return {f.spec.id: f for f in found}


def __getattr__(name: str) -> Suite:
    # Late: `near_misses.py` of a task imports `Miss` from here while the suite is being made.
    if name != "SUITE":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    suite = Suite("research", tuple(folder.task() for folder in folders().values()))
    globals()["SUITE"] = suite
    return suite


__all__ = [
    "STUDIES",
    "SUITE",
    "Difference",
    "Miss",
    "Reproduction",
    "TaskFolder",
    "find_folders",
    "folders",
    "method_passages",
    "reproduce",
    "run_reproduce",
]
