"""Telling a caller about each episode that ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from inspect_ai.hooks import Hooks, SampleEnd, TaskStart, hooks
from inspect_ai.log import EvalSpec

from matassay.core import EpisodeResult

Listener = Callable[[EpisodeResult], None]

_listeners: list[Listener] = []


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` for every episode that ends meanwhile."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@hooks(name="matassay_progress", description="Reports episodes of MatAssay as they end.")
class ProgressHooks(Hooks):
    """Feeds the listeners."""

    def __init__(self) -> None:
        self._specs: dict[str, EvalSpec] = {}

    def enabled(self) -> bool:
        """Only while somebody listens."""
        return bool(_listeners)

    async def on_task_start(self, data: TaskStart) -> None:
        """Remember what is being run."""
        self._specs[data.eval_id] = data.spec

    async def on_sample_end(self, data: SampleEnd) -> None:
        """Report."""
        from .results import result_of

        if data.sample.scores:
            result = result_of(data.sample, self._specs[data.eval_id])
            for listener in _listeners:
                listener(result)
