"""Reading what a hostile program left in a folder, and writing there while it lives.

Never by path: every name is opened beneath a descriptor of the folder, without following a link of any kind, without
leaving the file system, without waiting (a FIFO), and only a regular file with one name is read, up to a limit. The
kernel's ``openat2`` does this in one step; where it is missing (Linux < 5.6, or a container that forbids it), the path
is walked folder by folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from ._types import INPUTS, MANUALS, MIB, Outputs

_OPENAT2 = 437  # the same on all machines
_BENEATH, _NO_SYMLINKS, _NO_MAGICLINKS, _NO_XDEV = 0x08, 0x04, 0x02, 0x01
_RESOLVE = _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS | _NO_XDEV
_SAFE = os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | os.O_NOFOLLOW


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


@dataclass(frozen=True)
class Caps:
    """How much of what was left is read."""

    file: int = 64 * MIB
    """Largest file, bytes."""
    total: int = 256 * MIB
    """All files together, bytes."""
    count: int = 2000
    """Names looked at, folders included."""
    depth: int = 16
    """Folders within folders."""
    listed: int = 20_000
    """Names of one folder out of which those are taken."""
    first: tuple[str, ...] = ()
    """Names, or patterns of them, that are looked for before all others."""


@functools.cache
def has_openat2() -> bool:
    """Whether the kernel resolves paths safely by itself."""
    try:
        os.close(_openat2(os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), "proc", os.O_PATH, 0, close=True))
    except OSError as error:
        return error.errno not in (errno.ENOSYS, errno.EPERM, errno.EINVAL)
    return True


def _openat2(folder: int, path: str | bytes, flags: int, mode: int, *, close: bool = False) -> int:
    how = _How(flags, mode, _RESOLVE & ~_NO_XDEV if close else _RESOLVE)
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        fd: int = libc.syscall(_OPENAT2, folder, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    finally:
        if close:
            os.close(folder)
    if fd < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), os.fsdecode(path))
    return fd


def _walk(folder: int, path: str | bytes, flags: int, mode: int) -> int:
    """The same by hand: one folder at a time, each checked to be on the same file system."""
    parts = os.fsencode(path).split(b"/")
    device, here = os.fstat(folder).st_dev, os.dup(folder)
    try:
        for part in parts[:-1]:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=here)
            os.close(here)
            here = below
            if os.fstat(here).st_dev != device:
                raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), os.fsdecode(path))
        fd = os.open(parts[-1], flags, mode, dir_fd=here)
        if os.fstat(fd).st_dev != device:
            os.close(fd)
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), os.fsdecode(path))
        return fd
    finally:
        os.close(here)


def open_beneath(folder: int, path: str | bytes, flags: int = os.O_RDONLY, mode: int = 0) -> int:
    """Open a name beneath a folder without following any link; the caller closes the descriptor.

    Parameters
    ----------
    folder : int
        Descriptor of the folder.
    path : str or bytes
        Relative, without ``..``.
    flags, mode : int
        As for `os.open`.

    Raises
    ------
    ValueError
        If the path is empty, absolute or goes up.
    OSError
        If it is not there or leads elsewhere.
    """
    parts = os.fsencode(path).split(b"/")
    if b"" in parts or b".." in parts or b"." in parts or b"\0" in os.fsencode(path):
        raise ValueError(f"{os.fsdecode(path)!r} is not a plain relative path")
    return (_openat2 if has_openat2() else _walk)(folder, path, flags | _SAFE, mode)


def relative(path: str, home: str) -> str:
    """A path of the sandbox, absolute or relative to its home, as relative to its home.

    >>> relative("/workspace/a/b", "/workspace"), relative("./a", "/workspace")
    ('a/b', 'a')

    Raises
    ------
    ValueError
        If it does not lie below the home.
    """
    pure = PurePosixPath(home) / path
    if ".." in pure.parts or not pure.is_relative_to(home) or pure == PurePosixPath(home):
        raise ValueError(f"{path!r} does not lie below {home}")
    return str(pure.relative_to(home))


def bounded(fd: int, limit: int) -> bytes:
    """Content of an open regular file, which may change under our hands.

    Raises
    ------
    ValueError
        If it is no regular file, has a second name, or is larger than ``limit`` bytes.
    """
    status = os.fstat(fd)
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(kind(status.st_mode))
    if status.st_nlink > 1:
        raise ValueError("has a second name (hard link)")
    chunks, left = [], limit + 1
    while left > 0 and (chunk := os.read(fd, min(left, MIB))):
        chunks.append(chunk)
        left -= len(chunk)
    if left <= 0:
        raise ValueError(f"is larger than {limit} bytes")
    return b"".join(chunks)


def kind(mode: int) -> str:
    """What something is that is no regular file."""
    for test, name in (
        (stat.S_ISLNK, "a symbolic link"),
        (stat.S_ISFIFO, "a FIFO"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
        (stat.S_ISDIR, "a folder"),
    ):
        if test(mode):
            return f"is {name}"
    return "is no regular file"


def read_beneath(folder: int, path: str, limit: int) -> bytes:
    """Content of a regular file beneath a folder; errors as of `open_beneath` and `bounded`."""
    fd = open_beneath(folder, path)
    try:
        return bounded(fd, limit)
    except ValueError as error:
        raise ValueError(f"{path!r} {error}") from None
    finally:
        os.close(fd)


@contextlib.contextmanager
def acting_as(user: int | None) -> Iterator[None]:
    """Touch files as another user, in this thread only; as root alone.

    Root itself does not exist in the sandbox's file systems and cannot make a file there; besides, what we do for a
    sandbox should be possible for nobody but its user.
    """
    if user is None:
        yield
        return
    libc = ctypes.CDLL(None)
    libc.setfsgid(user)
    libc.setfsuid(user)
    try:
        yield
    finally:
        libc.setfsuid(os.geteuid())
        libc.setfsgid(os.getegid())


def write_beneath(folder: int, path: str, data: bytes, owner: int | None = None) -> None:
    """Write a file beneath a folder, and the folders that it needs.

    A file that is there is replaced, never written into: it may have a second name.

    Parameters
    ----------
    folder : int
        Descriptor of the folder.
    path : str
        Relative, without ``..``.
    data : bytes
        Its content.
    owner : int, optional
        User as whom to do it; None: ourselves.
    """
    *above, name = path.split("/")
    here = os.dup(folder)
    try:
        with acting_as(owner):
            for part in above:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=here)
                below = open_beneath(here, part, os.O_RDONLY | os.O_DIRECTORY)
                os.close(here)
                here = below
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=here)
            fd = open_beneath(here, name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
            finally:
                os.close(fd)
    finally:
        os.close(here)


def plain_name(name: bytes) -> str | None:
    """A file name as text, or None if it holds control characters or is no UTF-8."""
    try:
        text = name.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def harvest(folder: int, caps: Caps, skip: tuple[str, ...] = (INPUTS, MANUALS)) -> Outputs:
    """Everything that a sandbox left, when nothing in it lives any more.

    Parameters
    ----------
    folder : int
        Descriptor of ``/workspace``.
    caps : Caps
        How much to read; what exceeds it is named in ``refused``.
    skip : tuple of str
        Names at the top that are not the agent's.
    """
    files: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    seen, total = 0, 0
    _make_enterable(folder)
    for wanted in caps.first:  # what is asked for must not get lost in a heap of by-products
        with contextlib.suppress(OSError, ValueError):
            files[wanted] = read_beneath(folder, wanted, min(caps.file, caps.total - total))
            total += len(files[wanted])
    pending = [b""]  # by name, not by descriptor: there may be more folders than we may have descriptors
    while pending:
        path = pending.pop()
        prefix = os.fsdecode(path + b"/") if path else ""
        here = _open_folder(folder, path, refused) if path else os.dup(folder)
        if here is None:
            continue
        _make_enterable(here)
        try:
            for name, status in _entries(here, caps, refused, prefix):
                text = plain_name(name)
                shown = prefix + (text if text is not None else ascii(name)[2:-1])
                if shown in files or (not prefix and text in skip):
                    continue
                seen += 1
                if seen > caps.count:
                    refused[prefix or "."] = f"more than {caps.count} names in all: the rest was not looked at"
                    return Outputs(files, refused)
                if text is None:
                    refused[shown] = "its name is no plain text"
                elif stat.S_ISDIR(status.st_mode):
                    if prefix.count("/") + 1 >= caps.depth:
                        refused[shown] = f"lies more than {caps.depth} folders deep"
                    else:
                        pending.append(os.fsencode(shown))
                else:
                    try:
                        if not stat.S_ISREG(status.st_mode):
                            raise ValueError(kind(status.st_mode))
                        if status.st_size > min(caps.file, caps.total - total):
                            raise ValueError(f"is too large ({status.st_size} bytes)")
                        data = _read_entry(here, name, min(caps.file, caps.total - total))
                        files[shown] = data
                        total += len(data)
                    except (OSError, ValueError) as error:
                        refused[shown] = getattr(error, "strerror", None) or str(error)
        finally:
            os.close(here)
    return Outputs(files, refused)


def _make_enterable(folder: int) -> None:
    """An ordinary user may not look into its own folder of mode 400 or less; it is dead and ours, so we change that."""
    try:
        os.stat(".", dir_fd=folder)
    except PermissionError:
        with contextlib.suppress(OSError):
            os.chmod(folder, 0o700)


def _entries(folder: int, caps: Caps, refused: dict[str, str], prefix: str) -> Iterator[tuple[bytes, os.stat_result]]:
    found = []
    try:
        with os.scandir(folder) as entries:  # one by one: there may be millions
            for entry in itertools.islice(entries, caps.listed):
                name = os.fsencode(entry.name)
                try:
                    found.append((name, entry.stat(follow_symlinks=False)))
                except OSError as error:
                    refused[prefix + ascii(name)[2:-1]] = str(error.strerror)
            if next(entries, None) is not None:
                refused[prefix or "."] = f"more than {caps.listed} names in a folder: the rest was not looked at"
    except OSError as error:
        refused[prefix or "."] = str(error.strerror)

    def order(entry: tuple[bytes, os.stat_result]) -> tuple[bool, int, bytes]:
        # Small ones first: a large by-product must not use up what an answer needs.
        shown = prefix + os.fsdecode(entry[0])
        return not any(fnmatchcase(shown, pattern) for pattern in caps.first), entry[1].st_size, entry[0]

    yield from sorted(found, key=order)


def _open_folder(top: int, path: bytes, refused: dict[str, str]) -> int | None:
    try:
        try:
            return open_beneath(top, path, os.O_RDONLY | os.O_DIRECTORY)
        except PermissionError:
            os.chmod(path, 0o700, dir_fd=top)
            return open_beneath(top, path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        refused[os.fsdecode(path)] = str(error.strerror)
        return None


def _read_entry(folder: int, name: bytes, limit: int) -> bytes:
    try:
        fd = open_beneath(folder, name)
    except PermissionError:
        os.chmod(name, 0o600, dir_fd=folder)
        fd = open_beneath(folder, name)
    try:
        return bounded(fd, limit)
    finally:
        os.close(fd)
