from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.evals import toy


@pytest.fixture(autouse=True)
def toy_suite(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The lamp is registered, and every world that a test opens is closed at its end.

    By the `monkeypatch` that a test may use for another registry: two of them would be undone in the wrong order.
    """
    before = toy.OPEN[0]
    monkeypatch.setattr("matassay.core._registry.suites", lambda: {"toy": toy.SUITE})
    yield
    assert toy.OPEN[0] == before
