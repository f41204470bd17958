"""How an episode ended."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How an episode ended; the first three are graded, the last two leave every rate."""

    SCORED = "scored"
    """The agent finished by itself and was graded."""
    AGENT_ERROR = "agent_error"
    """The agent broke or gave up with an error; what it left was graded."""
    LIMIT = "limit"
    """Steps, time, tokens or cost ran out; what the agent left was graded."""
    ENVIRONMENT_ERROR = "environment_error"
    """The world broke: score and success are null."""
    GRADER_ERROR = "grader_error"
    """A criterion raised: score and success are null."""

    @property
    def graded(self) -> bool:
        """Whether the episode counts in success rates and mean scores."""
        return self in (Outcome.SCORED, Outcome.AGENT_ERROR, Outcome.LIMIT)
