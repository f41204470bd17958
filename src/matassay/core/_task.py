"""What a task is. Tasks are data; only the scenario and the criteria are functions, and those are pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._evidence import Evidence
from ._judgement import Judgement

if TYPE_CHECKING:
    from ._world import Policy, World


class Span(StrEnum):
    """How much of a procedure a task covers."""

    SINGLE = "single"
    """One subtask from its canonical state."""
    WORKFLOW = "workflow"
    """The whole procedure."""


class Guidance(StrEnum):
    """How much of the method the instruction explains."""

    FULL = "full"
    """Explains the procedure and why."""
    REDUCED = "reduced"
    """Gives the goal and what the result must satisfy."""


class Level(StrEnum):
    """Difficulty as the source paper assigns it."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Interface(StrEnum):
    """Through what an agent acts."""

    SCREEN = "screen"
    """Mouse and keyboard on a screen of `matassay.core.SCREEN` pixels."""
    WORKSPACE = "workspace"
    """Code that runs in a sandbox of its own."""


class Category(StrEnum):
    """High-level category: of an operation (LabOSBench, table 11), or of a task of research (CompMat-Bench, 3.1)."""

    PREPARATION = "Preparation & Sample Handling"
    ACTIVATION = "Activation & Alignment"
    CONFIGURATION = "Measurement Configuration"
    EXECUTION = "Experimental Execution"
    COMPLETION = "Post-processing & Completion"
    PREPARE_INPUTS = "Prepare inputs"
    ANALYZE_OUTPUTS = "Analyze outputs"
    RUN_AND_ANALYZE = "Run and analyze"
    WORKFLOW = "Workflow"
    """Spans all of them."""


Goal = Mapping[str, Any]
"""The public numbers and names that define a task's goal; both instructions state every one of them."""


@dataclass(frozen=True)
class Tolerance:
    """How far a value may lie from its target, and why that far."""

    value: float
    """Half width of the accepted interval, in ``unit``."""
    unit: str
    """A key of `matassay.core.UNITS`."""
    reason: str
    """Noise, discretisation or convention that it follows from."""
    displaced: Callable[[Evidence, Goal, float], Evidence]
    """``displaced(evidence, goal, k)``: the evidence with the judged value moved to k tolerances from its target.
    The sweep test asks for a pass at k = 0.5 and 0.9 and for a failure at 1.1 and 2."""


@dataclass(frozen=True)
class Criterion:
    """One predicate on the evidence."""

    name: str
    """Key in results, snake_case."""
    description: str
    """What must hold, one sentence with units."""
    check: Callable[[Evidence, Goal], bool | Judgement]
    """Pure predicate of evidence and goal. Missing keys raise: that is a grader error, not a failure."""
    holds_at_start: bool = False
    """True for a guard: may hold before the agent acts, is left out of the score, and is required for success."""
    tolerance: Tolerance | None = None
    """For predicates on a measured value."""
    diagnosis: bool = False
    """True for a result on the way (a stage of a workflow): reported, part of neither score nor success."""

    @property
    def is_goal(self) -> bool:
        """Whether it counts in the score."""
        return not (self.holds_at_start or self.diagnosis)


@dataclass(frozen=True)
class Scenario:
    """A task with its numbers filled in by a seed."""

    seed: int
    """The seed it was made from."""
    goal: Goal
    """Public: what the instruction asks for."""
    start: Mapping[str, Any]
    """State in which the world begins; set on the server, never by clicking through."""
    truth: Mapping[str, Any]
    """Hidden truth, declared so that the leak test knows what must not show; never sent to an agent."""
    instructions: Mapping[Guidance, str]
    """Words for the agent, per guidance."""


@dataclass(frozen=True)
class Attempt:
    """A scripted way through a task: right, or wrong on purpose."""

    name: str
    """snake_case."""
    description: str
    """What it does and, for a near miss, which mistake it stands for."""
    policy: Callable[[Scenario], Policy]
    """Makes the generator of actions; it may use the scenario's public goal, never its start or truth."""


@dataclass(frozen=True)
class Task:
    """One registered task."""

    id: str
    """Path-like id, e.g. ``instruments/xrd/s04-set-angles``."""
    title: str
    """A few words."""
    span: Span
    """Single subtask or workflow."""
    level: Level
    """Difficulty."""
    category: Category
    """High-level category."""
    revision: int
    """Bumped whenever instruction, start state or criteria change."""
    step_limit: int
    """Primitive actions that an agent may take."""
    criteria: tuple[Criterion, ...]
    """All must hold for success."""
    scenario: Callable[[int], Scenario]
    """Fills in the numbers of a seed; pure."""
    open_world: Callable[[Scenario], World]
    """Makes a world that is ready to be started on this scenario."""
    truth_fields: tuple[str, ...]
    """Names of the hidden quantities in ``Scenario.truth``; a task without any is an error."""
    grader_package: str
    """Package whose modules judge the task, for the checksum in every result."""
    grader_files: tuple[Path, ...] = ()
    """Files that judge this task alone, for the same checksum: its data and its reference."""
    needs_gui: str = ""
    """Why the answer shows only on the screen or in the program's own saved state; for a task with a screen."""
    interface: Interface = Interface.SCREEN
    """Through what the agent acts."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What a report may group by: ``code``, ``method``, ..., each with any number of values."""
    requires: tuple[str, ...] = ()
    """Programs that must be on the machine; where one is missing, the task is skipped with that reason."""
    seconds: float | None = None
    """Wall-clock budget of an attempt, s; None: no limit of its own."""
    time_scale: float = 1.0
    """Instrument seconds per agent second of ``wait``; the instruction states it."""
    guidances: tuple[Guidance, ...] = (Guidance.FULL, Guidance.REDUCED)
    """Instructions that exist."""
    reference: Attempt | None = None
    """The way that must succeed (A1 of docs/explanation/trust.md); the registry tests refuse a task without it."""
    alternatives: tuple[Attempt, ...] = ()
    """Other right ways that must succeed as well (A5)."""
    near_misses: tuple[Attempt, ...] = ()
    """Plausible wrong ways that must fail (A4)."""

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9_-]+(/[a-z0-9_.-]+){2,}", self.id):
            raise ValueError(f"task id {self.id!r}: expected suite/group/name in lower case")
        if not self.truth_fields:
            raise ValueError(f"task {self.id}: declares no truth fields")
        names = [c.name for c in self.criteria]
        if len(set(names)) != len(names):
            raise ValueError(f"task {self.id}: criterion names are not unique: {names}")
        if not any(c.is_goal for c in self.criteria):
            raise ValueError(f"task {self.id}: needs at least one goal (a criterion that does not hold at the start)")
        if (self.interface is Interface.SCREEN) is not bool(self.needs_gui):
            raise ValueError(f"task {self.id}: needs_gui is for tasks with a screen, and they need it")
        if self.revision < 1 or self.step_limit < 1 or not self.time_scale > 0:
            raise ValueError(f"task {self.id}: revision, step_limit and time_scale must be positive")

    @property
    def suite(self) -> str:
        """First part of the id."""
        return self.id.split("/")[0]

    @property
    def group(self) -> str:
        """Second part of the id: instrument, program or study."""
        return self.id.split("/")[1]

    @property
    def name(self) -> str:
        """Last part of the id."""
        return self.id.split("/", 2)[2]
