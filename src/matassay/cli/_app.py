"""The commands, and what becomes of errors."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from typing import Annotated, TextIO

import typer

from matassay import __version__
from matassay.core import BrokenTask, EnvironmentFailure, MatAssayError, UnreadableLog

from . import _doctor, _grade, _list, _play, _report, _reproduce, _run, _verify
from ._console import say

#: Exit codes of the contract for scripts.
DONE, FAILED, BAD_USE, INTERRUPTED = 0, 1, 2, 130

app = typer.Typer(
    name="matassay",
    help="MatAssay measures what AI agents can do in materials science.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"matassay {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and stop.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an error came from; may also stand after the command.")
    ] = False,
) -> None:
    pass


app.command("list")(_list.list_tasks)
app.command("run")(_run.run)
app.command("verify")(_verify.verify)
app.command("report")(_report.report)
app.command("grade")(_grade.grade)
app.command("reproduce")(_reproduce.reproduce)
app.command("regrade")(_report.regrade)
app.command("replay")(_report.replay)
app.command("view")(_report.view)
app.command("play")(_play.play)
app.command("doctor")(_doctor.doctor)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; by default those of the process.

    Returns
    -------
    int
        Exit code: 0 done; 1 an expectation did not hold; 2 bad use, nothing selected, or something broke;
        130 interrupted.
    """
    said: set[str] = set()
    args, debug = _without_debug(sys.argv[1:] if argv is None else list(argv))
    try:
        with _plain_warnings() as said:
            app(args=args, prog_name="matassay")
    except SystemExit as end:
        if end.code == INTERRUPTED:  # what Typer makes of Ctrl-C
            say("Interrupted.")
        return end.code if isinstance(end.code, int) else BAD_USE if end.code else DONE
    except KeyboardInterrupt:
        say("Interrupted.")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; Python must not complain when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except MatAssayError as error:
        if debug:
            raise
        say(f"matassay: {_once(str(error), said)}")
        if isinstance(error, EnvironmentFailure):
            say("`matassay doctor` lists what is missing, with the command that mends it; `make setup` does it all.")
        return BAD_USE
    except Exception as error:
        if debug:
            raise
        say(f"matassay: {type(error).__name__}: {error}", "This was not expected: --debug shows where it came from.")
        return BAD_USE
    return DONE


@contextlib.contextmanager
def _plain_warnings() -> Iterator[set[str]]:
    """Say what is left out, of logs and of suites, without the line of code that found it; what was said."""
    with warnings.catch_warnings():
        show, said = warnings.showwarning, set[str]()

        def shown(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if issubclass(category, BrokenTask | UnreadableLog):
                if str(message) not in said:  # logs are read more than once
                    said.add(str(message))
                    say(f"matassay: {message}")
            else:
                show(message, category, filename, lineno, file, line)

        warnings.showwarning = shown
        yield said


def _once(error: str, said: Collection[str]) -> str:
    """An error without the reason that was said before: a broken task is told of when it is left out, and when asked for."""
    for warning in said:
        why = warning.partition(": ")[2]
        if why and error.endswith(f": {why}"):
            return f"{error.removesuffix(f': {why}')} (see above)"
    return error


def _without_debug(args: Sequence[str]) -> tuple[list[str], bool]:
    """``--debug`` anywhere before ``--``, so that it can be added at the end of a command that went wrong."""
    end = args.index("--") if "--" in args else len(args)
    kept = [a for a in args[:end] if a != "--debug"]
    return kept + list(args[end:]), len(kept) < end
