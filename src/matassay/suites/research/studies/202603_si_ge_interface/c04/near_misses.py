"""Attempts at the workflow: mistakes in each of its stages that must fail, and other right ways."""

from matassay.suites.research import Miss

_RELAXATION = """fix stretch all box/relax x 0.0 vmax 0.001
minimize 0.0 1.0e-9 20000 200000
unfix stretch
fix stretch all box/relax x 0.0 vmax 0.0001
minimize 0.0 1.0e-9 20000 200000
unfix stretch
min_style fire
minimize 0.0 1.0e-9 20000 200000
"""

MISSES = (
    Miss("not_relaxed", "force constants of the atoms as they came", {_RELAXATION: "run 0\n"}),
    Miss(
        "fixed_length",
        "atoms relaxed, but the cells keep the length of the unstrained crystals",
        {_RELAXATION: "min_style fire\nminimize 0.0 1.0e-9 20000 200000\n"},
    ),
    Miss("elements_exchanged", "the potential's entries in the wrong order", {"Si(D) Ge": "Ge Si(D)"}),
    Miss(
        "leads_meet_abruptly",
        "no central region: the leads joined by the junction's coupling, the mixed layers' own blocks left out",
        {
            "slices = [leads": (
                "blocks = [leads['Si']['onsite']] * 3 + [leads['Ge']['onsite']] * 3\n"
                "junction = junction.copy()\n"
                "for n, block in enumerate(blocks):\n"
                "    junction[FIRST + n, :, FIRST + n] = block\n"
                "slices = [leads"
            ),
        },
    ),
    Miss(
        "ordinary_frequency",
        "the equation of motion solved at nu instead of 2 pi nu",
        {
            '"""Flux channels of the Si lead, reflection and transmission between the flux channels."""\n'
            "    squared = (2 * np.pi * frequency) ** 2": (
                '"""Flux channels of the Si lead, reflection and transmission between the flux channels."""\n'
                "    squared = frequency**2"
            ),
            'and all."""\n    squared = (2 * np.pi * frequency) ** 2': 'and all."""\n    squared = frequency**2',
        },
    ),
    Miss(
        "one_by_one",
        "degenerate channels paired one by one in the order in which a solver gives them, without the sum over the group",
        {
            "np.linalg.qr(flux.conj().T @ waves_out[:, partner])[0]": (
                "np.linalg.qr(flux.conj().T @ waves_out[:, partner][:, ::-1])[0]"
            ),
            "[(np.abs(mirrored.conj().T @ reflected) ** 2).sum(), (np.abs(reflected) ** 2).sum()]": (
                "[(np.abs(np.diag(mirrored.conj().T @ reflected)) ** 2).sum(), (np.abs(reflected) ** 2).sum()]"
            ),
        },
    ),
    Miss(
        "share_of_incident_flux",
        "specular probability relative to what comes in, not to what is reflected",
        {"(np.abs(reflected) ** 2).sum()]": "len(group)]"},
    ),
    Miss(
        "any_branch",
        "every outgoing channel of the same transverse wave vector counted as specular",
        {"partner = np.abs(factors_out - factors_in[group[0]]) < 1e-3": "partner = np.abs(factors_out) > 0"},
    ),
)

ALTERNATIVES = (
    Miss("larger_displacement", "central differences with 0.01 A", {"regular 0.001": "regular 0.01"}),
    Miss(
        "longer_junction", "four layers on either side of the interface", {"FIRST, LAST = 2, 8": "FIRST, LAST = 1, 9"}
    ),
    Miss(
        "elastic_constants_units",
        "the matrix in LAMMPS' other units, 10 J/(mol A^2) per u",
        {
            "regular 0.001": "eskm 0.001",
            "matrix = TO_SQUARED * (matrix + matrix.T) / 2": "matrix = (matrix + matrix.T) / 2",
        },
    ),
)
