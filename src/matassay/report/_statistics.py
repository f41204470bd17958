"""Rates with intervals, and what several seeds say together. Numbers in, numbers out.

Interval
    A Wilson interval on the *effective* number of episodes, n / d, with the critical value of Student's t instead of
    the normal one (the modified Wilson interval that Dean and Pagano, J. Surv. Stat. Methodol. 3 (2015) 484, and
    Franco et al., ibid. 7 (2019) 334, find to keep its level for proportions from clustered samples). It never leaves
    0..1 and does not shrink to a point when all episodes went alike.
Design effect d
    Variance of the rate by the cluster-robust (CRV1) formula of Liang and Zeger, Biometrika 73 (1986) 13, over the
    variance of as many independent episodes, never below 1. Clusters are groups (instruments, programs, studies); Student's t
    has one degree of freedom less than there are clusters (Cameron and Miller, J. Hum. Resour. 50 (2015) 317). That
    errors of evaluations must be clustered: Miller, arXiv:2411.00640.
pass@k, pass^k
    Chen et al., arXiv:2107.03374 (at least one of k), and Yao et al., arXiv:2406.12045 (all of k), unbiased, per task
    and then averaged over tasks.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

#: Fewer clusters than this say too little about how much clusters differ.
MIN_CLUSTERS = 5

LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """A rate with its confidence interval of level `LEVEL`."""

    rate: float
    """Fraction of successes."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""
    method: str
    """How it was computed, a few words."""
    note: str = ""
    """Why a weaker method than clustering by group was used; empty when it was not."""
    clusters: int = 0
    """Number of clusters behind it; 0 when episodes count as independent."""
    design_effect: float = 1.0
    """By how much clustering inflates the variance."""


def wilson(successes: float, n: float, critical: float | None = None) -> tuple[float, float]:
    """Wilson's score interval (J. Am. Stat. Assoc. 22 (1927) 209).

    Parameters
    ----------
    successes, n : float
        Counts; fractions are allowed (effective numbers).
    critical : float, optional
        Critical value; by default that of the normal distribution for `LEVEL`.

    Examples
    --------
    >>> low, high = wilson(81, 263)  # Newcombe, Stat. Med. 17 (1998) 857, table I
    >>> round(low, 4), round(high, 4)
    (0.2553, 0.3662)
    """
    z = _normal_critical() if critical is None else critical
    p, z2 = successes / n, z * z
    center = p + z2 / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low, high = (center - half) / (1 + z2 / n), (center + half) / (1 + z2 / n)
    # The ends are exact at 0 and 1; rounding must not say otherwise.
    return (0.0 if p == 0 else max(0.0, min(low, p))), (1.0 if p == 1 else min(1.0, max(high, p)))


def cluster_variance(values: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Cluster-robust (CRV1) variance of the mean: G/(G-1) times the sum of squared cluster sums of residuals over n^2.

    Parameters
    ----------
    values : sequence of float
        One per episode.
    clusters : sequence
        To which cluster each belongs; at least two different ones.
    """
    n, mean = len(values), math.fsum(values) / len(values)
    sums: dict[Hashable, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums.setdefault(cluster, []).append(value - mean)
    g = len(sums)
    if g < 2:
        raise ValueError("a cluster-robust variance needs at least two clusters")
    return g / (g - 1) * math.fsum(math.fsum(r) ** 2 for r in sums.values()) / n**2


def success_interval(values: Sequence[bool], groups: Sequence[Hashable], tasks: Sequence[Hashable]) -> Interval | None:
    """Success rate with its interval; None without episodes.

    Clusters are groups where there are at least `MIN_CLUSTERS`, else tasks where there are that many, else
    episodes count as independent; the note of the result says so.

    Parameters
    ----------
    values : sequence of bool
        Success of each graded episode.
    groups, tasks : sequence
        Instrument (program, study) and task of each.
    """
    n = len(values)
    if not n:
        return None
    k = sum(values)
    n_groups, n_tasks = len(set(groups)), len(set(tasks))
    few = f"{_count(n_groups, 'group')}: too few to cluster by (fewer than {MIN_CLUSTERS})"
    if n_groups >= MIN_CLUSTERS:
        unit, clusters, g, note = "group", groups, n_groups, ""
    elif n_tasks >= MIN_CLUSTERS:
        unit, clusters, g = "task", tasks, n_tasks
        note = f"{few}; clustered by task, so it speaks of these tasks, not of other groups"
    else:
        low, high = wilson(k, n)
        note = f"{few}, {_count(n_tasks, 'task')}: episodes taken as independent, so it speaks of these tasks only"
        return Interval(k / n, low, high, "Wilson", note)
    p = k / n
    effect = 1.0 if k in (0, n) else max(1.0, cluster_variance(list(map(float, values)), clusters) / (p * (1 - p) / n))
    low, high = wilson(k / effect, n / effect, _t_critical(g - 1))
    return Interval(p, low, high, f"Wilson, clustered by {unit}", note, g, effect)


def bounds(successes: int, graded: int, attempted: int) -> tuple[float, float] | None:
    """Success rate if every ungraded episode had failed, and if every one had succeeded; None without episodes."""
    if not attempted:
        return None
    return successes / attempted, (successes + attempted - graded) / attempted


def pass_at_k(n: int, c: int, k: int) -> float:
    """Probability that at least one of ``k`` attempts succeeds, from ``c`` successes in ``n`` attempts, unbiased.

    Examples
    --------
    >>> pass_at_k(5, 2, 1), pass_at_k(5, 2, 3)
    (0.4, 0.9)
    """
    _check(n, c, k)
    return 1 - math.comb(n - c, k) / math.comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float:
    """Probability that all of ``k`` attempts succeed, from ``c`` successes in ``n`` attempts, unbiased.

    Examples
    --------
    >>> pass_hat_k(5, 4, 2)
    0.6
    """
    _check(n, c, k)
    return math.comb(c, k) / math.comb(n, k)


def pass_curves(counts: Mapping[Any, tuple[int, int]]) -> tuple[list[float], list[float]]:
    """pass@k and pass^k, averaged over tasks, for k from 1 to the smallest number of attempts of any task.

    Parameters
    ----------
    counts : mapping
        Task -> (graded attempts, successes); at least one attempt each.

    Returns
    -------
    at_least_one, all : list of float
        Entry k - 1 belongs to k.
    """
    if not counts:
        return [], []
    most = min(n for n, _ in counts.values())
    ks = range(1, most + 1)
    at = [math.fsum(pass_at_k(n, c, k) for n, c in counts.values()) / len(counts) for k in ks]
    every = [math.fsum(pass_hat_k(n, c, k) for n, c in counts.values()) / len(counts) for k in ks]
    return at, every


def mean(values: Sequence[float]) -> float | None:
    """Arithmetic mean; None of nothing."""
    return math.fsum(values) / len(values) if values else None


def _check(n: int, c: int, k: int) -> None:
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(f"expected 0 <= successes <= attempts and 1 <= k <= attempts, got n={n}, c={c}, k={k}")


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


@lru_cache
def _normal_critical() -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(0.5 + LEVEL / 2)


@lru_cache
def _t_critical(degrees: int) -> float:
    from scipy.special import stdtrit  # lazy: only reports with many clusters pay for it

    return float(stdtrit(degrees, 0.5 + LEVEL / 2))
