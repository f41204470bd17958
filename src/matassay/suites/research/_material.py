"""Inputs and hidden reference of a seed: stored for seed 0, made by the task's own ``reproduce.py`` for others."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from matassay.core import SALT_VARIABLE, EnvironmentFailure, MatAssayError, derive
from matassay.worlds.workspace import find_software

#: Longest time that a generated seed may take, s.
LONGEST: Final = 600.0


@dataclass(frozen=True)
class Material:
    """What a task is made of for one seed."""

    inputs: Path
    """Folder of public input files."""
    goal: Mapping[str, Any]
    """Public numbers that differ from those in ``task.yaml``."""
    reference: Mapping[str, Any]
    """The right answer, in the layout of the answer."""


def stored(folder: Path) -> Material:
    """The material that lies in the task's folder: seed 0 of the public split."""
    reference = folder / "reference.json"  # a task whose decks are judged by rules alone has none
    return Material(folder / "inputs", {}, read_json(reference) if reference.exists() else {})


def material(folder: Path, seed: int, *, generated: bool) -> Material:
    """The material of a seed.

    Parameters
    ----------
    folder : Path
        The task's folder.
    seed : int
        Seed.
    generated : bool
        Whether another seed has other inputs; if not, every seed is seed 0.

    Raises
    ------
    EnvironmentFailure
        If ``reproduce.py`` cannot be run here.
    MatAssayError
        If it fails.
    """
    private = bool(os.environ.get(SALT_VARIABLE))
    if not generated or (seed == 0 and not private):
        return stored(folder)
    number = derive(seed, "research", folder.name) % 2**31 if private else seed
    return _generated(folder, number, fingerprint(folder))


@lru_cache(maxsize=64)
def _generated(folder: Path, number: int, digest: str) -> Material:
    place = _cache() / folder.name / digest / f"seed-{number}"
    if not (place / "reference.json").exists():
        place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=".making-") as made:
            run_reproduce(folder, Path(made), number)
            try:
                Path(made).rename(place)
            except OSError:  # another process was quicker
                if not (place / "reference.json").exists():
                    raise
            else:
                Path(made).mkdir()  # for the context manager to remove
    goal = place / "goal.json"
    return Material(place / "inputs", read_json(goal) if goal.exists() else {}, read_json(place / "reference.json"))


def run_reproduce(folder: Path, out: Path, number: int, *, seconds: float = LONGEST) -> str:
    """Run a task's ``reproduce.py`` into a folder; what it printed.

    Raises
    ------
    EnvironmentFailure
        If the workspace environment is missing or the time is over.
    MatAssayError
        If it fails or leaves no reference; the text has the end of what it said.
    """
    software = find_software()
    script = folder / "reproduce.py"
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(out), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", "PATH": software.path}
    if software.prefix is not None:
        environment["LD_LIBRARY_PATH"] = str(software.prefix / "lib")
    try:
        done = subprocess.run(  # noqa: S603 - a script of the package
            [str(software.python), str(script), str(out), "--seed", str(number)],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailure(f"{script}: not done after {seconds:g} s") from error
    except OSError as error:
        raise EnvironmentFailure(f"{script}: cannot be started ({error})") from error
    if done.returncode != 0:
        raise MatAssayError(f"{script}: ended with exit code {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    if not (out / "reference.json").is_file():
        raise MatAssayError(f"{script}: left no reference.json")
    return done.stdout


def fingerprint(folder: Path) -> str:
    """Sixteen hex digits over what a generated seed depends on: the scripts, and the study's shared physics."""
    digest = hashlib.sha256()
    for file in (folder / "reproduce.py", *sorted((folder.parent / "common").glob("*.py"))):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def read_json(file: Path) -> dict[str, Any]:
    """A JSON object of ours.

    Raises
    ------
    MatAssayError
        If it is missing or is none.
    """
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise MatAssayError(f"{file}: cannot be read ({error})") from error
    if not isinstance(found, dict):
        raise MatAssayError(f"{file}: expected a JSON object, got {type(found).__name__}")
    return found


def clear_cache(folder: Path) -> None:
    """Forget the generated seeds of a task."""
    shutil.rmtree(_cache() / folder.name, ignore_errors=True)
    _generated.cache_clear()


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "matassay" / "research"
