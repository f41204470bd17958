"""What a task's folder says, read strictly: prompt, task.yaml, scripts."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.core import Guidance, MatAssayError
from matassay.suites.research import Miss, method_passages
from matassay.suites.research._attempts import attempt, cells_of, read_variations
from matassay.suites.research._prompt import BEGIN, END, render
from matassay.suites.research._reproduce import differences
from matassay.suites.research._spec import read_spec

PROMPT = f"""# A task at {{{{frequencies}}}} THz

Do it.

{BEGIN}
## Method

Mind the sum rule.
{END}

Write `answer.json`.
"""

SPEC = """
id: research/study/202603_999-toy
title: A toy
revision: 1
kind: run_and_analyze
answer: {fields: {x: {type: number, unit: "1"}}}
"""


def test_reduced_guidance_is_full_guidance_without_its_method() -> None:
    goal = {"frequencies": [1.0, 2.5]}
    full, reduced = (render(PROMPT, g, goal) for g in (Guidance.FULL, Guidance.REDUCED))
    assert "at 1.0, 2.5 THz" in full
    assert "Mind the sum rule." in full
    assert "sum rule" not in reduced
    assert "<!--" not in full + reduced
    assert [line for line in full.splitlines() if line and line not in reduced.splitlines()] == [
        "## Method",
        "Mind the sum rule.",
    ]
    assert method_passages(PROMPT) == ["## Method\n\nMind the sum rule."]


@given(st.lists(st.text("abc .#", min_size=1, max_size=9), max_size=6), st.lists(st.booleans(), max_size=6))
def test_reduced_lines_are_a_subsequence_of_full_ones(lines: list[str], marked: list[bool]) -> None:
    parts = []
    for line, method in zip(lines, marked, strict=False):
        parts += [BEGIN, line, END] if method else [line]
    source = "\n".join(parts)
    full = iter(render(source, Guidance.FULL, {}).splitlines())
    assert all(line in full for line in render(source, Guidance.REDUCED, {}).splitlines() if line)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (f"a\n{END}\n", "line 2"),
        (f"{BEGIN}\n{BEGIN}\n{END}", "line 2"),
        (f"{BEGIN}\na", "never closed"),
        ("{{nothing}}", "not in the task's goal, which has x"),
    ],
)
def test_marks_and_names_that_do_not_fit_are_told(source: str, words: str) -> None:
    with pytest.raises(MatAssayError, match=rf"p\.md.*{words}"):
        render(source, Guidance.FULL, {"x": 1}, "p.md")


def test_task_file_is_read(tmp_path) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(SPEC)
    spec = read_spec(file)
    assert (spec.title, spec.limits.steps, spec.seeds.kind, spec.category) == ("A toy", 100, "fixed", "Run and analyze")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("revision: 1", "revision: 0"), "field revision"),
        (("title: A toy", ""), "field title"),
        (("kind: run_and_analyze", "kind: cook"), "field kind.*cook"),
        (("title: A toy", "title: A toy\ntitel: x"), "field titel"),
        (("title: A toy", "title: A toy\ntitle: B"), "stands twice"),
        (("title: A toy", "title: A toy\nlimits: {steps: many}"), r"field limits\.steps.*many"),
        (("title: A toy", "title: A toy\ninputs: {../x: y}"), r"inputs.*relative name"),
        (("title: A toy", "title: A toy\nstages: [{name: a, title: b}]"), "field stages"),
        (('answer: {fields: {x: {type: number, unit: "1"}}}', ""), "field answer"),
        (("id: ", "id: [\n"), "cannot be read"),
    ],
)
def test_what_is_wrong_with_a_task_file_is_said_with_file_and_field(
    tmp_path, change: tuple[str, str], words: str
) -> None:
    file = tmp_path / "task.yaml"
    file.write_text(SPEC.replace(*change))
    with pytest.raises(MatAssayError, match=rf"(?s)task\.yaml.*{words}"):
        read_spec(file)


def test_a_list_is_no_task_file(tmp_path) -> None:
    (tmp_path / "task.yaml").write_text("- a\n")
    with pytest.raises(MatAssayError, match="mapping of fields, got list"):
        read_spec(tmp_path / "task.yaml")


def test_cells_are_what_stands_between_marks() -> None:
    script = textwrap.dedent("""\
        # %% read
        a = 1
        # %%
        b = a

        # %% write
        c = 2
        """)
    assert cells_of(script) == ["a = 1\n", "b = a\n", "c = 2\n"]


def test_a_near_miss_changes_each_fragment_once() -> None:
    solution = "x = 2 * pi * f\n# %%\nprint(x)\n"
    made = attempt(Miss("ordinary", "no 2 pi", {"2 * pi * f": "f"}), solution, "near_misses.py")
    policy = made.policy(None)  # type: ignore[arg-type]
    assert next(policy)["code"] == "x = f\n"
    for old, count in (("y", 0), ("x", 2)):
        with pytest.raises(MatAssayError, match=f"occurs {count} times"):
            attempt(Miss("m", "", {old: "z"}), solution, "near_misses.py").policy(None)  # type: ignore[arg-type]


def test_a_policy_whose_cell_fails_breaks_off() -> None:
    from matassay.core import Observation

    policy = attempt(Miss("m", "", cells=["1/0", "2"]), "", "n.py").policy(None)  # type: ignore[arg-type]
    next(policy)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        policy.send(Observation(text="ZeroDivisionError", extra={"failed": True}))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1/0", "ZeroDivisionError"),
        ("MISSES = 3", "expected a tuple"),
        ("MISSES = ('a',)", "expected a Miss"),
        ("from matassay.suites.research import Miss\nMISSES = (Miss('a', 'b'),)", "changes or cells"),
    ],
)
def test_what_is_wrong_with_near_misses_is_said(tmp_path, content: str, words: str) -> None:
    file = tmp_path / "near_misses.py"
    file.write_text(content)
    with pytest.raises(MatAssayError, match=rf"near_misses\.py.*{words}"):
        read_variations(file)


def test_differences_are_those_beyond_rounding() -> None:
    stored = {"a": [1.0, 2.0], "b": {"c": 3, "d": "x"}, "e": 0.0, "f": 1e6}
    assert (
        list(differences(stored, {"a": [1.0, 2.0 + 1e-12], "b": {"c": 3, "d": "x"}, "e": 1e-15, "f": 1e6 + 1e-3})) == []
    )
    found = {d.path: d.relative for d in differences(stored, {"a": [1.0, 2.2], "b": {"c": 4, "d": "y"}, "e": 0.0})}
    assert found == {"a[1]": pytest.approx(0.0909, abs=1e-4), "b.c": 0.25, "b.d": None, "f": None}
