"""Reading and writing in a folder that a hostile program has prepared."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matassay.worlds.workspace import _reader
from matassay.worlds.workspace._reader import Caps, harvest, open_beneath, read_beneath, relative, write_beneath


@pytest.fixture(params=["openat2", "by hand"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A descriptor of ``tmp_path/box``; beside it lies what must not be read. Both ways of opening."""
    if request.param == "openat2" and not _reader.has_openat2():
        pytest.skip("this kernel has no openat2")
    monkeypatch.setattr(_reader, "has_openat2", lambda: request.param == "openat2")
    (tmp_path / "secret.json").write_text("secret")
    (tmp_path / "box").mkdir()
    fd = os.open(tmp_path / "box", os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def test_what_is_plain_is_read(folder: int, tmp_path: Path) -> None:
    (tmp_path / "box" / "a" / "b").mkdir(parents=True)
    (tmp_path / "box" / "a" / "b" / "c.txt").write_bytes(b"deep")
    assert read_beneath(folder, "a/b/c.txt", 4) == b"deep"
    with pytest.raises(ValueError, match="larger than 3 bytes"):
        read_beneath(folder, "a/b/c.txt", 3)
    with pytest.raises(FileNotFoundError):
        read_beneath(folder, "a/x", 10)


@pytest.mark.parametrize(
    "target", ["../secret.json", "{top}/secret.json", "/proc/self/environ", "inner/../../secret.json"]
)
def test_links_are_not_followed(folder: int, tmp_path: Path, target: str) -> None:
    (tmp_path / "box" / "inner").mkdir()
    (tmp_path / "box" / "link").symlink_to(target.format(top=tmp_path))
    (tmp_path / "box" / "up").symlink_to("..")
    for path in ("link", "up/secret.json"):
        with pytest.raises((OSError, ValueError)):
            read_beneath(folder, path, 100)


@pytest.mark.parametrize("path", ["../secret.json", "/etc/passwd", "", ".", "a//b", "a/../../secret.json", "a\0b"])
def test_paths_that_go_up_are_refused(folder: int, path: str) -> None:
    with pytest.raises(ValueError, match="plain relative path"):
        open_beneath(folder, path)


def test_what_is_no_plain_file_is_refused_at_once(folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = tmp_path / "box"
    os.mkfifo(box / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        monkeypatch.chdir(box)  # the path of a socket may not be long
        server.bind("socket")
    (box / "one").write_text("x")
    (box / "two").hardlink_to(box / "one")
    with pytest.raises(ValueError, match="FIFO"):
        read_beneath(folder, "fifo", 10)
    with pytest.raises(OSError, match=r"."):
        read_beneath(folder, "socket", 10)
    with pytest.raises(ValueError, match="second name"):
        read_beneath(folder, "one", 10)


def test_another_file_system_is_not_entered(folder: int) -> None:
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        with pytest.raises(OSError, match=r"[Ii]nvalid cross-device"):
            open_beneath(root, "proc/version")
    finally:
        os.close(root)


def test_harvest_reads_what_is_good_and_names_the_rest(folder: int, tmp_path: Path) -> None:
    box = tmp_path / "box"
    for name in ("inputs", "manuals", "sub"):
        (box / name).mkdir()
    (box / "inputs" / "data").write_text("not ours")
    (box / "answer.json").write_text("{}")
    (box / "sub" / "inputs").write_text("ours")
    (box / "big").write_bytes(bytes(200))
    (box / "link").symlink_to("answer.json")
    (box / "\x1b[31m").write_text("x")
    (Path(os.fsdecode(os.fsencode(box) + b"/\xff"))).write_text("x")
    found = harvest(folder, Caps(file=100, total=1000, count=100, depth=3))
    assert found.files == {"answer.json": b"{}", "sub/inputs": b"ours"}
    assert found.refused["link"] == "is a symbolic link"
    assert "too large" in found.refused["big"]
    assert sorted(found.refused) == sorted(["big", "link", "\\x1b[31m", "\\xff"])


def test_harvest_is_bounded(folder: int, tmp_path: Path) -> None:
    box = tmp_path / "box"
    for number in range(30):
        (box / f"f{number}").write_bytes(bytes(10 + number))
    found = harvest(folder, Caps(file=100, total=200, count=1000, depth=3))
    assert sum(map(len, found.files.values())) <= 200
    assert {"f0", "f1", "f2"} <= set(found.files), "small ones come first"
    few = harvest(folder, Caps(count=5))
    assert len(few.files) == 5
    assert "more than 5 names" in few.refused["."]


def test_what_is_asked_for_is_found_in_a_crowd_of_any_size(folder: int, tmp_path: Path) -> None:
    box = tmp_path / "box"
    for number in range(50):
        (box / f"f{number}").touch()
    (box / "answer.json").write_text("right")
    (box / "deck").mkdir()
    (box / "deck" / "in").write_text("mine")
    found = harvest(folder, Caps(count=5, listed=20, first=("answer.json", "deck/in", "missing", "f4*")))
    assert found.files["answer.json"] == b"right"
    assert found.files["deck/in"] == b"mine"
    assert len(found.files) <= 7
    assert "names" in found.refused["."]
    shown = harvest(folder, Caps(count=5, first=("f4*",)))
    assert all(name.startswith("f4") for name in shown.files)
    (box / "link").symlink_to("answer.json")
    assert "link" not in harvest(folder, Caps(first=("link",))).files


def test_harvest_needs_few_descriptors_whatever_is_there(folder: int, tmp_path: Path) -> None:
    for number in range(200):
        (tmp_path / "box" / f"d{number}").mkdir()
        (tmp_path / "box" / f"d{number}" / "x").write_text("x")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        most = max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 10
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
        found = harvest(folder, Caps())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (len(found.files), found.refused) == (200, {})


def test_harvest_of_deep_and_closed_folders(folder: int, tmp_path: Path) -> None:
    deep = tmp_path / "box"
    for _ in range(40):
        deep = deep / "d"
        deep.mkdir()
    (tmp_path / "box" / "shut").mkdir()
    (tmp_path / "box" / "shut" / "in").write_text("x")
    (tmp_path / "box" / "shut").chmod(0)
    found = harvest(folder, Caps(depth=4))
    assert found.files == {"shut/in": b"x"}
    assert list(found.refused.values()) == ["lies more than 4 folders deep"]
    (tmp_path / "box" / "shut").chmod(0o700)


def test_writing_never_follows_and_never_writes_into(folder: int, tmp_path: Path) -> None:
    box = tmp_path / "box"
    (box / "link").symlink_to(tmp_path / "secret.json")
    (box / "twin").hardlink_to(tmp_path / "secret.json")
    (box / "up").symlink_to("..")
    for name in ("link", "twin"):
        write_beneath(folder, name, b"new")
        assert read_beneath(folder, name, 10) == b"new"
    assert (tmp_path / "secret.json").read_text() == "secret"
    with pytest.raises(OSError, match=r"."):
        write_beneath(folder, "up/new", b"x")
    assert not (tmp_path / "new").exists()
    write_beneath(folder, "a/b/c", b"made")
    assert (box / "a" / "b" / "c").read_bytes() == b"made"


@given(st.text(max_size=30))
def test_a_relative_path_stays_below(path: str) -> None:
    try:
        found = relative(path, "/workspace")
    except ValueError:
        return
    assert found
    assert not found.startswith("/")
    assert ".." not in found.split("/")


@pytest.mark.parametrize("path", ["/etc/passwd", "..", "../x", "/workspace", "/workspace/..", "/workspacex/a", "."])
def test_what_lies_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="does not lie below"):
        relative(path, "/workspace")
