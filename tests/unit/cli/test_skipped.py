"""Tasks whose programs are missing are skipped with the reason, never failed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from matassay.cli._needs import choose_sandbox, usable
from matassay.core import EnvironmentFailure, Interface, MatAssayError
from matassay.worlds import workspace

PLAIN = SimpleNamespace(id="research/a/1", requires=(), interface=Interface.SCREEN)
NEEDY = SimpleNamespace(id="research/a/2", requires=("lammps",), interface=Interface.SCREEN)


@pytest.fixture
def without_lammps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "missing", lambda names: [f"{n} is not installed: get it" for n in names])


@pytest.mark.usefixtures("without_lammps")
def test_the_others_are_run(capsys: pytest.CaptureFixture[str]) -> None:
    left, skipped = usable([PLAIN, NEEDY])  # type: ignore[list-item]
    assert left == [PLAIN]
    assert skipped == {"research/a/2": "lammps is not installed: get it"}
    assert "skipped research/a/2: lammps is not installed: get it" in capsys.readouterr().err


@pytest.mark.usefixtures("without_lammps")
def test_where_none_is_left_that_is_an_error() -> None:
    with pytest.raises(EnvironmentFailure, match="none of these tasks can be done here: lammps is not installed"):
        usable([NEEDY])  # type: ignore[list-item]


def test_a_kind_of_sandbox_is_taken_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MATASSAY_SANDBOX", raising=False)
    choose_sandbox(None)
    assert workspace.chosen_backend() == "auto"
    with pytest.raises(MatAssayError, match=r"unknown sandbox 'chroot'; known: .*bubblewrap"):
        choose_sandbox("chroot")
    monkeypatch.setenv("MATASSAY_SANDBOX", "auto")  # so that it is restored
    choose_sandbox("none")
    assert workspace.chosen_backend() == "none"


@pytest.mark.parametrize("kind", ["none", "sandlock"])
def test_a_weaker_sandbox_is_said_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    monkeypatch.setenv("MATASSAY_SANDBOX", kind)
    usable([SimpleNamespace(id="research/a/3", requires=(), interface=Interface.WORKSPACE)])  # type: ignore[list-item]
    said = capsys.readouterr().err
    assert f"Sandbox {kind}: " in said
    assert "cannot be compared" in said


@pytest.mark.parametrize("kind", ["auto", "none", "sandlock"])
def test_a_sandbox_that_cannot_start_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    async def broken(self: object) -> None:
        raise EnvironmentFailure(f"{type(self).__name__} has no place here")

    monkeypatch.setenv("MATASSAY_SANDBOX", kind)
    name = "Bubblewrap" if kind == "auto" else "FolderWorkspace"
    monkeypatch.setattr(f"matassay.worlds.workspace._box.{name}.start", broken)
    with pytest.raises(EnvironmentFailure, match=f"{name} has no place here"):
        usable([SimpleNamespace(id="research/a/3", requires=(), interface=Interface.WORKSPACE)])  # type: ignore[list-item]


def test_without_an_environment_nothing_is_begun(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MATASSAY_WORKSPACE", str(tmp_path / "none"))
    with pytest.raises(EnvironmentFailure, match="workspace"):
        usable([SimpleNamespace(id="research/a/3", requires=(), interface=Interface.WORKSPACE)])  # type: ignore[list-item]
