"""The goals of the benchmarks, on figures that are made up."""

from __future__ import annotations

import pytest

from benchmarks.goals import OWN, OWN_MEASUREMENTS, SUITE_SECONDS, TOGETHER, goals_of
from matassay.suites.instruments import INSTRUMENTS

FIGURES = {
    "step_latency_ms": {"step": {"median": 72.0, "p95": 80.0}},
    "page_load_ms": {"load": {"median": 301.0, "p95": 320.0}},
    "headless_steps_per_s": 2000.0,
    "memory_per_episode_mib": 60.0,
    "frame_512_ms": 6.0,
    "pattern_ms": 1.2,
    "reference_suite": {"seconds": 25.0},
}


@pytest.mark.parametrize(
    ("instrument", "missed"),
    [("xrd", {"page load, median, ms", "all tasks by reference, s"}), ("sem", {"page load, median, ms"})],
)
def test_goals_are_those_of_the_instrument(instrument: str, missed: set[str]) -> None:
    judged = [goal.judged(FIGURES) for goal in goals_of(instrument)]
    assert {g["name"] for g in judged if g["met"] is False} == missed
    assert ("picture of 512 x 512 pixels, ms of CPU" in {g["name"] for g in judged}) is (instrument == "sem")


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    assert TOGETHER.judged({"reference_suite": {"seconds": None}})["met"] is None
    assert TOGETHER.judged({"reference_suite": {"seconds": 59.0}})["met"] is True
    assert TOGETHER.judged({"reference_suite": {"seconds": 61.0}})["met"] is False


def test_goals_are_of_instruments_that_exist() -> None:
    assert {*OWN, *OWN_MEASUREMENTS, *SUITE_SECONDS} <= set(INSTRUMENTS)
    assert all(own() > 0 for measurements in OWN_MEASUREMENTS.values() for own in measurements.values())
