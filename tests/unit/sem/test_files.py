"""TIFF: read back by ourselves, by tifffile and by rosettasciio; refused when it is anything else."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from matassay.suites.instruments.sem.files import Metadata, read_tiff, to_tiff

METADATA = Metadata(
    voltage=15.0,
    current=120.0,
    working_distance=9.87,
    field_width=76.8,
    dwell=10.0,
    detector="SE",
    contrast=54.2,
    brightness=47.5,
    stage_x=0.0123,
    stage_y=-0.0456,
    stage_z=10.0,
    scan_rotation=-7.5,
    stigmator_x=3.25,
    stigmator_y=-1.5,
    specimen="Tin on carbon",
    user="operator",
    taken="2026-03-14T09:26:53",
    integration=2,
)


@pytest.fixture(scope="module")
def image() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 256, (480, 640), dtype=np.uint8)


def test_round_trip(image: np.ndarray) -> None:
    data = to_tiff(image, METADATA)
    assert data == to_tiff(image, METADATA)
    pixels, metadata = read_tiff(data)
    assert np.array_equal(pixels, image)
    for name, value in vars(METADATA).items():
        assert getattr(metadata, name) == (pytest.approx(value, rel=1e-8) if isinstance(value, float) else value), name
    assert metadata.magnification == pytest.approx(127_000.0 / 76.8)


def test_pillow_reads_it(image: np.ndarray) -> None:
    with Image.open(io.BytesIO(to_tiff(image, METADATA))) as read:
        assert np.array_equal(np.asarray(read), image)
        assert read.info["dpi"] == pytest.approx((2.54 * 1e4 / 0.12,) * 2, rel=1e-4)


def test_tifffile_reads_it(image: np.ndarray) -> None:
    tifffile = pytest.importorskip("tifffile")
    with tifffile.TiffFile(io.BytesIO(to_tiff(image, METADATA))) as read:
        assert len(read.pages) == 1
        assert read.is_fei
        assert np.array_equal(read.asarray(), image)
        fei = read.fei_metadata
        assert fei["Scan"]["PixelWidth"] == pytest.approx(0.12e-6)
        assert fei["EBeam"]["HV"] == pytest.approx(15_000.0)
        assert fei["EBeam"]["WD"] == pytest.approx(9.87e-3)
        assert fei["EBeam"]["BeamCurrent"] == pytest.approx(120e-12)
        assert fei["Scan"]["Dwelltime"] == pytest.approx(10e-6)
        x = read.pages[0].tags["XResolution"].value
        assert read.is_imagej
        assert x[1] / x[0] * 1e4 == pytest.approx(0.12)  # um per pixel, as ImageJ takes it with its unit of cm
        assert read.imagej_metadata["unit"] == "cm"


def test_rosettasciio_reads_it(image: np.ndarray, tmp_path: Path) -> None:
    tiff = pytest.importorskip("rsciio.tiff")
    path = tmp_path / "picture.tif"
    path.write_bytes(to_tiff(image, METADATA))
    (signal,) = tiff.file_reader(str(path))
    assert np.array_equal(signal["data"], image)
    for axis in signal["axes"]:
        unit = {"m": 1e6, "µm": 1.0, "nm": 1e-3}[axis["units"]]
        assert axis["scale"] * unit == pytest.approx(0.12)
    assert signal["original_metadata"]["fei_metadata"]["Beam"]["HV"] == pytest.approx(15_000.0)


def test_hidden_truth_is_not_in_the_file(image: np.ndarray) -> None:
    text = to_tiff(image, METADATA)
    for word in (b"efocus", b"stig_", b"rift", b"seed"):
        assert word not in text[: len(text) - image.size]


def test_text_cannot_break_the_settings(image: np.ndarray) -> None:
    _, metadata = read_tiff(to_tiff(image, replace(METADATA, user="a\r\n[Scan]\nPixelWidth=1 ü=\x00")))
    assert metadata.user == "a [Scan] PixelWidth=1 ?="
    assert metadata.field_width == pytest.approx(76.8)


@pytest.mark.parametrize(
    "wrong",
    [{"voltage": 0.0}, {"current": float("nan")}, {"stage_x": float("inf")}, {"integration": 0}, {"field_width": -1.0}],
)
def test_impossible_metadata(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"is|made"):
        replace(METADATA, **wrong)


def test_what_is_no_picture() -> None:
    for bad in (np.zeros((4, 4)), np.zeros((4, 4, 3), dtype=np.uint8), np.zeros((0, 4), dtype=np.uint8)):
        with pytest.raises(ValueError, match="not a picture"):
            to_tiff(bad, METADATA)


def test_junk_is_refused(image: np.ndarray) -> None:
    good = to_tiff(image[:64, :64], METADATA)
    for bad in (
        b"",
        b"II*\0",
        b"MM\0*" + good[4:],
        good[:-1],
        good[:300],
        b"\x89PNG" + good,
        good.replace(b"[Scan]", b"[Scam]"),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - any reason
            read_tiff(bad)
    plain = io.BytesIO()
    Image.fromarray(image).save(plain, "TIFF")
    with pytest.raises(ValueError):  # noqa: PT011
        read_tiff(plain.getvalue())


def test_contradictions_are_refused(image: np.ndarray) -> None:
    good = to_tiff(image[:64, :64], METADATA)
    assert good.count(b"ResolutionX=64") == 1
    with pytest.raises(ValueError, match="another size"):
        read_tiff(good.replace(b"ResolutionX=64", b"ResolutionX=65"))
    with pytest.raises(ValueError, match="pixel size"):
        read_tiff(good.replace(b"PixelWidth=1.2e-06", b"PixelWidth=1.3e-06"))
    with pytest.raises(ValueError, match="two values"):
        read_tiff(good.replace(b"HV=15000", b"HV=16000", 1))


def test_damaged_bytes_raise_nothing_else(image: np.ndarray) -> None:
    good = to_tiff(image[:32, :32], METADATA)
    rng = np.random.default_rng(9)
    head = len(good) - 32 * 32
    for _ in range(1500):
        bad = bytearray(good)
        for at in rng.integers(0, head, int(rng.integers(1, 4))):
            bad[at] = int(rng.integers(0, 256))
        try:
            pixels, _ = read_tiff(bytes(bad))
        except ValueError:
            continue
        assert pixels.shape == (32, 32)
