"""What models send, and what becomes of logs, that nobody would expect: none of it may touch other episodes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import zipfile
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import ModelAPI, ModelCall, ModelOutput, modelapi

from matassay import evals
from matassay.core import Outcome, UnknownTask, UnreadableLog
from matassay.report.logs import read_replays, read_settings
from tests.unit.evals import toy

SCRIPT: list[ModelOutput] = []


@modelapi(name="script")
class Script(ModelAPI):
    """Answers with the lines of `SCRIPT`."""

    async def generate(self, input, tools, tool_choice, config):  # noqa: A002 - the engine's name
        output = SCRIPT[sum(m.role == "assistant" for m in input)]
        return output, ModelCall.create({"said": "\ud800"}, {"raw": ["\ud800"]})


def call(*many, **arguments):
    output = ModelOutput.for_tool_call("script/x", "computer", arguments)
    message = output.choices[0].message
    for i, more in enumerate(many):
        extra = ModelOutput.for_tool_call("script/x", "computer", more).choices[0].message.tool_calls[0]
        extra.id = f"more{i}"
        message.tool_calls.append(extra)
    return output


def say(text):
    return ModelOutput.from_content("script/x", text)


def act(tmp_path, *script, tasks=(toy.LAMP,), **options):
    SCRIPT[:] = [*script, say("Done. \udfff")]
    return evals.run(list(tasks), log_dir=tmp_path, model="script/x", retries=0, **options)


@pytest.mark.parametrize("key", ["text", "strange \ud800"])
def test_half_a_surrogate_pair_harms_nobody(tmp_path, key):
    results = act(
        tmp_path, call(action="type", text="a\ud800b"), call(actions=[{"action": "key", key: "\udfff"}]),
        tasks=[toy.LAMP, toy.SECOND], max_parallel=2,
    )  # fmt: skip
    assert [r.outcome for r in results] == [Outcome.SCORED] * 2
    assert [r.steps for r in results] == [2, 2]
    (info,) = list_eval_logs(str(tmp_path))
    sample = read_eval_log(info).samples[0]
    assert sample.store["Record:records"][0]["action"] == {"action": "type", "text": "a\ufffdb"}
    assert sample.messages[-1].text == "Done. \ufffd"


@pytest.mark.parametrize(
    "arguments",
    [
        {"action": "left_click", "coordinate": [10**400, 1]},
        {"action": "wait", "duration": 10**5000},
        {"actions": [{"action": "wait", "duration": 10**400}]},
        {"action": "left_click", "coordinate": 7},
        {"actions": "left_click"},
        {"actions": [1, None]},
        {"region": {"a": 1}, "action": "zoom"},
    ],
)
def test_an_agent_cannot_void_its_own_episode(tmp_path, arguments):
    (result,) = act(tmp_path, call(**arguments), call(action="left_click", coordinate=[120, 110]))
    assert (result.outcome, result.steps, result.invalid_actions) == (Outcome.SCORED, 2, 1)
    assert result.score == 0.5
    (info,) = list_eval_logs(str(tmp_path))
    tools = [m for m in read_eval_log(info).samples[0].messages if m.role == "tool"]
    assert "Refused: " in tools[0].text
    assert [[c.type for c in m.content].count("image") for m in tools] == [1, 1]


def test_whatever_the_engine_raises_for_arguments_is_refused(tmp_path, monkeypatch):
    from inspect_ai.model import _call_tools

    convert = _call_tools.tool_params

    def strict(given, function):
        if given.get("text") == "bad":
            raise OverflowError("int too large to convert to float")
        return convert(given, function)

    monkeypatch.setattr(_call_tools, "tool_params", strict)
    click = {"action": "left_click", "coordinate": [120, 110]}
    (result,) = act(tmp_path, call(click, action="type", text="bad"), call({"action": "type", "text": "bad"}, **click))
    # In the first turn the click comes after the refused call and is not carried out; in the second, before it.
    assert (result.outcome, result.steps, result.invalid_actions, result.score) == (Outcome.SCORED, 3, 2, 0.5)


def test_results_of_another_private_split_are_not_taken_over(tmp_path, monkeypatch):
    started = tmp_path / "trace"
    monkeypatch.setenv("TOY_TRACE", str(started))
    for salt in ("", "aaa", "bbb", "aaa"):
        monkeypatch.setenv("MATASSAY_SALT", salt)
        evals.run([toy.LAMP], log_dir=tmp_path / "logs", agent="null")
    assert len(started.read_text().splitlines()) == 3
    assert len(evals.read_results(tmp_path / "logs")) == 3
    splits = {s.settings.get("private split") for s in read_settings([tmp_path / "logs"])}
    assert len(splits) == 3
    assert None in splits
    assert not {"aaa", "bbb"} & splits


def test_regrade_keeps_the_revision_that_was_run(tmp_path, monkeypatch):
    evals.run([toy.LAMP], log_dir=tmp_path, agent="reference")
    changed = replace(toy.LAMP, revision=2)
    monkeypatch.setattr("tests.unit.evals.toy.SUITE", replace(toy.SUITE, tasks=(changed,)))
    monkeypatch.setattr("matassay.evals._scorer.grader_checksum", lambda task: "0123456789abcdef")
    ((old, new),) = evals.regrade(only(tmp_path))
    assert (old.task_revision, new.task_revision, new.grader_checksum) == (1, 1, "0123456789abcdef")
    assert evals.run([changed], log_dir=tmp_path, agent="reference")[0].task_revision == 2


def only(folder) -> Path:
    (path,) = folder.glob("*.eval")
    return path


def spoil(folder):
    """All kinds of things that are named like logs."""
    good = only(folder)
    data = good.read_bytes()
    (folder / "a-truncated.eval").write_bytes(data[: len(data) // 2])
    (folder / "b-empty.eval").write_bytes(b"")
    (folder / "c-random.eval").write_bytes(bytes(range(256)) * 9)
    with zipfile.ZipFile(folder / "d-other.eval", "w") as other:
        other.writestr("hello.txt", "hello")
    (folder / "e-folder.eval").mkdir()
    (folder / "f-link.eval").symlink_to("nowhere")
    os.mkfifo(folder / "g-pipe.eval")
    return {p.name for p in folder.glob("?-*.eval")}


@pytest.mark.timeout(120)
def test_a_bad_log_blocks_nothing(tmp_path):
    evals.run([toy.LAMP], log_dir=tmp_path, agent="reference")
    good = only(tmp_path)
    bad = spoil(tmp_path)
    assert len(bad) == 7
    with pytest.warns(UnreadableLog) as told:
        (result,) = evals.read_results(tmp_path)
    assert result.success
    assert {name for name in bad for w in told if name in str(w.message)} == bad
    with pytest.warns(UnreadableLog):
        assert [Path(s.log) for s in read_settings([tmp_path])] == [good]
    with pytest.warns(UnreadableLog):
        again = evals.run([toy.LAMP, toy.SECOND], log_dir=tmp_path, agent="reference", seeds=range(2))
    assert [r.success for r in again] == [True] * 4
    assert again[0].log == str(good)


def test_the_command_line_names_what_it_leaves_out(tmp_path):
    evals.run([toy.LAMP], log_dir=tmp_path, agent="reference")
    bad = spoil(tmp_path)
    for command in ("report", "replay"):
        argv = [sys.executable, "-m", "matassay", command, str(tmp_path), "--format", "json"]
        ran = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=100)
        assert ran.returncode == 0, ran.stderr
        assert json.loads(ran.stdout)
        told = [line for line in ran.stderr.splitlines() if "skipped" in line]
        assert len(told) == len(bad)
        assert all(line.startswith("matassay: skipped /") for line in told)


def edit(source: Path, target: Path, change, which="s01"):
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name.startswith("samples/") and which in name:
                sample = json.loads(data)
                change(sample)
                data = json.dumps(sample).encode()
            new.writestr(name, data)


def stored(name, value):
    def change(sample):
        sample["store"][f"Record:{name}"] = value

    return change


def blobs(damage):
    def change(sample):
        files = sample["store"]["Record:files"]
        for key, text in files.items():
            text = sample["attachments"].get(str(text).removeprefix("attachment://"), text)
            files[key] = damage(text)

    return change


def flipped(text):
    raw = bytearray(base64.b64decode(text))
    raw[len(raw) // 2] ^= 1
    return base64.b64encode(bytes(raw)).decode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (blobs(flipped), "damaged"),
        (blobs(lambda text: "***"), "damaged"),
        (blobs(lambda text: base64.b64encode(zlib.compress(b"forged")).decode()), "digest"),
        (stored("files", {}), "missing"),
        (stored("evidence", "{not json"), "JSON"),
        (stored("evidence", "[]"), "TypeError"),
        (stored("evidence", '{"state": {}}'), "artefacts"),
        (stored("steps", "many"), "steps"),
        (stored("outcome", "splendid"), "splendid"),
        (lambda sample: sample.update(store={}), "no evidence"),
    ],
)
def test_a_damaged_episode_is_a_grader_error_and_the_others_are_graded(tmp_path, change, words):
    evals.run([toy.LAMP, toy.SECOND], log_dir=tmp_path / "a", agent="reference")
    path = tmp_path / "b.eval"
    edit(only(tmp_path / "a"), path, change)
    pairs = evals.regrade(path)
    damaged, whole = sorted((new for _, new in pairs), key=lambda r: r.sample_id)
    assert (damaged.outcome, damaged.success, damaged.score) == (Outcome.GRADER_ERROR, None, None)
    assert words in (damaged.error or "")
    assert (whole.outcome, whole.success) == (Outcome.SCORED, True)
    assert len(list(read_replays(path))) == 2


def test_an_episode_without_labels_is_left_out(tmp_path):
    evals.run([toy.LAMP, toy.SECOND], log_dir=tmp_path / "a", agent="reference")
    path = tmp_path / "b.eval"
    edit(only(tmp_path / "a"), path, lambda sample: sample.update(metadata={}))
    with pytest.warns(UnreadableLog, match="s01-switch-on"):
        ((_, new),) = evals.regrade(path)
    assert new.success
    with pytest.warns(UnreadableLog, match="s01-switch-on"):
        assert [r.result.id for r in read_replays(path)] == [toy.SECOND.id]
    shutil.copy(path, tmp_path / "a" / only(tmp_path / "a").name)
    with pytest.warns(UnreadableLog, match="s01-switch-on"):
        assert [r.id for r in evals.read_results(tmp_path / "a")] == [toy.SECOND.id]


def test_a_log_with_a_task_that_is_not_installed_keeps_its_verdicts(tmp_path):
    evals.run([toy.LAMP, toy.SECOND], log_dir=tmp_path / "a", agent="reference")
    path = tmp_path / "b.eval"
    edit(only(tmp_path / "a"), path, lambda sample: sample["metadata"].update(task="toy/lamp/s99-unknown"))
    before = path.read_bytes()
    with pytest.raises(UnknownTask, match="s99-unknown"):
        evals.regrade(path)
    assert path.read_bytes() == before
    assert len(list(read_replays(path))) == 2
