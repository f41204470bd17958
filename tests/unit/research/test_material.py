"""Inputs and references of seeds: stored, made on demand, kept, and other ones for a private split."""

from __future__ import annotations

from pathlib import Path

import pytest

from matassay.core import MatAssayError
from matassay.suites.research._material import clear_cache, fingerprint, material

SCRIPT = """
import json, pathlib, sys
out, seed = pathlib.Path(sys.argv[1]), int(sys.argv[3])
(out / "inputs").mkdir()
(out / "inputs" / "n.txt").write_text(str(seed))
(out / "goal.json").write_text(json.dumps({"n": seed}))
with open(pathlib.Path(__file__).parent / "runs", "a") as runs:
    runs.write("x")
if seed != 13:
    (out / "reference.json").write_text(json.dumps({"twice": 2 * seed}))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = tmp_path / "study" / "task"
    (place / "inputs").mkdir(parents=True)
    (place / "reference.json").write_text('{"twice": 0}')
    (place / "reproduce.py").write_text(SCRIPT)
    clear_cache(place)
    return place


def test_seed_0_is_what_is_stored(folder: Path) -> None:
    found = material(folder, 0, generated=True)
    assert (found.inputs, found.reference, found.goal) == (folder / "inputs", {"twice": 0}, {})
    assert material(folder, 5, generated=False) == found


def test_other_seeds_are_made_once_and_kept(folder: Path) -> None:
    found = material(folder, 4, generated=True)
    assert (found.reference, found.goal) == ({"twice": 8}, {"n": 4})
    assert (found.inputs / "n.txt").read_text() == "4"
    from matassay.suites.research._material import _generated

    _generated.cache_clear()  # as another process would see it
    assert material(folder, 4, generated=True) == found
    assert (folder / "runs").read_text() == "x"


def test_a_changed_script_makes_them_anew(folder: Path) -> None:
    material(folder, 4, generated=True)
    before = fingerprint(folder)
    (folder / "reproduce.py").write_text(SCRIPT.replace("2 * seed", "3 * seed"))
    assert fingerprint(folder) != before
    assert material(folder, 4, generated=True).reference == {"twice": 12}


def test_a_private_split_has_other_numbers_for_every_seed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATASSAY_SALT", "pepper")
    found = [material(folder, seed, generated=True).goal["n"] for seed in (0, 1)]
    monkeypatch.setenv("MATASSAY_SALT", "thyme")
    other = [material(folder, seed, generated=True).goal["n"] for seed in (0, 1)]
    assert len({*found, *other, 0, 1}) == 6


def test_a_script_that_fails_or_forgets_is_named_and_leaves_nothing(folder: Path) -> None:
    with pytest.raises(MatAssayError, match=r"reproduce\.py: left no reference"):
        material(folder, 13, generated=True)
    (folder / "reproduce.py").write_text("raise SystemExit('no such crystal')")
    with pytest.raises(MatAssayError, match=r"exit code 1.*no such crystal"):
        material(folder, 2, generated=True)
    cache = folder.parents[1] / "cache"
    assert not list(cache.rglob("seed-*"))
    assert not list(cache.rglob(".making-*"))


def test_a_reference_that_is_none_is_named(folder: Path) -> None:
    (folder / "reference.json").write_text("[1]")
    with pytest.raises(MatAssayError, match=r"reference\.json: expected a JSON object, got list"):
        material(folder, 0, generated=False)
