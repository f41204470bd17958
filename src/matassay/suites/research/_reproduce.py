"""Making a task's inputs and reference again, and comparing them with what is stored."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from matassay.core import Evidence, grade, is_number
from matassay.grading import answers
from matassay.worlds.workspace import find_software

from ._material import read_json, run_reproduce
from ._task import TaskFolder

#: Relative difference of numbers that counts as none: other processors and libraries round otherwise.
ROUNDING: Final = 1e-6

#: Below this size a difference is one of rounding, whatever its ratio.
ZERO: Final = 1e-9

#: Longest time that reproducing may take, s: a night.
LONGEST: Final = 12 * 3600.0


@dataclass(frozen=True)
class Difference:
    """A value that came out otherwise."""

    path: str
    """Where it stands."""
    stored: Any
    """What is stored."""
    made: Any
    """What was made now."""
    relative: float | None
    """Relative difference; None where there is none to be told."""


@dataclass(frozen=True)
class Reproduction:
    """What came of it."""

    task: str
    """Task id."""
    seed: int
    """Seed."""
    differences: tuple[Difference, ...]
    """Values of the reference that differ beyond rounding."""
    inputs: Mapping[str, str]
    """How each input file compares: ``same``, ``same numbers``, ``differs: ...``, ``missing``, ``new``."""
    passes: bool
    """Whether the new reference, handed in as an answer, passes every check against the stored one."""
    said: str
    """What the script printed."""

    @property
    def reproduced(self) -> bool:
        """Whether nothing differs by more than the task tolerates."""
        return self.passes and not any(v.startswith(("differs", "missing", "new")) for v in self.inputs.values())


def reproduce(folder: TaskFolder, seed: int = 0, *, keep: Path | None = None) -> Reproduction:
    """Run a task's ``reproduce.py`` and compare.

    Parameters
    ----------
    folder : TaskFolder
        The task.
    seed : int
        Seed; that with a stored reference is 0.
    keep : Path, optional
        Folder in which to leave what was made.

    Raises
    ------
    EnvironmentFailure
        If the script cannot be run here.
    MatAssayError
        If it fails.
    """
    with tempfile.TemporaryDirectory(prefix="matassay-reproduce-") as temporary:
        out = Path(temporary) if keep is None else keep
        out.mkdir(parents=True, exist_ok=True)
        said = run_reproduce(folder.path, out, seed, seconds=LONGEST)
        stored = folder.material(seed)
        made = read_json(out / "reference.json")
        return Reproduction(
            task=folder.spec.id,
            seed=seed,
            differences=tuple(differences(stored.reference, made)),
            inputs=dict(_inputs(stored.inputs, out / "inputs")),
            passes=_passes(folder, seed, made),
            said=said,
        )


def differences(stored: Any, made: Any, path: str = "") -> Iterator[Difference]:
    """Values that differ beyond rounding, however deep."""
    if isinstance(stored, Mapping) and isinstance(made, Mapping):
        for key in dict.fromkeys([*stored, *made]):
            yield from differences(stored.get(key), made.get(key), f"{path}.{key}".lstrip("."))
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for i, (a, b) in enumerate(zip(stored, made, strict=True)):
            yield from differences(a, b, f"{path}[{i}]")
    elif is_number(stored) and is_number(made):
        size = max(abs(stored), abs(made))
        if abs(stored - made) > max(ROUNDING * size, ZERO):
            yield Difference(path, stored, made, abs(stored - made) / size)
    elif stored != made:
        yield Difference(path, stored, made, None)


def _passes(folder: TaskFolder, seed: int, made: Mapping[str, Any]) -> bool:
    if folder.spec.answer is None:
        return not list(differences(folder.material(seed).reference, made))
    task = folder.task()
    own = [c for c in task.criteria if c.name in folder.answer_names]
    state = {"seed": seed, "outputs_refused": {}, "collected": {}, "concluded": True}
    evidence = Evidence(state=state, artefacts=answers.reference_artefacts(folder.spec.answer, made, folder.spec.goal))
    return grade(dataclasses.replace(task, criteria=tuple(own)), evidence, folder.scenario(seed).goal).success


def _inputs(stored: Path, made: Path) -> Iterator[tuple[str, str]]:
    before, now = _files(stored), _files(made)
    for name in sorted(before | now):
        if name not in now:
            yield name, "missing"
        elif name not in before:
            yield name, "new"
        else:
            yield name, _compared(stored / name, made / name)


def _files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} if folder.exists() else set()


def _compared(a: Path, b: Path) -> str:
    if a.read_bytes() == b.read_bytes():
        return "same"
    if a.suffix in (".hdf5", ".h5", ".npz", ".npy"):
        return _compared_arrays(a, b)
    words = [_words(f.read_text("utf-8", "replace")) for f in (a, b)]
    if len(words[0]) != len(words[1]):
        return f"differs: {len(words[0])} words stored, {len(words[1])} made"
    worst = 0.0
    for x, y in zip(*words, strict=True):
        if x == y:
            continue
        try:
            p, q = float(x), float(y)
        except ValueError:
            return f"differs: {x!r:.40} stored, {y!r:.40} made"
        if abs(p - q) > ZERO:
            worst = max(worst, abs(p - q) / max(abs(p), abs(q)))
    return "same numbers" if worst <= ROUNDING else f"differs: numbers by {worst:.1e}"


def _words(text: str) -> list[str]:
    return re.findall(r"[-+]?\d+(?:\.\d*)?(?:[eEdD][-+]?\d+)?|[^\s,;:{}\[\]\"]+", text)


#: Compares the arrays of two files in the workspace's environment, which has the readers.
_ARRAYS: Final = """
import sys
import numpy as np

def arrays(path):
    if path.endswith((".npz", ".npy")):
        found = np.load(path, allow_pickle=False)
        return dict(found) if hasattr(found, "files") else {"": found}
    import h5py
    out = {}
    with h5py.File(path) as file:
        file.visititems(lambda n, o: out.__setitem__(n, o[()]) if isinstance(o, h5py.Dataset) else None)
    return out

a, b = map(arrays, sys.argv[1:3])
if a.keys() != b.keys():
    print("differs: other names"); sys.exit()
worst = 0.0
for name in a:
    x, y = np.asarray(a[name]), np.asarray(b[name])
    if x.shape != y.shape or x.dtype.kind != y.dtype.kind:
        print("differs: shape or type of", name); sys.exit()
    if x.dtype.kind in "fc":
        scale = np.max(np.abs(x), initial=0.0) or 1.0
        worst = max(worst, float(np.max(np.abs(x - y), initial=0.0) / scale))
    elif not np.array_equal(x, y):
        print("differs:", name); sys.exit()
print("same numbers" if worst <= ROUNDING else f"differs: numbers by {worst:.1e} of the largest")
"""


def _compared_arrays(a: Path, b: Path) -> str:
    script = _ARRAYS.replace("ROUNDING", repr(ROUNDING))
    command = [str(find_software().python), "-c", script, str(a), str(b)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 - a script of ours
    return done.stdout.strip() or f"differs: cannot be compared ({done.stderr.strip()[-200:]})"
