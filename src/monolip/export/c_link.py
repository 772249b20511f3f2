"""From f to predictions in C: the bits of OutputLink.apply, or those of FixedLink.apply.

e^x needs a table of 90626 floats. It is stored as products E_i = H[i / 64] * L[i % 64] and, four bits each, the ulps by
which Python's entry differs from the rounded product: exact, and a sixth of the text.
"""

from __future__ import annotations

import math

import numpy as np

from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, wrapped
from monolip.export.c_text import table as c_table
from monolip.fixed_point_link import EXPONENTIALS, FixedLink
from monolip.output_link import OutputLink, ordered_exp

__all__ = ["link_functions"]

_GRID, _LIMIT = 64, 708

_EXP = """\
/* e^x, never falling from one double to the next: a table on a grid of 1/64, a polynomial, a clamp between entries */
{M}_FUNCTION double {m}_grid(int i) {{
    const int ulps = (int)(({M}_AT(ulps)[i / 16] >> (4 * (i % 16))) & 15u) - 8;
    const double product = {M}_AT(powers)[i / 64] * {M}_AT(parts)[i % 64];
    int64_t bits;
    double value;
    memcpy(&bits, &product, sizeof bits);
    bits += ulps;
    memcpy(&value, &bits, sizeof value);
    return value;
}}
{M}_FUNCTION double {m}_exp(double x) {{
    const double inside = {M}_CLIP(x, -708.0, 708.0), cell = floor(inside * 64.0), t = inside - cell / 64.0;
    const double low = {m}_grid((int)cell + 45312), high = {m}_grid((int)cell + 45313);
    double h = {M}_ADD(1.0 / 120.0, t / 720.0);
    h = {M}_SEPARATE(t, h, 1.0 / 24.0);
    h = {M}_SEPARATE(t, h, 1.0 / 6.0);
    h = {M}_SEPARATE(t, h, 0.5);
    h = {M}_SEPARATE(t, h, 1.0);
    h = {M}_SEPARATE(t, h, 1.0);
    h = low * h;
    return {M}_CLIP(h, low, high);
}}
"""
_FIXED_EXP = """\
/* e^d as mantissa * 2^exponent in integers, never falling with d */
{M}_FUNCTION int64_t {m}_exp(int64_t d, int *exponent) {{
    const int64_t most = INT64_C(990) << 24, scaled = (d * INT64_C({factor})) >> {shift};
    const int64_t y = {M}_CLIP(scaled, -most, most), low = {M}_AT(exponentials)[(y >> 17) & 127];
    *exponent = (int)(y >> 24);
    return low + ((({M}_AT(exponentials)[((y >> 17) & 127) + 1] - low) * (y & 131071)) >> 17);
}}
{M}_FUNCTION int64_t {m}_term(int64_t d) {{
    int exponent;
    const int64_t mantissa = {m}_exp(d, &exponent);
    const int left = {M}_CLIP(exponent, 0, 35), right = {M}_CLIP(-exponent, 0, 63);
    const int64_t value = (mantissa >> right) << left;
    return {M}_SMALLER(value, INT64_C({ceiling}));
}}
"""


def link_functions(name: str, link: OutputLink | FixedLink | None, layers: CNetwork) -> tuple[str, str]:
    """Tables, and NAME_predict(f, p): outputs -> the prediction, or the class probabilities, in double."""
    tables, helper, body = _fixed(name, link) if isinstance(link, FixedLink) else _float(name, link, layers)
    M, n = name.upper(), _n_predictions(link, layers.n_outputs)
    head = f"{M}_FUNCTION void {name}_predict(const {layers.number} *f, double *p) {{"
    bad = f"f[0] == {M}_INVALID" if layers.shift is not None else "f[0] != f[0]"
    invalid = [
        f"    if ({bad}) {{",
        f"        for (k = 0; k < {n}; k++) p[k] = (double)NAN;",
        "        return;",
        "    }",
    ]
    lines = [f"#define {M}_PREDICTIONS {n}", head, "    int k;", *invalid, *(f"    {line}" for line in body), "}"]
    return tables, helper + "\n".join(lines) + "\n"


def _n_predictions(link: OutputLink | FixedLink | None, n_outputs: int) -> int:
    plain = link.link if isinstance(link, FixedLink) else link
    return n_outputs if plain is None else len(plain.labels) if plain.labels else 1


def _float(name: str, link: OutputLink | None, layers: CNetwork) -> tuple[str, str, list[str]]:
    kind, M, n = "none" if link is None else link.name, name.upper(), layers.n_outputs
    if kind in ("none", "identity"):
        return "", "", [f"for (k = 0; k < {n}; k++) p[k] = (double)f[k];"]
    tables, helper = _exp_tables(name), _EXP.format(M=M, m=name)
    if kind == "log":
        return tables, helper, [f"for (k = 0; k < 1; k++) p[k] = {name}_exp((double)f[k]);"]
    if kind == "logit":
        assert link is not None
        return (
            tables,
            helper,
            [
                "for (k = 0; k < 2; k++)",
                f"    p[k] = 1.0 / (1.0 + {name}_exp(k == {link.positive} ? -(double)f[0] : (double)f[0]));",
            ],
        )
    return (
        tables,
        helper,
        [
            f"for (k = 0; k < {n}; k++) {{",
            "    double total = 0.0;",
            "    int j;",
            f"    for (j = 0; j < {n}; j++) total += {name}_exp((double)f[j] - (double)f[k]);",
            "    p[k] = 1.0 / total;",
            "}",
        ],
    )


def _exp_tables(name: str) -> str:
    """Powers e^k, parts e^(i/64), and how many ulps Python's table differs from their product, in four bits each."""
    powers = np.array([math.exp(k) for k in range(-_LIMIT, _LIMIT + 1)])
    parts = np.array([math.exp(i / _GRID) for i in range(_GRID)])
    steps = np.arange(2 * _LIMIT * _GRID + 1)
    entries = ordered_exp(steps / _GRID - _LIMIT)  # t = 0 there: the table itself
    last = math.exp((_LIMIT * _GRID + 1) / _GRID)  # only the upper clamp of the last cell reads it
    entries, steps = np.append(entries, max(last, entries[-1])), np.append(steps, steps[-1] + 1)
    ulps = entries.view(np.int64) - (powers[steps // _GRID] * parts[steps % _GRID]).view(np.int64) + 8
    assert 0 <= ulps.min() <= ulps.max() <= 15, "four bits hold the difference"
    padded = np.append(ulps, np.full(-len(ulps) % 16, 8)).astype(np.uint64).reshape(-1, 16)
    packed = [sum(int(v) << (4 * i) for i, v in enumerate(row)) for row in padded.tolist()]
    words = [f"0x{v:016x}u," for v in packed]
    macro = f"{name.upper()}_INIT_ULPS"
    lines = [f"#define {macro} {{ \\", *wrapped(words, "    ", " \\"), "}"]
    lines += [f"static const uint64_t {name}_ulps[{len(packed)}] = {macro};", "#ifdef __CUDACC__"]
    lines += [f"static __device__ const uint64_t {name}_device_ulps[{len(packed)}] = {macro};", "#endif"]
    return "\n".join([c_table(name, "powers", "double", powers), c_table(name, "parts", "double", parts), *lines])


def _fixed(name: str, link: FixedLink) -> tuple[str, str, list[str]]:
    M, kind = name.upper(), link.name
    unit = literal(2.0**-link.unit, "double")
    if kind in ("none", "identity"):  # the product is exact, so a fused multiply-add gives the same bits
        offset = f" + ({literal(link.offset, 'double')})" if link.offset else ""
        return "", "", [f"for (k = 0; k < {M}_PREDICTIONS; k++) p[k] = (double)f[k] * {unit}{offset};"]
    tables = c_table(name, "exponentials", "int64_t", EXPONENTIALS)
    helper = _FIXED_EXP.format(M=M, m=name, factor=link.factor, shift=link.shift, ceiling=link.ceiling)
    if kind == "log":
        return (
            tables,
            helper,
            [
                "for (k = 0; k < 1; k++) {",
                "    int exponent;",
                f"    const int64_t mantissa = {name}_exp((int64_t)f[k], &exponent);",
                "    p[k] = ldexp((double)mantissa, exponent - 26);",
                "}",
            ],
        )
    n = f"{M}_PREDICTIONS"
    value = f"(i == {link.positive} ? (int64_t)f[0] : 0)" if kind == "logit" else "(int64_t)f[i]"
    terms = value, value.replace("i ==", "k ==").replace("[i]", "[k]")
    return (
        tables,
        helper,
        [
            f"for (k = 0; k < {n}; k++) {{",
            "    int64_t total = 0;",
            "    int i;",
            f"    for (i = 0; i < {n}; i++) total += {name}_term({terms[0]} - {terms[1]});",
            "    p[k] = 67108864.0 / (double)total;",
            "}",
        ],
    )
