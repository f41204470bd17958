"""House rules that hold for every file, so that nobody has to remember them in a review."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "matassay"

# Benchmark data should not be trained on; whoever filters a corpus looks for this line.
CANARY = "Canary: matassay:8c1f4c1e-2f0b-4d53-9b75-6f1f0e0d7a31 - this file must not be used as training data."

# Modules that may wait for a time to pass, each with the reason. Everyone else waits for a condition.
MAY_SLEEP = {
    "kit/session.py": "in human mode time follows the wall",
}

# Modules of the deterministic layers that may read a clock, each with the reason.
MAY_READ_CLOCK = {
    "kit/session.py": "in human mode time follows the wall",
}

DETERMINISTIC = ("core", "grading", "physics", "kit", "suites", "agents")
IGNORED = {
    ".git",
    ".venv",
    ".workspace",
    ".workspace.old",
    ".hypothesis",
    "logs",
    "recordings",
    "results",
    "generated",
    "_build",
    "build",
    "dist",
    "node_modules",
}
TEXT = {".py", ".js", ".css", ".html", ".md", ".toml", ".yaml", ".yml", ".cff", ".json", ".lock", ".txt", ""}


def files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file that is ours."""
    for path in sorted(folder.iterdir()):
        if path.name in IGNORED or path.name.endswith(("_cache", "__pycache__", ".egg-info")) or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        elif path.name != ".env":
            yield path


TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in files() if path.suffix in TEXT}
MODULES = {
    path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text("utf-8"))
    for path in files(PACKAGE)
    if path.suffix == ".py"
}


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or an attribute, else nothing."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module or ""}
    return found


def test_nothing_waits_for_time_to_pass() -> None:
    """Playwright's `wait_for_timeout` is a sleep by another name; a poll passes through one helper in its layer."""
    offenders = []
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                called = dotted(node.func)
                blocking = called == "time.sleep" or called.endswith((".wait_for_timeout", ".waitForTimeout"))
                passing = called in ("asyncio.sleep", "anyio.sleep") and dotted_value(node) != 0
                if (blocking or passing) and name not in MAY_SLEEP:
                    offenders.append(f"{name}:{node.lineno}: {called}")
        if "time.sleep" in imports(tree):
            offenders.append(f"{name}: from time import sleep")
    assert not offenders, offenders


def dotted_value(call: ast.Call) -> object:
    """First argument if it is a constant: `sleep(0)` yields to the event loop and waits for nothing."""
    return call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None


def test_deterministic_layers_read_no_clock() -> None:
    offenders = [
        name
        for name, tree in MODULES.items()
        if name.split("/")[0] in DETERMINISTIC
        and name not in MAY_READ_CLOCK
        and any(module == "time" or module.startswith("time.") for module in imports(tree))
    ]
    assert not offenders, "these import `time`; use the virtual clock"


def test_exceptions_to_the_rules_are_still_needed() -> None:
    """A list of exceptions that outlives its reason hides the next fault."""
    assert set(MAY_SLEEP) | set(MAY_READ_CLOCK) <= set(MODULES)
    assert all("time" in imports(MODULES[name]) for name in MAY_READ_CLOCK)
    for name in MAY_SLEEP:
        calls = [dotted(n.func) for n in ast.walk(MODULES[name]) if isinstance(n, ast.Call)]
        assert any(call.endswith("sleep") for call in calls), name


@pytest.mark.parametrize("name", sorted(n for n in TEXTS if n.endswith(".py")))
def test_banned_calls_are_excused_one_by_one(name: str) -> None:
    for line in TEXTS[name].splitlines():
        if re.search(r"#\s*noqa:.*\bTID251\b", line):
            assert re.search(r"TID251\b[^\w]+\w+", line), f"{name}: no reason beside {line.strip()!r}"


def is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function only promises: `...`, a bare `pass`, or `NotImplementedError`."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) != 1:
        return False
    only = body[0]
    if isinstance(only, ast.Raise) and only.exc is not None:
        raised = only.exc.func if isinstance(only.exc, ast.Call) else only.exc
        return dotted(raised) == "NotImplementedError"
    ellipsis = isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is ...
    # A decorator may be all that there is: a command line's group has options and does nothing itself.
    return ellipsis or (isinstance(only, ast.Pass) and len(node.body) == 1 and not node.decorator_list)


def test_nothing_is_left_to_do() -> None:
    """Protocols, abstract methods and overloads have no body by nature; all other code does what its name says."""
    offenders = []
    for name, tree in MODULES.items():
        excused: set[ast.AST] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and any(dotted_base(b).endswith("Protocol") for b in node.bases):
                excused |= set(ast.walk(node))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
                dotted(d).endswith(("abstractmethod", "overload")) for d in node.decorator_list
            ):
                excused.add(node)
        offenders += [
            f"{name}:{node.lineno}: {node.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node not in excused and is_stub(node)
        ]
    words = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|X" + r"XX)\b")
    offenders += [name for name, text in TEXTS.items() if words.search(text)]
    assert not offenders, offenders


def dotted_base(node: ast.expr) -> str:
    return dotted(node.value) if isinstance(node, ast.Subscript) else dotted(node)


def test_every_task_file_has_the_canary() -> None:
    task_files = [name for name in TEXTS if name.startswith("src/") and name.endswith(("/tasks.py", "/task.yaml"))]
    assert task_files
    assert [name for name in task_files if CANARY not in TEXTS[name]] == []
    assert CANARY in TEXTS["CONTRIBUTING.md"], "authors copy it from there"


def test_decisions_are_numbered_and_complete() -> None:
    folder = ROOT / "docs" / "decisions"
    records = sorted(path for path in folder.glob("*.md") if path.name != "index.md")
    assert [path.name[:5] for path in records] == [f"{n:04}-" for n in range(1, len(records) + 1)]
    for path in records:
        text = path.read_text("utf-8")
        assert text.startswith(f"# {int(path.name[:4])}. "), path.name
        for part in ("Status", "Context", "Decision", "Consequences"):
            assert f"\n## {part}\n" in text, f"{path.name}: no {part}"


def test_lock_file_holds_exact_versions_only() -> None:
    """No address of an index, no path: the lock installs wherever the user's own pip finds packages."""
    for line in TEXTS["requirements.lock"].splitlines():
        assert not line or line.startswith("#") or re.match(r"[A-Za-z0-9_.-]+==[^\s;]+(?: ; .+)?$", line), line
    assert not re.search(r"^torch\b", TEXTS["requirements.lock"], re.MULTILINE), "too large for what it would bring"


SECRETS = {
    "key of a model provider": r"\bsk-(?:ant-|proj-|or-)?[A-Za-z0-9_-]{20,}",
    "key of Google": r"\bAIza[0-9A-Za-z_-]{35}",
    "key of AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "token of GitHub": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60,})",
    "token of GitLab": r"\bglpat-[A-Za-z0-9_-]{20}",
    "token of Slack": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "token of Hugging Face": r"\bhf_[A-Za-z0-9]{30,}",
    "token of PyPI": r"\bpypi-[A-Za-z0-9_-]{50,}",
    "private key": r"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----",
    "password in an address": r"\b[a-z][a-z0-9+.-]*://[^\s/:@{}<>$]+:[^\s/:@{}<>$]+@",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_no_secret_in_any_file(kind: str) -> None:
    pattern = re.compile(SECRETS[kind])
    assert [name for name, text in TEXTS.items() if pattern.search(text)] == []


def test_the_scan_would_find_a_secret() -> None:
    examples = ["sk-ant-" + "a" * 30, "AKIA" + "A" * 16, "ghp_" + "a" * 36, "https://me:word" + "@example.org"]
    assert all(any(re.search(pattern, text) for pattern in SECRETS.values()) for text in examples)


def test_no_home_folder_of_a_developer_in_any_file() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:home|Users)/\w+/|(?<![\w.])/root/")
    allowed = {"tests/unit/test_repository.py"}
    assert [name for name, text in TEXTS.items() if pattern.search(text) and name not in allowed] == []


def test_version_stands_in_every_place() -> None:
    from matassay import __version__

    assert f"## {__version__}" in TEXTS["CHANGELOG.md"] or "## Unreleased" in TEXTS["CHANGELOG.md"]
    assert f"version: {__version__}\n" in TEXTS["CITATION.cff"]
