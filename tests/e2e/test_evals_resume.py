"""A run that is killed in the middle goes on where it was."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from matassay import evals
from matassay.core import Outcome
from tests.unit.evals import toy

ROOT = Path(__file__).parents[2]

# The fourth episode never starts: the process tells that it has got there, and waits to be killed.
CHILD = """
import sys
import anyio
from matassay import evals
from tests.unit.evals import toy

start = toy.Lamp.start

async def hang(self):
    if self.scenario.seed == 3:
        print("reached", flush=True)
        await anyio.sleep_forever()
    await start(self)

toy.Lamp.start = hang
stdout, sys.stdout = sys.stdout, sys.stderr
print = lambda word, flush: (stdout.write(word + "\\n"), stdout.flush())
with toy.registered():
    evals.run([toy.LAMP], agent="reference", seeds=range(6), log_dir=sys.argv[1])
"""


def test_kill_and_resume(tmp_path, monkeypatch):
    logs, trace = tmp_path / "logs", tmp_path / "trace"
    monkeypatch.setenv("TOY_TRACE", str(trace))
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(logs)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        assert child.stdout.readline() == "reached\n"
    finally:
        child.kill()
        child.wait()
        child.stdout.close()

    with toy.registered():
        cut_off = evals.read_log_dir(logs)
        assert [r.seed for r in cut_off.results] == [0, 1, 2]
        assert cut_off.not_attempted == [f"toy/lamp/s01-switch-on@full#{s}" for s in (3, 4, 5)]

        seen = []
        results = evals.run(
            [toy.LAMP], agent="reference", seeds=range(6), log_dir=logs,
            progress=lambda done, total, result: seen.append((done, total, result.seed)),
        )  # fmt: skip
        folder = evals.read_log_dir(logs)
    assert seen == [(4, 6, 3), (5, 6, 4), (6, 6, 5)]
    assert [r.seed for r in results] == list(range(6))
    assert {(r.outcome, r.success) for r in results} == {(Outcome.SCORED, True)}
    assert sorted(folder.results, key=lambda r: r.seed) == results
    assert folder.not_attempted == []
    # The one that hung never got as far as the trace: each was started exactly once more than it was cut off.
    assert Counter(trace.read_text().splitlines()) == {f"start {seed}": 1 for seed in range(6)}
