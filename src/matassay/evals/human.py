"""A person in the place of the agent: the same record, evidence and verdict."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import eval as inspect_eval
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessageUser, Content, ContentText
from inspect_ai.solver import Generate, Solver, TaskState, solver

from matassay.agents import describe
from matassay.core import Episode, EpisodeResult, Guidance, MatAssayError, Outcome, Scenario, Task, World

from ._agent import begin, close_episode
from ._record import Live, Record, current, keep
from ._run import quiet
from ._scorer import verdict
from ._task import sample, split_settings
from ._tool import screenshot
from .results import result_of

#: Name under which a person's results stand in reports.
HUMAN = "human"


@dataclass
class HumanSession:
    """What a session with a person has in hand."""

    live: Live
    """The running episode."""
    record: Record
    """What goes into the log."""
    state: TaskState
    """The engine's state; its messages become the replay."""

    @property
    def episode(self) -> Episode:
        """The episode; ``episode.world`` is what ``open_world`` made."""
        return self.live.episode

    async def gesture(self, action: Mapping[str, Any], error: str | None = None, image: bytes | None = None) -> None:
        """Count one thing that the person has done.

        Parameters
        ----------
        action : mapping
            In the words of `matassay.core.Action`; the page has carried it out already.
        error : str, optional
            Why the instrument refused it, if it did.
        image : bytes, optional
            PNG of the screen after it, for the replay.
        """
        episode = self.episode
        episode.steps += 1
        episode.invalid_actions += error is not None
        await episode.note(action, error)
        keep(episode, self.record)
        if image is not None:
            self.record.turns += 1
            self.state.messages.append(ChatMessageUser(content=[screenshot(image)]))


def play(
    task: Task,
    seed: int,
    *,
    log_dir: str | Path,
    attend: Callable[[HumanSession], Awaitable[None]],
    guidance: Guidance = Guidance.FULL,
    open_world: Callable[[Scenario], World] | None = None,
) -> EpisodeResult:
    """Let a person do a task.

    Parameters
    ----------
    task : Task
        A registered task.
    seed : int
        Seed.
    log_dir : str or Path
        Folder of logs.
    attend : callable
        Called on the event loop once the world has started; passes gestures to the session and returns when the
        person is done. An exception makes the outcome ``environment_error``.
    guidance : Guidance
        Which instruction.
    open_world : callable, optional
        Makes the world of human mode (real time, the person's own browser); by default the task's own.

    Returns
    -------
    EpisodeResult
        The result, as of any agent.
    """

    @solver
    def opened() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            scenario = task.scenario(seed)
            make = open_world or task.open_world
            await begin(state, lambda: Episode(task, scenario, make(scenario), guidance))
            return state

        return solve

    @solver
    def person() -> Solver:
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            live, record = current()
            assert live.observation is not None
            first: list[Content] = [ContentText(text=live.episode.instruction), screenshot(live.observation.image)]
            state.messages = [ChatMessageUser(content=first)]
            try:
                await attend(HumanSession(live, record, state))
                await live.episode.conclude()
                keep(live.episode, record)
            except Exception as error:
                record.end(Outcome.ENVIRONMENT_ERROR, describe(error))
                raise
            record.end(Outcome.SCORED)
            return state

        return solve

    engine_task = InspectTask(
        dataset=[sample(task, guidance, seed)],
        name=f"{HUMAN}-{task.suite}",
        setup=opened(),
        solver=person(),
        cleanup=close_episode,
        scorer=verdict(),
        score_on_error=True,
        fail_on_error=False,
        metadata={"agent": HUMAN, "settings": split_settings()},
    )
    with quiet():
        (log,) = inspect_eval(
            engine_task, model=None, log_dir=str(log_dir), display="none", ctl_server=False, log_images=True
        )
    content = read_eval_log(log.location)
    if not content.samples:
        raise MatAssayError(f"the session left no episode: {content.error.message if content.error else log.status}")
    return result_of(content.samples[0], content.eval, log.location)
