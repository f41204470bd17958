"""From tasks to results through the engine, offline."""

from __future__ import annotations

import json
import math
import socket
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from matassay import evals
from matassay.core import Guidance, MatAssayError, Outcome
from matassay.evals._record import MAX_FILES
from tests.unit.evals import toy


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Nothing but loopback can be reached."""
    connect = socket.socket.connect

    def guarded(self, address):
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"connection to {address}")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)


def one(tmp_path, task=toy.LAMP, **options):
    (result,) = evals.run([task], log_dir=tmp_path, **{"agent": "reference", **options})
    return result


def only_log(folder):
    (info,) = list_eval_logs(str(folder))
    return read_eval_log(info)


def test_reference_null_random(tmp_path):
    seen = []
    for agent, success in (("reference", True), ("null", False), ("random", False)):
        results = evals.run(
            [toy.LAMP], agent=agent, guidances=list(Guidance), seeds=range(2), max_parallel=4, step_limit=20,
            log_dir=tmp_path, progress=lambda done, total, result: seen.append((done, total, result.sample_id)),
        )  # fmt: skip
        assert [r.success for r in results] == [success] * 4
        assert {r.outcome for r in results} == {Outcome.LIMIT if agent == "random" else Outcome.SCORED}
        assert {(r.agent, r.model, r.tool_mapping) for r in results} == {(agent, f"reference/{agent}", "scripted")}
        assert [r.sample_id for r in results][:2] == ["toy/lamp/s01-switch-on@full#0", "toy/lamp/s01-switch-on@full#1"]
    assert [d for d, _, _ in seen] == [*range(1, 5)] * 3
    assert {t for _, t, _ in seen} == {4}
    folder = evals.read_log_dir(tmp_path)
    assert len(folder.results) == 12
    assert folder.not_attempted == []
    row = folder.results[0]
    assert (row.suite, row.group, row.level, row.category) == ("toy", "lamp", "easy", "Experimental Execution")
    assert row.versions == {"lamp": "1.0"}
    assert row.usage == {"input": 0, "cache_read": 0, "cache_write": 0, "output": 0}
    assert Path(row.log).exists()


def test_outcomes_that_are_nobodys_fault_have_no_score(tmp_path):
    tasks = [toy.LAMP, toy.UNGRADABLE, toy.OUT_OF_STOCK]
    lamp, ungradable, broken = evals.run(tasks, agent="null", log_dir=tmp_path)
    assert lamp.outcome is Outcome.SCORED
    assert (ungradable.outcome, ungradable.success, ungradable.score) == (Outcome.GRADER_ERROR, None, None)
    assert (broken.outcome, broken.success, broken.score) == (Outcome.ENVIRONMENT_ERROR, None, None)
    assert "nothing here" in (ungradable.error or "")
    assert "no lamp in stock" in (broken.error or "")
    log = only_log(tmp_path)
    for sample in log.samples or []:
        value = sample.scores["verdict"].value
        assert list(value) == ["score", "success", "steps"]
        assert all(isinstance(v, float) for v in value.values())
    nan = [s for s in log.samples or [] if math.isnan(s.scores["verdict"].value["score"])]
    assert len(nan) == 2
    assert {s.name: s.metrics["mean"].value for s in log.results.scores if "mean" in s.metrics}["score"] == 0


@pytest.mark.parametrize(
    ("name", "outcome", "steps"),
    [
        ("unsaved", Outcome.SCORED, 2),
        ("raises", Outcome.AGENT_ERROR, 1),
        ("breaks", Outcome.ENVIRONMENT_ERROR, 0),
        ("bug", Outcome.ENVIRONMENT_ERROR, 0),
        ("mishap", Outcome.SCORED, 1),
    ],
)
def test_attempts_by_name(tmp_path, name, outcome, steps):
    result = one(tmp_path, model_args={"attempt": name}, retries=0)
    assert result.outcome is outcome
    assert result.agent == f"attempt:{name}"
    assert result.success is (False if outcome.graded else None)
    assert result.steps == steps
    assert [(c["name"], c["step"]) for c in result.consequences] == ([("flicker", 1)] if name == "mishap" else [])


def test_environment_errors_are_tried_again_a_bounded_number_of_times(tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    monkeypatch.setenv("TOY_TRACE", str(trace))
    result = one(tmp_path / "logs", toy.OUT_OF_STOCK, retries=2)
    assert result.outcome is Outcome.ENVIRONMENT_ERROR
    assert trace.read_text().split() == ["start", "0"] * 3


def test_a_second_attempt_starts_afresh(tmp_path, monkeypatch):
    act, broken = toy.Lamp.act, []

    async def breaks_once(self, action):
        if action.kind == "wait" and not broken:
            broken.append(True)
            raise toy.EnvironmentFailure("a passing cloud")
        await act(self, action)

    monkeypatch.setattr(toy.Lamp, "act", breaks_once)
    result = one(tmp_path)
    assert (result.outcome, result.success, result.steps, result.error) == (Outcome.SCORED, True, 4, None)


def test_step_limit(tmp_path):
    result = one(tmp_path, agent="random", step_limit=5)
    assert (result.outcome, result.steps, result.success) == (Outcome.LIMIT, 5, False)


def test_finishing_is_free(tmp_path):
    result = one(tmp_path, step_limit=4)
    assert (result.outcome, result.steps, result.success) == (Outcome.SCORED, 4, True)


def test_resume_does_only_what_is_left(tmp_path, monkeypatch):
    trace = tmp_path / "trace"
    logs = tmp_path / "logs"
    monkeypatch.setenv("TOY_TRACE", str(trace))
    evals.run([toy.LAMP], agent="null", seeds=range(2), log_dir=logs)
    evals.run([toy.LAMP], agent="null", seeds=range(2), log_dir=logs)
    assert trace.read_text().split() == ["start", "0", "start", "1"]
    evals.run([toy.LAMP, toy.SECOND], agent="null", seeds=range(3), log_dir=logs)
    assert len(trace.read_text().splitlines()) == 6
    evals.run([toy.LAMP], agent="null", seeds=[1], step_limit=3, log_dir=logs)  # another experiment
    assert len(trace.read_text().splitlines()) == 7
    assert len(evals.read_results(logs)) == 7


def test_a_broken_environment_is_tried_again_by_the_next_run(tmp_path, monkeypatch):
    tasks = [toy.LAMP, toy.OUT_OF_STOCK]
    for _ in range(2):
        lamp, broken = evals.run(tasks, agent="null", log_dir=tmp_path, retries=0)
        assert (lamp.outcome, broken.outcome) == (Outcome.SCORED, Outcome.ENVIRONMENT_ERROR)
    mended = replace(toy.OUT_OF_STOCK, scenario=toy.scenario)
    monkeypatch.setattr("tests.unit.evals.toy.SUITE", replace(toy.SUITE, tasks=(toy.LAMP, mended)))
    seen = []
    for _ in range(2):
        results = evals.run(
            [toy.LAMP, mended], agent="null", log_dir=tmp_path,
            progress=lambda done, total, result: seen.append((done, total, result.id)),
        )  # fmt: skip
        assert [r.outcome for r in results] == [Outcome.SCORED] * 2
    assert seen == [(2, 2, mended.id)]
    assert len(evals.read_results(tmp_path)) == 2


def test_time_limit_ends_a_hanging_episode_and_is_graded(tmp_path, monkeypatch):
    async def hang(self, action):
        await anyio.sleep_forever()

    monkeypatch.setattr(toy.Lamp, "act", hang)
    result = one(tmp_path, time_limit=3)
    assert (result.outcome, result.success, result.score) == (Outcome.LIMIT, False, 0)


def test_steps_are_kept_for_the_replay(tmp_path):
    one(tmp_path)
    sample = only_log(tmp_path).samples[0]
    records = sample.store["Record:records"]
    assert [(r["step"], r["turn"], r["action"]["action"]) for r in records] == [
        (1, 1, "screenshot"), (2, 2, "left_click"), (3, 3, "wait"), (4, 4, "left_click"),
    ]  # fmt: skip
    assert [m.role for m in sample.messages] == ["system", "user", *["assistant", "tool"] * 4, "assistant"]


def test_the_state_is_kept_as_changes(tmp_path):
    one(tmp_path)
    store = only_log(tmp_path).samples[0].store
    assert store["Record:initial"] == {"on": False, "files": 0}
    assert [r["changes"] for r in store["Record:records"]] == [{}, {"on": True}, {}, {"files": 1}]


def test_measures_stand_beside_success(tmp_path, monkeypatch):
    assert [one(tmp_path / agent, agent=agent).measures for agent in ("reference", "null")] == [
        {"light_percent": 100.0},
        {"light_percent": 0.0},
    ]
    (info,) = list_eval_logs(str(tmp_path / "reference"))
    ((old, new),) = evals.regrade(info.name.removeprefix("file://"))
    assert old.measures == new.measures == {"light_percent": 100.0}
    (row,) = evals.read_results(tmp_path / "reference")
    assert row.measures == {"light_percent": 100.0}
    assert "measures" not in row.contract()
    # What a world says of quality does not touch the verdict, whatever it says.
    monkeypatch.setattr("matassay.evals._scorer.measures", lambda values: {})
    ((_, bare),) = evals.regrade(info.name.removeprefix("file://"))
    assert (bare.measures, bare.success, bare.score) == ({}, row.success, row.score)


def test_a_world_that_broke_at_its_start_has_no_measures(tmp_path):
    assert one(tmp_path, toy.OUT_OF_STOCK).measures == {}


def test_a_changed_task_is_run_again(tmp_path, monkeypatch):
    one(tmp_path)
    changed = replace(toy.LAMP, revision=2)
    monkeypatch.setattr("tests.unit.evals.toy.SUITE", replace(toy.SUITE, tasks=(changed,)))
    assert one(tmp_path, changed).task_revision == 2


def test_logs_hold_neither_truth_nor_start_state(tmp_path):
    one(tmp_path)
    text = only_log(tmp_path).model_dump_json()
    assert "hidden-0" not in text
    assert "Switch the lamp on" in text


def test_regrade_gives_the_same_offline_and_keeps_both_checksums(tmp_path, monkeypatch):
    before = evals.run([toy.LAMP, toy.UNGRADABLE], agent="reference", seeds=range(2), log_dir=tmp_path)
    monkeypatch.setattr(toy.Lamp, "start", None)  # no world can be opened any more
    (info,) = list_eval_logs(str(tmp_path))
    path = Path(info.name.removeprefix("file://"))
    pairs = evals.regrade(path)
    assert [replace(new, log="") for _, new in pairs] == [replace(old, log="") for old, _ in pairs]
    assert sorted((r.sample_id, r.score) for r, _ in pairs) == sorted((r.sample_id, r.score) for r in before)

    monkeypatch.setattr("matassay.evals._scorer.grader_checksum", lambda task: "0123456789abcdef")
    repaired = replace(toy.UNGRADABLE, criteria=toy.GOALS, revision=2)
    monkeypatch.setattr("tests.unit.evals.toy.SUITE", replace(toy.SUITE, tasks=(toy.LAMP, repaired)))
    evals.regrade(path)
    after = {r.sample_id: r for r in evals.read_results(tmp_path)}
    assert {r.outcome for r in after.values()} == {Outcome.SCORED}
    assert {r.score for r in after.values()} == {1.0}
    assert {r.grader_checksum for r in after.values()} == {"0123456789abcdef"}
    score = only_log(tmp_path).samples[0].scores["verdict"]
    assert score.metadata["previous_checksum"] == before[0].grader_checksum
    assert score.history[0].metadata["grader_checksum"] == before[0].grader_checksum


def test_altered_evidence_is_not_graded(tmp_path):
    from inspect_ai.log import write_eval_log

    one(tmp_path)
    log = only_log(tmp_path)
    store = log.samples[0].store
    (digest,) = store["Record:files"]
    other = toy.Artefact.of("lamp.txt", b"lamp 1 forged")
    import base64
    import zlib

    store["Record:files"][digest] = base64.b64encode(zlib.compress(other.data)).decode()
    path = tmp_path / "forged.eval"
    write_eval_log(log, str(path))
    ((old, new),) = evals.regrade(path)
    assert (old.outcome, new.outcome) == (Outcome.SCORED, Outcome.GRADER_ERROR)
    assert "does not match its digest" in (new.error or "")


def test_inspect_score_works_on_our_logs(tmp_path):
    from inspect_ai import score

    from matassay.evals._scorer import verdict

    one(tmp_path)
    again = score(only_log(tmp_path), verdict(), action="overwrite", display="none")
    assert again.samples[0].scores["verdict"].value == {"score": 1.0, "success": 1.0, "steps": 4.0}


def test_long_lists_survive_the_summary(tmp_path, monkeypatch):
    versions = {f"package-{i}": "1.2.3" for i in range(100)}
    evidence = toy.Lamp.evidence

    async def verbose(self):
        return replace(await evidence(self), versions=versions)

    monkeypatch.setattr(toy.Lamp, "evidence", verbose)
    assert one(tmp_path, agent="null").versions == versions


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": {"on": object()}}, "not JSON"),
        ({"state": {"on": math.nan}}, "not JSON"),
        ({"artefacts": (toy.Artefact("huge", "x/y", "0" * 64, MAX_FILES + 1, b""),)}, "more than"),
    ],
)
def test_evidence_that_cannot_be_kept_is_the_environments_fault(tmp_path, monkeypatch, change, words):
    evidence = toy.Lamp.evidence

    async def bad(self):
        return replace(await evidence(self), **change)

    monkeypatch.setattr(toy.Lamp, "evidence", bad)
    result = one(tmp_path, agent="null", retries=0)
    assert result.outcome is Outcome.ENVIRONMENT_ERROR
    assert words in (result.error or "")


def test_bad_use(tmp_path):
    with pytest.raises(MatAssayError, match="no episode"):
        evals.run([], agent="null", log_dir=tmp_path)
    with pytest.raises(MatAssayError, match="known: reference, null, random, gui"):
        evals.run([toy.LAMP], agent="nobody", log_dir=tmp_path)
    with pytest.raises(MatAssayError, match="needs a model"):
        evals.run([toy.LAMP], log_dir=tmp_path)
    with pytest.raises(MatAssayError, match="takes no model"):
        evals.run([toy.LAMP], agent="null", model="openai/gpt-6", log_dir=tmp_path)
    with pytest.raises(MatAssayError, match="cannot be used"):
        evals.run([toy.LAMP], model="reference/nobody", log_dir=tmp_path)


def test_nothing_is_printed_but_by_the_caller(tmp_path, capsys):
    one(tmp_path, progress=lambda done, total, result: print(done))
    assert capsys.readouterr().out == "1\n"


def test_a_person_plays(tmp_path):
    async def attend(session):
        world = session.episode.world
        for action in ({"action": "left_click", "coordinate": [120, 110]}, {"action": "key", "text": "F7"}):
            try:
                await world.act(toy_action(action))
                await session.gesture(action, image=(await session.live.look()).image)
            except toy.InvalidAction as refused:
                await session.gesture(action, error=str(refused))

    result = evals.play(toy.LAMP, 0, log_dir=tmp_path, attend=attend, open_world=toy.Lamp)
    assert (result.agent, result.model, result.outcome) == ("human", "", Outcome.SCORED)
    assert (result.steps, result.invalid_actions, result.score) == (2, 1, 0.5)
    assert evals.read_results(tmp_path) == [result]
    sample = only_log(tmp_path).samples[0]
    assert [m.role for m in sample.messages] == ["user", "user"]
    assert [r["action"]["action"] for r in sample.store["Record:records"]] == ["left_click", "key"]
    assert sample.store["Record:initial"] == {"on": False, "files": 0}
    assert [r["changes"] for r in sample.store["Record:records"]] == [{"on": True}, {}]
    assert result.measures == {"light_percent": 100.0}


def toy_action(raw):
    from matassay.core import parse_action

    return parse_action(raw)


def test_sample_ids_and_metadata():
    (sample,) = evals.samples([toy.LAMP], [Guidance.REDUCED], [3])
    assert sample.id == "toy/lamp/s01-switch-on@reduced#3"
    assert evals.split_sample_id(str(sample.id)) == ("toy/lamp/s01-switch-on", "reduced", 3)
    assert set(sample.metadata) == {
        "task", "title", "guidance", "seed", "suite", "group", "span", "level", "category", "task_revision",
        "grader_checksum", "goal", "labels",
    }  # fmt: skip
    assert json.loads(json.dumps(sample.metadata)) == sample.metadata
