"""What a task's folder says of it: ``task.yaml``, read strictly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from matassay.core import Category, Level, MatAssayError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

#: Category of a task by its ``kind``.
KINDS: Mapping[str, Category] = {
    "prepare_inputs": Category.PREPARE_INPUTS,
    "analyze_outputs": Category.ANALYZE_OUTPUTS,
    "run_and_analyze": Category.RUN_AND_ANALYZE,
    "workflow": Category.WORKFLOW,
}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Budget(_Strict):
    """What an attempt may use."""

    steps: Annotated[int, Field(ge=1, le=10_000)] = 100
    """Cells of code."""
    seconds: Annotated[float, Field(gt=0, le=86_400)] = 3600.0
    """Wall-clock time, s."""
    memory_gib: Annotated[float, Field(gt=0, le=1024)] = 4.0
    """Memory of the whole sandbox, GiB."""
    disk_gib: Annotated[float, Field(gt=0, le=1024)] = 1.0
    """Room in the workspace, GiB."""


class Seeds(_Strict):
    """What another seed changes."""

    kind: Literal["fixed", "generated"] = "fixed"
    """``fixed``: nothing, there is one set of inputs; ``generated``: ``reproduce.py`` makes others."""


class Stage(_Strict):
    """One stage of a workflow."""

    name: str
    """Short name, snake_case."""
    title: str
    """What is computed in it."""
    tasks: tuple[str, ...] = ()
    """Short ids of the single tasks that test the same step."""


class TaskSpec(_Strict):
    """``task.yaml``."""

    id: str
    """``research/<study>/<number>-<short-name>``."""
    title: str
    """A few words."""
    revision: Annotated[int, Field(ge=1)]
    """Bumped whenever prompt, inputs, reference or checks change."""
    kind: Literal["prepare_inputs", "analyze_outputs", "run_and_analyze", "workflow"]
    """What the agent does."""
    level: Level = Level.MEDIUM
    """Difficulty."""
    codes: tuple[str, ...] = ()
    """Scientific codes that the task is about; none where the agent writes the calculation itself."""
    methods: tuple[str, ...] = ()
    """Method families."""
    requires: tuple[str, ...] = ()
    """Programs that must be on the machine to attempt or to grade it."""
    limits: Budget = Budget()
    """What an attempt may use."""
    inputs: Mapping[str, str] = {}
    """Every file in ``inputs/`` with what it is."""
    manuals: tuple[str, ...] = ()
    """Notes of ``suites/research/manuals`` that lie in the workspace."""
    outputs: tuple[str, ...] = ("answer.json",)
    """Names or patterns (``*`` within a name) of the files that are taken from the workspace."""
    goal: Mapping[str, Any] = {}
    """Public numbers that the prompt states."""
    seeds: Seeds = Seeds()
    """What another seed changes."""
    dear: bool = False
    """Whether the reference takes longer than a minute to reproduce."""
    answer: Mapping[str, Any] | None = None
    """Graded fields of the answer file; see `matassay.grading.answers`."""
    decks: tuple[Mapping[str, Any], ...] = ()
    """Graded input decks; see `matassay.grading.decks`."""
    stages: tuple[Stage, ...] = ()
    """Stages of a workflow, in order."""
    summary: str = ""
    """One or two sentences for lists."""

    @field_validator("inputs", mode="after")
    @classmethod
    def _plain_names(cls, inputs: Mapping[str, str]) -> Mapping[str, str]:
        for name in inputs:
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                raise ValueError(f"{name!r} must be a relative name inside inputs/")
        return inputs

    @property
    def category(self) -> Category:
        """Category of its kind."""
        return KINDS[self.kind]


def read_spec(file: Path) -> TaskSpec:
    """Read a ``task.yaml``.

    Raises
    ------
    MatAssayError
        Naming the file, the field and what was expected.
    """
    try:
        raw = yaml.load(file.read_text("utf-8"), Loader=_UniqueKeys)  # noqa: S506 - derives from the safe loader
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise MatAssayError(f"{file}: cannot be read ({' '.join(str(error).split())})") from error
    if not isinstance(raw, dict):
        raise MatAssayError(f"{file}: expected a mapping of fields, got {type(raw).__name__}")
    try:
        spec = TaskSpec.model_validate(raw)
    except ValidationError as error:
        # An unknown name first: it is often why another one is missing.
        found = sorted(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise MatAssayError(f"{file}: {_complaint(found[0])}{more}") from error
    if (spec.kind == "workflow") is not bool(spec.stages):
        raise MatAssayError(f"{file}: field stages: a workflow has stages, and nothing else has")
    if spec.answer is None and not spec.decks:
        raise MatAssayError(f"{file}: field answer: a task grades an answer, decks, or both; got neither")
    return spec


#: What a field holds, for those that forgot it.
_EXPECTED: Mapping[str, str] = {
    "id": "research/<study>/<number>-<short-name>",
    "title": "a few words",
    "revision": "a whole number, 1 for a new task",
    "kind": f"one of {', '.join(KINDS)}",
    "name": "a short name in snake_case",
}


def _complaint(error: ErrorDetails) -> str:
    """What is wrong with a field, what was expected, and what was got."""
    *path, name = error["loc"] or ("(whole file)",)
    field = f"field {'.'.join(map(str, (*path, name)))}"
    if error["type"] == "extra_forbidden":
        known = list(_model(path).model_fields)
        near = get_close_matches(str(name), known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"{field}: there is no such field{hint}; known: {', '.join(known)}"
    if error["type"] == "missing":
        return f"{field}: is missing; expected {_EXPECTED.get(str(name), 'a value')}"
    message = error["msg"].removeprefix("Value error, ").replace("Input should be", "expected")
    return f"{field}: {message}; got {error['input']!r:.60}"


def _model(path: Sequence[object]) -> type[BaseModel]:
    """The model of a part of the file."""
    parts: Mapping[object, type[BaseModel]] = {"limits": Budget, "seeds": Seeds, "stages": Stage}
    return parts[path[0]] if path else TaskSpec


class _UniqueKeys(yaml.SafeLoader):
    """The safe loader, which by itself lets the last of two equal keys win in silence."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if name in seen:
                raise yaml.constructor.ConstructorError(None, None, f"key {name!r} stands twice", key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)
