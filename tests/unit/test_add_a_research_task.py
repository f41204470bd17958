"""The example of "Add a research task" is whole: written out as the page has it, it passes the checks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from matassay.suites.research import TaskFolder, load, reproduce
from matassay.verify import CHECKS, verify
from matassay.verify._hidden import CANARY

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-research-task.md"
FILES = ["task.yaml", "prompt.md", "solution.py", "near_misses.py", "reproduce.py"]
ASKED = ["A1", "A2", "A4", "A7", "A13", "A14", "B3", "C8"]


def blocks() -> dict[str, str]:
    """The page's files by name: a fenced block below a line that holds nothing but the name."""
    text = PAGE.read_text("utf-8")
    return dict(re.findall(r"^`([a-z_]+\.[a-z]+)`\n\n```\w+\n(.*?)^```", text, re.MULTILINE | re.DOTALL))


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's folder, made by what the page says and nothing else."""
    page = PAGE.read_text("utf-8")
    place = re.search(r"studies/(\w+/\w+)/`", page)
    assert place is not None
    folder = tmp_path_factory.mktemp("studies") / place[1]
    folder.mkdir(parents=True)
    for name, text in blocks().items():
        (folder / name).write_text(text)
    command = re.search(r"`python (reproduce\.py .*?)` in that folder", page)
    assert command is not None
    subprocess.run([sys.executable, *command[1].split()], cwd=folder, check=True, timeout=60)
    return folder


def test_the_page_begins_with_whole_files() -> None:
    assert list(blocks()) == FILES
    assert sum(len(text.splitlines()) for text in blocks().values()) <= 60


def test_the_example_is_loaded_from_where_the_page_puts_it(example: Path) -> None:
    found = load(example.parents[1])
    assert dict(found.broken) == {}
    assert [task.id for task in found.tasks] == ["research/202701_example/202701_001-silicon"]


@pytest.mark.timeout(300)
async def test_the_example_passes_the_checks(example: Path) -> None:
    rows = await verify([TaskFolder(example).task()], [*ASKED, "A5"], seeds=2)
    assert [row for row in rows if not row.passed] == []
    assert {row.check for row in rows} == {*ASKED, "A5"}


def test_the_example_is_reproduced(example: Path) -> None:
    found = reproduce(TaskFolder(example))
    assert (found.reproduced, found.differences) == (True, ())


def test_the_page_states_the_rules_that_are_checked() -> None:
    page = PAGE.read_text("utf-8")
    assert CANARY in page
    assert set(ASKED) <= set(CHECKS)
    for field in ("summary", "seeds", "requires", "manuals", "outputs", "limits", "dear"):
        assert re.search(rf"^\| `{field}`", page, re.MULTILINE), f"the page does not explain {field}"
