"""From the name of a loop to the engine's solver."""

from __future__ import annotations

from inspect_ai.model import get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from matassay.agents import CODE, GUI, LOOPS, TOOLS
from matassay.core import Interface

from ._agent import gui
from ._provider import ReferenceModel
from ._record import current


@solver
def acting(agent: str) -> Solver:
    """Let the model act in the sample's world.

    Parameters
    ----------
    agent : str
        Name of the loop; a scripted agent's task may need another, which is then taken.
    """
    made: dict[str, Solver] = {}

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        live, _ = current()
        interface = live.episode.task.interface
        # A scripted agent speaks in tool calls, whatever the loop was called for.
        fits = LOOPS[agent] is interface and not isinstance(get_model().api, ReferenceModel)
        name = agent if fits else {Interface.SCREEN: GUI, Interface.WORKSPACE: TOOLS}[interface]
        if name not in made:
            made[name] = _solver(name)
        return await made[name](state, generate)

    return solve


def _solver(name: str) -> Solver:
    if name == GUI:
        return gui()
    # Late: what each of them needs is imported by those who use it.
    if name in (CODE, TOOLS):
        from ._code_agent import code_agent

        return code_agent(mode=name)
    from ._cli_agents import cli_agent

    return cli_agent(name)
