"""Words and pictures of the engine's messages, by their attributes alone."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from ._steps import Image


def words(content: Any) -> str:
    """Texts of a message; reasoning, where a provider shows it, comes first."""
    return "\n\n".join(p for p in parts(content) if p)


def parts(content: Any) -> tuple[str, str]:
    """Reasoning and texts of a message."""
    if isinstance(content, str):
        return "", content.strip()
    texts, reasoning = [], []
    for c in content:
        if c.type == "text":
            texts.append(c.text.strip())
        elif c.type == "reasoning":
            shown = "" if c.redacted else c.reasoning
            reasoning.append((c.summary or shown or "").strip())
    return "\n\n".join(r for r in reasoning if r), "\n\n".join(t for t in texts if t)


def pictures(content: Any) -> list[Image]:
    """Pictures of a message; what is none, or lies elsewhere, is left out."""
    if isinstance(content, str):
        return []
    return [p for c in content if c.type == "image" and (p := picture(c.image)) is not None]


def picture(uri: str) -> Image | None:
    """The picture in a data URI; None for anything else."""
    head, comma, body = uri.partition(",")
    if not (comma and head.startswith("data:image/") and head.endswith(";base64")):
        return None
    media_type = head[len("data:") : -len(";base64")]
    if media_type not in ("image/png", "image/jpeg", "image/webp"):
        return None
    try:
        return Image(media_type, base64.b64decode(body, validate=True))
    except binascii.Error:
        return None
