"""``python -m matassay`` is the command ``matassay``."""

import sys

from matassay.cli import main

if __name__ == "__main__":
    sys.exit(main())
