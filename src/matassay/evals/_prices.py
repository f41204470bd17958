"""Cost of an episode, from a dated file of our own: the engine ships no prices."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from inspect_ai.model import ModelUsage

PRICES: Final = Path(__file__).with_name("prices.json")


@cache
def price_list() -> Mapping[str, Any]:
    """The price file: ``date``, ``source`` and ``models`` (US dollars per million tokens, per bucket)."""
    prices: Mapping[str, Any] = json.loads(PRICES.read_text(encoding="utf-8"))
    return prices


def tokens(usage: Mapping[str, ModelUsage]) -> dict[str, int]:
    """The four raw buckets, summed over the models of an episode; ``input`` counts fresh tokens only."""
    return {
        "input": sum(u.input_tokens for u in usage.values()),
        "cache_read": sum(u.input_tokens_cache_read or 0 for u in usage.values()),
        "cache_write": sum(u.input_tokens_cache_write or 0 for u in usage.values()),
        "output": sum(u.output_tokens for u in usage.values()),
    }


def cost(usage: Mapping[str, ModelUsage]) -> float | None:
    """US dollars of an episode, or None if a price is not known.

    A model name with a date (``-20260115`` or ``-2026-01-15``) has the price of the name without it.
    """
    total = 0.0
    for model, used in usage.items():
        price = _price(model)
        if price is None:
            return None
        counts = {bucket: n for bucket, n in tokens({model: used}).items() if n}
        if not counts.keys() <= price.keys():
            return None
        total += sum(n * price[bucket] for bucket, n in counts.items()) / price_list()["per_tokens"]
    return total if usage else None


def _price(model: str) -> Mapping[str, float] | None:
    models: Mapping[str, Mapping[str, float]] = price_list()["models"]
    return models.get(model) or models.get(re.sub(r"-(\d{8}|\d{4}-\d{2}-\d{2})$", "", model))
