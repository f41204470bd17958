"""Files that the diffractometer saves: two-column ``.xy`` and PANalytical ``.xrdml`` 1.5, written and read.

Both carry the nominal settings, as the operator set them, and never the hidden state of the instrument. The readers are
for graders: they take bytes of unknown origin, refuse what they do not understand with a `ValueError`, and expand no
entities.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET  # builds trees only; bytes of unknown origin go through `_parse`
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from matassay.suites.instruments.xrd.physics import NICKEL_THICKNESS, RADIUS, WAVELENGTHS, Optics, Tube

__all__ = ["Diffractogram", "read_xrdml", "read_xy", "to_xrdml", "to_xy"]

_NAMESPACE = "http://www.xrdml.com/XRDMeasurement/1.5"
_SCHEMA = "http://www.xrdml.com/XRDMeasurement/1.5 http://www.xrdml.com/XRDMeasurement/1.5/XRDMeasurement.xsd"
_INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
_LARGEST = 20_000_000  # bytes; a 0.001 degree scan from 5 to 160 degrees is about 2 MB
_DEEPEST = 32  # levels of XML; the format has 7
_PROGRAM = "MatAssay diffractometer"
_SOLLER_OPENING = 0.04  # rad


@dataclass(frozen=True, eq=False)
class Diffractogram:
    """A scan with the settings under which it was taken."""

    sample_id: str
    """Sample number that the operator typed."""
    specimen_label: str
    """Label of the specimen as it stands in the programme's list."""
    operator: str
    """Name of the user."""
    two_theta: npt.NDArray[np.float64]
    """Goniometer readings in equal steps, deg."""
    counts: npt.NDArray[np.int64]
    """Registered counts."""
    time_per_step: float
    """Counting time of a step, s."""
    scan_rate: float
    """Nominal scan rate, deg/min."""
    tube: Tube
    """Generator set point."""
    optics: Optics
    """Slits and filter."""
    started: str
    """Start on the instrument's clock, ISO 8601."""
    completed: bool = True
    """Whether the scan reached its end angle."""

    def __post_init__(self) -> None:
        if self.two_theta.ndim != 1 or self.two_theta.shape != self.counts.shape:
            raise ValueError(f"{self.two_theta.shape} angles for {self.counts.shape} counts")
        if len(self.two_theta) < 2:
            raise ValueError("a diffractogram needs at least two points")
        steps = np.diff(self.two_theta)
        # Readings are written to 1e-5 degrees, so that steps read back differ by up to 1e-5.
        if not np.all(np.isfinite(steps)) or steps.min() <= 0.0 or np.ptp(steps) > 3e-5:
            raise ValueError("angles do not rise in equal steps")
        if self.counts.min() < 0:
            raise ValueError("negative counts")
        for name, value in self._numbers():
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"{name} is {value}")

    def _numbers(self) -> Iterator[tuple[str, float]]:
        yield "time per step", self.time_per_step
        yield "scan rate", self.scan_rate
        yield "voltage", self.tube.voltage
        yield "current", self.tube.current
        yield "divergence slit", self.optics.divergence_slit
        yield "receiving slit", self.optics.receiving_slit

    @property
    def step_size(self) -> float:
        """Step in deg two-theta."""
        return float((self.two_theta[-1] - self.two_theta[0]) / (len(self.two_theta) - 1))

    @property
    def ended(self) -> str:
        """End of the scan on the instrument's clock, ISO 8601."""
        duration = timedelta(seconds=round(self.time_per_step * len(self.counts)))
        return (datetime.fromisoformat(self.started) + duration).isoformat()


# --- .xy ----------------------------------------------------------------------------------------------------

_FILTERS = {True: f"Ni {NICKEL_THICKNESS:.3f} mm", False: "none"}


def _one_line(text: str) -> str:
    """Text without characters that would end a header line or are not allowed in XML."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def to_xy(d: Diffractogram) -> bytes:
    """Two columns, two-theta (deg) and counts, under a header of ``# key: value`` lines."""
    header = {
        "program": _PROGRAM,
        "sample": _one_line(d.sample_id),
        "specimen": _one_line(d.specimen_label),
        "operator": _one_line(d.operator),
        "started": d.started,
        "anode": "Cu",
        "K-alpha1 (angstrom)": f"{WAVELENGTHS['k_alpha_1']:.6f}",
        "K-alpha2 (angstrom)": f"{WAVELENGTHS['k_alpha_2']:.6f}",
        "voltage (kV)": f"{d.tube.voltage:g}",
        "current (mA)": f"{d.tube.current:g}",
        "divergence slit (deg)": f"{d.optics.divergence_slit:g}",
        "receiving slit (mm)": f"{d.optics.receiving_slit:g}",
        "filter": _FILTERS[d.optics.nickel_filter],
        "scan rate (deg/min)": f"{d.scan_rate:.9g}",
        "time per step (s)": f"{d.time_per_step:.9g}",
        "status": "completed" if d.completed else "aborted",
        "columns": "two-theta (deg), counts",
    }
    lines = [f"# {key}: {value}" for key, value in header.items()]
    lines += [f"{angle:.5f} {count:d}" for angle, count in zip(d.two_theta.tolist(), d.counts.tolist(), strict=True)]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _text(data: bytes, what: str) -> str:
    if len(data) > _LARGEST:
        raise ValueError(f"{what}: {len(data)} bytes are more than a scan can have")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{what}: not UTF-8 text") from error


def _number(text: str | None, name: str) -> float:
    try:
        value = float(text or "")
    except ValueError as error:
        raise ValueError(f"{name}: {(text or '')[:40]!r} is not a number") from error
    if not math.isfinite(value):
        raise ValueError(f"{name} is {value}")
    return value


def _counts(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    if not np.all(np.isfinite(values)) or np.any(values != np.round(values)) or np.any(np.abs(values) > 1e15):
        raise ValueError("counts are not whole numbers")
    return values.astype(np.int64)


def _floats(words: list[str], name: str) -> npt.NDArray[np.float64]:
    try:
        return np.array([float(word) for word in words], dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def read_xy(data: bytes) -> Diffractogram:
    """Read what `to_xy` writes.

    Raises
    ------
    ValueError
        with the reason, if anything is missing or is not what it should be.
    """
    header: dict[str, str] = {}
    rows: list[list[str]] = []
    for number, line in enumerate(_text(data, ".xy").splitlines(), start=1):
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            header[key.strip()] = value.strip()
        elif line.strip():
            words = line.split()
            if len(words) != 2:
                raise ValueError(f".xy line {number}: {len(words)} columns instead of 2")
            rows.append(words)
    if not rows:
        raise ValueError(".xy: no data")

    def field(key: str) -> str:
        if key not in header:
            raise ValueError(f".xy: no header line {key!r}")
        return header[key]

    return Diffractogram(
        sample_id=field("sample"),
        specimen_label=field("specimen"),
        operator=field("operator"),
        two_theta=_floats([row[0] for row in rows], ".xy two-theta"),
        counts=_counts(_floats([row[1] for row in rows], ".xy counts")),
        time_per_step=_number(field("time per step (s)"), "time per step"),
        scan_rate=_number(field("scan rate (deg/min)"), "scan rate"),
        tube=Tube(_number(field("voltage (kV)"), "voltage"), _number(field("current (mA)"), "current")),
        optics=Optics(
            _number(field("divergence slit (deg)"), "divergence slit"),
            _number(field("receiving slit (mm)"), "receiving slit"),
            field("filter") != _FILTERS[False],
        ),
        started=field("started"),
        completed=field("status") == "completed",
    )


# --- .xrdml -------------------------------------------------------------------------------------------------


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    element = ET.SubElement(parent, tag, {key.replace("_", ":"): value for key, value in attributes.items()})
    element.text = text
    return element


def _wavelengths(measurement: ET.Element) -> None:
    used = _add(measurement, "usedWavelength", intended="K-Alpha 1")
    _add(used, "kAlpha1", f"{WAVELENGTHS['k_alpha_1']:.6f}", unit="Angstrom")
    _add(used, "kAlpha2", f"{WAVELENGTHS['k_alpha_2']:.6f}", unit="Angstrom")
    _add(used, "kBeta", f"{WAVELENGTHS['k_beta']:.6f}", unit="Angstrom")
    _add(used, "ratioKAlpha2KAlpha1", "0.5000")


def _incident_beam(measurement: ET.Element, d: Diffractogram) -> None:
    path = _add(measurement, "incidentBeamPath")
    _add(path, "radius", f"{RADIUS:.2f}", unit="mm")
    tube = _add(path, "xRayTube", id="1001", name="Cu LFF")
    _add(tube, "tension", f"{d.tube.voltage:g}", unit="kV")
    _add(tube, "current", f"{d.tube.current:g}", unit="mA")
    _add(tube, "anodeMaterial", "Cu")
    focus = _add(tube, "focus", type="Line")
    _add(focus, "length", "12.0", unit="mm")
    _add(focus, "width", "0.4", unit="mm")
    _add(focus, "takeOffAngle", "6.0", unit="deg")
    soller = _add(path, "sollerSlit", id="1002", name="Soller 0.04 rad")
    _add(soller, "opening", f"{_SOLLER_OPENING:.4f}", unit="rad")
    slit = _add(path, "divergenceSlit", id="1003", name="Fixed divergence slit", xsi_type="fixedDivergenceSlitType")
    _add(slit, "angle", f"{d.optics.divergence_slit:g}", unit="deg")


def _diffracted_beam(measurement: ET.Element, d: Diffractogram) -> None:
    path = _add(measurement, "diffractedBeamPath")
    _add(path, "radius", f"{RADIUS:.2f}", unit="mm")
    soller = _add(path, "sollerSlit", id="1005", name="Soller 0.04 rad")
    _add(soller, "opening", f"{_SOLLER_OPENING:.4f}", unit="rad")
    if d.optics.nickel_filter:
        foil = _add(path, "filter", id="1004", name="Nickel")
        _add(foil, "material", "Ni")
        _add(foil, "thickness", f"{NICKEL_THICKNESS:.3f}", unit="mm")
    slit = _add(path, "receivingSlit", id="1006", name="Receiving slit")
    _add(slit, "height", f"{d.optics.receiving_slit:g}", unit="mm")
    _add(path, "detector", id="1007", name="Scintillation counter", xsi_type="pointDetectorType")


def _scan(measurement: ET.Element, d: Diffractogram) -> None:
    status = "Completed" if d.completed else "Aborted"
    scan = _add(measurement, "scan", appendNumber="0", mode="Continuous", scanAxis="Gonio", status=status)
    header = _add(scan, "header")
    _add(header, "startTimeStamp", d.started)
    _add(header, "endTimeStamp", d.ended)
    _add(_add(header, "author"), "name", _one_line(d.operator))
    _add(_add(header, "source"), "applicationSoftware", _PROGRAM, version="1")
    points = _add(scan, "dataPoints")
    first, last = float(d.two_theta[0]), float(d.two_theta[-1])
    for axis, share in (("2Theta", 1.0), ("Omega", 0.5)):
        positions = _add(points, "positions", axis=axis, unit="deg")
        _add(positions, "startPosition", f"{first * share:.8f}")
        _add(positions, "endPosition", f"{last * share:.8f}")
    _add(points, "commonCountingTime", f"{d.time_per_step:.9g}", unit="seconds")
    _add(points, "intensities", " ".join(map(str, d.counts.tolist())), unit="counts")


def to_xrdml(d: Diffractogram) -> bytes:
    """XRDML 1.5 document of one scan."""
    root = ET.Element(
        "xrdMeasurements",
        {
            "xmlns": _NAMESPACE,
            "xmlns:xsi": _INSTANCE,
            "xsi:schemaLocation": _SCHEMA,
            "status": "Completed" if d.completed else "Aborted",
        },
    )
    comment = _add(root, "comment")
    _add(comment, "entry", f"Written by {_PROGRAM}")
    sample = _add(root, "sample", type="To be analyzed")
    _add(sample, "id", _one_line(d.sample_id))
    _add(sample, "name", _one_line(d.specimen_label))
    measurement = _add(
        root,
        "xrdMeasurement",
        measurementType="Scan",
        status="Completed" if d.completed else "Aborted",
        sampleMode="Reflection",
    )
    comment = _add(measurement, "comment")
    _add(comment, "entry", f"Scan rate (deg/min): {d.scan_rate:.9g}")
    _wavelengths(measurement)
    _incident_beam(measurement, d)
    _diffracted_beam(measurement, d)
    _scan(measurement, d)
    ET.indent(root, "\t")
    return ('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n").encode()


def _parse(data: bytes) -> ET.Element:
    """Parse XML into a tree with bare tag names; no document type, no entities, no deep nesting."""
    _text(data, ".xrdml")  # size and encoding
    builder = ET.TreeBuilder()
    parser = expat.ParserCreate("UTF-8", namespace_separator="}")
    depth = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise ValueError(".xrdml: nested too deeply")
        builder.start(tag.rpartition("}")[2], {key.rpartition("}")[2]: value for key, value in attributes.items()})

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag.rpartition("}")[2])

    def refuse(*_: object) -> None:
        raise ValueError(".xrdml: document types and entities are refused")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        raise ValueError(f".xrdml: not well-formed XML ({error})") from error
    return builder.close()


def read_xrdml(data: bytes) -> Diffractogram:
    """Read a single-scan XRDML document such as `to_xrdml` writes.

    Raises
    ------
    ValueError
        with the reason, if anything is missing or is not what it should be.
    """
    root = _parse(data)
    if root.tag != "xrdMeasurements":
        raise ValueError(f".xrdml: root element is {root.tag[:40]!r}")

    def one(path: str) -> ET.Element:
        found = root.findall(path)
        if len(found) != 1:
            raise ValueError(f".xrdml: {len(found)} elements {path} instead of 1")
        return found[0]

    def text(path: str) -> str:
        return (one(path).text or "").strip()

    def number(path: str) -> float:
        return _number(text(path), path)

    measurement = "xrdMeasurement"
    points = f"{measurement}/scan/dataPoints"
    angles = f"{points}/positions[@axis='2Theta']"
    counts = _counts(_floats(text(f"{points}/intensities").split(), ".xrdml intensities"))
    comment = text(f"{measurement}/comment/entry")
    label, _, rate = comment.partition(":")
    if label != "Scan rate (deg/min)":
        raise ValueError(".xrdml: no scan rate in the measurement's comment")
    tube = f"{measurement}/incidentBeamPath/xRayTube"
    return Diffractogram(
        sample_id=text("sample/id"),
        specimen_label=text("sample/name"),
        operator=text(f"{measurement}/scan/header/author/name"),
        two_theta=np.linspace(number(f"{angles}/startPosition"), number(f"{angles}/endPosition"), len(counts)),
        counts=counts,
        time_per_step=number(f"{points}/commonCountingTime"),
        scan_rate=_number(rate, "scan rate"),
        tube=Tube(number(f"{tube}/tension"), number(f"{tube}/current")),
        optics=Optics(
            number(f"{measurement}/incidentBeamPath/divergenceSlit/angle"),
            number(f"{measurement}/diffractedBeamPath/receivingSlit/height"),
            bool(root.findall(f"{measurement}/diffractedBeamPath/filter")),
        ),
        started=text(f"{measurement}/scan/header/startTimeStamp"),
        completed=one(f"{measurement}/scan").get("status") == "Completed",
    )
