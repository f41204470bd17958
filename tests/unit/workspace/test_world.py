"""A workspace as a world: cells are actions, files are evidence, probes are asked once everything is dead."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from matassay.core import Episode, InvalidAction, Probe
from matassay.worlds.workspace import Limits, WorkspaceWorld, _world


@pytest.fixture
async def world() -> AsyncIterator[WorkspaceWorld]:
    made = WorkspaceWorld(inputs={"a.txt": b"seven"}, outputs=("answer.json", "deck/*"), seed=3, probes=probes)
    await made.start()
    yield made
    await made.close()


def probes(files):
    if "deck/in" not in files:
        return []
    return [Probe("count", ("sh", "-c", "wc -c < in; cp in out; exit 3"), {"in": files["deck/in"]}, ("out", "none"))]


async def run(world: WorkspaceWorld, code: str, **more: object):
    await world.act(world.parse({"action": "run_code", "code": code, **more}))
    return await world.observe()


async def test_cells_share_their_variables_and_are_seen(world: WorkspaceWorld) -> None:
    assert (await run(world, "a = open('inputs/a.txt').read()")).text == ""
    shown = await run(world, "print(a); len(a)")
    assert shown.text == "seven\n5"
    assert shown.extra["failed"] is False
    failed = await run(world, "a + 1")
    assert "TypeError" in failed.text
    assert failed.extra["failed"] is True


async def test_only_what_is_asked_for_is_evidence(world: WorkspaceWorld) -> None:
    code = """
import os
open("answer.json", "w").write('{"x": 1}')
os.makedirs("deck")
open("deck/in", "w").write("units metal")
open("notes.txt", "w").write("mine")
os.symlink("/etc/passwd", "deck/link")
os.symlink("/etc/passwd", "other")
"""
    await run(world, code)
    before = await world.evidence()
    assert before.state["concluded"] is False
    assert before.artefacts == ()
    await world.conclude()
    await world.conclude()  # may be called twice
    left = await world.evidence()
    assert [(a.name, a.data) for a in left.artefacts] == [("answer.json", b'{"x": 1}'), ("deck/in", b"units metal")]
    assert left.state["other_files"] == 1
    assert set(left.state["outputs_refused"]) == {"deck/link"}
    assert (left.state["seed"], left.state["cells"], left.state["concluded"]) == (3, 1, True)
    found = left.state["collected"]["count"]
    assert (found["exit_code"], found["timed_out"], found["stdout"].strip()) == (3, False, "11")
    assert found["files"] == {"out": "units metal", "none": None}
    assert left.versions["sandbox"].startswith("bubblewrap")


async def test_nothing_runs_on_after_the_end(world: WorkspaceWorld) -> None:
    code = """
import subprocess
subprocess.Popen("while :; do echo x >> answer.json; done", shell=True, start_new_session=True)
"""
    await run(world, code)
    await world.conclude()
    first = (await world.evidence()).artefacts
    await world.conclude()
    assert (await world.evidence()).artefacts == first


async def test_too_many_files_are_named_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_world, "MAX_FILES", 2)
    monkeypatch.setattr(_world, "MAX_BYTES", 100)
    world = WorkspaceWorld(inputs={}, outputs=("*",))
    kept, refused = world._wanted({"a": b"x" * 60, "b": b"x" * 60, "c": b"x", "d": b"x"}, {})
    assert (set(kept), set(refused)) == ({"a", "c"}, {"b", "d"})


async def test_the_agents_last_word_is_kept(world: WorkspaceWorld) -> None:
    assert (await run(world, "1")).final is None
    assert (await run(world, "final_answer('all written')")).final == "all written"
    assert (await world.evidence()).state["finished"] is True


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (["x"], "must be an object"),
        ({}, "unknown action None"),
        ({"action": "left_click", "coordinate": [1, 2]}, "there is run_code"),
        ({"action": "run_code"}, "field code: expected Python code as text, got NoneType"),
        ({"action": "run_code", "code": " \n"}, "field code"),
        ({"action": "run_code", "code": "1\0"}, "zero character"),
        ({"action": "run_code", "code": "1" * 400_001}, "at most 400000"),
        ({"action": "run_code", "code": "1", "timeout": "soon"}, "field timeout: expected seconds"),
        ({"action": "run_code", "code": "1", "timeout": 0}, "field timeout"),
        ({"action": "run_code", "code": "1", "timeout": float("nan")}, "field timeout"),
        ({"action": "run_code", "code": "1", "shell": True}, "no field 'shell'"),
    ],
)
def test_what_is_wrong_with_an_action_is_said(raw: object, words: str) -> None:
    with pytest.raises(InvalidAction, match=words):
        WorkspaceWorld(inputs={}).parse(raw)  # type: ignore[arg-type]


async def test_refused_actions_are_counted_steps() -> None:
    from types import SimpleNamespace

    world = WorkspaceWorld(inputs={})
    task = SimpleNamespace(step_limit=3, id="t")
    episode = Episode(task, SimpleNamespace(goal={}), world)  # type: ignore[arg-type]
    try:
        await episode.start()
        turn = await episode.perform([{"action": "fly"}])
        assert "unknown action 'fly'" in turn.observation.text
        assert (episode.steps, episode.invalid_actions) == (1, 1)
        turn = await episode.perform([{"action": "run_code", "code": "print(6 * 7)"}])
        assert (turn.observation.text, turn.error) == ("42", None)
        assert episode.records[-1].action["code"] == "print(6 * 7)"
    finally:
        await episode.close()


def test_a_kind_of_sandbox_can_be_chosen_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert WorkspaceWorld(inputs={}).backend == "auto"
    monkeypatch.setenv("MATASSAY_SANDBOX", "none")
    assert WorkspaceWorld(inputs={}).backend == "none"
    assert WorkspaceWorld(inputs={}, backend="bubblewrap", limits=Limits()).backend == "bubblewrap"
