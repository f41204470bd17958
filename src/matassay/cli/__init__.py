"""The command line. Heavy imports happen inside the commands, so that `matassay list` answers at once."""

from ._app import main

__all__ = ["main"]
