"""Our sandbox as a provider of the engine, by the name ``matassay``.

For agents that the engine runs itself (its tools, command line agents): they get the same walls, limits and files as
our own. Everything is done by programs inside, under the agent's user; there is no other.
"""

from __future__ import annotations

import os
from typing import Any, Literal, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxConnection,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel, Field

from matassay.core import EnvironmentFailure, find_task
from matassay.worlds.workspace import HOME, Caps, Limits, Workspace, WorkspaceWorld, open_workspace

#: Name of the provider.
PROVIDER = "matassay"

_GIB = 1 << 30

#: The only user inside, by all its names.
_USERS = (None, "agent", "1000")

# Exit codes of the two scripts below, apart from those of the programs in them.
_ABSENT, _FOLDER, _DENIED, _LARGE, _PIPE = 40, 41, 42, 43, 44

_WRITE = f"""
case "$1" in */*) mkdir -p -- "$(dirname -- "$1")" || exit;; esac
[ ! -d "$1" ] || exit {_FOLDER}
[ ! -p "$1" ] || exit {_PIPE}
[ ! -e "$1" ] || [ -w "$1" ] || exit {_DENIED}
exec cat > "$1"
"""

_READ = f"""
[ -e "$1" ] || exit {_ABSENT}
[ ! -d "$1" ] || exit {_FOLDER}
[ ! -p "$1" ] || exit {_PIPE}
[ -r "$1" ] || exit {_DENIED}
[ "$(stat -L -c %s -- "$1")" -le "$2" ] || exit {_LARGE}
exec cat -- "$1"
"""


class WorkspaceConfig(BaseModel, frozen=True):
    """What a sandbox holds and may use. Stored in the log."""

    task: str | None = None
    """Task whose inputs, manuals and limits it gets."""
    seed: int = 0
    """Seed of the task's inputs."""
    files: dict[str, str] = Field(default_factory=dict)
    """Further files of ``/workspace/inputs``, as text."""
    backend: str = "auto"
    """Kind of sandbox, see `open_workspace`."""
    memory_gib: float | None = None
    """Memory of all processes together; the task's by default, else that of `Limits`."""
    disk_gib: float | None = None
    """Size of ``/workspace``; likewise."""
    processes: int | None = None
    """Processes at the same time; likewise."""

    def __hash__(self) -> int:
        """The engine keeps configurations in sets."""
        return hash(self.model_dump_json())

    def open(self) -> Workspace:
        """A sandbox that is still to be started."""
        inputs: dict[str, Any] = {name: text.encode() for name, text in self.files.items()}
        manuals: dict[str, Any] = {}
        limits, caps = Limits(), Caps()
        if self.task is not None:
            task = find_task(self.task)
            world = task.open_world(task.scenario(self.seed))
            if not isinstance(world, WorkspaceWorld):
                raise EnvironmentFailure(f"{self.task} is done on a screen, not in a workspace")
            inputs, manuals, limits = {**world.inputs, **inputs}, dict(world.manuals), world.limits
            caps = world.caps
        limits = Limits(
            memory=limits.memory if self.memory_gib is None else int(self.memory_gib * _GIB),
            disk=limits.disk if self.disk_gib is None else int(self.disk_gib * _GIB),
            processes=self.processes or limits.processes,
            tmp=limits.tmp,
            file=limits.file,
            open_files=limits.open_files,
            cpu_seconds=limits.cpu_seconds,
        )
        return open_workspace(inputs=inputs, manuals=manuals, limits=limits, backend=self.backend, caps=caps)


@sandboxenv(name=PROVIDER)
class WorkspaceSandbox(SandboxEnvironment):
    """One sandbox of one sample; programs left in the background live until the sample ends."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self.workspace = workspace
        """The sandbox itself, for whoever collects the evidence."""

    @classmethod
    def default_concurrency(cls) -> int | None:
        """As many as there are processors: samples calculate."""
        return os.cpu_count()

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """As it was stored in a log."""
        return WorkspaceConfig(**config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Make the sandbox of a sample."""
        if config is not None and not isinstance(config, WorkspaceConfig):
            raise EnvironmentFailure(
                f"the sandbox {PROVIDER!r} is configured by a WorkspaceConfig, not by {config!r:.80}"
            )
        workspace = (config or WorkspaceConfig()).open()
        await workspace.start()
        return {"default": cls(workspace)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Leave nothing behind, however the sample ended."""
        for environment in environments.values():
            await environment.as_type(WorkspaceSandbox).workspace.close()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,  # noqa: A002 - the engine's name
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,  # noqa: ASYNC109 - the engine's interface
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a program to its end.

        Raises
        ------
        TimeoutError
            If it took longer than ``timeout`` seconds; it and all that it started are dead then.
        PermissionError
            If it is no program.
        SandboxUserUnsupportedError
            For any user but the one that there is.
        SandboxUnavailableError
            If the sandbox is gone.
        """
        if user not in _USERS:
            raise SandboxUserUnsupportedError(f"there is one user in this sandbox, agent; {user!r} is not there")
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        done = await self._run(
            cmd, input=_data(input), cwd=_place(cwd or HOME), env=env, timeout=timeout, output_limit=limit + 1
        )
        if done.timed_out:
            raise TimeoutError(f"{cmd[0]} took longer than {timeout} s")
        stdout, stderr = (data.decode(errors="replace") for data in (done.stdout, done.stderr))
        if done.exit_code == 126 and not stdout and stderr == f"{cmd[0]}: Permission denied\n":
            raise PermissionError(stderr.strip())
        assert done.exit_code is not None
        return ExecResult(done.exit_code == 0, done.exit_code, stdout, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file, and the folders that it needs.

        Raises
        ------
        OSError
            If the agent could not write it.
        """
        done = await self._run(["/bin/sh", "-c", _WRITE, "sh", _place(file)], input=_data(contents))
        _check(done.exit_code, file, done.stderr)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file.

        Raises
        ------
        OSError
            If the agent could not read it.
        OutputLimitExceededError
            If it is too large.
        UnicodeDecodeError
            If it is to be text and is not.
        """
        limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
        done = await self._run(["/bin/sh", "-c", _READ, "sh", _place(file), str(limit)], output_limit=limit)
        # It may have grown between the look at its size and the reading.
        if done.exit_code == _LARGE or done.truncated:
            raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
        _check(done.exit_code, file, done.stderr)
        return done.stdout.decode("utf-8") if text else done.stdout

    async def connection(self, *, user: str | None = None) -> SandboxConnection:
        """How a person gets in, to look: the shell is as free as its user outside the sandbox's limits.

        Raises
        ------
        NotImplementedError
            For kinds of sandboxes that cannot be entered.
        """
        pid = getattr(self.workspace, "pid", 0)
        if not pid:
            raise NotImplementedError(f"the sandbox {self.workspace.label!r} cannot be entered")
        enter = f"nsenter --target {pid} --user --mount --pid --net --ipc --uts --preserve-credentials"
        if os.geteuid() == 0:
            enter = f"nsenter --target {pid} --user --mount --pid --net --ipc --uts --setuid 1000 --setgid 1000"
        command = f"{enter} --wdns={HOME} /usr/bin/env -i HOME={HOME} PATH=$PATH /bin/bash"
        return SandboxConnection(type=PROVIDER, command=command)

    def default_polling_interval(self) -> float:
        """Time between two looks at a program in the background, s."""
        return 0.2

    async def _run(self, argv: list[str], **options: Any) -> Any:
        try:
            return await self.workspace.run(argv, **options)
        except EnvironmentFailure as error:
            raise SandboxUnavailableError(str(error)) from error


def _place(path: str) -> str:
    return path if path.startswith("/") else f"{HOME}/{path}"


def _data(contents: str | bytes | None) -> bytes:
    return contents.encode() if isinstance(contents, str) else contents or b""


def _check(code: int | None, file: str, stderr: bytes) -> None:
    said = stderr.decode(errors="replace").strip()
    if code == _ABSENT:
        raise FileNotFoundError(f"{file}: No such file or directory")
    if code == _FOLDER:
        raise IsADirectoryError(f"{file}: Is a directory")
    if code == _PIPE:
        raise OSError(f"{file}: is a pipe, at which one could wait for ever")
    if code == _DENIED or (code != 0 and "Permission denied" in said):
        raise PermissionError(f"{file}: Permission denied")
    if code != 0:
        raise OSError(f"{file}: {said or f'exit code {code}'}")
