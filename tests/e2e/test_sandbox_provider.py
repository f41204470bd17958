"""Our sandbox as a provider of the engine: the engine's own conformance suite, and what agents need besides."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator

import pytest
from inspect_ai.util import SandboxEnvironment, SandboxUnavailableError, SandboxUserUnsupportedError
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from matassay.core import UnknownTask
from matassay.evals._sandbox import WorkspaceConfig, WorkspaceSandbox

# Checks that cannot pass, each with the reason.
CANNOT_PASS = {
    "test_exec_as_user": "adds a user as root; there is one user in the sandbox, and no root by design",
}


@pytest.fixture(scope="module")
async def shared() -> AsyncIterator[SandboxEnvironment]:
    config = WorkspaceConfig(files={"data.txt": "given"}, memory_gib=1)
    environments = await WorkspaceSandbox.sample_init("self check", config, {})
    try:
        yield environments["default"]
    finally:
        await WorkspaceSandbox.sample_cleanup("self check", config, environments, False)


@pytest.fixture
def sandbox_env(request: pytest.FixtureRequest, shared: SandboxEnvironment) -> SandboxEnvironment:
    reason = CANNOT_PASS.get(request.node.originalname)
    if reason is not None:
        request.node.add_marker(pytest.mark.xfail(reason=reason, strict=True, raises=SandboxUserUnsupportedError))
    return shared


async def test_what_is_left_in_the_background_lives_on(shared: SandboxEnvironment) -> None:
    await shared.exec(["sh", "-c", "sleep 321 > /dev/null 2>&1 &"])
    assert "sleep 321" in (await shared.exec(["ps", "ax"])).stdout
    assert (await shared.exec(["pkill", "-f", "sleep 321"])).success


async def test_there_is_one_user(shared: SandboxEnvironment) -> None:
    assert (await shared.exec(["whoami"], user="agent")).stdout == "agent\n"
    with pytest.raises(SandboxUserUnsupportedError, match="'root' is not there"):
        await shared.exec(["true"], user="root")


async def test_files_and_variables_reach_programs_and_keys_of_the_host_do_not(
    shared: SandboxEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "bait-of-the-host")
    done = await shared.exec(["sh", "-c", "cat inputs/data.txt; echo $A; env"], env={"A": "b c"})
    assert done.stdout.startswith("givenb c\n")
    assert "bait-of-the-host" not in done.stdout


async def test_a_person_can_get_in(shared: SandboxEnvironment) -> None:
    connection = await shared.connection()
    shell = subprocess.run(
        ["/bin/sh", "-c", connection.command],
        input=b"pwd; id -u; cat inputs/data.txt\n",
        capture_output=True,
        check=False,
    )
    assert shell.stdout == b"/workspace\n1000\ngiven", shell.stderr


async def test_nobody_waits_at_a_pipe(shared: SandboxEnvironment) -> None:
    await shared.exec(["mkfifo", "pipe"])
    for act in (shared.read_file("pipe"), shared.write_file("pipe", "x")):
        with pytest.raises(OSError, match="wait for ever"):
            await asyncio.wait_for(act, 60)


def test_its_settings_survive_a_log() -> None:
    config = WorkspaceConfig(files={"a": "b"}, memory_gib=0.5, processes=10, backend="bubblewrap")
    assert WorkspaceSandbox.config_deserialize(json.loads(config.model_dump_json())) == config
    with pytest.raises(UnknownTask):
        WorkspaceConfig(task="research/none").open()


async def test_a_sandbox_that_is_gone_is_unavailable_and_no_answer_of_a_program() -> None:
    config = WorkspaceConfig()
    environments = await WorkspaceSandbox.sample_init("gone", config, {})
    await WorkspaceSandbox.sample_cleanup("gone", config, environments, True)
    with pytest.raises(SandboxUnavailableError, match="has ended"):
        await environments["default"].exec(["true"])
