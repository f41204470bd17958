"""An agent that touches everything once, without having read what it is to do."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from matassay.core import AccessibleNode, Observation, Policy, Scenario, Task

#: Never more than this, however large the panel.
MOST_ACTIONS = 120

#: What it types into every field: it knows no number of the goal.
WORD = "7"

FIELDS = ("textbox", "spinbutton")
CLICKED = ("button", "switch", "tab", "checkbox", "radio")


def blind(task: Task, scenario: Scenario, seed: int) -> Policy:
    """Press every button, turn every switch, fill every field and take the last entry of every list, in turn."""
    screen = yield {"action": "screenshot"}
    tried: set[tuple[str, str]] = set()
    for _ in range(MOST_ACTIONS // 3):
        fresh = [n for n in screen.accessible or () if _can_be_tried(n) and (n.role, n.name) not in tried]
        if not fresh:
            return
        tried.add((fresh[0].role, fresh[0].name))
        screen = yield from _try(fresh[0])


def _can_be_tried(node: AccessibleNode) -> bool:
    return node.enabled and node.role in (*FIELDS, *CLICKED, "combobox", "slider")


def _try(node: AccessibleNode) -> Generator[dict[str, Any], Observation, Observation]:
    at = list(node.center)
    if node.role in FIELDS:
        yield {"action": "triple_click", "coordinate": at}
        return (yield {"action": "type", "text": WORD, "press_enter": True})
    screen = yield {"action": "left_click", "coordinate": at}
    if node.role == "combobox":
        yield {"action": "key", "text": "End"}
        screen = yield {"action": "key", "text": "Return"}
    return screen
