"""Scores from the document that `to_json` writes, with Python's standard library alone: the definition of the format.

Run as `python json_reference.py MODEL.json '[1.0, null, "red"]'`. Every operation is one correctly rounded float64
operation (or an integer one, in fixed point) in the stated order, so the bits are those of monolip. Copy it anywhere.
"""

import json
import math
import sys
from bisect import bisect_right
from fractions import Fraction
from typing import Any

MOST = sys.float_info.max
RESERVED = ("sorted_outputs", "relations")  # fields of the structure that are absent or empty in this version


def read(path: Any) -> Any:
    """The document, its numbers as floats and integers."""
    with open(path, encoding="utf-8") as file:
        return parsed(json.load(file))


def parsed(document: Any) -> Any:
    if any(document["structure"].get(field, []) != [] for field in RESERVED):
        raise ValueError(f"version 2 of this format knows no {' and no '.join(RESERVED)}; get a later evaluator")
    return {**document, "tensors": {name: numbers(value) for name, value in document["tensors"].items()}}


def numbers(value: Any) -> Any:
    if isinstance(value, list):
        return [numbers(item) for item in value]
    return float.fromhex(value) if isinstance(value, str) else value


def score(document: Any, row: Any) -> Any:
    """f of one row of raw values in the order of `features`: a list, one number per output.

    None and NaN are missing; where a column has no rule for that, every output is NaN. Infinities count as the largest
    number, labels never seen have a row of their own.
    """
    s, t = document["structure"], document["tensors"]
    if len(row) != len(document["features"]):
        wanted = ", ".join(map(str, document["features"]))
        raise ValueError(f"a row has a value for each of {wanted}; got {len(row)} values; pass them in this order.")
    if refused(document, row):
        return [math.nan for entry in s["members"][0] for _ in entry["outputs"]]
    if document["arithmetic"] == "fixed-point":
        x = [v for i, c in enumerate(s["columns"]) for v in column(c, f"columns.{i}.", t, row[i], True)]
        offset = float.fromhex(s["link"]["offset"])  # added to an exact product: rounded once
        return [math.ldexp(v, -s["link"]["unit"]) + offset for v in average(document, x, s["format"]["shift"])]
    columns = (s.get("ends") or {}).get("inputs")
    x = list(row)
    if columns:
        x = [v for i, c in enumerate(columns) for v in column(c, f"inputs.{i}.", t, row[i], False)]
    return average(document, free_branch(s, t, x), None)


def refused(document: Any, row: Any) -> bool:
    """Whether a value is missing where nothing says what that means."""
    s = document["structure"]
    columns = s["columns"] if document["arithmetic"] == "fixed-point" else (s.get("ends") or {}).get("inputs")
    rules = [True] * len(row) if not columns else ["knots" in c and not c["missing"] for c in columns]
    return any(rule and (x is None or x != x) for rule, x in zip(rules, row, strict=True))


def free_branch(s: Any, t: Any, x: Any) -> Any:
    """Dense layers over the last columns, without a promise; the bits of exp and tanh are those of the machine."""
    if not s["free_branch"]:
        return x
    d = len(x) - len(t["free.0.weight"][0])
    z = x[d:]
    for k, word in enumerate(s["free_branch"]):
        z = affine(t[f"free.{k}.weight"], t[f"free.{k}.bias"], z)
        if word == "silu":
            z = [max(v, -700.0) / (1.0 + math.exp(-clamp(v, -700.0, 700.0))) for v in z]
        elif word != "identity":
            z = [math.tanh(v) if word == "tanh" else max(v, 0.0) for v in z]
    return x[:d] + z


def column(entry: Any, name: Any, t: Any, x: Any, fixed: Any) -> Any:
    """Model columns of one raw value."""
    missing = x is None or x != x
    if "categories" in entry:
        labels = entry["categories"]
        return t[name + "table"][len(labels) + 1 if missing else labels.index(x) if x in labels else len(labels)]
    if missing:
        return t[name + "missing"]
    out, at = [], 0
    for m, n in enumerate(entry["knots"]):
        k, v, at = t[name + "knots"][at : at + n], t[name + "values"][at : at + n], at + n
        u = clamp(x, k[0], k[-1]) if fixed else clamp(x, -MOST, MOST)
        i = bisect_right(k, u)
        a = max(i - 1, 0)
        if fixed:
            rate = float((v[i] - v[a]) / (Fraction(k[i]) - Fraction(k[a]))) if 0 < i < n else 0.0
            out.append(clamp(v[a] + round((u - k[a]) * rate), v[a], v[min(i, n - 1)]))
            continue
        tails = t[name + "tails"][m]
        slope = (v[i] / 2 - v[a] / 2) / (k[i] / 2 - k[a] / 2) if 0 < i < n else tails[i > 0]
        low, high = v[a] if i else -MOST, v[i] if i < n else MOST
        out.append(clamp(v[a] + clamp(u - k[a], -MOST, MOST) * slope, low, high))
    return out + ([] if entry["present"] is None else [entry["present"]])


def average(document: Any, x: Any, shift: Any) -> Any:
    """The members' weighted mean."""
    s, t = document["structure"], document["tensors"]
    total: dict[int, Any] = {}
    for m, member in enumerate(s["members"]):
        for j, entry in enumerate(member):
            values = trunk(document, entry, f"member.{m}.trunk.{j}", x, shift)
            for k, value in zip(entry["outputs"], values, strict=True):
                start = 0.0 if shift is None else 1 << (shift - 1)
                total[k] = total.get(k, start) + t["member_weights"][m] * value
    return [total[k] if shift is None else total[k] >> shift for k in sorted(total)]


def trunk(document: Any, entry: Any, name: Any, x: Any, shift: Any) -> Any:
    """One network: affine layers with sorts between them; paper form adds a residual."""
    t, paper = document["tensors"], entry["form"] == "paper"
    if shift is None:
        x = [clamp(v, -document["limits"][name], document["limits"][name]) for v in x]
    z = [a * b for a, b in zip(x, t[name + ".radius"], strict=True)] if paper and shift is None else x
    words = entry.get("activations") or [f"sort {size}" for size in entry["group_sizes"]]
    for k in range(len(words) + 1):
        z = affine(t[f"{name}.{k}.weight"], t[f"{name}.{k}.bias"], z)
        z = z if shift is None else [v >> shift for v in z]
        if k < len(words) and words[k] == "rectify":
            z = [max(v, 0.0) for v in z]
        elif k < len(words):
            most, g = document["limits"].get("activations"), int(words[k].split()[1])
            z = z if most is None else [clamp(v, -most, most) for v in z]
            z = [v for at in range(0, len(z), g) for v in sorted(z[at : at + g])]
    if not paper:
        return z
    if shift is not None:
        return [a + b for a, b in zip(z, affine(t[name + ".residual"], [0] * len(z), x), strict=True)]
    center = affine(t[name + ".center"], [0.0] * len(z), x)
    return [c + a * b for c, a, b in zip(center, t[name + ".scale"], z, strict=True)]


def affine(weight: Any, bias: Any, z: Any) -> Any:
    out = []
    for row, total in zip(weight, bias, strict=True):
        for w, v in zip(row, z, strict=True):
            total = total + w * v  # never fused: Python rounds the product and the sum
        out.append(total)
    return out


def clamp(v: Any, low: Any, high: Any) -> Any:
    return min(max(v, low), high)


if __name__ == "__main__":
    print(score(read(sys.argv[1]), json.loads(sys.argv[2])))
