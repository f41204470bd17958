"""The files of a deck: which plays which role, and the tree around them."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping


class DeckFiles(dict[str, bytes]):
    """Files by role; besides, all files that may matter by their place in the workspace."""

    def __init__(
        self,
        roles: Mapping[str, bytes],
        names: Mapping[str, str] | None = None,
        folder: str = ".",
        tree: Mapping[str, bytes] | None = None,
    ) -> None:
        super().__init__(roles)
        self.names = dict(names) if names is not None else {role: role for role in roles}
        """Name of each role's file within the folder."""
        self.folder = folder
        """Folder of the deck, relative to the workspace."""
        self.tree = dict(tree) if tree is not None else {self.path(r): data for r, data in roles.items()}
        """All files by path relative to the workspace."""

    def path(self, role: str) -> str:
        """Place of a role's file, relative to the workspace."""
        return posixpath.normpath(posixpath.join(self.folder, self.names.get(role, role)))

    @classmethod
    def of(cls, files: Mapping[str, bytes]) -> DeckFiles:
        """Any mapping; what is no `DeckFiles` lies in the workspace under the names of the roles."""
        return files if isinstance(files, cls) else cls(files)


def is_program(data: bytes) -> bool:
    """Whether a file could be loaded as machine code."""
    return data[:4] in (b"\x7fELF", b"\xfe\xed\xfa\xce", b"\xcf\xfa\xed\xfe")


def is_text(data: bytes, limit: int = 2 * 1024**2) -> bool:
    """Whether a file could be an input script."""
    return len(data) <= limit and b"\0" not in data[:4096]
