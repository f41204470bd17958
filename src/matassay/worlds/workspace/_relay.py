"""What runs inside a container for us, where there is nothing but "run this command and give me its output".

Handed to ``python3 -I -S -c`` in full each time, so that nothing that the agent can write is a part of it. A request
is JSON on standard input, an answer is JSON, packed, on standard output. A program that the host talks to for long
(``serve``) is watched over by a process of its own, which keeps what it writes until the host has fetched it; the host
comes again and again (``talk``), waits there for news, and may ask twice for the same: everything is counted.

The standard library alone, as of Python 3.10. It has no more rights than what the agent runs, and nothing that it says
is believed.
"""

# Pathlib costs 5 ms of every call, and most of this is about descriptors.
# ruff: noqa: PTH101, PTH108, PTH112, PTH114, PTH115, PTH116, PTH123, PTH208

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import select
import signal
import socket
import stat
import sys
import zlib
from time import monotonic
from typing import Any

HOME = "/workspace"
_CHUNK = 1 << 16
#: Bytes of a stream that are kept until they are fetched; a program that writes more waits, as at a full pipe.
ROOM = 3 << 19
#: Bytes for a program that has not read them; a request with more waits.
_INLET = 4 << 20
#: Longest request, bytes.
_REQUEST = 16 << 20
#: A host that has not been heard of for so long is gone, s.
_FORGOTTEN = 3600.0
_STREAMS = ("stdout", "stderr", "control")
#: Where a container says how many processes there may be, by version of the cgroups.
_CGROUPS = ("/sys/fs/cgroup", "/sys/fs/cgroup/pids")
#: Processes for which there must be room, or nobody can give a command in the container; looked at so often, s.
_SPARE, _GLANCE = 12, 1.0
#: How long after everything was ended it is not looked at again, s: the count may lag behind.
_RESPITE = 10.0


def encode(data: bytes | bytearray) -> str:
    """Bytes as text."""
    return base64.b64encode(data).decode("ascii")


# --- programs -----------------------------------------------------------------------------------------------


def start(request: dict[str, Any], fds: list[int]) -> int:
    """Start a program with these descriptors as 0, 1, 2, ...; returns its number.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    argv = [os.fsencode(part) for part in request["argv"]]
    environ = {**os.environ, **request.get("env", {})}
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for each in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(each, signal.SIG_DFL)
            # First out of the way of each other, then to where they belong.
            high = [_above(fd, len(fds)) for fd in fds]
            tell = _above(tell, len(fds))
            for target, fd in enumerate(high):
                os.dup2(fd, target)
            os.set_inheritable(tell, False)
            os.chdir(request.get("cwd") or HOME)
            os.umask(0o022)
            os.execvpe(argv[0], argv, environ)  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(tell, (error.errno or 1).to_bytes(4, "big"))
        finally:
            os._exit(127)
    os.close(tell)
    failure = os.read(told, 4)  # closed by a successful exec
    os.close(told)
    if failure:
        os.waitpid(pid, 0)
        number = int.from_bytes(failure, "big")
        raise OSError(number, os.strerror(number))
    return pid


def _above(fd: int, count: int) -> int:
    while fd < count:
        fd = os.dup(fd)
    return fd


def alarm() -> int:
    """A descriptor that can be read when a child has ended."""
    awake, wake = os.pipe()
    os.set_blocking(awake, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    return awake


def ended(pid: int) -> int | None:
    """How a child ended, None while it runs."""
    try:
        done, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return -signal.SIGKILL
    if not done:
        return None
    return -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def send(pid: int, number: int) -> None:
    """Send a signal; a process that has just ended is no error."""
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def processes() -> dict[int, tuple[str, int, int]]:
    """State, parent and session of every process."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:
                    fields = stream.read().rpartition(b")")[2].split()
            except OSError:
                continue
            found[int(name)] = (fields[0].decode(), int(fields[1]), int(fields[3]))
    return found


def kill_tree(root: int) -> None:
    """Kill a process, what descends from it, and what is left of its session; again while some are born meanwhile."""
    killed: set[int] = set()
    for _ in range(10):
        known = processes()
        found = {root, *(pid for pid, (_, _, session) in known.items() if session == root)}
        size = 0
        while size != len(found):
            size = len(found)
            found |= {pid for pid, (_, parent, _) in known.items() if parent in found}
        new = found - killed - {1, os.getpid()}
        if not new:
            return
        for pid in new:
            send(pid, signal.SIGKILL)
        killed |= new


def room() -> float:
    """How many more processes there may be."""
    for folder in _CGROUPS:
        most, now = _text(f"{folder}/pids.max"), _text(f"{folder}/pids.current")
        if most.isdigit() and now.isdigit():
            return int(most) - int(now)
    return float("inf")


class Kept:
    """The beginning and the end of what a program writes."""

    def __init__(self, limit: int) -> None:
        self.head, self.tail, self.total = bytearray(), bytearray(), 0
        self.half, self.rest = limit - limit // 2, limit // 2

    def add(self, data: bytes) -> None:
        """Take what was read."""
        self.total += len(data)
        room = max(self.half - len(self.head), 0)
        self.head += data[:room]
        self.tail += data[room:]
        if len(self.tail) > 2 * self.rest + _CHUNK:
            del self.tail[: len(self.tail) - self.rest]

    def content(self) -> bytes:
        """What is kept."""
        return bytes(self.head) + (bytes(self.tail[-self.rest :]) if self.rest else b"")


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run a program to its end."""
    awake = alarm()
    pipes = [os.pipe() for _ in range(3)]
    theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
    inlet, outlets = pipes[0][1], {pipes[1][0]: Kept(request["limit"]), pipes[2][0]: Kept(request["limit"])}
    kept = list(outlets.values())
    for fd in (inlet, *outlets):
        os.set_blocking(fd, False)
    try:
        pid = start(request, theirs)
    except OSError as error:
        return {"failed": error.errno}
    for fd in theirs:
        os.close(fd)
    left = memoryview(base64.b64decode(request.get("input", "")))
    deadline = None if request["timeout"] is None else monotonic() + request["timeout"]
    code, late = None, False
    while code is None:
        wait = None if deadline is None or late else max(deadline - monotonic(), 0)
        readable, writable, _ = select.select([awake, *outlets], [inlet] if inlet >= 0 else [], [], wait)
        if writable:
            try:
                left = left[os.write(inlet, left[:_CHUNK]) :] if left else left
            except BlockingIOError:
                pass
            except OSError:
                left = left[len(left) :]
            if not left:
                os.close(inlet)
                inlet = -1
        for fd in readable:
            _take(fd, outlets)
        code = ended(pid)
        if code is None and not late and deadline is not None and monotonic() >= deadline:
            late = True
            kill_tree(pid)
    # A program left in the background may hold the pipes, and is not waited for; what is in them is taken.
    for fd in list(outlets):
        for _ in range(64):
            if not _take(fd, outlets):
                break
    out, err = (each.content() for each in kept)
    cut = any(each.total > each.half + each.rest for each in kept)
    return {"code": None if late else code, "late": late, "cut": cut, "out": encode(out), "err": encode(err)}


def _take(fd: int, outlets: dict[int, Kept]) -> bool:
    try:
        data = os.read(fd, _CHUNK)
    except OSError:
        return False
    if fd in outlets:
        if data:
            outlets[fd].add(data)
        else:
            del outlets[fd]
    return bool(data)


# --- a program that is talked to ----------------------------------------------------------------------------


class Outlet:
    """A stream of the program: what has been read of it and not yet fetched."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.first = 0
        """Number of the first byte that is kept."""
        self.kept = bytearray()
        self.over = False

    def acknowledge(self, count: int) -> None:
        """The host has so many bytes."""
        if self.first < count <= self.first + len(self.kept):
            del self.kept[: count - self.first]
            self.first = count

    def read(self) -> None:
        """Read once."""
        try:
            data = os.read(self.fd, _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        self.kept += data
        if not data:
            self.over = True
            os.close(self.fd)


class Server:
    """Watches over one program."""

    def __init__(self, listener: socket.socket, request: dict[str, Any]) -> None:
        pipes = [os.pipe() for _ in range(4)]
        null = os.open("/dev/null", os.O_RDWR)
        theirs = [null, pipes[0][1], pipes[1][1], pipes[2][0], pipes[3][1]]
        self.awake = alarm()
        self.listener = listener
        self.outlets = dict(zip(_STREAMS, (Outlet(pipes[i][0]) for i in (0, 1, 3)), strict=True))
        self.inlet, self.pending, self.closing = pipes[2][1], bytearray(), False
        for fd in (self.inlet, *(each.fd for each in self.outlets.values())):
            os.set_blocking(fd, False)
        self.done, self.over = 0, False
        self.code: int | None = None
        self.asking: dict[int, tuple[socket.socket, bytearray]] = {}
        self.waiting: list[tuple[socket.socket, dict[str, Any], float]] = []
        self.pid = start(request, theirs)
        for fd in theirs:
            os.close(fd)

    def serve(self) -> None:
        """Until the host says good-bye or is gone."""
        heard = glance = monotonic()
        while not self.over:
            poll = select.poll()
            poll.register(self.awake, select.POLLIN)
            poll.register(self.listener, select.POLLIN)
            for fd in self.asking:
                poll.register(fd, select.POLLIN)
            reading = {o.fd: o for o in self.outlets.values() if not o.over and len(o.kept) < ROOM}
            for fd in reading:
                poll.register(fd, select.POLLIN)
            if self.inlet >= 0 and (self.pending or self.closing):
                poll.register(self.inlet, select.POLLOUT)
            limits = [deadline for _, _, deadline in self.waiting] + [monotonic() + _GLANCE]
            for fd, _ in poll.poll(max(min(limits) - monotonic(), 0) * 1000 + 1):
                if fd == self.awake:
                    with contextlib.suppress(OSError):
                        os.read(self.awake, 4096)
                elif fd == self.listener.fileno():
                    self.accept()
                elif fd in reading:
                    reading[fd].read()
                elif fd == self.inlet:
                    self.feed()
                elif fd in self.asking:
                    heard = monotonic()
                    self.hear(fd)
            if self.code is None:
                self.code = ended(self.pid)
            self.answer()
            if monotonic() >= glance:
                glance = monotonic() + _GLANCE
                if room() < _SPARE:
                    end({"seconds": 5.0})
                    glance += _RESPITE
            if monotonic() - heard > _FORGOTTEN:
                kill_tree(self.pid)
                self.over = True

    def accept(self) -> None:
        """Somebody comes."""
        with contextlib.suppress(OSError):
            connection, _ = self.listener.accept()
            connection.setblocking(False)
            self.asking[connection.fileno()] = (connection, bytearray())

    def hear(self, fd: int) -> None:
        """Read of a request; when it is complete, act on it."""
        connection, said = self.asking[fd]
        try:
            data = connection.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        said += data
        if data and len(said) <= _REQUEST:
            return
        del self.asking[fd]
        try:
            request = json.loads(said)
            wait = min(float(request["wait"]), 60.0)
            for name, count in request.get("got", {}).items():
                self.outlets[name].acknowledge(int(count))
            self.waiting.append((connection, request, monotonic() + wait))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            connection.close()

    def obey(self, request: dict[str, Any]) -> bool:
        """Carry out what is new of a request; False if there is no room for all of it yet."""
        for number, (kind, value) in enumerate(request.get("do", ()), int(request.get("from", 1))):
            if number <= self.done:
                continue
            if kind == "write":
                if len(self.pending) > _INLET:
                    return False
                self.pending += base64.b64decode(value) if self.inlet >= 0 else b""
            elif kind == "end":
                self.closing = True
            elif kind == "kill":
                kill_tree(self.pid)
            elif kind == "signal" and self.code is None:
                send(self.pid, int(value))
            elif kind == "bye":
                self.over = True
            self.done = number
        return True

    def feed(self) -> None:
        """Pass on what the host has written."""
        try:
            while self.pending:
                del self.pending[: os.write(self.inlet, self.pending[:_CHUNK])]
        except BlockingIOError:
            return
        except OSError:
            self.pending.clear()
            self.closing = True
        if self.closing:
            os.close(self.inlet)
            self.inlet = -1

    def answer(self) -> None:
        """Answer those for whom there is something new, and those who have waited long enough."""
        still = []
        for connection, request, deadline in self.waiting:
            try:
                obeyed = self.obey(request)
                news = obeyed and ("do" in request or self.news(request))
            except (ValueError, TypeError, KeyError):
                connection.close()
                continue
            if not news and not self.over and monotonic() < deadline:
                still.append((connection, request, deadline))
                continue
            answer: dict[str, Any] = {"done": self.done, "code": self.code}
            if "got" in request:
                answer["out"] = {n: [o.first, encode(o.kept)] for n, o in self.outlets.items() if n in request["got"]}
                answer["over"] = [n for n, o in self.outlets.items() if o.over]
            with contextlib.suppress(OSError):
                connection.setblocking(True)
                connection.settimeout(20)
                connection.sendall(json.dumps(answer).encode())
            connection.close()
        self.waiting = still

    def news(self, request: dict[str, Any]) -> bool:
        """Whether the host does not know all yet."""
        got = request.get("got", {})
        if self.code is not None and not request.get("ended"):
            return True
        return any(o.kept or (o.over and n not in request.get("over", ())) for n, o in self.outlets.items() if n in got)


def address(name: str) -> str:
    """Of a server: no file, which could be removed."""
    return "\0matassay-" + name


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Start a program and the process that watches over it."""
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            os.close(told)
            if os.fork() == 0:
                _watch(request, tell)
        finally:
            os._exit(0)
    os.close(tell)
    os.waitpid(child, 0)
    with open(told, "rb") as stream:
        said = stream.read()
    answer: dict[str, Any] = json.loads(said) if said else {"failed": errno.EAGAIN}
    return answer


def _watch(request: dict[str, Any], tell: int) -> None:
    # Whoever started us reads what we have from it to the end: nothing of that is kept.
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    tell = os.dup2(tell, 3, inheritable=False)
    os.closerange(4, 256)
    try:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(address(request["name"]))
        listener.listen(16)
        server = Server(listener, request)
    except OSError as error:
        os.write(tell, json.dumps({"failed": error.errno}).encode())
        return
    os.write(tell, json.dumps({"pid": server.pid}).encode())
    os.close(tell)
    server.serve()


def talk(request: dict[str, Any]) -> dict[str, Any]:
    """Bring a request to a server and its answer back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(address(request["name"]))
            connection.sendall(json.dumps(request).encode())
            connection.shutdown(socket.SHUT_WR)
            said = bytearray()
            while data := connection.recv(_CHUNK):
                said += data
        except OSError:
            return {"gone": True}
    answer: dict[str, Any] = json.loads(said) if said else {"gone": True}
    return answer


# --- files --------------------------------------------------------------------------------------------------

_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def _folder(parts: list[str], *, make: bool) -> int:
    here = os.open(HOME, os.O_RDONLY | os.O_DIRECTORY | _SAFE)
    for part in parts:
        if make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=here)
        try:
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=here)
        finally:
            os.close(here)
        here = below
    return here


def write(request: dict[str, Any]) -> dict[str, Any]:
    """Write files below the home, never through a link; then take the right to write from whole folders."""
    try:
        for path, content in request["files"].items():
            *above, name = path.split("/")
            here = _folder(above, make=True)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=here)
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o644, dir_fd=here)
            with open(fd, "wb") as stream:
                stream.write(base64.b64decode(content))
            os.close(here)
        for folder in request.get("fixed", ()):
            for place, _, names in os.walk(f"{HOME}/{folder}"):
                for name in names:
                    os.chmod(f"{place}/{name}", 0o444)
                os.chmod(place, 0o555)  # noqa: S103 - read-only, for all
    except OSError as error:
        return {"failed": error.errno}
    return {}


def read(request: dict[str, Any]) -> dict[str, Any]:
    """A part of a regular file below the home, never through a link."""
    *above, name = request["path"].split("/")
    try:
        here = _folder(above, make=False)
        with open(os.open(name, os.O_RDONLY | _SAFE, dir_fd=here), "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return {"refused": "is no regular file"}
            if status.st_nlink > 1:
                return {"refused": "has a second name (hard link)"}
            stream.seek(request["offset"])
            return {"size": status.st_size, "data": encode(stream.read(request["length"]))}
    except OSError as error:
        return {"failed": error.errno}


def look_through(request: dict[str, Any]) -> dict[str, Any]:
    """What lies below the home: mode, number of names and size of everything, folders within folders up to a depth."""
    from fnmatch import fnmatchcase

    found: list[list[Any]] = []
    device = os.stat(HOME).st_dev

    def sought(path: str) -> bool:
        return any(fnmatchcase(path, pattern) or pattern.startswith(path + "/") for pattern in request["first"])

    def walk(here: int, prefix: str, depth: int) -> None:
        names = os.listdir(here)
        for name in sorted(names, key=lambda name: (not sought(prefix + name), name)):
            if prefix == "" and name in request["skip"]:
                continue
            if len(found) >= request["count"]:
                found.append([prefix + name, 0, 0, -1])
                return
            status = os.stat(name, dir_fd=here, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                found.append([prefix + name, status.st_mode, status.st_nlink, status.st_size])
            elif depth == request["depth"] or status.st_dev != device:
                found.append([prefix + name, status.st_mode, 1, -1])
            else:
                found.append([prefix + name, status.st_mode, 1, 0])
                with contextlib.suppress(OSError):
                    below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=here)
                    try:
                        walk(below, f"{prefix}{name}/", depth + 1)
                    finally:
                        os.close(below)

    walk(_folder([], make=False), "", 0)
    return {"found": found}


def wipe(request: dict[str, Any]) -> dict[str, Any]:
    """Remove all that the agent could have left, in every place that can be written."""
    import shutil

    places = (HOME, "/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - of the container
    for place in places:
        for root, folders, _ in os.walk(place):
            for path in (f"{root}/{name}" for name in folders):
                if not os.path.islink(path):
                    with contextlib.suppress(OSError):
                        os.chmod(path, 0o700)
        for path in (f"{place}/{name}" for name in _listing(place)):
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    os.unlink(path)
    return {"left": sum(len(files) for place in places for _, _, files in os.walk(place))}


# --- the whole ----------------------------------------------------------------------------------------------


def others() -> list[int]:
    """Living processes but the first, ourselves and those that wait for us."""
    known = processes()
    spared, pid = {1, os.getpid()}, os.getpid()
    while pid in known and pid not in (0, 1):
        pid = known[pid][1]
        spared.add(pid)
    return [pid for pid, (state, _, _) in known.items() if pid not in spared and state not in "ZX"]


def end(request: dict[str, Any]) -> dict[str, Any]:
    """Kill all that runs; stopped first, so that nothing is born while the others die."""
    if request.get("hard"):
        os.kill(-1, signal.SIGKILL)  # those that wait for us as well: there will be no answer
    deadline = monotonic() + request["seconds"]
    while True:
        before, left = born(), others()
        if not left and born() == before:
            return {"left": 0}
        if monotonic() >= deadline:
            return {"left": max(1, len(left))}
        for pid in left:
            send(pid, signal.SIGSTOP)
        for pid in left:
            send(pid, signal.SIGKILL)
        select.select([], [], [], 0.01)


def born() -> str:
    """Number of the youngest process of our namespace, see proc_loadavg(5).

    Who forks and ends faster than a look at all processes takes is seen by none; but then this has changed.
    """
    return _text("/proc/loadavg").rpartition(" ")[2]


def look(request: dict[str, Any]) -> dict[str, Any]:
    """What kind of place this is."""
    import shutil

    return {
        "python": ".".join(map(str, sys.version_info[:3])),
        "kernel": os.uname().release,
        "uid": os.getuid(),
        "pid namespace": _link("/proc/self/ns/pid"),
        "boot": _text("/proc/sys/kernel/random/boot_id"),
        "network": sorted(name for name in _listing("/sys/class/net") if name != "lo"),
        "capabilities": next(
            (line.split()[1] for line in _text("/proc/self/status").splitlines() if line.startswith("CapEff")), ""
        ),
        "writable": os.access(HOME, os.W_OK),
        "programs": [name for name in request["programs"] if shutil.which(name)],
    }


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read(100_000).strip()
    except OSError:
        return ""


def _listing(path: str) -> list[str]:
    try:
        return os.listdir(path)
    except OSError:
        return []


OPERATIONS = {f.__name__: f for f in (run, serve, talk, write, read, look_through, wipe, end, look)}


def main(operation: str) -> None:
    """Carry out one request."""
    answer = OPERATIONS[operation](json.load(sys.stdin))
    sys.stdout.write(encode(zlib.compress(json.dumps(answer).encode(), 1)) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
