"""What an episode counts, refuses and keeps, in a world without a screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from matassay.core import (
    Action,
    Category,
    Consequence,
    Criterion,
    Episode,
    Evidence,
    GraderFailure,
    Guidance,
    InvalidAction,
    Level,
    Observation,
    Scenario,
    Span,
    StepLimitReached,
    Task,
    World,
    parse_action,
)


class Bell:
    """Counts its rings; pressing ``x`` is not possible."""

    def __init__(self) -> None:
        self.rings, self.looks, self.notes, self.open = 0, 0, [], False  # type: ignore[var-annotated]
        self.broken: list[Consequence] = []

    async def start(self) -> None:
        self.open = True

    async def act(self, action: Action) -> None:
        if action.text == "x":
            raise InvalidAction("there is no key x")
        self.rings += action.kind == "left_click"
        if self.rings == 3 and not self.broken:
            self.broken.append(Consequence("cracked", float(self.rings), "The bell cracked."))

    def parse(self, raw: Any) -> Any:
        return parse_action(raw)

    async def conclude(self) -> None:
        pass

    async def observe(self, *, accessible: bool = False) -> Observation:
        self.looks += 1
        return Observation(b"", accessible=() if accessible else None)

    async def notify(self, message: str) -> None:
        self.notes.append(message)

    async def evidence(self) -> Evidence:
        return Evidence({"rings": self.rings}, (), tuple(self.broken), float(self.rings))

    async def close(self) -> None:
        self.open = False


RUNG = Criterion("rung", "rung as often as asked for", lambda e, g: e.state["rings"] == g["rings"])


def task(*criteria: Criterion, step_limit: int = 5) -> Task:
    words = dict.fromkeys(Guidance, "Ring twice.")
    return Task(
        id="toy/bell/s01-ring",
        title="Ring",
        span=Span.SINGLE,
        level=Level.EASY,
        category=Category.EXECUTION,
        revision=1,
        step_limit=step_limit,
        criteria=criteria or (RUNG,),
        scenario=lambda seed: Scenario(seed, {"rings": 2}, {}, {"tone": seed}, words),
        open_world=lambda scenario: Bell(),
        truth_fields=("tone",),
        grader_package="matassay.grading",
        needs_gui="It is a toy.",
    )


async def started(*criteria: Criterion, step_limit: int = 5) -> tuple[Episode, Bell]:
    episode = Episode.of(task(*criteria, step_limit=step_limit), seed=1)
    await episode.start()
    bell: World = episode.world
    assert isinstance(bell, Bell)
    return episode, bell


CLICK: dict[str, Any] = {"action": "left_click"}


async def test_every_action_of_a_batch_is_a_step_and_gives_one_look() -> None:
    episode, bell = await started()
    turn = await episode.perform([CLICK, Action("left_click"), {"action": "screenshot"}])
    assert (turn.done, turn.error, episode.steps, bell.rings, bell.looks) == (3, None, 3, 2, 1)
    assert [r.action["action"] for r in episode.records] == ["left_click", "left_click", "screenshot"]
    assert [r.time for r in episode.records] == [1.0, 2.0, 2.0]
    assert episode.grade().success


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ({"action": "fly"}, "unknown action 'fly'"),
        ({}, "unknown action None"),
        ({"action": "key", "text": "x"}, "there is no key x"),
        ({"action": "left_click", "coordinate": [9999, 0]}, "outside the screen"),
    ],
)
async def test_refused_action_is_counted_answered_shown_and_stops_the_batch(bad: dict[str, Any], text: str) -> None:
    episode, bell = await started()
    turn = await episode.perform([CLICK, bad, CLICK])
    assert turn.error is not None
    assert text in turn.error
    assert (turn.done, episode.steps, episode.invalid_actions, bell.rings) == (2, 2, 1, 1)
    assert bell.notes == [f"Action refused: {turn.error}"]
    assert episode.records[-1].error == turn.error


@pytest.mark.parametrize("batch", [[], [[]], [None], ["left_click"]])
async def test_nothing_or_nonsense_is_no_free_look(batch: Sequence[Any]) -> None:
    episode, _ = await started()
    turn = await episode.perform(batch)
    assert (turn.done, episode.steps, episode.invalid_actions) == (1, 1, 1)
    assert turn.error


async def test_budget_ends_within_a_batch() -> None:
    episode, bell = await started(step_limit=2)
    turn = await episode.perform([CLICK, CLICK, CLICK])
    assert (turn.done, bell.rings, episode.budget) == (2, 2, 0)
    assert turn.error is not None
    assert "budget is spent" in turn.error
    assert episode.invalid_actions == 0, "running out is no invalid action"
    with pytest.raises(StepLimitReached):
        await episode.perform([CLICK])
    assert episode.steps == 2


async def test_limit_can_be_set_for_an_episode() -> None:
    episode = Episode.of(task(), seed=1, guidance=Guidance.REDUCED, step_limit=1)
    assert episode.budget == 1
    assert episode.instruction == "Ring twice."


async def test_consequences_learn_the_step_that_caused_them() -> None:
    episode, _ = await started(step_limit=9)
    await episode.perform([CLICK] * 4)
    await episode.perform([CLICK])
    assert [(c.name, c.step) for c in episode.latest.consequences] == [("cracked", 3)]


async def test_records_say_what_each_step_changed() -> None:
    episode, _ = await started(step_limit=9)
    assert episode.initial_state == {"rings": 0}
    await episode.perform([CLICK, {"action": "screenshot"}])
    await episode.perform([CLICK, {"action": "fly"}])
    assert [r.changes for r in episode.records] == [{"rings": 1}, {}, {"rings": 2}, {}]


async def test_a_look_at_the_evidence_between_steps_hides_no_change() -> None:
    """A person's world runs on by itself, and whoever watches it asks for the evidence at any time."""
    episode, bell = await started(step_limit=9)
    bell.rings = 1
    await episode.conclude()
    episode.steps += 1
    record = await episode.note(CLICK)
    assert (record.step, record.changes) == (1, {"rings": 1})
    assert episode.records == [record]


async def test_crash_of_a_criterion_is_no_verdict() -> None:
    episode, _ = await started(Criterion("crash", "", lambda e, g: e.state["no such key"]))
    with pytest.raises(GraderFailure, match=r"toy/bell/s01-ring: criterion 'crash' raised KeyError"):
        episode.grade()


@pytest.mark.parametrize("value", ["yes", None, 1, 0.0, [True]])
async def test_criterion_must_answer_with_a_bool(value: Any) -> None:
    episode, _ = await started(Criterion("odd", "", lambda e, g: value))
    with pytest.raises(GraderFailure, match="instead of a bool"):
        episode.grade()


async def test_hostile_action_does_not_fill_the_log() -> None:
    episode, _ = await started()
    deep: list[Any] = []
    for _ in range(50):
        deep = [deep]
    await episode.perform(
        [{"action": "left_click", "coordinate": deep, "text": "a" * 10**6, **{f"k{n}": n for n in range(999)}}]
    )
    assert len(str(episode.records[0].action)) < 5000


async def test_what_no_log_can_hold_is_not_in_the_records() -> None:
    episode, _ = await started()
    turn = await episode.perform([{"action": "type", "text": "a\ud800b", "k\udfff": 10**400}])
    assert turn.error is not None
    kept = episode.records[0].action
    assert kept["text"] == "a\ufffdb"
    assert len(kept["k\ufffd"]) < 50
    f"{kept}{turn.error}".encode()
