"""Tasks whose programs are missing are skipped with the reason, never failed."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from matassay.cli._needs import choose_sandbox, usable
from matassay.core import EnvironmentFailure, MatAssayError
from matassay.worlds import workspace

PLAIN = SimpleNamespace(id="research/a/1", requires=())
NEEDY = SimpleNamespace(id="research/a/2", requires=("lammps",))


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
