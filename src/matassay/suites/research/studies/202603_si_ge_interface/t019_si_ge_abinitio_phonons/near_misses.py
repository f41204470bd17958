"""Attempts at the ab initio phonons: mistakes that must fail, and other right ways."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "angular_frequency",
        "angular frequencies in rad/ps instead of ordinary frequencies",
        {"    return phonon.qpoints.frequencies[0],": "    return 2 * np.pi * phonon.qpoints.frequencies[0],"},
    ),
    Miss(
        "forces_in_hartree",
        "forces taken as hartree per bohr",
        {'["forces_Ry_per_bohr"]) * rydberg / bohr': '["forces_Ry_per_bohr"]) * 2 * rydberg / bohr'},
    ),
    Miss(
        "forces_not_converted",
        "Ry/bohr read as eV/A",
        {'["forces_Ry_per_bohr"]) * rydberg / bohr': '["forces_Ry_per_bohr"])'},
    ),
    Miss(
        "energy_converted_length_not",
        "Ry turned into eV, but per bohr left as per A",
        {'["forces_Ry_per_bohr"]) * rydberg / bohr': '["forces_Ry_per_bohr"]) * rydberg'},
    ),
    Miss(
        "displacement_in_bohr",
        "the displacement left in bohr while everything else is in angstrom",
        {'"displacement": shift[atom]': '"displacement": shift[atom] / bohr'},
    ),
    Miss(
        "masses_swapped",
        "the dynamical matrix of each crystal weighted with the mass of the other",
        {'masses=[data["mass_u"]] * 2': 'masses=[{"Si": 72.63, "Ge": 28.0855}[element]] * 2'},
    ),
    Miss(
        "no_mass_weighting",
        "eigenvalues of the force constants themselves",
        {'masses=[data["mass_u"]] * 2': "masses=[1.0] * 2"},
    ),
    Miss(
        "order_of_atoms",
        "forces taken in the order of the file, which is not that of the supercell that phonopy builds",
        {'"forces": forces[order]': '"forces": forces[::-1][order]'},
    ),
    Miss(
        "cubic_indices_as_primitive",
        "indices along the cubic axes used as coordinates in the primitive reciprocal basis",
        {"[primitive @ np.array(cubic, dtype=float)]": "[np.array(cubic, dtype=float)]"},
    ),
    Miss("transverse_velocity", "the velocity of the transverse branch", {"velocity[2, 0]": "velocity[0, 0]"}),
    Miss(
        "velocity_per_cycle",
        "group velocity from the ordinary frequency: 2 pi too small",
        {"group_velocities[0] * 100": "group_velocities[0] * 100 / (2 * np.pi)"},
    ),
    Miss("unweighted_mesh", "irreducible points averaged without their weights", {", weights=weights)": ")"}),
    Miss(
        "coarse_mesh",
        "four points per axis from Gamma on, for a mean that is to be converged",
        {"[20, 20, 20]": "[4, 4, 4]"},
    ),
    Miss(
        "acoustic_only",
        "mean over the acoustic branches alone",
        {"spectrum.mean(axis=1)": "spectrum[:, :3].mean(axis=1)"},
    ),
)

ALTERNATIVES = (
    Miss(
        "forces_from_the_log",
        "forces read from the text output of pw.x instead of the prepared file",
        {
            """    forces = np.array(data["forces_Ry_per_bohr"]) * rydberg / bohr
""": """    from ase.io import read

    forces = read(f"inputs/{element}_pw.log", format="espresso-out").get_forces()
""",
            "[20, 20, 20]": "[27, 27, 27]",
        },
    ),
    Miss(
        "no_sum_rule",
        "no sum rule imposed: pw.x removes the net force, and the displacement is small",
        {"    phonon.symmetrize_force_constants()\n": ""},
    ),
)
