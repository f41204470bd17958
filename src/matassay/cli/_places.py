"""What commands are told to use, tasks and places: looked at before anything is started."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import typer

from matassay.core import MatAssayError

Given = TypeVar("Given", str, list[str], list[str] | None)


def folder_named(text: str | Path) -> Path:
    """The folder of an option, or its default."""
    return _named(text, "folder")


def file_named(text: str | Path) -> Path:
    """The file or folder of an argument, or its default."""
    return _named(text, "file")


def _named(text: str | Path, what: str) -> Path:
    """No name is no place, rather than the folder we are in."""
    if not str(text).strip():
        raise typer.BadParameter(f"the name of a {what} is empty")
    return Path(text)


def task_named(given: Given) -> Given:
    """Ids or beginnings of ids; an empty one, of a variable that was not set, is not all tasks."""
    for text in [given] if isinstance(given, str) else given or []:
        if not text.strip(" /"):
            raise typer.BadParameter("the id of a task is empty")
    return given


@contextlib.contextmanager
def log_folder(folder: Path, what: str = "logs") -> Iterator[None]:
    """Make a folder for logs; it is taken away again if it is new and nothing came into it.

    Raises
    ------
    MatAssayError
        If nothing can be written there.
    """
    new: list[Path] = []
    try:
        try:
            new = [p for p in (folder, *folder.parents) if not p.exists()]
            if folder.is_file():
                raise NotADirectoryError(0, "it is a file")
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise MatAssayError(f"cannot write {what} to {folder}: {error.strerror or error}") from error
        yield
    finally:
        with contextlib.suppress(OSError):  # what is not empty stays, and so does all above it
            for place in new:
                place.rmdir()


def check_port(host: str, port: int) -> None:
    """Say that a port is taken before a child process stumbles over it.

    Raises
    ------
    MatAssayError
        If nobody can listen there.
    """
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise MatAssayError(f"port {port} of {host} cannot be used ({reason}): choose another with --port") from error
