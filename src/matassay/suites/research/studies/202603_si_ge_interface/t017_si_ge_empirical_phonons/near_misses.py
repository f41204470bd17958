"""Attempts at the empirical phonons: mistakes that must fail, and other right ways."""

from matassay.suites.research import Miss

_FINITE_DIFFERENCE = """def at(phonon, cubic):
    q = np.array(cubic, dtype=float)

    def frequencies(point):
        phonon.run_qpoints([primitive @ point])
        return phonon.qpoints.frequencies[0]

    a = phonon.unitcell.cell[0, 0]
    unit, h = q / (np.linalg.norm(q) or 1.0), 1e-4
    slope = (frequencies(q + h * unit) - frequencies(q - h * unit)) / (2 * h) * a * 100
    return frequencies(q), slope[:, None] * unit
"""

MISSES = (
    Miss(
        "angular_frequency",
        "angular frequencies in rad/ps instead of ordinary frequencies",
        {"    return result.frequencies[0], result": "    return 2 * np.pi * result.frequencies[0], result"},
    ),
    Miss(
        "one_mass_for_both",
        "both crystals with the mass of silicon: dynamical matrix not weighted by the element's own mass",
        {"masses=[masses[element]] * 8": 'masses=[masses["Si"]] * 8'},
    ),
    Miss(
        "natural_masses",
        "phonopy's default masses instead of the isotopes given",
        {", masses=[masses[element]] * 8": ""},
    ),
    Miss(
        "experimental_constants",
        "lattice constants of experiment, at which the potential is not at the pressure",
        {
            'constants = {"Si": lattice_constant("Si", 5.43), "Ge": lattice_constant("Ge", 5.66)}': (
                'constants = {"Si": 5.4310, "Ge": 5.6579}'
            )
        },
    ),
    Miss(
        "cubic_indices_as_primitive",
        "indices along the cubic axes used as coordinates in the primitive reciprocal basis",
        {"[primitive @ np.array(cubic, dtype=float)]": "[np.array(cubic, dtype=float)]"},
    ),
    Miss(
        "velocity_per_cycle",
        "group velocity from the ordinary frequency: 2 pi too small",
        {"result.group_velocities[0] * 100": "result.group_velocities[0] * 100 / (2 * np.pi)"},
    ),
    Miss(
        "fast_transverse",
        "the faster of the two transverse branches along [110]",
        {"velocity_xy[0] @ diagonal": "velocity_xy[1] @ diagonal"},
    ),
    Miss(
        "velocity_of_transverse_for_longitudinal",
        "the second branch in order taken for the longitudinal one",
        {"velocity_x[2, 0]": "velocity_x[1, 0]"},
    ),
    Miss(
        "unweighted_mesh",
        "irreducible points of the mesh averaged without their weights",
        {"np.repeat(mesh.weights[:, None], 6, axis=1)": "np.ones((len(mesh.weights), 6))"},
    ),
    Miss(
        "single_cell",
        "force constants folded back into one cubic cell: no supercell",
        {"np.eye(3, dtype=int) * 3, primitive_matrix": "np.eye(3, dtype=int), primitive_matrix"},
    ),
    Miss(
        "older_silicon",
        "Tersoff's first silicon potential, the entry Si(B)",
        {'"Si": "Si(D)"': '"Si": "Si(B)"'},
    ),
)

ALTERNATIVES = (
    Miss(
        "two_by_two_supercell",
        "a supercell of 64 atoms, which the forces of this potential do not outreach either",
        {"np.eye(3, dtype=int) * 3, primitive_matrix": "np.eye(3, dtype=int) * 2, primitive_matrix"},
    ),
    Miss(
        "finite_difference_velocities",
        "velocities as central differences of frequencies, and no sum rule imposed",
        {
            '''def at(phonon, cubic):
    """Frequencies (THz, rising) and group velocities (m/s) at q, given in units of 2 pi / a along the cubic axes."""
    phonon.run_qpoints([primitive @ np.array(cubic, dtype=float)], with_group_velocities=True)
    result = phonon.qpoints
    return result.frequencies[0], result.group_velocities[0] * 100
''': _FINITE_DIFFERENCE,
            "    phonon.symmetrize_force_constants()\n": "",
            "[21, 21, 21]": "[16, 16, 16]",
        },
    ),
)
