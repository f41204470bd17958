"""The ``computer`` tool: the one thing through which any model acts.

Its name and its eleven parameters make the large providers use their native computer use; a test holds them.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from inspect_ai.tool import (
    Content,
    ContentAudio,
    ContentDocument,
    ContentImage,
    ContentText,
    ContentVideo,
    Tool,
    ToolCallModelInput,
    tool,
)

from matassay.core import Outcome, StepLimitReached

from ._record import Live, Record, current

#: Screenshots that a model is shown besides the text; older ones stay in the log.
KEEP_SCREENSHOTS: Final = 3

#: What the tool answers with: words and a screenshot (the other kinds only make the engine's type match).
Answer = list[ContentText | ContentImage | ContentAudio | ContentVideo | ContentDocument]


def keep_last(count: int) -> ToolCallModelInput:
    """Show the model only the last ``count`` screenshots; all, if its provider cannot take some out."""

    def model_input(index: int, total: int, content: str | list[Content], hints: Any) -> str | list[Content]:
        recent = total - index <= count
        if isinstance(content, str) or recent or hints.get("disable_computer_screenshot_truncation", False):
            return content
        return [ContentText(text="(older screenshot left out)") if isinstance(c, ContentImage) else c for c in content]

    return model_input


def screenshot(png: bytes) -> ContentImage:
    """A PNG as the engine takes it."""
    return ContentImage(image="data:image/png;base64," + base64.b64encode(png).decode("ascii"), detail="high")


@tool(name="computer", model_input=keep_last(KEEP_SCREENSHOTS), parallel=False)
def computer() -> Tool:
    """Operate the screen of the episode that is running."""

    async def execute(
        action: str | None = None,
        coordinate: list[float] | None = None,
        duration: float | None = None,
        region: list[float] | None = None,
        scroll_amount: float | None = None,
        scroll_direction: str | None = None,
        start_coordinate: list[float] | None = None,
        text: str | None = None,
        repeat: float | None = None,
        press_enter: bool | None = None,
        actions: list[dict[str, Any]] | None = None,
    ) -> Answer:
        """Use mouse and keyboard on the screen, 1366 x 768 pixels. Answers with a screenshot.

        Give one `action` with its parameters, or several in `actions`.

        Args:
            action: One of left_click, right_click, middle_click, double_click, triple_click (at `coordinate`, else
                where the pointer is; keys in `text` are held meanwhile), mouse_move, left_mouse_down, left_mouse_up,
                left_click_drag (from `start_coordinate` to `coordinate`), scroll (`scroll_direction`,
                `scroll_amount`), type (`text`, `press_enter`), key (`text` such as "Return", "Tab" or "ctrl+a",
                `repeat`), hold_key (`text`, `duration`), wait (`duration`), screenshot, zoom (`region`),
                cursor_position.
            coordinate: [x, y] in pixels from the top left corner.
            duration: Seconds to wait or to hold a key, at most 60.
            region: [x0, y0, x1, y1] in pixels, the part to show enlarged, at least 8 x 8.
            scroll_amount: Notches of the wheel.
            scroll_direction: up, down, left or right.
            start_coordinate: [x, y] where a drag begins.
            text: Text to type, one line (a newline at its end presses Return, tabs are refused: use key); or key or
                key combination.
            repeat: How often to press the key.
            press_enter: Press Return after the text.
            actions: Several actions, each an object with an `action` field and its parameters; carried out in order
                up to the first that is refused.
        """
        single = {
            "action": action, "coordinate": coordinate, "duration": duration, "region": region,
            "scroll_amount": scroll_amount, "scroll_direction": scroll_direction,
            "start_coordinate": start_coordinate, "text": text, "repeat": repeat, "press_enter": press_enter,
        }  # fmt: skip
        single = {name: value for name, value in single.items() if value is not None}
        if not actions:
            return await operate([single])
        if action is None:
            return await operate(list(actions))
        return await operate([{**single, "actions": actions}])  # one or the other: this is refused, and counted

    return execute


async def operate(batch: list[Any]) -> Answer:
    """Carry out a batch in the running episode and answer with what the agent gets to see."""
    live, record = current()
    live.entered = True
    if live.halted or record.outcome:
        return _answer(live, record, "Not carried out: an earlier action of this turn was refused.")
    try:
        turn = await live.perform(batch, record)
    except StepLimitReached:
        record.end(Outcome.LIMIT)
        return _answer(live, record, "Not carried out: the step budget is spent.")
    notes = [turn.observation.text] if turn.observation.text else []
    if turn.error is not None:
        live.halted = True
        notes.append(f"Refused: {turn.error}")
        if len(batch) > 1:
            notes.append(f"{turn.done - 1} of {len(batch)} actions were carried out.")
    if not live.episode.budget:
        notes.append("That was the last step of the budget. If the task is done, say so.")
    return _answer(live, record, *notes)


def _answer(live: Live, record: Record, *notes: str) -> Answer:
    # The image is never left out: it is all that an OpenAI native reply carries.
    assert live.observation is not None
    record.turns += 1
    return [*(ContentText(text=note) for note in notes), screenshot(live.observation.image)]
