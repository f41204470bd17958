"""Which loop a model acts in follows from the tasks, or is said to be impossible."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from matassay.agents import LOOPS, loop_for
from matassay.core import Interface, MatAssayError

SCREEN = SimpleNamespace(id="a/screen/x", interface=Interface.SCREEN)
SPACE = SimpleNamespace(id="a/space/x", interface=Interface.WORKSPACE)


@pytest.mark.parametrize(
    ("tasks", "agent", "loop"),
    [
        ([SCREEN], None, "gui"),
        ([SPACE, SPACE], None, "code"),
        ([SCREEN], "gui", "gui"),
        *(([SPACE], name, name) for name, interface in LOOPS.items() if interface is Interface.WORKSPACE),
    ],
)
def test_the_usual_loop_or_the_named_one(tasks: list, agent: str | None, loop: str) -> None:
    assert loop_for(tasks, agent) == loop


@pytest.mark.parametrize(
    ("tasks", "agent", "words"),
    [
        ([SCREEN, SPACE], None, "run them apart"),
        ([SCREEN], "code", "'code' needs a workspace, which a/screen/x does not have"),
        ([SPACE], "gui", "'gui' needs a screen, which a/space/x does not have"),
        ([SPACE], "wizard", "unknown agent 'wizard'; known: reference, null, random, gui, code"),
    ],
)
def test_what_cannot_be_is_said(tasks: list, agent: str | None, words: str) -> None:
    with pytest.raises(MatAssayError, match=words):
        loop_for(tasks, agent)
