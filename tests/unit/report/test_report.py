"""From rows to tables and files."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from matassay.core import Outcome
from matassay.report import (
    RunSettings,
    Subject,
    report_csv,
    report_html,
    report_json,
    summarise,
    write_report,
)
from matassay.report._quality import quantities
from matassay.report._report import COLUMNS, write_whole
from tests.unit.report.rows import row, rows

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"quoted\" 'single' $x_1$ \u2028 \ud800 ="


def overall(results, **subject):
    return next(r for r in summarise(results).tables["overall"] if not subject or r.subject == Subject(**subject))


def test_numbers_of_a_row():
    r = overall(
        [
            row("s01-a", 0, True, steps=4),
            row("s01-a", 1, False, steps=8, consequences=[{"name": "trip", "step": 2}, {"name": "trip", "step": 3}]),
            row("s02-b", 0, True, steps=6, invalid_actions=0),
            row("s02-b", 1, False, outcome=Outcome.LIMIT, steps=50, score=0.0),
            row("s02-b", 2, None, steps=3, invalid_actions=3),
            row("s02-b", 3, None, outcome=Outcome.GRADER_ERROR),
        ]
    )
    assert (r.attempted, r.scored, r.successes, r.tasks, r.seeds) == (6, 4, 2, 2, 4)
    assert r.excluded == {"environment_error": 1, "grader_error": 1}
    assert r.outcomes == {"scored": 3, "limit": 1, "environment_error": 1, "grader_error": 1}
    assert r.success.rate == 0.5
    assert r.success_bounds == (2 / 6, 4 / 6)
    assert r.score == (1 + 0.5 + 1 + 0) / 4
    assert r.score_bounds == pytest.approx((2.5 / 6, 4.5 / 6))
    assert r.steps == (4 + 8 + 6 + 50) / 4
    assert r.steps_on_success == 5
    assert (r.false_terminations, r.false_termination_rate) == (1, 0.25)  # the limit was no claim to be done
    assert (r.invalid_actions, r.invalid_action_rate) == (3, 3 / 68)
    assert r.consequences == {"trip": 1}
    assert r.usage == {"input": 60, "cache_read": 120, "cache_write": 180, "output": 240}
    assert r.cost == 1.5
    assert r.pass_at_k == [0.5, 1.0]
    assert r.pass_hat_k == [0.5, 0.0]


def test_measures_are_averaged_where_they_are():
    results = [
        *(row(seed=n, measures={"psnr_db": v, "best_psnr_db": v + 1}) for n, v in enumerate((20.0, 30.0, 70.0))),
        row(seed=3, measures={"sharpness": 0.25}),
        row(seed=4),
        row(seed=5, success=None, measures={"psnr_db": 1.0}),
    ]
    r = overall(results)
    assert r.to_json()["measures"] == {
        "best_psnr_db": {"n": 3, "mean": 41.0, "median": 31.0},
        "psnr_db": {"n": 3, "mean": 40.0, "median": 30.0},
        "sharpness": {"n": 1, "mean": 0.25, "median": 0.25},
    }
    assert (r.success.rate, r.score) == (1.0, 1.0)
    text = report_html(summarise(results))
    (section,) = re.findall(r'<section id="quality">.*?</section>', text, re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", section).split()
    assert "PSNR, dB" in section
    assert " ".join(words).count("3 40.0 (30.0) 41.0 (31.0) 1 0.250 (0.250)") == 2  # of the model, and of its one task
    assert ">Quality</a>" in text
    first, *_, last = csv.DictReader(io.StringIO(report_csv(summarise(results))))
    assert tuple(first) == (*COLUMNS, "measure_best_psnr_db", "measure_psnr_db", "measure_sharpness")
    assert (first["measure_psnr_db"], first["measure_sharpness"], last["measure_psnr_db"]) == ("20.0", "", "1.0")


def test_a_best_value_that_fewer_episodes_have_says_so():
    text = report_html(
        summarise([row(measures={"snr": 5.0, "best_snr": 7.0}), row(seed=1, measures={"snr": 6.0}), row(seed=2)])
    )
    assert re.search(r'5\.50 <span class="small">\(5\.50\)</span>.*7\.00 <span class="small">\(7\.00\) of 1<', text)


def test_nothing_is_said_of_quality_where_nothing_was_measured():
    text = report_html(summarise([row(), row(seed=1, success=None, measures={"psnr_db": 3.0})]))
    assert "quality" not in re.sub(r"Measures of quality are what.*", "", text)
    assert overall([row()]).measures == {}


def test_names_of_measures_in_words():
    found = [(q.label, q.unit, q.best) for q in quantities(
        ["psnr_db", "best_psnr_db", "best_alone_nm", "sharpness", "sharpness_cycles_per_px", "px", "rms_focus_um", ""]
    )]  # fmt: skip
    assert found == [
        ("", "", None), ("best alone", "nm", None), ("PSNR", "dB", "best_psnr_db"), ("px", "", None),
        ("RMS focus", "µm", None), ("sharpness", "", None), ("sharpness", "cycles/px", None),
    ]  # fmt: skip


def test_unknown_is_null_and_never_zero():
    r = overall([row(usage={}, cost=None), row(seed=1, usage={"input": 5}, cost=1.0)])
    assert r.cost is None
    assert r.usage == {"input": 5, "cache_read": None, "cache_write": None, "output": None}
    nothing = overall([row(success=None)])
    assert nothing.success is None
    assert nothing.score is None
    assert nothing.steps is None
    assert nothing.false_termination_rate is None
    assert nothing.success_bounds == nothing.score_bounds == (0.0, 1.0)
    assert nothing.pass_at_k == []


def test_tables_keep_apart_who_acted_and_what_they_were_told():
    s = summarise(
        [
            row(guidance="full"),
            row(guidance="reduced"),
            row(model="maker/other"),
            row(agent="null", model="reference/null", success=False),
            row(agent="reference", model="reference/reference"),
            row("workflow", span="workflow", level="hard", group="sem"),
        ]
    )
    assert [x.label for x in s.subjects] == ["maker/model", "maker/other", "reference", "null"]
    assert [(r.subject.label, r.guidance) for r in s.tables["overall"]] == [
        ("maker/model", "full"), ("maker/model", "reduced"), ("maker/other", "full"), ("reference", "full"),
        ("null", "full"),
    ]  # fmt: skip
    assert [r.key for r in s.rows("level", Subject("gui", "maker/model"))] == ["easy", "easy", "hard"]
    assert {r.key for r in s.tables["group"]} == {"instruments/xrd", "instruments/sem"}
    assert {r.key for r in s.tables["span"]} == {"single", "workflow"}


def warnings_of(*results):
    return "\n".join(summarise(results).warnings)


def test_warnings():
    many = [row(seed=n) for n in range(3)]
    scripted = [row(seed=n, agent=a, model="") for n in range(3) for a in ("reference", "null", "random")]
    assert warnings_of(*many, *scripted) == ""
    assert "No null row for any of maker/model's tasks" in warnings_of(*many, *scripted[::3], *scripted[2::3])
    assert "only 1 seed " in warnings_of(row())
    assert "1 of 2 episodes could not be graded (1 environment error)" in warnings_of(row(), row(seed=1, success=None))
    assert "different task revisions (1, 2)" in warnings_of(row(), row(seed=1, task_revision=2))
    assert "graded by different grading code" in warnings_of(row(), row(seed=1, grader_checksum="f" * 16))
    assert "different tool mappings are mixed (function, native)" in warnings_of(
        row(), row(seed=1, tool_mapping="native")
    )
    assert "different versions of browser (1, 2)" in warnings_of(row(), row(seed=1, versions={"browser": "2"}))
    several = [row(f"s{t}", n, task_revision=n + 1) for t in range(3) for n in range(2)]
    assert "instruments/xrd/s0 and 2 more tasks: episodes of different task revisions" in warnings_of(*several)
    assert "2 episodes of the same seed" in warnings_of(row(), row(log="logs/b.eval"))
    assert "no finished episodes" in warnings_of()


def test_what_every_sandbox_has_of_its_own_is_no_version():
    rows = [
        row(seed=n, versions={"lammps": "1", "user": f"6{n} (we are root)", "memory_peak": f"{n}"}) for n in range(2)
    ]
    assert "different versions" not in warnings_of(*rows)
    assert summarise(rows).versions() == {"lammps": ["1"]}


def test_an_episode_given_twice_counts_once():
    assert overall([row(), row(), row(seed=1)]).attempted == 2


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(rows(), st.randoms())
def test_order_does_not_matter(results, rng):
    shuffled = list(results)
    rng.shuffle(shuffled)
    assert summarise(shuffled).to_json() == summarise(results).to_json()


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(rows())
def test_every_table_adds_up_and_stays_in_bounds(results):
    s = summarise(results)
    for name, table in s.tables.items():
        assert sum(r.attempted for r in table) == len(results), name
        assert sum(r.successes for r in table) == sum(bool(e.success) for e in results)
        for r in table:
            assert r.attempted == r.scored + sum(r.excluded.values()) == sum(r.outcomes.values())
            low, high = r.success_bounds
            assert 0 <= low <= high <= 1
            assert high - low == pytest.approx((r.attempted - r.scored) / r.attempted)
            if r.success is not None:
                assert r.success.low <= r.success.rate <= r.success.high
                assert low - 1e-12 <= r.success.rate <= high + 1e-12
                assert r.score_bounds[0] - 1e-12 <= r.score <= r.score_bounds[1] + 1e-12
                assert r.false_termination_rate <= 1 - r.success.rate + 1e-12
    json.loads(json.dumps(s.to_json(), allow_nan=False))


class Page(HTMLParser):
    """Elements that run or fetch something, and the text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.fetched: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.fetched += [
            v for k, v in attributes if k in ("src", "href", "xlink:href") and v and not v.startswith(("#", "data:"))
        ]
        self.handlers += [k for k, _ in attributes if k.startswith("on")]


def hostile_rows():
    return [
        row(seed=n, success=n != 1 and None if n == 2 else n == 0, model=HOSTILE, level=HOSTILE, category=HOSTILE,
            criteria={HOSTILE: False}, consequences=[{"name": HOSTILE, "step": None}], error=HOSTILE,
            group=HOSTILE, tool_mapping=HOSTILE, versions={HOSTILE: HOSTILE}, log=HOSTILE,
            measures={HOSTILE: 1.0, "best_" + HOSTILE: 1e99, "": -1e99})
        for n in range(3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "results", [[], [row(success=None)], [row()], hostile_rows()], ids=["empty", "ungraded", "one", "hostile"]
)
def test_page_is_whole_and_loads_nothing(results):
    text = report_html(summarise(results, [RunSettings(HOSTILE, HOSTILE, {HOSTILE: HOSTILE})]))
    page = Page(text)
    assert page.fetched == []
    assert page.handlers == []
    assert not {"script", "iframe", "object", "img", "link"} & set(page.tags)
    for svg in re.findall(r"<svg.*?</svg>", text, re.DOTALL):
        ET.fromstring(svg)
    ids = re.findall(r'\bid="([^"]+)"', text)
    assert len(ids) == len(set(ids))


def test_page_names_what_a_reader_needs():
    results = [row(seed=n, success=n > 0) for n in range(5)] + [row(seed=9, success=None)]
    text = report_html(summarise(results, [RunSettings("logs/a.eval", "2026-11-29", {"step_limit": "50"})]))
    for needed in ("80.0 %", "5 of 6", "arXiv:2107.03374", "0123456789abcdef", "step limit", "environment error",
                   "maker/model", "1 group: too few to cluster by", "$1.50"):  # fmt: skip
        assert needed in text, needed


def test_a_row_of_an_episode_is_short_and_opens():
    many = {f"check_{n}": False for n in range(60)}
    shared = dict.fromkeys(many, "answer.json is not there")
    own = {name: f"{name}: 3 differs from the reference" for name in many}
    text = report_html(
        summarise(
            [
                row("s01-a", success=False, criteria=many, messages=shared),
                row("s02-b", success=False, criteria=many, messages=own),
                row("s03-c", success=None, error="the page crashed " * 20),
            ]
        )
    )
    episodes = text[text.index('<section id="episodes"') :]
    assert "60 checks fail: answer.json is not there</td>" in episodes
    assert "<summary>check_0: 3 differs from the reference and 59 more</summary>" in episodes
    assert "<li>check_19: 3 differs from the reference</li><li>40 more</li>" in episodes
    summaries = re.findall(r"<summary>(.*?)</summary>", episodes)
    assert all(len(s) < 130 for s in summaries)
    assert len(summaries) == 3  # that of the section, and those of two long rows
    # What all ids begin with is no news.
    assert '<td class="key" title="instruments/xrd/s01-a">s01-a</td>' in episodes
    tasks = text[text.index('<section id="tasks"') : text.index('<section id="mishaps"')]
    assert '<td class="key">s02-b</td>' in tasks


def test_groups_and_conditions_have_words_of_their_own():
    results = [row(group="sem", labels={"code": []}), row(group="xrd", guidance="reduced", labels={"code": ["VASP"]})]
    text = report_html(summarise(results))
    nav = re.findall(r'<a href="#(\w+)">([^<]+)</a>', text)
    assert {at: words for at, words in nav if at in ("groups", "four")} == {
        "groups": "Span, level, group",
        "four": "Conditions",
    }
    assert len({words for _, words in nav}) == len(nav)
    assert all(f'id="{at}"' in text for at, _ in nav)
    assert "<th>group</th>" in text
    assert "instruments/<wbr>sem" in text
    assert ">instrument</th>" not in text
    assert ">no named code</td>" in text


def test_plots_are_the_same_every_time():
    results = [row(f"s{n:02}", n % 3, n % 4 > 0) for n in range(12)]
    assert report_html(summarise(results)) == report_html(summarise(results))


def test_csv():
    text = report_csv(
        summarise(
            [
                row(consequences=[{"name": "trip", "step": 4}]),
                row(seed=1, success=False),
                row(seed=2, success=None, error="=1+1"),
            ]
        )
    )
    first, second, third = csv.DictReader(io.StringIO(text))
    assert tuple(first) == COLUMNS
    assert (first["success"], second["success"], third["success"]) == ("true", "false", "")
    assert (first["condition"], first["consequences"], first["failed_criteria"]) == ("SF", "trip@4", "")
    assert (second["failed_criteria"], second["false_termination"]) == ("loaded", "true")
    assert third["score"] == ""
    assert third["error"] == "'=1+1"  # no spreadsheet may take it for a formula
    assert first["cache_write_tokens"] == "30"


@pytest.mark.parametrize("results", [[], hostile_rows(), [row()]])
def test_json(results):
    document = json.loads(report_json(summarise(results)), parse_constant=lambda c: pytest.fail(c))
    assert next(iter(document)) == "schema_version"
    assert document["schema_version"] == 1
    assert set(document["tables"]) == {"overall", "span", "level", "category", "group", "task"}
    assert len(document["tables"]["overall"]) == (1 if results else 0)


def test_files_are_whole_or_not_there(tmp_path):
    files = write_report([row()], tmp_path / "new")
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["report.csv", "report.html", "report.json"]
    assert files.html.read_text("utf-8").rstrip().endswith("</html>")
    old = write_whole(tmp_path / "page", "old")
    with pytest.raises(TypeError):
        write_whole(old, None)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "full").touch()
    with pytest.raises(OSError, match="taken"):
        write_whole(tmp_path / "taken", "new")
    assert old.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["new", "page", "taken"]


def test_many_subjects_and_seeds_can_be_drawn():
    results = [row(f"s{n % 4:02}", n // 4, n % 3 > 0, model=f"maker/m{n % 7}", steps=n) for n in range(88)]
    text = report_html(summarise(results))
    assert text.count("<figure>") > 9
    assert not math.isnan(len(text))


def test_one_change_of_the_grading_code_is_one_warning():
    results = [row(f"s{n:02}", s, grader_checksum=f"{n}{s}") for n in range(9) for s in range(3)]
    (told,) = [w for w in summarise(results).warnings if "grading code" in w]
    assert told.startswith("instruments/xrd/s00 and 8 more tasks: graded by different grading code")
    few = summarise([r for r in results if r.id < "instruments/xrd/s02"]).warnings
    assert sum("grading code (" in w for w in few) == 2
