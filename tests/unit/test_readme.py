"""The commands in the README exist, and take the options that it gives them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
DOCS = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").glob("[the]*/*.md"))]
PAGES = ["README.md", "CONTRIBUTING.md", *DOCS]


def commands(page: str) -> list[str]:
    """Lines of the fenced ``sh`` blocks, without comments and with continued lines joined."""
    blocks = re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


ALL = [
    pytest.param(command, id=f"{page}: {command.partition('  #')[0].strip()}")
    for page in PAGES
    for command in commands(page)
]


def words(command: str) -> list[str]:
    """The command's words without settings of the environment in front and without what is piped or redirected."""
    parts = shlex.split(command, comments=True)
    for stop in ("|", ">", "&&", ";"):
        if stop in parts:
            parts = parts[: parts.index(stop)]
    while parts and re.match(r"[A-Z_]+=", parts[0]):
        parts.pop(0)
    return parts


def test_readme_shows_both_ways_in() -> None:
    shown = [" ".join(words(c)) for c in commands("README.md")]
    assert "make run" in shown
    assert "make test" in shown


@pytest.mark.parametrize("command", ALL)
def test_command_exists(command: str) -> None:
    program, *arguments = words(command)
    match Path(program).name:
        case "make":
            for target in (a for a in arguments if "=" not in a):
                assert re.search(rf"^{re.escape(target)}:", MAKEFILE, re.MULTILINE), target
        case "matassay":
            check_matassay(arguments)
        case "git" | "cd" | "npm" | "export" | "inspect" | "python" | "pip" | "ssh":
            pass
        case "setup":
            assert (ROOT / program).exists()
        case _:
            pytest.fail(f"what is {program!r}? Teach this test, or use another fence than sh")


def check_matassay(arguments: list[str]) -> None:
    """Parse as the program would, without running it."""
    import typer.main

    from matassay.cli._app import app

    program = typer.main.get_command(app)
    subcommand = program.commands[arguments[0]]
    with subcommand.make_context(arguments[0], arguments[1:]):
        pass
