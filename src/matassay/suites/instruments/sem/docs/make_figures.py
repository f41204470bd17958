"""Draw the figures of this folder: ``python make_figures.py``.

probe.png: the probe against current, voltage and defocus, with the contributions of Barth & Kruit. yields.png: yields and
ranges against published values. noise.png: signal-to-noise against Poisson, and the two measures of quality against
defocus. specimens.png: every specimen at two magnifications.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from PIL import Image

from matassay.suites.instruments.sem import imaging, optics, quality
from matassay.suites.instruments.sem.imaging import Frame
from matassay.suites.instruments.sem.optics import Column
from matassay.suites.instruments.sem.specimens import MATERIALS, SPECIMENS, surface

HERE = Path(__file__).parent
COLUMN = Column(voltage=15.0, current=100.0, working_distance=10.0, stage_z=10.0)


def save(figure: plt.Figure, name: str, dpi: int = 110) -> None:
    figure.tight_layout()
    figure.savefig(HERE / name, dpi=dpi)
    plt.close(figure)


def probe() -> None:
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(13.5, 4.0))
    current = np.geomspace(0.1, 20_000.0, 80)
    for voltage in (1.0, 5.0, 15.0, 30.0):
        a.loglog(current, [optics.best_probe(voltage, i, 10.0) for i in current], label=f"{voltage:g} kV")
    a.set(xlabel="probe current (pA)", ylabel="FW50 (nm)", title="probe in focus, WD 10 mm")
    voltages = np.geomspace(0.5, 30.0, 60)
    parts = [optics.probe_parts(replace(COLUMN, voltage=v, current=1.0)) for v in voltages]
    for name in ("diffraction", "spherical", "chromatic", "source"):
        b.loglog(voltages, [getattr(p, name) for p in parts], label=name)
    b.loglog(voltages, [optics.best_probe(v, 1.0, 10.0) for v in voltages], "k", label="Barth & Kruit sum")
    b.set(xlabel="voltage (kV)", ylabel="FW50 (nm)", title="contributions, 1 pA")
    offset = np.linspace(-400.0, 400.0, 401)
    for percent in (0.0, 8.0, 16.0):
        ellipses = [
            optics.blur_ellipse(replace(COLUMN, working_distance=10.0 + d / 1000.0, stigmator_x=percent))
            for d in offset
        ]
        (line,) = c.plot(offset, [e[0] for e in ellipses], label=f"astigmatism {percent:g} %")
        c.plot(offset, [e[1] for e in ellipses], ":", color=line.get_color())
    c.set(xlabel="defocus (um)", ylabel="sigma of the blur (um)", title="long (line) and short axis (dots)")
    for axis in (a, b, c):
        axis.legend(fontsize=8)
    save(figure, "probe.png")


def yields() -> None:
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(13.5, 4.0))
    z = np.arange(4, 93)
    a.plot(z, [imaging.eta(v) for v in z], label="Reuter 1972")
    # Heinrich 1966 at 20 kV, as tabulated in Reimer 1998 and Goldstein 2018.
    a.plot(
        [6, 13, 14, 26, 29, 47, 74, 79],
        [0.06, 0.155, 0.164, 0.28, 0.31, 0.41, 0.475, 0.495],
        "ko",
        label="measured, 20 kV",
    )
    a.set(xlabel="atomic number", ylabel="backscatter coefficient")
    voltage = np.geomspace(0.05, 30.0, 200)
    for name in ("carbon", "iron", "gold", "silica"):
        b.semilogx(voltage, [imaging.secondary_yield(MATERIALS[name], v) for v in voltage], label=name)
    b.axhline(1.0, color="0.7", lw=0.8)
    b.set(xlabel="voltage (kV)", ylabel="secondary yield", title="Lin & Joy 2005; maxima by Seiler, CRC")
    for name, points in (("aluminium", (0.41, 1.3, 4.2, 8.2)), ("gold", (0.085, 0.27, 0.86, 1.7))):
        energies = np.linspace(2.0, 30.0, 60)
        (line,) = c.loglog(energies, [imaging.electron_range(MATERIALS[name], e) for e in energies], label=name)
        c.plot((5, 10, 20, 30), points, "o", color=line.get_color())
    c.set(xlabel="voltage (kV)", ylabel="range (um)", title="Kanaya-Okayama; dots: Goldstein")
    for axis in (a, b, c):
        axis.legend(fontsize=8)
    save(figure, "yields.png")


def noise() -> None:
    figure, (a, b, c) = plt.subplots(1, 3, figsize=(13.5, 4.0))
    s = surface("fracture", 1)
    view = imaging.ideal(s, 15.0, "SE", (0.0, 0.0), 100.0)
    contrast, brightness = imaging.balanced(view, 100.0, "SE", 0.15, 0.7)
    dwell = np.geomspace(0.3, 30.0, 9)
    measured = []
    for t in dwell:
        two = [
            imaging.render(s, COLUMN, Frame(float(t), contrast, brightness), (0.0, 0.0), 100.0, [1, k]).astype(float)
            for k in (1, 2)
        ]
        signal = (two[0] + two[1]).mean() / 2.0 - 255.0 * imaging.offset(brightness)
        measured.append(signal / ((two[0] - two[1]).std() / np.sqrt(2.0)))
    # A picture's noise is the mean of its pixels' variances, so its mean yield is what counts.
    a.loglog(dwell, [imaging.snr(float(view.mean()), 100.0, t, "SE") for t in dwell], label="sqrt(n)")
    a.loglog(dwell, measured, "ko", label="two frames")
    a.axhline(5.0, color="0.7", lw=0.8)
    a.set(xlabel="dwell (us)", ylabel="signal / noise", title="fracture, 100 pA")
    offset = np.linspace(-0.4, 0.4, 33)
    for key in ("fracture", "tin_balls", "circuit"):
        s = surface(key, 1)
        view = imaging.ideal(s, 15.0, "SE", (0.0, 0.0), 100.0)
        frame = Frame(3.0, *imaging.balanced(view, 100.0, "SE"))
        images = [
            imaging.render(s, replace(COLUMN, working_distance=10.0 + d), frame, (0.0, 0.0), 100.0, [1, i])
            for i, d in enumerate(offset)
        ]
        b.plot(1000.0 * offset, [quality.sharpness(i) for i in images], label=key)
        c.plot(1000.0 * offset, [quality.psnr(i, view) for i in images], label=key)
    b.set(xlabel="defocus (um)", ylabel="sharpness (cycles per pixel)", title="field 100 um, dwell 3 us")
    c.set(xlabel="defocus (um)", ylabel="PSNR (dB)", title="against the sharp, noise-free view")
    for axis in (a, b, c):
        axis.legend(fontsize=8)
    save(figure, "noise.png")


def specimens() -> None:
    figure, axes = plt.subplots(4, 4, figsize=(14.0, 14.6))
    for axis_pair, (key, specimen) in zip(axes.reshape(8, 2), SPECIMENS.items(), strict=True):
        s = surface(key, 1)
        detector = "BSE" if key == "solder" else "SE"
        voltage = 1.5 if specimen.insulator else 15.0
        for axis, width in zip(axis_pair, (150.0, 30.0), strict=True):
            centre = (-40.0, -40.0)
            frame = Frame(
                30.0, *imaging.balanced(imaging.ideal(s, voltage, detector, centre, width), 100.0, detector), detector
            )
            axis.imshow(
                imaging.render(s, replace(COLUMN, voltage=voltage), frame, centre, width, [1]),
                cmap="gray",
                vmin=0,
                vmax=255,
            )
            axis.set_title(f"{specimen.name}, {width:g} um, {voltage:g} kV, {detector}", fontsize=8)
            axis.set_axis_off()
    save(figure, "specimens.png", 80)
    with Image.open(HERE / "specimens.png") as coloured:
        coloured.convert("L").quantize(48).save(HERE / "specimens.png", optimize=True)


if __name__ == "__main__":
    probe()
    yields()
    noise()
    specimens()
