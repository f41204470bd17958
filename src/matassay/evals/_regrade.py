"""Grading old runs again, offline, from the evidence that their logs keep."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from inspect_ai.log import EvalSample, ProvenanceData, edit_score, recompute_metrics, write_eval_log
from inspect_ai.scorer import Score, ScoreEdit

from matassay.agents import describe
from matassay.core import EpisodeResult, MatAssayError, Outcome, find_task

from ._record import Record
from ._scorer import VERDICT, score_of, ungraded
from .results import LABELS_MISSING, read_log, result_of, skipped

AUTHOR: Final = "matassay regrade"


def regrade(log: str | Path, out: str | Path | None = None) -> list[tuple[EpisodeResult, EpisodeResult]]:
    """Grade every episode of a log with the grading code as it is now.

    The new scores take the place of the old, which stay in the score's history with the checksum of the code that
    gave them. An episode whose stored evidence is damaged becomes a ``grader_error``. The log is written beside and then
    renamed: it is never half written.

    Parameters
    ----------
    log : str or Path
        A log file.
    out : str or Path, optional
        Where to write; by default over ``log``.

    Returns
    -------
    list of (EpisodeResult, EpisodeResult)
        Old and new result of each episode that was graded.

    Raises
    ------
    MatAssayError
        If the log cannot be read or holds no episodes.
    UnknownTask
        If a task of the log is not installed; nothing is written then.
    """
    source, target = Path(log), Path(out or log)
    content = read_log(source)
    if not content.samples:
        raise MatAssayError(f"{source}: no episodes in this log")
    pairs = []
    for sample in content.samples:
        if VERDICT not in (sample.scores or {}):
            continue
        try:
            old = result_of(sample, content.eval, str(target))
        except LABELS_MISSING as error:
            skipped(f"{source}: episode {sample.id}", f"its labels are damaged ({describe(error)})")
            continue
        find_task(old.id)  # without it nothing is judged: the log stays as it is, with its verdicts
        fresh = _score(sample, old)
        edit = ScoreEdit(
            value=fresh.value,
            explanation=fresh.explanation or "",
            metadata={**(fresh.metadata or {}), "previous_checksum": old.grader_checksum},
            provenance=ProvenanceData(author=AUTHOR, reason="graded again"),
        )
        edit_score(content, sample.id, VERDICT, edit, recompute_metrics=False, epoch=sample.epoch)
        pairs.append((old, result_of(sample, content.eval, str(target))))
    recompute_metrics(content)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".regrade-") as folder:
        written = Path(folder) / source.name
        write_eval_log(content, str(written))
        written.replace(target)
    return pairs


def _score(sample: EvalSample, old: EpisodeResult) -> Score:
    try:
        record = sample.store_as(Record)
        if not record.evidence and old.outcome is not Outcome.ENVIRONMENT_ERROR:
            raise MatAssayError("the log holds no evidence of this episode any more")
        return score_of(record, sample.metadata)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with what is stored, the other episodes are graded
        kept = (sample.scores or {})[VERDICT].metadata or {}
        return ungraded({**kept, "task_revision": old.task_revision}, describe(error))
