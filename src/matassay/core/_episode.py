"""One run of one task: counts steps, refuses bad actions, keeps evidence, and is graded once at the end."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ._action import Action
from ._errors import InvalidAction
from ._evidence import Consequence, Evidence
from ._observation import Observation
from ._state import Scalar, changes, scalars
from ._task import Guidance, Scenario, Task
from ._text import plain_json, plain_text
from ._verdict import Verdict, grade
from ._world import World

#: Characters that a record keeps of any text that an agent sent, and of its code.
MAX_WORDS: Final = 2000
MAX_CODE: Final = 40_000


@dataclass(frozen=True)
class Turn:
    """What one call of the agent's tool gave."""

    observation: Observation
    """The screen after the last action that was carried out."""
    error: str | None
    """Why the batch stopped: a refused action's text."""
    done: int
    """Actions of the batch that were counted, the refused one included."""


@dataclass
class StepRecord:
    """One primitive action as it was counted."""

    step: int
    """Number, 1 for the first."""
    action: dict[str, Any]
    """The action as sent."""
    error: str | None
    """Why it was refused, if it was."""
    time: float
    """Virtual clock after it, s."""
    changes: dict[str, Scalar] = field(default_factory=dict)
    """Scalar entries of the state that differ from those after the step before; null: an entry that is gone."""


class StepLimitReached(Exception):
    """The step budget is spent; the episode ends with outcome ``limit``."""


@dataclass
class Episode:
    """A task being attempted.

    A *step* is one primitive action: invalid ones, ``wait`` and ``screenshot`` included; each action of a batch
    counts; finishing is free.
    """

    task: Task
    """What is attempted."""
    scenario: Scenario
    """With these numbers."""
    world: World
    """In this world."""
    guidance: Guidance = Guidance.FULL
    """With this instruction."""
    step_limit: int | None = None
    """Budget; None for the task's own."""
    steps: int = 0
    """Steps so far."""
    invalid_actions: int = 0
    """Steps whose action was refused."""
    records: list[StepRecord] = field(default_factory=list)
    """One per step."""
    latest: Evidence = field(default_factory=Evidence)
    """Evidence after the last step."""
    initial_state: dict[str, Scalar] = field(default_factory=dict)
    """Scalar entries of the state at the start; with the changes of the records laid over it, that of any step."""
    _recorded: dict[str, Scalar] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, task: Task, seed: int, guidance: Guidance = Guidance.FULL, step_limit: int | None = None) -> Episode:
        """Make the episode of a task and seed, with a world of its own (not started)."""
        scenario = task.scenario(seed)
        return cls(task, scenario, task.open_world(scenario), guidance, step_limit)

    @property
    def instruction(self) -> str:
        """The words for the agent."""
        return self.scenario.instructions[self.guidance]

    @property
    def budget(self) -> int:
        """Steps left."""
        return max(0, (self.step_limit or self.task.step_limit) - self.steps)

    async def start(self) -> None:
        """Start the world and take the first evidence."""
        await self.world.start()
        await self._collect()
        self.initial_state = self._recorded = scalars(self.latest.state)

    async def perform(self, actions: Sequence[Action | Mapping[str, Any]], *, accessible: bool = False) -> Turn:
        """Carry out a batch: in order, stopping at the first refused action; one observation at the end.

        Raises
        ------
        StepLimitReached
            If the budget was spent before the first action of the batch.
        EnvironmentFailure
            If the world broke.
        """
        if not actions:
            actions = [{}]  # an empty batch is one invalid action: it must not be a free look
        if not self.budget:
            raise StepLimitReached(f"the budget of {self.step_limit or self.task.step_limit} steps is spent")
        error, done = None, 0
        for raw in actions:
            if not self.budget:
                error = "the step budget is spent: the remaining actions were not carried out"
                break
            self.steps += 1
            done += 1
            sent = raw.to_json() if isinstance(raw, Action) else raw
            try:
                await self.world.act(raw if isinstance(raw, Action) else self.world.parse(raw))
            except InvalidAction as refused:
                self.invalid_actions += 1
                error = str(refused)
                await self.world.notify(f"Action refused: {error}")
            await self.note(sent, error)
            if error is not None:
                break
        return Turn(await self.look(accessible=accessible), error, done)

    async def look(self, *, accessible: bool = False) -> Observation:
        """What the agent sees after a batch."""
        return await self.world.observe(accessible=accessible)

    async def note(self, action: Any, error: str | None = None) -> StepRecord:
        """Take the evidence after a step that has been counted, and add the step to the records.

        Parameters
        ----------
        action : Any
            As it was sent; cut down to JSON of bounded size.
        error : str, optional
            Why it was refused, if it was.
        """
        await self._collect()
        now = scalars(self.latest.state)
        record = StepRecord(self.steps, _jsonable(action), error, self.latest.time, changes(self._recorded, now))
        self._recorded = now
        self.records.append(record)
        return record

    async def conclude(self) -> Evidence:
        """The agent has ended: fix what it left, and take the last evidence, with the bytes of all files."""
        await self.world.conclude()
        await self._collect()
        return self.latest

    def grade(self) -> Verdict:
        """Grade the latest evidence.

        Raises
        ------
        GraderFailure
            If a criterion raises.
        """
        return grade(self.task, self.latest, self.scenario.goal)

    async def close(self) -> None:
        """Release the world."""
        await self.world.close()

    async def _collect(self) -> None:
        fresh = await self.world.evidence()
        known = self.latest.consequences
        # The world knows when a consequence happened, only the episode knows which step brought it about.
        new: list[Consequence] = [
            known[i] if i < len(known) else dataclasses.replace(c, step=self.steps)
            for i, c in enumerate(fresh.consequences)
        ]
        self.latest = dataclasses.replace(fresh, consequences=tuple(new))


def _jsonable(raw: Any, depth: int = 0) -> Any:
    """What an agent sent, cut down to JSON of bounded size so that hostile input cannot fill a log."""
    if isinstance(raw, Mapping) and depth < 4:
        return {
            plain_text(str(k)[:100]): _shortened(v, MAX_CODE) if k == "code" else _jsonable(v, depth + 1)
            for k, v in list(raw.items())[:50]
        }
    if isinstance(raw, list | tuple) and depth < 4:
        return [_jsonable(v, depth + 1) for v in raw[:250]]
    if raw is None or isinstance(raw, bool | int | float):
        return plain_json(raw)
    return _shortened(raw, MAX_WORDS)


def _shortened(raw: Any, length: int) -> str:
    text = plain_text(str(raw)[: length + 1])
    return text if len(text) <= length else text[:length] + "…"
