"""Memory of a sandbox, added up from /proc where no control group counts it.

Anonymous and shared memory of all its processes, each page counted once in proportion to who shares it, with the tables
of their pages. What is in its folders' files is limited by the folders' sizes and is not counted, but names without
content are, of which a folder can hold millions. Sockets and pipes are counted with what they can hold, since nobody
tells what they do. Memory that lies in none of these cannot be had where this is used: the filter refuses it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

#: Time between two looks, s.
INTERVAL = 0.1

#: Memory that a name in a folder takes in the kernel, bytes.
_NAME = 1024

#: Most that a socket and a pipe hold, bytes.
_SOCKET, _PIPE = 425984, 65536

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
    pipes: set[str] = set()
    for pid in members(namespace):
        own = _resident(pid)
        total += own
        if own > most and pid != spare:
            most, largest = own, pid
        pipes |= _pipes(pid)
    held = len(pipes) * _PIPE + _sockets(spare) * _SOCKET
    return Usage(total + held + _names(spare) * _NAME, largest)


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
        with open(f"/proc/{pid}/status", "rb") as stream:  # noqa: PTH123 - as above
            for line in stream:
                if line.startswith(b"VmPTE:"):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return total
    return total


def _pipes(pid: int) -> set[str]:
    found = set()
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - as above
            link = os.readlink(f"/proc/{pid}/fd/{fd}")  # noqa: PTH115 - as above
            if link.startswith("pipe:"):
                found.add(link)
    except OSError:
        return found
    return found


def _sockets(pid: int) -> int:
    """Sockets of the sandbox, those included that are on their way from one process to another."""
    try:
        with open(f"/proc/{pid}/net/sockstat", "rb") as stream:  # noqa: PTH123 - as above
            return int(stream.readline().split()[2])  # "sockets: used 12"
    except (OSError, IndexError, ValueError):
        return 0
