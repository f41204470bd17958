"""The sandbox on the command line: what ``matassay verify --sandbox`` prints, and what ``doctor`` says of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING

from matassay.core import SCHEMA_VERSION, MatAssayError

from ._console import Format, Out, say
from ._needs import Need

if TYPE_CHECKING:
    from matassay.verify import AttackRow

_MARKS = {True: "held  ", False: "OPEN  ", None: "-     "}


def verify_sandbox(out: Out, backend: str, format: Format) -> bool:
    """Try the attacks on a sandbox of this machine and print a table; whether it held.

    Parameters
    ----------
    out : Out
        Where results go.
    backend : str
        Kind of sandbox.
    format : Format
        Table for people or JSON for scripts.
    """
    from matassay.verify import attack_sandbox

    def progress(row: AttackRow) -> None:
        if row.held is False:
            say(f"OPEN: {row.attack}: {row.seen}")

    report = asyncio.run(attack_sandbox(backend, progress))
    if format is Format.JSON:
        out.json(
            {
                "schema_version": SCHEMA_VERSION,
                "ok": report.holds,
                "sandbox": report.label,
                "facts": dict(report.facts),
                "rows": [row._asdict() for row in report.rows],
            }
        )
        return report.holds
    group = ""
    for row in report.rows:
        if row.group != group:
            group = row.group
            out.lines("", group)
        out.lines(
            f"  {_MARKS[row.held]} {row.name:<24} {row.attack}", f"{'':34}expected: {row.expected}; seen: {row.seen}"
        )
    count = {held: sum(row.held is held for row in report.rows) for held in (True, False, None)}
    shown = {key: value for key, value in report.facts.items() if not key.startswith("workspace ")}
    out.lines(
        "",
        f"{report.label}: {count[True]} attacks held, {count[False]} open, {count[None]} could not be tried",
        *(f"  {key}: {value}" for key, value in shown.items()),
    )
    return report.holds


def sandbox_needs() -> Iterator[Need]:
    """The lines of ``matassay doctor``: whether there can be a sandbox, and what it has to work with."""
    from matassay.worlds.workspace import bare_software, find_software, missing, probe_sandbox
    from matassay.worlds.workspace.software import BUILD, PROGRAMS

    try:
        facts = asyncio.run(probe_sandbox(bare_software()))
        detail = f"{facts['sandbox']}; limits: {facts['limits']}; user: {facts['user']}"
        yield Need("sandbox", True, detail, needed=False)
    except MatAssayError as error:
        text = str(error)
        cure = next((line.partition("cure: ")[2] for line in text.splitlines() if "cure: " in line), "")
        first = text.splitlines()[0] + "; needed for research tasks"
        yield Need("sandbox", False, first, cure.rstrip(";"), needed=False)
    try:
        software = find_software()
        found = [
            f"{name} {software.versions[name]}" for name in ("python", "numpy", "scipy") if name in software.versions
        ]
        yield Need("workspace", True, f"{', '.join(found)} ({software.prefix})", needed=False)
    except MatAssayError as error:
        first = str(error).splitlines()[0] + "; needed for research tasks"
        yield Need("workspace", False, first, BUILD, needed=False)
    absent = {need.name: need for need in missing(PROGRAMS)}
    for name in PROGRAMS:
        if name in absent:
            yield Need(name, False, "not installed; its research tasks are skipped", absent[name].cure, needed=False)
        else:
            yield Need(name, True, "installed", needed=False)
