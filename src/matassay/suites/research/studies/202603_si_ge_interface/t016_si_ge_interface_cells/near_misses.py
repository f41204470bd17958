"""Attempts at the interface cell: mistakes that must fail, and other right ways."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "mean_of_constants",
        "the in-plane constant is the mean of the two lattice constants; neither stiffness nor thickness counts",
        {"a_parallel = np.sum(modulus * thickness / a) / np.sum(modulus * thickness / a**2)": "a_parallel = a.mean()"},
    ),
    Miss(
        "thickness_only",
        "films weighted by their thickness, as if equally stiff",
        {"modulus = c11 + c12 - 2 * c12**2 / c11": "modulus = np.ones(2)"},
    ),
    Miss(
        "silicon_substrate",
        "Ge grown on a Si substrate: the in-plane constant of Si",
        {"a_parallel = np.sum(modulus * thickness / a) / np.sum(modulus * thickness / a**2)": "a_parallel = a[0]"},
    ),
    Miss(
        "textbook_balance",
        "van de Walle's form, which weights the constants themselves: the energy of the strained area, not the one asked for",
        {
            "a_parallel = np.sum(modulus * thickness / a) / np.sum(modulus * thickness / a**2)": (
                "a_parallel = np.sum(modulus * thickness * a) / np.sum(modulus * thickness)"
            )
        },
    ),
    Miss(
        "uniaxial_poisson",
        "normal strain with one in-plane direction only: -C12/C11 instead of -2 C12/C11",
        {"normal = -2 * c12 / c11 * strain": "normal = -c12 / c11 * strain"},
    ),
    Miss(
        "unrelaxed_normal",
        "planes at the spacing of the free crystals",
        {"normal = -2 * c12 / c11 * strain": "normal = 0 * strain"},
    ),
    Miss(
        "cubic_edges",
        "lateral edges as long as the cubic constant, of a cell that is counted as 1x1",
        {"edge = a_parallel / np.sqrt(2)": "edge = a_parallel"},
    ),
    Miss(
        "wrong_stacking",
        "every second plane on the same site: a body-centred stack, not diamond",
        {"shifts = [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]": "shifts = [(0.0, 0.0), (0.5, 0.5)] * 2"},
    ),
    Miss(
        "germanium_first",
        "the films in the other order",
        {"kinds = [0] * planes[0] + [1] * planes[1]": "kinds = [1] * planes[1] + [0] * planes[0]"},
    ),
    Miss(
        "energy_per_volume_halved",
        "elastic energy with a factor one half too much",
        {"energy = np.sum(thickness": "energy = 0.5 * np.sum(thickness"},
    ),
)

ALTERNATIVES = (
    Miss(
        "other_stacking_origin",
        "the mirrored order of the two lateral shifts and another lateral origin",
        {
            "shifts = [(0.0, 0.0), (0.5, 0.0), (0.5, 0.5), (0.0, 0.5)]": "shifts = [(0.25, 0.1), (0.25, 0.6), (0.75, 0.6), (0.75, 0.1)]"
        },
    ),
)
