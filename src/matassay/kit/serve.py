"""Runs the instrument server as a child process: ``python -m matassay.kit.serve --instruments MODULE:NAME --port 0``.

The control token comes on the first line of standard input, never in the argument list, where every user of the
machine could read it. When standard input closes, the server stops: it cannot outlive the runner.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import socket
import sys
from collections.abc import Mapping

import uvicorn

from .desk import Factory
from .server import make_app


def load_instruments(spec: str) -> Mapping[str, Factory]:
    """Import ``module:name``, a mapping of instrument names to factories."""
    module, _, name = spec.partition(":")
    instruments: Mapping[str, Factory] = getattr(importlib.import_module(module), name)
    return instruments


async def serve(instruments: Mapping[str, Factory], token: str, host: str, port: int) -> None:
    """Serve until standard input closes; prints ``{"port": N}`` once the socket listens."""
    listener = socket.create_server((host, port))
    # per-message compression costs more time than the loopback gains
    config = uvicorn.Config(
        make_app(instruments, token),
        log_level="warning",
        access_log=False,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="on",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]

    async def watch() -> None:
        await asyncio.to_thread(sys.stdin.buffer.read)
        server.should_exit = True

    watcher = asyncio.create_task(watch())
    print(json.dumps({"port": listener.getsockname()[1]}), flush=True)  # noqa: T201 - the runner reads it
    await server.serve(sockets=[listener])
    watcher.cancel()


def main() -> None:
    """Parse the arguments and serve."""
    parser = argparse.ArgumentParser(prog="python -m matassay.kit.serve", description=__doc__)
    parser.add_argument("--instruments", required=True, help="MODULE:NAME of a mapping of names to factories")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    args = parser.parse_args()
    token = sys.stdin.readline().strip()
    with contextlib.suppress(KeyboardInterrupt):  # the runner got the same interrupt and closes down
        asyncio.run(serve(load_instruments(args.instruments), token, args.host, args.port))


if __name__ == "__main__":
    main()
