"""From stored evidence to a score. Needs no world, so that old logs can be graded again."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Mapping
from typing import Any, Final

import anyio.to_thread
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from matassay.agents import describe
from matassay.core import (
    Outcome,
    UnknownTask,
    Verdict,
    find_task,
    grade,
    grader_checksum,
    measures,
    plain_json,
)

from ._record import Record, conclude

#: Name of the score in a sample.
VERDICT: Final = "verdict"

# Graders are pure, but some keep what they read last, and libraries that they call change the process's warning filters.
_one_at_a_time: Final = threading.Lock()


@scorer(metrics={"score": [mean(), stderr()], "success": [mean(), stderr()], "steps": [mean()]}, name=VERDICT)
def verdict() -> Scorer:
    """Grade what the agent left: ``score``, ``success`` and ``steps``; all NaN if that cannot be graded.

    In a thread: an answer made to be slow takes seconds, in which the other episodes of the run must not stand still.
    """

    async def score(state: TaskState, target: Target) -> Score:
        record = state.store_as(Record)
        await conclude(state.uuid, record)
        return await anyio.to_thread.run_sync(_scored, record, state.metadata)

    return score


def _scored(record: Record, meta: Mapping[str, Any]) -> Score:
    with _one_at_a_time:
        return score_of(record, meta)


def score_of(record: Record, meta: Mapping[str, Any]) -> Score:
    """The score of a recorded episode; a pure function of the record and the grading code."""
    outcome, error, graded = _grade(record, meta)
    evidence = _told(record)
    return Score(
        value=_value(record, graded),
        explanation=error,
        metadata={
            "outcome": str(outcome),
            "error": error,
            "criteria": dict(graded.criteria) if graded else {},
            "messages": dict(graded.messages) if graded else {},
            "failures": dict(graded.failures) if graded else {},
            "consequences": evidence.get("consequences", []),
            "measures": measures(_measures_of(evidence)),
            "steps": record.steps,
            "invalid_actions": record.invalid_actions,
            # Of the task as it was run: the episode's instruction and goal are those of that revision.
            "task_revision": meta["task_revision"],
            "grader_checksum": _checksum(meta),
            "tool_mapping": record.tool_mapping,
            "versions": evidence.get("versions", {}),
        },
    )


def ungraded(kept: Mapping[str, Any], error: str) -> Score:
    """The score of an episode whose record cannot be read; ``kept`` is what an earlier score said of it."""
    return Score(
        value=_value(None, None),
        explanation=error,
        metadata={**kept, "outcome": str(Outcome.GRADER_ERROR), "error": error, "criteria": {}},
    )


def _grade(record: Record, meta: Mapping[str, Any]) -> tuple[Outcome, str | None, Verdict | None]:
    if not record.evidence:
        return Outcome.ENVIRONMENT_ERROR, record.error or "the world was never started", None
    try:
        # An episode that nobody ended was stopped from outside while it ran: so the engine's time limit looks.
        outcome = Outcome(record.outcome or Outcome.LIMIT)
        if not outcome.graded:
            return outcome, record.error, None
        task = find_task(meta["task"])
        return outcome, record.error, grade(task, record.read_evidence(), json.loads(record.goal))
    except Exception as failure:  # noqa: BLE001 - whatever is wrong with grader or evidence: never a zero
        return Outcome.GRADER_ERROR, describe(failure), None


def _told(record: Record) -> dict[str, Any]:
    """The evidence as far as it can be read; what is wrong with it has come out in grading."""
    try:
        evidence = plain_json(json.loads(record.evidence))
    except ValueError:
        return {}
    return evidence if isinstance(evidence, dict) else {}


def _measures_of(evidence: Mapping[str, Any]) -> Any:
    state = evidence.get("state")
    return state.get("measures") if isinstance(state, Mapping) else None


def _checksum(meta: Mapping[str, Any]) -> str:
    try:
        return grader_checksum(find_task(meta["task"]))
    except UnknownTask:
        return str(meta["grader_checksum"])


def _value(record: Record | None, graded: Verdict | None) -> dict[str, str | int | float | bool | None]:
    if graded is None or record is None:
        return {"score": math.nan, "success": math.nan, "steps": math.nan}
    return {"score": graded.score, "success": float(graded.success), "steps": float(record.steps)}
