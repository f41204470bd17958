"""Files that the microscope saves: greyscale TIFF with the settings in the way FEI / Thermo Fisher instruments do it.

The settings stand as INI text in tag 34682, in SI units; the pixel size also in the resolution tags, and as ImageJ
reads it. They are the nominal settings, as the operator sees them, and never the hidden state of the instrument.

Both the writer and the reader are our own, of the one layout that is written: the reader is for graders, takes bytes of
unknown origin, looks at nothing outside them, and refuses with a `ValueError` what it does not know. Layout: TIFF 6.0
(Adobe, 1992), little-endian, one uncompressed strip of 8-bit grey.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

__all__ = ["Metadata", "read_tiff", "to_tiff"]

_LARGEST = 40_000_000  # bytes; a 4096 x 4096 mosaic is 17 MB
_WIDEST = 8192  # pixels
_LONGEST_TEXT = 20_000  # bytes of settings; we write about 1500
_FEI = 34682  # the tag that FEI Helios instruments and their successors use
_PROGRAM = "MatAssay SEM"


@dataclass(frozen=True)
class Metadata:
    """Nominal settings of a picture."""

    voltage: float
    """Accelerating voltage, kV."""
    current: float
    """Probe current, pA."""
    working_distance: float
    """Working distance as read out, mm."""
    field_width: float
    """Width of the whole picture, um."""
    dwell: float
    """Dwell time per pixel, us."""
    detector: str
    """``SE`` or ``BSE``."""
    contrast: float
    """Detector gain, %."""
    brightness: float
    """Detector offset, %."""
    stage_x: float
    """Stage, mm."""
    stage_y: float
    """Stage, mm."""
    stage_z: float
    """Stage, mm."""
    scan_rotation: float
    """deg."""
    stigmator_x: float
    """%."""
    stigmator_y: float
    """%."""
    specimen: str
    """Label of the specimen as it stands in the programme's list."""
    user: str
    """Name of the user."""
    taken: str
    """Begin of the scan on the instrument's clock, ISO 8601."""
    integration: int = 1
    """Frames averaged."""
    tiles: int = 1
    """Views along each side: 2 for a 2 x 2 mosaic."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, float | int) and not math.isfinite(value):
                raise ValueError(f"{name} is {value}")
        for name in ("voltage", "current", "working_distance", "field_width", "dwell"):
            if getattr(self, name) <= 0.0:
                raise ValueError(f"{name} is {getattr(self, name)}")
        if self.integration < 1 or self.tiles < 1:
            raise ValueError("a picture is made of at least one frame and one view")

    @property
    def magnification(self) -> float:
        """Magnification on Polaroid 4 x 5 film (127 mm wide) of one view."""
        return 127_000.0 * self.tiles / self.field_width


# Section, key, attribute, factor to the unit of the file. Names as in FEI files; [MatAssay] is our own.
_NUMBERS = (
    ("Beam", "HV", "voltage", 1e3),
    ("EBeam", "HV", "voltage", 1e3),
    ("EBeam", "BeamCurrent", "current", 1e-12),
    ("EBeam", "WD", "working_distance", 1e-3),
    ("EBeam", "StigmatorX", "stigmator_x", 1e-2),
    ("EBeam", "StigmatorY", "stigmator_y", 1e-2),
    ("EBeam", "HFW", "field_width", 1e-6),
    ("Scan", "Dwelltime", "dwell", 1e-6),
    ("Scan", "HorFieldsize", "field_width", 1e-6),
    ("Scan", "ScanRotation", "scan_rotation", math.pi / 180.0),
    ("Stage", "StageX", "stage_x", 1e-3),
    ("Stage", "StageY", "stage_y", 1e-3),
    ("Stage", "StageZ", "stage_z", 1e-3),
    ("Stage", "WorkingDistance", "working_distance", 1e-3),
    ("Detectors", "Contrast", "contrast", 1.0),
    ("Detectors", "Brightness", "brightness", 1.0),
    ("Scan", "Integrate", "integration", 1.0),
    ("MatAssay", "Tiles", "tiles", 1.0),
)
_TEXTS = (
    ("User", "User", "user"),
    ("User", "UserText", "specimen"),
    ("Detectors", "Name", "detector"),
    ("MatAssay", "Taken", "taken"),
)
_ORDER = ("User", "System", "Beam", "EBeam", "Scan", "Stage", "Image", "Detectors", "MatAssay")


def _one_line(text: str) -> str:
    """ASCII text without characters that would end a line or start a section."""
    plain = text.encode("ascii", "replace").decode()
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())


def _settings(m: Metadata, rows: int, cols: int) -> str:
    """The INI text."""
    sections: dict[str, dict[str, str]] = {name: {} for name in _ORDER}
    for section, key, attribute, factor in _NUMBERS:
        sections[section][key] = f"{getattr(m, attribute) * factor:.9g}"
    for section, key, attribute in _TEXTS:
        sections[section][key] = _one_line(getattr(m, attribute))
    date, _, clock = m.taken.partition("T")
    pixel = m.field_width * 1e-6 / cols
    sections["User"] |= {"Date": _one_line(date), "Time": _one_line(clock)}
    sections["System"] |= {"Type": "SEM", "SystemType": _PROGRAM, "Software": _PROGRAM}
    sections["Beam"] |= {"Beam": "EBeam"}
    sections["EBeam"] |= {"Source": "Tungsten", "VFW": f"{pixel * rows:.9g}", "UserMag": f"{m.magnification:.6g}"}
    sections["Scan"] |= {
        "PixelWidth": f"{pixel:.9g}",
        "PixelHeight": f"{pixel:.9g}",
        "VerFieldsize": f"{pixel * rows:.9g}",
        "FrameTime": f"{m.dwell * 1e-6 * rows * cols * m.integration:.9g}",
    }
    sections["Image"] |= {"ResolutionX": str(cols), "ResolutionY": str(rows), "MagCanvasRealWidth": "0.127"}
    sections["Detectors"] |= {"Number": "1", "Signal": _one_line(m.detector)}
    return "".join(
        f"[{name}]\r\n" + "".join(f"{k}={v}\r\n" for k, v in rows_.items()) + "\r\n" for name, rows_ in sections.items()
    )


# TIFF field types.
_ASCII, _SHORT, _LONG, _RATIONAL = 2, 3, 4, 5
_SIZE = {_ASCII: 1, _SHORT: 2, _LONG: 4, _RATIONAL: 8}


def to_tiff(image: npt.NDArray[np.uint8], metadata: Metadata) -> bytes:
    """Write a picture.

    Parameters
    ----------
    image : rows and columns of grey levels.
    metadata : nominal settings.
    """
    if image.dtype != np.uint8 or image.ndim != 2 or not 1 <= min(image.shape) <= max(image.shape) <= _WIDEST:
        raise ValueError(f"not a picture: {image.dtype} {image.shape}")
    rows, cols = image.shape
    per_cm = Fraction(1e4 * cols / metadata.field_width).limit_denominator(10_000)
    resolution = struct.pack("<II", per_cm.numerator, per_cm.denominator)
    # ImageJ takes x and y from the resolution tags and the unit from its own line.
    pixel = metadata.field_width / cols
    description = f"ImageJ=1.53k\nunit=cm\nspacing=1.0\nmin=0.0\nmax=255.0\nInfo=pixel {pixel:.6g} um\n"

    def text(value: str) -> tuple[int, bytes]:
        return _ASCII, value.encode("ascii") + b"\0"

    def short(value: int) -> tuple[int, bytes]:
        return _SHORT, struct.pack("<H", value)

    def long(value: int) -> tuple[int, bytes]:
        return _LONG, struct.pack("<I", value)

    stamp = _one_line(metadata.taken.replace("T", " ").replace("-", ":")[:19])
    fields: dict[int, tuple[int, bytes]] = {
        254: long(0),  # NewSubfileType
        256: long(cols),
        257: long(rows),
        258: short(8),  # BitsPerSample
        259: short(1),  # Compression: none
        262: short(1),  # Photometric: black is zero
        270: text(description),
        271: text("MatAssay"),
        273: long(0),  # StripOffsets, set below
        277: short(1),  # SamplesPerPixel
        278: long(rows),
        279: long(rows * cols),
        282: (_RATIONAL, resolution),
        283: (_RATIONAL, resolution),
        296: short(3),  # ResolutionUnit: cm
        305: text(_PROGRAM),
        306: text(stamp),
        _FEI: text(_settings(metadata, rows, cols)),
    }
    directory = 2 + 12 * len(fields) + 4
    end = 8 + directory
    extra = b""
    entries = b""
    pixels_at = end + sum(len(v) + len(v) % 2 for _, v in fields.values() if len(v) > 4)
    fields[273] = long(pixels_at)
    for tag, (kind, value) in sorted(fields.items()):
        head = struct.pack("<HHI", tag, kind, len(value) // _SIZE[kind])
        if len(value) <= 4:
            entries += head + value.ljust(4, b"\0")
        else:
            entries += head + struct.pack("<I", end + len(extra))
            extra += value + b"\0" * (len(value) % 2)
    header = struct.pack("<2sHI", b"II", 42, 8) + struct.pack("<H", len(fields)) + entries + struct.pack("<I", 0)
    return header + extra + np.ascontiguousarray(image).tobytes()


def _fields(data: bytes) -> dict[int, tuple[int, bytes]]:
    """Fields of the only directory: type and bytes by tag."""
    if len(data) > _LARGEST:
        raise ValueError(f"{len(data)} bytes are no picture of ours")
    if len(data) < 14 or data[:4] != b"II*\0":
        raise ValueError("not a little-endian TIFF file")
    (start,) = struct.unpack_from("<I", data, 4)
    if not 8 <= start <= len(data) - 6:
        raise ValueError("no directory")
    (count,) = struct.unpack_from("<H", data, start)
    after = start + 2 + 12 * count
    if not 1 <= count <= 64 or after + 4 > len(data):
        raise ValueError("directory cut short")
    if struct.unpack_from("<I", data, after)[0] != 0:
        raise ValueError("more than one picture")
    out: dict[int, tuple[int, bytes]] = {}
    for i in range(count):
        at = start + 2 + 12 * i
        tag, kind, items = struct.unpack_from("<HHI", data, at)
        if kind not in _SIZE or tag in out:
            raise ValueError(f"field {tag} of type {kind}")
        size = items * _SIZE[kind]
        where = at + 8 if size <= 4 else struct.unpack_from("<I", data, at + 8)[0]
        if items < 1 or where + size > len(data):
            raise ValueError(f"field {tag} ends beyond the file")
        out[tag] = kind, data[where : where + size]
    return out


def _integer(fields: dict[int, tuple[int, bytes]], tag: int, default: int | None = None) -> int:
    """A field with one whole number."""
    if tag not in fields:
        if default is None:
            raise ValueError(f"field {tag} is missing")
        return default
    kind, value = fields[tag]
    if kind == _SHORT and len(value) == 2:
        return int(struct.unpack("<H", value)[0])
    if kind == _LONG and len(value) == 4:
        return int(struct.unpack("<I", value)[0])
    raise ValueError(f"field {tag} is not one number")


def _parse(text: str) -> dict[tuple[str, str], str]:
    """INI text by section and key. Own lines only: no interpolation, no continuation."""
    out: dict[tuple[str, str], str] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif line:
            key, equals, value = line.partition("=")
            if not equals or (section, key) in out:
                raise ValueError("settings are no list of different keys and values")
            out[section, key] = value
    return out


def _metadata(text: str, rows: int, cols: int) -> Metadata:
    """Settings from the INI text, refused if they contradict themselves or the picture."""
    settings = _parse(text)
    values: dict[str, float | int | str] = {}
    try:
        for section, key, attribute, factor in _NUMBERS:
            value = float(settings[section, key]) / factor
            if attribute in values and not math.isclose(float(values[attribute]), value, rel_tol=1e-6, abs_tol=1e-9):
                raise ValueError(f"two values of {attribute}")
            values[attribute] = value
        for section, key, attribute in _TEXTS:
            values[attribute] = settings[section, key]
        for key, size in (("PixelWidth", cols), ("PixelHeight", cols)):
            if not math.isclose(float(settings["Scan", key]) * size, float(values["field_width"]) * 1e-6, rel_tol=1e-6):
                raise ValueError("the pixel size does not fit the field")
        if (settings["Image", "ResolutionX"], settings["Image", "ResolutionY"]) != (str(cols), str(rows)):
            raise ValueError("the picture has another size than its settings say")
    except KeyError as missing:
        raise ValueError(f"no {missing} in the settings") from None
    for name in ("integration", "tiles"):
        number = float(values[name])
        if not (number.is_integer() and 1 <= number <= 1_000_000):
            raise ValueError(f"{name} is {number}")
        values[name] = int(number)
    return Metadata(**values)  # type: ignore[arg-type]


def read_tiff(data: bytes) -> tuple[npt.NDArray[np.uint8], Metadata]:
    """Read a picture that `to_tiff` wrote.

    Raises
    ------
    ValueError
        for anything else.
    """
    fields = _fields(data)
    cols, rows = _integer(fields, 256), _integer(fields, 257)
    if not (1 <= cols <= _WIDEST and 1 <= rows <= _WIDEST):
        raise ValueError(f"{cols} x {rows} pixels")
    for tag, expected in ((258, 8), (259, 1), (262, 1), (277, 1), (278, rows), (279, rows * cols)):
        if _integer(fields, tag) != expected:
            raise ValueError(f"field {tag} is {_integer(fields, tag)}, not {expected}")
    start = _integer(fields, 273)
    if start + rows * cols > len(data):
        raise ValueError("pixels cut short")
    kind, text = fields.get(_FEI, (0, b""))
    if kind != _ASCII or len(text) > _LONGEST_TEXT or not text.isascii():
        raise ValueError("no settings")
    metadata = _metadata(text.rstrip(b"\0").decode("ascii"), rows, cols)
    pixels = np.frombuffer(data, dtype=np.uint8, count=rows * cols, offset=start)
    return pixels.reshape(rows, cols).copy(), metadata
