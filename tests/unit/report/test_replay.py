"""From a log to a page: which picture belongs to which step, and what an agent's words may do to the page."""

from __future__ import annotations

import base64
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from inspect_ai.event import InfoEvent, ModelEvent, SpanBeginEvent
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentImage,
    ContentReasoning,
    ContentText,
    GenerateConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall, ToolInfo
from PIL import Image

from matassay import evals
from matassay.core import MatAssayError, Outcome
from matassay.report import replay_html, write_replay
from matassay.report._replay import describe
from matassay.report.logs import find_logs, make_replay, read_replays, read_settings
from tests.unit.evals import toy
from tests.unit.report.rows import row


@pytest.fixture
def toy_suite() -> Iterator[None]:
    with toy.registered():
        yield


def data_of(page: str) -> dict:
    """What the page was given."""
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def picture(n: int) -> ContentImage:
    out = io.BytesIO()
    Image.new("L", (8, 8), n).save(out, "PNG")
    return ContentImage(image="data:image/png;base64," + base64.b64encode(out.getvalue()).decode())


def record(step, action, turn, error=None, **kept):
    return {"step": step, "action": action, "error": error, "time": step * 1.5, "turn": turn, **kept}


def sample(messages, records, **kept):
    store = {"Record:records": records, "other": 1, **{f"Record:{k}": v for k, v in kept.items()}}
    return SimpleNamespace(input="Do it.", messages=messages, store=store)


def numbered(replay):
    """Pictures of each step by the shade that they were made with."""
    shade = {k: Image.open(io.BytesIO(i.data)).getpixel((0, 0)) for k, i in replay.images.items()}
    return [(s.number, shade[s.before], None if s.after is None else shade[s.after]) for s in replay.steps]


def test_steps_meet_their_pictures():
    tool = lambda n, text="": ChatMessageTool(content=[*([ContentText(text=text)] if text else []), picture(n)])  # noqa: E731
    click = {"action": "left_click", "coordinate": [3, 4]}
    replay = make_replay(
        sample(
            [
                ChatMessageSystem(content="You operate."),
                ChatMessageUser(content=[ContentText(text="Do it."), picture(0)]),
                ChatMessageAssistant(content=[ContentReasoning(reasoning="Hm."), ContentText(text="Now.")]),
                tool(1, "Refused: no. 1 of 3 actions were carried out."),
                tool(1, "Not carried out: an earlier action of this turn was refused."),
                ChatMessageAssistant(content=""),
                ChatMessageUser(content="There was no action in your answer."),
                ChatMessageAssistant(content="Closer."),
                tool(2),
                ChatMessageAssistant(content="Back."),
                tool(3),
                ChatMessageAssistant(content="Done."),
            ],
            [
                record(1, click, 1),
                record(2, {"action": "key", "text": "F7"}, 1, "unknown key"),
                record(3, {"action": "zoom", "region": [0, 0, 4, 4]}, 2),
                record(4, {"action": "type", "text": "x"}, 3),
                record(5, "nonsense", 4),
            ],
        ),
        row(),
    )
    # A zoom is looked at and not acted on; the last step broke the world, so that nothing was seen after it.
    assert numbered(replay) == [(1, 0, 1), (2, 0, 1), (3, 1, 2), (4, 1, 3), (5, 3, None)]
    assert [s.says for s in replay.steps] == ["Hm.\n\nNow.", "", "Closer.", "Back.", "Done."]
    assert [s.place for s in replay.steps] == [(1, 2), (2, 2), (1, 1), (1, 1), (1, 1)]
    assert [s.pointer for s in replay.steps] == [None, (3.0, 4.0), (3.0, 4.0), (3.0, 4.0), (3.0, 4.0)]
    assert [s.error for s in replay.steps][1] == "unknown key"
    assert replay.instruction == "Do it."
    assert replay.steps[4].action == {"action": "nonsense"}


def test_a_persons_turns_have_gaps():
    """Each gesture of a person is followed by a picture from the user's side; turn numbers need not be dense."""
    user = lambda n: ChatMessageUser(content=[picture(n)])  # noqa: E731
    replay = make_replay(
        sample(
            [ChatMessageUser(content=[ContentText(text="Do it."), picture(0)]), user(1), user(2)],
            [record(1, {"action": "left_click"}, 1), record(2, {"action": "left_click"}, 3)],
        ),
        row(agent="human", model=""),
    )
    assert numbered(replay) == [(1, 0, 1), (2, 1, 2)]


def test_state_is_laid_up_from_its_changes():
    look = {"action": "screenshot"}
    replay = make_replay(
        sample(
            [ChatMessageUser(content=[picture(0)]), ChatMessageUser(content=[picture(1)])],
            [
                record(1, look, 1, changes={"kv": 15.0, "beam": True}),
                record(2, look, 1, changes={}),
                record(3, look, 1, changes={"tip": None, "beam": False}),
            ],
            initial={"kv": 5.0, "beam": False, "tip": "new"},
        ),
        row(measures={"psnr_db": 28.449, "best_psnr_db": 30}),
    )
    assert [replay.state(n) for n in (0, 1, 2, 3)] == [
        {"kv": 5.0, "beam": False, "tip": "new"},
        {"kv": 15.0, "beam": True, "tip": "new"},
        {"kv": 15.0, "beam": True, "tip": "new"},
        {"kv": 15.0, "beam": False, "tip": None},
    ]
    (episode,) = data_of(replay_html([replay], "t"))["episodes"]
    assert episode["initial"] == replay.initial
    assert [s["changes"] for s in episode["steps"]] == [s.changes for s in replay.steps]
    assert episode["measures"] == [{"name": "PSNR", "value": "28.4 dB (best 30.0 dB)"}]


@pytest.mark.parametrize("kept", [{}, {"initial": None}, {"initial": [1]}, {"initial": {"a": [1], "b": {"c": 1}}}])
def test_logs_without_state_still_open(kept):
    damaged = [record(1, {"action": "wait"}, 1), record(2, {"action": "wait"}, 1, changes="none")]
    replay = make_replay(sample([ChatMessageUser(content=[picture(0)])], damaged, **kept), row())
    assert replay.state(2) == {}
    (episode,) = data_of(replay_html([replay], "t"))["episodes"]
    assert (episode["initial"], [s["changes"] for s in episode["steps"]]) == ({}, [{}, {}])


def cell(step, code="1 + 1", **kept):
    return record(step, {"action": "run_code", "code": code, "timeout": 9.0}, step, **kept)


def reply(thought, code):
    return ChatMessageAssistant(content=json.dumps({"thought": thought, "code": code}))


def test_each_reply_of_the_code_loop_is_a_step():
    raw = "Let me look around first."
    refused = {"action": "malformed_reply", "reply": raw}
    replay = make_replay(
        sample(
            [
                ChatMessageSystem(content="You write Python."),
                ChatMessageUser(content=[ContentText(text="Do it."), picture(0)]),
                reply("Look at the inputs. Then fit.", "# %%\nimport os\nos.listdir()"),
                ChatMessageUser(content=[ContentText(text="['a']\n\n[Steps] 2 left."), picture(1)]),
                ChatMessageAssistant(content=raw),
                ChatMessageUser(content="Refused: there is no JSON object in the reply. Answer with one."),
                ChatMessageAssistant(
                    content=[
                        ContentReasoning(reasoning="Hm."),
                        ContentText(text='```json\n{"code": "# go\\nx = 1"}\n```'),
                    ]
                ),
                ChatMessageUser(content="(no output)"),
                ChatMessageAssistant(content="Time is up."),
            ],
            [
                cell(1, "# %%\nimport os\nos.listdir()"),
                record(2, refused, 2, "unknown action 'malformed_reply'"),
                cell(3, "# go\nx = 1"),
            ],
            shown=["['a']", "unknown action", ""],
        ),
        row(),
    )
    assert [s.says for s in replay.steps] == ["Look at the inputs. Then fit.", "", "Hm."]
    assert [s.code for s in replay.steps] == ["# %%\nimport os\nos.listdir()", raw, "# go\nx = 1"]
    # What was sent, not what the world said.
    assert [s.shown for s in replay.steps] == [
        "['a']\n\n[Steps] 2 left.",
        "Refused: there is no JSON object in the reply. Answer with one.",
        "(no output)",
    ]
    assert replay.closing == "Time is up."
    (episode,) = data_of(replay_html([replay], "t"))["episodes"]
    assert [s["words"] for s in episode["steps"]] == [
        "Look at the inputs.",
        "a reply from which no code could be taken",
        "x = 1",
    ]
    assert episode["byCode"] is True


def test_each_call_of_the_tools_loop_is_a_step():
    def calls(text, *ids):
        made = [ToolCall(id=id, function="python", arguments={"code": "1"}) for id in ids]
        return ChatMessageAssistant(content=text, tool_calls=made)

    def answer(id, text):
        return ChatMessageTool(content=text, tool_call_id=id, function="python")

    replay = make_replay(
        sample(
            [
                ChatMessageUser(content="Do it."),
                ChatMessageAssistant(content=""),
                ChatMessageUser(content="There was no call of a tool in your answer."),
                calls("Two at once.", "a", "b"),
                answer("a", "one"),
                answer("b", "Not carried out: so the file says"),  # printed by the agent's own code
                calls("", "c", "d"),
                answer("c", "Refused: no tool fly"),
                answer("d", "Not carried out: the step budget is spent."),
                ChatMessageAssistant(content="Done."),
            ],
            [
                cell(1, "import numpy as np\nfrom os import path\n\nnp.pi"),
                cell(2, "# only words"),
                record(3, {"action": "unusable_call", "tool": "fly", "arguments": {}}, 3, "no tool fly"),
            ],
            shown=["1", "2", "3"],
        ),
        row(),
    )
    assert [(s.says, s.place, s.shown) for s in replay.steps] == [
        ("Two at once.", (1, 2), "one"),
        ("", (2, 2), "Not carried out: so the file says"),
        ("", (1, 1), "Refused: no tool fly"),
    ]
    assert replay.closing == "Done."
    (episode,) = data_of(replay_html([replay], "t"))["episodes"]
    names = [s["words"] for s in episode["steps"]]
    assert names == ["Two at once.", "# only words", "a call of fly that could not be carried out"]
    assert describe(cell(1, "# %%\nimport os\n\n  x = 2\n")["action"]) == "x = 2"


WHEN = datetime(2026, 1, 1, tzinfo=UTC)


def asked(message, sent=(), *, at=0.0, tools=("Bash",), error=None, **usage):
    """An event of a call of a model that began some seconds after the attempt, and took one."""
    return ModelEvent(
        model="maker/model", input=list(sent), tools=[ToolInfo(name=t, description=t) for t in tools],
        tool_choice="auto", config=GenerateConfig(), error=error, timestamp=WHEN + timedelta(seconds=at),
        completed=WHEN + timedelta(seconds=at + 1),
        output=ModelOutput(choices=[ChatCompletionChoice(message=message)], usage=ModelUsage(**usage) if usage else None),
    )  # fmt: skip


def acting():
    return SpanBeginEvent(id="a", name="matassay/acting", timestamp=WHEN - timedelta(seconds=2))


def reply_of(step, before):
    return record(step, {"action": "model_reply", "before": before, "messages": 1}, step)


def test_replies_of_a_program_are_steps_and_each_of_its_calls_stands_by_itself():
    def calls(text, *commands):
        made = [ToolCall(id=f"call_{i}", function="Bash", arguments={"command": c}) for i, c in enumerate(commands)]
        return ChatMessageAssistant(content=text, tool_calls=made)

    def answers(*texts):
        return [ChatMessageTool(content=t, tool_call_id=f"call_{i}", function="Bash") for i, t in enumerate(texts)]

    ask, title = ChatMessageUser(content="Do it."), ChatMessageAssistant(content="Adding numbers")
    first, second = calls("Look around. Then add.", "ls", "cat note.txt"), calls("", "python plot.py")
    time = ChatMessageUser(content="[Time] 9 s left.")
    # This program's model gives the same ids in every reply, and its second reply only came at the second try.
    talk = [ask, first, *answers("note.txt", "twenty"), time]
    drawn = ChatMessageTool(content=[ContentText(text="done"), picture(7)], tool_call_id="call_0", function="Bash")
    end = ChatMessageAssistant(content="All done.")
    sampled = sample(
        [],
        [reply_of(1, 1), reply_of(2, 2), reply_of(3, 2), reply_of(4, 3), reply_of(5, 4)],
        tool_mapping="cli:claude-code",
    )
    sampled.events = [
        acting(),
        asked(title, [ask], tools=()),
        asked(first, [ask], at=1, input_tokens=100, output_tokens=10, input_tokens_cache_read=7),
        asked(second, talk, at=5, error="overloaded"),
        asked(second, talk, at=9, input_tokens=200, output_tokens=20),
        asked(end, [*talk, second, drawn], at=70, input_tokens=300, output_tokens=30),
    ]
    replay = make_replay(sampled, row(steps=5))
    assert [(s.number, s.place, s.code, s.shown) for s in replay.steps] == [
        (1, (1, 2), "ls", "note.txt"),
        (1, (2, 2), "cat note.txt", "twenty\n\n[Time] 9 s left."),
        (2, (1, 1), "", ""),
        (3, (1, 1), "python plot.py", "done"),
        (4, (1, 1), "All done.", ""),
        (5, (1, 1), "", ""),
    ]
    assert [s.error for s in replay.steps if s.number in (2, 5)] == ["the model's answer is not in the log"] * 2
    assert [s.says for s in replay.steps] == ["Look around. Then add.", "", "", "", "All done.", ""]
    assert [s.elapsed for s in replay.steps] == [4.0, 4.0, None, 12.0, 73.0, None]
    assert replay.steps[0].tokens == {"input": 100, "cache_read": 7, "cache_write": 0, "output": 10}
    assert (replay.steps[1].tokens, replay.closing, replay.workspace) == ({}, "All done.", True)
    data = data_of(replay_html([replay], "t"))
    (episode,) = data["episodes"]
    assert [s["words"] for s in episode["steps"]] == [
        "Look around.", "Bash: cat note.txt", "a reply without a call", "Bash: python plot.py", "All done.",
        "a reply without a call",
    ]  # fmt: skip
    assert episode["counted"] == 5
    assert [s["plots"] for s in episode["steps"]] == [[], [], [], [0], [], []]
    assert len(data["images"]) == 1
    assert episode["steps"][0]["tokens"] == "tokens: 100 input, 7 cached, 10 output"


def test_logs_of_programs_from_before_their_calls_were_counted_still_open():
    end = ChatMessageAssistant(content="All done.")
    lost = ChatMessageAssistant(
        content="", tool_calls=[ToolCall(id="x", function="edit", arguments={"path": "a", "n": 1})]
    )
    old = sample([], [record(n, {"action": "model_reply", "messages": 1}, n) for n in (1, 2, 3)])
    old.events = [asked(end, tools=()), asked(lost), asked(end)]
    replay = make_replay(old, row())
    assert [(s.code, s.shown) for s in replay.steps] == [
        ("path: a\nn: 1", "(What came of it is not in the log.)"), ("All done.", ""), ("", ""),
    ]  # fmt: skip
    old.events = None
    assert [s.number for s in make_replay(old, row()).steps] == [1, 2, 3]


def test_plots_stand_beside_their_cell_whether_or_not_the_model_saw_them():
    kept = [p.image for p in (picture(1), picture(2))]
    said = reply("Plot.", "plot()")
    sampled = sample(
        [
            ChatMessageUser(content="Do it."), said, ChatMessageUser(content="[2 plots drawn, not shown]"),
            reply("Again.", "plot()"), ChatMessageUser(content=[ContentText(text="(no output)"), picture(3)]),
        ],
        [cell(1, "plot()"), cell(2, "plot()")],
        shown=["", ""],
    )  # fmt: skip
    sampled.events = [
        asked(said, at=1, input_tokens=5, output_tokens=2),
        InfoEvent(source="matassay/plots", data={"step": 1, "plots": kept}),
        InfoEvent(source="matassay/plots", data={"step": "x", "plots": [1]}),
        InfoEvent(source="another", data="words"),
    ]
    replay = make_replay(sampled, row())
    shade = {k: Image.open(io.BytesIO(i.data)).getpixel((0, 0)) for k, i in replay.images.items()}
    assert [[shade[key] for key in s.plots] for s in replay.steps] == [[1, 2], [3]]
    assert [(s.elapsed, s.tokens.get("output")) for s in replay.steps] == [(1.0, 2), (None, None)]


def test_a_cause_that_many_checks_share_stands_once():
    names = [f"gap_{n}" for n in range(5)]
    criteria = {"lit": True, **dict.fromkeys(names, False), "on": False, "off": False}
    messages = {**dict.fromkeys(names, "answer.json is not there"), "on": "it is off"}
    (episode,) = data_of(replay_html([make_replay(sample([], []), row(criteria=criteria, messages=messages))], "t"))[
        "episodes"
    ]
    assert [(c["name"], c["holds"], c["description"]) for c in episode["criteria"]] == [
        ("lit", True, ""),
        ("5 checks", False, "answer.json is not there"),
        ("on", False, "it is off"),
        ("off", False, ""),
    ]


def test_steps_without_their_conversation_show_what_the_record_kept():
    replay = make_replay(sample([ChatMessageUser(content="Do it.")], [cell(1), cell(2)], shown=["2", "two"]), row())
    assert [(s.code, s.shown, s.says) for s in replay.steps] == [("1 + 1", "2", ""), ("1 + 1", "two", "")]


def test_menu_leaves_out_what_all_episodes_begin_with():
    replays = [
        make_replay(sample([], []), row(sample_id=f"research/study/0{n}-long-name@full#{n}", seed=n)) for n in (1, 2)
    ]
    found = data_of(replay_html(replays, "t"))["episodes"]
    assert [e["name"] for e in found] == ["01-long-name@full#1", "02-long-name@full#2"]


def test_pictures_that_are_none_are_left_out():
    bad = [ContentImage(image=f"data:image/{t};base64,{b}") for t, b in (("svg+xml", "PHN2Zz4="), ("png", "%%%"))]
    replay = make_replay(sample([ChatMessageUser(content=[*bad, ContentImage(image="http://x/y.png")])], []), row())
    assert replay.images == {}
    assert data_of(replay_html([replay], "t"))["episodes"][0]["first"] is None


def test_replay_of_a_real_log(toy_suite, tmp_path):
    evals.run([toy.LAMP, toy.UNGRADABLE], agent="reference", seeds=range(2), log_dir=tmp_path)
    evals.run([toy.LAMP], agent="null", log_dir=tmp_path)
    logs = find_logs([tmp_path])
    assert len(logs) == 2
    first, *others = read_replays(logs[0])
    assert len(others) == 3
    assert [s.action["action"] for s in first.steps] == ["screenshot", "left_click", "wait", "left_click"]
    assert first.result.success is True
    assert first.result.outcome is Outcome.SCORED
    assert first.closing == "Done."
    assert first.instruction.startswith("Switch the lamp on")
    assert first.descriptions["on"] == "The lamp is on."
    assert first.initial == {"on": False, "files": 0}
    assert [s.changes for s in first.steps] == [{}, {"on": True}, {}, {"files": 1}]
    assert first.state(4) == {"on": True, "files": 1}
    assert len(first.images) == 3  # off, on, two seconds later; looking and saving change nothing on the screen
    assert first.steps[1].before == first.first
    assert first.steps[1].after != first.first

    (chosen,) = read_replays(logs[0], "toy/lamp/s01-switch-on@full#1")
    assert chosen.result.seed == 1
    assert len(list(read_replays(logs[0], "s01"))) == 2
    with pytest.raises(MatAssayError, match="no sample 'nowhere'; it has: toy/lamp/s01"):
        list(read_replays(logs[0], "nowhere"))
    (idle,) = read_replays(logs[1])
    assert idle.steps == ()
    assert idle.state(0) == {"on": False, "files": 0}
    assert idle.first == idle.last is not None

    page = write_replay([first, *others, idle], tmp_path / "replay.html", "T").read_text("utf-8")
    data = data_of(page)
    assert [e["id"] for e in data["episodes"]] == [r.result.sample_id for r in (first, *others, idle)]
    # The same lamp was seen in all of them: each of its pictures is kept once.
    assert len(data["images"]) == len(set(data["images"])) == 3
    assert data["episodes"][0]["steps"][1]["coordinate"] == [140, 120]
    assert data["episodes"][2]["success"] is None
    assert "KeyError" in data["episodes"][2]["error"]
    small = data_of(replay_html([first], "T", smaller=True))
    assert all(uri.startswith("data:image/webp;base64,") for uri in small["images"])

    settings = read_settings([tmp_path])
    assert [s.settings["model"] for s in settings] == ["reference/reference", "reference/null"]
    assert settings[0].settings["step_limit"] == "each task's own"
    assert settings[0].settings["observation mode"] == "screenshot"
    assert settings[0].created


def test_what_is_no_log_is_said(tmp_path):
    wrong = tmp_path / "wrong.eval"
    wrong.write_bytes(b"no zip")
    with pytest.raises(MatAssayError, match=r"wrong\.eval: not a log that can be read"):
        list(read_replays(wrong))
    with pytest.raises(MatAssayError, match="there is no such log"):
        find_logs([tmp_path / "nowhere"])
    assert find_logs([tmp_path]) == [wrong]


def test_hostile_words_stay_words():
    hostile = "</script><script>alert(1)</script><!--<script> \u2028 & \ud800"
    replay = make_replay(
        sample(
            [ChatMessageUser(content=[picture(0)]), ChatMessageAssistant(content="</script><b>"), ChatMessageTool(content=[picture(1)])],
            [record(1, {"action": hostile, "coordinate": [1e400, "x"], "text": {"a": hostile}, "path": 3, hostile: 1}, 1, hostile,
                    changes={hostile: hostile, "__proto__": 1, "far": 10**400})],
            initial={hostile: hostile},
        ),
        row(error=hostile, criteria={hostile: True}, consequences=[{"name": hostile, "step": None, "message": hostile}]),
    )  # fmt: skip
    page = replay_html([replay], hostile)
    assert page.count("<script") == 2  # the data, the program
    assert page.count("</script") == 2
    (step,) = data_of(page)["episodes"][0]["steps"]
    assert step["error"] == hostile
    assert step["changes"] == {hostile: hostile, "__proto__": 1}
    assert hostile[:10] in step["words"]
    assert "Content-Security-Policy" in page
    assert not re.findall(r'(?:src|href)="(?!#)', page)


def test_page_without_episodes():
    assert data_of(replay_html([], "T"))["episodes"] == []


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"action": "left_click", "coordinate": [1, 2]}, "click at (1, 2)"),
        ({"action": "right_click", "coordinate": [1, 2], "text": "shift"}, "right click at (1, 2) with shift held"),
        ({"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]}, "drag from (1, 2) to (3, 4)"),
        ({"action": "scroll", "scroll_direction": "up", "scroll_amount": 3}, "scroll up by 3"),
        ({"action": "type", "text": "45.0", "press_enter": True}, "type “45.0” and Return"),
        ({"action": "key", "text": "Tab", "repeat": 3}, "press Tab, 3 times"),
        ({"action": "hold_key", "text": "shift", "duration": 2}, "hold shift for 2 s"),
        ({"action": "wait", "duration": 2}, "wait 2 s"),
        ({"action": "mouse_move", "coordinate": [1, 2]}, "move the pointer to (1, 2)"),
        ({"action": "zoom", "region": [0, 0, 1, 1]}, "look closer"),
        ({"action": "fly"}, "fly"),
        ({}, "nothing"),
    ],
)
def test_actions_in_words(action, words):
    assert describe(action) == words
