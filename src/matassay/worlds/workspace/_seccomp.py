"""The system calls that nothing in a sandbox needs, as a filter for the kernel (classic BPF).

Everything not named here is allowed: numerical programs, compilers, MPI and agents' own tools run unchanged. What is
named is either a way to other privileges (mounts, namespaces, tracing, handles, modules), a part of the kernel with a
long record of faults that calculations do not use (io_uring, BPF, userfaultfd, keys), or memory that no limit sees
(what System V shares between processes). A refused call returns an error and ends nothing.

Numbers of x86_64 were exercised by the attacks in `matassay.verify`; those of aarch64 are from the kernel's
``asm-generic/unistd.h`` and have not been run.
"""

from __future__ import annotations

import errno
import platform
import struct

from matassay.core import EnvironmentFailure

#: ``AUDIT_ARCH_*`` of linux/audit.h.
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

#: Whether the numbers of an architecture were run.
VERIFIED = {"x86_64": True, "aarch64": False}

_NUMBERS: dict[str, dict[str, int]] = {
    "x86_64": {
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "move_mount": 429, "open_tree": 428,
        "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "unshare": 272,
        "setns": 308, "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440,
        "pidfd_getfd": 438, "kcmp": 312, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "keyctl": 250, "add_key": 248,
        "request_key": 249, "open_by_handle_at": 304, "name_to_handle_at": 303, "fanotify_init": 300,
        "kexec_load": 246, "kexec_file_load": 320, "init_module": 175, "finit_module": 313, "delete_module": 176,
        "swapon": 167, "swapoff": 168, "reboot": 169, "acct": 163, "quotactl": 179, "quotactl_fd": 443,
        "syslog": 103, "settimeofday": 164, "clock_settime": 227, "adjtimex": 159, "clock_adjtime": 305,
        "sethostname": 170, "setdomainname": 171, "vhangup": 153, "lookup_dcookie": 212, "shmget": 29,
        "semget": 64, "msgget": 68, "open_tree_attr": 467, "memfd_secret": 447,
        "memfd_create": 319, "vmsplice": 278, "mmap": 9, "setpriority": 141, "ioprio_set": 251,
        "sched_setparam": 142, "sched_setscheduler": 144, "sched_setaffinity": 203, "sched_setattr": 314,
        "iopl": 172, "ioperm": 173, "modify_ldt": 154, "uselib": 134, "ustat": 136, "sysfs": 139,
        "clone": 56, "clone3": 435, "socket": 41, "socketpair": 53, "ioctl": 16, "prlimit64": 302,
        "setsockopt": 54, "fcntl": 72, "landlock_create_ruleset": 444,
    },
    "aarch64": {
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "move_mount": 429, "open_tree": 428,
        "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442, "unshare": 97,
        "setns": 268, "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "process_madvise": 440,
        "pidfd_getfd": 438, "kcmp": 272, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
        "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "keyctl": 219, "add_key": 217,
        "request_key": 218, "open_by_handle_at": 265, "name_to_handle_at": 264, "fanotify_init": 262,
        "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273, "delete_module": 106,
        "swapon": 224, "swapoff": 225, "reboot": 142, "acct": 89, "quotactl": 60, "quotactl_fd": 443,
        "syslog": 116, "settimeofday": 170, "clock_settime": 112, "adjtimex": 171, "clock_adjtime": 266,
        "sethostname": 161, "setdomainname": 162, "vhangup": 58, "lookup_dcookie": 18, "shmget": 194,
        "semget": 190, "msgget": 186, "open_tree_attr": 467, "memfd_secret": 447,
        "memfd_create": 279, "vmsplice": 75, "mmap": 222, "setpriority": 140, "ioprio_set": 30,
        "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "sched_setattr": 274,
        "clone": 220, "clone3": 435, "socket": 198, "socketpair": 199, "ioctl": 29, "prlimit64": 261,
        "setsockopt": 208, "fcntl": 25, "landlock_create_ruleset": 444,
    },
}  # fmt: skip

#: Number of the first process.
_FIRST = (1,)

#: Turns of the processor, of which the first process must get its own.
_TURNS = ("sched_setparam", "sched_setscheduler", "sched_setaffinity", "sched_setattr")

#: Calls of which only some arguments are refused.
_BY_ARGUMENT = {
    "clone", "clone3", "socket", "socketpair", "ioctl", "prlimit64", "mmap", "setpriority", "ioprio_set", "setsockopt",
    "fcntl", *_TURNS,
}  # fmt: skip

#: Memory that belongs to no process, refused where no control group counts it: it would be nobody's.
_UNCOUNTED = {"memfd_create", "vmsplice", "mmap", "landlock_create_ruleset"}

#: Those of the refused calls of which it is said that there are none: libraries then do without.
_ABSENT = {"memfd_create", "landlock_create_ruleset"}

#: ``MAP_SHARED`` (also a part of ``MAP_SHARED_VALIDATE``), ``MAP_ANONYMOUS``.
_SHARED, _ANONYMOUS = 0x01, 0x20

#: AF_UNIX, AF_INET, AF_INET6, AF_NETLINK.
_FAMILIES = (1, 2, 10, 16)
_UNIX, _NETLINK = 1, 16

#: Default, ICMP, TCP, UDP, ICMPv6: any other protocol makes the kernel load a module on an ordinary user's word.
_PROTOCOLS = (0, 1, 6, 17, 58)

#: ``CLONE_NEW*`` without NEWTIME, whose bit means something else in `clone`.
_NEW_NAMESPACES = 0x7E020000

#: Typing into a terminal (TIOCSTI), pasting from its screen (TIOCLINUX).
_TERMINAL = (0x5412, 0x541C)

#: Leases (F_SETLEASE): whoever opens the file waits until its holder gives it back, which takes up to 45 s. Files of
#: the environment are open to all sandboxes and, with an ordinary user, belong to the user of all of them.
_LEASE = (1024,)
#: Locks that belong to no process (F_OFD_SETLK, F_OFD_SETLKW), refused where no control group counts their memory.
_LOCKS_OF_NOBODY = (37, 38)

#: Programs for sockets (SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF and _EBPF): code of the agent's in the
#: kernel, in room that all of the machine share (bpf_jit_limit) and without which no other sandbox gets its filter.
_SOCKET_PROGRAMS = (26, 50, 51, 52)
_SOL_SOCKET = 1

_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_X32 = 0x40000000

# Offsets in struct seccomp_data: number, architecture, low words of the arguments (little-endian machines).
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16
# Operations: load a word, compare and jump, return.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06


def _error(number: int) -> int:
    return 0x00050000 | number


class _Program:
    """Instructions, written one after another."""

    def __init__(self) -> None:
        self.code: list[tuple[int, int, int, int]] = []

    def load(self, offset: int) -> None:
        self.code.append((_LOAD, 0, 0, offset))

    def argument(self, index: int) -> None:
        self.load(_ARGUMENTS + 8 * index)

    def jump(self, operation: int, value: int, then: int, otherwise: int) -> None:
        """Skip ``then`` instructions if the comparison holds, else ``otherwise``."""
        self.code.append((operation, then, otherwise, value))

    def result(self, value: int) -> None:
        self.code.append((_RETURN, 0, 0, value))

    def refuse_unless(self, values: tuple[int, ...], number: int) -> None:
        """Return an error if the loaded word is none of ``values``; else go on."""
        for index, value in enumerate(values):
            self.jump(_EQUAL, value, len(values) - index, 0)
        self.result(_error(number))

    def refuse_if(self, values: tuple[int, ...], number: int) -> None:
        """Return an error if the loaded word is one of ``values``; else go on."""
        for value in values:
            self.jump(_EQUAL, value, 0, 1)
            self.result(_error(number))

    def only_for(self, number: int, block: _Program) -> None:
        """Run ``block`` for one system call; afterwards the number is loaded again."""
        block.load(_NUMBER)
        self.jump(_EQUAL, number, 0, len(block.code))
        self.code += block.code

    def encoded(self) -> bytes:
        return b"".join(struct.pack("<HBBI", *instruction) for instruction in self.code)


def seccomp_filter(machine: str | None = None, *, counted: bool = True, numbered: bool = True) -> bytes:
    """The filter as an array of ``struct sock_filter``.

    Parameters
    ----------
    machine : str, optional
        As `platform.machine` has it; this machine by default.
    counted : bool
        Whether the kernel counts all memory of the sandbox. Otherwise none can be had that lies in no process and in
        no folder: memory files, memory shared without a file (libraries then take a file in ``/dev/shm``), rules of
        Landlock, locks of no process.
    numbered : bool
        Whether the sandbox numbers its processes itself, so that its first is number 1. Otherwise a process may choose
        turns of the processor for none but itself, by the number 0.

    Raises
    ------
    EnvironmentFailure
        If there is no table of system calls for the machine.
    """
    machine = machine or platform.machine()
    if machine not in _NUMBERS:
        raise EnvironmentFailure(
            f"the sandbox has no table of system calls for {machine} (it has {', '.join(_NUMBERS)}); "
            "use the docker sandbox on this machine"
        )
    numbers, program = _NUMBERS[machine], _Program()
    program.load(_ARCH)
    program.jump(_EQUAL, _ARCHITECTURES[machine], 1, 0)
    program.result(_KILL)
    program.load(_NUMBER)
    if machine == "x86_64":
        program.jump(_AT_LEAST, _X32, 0, 1)
        program.result(_error(errno.ENOSYS))
    # Its flags lie in memory, where a filter cannot look; told that it does not exist, libraries use `clone`.
    program.jump(_EQUAL, numbers["clone3"], 0, 1)
    program.result(_error(errno.ENOSYS))
    for name, number in numbers.items():
        if name not in _BY_ARGUMENT and not (counted and name in _UNCOUNTED):
            program.jump(_EQUAL, number, 0, 1)
            program.result(_error(errno.ENOSYS if name in _ABSENT else errno.EPERM))

    if not counted:
        shared = _Program()
        shared.argument(3)
        shared.jump(_ANY_BIT, _SHARED, 0, 2)
        shared.jump(_ANY_BIT, _ANONYMOUS, 0, 1)
        shared.result(_error(errno.EPERM))
        program.only_for(numbers["mmap"], shared)

    clone = _Program()
    clone.argument(0)
    clone.jump(_ANY_BIT, _NEW_NAMESPACES, 0, 1)
    clone.result(_error(errno.EPERM))
    program.only_for(numbers["clone"], clone)

    ioctl = _Program()
    ioctl.argument(1)
    ioctl.refuse_if(_TERMINAL, errno.EPERM)
    program.only_for(numbers["ioctl"], ioctl)

    files = _Program()
    files.argument(1)
    files.refuse_if(_LEASE, errno.EPERM)
    files.refuse_if(() if counted else _LOCKS_OF_NOBODY, errno.EINVAL)
    program.only_for(numbers["fcntl"], files)

    options, of_any = _Program(), _Program()
    of_any.argument(2)
    of_any.refuse_if(_SOCKET_PROGRAMS, errno.EPERM)
    options.argument(1)
    options.jump(_EQUAL, _SOL_SOCKET, 0, len(of_any.code))
    options.code += of_any.code
    program.only_for(numbers["setsockopt"], options)

    # Only of oneself: limits of the first process, once lowered, would end the sandbox.
    limits = _Program()
    limits.argument(0)
    limits.refuse_unless((0,), errno.EPERM)
    program.only_for(numbers["prlimit64"], limits)

    def for_others(block: _Program) -> None:
        if numbered:
            block.refuse_if(_FIRST, errno.EPERM)
        else:
            block.refuse_unless((0,), errno.EPERM)

    for name in _TURNS:
        turns = _Program()
        turns.argument(0)
        for_others(turns)
        program.only_for(numbers[name], turns)
    # By its number alone: a group or all of a user have the first process among them.
    for name, kind in (("setpriority", 0), ("ioprio_set", 1)):
        priority = _Program()
        priority.argument(0)
        priority.refuse_unless((kind,), errno.EPERM)
        priority.argument(1)
        for_others(priority)
        program.only_for(numbers[name], priority)

    pair = _Program()
    pair.argument(0)
    pair.refuse_unless((_UNIX,), errno.EAFNOSUPPORT)
    program.only_for(numbers["socketpair"], pair)

    protocol, netlink = _Program(), _Program()
    protocol.argument(2)
    protocol.refuse_unless(_PROTOCOLS, errno.EPROTONOSUPPORT)
    netlink.argument(2)
    netlink.refuse_unless((0,), errno.EPROTONOSUPPORT)  # only routes, which `getifaddrs` reads
    sockets = _Program()
    sockets.argument(0)
    sockets.refuse_unless(_FAMILIES, errno.EAFNOSUPPORT)
    sockets.jump(_EQUAL, _NETLINK, 0, len(netlink.code))
    sockets.code += netlink.code
    sockets.code += protocol.code
    program.only_for(numbers["socket"], sockets)

    program.result(_ALLOW)
    return program.encoded()
