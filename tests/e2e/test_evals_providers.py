"""Models act through the APIs of two providers, played by scripted servers on loopback."""

from __future__ import annotations

import base64
import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from matassay import evals
from matassay.core import Outcome
from tests.unit.evals import toy

CLICK_SWITCH = [140, 120]
CLICK_SAVE = [340, 120]


#: What the engine asks an OpenAI model before the first turn, to see whether it may have summaries of its reasoning.
PROBE = "Please say 'hello, world'"


class Server(ThreadingHTTPServer):
    """Answers the n-th request with the n-th turn of a script, and keeps what it was sent."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, wrap, turns):
        super().__init__(("127.0.0.1", 0), Handler)
        self.wrap, self.turns, self.requests = wrap, iter(turns), []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if request.get("input") == PROBE:
            return self.reply(200, self.server.wrap(request, ["hello, world"]))
        self.server.requests.append(request)
        turn = next(self.server.turns)
        if isinstance(turn, int):
            return self.reply(turn, {"error": {"type": "bad", "message": "no"}})
        answer = self.server.wrap(request, turn)
        if request.get("stream"):
            return self.send("text/event-stream", "".join(stream(answer)).encode())
        return self.reply(200, answer)

    def reply(self, status, body):
        self.send("application/json", json.dumps(body).encode(), status)

    def send(self, kind, data, status=200):
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args):
        pass


@contextmanager
def serving(wrap, turns) -> Iterator[Server]:
    server = Server(wrap, turns)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def toy_suite(monkeypatch) -> Iterator[None]:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with toy.registered():
        yield
    assert toy.OPEN == [0]


counter = itertools.count()


def anthropic(request, turn):
    """A reply of the Messages API; a turn is a list of content blocks."""
    blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in turn]
    acts = any(b["type"] == "tool_use" for b in blocks)
    return {
        "id": f"msg_{next(counter)}", "type": "message", "role": "assistant", "model": request["model"],
        "content": blocks, "stop_reason": "tool_use" if acts else "end_turn", "stop_sequence": None,
        "usage": {
            "input_tokens": 1000, "output_tokens": 100, "cache_read_input_tokens": 500,
            "cache_creation_input_tokens": 200,
        },
    }  # fmt: skip


def stream(message):
    """The same reply as server-sent events."""

    def event(kind, **fields):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    yield event("message_start", message={**message, "content": [], "stop_reason": None})
    for index, block in enumerate(message["content"]):
        text = block["type"] == "text"
        empty = {**block, "text": ""} if text else {**block, "input": {}}
        part = {"type": "text_delta", "text": block["text"]} if text else {
            "type": "input_json_delta", "partial_json": json.dumps(block["input"])
        }  # fmt: skip
        yield event("content_block_start", index=index, content_block=empty)
        yield event("content_block_delta", index=index, delta=part)
        yield event("content_block_stop", index=index)
    yield event("message_delta", delta={"stop_reason": message["stop_reason"], "stop_sequence": None}, usage=message["usage"])  # fmt: skip
    yield event("message_stop")


def member(name, **arguments):
    """A call of a member of Anthropic's native computer toolset."""
    return {"type": "tool_use", "id": f"toolu_{next(counter)}", "name": name, "toolset_name": "computer", "input": arguments}  # fmt: skip


def function(**arguments):
    """A call of the tool as a plain function."""
    return {"type": "tool_use", "id": f"toolu_{next(counter)}", "name": "computer", "input": arguments}


def openai(request, turn):
    """A reply of the Responses API; a turn is a list of output items."""
    output = []
    for item in turn:
        if isinstance(item, str):
            text = {"type": "output_text", "text": item, "annotations": []}
            item = {"type": "message", "role": "assistant", "status": "completed", "content": [text]}
        output.append({"id": f"item_{next(counter)}", **item})
    return {
        "id": f"resp_{next(counter)}", "object": "response", "created_at": 1, "status": "completed", "error": None,
        "incomplete_details": None, "instructions": None, "model": request["model"], "output": output,
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [], "metadata": {}, "temperature": 1, "top_p": 1,
        "usage": {
            "input_tokens": 1500, "output_tokens": 100, "total_tokens": 1600,
            "input_tokens_details": {"cached_tokens": 500}, "output_tokens_details": {"reasoning_tokens": 0},
        },
    }  # fmt: skip


def computer_call(*actions):
    """A native call of OpenAI: several actions at once."""
    return {"type": "computer_call", "call_id": f"call_{next(counter)}", "status": "completed", "pending_safety_checks": [], "actions": list(actions)}  # fmt: skip


def function_call(**arguments):
    return {"type": "function_call", "call_id": f"call_{next(counter)}", "status": "completed", "name": "computer", "arguments": json.dumps(arguments)}  # fmt: skip


def act(tmp_path, wrap, model, turns, path="", **options):
    with serving(wrap, turns) as server:
        (result,) = evals.run(
            [toy.LAMP], model=model, model_base_url=server.url + path, log_dir=tmp_path,
            **{"retries": 0, **options},
        )  # fmt: skip
    return result, server.requests


def pngs(value) -> list[bytes]:
    """All images of a request, wherever the provider puts them."""
    if isinstance(value, dict):
        if value.get("type") == "image":
            return [base64.b64decode(value["source"]["data"])]
        if isinstance(value.get("image_url"), str):
            return [base64.b64decode(value["image_url"].partition(",")[2])]
        value = list(value.values())
    return [png for v in value for png in pngs(v)] if isinstance(value, list) else []


# --- Anthropic -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "kind"),
    [("claude-opus-5-5", "computer_toolset_20260801"), ("claude-opus-4-8", "computer_20251124")],
)
def test_anthropic_native(tmp_path, model, kind):
    call = member if kind.startswith("computer_toolset") else lambda name, **a: function(action=name, **a)
    turns = [
        ["I switch it on.", call("left_click", coordinate=CLICK_SWITCH)],
        [call("wait", duration=2)],
        [call("left_click", coordinate=CLICK_SAVE)],
        ["I am done."],
    ]
    result, requests = act(tmp_path, anthropic, f"anthropic/{model}", turns)
    assert (result.outcome, result.success, result.steps) == (Outcome.SCORED, True, 3)
    assert result.tool_mapping == f"native:{kind}"
    (tool,) = requests[0]["tools"]
    assert tool["type"] == kind
    assert (tool.get("display_width_px", 1366), tool.get("display_height_px", 768)) == (1366, 768)
    (reply,) = requests[1]["messages"][-1]["content"]
    assert reply["type"] == "tool_result"
    assert reply.get("toolset_name") == ("computer" if call is member else None)
    assert pngs(reply)[0].startswith(b"\x89PNG")
    assert pngs(reply) != pngs(requests[0]["messages"])  # the lamp is on
    assert result.usage == {"input": 4000, "cache_read": 2000, "cache_write": 800, "output": 400}
    per_token = (4, 0.2, 5, 20) if model == "claude-opus-5-5" else (5, 0.5, 6.25, 25)
    assert result.cost == pytest.approx(
        sum(n * p for n, p in zip((4000, 2000, 800, 400), per_token, strict=True)) / 1e6
    )
    assert (result.agent, result.model) == ("gui", f"anthropic/{model}")


def test_anthropic_refused_action_stops_the_turn(tmp_path):
    turns = [
        [
            member("left_click", coordinate=CLICK_SWITCH),
            member("key", text="F7"),
            member("left_click", coordinate=CLICK_SAVE),
        ],
        [member("left_click", coordinate=[5000, 5])],
        ["Done."],
    ]
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns)
    assert (result.steps, result.invalid_actions, result.criteria["saved"]) == (3, 2, False)
    replies = requests[1]["messages"][-1]["content"]
    texts = [" ".join(c["text"] for c in r["content"] if c["type"] == "text") for r in replies]
    assert texts[0] == ""
    assert "unknown key 'F7'" in texts[1]
    assert "Not carried out" in texts[2]
    assert all(pngs(r) for r in replies)
    assert "outside the screen" in json.dumps(requests[2]["messages"][-1])


def test_anthropic_as_a_function(tmp_path):
    turns = [
        [function(action="left_click", coordinate=CLICK_SWITCH)],
        [function(actions=[{"action": "wait", "duration": 1}, {"action": "left_click", "coordinate": CLICK_SAVE}])],
        ["Done."],
    ]
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns, internal_tools=False)
    assert (result.success, result.steps, result.tool_mapping) == (True, 3, "function")
    (tool,) = requests[0]["tools"]
    assert tool["name"] == "computer"
    assert tool["input_schema"]["properties"].keys() >= {"action", "actions", "coordinate"}


def test_what_cannot_be_parsed_is_answered_and_counted(tmp_path):
    unknown = {"type": "tool_use", "id": "toolu_x", "name": "click", "input": {"x": 1}}
    turns = [
        [function(action="left_click", coordinate="the switch")],
        [unknown],
        [function()],
        [function(action="left_click", coordinate=CLICK_SAVE, actions=[{"action": "wait"}])],
        [function(action="fly")],
        ["Done."],
    ]
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns, internal_tools=False)
    assert (result.outcome, result.steps, result.invalid_actions) == (Outcome.SCORED, 5, 5)
    assert result.score == 0
    for request in requests[1:]:
        (reply,) = request["messages"][-1]["content"]
        assert "Refused: " in json.dumps(reply)
        assert pngs(reply)


def test_old_screenshots_are_left_out(tmp_path):
    turns = [*([member("screenshot")] for _ in range(6)), ["Done."]]
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns)
    # the one with the instruction stays, and the last three
    assert [len(pngs(r["messages"])) for r in requests] == [1, 2, 3, 4, 4, 4, 4]
    assert result.steps == 6


def test_step_limit_ends_the_episode(tmp_path):
    turns = [[member("screenshot")] for _ in range(4)]
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns, step_limit=2)
    assert (result.outcome, result.steps, result.success) == (Outcome.LIMIT, 2, False)
    assert len(requests) == 3
    assert "last step" in json.dumps(requests[2]["messages"][-1])


def test_token_limit_is_graded(tmp_path):
    turns = [[member("left_click", coordinate=CLICK_SWITCH)] for _ in range(9)]
    result, _ = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns, token_limit=2000)
    assert (result.outcome, result.success) == (Outcome.LIMIT, False)
    assert result.score is not None


def test_silence_is_asked_about_and_then_the_agents_error(tmp_path):
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", [[" "]] * 3)
    assert result.outcome is Outcome.AGENT_ERROR
    assert len(requests) == 3
    assert "say in a sentence" in json.dumps(requests[1]["messages"][-1])


def test_a_failing_provider_is_not_the_agents_fault(tmp_path):
    result, _ = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", [[member("screenshot")], 400])
    assert (result.outcome, result.success, result.score) == (Outcome.ENVIRONMENT_ERROR, None, None)
    assert "400" in (result.error or "")


def test_a_breaking_world_has_no_score(tmp_path):
    turns = [[member("key", text="F9")]]
    result, _ = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", turns)
    assert (result.outcome, result.success, result.score) == (Outcome.ENVIRONMENT_ERROR, None, None)
    assert "exploded" in (result.error or "")


def test_a_bug_of_the_world_is_not_shown_to_the_model_as_its_own(tmp_path):
    result, requests = act(tmp_path, anthropic, "anthropic/claude-opus-5-5", [[member("key", text="F10")]])
    assert result.outcome is Outcome.ENVIRONMENT_ERROR
    assert len(requests) == 1


# --- OpenAI ----------------------------------------------------------------------------------------------------


def test_openai_native(tmp_path):
    switch = {"type": "click", "button": "left", "x": CLICK_SWITCH[0], "y": CLICK_SWITCH[1]}
    save = {"type": "click", "button": "left", "x": CLICK_SAVE[0], "y": CLICK_SAVE[1]}
    turns = [
        [computer_call(switch, {"type": "wait"})],
        [computer_call({"type": "keypress", "keys": ["F7"]}, save)],
        [computer_call(save)],
        ["Done."],
    ]
    result, requests = act(tmp_path, openai, "openai/gpt-5.4", turns, path="/v1")
    assert (result.outcome, result.success, result.steps, result.invalid_actions) == (Outcome.SCORED, True, 4, 1)
    assert result.tool_mapping == "native:computer"
    assert requests[0]["tools"] == [{"type": "computer"}]
    first, refused = (r["input"][-1] for r in requests[1:3])
    assert first["type"] == refused["type"] == "computer_call_output"
    assert pngs(first)[0].startswith(b"\x89PNG")
    # a native reply has no words: that an action was refused shows on the screen
    assert len(pngs(refused)[0]) > 200
    assert pngs(refused) != pngs(first)
    assert result.usage == {"input": 4000, "cache_read": 2000, "cache_write": 0, "output": 400}
    assert result.cost == pytest.approx((4000 * 2.5 + 2000 * 0.25 + 400 * 15) / 1e6)


@pytest.mark.parametrize(("model", "options"), [("gpt-5.4", {"internal_tools": False}), ("gpt-5.2", {})])
def test_openai_as_a_function(tmp_path, model, options):
    turns = [
        [function_call(action="left_click", coordinate=CLICK_SWITCH)],
        [function_call(action="left_click", coordinate=[9999, 1])],
        [function_call(action="left_click", coordinate=CLICK_SAVE)],
        ["Done."],
    ]
    result, requests = act(tmp_path, openai, f"openai/{model}", turns, path="/v1", **options)
    assert (result.success, result.steps, result.invalid_actions, result.tool_mapping) == (True, 3, 1, "function")
    (tool,) = requests[0]["tools"]
    assert (tool["type"], tool["name"]) == ("function", "computer")
    assert pngs(requests[1]["input"][-1])
    assert "outside the screen" in json.dumps(requests[2]["input"][-1])


@pytest.mark.parametrize(
    ("wrap", "model", "path", "step"),
    [
        (openai, "openai/gpt-5.2", "/v1", function_call),
        (anthropic, "anthropic/claude-opus-5-5", "", function),
    ],
)
def test_half_a_surrogate_pair_is_no_failure_of_the_environment(tmp_path, wrap, model, path, step):
    turns = [
        [step(action="type", text="a\ud800b")],
        [step(action="left_click", coordinate=CLICK_SWITCH)],
        ["Done \ud800."],
    ]
    result, _ = act(tmp_path, wrap, model, turns, path, internal_tools=False)
    assert result.error is None
    assert (result.outcome, result.steps, result.score) == (Outcome.SCORED, 2, 0.5)
