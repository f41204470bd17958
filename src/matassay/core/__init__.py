"""The vocabulary of MatAssay: tasks, actions, observations, evidence, verdicts. Imports none of the other layers."""

from ._action import ACTIONS, MAX_WAIT, MIN_REGION, SCREEN, Action, action_cost, parse_action
from ._clock import Agenda
from ._episode import Episode, StepLimitReached, StepRecord, Turn
from ._errors import (
    BrokenTask,
    EnvironmentFailure,
    GraderFailure,
    InvalidAction,
    MatAssayError,
    UnknownTask,
    UnreadableLog,
)
from ._evidence import Artefact, Consequence, Evidence
from ._judgement import Failure, Judgement, failure_of
from ._number import is_number
from ._observation import AccessibleNode, Observation
from ._outcome import Outcome
from ._probe import Probe
from ._registry import Suite, all_tasks, find_task, select_tasks, suites
from ._result import SCHEMA_VERSION, EpisodeResult
from ._seeds import SALT_VARIABLE, derive, split_digest, stream
from ._state import Scalar, measures, scalars
from ._task import Attempt, Category, Criterion, Goal, Guidance, Interface, Level, Scenario, Span, Task, Tolerance
from ._text import plain_json, plain_text
from ._units import UNITS, convert
from ._verdict import Verdict, grade, grader_checksum, judge
from ._world import Operator, Policy, World

__all__ = [
    "ACTIONS",
    "MAX_WAIT",
    "MIN_REGION",
    "SALT_VARIABLE",
    "SCHEMA_VERSION",
    "SCREEN",
    "UNITS",
    "AccessibleNode",
    "Action",
    "Agenda",
    "Artefact",
    "Attempt",
    "BrokenTask",
    "Category",
    "Consequence",
    "Criterion",
    "EnvironmentFailure",
    "Episode",
    "EpisodeResult",
    "Evidence",
    "Failure",
    "Goal",
    "GraderFailure",
    "Guidance",
    "Interface",
    "InvalidAction",
    "Judgement",
    "Level",
    "MatAssayError",
    "Observation",
    "Operator",
    "Outcome",
    "Policy",
    "Probe",
    "Scalar",
    "Scenario",
    "Span",
    "StepLimitReached",
    "StepRecord",
    "Suite",
    "Task",
    "Tolerance",
    "Turn",
    "UnknownTask",
    "UnreadableLog",
    "Verdict",
    "World",
    "action_cost",
    "all_tasks",
    "convert",
    "derive",
    "failure_of",
    "find_task",
    "grade",
    "grader_checksum",
    "is_number",
    "judge",
    "measures",
    "parse_action",
    "plain_json",
    "plain_text",
    "scalars",
    "select_tasks",
    "split_digest",
    "stream",
    "suites",
]
