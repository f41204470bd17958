"""Attempts at the tables of a phonon Monte Carlo code: mistakes that must fail, and another right way."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "upper_edges",
        "bins represented by their upper edges instead of their centres",
        {"centres = (edges[1:] + edges[:-1]) / 2": "centres = edges[1:]"},
    ),
    Miss(
        "ordinary_frequency_in_rate",
        "the scattering rate at the ordinary instead of the angular frequency",
        {"omega = 2 * np.pi * frequency * 1e12": "omega = frequency * 1e12"},
    ),
    Miss(
        "weights_forgotten",
        "irreducible points with equal weights",
        {'weight = file["weight"][:].astype(float)': 'weight = np.ones(len(file["weight"]))'},
    ),
    Miss(
        "conventional_cell",
        "modes of the primitive cell spread over the volume of the cubic cell",
        {'file.attrs["primitive_cell_volume"] * 1e-30': 'file.attrs["primitive_cell_volume"] * 4e-30'},
    ),
    Miss(
        "normal_component",
        "the component of the velocity along the normal instead of the speed",
        {
            "np.sqrt((velocity[point, branch] ** 2).sum())": "np.abs(velocity[point, branch]).mean()",
        },
    ),
    Miss(
        "root_mean_square",
        "root mean square of the group velocity instead of the mean speed",
        {
            "np.sqrt((velocity[point, branch] ** 2).sum()) * 100": ("(velocity[point, branch] ** 2).sum() * 1e4"),
            "speed = np.where(filled, path / np.where(filled, modes, 1), 0)": (
                "speed = np.where(filled, np.sqrt(path / np.where(filled, modes, 1)), 0)"
            ),
        },
    ),
    Miss(
        "scattering_like_energy",
        "bins after scattering drawn like bins in equilibrium, so that scattering would not keep equilibrium",
        {"cumulative(heat / np.where(filled, tau, 1))": "cumulative(heat)"},
    ),
    Miss(
        "flux_like_energy",
        "emission drawn without the group velocity",
        {"cumulative(heat * speed)": "cumulative(heat)"},
    ),
    Miss(
        "occupation",
        "energy of the occupied modes instead of their heat capacity in the cumulative tables",
        {
            '"cumulative_energy": cumulative(heat)': (
                '"cumulative_energy": cumulative(modes * centres / (np.exp(x) - 1))'
            )
        },
    ),
    Miss(
        "exclusive_sums",
        "cumulative tables that start with 0 and miss the last bin",
        {
            "return (np.cumsum(shares) / np.sum(shares)).tolist()": (
                "return ((np.cumsum(shares) - shares) / np.sum(shares)).tolist()"
            )
        },
    ),
    Miss(
        "lifetime_in_empty_bins",
        "lifetimes for bins that have no modes",
        {"tau = np.where(filled, lifetime(centres, model[element]), 0)": "tau = lifetime(centres, model[element])"},
    ),
    Miss(
        "own_frequencies",
        "heat capacities of the modes at their own frequencies instead of the centre of their bin",
        {
            "    heat = modes * BOLTZMANN * x**2 * np.exp(x) / (np.exp(x) - 1) ** 2\n": (
                "    x = PLANCK * np.where(frequency > 0, frequency, 1) * 1e12 / (BOLTZMANN * temperature)\n"
                "    each = (frequency > 0) * BOLTZMANN * x**2 * np.exp(x) / (np.exp(x) - 1) ** 2\n"
                "    each *= (weight / weight.sum() / volume)[:, None]\n"
                "    heat = np.histogram(frequency.ravel(), edges, weights=each.ravel())[0]\n"
            )
        },
    ),
)

ALTERNATIVES = (
    Miss(
        "histograms",
        "weighted histograms instead of loops",
        {
            "    filled = modes > 0\n": (
                "    share = np.repeat(weight / weight.sum() / volume, frequency.shape[1]) * (frequency.ravel() > 0)\n"
                "    norm = 100 * np.linalg.norm(velocity, axis=2).ravel()\n"
                "    modes = np.histogram(frequency.ravel(), edges, weights=share)[0]\n"
                "    path = np.histogram(frequency.ravel(), edges, weights=share * norm)[0]\n"
                "    filled = modes > 0\n"
            )
        },
    ),
)
