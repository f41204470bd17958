"""What a check is given: a task, a seed, and the episodes that it asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from matassay.agents import AGENTS, PolicyFactory, public
from matassay.core import Attempt, Policy, Scenario, Task

from ._trials import NoReference, Trial, Trials


@dataclass
class Case:
    """A task with one seed."""

    task: Task
    """What is checked."""
    seed: int
    """With these numbers."""
    trials: Trials
    """Runs the episodes."""

    @cached_property
    def scenario(self) -> Scenario:
        """The task with its numbers filled in."""
        return self.task.scenario(self.seed)

    @property
    def goal(self) -> Mapping[str, Any]:
        """Public numbers."""
        return self.scenario.goal

    @cached_property
    def other(self) -> Case:
        """The same task with another seed."""
        return replace(self, seed=self.seed + 1)

    async def trial(
        self, name: str, factory: PolicyFactory, *, copy: int = 0, reads: bool = True, keeps: bool = False
    ) -> Trial:
        """The episode of a policy; see `Trials.of`."""
        return await self.trials.of(self.task, self.seed, name, factory, copy=copy, reads=reads, keeps=keeps)

    async def attempt(self, attempt: Attempt, *, copy: int = 0, keeps: bool = False) -> Trial:
        """The episode of one of the task's own attempts."""

        def factory(task: Task, scenario: Scenario, seed: int) -> Policy:
            return attempt.policy(public(scenario))

        return await self.trial(f"attempt {attempt.name}", factory, copy=copy, keeps=keeps)

    async def reference(self, *, copy: int = 0) -> Trial:
        """The episode of the reference, with its screens.

        Raises
        ------
        NoReference
            If the task has none.
        """
        if self.task.reference is None:
            raise NoReference("the task has no reference")
        return await self.attempt(self.task.reference, copy=copy, keeps=True)

    async def before_and_after(self) -> tuple[Trial, Trial]:
        """Two episodes of the reference, with others in between that could leave something behind.

        One pair serves for all that is asked of the same again: that the second is no different shows both that an
        episode can be repeated and that the others left nothing.
        """
        before = await self.reference()
        await self.other.reference()
        await self.trial("null", AGENTS["null"])
        return before, await self.reference(copy=1)
