"""``matassay play``: a person at an instrument, recorded as any agent is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from matassay.core import (
    SCHEMA_VERSION,
    Guidance,
    Interface,
    MatAssayError,
    Scenario,
    Span,
    Task,
    UnknownTask,
    World,
    all_tasks,
    select_tasks,
)

from ._console import Format, claim_stdout, say
from ._places import check_port, folder_named, log_folder
from ._run import new_folder, verdict

if TYPE_CHECKING:
    from matassay.evals import HumanSession
    from matassay.worlds.browser import HumanWorld

#: How often we ask what the person has done, s.
LOOK_EVERY = 0.25


def play(
    instrument: Annotated[str, typer.Argument(help="An instrument (xrd), or the id of a task.")],
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="A task of it: s04.  [default: its workflow]")
    ] = None,
    task_option: Annotated[str | None, typer.Option("--task", metavar="TASK", help="The same, as an option.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed.")] = 0,
    guidance: Annotated[Guidance, typer.Option(help="Which instruction.")] = Guidance.FULL,
    log_dir: Annotated[
        Path | None,
        typer.Option(metavar="D", parser=folder_named, help="Folder for the log.  [default: logs/<date-time>-human]"),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 takes a free one.")] = 0,
    speed: Annotated[
        float, typer.Option(min=0.1, max=10000, metavar="X", help="Instrument seconds per second on the wall.")
    ] = 1.0,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a web browser.")] = True,
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Operate an instrument yourself, in real time; the episode is recorded and graded."""
    if task is not None and task_option is not None and task != task_option:
        raise typer.BadParameter("give the task once", param_hint="--task")
    with claim_stdout() as out:
        chosen = choose(instrument, task or task_option)
        if guidance not in chosen.guidances:
            raise MatAssayError(f"{chosen.id} has no instruction with {guidance} guidance")
        folder = log_dir if log_dir is not None else new_folder("human")
        from matassay.worlds.browser import BrowserWorld, find_browser

        find_browser()
        if port:
            check_port("127.0.0.1", port)
        say("Starting the instrument ...")
        from matassay import evals

        from ._report import write_folder_replay

        def open_world(scenario: Scenario) -> World:
            from matassay.worlds.browser import HumanWorld

            world = chosen.open_world(scenario)
            if not isinstance(world, BrowserWorld):
                raise MatAssayError(f"{chosen.id} is not operated through a page")
            return HumanWorld(world, port, speed)

        async def attend(session: HumanSession) -> None:
            await _attend(session, chosen, speed, show=show)

        with log_folder(folder):
            result = evals.play(
                chosen, seed, log_dir=folder, attend=attend, guidance=guidance, open_world=open_world
            )  # fmt: skip
        page = write_folder_replay(folder, folder / "replay.html")
        if format is Format.JSON:
            row = {
                **result.contract(),
                "log_dir": str(folder),
                "log": result.log,
                "replay": str(page) if page else None,
            }
            out.json({"schema_version": SCHEMA_VERSION, **row})
        else:
            out.lines("", f"{result.id}, seed {result.seed}: {verdict(result)}")
            for name, holds in result.criteria.items():
                out.lines(f"  {'holds' if holds else 'NO   '}  {name.replace('_', ' ')}")
            for c in result.consequences:
                out.lines(f"  mishap at step {c.get('step')}: {c.get('message') or c['name']}")
            out.lines("", f"log     {result.log}", *([f"replay  {page}"] if page else []))
        raise typer.Exit(0 if result.outcome.graded else 2)


def choose(instrument: str, task: str | None) -> Task:
    """The task that is meant: ``xrd`` and ``s04``, ``instruments/xrd/s04``, or ``xrd`` alone for its workflow.

    Raises
    ------
    MatAssayError
        If there is none, or several, or it is not done at an instrument.
    """
    by_code = [t for t in all_tasks() if t.interface is Interface.WORKSPACE]
    if instrument in {name for t in by_code for name in (t.suite, t.group)} or instrument.startswith(
        tuple(f"{t.suite}/" for t in by_code)
    ):
        raise _done_by_code(instrument, task)
    known = {t.group for t in all_tasks() if t.interface is Interface.SCREEN}
    if instrument not in known and "/" not in instrument:
        raise UnknownTask(f"no instrument is called {instrument!r}; there are: {', '.join(sorted(known))}")
    prefixes = sorted({f"{t.suite}/{t.group}" for t in all_tasks() if t.group == instrument}) or [instrument]
    if task is not None:
        prefixes = [f"{p}/{task}" for p in prefixes]
    found = select_tasks(prefixes)
    if len(found) > 1:
        found = [t for t in found if t.span is Span.WORKFLOW] or found
    if len(found) != 1:
        raise MatAssayError(f"several tasks are meant by {' '.join(prefixes)}: {', '.join(t.id for t in found)}")
    return found[0]


def _done_by_code(name: str, task: str | None) -> MatAssayError:
    """Why a research task cannot be played.

    Raises
    ------
    UnknownTask
        If there is no such task.
    """
    suites = {t.group: t.suite for t in all_tasks() if t.interface is Interface.WORKSPACE}
    prefix = "/".join(part for part in (suites.get(name), name, task) if part)
    select_tasks([prefix])
    return MatAssayError(
        f"{prefix} is done by code, not at an instrument: matassay run {prefix} --agent code --model MODEL"
    )


async def _attend(session: HumanSession, task: Task, speed: float, *, show: bool) -> None:
    world = cast("HumanWorld", session.episode.world)  # made by `open_world` above
    say("", f"{task.title} ({task.id})", "", session.episode.instruction, "", f"The instrument: {world.url}")
    if show and (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform == "darwin"):
        import webbrowser

        webbrowser.open(world.url)
    else:
        say("Open this address in a web browser on this machine.")
    pace = "as on the wall" if speed == 1 else f"{speed:g} times as fast as on the wall"
    say(f"Time runs {pace} (what the instruction says of waiting holds for agents; --speed sets yours).")
    how = "Press Enter here (or Ctrl-C)" if sys.stdin.isatty() else "Press Ctrl-C here"
    say(f"{how} when you are done: that grades what you leave.")
    done = asyncio.Event()
    with _told_to_stop(done):
        while not done.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), LOOK_EVERY)
            await _record(session, world)
    say("Grading ...")


async def _record(session: HumanSession, world: HumanWorld) -> None:
    new = await world.gestures()
    if not new:
        return
    image = (await world.observe()).image
    for gesture in new:
        await session.gesture(as_action(gesture), gesture.get("refused"), image)


@contextlib.contextmanager
def _told_to_stop(done: asyncio.Event) -> Iterator[None]:
    """Set the event on Enter, Ctrl-D, Ctrl-C or a request to terminate.

    Without a terminal a line does as well, but the end of the input does not: it may have ended before we began.
    """
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def typed() -> None:
        loop.remove_reader(sys.stdin)
        if sys.stdin.readline() or sys.stdin.isatty():
            done.set()

    for number in before:
        loop.add_signal_handler(number, done.set)
    with contextlib.suppress(OSError, ValueError):  # no terminal (a file, /dev/null): Ctrl-C and termination remain
        loop.add_reader(sys.stdin, typed)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            loop.remove_reader(sys.stdin)
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            signal.signal(number, handler)


#: Gestures of the panel that are not a plain click, as actions.
GESTURES = {"double": "double_click", "drag": "left_click_drag", "pan": "left_click_drag", "drop": "left_click_drag",
            "zoom": "left_click_drag", "wheel": "scroll"}  # fmt: skip


def as_action(gesture: Mapping[str, Any]) -> dict[str, Any]:
    """What a person did to a control, in the words of the agents' actions.

    The page says what was done, not by which motions: a value that was typed comes as ``type``, everything else as
    what is done at the place where the pointer was. ``control`` and ``value`` name the control and what it was given.
    """
    kind, at, args = gesture.get("gesture"), gesture.get("at"), list(gesture.get("args") or [])
    action: dict[str, Any] = {"action": GESTURES.get(str(kind), "left_click")}
    if kind == "cancel":
        action = {"action": "key", "text": "Escape"}
    elif kind == "wheel":
        clicks = args[-1] if args and isinstance(args[-1], int | float) else 1
        action |= {"scroll_direction": "down" if clicks > 0 else "up", "scroll_amount": min(50, abs(round(clicks)))}
    elif at is None:
        typed = str(args[0]) if kind is None and args and not isinstance(args[0], bool) else ""
        action = (
            {"action": "type", "text": typed, "press_enter": True} if typed else {"action": "key", "text": "Return"}
        )
    if isinstance(at, list) and len(at) == 2 and kind != "cancel":
        action["coordinate"] = at
    return {**action, "control": gesture.get("id"), **({"value": args} if args else {})}
