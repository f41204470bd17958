"""The one place that says what success is."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ._errors import GraderFailure
from ._evidence import Evidence
from ._judgement import Judgement
from ._task import Criterion, Goal, Task


@dataclass(frozen=True)
class Verdict:
    """Result of grading one episode."""

    criteria: Mapping[str, bool]
    """Whether each criterion holds, in the task's order."""
    success: bool
    """All criteria hold, guards included."""
    score: float
    """Unweighted fraction of the goals that hold, 0 to 1; guards and diagnoses do not count."""
    messages: Mapping[str, str] = field(default_factory=dict)
    """Why a criterion does not hold, where it says so."""
    failures: Mapping[str, str] = field(default_factory=dict)
    """To which `Failure` a criterion that does not hold belongs, where it says so."""


def judge(criteria: Sequence[Criterion], holds: Mapping[str, bool]) -> Verdict:
    """Turn the truth of each criterion into success and score: the rule, for every suite.

    Success: every criterion holds that is not a diagnosis. Score: the unweighted fraction of goals (criteria that are
    neither guards nor diagnoses) that hold.
    """
    results = {c.name: bool(holds[c.name]) for c in criteria}
    goals = [results[c.name] for c in criteria if c.is_goal]
    success = all(results[c.name] for c in criteria if not c.diagnosis)
    return Verdict(results, success=success, score=sum(goals) / len(goals))


def grade(task: Task, evidence: Evidence, goal: Goal) -> Verdict:
    """Grade an episode; a pure function of task, evidence and goal.

    Raises
    ------
    GraderFailure
        If a criterion raises or returns neither a bool nor a judgement.
    """
    holds, messages, failures = {}, {}, {}
    for criterion in task.criteria:
        try:
            value = criterion.check(evidence, goal)
        except Exception as error:
            raise GraderFailure(f"{task.id}: criterion {criterion.name!r} raised {error!r}") from error
        if isinstance(value, Judgement):
            if not value.holds and value.message:
                messages[criterion.name] = value.message
            if not value.holds and value.failure is not None and not criterion.diagnosis:
                failures[criterion.name] = str(value.failure)
            value = value.holds
        # numpy's bool is welcome, a truthy string or None is a mistake of the grader
        if type(value).__name__ not in ("bool", "bool_"):
            raise GraderFailure(f"{task.id}: criterion {criterion.name!r} returned {value!r} instead of a bool")
        holds[criterion.name] = bool(value)
    return dataclasses.replace(judge(task.criteria, holds), messages=messages, failures=failures)


def grader_checksum(task: Task) -> str:
    """First 16 hex digits of a SHA-256 over the code that grades the task.

    Covers the task's ``grader_package`` (criteria, and the physics that they judge by) and ``grader_files``, the
    ``grading`` package and this module; kept in every result so that two results are known to have been judged alike.
    """
    digest = hashlib.sha256()
    for file in (*_package_files(task.grader_package), *task.grader_files, *_common_files()):
        digest.update(file.name.encode() + b"\0" + _read(file) + b"\0")
    return digest.hexdigest()[:16]


@cache
def _package_files(package: str) -> tuple[Path, ...]:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise ValueError(f"grader package {package!r} cannot be found")
    origin = Path(spec.origin)
    return tuple(sorted(origin.parent.glob("*.py"))) if origin.name == "__init__.py" else (origin,)


@cache
def _common_files() -> tuple[Path, ...]:
    here = Path(__file__)
    own = (here.with_name(name) for name in ("_evidence.py", "_judgement.py"))
    # its tables too: a default of a code is as much of a judgement as a line of Python
    grading = (f for f in (here.parent.parent / "grading").rglob("*") if f.suffix in (".py", ".toml", ".txt", ".json"))
    return (here, *own, *sorted(grading))


@cache
def _read(file: Path) -> bytes:
    return file.read_bytes()
