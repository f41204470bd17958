"""Shared memory, semaphores and queues, which stay on the machine when those who made them are dead.

A sandbox with namespaces of its own takes them with it; without, sandlock's own registry would be left behind by
every user, and after some thousands no sandbox could be made any more. Those of System V stand in tables, those of
POSIX are files in ``/dev/shm``: MPI leaves a megabyte there for each process that was killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

from ._users import USERS, owners

_TABLES = Path("/proc/sysvipc")
_FILES = Path("/dev/shm")  # noqa: S108 - nothing is written there
_IPC_RMID = 0
#: Name of the column with the number, see proc_sysvipc(5).
_ID = {"shm": "shmid", "sem": "semid", "msg": "msqid"}


@functools.cache
def _removers() -> dict[str, Callable[[int], int]]:
    """Name of a table to what removes an entry of it; see shmctl(2), semctl(2), msgctl(2)."""
    libc = ctypes.CDLL(None)
    return {
        "shm": lambda number: int(libc.shmctl(number, _IPC_RMID, None)),
        "sem": lambda number: int(libc.semctl(number, 0, _IPC_RMID, 0)),
        "msg": lambda number: int(libc.msgctl(number, _IPC_RMID, None)),
    }


def left_by(uid: int) -> dict[str, list[int]]:
    """Numbers of what belongs to a user: ``{"shm": [...], "sem": [...], "msg": [...]}``."""
    return {kind: [number for number, owner in _entries(kind) if owner == uid] for kind in _removers()}


def _entries(kind: str) -> list[tuple[int, int]]:
    """Number and owner of each entry of a table."""
    try:
        head, *rows = (_TABLES / kind).read_text().splitlines()
    except (OSError, ValueError):  # a kernel without them
        return []
    number, owner = head.split().index(_ID[kind]), head.split().index("uid")
    return [(int(fields[number]), int(fields[owner])) for fields in map(str.split, rows)]


def _files() -> list[tuple[Path, int]]:
    """Each file of shared memory and its owner."""
    found = []
    with contextlib.suppress(OSError):
        for path in _FILES.iterdir():
            with contextlib.suppress(OSError):
                found.append((path, path.lstat().st_uid))
    return found


def remove_ipc(uid: int) -> None:
    """Remove all that belongs to a user who is nobody else's."""
    for kind, numbers in left_by(uid).items():
        for number in numbers:
            _removers()[kind](number)
    for path, owner in _files():
        if owner == uid:
            with contextlib.suppress(OSError):
                path.unlink()


def remove_leftover_ipc() -> None:
    """Remove what sandboxes left whose host was killed: it belongs to users of sandboxes that have no process."""
    held = {owner for kind in _removers() for _, owner in _entries(kind)} | {owner for _, owner in _files()}
    for uid in held.intersection(USERS) - owners():
        remove_ipc(uid)
