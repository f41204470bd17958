"""What of a saved picture is searched as text, and what as pixels."""

from __future__ import annotations

import dataclasses
import io
import struct

import numpy as np
import pytest
from PIL import Image

from matassay.suites.instruments.sem.files import Metadata, to_tiff
from matassay.verify._exposure import PICTURES, Exposure, tiff_parts
from matassay.verify._hidden import places

METADATA = Metadata(
    voltage=15.0, current=100.0, working_distance=10.0, field_width=100.0, dwell=10.0, detector="SE", contrast=50.0,
    brightness=50.0, stage_x=0.0, stage_y=0.0, stage_z=10.0, scan_rotation=0.0, stigmator_x=0.0, stigmator_y=0.0,
    specimen="Tin balls", user="user", taken="2026-03-03T09:00:00",
)  # fmt: skip
HEIGHT = 0.2345


def picture(text: bytes = b"") -> np.ndarray:
    """Grey values, some of which happen to be the codes of a text."""
    pixels = np.arange(48 * 64, dtype=np.uint32).astype(np.uint8) | 128
    pixels[100 : 100 + len(text)] = np.frombuffer(text, np.uint8)
    return pixels.reshape(48, 64)


def exposed(data: bytes) -> list[str]:
    exposure = Exposure()
    exposure.add("file x.tif", data)
    return places(HEIGHT, exposure)


def test_dark_pixels_are_no_text() -> None:
    assert exposed(to_tiff(picture(b" 0.2345 "), METADATA)) == []
    short = struct.pack("<f", HEIGHT)
    assert exposed(to_tiff(picture(short), METADATA)) == [], "any four bytes stand somewhere among millions"


def test_settings_and_long_codes_are_still_searched() -> None:
    told = dataclasses.replace(METADATA, specimen="Tin balls, height 0.2345 mm")
    assert exposed(to_tiff(picture(), told)) == ["file x.tif"]
    assert exposed(to_tiff(picture(struct.pack("<d", HEIGHT)), METADATA)) == [PICTURES]
    assert exposed(to_tiff(picture(), METADATA) + b" 0.2345") == ["file x.tif"], "behind the pixels"


@pytest.mark.parametrize("mode", ["<u2", ">u2", "u1"])
def test_pixels_of_any_plain_tiff_are_found(mode: str) -> None:
    image = picture().astype(mode)
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "TIFF", description="height 0.2345")
    rest, pixels = tiff_parts(stream.getvalue())
    assert len(pixels) == image.size * image.dtype.itemsize
    assert b"height 0.2345" in rest
    assert len(rest) + len(pixels) == len(stream.getvalue())


@pytest.mark.parametrize("data", [b"", b"II*\0", b"II*\0\xff\xff\xff\xff", b"MM\0*" + bytes(40), b"0.2345 II*\0"])
def test_what_is_no_tiff_is_searched_whole(data: bytes) -> None:
    assert tiff_parts(data) == (data, b"")
