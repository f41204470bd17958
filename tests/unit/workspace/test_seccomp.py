"""The filter, run by a small interpreter of its instructions: what the kernel would answer to a call."""

from __future__ import annotations

import errno
import struct

import pytest

from matassay.core import EnvironmentFailure
from matassay.worlds.workspace import _seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
MACHINES = ("x86_64", "aarch64")


def answer(machine: str, number: int, *arguments: int, arch: int | None = None, **how: bool) -> int:
    """Run the program as the kernel does."""
    program = list(struct.iter_unpack("<HBBI", _seccomp.seccomp_filter(machine, **how)))
    arch = _seccomp._ARCHITECTURES[machine] if arch is None else arch
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, arch, 0, *words)
    at, held = 0, 0
    while True:
        code, then, otherwise, value = program[at]
        at += 1
        if code == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif code == 0x06:
            return value
        else:
            holds = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
            at += then if holds else otherwise


def refused(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("machine", MACHINES)
def test_every_named_call_is_refused_and_others_are_not(machine: str) -> None:
    numbers = _seccomp._NUMBERS[machine]
    for name, number in numbers.items():
        if name not in _seccomp._BY_ARGUMENT | _seccomp._UNCOUNTED:
            assert answer(machine, number) == refused(errno.EPERM), name
    named = set(numbers.values())
    others = [number for number in range(460) if number not in named]
    assert all(answer(machine, number) == ALLOW for number in others)
    assert len(others) > 350


@pytest.mark.parametrize("machine", MACHINES)
def test_memory_of_nobody_is_refused_where_nobody_counts_it(machine: str) -> None:
    numbers = _seccomp._NUMBERS[machine]
    for name in _seccomp._UNCOUNTED:
        assert answer(machine, numbers[name], 0, 4096, 3, 0x21) == ALLOW
    for name in ("memfd_create", "landlock_create_ruleset"):  # libraries then do without
        assert answer(machine, numbers[name], counted=False) == refused(errno.ENOSYS)
    assert answer(machine, numbers["vmsplice"], counted=False) == refused(errno.EPERM)
    for flags in (0x21, 0x23, 0x8021):  # MAP_SHARED or MAP_SHARED_VALIDATE, MAP_ANONYMOUS
        assert answer(machine, numbers["mmap"], 0, 4096, 3, flags, counted=False) == refused(errno.EPERM)
    for flags in (0x22, 0x01, 0x02, 0x4022):  # private, or of a file
        assert answer(machine, numbers["mmap"], 0, 4096, 3, flags, counted=False) == ALLOW
    assert answer(machine, numbers["socket"], 40, 1, 0, counted=False) == refused(errno.EAFNOSUPPORT)


@pytest.mark.parametrize("machine", MACHINES)
def test_the_first_process_keeps_its_turns_and_others_choose_their_own(machine: str) -> None:
    numbers = _seccomp._NUMBERS[machine]
    for name in _seccomp._TURNS:
        assert answer(machine, numbers[name], 1) == refused(errno.EPERM), name
        assert answer(machine, numbers[name], 0) == answer(machine, numbers[name], 17) == ALLOW, name
    for name, kind in (("setpriority", 0), ("ioprio_set", 1)):
        assert answer(machine, numbers[name], kind, 0) == answer(machine, numbers[name], kind, 17) == ALLOW, name
        for arguments in ((kind, 1), (kind + 1, 0), (kind + 2, 0)):
            assert answer(machine, numbers[name], *arguments) == refused(errno.EPERM), name


@pytest.mark.parametrize("machine", MACHINES)
def test_no_number_stands_twice(machine: str) -> None:
    numbers = list(_seccomp._NUMBERS[machine].values())
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("machine", MACHINES)
def test_threads_and_forks_yes_namespaces_no(machine: str) -> None:
    clone = _seccomp._NUMBERS[machine]["clone"]
    assert answer(machine, clone, 0x3D0F00) == ALLOW  # pthread_create
    assert answer(machine, clone, 17) == ALLOW  # fork
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, clone, flag | 17) == refused(errno.EPERM), hex(flag)
    assert answer(machine, _seccomp._NUMBERS[machine]["clone3"]) == refused(errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((1, 1, 0), ALLOW),  # unix
        ((2, 1, 0), ALLOW),
        ((2, 1, 6), ALLOW),  # TCP
        ((10, 2, 17), ALLOW),  # UDP over IPv6
        ((16, 3, 0), ALLOW),  # routes
        ((16, 3, 9), refused(errno.EPROTONOSUPPORT)),  # audit
        ((16, 3, 12), refused(errno.EPROTONOSUPPORT)),  # netfilter
        ((2, 1, 132), refused(errno.EPROTONOSUPPORT)),  # SCTP
        ((2, 1, 262), refused(errno.EPROTONOSUPPORT)),  # MPTCP
        ((40, 1, 0), refused(errno.EAFNOSUPPORT)),  # VSOCK
        ((17, 3, 0), refused(errno.EAFNOSUPPORT)),  # PACKET
        ((38, 5, 0), refused(errno.EAFNOSUPPORT)),  # ALG
    ],
)
def test_sockets(machine: str, arguments: tuple[int, ...], expected: int) -> None:
    assert answer(machine, _seccomp._NUMBERS[machine]["socket"], *arguments) == expected


@pytest.mark.parametrize("machine", MACHINES)
def test_terminals_cannot_be_typed_into(machine: str) -> None:
    ioctl = _seccomp._NUMBERS[machine]["ioctl"]
    assert answer(machine, ioctl, 0, 0x5412) == refused(errno.EPERM)
    assert answer(machine, ioctl, 0, 0x541C) == refused(errno.EPERM)
    assert answer(machine, ioctl, 0, 0x5401) == ALLOW  # is it a terminal?
    assert answer(machine, _seccomp._NUMBERS[machine]["socketpair"], 1) == ALLOW
    assert answer(machine, _seccomp._NUMBERS[machine]["socketpair"], 40) == refused(errno.EAFNOSUPPORT)


@pytest.mark.parametrize("machine", MACHINES)
def test_limits_only_of_oneself(machine: str) -> None:
    assert answer(machine, _seccomp._NUMBERS[machine]["prlimit64"], 0) == ALLOW
    assert answer(machine, _seccomp._NUMBERS[machine]["prlimit64"], 1) == refused(errno.EPERM)


def test_other_ways_to_call_the_kernel() -> None:
    assert answer("x86_64", 39, arch=0x40000003) == KILL  # 32-bit
    assert answer("x86_64", 0x40000000 | 39) == refused(errno.ENOSYS)  # x32
    assert answer("aarch64", 39, arch=0x40000028) == KILL


def test_a_machine_without_a_table_is_refused() -> None:
    with pytest.raises(EnvironmentFailure, match=r"riscv64.*docker"):
        _seccomp.seccomp_filter("riscv64")


@pytest.mark.parametrize("machine", MACHINES)
def test_no_leases_no_programs_for_sockets(machine: str) -> None:
    numbers = _seccomp._NUMBERS[machine]
    assert answer(machine, numbers["fcntl"], 5, 1024, 1) == refused(errno.EPERM)  # F_SETLEASE
    for option in (26, 50, 51, 52):  # SO_ATTACH_FILTER and its kin, of SOL_SOCKET
        assert answer(machine, numbers["setsockopt"], 5, 1, option) == refused(errno.EPERM)
        assert answer(machine, numbers["setsockopt"], 5, 6, option) == ALLOW
    for option in (2, 7, 13):
        assert answer(machine, numbers["setsockopt"], 5, 1, option) == ALLOW
    for command in (0, 1, 2, 4, 6, 7, 1030, 1031):  # F_DUPFD ... F_SETLKW, F_DUPFD_CLOEXEC, F_SETPIPE_SZ
        assert answer(machine, numbers["fcntl"], 5, command) == ALLOW
        assert answer(machine, numbers["fcntl"], 5, command, counted=False) == ALLOW
    for command in (37, 38):  # F_OFD_SETLK, F_OFD_SETLKW
        assert answer(machine, numbers["fcntl"], 5, command) == ALLOW
        assert answer(machine, numbers["fcntl"], 5, command, counted=False) == refused(errno.EINVAL)


@pytest.mark.parametrize("machine", MACHINES)
def test_where_the_first_process_is_not_number_1_turns_are_chosen_for_oneself_alone(machine: str) -> None:
    numbers = _seccomp._NUMBERS[machine]
    for name in _seccomp._TURNS:
        assert answer(machine, numbers[name], 0, numbered=False) == ALLOW, name
        assert answer(machine, numbers[name], 17, numbered=False) == refused(errno.EPERM), name
    for name, kind in (("setpriority", 0), ("ioprio_set", 1)):
        assert answer(machine, numbers[name], kind, 0, numbered=False) == ALLOW, name
        assert answer(machine, numbers[name], kind, 17, numbered=False) == refused(errno.EPERM), name
