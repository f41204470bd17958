"""Agents that act by code: from a scripted model's words to a verdict."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import eval as inspect_eval
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.tool import ToolCall

from matassay.agents import CODE, TOOLS
from matassay.core import Attempt, Category, Criterion, Guidance, Interface, Level, Scenario, Span, Suite, Task
from matassay.evals._code_agent import code_agent
from matassay.evals._code_budget import Clock, spelled
from matassay.evals._code_history import STUB, History
from matassay.evals._code_reply import Malformed, read_reply
from matassay.evals._code_tools import UnusableCall, cell_of, tool_infos
from matassay.evals._run import quiet
from matassay.evals._task import build_task, samples
from matassay.worlds.workspace import WorkspaceWorld
from tests.unit.workspace.plain import PlainWorkspace

# --- a task that is done in a workspace ---------------------------------------------------------------------------


def right(evidence, goal):
    file = evidence.artefact("answer.json")
    return file is not None and json.loads(file.data) == {"sum": goal["sum"]}


def solution(scenario):
    yield {"action": "run_code", "code": "import json", "timeout": 30}
    yield {"action": "run_code", "code": 'write_file("answer.json", json.dumps({"sum": 42}))', "timeout": 30}


def adding(world, **changes):
    fields = {
        "id": "toy/sums/t01-add", "title": "Add", "span": Span.SINGLE, "level": Level.EASY,
        "category": Category.RUN_AND_ANALYZE, "revision": 1, "step_limit": 12, "interface": Interface.WORKSPACE,
        "criteria": (Criterion("sum_right", "answer.json has the sum.", right),),
        "scenario": lambda seed: Scenario(seed, {"sum": 42}, {}, {"hidden": 1}, dict.fromkeys(Guidance, "Add 20 and 22.")),
        "open_world": world, "truth_fields": ("hidden",), "grader_package": __name__,
        "reference": Attempt("reference", "Does it.", solution),
    }  # fmt: skip
    return Task(**{**fields, **changes})


@pytest.fixture
def attempt(tmp_path, monkeypatch):
    """Run a scripted model on the task; a turn is the text of a reply, or a list of calls (name, arguments)."""

    folders = (tmp_path / f"box{n}" for n in itertools.count())

    def run(turns, mode=CODE, solver=None, limits=None, **changes):
        def plain():
            (folder := next(folders)).mkdir()
            return SimpleNamespace(as_type=lambda _: SimpleNamespace(workspace=PlainWorkspace(folder)))

        monkeypatch.setattr("matassay.evals._agent.sandbox", plain)
        task = adding(lambda scenario: WorkspaceWorld(inputs={}), **changes)
        monkeypatch.setattr("matassay.core._registry.suites", lambda: {"toy": Suite("toy", (task,))})
        asked = []
        turns = iter(turns) if turns is not None else None

        def answer(messages, tools, tool_choice, config):
            asked.append(list(messages))
            turn = next(turns)
            return turn if isinstance(turn, ModelOutput) else output(turn)

        (sample,) = samples([task], [Guidance.FULL], [0])
        sample.sandbox = None  # the walls are not what is tested here
        made = build_task([sample], agent=mode, **(limits or {}))
        if solver is not None:
            made.solver = solver
        model = (
            get_model("mockllm/model", custom_outputs=answer, memoize=False)
            if turns is not None
            else "reference/reference"
        )
        with quiet():
            (log,) = inspect_eval(made, model=model, log_dir=str(tmp_path / "logs"), display="none")
        (sample,) = log.samples
        score = sample.scores["verdict"]
        return score.metadata, score.value, asked, sample

    return run


def output(turn, stop="stop"):
    calls = None
    if not isinstance(turn, str):
        calls = [ToolCall(id=f"c{i}", function=name, arguments=arguments) for i, (name, arguments) in enumerate(turn)]
        turn, stop = "", "tool_calls"
    made = ModelOutput.from_content("mockllm/model", turn, stop_reason=stop)
    made.choices[0].message.tool_calls = calls
    made.usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return made


def reply(code, thought="so"):
    return json.dumps({"thought": thought, "code": code})


WRITE = 'import json\nwrite_file("answer.json", json.dumps({"sum": 20 + 22}))'


# --- by replies ---------------------------------------------------------------------------------------------------


def test_replies_run_until_the_final_answer(attempt):
    meta, value, asked, sample = attempt(
        [reply("x = 20 + 22; x"), reply(WRITE), reply('print(x)\nfinal_answer("there")')]
    )
    assert (meta["outcome"], meta["error"], value["success"], value["steps"]) == ("scored", None, 1.0, 3.0)
    assert meta["tool_mapping"] == "json"
    system, task = asked[0]
    assert "final_answer" in system.text
    assert "12 steps" in system.text
    assert task.text == "Add 20 and 22."  # no budget, no notice
    assert asked[1][-1].text == "42\n\n[Steps] 11 left."
    assert asked[2][-1].text == "(no output)\n\n[Steps] 10 left."
    assert sample.messages[-1].text == "42\n\n[Steps] 9 left."
    assert meta["versions"]["sandbox"] == "plain"


def test_a_malformed_reply_is_a_step_with_a_message(attempt):
    turns = [
        "I will add them.", '{"thought": "x"}', '{"code": 5}', "", output('{"thought": "a", "code": "pri', "max_tokens"),
        "```json\n" + reply(WRITE) + "\n```", "Now I am done: " + reply("final_answer()") + reply("1/0"),
    ]  # fmt: skip
    meta, value, asked, sample = attempt(turns)
    assert (meta["outcome"], value["success"], meta["steps"], meta["invalid_actions"]) == ("scored", 1.0, 7, 5)
    told = [messages[-1].text.split("\n\n")[0] for messages in asked[1:6]]
    form = ' Answer with one JSON object and nothing else: {"thought": "...", "code": "..."}.'
    assert told == [
        "Refused: there is no JSON object in the reply." + form,
        "Refused: the object has no \"code\"; it has 'thought'." + form,
        'Refused: "code" must be a string, not a number.' + form,
        "Refused: the reply is empty." + form,
        "Refused: the reply was cut off at the model's limit for one output." + form,
    ]
    assert "the first was run" in sample.messages[-1].text


def test_ten_malformed_replies_in_a_row_end_it(attempt):
    meta, value, asked, _ = attempt(["no"] * 20, step_limit=50)
    assert (meta["outcome"], len(asked), value["success"]) == ("agent_error", 10, 0.0)
    assert "10 replies in a row" in meta["error"]


def test_the_step_limit_ends_it_and_what_is_there_counts(attempt):
    meta, value, asked, sample = attempt([reply(WRITE), reply("1")], step_limit=2)
    assert (meta["outcome"], value["success"], value["steps"]) == ("limit", 1.0, 2.0)
    assert "[Steps] 1 left." in asked[1][-1].text
    assert "That was the last step" in sample.messages[-1].text


def test_errors_deaths_and_much_output_go_back_to_the_model(attempt):
    turns = [
        reply("1/0"),
        reply("import os; os._exit(7)"),
        reply("x"),
        reply("print('a' * 50_000)"),
        reply("final_answer()"),
    ]
    meta, value, asked, _ = attempt(turns)
    assert (meta["outcome"], meta["invalid_actions"], value["success"]) == ("scored", 0, 0.0)
    assert 'File "<cell 1>", line 1' in asked[1][-1].text
    assert "exit code 7" in asked[2][-1].text
    assert "NameError" in asked[3][-1].text
    assert "characters left out" in asked[4][-1].text
    assert len(asked[4][-1].text) < 20_500


def test_time_budget(attempt):
    meta, value, asked, sample = attempt([reply(WRITE), reply("while True: pass"), reply("1")], seconds=3.0)
    assert (meta["outcome"], value["success"]) == ("limit", 1.0)
    assert meta["error"] == "the time budget of 3 s is spent"
    assert len(asked) == 2
    for messages in asked:
        assert "[Time] This task has 3 s (3 s) of wall-clock time in all" in messages[-1].text
        assert "Left now: " in messages[-1].text
    assert "KeyboardInterrupt" in sample.messages[-1].text
    assert "Left now: 0 s (0 min)" in sample.messages[-1].text


def test_a_model_that_thinks_too_long_is_stopped(attempt, monkeypatch):
    from inspect_ai.model._providers.mockllm import MockLLM

    async def forever(*args, **kwargs):
        await asyncio.Event().wait()

    monkeypatch.setattr(MockLLM, "generate", forever)
    meta, *_ = attempt([], seconds=0.3)
    assert (meta["outcome"], meta["error"]) == ("limit", "the time budget of 0.3 s is spent")


@pytest.mark.parametrize("limits", [{"token_limit": 250}, {"time_limit": 6}])
def test_limits_of_the_run(attempt, limits):
    turns = itertools.chain([reply(WRITE)], itertools.repeat(reply("import time; time.sleep(0.3)")))
    meta, value, asked, _ = attempt(turns, limits=limits, step_limit=100)
    assert (meta["outcome"], value["success"]) == ("limit", 1.0)
    if "time_limit" in limits:
        assert "in all" in asked[0][-1].text


def test_refusal_and_failure_of_the_provider(attempt):
    meta, *_ = attempt([output("", "content_filter")])
    assert (meta["outcome"], meta["error"]) == ("agent_error", "the model refused")
    meta, value, *_ = attempt([])  # the script is over: the provider raises
    assert meta["outcome"] == "environment_error"
    assert math.isnan(value["success"])


def test_plots_are_shown_to_models_that_take_them(attempt):
    plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nNone"
    turns = [reply(plot), reply("1"), reply("2"), reply("final_answer()")]
    _, _, asked, sample = attempt(turns, solver=code_agent(images=True))
    assert isinstance(asked[1][-1].content[1], ContentImage)
    assert not any(isinstance(c, ContentImage) for m in asked[3] if not isinstance(m.content, str) for c in m.content)
    assert any("an older plot is left out" in m.text for m in asked[3])
    assert isinstance(sample.messages[3].content[1], ContentImage)  # the log has it
    _, _, asked, _ = attempt([reply(plot), reply("final_answer()")])
    assert asked[1][-1].text == "(no output)\n\n[1 plot drawn, not shown]\n\n[Steps] 11 left."


def test_a_context_that_is_too_small(attempt):
    long = output("", "model_length")
    turns = [reply(f"print('{c}' * 5000)") for c in "abcde"]
    meta, _, asked, _ = attempt([*turns, long, reply("final_answer()")], solver=code_agent(context=1_000_000))
    assert meta["outcome"] == "scored"
    assert [len(m.text) > 5000 for m in asked[5] if m.role == "user"][1:] == [True] * 5
    assert [len(m.text) > 5000 for m in asked[6] if m.role == "user"][1:] == [False, False, True, True, True]
    meta, *_ = attempt([long])
    assert (meta["outcome"], meta["error"]) == ("limit", "the conversation exceeds the model's context")


# --- by tools -----------------------------------------------------------------------------------------------------


def test_tools(attempt):
    turns = [
        [("python", {"code": "x = 42\nx"}), ("shell", {"command": "echo hi; exit 2"})],
        [("write_file", {"path": "d/a.txt", "text": "one\ntwo ü\nthree"}), ("read_file", {"path": "d/a.txt"})],
        [("read_file", {"path": "d/a.txt", "first_line": 2, "last_line": 2}), ("search", {"pattern": "t.o"})],
        [("python", {"code": WRITE}), ("final_answer", {"text": "done"}), ("python", {"code": "1/0"})],
    ]
    meta, value, asked, sample = attempt(turns, TOOLS)
    assert (meta["outcome"], value["success"], value["steps"], meta["invalid_actions"]) == ("scored", 1.0, 8.0, 0)
    assert meta["tool_mapping"] == "function"
    shown = [m.text.rpartition("\n\n[Steps]")[0] for m in sample.messages if m.role == "tool"]
    assert shown[:7] == [
        "42",
        "hi\n\n[exit code 2]",
        "(no output)",
        "one\ntwo ü\nthree",
        "two ü",
        "d/a.txt:2: two ü",
        "(no output)",
    ]
    assert sample.messages[-1].text == "Not carried out: the task has ended."


def test_calls_that_cannot_be_carried_out_are_steps(attempt):
    turns = [
        [("fly", {}), ("python", {}), ("python", {"code": 3}), ("shell", {"command": "ls", "timeout": -1})],
        [
            ("python", {"code": "1", "more": 2}),
            ("read_file", {"path": "a", "first_line": True}),
            ("python", {"code": " "}),
        ],
        "That is all.",
    ]
    meta, value, asked, sample = attempt(turns, TOOLS)
    assert (meta["outcome"], meta["steps"], meta["invalid_actions"]) == ("scored", 7, 7)
    shown = [m.text.split("\n\n")[0] for m in sample.messages if m.role == "tool"]
    assert shown == [
        "Refused: there is no tool 'fly'; there are python, shell, read_file, write_file, search, final_answer",
        "Refused: python: argument code is missing",
        "Refused: python: argument code must be of type string, got int",
        "Refused: shell: timeout must lie between 0 and 86400 s",
        "Refused: python has no argument 'more'; it has code, timeout",
        "Refused: read_file: argument first_line must be of type integer, got bool True",
        shown[6],
    ]
    assert "expected Python code" in shown[6]


def test_the_budget_of_steps_ends_tools(attempt):
    meta, value, asked, sample = attempt([[("python", {"code": WRITE})] * 3], TOOLS, step_limit=2)
    assert (meta["outcome"], meta["steps"], value["success"]) == ("limit", 2, 1.0)
    assert sample.messages[-1].text == "Not carried out: the step budget is spent."
    meta, *_ = attempt([[("python", {"code": WRITE})], "All done."], TOOLS, step_limit=1)
    assert meta["outcome"] == "scored"


def test_answers_without_calls_and_words(attempt):
    meta, _, asked, _ = attempt(["", "", ""], TOOLS)
    assert (meta["outcome"], len(asked)) == ("agent_error", 3)
    assert "no call of a tool" in asked[1][-1].text


def test_a_tools_own_time_limit(attempt):
    meta, _, _, sample = attempt([[("python", {"code": "while True: pass", "timeout": 0.3})], "done"], TOOLS)
    assert meta["outcome"] == "scored"
    assert "KeyboardInterrupt" in sample.messages[-2].text


def test_scripted_agents_act_by_tools(attempt):
    meta, value, *_ = attempt(None, TOOLS)
    assert (meta["outcome"], value["success"], meta["steps"]) == ("scored", 1.0, 2)
    assert meta["tool_mapping"] == "scripted"

    def raises(scenario):
        seen = yield {"action": "run_code", "code": WRITE}
        raise LookupError(seen.text or "nothing to see")

    meta, value, *_ = attempt(None, TOOLS, reference=Attempt("reference", "Raises.", raises))
    assert (meta["outcome"], value["success"]) == ("agent_error", 1.0)
    assert "nothing to see" in meta["error"]


def test_tools_tell_what_they_take():
    infos = {info.name: info for info in tool_infos()}
    assert list(infos) == ["python", "shell", "read_file", "write_file", "search", "final_answer"]
    assert infos["python"].parameters.required == ["code"]
    assert all(p.description for info in infos.values() for p in info.parameters.properties.values())
    assert cell_of("shell", {"command": "ls '\ud800", "timeout": 2}) == (
        'shell(command="ls \'\\ud800", timeout=2)',
        None,
    )
    assert cell_of("python", {"code": "1", "timeout": 2}) == ("1", 2.0)
    for arguments in (None, [], "x", {"code": "1", "timeout": math.nan}, {"code": "1", "timeout": 10**400}):
        with pytest.raises(UnusableCall):
            cell_of("python", arguments)


# --- parts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        '{"thought": "t", "code": "a\\nb"}',
        '  {"code": "a\\nb", "thought": "t", "more": [1]}\n',
        '{"thought": "t", "code": "a\nb"}',  # a line break as it is
        'Well.\n```json\n{"thought": "t", "code": "a\\nb"}\n```\nThere.',
        '```\n{"thought": "t", "code": "a\\nb"}\n```',
        'I use {braces} and then {"thought": "t", "code": "a\\nb"} so.',
        '<think>{"code": "draft"}</think>\n{"thought": "t", "code": "a\\nb"}',
        '{"note": 1} {"thought": "t", "code": "a\\nb"}',
    ],
)
def test_replies_are_found(text):
    found = read_reply(text)
    assert (found.thought, found.code, found.more) == ("t", "a\nb", False)


def test_code_may_hold_what_looks_like_a_fence_or_a_reply():
    code = 's = """```json\n{"code": "x"}\n```"""'
    assert read_reply(reply(code)).code == code
    assert read_reply("Here:\n" + reply(code)).code in (code, "x")
    assert read_reply(reply("1") + "\n" + reply("2")) == read_reply(reply("1")).__class__("so", "1", more=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"), ("  \n", "empty"), ("```python\n1\n```", "no JSON object"), ("[1]", "no JSON object"),
        ('{"code": null}', "not null"), ('{"code": ["a"]}', "not an array"), ('{"code": " "}', "is empty"),
        ('{"thought": "a" "code": "b"}', "line 1, column 17"), ("{" * 100_000, "not valid JSON"),
        ('{"a":' * 100_000, "nested"), ("x" * 3_000_000, "more than"), ("{}", "it has nothing"),
    ],
)  # fmt: skip
def test_malformed_replies_say_what_is_wrong(text, why):
    with pytest.raises(Malformed, match=why):
        read_reply(text)


@given(
    st.text(),
    st.text(min_size=1).filter(str.strip),
    st.text(max_size=20).filter(lambda t: "{" not in t and "`" not in t and "<" not in t),
)
def test_any_code_survives_the_way(thought, code, around):
    text = json.dumps({"thought": thought, "code": code})
    assert read_reply(text).code == code
    assert read_reply(f"{around}{text}").code == code


@given(st.text(alphabet='{}[]":,` \\codea1\n', max_size=200))
def test_no_reply_crashes(text):
    with contextlib.suppress(Malformed):
        assert read_reply(text).code.strip()


def test_clock_and_notice():
    times = iter([100.0, 100.0, 2692.0, 9999.0])
    clock = Clock(3600.0, lambda: next(times))
    assert clock.left == 3600
    notice = clock.notice()
    assert "3600 s (60 min) of wall-clock" in notice
    assert "Left now: 1008 s (16 min 48 s)." in notice
    assert clock.left == 0
    assert Clock(None, lambda: 0.0).left == math.inf
    assert Clock(None, lambda: 0.0).notice() == ""
    assert spelled(0) == "0 min"


def conversation(count, size):
    yield ChatMessageSystem(content="s" * 900)
    yield ChatMessageUser(content="task" * 500)
    for n in range(count):
        yield ChatMessageAssistant(content=f"{n}")
        if n % 2:
            yield ChatMessageTool(content=f"{n:04}" + "o" * size)
        else:
            yield ChatMessageUser(content=[ContentText(text=f"{n:04}" + "o" * size), ContentImage(image="data:x")])


def test_the_oldest_observations_are_shortened_and_say_so():
    messages = list(conversation(20, 6000))
    history = History(30_000)
    sent = history.fit(messages)
    assert history.shortened > 5
    assert [m.text for m in sent[:3]] == [m.text for m in messages[:3]]
    observations = [m for m in sent[3:] if m.role in ("tool", "user")]
    short = [len(m.text) < 2 * STUB for m in observations]
    assert short == sorted(short, reverse=True)
    assert sum(short) == history.shortened
    assert observations[0].text.startswith("0000ooo")
    assert f"[{6004 - STUB} more characters of this older observation are left out" in observations[0].text
    assert [m.text for m in sent[-4:]] == [m.text for m in messages[-4:]]
    assert len(messages[3].text) == 6004  # those of the log stay
    # The same beginning is sent again: a provider's cache of it stays valid.
    again = history.fit([*messages, ChatMessageAssistant(content="x"), ChatMessageUser(content="short")])
    assert [m.text for m in again[:20]] == [m.text for m in sent[:20]]


def test_the_models_own_count_is_used():
    messages = list(conversation(10, 3000))
    history = History(40_000)
    history.fit(messages)
    assert history.shortened == 0
    history.learn(ModelUsage(input_tokens=39_000))
    history.fit(messages)
    assert history.shortened > 0


def test_nothing_is_left_to_shorten():
    messages = list(conversation(4, 3000))
    history = History(10)
    history.fit(messages)
    assert history.shortened == 2
    assert not history.tighten(messages)
