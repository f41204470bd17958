"""What can be acted in, and how agents reach it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Protocol

from ._action import Action
from ._evidence import Evidence
from ._observation import Observation


class World(Protocol):
    """A place in which an agent acts: a browser page, a desktop, a workspace. Nothing in it blocks the event loop."""

    async def start(self) -> None:
        """Bring the world into its start state.

        Raises
        ------
        EnvironmentFailure
            If it cannot be brought up.
        """

    def parse(self, raw: Mapping[str, Any]) -> Any:
        """Check an action as an agent sent it, by the vocabulary of this world.

        Raises
        ------
        InvalidAction
            With a text that names the field, what was got and what was expected.
        """

    async def act(self, action: Any) -> None:
        """Carry out one action that `parse` gave and wait until the world has settled.

        Raises
        ------
        InvalidAction
            If the action cannot be carried out (unknown key, for example); the world is unchanged.
        EnvironmentFailure
            If the world broke.
        """

    async def observe(self, *, accessible: bool = False) -> Observation:
        """Look at the world; after a ``zoom`` or ``cursor_position`` action, its result.

        Parameters
        ----------
        accessible : bool
            Whether to list the visible elements with role, name and box as well.
        """

    async def notify(self, message: str) -> None:
        """Show the agent a line on the screen (a refused action), for models that get nothing but pixels."""

    async def conclude(self) -> None:
        """The agent has ended: fix what it left, out of its reach, before the last `evidence`. May be called twice."""

    async def evidence(self) -> Evidence:
        """What a grader would see now, with the bytes of all saved files.

        A world that can be read only once it is dead (a workspace) has its files from `conclude` on.
        """

    async def close(self) -> None:
        """Release everything; may be called twice and in any state."""


class Operator(Protocol):
    """The narrow door through which scripted agents act: they get nothing else of an episode."""

    async def act(self, action: Action | dict[str, Any]) -> Observation:
        """Do one thing and look."""

    async def observe(self) -> Observation:
        """Look without doing anything; costs no step."""


Policy = Generator[dict[str, Any], Observation, None]
"""A scripted agent: yields actions, is sent the observation after each; returning means that it is done."""
