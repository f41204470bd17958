"""Attempts at the specularity of a reflection: mistakes that must fail, and other right ways."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "one_by_one",
        "degenerate channels paired one by one in the order in which a solver gives them, without the sum over the group",
        {
            "(np.abs(specular) ** 2).sum()": "(np.abs(np.diag(specular)) ** 2).sum()",
            "np.tile(waves_out[:, partner], (n_cells, 1))": "np.tile(waves_out[:, partner][:, ::-1], (n_cells, 1))",
        },
    ),
    Miss(
        "share_of_incident_flux",
        "specular probability relative to what comes in, not to what is reflected",
        {"/ (np.abs(reflected) ** 2).sum()": "/ reflected.shape[1]"},
    ),
    Miss(
        "any_branch",
        "every outgoing channel of the same transverse wave vector counted as specular",
        {".min(axis=1) < 1e-3": ".min(axis=1) < 1e3"},
    ),
    Miss(
        "amplitudes",
        "moduli of amplitudes added instead of probabilities",
        {
            "float((np.abs(specular) ** 2).sum() / (np.abs(reflected) ** 2).sum())": (
                "float(np.abs(specular).sum() / np.abs(reflected).sum())"
            )
        },
    ),
    Miss(
        "displacements",
        "channels normalised to unit displacement instead of unit flux",
        {
            "incoming = orthonormal(flux.conj().T @ np.tile(waves_in[:, group], (n_cells, 1)))": (
                "incoming = flux.conj().T @ np.tile(waves_in[:, group], (n_cells, 1))"
            ),
            "mirrored = orthonormal(flux.conj().T @ np.tile(waves_out[:, partner], (n_cells, 1)))": (
                "mirrored = flux.conj().T @ np.tile(waves_out[:, partner], (n_cells, 1))"
            ),
        },
    ),
    Miss(
        "no_direct_term",
        "the Green's function alone, without the -1 of the direct wave",
        {" - np.eye(flux.shape[1])": ""},
    ),
    Miss(
        "ordinary_frequency",
        "the equation of motion solved at nu instead of 2 pi nu",
        {"squared = (2 * np.pi * frequency) ** 2 * (1": "squared = frequency**2 * (1"},
    ),
    Miss(
        "masses_of_silicon",
        "germanium in the central slices weighted with the mass of silicon: bond disorder only",
        {
            'masses = [leads["left"]["masses"], *center["masses"], leads["right"]["masses"]]': (
                'center["masses"] = np.full_like(center["masses"], 28.0855)\n'
                'masses = [leads["left"]["masses"], *center["masses"], leads["right"]["masses"]]'
            )
        },
    ),
    Miss(
        "labels_exchanged",
        "transverse and longitudinal channels exchanged",
        {'(("p_TA", ~longitudinal), ("p_LA", longitudinal))': '(("p_LA", ~longitudinal), ("p_TA", longitudinal))'},
    ),
)

ALTERNATIVES = (
    Miss(
        "projectors",
        "projectors on the spans of the groups instead of orthonormal bases",
        {"specular = mirrored.conj().T @ reflected": ("specular = mirrored @ np.linalg.pinv(mirrored) @ reflected")},
    ),
    Miss(
        "less_sharp",
        "an imaginary part of 1e-7 of the squared frequency",
        {"BROADENING = 1e-12": "BROADENING = 1e-7", "values > 1e-6 *": "values > 1e-4 *"},
    ),
)
