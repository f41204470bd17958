"""A person at the instrument: what is recorded, and when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
import websockets

from matassay.cli._play import as_action, choose
from matassay.core import MatAssayError, parse_action
from matassay.report.logs import read_replays


@pytest.mark.parametrize(
    ("gesture", "action"),
    [
        ({"id": "go", "args": [], "at": [10, 20]}, {"action": "left_click", "coordinate": [10, 20]}),
        ({"id": "go", "args": [], "at": None}, {"action": "key", "text": "Return"}),
        ({"id": "angle", "args": [27.5], "at": None}, {"action": "type", "text": "27.5", "press_enter": True}),
        ({"id": "filter", "args": [True], "at": None}, {"action": "key", "text": "Return"}),
        ({"id": "rate", "args": ["8"], "at": [1, 2]}, {"action": "left_click", "coordinate": [1, 2]}),
        (
            {"id": "v", "args": [1, 2], "gesture": "double", "at": [1, 2]},
            {"action": "double_click", "coordinate": [1, 2]},
        ),
        (
            {"id": "v", "args": [1, 2, 3, 4], "gesture": "drag", "at": [5, 6]},
            {"action": "left_click_drag", "coordinate": [5, 6]},
        ),
        (
            {"id": "v", "args": [1, 2, -3], "gesture": "wheel", "at": [5, 6]},
            {"action": "scroll", "scroll_direction": "up", "scroll_amount": 3, "coordinate": [5, 6]},
        ),
        ({"id": "d", "args": [], "gesture": "cancel", "at": None}, {"action": "key", "text": "Escape"}),
        ({"id": None, "args": None, "at": "x"}, {"action": "left_click"}),
    ],
)
def test_gestures_are_actions(gesture, action):
    made = as_action(gesture)
    assert made.pop("control") == gesture["id"]
    assert made.pop("value", []) == (gesture["args"] or [])
    assert made == action
    parse_action(made)


def test_which_task_is_meant():
    assert choose("xrd", None).id == "instruments/xrd/workflow"
    assert choose("xrd", "s04").id == "instruments/xrd/s04-set-angles"
    assert choose("instruments/xrd/s04", None).id == "instruments/xrd/s04-set-angles"
    for wrong in (("nothing", None), ("xrd", "s99")):
        with pytest.raises(MatAssayError):
            choose(*wrong)
    with pytest.raises(MatAssayError, match=r"there are: .*xrd"):
        choose("nothing", None)


async def person(url: str) -> None:
    """Operates the panel over its own socket, as the page does: sets the start angle, then tries nonsense."""
    async with websockets.connect(url.replace("http://", "ws://") + "ws", max_size=None) as socket:
        tree = json.loads(await socket.recv())["tree"]
        (angle,) = [w for w in walk(tree) if w.get("label") == "Start angle"]
        await socket.send(json.dumps({"seq": 1, "id": angle["id"], "args": [27.0]}))
        await socket.send(json.dumps({"seq": 2, "id": "no such thing", "args": [], "at": [30, 40]}))
        while True:
            message = await socket.recv()
            commit = json.loads(message) if isinstance(message, str) else {}
            if commit.get("t") == "commit":
                await socket.send(json.dumps({"painted": commit["rev"]}))
                if commit["seq"] >= 2:
                    return


def walk(node: dict):
    yield node
    for child in node.get("children", []):
        yield from walk(child)


@pytest.mark.browser
@pytest.mark.timeout(240)
@pytest.mark.parametrize("end", ["enter", "interrupt", "terminate"])
async def test_a_session(tmp_path: Path, end: str):
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "matassay", "play", "xrd", "s04", "--no-open", "--log-dir", str(tmp_path), "--format", "json",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**os.environ},
    )  # fmt: skip
    try:
        url, told = "", ""
        async for line in process.stderr:
            told += line.decode()
            url = url or next(iter(re.findall(r"The instrument: (\S+)", line.decode())), "")
            if b"when you are done" in line:
                break
        assert url, told
        assert "start angle" in told.lower() or "scan program" in told.lower()
        await person(url)
        if end == "enter":
            process.stdin.write(b"\n")
        else:
            process.send_signal(signal.SIGINT if end == "interrupt" else signal.SIGTERM)
        out, err = await asyncio.wait_for(process.communicate(), 120)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    row = json.loads(out)
    assert (row["outcome"], row["success"], row["steps"], row["invalid_actions"]) == ("scored", False, 2, 1)
    assert Path(row["replay"]).is_file()
    (log,) = tmp_path.glob("*.eval")
    (replay,) = read_replays(log)
    assert replay.result.agent == "human"
    typed, refused = replay.steps
    assert (typed.action["action"], float(typed.action["text"]), typed.error) == ("type", 27.0, None)
    assert refused.action["coordinate"] == [30, 40]
    assert "does not know" in refused.error
    assert typed.before == replay.first
    assert refused.after in replay.images
