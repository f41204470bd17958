"""From stored evidence to a score. Needs no world, so that old logs can be graded again."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from matassay.agents import describe
from matassay.core import GraderFailure, Outcome, Verdict, find_task, grade, grader_checksum, measures

from ._record import Record

#: Name of the score in a sample.
VERDICT: Final = "verdict"


@scorer(metrics={"score": [mean(), stderr()], "success": [mean(), stderr()], "steps": [mean()]}, name=VERDICT)
def verdict() -> Scorer:
    """Grade what the agent left: ``score``, ``success`` and ``steps``; all NaN if that cannot be graded."""

    async def score(state: TaskState, target: Target) -> Score:
        return score_of(state.store_as(Record), state.metadata)

    return score


def score_of(record: Record, meta: Mapping[str, Any]) -> Score:
    """The score of a recorded episode; a pure function of the record and the grading code."""
    task = find_task(meta["task"])
    outcome, error, graded = _grade(record, meta)
    evidence: dict[str, Any] = json.loads(record.evidence) if record.evidence else {}
    return Score(
        value=_value(record, graded),
        explanation=error,
        metadata={
            "outcome": str(outcome),
            "error": error,
            "criteria": dict(graded.criteria) if graded else {},
            "consequences": evidence.get("consequences", []),
            "measures": measures(evidence.get("state", {}).get("measures")),
            "steps": record.steps,
            "invalid_actions": record.invalid_actions,
            "task_revision": task.revision,
            "grader_checksum": grader_checksum(task),
            "tool_mapping": record.tool_mapping,
            "versions": evidence.get("versions", {}),
        },
    )


def _grade(record: Record, meta: Mapping[str, Any]) -> tuple[Outcome, str | None, Verdict | None]:
    if not record.evidence:
        return Outcome.ENVIRONMENT_ERROR, record.error or "the world was never started", None
    # An episode that nobody ended was stopped from outside while it ran: that is how the engine's time limit looks.
    outcome = Outcome(record.outcome or Outcome.LIMIT)
    if not outcome.graded:
        return outcome, record.error, None
    try:
        task = find_task(meta["task"])
        return outcome, record.error, grade(task, record.read_evidence(), json.loads(record.goal))
    except (GraderFailure, ValueError) as failure:  # ValueError: the stored files were altered
        return Outcome.GRADER_ERROR, describe(failure), None


def _value(record: Record, graded: Verdict | None) -> dict[str, str | int | float | bool | None]:
    if graded is None:
        return {"score": math.nan, "success": math.nan, "steps": math.nan}
    return {"score": graded.score, "success": float(graded.success), "steps": float(record.steps)}
