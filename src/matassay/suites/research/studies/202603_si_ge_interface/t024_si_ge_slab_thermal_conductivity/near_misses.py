"""Attempts at the evaluation of Monte Carlo runs: mistakes that must fail, and other right ways."""

from matassay.suites.research import Miss

MISSES = (
    Miss(
        "all_cells",
        "lines fitted to whole layers, with the curved parts at walls and interface",
        {
            "si = (x > 0.2 * lengths[0]) & (x < 0.8 * lengths[0])": "si = x < interface",
            "ge = (x > interface + 0.2 * lengths[1]) & (x < interface + 0.8 * lengths[1])": "ge = x > interface",
        },
    ),
    Miss(
        "narrower_inner_part",
        "a quarter left out at either end instead of a fifth",
        {
            "si = (x > 0.2 * lengths[0]) & (x < 0.8 * lengths[0])": "si = (x > 0.25 * lengths[0]) & (x < 0.75 * lengths[0])",
            "ge = (x > interface + 0.2 * lengths[1]) & (x < interface + 0.8 * lengths[1])": (
                "ge = (x > interface + 0.25 * lengths[1]) & (x < interface + 0.75 * lengths[1])"
            ),
        },
    ),
    Miss(
        "neighbouring_cells",
        "the jump between the two cells at the interface instead of the extrapolated one",
        {
            "jump = np.polyval(line_si, interface) - np.polyval(line_ge, interface)": (
                "jump = temperature[x < interface][-1] - temperature[x > interface][0]"
            )
        },
    ),
    Miss(
        "walls",
        "slopes from the walls' temperatures, which differ from those of the phonons beside them",
        {
            '"k_Si": -heat / (line_si[0] * 1e9)': (
                '"k_Si": heat * interface * 1e-9 / (setup["left_wall_K"] - np.polyval(line_si, interface))'
            )
        },
    ),
    Miss(
        "deviation_of_one_run",
        "the standard deviation of a run instead of the standard error of the mean",
        {"sample.std(ddof=1) / np.sqrt(len(runs))": "sample.std(ddof=1)"},
    ),
    Miss(
        "divided_by_number",
        "the deviation divided by the number of runs instead of its root",
        {"sample.std(ddof=1) / np.sqrt(len(runs))": "sample.std(ddof=1) / len(runs)"},
    ),
    Miss(
        "layers_as_series",
        "the slab's conductivity from the two layers in series, without the interface",
        {
            '"k_slab": heat * sum(lengths) * 1e-9 / difference': (
                '"k_slab": -heat * 1e-9 * sum(lengths) / (lengths[0] * line_si[0] + lengths[1] * line_ge[0])'
            )
        },
    ),
    Miss(
        "conductance",
        "the interface's conductance instead of its resistance",
        {'"R_interface": jump / heat * 1e9': '"R_interface": heat / jump * 1e-9'},
    ),
    Miss(
        "cells_as_sample",
        "errors divided by the root of the number of cells as well, as if cells were independent",
        {"sample.std(ddof=1) / np.sqrt(len(runs))": "sample.std(ddof=1) / np.sqrt(len(runs) * len(runs[0]))"},
    ),
)

ALTERNATIVES = (
    Miss(
        "jackknife",
        "errors by leaving out one run at a time",
        {
            "each = [evaluate(table) for table in runs]": (
                "each = [evaluate(np.mean(runs[:n] + runs[n + 1 :], axis=0)) for n in range(len(runs))]"
            ),
            "sample.std(ddof=1) / np.sqrt(len(runs))": "sample.std(ddof=0) * np.sqrt(len(runs) - 1)",
        },
    ),
    Miss(
        "mean_of_runs",
        "the mean of the runs' own results",
        {
            "values = evaluate(np.mean(runs, axis=0))\neach = [evaluate(table) for table in runs]": (
                "each = [evaluate(table) for table in runs]\n"
                "values = {name: np.mean([result[name] for result in each]) for name in each[0]}"
            )
        },
    ),
)
