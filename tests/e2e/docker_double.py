"""Stands in for the program ``docker`` where there is no daemon: as much of it as the engine's own provider calls.

A container is made with bubblewrap from our compose file: its user, its first process, its folders that can be
written, nothing of the network. What ``exec`` starts is no child of the container's first process, and goes on when the
client is killed, as with Docker. Called with the path of the environment in ``DOUBLE_PREFIX``, keeps its state in
``DOUBLE_STATE``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

# Empty where nobody runs this: pytest imports it to look for examples in its docstrings.
STATE, PREFIX = (Path(os.environ.get(name, "")) for name in ("DOUBLE_STATE", "DOUBLE_PREFIX"))


def options(args: list[str], valued: tuple[str, ...]) -> tuple[dict[str, list[str]], list[str]]:
    """Options in front of the rest."""
    found: dict[str, list[str]] = {}
    while args and args[0].startswith("-"):
        name = args.pop(0)
        found.setdefault(name, []).extend([args.pop(0)] if name in valued else [])
    return found, args


def environment() -> list[str]:
    """Variables of the image."""
    return [f"PATH={PREFIX}/bin:/usr/local/bin:/usr/bin:/bin", "HOME=/workspace", "USER=agent", "LANG=C.UTF-8",
            "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1", f"LD_LIBRARY_PATH={PREFIX}/lib"]  # fmt: skip


def up(project: str, service: dict[str, Any], folder: Path) -> None:
    """Make the container."""
    assert service["read_only"] is True
    assert service["network_mode"] == "none"
    args = ["bwrap", "--unshare-all", "--as-pid-1", "--uid", "1000", "--gid", "1000", "--clearenv"]
    args += ["--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib64", "sbin"):
        args += ["--symlink", f"usr/{name}", f"/{name}"]
    for place in ("/etc/alternatives", "/etc/ld.so.cache", str(PREFIX)):
        args += ["--ro-bind", place, place]
    args += ["--ro-bind", str(folder / "first.py"), "/opt/first.py"]
    for mount in service["tmpfs"]:
        place, _, settings = mount.partition(":")
        mode = next(each.removeprefix("mode=") for each in settings.split(",") if each.startswith("mode="))
        args += ["--perms", mode, "--tmpfs", place]
    args += ["--remount-ro", "/", "--chdir", str(service["working_dir"])]
    told, tell = os.pipe()
    os.set_inheritable(tell, True)
    user = ["setpriv", "--reuid", "61100", "--regid", "61100", "--clear-groups"] if os.geteuid() == 0 else []
    log = (STATE / f"{project}.log").open("wb")
    command = [*user, *args, "--info-fd", str(tell), "--", *service["command"]]
    subprocess.Popen(command, pass_fds=[tell], start_new_session=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    os.close(tell)
    said = b""
    while b"}" not in said and (part := os.read(told, 4096)):
        said += part
    pid = json.loads(said)["child-pid"]
    # It is there when its first process has taken the place of bubblewrap, which sets up the folders.
    while b"first.py" not in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"--unshare-all")[0]:
        select.select([], [], [], 0.01)
    (STATE / project).write_text(str(pid))


def execute(project: str, args: list[str]) -> None:
    """Become a program in the container."""
    given, (service, *command) = options(args, ("--workdir", "--user", "--env"))
    assert service == "default"
    assert given.get("--user", ["1000"]) == ["1000"], "this double has one user"
    pid = (STATE / project).read_text()
    ids = ["--setuid", "1000", "--setgid", "1000"] if os.geteuid() == 0 else ["--preserve-credentials"]
    enter = ["nsenter", "--target", pid, "--user", "--mount", "--pid", "--net", "--ipc", "--uts", *ids]
    enter += [f"--wdns={given.get('--workdir', ['/workspace'])[0]}", "/usr/bin/env", "-i", *environment()]
    os.execvp("nsenter", [*enter, *given.get("--env", []), *command])


def compose(args: list[str]) -> None:
    """What follows ``docker compose``."""
    given, (verb, *rest) = options(args, ("--ansi", "--progress", "--project-name", "-f"))
    with (STATE / "calls").open("a") as calls:
        calls.write(f"{verb}\n")
    if verb == "version":
        print("2.35.1" if "--short" in rest else json.dumps({"version": "v2.35.1"}))
        return
    (project,), (file,) = given["--project-name"], given["-f"]
    config = yaml.safe_load(Path(file).read_text())
    service = config["services"]["default"]
    match verb:
        case "config":
            print(service["image"] if "--images" in rest else yaml.safe_dump(config))
        case "build" | "pull":
            pass
        case "up":
            up(project, service, Path(file).parent)
        case "ps":
            alive = (STATE / project).exists() and Path("/proc", (STATE / project).read_text()).exists()
            if alive and rest[-1:] != ["exited"]:
                print(json.dumps({"Service": "default", "Name": project, "ExitCode": 0}))
        case "exec":
            execute(project, rest)
        case "down":
            os.kill(int((STATE / project).read_text()), signal.SIGKILL)
        case _:
            sys.exit(f"this double knows nothing of {verb}")


def main() -> None:
    """``docker version`` and ``docker compose``."""
    verb, *rest = sys.argv[1:]
    if verb == "version":
        print(json.dumps({"Server": {"Version": "28.2.2"}}) if "json" in rest else "28.2.2")
    elif verb == "inspect":
        print("{}")  # no ports
    elif verb == "compose":
        compose(rest)
    else:
        sys.exit(f"this double knows nothing of {verb}")


if __name__ == "__main__":
    main()
