"""Randomness that does not depend on the order in which it is asked for.

Every random quantity has a name. Its stream is derived from the seed and that name alone, so adding a quantity, or
drawing two in another order, changes no other quantity. The scheme is Salmon et al. (SC 2011) in spirit: a keyed
hash feeds a counter-based generator.
"""

from __future__ import annotations

import hashlib
import os

import numpy as np

SALT_VARIABLE = "MATASSAY_SALT"


def derive(seed: int, *names: str | int, salt: str | None = None) -> int:
    """Return a 128-bit integer that depends on the seed, the names and the salt only.

    Parameters
    ----------
    seed : int
        Seed of the episode.
    names : str or int
        The path of the quantity, e.g. ``("xrd", "zero_error")`` or ``("xrd", "counts", scan_number)``.
    salt : str, optional
        Secret of a private split; by default the value of the environment variable ``MATASSAY_SALT`` (empty for the
        public split). The same generators with a secret salt make tasks whose numbers nobody has seen.
    """
    if salt is None:
        salt = os.environ.get(SALT_VARIABLE, "")
    # Types are part of the key: derive(1, "2") and derive(1, 2) must differ.
    text = repr((salt, int(seed), *(n if isinstance(n, str) else int(n) for n in names)))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")


def split_digest() -> str:
    """Eight hex digits that tell one private split from another, empty for the public one.

    Results of two splits are results of different tasks. Like every number that a task shows, the digest lets somebody
    test a guess of the salt: a salt should be long and random.
    """
    return f"{derive(0, 'split') % 2**32:08x}" if os.environ.get(SALT_VARIABLE) else ""


def stream(seed: int, *names: str | int, salt: str | None = None) -> np.random.Generator:
    """Return the random generator of one named quantity (see `derive`)."""
    return np.random.Generator(np.random.Philox(key=derive(seed, *names, salt=salt)))
