"""Saved files: read back by ourselves and by independent packages, and hostile input refused."""

import dataclasses
import io
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.suites.instruments.xrd.files import Diffractogram, read_xrdml, read_xy, to_xrdml, to_xy
from matassay.suites.instruments.xrd.physics import Alignment, Optics, Tube, measure
from matassay.suites.instruments.xrd.specimens import SPECIMENS

FORMATS = [pytest.param(to_xy, read_xy, id="xy"), pytest.param(to_xrdml, read_xrdml, id="xrdml")]


@pytest.fixture(scope="module")
def scan():
    optics, tube = Optics(1.0, 0.15, nickel_filter=True), Tube(45.0, 40.0)
    two_theta = 20.0 + 0.02 * np.arange(2001)
    hidden = Alignment(zero_error=0.0317, displacement=0.1234, gain=0.8765)
    counts = measure(two_theta, 0.5, SPECIMENS["silicon"], optics, hidden, tube, np.random.default_rng(2))
    return Diffractogram(
        sample_id='A-17 <&> "b"',
        specimen_label="Silicon powder, 5 \u00b5m",
        operator="R. Roe",
        two_theta=two_theta,
        counts=counts,
        time_per_step=0.5,
        scan_rate=2.4,
        tube=tube,
        optics=optics,
        started="2026-01-05T09:00:00+00:00",
    )


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_round_trip(scan, write, read):
    back = read(write(scan))
    assert np.array_equal(back.counts, scan.counts)
    assert np.allclose(back.two_theta, scan.two_theta, atol=6e-6, rtol=0)
    for field in dataclasses.fields(Diffractogram):
        if field.name not in ("two_theta", "counts"):
            assert getattr(back, field.name) == getattr(scan, field.name), field.name


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_same_scan_same_bytes(scan, write, read):
    assert write(scan) == write(dataclasses.replace(scan)) == write(read(write(scan)))


@pytest.mark.parametrize(("write", "read"), FORMATS)
def test_filter_out_and_aborted_survive(scan, write, read):
    other = dataclasses.replace(scan, optics=Optics(0.5, 0.3, nickel_filter=False), completed=False)
    back = read(write(other))
    assert back.optics == other.optics
    assert back.completed is False


def test_xy_is_read_by_numpy(scan):
    table = np.loadtxt(io.BytesIO(to_xy(scan)), encoding="utf-8")
    assert np.array_equal(table[:, 1], scan.counts)
    assert np.allclose(table[:, 0], scan.two_theta, atol=6e-6, rtol=0)


@pytest.mark.filterwarnings("ignore")
def test_xrdml_is_read_by_xrayutilities(scan, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xu = pytest.importorskip("xrayutilities")
    path = tmp_path / "scan.xrdml"
    path.write_bytes(to_xrdml(scan))
    read = xu.io.XRDMLFile(str(path)).scan.ddict
    assert np.allclose(read["2Theta"], scan.two_theta, atol=1e-6)
    assert np.allclose(read["Omega"], scan.two_theta / 2, atol=1e-6)
    # It divides by the counting time.
    assert np.array_equal(np.rint(read["detector"] * read["countTime"]), scan.counts)


@pytest.mark.filterwarnings("ignore")
def test_xrdml_obeys_the_schema_and_is_read_by_xrdtools(scan, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        xrdtools = pytest.importorskip("xrdtools")
    path = tmp_path / "scan.xrdml"
    path.write_bytes(to_xrdml(scan))
    # Checks against the vendor's XSD of version 1.5, which the package carries.
    assert xrdtools.io.validate_xrdml_schema(str(path)) == 1.5
    read = xrdtools.read_xrdml(str(path))
    # It divides by the counting time, as xrayutilities does.
    assert np.array_equal(np.rint(np.ravel(read["data"]) * scan.time_per_step), scan.counts)
    assert np.allclose(np.ravel(read["x"]), scan.two_theta, atol=1e-6)


@pytest.mark.parametrize("write", [to_xy, to_xrdml])
def test_no_hidden_truth_in_the_file(scan, write):
    text = write(scan).decode()
    assert not any(number in text for number in ("0.0317", "0.1234", "0.8765"))


def test_xrdml_says_what_a_reader_of_the_format_expects(scan):
    from xml.etree import ElementTree

    space = {"x": "http://www.xrdml.com/XRDMeasurement/1.5"}
    root = ElementTree.fromstring(to_xrdml(scan))
    base = "x:xrdMeasurement/"
    for path, text in {
        base + "x:usedWavelength/x:kAlpha1": "1.540592",
        base + "x:incidentBeamPath/x:radius": "240.00",
        base + "x:incidentBeamPath/x:xRayTube/x:tension": "45",
        base + "x:incidentBeamPath/x:xRayTube/x:anodeMaterial": "Cu",
        base + "x:diffractedBeamPath/x:filter/x:material": "Ni",
        base + "x:scan/x:dataPoints/x:commonCountingTime": "0.5",
        base + "x:scan/x:header/x:endTimeStamp": "2026-01-05T09:16:40+00:00",
    }.items():
        assert root.findtext(path, namespaces=space) == text, path


@given(st.text(max_size=40))
def test_any_label_gives_readable_files(label):
    scan = Diffractogram(
        sample_id=label,
        specimen_label=label,
        operator=label,
        two_theta=np.array([10.0, 10.1, 10.2]),
        counts=np.array([1, 0, 7]),
        time_per_step=1.0,
        scan_rate=6.0,
        tube=Tube(45, 40),
        optics=Optics(),
        started="2026-01-05",
    )
    assert read_xrdml(to_xrdml(scan)).sample_id == read_xy(to_xy(scan)).sample_id


BILLION_LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY l "ha"><!ENTITY m "&l;&l;&l;">]><a>&m;</a>"""


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b"<a/>",
        b"\xff\xfe<\x00a\x00",
        BILLION_LAUGHS,
        b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        b"<a>" * 5000 + b"</a>" * 5000,
        b"<xrdMeasurements>" + b"x" * 20_000_001,
        BILLION_LAUGHS.decode().encode("utf-16"),
    ],
    ids=["empty", "text", "root", "utf16", "entities", "doctype", "deep", "huge", "utf16 entities"],
)
def test_hostile_xrdml_is_refused(data):
    with pytest.raises(ValueError, match="xrdml"):
        read_xrdml(data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<commonCountingTime", b"<other"),
        (b">0.5</commonCountingTime>", b">nan</commonCountingTime>"),
        (b">0.5</commonCountingTime>", b">-1</commonCountingTime>"),
        (b"<endPosition>60.00000000", b"<endPosition>20.00000000"),
        (b"<endPosition>60.00000000", b"<endPosition>inf"),
        (b'<intensities unit="counts">', b'<intensities unit="counts">1.5 '),
        (b'<intensities unit="counts">', b'<intensities unit="counts">-3 '),
        (b'<intensities unit="counts">', b'<intensities unit="counts">1e400 '),
        (b'<intensities unit="counts">', b'<intensities unit="counts">x '),
        (b"Scan rate", b"Scan"),
    ],
)
def test_damaged_xrdml_is_refused(scan, old, new):
    data = to_xrdml(scan)
    assert old in data
    damaged = data.replace(old, new)
    if old == b"<commonCountingTime":
        damaged = damaged.replace(b"</commonCountingTime>", b"</other>")
    with pytest.raises(ValueError):  # noqa: PT011 - the reasons differ
        read_xrdml(damaged)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"# voltage (kV): 45\n", b""),
        (b"# time per step (s): 0.5", b"# time per step (s): a while"),
        (b"20.02000 ", b"20.02100 "),
        (b"20.02000 ", b"nan "),
        (b"20.02000 ", b"20.02000 7 "),
        (b"20.02000 ", b"20.02000 -"),
    ],
)
def test_damaged_xy_is_refused(scan, old, new):
    data = to_xy(scan)
    assert old in data
    with pytest.raises(ValueError):  # noqa: PT011 - the reasons differ
        read_xy(data.replace(old, new, 1))


def test_points_must_match():
    with pytest.raises(ValueError, match="angles for"):
        Diffractogram("", "", "", np.arange(3.0), np.arange(4), 1.0, 1.0, Tube(45, 40), Optics(), "2026-01-05")
