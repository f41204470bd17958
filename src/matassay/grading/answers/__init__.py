"""Answers: one JSON file with values that have units and tolerances, described by a task as data.

`answer_criteria` compiles a description into criteria, `answer_schema` into what the agent is told, and `validate_spec`
says what is wrong with a description, or with a reference. Nothing that an agent wrote is trusted: every way to be
wrong has its own message, and none of them says what would have been right.

A description is ``{file: answer.json, fields: {<name>: <field>, ...}}``, with ``extra_fields: ignore`` if fields that were
not asked for do no harm. Every field has a ``type`` and may have a ``description``, a ``failure`` (the kind of mistake that
a wrong value stands for: ``wrong_choice`` or ``wrong_implementation``, the default) and ``diagnosis: true`` (reported only).
A tolerance is ``rtol``, ``atol`` or both, of which the larger counts, with a ``reason``; without any it is 10 % relative.

=============  =========================================================================================================
type           keys, with defaults
=============  =========================================================================================================
number         ``unit`` (a key of `matassay.core.UNITS`), tolerance, ``period`` (values this far apart are the same)
integer        ``unit: 1``; exact, and ``3.0`` is none
boolean        none
text           ``case: exact`` or ``ignore``; exact but for blanks around it
label          ``values`` (published), ``aliases: {value: [other spellings]}``, ``case: ignore`` or ``exact``
formula        ``reduced: true``; order of elements and a common factor do not matter
space_group    ``enantiomorph: false``; a number or a symbol in any setting
array          ``unit``, ``shape`` (null: not told), ``element: number`` or ``integer``, tolerance, ``sign: matters`` or
               ``free``, ``compare: elementwise``, ``scale`` (relative to the largest entry) or ``norm`` (of the difference)
set            ``of: number``, ``integer`` or ``label``, with the keys of that type; in any order
spectrum       ``x`` and ``y`` (``{name, unit}``), ``window: [low, high]``, ``least_points: 10``, and ``checks``: any of
               ``difference``, ``area``, ``peak_height`` (rtol) and ``peak_position`` (atol), a criterion each
structure      ``given: either``, ``inline`` or ``file``, ``format``, ``species``; ``ltol: 0.02``, ``stol: 0.03``,
               ``angle_tol: 0.5``, ``supercell: any`` or ``same``, ``mirror: true``, ``vacuum: c``, ``least_vacuum``,
               ``flip: true``, ``moments: ignore``, ``signs`` or ``values``, ``moment_tol: 0.1``, ``charge: false``,
               ``symprec``; see `matassay.grading.structures.Match`
object         ``fields``
table          ``key: {<column>: {type: number, unit, values or goal}}`` (inputs that are echoed; ``goal`` names their list in
               the task's goal; with neither, the rows are those of the reference), ``columns: {<column>: <field>}``,
               ``ordered: false``, ``combine: rows`` (keys are listed row by row) or ``product``, ``naming: value`` or ``row``
=============  =========================================================================================================
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
