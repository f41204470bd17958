"""A verdict follows from what was left, from nothing else, and from anything that may be left."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncIterator

from matassay.core import Artefact, Evidence, GraderFailure, Interface, Verdict, grade, grader_checksum

from ._case import Case
from ._finding import Finding
from ._hostile import hostile_files
from ._solvable import held

#: Contents that change only what many codes pass over in an input deck: its title, and lines that say nothing to them.
HARMLESS_IN_DECKS = ("wrong encoding", "extreme angles")

INSIDE, OUTSIDE = (0.0, 0.5, 0.9), (1.1, 2.0)


async def hostile_files_fail(case: Case) -> AsyncIterator[Finding]:
    """A8."""
    trial = await case.reference()
    there = {a.name for a in trial.start.artefacts}
    asked = [a for a in trial.evidence.artefacts if a.name not in there]
    if not asked:
        yield Finding(True, "the task asks for no file")
    for wanted in asked:
        passed, broken, tried = [], [], 0
        for name, data in hostile_files(wanted.data or b""):
            if data == wanted.data or (name in HARMLESS_IN_DECKS and _is_deck(case, wanted)):
                continue
            tried += 1
            forged = Artefact.of(wanted.name, data, wanted.media_type)
            files = tuple(forged if a is wanted else a for a in trial.evidence.artefacts)
            try:
                if grade(case.task, dataclasses.replace(trial.evidence, artefacts=files), case.goal).success:
                    passed.append(name)
            except GraderFailure as failure:
                broken.append(f"{name} ({failure})")
        bad = [f"passes with {n}" for n in passed] + [f"breaks the grader with {n}" for n in broken]
        yield Finding(not bad, f"{wanted.name}: {'; '.join(bad) or f'{tried} hostile contents fail'}"[:500])


def _is_deck(case: Case, file: Artefact) -> bool:
    return case.task.interface is Interface.WORKSPACE and not file.name.endswith(".json")


async def verdict_is_pure(case: Case) -> AsyncIterator[Finding]:
    """B1."""
    trial = await case.reference()
    evidence = trial.evidence
    before = json.dumps(evidence.to_json())
    first, second = (_told(grade(case.task, evidence, case.goal)) for _ in range(2))
    yield _same(first == second, "verdict", "graded twice")
    yield _same(json.dumps(evidence.to_json()) == before, "evidence", "after grading")
    blobs = {a.sha256: a.data for a in evidence.artefacts if a.data is not None}
    again = Evidence.from_json(json.loads(before), blobs)
    yield _same(_told(grade(case.task, again, case.goal)) == first, "verdict", "from stored evidence")
    goal = json.loads(json.dumps(dict(case.goal)))
    yield _same(_told(grade(case.task, again, goal)) == first, "verdict", "from stored evidence and goal")


def _same(same: bool, what: str, when: str) -> Finding:
    return Finding(same, f"the {what} {when} is {'the same' if same else 'another'}")


def _told(verdict: Verdict) -> str:
    return json.dumps([dict(verdict.criteria), verdict.success, verdict.score])


async def tolerances_are_sharp(case: Case) -> AsyncIterator[Finding]:
    """B3."""
    trial = await case.reference()
    judged = [(c, c.tolerance) for c in case.task.criteria if c.tolerance is not None]
    if not judged:
        yield Finding(True, "no criterion judges a measured value")
    for criterion, tolerance in judged:
        wrong = []
        for k in (*INSIDE, *OUTSIDE):
            for sign in (1, -1):
                displaced = tolerance.displaced(trial.evidence, case.goal, sign * k)
                if held(criterion, displaced, case.goal) is not (k in INSIDE):
                    wrong.append(f"{'fails' if k in INSIDE else 'passes'} at {sign * k:g}")
        reason = bool(re.search(r"\w+ \w+", tolerance.reason))
        what = f"{criterion.name} within {tolerance.value:g} {tolerance.unit}".rstrip()
        yield Finding(not wrong and reason, f"{what}: {'; '.join(wrong) or 'sharp'}{'' if reason else '; no reason'}")


async def crash_is_not_a_verdict(case: Case) -> AsyncIterator[Finding]:
    """B6."""
    trial = await case.reference()

    def crash(*_: object) -> bool:
        raise ZeroDivisionError

    for n, criterion in enumerate(case.task.criteria):
        criteria = list(case.task.criteria)
        criteria[n] = dataclasses.replace(criterion, check=crash)
        broken = dataclasses.replace(case.task, criteria=tuple(criteria))
        try:
            grade(broken, trial.evidence, case.goal)
        except GraderFailure as failure:
            yield Finding(criterion.name in str(failure), f"{criterion.name}: its crash is a grader error")
        else:
            yield Finding(False, f"{criterion.name}: its crash is graded")
    try:
        verdict = grade(case.task, Evidence(), case.goal)
    except GraderFailure:
        yield Finding(True, "evidence without any state is a grader error")
    else:
        yield Finding(not verdict.success, "evidence without any state is no success")


async def grader_is_identified(case: Case) -> AsyncIterator[Finding]:
    """C6."""
    checksum = grader_checksum(case.task)
    right = case.task.revision >= 1 and bool(re.fullmatch(r"[0-9a-f]{16}", checksum))
    yield Finding(right, f"revision {case.task.revision}, grader {checksum}")
