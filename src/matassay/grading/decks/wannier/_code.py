"""Effective values of a Wannier90 input."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from matassay.core import Probe
from matassay.grading.decks._crystal import BOHR, STRUCTURE_NAMES, Crystal, Matrix, describe, element_of_label, spacings
from matassay.grading.decks._mesh import mesh_of_points
from matassay.grading.decks._model import NOTHING, Builder, Effective, Problem, open_deck
from matassay.grading.decks._numbers import fortran_integer, fortran_logical, fortran_real

from ._projections import Projection, by_element, expand, from_nnkp
from ._win import BadWin, Win, ranges, read_win

_DERIVED = (
    "k_mesh", "k_offset", "k_gamma", "k_spacing", "k_scheme", "n_kpoints", "projections", "n_projections", "disentangle",
    "k_path", "neighbours_per_k",
)  # fmt: skip

_WINDOWS = (
    "Error: param_read: check disentanglement windows (dis_win_max < dis_win_min)",
    "Error: param_read: check disentanglement frozen windows (dis_froz_max < dis_froz_min)",
)
"""Complaints that come only once there are band energies, so not from ``-pp``."""

_OUTPUT = (
    # (label in the .wout file, keyword, type)
    ("Number of Wannier Functions", "num_wann", "int"),
    ("Number of input Bloch states", "num_bands", "int"),
    ("Optimisation (0=memory, 3=speed)", "optimisation", "int"),
    ("Using Gamma-only branch of algorithms", "gamma_only", "bool"),
    ("Wavefunction spin channel", "spin", "str"),
    ("Total number of iterations", "num_iter", "int"),
    ("Number of CG steps before reset", "num_cg_steps", "int"),
    ("Trial step length for line search", "trial_step", "real"),
    ("Convergence window", "conv_window", "int"),
    ("Iterations between writing output", "num_print_cycles", "int"),
    ("Iterations between backing up to disk", "num_dump_cycles", "int"),
    ("Use guiding centre to control phases", "guiding_centres", "bool"),
    ("Use phases for initial projections", "use_bloch_phases", "bool"),
    ("Mixing ratio", "dis_mix_ratio", "real"),
    ("Plotting Wannier functions", "wannier_plot", "bool"),
    ("Plotting interpolated bandstructure", "bands_plot", "bool"),
    ("Plotting Fermi surface", "fermi_surface_plot", "bool"),
)


class Wannier90:
    """wannier90.x 3.1."""

    name = "wannier90"
    files: Mapping[str, bool] = {"win": True}

    def canonical(self, name: str, value: Any = None) -> tuple[str, Any]:
        """Keywords in lower case."""
        if name == "k_path" and isinstance(value, list):
            return name, [_segment(part) if isinstance(part, str) else part for part in value]
        if name in _DERIVED or name in STRUCTURE_NAMES or re.match(r"projections\.[A-Z][a-z]?\Z", name):
            return name, value
        keyword = name.lower()
        if keyword not in _types() and not _is_postw90(keyword):
            raise ValueError(f"Wannier90 has no keyword {name!r}")
        return keyword, _canonical(keyword, value)

    def probe(self, files: Mapping[str, bytes], support: Mapping[str, bytes]) -> Probe | None:
        """A run of ``wannier90.x -pp``, made to print all it uses."""
        text = open_deck(files, "win").text
        if text is None:
            return None
        staged = {"deck.win": _verbose(text).encode()}
        argv = ("wannier90.x", "-pp", "deck")
        return Probe("wannier90", argv, staged, ("deck.wout", "deck.nnkp", "deck.werr"), seconds=20.0)

    def effective(
        self,
        files: Mapping[str, bytes],
        collected: Mapping[str, Any] | None = None,
        context: Mapping[str, Any] = NOTHING,
    ) -> Effective:
        """Our own reading, overruled by Wannier90 where it could be asked."""
        builder, _, text, file = open_deck(files, "win")
        if text is None:
            return builder.build()
        try:
            win = read_win(text)
            _keywords(win, file, builder)
            _structure(win, file, builder)
            _points(win, file, builder)
        except BadWin as error:
            builder.complain(file, str(error), error.line)
        else:
            _projections(win, file, builder)
        if collected is not None:
            _ask_code(collected, file, builder)
        _derive(builder)
        return builder.build()


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("defaults.toml").read_text("utf-8"))


@cache
def _types() -> Mapping[str, str]:
    out = {}
    for name, value in _data()["keywords"].items():
        kind = value[5:] if isinstance(value, str) and value.startswith("none:") else type(value).__name__
        out[name] = {"float": "real"}.get(kind, kind)
    return out


@cache
def _units() -> Mapping[str, str]:
    return {name: unit for unit, names in _data()["units"].items() for name in names}


def _is_postw90(keyword: str) -> bool:
    return keyword.startswith(tuple(_data()["prefixes"]["postw90"]))


def _canonical(keyword: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if _types().get(keyword, "str") != "str":
        # YAML reads 1e-8 as text, and people write .true.: what Fortran would read is meant.
        return _value(keyword, value, 0)
    return value.strip().lower()


def _verbose(text: str) -> str:
    kept = [line for line in text.split("\n") if not re.match(r"\s*iprint\b", line, re.IGNORECASE)]
    return "\n".join([*kept, "iprint = 3", ""])


def _value(keyword: str, text: str, line: int) -> Any:
    kind = _types().get(keyword, "str")
    if kind == "range":
        try:
            return ranges(text)
        except BadWin as error:
            raise BadWin(f"Error parsing keyword {keyword}: {error}", line) from error
    if kind == "str":
        return _canonical(keyword, text.strip("'\""))
    words = text.replace(",", " ").split()
    convert = {
        "bool": fortran_logical,
        "int": fortran_integer,
        "real": fortran_real,
        "ints": fortran_integer,
        "reals": fortran_real,
    }
    values = [convert[kind](w) for w in words]
    needed = 3 if keyword == "mp_grid" else 1
    if len(values) < needed or None in values[: max(needed, 1 if kind in ("bool", "int", "real") else len(values))]:
        raise BadWin(f"Error: Problem reading keyword {keyword} in param_get_keyword", line)
    return values if kind in ("ints", "reals") else values[0]


def _keywords(win: Win, file: str, builder: Builder) -> None:
    for keyword, (text, line) in win.keywords.items():
        if keyword not in _types() and not _is_postw90(keyword):
            builder.complain(file, f"Unrecognised keyword(s) in input file: {keyword[:40]}", line)
            continue
        value = _value(keyword, text, line)
        builder.put(keyword, value, f"{file}, line {line}", unit=_units().get(keyword, ""), explicit=True)
    for keyword, default in _data()["keywords"].items():
        if not (isinstance(default, str) and default.startswith("none:")):
            source = "default, Wannier90 3.1 user guide"
            builder.default(keyword, default, source, unit=_units().get(keyword, ""))
    v = builder.values
    builder.default("conv_window", 5 if v["conv_noise_amp"] > 0 else -1, "default, by conv_noise_amp")
    builder.default("dist_cutoff_hc", v["dist_cutoff"], "default, dist_cutoff", unit="angstrom")
    for keyword in ("wannier_plot_supercell", "ws_search_size"):
        builder.default(keyword, [2, 2, 2], "default, Wannier90 3.1 user guide")
    for keyword in ("num_wann", "mp_grid"):
        if keyword not in v:
            builder.complain(file, f"Error: You must specify {keyword}")
    if "num_wann" in v:
        builder.default("num_bands", v["num_wann"], "default, num_wann")
        builder.default("slwf_num", v["num_wann"], "default, num_wann")
        if v["num_bands"] < v["num_wann"]:
            builder.complain(file, "Error: num_bands must be greater than or equal to num_wann")
    for keyword, why in (
        ("dis_win_min", "its default is the lowest band energy"),
        ("dis_win_max", "its default is the highest band energy"),
        ("dis_froz_max", "without it nothing is frozen"),
        ("dis_froz_min", "its default is dis_win_min, if dis_froz_max is given"),
        ("exclude_bands", "no bands are excluded"),
    ):
        builder.cannot_tell(keyword, why)
    if "dis_froz_max" in v and "dis_win_min" in v:
        builder.default("dis_froz_min", v["dis_win_min"], "default, dis_win_min", unit="eV")
    if "dis_win_min" in v and "dis_win_max" in v and v["dis_win_max"] < v["dis_win_min"]:
        builder.complain(file, _WINDOWS[0])
    if "dis_froz_max" in v and "dis_froz_min" in v and v["dis_froz_max"] < v["dis_froz_min"]:
        builder.complain(file, _WINDOWS[1])


def _vectors(lines: list[str], line: int, count: int, block: str) -> Matrix:
    rows = []
    for offset, text in enumerate(lines[:count]):
        values = [fortran_real(t) for t in text.replace(",", " ").split()[:3]]
        if len(values) < 3 or None in values:
            raise BadWin(f"Error: Problem reading block {block}: {text[:40]!r}", line + 1 + offset)
        rows.append([v for v in values if v is not None])
    if len(rows) < count or not rows:
        raise BadWin(f"Error: Wrong number of lines in block {block}", line)
    return np.array(rows)


def _unit(lines: list[str]) -> tuple[float, list[str]]:
    """Factor to angstrom, and the lines without the one that names the unit."""
    head = lines[0].strip().lower() if lines else ""
    if head.startswith(("bohr", "ang")):
        return (BOHR if head.startswith("bohr") else 1.0), lines[1:]
    return 1.0, lines


def _structure(win: Win, file: str, builder: Builder) -> None:
    if "unit_cell_cart" not in win.blocks:
        raise BadWin("Error: Did not find the cell information in the input file")
    lines, line = win.blocks["unit_cell_cart"]
    factor, rest = _unit(lines)
    lattice = _vectors(rest, line, 3, "unit_cell_cart") * factor
    if abs(np.linalg.det(lattice)) < 1e-9:
        raise BadWin("Error: the cell has no volume", line)
    builder.put("lattice", lattice, file)
    name = next((b for b in ("atoms_frac", "atoms_cart") if b in win.blocks), None)
    if name is None:
        return
    if "atoms_frac" in win.blocks and "atoms_cart" in win.blocks:
        raise BadWin("Error: Cannot specify both atoms_frac and atoms_cart")
    lines, line = win.blocks[name]
    factor, rest = _unit(lines) if name == "atoms_cart" else (1.0, lines)
    words = [text.split() for text in rest]
    symbols = tuple(element_of_label(w[0]) for w in words)
    builder.put("labels", [w[0].lower() for w in words], file)
    positions = _vectors([" ".join(w[1:4]) for w in words], line, len(words), name)
    if name == "atoms_cart":
        positions = positions * factor @ np.linalg.inv(lattice)
    for key, (value, unit) in describe(Crystal(lattice, symbols, positions)).items():
        builder.put(key, value, file, unit=unit, explicit=True)


def _points(win: Win, file: str, builder: Builder) -> None:
    if "kpoints" not in win.blocks:
        raise BadWin("Error: Did not find the kpoint information in the input file")
    lines, line = win.blocks["kpoints"]
    points = _vectors(lines, line, len(lines), "kpoints")
    builder.put("n_kpoints", len(points), file, explicit=True)
    grid = builder.values.get("mp_grid")
    if grid and len(points) != int(np.prod(grid)):
        raise BadWin("Error: number of k points does not match mp_grid", line)
    mesh = mesh_of_points(points, np.ones(len(points)))
    builder.put("k_scheme", "mesh" if mesh else "points", file)
    if mesh is not None:
        builder.put("k_mesh", list(mesh.counts), file, explicit=True)
        builder.put("k_offset", list(mesh.offset), file, explicit=True)
        builder.put("k_gamma", mesh.holds_gamma, file, explicit=True)
        builder.put(
            "k_spacing", spacings(builder.values["lattice"], mesh.counts), file, unit="1/angstrom", explicit=True
        )
        if grid and list(mesh.counts) != list(grid):
            builder.complain(file, "the k points make up another mesh than mp_grid", line)
    if builder.values["gamma_only"] and len(points) != 1:
        builder.complain(file, "Error: gamma_only is true, but number of k-points > 1")
    if builder.values["bands_plot"] and "kpoint_path" not in win.blocks:
        builder.complain(file, "A bandstructure plot has been requested but there is no kpoint_path block")
    if "kpoint_path" in win.blocks:
        builder.put("k_path", [_segment(t) for t in win.blocks["kpoint_path"][0]], file, explicit=True)


def _segment(line: str) -> str:
    """A line of a path with its numbers in one spelling.

    Examples
    --------
    >>> _segment("G 0 0.0 0   X 0.50 0 .5")
    'G 0 0 0 X 0.5 0 0.5'
    """
    numbers = ((word, fortran_real(word)) for word in line.split())
    return " ".join(word if number is None else f"{number + 0.0:.8g}" for word, number in numbers)


def _projections(win: Win, file: str, builder: Builder) -> None:
    if "projections" not in win.blocks:
        return
    lines, line = win.blocks["projections"]
    random = lines[:1] and lines[0].lower() == "random"
    if random:
        lines = lines[1:]
        builder.put("projections", ["random"], file, explicit=True)
        if not lines:
            return
    crystal, labels = builder.values.get("structure"), builder.values.get("labels", [])
    try:
        found = expand(lines, crystal, labels, builder.values["lattice"], bool(builder.values["spinors"]))
    except ValueError as error:
        builder.complain(file, f"projections: {error}", line)
        return
    _put_projections(found, file, builder)
    needed = builder.values.get("num_wann", 0)
    if len(found) < needed and not random and not builder.values["auto_projections"]:
        builder.complain(file, f"projections: too few functions are defined, {len(found)} of {needed}", line)
    if random:
        # What is listed is there; the rest of the functions are drawn anew in each run.
        for name in ("projections", "n_projections"):
            del builder.values[name]
            builder.cannot_tell(name, "some of the projections are random")


def _put_projections(found: list[Projection], source: str, builder: Builder) -> None:
    builder.put("projections", sorted(p.key() for p in found), source, explicit=True)
    builder.put("n_projections", len(found), source, explicit=True)
    crystal = builder.values.get("structure")
    if crystal is not None:
        for symbol, orbitals in by_element(found, crystal).items():
            builder.put(f"projections.{symbol}", orbitals, source, explicit=True)


def reason(collected: Mapping[str, Any]) -> str | None:
    """Why Wannier90 stopped, in its own words; None if it did not."""
    files = collected.get("files") or {}
    text = files.get("deck.werr") or ""
    if not text:
        tail = (files.get("deck.wout") or "").rpartition("Exiting.......")[2]
        if "Exiting......." not in (files.get("deck.wout") or ""):
            return None
        text = tail
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    lines = [s for s in lines if not s.startswith(("Wannier90: Execution", "Exiting", "STOP", "The following section"))]
    return " ".join(" ".join(lines).split())[:400] or "no reason given"


def _ask_code(collected: Mapping[str, Any], file: str, builder: Builder) -> None:
    files = collected.get("files") or {}
    output = files.get("deck.wout")
    if not (output or files.get("deck.werr")) or collected.get("exit_code") in (126, 127):
        return
    why = reason(collected)
    builder.problems = [
        Problem(p.file, p.line, p.text, p.failure, refuses=p.text in _WINDOWS) for p in builder.problems
    ]
    if why is not None:
        builder.problems.insert(0, Problem(file, None, why))
        return
    for label, keyword, kind in _OUTPUT:
        assert output is not None  # it is written before anything can go wrong without a .werr file
        match = re.search(rf"\|\s+{re.escape(label)}\s+:\s+(\S+)", output)
        if match is None:
            continue
        convert: Any = {"int": fortran_integer, "real": fortran_real, "bool": fortran_logical, "str": str}[kind]
        value = convert(match.group(1))
        if kind == "str":
            value = _canonical(keyword, value)
        mine = builder.values.get(keyword)
        # The report shows four digits of a real: ours is the better one unless it differs by more.
        near = kind == "real" and mine is not None and abs(mine - value) <= 1e-3 * abs(value)
        if mine != value and not near:
            source, unit = "wannier90.x 3.1", _units().get(keyword, "")
            builder.put(keyword, value, source, unit=unit, explicit=keyword in builder.explicit)
    if files.get("deck.nnkp"):
        found = from_nnkp(files["deck.nnkp"])
        # Random centres are drawn anew in each run: that they are random is all there is to say.
        if found and builder.values.get("projections") != ["random"]:
            _put_projections(found, "wannier90.x 3.1, .nnkp", builder)
        match = re.search(r"begin nnkpts\s+(\d+)", files["deck.nnkp"])
        if match:
            builder.put("neighbours_per_k", int(match.group(1)), "wannier90.x 3.1, .nnkp")


def _derive(builder: Builder) -> None:
    v = builder.values
    v.pop("lattice", None)
    v.pop("labels", None)
    if "num_wann" in v and "num_bands" in v:
        builder.put("disentangle", v["num_bands"] > v["num_wann"], "num_bands and num_wann")
