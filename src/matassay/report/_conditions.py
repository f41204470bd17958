"""Tables of the four conditions, of kinds, of repeated runs and of failures, as CompMat-Bench has them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from matassay.core import EpisodeResult, Failure

from ._reasons import reasons
from ._summary import CONDITIONS, Subject, Summary, subject_of

#: Conditions in the order of the paper's figures.
ORDER: Final = ("SF", "SR", "WF", "WR")

#: The condition of the same span and the other guidance.
GUIDANCE_TWIN: Final = {"SF": "SR", "SR": "SF", "WF": "WR", "WR": "WF"}

#: Failures in the order of the paper's figure 5: scientific, operational, the rest.
FAILURES: Final = (
    Failure.WRONG_CHOICE,
    Failure.WRONG_IMPLEMENTATION,
    Failure.SOFTWARE_USAGE,
    Failure.FORMAT,
    Failure.LIMIT,
    Failure.UNCLASSIFIED,
)

#: The same in groups, as the paper has them.
FAILURE_GROUPS: Final = {"scientific": FAILURES[:2], "operational": FAILURES[2:4], "other": FAILURES[4:]}


@dataclass(frozen=True)
class Overrule:
    """What a person found out about a failed run."""

    failure: Failure
    """Cause."""
    by: str
    """Who says so."""
    why: str
    """Why, in words."""


Overrules = Mapping[str, Overrule]
"""What people found out about failed runs, by `run_key`; it stands above the rules."""


@dataclass(frozen=True)
class Rate:
    """Passed runs among graded ones."""

    passed: int
    """Runs in which every check held."""
    runs: int
    """Graded runs."""

    @property
    def percent(self) -> float | None:
        """Pass rate, %; None without runs."""
        return 100.0 * self.passed / self.runs if self.runs else None


@dataclass(frozen=True)
class Quarters:
    """Pass rates of one subject under the four conditions (the paper's figure 4)."""

    subject: Subject
    """Who acted."""
    suite: str
    """In which suite."""
    rates: Mapping[str, Rate]
    """By condition."""

    def difference(self, first: str, second: str) -> float | None:
        """Pass rate of the first condition minus that of the second, percentage points."""
        a, b = self.rates[first].percent, self.rates[second].percent
        return None if a is None or b is None else a - b


@dataclass(frozen=True)
class KindRow:
    """Pass rates of one subject by kind of task, with the cost of its runs (the paper's table 2)."""

    subject: Subject
    """Who acted."""
    suite: str
    """In which suite."""
    condition: str
    """``SF``, ``SR``, ``WF`` or ``WR``."""
    kinds: Mapping[str, Rate]
    """By category."""
    all: Rate
    """Over all."""
    cost: float | None
    """US dollars of the runs; None if that of any is unknown."""


@dataclass(frozen=True)
class RepeatRow:
    """How often tasks that were run n times passed (the paper's table 3)."""

    subject: Subject
    """Who acted."""
    suite: str
    """In which suite."""
    condition: str
    """``SF``, ``SR``, ``WF`` or ``WR``."""
    n: int
    """Runs of each of these tasks."""
    rate: Rate
    """Over all of them."""
    tasks_by_passes: tuple[int, ...]
    """Number of tasks that passed 0, 1, ..., n times."""

    @property
    def mixed(self) -> int:
        """Tasks that passed in some runs and failed in others."""
        return sum(self.tasks_by_passes[1:-1])


@dataclass(frozen=True)
class FailureRow:
    """Failed runs of one subject under one condition by their cause (the paper's figure 5)."""

    subject: Subject
    """Who acted."""
    suite: str
    """In which suite."""
    condition: str
    """``SF``, ``SR``, ``WF`` or ``WR``."""
    runs: int
    """Graded runs."""
    counts: Mapping[Failure, int]
    """Failed runs by cause."""
    overruled: int
    """Of those, whose cause a person has set."""

    def share(self, failure: Failure) -> float:
        """Fraction of all graded runs."""
        return self.counts.get(failure, 0) / self.runs if self.runs else 0.0


@dataclass(frozen=True)
class LabelRow:
    """Pass rate by a label: a code, a method family, a study."""

    label: str
    """Which kind of label."""
    value: str
    """Its value; ``none`` where a task names none."""
    subject: Subject
    """Who acted."""
    condition: str
    """``SF``, ``SR``, ``WF`` or ``WR``."""
    rate: Rate
    """Pass rate."""


@dataclass(frozen=True)
class FailedRun:
    """A failed run with its cause and why that was found."""

    key: str
    """Which run, for overruling."""
    episode: EpisodeResult
    """The run."""
    by_rule: Failure
    """Cause by the rules on the failed checks."""
    failure: Failure
    """Cause that counts."""
    reasons: tuple[str, ...]
    """What failed checks said."""
    overrule: Overrule | None = None
    """What a person says of it."""


def condition(e: EpisodeResult) -> str:
    """``SF``, ``SR``, ``WF`` or ``WR``."""
    return CONDITIONS.get((e.span, e.guidance), "")


def run_key(e: EpisodeResult) -> str:
    """Name of a run that stays the same when logs are moved: episode, agent and model."""
    return f"{e.id}@{e.guidance}#{e.seed}|{e.agent}|{e.model}"


def cause(e: EpisodeResult, overrules: Overrules) -> Failure | None:
    """The cause of a failed run: what a person says, else what the rules find; None for a run that did not fail."""
    found = e.failure
    said = overrules.get(run_key(e))
    return found if found is None or said is None else said.failure


def quarters(summary: Summary) -> list[Quarters]:
    """Pass rates under the four conditions; where both guidances were run, of the tasks that have both."""
    found = []
    for (suite, subject), own in _by(summary, lambda e: (e.suite, subject_of(e))).items():
        by = {c: _in_both(own, c) for c in ORDER}
        rates = {c: _rate(found) for c, found in by.items()}
        found.append(Quarters(subject, suite, rates))
    return found


def _in_both(episodes: Sequence[EpisodeResult], which: str) -> list[EpisodeResult]:
    """Episodes of a condition, of the tasks that were run under the other guidance as well, if any was."""
    graded = [e for e in episodes if e.outcome.graded]
    own = [e for e in graded if condition(e) == which]
    other = {e.id for e in graded if condition(e) == GUIDANCE_TWIN[which]}
    return [e for e in own if e.id in other] if other & {e.id for e in own} else own


def kinds(summary: Summary) -> list[KindRow]:
    """Pass rates by category, with cost."""
    found = []
    for (suite, subject, which), own in _by(summary, lambda e: (e.suite, subject_of(e), condition(e))).items():
        by_kind = {k: _rate(e for e in own if e.category == k) for k in sorted({e.category for e in own})}
        costs = [e.cost for e in own]
        cost = None if not costs or any(c is None for c in costs) else float(sum(c or 0.0 for c in costs))
        found.append(KindRow(subject, suite, which, by_kind, _rate(own), cost))
    return found


def repeats(summary: Summary) -> list[RepeatRow]:
    """Tasks that were run at least twice, by their number of runs."""
    found = []
    for (suite, subject, which), own in _by(summary, lambda e: (e.suite, subject_of(e), condition(e))).items():
        counts: dict[str, list[bool]] = defaultdict(list)
        for e in own:
            if e.outcome.graded:
                counts[e.id].append(bool(e.success))
        for n in sorted({len(passes) for passes in counts.values()} - {1}):
            passes = [sum(p) for p in counts.values() if len(p) == n]
            spread = tuple(passes.count(k) for k in range(n + 1))
            rate = Rate(sum(passes), n * len(passes))
            found.append(RepeatRow(subject, suite, which, n, rate, spread))
    return found


def failures(summary: Summary, overrules: Overrules) -> list[FailureRow]:
    """Failed runs by cause."""
    found = []
    for (suite, subject, which), own in _by(summary, lambda e: (e.suite, subject_of(e), condition(e))).items():
        causes = [c for e in own if (c := cause(e, overrules)) is not None]
        overruled = sum(e.failure is not None and run_key(e) in overrules for e in own)
        graded = sum(e.outcome.graded for e in own)
        found.append(FailureRow(subject, suite, which, graded, Counter(causes), overruled))
    return found


def labels(summary: Summary) -> list[LabelRow]:
    """Pass rates by each label that any task has, and by study of the tasks that have labels."""
    labelled = [(e, {**e.labels, "study": [e.group]} if e.labels else {}) for e in summary.episodes]
    names = sorted({name for _, found in labelled for name, values in found.items() if values})
    found = []
    for name in names:
        pairs: dict[tuple[str, Subject, str], list[EpisodeResult]] = defaultdict(list)
        for e, of_task in labelled:
            if name in of_task:
                for value in of_task[name] or ["none"]:
                    pairs[value, subject_of(e), condition(e)].append(e)
        order = {s: i for i, s in enumerate(summary.subjects)}
        for (value, subject, which), own in sorted(
            pairs.items(), key=lambda p: (p[0][0] == "none", p[0][0].lower(), order[p[0][1]], p[0][2])
        ):
            found.append(LabelRow(name, value, subject, which, _rate(own)))
    return found


def failed_runs(summary: Summary, overrules: Overrules) -> list[FailedRun]:
    """Every failed run of a subject that is no baseline, with its cause and what its checks said."""
    found = []
    for e in summary.episodes:
        by_rule, counted = e.failure, cause(e, overrules)
        if by_rule is None or counted is None or subject_of(e).baseline:
            continue
        said = {name: e.criteria.get(name, False) for name in e.messages}
        key, causes = run_key(e), tuple(reasons(said, e.messages))
        found.append(FailedRun(key, e, by_rule, counted, causes, overrules.get(key)))
    return found


def idle_overrules(episodes: Iterable[EpisodeResult], overrules: Overrules) -> list[str]:
    """Runs in the overrules that are not among the failed ones, so that what people said of them changes nothing."""
    failed = {run_key(e) for e in episodes if e.failure is not None}
    return [run for run in overrules if run not in failed]


def to_json(summary: Summary, overrules: Overrules) -> dict[str, Any]:
    """All of these tables as JSON types."""
    return {
        "conditions": [
            {**_who(q), "rates": {c: asdict(r) for c, r in q.rates.items()}} for q in quarters(summary)
        ],
        "kinds": [
            {**_who(k), "condition": k.condition, "kinds": {n: asdict(r) for n, r in k.kinds.items()},
             "all": asdict(k.all), "cost": k.cost}
            for k in kinds(summary)
        ],
        "repeats": [
            {**_who(r), "condition": r.condition, "n": r.n, **asdict(r.rate), "mixed": r.mixed,
             "tasks_by_passes": list(r.tasks_by_passes)}
            for r in repeats(summary)
        ],
        "failures": [
            {**_who(f), "condition": f.condition, "runs": f.runs, "overruled": f.overruled,
             "counts": {str(kind): f.counts.get(kind, 0) for kind in FAILURES}}
            for f in failures(summary, overrules)
        ],
        "labels": [
            {"label": r.label, "value": r.value, "agent": r.subject.agent, "model": r.subject.model,
             "condition": r.condition, **asdict(r.rate)}
            for r in labels(summary)
        ],
    }  # fmt: skip


def _who(row: Quarters | KindRow | RepeatRow | FailureRow) -> dict[str, str]:
    return {"suite": row.suite, "agent": row.subject.agent, "model": row.subject.model}


def _rate(episodes: Iterable[EpisodeResult]) -> Rate:
    graded = [e for e in episodes if e.outcome.graded]
    return Rate(sum(bool(e.success) for e in graded), len(graded))


def _by(summary: Summary, key: Callable[[EpisodeResult], Any]) -> dict[Any, list[EpisodeResult]]:
    """Episodes by a key, in the order of suites, of subjects and of conditions."""
    found: dict[Any, list[EpisodeResult]] = defaultdict(list)
    order: Sequence[Subject] = summary.subjects
    ordered = sorted(summary.episodes, key=lambda e: (e.suite, order.index(subject_of(e)), condition(e)))
    for e in ordered:
        found[key(e)].append(e)
    return dict(found)
