"""How the browser is started: the same pixels on every run, nothing in the background, no way out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, BrowserContext, Error, Playwright, ProxySettings

from matassay.core import SCREEN, EnvironmentFailure

from ._discovery import BrowserProgram

#: Set to ``0`` to start the browser without its own sandbox where the system does not allow it (some containers).
SANDBOX_VARIABLE: Final = "MATASSAY_BROWSER_SANDBOX"

#: A host that never resolves (RFC 6761): the proxy of everything that is not the instrument.
NOWHERE: Final = "http://blocked.invalid:9"

FLAGS: Final = (
    # Pixels that do not depend on the machine, the run or the load.
    "--disable-partial-raster",  # without it two runs differ in some pixels
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--disable-lcd-text",
    "--disable-smooth-scrolling",
    "--hide-scrollbars",
    "--disable-gpu",
    # Nothing that the agent did not cause.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--disable-domain-reliability",
    "--disable-client-side-phishing-detection",
    "--disable-spell-checking",
    "--no-first-run",
    "--no-pings",
    # No way out of the page.
    "--block-new-web-contents",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-file-system",
)

#: What the browser may know of our environment: keys of model providers are none of its business.
_ENVIRONMENT: Final = frozenset(
    {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "XDG_CACHE_HOME"}
)


async def launch(playwright: Playwright, program: BrowserProgram, environ: Mapping[str, str] = os.environ) -> Browser:
    """Start the browser.

    Raises
    ------
    EnvironmentFailure
        If it does not start.
    """
    # Chromium's own sandbox cannot be set up by root; everybody else gets it.
    sandbox = os.geteuid() != 0 and environ.get(SANDBOX_VARIABLE) != "0"
    try:
        return await playwright.chromium.launch(
            executable_path=program.path,
            args=list(FLAGS),
            ignore_default_args=["--disable-popup-blocking"],
            chromium_sandbox=sandbox,
            env={**{k: v for k, v in environ.items() if k in _ENVIRONMENT}, "LANG": "C.UTF-8", "TZ": "UTC"},
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
    except Error as error:
        hint = ""
        if sandbox and "sandbox" in str(error).lower():
            hint = f"\nIf this machine does not allow the browser's own sandbox, set {SANDBOX_VARIABLE}=0."
        raise EnvironmentFailure(f"the browser {program.path} did not start: {error}{hint}") from error


async def new_context(browser: Browser, origin: str) -> BrowserContext:
    """A profile for one episode: empty, the same everywhere, and connected to one origin only.

    Everything that is not for ``origin`` goes to a proxy that does not exist. This holds in the browser's network
    service, below the page: for documents, fetches, workers and WebSockets alike.

    Parameters
    ----------
    browser : Browser
        A running browser.
    origin : str
        Such as ``http://127.0.0.1:8101``; the only place that the page can reach.
    """
    host = origin.split("//", 1)[1]
    width, height = SCREEN
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        screen={"width": width, "height": height},
        device_scale_factor=1,
        locale="en-US",
        timezone_id="UTC",
        reduced_motion="reduce",
        color_scheme="light",
        service_workers="block",
        accept_downloads=False,
        permissions=[],
        # "<-loopback>" takes back the rule that loopback addresses never use a proxy.
        proxy=ProxySettings(server=NOWHERE, bypass=f"<-loopback>,{host}"),
    )
    await context.add_init_script(path=Path(__file__).with_name("_guard.js"))
    return context
