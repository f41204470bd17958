"""Defaults of VASP that follow from other tags, from the structure or from the files at hand.

Source unless said otherwise: VASP Wiki, page of the tag in its state of 24 June 2026 (VASP 6.5), compared with the
OUTCAR of public runs where it prints the tag.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from matassay.grading.decks._model import Builder

from ._poscar import Poscar
from ._values import MANY_BODY

_ALGORITHM_NUMBER = {
    "normal": 38,
    "veryfast": 48,
    "fast": 68,
    "all": 58,
    "damped": 53,
    "exact": 90,
    "subrot": 4,
    "eigenval": 3,
    "none": 2,
}
_ALGORITHM_NAME = {
    38: "normal",
    48: "veryfast",
    68: "fast",
    58: "all",
    53: "damped",
    90: "exact",
    4: "subrot",
    3: "eigenval",
    2: "none",
}

_OPTIMISE_REAL_SPACE = {
    "low": -1e-2, "medium": -2e-3, "normal": -5e-4, "single": -5e-4, "singlen": -5e-4, "accurate": -2.5e-4,
    "high": -4e-4,
}  # fmt: skip
_POINTS_OF_REAL_SPACE = {"low": 2 / 3, "high": 1.5}
"""For LREAL = On; 1.0 with every other PREC."""


def apply_rules(
    builder: Builder, poscar: Poscar | None, files: Mapping[str, bytes], context: Mapping[str, Any]
) -> None:
    """Fill in what follows; order matters, since a later default rests on an earlier one."""
    rules = _Rules(builder, poscar, files, context)
    for step in (
        rules.start,
        rules.algorithm,
        rules.spin,
        rules.ions,
        rules.exchange,
        rules.response,
        rules.hubbard,
        rules.potentials,
    ):
        step()


class _Rules:
    def __init__(
        self, builder: Builder, poscar: Poscar | None, files: Mapping[str, bytes], context: Mapping[str, Any]
    ) -> None:
        self.b = builder
        self.v = builder.values
        self.poscar = poscar
        self.files = files
        self.context = context

    def follow(self, name: str, value: Any, why: str, unit: str = "") -> None:
        self.b.default(name, value, f"default, {why}", unit=unit)

    def override(self, name: str, value: Any, why: str) -> None:
        """Set what VASP uses although the deck says otherwise; it stays the deck's own choice."""
        self.b.put(name, value, why, explicit=name in self.b.explicit)

    def algorithm(self) -> None:
        if "IALGO" in self.b.explicit and "ALGO" not in self.b.explicit:
            number = self.v["IALGO"]
            self.v.pop("ALGO", None)
            self.b.put("ALGO", _ALGORITHM_NAME.get(number, f"ialgo {number}"), "IALGO")
        else:
            number = _ALGORITHM_NUMBER.get(self.v["ALGO"])
            if number is not None:
                self.override("IALGO", number, "follows from ALGO")
        random = self.v["INIWAV"] == 1
        delay = -12 if random and self.v.get("IALGO") in (48, 50) else -5
        self.follow("NELMDL", delay if self.v["ISTART"] == 0 else 0, "by the algorithm and ISTART")
        self.follow("AMIN", min(0.1, self.v["AMIX"], self.v["AMIX_MAG"]), "min(0.1, AMIX, AMIX_MAG)")
        if "NBANDS" in self.v and self.v["NBANDS"] > 0:
            self.follow("EBREAK", self.v["EDIFF"] / self.v["NBANDS"] / 4, "EDIFF / NBANDS / 4", unit="eV")
        self.b.cannot_tell("EBREAK", "it follows from NBANDS, which is not set")

    def spin(self) -> None:
        if self.v["LSORBIT"]:
            self.override("LNONCOLLINEAR", True, "LSORBIT switches it on")
        self.follow("LNONCOLLINEAR", False, "VASP Wiki")
        spinor = self.v["LNONCOLLINEAR"]
        if spinor and "ISPIN" in self.b.explicit and self.v["ISPIN"] == 2 and "MAGMOM" in self.b.explicit:
            text = "ISPIN = 2 with MAGMOM in a noncollinear calculation: VASP 6.5 stops, earlier versions ignore ISPIN"
            self.b.complain("INCAR", text, refuses=False)
        if self.v["ISPIN"] not in (1, 2):
            self.b.complain("INCAR", f"ISPIN = {self.v['ISPIN']} is neither 1 nor 2")
        magnetic = spinor or self.v["ISPIN"] == 2
        if spinor:
            self.override("ISPIN", 1, "in a noncollinear calculation VASP sets it")
        if not magnetic:
            # VASP does not even look at MAGMOM then.
            self.v.pop("MAGMOM", None)
            for name in ("MAGMOM", "total_moment"):
                self.b.cannot_tell(name, "ISPIN = 1 without spin-orbit coupling: VASP does not look at MAGMOM")
            return
        if self.poscar is None:
            self.b.cannot_tell("MAGMOM", "there is no readable POSCAR")
            return
        sites = sum(self.poscar.counts)
        needed = sites * (3 if spinor else 1)
        self.follow("MAGMOM", [1.0] * needed, "1 for each", unit="muB")
        moments = self.v["MAGMOM"]
        if len(moments) < needed:
            text = f"Error reading item 'MAGMOM' from file INCAR: {len(moments)} values where {needed} are needed"
            self.b.complain("INCAR", text)
        self.v["MAGMOM"] = moments[:needed]
        if spinor:
            self.b.cannot_tell("total_moment", "the moments are vectors")
        else:
            self.b.put("total_moment", sum(moments[:needed]), "MAGMOM", unit="muB")

    def start(self) -> None:
        self.follow("ISTART", 1 if "WAVECAR" in self.files else 0, "by whether there is a WAVECAR")
        self.follow("ICHARG", 0 if self.v["ISTART"] else 2, "by ISTART")

    def ions(self) -> None:
        v = self.v
        self.follow("IBRION", -1 if v["NSW"] in (0, -1) else 0, "by NSW")
        moves = v["IBRION"]
        self.follow("ISIF", 0 if moves == 0 or v["LHFCALC"] else 2, "by IBRION and LHFCALC")
        self.follow("EDIFFG", v["EDIFF"] * 10, "10 EDIFF")
        self.follow("NFREE", 1 if moves == 2 else 0, "by IBRION")
        if moves == 0 and "POTIM" not in v:
            self.b.complain("INCAR", "molecular dynamics (IBRION = 0) needs POTIM", refuses=v["NSW"] > 0)
            self.b.cannot_tell("POTIM", "molecular dynamics has no default time step")
        # The wiki: 0.015 for finite differences if the step given is unreasonably large; 0.5 for relaxations.
        self.follow("POTIM", 0.015 if moves in (5, 6) else 0.5, "by IBRION")
        learning = moves == 0 and v["ML_LMLFF"]
        self.follow("IWAVPR", 12 if moves == 0 and not learning else 11 if moves in (0, 1, 2, 3) else 0, "by IBRION")
        self.follow("TEEND", v["TEBEG"], "TEBEG", unit="K")
        self.follow("KBLOCK", v["NSW"], "NSW")
        self.follow("WEIMIN", 0.001 if moves >= 0 else 0.0, "by IBRION")
        # Convenient for requirements: what really moves, whichever tags say so.
        if moves not in (-1, 0, 1, 2, 3, 5, 6, 7, 8):
            for name in ("motion", "cell_moves", "ions_move"):
                self.b.cannot_tell(name, f"with IBRION = {moves} ions move by other rules")
            return
        static = (v["NSW"] <= 0 and moves in (-1, 0, 1, 2, 3)) or moves == -1
        relaxation = moves in (1, 2, 3) and v["NSW"] > 0
        kind = "static" if static else "relaxation" if relaxation else "dynamics" if moves == 0 else "response"
        self.b.put("motion", kind, "NSW and IBRION")
        self.b.put("cell_moves", relaxation and v["ISIF"] in (3, 4, 5, 6, 7, 8), "ISIF")
        self.b.put("ions_move", relaxation and v["ISIF"] in (0, 1, 2, 3, 4, 8), "ISIF")

    def exchange(self) -> None:
        v = self.v
        if v.get("LVDW") and "IVDW" not in self.b.explicit:
            # VASP Wiki, page IVDW (revision of 2022): the switch of earlier versions still does this.
            self.b.put("IVDW", 10, "LVDW switches D2 on", explicit=True)
        hybrid = v["LHFCALC"]
        self.follow("ISYM", 3 if hybrid else 2, "PAW, by LHFCALC")
        exact = 1.0 if v["LRHFCALC"] else 0.25 if hybrid else 0.0
        self.follow("AEXX", exact, "by LHFCALC and LRHFCALC")
        for name in ("ALDAX", "AGGAX", "AMGGAX"):
            self.follow(name, 1.0 - v["AEXX"] if hybrid else 1.0, "1 - AEXX if LHFCALC")
        for name in ("ALDAC", "AGGAC", "AMGGAC"):
            self.follow(name, 0.0 if hybrid and v["AEXX"] == 1.0 else 1.0, "by LHFCALC and AEXX")
        low_scaling_rpa = v.get("ALGO") == "acfdtr"
        grid = "fast" if low_scaling_rpa else "single" if v["PREC"] in ("single", "singlen") else "normal"
        self.follow("PRECFOCK", grid, "by ALGO and PREC")
        if self.poscar is not None and v["LREAL"] in ("auto", "on"):
            automatic = v["LREAL"] == "auto"
            value = _OPTIMISE_REAL_SPACE[v["PREC"]] if automatic else _POINTS_OF_REAL_SPACE.get(v["PREC"], 1.0)
            self.follow("ROPT", [value] * len(self.poscar.counts), "by LREAL and PREC")

    def response(self) -> None:
        v = self.v
        self.follow("EFIELD_PEAD", [0.01 if v["LCALCEPS"] else 0.0] * 3, "by LCALCEPS")
        if "NOMEGA" in v or v.get("ALGO") not in MANY_BODY:
            self.follow("LSPECTRAL", v.get("NOMEGA", 0) > 2, "by NOMEGA")
        self.b.cannot_tell("LSPECTRAL", "it follows from NOMEGA, which is not set")
        if "gw" not in str(v.get("ALGO")):
            self.follow("CSHIFT", 0.1, "by ALGO", unit="eV")
        self.b.cannot_tell("CSHIFT", "in GW calculations it follows from OMEGAMAX")

    def hubbard(self) -> None:
        v = self.v
        if self.poscar is None:
            for name in ("LDAUL", "LDAUU", "LDAUJ"):
                self.b.cannot_tell(name, "there is no readable POSCAR")
            return
        kinds = len(self.poscar.counts)
        self.follow("LANGEVIN_GAMMA", [0.0] * kinds, "the same for each species")
        for name, value in (("LDAUL", 2), ("LDAUU", 0.0), ("LDAUJ", 0.0)):
            self.follow(name, [value] * kinds, "the same for each species", unit="" if name == "LDAUL" else "eV")
            if v["LDAU"] and len(v[name]) < kinds:
                text = f"Error reading item '{name}' from file INCAR: {len(v[name])} values where {kinds} are needed"
                self.b.complain("INCAR", text)
                return
            v[name] = v[name][:kinds]
        if v["LDAU"] and v["LDAUTYPE"] not in (1, 2, 3, 4):
            self.b.complain("INCAR", f"LDAUTYPE = {v['LDAUTYPE']} is none of 1, 2, 3, 4")
        if len(v["LDAUL"]) < kinds or len(v["LDAUU"]) < kinds or len(v["LDAUJ"]) < kinds:
            return
        per_group = []
        for quantum, u, j in zip(v["LDAUL"], v["LDAUU"], v["LDAUJ"], strict=True):
            acts = bool(v["LDAU"]) and quantum >= 0
            per_group.append((quantum if v["LDAU"] else -1, *((u, j, u - j) if acts else (0.0, 0.0, 0.0))))
        for symbol, groups in _by_species(self.poscar).items():
            for at, name in enumerate(("LDAUL", "LDAUU", "LDAUJ", "U_eff")):
                found = [per_group[index][at] for index in groups]
                shared = found[0] if len(set(found)) == 1 else found
                unit = "" if name == "LDAUL" else "eV"
                self.b.put(f"{name}.{symbol}", shared, "LDAU, LDAUL, LDAUU, LDAUJ", unit=unit)

    def potentials(self) -> None:
        """What the POTCAR files would tell, as far as the task does."""
        species = list(dict.fromkeys(self.poscar.crystal.species)) if self.poscar else []
        cutoffs = self.context.get("ENMAX", {})
        labels = self.v.get("potcar", species)
        try:
            if labels and "ENCUT" not in self.v and cutoffs and self.v["PREC"] != "low":
                best = max(float(cutoffs[label]) for label in labels)
                factor = 1.3 if self.v["PREC"] == "high" else 1.0
                self.follow("ENCUT", best * factor, "largest ENMAX of the POTCAR", unit="eV")
            valences = self.context.get("ZVAL", {})
            if self.poscar and valences and len(labels) == len(self.poscar.counts):
                total = sum(n * float(valences[label]) for n, label in zip(self.poscar.counts, labels, strict=True))
                self.follow("NELECT", total, "valence electrons of the POTCAR", unit="e")
                self.b.put("charge", total - float(self.v["NELECT"]), "NELECT against the POTCAR", unit="e")
                # Two electrons a band, in each spin channel the half; one where bands are spinors.
                room = self.v.get("NBANDS", math.inf) * (1 if self.v["LNONCOLLINEAR"] else 2)
                if 0 < room < float(self.v["NELECT"]):
                    text = f"NBANDS = {self.v['NBANDS']}: the number of bands is not sufficient to hold all electrons"
                    self.b.complain("INCAR", text)
        except KeyError as missing:
            self.b.cannot_tell("ENCUT", f"nothing is known of the POTCAR {missing}")
        self.b.cannot_tell("ENCUT", "it is not set, and its default is in the POTCAR, which is no part of the deck")
        self.b.cannot_tell("NELECT", "it is not set, and its default is in the POTCAR, which is no part of the deck")
        functional = {"PBE": "pe", "LDA": "ca", "PW91": "91"}.get(str(self.context.get("functional", "")).upper())
        if self.v["METAGGA"] != "none" or "XC" in self.v:
            self.b.cannot_tell("GGA", "METAGGA or XC chooses the functional")
        elif functional is not None:
            self.follow("GGA", functional, "functional of the POTCAR")
        if "GGA" not in self.b.unknown:
            self.b.cannot_tell("GGA", "it is not set, and its default is in the POTCAR, which is no part of the deck")


def _by_species(poscar: Poscar) -> dict[str, list[int]]:
    """Indices of each species' groups; where an element has several, ``Cr1``, ``Cr2``, ... are the single ones."""
    symbols, at = [], 0
    for count in poscar.counts:
        symbols.append(poscar.crystal.species[at])
        at += count
    out: dict[str, list[int]] = {}
    for index, symbol in enumerate(symbols):
        out.setdefault(symbol, []).append(index)
        if symbols.count(symbol) > 1:
            out[f"{symbol}{symbols[: index + 1].count(symbol)}"] = [index]
    return out
