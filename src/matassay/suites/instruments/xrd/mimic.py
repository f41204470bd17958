"""The picture of the goniometer on the panel: where the arms stand, whether the doors and the shutter are open."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image, ImageDraw

SIZE = (326, 122)  # pixels, width and height
_SCALE = 3  # drawn larger, then reduced: smooth edges without a font or a drawing library of our own

_BACK = (222, 227, 232)
_WALL = (126, 138, 150)
_METAL = (96, 108, 120)
_LIGHT = (168, 178, 188)
_BEAM = (232, 168, 0)
_POWDER = (70, 110, 160)
_OPEN = (200, 60, 40)


def draw(two_theta: float, doors: float, shutter_open: bool, beam: bool, specimen: bool) -> np.ndarray:
    """Draw a theta-theta goniometer.

    Parameters
    ----------
    two_theta : float
        Angle between incident and diffracted beam, deg; each arm stands at half of it above the specimen's plane.
    doors : float
        0 closed to 1 open.
    shutter_open, beam, specimen : bool
        Shutter flag at the tube; whether X-rays leave the tube; whether something lies on the stage.

    Returns
    -------
    np.ndarray
        (height, width, 3) uint8.
    """
    width, height = SIZE[0] * _SCALE, SIZE[1] * _SCALE
    image = Image.new("RGB", (width, height), _BACK)
    pen = ImageDraw.Draw(image)
    centre = (width / 2, 0.80 * height)
    reach = 0.62 * height
    theta = math.radians(two_theta / 2)

    def at(side: int, radius: float, off: float = 0.0) -> tuple[float, float]:
        """A point on an arm: ``radius`` from the centre, ``off`` across it."""
        x = centre[0] + side * (radius * math.cos(theta) + off * math.sin(theta))
        return x, centre[1] - radius * math.sin(theta) + off * math.cos(theta)

    def box(side: int, near: float, far: float, half: float, colour: tuple[int, int, int]) -> None:
        pen.polygon([at(side, near, -half), at(side, far, -half), at(side, far, half), at(side, near, half)], colour)

    pen.arc([centre[0] - reach, centre[1] - reach, centre[0] + reach, centre[1] + reach], 180, 360, _LIGHT, 2 * _SCALE)
    if beam:
        pen.line([at(-1, reach), centre, at(1, reach)], fill=_BEAM, width=2 * _SCALE)
    box(-1, reach, 1.35 * reach, 0.13 * reach, _METAL)  # tube housing
    box(-1, 0.93 * reach, reach, 0.10 * reach, _LIGHT if shutter_open else _OPEN)  # shutter flag: red blocks the beam
    box(-1, 0.66 * reach, 0.72 * reach, 0.07 * reach, _METAL)  # divergence slit
    box(1, 0.66 * reach, 0.72 * reach, 0.07 * reach, _METAL)  # receiving slit
    box(1, reach, 1.22 * reach, 0.09 * reach, _METAL)  # detector
    stage = 0.30 * reach
    pen.rectangle([centre[0] - stage, centre[1], centre[0] + stage, centre[1] + 0.10 * reach], _METAL)
    if specimen:
        half = 0.62 * stage
        pen.rectangle([centre[0] - half, centre[1], centre[0] + half, centre[1] + 0.05 * reach], _POWDER)
    pen.rectangle([centre[0] - 0.06 * reach, centre[1] + 0.10 * reach, centre[0] + 0.06 * reach, height], _METAL)
    _doors(pen, width, height, doors)
    return np.asarray(image.resize(SIZE, Image.Resampling.BOX))


def _doors(pen: ImageDraw.ImageDraw, width: int, height: int, opening: float) -> None:
    """Frame of the enclosure; the two door leaves slide aside."""
    edge = 4 * _SCALE
    pen.rectangle([0, 0, width - 1, height - 1], outline=_WALL, width=edge)
    leaf = (width / 2 - edge) * (1 - opening)
    colour = _WALL if opening == 0 else _OPEN
    for left, right in ((edge, edge + leaf), (width - edge - leaf, width - edge)):
        if right - left > _SCALE:
            pen.rectangle([left, height - 3 * edge, right, height - edge], fill=colour)
