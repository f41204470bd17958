"""Pages made from the registry: one per instrument, program or study, and their index.

A group's own README (beside its tasks.py, or in its folder among the studies), the pages in its docs/ and those of its
tasks become the second half of its page, so that adding a folder to a suite is all that adding its documentation takes.
"""

from __future__ import annotations

import os
import shutil
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from matassay.core import ACTIONS, Criterion, Task, all_tasks

FOLDER = Path("reference", "generated")


def write_pages(app: Sphinx) -> None:
    """Write all pages anew, before Sphinx looks for its sources."""
    folder = Path(app.srcdir) / FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    groups: dict[tuple[str, str], list[Task]] = defaultdict(list)
    for task in all_tasks():
        groups[task.suite, task.group].append(task)
    for (suite, group), tasks in groups.items():
        (folder / f"{suite}-{group}.md").write_text(group_page(suite, group, tasks, folder), "utf-8")
    (folder / "index.md").write_text(index_page(groups), "utf-8")


def index_page(groups: dict[tuple[str, str], list[Task]]) -> str:
    """The list of groups with their number of tasks."""
    lines = ["# Tasks", "", "Made from the registry when this documentation was built.", ""]
    lines += ["| group | tasks |", "|---|---|"]
    lines += [f"| [`{s}/{g}`]({s}-{g}.md) | {len(tasks)} |" for (s, g), tasks in groups.items()]
    lines += ["", "```{toctree}", ":hidden:", "", *(f"{s}-{g}" for s, g in groups), "```", ""]
    return "\n".join(lines)


def group_page(suite: str, group: str, tasks: list[Task], folder: Path) -> str:
    """Tasks of one group with their criteria, and the group's README."""
    lines = [f"# {suite}/{group}", "", "| task | level | category | steps | revision |", "|---|---|---|---|---|"]
    lines += [f"| `{t.name}` {t.title} | {t.level} | {t.category} | {t.step_limit} | {t.revision} |" for t in tasks]
    for task in tasks:
        why = f" Needs the interface because: {task.needs_gui}" if task.needs_gui else ""
        lines += ["", f"## {task.name}", "", f"{task.title}.{why}", ""]
        lines += ["| criterion | kind | what must hold | tolerance |", "|---|---|---|---|"]
        lines += [criterion_row(c) for c in task.criteria]
    readme = readme_of(suite, group)
    if readme is not None:
        for page in (
            readme,
            *sorted((readme.parent / "docs").glob("*.md")),
            *sorted(readme.parent.glob("*/README.md")),
        ):
            path = Path(os.path.relpath(page, folder)).as_posix()
            lines += ["", f"```{{include}} {path}", ":heading-offset: 1", ":relative-images:", "```"]
    return "\n".join([*lines, ""])


def criterion_row(criterion: Criterion) -> str:
    """One row of the table of criteria."""
    tolerance = criterion.tolerance
    unit = "" if tolerance is None or tolerance.unit == "1" else f" {tolerance.unit}"
    width = f"{tolerance.value:g}{unit}: {tolerance.reason}" if tolerance else ""
    kind = "diagnosis" if criterion.diagnosis else "guard" if criterion.holds_at_start else "goal"
    return f"| `{criterion.name}` | {kind} | {cell(criterion.description)} | {cell(width)} |"


def cell(text: str) -> str:
    """Text that does not end its cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def readme_of(suite: str, group: str) -> Path | None:
    """The README beside the group's tasks, wherever its suite is installed."""
    spec = find_spec(f"matassay.suites.{suite}")
    if spec is None:  # a suite of another package
        return None
    roots = [Path(place) for place in spec.submodule_search_locations or ()]
    places = [root / folder / group / "README.md" for root in roots for folder in ("", "studies")]
    return next((place for place in places if place.exists()), None)


class Actions(SphinxDirective):
    """``{actions}``: the table of actions that `matassay.core` checks and charges for."""

    def run(self) -> list[nodes.Node]:
        """Parse the table as if it stood in the page."""
        lines = ["| action | needs | may take | instrument seconds |", "|---|---|---|---|"]
        for kind, (needed, optional, cost) in ACTIONS.items():
            fields = (", ".join(f"`{name}`" for name in names) for names in (needed, optional))
            lines.append(f"| `{kind}` | {' | '.join(fields)} | {cost:g} |")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the hook and the directive."""
    app.connect("builder-inited", write_pages)
    app.add_directive("actions", Actions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
