"""Running a policy in an episode: no model, no engine, no log."""

from __future__ import annotations

from dataclasses import dataclass

from matassay.core import (
    EnvironmentFailure,
    Episode,
    GraderFailure,
    Guidance,
    Observation,
    Outcome,
    Policy,
    StepLimitReached,
    Task,
    Verdict,
    plain_text,
)

from ._policies import PolicyFactory


@dataclass(frozen=True)
class Finished:
    """An episode that has come to its end; its world is closed, its evidence and records are in ``episode``."""

    episode: Episode
    """The episode."""
    outcome: Outcome
    """How it ended."""
    error: str | None
    """Text of the error, for outcomes that have one."""
    verdict: Verdict | None
    """The verdict; None when not graded."""


async def run_policy(policy: Policy, episode: Episode) -> tuple[Outcome, str | None]:
    """Let a policy act in a started episode until it returns or the step budget is spent.

    The policy sees the accessibility list with each observation. It is closed at the end, whatever happens.

    Returns
    -------
    outcome : Outcome
        ``scored``, ``limit``, ``agent_error`` (the policy raised) or ``environment_error`` (the world broke).
    error : str or None
        Text of the error, for the last two.
    """
    observation: Observation | None = None
    try:
        while True:
            try:
                action = next(policy) if observation is None else policy.send(observation)
            except StopIteration:
                return Outcome.SCORED, None
            except Exception as error:  # noqa: BLE001 - whatever a policy raises is its own failure, and is graded
                return Outcome.AGENT_ERROR, describe(error)
            try:
                observation = (await episode.perform([action], accessible=True)).observation
            except StepLimitReached:
                return Outcome.LIMIT, None
            except Exception as error:  # noqa: BLE001 - and whatever a world raises is the environment's
                return Outcome.ENVIRONMENT_ERROR, describe(error)
    finally:
        policy.close()


async def run_episode(
    task: Task,
    seed: int,
    factory: PolicyFactory,
    guidance: Guidance = Guidance.FULL,
    step_limit: int | None = None,
) -> Finished:
    """Open an episode, let a policy run, grade what it left, and close the world.

    A broken world or grader is an outcome, not an exception.
    """
    episode = Episode.of(task, seed, guidance, step_limit)
    try:
        try:
            await episode.start()
            outcome, error = await run_policy(factory(task, episode.scenario, seed), episode)
            await episode.conclude()
        except EnvironmentFailure as failure:
            outcome, error = Outcome.ENVIRONMENT_ERROR, describe(failure)
        verdict = None
        if outcome.graded:
            try:
                verdict = episode.grade()
            except GraderFailure as failure:
                outcome, error = Outcome.GRADER_ERROR, describe(failure)
        return Finished(episode, outcome, error, verdict)
    finally:
        await episode.close()


def describe(error: BaseException) -> str:
    """An error as one bounded line for a result: of a long text, its beginning and its end."""
    text = " ".join(plain_text(f"{type(error).__name__}: {error}").split())
    return text if len(text) <= 500 else f"{text[:150]} ... {text[-340:]}"
