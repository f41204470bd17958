"""Instruments in a real browser: finding the browser, pinning the page, mouse and keyboard, pixels, evidence."""

from ._discovery import BROWSER_VARIABLE, HOW_TO_INSTALL, BrowserProgram, find_browser
from ._host import close_shared, release_shared
from ._human import HumanWorld
from ._keys import Chord, Key, parse_chord
from ._page import PinnedPage
from ._world import INSTRUMENTS, BrowserWorld

__all__ = [
    "BROWSER_VARIABLE",
    "HOW_TO_INSTALL",
    "INSTRUMENTS",
    "BrowserProgram",
    "BrowserWorld",
    "Chord",
    "HumanWorld",
    "Key",
    "PinnedPage",
    "close_shared",
    "find_browser",
    "parse_chord",
    "release_shared",
]
