"""Reading of the engine's logs: the one module here that knows the engine.

What it gives is plain: `Replay` for the pages, `RunSettings` for the reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from matassay.core import EpisodeResult, MatAssayError, scalars

from ._cells import Cells, Program
from ._messages import words
from ._reader import Reader, action_of, record_of
from ._screens import Screens
from ._steps import Replay
from ._summary import RunSettings

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

#: Actions of agents that work by code, and of programs that do (`matassay.evals`).
BY_CODE: Final = ("run_code", "malformed_reply", "unusable_call")
BY_ITSELF: Final = "model_reply"

#: Settings under clearer names.
NAMES: Final = {
    "observation": "observation mode",
    "screenshots": "screenshots kept in view",
    "private_split": "private split",
}


def find_logs(places: Sequence[Path]) -> list[Path]:
    """Log files among files and folders, in the order of their names, which begin with their dates.

    A folder stands for the logs in it, not for those in folders inside it: these may be another run's. What is named
    like a log there and is no file is left out with a warning.

    Raises
    ------
    MatAssayError
        If a place does not exist.
    """
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            from matassay.evals.results import log_files

            found += log_files(place)
        elif place.is_file():
            found.append(place)
        else:
            raise MatAssayError(f"{place}: there is no such log file or folder")
    return list(dict.fromkeys(found))


def read_settings(places: Sequence[Path]) -> list[RunSettings]:
    """Circumstances of each log, from its header; a log that cannot be read is left out with a warning."""
    from matassay.evals.results import skipped

    found = []
    for path in find_logs(places):
        try:
            found.append(_settings(path))
        except MatAssayError as error:
            skipped(str(path), str(error).removeprefix(f"{path}: "))
    return found


def read_replays(log: Path, sample: str | Sequence[str] | None = None) -> Iterator[Replay]:
    """Episodes of one log file, one at a time, because their pictures are large.

    An episode that is damaged is left out with a warning.

    Parameters
    ----------
    log : Path
        Log file.
    sample : str or sequence of str, optional
        Only the sample of this id; if there is none, those in whose id it stands. Or the samples of these ids, in their
        order.

    Raises
    ------
    MatAssayError
        If the file is no log, or has no such sample.
    """
    from inspect_ai.log import read_eval_log_sample, read_eval_log_sample_summaries

    from matassay.agents import describe
    from matassay.evals.results import read_log, result_of, skipped

    spec = read_log(log, header_only=True).eval
    try:
        found = [(str(s.id), s.uuid) for s in read_eval_log_sample_summaries(str(log))]
    except Exception as error:
        raise MatAssayError(f"{log}: its episodes cannot be read ({describe(error)})") from error
    # In the main thread, Python before 3.13 writes the whole episode as text, pictures and all, when it compares the
    # handlers of Ctrl-C after the engine has read it.
    with ThreadPoolExecutor(max_workers=1) as apart:
        for id, uuid in _wanted(log, found, sample):
            read = partial(read_eval_log_sample, str(log), uuid=uuid, resolve_attachments="core")
            try:
                full = apart.submit(read, exclude_fields={"events"}).result()
                if _kind(full) is not Screens:  # their events are small, and hold times, tokens and plots
                    full = apart.submit(read).result()
                replay = make_replay(full, result_of(full, spec, str(log)))
            except Exception as error:  # noqa: BLE001 - whatever is wrong with one, the others are shown
                skipped(f"{log}: episode {id}", describe(error))
                continue
            yield replay


def _wanted(
    log: Path, found: Sequence[tuple[str, str | None]], sample: str | Sequence[str] | None
) -> Sequence[tuple[str, str | None]]:
    """Of the ids and uuids in a log, those that are asked for."""
    if sample is None:
        return found
    if not isinstance(sample, str):
        return [f for id in sample for f in _wanted(log, found, id)]
    wanted = [f for f in found if sample == f[0]] or [f for f in found if sample in f[0]]
    if not wanted:
        raise MatAssayError(f"{log}: no sample {sample!r}; it has: {', '.join(id for id, _ in found) or 'none'}")
    return wanted


def make_replay(sample: EvalSample, result: EpisodeResult) -> Replay:
    """An episode from its sample and its result."""
    reader = _kind(sample)(sample)
    reader.read()
    return Replay(
        result=result,
        instruction=sample.input if isinstance(sample.input, str) else words(sample.input[-1].content),
        images=reader.images,
        first=reader.first,
        last=reader.screen,
        steps=tuple(reader.steps),
        closing=reader.closing,
        descriptions=_descriptions(result.id),
        initial=scalars(reader.record.get("initial")),
        workspace=not isinstance(reader, Screens) or _in_workspace(result.id),
    )


def _kind(sample: EvalSample) -> type[Reader]:
    """How the agent acted: only a workspace keeps what was shown, and only it has steps that are code."""
    record = record_of(sample)
    actions = {str(action_of(r).get("action")) for r in record.get("records") or []}
    if BY_ITSELF in actions:
        return Program
    return Cells if record.get("shown") or not actions.isdisjoint(BY_CODE) else Screens


def _descriptions(task: str) -> dict[str, str]:
    from matassay.core import UnknownTask, find_task

    try:
        return {c.name: c.description for c in find_task(task).criteria}
    except UnknownTask:
        return {}


def _in_workspace(task: str) -> bool:
    """Whether the task has no screen; an agent that did nothing leaves no record of it."""
    from matassay.core import Interface, UnknownTask, find_task

    try:
        return find_task(task).interface is Interface.WORKSPACE
    except UnknownTask:
        return False


def _settings(path: Path) -> RunSettings:
    from matassay.evals.results import read_log

    header = read_log(path, header_only=True)
    spec = header.eval
    facts = dict(spec.metadata or {})
    shown: dict[str, Any] = {
        "model": spec.model,
        "agent (scaffold)": facts.get("agent"),
        "status": str(header.status),
        **{NAMES.get(str(k), str(k)): v for k, v in dict(facts.get("settings") or {}).items()},
        **{f"model argument {k}": v for k, v in spec.model_args.items()},
        **{f"package {name}": v for name, v in (spec.packages or {}).items()},
    }
    if spec.revision is not None:
        shown["source"] = f"{spec.revision.commit}{' (changed)' if spec.revision.dirty else ''}"
    shown.update(spec.model_generate_config.model_dump(exclude_none=True, exclude_defaults=True))
    return RunSettings(str(path), spec.created, {k: _plain(k, v) for k, v in shown.items() if _said(k, v)})


def _said(name: str, value: Any) -> bool:
    return value not in (None, "", [], {}) or name == "step_limit"


def _plain(name: str, value: Any) -> str:
    if name == "step_limit" and value is None:
        return "each task's own"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
