"""One row of results: the same fields in logs, JSON output, tables and CSV."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from ._judgement import Failure, failure_of
from ._outcome import Outcome

#: Version of the JSON that scripts read (``matassay run --format json`` and ``list``).
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class EpisodeResult:
    """Result of one episode."""

    id: str
    """Task id."""
    span: str
    """``single`` or ``workflow``."""
    guidance: str
    """``full`` or ``reduced``."""
    seed: int
    """Seed."""
    outcome: Outcome
    """How it ended."""
    success: bool | None
    """All criteria hold; None when not graded."""
    score: float | None
    """Fraction of goals that hold, 0 to 1; None when not graded."""
    steps: int
    """Primitive actions."""
    invalid_actions: int
    """Of those, refused."""
    criteria: dict[str, bool]
    """Each criterion; empty when not graded."""
    consequences: list[dict[str, Any]]
    """``{"name", "step"}`` of each mishap."""
    task_revision: int
    """Revision of the task."""
    grader_checksum: str
    """Digest of the grading code."""
    suite: str = ""
    """Suite of the task."""
    group: str = ""
    """Instrument, program or study."""
    level: str = ""
    """Difficulty."""
    category: str = ""
    """High-level category."""
    agent: str = ""
    """Agent's name."""
    model: str = ""
    """Model's name as given to the engine."""
    error: str | None = None
    """Text of an error, for outcomes that have one."""
    usage: dict[str, int] = field(default_factory=dict)
    """Raw tokens: ``input`` (fresh), ``cache_read``, ``cache_write``, ``output``."""
    cost: float | None = None
    """US dollars by the dated price file; None = unknown."""
    working_time: float | None = None
    """Seconds of wall time without waiting for rate limits."""
    tool_mapping: str = ""
    """How the model's tool calls were mapped: ``native`` (with version) or ``function``."""
    log: str = ""
    """Log file that holds the episode."""
    sample_id: str = ""
    """Sample in that log."""
    versions: dict[str, str] = field(default_factory=dict)
    """Programs, fonts, packages and screen behind the result."""
    messages: dict[str, str] = field(default_factory=dict)
    """Why a criterion does not hold, where it says so."""
    failures: dict[str, str] = field(default_factory=dict)
    """To which kind of mistake a criterion that does not hold belongs, where it says so."""
    labels: dict[str, list[str]] = field(default_factory=dict)
    """Codes, methods and whatever else a report may group by."""
    measures: dict[str, float] = field(default_factory=dict)
    """Continuous measures of quality at the end, by name with unit; reported beside success, never part of it."""

    @property
    def failure(self) -> Failure | None:
        """The kind of failure; None for a success and for what is not graded."""
        if self.success is not False:
            return None
        return failure_of(self.failures.values(), limit=self.outcome is Outcome.LIMIT)

    @property
    def false_termination(self) -> bool:
        """The agent said that it was done and was wrong."""
        return self.outcome is Outcome.SCORED and self.success is False

    #: Fields of the contract for scripts, in order.
    CONTRACT = (
        "id", "span", "guidance", "seed", "outcome", "success", "score", "steps", "invalid_actions", "criteria",
        "consequences", "task_revision", "grader_checksum",
    )  # fmt: skip

    def contract(self) -> dict[str, Any]:
        """The row that ``matassay run --format json`` prints."""
        row = asdict(self)
        out = {name: row[name] for name in self.CONTRACT}
        out["outcome"] = str(self.outcome)
        out["consequences"] = [{"name": c["name"], "step": c["step"]} for c in self.consequences]
        return out
