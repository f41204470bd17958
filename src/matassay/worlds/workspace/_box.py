"""Opening a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from matassay.core import EnvironmentFailure, MatAssayError

from ._bubblewrap import Bubblewrap
from ._folder import FolderWorkspace
from ._reader import Caps
from ._types import Limits, Workspace
from .software import Software, find_software

__all__ = ["BACKENDS", "CONTAINERS", "WEAK", "Limits", "Workspace", "open_workspace", "probe_sandbox"]

#: Kinds of sandboxes. ``auto`` is bubblewrap: anything weaker is only ever taken by name.
BACKENDS = ("auto", "bubblewrap", "sandlock", "none")

#: Those of them that leave holes, and what they do not do: no result of theirs can be compared.
WEAK: Mapping[str, str] = MappingProxyType(
    {
        "sandlock": "weaker, it shows the host's processes and parts of its files",
        "none": "what the agent writes runs as you, unprotected",
    }
)

#: Kinds that an engine makes, from a daemon or a cluster, and hands to `WorkspaceWorld.attach`.
CONTAINERS = ("docker", "k8s")


async def probe_sandbox(software: Software, backend: str = "auto") -> Mapping[str, str]:
    """Make a sandbox, run nothing to speak of in it, and say what it is.

    Raises
    ------
    EnvironmentFailure
        With cause and cure, if it cannot be made.
    """
    workspace = open_workspace(inputs={}, backend=backend, software=software)
    try:
        await workspace.start()
        done = await workspace.run(["true"], timeout=60)
        if done.exit_code != 0:
            raise EnvironmentFailure(f"`true` failed in the sandbox: {done.stderr.decode(errors='replace').strip()}")
        return workspace.facts
    finally:
        await workspace.close()


def open_workspace(
    *,
    inputs: Mapping[str, bytes | Path],
    manuals: Mapping[str, bytes | Path] | None = None,
    limits: Limits = Limits(),  # noqa: B008 - it is immutable
    backend: str = "auto",
    software: Software | None = None,
    caps: Caps = Caps(),  # noqa: B008 - it is immutable
) -> Workspace:
    """A sandbox that is still to be started.

    Parameters
    ----------
    inputs, manuals : mapping of str to bytes or Path
        Files of ``/workspace/inputs`` and ``/workspace/manuals``, by name.
    limits : Limits
        What it may use.
    backend : str
        One of `BACKENDS`.
    software : Software, optional
        What it has to work with; found on this machine by default.
    caps : Caps
        How much of what it leaves is read.

    Raises
    ------
    MatAssayError
        If the kind is not known.
    EnvironmentFailure
        If there is no environment to work with.
    """
    if backend in CONTAINERS:
        raise MatAssayError(
            f"the sandbox {backend!r} is there for `matassay run` alone; take another: --sandbox, MATASSAY_SANDBOX"
        )
    if backend not in BACKENDS:
        raise MatAssayError(f"unknown sandbox {backend!r}; known: {', '.join(BACKENDS)}")
    software = software or find_software()
    if backend in ("sandlock", "none"):
        return FolderWorkspace(backend, inputs, manuals or {}, limits, software, caps)
    return Bubblewrap(inputs, manuals or {}, limits, software, caps)
