"""The first process of a sandbox: starts programs that the host asks for, reaps the dead, ends with the host.

Run as a script with the number of a socket as its first argument, limits as further ones. It is process 1 of its
namespace, so that nothing inside can kill or stop it, and it cannot be traced, so that nothing inside can use the
descriptors it holds. It has no more rights than what it starts: it is under the same filter, user and limits.

A request is one packet, ``operation, id, value`` as three 32-bit numbers. A request to start brings descriptors: the
first holds what to start, the others become descriptors 0, 1, 2, ... of the program. An answer is a packet of the
same form. It imports as little as possible, since it is a part of every start: the public `signal` and `socket`
alone would take 10 ms.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]
import _socket as socket
import os
import resource
import select
import sys

TYPE_CHECKING = False  # as `typing` has it, which costs 5 ms of every start
if TYPE_CHECKING:
    import ctypes

# Operations of requests.
START, SIGNAL, KILL_TREE = 1, 2, 3
# Kinds of answers.
READY, STARTED, FAILED, EXITED = 1, 2, 3, 4

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_CHILD_SUBREAPER = 4, 22, 36
_SECCOMP_MODE_FILTER = 2
_MOST_DESCRIPTORS = 16

#: Where a filter of system calls lies that is still to be applied; bubblewrap has applied its own before.
CALLS = "/run/box/calls"
_KILL = 9
_CHILD = (signal.SIGCHLD,)


def _pack(*numbers: int) -> bytes:
    return b"".join((n & 0xFFFFFFFF).to_bytes(4, "big") for n in numbers)


def _unpack(packet: bytes) -> list[int]:
    return [int.from_bytes(packet[i : i + 4], "big") for i in range(0, 12, 4)]


class Server:
    """What the host talks to."""

    def __init__(self, host: socket.socket, cpu_seconds: int) -> None:
        self.host = host
        self.cpu_seconds = cpu_seconds
        self.poll = select.poll()
        self.running: dict[int, int] = {}
        """Number of the process to the id of the request."""
        self.starting: dict[int, int] = {}
        """Where a process that is not yet its program tells that it cannot be, to its number."""

    def serve(self) -> None:
        """Until the host closes its end."""
        awake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        # The kernel keeps signals from process 1 only where it has no handler, and Python has one for this.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.poll.register(self.host.fileno(), select.POLLIN)
        self.poll.register(awake, select.POLLIN)
        self.answer(READY, 0, os.getpid())
        while True:
            for fd, _ in self.wait():
                if fd == awake:
                    os.read(awake, 4096)
                    self.reap()
                elif fd == self.host.fileno():
                    if not self.request():
                        return
                elif fd in self.starting:  # it may have been settled on the way
                    self.settle(fd)

    def wait(self) -> list[tuple[int, int]]:
        """What there is to do; the only moment at which the end of a program may interrupt us.

        Where a supervisor answers system calls (sandlock), a signal breaks off many that are never broken off
        otherwise, `listdir` and `fork` among them. One that comes between the two calls is told by the descriptor.
        """
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD)
        try:
            return self.poll.poll()
        finally:
            signal.pthread_sigmask(signal.SIG_BLOCK, _CHILD)

    def answer(self, kind: int, number: int, value: int) -> None:
        """Tell the host."""
        self.host.send(_pack(kind, number, value))

    def request(self) -> bool:
        """Serve one request; False if the host has gone."""
        packet, ancillary, _, _ = self.host.recvmsg(
            64, socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS), socket.MSG_CMSG_CLOEXEC
        )
        if not packet:
            return False
        operation, number, value = _unpack(packet)
        fds = [fd for _, _, data in ancillary for fd in memoryview(data).cast("i")]
        if operation == START:
            self.start(number, fds)
        else:
            for pid in [pid for pid, own in self.running.items() if own == number]:
                if operation == KILL_TREE:
                    kill_tree(pid)
                else:
                    send(pid, value)
        return True

    def start(self, number: int, fds: list[int]) -> None:
        """Start a program; `settle` says whether it could be.

        Nothing is waited for: a program of the same user can stop the new process before it has become its own.
        """
        with open(fds[0], "rb") as stream:  # noqa: PTH123 - as below
            parts = stream.read().split(b"\0")
        count = int(parts[0])
        cwd, argv, environ = parts[1], parts[2 : 2 + count], parts[2 + count : -1]
        told, tell = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
        except OSError as error:
            os.close(told)
            self.answer(FAILED, number, error.errno or 0)
        else:
            if pid == 0:
                self.become(fds[1:], tell, cwd, argv, environ)
            self.running[pid], self.starting[told] = number, pid
            self.poll.register(told, select.POLLIN)
        for fd in (*fds[1:], tell):
            os.close(fd)

    def settle(self, told: int) -> None:
        """Say whether a process became its program: then its end of the pipe was closed without a word."""
        failure, pid = os.read(told, 4), self.starting.pop(told)
        self.poll.unregister(told)
        os.close(told)
        if failure:
            self.answer(FAILED, self.running.pop(pid), int.from_bytes(failure, "big"))
        else:
            self.answer(STARTED, self.running[pid], pid)

    def become(self, fds: list[int], tell: int, cwd: bytes, argv: list[bytes], environ: list[bytes]) -> None:
        """In the child: become the program."""
        try:
            signal.set_wakeup_fd(-1)
            for each in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
                signal.signal(each, signal.SIG_DFL)
            os.setsid()
            if self.cpu_seconds:
                resource.setrlimit(resource.RLIMIT_CPU, (self.cpu_seconds, self.cpu_seconds))
            # First out of the way of each other, then to where they belong.
            high = [os.dup(fd) if fd >= len(fds) else _above(fd, len(fds)) for fd in fds]
            tell = _above(tell, len(fds))
            for target, fd in enumerate(high):
                os.dup2(fd, target)
            os.chdir(cwd)
            os.umask(0o022)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _CHILD)
            os.execvpe(argv[0], argv, dict(pair.split(b"=", 1) for pair in environ))  # noqa: S606 - no shell is wanted
        except OSError as error:
            os.write(tell, (error.errno or 1).to_bytes(4, "big"))
        finally:
            os._exit(127)

    def reap(self) -> None:
        """Bury the dead, those that lost their parents too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for told in [told for told, own in self.starting.items() if own == pid]:
                self.settle(told)
            if (number := self.running.pop(pid, None)) is not None:
                self.answer(EXITED, number, os.waitstatus_to_exitcode(status))


def _above(fd: int, count: int) -> int:
    while fd < count:
        fd = os.dup(fd)
    return fd


def send(pid: int, number: int) -> None:
    """Send a signal; a process that has just ended is no error."""
    try:
        os.kill(pid, number)
    except OSError:
        return


def relatives(root: int) -> set[int]:
    """A process, what descends from it, and what is left of its session."""
    parents, found = {}, {root}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib costs 5 ms of every start
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stream:  # noqa: PTH123 - as above
                    fields = stream.read().rpartition(b")")[2].split()
            except OSError:
                continue
            parents[int(name)] = int(fields[1])
            if int(fields[3]) == root:
                found.add(int(name))
    size = 0
    while size != len(found):
        size = len(found)
        found |= {pid for pid, parent in parents.items() if parent in found}
    return found - {1, os.getpid()}


def kill_tree(root: int) -> None:
    """Kill a process and its relatives, again as long as some are born meanwhile."""
    killed: set[int] = set()
    for _ in range(10):
        new = relatives(root) - killed
        if not new:
            return
        for pid in new:
            send(pid, _KILL)
        killed |= new


def refuse_calls(libc: ctypes.CDLL, path: str) -> None:
    """Put ourselves and all that is started here under a filter of system calls."""
    import ctypes

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))

    with open(path, "rb") as stream:  # noqa: PTH123 - as above
        code = stream.read()
    program = Program(len(code) // 8, code)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0) != 0:
        sys.exit("matassay: prctl: the filter of system calls is refused")


def main(host: int, files: int, memory: int, processes: int, descriptors: int, cpu_seconds: int) -> None:
    """Set the limits that hold for all that is started here, then serve.

    A number of processes of 0 is no limit: somebody else counts them.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    if os.getpid() == 1:
        # Its memory and descriptors are then out of reach for programs of the same user.
        if libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            sys.exit("matassay: prctl")
    else:
        # Without a namespace of its own it must be what orphans fall back to, in order to find them all.
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    host = _above(host, 3)
    os.set_inheritable(host, False)  # it came through an exec; what is started here must not have it
    os.closerange(3, host)
    os.closerange(host + 1, max(256, host + 1))
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, files),
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_NPROC, processes or resource.RLIM_INFINITY),
        (resource.RLIMIT_NOFILE, descriptors),
    ):
        _, hard = resource.getrlimit(kind)
        bound = (
            value if hard == resource.RLIM_INFINITY else hard if value == resource.RLIM_INFINITY else min(value, hard)
        )
        resource.setrlimit(kind, (bound, bound))
    if os.path.exists(CALLS):  # noqa: PTH110 - as above
        refuse_calls(libc, CALLS)
    try:
        Server(socket.socket(fileno=host), cpu_seconds).serve()
    finally:
        if os.getpid() != 1:
            kill_tree(os.getpid())


if __name__ == "__main__":
    main(*map(int, sys.argv[1:7]))
