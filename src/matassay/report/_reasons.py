"""What failed checks say, each cause once."""

from __future__ import annotations

from collections.abc import Mapping


def reasons(criteria: Mapping[str, bool], messages: Mapping[str, str]) -> list[str]:
    """A line per cause, in the order of the checks that failed; a cause that several share says how many they are.

    Parameters
    ----------
    criteria : mapping
        Which checks hold.
    messages : mapping
        What failed ones said; one that said nothing stands with its name.

    Examples
    --------
    >>> failed = dict.fromkeys(("gap", "a", "b", "lit"), False)
    >>> reasons(failed, {"gap": "gap: 2 is off", "a": "no file", "b": "no file"})
    ['gap: 2 is off', '2 checks fail: no file', 'lit']
    """
    sharing: dict[str, list[str]] = {}
    for name, holds in criteria.items():
        if not holds:
            sharing.setdefault(messages.get(name, ""), []).append(name)
    lines = []
    for text, names in sharing.items():
        if not text:
            lines += [name.replace("_", " ") for name in names]
        elif len(names) > 1:
            lines.append(f"{len(names)} checks fail: {text}")
        else:
            lines.append(with_name(names[0], text))
    return lines


def with_name(name: str, text: str) -> str:
    """A message that begins with the name of its check, once.

    Examples
    --------
    >>> with_name("gap", "gap: 2 is off"), with_name("si_motion", "si.in: IBRION is 2")
    ('gap: 2 is off', 'si_motion: si.in: IBRION is 2')
    """
    return text if text.startswith((f"{name}:", f"{name} ")) else f"{name}: {text}"
