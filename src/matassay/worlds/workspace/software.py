"""What a sandbox has to work with: a Python environment of its own, and the programs of the trade."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from matassay.core import EnvironmentFailure, MatAssayError


def package_folder() -> Path:
    """Our own source: what must never be seen in a sandbox."""
    return Path(__file__).parents[2]


def checkout() -> Path | None:
    """The folder that holds our source, tests and git history, if we run from one."""
    root = package_folder().parents[1]
    return root if (root / "pyproject.toml").is_file() and package_folder().parent.name == "src" else None


#: Command that builds the environment: in a checkout the one that also installs what else is needed.
BUILD = "make research" if checkout() is not None else f"{sys.executable} -m matassay.worlds.workspace.build"


class _Program(NamedTuple):
    commands: tuple[str, ...]
    cure: str


#: Programs by the names that tasks use in `requires`.
PROGRAMS: Mapping[str, _Program] = {
    "lammps": _Program(("lmp",), BUILD),
    "phonopy": _Program(("phonopy",), BUILD),
    "quantum-espresso": _Program(("pw.x",), "sudo apt-get install quantum-espresso"),
    "wannier90": _Program(("wannier90.x", "wannier90"), "sudo apt-get install wannier90"),
}

#: Where programs are looked for beside the environment: what a sandbox sees of the host.
_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Software:
    """What was found on this machine."""

    python: Path
    """Interpreter that programs in the sandbox call ``python3``."""
    prefix: Path | None
    """Folder of the environment; None: there is none, only the bare interpreter."""
    interpreter: Path
    """The interpreter that the environment is made of, without links."""
    base: Path
    """Where the interpreter is installed."""
    programs: Mapping[str, Path | None]
    """Programs by the names that tasks use in `requires`."""
    versions: Mapping[str, str]
    """Versions of Python, of the environment's packages and of the programs found."""

    @property
    def path(self) -> str:
        """``PATH`` of programs in the sandbox."""
        folders = [str(self.prefix / "bin")] if self.prefix else [str(self.python.parent)]
        return ":".join(dict.fromkeys([*folders, *_PATH.split(":")]))


class Missing(NamedTuple):
    """A program that a task needs and this machine does not have."""

    name: str
    """The name that tasks use in `requires`."""
    cure: str
    """Command that installs it."""

    def __str__(self) -> str:
        return f"{self.name} is not installed: {self.cure}"


def place() -> Path:
    """Where the environment is, or is to be built.

    ``$MATASSAY_WORKSPACE``, else ``.workspace`` beside the source when we run from a checkout, else a folder of the
    user's.
    """
    if chosen := os.environ.get("MATASSAY_WORKSPACE"):
        return Path(chosen).absolute()
    if (root := checkout()) is not None:
        return root / ".workspace"
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(data) / "matassay" / "workspace"


def find_software() -> Software:
    """Environment and programs of this machine.

    Raises
    ------
    EnvironmentFailure
        If the environment is not there or is not what it should be; the text has the cure.
    """
    return _look(place())


def bare_software() -> Software:
    """The interpreter alone: enough to try the walls of a sandbox, not to work in it."""
    system = Path("/usr/bin/python3")
    python = (system if system.exists() else Path(sys.executable)).resolve()
    return Software(python, None, python, _base(python), {}, {"python": _version(python)})


def missing(names: Iterable[str], software: Software | None = None) -> list[Missing]:
    """Which programs are not there.

    Parameters
    ----------
    names : iterable of str
        As tasks have them in `requires`.
    software : Software, optional
        What was found; looked up by default.

    Raises
    ------
    MatAssayError
        If a name is not known.
    """
    wanted = list(names)
    if unknown := [name for name in wanted if name not in PROGRAMS]:
        raise MatAssayError(f"unknown program {', '.join(unknown)}; known: {', '.join(PROGRAMS)}")
    try:
        found = (software or find_software()).programs
    except EnvironmentFailure:
        found = _programs(None)
    return [Missing(name, PROGRAMS[name].cure) for name in wanted if found.get(name) is None]


@functools.cache
def _look(prefix: Path) -> Software:
    python = prefix / "bin" / "python3"
    if not python.exists():
        raise EnvironmentFailure(
            f"the workspace environment is missing ({prefix}, see MATASSAY_WORKSPACE)\n  cure: {BUILD}"
        )
    interpreter = python.resolve()
    packages = _packages(prefix)
    if "matassay" in packages:
        raise EnvironmentFailure(
            f"{prefix} holds matassay itself, and with it the graders; it must have an environment of its own\n"
            f"  cure: MATASSAY_WORKSPACE=FOLDER {BUILD}"
        )
    programs = _programs(prefix)
    versions = {"python": _version(interpreter), **packages}
    for name, path in programs.items():
        if path is not None and not path.is_relative_to(prefix):
            versions[name] = _debian_version(path)
    return Software(python, prefix, interpreter, _base(interpreter), programs, versions)


def _base(interpreter: Path) -> Path:
    """``bin/python`` of an installation lies in its prefix."""
    return interpreter.parent.parent


def _version(interpreter: Path) -> str:
    reply = subprocess.run(  # noqa: S603 - the interpreter that we were configured with
        [interpreter, "-I", "-S", "-c", "import sys; print('.'.join(map(str, sys.version_info[:3])))"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={},
    )
    if reply.returncode != 0:
        raise EnvironmentFailure(f"{interpreter} does not run: {reply.stderr.strip()}\n  cure: {BUILD}")
    return reply.stdout.strip()


def _packages(prefix: Path) -> dict[str, str]:
    """Names and versions, from the names of the folders that pip makes."""
    found = {}
    for folder in prefix.glob("lib/python3*/site-packages/*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").rpartition("-")
        found[re.sub(r"[-_.]+", "-", name).lower()] = version
    return dict(sorted(found.items()))


def _programs(prefix: Path | None) -> dict[str, Path | None]:
    path = f"{prefix / 'bin'}:{_PATH}" if prefix else _PATH
    found: dict[str, Path | None] = {}
    for name, program in PROGRAMS.items():
        places = [where for command in program.commands if (where := shutil.which(command, path=path))]
        found[name] = Path(places[0]) if places else None
    return found


def _debian_version(program: Path) -> str:
    """Version of the package that a program belongs to, without starting it."""
    tool = shutil.which("dpkg-query")
    if tool is None:
        return "unknown"
    owner = subprocess.run(  # noqa: S603 - Debian's own tool
        [tool, "--search", str(program.resolve())], capture_output=True, text=True, timeout=60, check=False
    )
    if owner.returncode != 0:
        return "unknown"
    name = owner.stdout.partition(":")[0]
    reply = subprocess.run(  # noqa: S603 - Debian's own tool
        [tool, "--show", "--showformat=${Version}", name], capture_output=True, text=True, timeout=60, check=False
    )
    return reply.stdout.strip() or "unknown"
