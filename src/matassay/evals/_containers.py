"""Workspaces in containers that the engine makes: its sandboxes ``docker`` and ``k8s``.

The engine starts a container from our files (`matassay.worlds.workspace.images`), and all that it offers then is to run
a command inside. `EngineWorkspace` makes a workspace of that, for any of the engine's sandboxes, with the help of a
small program that it hands in with every command.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import importlib
import importlib.util
import json
import math
import os
import secrets
import shutil
import stat
import subprocess
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from inspect_ai.util import SandboxEnvironment, SandboxEnvironmentSpec

from matassay.core import EnvironmentFailure, MatAssayError
from matassay.worlds.workspace import HOME, Caps, Completed, Outputs, _relay, package_folder
from matassay.worlds.workspace._arguments import check_names
from matassay.worlds.workspace._reader import kind, plain_name, relative
from matassay.worlds.workspace._remote import RemoteProcess
from matassay.worlds.workspace._types import INPUTS, MANUALS, MIB
from matassay.worlds.workspace.software import PROGRAMS

#: What the engine is told of the containers, by kind.
FILES: Final[Mapping[str, str]] = {"docker": "compose.yaml", "k8s": "values.yaml"}

#: Environment variable that names another compose file, or other values of the Helm chart.
CONFIG_VARIABLE: Final = "MATASSAY_SANDBOX_CONFIG"

#: Oldest Docker Compose that the engine takes.
_COMPOSE: Final = (2, 21)

#: Bytes of each stream of a program that fit into an answer.
_STREAM: Final = 3 * MIB
#: Bytes of a file that fit into an answer.
_PIECE: Final = 6 * MIB
#: Longest answer after it has been unpacked, bytes.
_ANSWER: Final = 64 * MIB
#: How long a command may take beside what it does, s: a busy machine or cluster starts one slowly.
_SLACK: Final = 60.0
#: How often a command is given again that did not come through, and the first wait in between, s.
_TRIES, _WAIT = 4, 0.5


# --- choosing one -------------------------------------------------------------------------------------------


def container_spec(name: str) -> SandboxEnvironmentSpec:
    """What the engine needs to make containers of a kind.

    Raises
    ------
    EnvironmentFailure
        If they cannot be had on this machine, with cause and cure.
    """
    file = container_file(name)
    _check(name)
    return SandboxEnvironmentSpec(name, str(file))


def container_file(name: str) -> Path:
    """Our file for a kind, or the one of `CONFIG_VARIABLE`.

    Raises
    ------
    MatAssayError
        If that is no file.
    """
    if chosen := os.environ.get(CONFIG_VARIABLE):
        path = Path(chosen).absolute()
        if not path.is_file():
            raise MatAssayError(f"{CONFIG_VARIABLE}: {path} is no file")
        return path
    return package_folder() / "worlds" / "workspace" / "images" / FILES[name]


@functools.cache
def _check(name: str) -> None:
    (_check_docker if name == "docker" else _check_cluster)()


def _check_docker() -> None:
    if shutil.which("docker") is None:
        raise _not_there(
            "docker", "the program docker is not installed", "sudo apt-get install docker.io docker-compose"
        )
    code, said = _reply("docker", "version", "--format", "{{.Server.Version}}")
    if code != 0:
        raise _not_there("docker", f"no Docker daemon answers: {said}", "sudo systemctl start docker")
    code, said = _reply("docker", "compose", "version", "--short")
    version = tuple(int(part) for part in said.lstrip("v").split(".")[:2] if part.isdigit()) if code == 0 else ()
    if version < _COMPOSE:
        cause = f"it is version {said}" if version else "it is not installed"
        wanted = ".".join(map(str, _COMPOSE))
        raise _not_there(
            "docker",
            f"Docker Compose {wanted} or later is needed, {cause}",
            "sudo apt-get install docker-compose-plugin",
        )


def _check_cluster() -> None:
    if importlib.util.find_spec("k8s_sandbox") is None:
        raise _not_there("k8s", "the package is not installed", "pip install inspect-k8s-sandbox")
    if shutil.which("helm") is None:
        raise _not_there("k8s", "the program helm is not installed", "see https://helm.sh/docs/intro/install/")
    try:
        importlib.import_module("kubernetes.config").load_config()
        importlib.import_module("kubernetes.client").VersionApi().get_code(_request_timeout=20)
    except Exception as error:
        cause = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        raise _not_there("k8s", f"no cluster answers ({cause})", "kubectl config use-context NAME") from error


def _reply(*argv: str) -> tuple[int, str]:
    """Exit code of a command of Docker's, and the last line that it said."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - Docker's own
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, f"{' '.join(argv)}: {error}"
    said = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return done.returncode, said[-1] if said else ""


def _not_there(name: str, cause: str, cure: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"the sandbox {name!r} cannot be had: {cause}\n"
        f"  cure: {cure}\n"
        "  or take another: --sandbox bubblewrap (the default) needs neither daemon nor cluster"
    )


# --- the workspace ------------------------------------------------------------------------------------------


@functools.cache
def _relay_source() -> str:
    """The program that is handed in with every command."""
    return Path(_relay.__file__).read_text("utf-8")


class EngineWorkspace:
    """A sandbox of the engine's as a workspace; see `matassay.worlds.workspace.Workspace`.

    The engine makes and removes the container.

    Parameters
    ----------
    environment : SandboxEnvironment
        The engine's sandbox.
    label : str
        What kind it is.
    inputs, manuals : mapping of str to bytes or Path
        Files that are written into it at the start.
    requires : sequence of str
        Programs that must be there, see `matassay.core.Task.requires`.
    wanted : callable
        Which files are read at the end; all by default.
    caps : Caps
        How much of them.
    used : bool
        Somebody has worked in it: what runs there is killed and what lies there removed before the start.
    """

    def __init__(
        self,
        environment: SandboxEnvironment,
        label: str,
        *,
        inputs: Mapping[str, bytes | Path] | None = None,
        manuals: Mapping[str, bytes | Path] | None = None,
        requires: Sequence[str] = (),
        wanted: Callable[[str], bool] = lambda name: True,
        caps: Caps = Caps(),  # noqa: B008 - it is immutable
        used: bool = False,
    ) -> None:
        self._environment, self.label = environment, label
        self._folders = {INPUTS: dict(inputs or {}), MANUALS: dict(manuals or {})}
        for folder, files in self._folders.items():
            check_names(files, folder)
        self._requires, self._wanted, self._caps, self._used = tuple(requires), wanted, caps, used
        self.facts: Mapping[str, str] = {}
        self._processes: list[RemoteProcess] = []
        self._outputs: Outputs | None = None
        self._ready = False
        self._closed = asyncio.Event()

    def another(self, inputs: Mapping[str, bytes | Path]) -> EngineWorkspace:
        """The same container once more, emptied first; for programs that are run on what was left."""
        return EngineWorkspace(self._environment, self.label, inputs=inputs, caps=self._caps, used=True)

    async def start(self) -> None:
        """See what it is, and write the task's files into it.

        Raises
        ------
        EnvironmentFailure
            If it is not what it must be, with cause and cure.
        """
        commands = {name: PROGRAMS[name].commands for name in self._requires}
        found = await self._ask("look", {"programs": [c for several in commands.values() for c in several]})
        self._check(found, commands)
        if self._used:
            await self._end()
            if (await self._ask("wipe", {}))["left"]:
                raise EnvironmentFailure("the container could not be emptied")
        files = {
            f"{folder}/{name}": content if isinstance(content, bytes) else content.read_bytes()
            for folder, several in self._folders.items()
            for name, content in several.items()
        }
        fixed = [folder for folder, several in self._folders.items() if several]
        await self._write(files, fixed)
        # Python's own site packages, which the relay does without.
        listing = await self.run(["python3", "-I", "-c", _VERSIONS], timeout=120)
        versions = _versions(listing.stdout)
        if "matassay" in versions:
            raise EnvironmentFailure(
                "the container's image holds matassay itself, and with it the graders\n  cure: build it from our Dockerfile"
            )
        self.facts = {
            "sandbox": self.label,
            "engine": type(self._environment).__name__,
            "user": str(found.get("uid")),
            "capabilities": str(found.get("capabilities")),
            "network": ", ".join(map(str, found.get("network", ()))) or "none",
            "kernel": str(found.get("kernel")),
            "workspace python": str(found.get("python")),
            **{f"workspace {name}": version for name, version in versions.items()},
        }
        self._ready = True

    def _check(self, found: Mapping[str, Any], commands: Mapping[str, Sequence[str]]) -> None:
        host = Path("/proc/sys/kernel/random/boot_id")
        same = host.exists() and found.get("boot") == host.read_text().strip()
        if same and found.get("pid namespace") == os.readlink("/proc/self/ns/pid"):  # noqa: PTH115 - it is no path
            raise EnvironmentFailure(
                f"the sandbox {self.label!r} sees all processes of this machine, and what an agent leaves could not be "
                "ended\n  cure: a container with processes of its own (no `pid: host`)"
            )
        if found.get("uid") == 0:
            raise EnvironmentFailure(
                f"the sandbox {self.label!r} runs as root\n"
                '  cure: `user: "1000:1000"` (compose.yaml) or `runAsUser: 1000` (values.yaml)'
            )
        if found.get("writable") is not True:
            raise EnvironmentFailure(f"{HOME} cannot be written in the container\n  cure: build it from our Dockerfile")
        there = set(map(str, found.get("programs", ())))
        if lacking := [name for name, several in commands.items() if not there & set(several)]:
            raise EnvironmentFailure(
                f"the container has no {', '.join(lacking)}\n  cure: build its image from our Dockerfile, with all packages"
            )

    # --- programs -------------------------------------------------------------------------------------------

    async def run(
        self,
        argv: Sequence[str],
        *,
        input: bytes = b"",  # noqa: A002 - as subprocess has it
        cwd: str = HOME,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the program is killed, not the task
        output_limit: int = 10 * MIB,
    ) -> Completed:
        """Run a program to its end; at most 3 MiB of each stream are kept.

        Raises
        ------
        EnvironmentFailure
            If the container is gone.
        """
        request = {
            "argv": list(argv),
            "input": base64.b64encode(input).decode(),
            "cwd": cwd,
            "env": dict(env or {}),
            "timeout": timeout,
            "limit": min(output_limit, _STREAM),
        }
        # Not twice: who knows what it did before the answer was lost.
        answer = await self._ask("run", request, takes=timeout, again=False)
        if failed := answer.get("failed"):
            text = f"{argv[0]}: {os.strerror(int(failed))}\n".encode()
            return Completed(127 if int(failed) == 2 else 126, b"", text)
        code = answer["code"]
        shown = None if code is None else int(code) if int(code) >= 0 else 128 - int(code)
        out, err = (base64.b64decode(answer[name]) for name in ("out", "err"))
        return Completed(shown, out, err, bool(answer["late"]), bool(answer["cut"]))

    async def spawn(
        self, argv: Sequence[str], *, cwd: str = HOME, env: Mapping[str, str] | None = None
    ) -> RemoteProcess:
        """Start a program and talk to it; see `Workspace.spawn`.

        Raises
        ------
        EnvironmentFailure
            If the container is gone, or the program cannot be started.
        """
        name = secrets.token_hex(16)
        request = {"argv": list(argv), "cwd": cwd, "env": dict(env or {}), "name": name}
        answer = await self._ask("serve", request, again=False)
        if failed := answer.get("failed"):
            raise EnvironmentFailure(f"{argv[0]} cannot be started in the sandbox: {os.strerror(int(failed))}")

        async def ask(request: dict[str, Any], takes: float) -> Mapping[str, Any]:
            return await self._ask("talk", {**request, "name": name}, takes=takes)

        process = RemoteProcess(ask, int(answer["pid"]))
        self._processes.append(process)
        return process

    # --- files ----------------------------------------------------------------------------------------------

    async def write(self, path: str, data: bytes) -> None:
        """Write a file below ``/workspace``; errors as of `Workspace.write`."""
        await self._write({relative(path, HOME): data}, ())

    async def _write(self, files: Mapping[str, bytes], fixed: Sequence[str]) -> None:
        packed = {name: base64.b64encode(data).decode() for name, data in files.items()}
        answer = await self._ask("write", {"files": packed, "fixed": list(fixed)})
        if failed := answer.get("failed"):
            raise OSError(int(failed), os.strerror(int(failed)), ", ".join(files)[:200])

    async def read(self, path: str, limit: int) -> bytes:
        """Read a regular file below ``/workspace``; errors as of `Workspace.read`."""
        name, data = relative(path, HOME), bytearray()
        while True:
            length = min(_PIECE, limit + 1 - len(data))
            answer = await self._ask("read", {"path": name, "offset": len(data), "length": length})
            if failed := answer.get("failed"):
                raise OSError(int(failed), os.strerror(int(failed)), name)
            if refused := answer.get("refused"):
                raise ValueError(f"{name!r} {str(refused)[:100]}")
            piece = base64.b64decode(answer["data"])
            data += piece
            if len(data) > limit:
                raise ValueError(f"{name!r} is larger than {limit} bytes")
            if len(piece) < length:
                return bytes(data)

    # --- end ------------------------------------------------------------------------------------------------

    async def conclude(self) -> Outputs:
        """Kill everything, see that it is dead, then read what the task asks for; see `Workspace.conclude`.

        Raises
        ------
        EnvironmentFailure
            If it was never started, or something cannot be killed.
        """
        if self._outputs is None:
            if not self._ready:
                raise EnvironmentFailure("the sandbox has not been started")
            await self._hang_up()
            await self._end()
            self._outputs = await self._harvest()
        return self._outputs

    async def close(self) -> None:
        """Leave nothing of ours behind; the container is the engine's."""
        self._closed.set()
        await self._hang_up()

    async def _hang_up(self) -> None:
        for process in self._processes:
            await process.close()
        self._processes.clear()

    async def _end(self) -> None:
        for _ in range(3):
            if not (await self._ask("end", {"seconds": 3.0}, takes=3.0))["left"]:
                return
            # Kills those who wait for the answer as well, so that there is none.
            with_all = self._ask("end", {"seconds": 0.0, "hard": True}, again=False)
            await asyncio.gather(with_all, return_exceptions=True)
        raise EnvironmentFailure("what the agent left running could not be killed")

    async def _harvest(self) -> Outputs:
        caps = self._caps
        request = {"skip": [INPUTS, MANUALS], "count": caps.count, "depth": caps.depth, "first": list(caps.first)}
        found = (await self._ask("look_through", request))["found"]
        files: dict[str, bytes] = {}
        refused: dict[str, str] = {}
        room = caps.total
        entry: Sequence[Any]
        for entry in found[: caps.count + 1]:
            raw, mode, links, size = str(entry[0]), int(entry[1]), int(entry[2]), int(entry[3])
            name = plain_name(os.fsencode(raw))
            reason = (
                "has no plain name" if name is None
                else f"is more than {caps.count} names" if mode == 0
                else f"lies deeper than {caps.depth} folders, or on another file system" if stat.S_ISDIR(mode) and size < 0
                else "" if stat.S_ISDIR(mode)
                else kind(mode) if not stat.S_ISREG(mode)
                else "has a second name (hard link)" if links > 1
                else "is not asked for" if not self._wanted(name)
                else f"is larger than {caps.file} bytes" if size > caps.file
                else f"is more than {caps.total} bytes with all others" if size > room
                else None
            )  # fmt: skip
            if reason == "":
                continue
            if reason is None and name is not None:
                try:
                    files[name] = await self.read(name, min(caps.file, room))
                    room -= len(files[name])
                except (OSError, ValueError) as error:
                    reason = str(error)
            if reason is not None:
                refused[ascii(raw)[1:-1][:200] if name is None else name] = reason
        return Outputs(files, refused)

    # --- the relay ------------------------------------------------------------------------------------------

    async def _ask(
        self, operation: str, request: Mapping[str, Any], *, takes: float | None = 0.0, again: bool = True
    ) -> dict[str, Any]:
        """Have the relay do something.

        Parameters
        ----------
        operation : str
            What.
        request : mapping
            Its particulars.
        takes : float, optional
            How long it may take by itself, s; None: as long as it likes.
        again : bool
            Whether it may be done twice.

        Raises
        ------
        EnvironmentFailure
            If no answer comes.
        """
        argv = ["python3", "-I", "-S", "-c", _relay_source(), operation]
        limit = None if takes is None else math.ceil(takes + _SLACK)
        error: Exception | None = None
        for attempt in range(_TRIES if again else 1):
            if attempt:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closed.wait(), _WAIT * 2**attempt)
                    break
            try:
                done = await self._environment.exec(
                    argv, input=json.dumps(request), cwd="/", timeout=limit, timeout_retry=again, concurrency=False
                )
                if done.returncode == 0:
                    return _unpack(done.stdout)
                said = done.stderr.strip().splitlines()
                error = EnvironmentFailure(
                    f"exit code {done.returncode}: {said[-1][:500] if said else 'it said nothing'}"
                )
            except Exception as raised:  # noqa: BLE001 - of the engine's, whatever it is
                error = raised
        text = " ".join(f"{type(error).__name__}: {error}".split())[:600]
        raise EnvironmentFailure(f"the sandbox {self.label!r} does not answer ({operation}): {text}") from error


def _unpack(said: str) -> dict[str, Any]:
    """What the relay answered.

    Raises
    ------
    ValueError
        If that is no answer.
    """
    lines = said.strip().splitlines()
    packer = zlib.decompressobj()
    try:
        text = packer.decompress(base64.b64decode(lines[-1] if lines else "", validate=True), _ANSWER)
        answer = json.loads(text)
    except (zlib.error, RecursionError) as error:
        raise ValueError(f"its answer cannot be read: {error}") from error
    if packer.unconsumed_tail or not isinstance(answer, dict):
        raise ValueError("its answer cannot be read")
    return answer


#: Names and versions of the packages that programs see.
_VERSIONS: Final = """
import importlib.metadata, re
for found in importlib.metadata.distributions():
    print(re.sub(r"[-_.]+", "-", found.metadata["Name"] or "").lower(), found.version)
"""


def _versions(listing: bytes) -> dict[str, str]:
    pairs = (line.split() for line in listing.decode(errors="replace").splitlines()[:1000])
    return dict(sorted((p[0][:80], p[1][:80]) for p in pairs if len(p) == 2))
