"""Which browser there is on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from matassay.core import EnvironmentFailure

#: Path of the browser to use instead of the one that is found.
BROWSER_VARIABLE = "MATASSAY_BROWSER"

#: Programs on the PATH, best first: the headless shell is the same engine in 2/3 of the memory.
PROGRAMS = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
)

#: Where Playwright's own downloads keep the program, below `playwright_folder`, best first.
PLAYWRIGHT_PATTERNS = (
    "chromium_headless_shell-*/chrome-*/headless_shell",
    "chromium_headless_shell-*/chrome-headless-shell-*/chrome-headless-shell",
    "chromium-*/chrome-*/chrome",
    "chromium-*/chrome-*/*.app/Contents/MacOS/*",
)

HOW_TO_INSTALL = (
    "no browser found. Run `make setup` (Debian and Ubuntu: it installs the package chromium-headless-shell or "
    "chromium), or `playwright install chromium-headless-shell`, or set "
    f"{BROWSER_VARIABLE} to the path of a Chromium or Chrome"
)


@dataclass(frozen=True)
class BrowserProgram:
    """A browser that can be started."""

    path: Path
    """The executable."""
    source: str
    """How it was found: ``MATASSAY_BROWSER``, ``PATH`` or ``playwright``."""

    def version(self) -> str:
        """What the program says of itself, such as ``Chromium 156.0.8078.108``.

        Raises
        ------
        EnvironmentFailure
            If it cannot be run.
        """
        try:
            reply = subprocess.run(  # noqa: S603 - the program that we are about to start anyway
                [str(self.path), "--version"], capture_output=True, text=True, timeout=30, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EnvironmentFailure(f"the browser {self.path} does not run: {error}") from error
        return reply.stdout.strip()


def playwright_folder(environ: Mapping[str, str]) -> Path:
    """Where Playwright keeps the browsers that it downloaded."""
    chosen = environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if chosen and chosen != "0":
        return Path(chosen)
    cache = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME", "/")) / ".cache"
    return Path(cache) / "ms-playwright"


def _candidates(environ: Mapping[str, str]) -> Iterator[BrowserProgram]:
    for program in PROGRAMS:
        if found := shutil.which(program, path=environ.get("PATH", "")):
            yield BrowserProgram(Path(found), "PATH")
    folder = playwright_folder(environ)
    for pattern in PLAYWRIGHT_PATTERNS:
        for path in sorted(folder.glob(pattern), key=lambda p: _build(p.relative_to(folder)), reverse=True):
            if os.access(path, os.X_OK):
                yield BrowserProgram(path, "playwright")


def _build(path: Path) -> int:
    """Number of Playwright's build, in the name of the first folder: the newest comes first."""
    number = path.parts[0].rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def find_browser(environ: Mapping[str, str] | None = None) -> BrowserProgram:
    """The browser to use.

    Parameters
    ----------
    environ : mapping, optional
        Environment to look into; by default that of this process.

    Raises
    ------
    EnvironmentFailure
        If there is none; the text says what to install.
    """
    environ = os.environ if environ is None else environ
    if chosen := environ.get(BROWSER_VARIABLE):
        found = shutil.which(chosen, path=environ.get("PATH", ""))
        if found is None:
            raise EnvironmentFailure(f"{BROWSER_VARIABLE} is {chosen!r}, which is not a program that can be run")
        return BrowserProgram(Path(found), BROWSER_VARIABLE)
    for program in _candidates(environ):
        return program
    raise EnvironmentFailure(HOW_TO_INSTALL)
