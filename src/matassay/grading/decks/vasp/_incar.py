"""Reader of INCAR files.

Format after the VASP Wiki, page "INCAR" (revision 34757 of March 2026): statements ``TAG = values``, several on a line
if separated by ``;``; a backslash at the end of a line continues it; text after ``#`` or ``!`` is a comment; values in
double quotes or braces may span lines; text that is no statement is ignored. Tags are read without regard to case, as
VASP 6 does. Of several statements with one tag the first counts: VASP's reader stops searching at its first match.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TAG = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:/[A-Za-z][A-Za-z0-9_]*)*\Z")

_BLANKS = " \t\r\n\v\f"


@dataclass(frozen=True)
class Statement:
    """One ``TAG = values``."""

    tag: str
    """In capitals; a tag inside ``GROUP { ... }`` is ``GROUP/TAG``."""
    value: str
    """What stands after the equals sign, without comments."""
    line: int
    """Line of the file on which it begins, from 1."""
    quoted: bool
    """Whether the value stood in quotes or braces."""


def statements(text: str) -> list[Statement]:
    """All statements of an INCAR file in their order, repetitions included."""
    scanner = _Scanner(text)
    scanner.run()
    return scanner.found


class _Scanner:
    """One pass over the characters; time grows linearly with the length."""

    _SPECIAL = re.compile(r'[\n;#!"{}\\=]')

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Statement] = []
        self.groups: list[str] = []
        self.start()

    def start(self, line: int = 1) -> None:
        self.parts: list[str] = []
        self.quoted = False
        self.has_equals = False
        self.line = line

    def run(self) -> None:
        text, at, line = self.text, 0, 1
        while at < len(text):
            match = self._SPECIAL.search(text, at)
            if match is None:
                self.parts.append(text[at:])
                break
            self.parts.append(text[at : match.start()])
            at = match.end()
            char = match.group()
            if char == "\n":
                self.finish()
                line += 1
                self.start(line)
            elif char == ";":
                self.finish()
                self.start(line)
            elif char in "#!":
                end = text.find("\n", at)
                at = len(text) if end < 0 else end
            elif char == "\\":
                # Blanks after the backslash are forgiven: some versions of VASP do, and what is meant is plain.
                rest = re.compile(r"[ \t]*(?:\n|\Z)").match(text, at)
                if rest is None:
                    self.parts.append(char)
                else:
                    at = rest.end()
                    line += 1
                    self.parts.append(" ")
            elif char == "=":
                self.has_equals = True
                self.parts.append(char)
            elif char == '"' and self.has_equals:
                end = text.find('"', at)
                end = len(text) if end < 0 else end
                self.parts.append(text[at:end])
                self.quoted = True
                line += text.count("\n", at, end)
                at = end + 1
            elif char == "{":
                at, line = self.open_brace(at, line)
            elif char == "}":
                self.finish()
                self.start(line)
                if self.groups:
                    self.groups.pop()
            else:
                self.parts.append(char)
        self.finish()

    def open_brace(self, at: int, line: int) -> tuple[int, int]:
        """After an equals sign a brace quotes, after a bare word it opens a group of tags."""
        # The last parts suffice, and looking at all of them again and again would take forever on a line of braces.
        before = "".join(self.parts[-4:]).strip()
        if self.has_equals and before.endswith("="):
            depth, end = 1, at
            for match in re.compile(r"[{}]").finditer(self.text, at):
                depth += 1 if match.group() == "{" else -1
                end = match.start()
                if depth == 0:
                    break
            else:
                end = len(self.text)
            self.parts.append(self.text[at:end])
            self.quoted = True
            return end + 1, line + self.text.count("\n", at, end)
        if not self.has_equals and len(self.parts) <= 4 and _TAG.match(before) and len(self.groups) < 8:
            self.groups.append(before.upper())
            self.start(line)
        return at, line

    def finish(self) -> None:
        if not self.has_equals:
            return
        tag, _, value = "".join(self.parts).partition("=")
        # Only ASCII blanks are blanks to Fortran: a no-break space makes another tag.
        tag = tag.strip(_BLANKS)
        if _TAG.match(tag):
            full = "/".join([*self.groups, tag.upper()])
            self.found.append(Statement(full, value if self.quoted else value.strip(_BLANKS), self.line, self.quoted))
