"""What only the diffractometer has to measure."""

from __future__ import annotations

import numpy as np

from matassay.suites.instruments.xrd.physics import Alignment, Optics, Tube, count_rate
from matassay.suites.instruments.xrd.specimens import SPECIMENS

from .cpu import least_ms


def pattern(times: int = 20) -> float:
    """CPU time of a pattern of 7000 angles in this process, ms, the least of several; the phases are known by then."""
    angles = np.arange(5.0, 145.0, 0.02)
    settings = Optics(), Alignment(), Tube(45.0, 40.0)
    return round(least_ms(lambda _: count_rate(angles, SPECIMENS["silicon"], *settings), times), 2)
