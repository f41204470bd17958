"""Scripted agents without an engine: outcomes, and what a policy is kept from."""

from __future__ import annotations

import pytest

from matassay.agents import AGENTS, attempt_named, public, run_episode
from matassay.agents._policies import RANDOM_STEPS
from matassay.core import ACTIONS, MatAssayError, Outcome, parse_action
from tests.unit.evals import toy


def attempt(name):
    return lambda task, scenario, seed: attempt_named(task, name).policy(public(scenario))


async def test_reference_succeeds_and_sees_neither_truth_nor_start():
    done = await run_episode(toy.LAMP, 0, AGENTS["reference"])
    assert (done.outcome, done.error) == (Outcome.SCORED, None)
    assert done.verdict is not None
    assert done.verdict.success
    assert done.episode.steps == 4


async def test_null_does_nothing():
    done = await run_episode(toy.LAMP, 0, AGENTS["null"])
    assert done.outcome is Outcome.SCORED
    assert done.verdict is not None
    assert done.verdict.score == 0
    assert done.episode.steps == 0


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("unsaved", Outcome.SCORED, None),
        ("raises", Outcome.AGENT_ERROR, "LookupError"),
        ("breaks", Outcome.ENVIRONMENT_ERROR, "the lamp exploded"),
        ("bug", Outcome.ENVIRONMENT_ERROR, "PermissionError"),
    ],
)
async def test_outcomes(name, outcome, words):
    before = toy.OPEN[0]
    done = await run_episode(toy.LAMP, 0, attempt(name))
    assert done.outcome is outcome
    assert (done.error or "").find(words or "") >= 0
    assert (done.verdict is not None) is outcome.graded
    assert toy.OPEN[0] == before


async def test_broken_start_and_broken_grader_are_not_the_agents_fault():
    assert (await run_episode(toy.OUT_OF_STOCK, 0, AGENTS["null"])).outcome is Outcome.ENVIRONMENT_ERROR
    done = await run_episode(toy.UNGRADABLE, 0, AGENTS["null"])
    assert done.outcome is Outcome.GRADER_ERROR
    assert done.verdict is None


async def test_step_limit():
    done = await run_episode(toy.LAMP, 0, AGENTS["random"], step_limit=7)
    assert done.outcome is Outcome.LIMIT
    assert done.episode.steps == 7
    assert done.verdict is not None


async def test_consequences_carry_the_step():
    done = await run_episode(toy.LAMP, 0, attempt("mishap"))
    assert [(c.name, c.step) for c in done.episode.latest.consequences] == [("flicker", 1)]


def drawn(seed):
    return list(AGENTS["random"](toy.LAMP, toy.LAMP.scenario(seed), seed))


def test_random_is_reproducible_well_formed_and_covers_every_action():
    assert drawn(3) == drawn(3) != drawn(4)
    assert len(drawn(3)) == RANDOM_STEPS
    actions = [parse_action(raw) for seed in range(20) for raw in drawn(seed)]
    assert {a.kind for a in actions} == set(ACTIONS)


def test_unknown_attempt_names_those_that_exist():
    with pytest.raises(MatAssayError, match="reference, unsaved"):
        attempt_named(toy.LAMP, "nothing")
