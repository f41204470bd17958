"""Tasks of ours as a task of the engine: one sample per task, guidance and seed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any

from inspect_ai import Task as InspectTask
from inspect_ai import task as inspect_task
from inspect_ai.dataset import Sample
from inspect_ai.model import GenerateConfig
from inspect_ai.util import SandboxEnvironmentSpec

from matassay.agents import CODE, GUI, LOOPS
from matassay.core import Guidance, Interface, MatAssayError, Span, Task, grader_checksum, select_tasks, split_digest
from matassay.worlds.workspace import CONTAINERS, chosen_backend

from ._agent import close_episode, open_episode
from ._code_agent import OUTPUT_CAP
from ._containers import container_spec
from ._loops import acting
from ._sandbox import PROVIDER as SANDBOX
from ._sandbox import WorkspaceConfig
from ._scorer import verdict
from ._tool import KEEP_SCREENSHOTS


def sample_id(task: Task, guidance: Guidance, seed: int) -> str:
    """Stable name of an episode."""
    return f"{task.id}@{guidance}#{seed}"


def split_sample_id(id: str) -> tuple[str, str, int]:
    """Task id, guidance and seed of a sample id."""
    head, _, seed = id.rpartition("#")
    task, _, guidance = head.rpartition("@")
    return task, guidance, int(seed)


def sample(task: Task, guidance: Guidance, seed: int) -> Sample:
    """The sample of an episode: instruction and labels, nothing of the hidden truth or of the start state."""
    scenario = task.scenario(seed)
    return Sample(
        id=sample_id(task, guidance, seed),
        input=scenario.instructions[guidance],
        metadata={
            "task": task.id,
            "title": task.title,
            "guidance": str(guidance),
            "seed": seed,
            "suite": task.suite,
            "group": task.group,
            "span": str(task.span),
            "level": str(task.level),
            "category": str(task.category),
            "labels": {k: list(v) for k, v in task.labels.items()},
            "task_revision": task.revision,
            "grader_checksum": grader_checksum(task),
            "goal": dict(scenario.goal),
        },
        sandbox=sandbox_of(task, seed),
    )


def sandbox_of(task: Task, seed: int) -> SandboxEnvironmentSpec | None:
    """The sandbox that the engine makes for an episode; None for a task with a screen."""
    if task.interface is not Interface.WORKSPACE:
        return None
    if (kind := chosen_backend()) in CONTAINERS:
        return container_spec(kind)
    return SandboxEnvironmentSpec(SANDBOX, WorkspaceConfig(task=task.id, seed=seed, backend=chosen_backend()))


def samples(tasks: Iterable[Task], guidances: Iterable[Guidance], seeds: Iterable[int]) -> list[Sample]:
    """Samples of all combinations; a task without an instruction of a guidance is left out for that guidance."""
    guidances, seeds = list(guidances), list(seeds)
    return [sample(t, g, s) for t in tasks for g in guidances if g in t.guidances for s in seeds]


def build_task(
    dataset: Sequence[Sample],
    *,
    agent: str = GUI,
    name: str | None = None,
    step_limit: int | None = None,
    time_limit: int | None = None,
    token_limit: int | None = None,
    cost_limit: float | None = None,
    internal_tools: bool | None = None,
) -> InspectTask:
    """Make the engine's task.

    Parameters
    ----------
    dataset : sequence of Sample
        What `samples` gave.
    agent : str
        How the model acts, see `LOOPS`; scripted agents are models of the provider ``reference``.
    name : str, optional
        Name in logs.
    step_limit : int, optional
        Budget of primitive actions; by default each task's own.
    time_limit : int, optional
        Wall-clock limit of an episode, s.
    token_limit : int, optional
        Limit of an episode, tokens.
    cost_limit : float, optional
        Limit of an episode, US dollars.
    internal_tools : bool, optional
        False: the model gets the tool as a plain function even if its provider has native computer use.
    """
    if agent not in LOOPS:
        raise MatAssayError(f"unknown agent {agent!r}: a model acts through one of {', '.join(LOOPS)}")
    if not dataset:
        raise MatAssayError("no episode is selected")
    return InspectTask(
        dataset=list(dataset),
        name=name,
        setup=open_episode(step_limit),
        solver=acting(agent),
        cleanup=close_episode,
        scorer=verdict(),
        config=GenerateConfig(internal_tools=internal_tools),
        time_limit=time_limit,
        token_limit=token_limit,
        cost_limit=cost_limit,
        score_on_error=True,
        fail_on_error=False,
        metadata={
            "agent": agent,
            "settings": settings_from(step_limit, time_limit, token_limit, cost_limit, internal_tools, agent),
        },
    )


def settings_from(
    step_limit: int | None,
    time_limit: int | None,
    token_limit: int | None,
    cost_limit: float | None,
    internal_tools: bool | None,
    agent: str = GUI,
) -> dict[str, Any]:
    """What a result depends on besides task and model; kept in every log."""
    # Of screens, whose logs are older: their settings stay as they were, so that runs can be gone on with.
    if LOOPS[agent] is not Interface.SCREEN:
        return {
            "step_limit": step_limit,
            "time_limit": time_limit,
            "token_limit": token_limit,
            "cost_limit": cost_limit,
            "loop": agent,
            "sandbox": chosen_backend(),
            "output_cap": OUTPUT_CAP,
            "images": "by provider",
            **split_settings(),
        }
    return {
        "step_limit": step_limit,
        "time_limit": time_limit,
        "token_limit": token_limit,
        "cost_limit": cost_limit,
        "internal_tools": internal_tools,
        "observation": "screenshot",
        "screenshots": KEEP_SCREENSHOTS,
        **split_settings(),
    }


def split_settings() -> dict[str, str]:
    """The private split that the tasks' numbers are of; nothing for the public one."""
    return {"private_split": split} if (split := split_digest()) else {}


def digest(value: Any) -> str:
    """Eight hex digits of anything that is JSON."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:8]


@inspect_task
def instruments(
    instrument: str | None = None,
    span: str | None = None,
    guidance: str = "full",
    seeds: int = 1,
    seed: int | None = None,
    agent: str = GUI,
    tasks: str | None = None,
    step_limit: int | None = None,
) -> InspectTask:
    """Simulated instruments, operated through their screen.

    Parameters
    ----------
    instrument : str, optional
        Only this one, e.g. ``xrd``.
    span : str, optional
        ``single`` or ``workflow``; both by default.
    guidance : str
        ``full``, ``reduced``, or both separated by a comma.
    seeds : int
        Seeds 0 to ``seeds`` - 1.
    seed : int, optional
        This seed alone.
    agent : str
        ``gui``; for scripted agents use ``--model reference/reference``.
    tasks : str, optional
        Task ids or prefixes, separated by commas, instead of ``instrument``.
    step_limit : int, optional
        Budget of steps; by default each task's own.
    """
    dataset = _selected("instruments", instrument, tasks, span, guidance, seeds, seed)
    return build_task(dataset, agent=agent, step_limit=step_limit)


@inspect_task
def research(
    study: str | None = None,
    span: str | None = None,
    guidance: str = "full",
    seeds: int = 1,
    seed: int | None = None,
    agent: str = CODE,
    tasks: str | None = None,
    step_limit: int | None = None,
) -> InspectTask:
    """Steps of published computational studies, by code in a sandboxed workspace.

    Parameters
    ----------
    study : str, optional
        Only this one, e.g. ``202603_si_ge_interface``.
    span : str, optional
        ``single`` or ``workflow``; both by default.
    guidance : str
        ``full``, ``reduced``, or both separated by a comma.
    seeds : int
        Seeds 0 to ``seeds`` - 1.
    seed : int, optional
        This seed alone.
    agent : str
        ``code``, ``tools``, ``codex`` or ``claude-code``; for scripted agents use ``--model reference/reference``.
    tasks : str, optional
        Task ids or prefixes, separated by commas, instead of ``study``.
    step_limit : int, optional
        Budget of steps; by default each task's own.
    """
    dataset = _selected("research", study, tasks, span, guidance, seeds, seed)
    return build_task(dataset, agent=agent, step_limit=step_limit)


def _selected(
    suite: str, group: str | None, tasks: str | None, span: str | None, guidance: str, seeds: int, seed: int | None
) -> list[Sample]:
    """Samples by the parameters of a task of the engine."""
    prefixes = _words(tasks) if tasks else [f"{suite}/{group}" if group else suite]
    chosen = select_tasks(prefixes, Span(span) if span else None)
    guidances = [Guidance(g) for g in _words(guidance)]
    return samples(chosen, guidances, range(seeds) if seed is None else [seed])


def _words(text: str | Sequence[str]) -> list[str]:
    # `-T tasks=a,b` arrives as a list already
    return [w.strip() for w in (text.split(",") if isinstance(text, str) else text)]
