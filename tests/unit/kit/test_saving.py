"""The dialog that saves: one block for all instruments."""

from __future__ import annotations

import pytest

from matassay.kit import Button, Column, Desk, Flag, SavingInstrument, Toggle, save_dialogs
from matassay.kit.instrument import MAX_FILES


class Camera(SavingInstrument):
    """Takes one picture and saves it in one format or two."""

    raw = Flag(False)
    shown = 1

    @property
    def save_reason(self) -> str | None:
        return None if self.shown else "There is no picture"

    @property
    def save_number(self) -> int:
        return self.shown

    @property
    def save_extensions(self) -> tuple[str, ...]:
        return (".png", ".raw") if self.raw else (".png",)

    def save_content(self, extension: str) -> tuple[bytes, str]:
        return f"{self.shown}{extension}".encode(), "text/plain"

    panel = Column(
        Button(SavingInstrument.ask_to_save, label="SAVE PICTURE", id="save"),
        *save_dialogs("Save picture", Toggle(raw)),
    )


def desk(files: int = 0) -> Desk:
    d = Desk(Camera())
    for i in range(files):
        d.instrument.save_before(f"old_{i}.png", b"old", "image/png")
    return d


def asked(d: Desk, name: str) -> str | None:
    assert d.press("save") is None
    assert d.set("file_name", name) is None
    return d.press("confirm_save")


def names(d: Desk) -> list[str]:
    return [f.name for f in d.instrument.files]


def test_saves_under_the_name_with_every_extension() -> None:
    d = desk()
    d.set("raw", True)
    assert asked(d, "a.png") is None
    assert names(d) == ["a.png", "a.png.raw"]
    assert d.instrument.saved == {"a.png": 1, "a.png.raw": 1}  # type: ignore[attr-defined]
    assert d.instrument.message == "Saved a.png, a.png.raw"


def test_dialogs_have_names_of_their_own() -> None:
    d = desk()
    assert (d.tree()["children"][0]["label"], d.tree()["children"][1]["label"]) == ("SAVE PICTURE", "Save picture")
    d.press("save")
    s = d.snapshot()
    assert (s["save-picture"]["open"], s["replace-files"]["open"]) == (True, False)
    assert d.event("save-picture", [], "cancel") is None
    assert not d.snapshot()["save-picture"]["open"]
    assert d.press("confirm_save") == "There is nothing to save"


def test_says_what_would_be_replaced() -> None:
    d = desk(1)
    d.set("raw", True)
    assert asked(d, "old_0") is None
    assert d.snapshot()["replace-files"] == {"open": True}
    assert d.snapshot()["exists-already"]["value"] == "old_0.png"
    assert d.instrument.files[0].data == b"old"
    assert d.press("cancel-replace") is None
    assert names(d) == ["old_0.png"]
    asked(d, "old_0")
    assert d.press("confirm_replace") is None
    assert sorted(names(d)) == ["old_0.png", "old_0.raw"]
    assert [c.message for c in d.instrument.consequences] == ["Replaced old_0.png"]
    assert d.press("confirm_replace") == "There is nothing to replace"


def test_writes_all_files_or_none() -> None:
    d = desk(MAX_FILES - 1)
    d.set("raw", True)
    assert asked(d, "new") == f"The data folder is full: {MAX_FILES} files"
    assert len(names(d)) == MAX_FILES - 1
    d.set("raw", False)
    assert d.press("confirm_save") is None
    d.set("raw", True)
    assert asked(d, "new") == f"The data folder is full: {MAX_FILES} files"


def test_what_vanishes_behind_the_dialog_is_not_saved() -> None:
    d = desk()
    d.press("save")
    d.set("file_name", "a")
    d.instrument.shown = 0  # type: ignore[attr-defined]
    assert d.press("confirm_save") == "There is no picture"
    assert names(d) == []


@pytest.mark.parametrize("name", ["", "a b", "../x", "a/b", "a..b", ".hidden", "-x", "ä"])
def test_file_name_that_is_none(name: str) -> None:
    d = desk()
    assert "File name: letters" in str(asked(d, name))
    assert names(d) == []
