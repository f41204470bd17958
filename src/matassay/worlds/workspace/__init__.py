"""A sandboxed place to calculate in: files, programs and a Python environment, without a network."""

from ._box import BACKENDS, CONTAINERS, WEAK, open_workspace, probe_sandbox
from ._probes import run_probes
from ._reader import Caps, harvest
from ._types import HOME, Completed, Limits, Outputs, Process, Workspace, WorkspaceEnded
from ._world import SANDBOX_VARIABLE, RunCode, WorkspaceWorld, chosen_backend
from .software import Missing, Software, bare_software, find_software, missing, package_folder

__all__ = [
    "BACKENDS",
    "CONTAINERS",
    "HOME",
    "SANDBOX_VARIABLE",
    "WEAK",
    "Caps",
    "Completed",
    "Limits",
    "Missing",
    "Outputs",
    "Process",
    "RunCode",
    "Software",
    "Workspace",
    "WorkspaceEnded",
    "WorkspaceWorld",
    "bare_software",
    "chosen_backend",
    "find_software",
    "harvest",
    "missing",
    "open_workspace",
    "package_folder",
    "probe_sandbox",
    "run_probes",
]
