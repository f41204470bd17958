"""``matassay doctor``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from ._console import Format, claim_stdout
from ._needs import all_needs
from ._sandbox import sandbox_needs


def doctor(
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Say what is missing, and the command that mends it; exits with 1 if something needed is."""
    with claim_stdout() as out:
        needs = [*all_needs(), *sandbox_needs()]
        wrong = [n for n in needs if n.needed and not n.found]
        if format is Format.JSON:
            out.json({"schema_version": 1, "ok": not wrong, "needs": [asdict(n) for n in needs]})
        else:
            for need in needs:
                mark = "ok     " if need.found else "MISSING" if need.needed else "-      "
                out.lines(f"{mark} {need.name:<16} {need.detail}")
                if need.mend and not need.found:
                    out.lines(f"{'':24} {need.mend}")
            out.lines("", "Something needed is missing." if wrong else "Everything needed is there.")
        raise typer.Exit(1 if wrong else 0)
