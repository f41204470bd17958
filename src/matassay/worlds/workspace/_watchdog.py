"""Memory of a sandbox, added up from /proc where no control group counts it.

Anonymous and shared memory of all its processes, each page counted once in proportion to who shares it, with the tables
of their pages and what the kernel notes of each mapping. What is in its folders' files is limited by the folders' sizes
and is not counted, but names without content are, of which a folder can hold millions, and locks on files. Sockets,
pipes, and what watches descriptors or folders are counted with what they can hold, since nobody tells what they do.
Memory that lies in none of these cannot be had where this is used: the filter refuses it.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

#: Longest and shortest time between two looks, s.
INTERVAL, SHORTEST = 0.1, 0.01

#: Tables of pages from which on they are not walked, bytes: in these a process has what fills twice the usual limit, and
#: a walk takes 10 ms. One that spreads its memory thinly fills tables as fast as they can be walked.
_WALKED = 16 * 1024**2

#: Memory that a name in a folder takes in the kernel, bytes.
_NAME = 1024

#: Most that a socket and a pipe hold, bytes.
_SOCKET, _PIPE = 425984, 65536

#: What the kernel notes of a mapping, of a lock, and of a descriptor that an epoll watches, bytes.
_MAPPING, _LOCK, _WATCHED = 256, 256, 192

#: Most that a queue of inotify holds: 16384 events with names, bytes.
_QUEUE = 16384 * 320

#: Bytes in the kernel per byte in the queue of a TCP connection, whose packets can be small.
_PACKED = 4

#: Folders of the sandbox that can be written.
_FOLDERS = ("/workspace", "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - of the sandbox


@dataclass(frozen=True)
class Usage:
    """What one look found."""

    total: int
    """Memory, bytes."""
    largest: int | None
    """Process that has most of it, if any has."""


def pause(room: float, growth: float) -> float:
    """Time until the next look, s: half of that in which the room is filled, so that no growth is seen too late.

    Parameters
    ----------
    room : float
        Memory that is left, bytes.
    growth : float
        What came between the last two looks, bytes/s.

    Examples
    --------
    >>> pause(4e9, 1e6), pause(4e9, -1e9), round(pause(1e8, 1e9), 3), pause(-1e6, 1e9)
    (0.1, 0.1, 0.05, 0.01)
    """
    return INTERVAL if growth <= 0 else min(INTERVAL, max(SHORTEST, room / growth / 2))


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


def measure(namespace: str, spare: int, limit: int) -> Usage:
    """Memory of all processes of a namespace; no more is looked at once it exceeds the limit.

    Parameters
    ----------
    namespace : str
        As ``/proc/PID/ns/pid`` has it.
    spare : int
        The first process of the sandbox: counted, but never named as the largest.
    limit : int
        What it may have, bytes.
    """
    total = _sockets(spare) * _SOCKET + _queued(spare) * _PACKED + _names(spare) * _NAME
    most, largest = 0, None
    pipes: set[str] = set()
    pids = members(namespace)
    locks = _locks({str(pid).encode() for pid in pids})
    for pid in pids:
        own = _resident(pid) + _mappings(pid) * _MAPPING + locks.get(str(pid).encode(), 0) * _LOCK
        links = _descriptors(pid)
        own += links.count("anon_inode:[eventpoll]") * len(links) * _WATCHED
        own += links.count("anon_inode:inotify") * _QUEUE
        if own > most and pid != spare:
            most, largest = own, pid
        new = {link for link in links if link.startswith("pipe:")} - pipes
        pipes |= new
        total += own + len(new) * _PIPE
        if total > limit:
            break
    return Usage(total, largest)


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
    """Memory of a process and tables of its pages; where these are large, shared pages count whole, not in proportion."""
    tables = _sum(f"/proc/{pid}/status", (b"VmPTE:",))
    if tables > _WALKED:
        return tables + _sum(f"/proc/{pid}/status", (b"RssAnon:", b"RssShmem:"))
    return tables + _sum(f"/proc/{pid}/smaps_rollup", (b"Pss_Anon:", b"Pss_Shmem:"))


def _sum(path: str, keys: tuple[bytes, ...]) -> int:
    total = 0
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 - ten times a second
            for line in stream:
                if line.startswith(keys):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return total
    return total


def _mappings(pid: int) -> int:
    """How many there are: each takes memory, whether there is any behind it or not."""
    count = 0
    try:
        with open(f"/proc/{pid}/maps", "rb", buffering=0) as stream:  # noqa: PTH123 - as above
            while chunk := stream.read(1 << 16):
                count += chunk.count(b"\n")
    except OSError:
        return count
    return count


def _locks(pids: set[bytes]) -> dict[bytes, int]:
    """Locks on files that processes hold: ``1: POSIX  ADVISORY  WRITE 436 fe:00:3162970 0 EOF``."""
    found: dict[bytes, int] = {}
    try:
        with open("/proc/locks", "rb") as stream:  # noqa: PTH123 - as above
            for line in stream:
                holder = next(word for word in line.split()[4:] if word.isdigit())
                if holder in pids:
                    found[holder] = found.get(holder, 0) + 1
    except (OSError, StopIteration):
        return found
    return found


def _descriptors(pid: int) -> list[str]:
    """What a process has open, as its links in /proc have it."""
    folder, found = f"/proc/{pid}/fd/", []
    with contextlib.suppress(OSError):
        for fd in os.listdir(folder):  # noqa: PTH208 - as above
            with contextlib.suppress(OSError):  # closed since
                found.append(os.readlink(folder + fd))  # noqa: PTH115 - as above
    return found


def _queued(pid: int) -> int:
    """Bytes that wait in TCP connections of the sandbox, whose queues grow far beyond those of other sockets."""
    total = 0
    for name in ("tcp", "tcp6"):
        try:
            with open(f"/proc/{pid}/net/{name}", "rb") as stream:  # noqa: PTH123 - as above
                next(stream, None)
                for line in stream:
                    sent, _, received = line.split()[4].partition(b":")
                    total += int(sent, 16) + int(received, 16)
        except (OSError, IndexError, ValueError):
            continue
    return total


def _sockets(pid: int) -> int:
    """Sockets of the sandbox, those included that are on their way from one process to another."""
    try:
        with open(f"/proc/{pid}/net/sockstat", "rb") as stream:  # noqa: PTH123 - as above
            return int(stream.readline().split()[2])  # "sockets: used 12"
    except (OSError, IndexError, ValueError):
        return 0
