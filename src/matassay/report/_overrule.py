"""What people say about the causes of failed runs: a JSON file that stands above the rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from matassay.core import Failure, MatAssayError

from ._conditions import Overrule, Overrules

#: Name under which a report looks for the file among the logs.
FILE: Final = "failures.json"


def read_overrules(file: Path) -> Overrules:
    """Read a file that the form of a report has made.

    Parameters
    ----------
    file : Path
        JSON: ``{"overrules": [{"run": ..., "failure": ..., "by": ..., "why": ...}]}``.

    Raises
    ------
    MatAssayError
        Naming the file, the entry and what was expected.
    """
    try:
        raw = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise MatAssayError(f"{file}: cannot be read ({error})") from error
    entries = raw.get("overrules") if isinstance(raw, dict) else None
    if not isinstance(entries, list):
        raise MatAssayError(f"{file}: expected an object with a list 'overrules'")
    found: dict[str, Overrule] = {}
    for number, entry in enumerate(entries):
        run, overrule = _entry(entry, f"{file}: overrules[{number}]")
        if run in found:
            raise MatAssayError(f"{file}: overrules[{number}]: run {run!r} stands twice")
        found[run] = overrule
    return found


def _entry(entry: Any, where: str) -> tuple[str, Overrule]:
    if not isinstance(entry, dict) or not isinstance(entry.get("run"), str):
        raise MatAssayError(f"{where}: expected an object with run, failure, by and why")
    for name in ("by", "why"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            raise MatAssayError(f"{where}: field {name}: expected words, since nobody can check a cause without them")
    try:
        failure = Failure(str(entry.get("failure")))
    except ValueError:
        known = ", ".join(Failure)
        raise MatAssayError(f"{where}: field failure: expected one of {known}, got {entry.get('failure')!r}") from None
    return entry["run"], Overrule(failure, entry["by"].strip(), entry["why"].strip())


def find_overrules(places: list[Path]) -> Overrules:
    """The overrules that lie among logs; none where there is no file."""
    found: dict[str, Overrule] = {}
    for place in places:
        folder = place if place.is_dir() else place.parent
        if (folder / FILE).is_file():
            found |= read_overrules(folder / FILE)
    return found
