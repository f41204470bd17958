"""What lies on the stubs: materials, and surfaces made from a seed.

A surface is a square map of heights and materials. It has no edges: opposite sides meet, so that the stage can go
anywhere, and a task keeps it where nothing is seen twice. Every surface comes from random numbers and the rules by which
such things form (spheres that do not overlap, grains that meet in valleys, tracks of an integrated circuit), none from a
picture.

Coordinates are in um, x to the right and y down the screen, from the middle of the map.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw
from scipy import fft, ndimage

__all__ = [
    "MATERIALS",
    "SIZE",
    "SPECIMENS",
    "Feature",
    "Material",
    "Specimen",
    "Surface",
    "surface",
]

Map = npt.NDArray[np.float32]

SIZE = 2048
"""Side of a surface's maps, pixels."""


@dataclass(frozen=True)
class Material:
    """What a surface is made of, as far as electrons care."""

    name: str
    """Name for a person."""
    z: float
    """Atomic number; of a compound the mean by mass fraction (Goldstein 2018, section 2.2)."""
    a: float
    """Atomic mass; of a compound the mean over its atoms, g/mol."""
    density: float
    """g/cm^3."""
    delta_max: float
    """Largest secondary yield at normal incidence, electrons per electron."""
    energy_max: float
    """Voltage of that yield, kV."""
    insulator: bool = False
    """Whether charge stays where it falls."""


# Yields: Seiler, J. Appl. Phys. 54 (1983) R1, and the table of secondary electron emission in the CRC Handbook of
# Chemistry and Physics (aluminium, graphite, gold and iron compared with a public copy, which breaks off at nickel).
# Silicon carbide and sporopollenin are estimates. Titanium, tin and aluminium carry their native oxide in a microscope,
# which these values of clean metal leave out: contrast between metals is what matters here, not the last tenth.
MATERIALS: Mapping[str, Material] = MappingProxyType(
    {
        "carbon": Material("carbon", 6.0, 12.01, 2.0, 1.0, 0.30),
        "aluminium": Material("aluminium", 13.0, 26.98, 2.70, 1.0, 0.30),
        "silicon": Material("silicon", 14.0, 28.09, 2.33, 1.1, 0.25),
        "titanium": Material("titanium", 22.0, 47.87, 4.51, 0.9, 0.28),
        "iron": Material("iron", 26.0, 55.85, 7.87, 1.3, 0.40),
        "tin": Material("tin", 50.0, 118.71, 7.29, 1.35, 0.50),
        "tungsten": Material("tungsten", 74.0, 183.84, 19.3, 1.4, 0.65),
        "gold": Material("gold", 79.0, 196.97, 19.3, 1.4, 0.80),
        "lead": Material("lead", 82.0, 207.2, 11.34, 1.1, 0.50),
        "silicon carbide": Material("silicon carbide", 11.6, 20.05, 3.21, 1.3, 0.35),
        "silica": Material("silica", 10.8, 20.03, 2.20, 2.4, 0.40),
        "sporopollenin": Material("sporopollenin", 6.3, 7.2, 1.40, 2.2, 0.30, insulator=True),
    }
)
"""Materials by name."""


@dataclass(frozen=True)
class Feature:
    """A place on a surface that a task can name."""

    name: str
    """What it is."""
    x: float
    """Centre, um."""
    y: float
    """Centre, um, down the screen."""
    width: float
    """Extent along x before rotation, um."""
    height: float
    """Extent along y before rotation, um."""
    angle: float = 0.0
    """Rotation counter-clockwise on the screen, deg."""
    pitch: float = 0.0
    """Period of a pattern across its lines, um; zero without one."""


@dataclass(frozen=True)
class Specimen:
    """A kind of specimen."""

    key: str
    """Short name."""
    name: str
    """Label in the programme's list."""
    materials: tuple[str, ...]
    """Materials by index in a surface's map."""
    pitch: float
    """Size of a map pixel, um."""
    roughness: tuple[float, ...]
    """Root mean square height of the fine texture per material, um."""
    grain: float
    """Largest wavelength of the fine texture, um."""

    @property
    def insulator(self) -> bool:
        """Whether it charges."""
        return any(MATERIALS[m].insulator for m in self.materials)

    @property
    def extent(self) -> float:
        """Side of the map, um."""
        return self.pitch * SIZE


@dataclass(frozen=True, eq=False)
class Surface:
    """One specimen of a kind, made from a seed."""

    specimen: Specimen
    """Its kind."""
    seed: int
    """What it was made from."""
    height: Map = field(repr=False)
    """Height above the stub's reference plane, um, indexed by row and column."""
    material: npt.NDArray[np.uint8] = field(repr=False)
    """Index into the specimen's materials."""
    texture: Map = field(repr=False)
    """A tile of fine texture with unit rms, `TEXTURE_PITCH` map pixels a pixel; it repeats."""
    features: tuple[Feature, ...]
    """Named places."""

    @property
    def pitch(self) -> float:
        """Size of a map pixel, um."""
        return self.specimen.pitch

    @property
    def materials(self) -> tuple[Material, ...]:
        """Materials by index."""
        return tuple(MATERIALS[m] for m in self.specimen.materials)

    def feature(self, name: str) -> Feature:
        """A named place; `KeyError` if there is none."""
        for f in self.features:
            if f.name == name:
                return f
        raise KeyError(name)


TEXTURE_SIZE = 1024
"""Side of the tile of fine texture, pixels."""
TEXTURE_PITCH = 0.28
"""Pixel of the tile in map pixels: texture goes on where the map ends."""

_Made = tuple[Map, npt.NDArray[np.uint8], tuple[Feature, ...]]

# --- tools --------------------------------------------------------------------------------------------------


def _spectrum(rng: np.random.Generator, n: int) -> npt.NDArray[np.complex64]:
    """Spectrum of white noise with unit variance."""
    return np.asarray(fft.rfft2(rng.standard_normal((n, n), dtype=np.float32)), dtype=np.complex64)


def _wavenumber(n: int, pitch: float) -> Map:
    """Spatial frequency of every coefficient of a real transform, 1/um."""
    ky = np.fft.fftfreq(n, pitch).astype(np.float32)[:, None]
    kx = np.fft.rfftfreq(n, pitch).astype(np.float32)[None, :]
    return np.asarray(np.hypot(ky, kx), dtype=np.float32)


def _rough(spectrum: npt.NDArray[np.complex64], k: Map, slope: float, longest: float, shortest: float) -> Map:
    """Self-affine roughness, k^-slope in amplitude between two wavelengths (um), unit rms; periodic."""
    low, high = 1.0 / longest, 1.0 / shortest
    shape = (k**2 + low**2) ** (-slope / 2.0) * np.exp(-((k / high) ** 2)) * (1.0 - np.exp(-((k / (0.5 * low)) ** 2)))
    out = fft.irfft2(spectrum * shape.astype(np.float32))
    return np.asarray(out / out.std(), dtype=np.float32)


def _window(x: float, y: float, radius: float) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Map, Map]:
    """Rows, columns and offsets (pixels) of the pixels within ``radius`` of (x, y), across the map's edges."""
    rows = np.arange(math.floor(y - radius), math.ceil(y + radius) + 1)
    cols = np.arange(math.floor(x - radius), math.ceil(x + radius) + 1)
    return (
        rows % SIZE,
        cols % SIZE,
        (cols - x).astype(np.float32)[None, :],
        (rows - y).astype(np.float32)[:, None],
    )


def _nearest(offset: float) -> float:
    """Offset to the nearest of a point's repetitions, pixels."""
    return (offset + SIZE / 2) % SIZE - SIZE / 2


def _smooth(a: Map, sigma: float) -> Map:
    """Gaussian blur across the map's edges, sigma in pixels."""
    return np.asarray(ndimage.gaussian_filter(a, sigma, mode="wrap", truncate=3.0), dtype=np.float32)


# --- the surfaces -------------------------------------------------------------------------------------------


def _tin_balls(rng: np.random.Generator, pitch: float) -> _Made:
    """Tin evaporated on carbon: spheres of all sizes that do not overlap, radii by a power law."""
    k = _wavenumber(SIZE, pitch)
    height = 0.12 * _rough(_spectrum(rng, SIZE), k, 1.6, 60.0, 2.0 * pitch)
    material = np.zeros((SIZE, SIZE), dtype=np.uint8)
    count, smallest, largest, exponent = 7000, 0.4, 11.0, 1.55
    # Inverse of the cumulative distribution N(>r) ~ r^-exponent between the two ends.
    u = rng.random(count)
    tail = (largest / smallest) ** -exponent
    radii = np.sort(smallest * (1.0 - u * (1.0 - tail)) ** (-1.0 / exponent))[::-1] / pitch
    wetting = rng.uniform(0.35, 0.8, count)  # height of a centre over its radius: contact angles of 110-143 degrees
    features: list[Feature] = []
    for radius, sink in zip(radii, wetting, strict=True):
        for _ in range(12):
            x, y = rng.random(2) * SIZE
            rows, cols, dx, dy = _window(x, y, radius + 1.0)
            square = dx**2 + dy**2
            inside = square < radius**2
            if not material[np.ix_(rows, cols)][inside].any():
                break
        else:
            continue
        cap = (np.sqrt(np.maximum(radius**2 - square, 0.0)) + sink * radius) * pitch
        patch = np.ix_(rows, cols)
        height[patch] = np.where(inside, cap, height[patch])
        material[patch] = np.where(inside, 1, material[patch])
        if len(features) < 8:
            at = [(c - SIZE / 2) * pitch for c in (x, y)]
            size = 2.0 * radius * pitch
            features.append(Feature(f"ball {len(features) + 1}", at[0], at[1], size, size))
    return _smooth(height, 0.7), material, tuple(features)


def _fracture(rng: np.random.Generator, pitch: float) -> _Made:
    """An intergranular fracture with some cleavage: polyhedral grains that meet in valleys, river lines on a few."""
    k = _wavenumber(SIZE, pitch)
    noise = _spectrum(rng, SIZE)
    relief = _rough(noise, k, 2.2, 150.0, 8.0)
    height = np.full((SIZE, SIZE), -100.0, dtype=np.float32)
    owner = np.zeros((SIZE, SIZE), dtype=np.int16)
    grain = 24.0 / pitch
    n = int(SIZE / grain)
    centres = [
        ((i + 0.5 + rng.uniform(-0.42, 0.42)) * grain, (j + 0.5 + rng.uniform(-0.42, 0.42)) * grain)
        for j in range(n + 1)
        for i in range(n + 1)
    ]
    rivers: list[tuple[int, float, float, float]] = []
    features: list[Feature] = []
    for index, (x, y) in enumerate(centres, start=1):
        size = grain * rng.uniform(0.62, 1.0)
        rows, cols, dx, dy = _window(x, y, 1.6 * size)
        patch = np.ix_(rows, cols)
        # A grain's upper side: the lowest of its facets, one flat on top and a ring of steeper ones.
        top = rng.normal(0.0, 0.25)
        azimuth = rng.uniform(0.0, 2.0 * math.pi)
        dome = size * rng.uniform(0.30, 0.5) + top * (math.cos(azimuth) * dx + math.sin(azimuth) * dy)
        sides = int(rng.integers(4, 8))
        for side in range(sides):
            phi = azimuth + 2.0 * math.pi * (side + rng.uniform(-0.25, 0.25)) / sides
            steep = math.exp(rng.normal(0.05, 0.45))
            reach = size * rng.uniform(0.55, 0.9)
            dome = np.minimum(dome, steep * (reach - math.cos(phi) * dx - math.sin(phi) * dy))
        # No grain reaches farther than its neighbours: a steep wall closes it off.
        dome = np.minimum(dome, 6.0 * (1.45 * size - np.hypot(dx, dy)))
        base = float(relief[int(y) % SIZE, int(x) % SIZE]) * 3.0 + rng.normal(0.0, 2.0)
        dome = dome * pitch + base
        higher = dome > height[patch]
        height[patch] = np.where(higher, dome, height[patch])
        owner[patch] = np.where(higher, index, owner[patch])
        if rng.random() < 0.28:
            phi, far = rng.uniform(0.0, 2.0 * math.pi), rng.uniform(1.1, 2.5) * size
            rivers.append((index, x + far * math.cos(phi), y + far * math.sin(phi), far * pitch))
        at = [((c + SIZE / 2) % SIZE - SIZE / 2) * pitch for c in (x - SIZE / 2, y - SIZE / 2)]
        features.append(Feature(f"grain {index}", at[0], at[1], 2.0 * size * pitch, 2.0 * size * pitch))
    warp = _rough(noise, k, 2.2, 30.0, 2.0)
    boxes = ndimage.find_objects(owner)
    for index, x, y, far in rivers:
        box = boxes[index - 1]
        if box is None or max(part.stop - part.start for part in box) > SIZE // 2:
            continue
        # River lines: cleavage steps that fan out from where the crack entered the grain, each of its own height.
        yy, xx = np.mgrid[box].astype(np.float32)
        bearing = np.arctan2(yy - y, xx - x) + math.pi
        bearing = (bearing - float(bearing[0, 0]) + math.pi) % (2.0 * math.pi)
        phase = bearing * far / rng.uniform(1.2, 2.6) + 0.55 * warp[box]
        line = np.floor(phase).astype(np.intp) % 64
        rise = rng.gamma(0.7, 0.5, 64).astype(np.float32)
        level = np.cumsum(rise - rise.mean()).astype(np.float32)
        part = phase - np.floor(phase)
        step = level[line] + rise[line] * np.clip((part - 0.85) / 0.15, 0.0, 1.0)
        height[box] += np.where(owner[box] == index, 0.5 * step, 0.0).astype(np.float32)
    # Grains break with a little plastic deformation, so facets are not mathematically flat.
    height += 0.04 * _rough(noise, k, 1.8, 10.0, 2.0 * pitch) + 0.12 * warp
    # Precipitates on the boundaries leave pits and specks.
    for _ in range(900):
        x, y = rng.random(2) * SIZE
        radius = rng.uniform(0.2, 0.7) / pitch
        rows, cols, dx, dy = _window(x, y, radius)
        bump = np.sqrt(np.clip(1.0 - (dx**2 + dy**2) / radius**2, 0.0, 1.0))
        height[np.ix_(rows, cols)] += (rng.choice([-0.6, 0.8]) * radius * pitch * bump).astype(np.float32)
    material = np.zeros((SIZE, SIZE), dtype=np.uint8)
    return _smooth(height, 0.7), material, tuple(features)


def _circuit(rng: np.random.Generator, pitch: float) -> _Made:
    """An integrated circuit with its passivation off: two metal layers on oxide, blocks of tracks, vias, pads."""
    lower = Image.new("L", (SIZE, SIZE))
    upper = Image.new("L", (SIZE, SIZE))
    holes = Image.new("L", (SIZE, SIZE))
    draw_lower, draw_upper, draw_holes = ImageDraw.Draw(lower), ImageDraw.Draw(upper), ImageDraw.Draw(holes)
    features: list[Feature] = []

    def um(value: float) -> float:
        return value / pitch

    def via(x: float, y: float, size: float) -> None:
        r = um(size / 2.0)
        draw_holes.ellipse((x - r, y - r, x + r, y + r), fill=255)

    blocks = 4
    block = SIZE / blocks
    for j in range(blocks):
        for i in range(blocks):
            x0, y0 = i * block, j * block
            kind = rng.choice(["random", "random", "memory", "pads"])
            track = um(rng.choice([3.0, 3.6, 4.5]))
            if kind == "memory":
                step_x, step_y = um(rng.choice([3.2, 4.0])), um(rng.choice([5.0, 6.4]))
                for row in np.arange(y0 + step_y, y0 + block - step_y, step_y):
                    draw_lower.rectangle((x0 + step_x, row, x0 + block - step_x, row + um(1.1)), fill=255)
                    for col in np.arange(x0 + 1.5 * step_x, x0 + block - 1.5 * step_x, step_x):
                        via(col, row + um(0.55), 0.9)
                for col in np.arange(x0 + 2 * step_x, x0 + block - 2 * step_x, 2 * step_x):
                    draw_upper.rectangle((col, y0 + um(3), col + um(1.3), y0 + block - um(3)), fill=255)
                middle = [(c + block / 2 - SIZE / 2) * pitch for c in (x0, y0)]
                name = f"memory {sum(f.name.startswith('memory') for f in features) + 1}"
                side = (block - 2 * step_x) * pitch
                features.append(Feature(name, middle[0], middle[1], side, side, pitch=float(2 * step_x * pitch)))
                continue
            if kind == "pads":
                side = um(rng.uniform(18.0, 26.0))
                px, py = x0 + rng.uniform(0.2, 0.5) * block, y0 + rng.uniform(0.2, 0.5) * block
                draw_upper.rectangle((px, py, px + side, py + side), fill=255)
                draw_upper.rectangle((px + side * 0.4, py + side, px + side * 0.6, y0 + block), fill=255)
                middle = [(c + side / 2 - SIZE / 2) * pitch for c in (px, py)]
                name = f"pad {sum(f.name.startswith('pad') for f in features) + 1}"
                features.append(Feature(name, middle[0], middle[1], side * pitch, side * pitch))
            for row in np.arange(y0 + track, y0 + block - track / 2, track):
                x = x0 + rng.uniform(0.0, um(8.0))
                width = um(1.2) if rng.random() < 0.85 else um(2.2)
                while x < x0 + block - um(4.0):
                    length = um(rng.gamma(2.0, 9.0) + 3.0)
                    end = min(x + length, x0 + block)
                    draw_lower.rectangle((x, row, end, row + width), fill=255)
                    via(x + um(0.6), row + width / 2, 0.9)
                    via(end - um(0.6), row + width / 2, 0.9)
                    if rng.random() < 0.5:
                        # The track goes on in the other layer, up or down.
                        top = row + rng.choice([-1.0, 1.0]) * track * float(rng.integers(1, 7))
                        top = min(max(top, y0), y0 + block)
                        low, high = sorted((row, top))
                        draw_upper.rectangle((end - um(1.3), low, end, high + um(1.3)), fill=255)
                        via(end - um(0.65), top + um(0.65), 0.9)
                    x = end + um(rng.uniform(1.5, 9.0))
    for i in range(blocks + 1):
        # Supply rails between the blocks, in the upper layer and across each other.
        draw_upper.rectangle((i * block - um(3.0), 0, i * block + um(3.0), SIZE), fill=255)
        draw_lower.rectangle((0, i * block - um(2.5), SIZE, i * block + um(2.5)), fill=255)
    first, second, plugs = (np.asarray(layer, dtype=np.float32) / 255.0 for layer in (lower, upper, holes))
    k = _wavenumber(SIZE, pitch)
    noise = _spectrum(rng, SIZE)
    oxide = _smooth(first, 2.2)  # the oxide between the layers follows the lower one, rounded
    wall = _smooth(second, 0.9)
    height = 0.75 * _smooth(first, 0.9) + 0.35 * oxide + 0.9 * wall
    height -= 0.45 * _smooth(plugs, 1.0) * np.maximum(first, second)
    height += 0.012 * _rough(noise, k, 1.2, 4.0, 2.0 * pitch)
    material = np.zeros((SIZE, SIZE), dtype=np.uint8)
    material[first > 0.5] = 1
    material[second > 0.5] = 1
    material[(plugs > 0.5) & (np.maximum(first, second) > 0.5)] = 2
    _dust(rng, pitch, height, material, 40, 3)
    return height.astype(np.float32), material, tuple(features)


def _dust(
    rng: np.random.Generator,
    pitch: float,
    height: Map,
    material: npt.NDArray[np.uint8],
    count: int,
    index: int,
    sizes: tuple[float, float] = (0.3, 1.6),
) -> None:
    """Scatter angular specks over a surface: no real one is clean."""
    for _ in range(count):
        x, y = rng.random(2) * SIZE
        size = rng.uniform(*sizes) / pitch
        _shard(rng, pitch, height, material, x, y, size, index, float(height[int(y), int(x)]))


def _shard(
    rng: np.random.Generator,
    pitch: float,
    height: Map,
    material: npt.NDArray[np.uint8],
    x: float,
    y: float,
    size: float,
    index: int,
    ground: float,
) -> None:
    """Put a broken grain on a surface: the space below a few random planes, ``size`` pixels from middle to side."""
    rows, cols, dx, dy = _window(x, y, 1.6 * size)
    turn = rng.uniform(0.0, 2.0 * math.pi)
    stretch = rng.uniform(1.0, 1.7)
    u = (math.cos(turn) * dx + math.sin(turn) * dy) / stretch
    v = (-math.sin(turn) * dx + math.cos(turn) * dy) * stretch**0.5
    top = np.full(np.broadcast_shapes(dx.shape, dy.shape), np.inf, dtype=np.float32)
    sides = int(rng.integers(4, 8))
    for side in range(sides):
        phi = 2.0 * math.pi * (side + rng.uniform(-0.38, 0.38)) / sides
        steep = math.tan(math.radians(rng.uniform(48.0, 84.0)))
        reach = size * rng.uniform(0.65, 1.0)
        top = np.minimum(top, steep * (reach - math.cos(phi) * u - math.sin(phi) * v))
    for _ in range(3):
        tilt, phi = math.tan(math.radians(rng.uniform(3.0, 38.0))), rng.uniform(0.0, 2.0 * math.pi)
        top = np.minimum(top, size * rng.uniform(0.45, 0.95) + tilt * (math.cos(phi) * u + math.sin(phi) * v))
    solid = ground - 0.15 * size * pitch + top * pitch
    patch = np.ix_(rows, cols)
    higher = solid > height[patch]
    height[patch] = np.where(higher, solid, height[patch])
    material[patch] = np.where(higher, index, material[patch])


def _abrasive(rng: np.random.Generator, pitch: float) -> _Made:
    """Silicon carbide grit on a carbon tab: broken grains of a sieve fraction, and its fines."""
    k = _wavenumber(SIZE, pitch)
    noise = _spectrum(rng, SIZE)
    height = 0.5 * _rough(noise, k, 2.0, 50.0, 1.0)
    material = np.zeros((SIZE, SIZE), dtype=np.uint8)
    features: list[Feature] = []
    sizes = np.concatenate(
        [rng.lognormal(math.log(8.0), 0.28, 150), rng.lognormal(math.log(2.2), 0.5, 260), rng.uniform(0.3, 1.0, 500)]
    )
    for size in sizes:
        x, y = rng.random(2) * SIZE
        ground = float(height[int(y), int(x)])
        _shard(rng, pitch, height, material, x, y, size / pitch, 1, min(ground, 5.0))
        if size > 9.0 and len(features) < 8:
            at = [(c - SIZE / 2) * pitch for c in (x, y)]
            features.append(Feature(f"grit {len(features) + 1}", at[0], at[1], 2.0 * size, 2.0 * size))
    return _smooth(height, 0.6), material, tuple(features)


def _fibres(rng: np.random.Generator, pitch: float) -> _Made:
    """A felt of carbon fibres: long tubes, some in bundles, one lying over the other."""
    k = _wavenumber(SIZE, pitch)
    height = -6.0 + 1.5 * _rough(_spectrum(rng, SIZE), k, 2.0, 40.0, 2.0)
    features: list[Feature] = []
    flat = height.reshape(-1)
    bundles = 120
    for bundle in range(bundles):
        level = -4.0 + 12.0 * bundle / bundles
        members = int(rng.integers(1, 5)) if rng.random() < 0.3 else 1
        length = rng.uniform(0.45, 1.2) * SIZE
        step = 0.6
        s = np.arange(0.0, length, step)
        start, heading = rng.random(2) * SIZE, rng.uniform(0.0, 2.0 * math.pi)
        # A fibre bends with a slowly wandering curvature.
        waves = rng.integers(1, 6, 3)
        bend = sum(rng.normal(0.0, 0.3) * np.sin(math.pi * w * s / length + rng.uniform(0, 6.28)) for w in waves)
        angle = heading + bend
        x = start[0] + np.cumsum(np.cos(angle)) * step
        y = start[1] + np.cumsum(np.sin(angle)) * step
        z = level + 1.2 * np.sin(2.0 * math.pi * s / length * rng.uniform(0.5, 2.0) + rng.uniform(0, 6.28))
        for member in range(members):
            radius = float(np.clip(rng.lognormal(math.log(1.0), 0.5), 0.3, 2.6)) / pitch
            aside = 0.0 if members == 1 else (member - (members - 1) / 2.0) * 2.2 / pitch + rng.normal(0, 0.3) * radius
            weave = aside + 0.8 * radius * np.sin(2.0 * math.pi * s / (length * rng.uniform(0.2, 0.5)) + member)
            offsets = np.arange(-radius, radius + 0.3, 0.55)
            place = weave[:, None] + offsets[None, :] if members > 1 else offsets[None, :]
            nx, ny = -np.sin(angle)[:, None], np.cos(angle)[:, None]
            px, py = np.rint(x[:, None] + nx * place), np.rint(y[:, None] + ny * place)
            # Height of the tube over the middle of the pixel, not over the point that fell into it.
            off = (px - x[:, None]) * nx + (py - y[:, None]) * ny - (place - offsets[None, :])
            inside = np.abs(off) < radius
            tall = (z[:, None] + np.sqrt(np.maximum(radius**2 - off**2, 0.0)) * pitch)[inside]
            target = (py.astype(np.int64) % SIZE * SIZE + px.astype(np.int64) % SIZE)[inside]
            np.maximum.at(flat, target, tall.astype(np.float32))
        if len(features) < 8 and members > 1:
            middle = len(s) // 2
            at = [(c % SIZE - SIZE / 2) * pitch for c in (x[middle], y[middle])]
            features.append(Feature(f"bundle {len(features) + 1}", at[0], at[1], 20.0, 20.0))
    material = np.zeros((SIZE, SIZE), dtype=np.uint8)
    return _smooth(height, 1.0), material, tuple(features)


def _pollen(rng: np.random.Generator, pitch: float) -> _Made:
    """Spiny pollen on a carbon tab: spheres with spines on a golden spiral and a wall with fine pits."""
    k = _wavenumber(SIZE, pitch)
    noise = _spectrum(rng, SIZE)
    height = 0.4 * _rough(noise, k, 2.0, 60.0, 1.0)
    material = np.zeros((SIZE, SIZE), dtype=np.uint8)
    features: list[Feature] = []
    placed: list[tuple[float, float, float]] = []
    for _ in range(1500):
        radius = rng.normal(11.0, 0.8) / pitch
        x, y = rng.random(2) * SIZE
        gaps = [math.hypot(_nearest(x - px), _nearest(y - py)) - pr for px, py, pr in placed]
        # Grains stick together, so a place beside another one is taken more readily than one alone.
        if gaps and min(gaps) < radius * 1.02:
            continue
        if gaps and min(gaps) > radius * 1.5 and rng.random() < 0.9:
            continue
        placed.append((x, y, radius))
        if len(placed) == 60:
            break
    for x, y, radius in placed:
        reach = 1.32 * radius
        rows, cols, dx, dy = _window(x, y, reach)
        square = dx**2 + dy**2
        squash = rng.uniform(0.88, 1.0)
        body = np.sqrt(np.maximum(radius**2 - square, 0.0)) * squash
        top = np.where(square < radius**2, body, -radius)
        # Spines: cones along the normal of a sphere, seen from above.
        count = 150
        i = np.arange(count) + 0.5
        polar, azimuth = np.arccos(1.0 - 2.0 * i / count), math.pi * (1.0 + 5.0**0.5) * i
        axes = np.stack([np.sin(polar) * np.cos(azimuth), np.sin(polar) * np.sin(azimuth), np.cos(polar)], axis=1)
        axes = axes @ _turn(rng).T
        axes += rng.normal(0.0, 0.03, axes.shape)
        for ax, ay, az in axes[axes[:, 2] > -0.25]:
            for t in np.linspace(0.0, 1.0, 9):
                # A cone as a stack of discs from its foot to its tip.
                cx, cy, cz = (c * radius * (0.97 + 0.27 * t) for c in (ax, ay, az))
                width = radius * (0.10 * (1.0 - t) ** 1.3 + 0.012)
                c0, r0 = int(cx + reach - width), int(cy + reach - width)
                c1, r1 = int(cx + reach + width) + 2, int(cy + reach + width) + 2
                part = (slice(max(r0, 0), r1), slice(max(c0, 0), c1))
                near = (dx[:, part[1]] - cx) ** 2 + (dy[part[0]] - cy) ** 2
                top[part] = np.where(
                    near < width**2,
                    np.maximum(top[part], cz * squash + np.sqrt(np.maximum(width**2 - near, 0.0))),
                    top[part],
                )
        patch = np.ix_(rows, cols)
        solid = ((top + 0.85 * radius) * pitch).astype(np.float32)
        inside = (top > -radius) & (solid > height[patch])
        height[patch] = np.where(inside, solid, height[patch])
        material[patch] = np.where(inside, 1, material[patch])
        if len(features) < 8:
            at = [(c - SIZE / 2) * pitch for c in (x, y)]
            features.append(Feature(f"grain {len(features) + 1}", at[0], at[1], 2 * reach * pitch, 2 * reach * pitch))
    pits = _rough(noise, k, 0.6, 1.6, 0.6)
    height -= np.where(material == 1, 0.10 * np.maximum(pits - 0.6, 0.0), 0.0).astype(np.float32)
    return _smooth(height, 0.6), material, tuple(features)


def _turn(rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A random rotation of space."""
    q, r = np.linalg.qr(rng.standard_normal((3, 3)))
    return np.asarray(q * np.sign(np.diag(r)))


def _stripes(rng: np.random.Generator, pitch: float) -> _Made:
    """A lithography test chip: gold on silicon; one quadrant of stripes, the others of dots, ladders and plates."""
    angle = float(rng.uniform(6.0, 14.0) * rng.choice([-1.0, 1.0]))
    period = float(rng.choice([4.0, 4.5, 5.0, 5.5, 6.0]))
    duty = rng.uniform(0.42, 0.58)
    turn = math.radians(angle)
    half = SIZE / 2 * pitch
    axis = (np.arange(SIZE, dtype=np.float32) * pitch - half).astype(np.float32)
    k = _wavenumber(SIZE, pitch)
    noise = _spectrum(rng, SIZE)
    ragged = 0.06 * _rough(noise, k, 1.2, 5.0, 2.0 * pitch)
    # Chip coordinates: u across, v down, turned counter-clockwise on the screen (y points down).
    u = math.cos(turn) * axis[None, :] - math.sin(turn) * axis[:, None] + ragged
    v = math.sin(turn) * axis[None, :] + math.cos(turn) * axis[:, None] + ragged[::-1]
    order = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
    rng.shuffle(order)
    side, centre = 48.0, 58.0
    metal = np.full((SIZE, SIZE), -1.0, dtype=np.float32)  # signed distance to the edge, um, positive inside

    def fill(distance: Map) -> None:
        np.maximum(metal, distance, out=metal)

    def box(x: Map, y: Map, width: float, tall: float) -> Map:
        return np.asarray(np.minimum(width / 2.0 - np.abs(x), tall / 2.0 - np.abs(y)), dtype=np.float32)

    def wave(x: Map, step: float) -> Map:
        return np.asarray(x - step * np.round(x / step), dtype=np.float32)

    features: list[Feature] = []
    for (sx, sy), name in zip(order, ("stripes", "dots", "ladders", "plates"), strict=True):
        a, b = u - sx * centre, v - sy * centre
        frame = box(a, b, 2.0 * side, 2.0 * side)
        if name == "stripes":
            fill(np.minimum(period * duty / 2.0 - np.abs(wave(a, period)), frame))
        elif name == "dots":
            step = float(rng.choice([6.0, 8.0]))
            fill(np.minimum(step * 0.27 - np.hypot(wave(a, step), wave(b, step)), frame))
        elif name == "ladders":
            for row in range(-3, 4):
                gap = 2.0 + 1.3 * (row + 3)
                fill(np.minimum(box(a, b - 13.0 * row, 80.0, 9.0), np.abs(wave(a, gap * 2.0)) - gap / 2.0))
                fill(box(a, b - 13.0 * row - 5.2, 80.0, 1.4))
        else:
            for row in range(3):
                for col in range(3):
                    width = 6.0 + 5.0 * row + 2.0 * col
                    fill(box(a - 31.0 * (col - 1), b - 31.0 * (row - 1), width, width))
        # y down: the centre of a quadrant goes back through the inverse rotation.
        x = math.cos(turn) * sx * centre + math.sin(turn) * sy * centre
        y = -math.sin(turn) * sx * centre + math.cos(turn) * sy * centre
        features.append(Feature(name, x, y, 2 * side, 2 * side, angle, period if name == "stripes" else 0.0))
    for arm in (box(u, v, 12.0, 1.5), box(u, v, 1.5, 12.0)):
        fill(arm)
    features.append(Feature("cross", 0.0, 0.0, 12.0, 12.0, angle))
    wall = np.clip(metal / 0.3 + 0.5, 0.0, 1.0)
    height = 0.45 * wall * wall * (3.0 - 2.0 * wall)
    grain = _rough(noise, k, 0.8, 1.2, 2.0 * pitch)
    height = (height + np.where(metal > 0, 0.022, 0.004) * grain).astype(np.float32)
    material = (metal > 0).astype(np.uint8)
    _dust(rng, pitch, height, material, 130, 2, (0.25, 1.1))
    _dust(rng, pitch, height, material, 8, 2, (1.5, 3.5))
    return height, material, tuple(features)


def _solder(rng: np.random.Generator, pitch: float) -> _Made:
    """A polished tin-lead solder: lamellae and islands of lead in tin, fine scratches, a few pores."""
    k = _wavenumber(SIZE, pitch)
    noise = _spectrum(rng, SIZE)
    # A band of wavelengths gives the labyrinth of a coarsened eutectic; a slower field lets it turn into islands.
    labyrinth = _rough(noise * np.exp(-(((k - 0.10) / 0.06) ** 2)), k, 0.0, 200.0, 1.0)
    slow = _rough(_spectrum(rng, SIZE), k, 2.0, 70.0, 10.0)
    fine = _rough(noise * np.exp(-(((k - 0.5) / 0.12) ** 2)), k, 0.0, 200.0, 0.5)
    level = labyrinth + 0.5 * slow + 0.16 * fine
    lead = level > 0.55
    relief = _smooth(np.clip(level - 0.55, -0.5, 0.5).astype(np.float32), 1.0)
    height = -0.10 * relief + 0.008 * _rough(noise, k, 1.2, 6.0, 2.0 * pitch)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    for _ in range(26):
        x, y, phi = rng.random() * SIZE, rng.random() * SIZE, rng.normal(0.5, 0.25)
        across = np.abs(-math.sin(phi) * (xx[::1] - x) + math.cos(phi) * (yy - y))
        near = across < 3.0
        height[near] -= (rng.uniform(0.03, 0.12) * np.exp(-((across[near] / 1.1) ** 2))).astype(np.float32)
    features: list[Feature] = []
    material = lead.astype(np.uint8)
    for pore in range(12):
        x, y = rng.random(2) * SIZE
        radius = rng.uniform(0.6, 3.0) / pitch
        rows, cols, dx, dy = _window(x, y, 1.6 * radius)
        patch = np.ix_(rows, cols)
        inside = np.clip(1.0 - (dx**2 + dy**2) / radius**2, 0.0, 1.0)
        height[patch] -= 1.4 * radius * pitch * np.sqrt(inside)
        if pore < 8:
            at = [(c - SIZE / 2) * pitch for c in (x, y)]
            features.append(Feature(f"pore {pore + 1}", at[0], at[1], 2 * radius * pitch, 2 * radius * pitch))
    return height.astype(np.float32), material, tuple(features)


_MAKERS: Mapping[str, tuple[Specimen, Callable[[np.random.Generator, float], _Made]]] = {
    s.key: (s, maker)
    for s, maker in (
        (Specimen("tin_balls", "Tin on carbon", ("carbon", "tin"), 0.15, (0.020, 0.012), 1.0), _tin_balls),
        (Specimen("fracture", "Fractured steel", ("iron",), 0.15, (0.016,), 1.2), _fracture),
        (
            Specimen(
                "circuit",
                "Integrated circuit",
                ("silica", "aluminium", "tungsten", "carbon"),
                0.15,
                (0.006, 0.012, 0.02, 0.03),
                0.8,
            ),
            _circuit,
        ),
        (Specimen("fibres", "Carbon fibre felt", ("carbon",), 0.15, (0.025,), 1.0), _fibres),
        (
            Specimen("abrasive", "Silicon carbide grit", ("carbon", "silicon carbide"), 0.15, (0.04, 0.025), 1.5),
            _abrasive,
        ),
        (Specimen("pollen", "Pollen, uncoated", ("carbon", "sporopollenin"), 0.15, (0.04, 0.03), 1.0), _pollen),
        (
            Specimen(
                "stripes", "Lithography test chip", ("silicon", "gold", "carbon"), 0.15, (0.003, 0.010, 0.03), 0.8
            ),
            _stripes,
        ),
        (Specimen("solder", "Solder, polished section", ("tin", "lead"), 0.15, (0.003, 0.002), 1.0), _solder),
    )
}

SPECIMENS: Mapping[str, Specimen] = MappingProxyType({key: s for key, (s, _) in _MAKERS.items()})
"""Specimens by key."""


@lru_cache(maxsize=4)
def surface(key: str, seed: int) -> Surface:
    """Make a specimen's surface from a seed; the last few are kept (25 MB each)."""
    specimen, make = _MAKERS[key]
    rng = np.random.default_rng([seed, *key.encode()])
    height, material, features = make(rng, specimen.pitch)
    k = _wavenumber(TEXTURE_SIZE, TEXTURE_PITCH * specimen.pitch)
    shortest = 2.0 * TEXTURE_PITCH * specimen.pitch
    texture = _rough(_spectrum(rng, TEXTURE_SIZE), k, 1.0, specimen.grain, shortest)
    for a in (height, material, texture):
        a.setflags(write=False)
    return Surface(specimen, seed, height, material, texture, features)
