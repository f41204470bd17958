"""Errors that have a meaning of their own in a result."""

from __future__ import annotations


class MatAssayError(Exception):
    """Base of all errors that MatAssay raises on purpose."""


class InvalidAction(MatAssayError):
    """An action that cannot be carried out as written; the text goes back to the agent and the action is counted."""


class EnvironmentFailure(MatAssayError):
    """The world broke (server, browser, display), not the agent: the outcome is ``environment_error``."""


class GraderFailure(MatAssayError):
    """A criterion raised: the outcome is ``grader_error``, never a zero."""


class BrokenTask(UserWarning):
    """A task is left out of its suite because its files are not in order; the text names file and field."""


class UnreadableLog(UserWarning):
    """A file among logs, or an episode in one, is left out because it cannot be read; the text names it."""


class UnknownTask(MatAssayError):
    """No registered task has the given id or prefix."""
