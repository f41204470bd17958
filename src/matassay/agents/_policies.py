"""Policies: generators that yield actions and are sent what the screen shows after each."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from matassay.core import (
    ACTIONS,
    MIN_REGION,
    SCREEN,
    Attempt,
    Interface,
    MatAssayError,
    Policy,
    Scenario,
    Task,
    stream,
)

from . import _workspace

PolicyFactory = Callable[[Task, Scenario, int], Policy]
"""Makes the policy of a task, a scenario and a seed."""

RANDOM_STEPS: Final = 50

#: What the random agent presses: keys that move a focus, change a value or close something, and letters.
KEYS: Final = (
    "Tab", "shift+Tab", "Return", "Escape", "space", "BackSpace", "Delete", "Up", "Down", "Left", "Right", "Home",
    "End", "Page_Up", "Page_Down", "ctrl+a", "ctrl+z", "a", "z", "0", "5", "9", ".", "-",
)  # fmt: skip

#: What it types: letters, numbers of any size, and names of files.
CHARACTERS: Final = "abcdefghijklmnopqrstuvwxyz0123456789.-_ "

#: Longest time of one of its waits and held keys, agent seconds.
LONGEST: Final = 5.0


def public(scenario: Scenario) -> Scenario:
    """The scenario without its hidden truth and start state: all that a policy gets."""
    return dataclasses.replace(scenario, start={}, truth={})


def attempt_named(task: Task, name: str) -> Attempt:
    """The reference, alternative or near miss of a task that has this name.

    Raises
    ------
    MatAssayError
        If the task has none of that name; the text lists those that it has.
    """
    known = [a for a in (task.reference, *task.alternatives, *task.near_misses) if a is not None]
    for attempt in known:
        if attempt.name == name:
            return attempt
    names = ", ".join(a.name for a in known) or "none"
    raise MatAssayError(f"task {task.id} has no attempt named {name!r}; it has: {names}")


def reference(task: Task, scenario: Scenario, seed: int) -> Policy:
    """The way through the task that must succeed."""
    if task.reference is None:
        raise MatAssayError(f"task {task.id} has no reference attempt")
    return task.reference.policy(public(scenario))


def null(task: Task, scenario: Scenario, seed: int) -> Policy:
    """Says at once that it is done."""
    yield from ()


def random(task: Task, scenario: Scenario, seed: int) -> Policy:
    """Takes `RANDOM_STEPS` actions: a type drawn uniformly from all, then each argument uniformly.

    Every action is well formed and possible with the hand as it is (a button that is down is released before the next
    click), so that the steps go into the instrument and not into refusals. In a workspace it writes random answers.
    """
    if task.interface is Interface.WORKSPACE:
        yield from _workspace.random(task, scenario, seed)
        return
    rng = stream(seed, "agents", "random", task.id)
    down = False
    for _ in range(RANDOM_STEPS):
        kind = str(rng.choice([k for k in ACTIONS if down or k != "left_mouse_up"]))
        if down and ("click" in kind or kind == "left_mouse_down"):
            kind = "left_mouse_up"
        down = (down or kind == "left_mouse_down") and kind != "left_mouse_up"
        needed, optional, _cost = ACTIONS[kind]
        yield {"action": kind, **dict(_arguments(rng, kind, needed, optional))}


def _arguments(
    rng: np.random.Generator, kind: str, needed: tuple[str, ...], optional: tuple[str, ...]
) -> Iterator[tuple[str, Any]]:
    # Optional fields that say where and how much are always drawn; `text` of a click (keys held down meanwhile) and
    # `path` of a drag are left out.
    for name in (*needed, *(n for n in optional if n not in ("text", "path"))):
        yield name, _ARGUMENTS[name](rng, kind)


def _point(rng: np.random.Generator, kind: str) -> list[int]:
    return [int(rng.integers(SCREEN[0])), int(rng.integers(SCREEN[1]))]


def _region(rng: np.random.Generator, kind: str) -> list[int]:
    (x0, x1), (y0, y1) = (_side(rng, length) for length in SCREEN)
    return [x0, y0, x1, y1]


def _side(rng: np.random.Generator, length: int) -> tuple[int, int]:
    start = int(rng.integers(length - MIN_REGION + 1))
    return start, int(rng.integers(start + MIN_REGION, length + 1))


def _text(rng: np.random.Generator, kind: str) -> str:
    if kind != "type":
        return str(rng.choice(KEYS))
    return "".join(rng.choice(list(CHARACTERS), int(rng.integers(1, 9))))


_ARGUMENTS: Final[Mapping[str, Callable[[np.random.Generator, str], Any]]] = MappingProxyType(
    {
        "coordinate": _point,
        "start_coordinate": _point,
        "region": _region,
        "text": _text,
        "duration": lambda rng, kind: round(float(rng.uniform(0.1, LONGEST)), 1),
        "scroll_direction": lambda rng, kind: str(rng.choice(["up", "down", "left", "right"])),
        "scroll_amount": lambda rng, kind: int(rng.integers(1, 11)),
        "repeat": lambda rng, kind: int(rng.integers(1, 6)),
        "press_enter": lambda rng, kind: bool(rng.integers(2)),
    }
)

#: Scripted agents by name.
AGENTS: Final[Mapping[str, PolicyFactory]] = MappingProxyType({"reference": reference, "null": null, "random": random})
