"""Memory of a sandbox, added up from /proc where no control group counts it.

Anonymous and shared memory of all its processes, each page counted once in proportion to who shares it, and what lies
in memory files that only a descriptor holds. What is in its folders' files is limited by the folders' sizes and is
not counted, but names without content are, of which a folder can hold millions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

#: Time between two looks, s.
INTERVAL = 0.1

#: Memory that a name in a folder takes in the kernel, bytes.
_NAME = 1024

#: Folders of the sandbox that can be written.
_FOLDERS = ("/workspace", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - of the sandbox


@dataclass(frozen=True)
class Usage:
    """What one look found."""

    total: int
    """Memory, bytes."""
    largest: int | None
    """Process that has most of it, if any has."""


def members(namespace: str) -> list[int]:
    """Processes of a pid namespace, given as the link in /proc has it."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if os.readlink(f"/proc/{entry.name}/ns/pid") == namespace:  # noqa: PTH115 - it is no path
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def measure(namespace: str, spare: int) -> Usage:
    """Memory of all processes of a namespace.

    Parameters
    ----------
    namespace : str
        As ``/proc/PID/ns/pid`` has it.
    spare : int
        The first process of the sandbox: counted, but never named as the largest.
    """
    total, most, largest = 0, 0, None
    memory_files: dict[tuple[int, int], int] = {}
    for pid in members(namespace):
        own = _resident(pid)
        total += own
        if own > most and pid != spare:
            most, largest = own, pid
        memory_files.update(_memory_files(pid))
    return Usage(total + sum(memory_files.values()) + _names(spare) * _NAME, largest)


def _names(pid: int) -> int:
    """How many files and folders there are in the sandbox."""
    count = 0
    for folder in _FOLDERS:
        try:
            status = os.statvfs(f"/proc/{pid}/root{folder}")
        except OSError:
            continue
        count += status.f_files - status.f_ffree
    return count


def _resident(pid: int) -> int:
    total = 0
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as stream:  # noqa: PTH123 - ten times a second
            for line in stream:
                if line.startswith((b"Pss_Anon:", b"Pss_Shmem:")):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return 0
    return total


def _memory_files(pid: int) -> dict[tuple[int, int], int]:
    found = {}
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - as above
            link = f"/proc/{pid}/fd/{fd}"
            if os.readlink(link).startswith("/memfd:"):  # noqa: PTH115 - as above
                status = os.stat(link)  # noqa: PTH116 - as above
                found[status.st_dev, status.st_ino] = status.st_blocks * 512
    except OSError:
        return found
    return found
