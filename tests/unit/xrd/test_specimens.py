"""The shelf of specimens."""

import pytest

from matassay.suites.instruments.xrd.specimens import SPECIMENS, Component, Specimen, load_phase


def test_shelf_is_large_enough():
    pure = {s.components[0].phase for s in SPECIMENS.values() if len(s.components) == 1}
    assert len(pure) >= 12
    assert sum(len(s.components) > 1 for s in SPECIMENS.values()) >= 3
    assert len({s.name for s in SPECIMENS.values()}) == len(SPECIMENS)


@pytest.mark.parametrize("key", SPECIMENS)
def test_every_phase_is_stored(key):
    specimen = SPECIMENS[key]
    assert specimen.key == key
    for component in specimen.components:
        phase = load_phase(component.phase)
        assert sum(phase.mass_fractions.values()) == pytest.approx(1.0)
        assert [f.d for f in phase.families] == sorted((f.d for f in phase.families), reverse=True)
        assert all(sum(share for _, share in f.texture) == pytest.approx(1.0) for f in phase.families)


def test_fractions_must_add_up():
    with pytest.raises(ValueError, match="add up"):
        Specimen("x", "x", (Component("quartz", 0.5), Component("corundum", 0.4)))


def test_form_is_checked():
    with pytest.raises(ValueError, match="neither"):
        Specimen("x", "x", (), form="liquid")
