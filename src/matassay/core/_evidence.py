"""What a grader gets: the final physical state, the saved files, and what went wrong on the way."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Artefact:
    """A file that the agent's work produced."""

    name: str
    """File name as saved in the world."""
    media_type: str
    """MIME type."""
    sha256: str
    """Hex digest of the bytes."""
    size: int
    """Bytes."""
    data: bytes | None = None
    """The bytes; None where only the reference is at hand (snapshots between steps)."""

    @classmethod
    def of(cls, name: str, data: bytes, media_type: str = "application/octet-stream") -> Artefact:
        """Make an artefact from its bytes."""
        return cls(name, media_type, hashlib.sha256(data).hexdigest(), len(data), data)

    def reference(self) -> dict[str, Any]:
        """Name, type, digest and size as JSON, without the bytes."""
        return {"name": self.name, "media_type": self.media_type, "sha256": self.sha256, "size": self.size}


@dataclass(frozen=True)
class Consequence:
    """A mishap with a physical price: an interlock tripped, a tip crashed, a file overwritten."""

    name: str
    """Short name, listed in the instrument's README."""
    time: float
    """When, s of the virtual clock."""
    message: str
    """One sentence for people."""
    step: int | None = None
    """Number of the agent's step that caused it (1 = the first); the episode fills it in."""

    def to_json(self) -> dict[str, Any]:
        """As JSON types."""
        return {"name": self.name, "time": self.time, "message": self.message, "step": self.step}


@dataclass(frozen=True)
class Evidence:
    """All that grading may look at; made by the world, outside the agent's reach."""

    state: Mapping[str, Any] = field(default_factory=dict)
    """Physical state as JSON types; the instrument's README names every key with its unit."""
    artefacts: tuple[Artefact, ...] = ()
    """Saved files, oldest first."""
    consequences: tuple[Consequence, ...] = ()
    """In the order in which they happened."""
    time: float = 0.0
    """Virtual clock, s."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Programs, fonts, packages and screen that the result depends on."""

    def artefact(self, name: str) -> Artefact | None:
        """The last saved file of that name, or None."""
        return next((a for a in reversed(self.artefacts) if a.name == name), None)

    def to_json(self) -> dict[str, Any]:
        """As JSON types; files by reference (see `from_json` for the way back)."""
        return {
            "state": dict(self.state),
            "artefacts": [a.reference() for a in self.artefacts],
            "consequences": [c.to_json() for c in self.consequences],
            "time": self.time,
            "versions": dict(self.versions),
        }

    @classmethod
    def from_json(cls, raw: Mapping[str, Any], blobs: Mapping[str, bytes] | None = None) -> Evidence:
        """Read evidence back.

        Parameters
        ----------
        raw : mapping
            What `to_json` gave.
        blobs : mapping of str to bytes, optional
            File contents by SHA-256 digest.

        Raises
        ------
        ValueError
            If a blob does not have the digest under which it is kept: stored evidence was altered.
        """
        blobs = blobs or {}
        artefacts = []
        for a in raw["artefacts"]:
            data = blobs.get(a["sha256"])
            if data is not None and hashlib.sha256(data).hexdigest() != a["sha256"]:
                raise ValueError(f"file {a['name']!r}: content does not match its digest {a['sha256']}")
            artefacts.append(Artefact(a["name"], a["media_type"], a["sha256"], a["size"], data))
        return cls(
            state=raw["state"],
            artefacts=tuple(artefacts),
            consequences=tuple(Consequence(**c) for c in raw["consequences"]),
            time=raw["time"],
            versions=raw["versions"],
        )
