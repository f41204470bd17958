"""Files as nobody should write them."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BOMB = b"".join(
    [
        b'<?xml version="1.0"?>\n<!DOCTYPE bomb [<!ENTITY a0 "ha">',
        *(b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 10)),
        b"]>\n<bomb>&a9;</bomb>",
    ]
)
_OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><x>&e;</x>'
_HUGE = b"1.00000 1\n" * 3_000_000


def hostile_files(genuine: bytes) -> Iterator[tuple[str, bytes]]:
    """Named contents, some of them made from a genuine file; none of them is the work that was asked for.

    Parameters
    ----------
    genuine : bytes
        What a right file holds.
    """
    text = genuine.decode("utf-8", "replace")
    # the last number of the file, whole: of 1.99 with other decimals something right may be made
    last = re.compile(r"(?s)[-+]?\d[\d.]*(?:[eE][-+]?\d+)?(?!.*\d)")
    yield "empty", b""
    yield "a line break", b"\n"
    yield "zero bytes", bytes(1 << 16)
    yield "random bytes", bytes(range(256)) * 64
    yield "the first half", genuine[: len(genuine) // 2]
    yield "the second half", genuine[len(genuine) // 2 :]
    yield "cut within a character", genuine[: len(genuine) // 3] + b"\xe2\x82"
    yield "UTF-16", text.encode("utf-16")
    yield "wrong encoding", b"\xff\xfe\xfa" + genuine
    yield "NaN instead of the last number", last.sub("nan", text, count=1).encode()
    yield "infinity instead of the last number", last.sub("-inf", text, count=1).encode()
    yield "beyond floating point", last.sub("1e999", text, count=1).encode()
    yield "at the end of floating point", last.sub("1.7e308", text, count=1).encode()
    yield "five thousand digits", last.sub("9" * 5000, text, count=1).encode()
    yield "extreme angles", re.sub(r"(?m)^\d+\.\d+ ", "-1.7e308 ", text, count=1).encode() + b"1.7e308 1\n"
    yield "not a number at all", last.sub("seven", text, count=1).encode()
    yield "every number NaN", re.sub(r"\d+(?:\.\d+)?", "nan", text).encode()
    yield "numbers too many", _HUGE
    yield "entities that explode", _BOMB
    yield "an entity from outside", _OUTSIDE
    if "?>" in text:
        yield "a document type in genuine content", text.replace("?>", "?><!DOCTYPE x [<!ENTITY a 'b'>]>", 1).encode()
    yield "nested elements", b"<a>" * 100_000
    yield "nested and closed elements", b"<a>" * 50_000 + b"</a>" * 50_000
    yield "nested lists", b"[" * 100_000
    yield "a pickle", b"cos\nsystem\n(S'true'\ntR."
    yield "a compressed bomb", b"\x1f\x8b\x08\x00" + bytes(1 << 12)
    yield "a script", b"#!/bin/sh\nexit 0\n"
    yield "a path", b"/etc/hostname"
