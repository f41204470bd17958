"""Files for the engine's sandboxes `docker` and `k8s`: valid, and as tight as bubblewrap's arguments."""

from __future__ import annotations

import re

import yaml
from inspect_ai.util._sandbox.compose import parse_compose_yaml

from matassay.worlds.workspace import Limits
from matassay.worlds.workspace.build import REQUIREMENTS

FOLDER = REQUIREMENTS.parent / "images"
DEFAULT = Limits()
GIB = 1 << 30

# What the chart of inspect-k8s-sandbox 0.14 knows; it refuses all else.
CHART = {"services", "allowDomains", "allowCIDR", "automountServiceAccountToken"}
SERVICE = {
    "image", "command", "workingDir", "dnsRecord", "networkIsolated", "resources", "securityContext", "volumeMounts",
    "volumes",
}  # fmt: skip


def test_the_engine_reads_the_compose_file() -> None:
    config = parse_compose_yaml(str(FOLDER / "compose.yaml"))
    assert set(config.services) == {"default"}


def test_docker_has_no_network_no_rights_and_our_limits() -> None:
    service = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["default"]
    assert service["network_mode"] == "none"
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["user"] == "1000:1000"
    assert not {"volumes", "privileged", "cap_add", "ports"} & set(service), "nothing of the host comes in"
    assert service["mem_limit"] == f"{DEFAULT.memory // GIB}g" == service["memswap_limit"]
    assert service["pids_limit"] == DEFAULT.processes
    assert service["ulimits"] == {"core": 0, "nofile": DEFAULT.open_files, "fsize": DEFAULT.file}


def test_kubernetes_has_no_network_no_rights_and_our_limits() -> None:
    values = yaml.safe_load((FOLDER / "helm" / "values.yaml").read_text())
    assert set(values) <= CHART
    assert values["allowDomains"] == values["allowCIDR"] == []
    service = values["services"]["default"]
    assert set(service) <= SERVICE
    assert service["networkIsolated"] is True
    context = service["securityContext"]
    assert (context["runAsUser"], context["runAsNonRoot"], context["allowPrivilegeEscalation"]) == (1000, True, False)
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert service["resources"]["limits"]["memory"] == f"{DEFAULT.memory // GIB}Gi"


def test_the_image_holds_the_pinned_packages_and_nothing_of_ours() -> None:
    text = (FOLDER / "Dockerfile").read_text()
    copied = re.findall(r"^(?:COPY|ADD) (\S+)", text, re.MULTILINE)
    assert copied == ["requirements.txt"]
    assert re.search(r"^USER agent$", text, re.MULTILINE)
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]["default"]
    assert (FOLDER / compose["build"]["context"]).resolve() == REQUIREMENTS.parent.resolve()
    assert (REQUIREMENTS.parent / compose["build"]["dockerfile"]).is_file()
