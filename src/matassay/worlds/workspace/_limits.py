"""The ladder of limits: what holds all processes of a sandbox together.

1. **cgroup v2**: as root below the root group, else below the group that was delegated to us
   (``systemd-run --user --scope -p Delegate=yes``, or a service with ``Delegate=yes``);
2. **cgroup v1**, as root;
3. **limits of each process, and a watchdog** that adds their memory up ten times a second.

The step that was taken stands in the result. Whatever the step: number of processes, size of files and of the data
segment are limited in the kernel by rlimits set inside, and folders are file systems of fixed size.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ._types import Limits

#: Beginning of the names of our groups.
PREFIX = "matassay-"

#: bubblewrap's own processes, and the first of the sandbox.
_OURS = 4


class Cage(Protocol):
    """Limits on one sandbox as a whole."""

    @property
    def step(self) -> str:
        """The step on the ladder."""

    @property
    def procs(self) -> tuple[Path, ...]:
        """Files into which the launcher writes itself."""

    @property
    def watched(self) -> bool:
        """Whether a watchdog must add the memory up."""

    def usage(self) -> Mapping[str, str]:
        """What was used, as far as the kernel counts it: peak of the memory, processes killed for it."""

    def remove(self) -> None:
        """Remove the group, when its processes are dead."""


@dataclass(frozen=True)
class Rlimits:
    """The lowest step."""

    step: str = "rlimits and watchdog"
    procs: tuple[Path, ...] = ()
    watched: bool = True

    def usage(self) -> Mapping[str, str]:
        """Nothing: the watchdog tells."""
        return {}

    def remove(self) -> None:
        """Nothing was made."""


@dataclass(frozen=True)
class Groups:
    """A control group, or one per controller."""

    step: str
    folders: tuple[Path, ...]
    peak: tuple[str, ...]
    """Names of the files that hold the largest memory used, bytes."""
    events: str
    """Name of the file with the number of processes that were killed for memory."""
    watched: bool = False
    procs: tuple[Path, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "procs", tuple(folder / "cgroup.procs" for folder in self.folders))

    def usage(self) -> Mapping[str, str]:
        """Peak of the memory and the number of processes killed for it."""
        found: dict[str, str] = {}
        for folder in self.folders:
            for name in self.peak:
                with contextlib.suppress(OSError):
                    found["memory_peak"] = (folder / name).read_text().strip()
            with contextlib.suppress(OSError):
                for line in (folder / self.events).read_text().splitlines():
                    key, _, value = line.partition(" ")
                    if key == "oom_kill":
                        found["oom_kills"] = value
        return found

    def remove(self) -> None:
        """Remove the folders; one that is still busy is removed when the next sandbox starts."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                folder.rmdir()


def build_cage(limits: Limits, root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> Cage:
    """The highest step that this machine allows.

    Parameters
    ----------
    limits : Limits
        What the sandbox may use.
    root : Path
        Where the control groups are mounted.
    own : Path
        Which groups we are in.
    """
    name = f"{PREFIX}{os.getpid()}-{secrets.token_hex(8)}"
    for parent in _v2_parents(root, own):
        with contextlib.suppress(OSError):
            return _v2(parent, name, limits)
    if os.geteuid() == 0:
        with contextlib.suppress(OSError):
            return _v1(root, name, limits)
    return Rlimits()


def remove_leftovers(parent: Path) -> None:
    """Groups of sandboxes whose host was killed; one that is just being made is empty too, so the host counts."""
    with contextlib.suppress(OSError):
        for folder in parent.glob(PREFIX + "*-*"):
            host = folder.name.removeprefix(PREFIX).partition("-")[0]
            if host.isdigit() and not Path("/proc", host).exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _v2_parents(root: Path, own: Path) -> list[Path]:
    """Folders in which a group with memory and pids can be made."""
    if not (root / "cgroup.controllers").exists():
        return []
    found = []
    if os.geteuid() == 0:
        found.append(root / "matassay")
    with contextlib.suppress(OSError):
        lines = own.read_text().splitlines()
        found += [root / line[4:] for line in lines if line.startswith("0::/") and line != "0::/"]
    return found


def _v2(parent: Path, name: str, limits: Limits) -> Groups:
    if parent.name == "matassay":
        parent.mkdir(exist_ok=True)
    elif parent.name == PREFIX + "host":  # we have moved there before
        parent = parent.parent
    control = parent / "cgroup.subtree_control"
    if not {"memory", "pids"} <= set(control.read_text().split()):
        try:
            control.write_text("+memory +pids")
        except OSError:
            _move_down(parent)
            control.write_text("+memory +pids")
    remove_leftovers(parent)
    folder = parent / name
    folder.mkdir()
    try:
        (folder / "memory.max").write_text(str(limits.memory))
        (folder / "pids.max").write_text(str(limits.processes + _OURS))
        if (folder / "memory.swap.max").exists():
            (folder / "memory.swap.max").write_text("0")
    except OSError:
        folder.rmdir()
        raise
    where = "as root" if parent.name == "matassay" else "delegated"
    return Groups(f"cgroup v2, {where}", (folder,), ("memory.peak",), "memory.events")


def _move_down(parent: Path) -> None:
    """A group that has groups may have no processes: we move into one of our own, if nobody else is there.

    Raises
    ------
    PermissionError
        If the group is not ours alone.
    """
    members = set((parent / "cgroup.procs").read_text().split())
    if members - {str(os.getpid())}:
        raise PermissionError(f"{parent} holds other processes too")
    host = parent / (PREFIX + "host")
    host.mkdir(exist_ok=True)
    (host / "cgroup.procs").write_text(str(os.getpid()))


def _v1(root: Path, name: str, limits: Limits) -> Groups:
    folders = []
    try:
        for controller, settings in (
            ("memory", (("memory.limit_in_bytes", limits.memory),)),
            ("pids", (("pids.max", limits.processes + _OURS),)),
        ):
            if not (root / controller / "cgroup.procs").exists():
                raise FileNotFoundError(root / controller)
            parent = root / controller / "matassay"
            parent.mkdir(exist_ok=True)
            remove_leftovers(parent)
            folder = parent / name
            folder.mkdir()
            folders.append(folder)
            for file, value in settings:
                (folder / file).write_text(str(value))
            # What TCP connections hold counts apart, and not at all without a limit of its own.
            for more in ("memory.memsw.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"):
                if controller == "memory" and (folder / more).exists():
                    (folder / more).write_text(str(limits.memory))
    except OSError:
        for folder in folders:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    return Groups("cgroup v1, as root", tuple(folders), ("memory.max_usage_in_bytes",), "memory.oom_control")
