"""Child processes: their greeting, their death, and ours."""

from __future__ import annotations

import sys

import pytest

from matassay.core import EnvironmentFailure
from matassay.worlds.process import Child

SERVANT = (
    "import sys, json; s = sys.stdin.readline().strip(); print(json.dumps({'got': s}), flush=True); sys.stdin.read()"
)


async def test_it_gets_its_secret_by_its_input_and_ends_with_it() -> None:
    child = await Child.spawn("a servant", [sys.executable, "-c", SERVANT], secret="hush")
    assert child.greeting == {"got": "hush"}
    assert child.alive
    await child.stop()
    assert not child.alive
    await child.stop()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            "import sys; print('broken', file=sys.stderr); sys.exit(3)",
            "a servant did not start: it ended at once\nbroken",
        ),
        ("print('hello', flush=True); import sys; sys.stdin.read()", "a servant did not start: Expecting value"),
        ("print([1], flush=True); import sys; sys.stdin.read()", "instead of a JSON object"),
        ("import signal; signal.pause()", "it was not ready in time"),
    ],
)
async def test_a_bad_start_is_told(program: str, says: str) -> None:
    deadline = 0.5 if "pause" in program else 20.0
    with pytest.raises(EnvironmentFailure, match=says):
        await Child.spawn("a servant", [sys.executable, "-c", program], secret="x", deadline=deadline)


async def test_no_program_at_all() -> None:
    with pytest.raises(EnvironmentFailure, match="cannot be started"):
        await Child.spawn("a servant", ["/nowhere/program"], secret="x")


async def test_one_that_does_not_end_is_killed() -> None:
    deaf = SERVANT.replace("sys.stdin.read()", "import signal; signal.pause()")
    child = await Child.spawn("a servant", [sys.executable, "-c", deaf], secret="x")
    await child.stop(grace=0.05)
    assert not child.alive


async def test_one_that_talks_a_lot_does_not_stand_still() -> None:
    chatty = SERVANT.replace(
        "sys.stdin.read()",
        "print('x' * 300000, flush=True); print('y' * 300000, file=sys.stderr); print('end', file=sys.stderr)",
    )
    child = await Child.spawn("a servant", [sys.executable, "-c", chatty], secret="x")
    await child.wait()
    await child.stop()
    assert child.last_words.endswith("end")
