"""Decks that must fail, each by one mistake, and decks that mean the same as the solution's."""

from matassay.suites.research import Miss

MISSES = (
    Miss("default_ediff", "the electronic loop ends at VASP's default of 1e-4 eV", {"EDIFF  = 1E-8\n": ""}),
    Miss("loose_ediff", "convergence that is usual for relaxations", {"EDIFF  = 1E-8": "EDIFF  = 1E-6"}),
    Miss("mesh_of_the_unit_cell_kept", "k mesh not scaled with the supercell: eight times the cost", {
        "[math.ceil(n / repeats) for n in settings[\"kmesh\"]]": "settings[\"kmesh\"]",
    }),
    Miss("gamma_only", "a supercell sampled at Gamma alone", {
        "[math.ceil(n / repeats) for n in settings[\"kmesh\"]]": "[1, 1, 1]",
    }),
    Miss("mesh_halved_twice", "mesh divided by the number of atoms per edge", {
        "math.ceil(n / repeats)": "math.ceil(n / repeats**2)",
    }),
    Miss("ions_move", "the displaced atom relaxes back", {"IBRION = -1\nNSW    = 0": "IBRION = 2\nNSW    = 50\nEDIFFG = -0.001"}),
    Miss("metal_smearing_by_default", "ISMEAR left at its default, which is for metals", {"ISMEAR = 0\nSIGMA  = 0.05\n": ""}),
    Miss("wide_smearing", "SIGMA left at its default of 0.2 eV", {"SIGMA  = 0.05\n": ""}),
    Miss("real_space", "real-space projection, which is usual for large cells", {"LREAL  = .FALSE.": "LREAL  = Auto"}),
    Miss("normal_precision", "PREC left at Normal", {"PREC   = Accurate\n": ""}),
    Miss("no_support_grid", "ADDGRID left off", {"ADDGRID = .TRUE.\n": ""}),
    Miss("cutoff_of_silicon", "1.3 times the cutoff of the softer data set", {"1.3 * max(entry": "1.3 * min(entry"}),
    Miss("no_displacement", "the perfect supercell, in which all forces vanish", {
        "(cell,) = phonon.supercells_with_displacements": "cell = phonon.supercell",
    }),
    Miss("unit_cell_displaced", "the displacement in the 8-atom cell", {"repeats = 2\n": "repeats = 1\n"}),
    Miss("half_the_displacement", "phonopy's default displacement", {"displacement = 0.02": "displacement = 0.01"}),
    Miss("diagonal_displacement", "displaced along [110]", {
        "    write_vasp(": (
            "    here = cell.positions\n    atom = int(np.argmax(np.abs(here - phonon.supercell.positions).sum(axis=1)))\n"
            "    here[atom] = phonon.supercell.positions[atom] + displacement * np.array([1, 1, 0]) / np.sqrt(2)\n"
            "    cell.positions = here\n    write_vasp("
        ),
    }),
    Miss("frozen_density", "the density of the unit cell is read and kept", {"ISPIN  = 1\n": "ISPIN  = 1\nICHARG = 11\n"}),
    Miss("too_few_steps", "the loop is cut off at its usual number of steps of old days", {"ISPIN  = 1\n": "ISPIN  = 1\nNELM   = 10\n"}),
    Miss("dispersion", "a correction for van der Waals forces out of habit", {"ISPIN  = 1\n": "ISPIN  = 1\nIVDW   = 12\n"}),
    Miss("other_functional", "PBEsol, which the given cells were not relaxed with", {"ISPIN  = 1\n": "ISPIN  = 1\nGGA    = PS\n"}),
    Miss("plain_germanium", "the Ge data set without its d electrons, not the one of the unit cell", {
        "settings[\"potcar\"][element][\"name\"]": "element",
    }),
)  # fmt: skip

ALTERNATIVES = (
    Miss(
        "other_spellings",
        "the same values by aliases, semicolons, a Fortran exponent, another order, and defaults left out",
        {
            """PREC   = Accurate
ENCUT  = {cutoff}
EDIFF  = 1E-8
ISMEAR = 0
SIGMA  = 0.05
LREAL  = .FALSE.
ADDGRID = .TRUE.
IBRION = -1
NSW    = 0
ISPIN  = 1
""": """PREC = A; ENCUT = {cutoff}.0  ! eV
EDIFF = 1d-8
ADDGRID = T ; GGA = PE
SIGMA = 0.02; ISMEAR = 0
""",
        },
    ),
    Miss(
        "other_atom_and_axis",
        "an atom of the other sublattice moved against the third axis; Monkhorst-Pack mesh of five points",
        {
            "    write_vasp(": (
                "    here = phonon.supercell.positions\n    here[-1] -= displacement * np.array([0, 0, 1])\n"
                "    cell = phonon.supercell\n    cell.positions = here\n    write_vasp("
            ),
            "Gamma\\n": "Monkhorst-Pack\\n",
            "[math.ceil(n / repeats) for n in settings[\"kmesh\"]]": "[5, 5, 5]",
        },
    ),
    Miss("spacing_in_incar", "no KPOINTS file but KSPACING", {
        "ISPIN  = 1\n": "ISPIN  = 1\nKSPACING = 0.136\n",
        "    (folder / \"KPOINTS\").write_text(kpoints)\n": "",
    }),
)  # fmt: skip
