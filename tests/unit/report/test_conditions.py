"""The four conditions, repeated runs and causes of failures, counted by hand."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from matassay.core import EpisodeResult, Failure, MatAssayError, Outcome
from matassay.report import (
    Overrule,
    _matrix,
    _plots,
    find_overrules,
    read_overrules,
    report_html,
    report_json,
    run_key,
    summarise,
    write_report,
)
from matassay.report import _conditions as c

COLOURS = {"passed": _plots.SUCCESS, "failed": _matrix.FAILED, "not graded": _matrix.UNGRADED}


def run(
    task: str = "research/s12/020-x",
    *,
    span: str = "single",
    guidance: str = "full",
    seed: int = 0,
    passed: bool | None = True,
    agent: str = "code",
    model: str = "maker/m1",
    failures: dict[str, str] | None = None,
    outcome: Outcome = Outcome.SCORED,
    **other: object,
) -> EpisodeResult:
    graded = outcome.graded
    values = {"cost": 0.5, "category": "Run and analyze", "labels": {"code": ["LAMMPS"], "method": []}} | other
    return EpisodeResult(
        task, span, guidance, seed, outcome, passed if graded else None, 1.0 if passed else 0.2, 4, 0,
        {"a": bool(passed)}, [], 1, "abc", suite="research", group="s12", agent=agent, model=model,
        failures=failures or {}, messages={"a": "a is wrong"} if passed is False else {}, **values,
    )  # type: ignore[arg-type]  # fmt: skip


def test_rates_of_the_four_conditions_and_their_differences() -> None:
    summary = summarise(
        [
            *(run(f"research/s12/{n}-x", passed=n < 3) for n in range(4)),
            *(run(f"research/s12/{n}-x", guidance="reduced", passed=n < 1) for n in range(4)),
            *(run("research/s12/c04", span="workflow", seed=n, passed=n < 1) for n in range(2)),
            run("research/s12/9-x", passed=None, outcome=Outcome.ENVIRONMENT_ERROR),
        ]
    )
    (found,) = c.quarters(summary)
    assert {k: (r.passed, r.runs) for k, r in found.rates.items()} == {
        "SF": (3, 4),
        "SR": (1, 4),
        "WF": (1, 2),
        "WR": (0, 0),
    }
    assert found.difference("SR", "SF") == pytest.approx(-50.0)
    assert found.difference("WF", "SF") == pytest.approx(-25.0)
    assert found.difference("WR", "WF") is None


def test_kinds_with_their_cost_which_is_unknown_if_any_is() -> None:
    rows = [run("a/b/1", category="Prepare inputs", passed=False), run("a/b/2"), run("a/b/3")]
    (found,) = c.kinds(summarise(rows))
    assert {k: (r.passed, r.runs) for k, r in found.kinds.items()} == {
        "Prepare inputs": (0, 1),
        "Run and analyze": (2, 2),
    }
    assert found.cost == pytest.approx(1.5)
    (found,) = c.kinds(summarise([*rows, run("a/b/4", cost=None)]))
    assert found.cost is None


def test_mixed_tasks_passed_in_some_runs_and_failed_in_others() -> None:
    rows = [
        *(run("a/b/1", seed=n) for n in range(3)),
        *(run("a/b/2", seed=n, passed=n == 1) for n in range(3)),
        *(run("a/b/3", seed=n, passed=False) for n in range(3)),
        run("a/b/4"),
    ]
    (found,) = c.repeats(summarise(rows))
    assert (found.n, found.rate, found.tasks_by_passes, found.mixed) == (3, c.Rate(4, 9), (1, 1, 0, 1), 1)


def test_causes_by_rule_and_by_a_person() -> None:
    rows = [
        run(seed=0),
        run(seed=1, passed=False, failures={"a": "wrong_choice", "b": "format"}),
        run(seed=2, passed=False, failures={"a": "wrong_implementation"}),
        run(seed=3, passed=False, failures={"a": "wrong_choice"}, outcome=Outcome.LIMIT),
        run(seed=4, passed=False),
    ]
    summary = summarise(rows)
    (found,) = c.failures(summary, {})
    assert found.counts == {
        Failure.FORMAT: 1,
        Failure.WRONG_IMPLEMENTATION: 1,
        Failure.LIMIT: 1,
        Failure.UNCLASSIFIED: 1,
    }
    assert (found.runs, found.overruled, found.share(Failure.FORMAT)) == (5, 0, 0.2)
    said = {4: Failure.SOFTWARE_USAGE, 0: Failure.FORMAT}  # the second did not fail
    overrules = {run_key(rows[n]): Overrule(f, "me", "seen") for n, f in said.items()}
    (found,) = c.failures(summary, overrules)
    assert (found.counts[Failure.SOFTWARE_USAGE], found.counts.get(Failure.UNCLASSIFIED, 0), found.overruled) == (
        1,
        0,
        1,
    )


def test_labels_count_a_task_under_each_and_under_none() -> None:
    rows = [run("a/b/1", labels={"code": ["LAMMPS", "phonopy"]}), run("a/b/2", passed=False, labels={"code": []})]
    found = {(r.label, r.value): (r.rate.passed, r.rate.runs) for r in c.labels(summarise(rows))}
    assert found == {
        ("code", "LAMMPS"): (1, 1), ("code", "phonopy"): (1, 1), ("code", "none"): (0, 1), ("study", "s12"): (1, 2),
    }  # fmt: skip


def test_report_shows_them_and_the_form_can_be_read_back(tmp_path) -> None:
    failed = run(seed=1, passed=False, failures={"a": "format"})
    other = run(seed=2, passed=False, agent="reference", model="")
    files = write_report([run(), failed, other], tmp_path)
    page = files.html.read_text()
    assert "The four conditions" in page
    assert "50.0" in page
    assert "Why runs failed" in page
    assert files.failures is not None
    form = files.failures.read_text()
    assert run_key(failed).replace("#", "#") in form
    assert run_key(other) not in form
    (tmp_path / "failures.json").write_text(
        json.dumps({"overrules": [{"run": run_key(failed), "failure": "wrong_choice", "by": "me", "why": "seen"}]})
    )
    overrules = find_overrules([tmp_path])
    assert overrules == {run_key(failed): Overrule(Failure.WRONG_CHOICE, "me", "seen")}
    told = json.loads(report_json(summarise([failed]), overrules))["failures"]
    assert told[0]["counts"]["wrong_choice"] == 1
    assert told[0]["overruled"] == 1


def test_reasons_say_their_name_once_and_a_shared_cause_once() -> None:
    messages = {"gap": "gap: 2 is off", "motion": "si.in: IBRION is 2", "b": "no file", "c": "no file", "lit": "lit"}
    failed = dataclasses.replace(
        run(passed=False), criteria=dict.fromkeys([*messages, "silent"], False), messages=messages
    )
    (found,) = c.failed_runs(summarise([failed]), {})
    assert found.reasons == (
        "gap: 2 is off",
        "motion: si.in: IBRION is 2",
        "2 checks fail: no file",
        "lit: lit",
    )


def test_overrules_that_fit_no_failed_run_are_named() -> None:
    rows = [run(seed=0), run(seed=1, passed=False)]
    gone = "research/s12/old@full#0|code|maker/gone"
    overrules = dict.fromkeys([run_key(rows[1]), run_key(rows[0]), gone], Overrule(Failure.FORMAT, "me", "seen"))
    assert c.idle_overrules(rows, overrules) == [run_key(rows[0]), gone]


def test_no_form_where_nobody_failed(tmp_path) -> None:
    assert write_report([run()], tmp_path).failures is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        ("[]", "list 'overrules'"),
        ('{"overrules": [{"run": 1}]}', r"overrules\[0\]"),
        ('{"overrules": [{"run": "r", "failure": "format", "by": " ", "why": "x"}]}', "field by"),
        ('{"overrules": [{"run": "r", "failure": "bad luck", "by": "me", "why": "x"}]}', "field failure.*'bad luck'"),
        (json.dumps({"overrules": [{"run": "r", "failure": "format", "by": "me", "why": "x"}] * 2}), "stands twice"),
    ],
)
def test_what_is_wrong_with_a_file_of_overrules_is_said(tmp_path, content: str, words: str) -> None:
    (tmp_path / "failures.json").write_text(content)
    with pytest.raises(MatAssayError, match=words):
        read_overrules(tmp_path / "failures.json")


def test_many_runs_still_make_a_page() -> None:
    rows = [
        run(f"a/b/{t}", seed=s, passed=(s + t) % 3 > 0, model=f"maker/m{m}")
        for t in range(30)
        for s in range(2)
        for m in range(2)
    ]
    assert report_html(summarise(rows)).count("<svg") >= 3


def test_names_beside_plots_tell_tasks_apart() -> None:
    def short(*ids: str) -> list[str]:
        return [_plots._short(id, "task", ids) for id in ids]

    study = "research/a_study_of_many_words"
    assert short(f"{study}/0-task", f"{study}/1-task") == ["0-task", "1-task"]
    assert short(f"{study}/0-task", "instruments/a/s01") == [f"{study}/0-task", "instruments/a/s01"]
    assert short(f"{study}/0-a-longer-name", "instruments/a/s01") == ["0-a-longer-name", "s01"]
    assert all(len(name) <= _plots.LONGEST_NAME for name in short(f"{study}/0-a-longer-name", "a/0-a-longer-name"))


def test_one_model_in_two_harnesses_is_told_apart() -> None:
    """As in the paper's table 2, where a model runs in MatClaw and in Codex CLI."""
    summary = summarise([run(model="m/x"), run(model="m/x", agent="codex", passed=False), run(model="m/y")])
    assert [summary.name(s) for s in summary.subjects] == ["m/x (code)", "m/x (codex)", "m/y"]
    drawn = _matrix.quarters_plot(c.quarters(summary), summary.name, "q")
    assert "m/x (code)" in drawn
    assert "m/x (codex)" in drawn
    assert "m/x (codex)" in _matrix.failures_plot(c.failures(summary, {}), summary.name, "f")
    text = re.sub(r"<svg.*?</svg>", "", report_html(summary), flags=re.DOTALL)
    assert text.count("codex") > 8  # in every table


def test_guidances_are_compared_on_the_same_tasks() -> None:
    """As in the paper's figure 4: the 52 tasks whose reduced prompt differs; a task that lacks one leaves the square."""
    rows = [
        run("research/s12/1-x", passed=True),
        run("research/s12/2-x", passed=False),
        run("research/s12/3-x", passed=True),
        run("research/s12/1-x", guidance="reduced", passed=False),
        run("research/s12/2-x", guidance="reduced", passed=False),
        run("research/s12/3-x", guidance="reduced", passed=None, outcome=Outcome.ENVIRONMENT_ERROR),
        run("research/s12/c04", span="workflow"),
    ]
    (found,) = c.quarters(summarise(rows))
    assert {k: (r.passed, r.runs) for k, r in found.rates.items()} == {
        "SF": (1, 2), "SR": (0, 2), "WF": (1, 1), "WR": (0, 0),
    }  # fmt: skip
    (sf, *_) = c.kinds(summarise(rows))
    assert (sf.condition, sf.all) == ("SF", c.Rate(2, 3))  # the table of kinds has all


def test_every_run_is_drawn_singles_and_workflows_apart() -> None:
    """As in the paper's figure C1."""
    rows = [
        *(run(f"research/s12/{t}-x", seed=n, passed=t > 0) for t in range(2) for n in range(3)),
        run("research/s12/c04", span="workflow", passed=None, outcome=Outcome.ENVIRONMENT_ERROR),
    ]
    (singles, squares), (workflows, square) = _matrix.runs_plots(summarise(rows), "r")
    assert ("single tasks" in singles, "workflows" in workflows) == (True, True)
    fills = {name: (squares.count(f"fill: {c}"), square.count(f"fill: {c}")) for name, c in COLOURS.items()}
    assert fills == {"passed": (4, 1), "failed": (4, 1), "not graded": (1, 2)}  # one each in the legend
    many = [run(seed=n) for n in range(70)]
    ((caption, _),) = _matrix.runs_plots(summarise(many), "r")
    assert "The first 60 of 70 lines" in caption


def test_legends_stay_on_the_drawing_and_marks_differ_where_colours_repeat() -> None:
    rows = [run(f"a/b/{t}", model=f"maker/a-model-with-a-long-name-{m}") for t in range(2) for m in range(8)]
    summary = summarise(rows)
    drawn = _plots.success_plot(summary, "task", "full", "s")
    (width,) = re.findall(r'viewBox="0 0 ([\d.]+)', drawn)
    at = [
        float(x) for x in re.findall(r"a-model-with-a-long-name-\d -->\s*<g[^>]*transform=\"translate\(([\d.]+)", drawn)
    ]
    at += [float(x) for x in re.findall(r'<text[^>]*transform="translate\(([\d.]+)[^>]*>maker/a-model', drawn)]
    at += [float(x) for x in re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>maker/a-model', drawn)]
    assert len(at) == 8
    assert max(at) + 150 < float(width)
    assert (
        len({(_plots.colours(summary.subjects)[s], _plots.marks(summary.subjects)[s]) for s in summary.subjects}) == 8
    )
