"""From a task's folder to a task."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from matassay.core import Criterion, Evidence, Guidance, Judgement, MatAssayError, Probe, Scenario, Span, Task, World
from matassay.core import Interface as TaskInterface
from matassay.grading import answers, decks
from matassay.worlds.workspace import Limits, WorkspaceWorld
from matassay.worlds.workspace.software import PROGRAMS

from . import _attempts, _material, _prompt
from ._spec import TaskSpec, read_spec

#: Notes about programs that lie in the workspace of a task that names them.
MANUALS: Final = Path(__file__).parent / "manuals"

#: Files of a task's folder that judge it; the first says what is judged.
GRADING: Final = ("task.yaml", "reference.json", "reproduce.py")

GIB: Final = 1024**3

_ID: Final = re.compile(r"research/[a-z0-9_]+/[a-z0-9_]+-[a-z0-9-]+")


class TaskFolder:
    """One task: the files of its folder, read when they are asked for.

    Parameters
    ----------
    path : Path
        The folder.

    Raises
    ------
    MatAssayError
        If ``task.yaml`` cannot be read, naming file and field.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        """The folder."""
        self.spec: TaskSpec = read_spec(path / "task.yaml")
        """``task.yaml``."""
        where = str(path / "task.yaml")
        if not _ID.fullmatch(self.spec.id) or self.spec.id.split("/")[1] != path.parent.name:
            expected = f"research/{path.parent.name}/<number>-<short-name>"
            raise MatAssayError(f"{where}: field id: expected {expected}, got {self.spec.id!r}")
        if self.spec.answer is not None:
            answers.validate_spec(self.spec.answer, f"{where}: answer", goal=self.spec.goal)
        for number, deck in enumerate(self.spec.decks):
            decks.validate_spec(deck, f"{where}: decks[{number}]")

    def check(self) -> None:
        """Make sure of what shows without running anything: prompt, input files, manuals, programs, reference.

        Raises
        ------
        MatAssayError
            Naming the file, the field and what was expected.
        """
        where = self.path / "task.yaml"
        for field, names, known in (
            ("manuals", self.spec.manuals, sorted(file.stem for file in MANUALS.glob("*.md"))),
            ("requires", self.spec.requires, list(PROGRAMS)),
        ):
            if unknown := [name for name in names if name not in known]:
                raise MatAssayError(f"{where}: field {field}: expected some of {', '.join(known)}; got {unknown[0]!r}")
        if self.spec.seeds.kind == "generated" and not (self.path / "reproduce.py").is_file():
            raise MatAssayError(f"{self.path / 'reproduce.py'}: is missing; seeds of kind generated are made by it")
        stored = _material.stored(self.path)
        self._listed(stored.inputs)
        for guidance in Guidance:
            _prompt.render(self.prompt, guidance, self.spec.goal, str(self.path / "prompt.md"))
        if self.spec.answer is not None:
            self._check_reference(self.spec.answer)

    def _check_reference(self, spec: Mapping[str, Any]) -> None:
        """Make sure that the stored reference, handed in as an answer, passes.

        Structures are only looked for: to compare them takes packages that are slow to import. `matassay verify` does.
        """
        file, goal = self.path / "reference.json", self.spec.goal
        reference = _material.read_json(file)
        dear = _structures(spec["fields"])
        try:
            artefacts = answers.reference_artefacts(spec, reference, goal, where=str(file))
            for criterion in answers.answer_criteria(spec, lambda _: reference, goal, where=str(file)):
                if not any(name in criterion.name for name in dear):
                    judgement = criterion.check(Evidence(state={"seed": 0}, artefacts=artefacts), goal)
                    if isinstance(judgement, Judgement) and not judgement.holds:
                        raise MatAssayError(judgement.message)
        except (MatAssayError, ValueError) as error:
            text = str(error).removeprefix(f"{file}: ")
            raise MatAssayError(
                f"{file}: is not a right answer as `answer` in task.yaml describes it: {text}"
            ) from error

    @cached_property
    def prompt(self) -> str:
        """Source of both instructions."""
        return self._text("prompt.md")

    @cached_property
    def solution(self) -> str:
        """The right way, as a script of cells."""
        return self._text("solution.py")

    def _text(self, name: str) -> str:
        try:
            return (self.path / name).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise MatAssayError(f"{self.path / name}: cannot be read ({error})") from error

    @cached_property
    def manifest(self) -> Mapping[str, Any]:
        """With which versions, in what time and on what kind of machine a dear reference was made."""
        return _material.read_json(self.path / "manifest.json")

    @cached_property
    def variations(self) -> Mapping[str, tuple[_attempts.Miss, ...]]:
        """Near misses and alternatives."""
        return _attempts.read_variations(self.path / "near_misses.py")

    @cached_property
    def schema(self) -> dict[str, Any] | None:
        """JSON schema of the answer, which the agent gets."""
        return None if self.spec.answer is None else answers.answer_schema(self.spec.answer, self.spec.goal)

    def material(self, seed: int) -> _material.Material:
        """Inputs and reference of a seed."""
        return _material.material(self.path, seed, generated=self.spec.seeds.kind == "generated")

    def scenario(self, seed: int) -> Scenario:
        """The task with the numbers of a seed."""
        material = self.material(seed)
        goal = {**self.spec.goal, **material.goal}
        where = str(self.path / "prompt.md")
        return Scenario(
            seed=seed,
            goal=goal,
            start={"inputs": str(material.inputs)},
            truth=self._truth(material.reference),
            instructions={g: _prompt.render(self.prompt, g, goal, where) for g in Guidance},
        )

    def _truth(self, reference: Mapping[str, Any]) -> dict[str, Any]:
        """What must show nowhere: the reference without what a prompt states, the keys of its tables."""
        answer = self.spec.answer
        hidden = dict(reference) if answer is None else _without_keys(answer["fields"], reference)
        return hidden or {"reference": "the decks are judged by rules alone"}

    def open_world(self, scenario: Scenario) -> World:
        """A workspace with the inputs of a scenario."""
        limits = self.spec.limits
        return WorkspaceWorld(
            inputs=self.inputs(scenario.seed),
            manuals={f"{name}.md": MANUALS / f"{name}.md" for name in self.spec.manuals},
            outputs=self.spec.outputs,
            seed=scenario.seed,
            limits=Limits(memory=int(limits.memory_gib * GIB), disk=int(limits.disk_gib * GIB)),
            probes=self.probes,
        )

    def inputs(self, seed: int) -> dict[str, bytes | Path]:
        """The read-only files of a seed, with the schema of the answer.

        Raises
        ------
        MatAssayError
            If there are others than ``task.yaml`` lists.
        """
        folder = self.material(seed).inputs
        files: dict[str, bytes | Path] = {name: folder / name for name in self._listed(folder)}
        if self.schema is not None:
            files["answer.schema.json"] = (json.dumps(self.schema, indent=1) + "\n").encode()
        return files

    def _listed(self, folder: Path) -> list[str]:
        """Names of the files of an inputs folder, which must be those that ``task.yaml`` lists."""
        there = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} if folder.exists() else set()
        listed = set(self.spec.inputs)
        told = [f"lists {', '.join(sorted(listed - there))}, which {folder} does not have"] if listed - there else []
        told += [f"does not list {', '.join(sorted(there - listed))}, which {folder} has"] if there - listed else []
        if told:
            raise MatAssayError(f"{self.path / 'task.yaml'}: field inputs: {'; '.join(told)}")
        return sorted(there)

    def probes(self, files: Mapping[str, bytes]) -> list[Probe]:
        """What to ask foreign programs about the decks that were left."""
        return [p for deck in self.spec.decks for p in decks.deck_probes(deck, self.path)(files)]

    def reference(self, evidence: Evidence) -> Mapping[str, Any]:
        """The right answer for the seed of an episode."""
        return self.material(int(evidence.state["seed"])).reference

    @cached_property
    def answer_criteria(self) -> tuple[Criterion, ...]:
        """Checks of the answer file."""
        if self.spec.answer is None:
            return ()
        return answers.answer_criteria(self.spec.answer, self.reference, self.spec.goal)

    @cached_property
    def criteria(self) -> tuple[Criterion, ...]:
        """All checks."""
        found: tuple[Criterion, ...] = ()
        if self.spec.answer is not None:
            found += self.answer_criteria
        for deck in self.spec.decks:
            found += decks.deck_criteria(deck, self.path)
        return found

    @cached_property
    def answer_names(self) -> frozenset[str]:
        """Names of the criteria that judge the answer file."""
        return frozenset(c.name for c in self.answer_criteria)

    def task(self) -> Task:
        """The task."""
        spec, where = self.spec, str(self.path / "near_misses.py")
        made = {
            name: tuple(_attempts.attempt(m, self.solution, where) for m in misses)
            for name, misses in self.variations.items()
        }
        return Task(
            id=spec.id,
            title=spec.title,
            span=Span.WORKFLOW if spec.kind == "workflow" else Span.SINGLE,
            level=spec.level,
            category=spec.category,
            revision=spec.revision,
            step_limit=spec.limits.steps,
            criteria=self.criteria,
            scenario=self.scenario,
            open_world=self.open_world,
            truth_fields=tuple(self._truth(_material.stored(self.path).reference)),
            grader_package="matassay.suites.research",
            grader_files=tuple(f for n in GRADING if (f := self.path / n).is_file()),
            interface=TaskInterface.WORKSPACE,
            labels={"code": spec.codes, "method": spec.methods},
            requires=spec.requires,
            seconds=spec.limits.seconds,
            reference=_attempts.reference(self.solution),
            alternatives=made["ALTERNATIVES"],
            near_misses=made["MISSES"],
        )


def _structures(fields: Mapping[str, Any]) -> set[str]:
    """Names of the fields that are structures or their space groups, however deep."""
    found: set[str] = set()
    for name, field in fields.items():
        if field["type"] in ("structure", "space_group"):
            found.add(name)
        found |= _structures(field.get("fields", {})) | _structures(field.get("columns", {}))
    return found


def _without_keys(fields: Mapping[str, Any], reference: Mapping[str, Any]) -> dict[str, Any]:
    """A reference without the columns that an answer echoes."""
    found: dict[str, Any] = {}
    for name, value in reference.items():
        spec = fields.get(name, {})
        if spec.get("type") == "table" and isinstance(value, list):
            found[name] = [{k: v for k, v in row.items() if k not in spec["key"]} for row in value]
        elif spec.get("type") == "object" and isinstance(value, Mapping):
            found[name] = _without_keys(spec.get("fields", {}), value)
        else:
            found[name] = value
    return found


def find_folders(studies: Path) -> list[Path]:
    """Folders of all tasks, in the order of studies and names."""
    return sorted(file.parent for file in studies.glob("*/*/task.yaml"))
