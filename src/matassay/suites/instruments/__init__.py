"""The instruments suite: simulated scientific instruments, operated by mouse and keyboard.

Every subpackage that has an ``INSTRUMENT`` class and a tuple ``SUBTASKS`` is an instrument; its folder's name is its
name in task ids. Adding one touches no other place.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module

from matassay.core import Suite
from matassay.kit import Instrument

from ._build import make_task

_PACKAGES = {m.name: import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__) if m.ispkg}

INSTRUMENTS: Mapping[str, type[Instrument]] = {name: package.INSTRUMENT for name, package in _PACKAGES.items()}
"""Every instrument by name; the server is started with this mapping."""

SUITE = Suite(
    "instruments",
    tuple(make_task(package.INSTRUMENT, name, row) for name, package in _PACKAGES.items() for row in package.SUBTASKS),
)
"""All tasks."""
