"""Loading the engine, which is most of what a short command does."""

from __future__ import annotations

import gc
import sys


def load_engine() -> None:
    """Import `matassay.evals`, and with it the engine, without a search for garbage.

    An import makes half a million objects that stay. Python looks through all of them for garbage again and again while
    it imports, whenever somebody collects, and at the end; here it is told to leave them alone.
    """
    if "matassay.evals" in sys.modules:
        return
    collecting = gc.isenabled()
    gc.disable()
    try:
        import matassay.evals  # noqa: F401 - for its import

        gc.freeze()
    finally:
        if collecting:
            gc.enable()
