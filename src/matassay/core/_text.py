"""What counts as text when it comes from outside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._number import is_number


def plain_text(text: str) -> str:
    r"""The text without halves of surrogate pairs, which no file and no log can hold; whole pairs are joined.

    Examples
    --------
    >>> ascii(plain_text("a\ud800b")), ascii(plain_text("\ud83d\ude00"))
    ("'a\\ufffdb'", "'\\U0001f600'")
    """
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_json(value: Any) -> Any:
    """A value of JSON types that every reader of JSON takes: plain text, and no whole number beyond a float's range."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, Mapping):
        return {plain_text(str(k)): plain_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v) for v in value]
    if isinstance(value, int) and not isinstance(value, bool) and not is_number(value):
        return f"(a whole number of {value.bit_length()} bits)"
    return value
