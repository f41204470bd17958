"""The dialog that saves what is shown: asks for a name, checks it, and asks again before anything is replaced."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any

from .commands import command
from .instrument import MAX_FILES, Instrument
from .panel import Button, Dialog, Readout, Row, TextField, Widget
from .parameters import Refused, Text

__all__ = ["SavingInstrument", "save_dialogs"]


class SavingInstrument(Instrument, ABC):
    """An instrument whose operator saves a measurement under a name, in one file or several.

    A subclass says what there is to save and in which files (`save_reason`, `save_number`, `save_extensions`,
    `save_content`), puts a button for `ask_to_save` and the `save_dialogs` on its panel, and calls ``super().setup()``.
    """

    file_name = Text("", max_length=40, label="File name")

    def setup(self) -> None:
        """Nothing saved, no dialog open."""
        super().setup()
        self.saved: dict[str, int] = {}
        self.saving = self.replacing = False

    # --- to be written by each instrument

    @property
    @abstractmethod
    def save_reason(self) -> str | None:
        """Why there is nothing to save now, or None."""

    @property
    @abstractmethod
    def save_number(self) -> int:
        """Number of the measurement that would be saved; kept in ``saved`` by file name."""

    @property
    @abstractmethod
    def save_extensions(self) -> tuple[str, ...]:
        """Extensions of the files that would be written, with the dot."""

    @abstractmethod
    def save_content(self, extension: str) -> tuple[bytes, str]:
        """Content and media type of the file with an extension."""

    # --- what the operator does

    @command(label="SAVE", soft=True, guard=lambda s: s.save_reason)
    def ask_to_save(self) -> None:
        """Ask for a name."""
        self.saving = True

    @command(label="Cancel")
    def cancel_save(self) -> None:
        """Close the dialog."""
        self.saving = self.replacing = False

    @command(label="Save")
    def confirm_save(self) -> None:
        """Write the files; a name that exists is asked about."""
        if not self.saving:
            raise Refused("There is nothing to save")
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", self.file_name) or ".." in self.file_name:
            raise Refused("File name: letters, digits, '_', '-' and '.' are allowed, and it must not be empty")
        names = self._save_names
        if not names:
            raise Refused("Choose at least one format")
        there = self.names_taken
        # all or none: the first of two files must not be written when there is no room for the second
        if len(self.files) + len(names) - len(there) > MAX_FILES:
            raise Refused(f"The data folder is full: {MAX_FILES} files")
        if there:
            self.replacing = True
        else:
            self._write()

    @command(label="Replace")
    def confirm_replace(self) -> None:
        """Write over files that exist."""
        if not self.replacing:
            raise Refused("There is nothing to replace")
        there = self.names_taken
        self._write()
        self.suffer("file_overwritten", f"Replaced {', '.join(there)}")

    @property
    def _save_names(self) -> dict[str, str]:
        """Extension by the name of each file that would be written; an extension that was typed is not put twice."""
        return {self.file_name.removesuffix(e) + e: e for e in self.save_extensions}

    @property
    def names_taken(self) -> list[str]:
        """Names that would be written and are in the folder already."""
        taken = {f.name for f in self.files}
        return [name for name in self._save_names if name in taken]

    def _write(self) -> None:
        if reason := self.save_reason:
            raise Refused(reason)
        names = self._save_names
        for name, extension in names.items():
            self.save(name, *self.save_content(extension))
            self.saved[name] = self.save_number
        self.saving = self.replacing = False
        self.say(f"Saved {', '.join(names)}")


def save_dialogs(title: str, *options: Widget) -> tuple[Widget, Widget]:
    """The two dialogs of a `SavingInstrument`: for the name, and for what would be replaced.

    Parameters
    ----------
    title : str
        Title of the first.
    *options : Widget
        What else is asked for beside the name, such as formats.
    """
    s = SavingInstrument

    def asks(instrument: Any) -> bool:
        return bool(instrument.saving and not instrument.replacing)

    return (
        Dialog(
            title,
            TextField(s.file_name),
            *options,
            Row(Button(s.confirm_save, style="primary"), Button(s.cancel_save)),
            open=asks,
            cancel=s.cancel_save,
        ),
        Dialog(
            "Replace files?",
            Readout("Exists already", lambda i: ", ".join(i.names_taken), "", 40, style="wide"),
            Row(Button(s.confirm_replace, style="danger"), Button(s.cancel_save, id="cancel-replace")),
            open=lambda i: i.replacing,
            cancel=s.cancel_save,
        ),
    )
