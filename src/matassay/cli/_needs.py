"""What commands need of this machine, and the command that mends it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from matassay.core import EnvironmentFailure, Interface, MatAssayError, Task

from ._console import say

SETUP = "make setup"

#: Providers' SDKs and keys: needed for hosted models only.
PROVIDERS = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "google-genai": "GOOGLE_API_KEY",
}


@dataclass(frozen=True)
class Need:
    """One thing that is needed, or useful."""

    name: str
    """What."""
    found: bool
    """Whether it is there."""
    detail: str
    """What was found, or what is wrong."""
    mend: str = ""
    """Command that puts it right."""
    needed: bool = True
    """False: only some things need it, and the detail says which."""


def check_worlds(tasks: Sequence[Task], seed: int) -> None:
    """Fail early and once, instead of in every episode, and begin to start what takes long.

    Raises
    ------
    EnvironmentFailure
        If a task acts in a browser and there is none.
    """
    from matassay.worlds.browser import BrowserWorld, find_browser

    tasks = [t for t in tasks if t.interface is Interface.SCREEN]
    one_of_each = {(t.suite, t.group): t for t in tasks}.values()
    worlds = [t.open_world(t.scenario(seed)) for t in one_of_each]
    for world in worlds:
        if isinstance(world, BrowserWorld):
            find_browser()
            world.prepare()  # while the engine is imported


def release_worlds() -> None:
    """Let go of what `check_worlds` began to start: it ends while the results are written up."""
    if "matassay.worlds.browser" in sys.modules:
        from matassay.worlds.browser import release_shared

        release_shared()


def choose_sandbox(kind: str | None) -> None:
    """Take a kind of sandbox for all workspaces of this process.

    Raises
    ------
    MatAssayError
        If there is no such kind.
    """
    if kind is None:
        return
    from matassay.worlds.workspace import BACKENDS, CONTAINERS, SANDBOX_VARIABLE

    known = (*BACKENDS, *CONTAINERS)
    if kind not in known:
        raise MatAssayError(f"unknown sandbox {kind!r}; known: {', '.join(known)}")
    os.environ[SANDBOX_VARIABLE] = kind


def _check_sandbox(kind: str) -> None:
    """Find out once, before any episode, whether there can be a sandbox of this kind and what it works with.

    Raises
    ------
    EnvironmentFailure
        With cause and cure.
    """
    import asyncio

    from matassay.worlds.workspace import find_software, probe_sandbox

    asyncio.run(probe_sandbox(find_software(), kind))


def usable(tasks: Sequence[Task]) -> tuple[list[Task], dict[str, str]]:
    """Tasks whose programs are on this machine, and why the others are skipped, which is said.

    Raises
    ------
    EnvironmentFailure
        If all are skipped.
    """
    from matassay.worlds.workspace import CONTAINERS, WEAK, chosen_backend, missing

    kind = chosen_backend()
    if kind in CONTAINERS:  # whose image has them; that is looked at when the container is there
        return list(tasks), {}
    if any(t.interface is Interface.WORKSPACE for t in tasks):
        if kind in WEAK:
            say(f"Sandbox {kind}: {WEAK[kind]}; every result says so, and they cannot be compared.")
        _check_sandbox(kind)
    lacking = {t.id: "; ".join(map(str, missing(t.requires))) for t in tasks if t.requires}
    lacking = {id: reason for id, reason in lacking.items() if reason}
    if tasks and len(lacking) == len(tasks):
        raise EnvironmentFailure(f"none of these tasks can be done here: {next(iter(lacking.values()))}")
    say(*(f"skipped {id}: {reason}" for id, reason in lacking.items()))
    return [t for t in tasks if t.id not in lacking], lacking


def check_model(model: str | None, *, alone: bool) -> None:
    """Say at once that a provider's SDK or key is missing, where that is beyond doubt; the engine finds the rest.

    Parameters
    ----------
    model : str, optional
        The engine's name of the model.
    alone : bool
        Whether there are neither arguments nor an address that may replace the key.

    Raises
    ------
    MatAssayError
        If the model cannot be used.
    """
    provider, _, rest = (model or "").partition("/")
    if model is not None and not (provider and rest):
        raise MatAssayError(f"model {model!r} is not PROVIDER/NAME, as in anthropic/claude-opus-5-5 or openai/gpt-5")
    found = [(package, key) for package, key in PROVIDERS.items() if package.split("-")[0] == provider]
    for package, key in found:
        try:
            version(package)
        except PackageNotFoundError:
            text = f"model {model!r} needs the Python package {package}: pip install {package}"
            raise MatAssayError(text) from None
        # A service of its own (`anthropic/bedrock/...`), another variable or a file `.env` may stand in for the key.
        others = any(name.startswith((f"{provider.upper()}_", "INSPECT_")) for name in os.environ)
        files = any((place / ".env").exists() for place in (Path.cwd(), *Path.cwd().parents))
        if alone and "/" not in rest and not others and not files:
            raise MatAssayError(f"model {model!r} needs a key: export {key}=...")


def all_needs() -> Iterator[Need]:
    """Everything, in the order in which it should be mended."""
    yield _python()
    yield from _packages()
    yield _browser()
    yield _font()
    yield _tasks()
    yield _logs()
    yield from _optional()


def _python() -> Need:
    found = sys.version_info[:3]
    text = "Python " + ".".join(map(str, found))
    return Need("python", found >= (3, 11), text, "sudo apt-get install python3.11-venv && make setup")


def _packages() -> Iterator[Need]:
    import re

    try:
        wanted = [r for r in requires("matassay") or [] if "extra ==" not in r]
    except PackageNotFoundError:
        yield Need("matassay", False, "not installed in this environment", SETUP)
        return
    missing = []
    for requirement in wanted:
        name = re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)[0]
        try:
            version(name)
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        yield Need("packages", False, "missing: " + ", ".join(missing), SETUP)
    else:
        yield Need("packages", True, f"all {len(wanted)} Python packages; inspect-ai {version('inspect-ai')}")


def _browser() -> Need:
    from matassay.worlds.browser import find_browser

    try:
        program = find_browser()
        return Need("browser", True, f"{program.version()} ({program.path})")
    except MatAssayError as error:
        mend = (
            SETUP if not shutil.which("apt-get") else "sudo apt-get install chromium-headless-shell   # or: make setup"
        )
        return Need("browser", False, str(error), mend)


def _font() -> Need:
    tool = shutil.which("fc-match")
    if tool is None:
        return Need("font", True, "cannot tell which fonts there are (no fc-match)", needed=False)
    reply = subprocess.run([tool, "DejaVu Sans"], capture_output=True, text=True, timeout=30, check=False)  # noqa: S603 - fontconfig's own tool
    found = "DejaVu" in reply.stdout
    detail = "DejaVu Sans" if found else "DejaVu Sans is missing: screenshots are other pictures without it"
    return Need("font", found, detail, "sudo apt-get install fonts-dejavu-core")


def _tasks() -> Need:
    from matassay.core import all_tasks

    try:
        found = all_tasks()
    except Exception as error:  # noqa: BLE001 - whatever a suite raises while it is loaded is what is reported here
        return Need("tasks", False, f"a suite cannot be loaded: {type(error).__name__}: {error}", SETUP)
    suites = sorted({t.suite for t in found})
    return Need("tasks", bool(found), f"{len(found)} tasks in {', '.join(suites) or 'no suite'}", SETUP)


def _logs() -> Need:
    folder = Path("logs")
    there = folder if folder.exists() else Path.cwd()
    return Need("logs", os.access(there, os.W_OK), f"{there.resolve()} can be written", "choose another with --log-dir")


def _optional() -> Iterator[Need]:
    for package, key in PROVIDERS.items():
        try:
            sdk: str | None = version(package)
        except PackageNotFoundError:
            sdk = None
        provider = package.split("-")[0]
        if sdk is None:
            mend = f"pip install {package}"
            yield Need(provider, False, f"no SDK; needed for --model {provider}/...", mend, needed=False)
        elif not os.environ.get(key):
            yield Need(
                provider, False, f"SDK {sdk}, no key; needed for --model {provider}/...", f"export {key}=...", False
            )
        else:
            yield Need(provider, True, f"SDK {sdk}, {key} is set", needed=False)
    shown = bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    detail = "there is one" if shown else "none; `play` and `view` print an address to open elsewhere"
    yield Need("display", shown, detail, needed=False)
