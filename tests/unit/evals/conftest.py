from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.evals import toy


@pytest.fixture(autouse=True)
def toy_suite() -> Iterator[None]:
    """The lamp is registered, and every world that a test opens is closed at its end."""
    before = toy.OPEN[0]
    with toy.registered():
        yield
    assert toy.OPEN[0] == before
