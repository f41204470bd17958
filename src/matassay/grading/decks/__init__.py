"""Input decks judged by their effective values: what the code would run with, however it is written.

One interface, `DeckCode`, for all codes. Where the real program is free to ship it is asked (a `Probe` in a fresh
sandbox, while evidence is collected); otherwise our own readers and tables of defaults answer.
"""

from ._codes import CODES
from ._criteria import deck_criteria, deck_probes, validate_spec
from ._files import DeckFiles
from ._model import DeckCode, Effective, Problem
from ._spec import OPERATIONS, BadSpec

__all__ = [
    "CODES",
    "OPERATIONS",
    "BadSpec",
    "DeckCode",
    "DeckFiles",
    "Effective",
    "Problem",
    "deck_criteria",
    "deck_probes",
    "validate_spec",
]
