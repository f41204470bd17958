"""How a hand uses each kind of widget: building blocks of scripted agents.

Every block is a generator of actions that is sent the screen after each and returns the last one, so that blocks are
chained with ``screen = yield from ...``. They know what a person knows: the words on the panel.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from matassay.core import AccessibleNode, Observation, Policy, Scenario

Move = Generator[dict[str, Any], Observation, Observation]
"""A block of a policy."""


def as_policy(move: Callable[[Scenario], Move]) -> Callable[[Scenario], Policy]:
    """A block as a whole policy: what it returns is not needed."""

    def policy(scenario: Scenario) -> Policy:
        yield from move(scenario)

    return policy


def look() -> Move:
    """Take a first look."""
    return (yield {"action": "screenshot"})


def click(node: AccessibleNode) -> Move:
    """Click the middle of an element."""
    return (yield {"action": "left_click", "coordinate": list(node.center)})


def press(screen: Observation, name: str, role: str = "button") -> Move:
    """Press the button of a name."""
    return (yield from click(screen.find(role, name)))


def choose(screen: Observation, name: str, option: str) -> Move:
    """Choose from a drop-down list: open it, then click the option, scrolling down and then up to it if need be."""
    screen = yield from click(screen.find("combobox", name))
    # A list opens where its present entry is, so that the option may lie above: up once the end is reached.
    direction = "down"
    shown: list[str] = []
    for _ in range(20):
        found = [n for n in screen.find_all("option", option) if _inside_list(screen, n)]
        if found:
            return (yield from click(found[0]))
        options = screen.find_all("option")
        if shown == [n.name for n in options]:
            direction = "up"
        shown = [n.name for n in options]
        screen = yield {
            "action": "scroll",
            "coordinate": list(options[0].center),
            "scroll_direction": direction,
            "scroll_amount": 2,
        }
    raise LookupError(f"{name}: no option {option!r} in the list")


def choose_by_keys(screen: Observation, name: str, option: str) -> Move:
    """Choose from a drop-down list with the keyboard."""
    screen = yield from press(screen, name, role="combobox")
    yield from highlight(option)
    return (yield {"action": "key", "text": "Return"})


def highlight(option: str) -> Move:
    """Bring an open list's mark to an option: counted from the top, or from the bottom of a list that scrolls."""
    screen = yield {"action": "key", "text": "Home"}
    labels = [n.name for n in screen.find_all("option")]
    arrow, count = "Down", labels.index(option) if option in labels else None
    if count is None:
        screen = yield {"action": "key", "text": "End"}
        labels = [n.name for n in screen.find_all("option")]
        arrow, count = "Up", len(labels) - 1 - labels.index(option)
    if count:
        screen = yield {"action": "key", "text": arrow, "repeat": count}
    return screen


def choose_neighbour(screen: Observation, name: str, option: str) -> Move:
    """Choose the entry after an option, or the one before the last: a slip of the hand."""
    yield from press(screen, name, role="combobox")
    screen = yield from highlight(option)
    options = [n.name for n in screen.find_all("option")]
    yield {"action": "key", "text": "Down" if options[-1] != option else "Up"}
    return (yield {"action": "key", "text": "Return"})


def leave_list(screen: Observation, name: str, option: str) -> Move:
    """Mark an option of a drop-down list and leave the list with Escape, which chooses nothing."""
    yield from press(screen, name, role="combobox")
    yield from highlight(option)
    return (yield {"action": "key", "text": "Escape"})


def _inside_list(screen: Observation, option: AccessibleNode) -> bool:
    """Whether an option is not scrolled out of its list."""
    x, y = option.center
    return any(
        box.box[0] <= x <= box.box[0] + box.box[2] and box.box[1] <= y <= box.box[1] + box.box[3]
        for box in screen.find_all("listbox")
    )


def enter(screen: Observation, name: str, value: str, role: str = "spinbutton") -> Move:
    """Type a value into a field in place of what it holds."""
    yield {"action": "triple_click", "coordinate": list(screen.find(role, name).center)}
    return (yield {"action": "type", "text": value, "press_enter": True})


def switch(screen: Observation, name: str, on: bool) -> Move:
    """Bring a toggle into a position."""
    node = screen.find("switch", name)
    if ("checked" in node.states) is not on:
        screen = yield from click(node)
    return screen


def wait_until(holds: Callable[[Observation], bool], screen: Observation, seconds: float = 1.0, most: int = 40) -> Move:
    """Wait in portions of ``seconds`` until something shows on the screen.

    Raises
    ------
    LookupError
        If it does not show after ``most`` portions.
    """
    for _ in range(most):
        if holds(screen):
            return screen
        screen = yield {"action": "wait", "duration": seconds}
    if holds(screen):
        return screen
    raise LookupError("what was waited for does not show")


def reading(screen: Observation, name: str) -> str:
    """Text of a readout."""
    return screen.find("status", name).value
