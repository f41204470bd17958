"""Attempts at the diffuse mismatch model: mistakes that must fail, and other right ways."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "wrong_detailed_balance",
        "transmission in proportion to what the side of incidence emits",
        {"return from_ge / (from_si + from_ge)": "return from_si / (from_si + from_ge)"},
    ),
    Miss(
        "listed_velocities_only",
        "the normal component of the listed velocity instead of its mean over the star",
        {"    return 100.0 * total / len(operations)": "    return 100.0 * np.maximum(velocity[..., 0], 0.0)"},
    ),
    Miss(
        "speeds",
        "the modulus of the velocity instead of its normal component",
        {"    return 100.0 * total / len(operations)": ("    return 100.0 * np.sqrt((velocity**2).sum(axis=-1))")},
    ),
    Miss(
        "both_directions",
        "modes counted in both directions",
        {"    return 100.0 * total / len(operations)": "    return 200.0 * total / len(operations)"},
    ),
    Miss(
        "density_of_states_only",
        "transmission from densities of states, without group velocities",
        {
            "    return from_ge / (from_si + from_ge)": (
                "    return density(germanium, grid) / (density(silicon, grid) + density(germanium, grid))\n\n\n"
                "def density(path, grid):\n"
                '    with h5py.File(path, "r") as file:\n'
                '        weight, frequency = file["weight"][:], file["frequency"][:]\n'
                '        volume = float(file.attrs["primitive_cell_volume"])\n'
                "    gaussian = np.exp(-0.5 * ((grid[:, None, None] - frequency) / WIDTH) ** 2)\n"
                "    return (gaussian * weight[:, None]).sum(axis=(1, 2)) / weight.sum() / volume"
            )
        },
    ),
    Miss(
        "equal_cells",
        "modes counted per primitive cell on both sides, which differ in volume",
        {'volume = float(file.attrs["primitive_cell_volume"]) * 1e-30': "volume = 40.0e-30"},
    ),
    Miss(
        "weights_forgotten",
        "irreducible points with equal weights",
        {'weight = file["weight"][:]': 'weight = np.ones(len(file["weight"]))'},
    ),
    Miss(
        "angular_frequency_as_energy",
        "h omega for the energy of a phonon, 2 pi too much",
        {"x = PLANCK * GRID * 1e12": "x = PLANCK * 2 * np.pi * GRID * 1e12"},
    ),
    Miss(
        "velocity_unit",
        "velocities in THz angstrom taken for m/s",
        {"    return 100.0 * total / len(operations)": "    return total / len(operations)"},
    ),
    Miss(
        "fully_transmitting",
        "the radiation limit: all that can propagate in germanium passes",
        {"return from_ge / (from_si + from_ge)": "return np.minimum(from_ge / from_si, 1.0)"},
    ),
    Miss(
        "isotropic",
        "a quarter of the speed, as if velocities had no preferred directions",
        {"    return 100.0 * total / len(operations)": "    return 25.0 * np.sqrt((velocity**2).sum(axis=-1))"},
    ),
)

ALTERNATIVES = (
    Miss(
        "from_germanium",
        "conductance for incidence from germanium",
        {
            "np.trapezoid(across(GRID) * emission(silicon, GRID) * heat, GRID)": (
                "np.trapezoid((1 - across(GRID)) * emission(germanium, GRID) * heat, GRID)"
            )
        },
    ),
    Miss(
        "mean_of_components",
        "the mean over the star as the mean of the three components' moduli; the integral as a plain sum",
        {
            "    return 100.0 * total / len(operations)": ("    return 100.0 * np.abs(velocity).mean(axis=-1) / 2"),
            "np.trapezoid(across(GRID) * emission(silicon, GRID) * heat, GRID)": (
                "0.05 * np.sum(across(GRID) * emission(silicon, GRID) * heat)"
            ),
        },
    ),
)
