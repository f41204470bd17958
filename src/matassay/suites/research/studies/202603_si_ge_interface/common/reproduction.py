"""What every `reproduce.py` of the study does around its physics: arguments, folders, and numbers without noise."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["rounded", "run"]

_DIGITS = 10
"""Significant digits that are kept: far below any tolerance, and above the rounding of one machine against another."""

_NOTHING = 1e-14
"""What is smaller, in units of the answer, is rounding where the exact result is zero."""


def rounded(value: Any) -> Any:
    """Return the same tree of lists and mappings with every float rounded to significant digits, and rounding noise set to zero."""
    if isinstance(value, dict):
        return {name: rounded(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS - 1}e}") if abs(value) > _NOTHING else 0.0
    return value


def run(make: Callable[[Path, int], dict[str, Any]], about: str) -> None:
    """Read ``OUT --seed N`` from the command line, let `make` write the inputs, and store the reference it returns.

    Parameters
    ----------
    make
        Takes the folder for the public inputs and the seed; returns the reference, in the layout of the answer.
    about
        One line for ``--help``.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("out", type=Path, help="folder that gets inputs/ and reference.json")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    inputs = arguments.out / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded(make(inputs, arguments.seed)), indent=1)
    (arguments.out / "reference.json").write_text(text + "\n", "utf-8")
