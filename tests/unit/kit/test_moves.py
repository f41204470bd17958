"""How a hand finds its way on a screen that is made up."""

from __future__ import annotations

import pytest

from matassay.core import AccessibleNode, Observation
from matassay.kit.moves import choose

ENTRIES = [f"entry {n}" for n in range(20)]


def screen(first: int) -> Observation:
    """A list of twenty entries that shows eight, from the one at ``first``."""
    box = AccessibleNode("combobox", "Specimen", (10, 10, 100, 20))
    rows = [AccessibleNode("option", e, (10, 40 + 20 * i, 100, 20)) for i, e in enumerate(ENTRIES[first : first + 8])]
    around = AccessibleNode("listbox", "Specimen", (10, 40, 100, 160))
    return Observation(accessible=(box, around, *rows))


def operate(first: int, option: str) -> tuple[str, list[str]]:
    """Choose an option of a list that opens at an entry; the row that was clicked, and the directions scrolled in."""
    policy, ways, top = choose(screen(first), "Specimen", option), [], first
    action = next(policy)
    while True:
        if action["action"] == "scroll":
            ways.append(action["scroll_direction"])
            step = action["scroll_amount"] * (1 if action["scroll_direction"] == "down" else -1)
            top = min(max(top + step, 0), len(ENTRIES) - 8)
        elif ways or action["coordinate"] != [60, 20]:
            return ENTRIES[top + (action["coordinate"][1] - 40) // 20], ways
        action = policy.send(screen(top))


@pytest.mark.parametrize(
    ("first", "option", "ways"),
    [
        (0, "entry 3", []),
        (0, "entry 19", ["down"] * 6),
        (12, "entry 0", ["down"] + ["up"] * 6),
        (6, "entry 1", ["down"] * 4 + ["up"] * 6),
    ],
)
def test_an_option_is_found_below_and_above_what_the_list_shows(first: int, option: str, ways: list[str]) -> None:
    assert operate(first, option) == (option, ways)


def test_an_option_that_is_not_there_is_named() -> None:
    with pytest.raises(LookupError, match="no option 'entry 99'"):
        operate(0, "entry 99")
