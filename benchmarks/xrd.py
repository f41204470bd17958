"""What only the diffractometer has to measure."""

from __future__ import annotations

import time

import numpy as np

from matassay.suites.instruments.xrd.physics import Alignment, Optics, Tube, count_rate
from matassay.suites.instruments.xrd.specimens import SPECIMENS


def pattern(times: int = 20) -> float:
    """CPU time of a pattern of 7000 angles in this process, ms, the least of several; the phases are known by then."""
    angles = np.arange(5.0, 145.0, 0.02)
    spent = []
    for _ in range(times + 1):
        began = time.process_time()
        count_rate(angles, SPECIMENS["silicon"], Optics(), Alignment(), Tube(45.0, 40.0))
        spent.append(time.process_time() - began)
    return round(1e3 * min(spent[1:]), 2)
