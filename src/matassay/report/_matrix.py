"""Drawings of the conditions: pass rates in a square of four, causes of failures, and every run as a square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from matassay.core import Failure

from ._conditions import FAILURES, ORDER, FailureRow, Quarters, condition
from ._plots import INK, MUTED, NOT_GRADED, SUCCESS, _figure, _short, _svg
from ._summary import Summary, subject_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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

#: Runs in one drawing; the table of episodes has all.
MOST_ROWS: Final = 60
#: Longest name below a column of runs, characters.
MAX_NAME: Final = 30


def quarters_plot(rows: Sequence[Quarters], name: str) -> str:
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
            axes.text(x0, y0 - 0.55, q.subject.label[:34], fontsize=9, fontweight="bold")
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


def failures_plot(rows: Sequence[FailureRow], name: str) -> str:
    """Failed runs by cause, one bar per subject and condition as a share of its runs; empty if nothing failed."""
    shown = [r for r in rows if r.runs and sum(r.counts.values())]
    if not shown:
        return ""

    def draw() -> Figure:
        figure, axes = _figure(0.9 + 0.3 * len(shown))
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
        axes.set_yticks(range(len(shown)), [f"{r.subject.label[:30]}  {r.condition}" for r in shown])
        axes.invert_yaxis()
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of all runs, %", loc="left")
        axes.tick_params(length=0)
        handles = [axes.barh(0, 0, color=COLOURS[f], label=str(f).replace("_", " ")) for f in FAILURES]
        axes.legend(
            handles=handles, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, fontsize=8.5, borderaxespad=0.2
        )
        return figure

    return _svg(draw, name)


def _columns(tasks: list[str]) -> list[str]:
    """Names of columns: where they are long, the last parts of the ids, which tell tasks apart best."""
    names = [_short(t, "task", tasks) for t in tasks]
    if any(len(name) > MAX_NAME for name in names):
        names = [t.rpartition("/")[2] for t in tasks]
    return [name if len(name) <= MAX_NAME else name[: MAX_NAME - 1] + "…" for name in names]


def runs_plot(summary: Summary, name: str) -> str:
    """Every run as a square: one column per task, one line per subject, condition and repetition; empty without runs."""
    tasks = sorted({e.id for e in summary.episodes})
    lines = sorted(
        {
            (summary.subjects.index(subject_of(e)), ORDER.index(condition(e)), e.seed)
            for e in summary.episodes
            if condition(e)
        }
    )[:MOST_ROWS]
    if not tasks or not lines:
        return ""

    def draw() -> Figure:
        from matplotlib.patches import Rectangle

        figure, axes = _figure(2.7 + 0.2 * len(lines))  # the names of tasks stand upright below
        for e in summary.episodes:
            line = summary.subjects.index(subject_of(e)), ORDER.index(condition(e)) if condition(e) else -1, e.seed
            if line not in lines:
                continue
            face = NOT_GRADED if not e.outcome.graded else SUCCESS if e.success else FAILED
            place = (tasks.index(e.id) - 0.45, lines.index(line) - 0.45)
            axes.add_patch(Rectangle(place, 0.9, 0.9, facecolor=face))
        axes.set_xlim(-0.5, max(len(tasks), 12) - 0.5)
        axes.set_ylim(len(lines) - 0.5, -0.5)
        labels = [f"{summary.subjects[s].label[:24]}  {ORDER[c]}  {seed}" for s, c, seed in lines]
        axes.set_yticks(range(len(lines)), labels, fontsize=8)
        axes.set_xticks(range(len(tasks)), _columns(tasks), rotation=60, ha="right",
                        rotation_mode="anchor", fontsize=7.5)  # fmt: skip
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return figure

    return _svg(draw, name)
