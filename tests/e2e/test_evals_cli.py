"""The engine's own command finds the tasks and the offline provider through the entry point."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from matassay import evals
from matassay.worlds.workspace import missing


@pytest.mark.browser
def test_inspect_eval(tmp_path):
    inspect = shutil.which("inspect", path=str(Path(sys.executable).parent))
    assert inspect
    command = [
        inspect, "eval", "matassay/instruments", "-T", "instrument=xrd", "-T", "tasks=instruments/xrd/s01",
        "--model", "reference/null", "--log-dir", str(tmp_path), "--display", "none", "--log-format", "eval",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (result,) = evals.read_results(tmp_path)
    assert (result.id, result.agent, result.success) == ("instruments/xrd/s01-select-specimen", "null", False), (
        json.dumps(result.error)
    )


def test_a_scripted_agent_acts_in_a_workspace_whatever_the_loop(tmp_path):
    """As the words of the task have it: without naming an agent."""
    if lacking := missing(["phonopy"]):
        pytest.skip("; ".join(map(str, lacking)))
    inspect = shutil.which("inspect", path=str(Path(sys.executable).parent))
    assert inspect
    command = [
        inspect, "eval", "matassay/research", "-T", "tasks=research/202603_si_ge_interface/202603_016",
        "--model", "reference/reference", "--log-dir", str(tmp_path), "--display", "none", "--log-format", "eval",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (result,) = evals.read_results(tmp_path)
    assert (result.agent, result.success) == ("reference", True), json.dumps(result.error)
