"""What is wanted of the figures: on two idle cores, without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import sem, xrd


@dataclass(frozen=True)
class Goal:
    """A figure and the bound that it should keep."""

    name: str
    """What it is, with its unit."""
    value: Callable[[dict[str, Any]], float | None]
    """Finds it in the results."""
    bound: float | None = None
    """None: it is only shown."""
    more: bool = False
    """More is better."""

    def judged(self, results: dict[str, Any]) -> dict[str, Any]:
        """For the report; ``met`` is null where nothing was measured or nothing is asked for."""
        value = self.value(results)
        known = value is not None and self.bound is not None
        met = (value >= self.bound if self.more else value <= self.bound) if known else None  # type: ignore[operator]
        return {"name": self.name, "value": value, "goal": self.bound, "met": met}


COMMON: tuple[Goal, ...] = (
    Goal("step, median, ms", lambda r: r["step_latency_ms"]["step"]["median"], 90.0),
    Goal("page load, median, ms", lambda r: r["page_load_ms"]["load"]["median"], 300.0),
    Goal("headless, steps/s", lambda r: r["headless_steps_per_s"], 1000.0, more=True),
    Goal("memory of a further episode, MiB", lambda r: r["memory_per_episode_mib"], 80.0),
)
"""Of every instrument."""

SUITE_SECONDS: Mapping[str, float] = {"xrd": 20.0}
"""All tasks of an instrument by the reference agent, s. The microscope's count together with the others', see below."""

TOGETHER_SECONDS = 60.0
"""All tasks of all instruments in one run by the reference agent, s: 22 tasks of two instruments."""

OWN_MEASUREMENTS: Mapping[str, Mapping[str, Callable[[], float]]] = {
    "sem": {"frame_512_ms": sem.frame},
    "xrd": {"pattern_ms": xrd.pattern},
}
"""What only one instrument has, by the name under which it stands in that instrument's results."""

OWN: Mapping[str, tuple[Goal, ...]] = {
    "sem": (Goal("picture of 512 x 512 pixels, ms of CPU", lambda r: r["frame_512_ms"], 30.0),),
    "xrd": (Goal("pattern of 7000 angles, ms of CPU", lambda r: r["pattern_ms"], 60.0),),
}
"""The goals for these."""

TOGETHER = Goal(
    "all tasks of all instruments by reference, s", lambda r: r["reference_suite"]["seconds"], TOGETHER_SECONDS
)


RESEARCH: tuple[Goal, ...] = (
    Goal("start of a sandbox, least, ms", lambda r: r["workspace_ms"]["start"]["least"], 60.0),
    Goal("kernel ready, least, ms", lambda r: r["workspace_ms"]["kernel_ready"]["least"], 100.0),
    Goal("empty cell, least, ms", lambda r: r["workspace_ms"]["cell"]["least"], 1.0),
    Goal("verdict on an answer of 46 checks, least, ms", lambda r: r["grading_ms"]["answer"], 50.0),
    Goal("verdict on two VASP decks, least, ms", lambda r: r["grading_ms"]["decks"], 100.0),
    Goal("LAMMPS asked about a deck, least, ms", lambda r: _number(r["probe_ms"]["lammps"]), 400.0),
    Goal("pw.x asked about a deck, least, ms", lambda r: _number(r["probe_ms"]["quantum-espresso"])),
    Goal("wannier90.x asked about a deck, least, ms", lambda r: _number(r["probe_ms"]["wannier90"])),
    Goal("all tasks by reference, s", lambda r: r["reference_suite"]["seconds"]),
)
"""Of the research suite."""


def _number(found: float | str) -> float | None:
    """None where there is a reason instead of a figure."""
    return None if isinstance(found, str) else found


def goals_of(instrument: str) -> tuple[Goal, ...]:
    """The goals of one instrument."""
    bound = SUITE_SECONDS.get(instrument)
    suite = Goal("all tasks by reference, s", lambda r: r["reference_suite"]["seconds"], bound)
    return (*COMMON, *OWN.get(instrument, ()), suite)
