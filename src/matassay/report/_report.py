"""A report: one HTML page, one CSV table with a row per episode, one JSON file with all numbers."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from matassay import __version__
from matassay.core import EpisodeResult

from . import _conditions, _matrix, _plots
from ._conditions import Overrules
from ._html import render, script_json, short_ids
from ._quality import quantities
from ._reasons import reasons
from ._statistics import LEVEL, MIN_CLUSTERS
from ._summary import BUCKETS, CONDITIONS, RunSettings, Subject, Summary, subject_of, summarise

#: Heat maps on one page; the CSV has everything.
MAX_HEAT_MAPS: Final = 12

#: Remarks on an episode that its row tells when it is opened; the CSV and the logs have all.
MOST_REMARKS: Final = 20

#: Characters of remarks, in one or two of them, that a row of the table of episodes shows without being opened.
SHORT: Final = 110

COLUMNS: Final = (
    "id", "suite", "group", "span", "condition", "level", "category", "guidance", "agent", "model", "seed", "outcome",
    "success", "score", "steps", "invalid_actions", "false_termination", "criteria", "failed_criteria", "failure",
    "consequences",
    *(f"{bucket}_tokens" for bucket in BUCKETS), "cost", "working_time", "tool_mapping", "task_revision",
    "grader_checksum", "error", "log", "sample_id",
)  # fmt: skip

METHOD: Final = (
    "A step is one primitive action, refused ones, waiting and looking included. An episode succeeds when every "
    "criterion holds in the final state; its score is the fraction of the goals that hold (criteria that hold before "
    "anything is done are required for success and left out of the score). Limit and agent error are graded as they "
    "were left; environment and grader errors are not graded.",
    f"Success rates come with {LEVEL:.0%} intervals: Wilson's score interval on the effective number of episodes, with "
    "Student's t as critical value (Dean and Pagano, J. Surv. Stat. Methodol. 3 (2015) 484). The effective number is the "
    "number of episodes over the design effect, which is the cluster-robust (CRV1) variance of Liang and Zeger, "
    "Biometrika 73 (1986) 13, over the binomial one, and at least 1 (1 as well when all episodes went alike, which says "
    "nothing of how clusters differ). Clusters are groups (an instrument, a program or a study each), as episodes of one "
    f"group go alike (Miller, arXiv:2411.00640); with fewer than {MIN_CLUSTERS} of them, tasks; with fewer than "
    f"{MIN_CLUSTERS} tasks, episodes count as independent (plain Wilson, 1927).",
    "pass@k (Chen et al., arXiv:2107.03374) is the probability that at least one of k episodes of a task succeeds, "
    "pass^k (Yao et al., arXiv:2406.12045) that all k do; unbiased, averaged over tasks. Each seed has other hidden "
    "numbers, so the k episodes are k instances of the task, not k tries at one.",
    "False terminations are episodes that the agent ended itself without having succeeded, as a fraction of the graded "
    "ones. Means of steps are over graded episodes. Baselines: the reference agent knows the way and shows that the "
    "task can be done; null stops at once; random draws valid actions uniformly.",
    "Measures of quality are what the instrument itself computes of the result, out of the agent's sight: the value at "
    "the end and, where the world keeps it, the best of the episode. Means and medians are over the graded episodes that "
    "have the measure. No success and no score depends on them.",
)  # fmt: skip


@dataclass(frozen=True)
class ReportFiles:
    """Where a report was written."""

    html: Path
    """One self-contained page."""
    csv: Path
    """One row per episode."""
    json: Path
    """All numbers."""
    failures: Path | None = None
    """Form in which a person sets the causes of failed runs; none where no agent failed."""


def write_report(
    results: Iterable[EpisodeResult],
    out: Path,
    runs: Sequence[RunSettings] = (),
    overrules: Overrules = MappingProxyType({}),
) -> ReportFiles:
    """Write ``report.html``, ``report.csv`` and ``report.json``; a file is there whole or not at all.

    Parameters
    ----------
    results : iterable of EpisodeResult
        Episodes of any agents, in any order.
    out : Path
        Folder; made if it is missing.
    runs : sequence of RunSettings, optional
        Circumstances to show.
    overrules : mapping, optional
        Causes of failed runs that people have set, see `matassay.report.read_overrules`.
    """
    summary = summarise(results, runs)
    files = ReportFiles(out / "report.html", out / "report.csv", out / "report.json")
    write_whole(files.html, report_html(summary, overrules))
    write_whole(files.csv, report_csv(summary, overrules))
    write_whole(files.json, report_json(summary, overrules))
    if form := failures_html(summary, overrules):
        files = dataclasses.replace(files, failures=write_whole(out / "failures.html", form))
    return files


def report_json(summary: Summary, overrules: Overrules = MappingProxyType({})) -> str:
    """The content of ``report.json``."""
    document = {"matassay_version": __version__, "method": list(METHOD), **summary.to_json()}
    document |= _conditions.to_json(summary, overrules)
    return json.dumps({"schema_version": document.pop("schema_version"), **document}, indent=1, allow_nan=False) + "\n"


def report_csv(summary: Summary, overrules: Overrules = MappingProxyType({})) -> str:
    """The content of ``report.csv``: lists are separated by blanks, null is an empty field.

    After `COLUMNS` comes a column ``measure_<name>`` for each measure of quality that any episode has.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    measured = sorted({name for e in summary.episodes for name in e.measures})
    writer.writerow([*COLUMNS, *(f"measure_{name}" for name in measured)])
    for e in summary.episodes:
        row = _csv_row(e, overrules)
        writer.writerow([*(_cell(row[name]) for name in COLUMNS), *(_cell(e.measures.get(name)) for name in measured)])
    return buffer.getvalue()


def report_html(summary: Summary, overrules: Overrules = MappingProxyType({})) -> str:
    """The content of ``report.html``."""
    names = [s.label for s in summary.subjects if not s.baseline] or [s.label for s in summary.subjects]
    tasks = len({e.id for e in summary.episodes})
    seeds = len({e.seed for e in summary.episodes})
    ids = list(dict.fromkeys(e.id for e in summary.episodes))
    return render(
        "report.html",
        title="MatAssay report" + (": " + ", ".join(names[:4]) + (", …" if len(names) > 4 else "") if names else ""),
        subtitle=f"{_plural(len(summary.episodes), 'episode')}, {_plural(tasks, 'task')}, {_plural(seeds, 'seed')}",
        summary=summary,
        notes=_notes(summary),
        figures=_figures(summary),
        mishaps=sorted({name for r in summary.tables["overall"] for name in r.consequences}),
        quality=_quality(summary),
        four=_four(summary, overrules),
        outcomes=["scored", "limit", "agent_error", "environment_error", "grader_error"],
        versions=summary.versions(),
        task_versions=summary.task_versions(),
        method=METHOD,
        short=dict(zip(ids, short_ids(ids), strict=True)),
        episodes=[{"row": e, "who": summary.name(subject_of(e)), **_folded(remarks(e))} for e in summary.episodes],
        version=__version__,
    )


def failures_html(summary: Summary, overrules: Overrules = MappingProxyType({})) -> str:
    """The content of ``failures.html``; empty where no agent failed.

    It holds what people have said so far, of other runs too, so that what is saved from it takes nothing back.
    """
    from markupsafe import Markup

    # Runs of one name are one to a person: what is said of one is said of all.
    runs = {run.key: run for run in reversed(_conditions.failed_runs(summary, overrules))}
    runs = dict(reversed(runs.items()))
    ids = list(dict.fromkeys(run.episode.id for run in runs.values()))
    short = dict(zip(ids, short_ids(ids), strict=True))
    others = [{"run": key, **dataclasses.asdict(said)} for key, said in overrules.items() if key not in runs]
    return (
        render(
            "failures.html",
            runs=list(runs.values()),
            short=short,
            names=_conditions.FAILURES,
            others=Markup(script_json(others)),  # noqa: S704 - made to stand there
        )
        if runs
        else ""
    )


def _four(summary: Summary, overrules: Overrules) -> dict[str, Any]:
    """What the sections on conditions and failures show."""
    from markupsafe import Markup

    quarters = _conditions.quarters(summary)
    kinds, failures = _conditions.kinds(summary), _conditions.failures(summary, overrules)
    runs = _conditions.failed_runs(summary, overrules)
    own = [q for q in quarters if not q.subject.baseline] or quarters
    failed = [f for f in failures if not f.subject.baseline] or failures
    # The SVG is ours: matplotlib escapes the texts in it.
    drawn = {
        "quarters_plot": Markup(_matrix.quarters_plot(own, summary.name, "quarters")),  # noqa: S704
        "failures_plot": Markup(_matrix.failures_plot(failed, summary.name, "failures")),  # noqa: S704
        "runs_plots": [(text, Markup(svg)) for text, svg in _matrix.runs_plots(summary, "runs")],  # noqa: S704
    }
    return {
        "order": _conditions.ORDER,
        "quarters": quarters,
        "kinds": [
            {"rows": rows, "names": sorted({name for row in rows for name in row.kinds})}
            for suite in dict.fromkeys(row.suite for row in kinds)
            if (rows := [row for row in kinds if row.suite == suite])
        ],
        "repeats": _conditions.repeats(summary),
        "labels": _label_tables(summary),
        "failures": failures if any(sum(f.counts.values()) for f in failures) else [],
        "failure_names": _conditions.FAILURES,
        "failure_groups": _conditions.FAILURE_GROUPS,
        "failed_runs": runs,
        "overruled": [run for run in runs if run.overrule is not None],
        **drawn,
    }


def _label_tables(summary: Summary) -> list[dict[str, Any]]:
    """A table for each kind of label: values and conditions down, subjects across."""
    found = _conditions.labels(summary)
    tables = []
    for label in dict.fromkeys(r.label for r in found):
        own = [r for r in found if r.label == label]
        rates = {(r.value, r.condition, r.subject): r.rate for r in own}
        shown = [s for s in summary.subjects if any(r.subject == s for r in own)]
        lines = [
            (value, which, [rates.get((value, which, s)) for s in shown])
            for value in dict.fromkeys(r.value for r in own)
            for which in _conditions.ORDER
            if any((value, which, s) in rates for s in shown)
        ]
        tables.append({"label": label, "subjects": shown, "lines": lines})
    return tables


def _quality(summary: Summary) -> list[dict[str, Any]]:
    """The tables of the section on quality; none where nothing was measured."""
    tables = []
    for name, heading in (("overall", ""), ("task", "task")):
        rows = [r for r in summary.tables[name] if r.measures]
        if rows:
            shown = quantities({measure for r in rows for measure in r.measures})
            tables.append({"heading": heading, "rows": rows, "quantities": shown})
    return tables


def remarks(e: EpisodeResult) -> list[str]:
    """What broke, what did not hold, and what happened."""
    parts = reasons(e.criteria, e.messages)
    parts += [f"{str(c['name']).replace('_', ' ')} (step {c.get('step')})" for c in e.consequences]
    if e.error:
        line = " ".join(e.error.split())
        parts.insert(0, line if len(line) <= 200 else line[:199] + "…")
    return parts


def _folded(parts: list[str]) -> dict[str, Any]:
    """Remarks as a row shows them: a few words, and all of them when it is opened."""
    line = "; ".join(parts)
    if len(parts) <= 2 and len(line) <= SHORT:
        return {"line": line, "more": []}
    first = parts[0] if len(parts[0]) <= SHORT else parts[0][: SHORT - 1].rstrip() + "…"
    rest = [f"{len(parts) - MOST_REMARKS} more"] if len(parts) > MOST_REMARKS else []
    line = first + (f" and {len(parts) - 1} more" if len(parts) > 1 else "")
    return {"line": line, "more": parts[:MOST_REMARKS] + rest}


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file under a temporary name beside it and rename it, so that nobody ever reads half of one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(temporary).chmod(0o666 & ~_umask())
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current


def _figures(summary: Summary) -> list[dict[str, Any]]:
    from markupsafe import Markup

    found: list[tuple[str, str]] = []
    guidances = sorted({e.guidance for e in summary.episodes})
    for g in guidances:
        with_guidance = f", {g} guidance" if len(guidances) > 1 else ""
        for table, caption in (("task", "task"), ("level", "level"), ("category", "category"), ("group", "group")):
            if table != "task" and len({r.key for r in summary.tables[table]}) < 2:
                continue
            svg = _plots.success_plot(summary, table, g, f"{table}-{g}")
            found.append((f"Success rate by {caption}{with_guidance}.", svg))
        found.append((f"Number of steps to success{with_guidance}.", _plots.steps_plot(summary, g, f"steps-{g}")))
    for i, (s, g) in enumerate(_mapped(summary, guidances)):
        svg = _plots.heat_map(summary, s, g, f"heat-{i}")
        found.append(
            (f"Score by task and seed: {summary.name(s)}, {g} guidance. Solid blue: success. Grey: not graded.", svg)
        )
    # The SVG is ours: matplotlib escapes the texts in it.
    return [{"caption": caption, "svg": Markup(svg)} for caption, svg in found if svg]  # noqa: S704


def _mapped(summary: Summary, guidances: Sequence[str]) -> list[tuple[Subject, str]]:
    """Which heat maps to draw: those of models; of baselines where there is no model."""
    subjects = [s for s in summary.subjects if not s.baseline] or list(summary.subjects)
    return [(s, g) for s in subjects for g in guidances][:MAX_HEAT_MAPS]


def _notes(summary: Summary) -> list[str]:
    notes = [f"Interval: {r.success.note}." for r in summary.tables["overall"] if r.success and r.success.note]
    return list(dict.fromkeys(notes))


def _csv_row(e: EpisodeResult, overrules: Overrules) -> dict[str, Any]:
    row = dataclasses.asdict(e)
    row["condition"] = CONDITIONS.get((e.span, e.guidance), "")
    row["false_termination"] = e.false_termination
    row["failure"] = _conditions.cause(e, overrules)
    row["criteria"] = len(e.criteria)
    row["failed_criteria"] = " ".join(name for name, holds in e.criteria.items() if not holds)
    row["consequences"] = " ".join(f"{c['name']}@{c.get('step')}" for c in e.consequences)
    row.update({f"{bucket}_tokens": e.usage.get(bucket) for bucket in BUCKETS})
    return row


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        # A spreadsheet would run a text that begins like a formula (CWE-1236).
        return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else str(value)
    return value


def _plural(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
