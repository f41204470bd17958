"""Between the host and bubblewrap: gives up what the sandbox must not inherit, then becomes bubblewrap.

Run as a script with one argument, the number of a file descriptor with the orders: ``key=value`` items, each ended by
a zero byte, carried out in the order below. It imports as little as possible, since it is a part of every start.

* ``parent=N``: end if our parent is no longer N, and be killed when it dies;
* ``cgroup=FILE``: join the control group with this ``cgroup.procs``;
* ``stage=FOLDER``, ``bind=SOURCE``: as root, in a mount namespace of our own, put a small file system over FOLDER and
  mount there, as 0, 1, 2, ..., what the user without rights could not reach (an interpreter in root's home);
* ``uid=N``: become this user, without groups;
* ``exec=PROGRAM``, ``arg=ARGUMENT``: what to become.
"""

from __future__ import annotations

import ctypes
import os
import sys

_KEYCTL_JOIN_SESSION_KEYRING = 1
_KEYCTL_NUMBER = {"x86_64": 250, "aarch64": 219}
_PR_SET_PDEATHSIG, _SIGKILL = 1, 9
_CLONE_NEWNS = 0x00020000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_MS_NOSUID, _MS_NODEV = 0x2, 0x4


def _checked(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        sys.exit(f"matassay: {what}: {os.strerror(number)}")


def main(fd: int) -> None:
    """Carry out the orders; returns only by ending."""
    with open(fd, "rb") as stream:
        orders = [item.partition(b"=")[::2] for item in stream.read().split(b"\0") if item]
    found: dict[bytes, list[bytes]] = {}
    for key, value in orders:
        found.setdefault(key, []).append(value)
    libc = ctypes.CDLL(None, use_errno=True)

    # An anonymous session keyring: the one that we were started with may hold a user's keys. Where the call is
    # forbidden (in some containers) there is no keyring to inherit either.
    libc.syscall(_KEYCTL_NUMBER.get(os.uname().machine, -1), _KEYCTL_JOIN_SESSION_KEYRING, None)
    for group in found.get(b"cgroup", []):
        with open(group, "wb", buffering=0) as procs:  # noqa: PTH123 - pathlib costs 5 ms of every start
            procs.write(b"0")

    # By descriptor, since a user without rights may not reach the file.
    program = os.open(found[b"exec"][0], os.O_PATH | os.O_CLOEXEC)
    if sources := found.get(b"bind", []):
        _stage(libc, found[b"stage"][0], sources)
    if b"uid" in found:
        uid = int(found[b"uid"][0])
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    os.umask(0o077)

    # After the change of user, which clears it.
    _checked(libc.prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0), "prctl")
    if os.getppid() != int(found[b"parent"][0]):
        sys.exit("matassay: our parent has died")
    os.chdir("/")
    argv = [found[b"exec"][0], *found[b"arg"]]
    try:
        os.execve(argv[0], argv, {})  # noqa: S606 - no shell is wanted
    except OSError:
        os.execve(program, argv, {})  # noqa: S606 - no shell is wanted


def _stage(libc: ctypes.CDLL, folder: bytes, sources: list[bytes]) -> None:
    _checked(libc.unshare(_CLONE_NEWNS), "unshare")
    _checked(libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None), "make mounts private")
    # Before the stage covers them, and after we have left the mounts of the host: only our own can be mounted again.
    handles = [os.open(source, os.O_PATH | os.O_CLOEXEC) for source in sources]
    _checked(libc.mount(b"stage", folder, b"tmpfs", _MS_NOSUID | _MS_NODEV, b"mode=0755,size=64k"), "mount stage")
    for index, (handle, source) in enumerate(zip(handles, sources, strict=True)):
        target = os.path.join(folder, str(index).encode())  # noqa: PTH118 - as above
        if os.fstat(handle).st_mode & 0o170000 == 0o040000:
            os.mkdir(target, 0o755)  # noqa: PTH102 - as above
        else:
            os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
        place = f"/proc/self/fd/{handle}".encode()
        _checked(libc.mount(place, target, None, _MS_BIND | _MS_REC, None), f"mount {source.decode(errors='replace')}")


if __name__ == "__main__":
    try:
        main(int(sys.argv[1]))
    except OSError as error:
        sys.exit(f"matassay: {error}")
