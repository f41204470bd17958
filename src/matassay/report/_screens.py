"""Steps of an agent that acts on a screen: each meets the screenshots before and after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from matassay.core import scalars

from ._messages import pictures, words
from ._reader import Reader, action_of, finite
from ._steps import ReplayStep

#: How the tool's answer to an action begins that was not carried out, and so is no step (`matassay.evals`).
NOT_CARRIED_OUT: Final = "Not carried out"


class Screens(Reader):
    """Pairs the steps with the screenshots in the conversation."""

    pointer: tuple[float, float] | None = None

    def read(self) -> None:
        """Find the steps, the pictures and the closing words."""
        # The steps of one turn led to one screenshot. Turns are numbered upwards, with gaps where a person acted.
        turns: dict[int, list[Mapping[str, Any]]] = {}
        for r in self.record.get("records") or []:
            turns.setdefault(int(r.get("turn") or 0), []).append(r)
        waiting = [turns[n] for n in sorted(turns)]
        says = ""
        for message in self.sample.messages:
            text = words(message.content)
            if message.role == "assistant":
                says = "\n\n".join(t for t in (says, text) if t)
                continue
            shown = pictures(message.content)
            if not shown:
                continue
            key = self.keep(shown[-1])
            if self.first is None:
                self.first = self.screen = key
            elif waiting and not text.startswith(NOT_CARRIED_OUT):
                self._turn(waiting.pop(0), key, says)
                says = ""
        # Steps whose screenshot never came, because the world broke meanwhile.
        for rest in waiting:
            self._turn(rest, None, says)
            says = ""
        self.closing = says

    def _turn(self, records: Sequence[Mapping[str, Any]], after: str | None, says: str) -> None:
        before = self.screen
        for i, r in enumerate(records, 1):
            action = action_of(r)
            error = r.get("error")
            self.steps.append(
                ReplayStep(
                    number=int(r.get("step") or len(self.steps) + 1),
                    action=action,
                    error=str(error) if error is not None else None,
                    time=finite(r.get("time")),
                    before=before,
                    after=after,
                    pointer=self.pointer,
                    says=says if i == 1 else "",
                    place=(i, len(records)),
                    changes=scalars(r.get("changes")),
                )
            )
            if error is None:
                self.pointer = _point(action.get("coordinate")) or self.pointer
        # What a zoom shows is not the screen, so nothing is drawn on it.
        if after is not None and not (records and self.steps[-1].action.get("action") == "zoom"):
            self.screen = after


def _point(value: Any) -> tuple[float, float] | None:
    if isinstance(value, list | tuple) and len(value) == 2:
        x, y = finite(value[0]), finite(value[1])
        if x is not None and y is not None:
            return x, y
    return None
