"""Drawings of the conditions: pass rates in a square of four, causes of failures, and every run as a square."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from matassay.core import Failure

from ._conditions import FAILURE_GROUPS, FAILURES, ORDER, FailureRow, Quarters, condition
from ._plots import GRID, INK, MUTED, NOT_GRADED, SUCCESS, _figure, _short, _svg
from ._summary import Subject, Summary, subject_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matassay.core import EpisodeResult

#: Two blues for scientific errors, two oranges for operational ones, greys for the rest.
COLOURS: Final = {
    Failure.WRONG_CHOICE: "#0072b2",
    Failure.WRONG_IMPLEMENTATION: "#56b4e9",
    Failure.SOFTWARE_USAGE: "#d55e00",
    Failure.FORMAT: "#e69f00",
    Failure.LIMIT: "#8a93a3",
    Failure.UNCLASSIFIED: "#c9d1d9",
}
FAILED: Final = "#f0b9a0"
UNGRADED: Final = "#c3cad3"

#: Runs in one drawing; the table of episodes has all.
MOST_ROWS: Final = 60


def quarters_plot(rows: Sequence[Quarters], label: Callable[[Subject], str], name: str) -> str:
    """One square of four for each subject, with the differences in percentage points; empty without rows."""
    shown = [q for q in rows if any(r.runs for r in q.rates.values())]
    if not shown:
        return ""

    def draw() -> Figure:
        from matplotlib.colors import LinearSegmentedColormap, to_hex
        from matplotlib.patches import Rectangle

        ramp = LinearSegmentedColormap.from_list("rate", ["#f6e3d8", "#d5e6f0", "#3f93c4"])
        columns = min(len(shown), 4)
        lines = -(-len(shown) // columns)
        figure, axes = _figure(0.3 + 1.75 * lines)
        for i, q in enumerate(shown):
            x0, y0 = 3.7 * (i % columns), 3.9 * (i // columns)
            axes.text(x0, y0 - 0.55, label(q.subject)[:34], fontsize=9, fontweight="bold")
            for j, (guidance, pair) in enumerate((("full", ("SF", "WF")), ("reduced", ("SR", "WR")))):
                axes.text(x0 - 0.08, y0 + j + 0.5, guidance, ha="right", va="center", fontsize=8, color=MUTED)
                for k, which in enumerate(pair):
                    rate = q.rates[which]
                    face = NOT_GRADED if rate.percent is None else to_hex(ramp(rate.percent / 100))
                    axes.add_patch(Rectangle((x0 + k, y0 + j), 1, 1, facecolor=face, edgecolor="white", linewidth=2))
                    words = (
                        f"{which}\n–" if rate.percent is None else f"{rate.percent:.0f} %\n{rate.passed}/{rate.runs}"
                    )
                    dark = rate.percent is not None and rate.percent > 80
                    axes.text(x0 + k + 0.5, y0 + j + 0.5, words, ha="center", va="center", fontsize=8.5,
                              color="white" if dark else INK)  # fmt: skip
                _delta(axes, x0 + 2.45, y0 + j + 0.5, q.difference(pair[1], pair[0]))
            for k, pair in enumerate((("SR", "SF"), ("WR", "WF"))):
                _delta(axes, x0 + k + 0.5, y0 + 2.35, q.difference(*pair))
            axes.text(x0 + 0.5, y0 - 0.08, "single", ha="center", va="bottom", fontsize=8, color=MUTED)
            axes.text(x0 + 1.5, y0 - 0.08, "workflow", ha="center", va="bottom", fontsize=8, color=MUTED)
        axes.set_xlim(-1.0, max(3.7 * columns - 0.6, 14.0))
        axes.set_ylim(3.9 * lines - 0.9, -0.95)
        axes.set_axis_off()
        return figure

    return _svg(draw, name)


def _delta(axes: object, x: float, y: float, value: float | None) -> None:
    words = "Δ –" if value is None else f"Δ {value:+.0f}".replace("-", "−")
    axes.text(x, y, words, ha="center", va="center", fontsize=8, color=MUTED)  # type: ignore[attr-defined]


def failures_plot(rows: Sequence[FailureRow], label: Callable[[Subject], str], name: str) -> str:
    """Failed runs by cause, one bar per subject and condition as a share of its runs; empty if nothing failed."""
    shown = [r for r in rows if r.runs and sum(r.counts.values())]
    if not shown:
        return ""

    def draw() -> Figure:
        from matplotlib.patches import Patch

        figure, axes = _figure(1.0 + 0.3 * len(shown))
        for i, row in enumerate(shown):
            left = 0.0
            for failure in FAILURES:
                share = 100 * row.share(failure)
                if not share:
                    continue
                axes.barh(i, share, left=left, height=0.66, color=COLOURS[failure])
                bright = failure in (Failure.UNCLASSIFIED, Failure.FORMAT, Failure.WRONG_IMPLEMENTATION)
                axes.text(left + share / 2, i, str(row.counts[failure]), ha="center", va="center", fontsize=8,
                          color=INK if bright else "white")  # fmt: skip
                left += share
        axes.set_yticks(range(len(shown)), [f"{_suite(r, shown)}{label(r.subject)[:40]}  {r.condition}" for r in shown])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of all graded runs, %; the number in a bar counts runs", loc="left")
        axes.tick_params(length=0)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        handles = [
            Patch(color=COLOURS[f], label=f"{str(f).replace('_', ' ')} ({group})")
            for group, found in FAILURE_GROUPS.items()
            for f in found
        ]
        figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8.5)
        return figure

    return _svg(draw, name)


def _suite(row: FailureRow, rows: Sequence[FailureRow]) -> str:
    """The suite before a name where rows of several stand together."""
    return f"{row.suite}: " if len({r.suite for r in rows}) > 1 else ""


def runs_plots(summary: Summary, name: str) -> list[tuple[str, str]]:
    """Every run as a square, with its caption: single tasks and workflows of a suite each in a drawing of their own.

    One column per task, one line per subject, condition and seed.
    """
    found: list[tuple[str, str]] = []
    for suite, span in sorted({(e.suite, e.span) for e in summary.episodes if condition(e)}):
        own = [e for e in summary.episodes if (e.suite, e.span) == (suite, span) and condition(e)]
        lines = sorted({_line(summary, e) for e in own})
        what = "workflows" if span == "workflow" else "single tasks"
        caption = f"{suite}: {what}; a line is an agent or model, condition and seed."
        if len(lines) > MOST_ROWS:
            caption += f" The first {MOST_ROWS} of {len(lines)} lines; the table of episodes has all."
        found.append((caption, _runs_plot(summary, own, lines[:MOST_ROWS], f"{name}-{len(found)}")))
    return found


def _line(summary: Summary, e: EpisodeResult) -> tuple[int, int, int]:
    return summary.subjects.index(subject_of(e)), ORDER.index(condition(e)), e.seed


def _runs_plot(
    summary: Summary, episodes: Sequence[EpisodeResult], lines: Sequence[tuple[int, int, int]], name: str
) -> str:
    tasks = sorted({e.id for e in episodes})

    def draw() -> Figure:
        from matplotlib.patches import Patch, Rectangle

        columns = [_short(t, "task", tasks) for t in tasks]
        upright = 0.055 * max(map(len, columns))  # the names of tasks stand below, inches
        figure, axes = _figure(0.6 + upright + 0.2 * len(lines))
        for e in episodes:
            line = _line(summary, e)
            if line not in lines:
                continue
            x, y = tasks.index(e.id), lines.index(line)
            face = UNGRADED if not e.outcome.graded else SUCCESS if e.success else FAILED
            axes.add_patch(Rectangle((x - 0.45, y - 0.45), 0.9, 0.9, facecolor=face))
            if e.outcome.graded and not e.success:  # the mark tells it without the colour
                axes.text(x, y, "×", ha="center", va="center", fontsize=7.5, color=INK)
        axes.set_xlim(-0.5, max(len(tasks), 12) - 0.5)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        labels = [f"{summary.name(summary.subjects[s])[:40]}  {ORDER[c]}  {seed}" for s, c, seed in lines]
        axes.set_yticks(range(len(lines)), labels, fontsize=8)
        axes.set_xticks(range(len(tasks)), columns, rotation=60, ha="right",
                        rotation_mode="anchor", fontsize=7.5)  # fmt: skip
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        kinds = ((SUCCESS, "passed"), (FAILED, "× failed"), (UNGRADED, "not graded"))
        handles = [Patch(color=colour, label=label) for colour, label in kinds]
        figure.legend(handles=handles, loc="outside upper left", ncols=3, fontsize=8.5)
        return figure

    return _svg(draw, name)
