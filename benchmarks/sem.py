"""What only the microscope has to measure."""

from __future__ import annotations

from matassay.suites.instruments.sem.imaging import Frame, render
from matassay.suites.instruments.sem.optics import Column
from matassay.suites.instruments.sem.specimens import surface

from .cpu import least_ms


def frame(times: int = 20) -> float:
    """CPU time of a picture of 512 x 512 pixels in this process, ms, the least of several; the scene stays the same."""
    specimen = surface("tin_balls", 1)
    column = Column(voltage=15.0, current=100.0, working_distance=10.1, stage_z=10.0, stigmator_y=5.0)
    settings = Frame(1.0, 60.0, 50.0)
    return round(least_ms(lambda number: render(specimen, column, settings, (0.0, 0.0), 60.0, [number]), times), 1)
