"""Between the host and a sandbox without namespaces: gives up what must not be inherited, then starts the first process.

Run as a script; the descriptor given as its argument holds orders as JSON, standard input is the socket for the first
process. With ``sandlock`` it stays and watches over what it started; without (`none`), nothing is confined.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from typing import Any

_PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_CHILD_SUBREAPER, _SIGKILL = 4, 24, 36, 9


def main(fd: int) -> int:
    """Carry out the orders."""
    with open(fd, "rb") as stream:
        orders: dict[str, Any] = json.load(stream)
    if orders["sandlock"]:
        # While we can still read it: it may be installed where the user of the sandbox cannot.
        import sandlock
        import sandlock._sdk
        import sandlock.sandbox
    libc = ctypes.CDLL(None)
    if (uid := orders["uid"]) is not None:
        capability = 0
        while libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0:  # all that the kernel knows
            capability += 1
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.umask(0o077)
    # No signal for when our parent dies: the first process sees its socket close, kills what it started, and ends.
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # The change of user took it away, and the watcher has to read what it watches.
    libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    if os.getppid() != orders["parent"]:
        return 1
    os.chdir(orders["cwd"])
    if not orders["sandlock"]:
        os.execve(orders["argv"][0], orders["argv"], orders["environment"])  # noqa: S606 - no shell is wanted
    try:
        return int(sandlock.Sandbox(**orders["policy"]).run_interactive(orders["argv"]))
    finally:
        _kill_children()


def _kill_children() -> None:
    """Should the first process have been killed from inside: its orphans are our children now."""
    for _ in range(1000):
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as stream:  # noqa: PTH123 - as everywhere in this script
            children = stream.read().split()
        if not children:
            return
        for child in children:
            os.kill(int(child), _SIGKILL)
            os.waitpid(int(child), 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
