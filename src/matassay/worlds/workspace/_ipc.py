"""System V shared memory, semaphores and queues, which stay on the machine when those who made them are dead.

A sandbox with namespaces of its own takes them with it; without, sandlock's own registry would be left behind by
every user, and after some thousands no sandbox could be made any more.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from pathlib import Path

_TABLES = Path("/proc/sysvipc")
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
    return {kind: _numbers(_TABLES / kind, _ID[kind], uid) for kind in _removers()}


def _numbers(table: Path, name: str, uid: int) -> list[int]:
    try:
        head, *rows = table.read_text().splitlines()
    except (OSError, ValueError):  # a kernel without them
        return []
    number, owner = head.split().index(name), head.split().index("uid")
    return [int(row.split()[number]) for row in rows if int(row.split()[owner]) == uid]


def remove_ipc(uid: int) -> None:
    """Remove all that belongs to a user who is nobody else's."""
    for kind, numbers in left_by(uid).items():
        for number in numbers:
            _removers()[kind](number)
