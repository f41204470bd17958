"""Episodes that several checks look at: each is run once and kept."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from matassay.agents import PolicyFactory, run_policy
from matassay.core import (
    EnvironmentFailure,
    Episode,
    Evidence,
    GraderFailure,
    Guidance,
    MatAssayError,
    Observation,
    Outcome,
    Task,
)
from matassay.worlds.browser import BrowserWorld

#: Episodes at the same time; more do not help on two cores.
PARALLEL = 2


@dataclass(frozen=True)
class Trial:
    """One episode that has ended."""

    outcome: Outcome
    """How it ended."""
    error: str
    """Text of the error, if the outcome has one."""
    success: bool | None
    """Verdict; None when not graded."""
    criteria: Mapping[str, bool]
    """Each criterion; empty when not graded."""
    steps: int
    """Primitive actions."""
    start: Evidence
    """Before the first action."""
    evidence: Evidence
    """At the end, with the bytes of all files."""
    screens: tuple[str, ...]
    """SHA-256 of every screenshot, in order; none if nobody was to compare them."""

    @property
    def told(self) -> str:
        """How it went, in one line."""
        missing = ", ".join(name for name, holds in self.criteria.items() if not holds)
        verdict = "success" if self.success else f"no success, missing: {missing or '?'}"
        return f"{self.outcome} after {self.steps} steps, {self.error or verdict}"


@dataclass(frozen=True)
class _Glance(Observation):
    """A screen whose picture is taken when somebody looks at it: most policies never do, and it is the dear part."""

    world: BrowserWorld | None = None

    def __getattribute__(self, name: str) -> Any:
        if name == "image" and (world := object.__getattribute__(self, "world")) is not None:
            object.__setattr__(self, "image", world.picture())
            object.__setattr__(self, "world", None)
        return object.__getattribute__(self, name)


@dataclass
class _Watched(Episode):
    """An episode that keeps a digest of every screenshot, or takes none that nobody looks at."""

    screens: list[str] = field(default_factory=list)
    reads: bool = True
    keeps: bool = True

    async def look(self, *, accessible: bool = False) -> Observation:
        accessible = accessible and self.reads
        if not self.keeps and isinstance(self.world, BrowserWorld):
            seen = await self.world.observe(accessible=accessible, picture=False)
            return _Glance(**vars(seen), world=self.world)
        seen = await super().look(accessible=accessible)
        if self.keeps:
            self.screens.append(hashlib.sha256(seen.image).hexdigest())
        return seen


class Trials:
    """Runs episodes, a few at a time, and keeps what came of them.

    Parameters
    ----------
    parallel : int
        How many at the same time.
    """

    def __init__(self, parallel: int = PARALLEL) -> None:
        self._kept: dict[tuple[str, int, str, int], asyncio.Task[Trial]] = {}
        self._places = asyncio.Semaphore(parallel)

    async def of(
        self,
        task: Task,
        seed: int,
        name: str,
        factory: PolicyFactory,
        *,
        copy: int = 0,
        reads: bool = True,
        keeps: bool = False,
    ) -> Trial:
        """The episode of a policy.

        Parameters
        ----------
        name : str
            What the policy is called among those of the task.
        factory : callable
            Makes the policy.
        copy : int
            Another number asks for another episode of the same.
        reads : bool
            False for a policy that does not look at the list of elements, which takes time to make.
        keeps : bool
            Whether every screen is kept, as a digest.

        Raises
        ------
        EnvironmentFailure
            If the world broke: that says nothing about the task.
        """
        key = task.id, seed, name, copy
        if key not in self._kept:
            self._kept[key] = asyncio.create_task(self._run(task, seed, factory, reads, keeps))
        return await asyncio.shield(self._kept[key])  # another check may wait for the same

    async def _run(self, task: Task, seed: int, factory: PolicyFactory, reads: bool, keeps: bool) -> Trial:
        async with self._places:
            episode = _Watched.of(task, seed, Guidance.FULL)
            assert isinstance(episode, _Watched)
            episode.reads, episode.keeps = reads, keeps
            try:
                await episode.start()
                start = episode.latest
                outcome, error = await run_policy(factory(task, episode.scenario, seed), episode)
                if outcome is Outcome.ENVIRONMENT_ERROR:
                    raise EnvironmentFailure(error or "the world broke")
                await episode.conclude()
            finally:
                await episode.close()
        success, criteria = None, {}
        try:
            verdict = episode.grade()
            success, criteria = verdict.success, dict(verdict.criteria)
        except GraderFailure as failure:
            outcome, error = Outcome.GRADER_ERROR, str(failure)
        return Trial(
            outcome=outcome,
            error=error or "",
            success=success,
            criteria=criteria,
            steps=episode.steps,
            start=start,
            evidence=episode.latest,
            screens=tuple(episode.screens),
        )

    async def close(self) -> None:
        """Stop what is still running."""
        for trial in self._kept.values():
            trial.cancel()
        await asyncio.gather(*self._kept.values(), return_exceptions=True)


class NoReference(MatAssayError):
    """The task has no reference, which most checks need."""
