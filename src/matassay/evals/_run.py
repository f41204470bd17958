"""Running many episodes, with resume."""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import itertools
import re
import sys
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval_set
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLogInfo
from inspect_ai.model import Model, get_model

from matassay.agents import AGENTS, GUI, LOOPS, TOOLS, loop_for
from matassay.core import EpisodeResult, Guidance, Interface, MatAssayError, Outcome, Task, UnreadableLog

from . import _registry  # noqa: F401 - so that the provider and the hooks are known even without an installed entry point
from ._progress import listening
from ._provider import PROVIDER
from ._task import build_task, digest, samples, settings_from
from .results import LogDir, Row, comparable, read_headers, read_log_dir

#: Called with the number of episodes finished, the number of all, and the newest result.
Progress = Callable[[int, int, EpisodeResult], None]


class RunIncomplete(MatAssayError):
    """Some episodes came to no end; those that did are in ``results``."""

    def __init__(self, message: str, results: list[EpisodeResult], missing: list[str]) -> None:
        super().__init__(message)
        self.results = results
        self.missing = missing


def run(
    tasks: Sequence[Task],
    *,
    log_dir: str | Path,
    agent: str | None = None,
    model: str | None = None,
    guidances: Sequence[Guidance] = (Guidance.FULL,),
    seeds: Sequence[int] = (0,),
    max_parallel: int = 1,
    step_limit: int | None = None,
    time_limit: int | None = None,
    token_limit: int | None = None,
    cost_limit: float | None = None,
    model_args: Mapping[str, Any] | None = None,
    model_base_url: str | None = None,
    internal_tools: bool | None = None,
    retries: int = 1,
    progress: Progress | None = None,
    resumed: Callable[[int, int], None] | None = None,
) -> list[EpisodeResult]:
    """Run an agent on tasks; called again with the same folder, it does only what is left.

    An episode that has finished in the folder (same task revision, agent, model and limits) is not run again, also
    after a ``kill -9`` and also if more tasks or seeds are asked for. One that was cut off, or whose environment
    broke, starts anew on its seed.

    Parameters
    ----------
    tasks : sequence of Task
        What to run, with every guidance that a task has of ``guidances`` and every seed of ``seeds``.
    log_dir : str or Path
        Folder of logs.
    agent : str, optional
        ``reference``, ``null``, ``random`` (see `matassay.agents.AGENTS`), or for a model the loop in which it acts
        (see `LOOPS`); by default the usual loop for the tasks.
    model : str, optional
        The engine's name of the model, e.g. ``anthropic/claude-opus-5-5``; not allowed for a scripted agent.
    guidances : sequence of Guidance
        Which instructions.
    seeds : sequence of int
        Which seeds.
    max_parallel : int
        Episodes at a time.
    step_limit, time_limit, token_limit, cost_limit
        Budget of an episode: primitive actions (by default each task's own), s, tokens, US dollars.
    model_args : mapping, optional
        Arguments of the model's provider.
    model_base_url : str, optional
        Address of the provider.
    internal_tools : bool, optional
        False: plain function calling even where the provider has native computer use.
    retries : int
        How often an episode whose environment broke is tried again.
    progress : callable, optional
        Called after every episode.
    resumed : callable, optional
        Called at the beginning with the number of episodes that have finished in the folder already, if there are any,
        and the number of all.

    Returns
    -------
    list of EpisodeResult
        One per episode, in the order of task, guidance, seed.

    Raises
    ------
    MatAssayError
        If nothing is selected, or the agent or model cannot be had.
    RunIncomplete
        If an episode came to no end.
    """
    dataset = samples(tasks, guidances, seeds)
    if not dataset:
        raise MatAssayError("no episode is selected")
    who = agent if agent is not None and agent in AGENTS else loop_for(tasks, agent)
    # A scripted agent acts through whatever the task has; what a log says of the loop follows from the tasks.
    by_code = all(t.interface is Interface.WORKSPACE for t in tasks)
    loop = who if who in LOOPS else TOOLS if by_code else GUI
    wanted = [str(s.id) for s in dataset]
    engine_model = _model(who, model, dict(model_args or {}), model_base_url)
    limits: dict[str, Any] = {
        "step_limit": step_limit,
        "time_limit": time_limit,
        "token_limit": token_limit,
        "cost_limit": cost_limit,
        "internal_tools": internal_tools,
    }
    settings = comparable(str(engine_model), engine_model.model_args, settings_from(**limits, agent=loop))
    folder = read_log_dir(log_dir) if Path(log_dir).exists() else LogDir()
    known = [r for r in folder.rows if r.settings == settings and _is_current(r, dataset)]
    ended = {r.result.sample_id for r in known if r.result.outcome is not Outcome.ENVIRONMENT_ERROR}
    # What a log that was cut off holds is left to the engine, which takes it over from there.
    kept = ended & {r.result.sample_id for r in known if r.closed}
    left = [s for s in dataset if s.id not in kept]
    name = _name(tasks, left, settings, folder.complete)
    if ended and resumed is not None:
        resumed(len(ended), len(wanted))
    done, stdout = set(ended), sys.stdout

    def report(result: EpisodeResult) -> None:
        done.add(result.sample_id)
        if progress is not None:
            with contextlib.redirect_stdout(stdout):
                progress(len(done), len(wanted), result)

    if left:
        budget = {t.id: t.step_limit for t in tasks}
        # longest first: a workflow that starts last would run on alone
        left.sort(key=lambda s: -budget[(s.metadata or {})["task"]])
        task = build_task(left, agent=loop, name=name, **limits)
        with listening(report), quiet(), only_readable_logs(log_dir), providers_left_out(who in AGENTS):
            eval_set(
                task,
                log_dir=str(log_dir),
                log_dir_allow_dirty=True,
                model=engine_model,
                max_samples=max_parallel,
                max_tasks=1,
                retry_attempts=1,
                retry_on_error=retries,
                fail_on_error=False,
                score_on_error=True,
                display="none",
                ctl_server=False,
                log_buffer=1,
                log_images=True,
                log_realtime=who in LOOPS,
            )
    rows = {r.result.sample_id: r.result for r in read_log_dir(log_dir).rows if r.settings == settings}
    results = [rows[id] for id in wanted if id in rows]
    missing = [id for id in wanted if id not in rows]
    if missing:
        raise RunIncomplete(f"{len(missing)} of {len(wanted)} episodes came to no end: {missing[:5]}", results, missing)
    return results


@contextlib.contextmanager
def quiet(*, collect: bool = True) -> Iterator[None]:
    """Keep the engine's banners off stdout, which belongs to the results, and its known warnings off the user."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.filterwarnings("ignore", "The 'initial' parameter is deprecated", DeprecationWarning)
        warnings.filterwarnings("ignore", "Unclosed <MemoryObject", ResourceWarning)
        try:
            yield
        finally:
            if collect:  # the streams that the engine leaves open complain when they are collected: here, not later
                gc.collect()


def _name(tasks: Sequence[Task], left: Sequence[Sample], settings: str, complete: Collection[str]) -> str:
    # The engine takes a log for complete by its name and its number of samples. So the name tells one selection from
    # another, and a second attempt at episodes whose environment broke from the first; after a `kill -9` it is the same.
    suites = "+".join(sorted({t.suite for t in tasks}))
    names = (f"{suites}-{digest([n, settings, *([s.id, s.metadata] for s in left)])}" for n in itertools.count())
    return next(name for name in names if name not in complete)


@contextlib.contextmanager
def only_readable_logs(log_dir: str | Path) -> Iterator[None]:
    """Let the engine see the logs of this folder that can be read, and nothing else.

    By itself it looks into folders inside the folder, goes on with the runs that it finds there, and stops at the first
    file that is damaged; at a pipe it waits for ever.
    """

    def listing(*_: Any, **__: Any) -> list[EvalLogInfo]:
        with warnings.catch_warnings(action="ignore", category=UnreadableLog):  # said when the results were read
            found = read_headers(log_dir)
        return [
            EvalLogInfo(
                name=f"file://{path}",  # as the engine writes it, not quoted
                type="file",
                size=(stat := path.stat()).st_size,
                mtime=stat.st_mtime * 1000,
                task=header.eval.task,
                task_id=header.eval.task_id,
                suffix=None,
            )
            for path, header in reversed(found)
        ]

    # Private names: the engine's version is pinned, and a test holds what is asked of them.
    places: list[Any] = [importlib.import_module(n) for n in ("inspect_ai._eval.evalset", "inspect_ai.log._file")]
    own = [place.list_eval_logs for place in places]
    for place in places:
        place.list_eval_logs = listing
    try:
        yield
    finally:
        for place, function in zip(places, own, strict=True):
            place.list_eval_logs = function


@contextlib.contextmanager
def providers_left_out(wanted: bool) -> Iterator[None]:
    """Where a scripted agent acts, do not let the engine import the providers' SDKs that are installed.

    It does so at the first episode, for what a model of theirs may need, and that takes longer than a short episode.
    """
    # Private names, as above.
    place: Any = importlib.import_module("inspect_ai.model._assistant_internal")
    names = [n for n in ("_HAS_OPENAI", "_HAS_ANTHROPIC") if wanted and hasattr(place, n)]
    own = [getattr(place, n) for n in names]
    for name in names:
        setattr(place, name, False)
    try:
        yield
    finally:
        for name, value in zip(names, own, strict=True):
            setattr(place, name, value)


def _is_current(row: Row, dataset: Sequence[Sample]) -> bool:
    revisions = {str(s.id): (s.metadata or {})["task_revision"] for s in dataset}
    return revisions.get(row.result.sample_id) == row.result.task_revision


def _model(agent: str, model: str | None, args: dict[str, Any], base_url: str | None) -> Model:
    if agent in AGENTS:
        if model is not None:
            raise MatAssayError(f"agent {agent!r} is scripted and takes no model, got {model!r}")
        model = f"{PROVIDER}/{agent}"
    elif model is None:
        raise MatAssayError(f"agent {agent!r} needs a model, e.g. anthropic/claude-opus-5-5")
    try:
        with quiet(collect=agent in LOOPS):
            return get_model(model, base_url=base_url, **args)
    except Exception as error:
        raise MatAssayError(f"model {model!r} cannot be used: {_plain(error)}") from error


def _plain(error: Exception) -> str:
    """The engine's words on one line and without the marks with which it colours them."""
    text = re.sub(r"\[/?(bold|blue|red|green|yellow|italic|dim|link)[^\]]*\]", "", str(error))
    return " ".join(text.removeprefix("ERROR:").split())
