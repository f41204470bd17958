"""Attacks on a sandbox, run from inside it. Harmless: each tries a door and says whether it opened.

Run as a script by the sandbox's own Python, with a JSON file that names the bait as its only argument; it needs
nothing but the standard library. Each attack runs in a process of its own and prints one line of JSON.

To add one, write a function with `attack` before it. It returns what it saw if the door opened (a text), and None or
an `OSError` if it held.
"""

# An attack does by the shortest way what is good style nowhere else: bare paths, bare calls, whatever may raise.
# ruff: noqa: PTH101, PTH104, PTH106, PTH108, PTH110, PTH112, PTH113, PTH115, PTH116, PTH118, PTH120, PTH123, PTH208
# ruff: noqa: S103, S108, S603, S607

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import platform
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Attack(NamedTuple):
    """One door."""

    name: str
    """Short and stable, as tests and tables have it."""
    group: str
    """What it is after."""
    what: str
    """What is tried, and what must not be seen."""
    run: Callable[[dict[str, Any]], str | None]


ATTACKS: list[Attack] = []

#: Attacks of this group use up what a sandbox may use; they come last.
RESOURCES = "resources"

#: Longest time of one attack, s.
TIME = 60

_LIBC = ctypes.CDLL(None, use_errno=True)

#: System calls of x86_64 that the library does not wrap, or wraps by more than one call.
_CALLS = {
    "kexec_load": 246, "bpf": 321, "io_uring_setup": 425, "userfaultfd": 323, "perf_event_open": 298,
    "add_key": 248, "request_key": 249, "keyctl": 250, "open_by_handle_at": 304, "process_vm_readv": 310,
    "process_vm_writev": 311, "pidfd_getfd": 438, "kcmp": 312, "init_module": 175, "finit_module": 313,
    "clone": 56, "clone3": 435, "move_mount": 429, "open_tree": 428, "fsopen": 430, "mount_setattr": 442,
    "fanotify_init": 300, "quotactl": 179, "modify_ldt": 154, "iopl": 172, "pidfd_open": 434, "shmget": 29,
    "semget": 64, "msgget": 68, "open_tree_attr": 467,
    "process_madvise": 440, "name_to_handle_at": 303,
}  # fmt: skip

#: Errors with which a call that is let through complains about our arguments: the door stands open.
_LET_THROUGH = {errno.EFAULT, errno.EINVAL, errno.EBADF, errno.ENOENT, errno.E2BIG, errno.ESRCH, errno.ENOKEY}


def attack(group: str, what: str) -> Callable[[Callable[[dict[str, Any]], str | None]], None]:
    """Make a function an attack."""

    def register(function: Callable[[dict[str, Any]], str | None]) -> None:
        ATTACKS.append(Attack(function.__name__.strip("_"), group, what, function))

    return register


def call(result: int) -> int:
    """Turn a C result into an error."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def forbidden(name: str, *arguments: Any) -> str | None:
    """Whether a system call that must be refused is let through."""
    if platform.machine() != "x86_64":
        raise Untried("its number is only known for x86_64")
    try:
        return f"{name} returned {call(_LIBC.syscall(_CALLS[name], *arguments))}"
    except OSError as error:
        if error.errno in _LET_THROUGH:
            return f"{name} was let through ({error.strerror})"
        raise


class Untried(Exception):
    """The attack is not possible here, for a reason that says nothing about the sandbox."""


def processes() -> Iterator[str]:
    """Folders of /proc."""
    yield from (name for name in os.listdir("/proc") if name.isdigit())


def content(path: str) -> bytes:
    """What a file holds, nothing if it cannot be read."""
    try:
        with open(path, "rb") as stream:
            return stream.read(1 << 20)
    except OSError:
        return b""


# --- what is hidden -----------------------------------------------------------------------------------------


@attack("hidden files", "read the hidden reference by its path")
def _reference_by_path(bait: dict[str, Any]) -> str | None:
    with open(bait["hidden"]) as stream:
        return stream.read(40)


@attack("hidden files", "reach the hidden reference by way of a mounted folder and ..")
def _reference_by_parents(bait: dict[str, Any]) -> str | None:
    for start in ("/workspace/inputs", "/workspace", "/proc/self/cwd", "/proc/self/root", sys.prefix, "/usr"):
        path = start + "/.." * 12 + bait["hidden"]
        if content(path):
            return path
    return None


@attack("hidden files", "reach the hidden reference through root, cwd or a descriptor of any process")
def _reference_by_proc(bait: dict[str, Any]) -> str | None:
    for pid in processes():
        for link in ("root", "cwd"):
            if content(f"/proc/{pid}/{link}{bait['hidden']}"):
                return f"/proc/{pid}/{link}"
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                for way in (f"/proc/{pid}/fd/{fd}", f"/proc/{pid}/fd/{fd}{bait['hidden']}"):
                    if not os.path.isfile(way):
                        continue
                    if content(way).find(bait["reversed"][::-1].encode()) >= 0:
                        return way
    return None


@attack("hidden files", "see the host's own /tmp, /home, /root, /var, /srv, /opt, /sys or /boot")
def _host_folders(bait: dict[str, Any]) -> str | None:
    if os.path.exists(bait["in_tmp"]):
        return bait["in_tmp"]
    seen = []
    for folder in ("/home", "/root", "/var", "/var/tmp", "/var/log", "/srv", "/boot", "/mnt", "/media", "/sys"):
        with contextlib.suppress(OSError):
            seen += [f"{folder}/{name}" for name in os.listdir(folder)]
    # The environment may lie in any of them, alone.
    alone = [path for path in seen if not Path(sys.prefix).is_relative_to(path) and path != "/var/tmp"]
    return ", ".join(alone[:5]) or None


@attack("hidden files", "import matassay, or find any folder of that name")
def _source(bait: dict[str, Any]) -> str | None:
    with contextlib.suppress(ImportError):
        import matassay

        return str(matassay.__file__)
    if os.path.exists(bait["package"]) and os.listdir(bait["package"]):
        return bait["package"]
    # The folders on the way to the environment, which may lie in a checkout, with nothing else in them.
    way = {str(path.parent): [path.name] for path in (Path(sys.prefix), *Path(sys.prefix).parents)}
    pending = ["/"]
    while pending:  # a hundred thousand names: `os.walk` takes four times as long
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                folder = entry.is_dir(follow_symlinks=False)
                if "matassay" in entry.name.lower() and not (
                    folder and os.listdir(entry.path) in ([], way.get(entry.path))
                ):
                    return entry.path
                if folder and entry.path not in ("/proc", "/dev"):
                    pending.append(entry.path)
    return None


@attack("hidden files", "read the host's /etc/shadow, machine-id, ssh keys")
def _host_etc(bait: dict[str, Any]) -> str | None:
    for path in ("/etc/shadow", "/etc/gshadow", "/etc/machine-id", "/etc/ssh", "/etc/sudoers", "/etc/environment"):
        if os.path.exists(path):
            return path
    return None


@attack("secrets", "find a key of the host in the environment of any process")
def _environment(bait: dict[str, Any]) -> str | None:
    secret = bait["reversed"][::-1].encode()
    for pid in processes():
        if secret in content(f"/proc/{pid}/environ"):
            return f"/proc/{pid}/environ"
    names = [name for name in os.environ if name.endswith(("_KEY", "_TOKEN", "_SECRET")) or name.startswith("MATASSAY")]
    return ", ".join(names) or None


@attack("secrets", "find a path of the benchmark in the command line of any process")
def _command_lines(bait: dict[str, Any]) -> str | None:
    for pid in processes():
        said = content(f"/proc/{pid}/cmdline")
        for path in (bait["hidden"], bait["package"], bait["in_tmp"]):
            if path.encode() in said:
                return f"/proc/{pid}/cmdline: {path}"
    return None


@attack("secrets", "find a path of the benchmark in the table of mounts")
def _mounts(bait: dict[str, Any]) -> str | None:
    said = content("/proc/self/mountinfo")
    return next((path for path in (bait["folder"], bait["package"]) if path.encode() in said), None)


@attack("secrets", "inherit a descriptor of the host")
def _descriptors(bait: dict[str, Any]) -> str | None:
    strange = []
    for fd in os.listdir("/proc/self/fd"):
        if int(fd) > 2 and int(fd) not in bait["ours"]:
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is closed by now
                strange.append(f"{fd} -> {os.readlink(f'/proc/self/fd/{fd}')}")
    return ", ".join(strange) or None


@attack("secrets", "read or write memory, descriptors or root of the first process")
def _first_process(bait: dict[str, Any]) -> str | None:
    for name in ("mem", "maps", "environ", "syscall", "stack"):
        if content(f"/proc/1/{name}"):
            return f"/proc/1/{name} can be read"
    with contextlib.suppress(OSError):
        os.close(os.open("/proc/1/mem", os.O_RDWR))
        return "/proc/1/mem can be written"
    with contextlib.suppress(OSError):
        return f"/proc/1/fd: {os.listdir('/proc/1/fd')}"
    with contextlib.suppress(OSError):
        return f"/proc/1/root: {os.listdir('/proc/1/root')}"
    return None


@attack("secrets", "read the keyring of the session that started the sandbox")
def _keyring(bait: dict[str, Any]) -> str | None:
    return forbidden("keyctl", 0, -3, 0) or (content("/proc/keys").decode() or None)


@attack("secrets", "read the kernel's command line, messages, symbols or core")
def _kernel_files(bait: dict[str, Any]) -> str | None:
    for name in ("cmdline", "kmsg", "kallsyms", "kcore", "keys", "timer_list", "config.gz", "sched_debug"):
        if content(f"/proc/{name}"):
            return f"/proc/{name}"
    return None


# --- what must not change -----------------------------------------------------------------------------------


def writable(path: str) -> str | None:
    """Whether a file can be made in a folder."""
    name = os.path.join(path, "attack")
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
    os.unlink(name)
    return f"{path} can be written"


@attack("walls", "write outside /workspace and /tmp: every folder that is there")
def _write_folders(bait: dict[str, Any]) -> str | None:
    beside = os.path.dirname(sys.prefix)
    if beside.startswith(("/tmp", "/var/tmp", "/dev/shm", "/workspace")):
        beside = "/"  # the environment lies in a folder that anybody may write to, and is itself what counts
    for folder in ("/", "/etc", "/dev", "/run", "/run/box", "/usr", "/usr/bin", "/usr/local/bin", "/proc", "/work",
                   sys.prefix, f"{sys.prefix}/bin", os.path.dirname(os.__file__), beside):  # fmt: skip
        with contextlib.suppress(OSError):
            return writable(folder)
    return None


@attack("walls", "change inputs: write, add, chmod, rename, link, remove, put another folder in their place")
def _inputs(bait: dict[str, Any]) -> str | None:
    file = next(entry.path for entry in os.scandir("/workspace/inputs") if entry.is_file())
    for what, action in (
        ("written", lambda: os.open(file, os.O_WRONLY)),
        ("added to", lambda: writable("/workspace/inputs")),
        ("made writable", lambda: os.chmod(file, 0o777)),
        ("given away", lambda: os.link(file, "/workspace/linked")),
        ("removed", lambda: os.unlink(file)),
        ("moved", lambda: os.rename("/workspace/inputs", "/workspace/moved")),
        ("removed as a whole", lambda: os.rmdir("/workspace/inputs")),
        ("truncated", lambda: os.truncate(file, 0)),
        ("dated", lambda: os.utime(file, (0, 0))),
    ):
        with contextlib.suppress(OSError):
            action()
            return f"inputs can be {what}"
    return None


@attack("walls", "hold up whoever opens a file that other sandboxes have too, by a lease")
def _lease(bait: dict[str, Any]) -> str | None:
    own = os.open("/workspace/leased", os.O_CREAT | os.O_RDONLY, 0o600)
    try:
        fcntl.fcntl(own, fcntl.F_SETLEASE, fcntl.F_WRLCK)
    finally:
        os.unlink("/workspace/leased")
    return "one can be had, and with it those on files of the environment where they belong to our user"


@attack("walls", "change the program of the first process")
def _first_program(bait: dict[str, Any]) -> str | None:
    os.chmod("/run/box/init", 0o777)
    return "/run/box/init can be changed"


@attack("walls", "open core_pattern, sysrq-trigger or any other setting of the kernel for writing")
def _settings(bait: dict[str, Any]) -> str | None:
    paths = [os.path.join(folder, name) for folder, _, names in os.walk("/proc/sys") for name in names]
    paths += ["/proc/sysrq-trigger", "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/setgroups"]
    for path in paths:
        with contextlib.suppress(OSError):
            os.close(os.open(path, os.O_WRONLY))
            return path
    return None


@attack("walls", "mount, unmount, remount, by the old calls and the new")
def _mount(bait: dict[str, Any]) -> str | None:
    tries = {
        "tmpfs": lambda: _LIBC.mount(b"x", b"/tmp", b"tmpfs", 0, None),
        "proc": lambda: _LIBC.mount(b"proc", b"/tmp", b"proc", 0, None),
        "bind": lambda: _LIBC.mount(b"/usr", b"/tmp", None, 4096, None),
        "remount": lambda: _LIBC.mount(None, b"/usr", None, 4096 | 32, None),
        "remount root": lambda: _LIBC.mount(None, b"/", None, 32, None),
        "unmount": lambda: _LIBC.umount2(b"/usr", 2),
        "unmount inputs": lambda: _LIBC.umount2(b"/workspace/inputs", 2),
        "pivot_root": lambda: _LIBC.pivot_root(b"/tmp", b"/tmp"),
    }
    for name, action in tries.items():
        if action() == 0:
            return name
    for name, arguments in (
        ("fsopen", (b"tmpfs", 0)),
        ("open_tree", (-100, b"/usr", 1)),
        ("move_mount", (-100, b"/usr", -100, b"/tmp", 0)),
        ("mount_setattr", (-100, b"/usr", 0, 0, 0)),
    ):
        with contextlib.suppress(OSError):
            if seen := forbidden(name, *arguments):
                return seen
    return None


@attack("walls", "change the root folder")
def _chroot(bait: dict[str, Any]) -> str | None:
    os.chroot("/tmp")
    return "chroot works"


@attack("walls", "make a device, or open one of the host")
def _devices(bait: dict[str, Any]) -> str | None:
    for name in (
        "vda",
        "sda",
        "nvme0n1",
        "mem",
        "kmem",
        "port",
        "kvm",
        "fuse",
        "net/tun",
        "loop-control",
        "vhost-vsock",
    ):
        with contextlib.suppress(OSError):
            os.close(os.open(f"/dev/{name}", os.O_RDONLY))
            return f"/dev/{name}"
    for folder in ("/tmp", "/workspace", "/dev/shm"):
        for kind, major, minor in ((0o60600, 254, 0), (0o60600, 8, 0), (0o20666, 1, 1), (0o20666, 10, 200)):
            with contextlib.suppress(OSError):
                os.mknod(f"{folder}/device", kind, os.makedev(major, minor))
                return f"a device in {folder}"
    return None


# --- other rights -------------------------------------------------------------------------------------------


@attack("rights", "have a capability, another user, a group, or lack the filter")
def _identity(bait: dict[str, Any]) -> str | None:
    status = dict(line.split(":", 1) for line in content("/proc/self/status").decode().splitlines() if ":" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        if int(status[name], 16):
            return f"{name} {status[name].strip()}"
    if status["NoNewPrivs"].strip() != "1" or status["Seccomp"].strip() != "2":
        return "no_new_privs or the filter is missing"
    if set(os.getresuid()) != {1000} or set(os.getresgid()) != {1000} or set(os.getgroups()) - {1000}:
        return f"users {os.getresuid()}, groups {os.getresgid()} {os.getgroups()}"
    mapped = content("/proc/self/uid_map").split()
    return f"more than one user is mapped: {mapped}" if mapped[2] != b"1" else None


@attack("rights", "become root of the host: the sandbox's user is nobody's there")
def _root_of_host(bait: dict[str, Any]) -> str | None:
    """The kernel shows the outermost number that we may know; root's files must not be ours."""
    owned = [
        path for path in ("/usr", "/usr/bin", "/proc/sys/kernel/core_pattern") if os.stat(path).st_uid == os.getuid()
    ]
    return f"{', '.join(owned)} belong to us" if owned else None


@attack("rights", "become root by setuid, su, sudo, newgrp, or a program of our own with the setuid bit")
def _setuid(bait: dict[str, Any]) -> str | None:
    for action in (
        lambda: os.setuid(0),
        lambda: os.setgid(0),
        lambda: os.setgroups([0]),
        lambda: os.setresuid(0, 0, 0),
    ):
        with contextlib.suppress(OSError):
            action()
            return "setuid works"
    import subprocess

    for command in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["pkexec", "id", "-u"]):
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            reply = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=10, check=False
            )
            if reply.stdout.strip() == "0":
                return f"{command[0]} works"
    return None


@attack("rights", "make a namespace: unshare, clone, clone3, each kind")
def _namespaces(bait: dict[str, Any]) -> str | None:
    for name, flag in (("mount", 0x20000), ("user", 0x10000000), ("pid", 0x20000000), ("net", 0x40000000),
                       ("ipc", 0x8000000), ("uts", 0x4000000), ("cgroup", 0x2000000), ("time", 0x80)):  # fmt: skip
        if _LIBC.unshare(flag) == 0:
            return f"unshare {name}"
    with contextlib.suppress(OSError):
        if seen := forbidden("clone3", 0, 0):
            return seen
    for flag in (0x10000000, 0x20000000, 0x40000000):
        with contextlib.suppress(OSError):
            pid = call(_LIBC.syscall(_CALLS["clone"], flag | signal.SIGCHLD, 0, 0, 0, 0))
            if pid == 0:
                os._exit(0)
            return f"clone {flag:#x}"
    return None


@attack("rights", "enter the namespaces of another process")
def _setns(bait: dict[str, Any]) -> str | None:
    for name in ("user", "mnt", "pid", "net"):
        for pid in processes():
            with contextlib.suppress(OSError):
                fd = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
                if _LIBC.setns(fd, 0) == 0:
                    return f"setns {name} of {pid}"
    return None


@attack("rights", "start a sandbox within the sandbox")
def _nested(bait: dict[str, Any]) -> str | None:
    import subprocess

    reply = subprocess.run(
        ["bwrap", "--unshare-user", "--ro-bind", "/", "/", "true"], capture_output=True, timeout=20, check=False
    )
    return "bwrap works" if reply.returncode == 0 else None


def _refused(name: str, what: str, *arguments: Any) -> None:
    def run(bait: dict[str, Any]) -> str | None:
        return forbidden(name, *arguments)

    run.__name__ = "call_" + name
    attack("system calls", what)(run)


_refused("bpf", "load a program into the kernel", 0, 0, 0)
_refused("io_uring_setup", "set up io_uring, which passes filters by", 4, ctypes.create_string_buffer(120))
_refused("userfaultfd", "handle page faults", 1)
_refused("perf_event_open", "count hardware events", ctypes.create_string_buffer(128), 0, -1, -1, 0)
_refused("add_key", "add a key", b"user", b"attack", b"x", 1, -3)
_refused("request_key", "ask for a key", b"user", b"attack", 0, 0)
_refused("open_by_handle_at", "open a file by its handle, past all folders", 3, 0, 0)
_refused("name_to_handle_at", "get a file's handle", -100, b"/usr", 0, 0, 0)
_refused("process_vm_readv", "read another process's memory", 1, 0, 0, 0, 0, 0)
_refused("process_vm_writev", "write another process's memory", 1, 0, 0, 0, 0, 0)
_refused("pidfd_getfd", "take another process's descriptor", -1, 0, 0)
_refused("kcmp", "compare another process's descriptors", 1, 1, 0, 0, 0)
_refused("init_module", "load a module", 0, 0, 0)
_refused("finit_module", "load a module from a file", -1, 0, 0)
_refused("kexec_load", "load another kernel", 0, 0, 0, 0)
_refused("fanotify_init", "watch the file system", 0, 0)
_refused("quotactl", "set quotas", 0, 0, 0, 0)
_refused("modify_ldt", "change segments", 0, 0, 0)
_refused("iopl", "talk to hardware", 3)
_refused("shmget", "make a System V segment, which no limit sees", 0, 4096, 0o1600)
_refused("semget", "make System V semaphores: 64 GB of the kernel's memory", 0, 32000, 0o1600)
_refused("msgget", "make a System V queue", 0, 0o1600)
_refused("open_tree_attr", "take a mount with other attributes", -100, b"/usr", 1, 0, 0)


@attack("system calls", "trace a child of our own")
def _ptrace(bait: dict[str, Any]) -> str | None:
    pid = os.fork()
    if pid == 0:
        signal.pause()
    try:
        call(_LIBC.ptrace(16, pid, 0, 0))
    finally:
        os.kill(pid, signal.SIGKILL)
    return "attached"


@attack("system calls", "set the clock or the host's name, read its messages, reboot, swap")
def _administration(bait: dict[str, Any]) -> str | None:
    moment = struct.pack("qq", 0, 0)
    tries = {
        "settimeofday": lambda: _LIBC.settimeofday(moment, None),
        "sethostname": lambda: _LIBC.sethostname(b"attack", 6),
        "klogctl": lambda: _LIBC.klogctl(3, ctypes.create_string_buffer(100), 100),
        "reboot": lambda: _LIBC.reboot(0),
        "swapon": lambda: _LIBC.swapon(b"/workspace/x", 0),
        "acct": lambda: _LIBC.acct(b"/workspace/x"),
        "nice": lambda: _LIBC.setpriority(0, 0, -20),
    }
    return next((name for name, action in tries.items() if action() == 0), None)


@attack("system calls", "pass the filter by 32-bit or x32 calls")
def _other_abi(bait: dict[str, Any]) -> str | None:
    if platform.machine() != "x86_64":
        raise Untried("only x86_64 has other calls")
    if _LIBC.syscall(0x40000000 | 39) > 0:
        return "an x32 call was served"
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 20 (getpid of the 32-bit table); int 0x80; ret
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
    pid = os.fork()
    if pid == 0:
        function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
        os._exit(42 if function() > 0 else 1)
    _, status = os.waitpid(pid, 0)
    return "a 32-bit call was served" if os.waitstatus_to_exitcode(status) == 42 else None


@attack("system calls", "type into the terminal that started the sandbox")
def _terminal(bait: dict[str, Any]) -> str | None:
    fd = os.open("/dev/tty", os.O_RDWR)
    fcntl.ioctl(fd, 0x5412, b"\n")
    return "typed"


# --- the network --------------------------------------------------------------------------------------------


@attack("network", "connect to a server on the host's loopback")
def _loopback(bait: dict[str, Any]) -> str | None:
    with socket.create_connection(("127.0.0.1", bait["port"]), 2) as connection:
        return connection.recv(40).decode()


@attack("network", "connect to an abstract or a named unix socket of the host")
def _unix(bait: dict[str, Any]) -> str | None:
    for address in ("\0" + bait["abstract"], bait["socket"]):
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            connection.connect(address)
            return repr(address)
    return None


@attack("network", "reach anything outside: TCP, UDP, names, another interface than lo")
def _outside(bait: dict[str, Any]) -> str | None:
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        return f"interfaces {others}"
    for address in ("1.1.1.1", "8.8.8.8", "10.0.0.1", "169.254.169.254"):
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            with contextlib.suppress(OSError), socket.socket(socket.AF_INET, kind) as connection:
                connection.settimeout(1)
                connection.connect((address, 53))
                connection.send(b"x")
                return f"sent to {address}"
    with contextlib.suppress(OSError):
        return str(socket.getaddrinfo("example.org", 80))
    return None


@attack("network", "open a socket of a strange family (VSOCK, PACKET, ALG, BLUETOOTH, KEY, XDP, ...)")
def _families(bait: dict[str, Any]) -> str | None:
    for family in range(46):
        if family in (1, 2, 10, 16):
            continue
        for kind in (1, 2, 3, 5):
            with contextlib.suppress(OSError):
                socket.socket(family, kind).close()
                return f"family {family}, type {kind}"
    return None


@attack("network", "open a raw socket, or a protocol that loads a module (SCTP, MPTCP, UDPLITE, audit, netfilter)")
def _protocols(bait: dict[str, Any]) -> str | None:
    for family, kind, protocol in (
        (2, 1, 132), (2, 1, 262), (2, 2, 136), (2, 3, 255), (2, 3, 1), (10, 3, 58), (2, 2, 115),
        (16, 3, 9), (16, 3, 12), (16, 3, 15), (16, 3, 16),
    ):  # fmt: skip
        with contextlib.suppress(OSError):
            socket.socket(family, kind, protocol).close()
            return f"family {family}, type {kind}, protocol {protocol}"
    return None


@attack("network", "put a program of ours for a socket into the kernel, in room that all sandboxes share")
def _socket_program(bait: dict[str, Any]) -> str | None:
    everything = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFF))  # one instruction: return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
        own.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxQ", 1, ctypes.addressof(everything)))
    return "attached"


@attack("network", "configure the network: add an interface, a route, take lo down")
def _configure(bait: dict[str, Any]) -> str | None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sh14x", b"lo", 0))
    return "lo was taken down"


# --- other processes ----------------------------------------------------------------------------------------


@attack("processes", "see, signal or trace a process of the host")
def _host_process(bait: dict[str, Any]) -> str | None:
    strange = [pid for pid in processes() if b"attack" not in content(f"/proc/{pid}/cmdline") and pid != "1"]
    if strange:
        return f"processes {strange}"
    with contextlib.suppress(OSError):
        os.kill(bait["pid"], 0)
        return "it can be signalled"
    return None


@attack("processes", "kill or stop the first process")
def _kill_first(bait: dict[str, Any]) -> str | None:
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP, signal.SIGINT, signal.SIGSEGV):
        with contextlib.suppress(OSError):
            os.kill(1, number)
    # It would be gone at once, and we with it; a stopped one would not bury this child.
    state = content("/proc/1/stat").rpartition(b")")[2].split()[:1]
    return f"its state is {state[0].decode()}" if state and state[0] in (b"T", b"Z", b"X", b"t") else None


@attack("processes", "see shared memory or queues of the host")
def _ipc(bait: dict[str, Any]) -> str | None:
    for name in ("shm", "msg", "sem"):
        if len(content(f"/proc/sysvipc/{name}").splitlines()) > 1:
            return f"/proc/sysvipc/{name}"
    return ", ".join(os.listdir("/dev/shm")) or None


@attack("processes", "raise a limit, or take priority over others")
def _raise_limits(bait: dict[str, Any]) -> str | None:
    for name in ("CORE", "DATA", "FSIZE", "NOFILE", "NPROC"):
        kind = getattr(resource, f"RLIMIT_{name}")
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY:
            return f"RLIMIT_{name} is not set"
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (hard + 1, hard + 1))
            return f"RLIMIT_{name} can be raised"
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        return "real-time priority"
    return None


@attack("processes", "lower the limits of the first process, so that the sandbox ends")
def _lower_limits(bait: dict[str, Any]) -> str | None:
    # To what they are: lower ones would end this run.
    resource.prlimit(1, resource.RLIMIT_NOFILE, resource.prlimit(1, resource.RLIMIT_NOFILE))
    return "they can be set"


@attack("processes", "keep the first process from its turns of the processor")
def _demote_first(bait: dict[str, Any]) -> str | None:
    for name, action in {
        "nice": lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
        "nice of all": lambda: os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_PROCESS, 0)),
        "nice of a group": lambda: os.setpriority(os.PRIO_PGRP, 1, 19),
        "idle": lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
        "processors": lambda: os.sched_setaffinity(1, os.sched_getaffinity(1)),
    }.items():
        with contextlib.suppress(OSError):
            action()
            return name
    os.sched_setaffinity(0, os.sched_getaffinity(0))  # one's own may be chosen
    return None


@attack("processes", "leave the control group, or see the tree of groups")
def _groups(bait: dict[str, Any]) -> str | None:
    for path in ("/sys/fs/cgroup", "/sys"):
        if os.path.isdir(path):
            return path
    return None


# --- resources ----------------------------------------------------------------------------------------------


def consume(what: Callable[[], Iterator[int]], limit: int) -> str | None:
    """Run something that takes more and more, in a child; opened if it gets beyond the limit."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            for amount in what():
                os.write(tell, struct.pack("q", amount))
                if amount > limit:
                    break
        except (OSError, MemoryError):
            os._exit(0)
        os._exit(0)
    os.close(tell)
    most, data = 0, b""
    while chunk := os.read(told, 1 << 16):
        data += chunk
    os.waitpid(pid, 0)
    for (amount,) in struct.iter_unpack("q", data[: len(data) // 8 * 8]):
        most = max(most, amount)
    return f"took {most} of {limit}" if most > limit else None


@attack(RESOURCES, "more processes than allowed")
def _forks(bait: dict[str, Any]) -> str | None:
    kids: list[int] = []
    try:
        for _ in range(bait["processes"] + 50):
            try:
                pid = os.fork()
            except OSError:
                break
            if pid == 0:
                signal.pause()
            kids.append(pid)
    finally:
        for pid in kids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    return f"{len(kids)} children" if len(kids) > bait["processes"] else None


@attack(RESOURCES, "more memory than allowed, in one process")
def _memory(bait: dict[str, Any]) -> str | None:
    def take() -> Iterator[int]:
        held = []
        while True:
            held.append(b"x" * (16 << 20))
            yield len(held) << 24

    return consume(take, 2 * bait["memory"])


@attack(RESOURCES, "more memory than allowed, as shared memory in many processes")
def _shared_memory(bait: dict[str, Any]) -> str | None:
    def take() -> Iterator[int]:
        held = []
        while True:
            area = mmap.mmap(-1, 16 << 20)
            for page in range(0, 16 << 20, 4096):
                area[page] = 1
            held.append(area)
            yield len(held) << 24

    return consume(take, 2 * bait["memory"])


@attack(RESOURCES, "more memory than allowed, in files that only a descriptor holds")
def _memory_files(bait: dict[str, Any]) -> str | None:
    def take() -> Iterator[int]:
        held = []
        block = b"x" * (16 << 20)
        while True:
            held.append(os.memfd_create("attack"))
            os.write(held[-1], block)
            yield len(held) << 24

    return consume(take, 2 * bait["memory"])


@attack(RESOURCES, "more memory than allowed, shared and then let go of, so that no process has it")
def _dropped_memory(bait: dict[str, Any]) -> str | None:
    def take() -> Iterator[int]:
        held = []
        while True:
            area = mmap.mmap(-1, 16 << 20)
            area[:] = b"x" * (16 << 20)
            area.madvise(mmap.MADV_DONTNEED)
            held.append(area)
            yield len(held) << 24

    return consume(take, 2 * bait["memory"])


@attack(RESOURCES, "more memory than allowed, by mapping /dev/zero")
def _mapped_zeros(bait: dict[str, Any]) -> str | None:
    def take() -> Iterator[int]:
        held = []
        with open("/dev/zero", "r+b", buffering=0) as zeros:
            while True:
                area = mmap.mmap(zeros.fileno(), 16 << 20)
                area[:] = b"x" * (16 << 20)
                area.madvise(mmap.MADV_DONTNEED)
                held.append(area)
                yield len(held) << 24

    return consume(take, 2 * bait["memory"])


@attack(RESOURCES, "more memory than allowed, in files that are on their way through a socket")
def _memory_on_its_way(bait: dict[str, Any]) -> str | None:
    def take() -> Iterator[int]:
        held = []
        block = b"x" * (16 << 20)
        count = 0
        while True:
            pair = socket.socketpair()
            held.append(pair)
            for _ in range(10):
                count += 1
                fd = os.memfd_create("attack")
                os.write(fd, block)
                socket.send_fds(pair[0], [b"x"], [fd])
                os.close(fd)
                yield count << 24

    return consume(take, 2 * bait["memory"])


def _fill(folder: str, size: int) -> str | None:
    """Fill a file system; what was written is removed again."""

    def take() -> Iterator[int]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        written, count = 0, 0
        block = b"x" * (1 << 20)
        while True:
            count += 1
            fd = os.open(f"{folder}/fill{count}", os.O_CREAT | os.O_WRONLY, 0o600)
            for _ in range(16):
                written += os.write(fd, block)
            os.close(fd)
            yield written

    try:
        return consume(take, size + (32 << 20))
    finally:
        for name in os.listdir(folder):
            if name.startswith("fill"):
                os.unlink(f"{folder}/{name}")


@attack(RESOURCES, "fill /workspace")
def _fill_workspace(bait: dict[str, Any]) -> str | None:
    return _fill("/workspace", bait["disk"])


@attack(RESOURCES, "fill /tmp and /dev/shm")
def _fill_tmp(bait: dict[str, Any]) -> str | None:
    return _fill("/tmp", bait["tmp"]) or _fill("/dev/shm", bait["tmp"])


@attack(RESOURCES, "a file larger than allowed")
def _large_file(bait: dict[str, Any]) -> str | None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    fd = os.open("/workspace/large", os.O_CREAT | os.O_WRONLY, 0o600)
    try:
        os.ftruncate(fd, bait["file"] + 1)
        return "made"
    finally:
        os.unlink("/workspace/large")


@attack(RESOURCES, "more descriptors than allowed")
def _many_descriptors(bait: dict[str, Any]) -> str | None:
    held: list[Any] = []
    with contextlib.suppress(OSError):
        while len(held) < bait["open_files"] + 10:
            held.append(os.dup(0))
    return f"{len(held)} descriptors" if len(held) > bait["open_files"] else None


# --- the run ------------------------------------------------------------------------------------------------


def judge(one: Attack, bait: dict[str, Any]) -> dict[str, Any]:
    """Run one attack in a child and say what came of it."""
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(told)
        os.setsid()
        row: dict[str, Any] = {"held": True, "seen": "nothing"}
        try:
            seen = one.run({**bait, "ours": [tell]})
            if seen is not None:
                row = {"held": False, "seen": seen[:200]}
        except Untried as error:
            row = {"held": None, "seen": str(error)}
        except OSError as error:
            row["seen"] = error.strerror or type(error).__name__
        except MemoryError:
            row["seen"] = "out of memory"
        except BaseException as error:  # noqa: BLE001 - whatever it is, it must be seen
            row = {"held": False, "seen": f"the attack itself failed: {type(error).__name__}: {error}"[:200]}
        os.write(tell, json.dumps(row).encode())
        os._exit(0)
    os.close(tell)
    if not select.select([told], [], [], TIME)[0]:
        os.killpg(pid, signal.SIGKILL)
    said = os.read(told, 1 << 16)
    os.close(told)
    _, status = os.waitpid(pid, 0)
    # Without a word: killed, by the filter or for what it used.
    row = json.loads(said) if said else {"held": True, "seen": f"killed ({os.waitstatus_to_exitcode(status)})"}
    return {"name": one.name, **row}


def main(bait_file: str) -> None:
    """Run all attacks, those that use up resources last."""
    with open(bait_file) as stream:
        bait = json.load(stream)
    for one in sorted(ATTACKS, key=lambda one: one.group == RESOURCES):
        if bait["resources"] or one.group != RESOURCES:
            sys.stdout.write(json.dumps(judge(one, bait)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
