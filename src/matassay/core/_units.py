"""Units that parameters, criteria and files may name, and conversion between those of one dimension."""

from __future__ import annotations

import math
from types import MappingProxyType
from typing import Final

# Exact by the definition of the SI (2019).
_E: Final = 1.602176634e-19  # elementary charge, C
_H: Final = 6.62607015e-34  # Planck constant, J s
_N_A: Final = 6.02214076e23  # Avogadro constant, 1/mol
# Measured: CODATA 2022, https://physics.nist.gov/cuu/Constants; a test holds every digit against scipy.constants, whose
# import would double the time in which each command starts.
_U: Final = 1.66053906892e-27  # atomic mass constant, kg
_RYDBERG: Final = 2.1798723611030e-18  # Rydberg energy, J
_BOHR: Final = 5.29177210544e-11  # Bohr radius, m
_MU_B: Final = 9.2740100657e-24  # Bohr magneton, J/T

#: unit -> (dimension, factor to the dimension's SI unit). Affine units (degree Celsius) are left out on purpose:
#: nothing that is graded may depend on which of two zero points was meant. For the same reason ordinary and angular
#: frequency, wavenumber and energy are different dimensions, though physics relates them.
UNITS: Final = MappingProxyType(
    {
        "": ("number", 1.0),
        "1": ("number", 1.0),
        "%": ("number", 0.01),
        "x": ("number", 1.0),
        "counts": ("counts", 1.0),
        "counts/s": ("count rate", 1.0),
        "m": ("length", 1.0),
        "mm": ("length", 1e-3),
        "um": ("length", 1e-6),
        "nm": ("length", 1e-9),
        "angstrom": ("length", 1e-10),
        "pm": ("length", 1e-12),
        "bohr": ("length", _BOHR),
        "1/m": ("wavenumber", 1.0),
        "1/cm": ("wavenumber", 1e2),
        "1/nm": ("wavenumber", 1e9),
        "1/angstrom": ("wavenumber", 1e10),
        "2pi/angstrom": ("wavenumber", 2 * math.pi * 1e10),
        "1/bohr": ("wavenumber", 1 / _BOHR),
        "m^2": ("area", 1.0),
        "nm^2": ("area", 1e-18),
        "angstrom^2": ("area", 1e-20),
        "m^3": ("volume", 1.0),
        "nm^3": ("volume", 1e-27),
        "angstrom^3": ("volume", 1e-30),
        "bohr^3": ("volume", _BOHR**3),
        "angstrom^3/atom": ("volume per atom", 1e-30),
        "s": ("time", 1.0),
        "ms": ("time", 1e-3),
        "us": ("time", 1e-6),
        "ns": ("time", 1e-9),
        "ps": ("time", 1e-12),
        "fs": ("time", 1e-15),
        "min": ("time", 60.0),
        "h": ("time", 3600.0),
        "1/s": ("rate", 1.0),
        "1/ps": ("rate", 1e12),
        "deg": ("angle", math.pi / 180),
        "rad": ("angle", 1.0),
        "mrad": ("angle", 1e-3),
        "deg/min": ("angular rate", math.pi / 180 / 60),
        "deg/s": ("angular rate", math.pi / 180),
        "rad/s": ("angular rate", 1.0),
        "rad/ps": ("angular rate", 1e12),
        "Hz": ("frequency", 1.0),
        "kHz": ("frequency", 1e3),
        "MHz": ("frequency", 1e6),
        "GHz": ("frequency", 1e9),
        "THz": ("frequency", 1e12),
        "m/s": ("velocity", 1.0),
        "km/s": ("velocity", 1e3),
        "angstrom/ps": ("velocity", 1e2),
        "kg": ("mass", 1.0),
        "g": ("mass", 1e-3),
        "u": ("mass", _U),
        "g/mol": ("mass", 1e-3 / _N_A),
        "kg/m^3": ("density", 1.0),
        "g/cm^3": ("density", 1e3),
        "J": ("energy", 1.0),
        "eV": ("energy", _E),
        "meV": ("energy", 1e-3 * _E),
        "keV": ("energy", 1e3 * _E),
        "Ry": ("energy", _RYDBERG),
        "mRy": ("energy", 1e-3 * _RYDBERG),
        "Ha": ("energy", 2 * _RYDBERG),
        "kcal/mol": ("energy", 4184 / _N_A),
        "kJ/mol": ("energy", 1e3 / _N_A),
        "eV/atom": ("energy per atom", _E),
        "meV/atom": ("energy per atom", 1e-3 * _E),
        "N": ("force", 1.0),
        "eV/angstrom": ("force", _E * 1e10),
        "meV/angstrom": ("force", _E * 1e7),
        "Ry/bohr": ("force", _RYDBERG / _BOHR),
        "Ha/bohr": ("force", 2 * _RYDBERG / _BOHR),
        "kcal/mol/angstrom": ("force", 4184 / _N_A * 1e10),
        "N/m": ("force per length", 1.0),
        "J/m^2": ("force per length", 1.0),
        "eV/angstrom^2": ("force per length", _E * 1e20),
        "meV/angstrom^2": ("force per length", _E * 1e17),
        "Ry/bohr^2": ("force per length", _RYDBERG / _BOHR**2),
        "Pa": ("pressure", 1.0),
        "mbar": ("pressure", 100.0),
        "bar": ("pressure", 1e5),
        "atm": ("pressure", 101325.0),
        "kbar": ("pressure", 1e8),
        "MPa": ("pressure", 1e6),
        "GPa": ("pressure", 1e9),
        "eV/angstrom^3": ("pressure", _E * 1e30),
        "K": ("temperature", 1.0),
        "J/K": ("heat capacity", 1.0),
        "J/mol/K": ("heat capacity", 1 / _N_A),
        "J/m^3/K": ("heat capacity per volume", 1.0),
        "W": ("power", 1.0),
        "kW": ("power", 1e3),
        "W/m^2": ("heat flux", 1.0),
        "W/m/K": ("thermal conductivity", 1.0),
        "W/m^2/K": ("thermal conductance", 1.0),
        "MW/m^2/K": ("thermal conductance", 1e6),
        "GW/m^2/K": ("thermal conductance", 1e9),
        "K m^2/W": ("thermal resistance", 1.0),
        "K m^2/GW": ("thermal resistance", 1e-9),
        "V": ("voltage", 1.0),
        "kV": ("voltage", 1e3),
        "mV": ("voltage", 1e-3),
        "V/m": ("electric field", 1.0),
        "V/angstrom": ("electric field", 1e10),
        "kV/cm": ("electric field", 1e5),
        "MV/cm": ("electric field", 1e8),
        "A": ("current", 1.0),
        "mA": ("current", 1e-3),
        "uA": ("current", 1e-6),
        "nA": ("current", 1e-9),
        "pA": ("current", 1e-12),
        "C": ("charge", 1.0),
        "e": ("charge", _E),
        "C/m^2": ("polarisation", 1.0),
        "uC/cm^2": ("polarisation", 1e-2),
        "e angstrom": ("dipole moment", _E * 1e-10),
        "S": ("conductance", 1.0),
        "e^2/h": ("conductance", _E**2 / _H),
        "S/m": ("conductivity", 1.0),
        "S/cm": ("conductivity", 1e2),
        "T": ("magnetic flux density", 1.0),
        "mT": ("magnetic flux density", 1e-3),
        "muB": ("magnetic moment", _MU_B),
        "muB/atom": ("magnetic moment per atom", _MU_B),
        "1/eV": ("states per energy", 1 / _E),
        "states/eV": ("states per energy", 1 / _E),
        "1/THz": ("states per frequency", 1e-12),
        "states/THz": ("states per frequency", 1e-12),
    }
)


def convert(value: float, unit: str, to: str) -> float:
    """Convert ``value`` from ``unit`` to the unit ``to``.

    Parameters
    ----------
    value : float
        The number to convert.
    unit, to : str
        Keys of `UNITS` of the same dimension.

    Raises
    ------
    ValueError
        If a unit is unknown or the dimensions differ.

    Examples
    --------
    >>> convert(2.0, "deg/min", "deg/s")
    0.03333333333333333
    """
    for name in (unit, to):
        if name not in UNITS:
            raise ValueError(f"unknown unit {name!r}; known: {', '.join(u for u in UNITS if u)}")
    (dimension, factor), (other, divisor) = UNITS[unit], UNITS[to]
    if dimension != other:
        raise ValueError(f"cannot convert {unit!r} ({dimension}) to {to!r} ({other})")
    return value * factor / divisor if factor != divisor else value
