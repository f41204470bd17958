"""Dead time and counting statistics against their closed forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.physics.counting import observed_rate, poisson_counts, true_rate


def test_dead_time_closed_form():
    # 1 us and a million pulses a second: the counter is blind half of the time.
    assert observed_rate(1e6, 1e-6) == pytest.approx(5e5)
    assert observed_rate(1e4, 1e-6) == pytest.approx(1e4 / 1.01)


def test_dead_time_saturates_at_its_inverse():
    assert observed_rate(1e15, 2e-6) == pytest.approx(5e5, rel=1e-6)


def test_dead_time_agrees_with_simulated_pulses():
    # An independent route: throw exponential intervals and drop pulses that come too soon.
    rate, tau = 2e5, 2e-6
    arrivals = np.cumsum(np.random.default_rng(1).exponential(1 / rate, 200_000))
    registered, last = 0, -1.0
    for time in arrivals.tolist():
        if time - last >= tau:
            registered, last = registered + 1, time
    assert registered / arrivals[-1] == pytest.approx(float(observed_rate(rate, tau)), rel=0.01)


@given(st.floats(0.0, 1e7), st.floats(1e-9, 1e-5))
def test_correction_undoes_dead_time(rate, tau):
    assert true_rate(observed_rate(rate, tau), tau) == pytest.approx(rate, rel=1e-6, abs=1e-9)


def test_correction_refuses_impossible_rates():
    with pytest.raises(ValueError, match="dead_time"):
        true_rate(5e5, 2e-6)


def test_counts_are_poisson():
    counts = poisson_counts(np.full(40_000, 25.0), np.random.default_rng(7))
    # Standard errors: mean 25/sqrt -> 0.025; variance 25 sqrt(2/n) -> 0.18. Five of each.
    assert counts.mean() == pytest.approx(25.0, abs=0.125)
    assert counts.var() == pytest.approx(25.0, abs=0.9)
    assert counts.dtype == np.int64


def test_counts_do_not_depend_on_how_a_scan_is_cut():
    mean = np.linspace(0.0, 300.0, 1001)
    whole = poisson_counts(mean, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    assert np.array_equal(whole, np.concatenate([poisson_counts(part, rng) for part in np.array_split(mean, 7)]))
