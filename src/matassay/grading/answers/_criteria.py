"""From what a task says about its answer to criteria, a schema, and complaints about the task."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from matassay.core import Artefact, Criterion, Evidence, Failure, Goal, Judgement, Tolerance

from ._crystals import Structure
from ._parse import Answer, AnswerUnreadable, parse_answer, shown
from ._part import Asked, Handed, NoFile, Part
from ._spec import Entry, SpecError
from ._tree import Given, Missing, Node, Place, places, read_nodes, surplus, tables

Reference = Callable[[Evidence], Mapping[str, Any]]
"""The right answer to an episode, in the layout of the answer file."""

#: Name of the criterion on the answer as a whole.
READABLE: Final = "answer_readable"

#: What such a guard says in a list of criteria.
_READABLE_TEXT: Final = "{}, if it was written, is strict JSON and has nothing that was not asked for"

#: How many complaints one message holds.
_MOST: Final = 5

#: How many are counted.
_COUNTED: Final = 1000


@dataclass(frozen=True)
class Layout:
    """A description of an answer that was read and found to make sense."""

    file: str
    """Name of the answer file."""
    nodes: tuple[Node, ...]
    """Its fields."""
    extra: bool
    """Whether fields that were not asked for are let pass."""


def read_layout(spec: Any, where: str) -> Layout:
    """Read the ``answer`` part of a task.

    Raises
    ------
    SpecError
        If it makes no sense; the text names the place.
    """
    entry = Entry.of(spec, where)
    entry.only("file", "fields", "extra_fields")
    file = entry.text("file", "answer.json")
    if file.startswith("/") or ".." in file.split("/"):
        raise entry.error("file", "a name within the workspace")
    extra = entry.choice("extra_fields", ("refuse", "ignore"), "refuse") == "ignore"
    return Layout(file, read_nodes(entry.entries("fields")), extra)


def answer_criteria(
    spec: Mapping[str, Any], reference: Reference, goal: Goal | None = None, *, where: str = "answer"
) -> tuple[Criterion, ...]:
    """Criteria on an answer: a guard on its layout, then one goal for each graded value.

    Parameters
    ----------
    spec : mapping
        The ``answer`` part of a task's description.
    reference : callable
        Gives the right answer for the evidence. Called by the criteria; and here, with seed 0 as the only state, to name
        the rows of tables whose keys the description does not tell.
    goal : mapping, optional
        The task's public goal, for tables whose keys are listed there. Criteria are named after its values; what is
        graded are the values in the goal that the criteria are given.
    where : str
        File and key of the description, for errors.

    Raises
    ------
    SpecError
        If the description makes no sense.
    """
    layout = read_layout(spec, where)
    named = Given(goal or {}, lambda: reference(Evidence(state={"seed": 0})))
    found: dict[str, Criterion] = {}
    for criterion in (_readable(layout, reference), *_graded(layout, reference, named)):
        if criterion.name in found:
            raise SpecError(f"{where}: two criteria would be called {criterion.name!r}; rename a field")
        found[criterion.name] = criterion
    return tuple(found.values())


def answer_schema(spec: Mapping[str, Any], goal: Goal | None = None, *, where: str = "answer") -> dict[str, Any]:
    """JSON Schema (2020-12) of an answer, for the agent: types, units, tolerances and keys, no values.

    It is no looser than the graders but in one point: JSON Schema counts 3.0 as an integer, and they do not.

    Raises
    ------
    SpecError
        If the description makes no sense.
    """
    layout = read_layout(spec, where)
    given = Given(goal or {}, dict)
    schemas = {node.name: node.schema(given) for node in layout.nodes}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": layout.file,
        "description": "One JSON object, in UTF-8. Numbers are finite and not in quotes; no key stands twice.",
        "type": "object",
        "properties": schemas,
        "required": list(schemas),
        "additionalProperties": layout.extra,
    }


def validate_spec(spec: Any, where: str, reference: Mapping[str, Any] | None = None, goal: Goal | None = None) -> None:
    """Make sure that an answer can be graded as described.

    Parameters
    ----------
    spec : mapping
        The ``answer`` part of a task's description.
    where : str
        File and key, e.g. ``t016/task.yaml: answer``; errors begin with it.
    reference : mapping, optional
        The right answer. If given, it must have every field and nothing else, pass its own graders, and allow a
        tolerance that is not zero everywhere.
    goal : mapping, optional
        The task's public goal; without it, tables whose keys stand there are not looked at row by row.

    Raises
    ------
    SpecError
        If something is amiss; the text names the field and what was expected.
    """
    layout = read_layout(spec, where)
    try:
        told = reference is not None or all(table.told for table in tables(layout.nodes))
        told = told and (goal is not None or not any(key.goal for t in tables(layout.nodes) for key in t.keys))
        criteria = answer_criteria(spec, lambda _: reference or {}, goal, where=where) if told else ()
    except SpecError as error:
        text = str(error)
        raise error if text.startswith(where) else SpecError(f"{where}: {text}") from None
    if reference is None:
        return
    evidence = Evidence(state={"seed": 0}, artefacts=reference_artefacts(spec, reference, goal, where=where))
    for criterion in criteria:
        try:
            judgement = criterion.check(evidence, goal or {})
            for k in (0.9, -0.9, 1.1, -1.1) if criterion.tolerance else ():
                assert criterion.tolerance is not None
                moved = criterion.check(criterion.tolerance.displaced(evidence, goal or {}, k), goal or {})
                if _holds(moved) is not (abs(k) < 1):
                    raise SpecError(f"the tolerance is not sharp at {k:g} times it")
        except (SpecError, ValueError) as error:
            raise SpecError(f"{where}: {criterion.name}: {error}") from error
        if not _holds(judgement):
            assert isinstance(judgement, Judgement)
            raise SpecError(f"{where}: {criterion.name}: the reference fails its own grader: {judgement.message}")


def reference_artefacts(
    spec: Mapping[str, Any], reference: Mapping[str, Any], goal: Goal | None = None, *, where: str = "answer"
) -> tuple[Artefact, ...]:
    """The files of somebody who answers with the reference: the answer, and the structure files that it names.

    Parameters
    ----------
    spec, goal, where
        As for `answer_criteria`.
    reference : mapping
        The right answer, structures inline.

    Raises
    ------
    SpecError
        If the reference is no JSON or lacks a field.
    """
    layout = read_layout(spec, where)
    given = Given(goal or {}, lambda: reference)
    files = []
    try:
        answer = json.loads(json.dumps(reference, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SpecError(f"{where}: the reference is no JSON: {error}") from error
    for place in places(layout.nodes, given):
        if isinstance(place.field.kind, Structure):
            try:
                handed = place.field.kind.handed(_wanted(reference, place, given), place.name(given))
            except ValueError as error:
                raise SpecError(f"{where}: {place.path}: the reference is no structure: {error}") from error
            place.holder(answer, given)[place.field.name] = handed.value
            files += [handed.file] if handed.file is not None else []
    data = json.dumps(answer, allow_nan=False).encode()
    return (*files, Artefact.of(layout.file, data, "application/json"))


def _holds(judgement: bool | Judgement) -> bool:
    return judgement.holds if isinstance(judgement, Judgement) else judgement


# --- the answer as a whole


def _readable(layout: Layout, reference: Reference) -> Criterion:
    def check(evidence: Evidence, goal: Goal) -> Judgement:
        if evidence.artefact(layout.file) is None and layout.file not in evidence.state.get("outputs_refused", {}):
            return Judgement(True)  # a guard holds at the start; what is missing is said by every graded field
        try:
            answer = _answer(layout, evidence)
        except _NoAnswer as error:
            return Judgement(False, str(error), Failure.FORMAT)
        complaints = list(answer.problems)
        if not layout.extra:
            given = Given(goal, lambda: reference(evidence))
            complaints += islice(surplus(layout.nodes, answer.value, given), _COUNTED)
        if not complaints:
            return Judgement(True)
        more = f"; and {len(complaints) - _MOST} more" if len(complaints) > _MOST else ""
        return Judgement(False, f"{layout.file}: {'; '.join(complaints[:_MOST])}{more}", Failure.FORMAT)

    return Criterion(READABLE, _READABLE_TEXT.format(layout.file), check, holds_at_start=True)


class _NoAnswer(Exception):
    """There is no answer to look at; the text says why."""


def _answer(layout: Layout, evidence: Evidence) -> Answer:
    try:
        return parse_answer(_file(evidence, layout.file))
    except NoFile as error:
        raise _NoAnswer(str(error)) from error
    except AnswerUnreadable as error:
        raise _NoAnswer(f"{layout.file} {error}") from error


def _file(evidence: Evidence, name: str) -> bytes:
    """Content of a file that the agent left.

    Raises
    ------
    NoFile
        If it is not there, or was not taken out of the workspace.
    ValueError
        If the evidence holds only a reference to it: then it cannot be graded.
    """
    plain = name.strip().removeprefix("/workspace/").removeprefix("./")
    if not plain or len(plain) > 255 or plain.startswith("/") or ".." in plain.split("/") or "\0" in plain:
        raise NoFile(f"{shown(name)} is no name of a file in the workspace")
    artefact = evidence.artefact(plain)
    if artefact is None:
        refused = evidence.state.get("outputs_refused", {})
        if plain in refused:
            raise NoFile(f"{shown(plain, quotes=False)} was not read: {refused[plain]}")
        raise NoFile(f"{shown(plain, quotes=False)} is not there")
    if artefact.data is None:
        raise ValueError(f"the evidence holds no content of {plain}")
    return artefact.data


# --- its values


def _graded(layout: Layout, reference: Reference, named: Given) -> list[Criterion]:
    return [
        Criterion(
            f"{place.name(named)}_{part.suffix}" if part.suffix else place.name(named),
            f"{place.where(named)}: {part.text}" if part.suffix else f"{place.where(named)} {part.text}",
            _checker(layout, reference, place, part),
            tolerance=_tolerance(layout, reference, place, part),
            diagnosis=place.field.diagnosis,
        )
        for place in places(layout.nodes, named)
        for part in place.field.kind.parts()
    ]


def _checker(layout: Layout, reference: Reference, place: Place, part: Part) -> Callable[[Evidence, Goal], Judgement]:
    def check(evidence: Evidence, goal: Goal) -> Judgement:
        given = Given(goal, lambda: reference(evidence))
        try:
            value = place.value(_answer(layout, evidence).value, given)
        except (_NoAnswer, Missing) as error:
            return Judgement(False, str(error), Failure.FORMAT)
        wanted = _wanted(reference(evidence), place, given)
        asked = Asked(value, wanted, place.where(given), place.field.failure, lambda name: _file(evidence, name))
        return part.check(asked)

    return check


def _wanted(reference: Mapping[str, Any], place: Place, given: Given) -> Any:
    try:
        return place.value(dict(reference), given)
    except Missing as error:
        raise SpecError(f"the reference has no such value: {error}") from error


def _tolerance(layout: Layout, reference: Reference, place: Place, part: Part) -> Tolerance | None:
    if part.stated is None or part.displaced is None:
        return None
    move = part.displaced

    def displaced(evidence: Evidence, goal: Goal, k: float) -> Evidence:
        right = reference(evidence)
        given = Given(goal, lambda: right)
        answer = _editable(layout, evidence, right)
        moved = move(_wanted(right, place, given), k)
        handed = moved if isinstance(moved, Handed) else Handed(moved)
        try:
            place.holder(answer, given)[place.field.name] = handed.value
        except Missing:  # the agent's answer has no such place
            answer = copy.deepcopy(dict(right))
            place.holder(answer, given)[place.field.name] = handed.value
        files = [Artefact.of(layout.file, json.dumps(answer).encode(), "application/json")]
        files += [handed.file] if handed.file is not None else []
        return _with_files(evidence, files)

    return Tolerance(*part.stated, displaced)


def _editable(layout: Layout, evidence: Evidence, right: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's answer if it can be written again, else the right one."""
    try:
        answer = _answer(layout, evidence)
    except _NoAnswer:
        return copy.deepcopy(dict(right))
    return copy.deepcopy(dict(right) if answer.problems else answer.value)


def _with_files(evidence: Evidence, files: Sequence[Artefact]) -> Evidence:
    names = {file.name for file in files}
    others = tuple(a for a in evidence.artefacts if a.name not in names)
    return dataclasses.replace(evidence, artefacts=(*others, *files))
