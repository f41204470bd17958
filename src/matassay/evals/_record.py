"""What is kept of an episode: live handles in this process, plain data in the engine's store."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from dataclasses import asdict, dataclass
from typing import Any, Final

import anyio
from inspect_ai.util import StoreModel, store_as
from pydantic import Field

from matassay.core import (
    EnvironmentFailure,
    Episode,
    Evidence,
    Interface,
    MatAssayError,
    Observation,
    Outcome,
    Policy,
    StepLimitReached,
    Turn,
    plain_json,
)

#: Largest sum of the files that one episode may leave, bytes before compression.
MAX_FILES: Final = 64 * 1024 * 1024

#: Characters of an observation that the record keeps for a replay; the log's messages have all.
MAX_SHOWN: Final = 8000


class Record(StoreModel):
    """The part of an episode that goes into the log, brought up to date after every step.

    The scenario's hidden truth and start are not in it, the state that the world tells its grader is.
    """

    key: str = ""
    """Sample uuid under which the live episode is found."""
    goal: str = "{}"
    """The scenario's public goal, JSON."""
    evidence: str = ""
    """Evidence after the last step, JSON, files by reference; empty: the world was never started."""
    files: dict[str, str] = Field(default_factory=dict)
    """Bytes of the files by SHA-256: zlib, then base64."""
    initial: dict[str, Any] = Field(default_factory=dict)
    """Scalar entries of the state at the start; ``changes`` of the records are laid over it."""
    records: list[dict[str, Any]] = Field(default_factory=list)
    """`matassay.core.StepRecord` of every step, plus ``turn``: the number of the answer that showed its effect."""
    shown: list[str] = Field(default_factory=list)
    """In a workspace, what the agent was shown of each step: at most `MAX_SHOWN` characters."""
    turns: int = 0
    """Answers that went to the agent, each with a screenshot; the one with the instruction is number 0."""
    steps: int = 0
    """Primitive actions."""
    invalid_actions: int = 0
    """Of those, refused."""
    outcome: str = ""
    """How the episode ended as far as is known before grading; empty while it runs."""
    error: str | None = None
    """Text of the error, if there was one."""
    tool_mapping: str = ""
    """How the provider mapped the tool."""

    def end(self, outcome: Outcome, error: str | None = None) -> None:
        """Note how the episode ended; the first ending stands."""
        if not self.outcome:
            self.outcome, self.error = str(outcome), error

    def read_evidence(self) -> Evidence:
        """The evidence with the bytes of its files.

        Raises
        ------
        ValueError
            If the content of a file is missing, cannot be unpacked, or does not have the digest under which it is kept.
        """
        try:
            blobs = {k: zlib.decompress(base64.b64decode(text, validate=True)) for k, text in self.files.items()}
        except (zlib.error, binascii.Error) as error:
            raise ValueError(f"a stored file is damaged: {error}") from error
        evidence = Evidence.from_json(json.loads(self.evidence), blobs)
        if lost := [a.name for a in evidence.artefacts if a.data is None]:
            raise ValueError(f"files that the evidence names are missing: {', '.join(lost)}")
        return evidence


@dataclass
class Live:
    """A running episode. Never goes into the store."""

    episode: Episode
    """The episode."""
    observation: Observation | None = None
    """What the agent saw last."""
    accessible: bool = False
    """Whether to list the visible elements with each observation; only scripted agents get to see them."""
    policy: Policy | None = None
    """The generator of a scripted agent."""
    entered: bool = False
    """The call that is being carried out has reached the tool: from here on the arguments are not at fault."""
    halted: bool = False
    """An action of the current turn was refused: the rest of the turn is not carried out."""

    async def look(self) -> Observation:
        """Look without doing anything."""
        self.observation = await self.episode.world.observe(accessible=self.accessible)
        return self.observation

    async def perform(self, actions: list[Any], record: Record) -> Turn:
        """Carry out a batch and bring the record up to date.

        Raises
        ------
        StepLimitReached
            If the budget is spent.
        EnvironmentFailure
            For whatever else the world raises.
        """
        try:
            turn = await self.episode.perform(actions, accessible=self.accessible)
        except (StepLimitReached, EnvironmentFailure):
            raise
        except Exception as error:
            # The engine would show some of these (TimeoutError, PermissionError) to the model as if it had erred.
            raise EnvironmentFailure(f"the world raised {error!r}") from error
        self.observation = turn.observation
        keep(self.episode, record)
        if self.episode.task.interface is Interface.WORKSPACE:
            record.shown = [*record.shown, turn.observation.text[:MAX_SHOWN]]
        return turn


_live: dict[str, Live] = {}


def register(key: str, live: Live) -> None:
    """Make a live episode findable."""
    _live[key] = live


def release(key: str) -> Live | None:
    """Take a live episode out; None if there is none."""
    return _live.pop(key, None)


async def conclude(key: str, record: Record) -> None:
    """Fix what the agent left where that is possible only now: a workspace is killed, then read.

    Whatever goes wrong here is the environment's, also for an episode that had come to its end.
    """
    live = _live.get(key)
    if live is None or live.episode.task.interface is not Interface.WORKSPACE or not record.evidence:
        return
    try:
        with anyio.CancelScope(shield=True):
            await live.episode.conclude()
            keep(live.episode, record)
    except Exception as error:  # noqa: BLE001 - of the world's, whatever it is
        record.outcome, record.error = str(Outcome.ENVIRONMENT_ERROR), f"{type(error).__name__}: {error}"[:500]


def current() -> tuple[Live, Record]:
    """The live episode and the record of the sample that is running in this context."""
    record = store_as(Record)
    if record.key not in _live:
        raise MatAssayError("no episode is open here: the task's setup has not run")
    return _live[record.key], record


def keep(episode: Episode, record: Record) -> None:
    """Bring the record up to date with the episode.

    Raises
    ------
    EnvironmentFailure
        If the evidence is not JSON, or its files exceed `MAX_FILES`.
    """
    evidence = episode.latest
    size = sum(a.size for a in evidence.artefacts)
    if size > MAX_FILES:
        raise EnvironmentFailure(f"the saved files have {size} bytes, more than {MAX_FILES}")
    try:
        record.evidence = json.dumps(evidence.to_json(), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise EnvironmentFailure(f"the world's evidence is not JSON: {error}") from error
    files = record.files
    new = {a.sha256: a.data for a in evidence.artefacts if a.data is not None and a.sha256 not in files}
    if new:
        packed = {key: base64.b64encode(zlib.compress(data)).decode("ascii") for key, data in new.items()}
        record.files = {**files, **packed}
    if episode.initial_state and not record.initial:
        record.initial = plain_json(episode.initial_state)
    known = record.records
    if len(known) < len(episode.records):
        fresh = [plain_json({**asdict(r), "turn": record.turns + 1}) for r in episode.records[len(known) :]]
        record.records = [*known, *fresh]
    record.steps = episode.steps
    record.invalid_actions = episode.invalid_actions
