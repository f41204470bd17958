"""Checks of tasks whose agents act by code in a sandbox."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

from matassay.agents import AGENTS, everything
from matassay.core import Guidance, Interface, Outcome, Scenario
from matassay.worlds.workspace import WorkspaceWorld

from ._case import Case
from ._exposure import Exposure
from ._finding import Finding
from ._hidden import places, secrets
from ._sandbox import attack_rows

#: A floating point number of a reference that stands in an input with so many digits stands there on purpose.
LEAST_DIGITS = 5

#: Values of one reference that are searched for.
MOST_VALUES = 200

#: Lists all that an agent finds on arrival, with sizes and owners, but no times.
LISTING = """
import os
for root, folders, files in sorted(os.walk("/workspace")):
    for name in sorted(folders + files):
        path = os.path.join(root, name)
        print(path, oct(os.lstat(path).st_mode), os.lstat(path).st_size if name in files else "")
print(sorted(os.listdir("/tmp")), sorted(os.environ))
"""


async def chance_fails(case: Case) -> AsyncIterator[Finding]:
    """A3."""
    trials = await asyncio.gather(case.trial("random", AGENTS["random"]), case.trial("everything", everything))
    for name, trial in zip(("random", "everything"), trials, strict=True):
        ended = trial.outcome in (Outcome.SCORED, Outcome.LIMIT)
        yield Finding(ended and trial.success is False, f"{name} agent: {trial.told}")


async def truth_shows_nowhere(case: Case) -> AsyncIterator[Finding]:
    """A6: neither in the instructions, nor in a file that lies in the workspace; graders and references are not there."""
    exposure = Exposure()
    exposure.add("instructions", "\n".join(case.scenario.instructions.values()))
    world = case.task.open_world(case.scenario)
    assert isinstance(world, WorkspaceWorld)
    for place, files in (("inputs", world.inputs), ("manuals", world.manuals)):
        for name, content in files.items():
            exposure.add(f"{place}/{name}", content.read_bytes() if isinstance(content, Path) else content)
    shown = []
    values = [(n, v) for n, v in secrets(case.scenario.truth) if isinstance(v, float) and _digits(v) >= LEAST_DIGITS]
    # A table that leaks leaks everywhere: of thousands of values some hundreds, evenly spread, tell as much.
    searched = values[:: max(1, len(values) // MOST_VALUES)]
    for name, value in searched:
        shown += [f"{name} shows in {place}" for place in places(value, exposure)]
    yield Finding(not shown, "; ".join(shown[:5]) or f"{len(searched)} of {len(values)} values show nowhere")
    yield Finding(bool(exposure.texts), f"{len(exposure.texts)} places were searched")


def _digits(value: float) -> int:
    return len(re.sub(r"e.*$|[.-]", "", repr(value)).strip("0"))


async def sandbox_holds(case: Case) -> AsyncIterator[Finding]:
    """A9: the attacks that reach for the network, the host and the graders, from inside this task's own workspace."""
    world = case.task.open_world(case.scenario)
    assert isinstance(world, WorkspaceWorld)
    try:
        await world.start()
        for row in await attack_rows(world.workspace):
            yield Finding(bool(row.held), f"{row.name}: {row.seen}")
    finally:
        await world.close()


async def same_seed_same_files(case: Case) -> AsyncIterator[Finding]:
    """A10."""
    one, two = await asyncio.gather(case.reference(), case.reference(copy=1))
    same = [a.sha256 for a in one.evidence.artefacts] == [a.sha256 for a in two.evidence.artefacts]
    yield Finding(same, f"{len(one.evidence.artefacts)} files are {'the same' if same else 'others'} the second time")
    again: Scenario = case.task.scenario(case.seed)
    same = (again.goal, again.truth, again.instructions) == (
        case.scenario.goal, case.scenario.truth, case.scenario.instructions,
    )  # fmt: skip
    yield Finding(same, f"goal, truth and instructions are {'the same' if same else 'others'} the second time")


async def nothing_is_left_behind(case: Case) -> AsyncIterator[Finding]:
    """A11: a fresh workspace looks the same before and after an episode."""
    before = await _listing(case)
    await case.reference(copy=2)
    after = await _listing(case)
    yield Finding(
        before == after, f"a fresh workspace {'is the same' if before == after else 'differs'} after an episode"
    )


async def _listing(case: Case) -> str:
    world = case.task.open_world(case.scenario)
    try:
        await world.start()
        await world.act(world.parse({"action": "run_code", "code": LISTING}))
        return (await world.observe()).text
    finally:
        await world.close()


async def guidances_differ_in_method(case: Case) -> AsyncIterator[Finding]:
    """A14: reduced guidance is full guidance without passages; it adds and changes nothing."""
    if case.task.interface is Interface.SCREEN:
        yield Finding(True, f"needs its screen: {case.task.needs_gui}")
        return
    full = case.scenario.instructions[Guidance.FULL].splitlines()
    rest = iter(full)
    reduced = case.scenario.instructions[Guidance.REDUCED].splitlines()
    missing = [line for line in reduced if line and line not in rest]
    yield Finding(
        not missing, f"reduced guidance says something of its own: {missing[0]!r}" if missing else "same text"
    )
