"""Plots of a report as inline SVG. matplotlib is imported when the first plot is drawn."""

from __future__ import annotations

import io
import re
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from ._html import short_ids
from ._summary import LEVEL_ORDER, Subject, Summary, subject_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from matassay.core import EpisodeResult

#: Okabe and Ito's colours, which people with any colour vision tell apart; the greys are for baselines.
COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKS: Final = ("o", "s", "^", "D")
BASELINE_COLOURS: Final = {"reference": "#3b4252", "random": "#8a93a3", "null": "#b6bdc9", "human": "#5e3c99"}

INK: Final = "#1f2933"
MUTED: Final = "#6b7785"
GRID: Final = "#e3e7ec"
SUCCESS: Final = "#0072b2"
NOT_GRADED: Final = "#eceff3"

#: Longest name of a task beside a plot, characters.
LONGEST_NAME: Final = 44
#: Characters in a line of a legend, marks and gaps included.
LEGEND_LINE: Final = 115

WIDTH: Final = 9.6  # inches at 72 points; the page scales it

STYLE: Final[dict[Any, Any]] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "matassay",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": "#9aa5b1",
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
}


def colours(subjects: Sequence[Subject]) -> dict[Subject, str]:
    """One colour for each subject."""
    out, models = {}, 0
    for s in subjects:
        if s.baseline:
            out[s] = BASELINE_COLOURS[s.agent]
        else:
            out[s] = COLOURS[models % len(COLOURS)]
            models += 1
    return out


def marks(subjects: Sequence[Subject]) -> dict[Subject, str]:
    """A mark for each subject; another one where colours begin anew."""
    models = [s for s in subjects if not s.baseline]
    return {s: MARKS[models.index(s) // len(COLOURS) % len(MARKS)] if s in models else MARKS[0] for s in subjects}


def success_plot(summary: Summary, table: str, guidance: str, name: str) -> str:
    """Success rate with its interval, one line per key of a table and one mark per subject; empty without rows."""
    rows = [r for r in summary.tables[table] if r.guidance == guidance and r.success is not None]
    if not rows:
        return ""
    keys = _unique([r.key for r in rows])
    shown = [s for s in summary.subjects if any(r.subject == s for r in rows)]
    palette, mark = colours(summary.subjects), marks(summary.subjects)
    step = 0.72 / max(len(shown), 1)

    def draw() -> Figure:
        figure, axes = _figure(0.75 + len(keys) * max(0.28, 0.15 * len(shown)) + 0.2)
        for r in rows:
            assert r.success is not None
            y = keys.index(r.key) + (shown.index(r.subject) - (len(shown) - 1) / 2) * step
            rate, low, high = (100 * v for v in (r.success.rate, r.success.low, r.success.high))
            colour = palette[r.subject]
            axes.plot([low, high], [y, y], color=colour, linewidth=1.6, solid_capstyle="round", zorder=2)
            axes.plot([rate], [y], mark[r.subject], color=colour, markersize=5.2, zorder=3, clip_on=False)
        axes.set_yticks(range(len(keys)), [_short(k, table, keys) for k in keys])
        axes.set_ylim(len(keys) - 0.45, -0.55)
        axes.set_xlim(0, 100)
        axes.set_xlabel("success rate / %, with 95 % interval")
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="x", color=GRID, linewidth=0.8)
        axes.set_axisbelow(True)
        if len(shown) > 1 or not shown[0].baseline:
            _legend(figure, [(summary.name(s), palette[s], mark[s]) for s in shown])
        return figure

    return _svg(draw, name)


def steps_plot(summary: Summary, guidance: str, name: str) -> str:
    """Histograms of the number of steps of successful episodes, one below the other for each subject; empty without any."""
    found: dict[Subject, list[int]] = {}
    for s in summary.subjects:
        steps = [e.steps for e in _of(summary, s, guidance) if e.success]
        if steps:
            found[s] = steps
    if not found:
        return ""
    palette = colours(summary.subjects)
    longest = max(max(v) for v in found.values())
    width = max(1, -(-longest // 24))
    edges = [n - 0.5 for n in range(0, longest + 2 * width, width)]  # a whole number stands in the middle of its bar

    def draw() -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator

        figure = Figure(figsize=(WIDTH, 0.7 + 0.95 * len(found)), layout="constrained")
        rows = figure.subplots(len(found), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
        for axes, (s, steps) in zip(rows, found.items(), strict=True):
            axes.hist(steps, bins=edges, color=palette[s], zorder=2)
            median = statistics.median(steps)
            axes.axvline(median, color="white", linewidth=3, zorder=3)  # it shows on bars of any colour
            axes.axvline(median, color=INK, linewidth=1.2, linestyle=(0, (4, 2)), zorder=4)
            axes.set_title(
                f"{summary.name(s)[:60]}: {len(steps)} episodes, median {median:g}", loc="left", fontsize=8.5
            )
            axes.set_ylabel("episodes", fontsize=8)
            axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
            axes.grid(axis="y", color=GRID, linewidth=0.8)
            axes.set_axisbelow(True)
        rows[-1].set_xlim(edges[0], edges[-1])
        rows[-1].set_xlabel("steps of successful episodes (dashed: median)")
        return figure

    return _svg(draw, name)


def heat_map(summary: Summary, subject: Subject, guidance: str, name: str) -> str:
    """Score of each task and seed of one subject, with a mark where it was not a success; empty without episodes."""
    own = _of(summary, subject, guidance)
    if not own:
        return ""
    tasks = _unique([e.id for e in own])
    seeds = sorted({e.seed for e in own})
    cells: dict[tuple[int, int], list[EpisodeResult]] = {}
    for e in own:
        cells.setdefault((tasks.index(e.id), seeds.index(e.seed)), []).append(e)

    def draw() -> Figure:
        from matplotlib.colors import LinearSegmentedColormap, to_hex
        from matplotlib.patches import Rectangle

        ramp = LinearSegmentedColormap.from_list("score", ["#f6d5c6", "#f7ecd2", "#cfe3ee", "#7fb6d8"])
        figure, axes = _figure(0.75 + 0.27 * len(tasks))
        for (i, j), found in cells.items():
            graded = [e for e in found if e.outcome.graded]
            if not graded:
                face, words, colour = NOT_GRADED, "–", MUTED
            else:
                score = sum(e.score or 0.0 for e in graded) / len(graded)
                face = SUCCESS if all(e.success for e in graded) else to_hex(ramp(0.85 * score))
                words, colour = f"{score:.2f}", "white" if all(e.success for e in graded) else INK
            axes.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, facecolor=face, edgecolor="white", linewidth=1.5))
            if len(seeds) <= 20:
                axes.text(j, i, words, ha="center", va="center", fontsize=8, color=colour)
        axes.set_xlim(-0.5, max(len(seeds), 6) - 0.5)
        axes.set_ylim(len(tasks) - 0.5, -0.5)
        axes.set_xticks(range(len(seeds)), [str(s) for s in seeds])
        axes.set_yticks(range(len(tasks)), [_short(t, "task", tasks) for t in tasks])
        axes.set_xlabel("seed", loc="left")
        axes.tick_params(length=0)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return figure

    return _svg(draw, name)


def _of(summary: Summary, subject: Subject, guidance: str) -> list[EpisodeResult]:
    return [e for e in summary.episodes if subject_of(e) == subject and e.guidance == guidance]


def _unique(keys: Sequence[str]) -> list[str]:
    return sorted(set(keys), key=lambda k: (LEVEL_ORDER.index(k) if k in LEVEL_ORDER else 0, k))


def _short(key: str, table: str, keys: Sequence[str]) -> str:
    """A task's name without what all ids begin with, or the last parts of all where one is too long; never longer."""
    if table == "task":
        names = short_ids(keys)
        last = [name.rpartition("/")[2] for name in names]
        if any(len(name) > LONGEST_NAME for name in names) and len(set(last)) == len(set(keys)):
            names = last
        key = names[list(keys).index(key)]
    return key if len(key) <= LONGEST_NAME else key[: LONGEST_NAME - 1] + "…"


def _figure(height: float) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def _legend(figure: Figure, entries: Sequence[tuple[str, str, str]]) -> None:
    """A line with a mark for each entry, above the plot, in as many columns as the width has room for."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], color=c, marker=m, linewidth=1.6, markersize=5, label=n[:48]) for n, c, m in entries]
    columns = max(1, LEGEND_LINE // (max(len(n[:48]) for n, *_ in entries) + 9))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, fontsize=8.5)


def _svg(draw: Any, name: str) -> str:
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    with matplotlib.rc_context(STYLE):
        figure = draw()
        buffer = io.StringIO()
        FigureCanvasSVG(figure).print_svg(
            buffer, metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    # Several drawings share one page, so each keeps its ids to itself; the page sets the size.
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    return text.strip()
