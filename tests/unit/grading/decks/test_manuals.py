"""The notes that agents get say what the graders know."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import matassay.suites
from matassay.grading.decks import CODES
from matassay.grading.decks.vasp import _values

MANUALS = Path(matassay.suites.__file__).parent / "research" / "manuals"


def test_defaults_in_the_note_on_vasp_are_those_of_the_table() -> None:
    rows = re.findall(
        r"^\| ([A-Z0-9_]+) \| [^|]+ \| ([^|]*) \| ([^|]+) \|$", (MANUALS / "vasp.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) > 60
    compared = 0
    for tag, unit, default in rows:
        assert CODES["vasp"].canonical(tag)[0] == tag
        assert unit.strip() == _values.units().get(tag, "")
        known = _values.defaults().get(tag)
        if known is None or tag == "METAGGA":
            continue
        value, _ = _values.read(tag, default)
        assert value == known, tag
        compared += 1
    assert compared > 40


@pytest.mark.parametrize(("name", "code"), [("quantum_espresso", "quantum-espresso"), ("wannier90", "wannier90")])
def test_keywords_in_the_notes_are_known(name: str, code: str) -> None:
    rows = re.findall(r"^\| ([a-zA-Z_0-9, ().]+) \|", (MANUALS / f"{name}.md").read_text("utf-8"), re.MULTILINE)
    words = {w.strip() for row in rows for w in re.sub(r"\([^)]*\)", "", row).split(",")}
    words = {w for w in words if re.fullmatch(r"[A-Za-z][A-Za-z_0-9]*", w)} - {"variable", "keyword", "ibrav", "A or"}
    assert len(words) > 20
    for word in words:
        CODES[code].canonical(word)


def test_the_example_of_the_note_on_espresso_is_read() -> None:
    text = (MANUALS / "quantum_espresso.md").read_text("utf-8")
    example = next(block for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL) if "&CONTROL" in block)
    found = CODES["quantum-espresso"].effective({"input": example.encode()})
    assert found.problems == ()
    assert found.values["k_mesh"] == [6, 6, 6]
