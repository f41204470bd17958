"""``matassay verify``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from matassay.core import SCHEMA_VERSION, select_tasks, suites

from ._console import Format, claim_stdout, counted, say, stderr_console
from ._needs import check_worlds, usable
from ._places import task_named
from ._sandbox import verify_sandbox

if TYPE_CHECKING:
    from matassay.verify import CheckRow


def verify(
    prefix: Annotated[
        list[str] | None,
        typer.Argument(metavar="PREFIX", callback=task_named, help="Task ids, or beginnings of ids.  [default: all]"),
    ] = None,
    check: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this check (A1, B3, ...); may be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Seeds 0 to N-1.")] = 3,
    max_parallel: Annotated[int, typer.Option(min=1, metavar="N", help="Episodes at a time.")] = 2,
    sandbox: Annotated[
        bool, typer.Option("--sandbox", help="Attack the sandbox of workspaces from inside instead, and print a table.")
    ] = False,
    kind: Annotated[
        str, typer.Option("--kind", metavar="KIND", help="With --sandbox: bubblewrap, sandlock or none.")
    ] = "auto",
    format: Annotated[Format, typer.Option(help="Table for people or JSON for scripts.")] = Format.TABLE,
) -> None:
    """Check that tasks are valid; exits with 1 if one is not."""
    with claim_stdout() as out:
        if sandbox:
            raise typer.Exit(0 if verify_sandbox(out, kind, format) else 1)
        tasks, _ = usable(select_tasks(prefix or []))
        from matassay.verify import CHECKS, select_checks
        from matassay.verify import verify as check_tasks

        chosen = select_checks(check)
        check_worlds(tasks, 0)
        say(f"{counted(len(chosen), 'check')} of {counted(len(tasks), 'task')}, {counted(seeds, 'seed')}")
        console = stderr_console()
        found = 0

        def progress(row: CheckRow) -> None:
            nonlocal found
            found += 1
            if not row.passed or console.is_terminal or found % 20 == 0:
                say(
                    f"[{found}] {row.task} seed {row.seed} {row.check}: {'ok' if row.passed else 'FAILED: ' + row.detail}"
                )

        rows = asyncio.run(check_tasks(tasks, [c.id for c in chosen], seeds, progress, max_parallel))
        failed = [r for r in rows if not r.passed]
        if format is Format.JSON:
            out.json({"schema_version": SCHEMA_VERSION, "ok": not failed, "rows": [r._asdict() for r in rows]})
        else:
            for c in chosen:
                own = [r for r in rows if r.check == c.id]
                good = sum(r.passed for r in own)
                out.lines(f"{'ok    ' if good == len(own) else 'FAILED'} {c.id:<4} {c.title:<55} {good} of {len(own)}")
            out.lines("", *(f"{r.task} seed {r.seed} {r.check} {CHECKS[r.check].title}: {r.detail}" for r in failed))
            out.lines(f"{counted(len(rows), 'result')}, {len(failed)} failed")
        broken = {id: why for s in suites().values() for id, why in s.broken.items()}
        raise typer.Exit(1 if failed or broken else 0)
