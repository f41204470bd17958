"""Blind agents for workspaces: code that runs inside and knows of the task what lies there, nothing else."""

from __future__ import annotations

from typing import Final

from matassay.core import Policy, Scenario, Task, stream

#: Answers that the random agent writes, one over the other.
RANDOM_CELLS: Final = 8

#: Runs inside: an answer that fits the schema, drawn at random or all of one number.
_FILL: Final = """
import json, os, random, shutil
rng = random.Random({seed})
constant = {constant!r}

def number(spec, whole=False):
    if constant is not None:
        return int(constant) if whole else float(constant)
    low, high = spec.get("minimum", -10), spec.get("maximum", 10)
    if whole:
        return rng.randint(int(low), max(int(low), int(high)))
    scale = 10.0 ** rng.uniform(-3, 3)
    return rng.uniform(low, high) * (scale if "minimum" not in spec and "maximum" not in spec else 1.0)

def fill(spec, depth=0):
    if "const" in spec:
        return spec["const"]
    if spec.get("enum"):
        return rng.choice(spec["enum"])
    for several in ("oneOf", "anyOf"):
        if spec.get(several):
            return fill(rng.choice(spec[several]), depth + 1)
    kind = spec.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object" or "properties" in spec:
        return {{name: fill(part, depth + 1) for name, part in spec.get("properties", {{}}).items()}}
    if kind == "array":
        if "prefixItems" in spec:
            return [fill(part, depth + 1) for part in spec["prefixItems"]]
        count = spec.get("minItems") or (1 if depth > 6 else rng.randint(1, 9))
        return [fill(spec.get("items", {{}}), depth + 1) for _ in range(count)]
    if kind == "boolean":
        return bool(constant) if constant is not None else rng.random() < 0.5
    if kind == "string":
        return rng.choice(["a", "Si", "Fm-3m", "yes", "none"])
    return number(spec, whole=kind == "integer")

def answer():
    schema = "inputs/answer.schema.json"
    if os.path.exists(schema):
        with open(schema) as file:
            found = fill(json.load(file))
        with open("answer.json", "w") as file:
            json.dump(found, file)
"""


def random(task: Task, scenario: Scenario, seed: int) -> Policy:
    """Write answers that fit the published schema, with numbers and labels drawn at random."""
    rng = stream(seed, "agents", "random", task.id)
    for _ in range(RANDOM_CELLS):
        code = _FILL.format(seed=int(rng.integers(2**31)), constant=None)
        yield {"action": "run_code", "code": code + "\nanswer()\n"}


def everything(task: Task, scenario: Scenario, seed: int) -> Policy:
    """Hand in all that lies around: every input under every name that is asked for, and answers of plain numbers."""
    for constant in (0, 1):
        code = _FILL.format(seed=0, constant=constant)
        yield {"action": "run_code", "code": code + "\nanswer()\n" + _COPY}


_COPY: Final = """
for root, folders, files in os.walk("inputs"):
    for name in files:
        target = os.path.relpath(os.path.join(root, name), "inputs")
        if target == "answer.schema.json" or os.path.exists(target):
            continue
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        shutil.copy(os.path.join(root, name), target)
"""
