"""What a workspace costs: sandbox, kernel, cells, and grading."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

from matassay.core import Artefact, Evidence, Task, grade
from matassay.grading.decks import CODES
from matassay.suites.research import TaskFolder, folders
from matassay.worlds.workspace import Limits, missing, open_workspace, run_probes
from matassay.worlds.workspace.kernel import Kernel

from .measure import milliseconds

#: Task whose decks are graded, and task with the most checks of an answer.
DECKS, ANSWER = "202603_018", "202603_020"

#: Comes with Debian's package of Quantum ESPRESSO.
SILICON = Path("/usr/share/espresso/pseudo/Si.pz-vbc.UPF")

#: Silicon, or a crystal of Lennard-Jones atoms, for each code that is asked.
SMALL_DECKS = {
    "lammps": """units lj
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 100
""",
    "quantum-espresso": f"""&control
/
&system
 ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 30
/
&electrons
/
ATOMIC_SPECIES
 Si 28.086 {SILICON.name}
ATOMIC_POSITIONS alat
 Si 0 0 0
 Si 0.25 0.25 0.25
K_POINTS gamma
""",
    "wannier90": """num_wann = 4
mp_grid = 1 1 1
begin unit_cell_cart
0 2.715 2.715
2.715 0 2.715
2.715 2.715 0
end unit_cell_cart
begin atoms_frac
Si 0 0 0
end atoms_frac
begin projections
Si:sp3
end projections
begin kpoints
0 0 0
end kpoints
""",
}


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


def probes(times: int) -> dict[str, float | str]:
    """Asking a code about a small deck in a fresh sandbox, and reading what it says: least wall time, ms."""
    return {name: _asked(name, times) for name in SMALL_DECKS}


def _asked(name: str, times: int) -> float | str:
    if lacking := missing([name]):
        return "; ".join(map(str, lacking))
    code = CODES[name]
    files = {next(iter(code.files)): SMALL_DECKS[name].encode()}
    support = {SILICON.name: SILICON.read_bytes()} if name == "quantum-espresso" else {}
    probe, spans = code.probe(files, support), []
    assert probe is not None
    for _ in range(times):
        begin = time.perf_counter()
        collected = asyncio.run(run_probes([probe]))[name]
        effective = code.effective(files, collected)
        spans.append(1e3 * (time.perf_counter() - begin))
        assert effective.refusal is None, effective.refusal
    return round(min(spans), 1)


def measured(times: int) -> dict[str, Any]:
    """All of it; a reason instead where there can be no sandbox."""
    if lacking := missing(["lammps", "phonopy"]):
        return {"reason": "; ".join(map(str, lacking))}
    return {"workspace_ms": asyncio.run(sandboxes(times)), "grading_ms": grading(5), "probe_ms": probes(5)}
