"""The persistent Python in a real sandbox."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from matassay.core import EnvironmentFailure
from matassay.worlds.workspace import open_workspace
from matassay.worlds.workspace.kernel import Kernel


@pytest.fixture(scope="module")
async def workspace():
    try:
        made = open_workspace(inputs={"data.txt": b"1 2 3"})
        await made.start()
    except EnvironmentFailure as failure:
        pytest.skip(f"no sandbox here: {failure}")
    yield made
    await made.close()


async def test_start_cells_death_and_interrupt(workspace):
    kernel = await Kernel.start(workspace)
    try:
        assert (await kernel.run("read_file('inputs/data.txt')")).value == "1 2 3"
        assert (await kernel.run("import os; os.getcwd(), os.environ['HOME']")).value == "('/workspace', '/workspace')"
        assert (await kernel.run("import sys; 'numpy' in sys.modules")).value == "False"
        assert (await kernel.run("import numpy; float(numpy.arange(4).sum())", timeout=60)).value == "6.0"
        result = await kernel.run("write_file('kept', 'x'); shell('sleep 60')", timeout=1)
        assert (result.interrupted, result.died) == (True, False)
        result = await kernel.run("import os; os._exit(3)")
        assert (result.died, result.exit_code) == (True, 3)
        assert (await kernel.run("read_file('kept')")).value == "x"
        result = await kernel.run("import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass", timeout=0.2)
        assert (result.interrupted, result.died) == (True, True)
        assert (await kernel.run("shell('ps -e -o comm= 2>/dev/null || echo none')")).ok
    finally:
        await kernel.close()


async def test_what_holds_the_pipes_of_a_dead_kernel_does_not_keep_ours_open(workspace):
    code = """
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True: os.write(1, b"x" * 65536)
    os._exit(0)
os._exit(3)
"""

    def ours() -> set[str]:
        found = set()
        for entry in Path("/proc/self/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # what other threads have open comes and goes
                found.add(str(entry.readlink()))
        return {target for target in found if target.startswith("pipe:")}

    before = ours()
    kernel = await Kernel.start(workspace)
    try:
        for _ in range(4):
            assert (await kernel.run(code, timeout=20)).died
        # Those of one process at most: whether its writer outlived it is a matter of luck.
        assert len(ours() - before) <= 4
    finally:
        await kernel.close()
    async with asyncio.timeout(20):  # they are closed in the next turns of the loop
        while ours() - before:
            await asyncio.sleep(0)
