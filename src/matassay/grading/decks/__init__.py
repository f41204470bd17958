"""Input decks judged by their effective values: what the code would run with, however it is written.

One interface, `DeckCode`, for all codes. Where the real program is free to ship it is asked (a `Probe` in a fresh
sandbox, while evidence is collected); otherwise our own readers and tables of defaults answer.

Names that a task may require, beside every tag, variable or keyword of the code itself:

* all codes: ``structure``, ``natoms``, ``species``, ``composition``, ``volume``, ``cell_lengths``, ``cell_angles``
* with k points: ``k_scheme`` (mesh, points, path), ``k_mesh``, ``k_offset``, ``k_gamma``, ``k_spacing``, ``k_path``
* VASP and pw.x: ``k_per_segment`` (one number, or one of each segment), ``motion`` (static, relaxation, dynamics,
  response), ``cell_moves``, ``ions_move``, ``n_fixed``
* VASP: ``potcar``, ``potcar_functional``, ``U_eff.Cr`` (also LDAUL, LDAUU, LDAUJ; a list if an element's groups differ,
  which are ``U_eff.Cr1``, ``U_eff.Cr2``), ``charge``, ``total_moment``
* pw.x: ``Hubbard_U.Mn1``, ``starting_magnetization.Mn1``, ``pseudo.Mn1``, ``mass.Mn1``, ``functional``, ``spin``
* LAMMPS: ``forces`` and ``energies`` (against a reference deck), ``pair_style``, ``pair_styles``, ``pair_elements``,
  ``elements``, ``elements_match``, ``masses``, ``timestep``, ``ensemble``, ``temperature``, ``temperature_damping``,
  ``pressure`` (bar), ``run_steps``, ``total_steps``, ``minimize``, ``actions``, ``fix_styles``, ``fix.nvt.temp``,
  ``group.top``, ``charge``, ``type_charges``, ``skin``, ``neigh_every``, ``dump.custom.every``, ``command.velocity``,
  ...; all but ``actions``, steps and ``command.`` are those with which the last run that has steps ran, whatever the
  deck does behind it
* Wannier90: ``projections.Cr``, ``projections``, ``n_projections``, ``n_kpoints``, ``disentangle``
"""

from ._codes import CODES
from ._criteria import deck_criteria, deck_probes, validate_spec
from ._files import DeckFiles
from ._model import DeckCode, Effective, Problem
from ._spec import OPERATIONS, BadSpec

__all__ = [
    "CODES",
    "OPERATIONS",
    "BadSpec",
    "DeckCode",
    "DeckFiles",
    "Effective",
    "Problem",
    "deck_criteria",
    "deck_probes",
    "validate_spec",
]
