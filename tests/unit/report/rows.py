"""Rows of results for tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from matassay.core import EpisodeResult, Outcome


def row(task: str = "s01-load", seed: int = 0, success: bool | None = True, **changes: Any) -> EpisodeResult:
    """A result; what is not said is what a good episode of a model has."""
    graded = success is not None
    group = changes.pop("group", "xrd")
    fields: dict[str, Any] = {
        "id": f"instruments/{group}/{task}",
        "span": "single",
        "guidance": "full",
        "seed": seed,
        "outcome": Outcome.SCORED if graded else Outcome.ENVIRONMENT_ERROR,
        "success": success,
        "score": None if not graded else 1.0 if success else 0.5,
        "steps": 10,
        "invalid_actions": 1,
        "criteria": {"loaded": bool(success), "closed": True} if graded else {},
        "consequences": [],
        "task_revision": 1,
        "grader_checksum": "0123456789abcdef",
        "suite": "instruments",
        "group": group,
        "level": "easy",
        "category": "Workflow",
        "agent": "gui",
        "model": "maker/model",
        "error": None if graded else "the page crashed",
        "usage": {"input": 10, "cache_read": 20, "cache_write": 30, "output": 40},
        "cost": 0.25,
        "working_time": 3.0,
        "tool_mapping": "function",
        "log": "logs/a.eval",
        "sample_id": f"{task}-{seed}-{changes.get('guidance', 'full')}-{changes.get('agent', 'gui')}-{group}",
        "versions": {"browser": "1"},
    }
    return EpisodeResult(**{**fields, **changes})


def rows() -> st.SearchStrategy[list[EpisodeResult]]:
    """Any mixture of agents, tasks, seeds and outcomes."""

    def make(
        n: int, task: str, group: str, agent: str, guidance: str, outcome: Outcome, ok: bool, steps: int
    ) -> EpisodeResult:
        graded = outcome.graded
        return row(
            task, n, ok if graded else None, group=group, agent=agent, guidance=guidance, outcome=outcome, steps=steps,
            sample_id=f"{n}", invalid_actions=steps // 3, cost=None if n % 7 == 3 else 0.1 * n,
            consequences=[{"name": "trip", "step": 1}] if n % 4 == 0 else [],
            measures={"psnr_db": 20 + 0.1 * n, "best_psnr_db": 21 + 0.3 * n} if n % 3 == 0 else {},
        )  # fmt: skip

    one = st.tuples(
        st.sampled_from(["s01-a", "s02-b", "workflow"]),
        st.sampled_from(["xrd", "sem", "tem", "afm", "apt", "fib"]),
        st.sampled_from(["gui", "reference", "null", "random"]),
        st.sampled_from(["full", "reduced"]),
        st.sampled_from(list(Outcome)),
        st.booleans(),
        st.integers(0, 60),
    )
    return st.lists(one, max_size=40).map(lambda found: [make(n, *f) for n, f in enumerate(found)])
