"""The first process of a container: buries the dead, and cannot be ended from inside."""

import contextlib
import os
import signal


def main() -> None:
    """Until the container is stopped from outside."""
    # Signals from inside reach process 1 only where it has a handler, and Python has one for this.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        signal.sigwait({signal.SIGCHLD})
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


if __name__ == "__main__":
    main()
