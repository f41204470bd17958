"""Which browser is taken, and what is said when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from matassay.core import EnvironmentFailure
from matassay.worlds.browser import BrowserProgram, find_browser


def program(path: Path, says: str = "Chromium 1.2.3", code: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{says}'\nexit {code}\n")
    path.chmod(0o755)
    return path


def test_the_headless_shell_comes_first(tmp_path: Path) -> None:
    chrome = program(tmp_path / "a" / "google-chrome")
    environ = {"PATH": f"{tmp_path / 'a'}:{tmp_path / 'b'}", "HOME": str(tmp_path)}
    assert find_browser(environ) == BrowserProgram(chrome, "PATH")
    chromium = program(tmp_path / "b" / "chromium")
    assert find_browser(environ).path == chromium
    shell = program(tmp_path / "b" / "chromium-headless-shell")
    assert find_browser(environ).path == shell


@pytest.mark.parametrize("where", ["cache", "variable"])
def test_playwrights_own_is_found_and_the_newest_taken(tmp_path: Path, where: str) -> None:
    folder = tmp_path / ".cache" / "ms-playwright" if where == "cache" else tmp_path / "browsers"
    environ = {"PATH": "", "HOME": str(tmp_path)} | (
        {"PLAYWRIGHT_BROWSERS_PATH": str(folder)} if where == "variable" else {}
    )
    program(folder / "chromium-1300" / "chrome-linux" / "chrome")
    program(folder / "chromium_headless_shell-999" / "chrome-linux" / "headless_shell")
    newest = program(folder / "chromium_headless_shell-1200" / "chrome-linux" / "headless_shell")
    assert find_browser(environ) == BrowserProgram(newest, "playwright")


def test_the_users_choice_comes_before_all(tmp_path: Path) -> None:
    program(tmp_path / "chromium-headless-shell")
    mine = program(tmp_path / "mine" / "my-chrome")
    environ = {"PATH": str(tmp_path), "HOME": str(tmp_path), "MATASSAY_BROWSER": str(mine)}
    assert find_browser(environ) == BrowserProgram(mine, "MATASSAY_BROWSER")
    with pytest.raises(EnvironmentFailure, match="MATASSAY_BROWSER is '/nowhere/chrome'"):
        find_browser({**environ, "MATASSAY_BROWSER": "/nowhere/chrome"})


def test_none_at_all_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="make setup"):
        find_browser({"PATH": str(tmp_path), "HOME": str(tmp_path)})


def test_version(tmp_path: Path) -> None:
    assert BrowserProgram(program(tmp_path / "good"), "PATH").version() == "Chromium 1.2.3"
    with pytest.raises(EnvironmentFailure, match="does not run"):
        BrowserProgram(program(tmp_path / "bad", code=1), "PATH").version()
