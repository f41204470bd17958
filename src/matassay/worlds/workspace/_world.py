"""A workspace as a world: an agent's actions are cells of code, and its files are the evidence."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from matassay.core import (
    Artefact,
    EnvironmentFailure,
    Evidence,
    InvalidAction,
    Observation,
    Probe,
    is_number,
    plain_text,
)

from ._box import open_workspace
from ._probes import Another, run_probes
from ._reader import Caps
from ._types import Limits, Workspace, WorkspaceEnded
from .kernel import CellResult, Kernel

#: Characters of what a cell printed that an agent gets to see; the middle of more is left out.
SHOWN: Final = 20_000

#: Longest code of one cell, characters.
MAX_CODE: Final = 400_000

#: Plots that an agent gets to see, bytes of all together.
MAX_PICTURES: Final = 64 * 1024 * 1024

#: Files that are taken from a workspace at most, and their bytes together.
MAX_FILES: Final = 64
MAX_BYTES: Final = 48 * 1024 * 1024


#: Facts of a sandbox that were measured in it: no version of anything.
MEASURED: Final = ("memory_peak", "oom_kills")

#: Environment variable that names the kind of sandbox for a whole run.
SANDBOX_VARIABLE: Final = "MATASSAY_SANDBOX"


def chosen_backend() -> str:
    """The kind of sandbox that was chosen for this process; ``auto`` where none was."""
    return os.environ.get(SANDBOX_VARIABLE) or "auto"


@dataclass(frozen=True)
class RunCode:
    """A cell of Python to be run in the workspace's kernel."""

    code: str
    """The code."""
    timeout: float | None = None
    """Longest time, s; None: no limit of its own."""


class WorkspaceWorld:
    """One sandbox of one episode.

    Parameters
    ----------
    inputs, manuals : mapping of str to bytes or Path
        Read-only files by their names below ``inputs/`` and ``manuals/``.
    outputs : sequence of str
        Names or patterns of the files that are evidence; the others that the agent left are counted alone.
    seed : int
        Seed of the episode, for the graders.
    limits : Limits
        What the sandbox may use.
    probes : callable
        Questions to foreign programs about the files that were left.
    backend : str, optional
        Kind of sandbox, see `open_workspace`; by default what `SANDBOX_VARIABLE` says.
    """

    def __init__(
        self,
        *,
        inputs: Mapping[str, bytes | Path],
        manuals: Mapping[str, bytes | Path] | None = None,
        outputs: Sequence[str] = ("answer.json",),
        seed: int = 0,
        limits: Limits | None = None,
        probes: Callable[[Mapping[str, bytes]], Sequence[Probe]] = lambda files: (),
        backend: str | None = None,
    ) -> None:
        self.inputs, self.manuals = dict(inputs), dict(manuals or {})
        self.limits = limits or Limits()
        self.backend = backend or chosen_backend()
        self._outputs, self._seed, self._probes = tuple(outputs), seed, probes
        self._workspace: Workspace | None = None
        self._own = True
        self._another: Another | None = None
        self._kernel: Kernel | None = None
        self._shown = Observation()
        self._cells = 0
        self._spent = 0.0
        self._pictured = 0
        self._final: str | None = None
        self._left: Evidence | None = None

    def attach(self, workspace: Workspace, another: Another | None = None) -> None:
        """Use a sandbox that somebody else has started and will close, in place of one of our own; before `start`.

        Parameters
        ----------
        workspace : Workspace
            The sandbox.
        another : callable, optional
            Makes the sandboxes of the probes; by default they are of the kind that was chosen.
        """
        self._workspace, self._own, self._another = workspace, False, another

    @property
    def caps(self) -> Caps:
        """How much of what is left is read: first what is evidence."""
        return Caps(first=self._outputs)

    @property
    def workspace(self) -> Workspace:
        """The sandbox; from `start` on."""
        if self._workspace is None:
            raise EnvironmentFailure("the workspace has not been started")
        return self._workspace

    async def start(self) -> None:
        """Bring the sandbox up; the kernel comes with the first cell.

        Raises
        ------
        EnvironmentFailure
            With cause and cure.
        """
        if self._workspace is None:
            self._workspace = open_workspace(
                inputs=self.inputs, manuals=self.manuals, limits=self.limits, backend=self.backend, caps=self.caps
            )
            await self._workspace.start()

    def parse(self, raw: Mapping[str, Any]) -> RunCode:
        """Check ``{"action": "run_code", "code": str, "timeout": s}``.

        Raises
        ------
        InvalidAction
            Naming the field, what was got and what was expected.
        """
        if not isinstance(raw, Mapping):
            raise InvalidAction(f"an action must be an object with an 'action' field, got {type(raw).__name__}")
        given = {str(k): v for k, v in raw.items() if v is not None}
        kind = given.pop("action", None)
        if kind != "run_code":
            raise InvalidAction(f"unknown action {kind!r:.80}; in a workspace there is run_code")
        code, timeout = given.pop("code", None), given.pop("timeout", None)
        if not isinstance(code, str) or not code.strip():
            raise InvalidAction(f"run_code: field code: expected Python code as text, got {type(code).__name__}")
        if len(code) > MAX_CODE:
            raise InvalidAction(f"run_code: field code: at most {MAX_CODE} characters, got {len(code)}")
        if "\0" in code:
            raise InvalidAction("run_code: field code: a zero character is no Python")
        if timeout is not None and not (is_number(timeout) and 0 < timeout <= 86_400):
            raise InvalidAction(f"run_code: field timeout: expected seconds between 0 and 86400, got {timeout!r:.80}")
        if given:
            raise InvalidAction(f"run_code has no field {', '.join(map(repr, sorted(given)))}; it has code and timeout")
        return RunCode(code, None if timeout is None else float(timeout))

    async def act(self, action: RunCode) -> None:
        """Run a cell and wait for its end.

        Raises
        ------
        EnvironmentFailure
            If the sandbox broke; neither a cell that dies or is stopped means that, nor one that kills the sandbox.
        """
        self._cells += 1
        try:
            if self._kernel is None:
                self._kernel = await Kernel.start(self.workspace)
            result = await self._kernel.run(action.code, timeout=action.timeout)
        except WorkspaceEnded as end:
            # What the agent ran has brought its sandbox down: that is its own doing, and what it left is graded.
            words = f"{end}: everything in it was killed, and nothing can be run any more"
            self._shown = Observation(text=words, final=words, extra={"failed": True, "died": True})
            return
        self._spent += result.seconds if math.isfinite(result.seconds) else 0.0
        if result.final is not None:
            self._final = result.final
        pictures = tuple(d.data for d in result.displays if d.media_type == "image/png")
        self._pictured += sum(map(len, pictures))
        self._shown = _observation(result, pictures if self._pictured <= MAX_PICTURES else ())

    async def observe(self, *, accessible: bool = False) -> Observation:
        """What the last cell printed."""
        return self._shown

    async def notify(self, message: str) -> None:
        """Say why an action was refused: the next observation."""
        self._shown = Observation(text=message, extra={"failed": True})

    async def conclude(self) -> None:
        """Kill everything in the sandbox, read the files that it left, and ask the probes about them.

        Raises
        ------
        EnvironmentFailure
            If a probe cannot be run.
        """
        if self._left is not None or self._workspace is None:
            return
        if self._kernel is not None:
            await self._kernel.close()
        outputs = await self._workspace.conclude()
        files, refused = self._wanted(outputs.files, outputs.refused)
        collected = await run_probes(self._probes(files), backend=self.backend, another=self._another)
        state = {**self._state(), "concluded": True, "outputs_refused": refused, "collected": collected}
        state["other_files"] = len(outputs.files) - len(files)
        state["usage"] = {name: self._workspace.facts[name] for name in MEASURED if name in self._workspace.facts}
        artefacts = tuple(Artefact.of(name, data) for name, data in sorted(files.items()))
        self._left = Evidence(state=state, artefacts=artefacts, time=self._spent, versions=self._versions())

    def _wanted(
        self, files: Mapping[str, bytes], refused: Mapping[str, str]
    ) -> tuple[dict[str, bytes], dict[str, str]]:
        """Of what was left, the files that the task asks for; within bounds."""
        told = {
            plain_text(name)[:200]: plain_text(reason)[:200] for name, reason in refused.items() if self.asked(name)
        }
        kept: dict[str, bytes] = {}
        room = MAX_BYTES
        for name in sorted(files):
            if not self.asked(name):
                continue
            if len(kept) == MAX_FILES or len(files[name]) > room:
                told[name] = f"more than {MAX_FILES} files or {MAX_BYTES} bytes were left"
                continue
            kept[name] = files[name]
            room -= len(files[name])
        return kept, told

    def asked(self, name: str) -> bool:
        """Whether a file is evidence."""
        return any(fnmatchcase(name, pattern) for pattern in self._outputs)

    async def evidence(self) -> Evidence:
        """What the agent left, once the world is concluded; before that, how far it is."""
        if self._left is not None:
            return self._left
        state = {**self._state(), "concluded": False, "outputs_refused": {}, "collected": {}, "other_files": 0}
        return Evidence(state=state, time=self._spent, versions=self._versions())

    def _state(self) -> dict[str, Any]:
        return {"seed": self._seed, "cells": self._cells, "finished": self._final is not None}

    def _versions(self) -> dict[str, str]:
        if self._workspace is None:
            return {}
        facts = {name: value for name, value in self._workspace.facts.items() if name not in MEASURED}
        if "(we are root)" in facts.get("user", ""):
            facts["user"] = "one of its own (we are root)"  # its number is another one each time
        return {"sandbox": self._workspace.label, **facts}

    async def close(self) -> None:
        """Remove the sandbox; may be called twice and in any state."""
        if self._kernel is not None:
            await self._kernel.close()
        if self._workspace is not None and self._own:
            await self._workspace.close()


def _observation(result: CellResult, pictures: tuple[bytes, ...]) -> Observation:
    lost = "" if len(pictures) == len(result.displays) else "\n[plots are not shown any more: there were too many]"
    return Observation(
        text=plain_text(result.report(SHOWN)) + lost,
        images=pictures,
        final=result.final,
        extra={"failed": not result.ok, "seconds": result.seconds, "died": result.died},
    )
