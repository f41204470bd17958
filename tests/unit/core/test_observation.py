from __future__ import annotations

import pytest

from matassay.core import AccessibleNode, Observation

SAVE, OTHER = AccessibleNode("button", "Save", (10, 20, 30, 40)), AccessibleNode("button", "Save", (0, 0, 1, 1))
SEEN = Observation(b"", (SAVE, AccessibleNode("switch", "Save", (0, 0, 5, 5))))


def test_element_is_found_by_role_and_whole_name() -> None:
    assert SEEN.find("button", "Save") is SAVE
    assert SEEN.has("button", "Save")
    assert not SEEN.has("button", "Sav")
    assert SAVE.center == (25, 40)


@pytest.mark.parametrize(("nodes", "text"), [((), "0 elements"), ((SAVE, OTHER), "2 elements")])
def test_none_or_several_is_an_error_that_lists_what_there_is(nodes: tuple[AccessibleNode, ...], text: str) -> None:
    with pytest.raises(LookupError, match=text):
        Observation(b"", nodes).find("button", "Save")


def test_list_must_have_been_asked_for() -> None:
    with pytest.raises(LookupError, match="without the accessibility list"):
        Observation(b"").find_all("button")
