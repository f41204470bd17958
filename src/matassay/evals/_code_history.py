"""Keeping a conversation within a model's context: the oldest observations are shortened, and say so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from inspect_ai.model import (
    ChatMessage,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentImage,
    ContentText,
    ModelUsage,
)

#: Context of a model of which nothing is known, tokens.
DEFAULT_CONTEXT: Final = 128_000
#: Characters per token before a model has told its own count: code and numbers have few.
CHARACTERS_PER_TOKEN: Final = 3.0
#: A picture, tokens.
PICTURE: Final = 1600
#: Share of the context at which observations are shortened, and share down to which they are.
FULL: Final = 0.75
EASED: Final = 0.5
#: What stays of a shortened observation, characters.
STUB: Final = 200
#: Observations at the end that are never shortened.
RECENT: Final = 2
#: Observations at the end whose pictures are shown.
PICTURES_OF: Final = 2


class History:
    """What of a conversation is sent.

    Parameters
    ----------
    context : int
        Context of the model, tokens.
    """

    def __init__(self, context: int) -> None:
        self.context = context
        self.shortened = 0
        """Observations that are shortened by now, the oldest ones."""
        self._scale = 1.0
        self._sent = 0.0

    def fit(self, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
        """The messages as they are to be sent; those given stay as they are.

        Observations are the answers to the model after its first message. They are shortened in large batches, so that
        what a provider has cached of the beginning stays valid between two of them.
        """
        places = _observations(messages)
        sent = self._apply(messages, places)
        size = self._size(sent)
        if size > FULL * self.context:
            most = max(0, len(places) - RECENT)
            while size > EASED * self.context and self.shortened < most:
                self.shortened += 1
                place = places[self.shortened - 1]
                before = self._size([sent[place]])
                sent[place] = _stub(messages[place])
                size -= before - self._size([sent[place]])
        self._sent = self._size(sent) / self._scale
        return sent

    def learn(self, usage: ModelUsage | None) -> None:
        """Take the model's own count of what was sent last."""
        if usage is None or not self._sent:
            return
        counted = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
        if counted > 0:
            self._scale = min(max(counted / self._sent, 0.5), 4.0)

    def tighten(self, messages: Sequence[ChatMessage]) -> bool:
        """The model says that it was too much: shorten half of what can be; False if there is nothing left."""
        left = len(_observations(messages)) - RECENT - self.shortened
        self.shortened += max(0, (left + 1) // 2)
        return left > 0

    def _apply(self, messages: Sequence[ChatMessage], places: Sequence[int]) -> list[ChatMessage]:
        sent = list(messages)
        for place in places[: self.shortened]:
            sent[place] = _stub(messages[place])
        for place in places[self.shortened : len(places) - PICTURES_OF]:
            sent[place] = _without_pictures(messages[place])
        return sent

    def _size(self, messages: Sequence[ChatMessage]) -> float:
        return self._scale * sum(_tokens(message) for message in messages)


def _observations(messages: Sequence[ChatMessage]) -> list[int]:
    first = next((i for i, m in enumerate(messages) if m.role == "assistant"), len(messages))
    return [i for i, m in enumerate(messages) if i > first and m.role in ("user", "tool")]


def _tokens(message: ChatMessage) -> float:
    characters = 20 + len(message.text)
    pictures = 0
    if not isinstance(message.content, str):
        pictures = sum(isinstance(c, ContentImage) for c in message.content)
    for call in getattr(message, "tool_calls", None) or ():
        characters += 50 + len(str(call.arguments))
    return characters / CHARACTERS_PER_TOKEN + PICTURE * pictures


def _stub(message: ChatMessage) -> ChatMessage:
    text = message.text
    if len(text) <= 2 * STUB:
        return _without_pictures(message)
    note = f"[{len(text) - STUB} more characters of this older observation are left out to stay within the context]"
    return message.model_copy(update={"content": f"{text[:STUB]}\n{note}"})


def _without_pictures(message: ChatMessage) -> ChatMessage:
    if isinstance(message.content, str) or not isinstance(message, ChatMessageUser | ChatMessageTool):
        return message
    if not any(isinstance(c, ContentImage) for c in message.content):
        return message
    kept: list[Content] = [
        ContentText(text="[an older plot is left out]") if isinstance(c, ContentImage) else c for c in message.content
    ]
    return message.model_copy(update={"content": kept})
