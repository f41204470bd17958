"""Answers: one JSON file with values that have units and tolerances, described by a task as data.

`answer_criteria` compiles a description into criteria, `answer_schema` into what the agent is told, and `validate_spec`
says what is wrong with a description, or with a reference. Nothing that an agent wrote is trusted: every way to be
wrong has its own message, and none of them says what would have been right.
"""

from ._criteria import (
    READABLE,
    answer_criteria,
    answer_schema,
    reference_artefacts,
    validate_spec,
)
from ._parse import AnswerUnreadable, parse_answer
from ._spec import SpecError
from ._tree import TYPES

__all__ = [
    "READABLE",
    "TYPES",
    "AnswerUnreadable",
    "SpecError",
    "answer_criteria",
    "answer_schema",
    "parse_answer",
    "reference_artefacts",
    "validate_spec",
]
