"""Reading logs: the results of a folder."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from inspect_ai.log import (
    EvalLog,
    EvalSample,
    EvalSampleSummary,
    EvalSpec,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_sample_summaries,
)
from inspect_ai.scorer import Score

from matassay.agents import describe
from matassay.core import EpisodeResult, MatAssayError, Outcome, UnreadableLog, measures

from ._prices import cost, tokens
from ._provider import PROVIDER
from ._scorer import VERDICT

#: Parts of a sample that results do not need.
HEAVY: Final = {"messages", "events", "attachments", "store", "output", "events_data"}

#: What `result_of` raises for a sample without the labels that our tasks give it.
LABELS_MISSING: Final = (KeyError, TypeError, ValueError)

#: How the engine names its logs in JSON; there is other JSON in a folder.
_DATED: Final = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}[:-]\d{2}[:-]\d{2}")


@dataclass(frozen=True)
class Row:
    """A result and where it stands."""

    result: EpisodeResult
    """The result."""
    settings: str
    """All that two runs must share to be comparable: agent, model, their arguments, limits."""
    closed: bool
    """Whether its log is complete."""
    rank: tuple[bool, bool, str, str]
    """Of two rows of one episode the larger counts: graded, then from a complete log, then the newer."""


@dataclass(frozen=True)
class LogDir:
    """What a folder of logs holds."""

    results: list[EpisodeResult] = field(default_factory=list)
    """One result per episode that came to an end, in the order of their sample ids."""
    not_attempted: list[str] = field(default_factory=list)
    """Sample ids that a run had planned and that came to no end: cut off or never begun."""
    rows: list[Row] = field(default_factory=list)
    """The same results with their provenance."""
    complete: set[str] = field(default_factory=set)
    """Names of the engine's tasks that have a complete log."""


def read_results(log_dir: str | Path) -> list[EpisodeResult]:
    """Results of all runs in a folder, each episode once, however often its run was resumed."""
    return read_log_dir(log_dir).results


def read_log_dir(log_dir: str | Path) -> LogDir:
    """Read all logs of a folder, not those of folders inside it.

    A log that was cut off (``kill -9``) counts as far as it goes, until a later log holds the same episodes.
    """
    best: dict[tuple[str, str], Row] = {}
    planned: set[tuple[str, str]] = set()
    complete: set[str] = set()
    for path, header in read_headers(log_dir):
        if (header.eval.metadata or {}).get("settings") is None:
            continue  # not ours
        key = settings_of(header.eval)
        try:
            found = _rows(header, path, key)
        except MatAssayError as error:
            _skip(path, error)
            continue
        if header.status == "success":
            complete.add(header.eval.task)
        planned |= {(key, str(id)) for id in header.eval.dataset.sample_ids or []}
        for row in found:
            old = best.get((key, row.result.sample_id))
            if old is None or row.rank > old.rank:
                best[key, row.result.sample_id] = row
    rows = [best[key] for key in sorted(best)]
    missing = sorted(id for key, id in planned - best.keys())
    return LogDir([row.result for row in rows], missing, rows, complete)


def skipped(what: str, why: str) -> None:
    """Warn that something is left out."""
    warnings.warn(f"skipped {what}: {why}", UnreadableLog, stacklevel=1)


def log_files(folder: str | Path) -> list[Path]:
    """The log files in a folder, not those of folders inside it, in the order of their names, which begin with dates.

    What is named like a log and is no file (a folder, a pipe, a dangling link) is left out with a warning: a pipe
    would be waited for, for ever.
    """
    found = []
    for path in sorted(Path(folder).absolute().iterdir()):
        if path.suffix == ".eval" or (path.suffix == ".json" and _DATED.match(path.name)):
            if path.is_file():
                found.append(path)
            else:
                skipped(str(path), "it is not a file")
    return found


def read_log(path: Path, *, header_only: bool = False) -> EvalLog:
    """A log, as the engine has it.

    Raises
    ------
    MatAssayError
        If it cannot be read.
    """
    try:
        if not path.is_file():
            raise OSError("it is not a file")
        return read_eval_log(str(path), header_only=header_only)
    except Exception as error:
        # Whatever the engine's readers raise for a file that is none of theirs.
        raise MatAssayError(f"{path}: not a log that can be read ({describe(error)})") from error


def read_headers(folder: str | Path) -> list[tuple[Path, EvalLog]]:
    """The logs of a folder with their headers; those that cannot be read are left out with a warning."""
    found = []
    for path in log_files(folder):
        try:
            found.append((path, read_log(path, header_only=True)))
        except MatAssayError as error:
            _skip(path, error)
    return found


def _skip(path: Path, error: MatAssayError) -> None:
    skipped(str(path), str(error).removeprefix(f"{path}: "))


def settings_of(spec: EvalSpec) -> str:
    """A string that is equal for two runs exactly if their results may be pooled."""
    return comparable(spec.model, spec.model_args, (spec.metadata or {}).get("settings", {}))


def comparable(model: str, model_args: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The same from its parts; keys and other secrets, which no log holds, do not count."""
    args = {k: v for k, v in model_args.items() if k != "api_key" and not k.startswith("aws_")}
    return json.dumps([model, args, settings], sort_keys=True, default=str)


def agent_of(spec: EvalSpec) -> str:
    """The agent's name: that of the scripted agent, or of the loop in which the model acted."""
    provider, _, name = spec.model.partition("/")
    if provider != PROVIDER:
        return str((spec.metadata or {}).get("agent", ""))
    return f"attempt:{spec.model_args['attempt']}" if spec.model_args.get("attempt") else name


def _rows(header: EvalLog, path: Path, settings: str) -> list[Row]:
    rows = []
    closed, location = header.status == "success", str(path)
    try:
        summaries = read_eval_log_sample_summaries(location)
    except Exception as error:
        raise MatAssayError(f"{path}: its episodes cannot be read ({describe(error)})") from error
    for summary in summaries:
        sample: EvalSampleSummary | EvalSample = summary
        score = (summary.scores or {}).get(VERDICT)
        if score is None and (header.status in ("started", "cancelled") or summary.error is None):
            continue  # cut off: to be run again
        try:
            if score is not None and any(_is_cut(v) for v in (score.metadata or {}).values()):
                sample = read_eval_log_sample(location, uuid=summary.uuid, exclude_fields=HEAVY)
            result = result_of(sample, header.eval, location)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one, the others are told
            skipped(f"{path}: episode {summary.id}", describe(error))
            continue
        rank = (result.outcome.graded, closed, header.eval.created, summary.completed_at or "")
        rows.append(Row(result, settings, closed, rank))
    return rows


def _is_cut(value: Any) -> bool:
    # Summaries replace what is long by a remark.
    return isinstance(value, str) and value.startswith("Key removed from summary")


def result_of(sample: EvalSample | EvalSampleSummary, spec: EvalSpec, location: str = "") -> EpisodeResult:
    """The result of a sample that came to its end."""
    score = (sample.scores or {}).get(VERDICT)
    meta = sample.metadata
    found: Mapping[str, Any] = (score.metadata if score else None) or {}
    error = sample.error if isinstance(sample.error, str | None) else sample.error.message
    return EpisodeResult(
        id=meta["task"],
        span=meta["span"],
        guidance=meta["guidance"],
        seed=meta["seed"],
        outcome=Outcome(found.get("outcome", Outcome.ENVIRONMENT_ERROR)),
        success=None if (passed := _number(score, "success")) is None else bool(passed),
        score=_number(score, "score"),
        steps=found.get("steps", 0),
        invalid_actions=found.get("invalid_actions", 0),
        criteria=found.get("criteria", {}),
        consequences=found.get("consequences", []),
        task_revision=found.get("task_revision", meta["task_revision"]),
        grader_checksum=found.get("grader_checksum", meta["grader_checksum"]),
        suite=meta["suite"],
        group=meta["group"],
        level=meta["level"],
        category=meta["category"],
        agent=agent_of(spec),
        model="" if spec.model == "none/none" else spec.model,
        error=found.get("error") or error,
        usage=tokens(sample.model_usage),
        cost=cost(sample.model_usage),
        working_time=sample.working_time,
        tool_mapping=found.get("tool_mapping", ""),
        log=str(location).removeprefix("file://"),
        sample_id=str(sample.id),
        versions=found.get("versions", {}),
        messages=found.get("messages", {}),
        failures=found.get("failures", {}),
        labels=meta.get("labels", {}),
        measures=measures(found.get("measures")),
    )


def _number(score: Score | None, name: str) -> float | None:
    value = score.value.get(name) if score is not None and isinstance(score.value, Mapping) else None
    return float(value) if isinstance(value, int | float) and not math.isnan(value) else None
