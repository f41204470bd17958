"""Places that commands are told to use: looked at before anything is started."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import typer

from matassay.core import MatAssayError


def folder_named(text: str) -> Path:
    """The folder of an option; no name is no folder, rather than the one we are in."""
    if not text.strip():
        raise typer.BadParameter("the name of a folder is empty")
    return Path(text)


@contextlib.contextmanager
def log_folder(folder: Path) -> Iterator[None]:
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
            raise MatAssayError(f"cannot write logs to {folder}: {error.strerror or error}") from error
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
