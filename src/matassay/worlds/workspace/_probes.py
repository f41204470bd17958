"""Running foreign programs on what an agent wrote: each in a fresh sandbox that is thrown away."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from matassay.core import Probe, plain_text

from ._box import open_workspace
from ._reader import Caps
from ._types import INPUTS, Completed, Limits, Workspace, WorkspaceEnded

#: Makes an empty sandbox with these files in its ``inputs``.
Another = Callable[[Mapping[str, bytes | Path]], Workspace]

#: Characters that are kept of each stream and of each file, half from the beginning and half from the end.
KEPT: Final = 200_000

#: Of a file, more: dumps of forces are long, and half a table is none.
KEPT_FILE: Final = 4_000_000


async def run_probes(
    probes: Sequence[Probe], *, backend: str = "auto", another: Another | None = None
) -> dict[str, Any]:
    """Results of all probes by name, as JSON types.

    Parameters
    ----------
    probes : sequence of Probe
        What to run.
    backend : str
        Kind of sandbox, see `open_workspace`.
    another : callable, optional
        Makes an empty sandbox, where `open_workspace` cannot: somebody else's container.

    Returns
    -------
    dict
        For each probe ``exit_code`` (null if it was killed), ``timed_out``, ``stdout``, ``stderr``, and ``files``: the
        text of each output that was asked for, null where there is none.

    Raises
    ------
    EnvironmentFailure
        If a sandbox cannot be had. A program that refuses the agent's files is a result.
    """
    return {probe.name: await _run(probe, backend, another) for probe in probes}


async def _run(probe: Probe, backend: str, another: Another | None) -> dict[str, Any]:
    below = INPUTS + "/"  # read-only in the sandbox, so that it is given from the beginning
    inputs: dict[str, bytes | Path] = {n.removeprefix(below): d for n, d in probe.files.items() if n.startswith(below)}
    limits = Limits(memory=probe.memory)
    workspace = (
        another(inputs)
        if another
        else open_workspace(inputs=inputs, limits=limits, backend=backend, caps=Caps(first=probe.outputs))
    )
    try:
        await workspace.start()
        for name, data in probe.files.items():
            if not name.startswith(below):
                await workspace.write(name, data)
        try:
            done = await workspace.run(probe.argv, timeout=probe.seconds)
        except WorkspaceEnded as end:
            # What the agent wrote has brought the sandbox down: an answer too, and none of the machine's faults.
            done = Completed(None, b"", str(end).encode())
        left = await workspace.conclude()
    finally:
        await workspace.close()
    return {
        "exit_code": done.exit_code,
        "timed_out": done.timed_out,
        "stdout": _text(done.stdout, KEPT),
        "stderr": _text(done.stderr, KEPT),
        "files": {name: _text(left.files[name], KEPT_FILE) if name in left.files else None for name in probe.outputs},
    }


def _text(data: bytes, limit: int) -> str:
    text = plain_text(data.decode("utf-8", "replace"))
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n... {len(text) - limit} characters left out ...\n{text[-limit // 2 :]}"
