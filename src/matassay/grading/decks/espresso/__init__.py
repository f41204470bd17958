"""Quantum ESPRESSO's pw.x: asked itself (stopped after its set-up) where it is installed, our own reader besides."""

from ._code import QuantumEspresso

__all__ = ["QuantumEspresso"]
