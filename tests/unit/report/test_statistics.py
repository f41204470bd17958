"""Intervals and pass rates against published values, closed forms and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.report import bounds, pass_at_k, pass_hat_k, success_interval, wilson
from matassay.report._statistics import MIN_CLUSTERS, cluster_variance, mean, pass_curves


# Newcombe, Stat. Med. 17 (1998) 857, table I, method 3.
@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_published(k, n, low, high):
    assert wilson(k, n) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 500), st.data())
def test_wilson_is_where_the_score_test_turns(n, data):
    """Inside the ends the score test does not reject, and it rejects outside: that defines the interval."""
    k = data.draw(st.integers(0, n))
    low, high = wilson(k, n)
    assert 0 <= low <= k / n <= high <= 1
    for end in (low, high):
        if 0 < end < 1:
            assert abs(k / n - end) / math.sqrt(end * (1 - end) / n) == pytest.approx(1.959964, abs=1e-4)
    assert wilson(n - k, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


def test_cluster_variance_by_hand():
    # Two clusters, mean 1/2: residual sums 1 and -1, so G/(G-1) (1 + 1) / 4^2 = 2 * 2 / 16.
    assert cluster_variance([1, 1, 0, 0], "aabb") == pytest.approx(0.25)
    # Clusters that are alike say nothing against the mean.
    assert cluster_variance([1, 0, 1, 0], "aabb") == 0
    with pytest.raises(ValueError, match="two clusters"):
        cluster_variance([1.0, 0.0], "aa")


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2).filter(lambda v: len({c for c, _ in v}) > 1))
def test_cluster_variance_is_the_sandwich_of_a_regression_on_a_constant(rows):
    groups, y = np.array([g for g, _ in rows]), np.array([float(v) for _, v in rows])
    x = np.ones((len(y), 1))
    bread = np.linalg.inv(x.T @ x)
    residual = y - x @ (bread @ x.T @ y)
    scores = [x[groups == g].T @ residual[groups == g] for g in np.unique(groups)]
    meat = sum(np.outer(s, s) for s in scores)
    g = len(scores)
    expected = (bread @ meat @ bread)[0, 0] * g / (g - 1)
    assert cluster_variance(list(y), list(groups)) == pytest.approx(expected, abs=1e-12)


@given(st.lists(st.booleans(), min_size=2, max_size=40))
def test_clusters_of_one_give_the_sample_variance(values):
    y = np.array(values, float)
    assert cluster_variance(list(y), range(len(y))) == pytest.approx(y.var(ddof=1) / len(y), abs=1e-12)


@given(st.integers(1, 9), st.data())
def test_pass_rates_are_what_counting_all_choices_gives(n, data):
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    choices = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, choices)) / len(choices))


def test_pass_at_k_as_in_the_reference_code_of_chen():
    # 1 - prod(1 - k / arange(n - c + 1, n + 1)), arXiv:2107.03374, figure 3.
    for n, c, k in ((200, 13, 10), (100, 1, 100), (50, 45, 20)):
        expected = 1.0 if n - c < k else 1 - np.prod(1 - k / np.arange(n - c + 1, n + 1))
        assert pass_at_k(n, c, k) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_pass_rates_refuse_nonsense(n, c, k):
    for rate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="expected"):
            rate(n, c, k)


@given(st.dictionaries(st.integers(), st.tuples(st.integers(1, 8), st.integers(0, 8)).filter(lambda t: t[1] <= t[0])))
def test_pass_curves_rise_and_fall(counts):
    at, every = pass_curves(counts)
    assert len(at) == len(every) == min((n for n, _ in counts.values()), default=0)
    tiny = 1e-12
    assert all(a <= b + tiny for a, b in itertools.pairwise(at))
    assert all(a >= b - tiny for a, b in itertools.pairwise(every))
    if counts:
        assert at[0] == pytest.approx(every[0]) == pytest.approx(sum(c / n for n, c in counts.values()) / len(counts))


def test_interval_of_few_episodes_is_plain_wilson_and_says_so():
    i = success_interval([True, False, True], ["xrd"] * 3, ["t"] * 3)
    assert (i.low, i.high) == wilson(2, 3)
    assert i.method == "Wilson"
    assert "independent" in i.note
    assert success_interval([], [], []) is None


def test_interval_of_one_instrument_is_clustered_by_task_and_says_so():
    tasks = [t for t in range(9) for _ in range(5)]
    values = [t % 2 == 0 for t in tasks]  # seeds of a task go alike: 45 episodes are worth 9
    i = success_interval(values, ["xrd"] * 45, tasks)
    assert i.method == "Wilson, clustered by task"
    assert i.clusters == 9
    assert "1 group" in i.note
    p = 5 / 9
    # Residual sums: 5 (1 - p) five times, -5 p four times.
    variance = 9 / 8 * (5 * (5 * (1 - p)) ** 2 + 4 * (5 * p) ** 2) / 45**2
    assert i.design_effect == pytest.approx(variance / (p * (1 - p) / 45)) == pytest.approx(45 / 8)
    assert (i.low, i.high) == pytest.approx(wilson(8 * p, 8, 2.306004), abs=1e-6)


def test_interval_of_many_instruments_is_clustered_by_them():
    groups = [g for g in range(8) for _ in range(10)]
    tasks = list(range(80))
    alike = success_interval([g < 4 for g in groups], groups, tasks)
    mixed = success_interval([t % 2 == 0 for t in tasks], groups, tasks)
    assert alike.method == mixed.method == "Wilson, clustered by group"
    assert alike.note == mixed.note == ""
    assert mixed.design_effect == 1.0  # never narrower than independent episodes
    assert (mixed.low, mixed.high) == pytest.approx(wilson(40, 80, 2.364624), abs=1e-6)
    assert alike.high - alike.low > 2 * (mixed.high - mixed.low)


def test_interval_does_not_shrink_to_a_point():
    groups = [g for g in range(MIN_CLUSTERS) for _ in range(4)]
    i = success_interval([True] * 20, groups, list(range(20)))
    t = 2.776445  # t(4)
    assert (i.low, i.high) == pytest.approx((20 / (20 + t * t), 1.0), abs=1e-6)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 7), st.integers(0, 30)), min_size=1), st.randoms())
def test_interval_holds_its_rate_and_ignores_the_order(rows, rng):
    first = success_interval(*zip(*rows, strict=True))
    assert 0 <= first.low <= first.rate <= first.high <= 1
    assert first.design_effect >= 1
    shuffled = list(rows)
    rng.shuffle(shuffled)
    assert success_interval(*zip(*shuffled, strict=True)) == first


def test_bounds_and_mean():
    assert bounds(3, 8, 10) == (0.3, 0.5)
    assert bounds(0, 0, 0) is None
    assert mean([]) is None
    assert mean([0.1] * 10) == pytest.approx(0.1)
