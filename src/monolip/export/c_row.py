"""The layers of one row in C: units lie in vectors, inputs are taken one after the other, j ascending as everywhere.

Pairs are split: a vector holds the first units of several pairs, another one their partners, so that a sort is one
minimum and one maximum. Vectors are those of gcc and clang; other compilers run plain loops over the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CLayer, CNetwork, CTrunk
from monolip.export.c_sums import added, after_sum, clip, ending, starting
from monolip.export.c_text import table

__all__ = ["row_tables", "trunks_of_a_row"]

_SLIM = {"float": 4, "int32_t": 4, "double": 2, "int64_t": 2}  # numbers in 16 bytes; a wide vector has twice as many

_HELPERS = """\
#ifndef {M}_IN_VECTORS
#if defined(__GNUC__) && !defined(__CUDACC__)
#define {M}_IN_VECTORS {vectors}
#else
#define {M}_IN_VECTORS 0
#endif
#endif
#if {M}_IN_VECTORS /* of 16 bytes, and of 32 or two of 16 */
typedef {T} {m}_slim __attribute__((vector_size(16)));
typedef {I} {m}_slim_bits __attribute__((vector_size(16)));
#define {M}_ADD_VECTOR(kind, a, from, z) do {{ \\
    {m}_##kind w_; memcpy(&w_, (from), sizeof w_); (a) = {M}_MULTIPLY_ADD(w_, (z), (a)); }} while (0)
#define {M}_SORT_VECTORS(kind, p, q) do {{ /* p, q become their minimum and maximum, number by number */ \\
    const {m}_##kind##_bits p_ = ({m}_##kind##_bits)(p), q_ = ({m}_##kind##_bits)(q), less_ = (p) < (q); \\
    (p) = ({m}_##kind)((less_ & p_) | (~less_ & q_)); (q) = ({m}_##kind)((less_ & q_) | (~less_ & p_)); }} while (0)
#define {M}_ADD_SLIM(a, from, z) {M}_ADD_VECTOR(slim, a, from, z)
#define {M}_SORT_SLIM(p, q) {M}_SORT_VECTORS(slim, p, q)
#define {M}_AFTER_SLIM(a) {after_slim}
#define {M}_AFTER_LAST_SLIM(a) {after_last}
#if defined(__AVX2__)
typedef {T} {m}_wide __attribute__((vector_size(32)));
typedef {I} {m}_wide_bits __attribute__((vector_size(32)));
#define {M}_ADD_WIDE(a, from, z) {M}_ADD_VECTOR(wide, a, from, z)
#define {M}_SORT_WIDE(p, q) {M}_SORT_VECTORS(wide, p, q)
#define {M}_AFTER_WIDE(a) {after_wide}
#define {M}_AFTER_LAST_WIDE(a) {after_last}
#else
typedef struct {{ {m}_slim v[2]; }} {m}_wide;
#define {M}_ADD_WIDE(a, from, z) do {{ \\
    {M}_ADD_SLIM((a).v[0], (from), z); {M}_ADD_SLIM((a).v[1], (from) + {slim}, z); }} while (0)
#define {M}_SORT_WIDE(p, q) do {{ \\
    {M}_SORT_SLIM((p).v[0], (q).v[0]); {M}_SORT_SLIM((p).v[1], (q).v[1]); }} while (0)
#define {M}_AFTER_WIDE(a) do {{ {M}_AFTER_SLIM((a).v[0]); {M}_AFTER_SLIM((a).v[1]); }} while (0)
#define {M}_AFTER_LAST_WIDE(a) do {{ {M}_AFTER_LAST_SLIM((a).v[0]); {M}_AFTER_LAST_SLIM((a).v[1]); }} while (0)
#endif
#else
/* all sums of a layer, inputs in the order of their units or split in halves */
{M}_FUNCTION void {m}_affine(const {T} *{M}_RESTRICT r, const {T} *{M}_RESTRICT z, {T} *{M}_RESTRICT a,
                          int n_in, int half, int n_out) {{
    int j, k;
    for (k = 0; k < n_out; k++) a[k] = r[k];
    for (j = 0; j < n_in; j++)
        for (k = 0; k < n_out; k++)
            a[k] = {M}_MULTIPLY_ADD(r[(j + 1) * n_out + k], z[half ? (j % 2) * half + j / 2 : j], a[k]);
}}
#endif
"""


@dataclass(frozen=True)
class _Layout:
    """Where the units of a layer stand: order (padded,) of unit numbers or -1, chunks (at, kind) of it.

    half: of a layer of pairs, whose first units stand in [0, half) and partners in [half, 2 half); None for others.
    """

    order: NDArray[np.int64]
    chunks: tuple[tuple[int, str], ...]
    half: int | None


def _layout(layer: CLayer, network: CNetwork) -> _Layout:
    if network.fused:  # no vectors there: units as they are
        return _Layout(np.arange(len(layer.bias)), (), None)
    n, slim, pairs = len(layer.bias), _SLIM[network.number], layer.group_size == 2
    units, at = n // 2 if pairs else n, 0
    chunks = []
    while at < units:
        kind = "wide" if units - at > slim else "slim"
        chunks.append((at, kind))
        at += 2 * slim if kind == "wide" else slim
    order = np.full(2 * at if pairs else at, -1)
    order[:units] = np.arange(0, n, 2 if pairs else 1)
    if pairs:
        order[at : at + units] = np.arange(1, n, 2)
        chunks += [(at + c, kind) for c, kind in chunks]
    return _Layout(order, tuple(chunks), at if pairs else None)


def row_tables(name: str, network: CNetwork) -> str:
    """For each layer the biases, then the weights of input after input, units in the order of `_layout`."""
    parts = []
    for t, trunk in enumerate(network.trunks):
        for i, layer in enumerate(trunk.layers):
            order = _layout(layer, network).order if len(layer.bias) > 1 else np.zeros(1, dtype=np.int64)
            rows = np.vstack([layer.bias[None], layer.weight.T])[:, np.maximum(order, 0)]
            parts.append(table(name, f"r{t}_{i}", network.number, np.where(order < 0, 0, rows)))
    return "\n".join(parts)


def trunks_of_a_row(name: str, network: CNetwork) -> str:
    """NAME_row(u, f): model columns of one row -> outputs."""
    T = network.number
    bits = {"float": "int32_t", "double": "int64_t"}.get(T, T)
    names = {"m": name, "M": name.upper(), "T": T, "I": bits, "vectors": int(not network.fused), "slim": _SLIM[T]}
    names |= _after_vectors(names, network)
    lines = [f"{name.upper()}_FUNCTION void {name}_row(const {T} *u, {T} *f) {{"]
    if any(trunk.limit is not None for trunk in network.trunks) and network.common_limit is None:
        lines.append(f"    {T} x[{network.n_model}];")
    body = starting(network, "k")
    for t, trunk in enumerate(network.trunks):
        body += ["    {", *_trunk(names, network, t, trunk), "    }"]
    body += ending(network, "k")
    if any("(k = " in line for line in body):
        lines.append("    int k;")
    return _HELPERS.format(**names) + "\n" + "\n".join([*lines, *body, "}"]) + "\n"


def _trunk(names: dict[str, Any], network: CNetwork, t: int, trunk: CTrunk) -> Iterator[str]:
    M, T, now, half = names["M"], network.number, "u", None
    layouts = [_layout(layer, network) for layer in trunk.layers]
    rooms = [len(v.order) if len(layer.bias) > 1 else 1 for v, layer in zip(layouts, trunk.layers, strict=True)]
    yield f"    {T} {', '.join(f'a{i}[{size}]' for i, size in enumerate(rooms))};"
    if trunk.limit is not None and network.common_limit is None:
        yield f"    for (k = 0; k < {network.n_model}; k++) x[k] = {clip(M, 'u[k]', trunk.limit, T)};"
        now = "x"
    source = now
    for i, layer in enumerate(trunk.layers):
        inputs = [f"{now}[{j if half is None else (j % 2) * half + j // 2}]" for j in range(layer.weight.shape[1])]
        hidden = i + 1 < len(trunk.layers)
        if len(layer.bias) == 1:
            yield from _one_sum(M, f"{M}_AT(r{t}_{i})", f"a{i}[0]", inputs)
            yield f"    a{i}[0] = {after_sum(M, network, f'a{i}[0]', hidden)};"
        else:
            yield f"#if {M}_IN_VECTORS"
            last = "" if hidden else "_LAST"
            yield from _in_vectors(names, network, f"r{t}_{i}", f"a{i}", layouts[i], (now, half, len(inputs)), last)
            yield "#else"
            sizes = f"{len(inputs)}, {half or 0}, {len(layouts[i].order)}"
            yield f"    {names['m']}_affine({M}_AT(r{t}_{i}), {now}, a{i}, {sizes});"
            yield from _after_in_loops(M, network, f"a{i}", layouts[i], hidden)
            yield "#endif"
        if layer.group_size > 1 and layouts[i].half is None:
            yield f"    {names['m']}_sort(a{i}, {len(layer.bias)}, {layer.group_size}, 1);"
        now, half = f"a{i}", layouts[i].half
    if trunk.residual is not None:
        yield f"    for (k = 0; k < {len(trunk.outputs) * network.n_model}; k++)"
        yield f"        {now}[k / {network.n_model}] += {M}_AT(c{t})[k] * {source}[k % {network.n_model}];"
    for row, k in enumerate(trunk.outputs):
        yield "    " + added(M, network, trunk, f"f[{k}]", f"{now}[{row}]")


def _one_sum(M: str, r: str, into: str, inputs: list[str]) -> Iterator[str]:
    """A single unit: one chain."""
    yield f"    {into} = {r}[0];"
    for j, z in enumerate(inputs):
        yield f"    {into} = {M}_MULTIPLY_ADD({r}[{1 + j}], {z}, {into});"


def _in_vectors(
    names: dict[str, Any],
    network: CNetwork,
    r: str,
    a: str,
    layout: _Layout,
    given: tuple[str, int | None, int],
    last: str,
) -> Iterator[str]:
    """Sums of all units of a layer, pairs sorted, into the array a. given: inputs, half of their layout, how many."""
    (z, half, n_in), M, m, size = given, names["M"], names["m"], len(layout.order)
    r = f"{M}_AT({r})"
    yield "    {"
    yield "        " + " ".join(f"{m}_{kind} s{c};" for c, kind in layout.chunks)
    yield "        int j;"
    yield from (f"        memcpy(&s{c}, {r} + {c}, sizeof s{c});" for c, _ in layout.chunks)
    steps = [("j", "2 * j + 1"), (f"{half} + j", "2 * j + 2")] if half else [("j", "j + 1")]
    yield f"        for (j = 0; j < {n_in // len(steps)}; j++) {{"
    for at, row in steps:
        for c, kind in layout.chunks:
            yield f"            {M}_ADD_{kind.upper()}(s{c}, {r} + ({row}) * {size} + {c}, {z}[{at}]);"
    yield "        }"
    if network.shift is not None:
        yield from (f"        {M}_AFTER{last}_{kind.upper()}(s{c});" for c, kind in layout.chunks)
    if layout.half:
        for c, kind in layout.chunks[: len(layout.chunks) // 2]:
            yield f"        {M}_SORT_{kind.upper()}(s{c}, s{layout.half + c});"
    yield from (f"        memcpy({a} + {c}, &s{c}, sizeof s{c});" for c, _ in layout.chunks)
    yield "    }"


def _after_in_loops(M: str, network: CNetwork, a: str, layout: _Layout, hidden: bool) -> Iterator[str]:
    """The shift, clamp and sort without vectors; the loop variable is their own, or it would be unused with vectors."""
    if network.shift is None and layout.half is None:
        return
    yield "    {"
    yield "        int i;"
    if network.shift is not None:
        yield f"        for (i = 0; i < {len(layout.order)}; i++) {a}[i] = {after_sum(M, network, f'{a}[i]', hidden)};"
    if layout.half:
        yield f"        for (i = 0; i < {layout.half}; i++) {{"
        yield f"            const {network.number} p = {a}[i], q = {a}[{layout.half} + i];"
        yield f"            {a}[i] = {M}_SMALLER(p, q);"
        yield f"            {a}[{layout.half} + i] = {M}_LARGER(p, q);"
        yield "        }"
    yield "    }"


def _after_vectors(names: dict[str, Any], network: CNetwork) -> dict[str, str]:
    """What follows the sums of a vector in fixed point: the shift, and the clamp of hidden layers that saturate."""
    if network.shift is None:
        return dict.fromkeys(("after_slim", "after_wide", "after_last"), "(void)0")
    down = f"((a) = (a) >> {network.shift})"
    if network.saturate is None:
        return dict.fromkeys(("after_slim", "after_wide", "after_last"), down)
    most = network.saturate
    found = {"after_last": down}
    for kind in ("slim", "wide"):  # the second of a sorted pair is the larger one, so two sorts clamp
        found[f"after_{kind}"] = (
            f"do {{ {names['m']}_{kind} low_ = ((a) ^ (a)) - {most}, high_ = ((a) ^ (a)) + {most}; {down}; \\\n"
            f"    {names['M']}_SORT_VECTORS({kind}, low_, a); {names['M']}_SORT_VECTORS({kind}, a, high_); }} while (0)"
        )
    return found
