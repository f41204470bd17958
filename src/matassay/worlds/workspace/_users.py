"""Users for sandboxes, where we are root: each has one that owns nothing else while it lives."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import secrets
import struct
from pathlib import Path

from matassay.core import EnvironmentFailure

#: Users that belong to nobody: systemd keeps them free for such purposes.
USERS = range(61184, 65520)

#: What hosts beside us have taken is locked in it, a byte per user; the kernel lets go when a host dies.
_REGISTER = Path("/run/matassay-users")

#: ``F_OFD_SETLK`` and ``struct flock`` of 64-bit machines.
_SET_LOCK, _LOCK = 37, struct.Struct("hhxxxxqqixxxx")

_taken: set[int] = set()


def owners() -> set[int]:
    """Users that have processes."""
    found = set()
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                found.add(entry.stat().st_uid)
    return found


def free_user() -> int:
    """A user that owns no process: what one sandbox does never counts against another, and ends with it.

    Raises
    ------
    EnvironmentFailure
        If there is none.
    """
    busy = owners() | _taken
    start = secrets.randbelow(len(USERS))
    for index in range(len(USERS)):
        uid = USERS[(start + index) % len(USERS)]
        if uid not in busy and _lock(uid, fcntl.F_WRLCK):
            _taken.add(uid)
            return uid
    raise EnvironmentFailure(f"all users from {USERS[0]} to {USERS[-1]} have processes")


def release_user(uid: int) -> None:
    """Give a user back; nothing happens if it was."""
    if uid in _taken:
        _taken.discard(uid)
        _lock(uid, fcntl.F_UNLCK)


def _lock(uid: int, kind: int) -> bool:
    """Between its choice and its first process, only this tells another host that a user is taken."""
    if (register := _register()) is not None:
        try:
            fcntl.fcntl(register, _SET_LOCK, _LOCK.pack(kind, os.SEEK_SET, uid, 1, 0))
        except BlockingIOError:
            return False
    return True


@functools.cache
def _register() -> int | None:
    """A machine without such a place has to do without."""
    try:
        return os.open(_REGISTER, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
