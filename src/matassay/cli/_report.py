"""``matassay report``, ``regrade``, ``replay`` and ``view``: what is done with logs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from matassay.core import SCHEMA_VERSION, EpisodeResult, MatAssayError, UnknownTask

from ._console import Format, claim_stdout, counted, fitting_table, say
from ._engine import load_engine
from ._places import check_port, file_named, folder_named, log_folder

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from matassay.report import Replay, Summary


def report(
    logdir: Annotated[
        list[Path],
        typer.Argument(metavar="LOGDIR", parser=folder_named, help="Folders of logs; give those of baselines as well."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=folder_named, help="Where to write.  [default: the first folder]"),
    ] = None,
    failures: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=file_named,
            help="Causes of failed runs set by a person.  [default: failures.json in the folders]",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Write tables, intervals and plots as HTML, CSV and JSON."""
    with claim_stdout() as real:
        for folder in logdir:
            if folder.is_file():
                raise MatAssayError(f"{folder}: a report is made of folders of logs: give the folder in which it lies")
            if not folder.is_dir():
                raise MatAssayError(f"{folder}: there is no such folder")
        load_engine()
        from matassay import evals
        from matassay.report import find_overrules, idle_overrules, read_overrules, summarise, write_report
        from matassay.report.logs import read_settings

        results = [r for folder in logdir for r in evals.read_results(folder.resolve())]
        if not results:
            places = ", ".join(map(str, logdir))
            raise MatAssayError(f"no finished episode in {places}; folders inside a folder are named themselves")
        settings = read_settings([folder.resolve() for folder in logdir])
        overrules = read_overrules(failures) if failures is not None else find_overrules(logdir)
        place = out or logdir[0]
        with log_folder(place, "the report"):
            files = write_report(results, place, settings, overrules)
        summary = summarise(results, settings)
        _tell_idle(idle_overrules(results, overrules))
        if format is Format.JSON:
            where = {name: str(path) for name, path in vars(files).items() if path is not None}
            real.json({**json.loads(files.json.read_text("utf-8")), "files": where})
            return
        real.table(_summary_table(summary, real.console))
        real.lines("", *(f"report  {path}" for path in (files.html, files.csv, files.json, files.failures) if path))
        say(*(f"note: {text}" for text in summary.warnings))


def _tell_idle(runs: Sequence[str]) -> None:
    if runs:
        some = ", ".join(runs[:3]) + (", ..." if len(runs) > 3 else "")
        say(f"note: causes set by a person change nothing where no run of that name failed: {some}")


#: Columns of the table of rates after those that say whose they are.
RATES: Final = ("graded", "success", "95 % interval", "score", "steps", "on success", "false term.", "invalid")

#: Of those, which a narrow terminal does without, the first ones first.
SPARED: Final = ("invalid", "false term.", "on success", "steps", "score", "95 % interval")


def _short_keys(keys: Sequence[str]) -> list[str]:
    """The last part of each, if that tells them apart."""
    last = {key: key.rpartition("/")[2] for key in keys}
    return [last[key] for key in keys] if len(set(last.values())) == len(last) else list(keys)


def _summary_table(summary: Summary, console: Console) -> Table:
    """The rates; where the terminal is narrow, without the last columns, which the page has."""
    from rich.markup import escape

    left = ("", "agent or model", "guidance")
    sections: list[list[tuple[str, ...]]] = []
    for name in ("overall", "span", "level", "group"):
        rows = summary.rows(name)
        keys = _short_keys([r.key for r in rows])
        sections.append([])
        for key, r in zip(keys, rows, strict=True):
            i = r.success
            sections[-1].append(
                (
                    escape(key),
                    escape(summary.name(r.subject)),
                    r.guidance,
                    f"{r.scored} of {r.attempted}",
                    "-" if i is None else f"{i.rate:.1%}",
                    "-" if i is None else f"{i.low:.0%} - {i.high:.0%}",
                    *(
                        "-" if v is None else f"{v:.{d}f}"
                        for v, d in ((r.score, 2), (r.steps, 1), (r.steps_on_success, 1))
                    ),
                    "-" if r.false_termination_rate is None else f"{r.false_termination_rate:.0%}",
                    str(r.invalid_actions),
                )
            )
    return fitting_table([*left, *RATES], sections, console, right=RATES, droppable=SPARED, foldable=left[:2])


def regrade(
    log: Annotated[list[Path], typer.Argument(metavar="LOG", parser=file_named, help="Log files, or folders of them.")],
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Grade the stored evidence again with the grading code as it is now."""
    with claim_stdout() as out:
        load_engine()
        from matassay import evals
        from matassay.report.logs import find_logs

        paths = find_logs(log)
        if not paths:
            raise MatAssayError(f"no logs in {', '.join(map(str, log))}; folders inside a folder are named themselves")
        pairs: list[tuple[EpisodeResult, EpisodeResult]] = []
        left: dict[Path, str] = {}
        for path in paths:
            try:
                pairs += evals.regrade(path)
            except UnknownTask as error:
                left[path] = f"{error}. It needs the suite, or the version of MatAssay, that has this task"
            except MatAssayError as error:
                left[path] = str(error).removeprefix(f"{path}: ")
        graded = len(paths) - len(left)
        changed = [(old, new) for old, new in pairs if _judged(old) != _judged(new)]
        if format is Format.JSON:
            rows = [
                {
                    **{name: getattr(new, name) for name in ("id", "guidance", "seed", "agent", "model", "log")},
                    "before": _judged(old),
                    "after": _judged(new),
                    "changed": _judged(old) != _judged(new),
                }
                for old, new in pairs
            ]
            logs = {"logs": [str(p) for p in paths], "not_regraded": {str(p): why for p, why in left.items()}}
            out.json({"schema_version": SCHEMA_VERSION, **logs, "episodes": rows})
        else:
            for old, new in changed:
                out.lines(f"{new.id}  {new.guidance}, seed {new.seed}: {_short(old)} -> {_short(new)}")
            what = f"{counted(len(pairs), 'episode')} of {counted(graded, 'log')} graded again"
            out.lines(f"{what}, {counted(len(changed), 'verdict')} changed")
        say(*(f"not graded again: {path}: {why}" for path, why in left.items()))
        raise typer.Exit(2 if left or any(str(new.outcome) == "grader_error" for _, new in pairs) else 0)


def _judged(r: EpisodeResult) -> dict[str, Any]:
    return {"outcome": str(r.outcome), "success": r.success, "score": r.score, "criteria": dict(r.criteria)}


def _short(r: EpisodeResult) -> str:
    if r.success is None:
        return str(r.outcome).replace("_", " ")
    return f"{'success' if r.success else 'no success'}, score {r.score:.2f}"


def replay(
    log: Annotated[Path, typer.Argument(metavar="LOG", parser=file_named, help="A log file, or a folder of logs.")],
    sample: Annotated[
        str | None, typer.Option(metavar="ID", help="Only episodes in whose id this stands: s04-set-angles@full#0.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", parser=file_named, help="The page.  [default: beside the log]")
    ] = None,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Write one HTML file with every screenshot and the actions drawn on it."""
    with claim_stdout() as real:
        if not log.exists():
            raise MatAssayError(f"{log}: there is no such log file or folder")
        load_engine()
        default = log / "replay.html" if log.is_dir() else log.with_name(f"{log.stem}.replay.html")
        if sample is not None and out is None:
            safe = "".join(c if c.isalnum() or c in "._-" else "-" for c in sample)
            default = default.with_name(f"{default.stem}.{safe}.html")
        place = out or default
        with log_folder(place.parent, "the replay"):
            page = write_folder_replay(log, place, sample)
        if page is None:
            raise MatAssayError(f"{log}: no finished episode{f' with {sample!r} in its id' if sample else ''}")
        if format is Format.JSON:
            real.json({"schema_version": SCHEMA_VERSION, "files": [str(page)]})
        else:
            real.lines(f"replay  {page}")


#: Logs of more than so many bytes give a page with smaller pictures.
LARGE = 20_000_000


def log_size(log: Path) -> int:
    """Bytes of a log, or of all logs of a folder."""
    from matassay.report.logs import find_logs

    return sum(p.stat().st_size for p in find_logs([log]))


def write_folder_replay(log: Path, page: Path, sample: str | None = None) -> Path | None:
    """Write the replay of a log, or of every episode of a folder; None if there is none."""
    from matassay.report import write_replay

    episodes = _folder_episodes(log, sample) if log.is_dir() else _file_episodes(log, sample)
    first = next(episodes, None)
    if first is None:
        return None

    def chained() -> Iterator[Replay]:
        yield first
        yield from episodes

    return write_replay(chained(), page, "MatAssay replay", smaller=log_size(log) > LARGE)


def _file_episodes(log: Path, sample: str | None) -> Iterator[Replay]:
    from matassay.report.logs import read_replays

    yield from read_replays(log, sample)


def _folder_episodes(folder: Path, sample: str | None) -> Iterator[Replay]:
    """Each episode once, however often its run was resumed."""
    from matassay import evals
    from matassay.report.logs import read_replays

    wanted = (r for r in evals.read_results(folder) if sample is None or sample in r.sample_id)
    for log, results in groupby(wanted, key=lambda r: r.log):
        yield from read_replays(_path(log), [r.sample_id for r in results])


def _path(location: str) -> Path:
    from urllib.parse import unquote, urlsplit

    return Path(unquote(urlsplit(location).path)) if location.startswith("file:") else Path(location)


def view(
    logdir: Annotated[Path, typer.Argument(metavar="LOGDIR", parser=folder_named, help="Folder of logs.")] = Path(
        "logs"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the viewer.")] = 7575,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open Inspect's viewer with every message, tool call and token count; Ctrl-C ends it."""
    if not logdir.is_dir():
        raise MatAssayError(f"{logdir}: there is no such folder")
    check_port(host, port)
    say(f"Viewer at http://{host}:{port} (Ctrl-C ends it)")
    argv = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(logdir)]
    argv += ["--host", host, "--port", str(port)]
    try:
        code = subprocess.run(argv, check=False).returncode  # noqa: S603 - the engine's own viewer
    except KeyboardInterrupt:
        code = 0
    raise typer.Exit(0 if code in (0, 130, -2) else 2)
