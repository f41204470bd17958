"""``matassay run``."""

from __future__ import annotations

import datetime
import os
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from matassay.agents import loop_for
from matassay.core import SCHEMA_VERSION, EpisodeResult, Guidance, MatAssayError, Span, Task, select_tasks

from ._console import Format, Out, claim_stdout, counted, fitting_table, say, shortened, stderr_console
from ._engine import load_engine
from ._needs import check_model, check_worlds, choose_sandbox, release_worlds, usable
from ._places import folder_named, log_folder, task_named

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

SCRIPTED = ("reference", "null", "random")

#: Of logs of more than so many bytes a run makes no page by itself: that takes as long as a good part of the run.
TOO_LARGE = 64_000_000


class AgentName(StrEnum):
    """Who acts."""

    REFERENCE = "reference"
    NULL = "null"
    RANDOM = "random"
    GUI = "gui"
    CODE = "code"
    TOOLS = "tools"
    CODEX = "codex"
    CLAUDE_CODE = "claude-code"


class GuidanceChoice(StrEnum):
    """Which instruction is given."""

    FULL = "full"
    REDUCED = "reduced"
    BOTH = "both"


def run(
    prefix: Annotated[
        list[str],
        typer.Argument(metavar="PREFIX", callback=task_named, help="Task ids, or beginnings of ids: instruments/xrd."),
    ],
    agent: Annotated[
        AgentName | None,
        typer.Option(
            help="Scripted agents work offline. A model acts through gui on a screen, and in a workspace through code "
            "(JSON with code), tools (tool calls), codex or claude-code (their command line).  [with --model: gui or code]"
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A model as Inspect AI names it: anthropic/claude-opus-5-5.")
    ] = None,
    span: Annotated[Span | None, typer.Option(help="Only single subtasks, or only workflows.  [default: both]")] = None,
    guidance: Annotated[
        list[GuidanceChoice] | None,
        typer.Option(help="What the instruction explains; may be given twice.  [default: full]"),
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, metavar="N", help="Seeds 0 to N-1.  [default: 1]")] = None,
    seed: Annotated[int | None, typer.Option(min=0, metavar="K", help="This seed alone.")] = None,
    max_parallel: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Episodes at a time.  [default: the cores and one, at most 4]"),
    ] = None,
    log_dir: Annotated[
        Path | None,
        typer.Option(
            metavar="D",
            parser=folder_named,
            help="Folder for logs; an existing one is gone on with.  [default: logs/<date-time>-<agent>]",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
    expect_success: Annotated[
        bool, typer.Option("--expect-success", help="Exit with 1 if any graded task failed.")
    ] = False,
    step_limit: Annotated[
        int | None, typer.Option(min=1, help="Steps an episode may take.  [default: the task's]")
    ] = None,
    time_limit: Annotated[int | None, typer.Option(min=1, help="Seconds an episode may take.")] = None,
    token_limit: Annotated[int | None, typer.Option(min=1, help="Tokens an episode may take.")] = None,
    cost_limit: Annotated[float | None, typer.Option(min=0, help="US dollars an episode may cost.")] = None,
    model_arg: Annotated[
        list[str] | None,
        typer.Option("--model-arg", "-M", metavar="KEY=VALUE", help="Argument of the model's provider."),
    ] = None,
    model_base_url: Annotated[str | None, typer.Option(metavar="URL", help="Address of the model's provider.")] = None,
    sandbox: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="Sandbox of workspaces: bubblewrap, sandlock (weaker), docker, k8s, or none (unsafe, not comparable).",
        ),
    ] = None,
    function_tools: Annotated[
        bool, typer.Option("--function-tools", help="Plain function calling even where the provider has computer use.")
    ] = False,
) -> None:
    """Run an agent or a model on tasks."""
    if seeds is not None and seed is not None:
        raise typer.BadParameter("give either --seeds N (the seeds 0 to N-1) or --seed K", param_hint="--seed")
    named = _agent(agent, model)
    guidances = _guidances(guidance or [])
    model_args = _model_args(model_arg or [])
    with claim_stdout() as out:
        tasks = select_tasks(prefix, span)
        choose_sandbox(sandbox)
        tasks, skipped = usable(tasks)
        planned = [(t, g) for t in tasks for g in guidances if g in t.guidances]
        if not planned:
            of = f" of span {span}" if span else ""
            raise MatAssayError(f"no task{of} with {' or '.join(guidances)} guidance under {', '.join(prefix)}")
        name = named if named in SCRIPTED else loop_for(tasks, named)
        which = [seed] if seed is not None else list(range(seeds or 1))
        folder = log_dir if log_dir is not None else new_folder(model or name)
        check_model(model, alone=not model_args and model_base_url is None)
        total = len(planned) * len(which)
        with log_folder(folder):
            check_worlds(tasks, which[0])
            say(f"{counted(total, 'episode')} of {counted(len(tasks), 'task')}, logs in {folder}")
            results, unfinished = _episodes(
                tasks,
                total=total,
                log_dir=folder,
                agent=name,
                model=model,
                guidances=guidances,
                seeds=which,
                max_parallel=max_parallel or min(4, (os.cpu_count() or 1) + 1),  # while one waits, others work
                step_limit=step_limit,
                time_limit=time_limit,
                token_limit=token_limit,
                cost_limit=cost_limit,
                model_args=model_args,
                model_base_url=model_base_url,
                internal_tools=False if function_tools else None,
            )
        release_worlds()
        files = _pages(folder, results)
        if format is Format.JSON:
            out.json(
                {
                    "schema_version": SCHEMA_VERSION,
                    "agent": name,
                    "model": model,
                    "log_dir": str(folder),
                    "tasks": [r.contract() for r in results],
                    "summary": summary(results),
                    "skipped": [{"id": id, "reason": reason} for id, reason in skipped.items()],
                }
            )
            say(*(f"{what}: {path}" for what, path in files.items()))
        elif results:
            _print(out, results, {**files, "logs": folder})
        _complain(results)
        if unfinished:
            say("", f"Not finished: {unfinished}. The same command with", f"    --log-dir {folder}", "goes on there.")
            raise typer.Exit(2)
        raise typer.Exit(exit_code(results, expect_success))


def exit_code(results: Sequence[EpisodeResult], expect_success: bool) -> int:
    """Exit code of a run that came to its end."""
    if any(not r.outcome.graded for r in results):
        return 2
    return 1 if expect_success and not all(r.success for r in results) else 0


def summary(results: Sequence[EpisodeResult]) -> dict[str, float | int | None]:
    """The summary of the contract for scripts; rates and means are over the graded episodes."""
    graded = [r for r in results if r.outcome.graded]
    n = len(graded)
    return {
        "attempted": len(results),
        "scored": n,
        "success_rate": sum(bool(r.success) for r in graded) / n if n else None,
        "mean_score": sum(r.score or 0.0 for r in graded) / n if n else None,
        "mean_steps": sum(r.steps for r in graded) / n if n else None,
    }


def _agent(agent: AgentName | None, model: str | None) -> str | None:
    """Who acts; None: a model, through the usual loop of its tasks."""
    if model is not None and str(agent) in SCRIPTED:
        raise typer.BadParameter(
            f"{agent} is a scripted agent and takes no model; leave --agent out, or --model", param_hint="--agent"
        )
    if agent is not None and str(agent) not in SCRIPTED and model is None:
        raise typer.BadParameter(f"{agent} needs a model: --model anthropic/claude-opus-5-5", param_hint="--agent")
    if agent is None and model is None:
        raise typer.BadParameter(
            "say who acts: --agent reference, null or random (offline), or --model NAME", param_hint="--agent"
        )
    return str(agent) if agent is not None else None


def _guidances(chosen: Sequence[GuidanceChoice]) -> list[Guidance]:
    if GuidanceChoice.BOTH in chosen:
        return list(Guidance)
    return [g for g in Guidance if str(g) in map(str, chosen)] or [Guidance.FULL]


def _model_args(pairs: Sequence[str]) -> dict[str, Any]:
    import json

    args: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals):
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--model-arg")
        try:
            args[key] = json.loads(value)
        except ValueError:
            args[key] = value
    return args


def new_folder(name: str) -> Path:
    """Where a run is logged unless it is told: a folder that does not exist yet."""
    now = datetime.datetime.now().astimezone()  # noqa: TID251 - the name of a folder for people
    safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in name)
    folder = Path("logs") / f"{now:%Y%m%d-%H%M%S}-{safe}"
    number = 2
    while folder.exists():
        folder, number = folder.with_name(f"{now:%Y%m%d-%H%M%S}-{safe}-{number}"), number + 1
    return folder


def _episodes(tasks: Sequence[Task], *, total: int, **options: Any) -> tuple[list[EpisodeResult], str]:
    """Run all; the second value says why it stopped early, if it did."""
    say("Starting the engine ...")
    load_engine()
    from matassay import evals

    seen: list[EpisodeResult] = []
    with Reporter(total) as reporter:

        def progress(done: int, of: int, result: EpisodeResult) -> None:
            seen.append(result)
            reporter.finished(done, of, result)

        try:
            return evals.run(tasks, progress=progress, resumed=reporter.resumed, **options), ""
        except evals.RunIncomplete as incomplete:
            n = len(incomplete.missing)
            return list(incomplete.results), f"{n} of {counted(total, 'episode')} came to no end"
        except KeyboardInterrupt:
            return seen, "it was interrupted"


class Reporter:
    """Shows what has finished: a bar where there is a terminal, and a line per episode everywhere."""

    def __init__(self, total: int) -> None:
        self.console: Console = stderr_console()
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._total = total

    def __enter__(self) -> Reporter:
        if self.console.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(), BarColumn(bar_width=40), MofNCompleteColumn(), TimeElapsedColumn(),
                console=self.console, transient=True, refresh_per_second=4,
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task("episodes", total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def resumed(self, done: int, of: int) -> None:
        """Say what an earlier run has done already."""
        self.console.print(f"{done} of {of} are finished already{', nothing to do' if done == of else ''}")
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=of)

    def finished(self, done: int, of: int, result: EpisodeResult) -> None:
        """Show a finished episode."""
        from rich.text import Text

        colour = "yellow" if result.success is None else "green" if result.success else "red"
        line = Text.assemble(
            f"[{done:>{len(str(of))}}/{of}] {result.id}  {result.guidance}, seed {result.seed}: ",
            (verdict(result), colour),
        )
        self.console.print(line, soft_wrap=True)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=of)


def verdict(result: EpisodeResult) -> str:
    """How an episode ended, in a few words."""
    if result.success is None:
        return f"not graded ({str(result.outcome).replace('_', ' ')}: {_one_line(result.error)})"
    steps = counted(result.steps, "step")
    how = "" if str(result.outcome) == "scored" else f", {str(result.outcome).replace('_', ' ')}"
    return f"{'success' if result.success else 'no success'}, score {result.score:.2f}, {steps}{how}"


def _one_line(text: str | None, limit: int = 160) -> str:
    line = " ".join((text or "no reason given").split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _pages(folder: Path, results: Sequence[EpisodeResult]) -> dict[str, Path]:
    if not results:
        return {}
    say("Writing report and replay ...")
    from matassay import evals
    from matassay.report import write_report
    from matassay.report.logs import read_settings

    from ._report import log_size, write_folder_replay

    files = write_report(evals.read_results(folder), folder, read_settings([folder]))
    pages = {"report": files.html, **({"failures": files.failures} if files.failures else {})}
    if log_size(folder) > TOO_LARGE:
        say(f"For a replay of all these episodes: matassay replay {folder} (with --sample ID, of some)")
        return pages
    replay = write_folder_replay(folder, folder / "replay.html")
    return {**pages, "replay": replay} if replay else pages


def _print(out: Out, results: Sequence[EpisodeResult], files: dict[str, Path]) -> None:
    from rich.markup import escape

    # What all ids begin with stands above the table where there is a terminal, so that no word is broken.
    common, ids = shortened([r.id for r in results]) if out.terminal else ("", [r.id for r in results])
    rows = []
    for id, r in zip(ids, results, strict=True):
        success = "-" if r.success is None else "[green]yes[/]" if r.success else "[red]no[/]"
        score = "-" if r.score is None else f"{r.score:.2f}"
        cells = (str(r.seed), str(r.outcome).replace("_", " "), success, score, str(r.steps), str(r.invalid_actions))
        rows.append((escape(id), r.guidance, *cells))
    names = ("task", "guidance", "seed", "outcome", "success", "score", "steps", "invalid")
    droppable = ("invalid", "steps", "outcome")
    numbers = ("seed", "score", "steps", "invalid")
    table = fitting_table(names, [rows], out.console, right=numbers, droppable=droppable, foldable=("task",))
    s = summary(results)
    words = f"{s['scored']} of {counted(len(results), 'episode')} graded"
    if s["scored"]:
        words += f": success rate {s['success_rate']:.1%}, mean score {s['mean_score']:.3f}, mean steps {s['mean_steps']:.1f}"
    out.table(*([escape(f"{common}/")] if common else []), table, "", words, "")
    out.lines(*(f"{what:<8} {path}" for what, path in files.items()))


def _complain(results: Sequence[EpisodeResult]) -> None:
    broken = [r for r in results if not r.outcome.graded]
    if broken:
        reasons = {_one_line(r.error): r for r in broken}
        say("", f"{len(broken)} of {counted(len(results), 'episode')} could not be graded:")
        say(*(f"  {r.id}: {r.outcome}: {reason}" for reason, r in list(reasons.items())[:5]))
        say("`matassay doctor` says what may be missing. The same command with the same --log-dir tries them again.")
