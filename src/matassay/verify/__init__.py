"""Checks that a task is valid and that its verdict is: the same for every task of every suite.

`docs/explanation/trust.md` says what each check proves. ``matassay verify`` and ``tests/registry`` run them.
"""

from ._case import Case
from ._checks import CHECKS, Check, CheckRow
from ._finding import Finding
from ._run import run_check, select_checks, verify
from ._sandbox import AttackRow, SandboxReport, attack_rows, attack_sandbox
from ._trials import Trial, Trials

__all__ = [
    "CHECKS",
    "AttackRow",
    "Case",
    "Check",
    "CheckRow",
    "Finding",
    "SandboxReport",
    "Trial",
    "Trials",
    "attack_rows",
    "attack_sandbox",
    "run_check",
    "select_checks",
    "verify",
]
