"""Grading old runs again, offline, from the evidence that their logs keep."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Final

from inspect_ai.log import ProvenanceData, edit_score, read_eval_log, recompute_metrics, write_eval_log
from inspect_ai.scorer import ScoreEdit

from matassay.core import EpisodeResult, MatAssayError

from ._record import Record
from ._scorer import VERDICT, score_of
from .results import result_of

AUTHOR: Final = "matassay regrade"


def regrade(log: str | Path, out: str | Path | None = None) -> list[tuple[EpisodeResult, EpisodeResult]]:
    """Grade every episode of a log with the grading code as it is now.

    The new scores take the place of the old, which stay in the score's history with the checksum of the code that
    gave them. The log is written beside and then renamed: it is never half written.

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
        If the log holds no episodes.
    """
    source, target = Path(log), Path(out or log)
    content = read_eval_log(str(source), resolve_attachments=False)
    if not content.samples:
        raise MatAssayError(f"{source}: no episodes in this log")
    pairs = []
    for sample in content.samples:
        if VERDICT not in (sample.scores or {}):
            continue
        old = result_of(sample, content.eval, str(target))
        fresh = score_of(sample.store_as(Record), sample.metadata)
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
