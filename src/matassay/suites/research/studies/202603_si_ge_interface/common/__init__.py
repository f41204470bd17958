"""Physics that the tasks of the study share: plain functions, which import neither MatAssay nor each other's tasks.

Length in angstrom, energy in eV, mass in atomic mass units, force constants in eV/A^2, ordinary frequency in THz.
"""
