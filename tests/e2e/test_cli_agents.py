"""Command-line agents in a real sandbox: small programs of ours in the place of the real ones, by the same bridge."""

from __future__ import annotations

import json
import math
import os
import signal

import anyio
import pytest
from inspect_ai import eval as inspect_eval
from inspect_ai.agent import agent
from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import solver
from inspect_ai.tool import ToolCall, ToolInfo
from inspect_ai.util import sandbox

from matassay.core import (
    Category,
    Criterion,
    EnvironmentFailure,
    Guidance,
    Interface,
    Level,
    MatAssayError,
    Scenario,
    Span,
    Suite,
    Task,
)
from matassay.evals import _cli_agents
from matassay.evals._run import quiet
from matassay.evals._sandbox import WorkspaceSandbox
from matassay.evals._task import build_task, samples
from matassay.report.logs import make_replay
from matassay.worlds.workspace import WorkspaceWorld, open_workspace
from matassay.worlds.workspace.software import Software
from tests.unit.report.rows import row

pytest.importorskip("inspect_swe", reason="command-line agents need inspect-swe: pip install 'matassay[cli-agents]'")

#: What both programs do: ask the model, run the commands that it wants, until it wants none.
COMMON = """#!/usr/bin/env python3
import json, os, subprocess, sys, urllib.request
def post(url, body):
    body = json.dumps(body).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)
def run(command):
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    return done.stdout + done.stderr
"""

CODEX = (
    COMMON
    + """
if "--version" in sys.argv: sys.exit(print("codex-cli 0.171.0"))
url = os.environ["OPENAI_BASE_URL"] + "/responses"
tools = [{"type": "function", "name": "exec_command", "description": "Run.", "strict": False, "parameters": {"type": "object", "properties": {"cmd": {"type": "string"}}, "required": ["cmd"]}}]
talk = [{"role": "user", "content": sys.argv[-1]}]
while True:
    answer = post(url, {"model": "inspect", "input": talk, "tools": tools})
    calls = [item for item in answer["output"] if item["type"] == "function_call"]
    for call in calls:
        talk.append({k: call[k] for k in ("type", "call_id", "name", "arguments")})
        talk.append({"type": "function_call_output", "call_id": call["call_id"], "output": run(json.loads(call["arguments"])["cmd"])})
    if not calls:
        break
"""
)

CLAUDE = (
    COMMON
    + """
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
tools = [{"name": "Bash", "description": "Run.", "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}}]
talk = [{"role": "user", "content": sys.argv[-1]}]
while True:
    answer = post(url, {"model": os.environ.get("ANTHROPIC_MODEL", "inspect"), "max_tokens": 1000, "messages": talk, "tools": tools})
    talk.append({"role": "assistant", "content": answer["content"]})
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    if not calls:
        break
    talk.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": c["id"], "content": run(c["input"]["command"])} for c in calls]})
sys.exit("out of order")
"""
)


@solver
def install(name, text):
    async def solve(state, generate):
        await sandbox().write_file(f"bin/{name}", text)
        await sandbox().exec(["chmod", "755", f"/workspace/bin/{name}"])
        return state

    return solve


def right(evidence, goal):
    file = evidence.artefact("answer.json")
    return file is not None and json.loads(file.data) == {"sum": goal["sum"]}


def adding(**changes):
    fields = {
        "id": "toy/sums/t01-add", "title": "Add", "span": Span.SINGLE, "level": Level.EASY,
        "category": Category.RUN_AND_ANALYZE, "revision": 1, "step_limit": 12, "interface": Interface.WORKSPACE,
        "criteria": (Criterion("sum_right", "answer.json has the sum.", right),),
        "scenario": lambda seed: Scenario(seed, {"sum": 42}, {}, {"hidden": 1}, dict.fromkeys(Guidance, "Add 20 and 22.")),
        "open_world": lambda scenario: WorkspaceWorld(inputs={"note.txt": b"twenty"}), "truth_fields": ("hidden",),
        "grader_package": __name__, "seconds": 600.0,
    }  # fmt: skip
    return Task(**{**fields, **changes})


@pytest.fixture
async def sandboxed():
    try:
        made = open_workspace(inputs={})
        await made.start()
        await made.close()
    except EnvironmentFailure as failure:
        pytest.skip(f"no sandbox here: {failure}")


@pytest.fixture
def attempt(tmp_path, monkeypatch, sandboxed):
    """Run a program with a scripted model: a turn is a command that the program is to run, or closing words."""
    path = Software.path.fget
    monkeypatch.setattr(Software, "path", property(lambda self: f"/workspace/bin:{path(self)}"))

    def run(loop, program, turns, step_limit=None, **changes):
        task = adding(**changes)
        monkeypatch.setattr("matassay.core._registry.suites", lambda: {"toy": Suite("toy", (task,))})
        asked, turns = [], iter(turns)

        def answer(messages, tools, tool_choice, config):
            asked.append(list(messages))
            turn = next(turns)
            made = ModelOutput.from_content("mockllm/model", "" if isinstance(turn, tuple) else turn)
            if isinstance(turn, tuple):
                (tool,) = tools
                (argument,) = tool.parameters.properties
                made.choices[0].message.tool_calls = [
                    ToolCall(id=f"c{len(asked)}", function=tool.name, arguments={argument: turn[0]})
                ]
                made.choices[0].stop_reason = "tool_calls"
            made.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
            return made

        made = build_task(samples([task], [Guidance.FULL], [0]), agent=loop, step_limit=step_limit)
        if program:
            made.setup = [made.setup, install(*program)]
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        with quiet():
            (log,) = inspect_eval(made, model=model, log_dir=str(tmp_path / "logs"), display="none")
        (sample,) = log.samples
        score = sample.scores["verdict"]
        return score.metadata, score.value, asked, sample

    return run


SOLVE = ("cat inputs/note.txt; echo '{\"sum\": 42}' > answer.json",)


@pytest.mark.slow
def test_a_program_acts_in_the_sandbox_and_asks_the_model_by_the_bridge(attempt):
    meta, value, asked, sample = attempt("codex", ("codex", CODEX), [SOLVE, "All done."])
    assert (meta["outcome"], meta["error"], value["success"], value["steps"]) == ("scored", None, 1.0, 2.0)
    assert meta["tool_mapping"] == "cli:codex"
    assert meta["versions"]["sandbox"].startswith("bubblewrap")
    task = next(m.text for m in asked[0] if m.role == "user" and "Add 20 and 22." in m.text)
    assert "[Time] This task has 600 s (10 min)" in task
    assert "final_answer" not in task
    assert any(m.role == "tool" and "twenty" in m.text for m in asked[1])
    assert asked[1][-1].text.startswith("[Time] This task has 600 s")
    assert sample.model_usage["mockllm/model"].total_tokens == 220
    first, last = make_replay(sample, row()).steps
    assert (first.code, first.shown.split("\n")[0], last.says) == (SOLVE[0], "twenty", "All done.")
    assert first.elapsed is not None
    assert 0 < first.elapsed <= (last.elapsed or 0)
    assert first.tokens["input"] == last.tokens["input"] == 100


@pytest.mark.slow
def test_a_program_that_fails_is_the_agents_and_what_it_left_counts(attempt):
    meta, value, asked, _ = attempt("claude-code", ("claude", CLAUDE), [SOLVE, "All done."])
    assert (meta["outcome"], value["success"], meta["steps"]) == ("agent_error", 1.0, 2)
    assert "out of order" in meta["error"]
    assert any(m.role == "tool" and "twenty" in m.text for m in asked[1])


@pytest.fixture
def played(monkeypatch):
    """A function of the test in the place of the program; it gets what sees the calls of the model."""

    def use(play):
        def make(**options):
            @agent
            def program():
                async def execute(state):
                    await play(options["filter"])
                    return state

                return execute

            return program()

        async def there(program):
            pass

        monkeypatch.setattr(_cli_agents, "_maker", lambda function: make)
        monkeypatch.setattr(_cli_agents, "_require", there)

    return use


TOOL = ToolInfo(name="exec", description="Run.")


def test_the_runs_budget_of_steps_ends_a_program(attempt, played):
    async def play(watched):
        await watched(get_model(), [], [], None, GenerateConfig())  # a title for the talk: no step
        for _ in range(5):
            await watched(get_model(), [], [TOOL], None, GenerateConfig())

    played(play)
    meta, *_ = attempt("codex", None, [], step_limit=2)
    assert (meta["outcome"], meta["error"], meta["steps"]) == ("limit", None, 2)
    meta, *_ = attempt("codex", None, [])
    assert (meta["outcome"], meta["steps"]) == ("scored", 5)


def test_asking_the_model_without_tools_is_no_way_around_the_budget(attempt, played):
    async def play(watched):
        for _ in range(100):
            await watched(get_model(), [], [], None, GenerateConfig())

    played(play)
    meta, *_ = attempt("codex", None, [], step_limit=2)
    assert (meta["outcome"], meta["steps"]) == ("limit", 2)


def test_the_time_budget_ends_a_program(attempt, played):
    played(lambda watched: anyio.sleep_forever())
    meta, *_ = attempt("codex", None, [], seconds=1.0)
    assert (meta["outcome"], meta["error"]) == ("limit", "the time budget of 1 s is spent")


def test_a_providers_failure_is_not_the_agents(attempt, played):
    async def asks(watched):
        await get_model().generate("x")

    async def breaks(watched):
        raise RuntimeError("exit code 1")

    played(asks)
    meta, value, *_ = attempt("codex", None, [])
    assert meta["outcome"] == "environment_error"
    played(breaks)
    meta, value, *_ = attempt("codex", None, [])
    assert (meta["outcome"], value["success"]) == ("agent_error", 0.0)


def test_a_program_that_brings_its_sandbox_down_is_graded(attempt, played):
    async def falls(watched):
        box = sandbox().as_type(WorkspaceSandbox).workspace
        await box.write("answer.json", b'{"sum": 42}')
        os.kill(box.pid, signal.SIGKILL)  # as it ends when all of its memory is taken
        await sandbox().exec(["true"])

    played(falls)
    meta, value, *_ = attempt("codex", None, [])
    assert (meta["outcome"], value["success"]) == ("agent_error", 1.0)
    assert "the sandbox has ended" in meta["error"]


def test_a_program_that_is_not_there(attempt):
    meta, value, *_ = attempt("claude-code", None, [])
    assert meta["outcome"] == "environment_error"
    assert math.isnan(value["success"])
    assert "claude is not in the sandbox" in meta["error"]
    assert "@anthropic-ai/claude-code" in meta["error"]


def test_what_is_missing_is_named(monkeypatch):
    with pytest.raises(MatAssayError, match="unknown command-line agent 'cursor'; known: codex, claude-code"):
        _cli_agents.cli_agent("cursor")
    monkeypatch.setitem(__import__("sys").modules, "inspect_swe", None)
    with pytest.raises(MatAssayError, match=r"cure: pip install 'matassay\[cli-agents\]'"):
        _cli_agents.cli_agent("codex")
