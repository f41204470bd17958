"""Draw simulated powder patterns against independently computed line positions and intensities.

Run from the repository with the ``validate`` extra and matplotlib installed::

    python src/matassay/suites/instruments/xrd/docs/make_figures.py

Writes ``patterns.png`` (patterns over sticks of pymatgen and xrayutilities) and ``details.png`` (K-alpha
doublet, filter, axial asymmetry, fluorescence) next to this file.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from matassay.suites.instruments.xrd import make_lines
from matassay.suites.instruments.xrd.physics import (
    WAVELENGTHS,
    Alignment,
    Optics,
    Tube,
    bragg_angle,
    count_rate,
    measure,
)
from matassay.suites.instruments.xrd.specimens import SPECIMENS

HERE = Path(__file__).parent
TUBE = Tube(45.0, 40.0)
OPTICS = Optics()
IDEAL = Alignment()
SHOWN = (
    ("silicon", "Fd-3m"),
    ("quartz", "P3_221"),
    ("zincite", "P6_3mc"),
)
# Okabe & Ito's colours keep apart for colour-blind readers.
MEASURED, PYMATGEN, XRAYUTILITIES, OTHER = "black", "#D55E00", "#0072B2", "#009E73"


def pymatgen_sticks(phase: str, symbol: str) -> np.ndarray:
    """(two-theta, intensity) of pymatgen for K-alpha1 with our Debye-Waller parameters."""
    from pymatgen.analysis.diffraction.xrd import XRDCalculator
    from pymatgen.core import Lattice, Structure

    source = make_lines.STRUCTURES[phase]
    structure = Structure.from_spacegroup(
        symbol,
        Lattice.from_parameters(*source.cell),
        [site.element for site in source.sites],
        [site.position for site in source.sites],
    )
    calculator = XRDCalculator(
        wavelength=WAVELENGTHS["k_alpha_1"],
        debye_waller_factors={site.element: site.b_iso for site in source.sites},
    )
    pattern = calculator.get_pattern(structure, two_theta_range=(10, 100))
    return np.column_stack([pattern.x, pattern.y])


def xrayutilities_sticks(phase: str) -> np.ndarray:
    """(two-theta, intensity) of xrayutilities for K-alpha1."""
    import xrayutilities as xu

    source = make_lines.STRUCTURES[phase]
    atoms = [(site, position) for site, positions in make_lines.expand(source) for position in positions]
    lattice = xu.materials.SGLattice(
        1,
        *source.cell,
        atoms=[site.element for site, _ in atoms],
        pos=[("1a", tuple(position)) for _, position in atoms],
        b=[site.b_iso for site, _ in atoms],
    )
    powder = xu.simpack.Powder(xu.materials.Crystal(phase, lattice), 1)
    result = xu.simpack.PowderDiffraction(powder, wl=WAVELENGTHS["k_alpha_1"], tt_cutoff=100, enable_simulation=False)
    # Families that coincide (rhombohedral 101 and 011 of quartz) are one line, as in pymatgen's list.
    lines: dict[float, float] = {}
    for row in result.data.values():
        if row["active"]:
            angle = round(2 * row["ang"], 3)
            lines[angle] = lines.get(angle, 0.0) + row["r"]
    table = np.array(sorted(lines.items()))
    table[:, 1] *= 100 / table[:, 1].max()
    return table


def draw_patterns() -> None:
    """Measured counts over two independent stick patterns."""
    two_theta = np.arange(15.0, 90.0, 0.02)
    figure, axes = plt.subplots(2 * len(SHOWN), 1, figsize=(10, 11), height_ratios=[3, 1.15] * len(SHOWN), sharex=True)
    for row, (phase, symbol) in enumerate(SHOWN):
        top, below = axes[2 * row], axes[2 * row + 1]
        specimen = SPECIMENS[phase]
        rng = np.random.default_rng(20 + row)
        counts = measure(two_theta, 1.0, specimen, OPTICS, IDEAL, TUBE, rng)
        top.plot(two_theta, np.sqrt(counts), color=MEASURED, lw=0.7)
        ticks = np.array([0, 100, 1000, 4000, 10000])
        ticks = ticks[ticks <= counts.max() * 1.05]
        top.set_yticks(np.sqrt(ticks), [f"{tick:d}" for tick in ticks])
        top.set_ylim(0, np.sqrt(counts.max()) * 1.08)
        top.set_ylabel("counts in 1 s\n(square-root scale)")
        top.text(0.985, 0.9, specimen.name, transform=top.transAxes, ha="right", va="top", weight="bold")
        for table, offset, colour, label in (
            (pymatgen_sticks(phase, symbol), -0.18, PYMATGEN, "pymatgen"),
            (xrayutilities_sticks(phase), 0.18, XRAYUTILITIES, "xrayutilities"),
        ):
            table = table[table[:, 1] > 0.3]
            # Drawn 0.18 degrees to the left and right of their common angle, to be seen side by side.
            below.vlines(table[:, 0] + offset, 0, np.sqrt(table[:, 1]), color=colour, lw=1.6, label=label)
        below.set_ylim(0, 11.5)
        below.set_yticks([0, np.sqrt(10), 10], ["0", "10", "100"])
        below.set_ylabel("% (sq. root)")
        if row == 0:
            below.legend(ncols=2, frameon=False, loc="upper right", fontsize=9)
    axes[-1].set_xlim(15, 90)
    axes[-1].set_xlabel(r"2$\theta$ (deg), sticks for Cu K$\alpha_1$")
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle("Simulated diffractometer (45 kV, 40 mA, 0.5 deg, 0.2 mm, Ni filter) and independent line lists")
    figure.align_ylabels(axes)
    figure.tight_layout(h_pad=0.35)
    figure.savefig(HERE / "patterns.png", dpi=110)
    plt.close(figure)


def _doublet(axis: plt.Axes) -> None:
    d = 5.431144 / np.sqrt(43)
    x = np.arange(135.9, 138.8, 0.004)
    axis.plot(x, count_rate(x, SPECIMENS["silicon"], OPTICS, IDEAL, TUBE), color=MEASURED)
    for name, wavelength, colour in (
        (r"K$\alpha_1$ 1.540593 Å", 1.540593, PYMATGEN),
        (r"K$\alpha_2$ 1.544427 Å", 1.544427, XRAYUTILITIES),
    ):
        axis.axvline(float(bragg_angle(d, wavelength)), color=colour, ls="--", lw=1, label=name)
    axis.legend(frameon=False, fontsize=8)
    axis.set_title("Doublet of silicon 533 (angles from published wavelengths)")


def _filter(axis: plt.Axes) -> None:
    x = np.arange(24.5, 29.5, 0.005)
    for present, colour, label in ((False, OTHER, "no filter"), (True, MEASURED, "20 µm Ni")):
        optics = Optics(nickel_filter=present)
        axis.semilogy(x, count_rate(x, SPECIMENS["silicon"], optics, IDEAL, TUBE), color=colour, label=label)
    d = 5.431144 / np.sqrt(3)
    for name, key in ((r"K$\beta$", "k_beta"), (r"W L$\alpha$", "w_l_alpha"), (r"K$\alpha$", "k_alpha_1")):
        angle = float(bragg_angle(d, WAVELENGTHS[key]))
        axis.text(angle, 2.6e4, name, ha="center", fontsize=9)
        axis.axvline(angle, color="0.8", lw=0.8, zorder=0)
    axis.set_ylim(3, 6e4)
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0.24, 0.86))
    axis.set_title("Silicon 111: what the nickel filter takes away")


def _asymmetry(axis: plt.Axes) -> None:
    x = np.arange(20.7, 21.8, 0.004)
    for slit, colour in ((0.1, XRAYUTILITIES), (0.2, MEASURED), (0.4, PYMATGEN)):
        y = count_rate(x, SPECIMENS["lanthanum_hexaboride"], Optics(receiving_slit=slit), IDEAL, TUBE)
        axis.plot(x, y / y.max(), color=colour, label=f"{slit:g} mm receiving slit")
    axis.axvline(float(bragg_angle(4.156826, WAVELENGTHS["k_alpha_1"])), color="0.6", ls="--", lw=1)
    axis.legend(frameon=False, fontsize=8)
    axis.set_title(r"LaB$_6$ 100: axial asymmetry, slit width (scaled)")


def _fluorescence(axis: plt.Axes) -> None:
    x = np.arange(10.0, 100.0, 0.02)
    for key, colour in (("alpha_iron", PYMATGEN), ("sand", OTHER), ("silicon", MEASURED)):
        rate = count_rate(x, SPECIMENS[key], OPTICS, IDEAL, TUBE)
        axis.semilogy(x, rate, color=colour, lw=0.9, label=SPECIMENS[key].name)
    axis.set_ylim(3, 3e4)
    axis.legend(frameon=False, fontsize=8)
    axis.set_title("Backgrounds: iron fluoresces, glass has its halo")


def draw_details() -> None:
    """Four features that an operator meets."""
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5))
    for axis, draw in zip(axes.flat, (_doublet, _filter, _asymmetry, _fluorescence), strict=True):
        draw(axis)
        axis.set_xlim(*axis.get_lines()[0].get_xdata()[[0, -1]])
        axis.set_xlabel(r"2$\theta$ (deg)")
        axis.set_ylabel("counts/s" if draw is not _asymmetry else "scaled rate")
        axis.title.set_fontsize(10)
        axis.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(HERE / "details.png", dpi=110)
    plt.close(figure)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    draw_patterns()
    draw_details()
