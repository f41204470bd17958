"""Pages from templates: everything escaped, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ._quality import figure

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

NONE = "–"


def render(template: str, **values: Any) -> str:
    """Fill a template of this package."""
    return _environment().get_template(template).render(**values)


def script_json(value: Any) -> str:
    """JSON that can stand inside a ``<script>`` element whatever text it holds."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")


def percent(value: float | None) -> str:
    """A fraction as per cent with one decimal, without one at the ends."""
    if value is None:
        return NONE
    return f"{100 * value:.0f} %" if value in (0, 1) else f"{100 * value:.1f} %"


def number(value: float | None, digits: int = 1) -> str:
    """A number with so many decimals."""
    return NONE if value is None else f"{value:.{digits}f}"


def count(value: int | None) -> str:
    """A whole number, thousands apart."""
    return NONE if value is None else f"{value:,}".replace(",", "\u202f")


def dollars(value: float | None) -> str:
    """US dollars; unknown is not zero."""
    return "unknown" if value is None else f"${value:,.2f}" if value >= 0.01 or value == 0 else f"${value:.4f}"


def words(name: str) -> str:
    """A name of the program as words for people."""
    return name.replace("_", " ")


def code(text: str) -> Markup:
    """Text in which what stands between backticks is code."""
    from markupsafe import Markup, escape

    parts = [escape(part) for part in text.split("`")]
    return Markup("").join(Markup("<code>{}</code>").format(p) if i % 2 else p for i, p in enumerate(parts))


def short_ids(ids: Sequence[str]) -> list[str]:
    """Ids without the parts that all begin with; at least the last part stays.

    Examples
    --------
    >>> short_ids(["a/b/t1@full#0", "a/c/t2@full#0"])
    ['b/t1@full#0', 'c/t2@full#0']
    >>> short_ids(["a/b/t1@full#0", "a/b/t1@full#1"])
    ['t1@full#0', 't1@full#1']
    """
    parts = [id.split("/") for id in ids]
    common = 0
    while parts and all(len(p) > common + 1 for p in parts) and len({p[common] for p in parts}) == 1:
        common += 1
    return ["/".join(p[common:]) for p in parts]


def breakable(name: str) -> Markup:
    """An id that may go on in the next line after a part of it."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([/_])", r"\1<wbr>", str(escape(name))))  # noqa: S704 - escaped before


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("matassay.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    filters: tuple[Callable[..., str], ...] = (percent, number, count, dollars, words, code, figure, breakable)
    made.filters.update({f.__name__: f for f in filters})
    return made
