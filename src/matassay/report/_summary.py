"""From rows of results to the numbers of a report: pure functions, no files."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from matassay.core import EpisodeResult, Outcome
from matassay.worlds.workspace import WEAK

from ._quality import Measured
from ._statistics import Interval, bounds, mean, pass_curves, success_interval

SCHEMA_VERSION = 1

#: Agents that say what a result means: doing nothing, acting by chance, knowing the way, and a person.
BASELINES: Final = ("reference", "random", "null", "human")

#: Baselines without which a table is not complete.
NEEDED_BASELINES: Final = ("reference", "random", "null")

#: Raw token buckets: fresh input, read from cache, written to cache, output.
BUCKETS: Final = ("input", "cache_read", "cache_write", "output")

MIN_SEEDS: Final = 3

#: Tasks of which a warning tells the checksums of their grading code.
MOST_CHECKSUMS: Final = 3

#: What a sandbox tells among its versions that is another in every episode, and no version of anything.
OF_THE_EPISODE: Final = ("memory_peak", "oom_kills", "user")

LEVEL_ORDER: Final = ("easy", "medium", "hard")

#: Condition names of the papers: span x guidance.
CONDITIONS: Final = {
    ("single", "full"): "SF",
    ("single", "reduced"): "SR",
    ("workflow", "full"): "WF",
    ("workflow", "reduced"): "WR",
}


@dataclass(frozen=True, order=True)
class Subject:
    """Who acted: an agent, with a model where it has one."""

    agent: str
    """Name of the agent."""
    model: str
    """Name of the model; empty for agents without one."""

    @property
    def baseline(self) -> bool:
        """Whether it is one of `BASELINES`."""
        return self.agent in BASELINES

    @property
    def label(self) -> str:
        """A name for tables and plots."""
        return self.model if self.model and not self.baseline else self.agent


@dataclass(frozen=True)
class Row:
    """What a set of episodes of one subject under one guidance shows."""

    subject: Subject
    """Who acted."""
    guidance: str
    """``full`` or ``reduced``."""
    key: str
    """What the episodes have in common: a task id, a level, a category, an instrument, a span; ``all``."""
    attempted: int
    """Episodes."""
    scored: int
    """Of those, graded; every rate and mean below has this denominator."""
    excluded: dict[str, int]
    """Episodes that could not be graded, by outcome."""
    outcomes: dict[str, int]
    """All episodes, by outcome."""
    tasks: int
    """Different tasks."""
    seeds: int
    """Different seeds."""
    successes: int
    """Graded episodes in which every criterion held."""
    success: Interval | None
    """Success rate and interval; None when nothing was graded."""
    success_bounds: tuple[float, float] | None
    """Success rate over all attempted episodes with the ungraded ones as failures, and as successes."""
    score: float | None
    """Mean score."""
    score_bounds: tuple[float, float] | None
    """Mean score over all attempted episodes with the ungraded ones as 0, and as 1."""
    pass_at_k: list[float]
    """Probability that at least one of k seeds of a task succeeds, k = 1, 2, ...; averaged over tasks."""
    pass_hat_k: list[float]
    """Probability that all of k seeds of a task succeed."""
    steps: float | None
    """Mean number of steps."""
    steps_on_success: float | None
    """Mean number of steps of the successful episodes."""
    false_terminations: int
    """Episodes that the agent ended itself without having succeeded."""
    false_termination_rate: float | None
    """Of the graded episodes."""
    invalid_actions: int
    """Refused actions, of graded episodes."""
    invalid_action_rate: float | None
    """Refused actions per step, of graded episodes."""
    consequences: dict[str, int]
    """Episodes in which each mishap happened at least once, by name."""
    usage: dict[str, int | None]
    """Raw tokens of all attempted episodes, by bucket; None when no episode says."""
    cost: float | None
    """US dollars of all attempted episodes; None when that of any episode is unknown."""
    measures: dict[str, Measured]
    """Continuous measures of quality over the graded episodes that have them, by name."""

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        out = asdict(self)
        out["agent"], out["model"] = self.subject.agent, self.subject.model
        del out["subject"]
        return {"agent": out.pop("agent"), "model": out.pop("model"), **out}


@dataclass(frozen=True)
class RunSettings:
    """What a log says of the circumstances of its episodes, beyond each row (trust.md, C5)."""

    log: str
    """The log file."""
    created: str = ""
    """When the run began, ISO 8601."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Scaffold, step limit, observation mode, versions of packages, ..., by name."""


@dataclass(frozen=True)
class Summary:
    """All numbers of a report."""

    episodes: tuple[EpisodeResult, ...]
    """The rows behind it, in a fixed order, exact duplicates removed."""
    subjects: tuple[Subject, ...]
    """Who acted, models first."""
    tables: Mapping[str, tuple[Row, ...]]
    """``overall``, ``span``, ``level``, ``category``, ``group``, ``task`` -> rows."""
    warnings: tuple[str, ...]
    """What a reader must know before comparing numbers."""
    runs: tuple[RunSettings, ...] = ()
    """Circumstances, one entry per log."""

    def name(self, subject: Subject) -> str:
        """Label of a subject; with its agent where one model acted through several."""
        twins = [s for s in self.subjects if s.label == subject.label and s != subject]
        return f"{subject.label} ({subject.agent})" if twins else subject.label

    def rows(self, table: str, subject: Subject | None = None) -> list[Row]:
        """Rows of a table, of one subject if given."""
        return [r for r in self.tables[table] if subject is None or r.subject == subject]

    def to_json(self) -> dict[str, Any]:
        """As JSON types: the content of ``report.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "subjects": [{"agent": s.agent, "model": s.model, "baseline": s.baseline} for s in self.subjects],
            "warnings": list(self.warnings),
            "tables": {name: [r.to_json() for r in rows] for name, rows in self.tables.items()},
            "tasks": self.task_versions(),
            "runs": [{"log": r.log, "created": r.created, "settings": dict(r.settings)} for r in self.runs],
            "versions": self.versions(),
        }

    def task_versions(self) -> list[dict[str, Any]]:
        """Revisions and grader checksums of each task, as found in the rows."""
        found: dict[str, tuple[set[int], set[str]]] = defaultdict(lambda: (set(), set()))
        for e in self.episodes:
            found[e.id][0].add(e.task_revision)
            found[e.id][1].add(e.grader_checksum)
        return [
            {"id": id, "task_revisions": sorted(r), "grader_checksums": sorted(c)}
            for id, (r, c) in sorted(found.items())
        ]

    def versions(self) -> dict[str, list[str]]:
        """All versions of each program, font and package behind the rows."""
        found = _versions(self.episodes)
        return {name: sorted(values) for name, values in sorted(found.items())}


def summarise(results: Iterable[EpisodeResult], runs: Sequence[RunSettings] = ()) -> Summary:
    """Make all numbers of a report; the order of the results does not matter.

    Parameters
    ----------
    results : iterable of EpisodeResult
        Any number of episodes of any agents; an episode that is given twice counts once.
    runs : sequence of RunSettings, optional
        Circumstances, one entry per log.
    """
    episodes = _ordered(results)
    subjects = tuple(sorted({subject_of(e) for e in episodes}, key=_subject_order))
    tables = {
        "overall": _table(episodes, lambda e: "all"),
        "span": _table(episodes, lambda e: e.span),
        "level": _table(episodes, lambda e: e.level or "unknown"),
        "category": _table(episodes, lambda e: e.category or "unknown"),
        "group": _table(episodes, _group),
        "task": _table(episodes, lambda e: e.id),
    }
    return Summary(episodes, subjects, tables, tuple(_warnings(episodes, subjects)), tuple(runs))


def aggregate(episodes: Sequence[EpisodeResult], subject: Subject, guidance: str, key: str) -> Row:
    """Numbers of one set of episodes."""
    graded = [e for e in episodes if e.outcome.graded]
    # A graded episode always has both; anything else is a mistake of whoever made the row.
    values = [bool(e.success) for e in graded]
    scores = [float(e.score or 0.0) for e in graded]
    attempted, scored, successes = len(episodes), len(graded), sum(values)
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for e in graded:
        n, c = counts.get((e.id, e.guidance), (0, 0))
        counts[e.id, e.guidance] = n + 1, c + bool(e.success)
    at, every = pass_curves(counts)
    steps = sum(e.steps for e in graded)
    false_terminations = sum(e.false_termination for e in graded)
    invalid = sum(e.invalid_actions for e in graded)
    happened = Counter(name for e in episodes for name in {str(c["name"]) for c in e.consequences})
    costs = [e.cost for e in episodes]
    score = mean(scores)
    return Row(
        subject=subject,
        guidance=guidance,
        key=key,
        attempted=attempted,
        scored=scored,
        excluded=_counts(e.outcome for e in episodes if not e.outcome.graded),
        outcomes=_counts(e.outcome for e in episodes),
        tasks=len({e.id for e in episodes}),
        seeds=len({e.seed for e in episodes}),
        successes=successes,
        success=success_interval(values, [_group(e) for e in graded], [e.id for e in graded]),
        success_bounds=bounds(successes, scored, attempted),
        score=score,
        score_bounds=_score_bounds(scores, attempted),
        pass_at_k=at,
        pass_hat_k=every,
        steps=mean([e.steps for e in graded]),
        steps_on_success=mean([e.steps for e in graded if e.success]),
        false_terminations=false_terminations,
        false_termination_rate=false_terminations / scored if scored else None,
        invalid_actions=invalid,
        invalid_action_rate=invalid / steps if steps else None,
        consequences=dict(sorted(happened.items())),
        usage={b: _total([e.usage.get(b) for e in episodes]) for b in BUCKETS},
        cost=math.fsum(c for c in costs if c is not None) if costs and None not in costs else None,
        measures=_measured(graded),
    )


def _measured(episodes: Sequence[EpisodeResult]) -> dict[str, Measured]:
    found: dict[str, list[float]] = defaultdict(list)
    for e in episodes:
        for name, value in e.measures.items():
            found[name].append(value)
    return {
        name: Measured(len(values), math.fsum(values) / len(values), statistics.median(values))
        for name, values in sorted(found.items())
    }


def _score_bounds(scores: Sequence[float], attempted: int) -> tuple[float, float] | None:
    if not attempted:
        return None
    total = (mean(scores) or 0.0) * len(scores)
    low = total / attempted
    return low, min(1.0, low + (attempted - len(scores)) / attempted)


def _total(values: Sequence[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def _counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    found = Counter(outcomes)
    return {str(o): found[o] for o in Outcome if found[o]}


def _group(e: EpisodeResult) -> str:
    return f"{e.suite}/{e.group}" if e.suite or e.group else "/".join(e.id.split("/")[:2])


def subject_of(e: EpisodeResult) -> Subject:
    """Who acted in an episode."""
    # The engine's name of a scripted agent's "model" is no model of anybody.
    return Subject(e.agent, "" if e.agent in BASELINES else e.model)


def _subject_order(s: Subject) -> tuple[bool, int, str, str]:
    return s.baseline, BASELINES.index(s.agent) if s.baseline else 0, s.model, s.agent


def _ordered(results: Iterable[EpisodeResult]) -> tuple[EpisodeResult, ...]:
    kept: dict[Any, EpisodeResult] = {}
    for i, e in enumerate(results):
        key = (e.log, e.sample_id, subject_of(e), e.id, e.guidance, e.seed)
        kept.setdefault(key if e.log and e.sample_id else i, e)
    return tuple(
        sorted(
            kept.values(), key=lambda e: (*_subject_order(subject_of(e)), e.guidance, e.id, e.seed, e.log, e.sample_id)
        )
    )


def _key_order(key: str) -> tuple[int, str]:
    return (LEVEL_ORDER.index(key), key) if key in LEVEL_ORDER else (0, key)


def _table(episodes: Sequence[EpisodeResult], key: Callable[[EpisodeResult], str]) -> tuple[Row, ...]:
    sets: dict[tuple[str, Subject, str], list[EpisodeResult]] = defaultdict(list)
    for e in episodes:
        sets[key(e), subject_of(e), e.guidance].append(e)
    order = sorted(sets, key=lambda k: (_key_order(k[0]), _subject_order(k[1]), k[2]))
    return tuple(aggregate(sets[k], k[1], k[2], k[0]) for k in order)


def _warnings(episodes: Sequence[EpisodeResult], subjects: Sequence[Subject]) -> Iterable[str]:
    if not episodes:
        yield "There are no finished episodes in these logs."
        return
    weak = sorted({kind for e in episodes if (kind := e.versions.get("sandbox", "").split(" ")[0]) in WEAK})
    if weak:
        yield (
            f"Some episodes ran in the sandbox {' and '.join(weak)}, which does not keep an agent from the references or "
            "from this machine: they cannot be compared with others."
        )
    ungraded = _counts(e.outcome for e in episodes if not e.outcome.graded)
    if ungraded:
        causes = ", ".join(f"{n} {cause.replace('_', ' ')}" for cause, n in ungraded.items())
        yield (
            f"{sum(ungraded.values())} of {len(episodes)} episodes could not be graded ({causes}); rates leave them out, "
            "the bounds show what they could change."
        )
    for subject in subjects:
        own = [e for e in episodes if subject_of(e) == subject]
        yield from _about_subject(own, subject, episodes)
    for tasks, revisions in _mixed(episodes, lambda e: str(e.task_revision)):
        yield f"{tasks}: episodes of different task revisions ({revisions}) stand side by side."
    otherwise = dict(_mixed(episodes, lambda e: e.grader_checksum))
    if len(otherwise) > MOST_CHECKSUMS:  # each task has its own, so that one change of the code would fill the page
        first, *others = _differing(episodes, lambda e: e.grader_checksum)
        otherwise = {f"{first} and {len(others)} more tasks": "the table of checksums has all"}
    for tasks, sums in otherwise.items():
        yield f"{tasks}: graded by different grading code ({sums}); `matassay regrade` judges them alike."
    for (id, guidance, label), n in _repeated(episodes):
        yield f"{id} ({guidance}, {label}): {n} episodes of the same seed; each counts."


def _about_subject(own: Sequence[EpisodeResult], subject: Subject, episodes: Sequence[EpisodeResult]) -> Iterable[str]:
    seeds: dict[tuple[str, str], set[int]] = defaultdict(set)
    for e in own:
        seeds[e.id, e.guidance].add(e.seed)
    fewest = min(len(s) for s in seeds.values())
    if fewest < MIN_SEEDS:
        yield (
            f"{subject.label}: only {fewest} seed{'' if fewest == 1 else 's'} of some tasks; a result to be quoted needs "
            f"at least {MIN_SEEDS} (`--seeds {MIN_SEEDS}`)."
        )
    mappings = sorted({e.tool_mapping for e in own if e.tool_mapping})
    if len(mappings) > 1:
        yield f"{subject.label}: episodes with different tool mappings are mixed ({', '.join(mappings)})."
    for program, versions in sorted(_versions(own).items()):
        if len(versions) > 1:
            yield f"{subject.label}: different versions of {program} ({', '.join(sorted(versions))})."
    if not subject.baseline:
        asked = {e.id for e in own}
        for agent in NEEDED_BASELINES:
            covered = {e.id for e in episodes if e.agent == agent}
            if missing := len(asked - covered):
                which = "any" if missing == len(asked) else f"{missing} of the {len(asked)}"
                yield (
                    f"No {agent} row for {which} of {subject.label}'s tasks: `matassay run ... --agent {agent}` makes "
                    "it in a minute, and `matassay report` takes several log folders."
                )


def _versions(episodes: Sequence[EpisodeResult]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for e in episodes:
        for name, version in e.versions.items():
            if name not in OF_THE_EPISODE:
                found[name].add(str(version))
    return found


def _mixed(episodes: Sequence[EpisodeResult], value: Callable[[EpisodeResult], str]) -> Iterable[tuple[str, str]]:
    """Tasks whose episodes differ in something, and the values that they have; tasks with the same values together."""
    together: dict[str, list[str]] = defaultdict(list)
    for id, values in _differing(episodes, value).items():
        together[", ".join(sorted(values))].append(id)
    for values_, ids in together.items():
        yield ids[0] if len(ids) == 1 else f"{ids[0]} and {len(ids) - 1} more tasks", values_


def _differing(episodes: Sequence[EpisodeResult], value: Callable[[EpisodeResult], str]) -> dict[str, set[str]]:
    """Tasks whose episodes differ in something, in the order of their ids, and the values that they have."""
    found: dict[str, set[str]] = defaultdict(set)
    for e in episodes:
        found[e.id].add(value(e))
    return {id: values for id, values in sorted(found.items()) if len(values) > 1}


def _repeated(episodes: Sequence[EpisodeResult]) -> Iterable[tuple[tuple[str, str, str], int]]:
    found = Counter((e.id, e.guidance, subject_of(e).label, e.seed) for e in episodes)
    worst: dict[tuple[str, str, str], int] = {}
    for (id, guidance, label, _), n in found.items():
        if n > 1:
            worst[id, guidance, label] = max(n, worst.get((id, guidance, label), 0))
    return sorted(worst.items())
