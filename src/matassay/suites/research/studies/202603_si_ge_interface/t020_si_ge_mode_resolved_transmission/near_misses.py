"""Attempts at the transmission through a Si/Ge interface: mistakes that must fail, and another right way."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "ordinary_frequency",
        "the equation of motion solved at nu instead of 2 pi nu",
        {"squared = (2 * np.pi * frequency) ** 2 * (1": "squared = frequency**2 * (1"},
    ),
    Miss(
        "masses_of_silicon",
        "the Ge lead weighted with the masses of silicon",
        {
            'weighted(lead[name], lead["masses"], lead["masses"])': (
                'weighted(lead[name], leads["left"]["masses"], leads["left"]["masses"])'
            )
        },
    ),
    Miss(
        "mean_mass_across",
        "couplings divided by the mean of both masses instead of the root of their product",
        {
            "np.sqrt(np.outer(np.repeat(rows, 3), np.repeat(columns, 3)))": (
                "(np.add.outer(np.repeat(rows, 3), np.repeat(columns, 3)) / 2)"
            )
        },
    ),
    Miss(
        "coupling_reversed",
        "the direction of the coupling to the Ge lead taken the wrong way round",
        {
            'bonds[-1] @ surface(right["onsite"], right["coupling"], squared) @ bonds[-1].T': (
                'bonds[-1].T @ surface(right["onsite"], right["coupling"].T, squared) @ bonds[-1]'
            )
        },
    ),
    Miss(
        "sample_deviation",
        "the sample standard deviation instead of the population's",
        {"np.std(eigenvalues)": "np.std(eigenvalues, ddof=1)"},
    ),
    Miss(
        "zeros_left_out",
        "only as many transmission eigenvalues as the narrower lead has channels",
        {"np.std(eigenvalues)": "np.std(eigenvalues[-max(min(n_si, n_ge), 1) :])"},
    ),
    Miss(
        "deviation_of_channels",
        "the deviation of the channels' probabilities, which depends on the basis of degenerate channels",
        {"np.std(eigenvalues)": "np.std((np.abs(t) ** 2).sum(axis=1))"},
    ),
    Miss(
        "mean_over_germanium",
        "the mean taken over the Ge channels",
        {"total / n_si": "total / max(n_ge, 1)"},
    ),
    Miss(
        "both_directions_counted",
        "channels counted in both directions",
        {'"n_Si": n_si,': '"n_Si": 2 * n_si,', '"n_Ge": n_ge,': '"n_Ge": 2 * n_ge,'},
    ),
    Miss(
        "evanescent_channels_counted",
        "a large imaginary part and no clear bar between propagating and evanescent channels",
        {
            "BROADENING = 1e-12": "BROADENING = 1e-6",
            "values > 1e-6 * np.abs(self_energy).max()": "values > 1e-9 * np.abs(self_energy).max()",
            "np.abs(total - 1).max() > 1e-6:": "np.abs(total - 1).max() > 1:",
        },
    ),
    Miss(
        "too_broad",
        "an imaginary part of 1e-3 of the squared frequency: flux is lost in the central slices",
        {
            "BROADENING = 1e-12": "BROADENING = 1e-3",
            "values > 1e-6 * np.abs(self_energy).max()": "values > 5e-3 * np.abs(self_energy).max()",
            "np.abs(total - 1).max() > 1e-6:": "np.abs(total - 1).max() > 1:",
        },
    ),
    Miss(
        "normal_incidence_only",
        "only channels that move all surface cells alike, as if the lateral cell were one surface cell",
        {
            "size = len(slices[0])\n": "size = len(slices[0])\n    mean = np.kron(np.ones((9, 9)) / 9, np.eye(size // 9))\n",
            "from_left, to_right = channels(into_left), channels(into_right)": (
                "from_left, to_right = channels(mean @ into_left @ mean), channels(mean @ into_right @ mean)"
            ),
            "np.abs(total - 1).max() > 1e-6:": "np.abs(total - 1).max() > 1:",
            "return count(left, squared), count(right, squared), transmission": (
                "return from_left.shape[1], to_right.shape[1], transmission"
            ),
        },
    ),
)

ALTERNATIVES = (
    Miss(
        "caroli_and_bloch_factors",
        "Caroli's product of broadenings and Green's functions; channels counted by Bloch factors of modulus one",
        {
            "def count(lead, squared):": (
                "def root(self_energy):\n"
                "    values, vectors = np.linalg.eigh(1j * (self_energy - self_energy.conj().T))\n"
                "    return (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.conj().T\n\n\n"
                "def count(lead, squared):"
            ),
            "return channels(towards_right).shape[1]": (
                'step = surface(lead["onsite"], lead["coupling"], squared) @ lead["coupling"].T\n'
                "    return int((np.abs(np.linalg.eigvals(step)) > 1 - 1e-4).sum())"
            ),
            "transmission = (to_right.conj().T @ across @ from_left).T": (
                "transmission = (root(into_right) @ across @ root(into_left)).T"
            ),
            "total = (np.abs(transmission) ** 2).sum(axis=1) + (np.abs(reflection) ** 2).sum(axis=0)": (
                "total = (np.abs(transmission) ** 2).sum() + (np.abs(reflection) ** 2).sum() - len(reflection) + 1"
            ),
            "eigenvalues = np.linalg.eigvalsh(t @ t.conj().T)": (
                "eigenvalues = np.linalg.eigvalsh(t @ t.conj().T)[-n_si:]"
            ),
        },
    ),
    Miss(
        "less_sharp",
        "an imaginary part of 1e-10 of the squared frequency, which meets the condition on the flux for every seed tried",
        {"BROADENING = 1e-12": "BROADENING = 1e-10"},
    ),
)
