"""Building the environment that programs in a sandbox use: ``python -m matassay.worlds.workspace.build``.

It is made from the pinned list beside this file, with the interpreter of ours or another, in the place that
`software.place` names. Done when nothing has changed, it returns at once. An environment that is being replaced stays
usable until the new one is complete.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from matassay.core import EnvironmentFailure, MatAssayError

from .software import place

#: What is installed, with exact versions.
REQUIREMENTS = Path(__file__).with_name("requirements.txt")

_STAMP = ".stamp"


def fingerprint(prefix: Path, python: str) -> str:
    """What an environment was made of; its path too, because it does not survive being moved."""
    text = f"{prefix}\n{python}\n{REQUIREMENTS.read_text()}"
    return hashlib.sha256(text.encode()).hexdigest()


def default_python() -> str:
    """The system's interpreter if it is one that the pins are for, since every user can reach it; else our own."""
    for name in ("python3.11", "python3.12", "python3.13", "python3"):
        path = Path("/usr/bin", name)
        if path.exists() and _version(str(path)) in ("3.11", "3.12", "3.13"):
            return str(path)
    return sys.executable


def _version(python: str) -> str:
    code = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    reply = subprocess.run([python, "-I", "-c", code], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - an interpreter of this machine
    return reply.stdout.strip()


def is_current(prefix: Path, python: str) -> bool:
    """Whether the environment is there and of the present list."""
    stamp = prefix / _STAMP
    return (
        (prefix / "bin" / "python3").exists() and stamp.is_file() and stamp.read_text() == fingerprint(prefix, python)
    )


def build(
    prefix: Path | None = None, python: str | None = None, *, force: bool = False, say: Callable[[str], None] = print
) -> Path:
    """Make the environment, if it is not there.

    Parameters
    ----------
    prefix : Path, optional
        Where; `software.place` by default.
    python : str, optional
        Interpreter; `default_python` by default.
    force : bool
        Make it anew.
    say : callable
        Told what is done.

    Returns
    -------
    Path
        Where it is.

    Raises
    ------
    EnvironmentFailure
        If a step fails; the text ends with what it said.
    """
    prefix = (prefix or place()).absolute()
    python = python or default_python()
    if not force and is_current(prefix, python):
        return prefix
    say(f"building the workspace environment in {prefix} (about 1 GB)")
    prefix.parent.mkdir(parents=True, exist_ok=True)
    # Scripts hold the path of their interpreter, so that it must be built where it stays; the old one waits aside.
    old = prefix.with_name(prefix.name + ".old")
    _remove(old)
    if prefix.exists():
        prefix.rename(old)
    try:
        _step([python, "-m", "venv", str(prefix)])
        pip = [str(prefix / "bin" / "python3"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        _step([*pip, "--requirement", str(REQUIREMENTS)])
        _step([str(prefix / "bin" / "python3"), "-m", "pip", "check"])
        # Without it nothing in the sandbox can look into the environment; root builds with another mask, perhaps.
        prefix.chmod(0o755)
        (prefix / _STAMP).write_text(fingerprint(prefix, python))
    except BaseException:
        _remove(prefix)
        if old.exists():
            old.rename(prefix)
        raise
    _remove(old)
    return prefix


def _step(argv: Sequence[str]) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV"))}
    reply = subprocess.run(list(argv), capture_output=True, text=True, check=False, env=environment)  # noqa: S603 - our own steps
    if reply.returncode != 0:
        text = "\n".join((reply.stdout + reply.stderr).strip().splitlines()[-15:])
        raise EnvironmentFailure(f"{' '.join(argv[:4])} ... failed with exit code {reply.returncode}\n{text}")


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m matassay.worlds.workspace.build", description=__doc__)
    parser.add_argument("--place", type=Path, help="folder of the environment")
    parser.add_argument("--python", help="interpreter to make it with")
    parser.add_argument("--force", action="store_true", help="make it anew")
    options = parser.parse_args(argv)
    try:
        sys.stdout.write(f"{build(options.place, options.python, force=options.force)}\n")
    except MatAssayError as error:
        sys.stderr.write(f"{error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
