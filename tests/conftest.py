"""What every test gets: an environment without the developer's own settings, and reproducible examples."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator

import hypothesis
import pytest

# Settings of the engine, keys and addresses of model providers, our own variables.
FOREIGN = re.compile(
    r"INSPECT_.*|MATASSAY_(?!(?:BROWSER(?:_SANDBOX)?|WORKSPACE)$).*|.*_API_KEY|.*_BASE_URL|.*_AUTH_TOKEN"
)

# Without a deadline: how fast an example runs says nothing on a shared machine. `ci` draws the same examples each
# time, so that a red build can be repeated.
hypothesis.settings.register_profile("dev", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


# Or the first asynchronous test would get a loop from `asyncio.get_event_loop` to put back behind it, which nobody
# closes: it would be found by the collector in some later test, whichever that is.
asyncio.set_event_loop(None)


def _without_foreign(patch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if FOREIGN.fullmatch(name):
            patch.delenv(name)


@pytest.fixture(scope="session", autouse=True)
def clean_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The same as `clean_environ` for fixtures that outlive a test; the engine's traces go to a temporary folder."""
    with pytest.MonkeyPatch.context() as patch:
        _without_foreign(patch)
        patch.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("data")))
        yield


@pytest.fixture(autouse=True)
def clean_environ(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test depends on, or by accident pays with, what the developer has set; nor on what a test before it set."""
    _without_foreign(monkeypatch)
