"""Pictures from a sandbox, before anybody else has to decode them."""

from __future__ import annotations

import io
import struct
import warnings
from typing import Final

from PIL import Image

#: Largest picture that is decoded, pixels.
MAX_PIXELS: Final = 16_000_000
#: Longest side of a picture that is passed on, pixels: what the large providers take without scaling it down.
MAX_SIDE: Final = 1568

#: Largest file of a picture that is passed on, bytes: what the large providers take, which count it as base64.
MAX_BYTES: Final = 3_500_000

_HEADER: Final = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


def safe_png(data: bytes) -> bytes | None:
    """The same picture in a PNG of our own making; None if it is not a PNG, is damaged or has too many pixels.

    One that is too large is made smaller. A file that a provider refuses would end the episode as if the world had broken.
    """
    if not data.startswith(_HEADER) or len(data) < 33:
        return None
    width, height = struct.unpack(">II", data[16:24])
    if not 0 < width * height <= MAX_PIXELS:
        return None
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            image.load()
            picture = image.convert("RGBA" if image.has_transparency_data else "RGB")
    except Exception:  # noqa: BLE001 - a decoder may raise anything on hostile bytes
        return None
    side = MAX_SIDE
    while True:
        picture.thumbnail((side, side))
        out = io.BytesIO()
        picture.save(out, "PNG")
        if out.tell() <= MAX_BYTES:
            return out.getvalue()
        side //= 2
