"""Structure files of any known format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ._cif import read_cif
from ._crystal import Crystal, StructureUnreadable
from ._lammps import read_lammps
from ._poscar import read_poscar
from ._xyz import read_extxyz

#: Larger files are not read, bytes.
LARGEST: Final = 4_000_000

_READERS: Final[Mapping[str, Callable[[str, Sequence[str] | None], Crystal]]] = {
    "poscar": read_poscar,
    "cif": lambda text, _: read_cif(text),
    "extxyz": lambda text, _: read_extxyz(text),
    "lammps-data": read_lammps,
}
FORMATS: Final = tuple(_READERS)

_ENDINGS: Final = {
    ".cif": "cif",
    ".xyz": "extxyz",
    ".extxyz": "extxyz",
    ".vasp": "poscar",
    ".poscar": "poscar",
    ".contcar": "poscar",
    ".data": "lammps-data",
    ".lmp": "lammps-data",
    ".lammps": "lammps-data",
}


def format_of(name: str) -> str | None:
    """The format that a file's name tells, or None.

    Examples
    --------
    >>> format_of("cells/POSCAR-001"), format_of("si.cif"), format_of("data.si"), format_of("notes.txt")
    ('poscar', 'cif', 'lammps-data', None)
    """
    last = name.rsplit("/", 1)[-1].lower()
    if last.startswith(("poscar", "contcar", "sposcar")):
        return "poscar"
    ending = "." + last.rpartition(".")[2]
    return _ENDINGS.get(ending) or ("lammps-data" if last.startswith("data.") else None)


def read_structure(
    data: bytes, name: str, *, format: str | None = None, species: Sequence[str] | None = None
) -> Crystal:
    """Read a structure from the bytes of a file.

    Parameters
    ----------
    data : bytes
        Content; nothing in it is evaluated.
    name : str
        File name, which tells the format unless it is given and begins every error.
    format : str, optional
        One of `FORMATS`.
    species : sequence of str, optional
        Elements of the groups or types of files that do not name them.

    Raises
    ------
    StructureUnreadable
        If it is not a structure that can be compared; the text says where and why.
    """
    chosen = format or format_of(name) or ""
    if chosen not in _READERS:
        raise StructureUnreadable(f"{name}: the format is not known by the name; known are {', '.join(FORMATS)}")
    if len(data) > LARGEST:
        raise StructureUnreadable(f"{name}: {len(data)} bytes; {LARGEST} at most are read")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StructureUnreadable(f"{name}: byte {error.start} is not UTF-8 text") from error
    if "\0" in text:
        raise StructureUnreadable(f"{name}: it is no text file")
    try:
        return _READERS[chosen](text, species)
    except ValueError as error:  # ours, and of numpy's on numbers that no reader foresaw: a grader must not crash
        raise StructureUnreadable(f"{name}: {error}") from error
