"""Units of the research tasks against CODATA values and known conversions."""

from __future__ import annotations

import pytest
from scipy import constants

from matassay.core import UNITS, convert


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("bohr", constants.physical_constants["Bohr radius"][0]),
        ("u", constants.atomic_mass),
        ("eV", constants.e),
        ("Ry", constants.physical_constants["Rydberg constant times hc in J"][0]),
        ("Ha", constants.physical_constants["Hartree energy"][0]),
        ("muB", constants.physical_constants["Bohr magneton"][0]),
        ("e^2/h", constants.physical_constants["conductance quantum"][0] / 2),
        ("J/mol/K", 1 / constants.N_A),
        ("kcal/mol", constants.kilo * constants.calorie / constants.N_A),
        ("g/mol", constants.gram / constants.N_A),
        ("atm", constants.atm),
    ],
)
def test_constants(unit: str, value: float) -> None:
    # The same CODATA year as scipy's: another one is a few parts in 1e10 away.
    assert UNITS[unit][1] == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("value", "unit", "to", "expected"),
    [
        (1.0, "Ry", "eV", 13.605693),
        (1.0, "Ha", "eV", 27.211386),
        (1.0, "kcal/mol", "eV", 0.0433641),
        (1.0, "g/mol", "u", 1.0),
        (1.0, "2pi/angstrom", "1/angstrom", 6.2831853),
        (1.0, "Ha/bohr", "eV/angstrom", 51.422067),
        (1.0, "Ry/bohr", "eV/angstrom", 25.711043),
        (1.0, "Ry/bohr^2", "eV/angstrom^2", 48.587),
        (1.0, "eV/angstrom^2", "N/m", 16.0217663),
        (1.0, "eV/angstrom^3", "GPa", 160.217663),
        (10.0, "kbar", "GPa", 1.0),
        (10.0, "angstrom/ps", "km/s", 1.0),
        (200.0, "MW/m^2/K", "GW/m^2/K", 0.2),
        (5.0, "K m^2/GW", "K m^2/W", 5e-9),
        (1.0, "C/m^2", "uC/cm^2", 100.0),
        (1.0, "MV/cm", "V/angstrom", 0.01),
        (1.0, "g/cm^3", "kg/m^3", 1000.0),
        (1000.0, "GHz", "THz", 1.0),
        (3.0, "1", "", 3.0),
    ],
)
def test_conversions(value: float, unit: str, to: str, expected: float) -> None:
    assert convert(value, unit, to) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("unit", "to"), [("THz", "rad/ps"), ("THz", "1/cm"), ("THz", "meV"), ("eV/atom", "eV"), ("W/m/K", "W/m^2/K")]
)
def test_what_is_often_confused_is_not_converted(unit: str, to: str) -> None:
    with pytest.raises(ValueError, match="cannot convert"):
        convert(1.0, unit, to)
