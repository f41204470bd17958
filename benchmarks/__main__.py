"""``python -m benchmarks``: JSON on standard output (or ``--output``), a table on standard error."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from matassay import __version__
from matassay.kit.serve import load_instruments
from matassay.worlds.browser import INSTRUMENTS, close_shared, find_browser

from . import measure, research
from .goals import OWN_MEASUREMENTS, RESEARCH, TOGETHER, goals_of

#: Stands beside the names of instruments for the research suite.
RESEARCH_NAME = "research"

NOT_ASKED_FOR = {"seconds": None, "reason": "not asked for"}


async def in_browser(name: str, instruments: str, size: int) -> dict[str, Any]:
    """All that needs a browser."""
    return {
        "page_load_ms": await measure.page_load(name, instruments, max(2, size // 10)),
        "step_latency_ms": await measure.step_latency(name, instruments, size),
        "steps_per_s": {
            str(n): await measure.throughput(name, instruments, n, max(4, size // (2 * n))) for n in (1, 4, 8)
        },
        "memory_per_episode_mib": await measure.memory_per_episode(name, instruments, 4, max(2, size // 10)),
    }


def run(name: str, instruments: str, size: int, suite: bool) -> dict[str, Any]:
    """Measure one instrument."""
    results = asyncio.run(in_browser(name, instruments, size))
    close_shared()  # what follows must not share the machine with a browser
    results["headless_steps_per_s"] = measure.headless(name, instruments, 50 * size)
    results |= {key: own() for key, own in OWN_MEASUREMENTS.get(name, {}).items()}
    results["reference_suite"] = measure.reference_suite(f"instruments/{name}") if suite else dict(NOT_ASKED_FOR)
    results["goals"] = [goal.judged(results) for goal in goals_of(name)]
    return results


def together(suite: bool) -> dict[str, Any]:
    """All instruments in one run."""
    results: dict[str, Any] = {
        "reference_suite": measure.reference_suite("instruments") if suite else dict(NOT_ASKED_FOR)
    }
    results["goals"] = [TOGETHER.judged(results)]
    return results


def of_research(size: int, suite: bool) -> dict[str, Any]:
    """The research suite: sandbox, kernel, grading."""
    results = research.measured(max(3, size // 4))
    if "reason" in results:
        return results
    results["reference_suite"] = measure.reference_suite("research") if suite else dict(NOT_ASKED_FOR)
    results["goals"] = [goal.judged(results) for goal in RESEARCH]
    return results


def machine() -> dict[str, Any]:
    """Where this was measured."""
    return {
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
        "browser": find_browser().version(),
        "matassay": __version__,
    }


def table(report: dict[str, Any]) -> Table:
    """Goals and values for people."""
    out = Table(title=f"load {report['machine']['load_average']} on {report['machine']['cores']} cores")
    for heading in ("instrument", "what", "value", "goal", ""):
        out.add_column(heading)
    for name, results in report["instruments"].items():
        _add_goals(out, name, results["goals"])
        latency = results["step_latency_ms"]
        parts = ", ".join(f"{k} {latency[k]['median']} ({latency[k]['p95']})" for k in latency)
        out.add_row(name, "median (p95), ms", parts, "", "")
        side = ", ".join(f"{n}: {rate}" for n, rate in results["steps_per_s"].items())
        out.add_row(name, "steps/s by parallel episodes", side, "", "")
    _add_goals(out, "all", report["together"]["goals"])
    if "goals" in report.get("research", {}):
        _add_goals(out, "research", report["research"]["goals"])
        spans = report["research"]["workspace_ms"]
        parts = ", ".join(f"{k} {spans[k]['median']} ({spans[k]['p95']})" for k in spans)
        out.add_row("research", "median (p95), ms", parts, "", "")
    return out


def _add_goals(out: Table, name: str, goals: Sequence[Mapping[str, Any]]) -> None:
    for goal in goals:
        value, bound = ("-" if goal[key] is None else str(goal[key]) for key in ("value", "goal"))
        none = "" if goal["goal"] is None else "[yellow]not measured"
        out.add_row(
            name, goal["name"], value, bound, {True: "[green]met", False: "[red]missed", None: none}[goal["met"]]
        )


def main() -> None:
    """Parse the arguments, measure, report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("instrument", nargs="*", help="names, or research; all if none is given")
    parser.add_argument("--instruments", default=INSTRUMENTS, help="MODULE:NAME of a mapping of names to factories")
    parser.add_argument("--size", type=int, default=100, help="steps of a latency measurement")
    parser.add_argument("--no-suite", action="store_true", help="leave out the tasks by the reference agent")
    parser.add_argument("--output", type=Path, help="file for the JSON instead of standard output")
    args = parser.parse_args()
    known = load_instruments(args.instruments)
    if unknown := sorted(set(args.instrument) - {*known, RESEARCH_NAME}):
        parser.error(
            f"no such instrument: {', '.join(unknown)}; there are {', '.join([*sorted(known), RESEARCH_NAME])}"
        )
    report: dict[str, Any] = {"schema_version": 2, "machine": machine(), "instruments": {}}
    named = args.instrument or [*sorted(known), RESEARCH_NAME]
    for name in named:
        if name == RESEARCH_NAME:
            report["research"] = of_research(args.size, not args.no_suite)
            continue
        report["instruments"][name] = run(name, args.instruments, args.size, not args.no_suite)
    everything = not args.instrument and args.instruments == INSTRUMENTS
    report["together"] = together(everything and not args.no_suite)
    text = json.dumps(report, indent=2)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(text + "\n")
    else:
        print(text)
    Console(file=sys.stderr).print(table(report))


if __name__ == "__main__":
    main()
