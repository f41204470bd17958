"""Every reference of the research suite that takes less than a minute is made again and compared."""

from __future__ import annotations

import pytest

from matassay.suites.research import TaskFolder, folders, reproduce
from matassay.worlds.workspace import missing

FOLDERS = [pytest.param(folder, id=folder.path.name) for folder in folders().values() if not folder.spec.dear]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("folder", FOLDERS)
def test_references_are_reproduced(folder: TaskFolder) -> None:
    if lacking := missing(folder.spec.requires):
        pytest.skip("; ".join(map(str, lacking)))
    found = reproduce(folder)
    assert found.passes, found.differences[:5]
    odd = {name: how for name, how in found.inputs.items() if not how.startswith("same")}
    if "Monte Carlo" in folder.spec.methods:
        # It branches on floating-point values, so that another processor draws another, equally good sample.
        odd = {name: how for name, how in odd.items() if not how.startswith("differs: numbers")}
    assert odd == {}


def test_dear_references_say_how_they_were_made() -> None:
    for folder in folders().values():
        if folder.spec.dear:
            assert {"codes", "cpu_seconds", "host"} <= folder.manifest.keys(), folder.path
