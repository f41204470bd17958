"""All task folders of the studies: those that are in order, and why the others are not."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from matassay.core import BrokenTask, MatAssayError, Task

from ._task import TaskFolder, find_folders

_ID_LINE: Final = re.compile(r"(?m)^id:\s*[\"']?(research/[^\s\"'#]+)")


@dataclass(frozen=True)
class Loaded:
    """What was found."""

    folders: Mapping[str, TaskFolder]
    """Folders by the ids of their tasks, in the order of ids."""
    tasks: tuple[Task, ...]
    """Their tasks."""
    broken: Mapping[str, str]
    """Why folders were left out, by what is known of their ids."""


def load(studies: Path) -> Loaded:
    """Read every task folder; a broken one is left out with a `BrokenTask` warning, so that the others can be used."""
    folders: dict[str, TaskFolder] = {}
    tasks: dict[str, Task] = {}
    broken: dict[str, str] = {}
    names: dict[str, Path] = {}
    for path in find_folders(studies):
        try:
            folder = TaskFolder(path)
            if path.name in names:
                raise MatAssayError(f"{path}: the folder {names[path.name]} has the same name; made seeds go by it")
            if (twin := folders.get(folder.spec.id)) is not None:
                raise MatAssayError(f"{path / 'task.yaml'}: field id: {twin.path} has {folder.spec.id!r} already")
            folder.check()
            task = folder.task()
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one folder, the others go on
            why = str(error) if isinstance(error, MatAssayError) else f"{path}: {type(error).__name__}: {error}"
            broken[_id(path)] = why
            warnings.warn(f"left out {_id(path)}: {why}", BrokenTask, stacklevel=2)
        else:
            names[path.name], folders[task.id], tasks[task.id] = path, folder, task
    ids = sorted(folders)
    return Loaded({id: folders[id] for id in ids}, tuple(tasks[id] for id in ids), broken)


def _id(path: Path) -> str:
    """The id of a task whose file may not be readable: its line, or else the folder."""
    try:
        found = _ID_LINE.search((path / "task.yaml").read_text("utf-8", "replace"))
    except OSError:
        found = None
    return found.group(1) if found else f"research/{path.parent.name}/{path.name}"
