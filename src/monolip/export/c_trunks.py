"""The layers in C, twice: one row by loops over tables, and several rows in lanes by straight-line code.

Each sum is z = bias; z = z + w[j] * x[j], j ascending, in both: the bits are the same. Straight-line code has its
weights as constants, which nvcc turns into immediates, and C compilers turn loops over lanes into vector instructions.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from monolip.export.c_network import CLayer, CNetwork, CTrunk
from monolip.export.c_text import literal, table, wrapped

__all__ = ["trunk_tables", "trunks_in_lanes", "trunks_of_a_row"]

_BLOCK = 4  # units whose sums advance together: each input is loaded once for them

_ROW = """\
/* a = W z + b, each sum in ascending order of j; w is stored (in, out), so that the inner loop runs over units */
{M}_FUNCTION void {m}_affine(const {stored} *{M}_RESTRICT w, const {T} *{M}_RESTRICT b, const {T} *{M}_RESTRICT z,
                          {T} *{M}_RESTRICT a, int n_in, int n_out) {{
    int j, k;
    for (k = 0; k < n_out; k++) a[k] = b[k];
    for (j = 0; j < n_in; j++)
        for (k = 0; k < n_out; k++) a[k] = {M}_MULTIPLY_ADD(({T})w[j * n_out + k], z[j], a[k]);
}}

/* sort each group of consecutive units, in every lane, by exchanging neighbours */
{M}_FUNCTION void {m}_sort({T} *a, int n, int group, int lanes) {{
    int g, i, j, l;
    for (g = 0; g < n; g += group)
        for (i = group - 1; i > 0; i--)
            for (j = g; j < g + i; j++)
                for (l = 0; l < lanes; l++) {{
                    const {T} p = a[j * lanes + l], q = a[(j + 1) * lanes + l];
                    a[j * lanes + l] = {M}_MIN(p, q);
                    a[(j + 1) * lanes + l] = {M}_MAX(p, q);
                }}
}}
"""

# Networks too large for straight-line code: four units and four inputs at a time, each sum still in ascending order.
_LANES = """\
{M}_FUNCTION void {m}_affine_lanes(const {stored} *{M}_RESTRICT w, const {T} *{M}_RESTRICT b, const {T} *{M}_RESTRICT z,
                                {T} *{M}_RESTRICT a, int n_in, int n_out) {{
    int i, j, k, l;
    for (k = 0; k < n_out; k++) {M}_EACH_LANE a[k * {M}_LANES + l] = b[k];
    for (k = 0; k < n_out - n_out % 4; k += 4) {{
        {T} *{M}_RESTRICT s = a + k * {M}_LANES;
        for (j = 0; j < n_in - n_in % 4; j += 4) {{
            const {stored} *w0 = w + j * n_out + k, *w1 = w0 + n_out, *w2 = w1 + n_out, *w3 = w2 + n_out;
            const {T} *v = z + j * {M}_LANES;
            {M}_EACH_LANE {{
                const {T} v0 = v[l], v1 = v[{M}_LANES + l], v2 = v[2 * {M}_LANES + l], v3 = v[3 * {M}_LANES + l];
{units}
            }}
        }}
        for (; j < n_in; j++)
            for (i = 0; i < 4; i++)
                {M}_EACH_LANE s[i * {M}_LANES + l] =
                    {M}_MULTIPLY_ADD(({T})w[j * n_out + k + i], z[j * {M}_LANES + l], s[i * {M}_LANES + l]);
    }}
    for (; k < n_out; k++)
        for (j = 0; j < n_in; j++)
            {M}_EACH_LANE a[k * {M}_LANES + l] =
                {M}_MULTIPLY_ADD(({T})w[j * n_out + k], z[j * {M}_LANES + l], a[k * {M}_LANES + l]);
}}
"""
_UNIT = """\
                {T} s{i} = {M}_MULTIPLY_ADD(({T})w0[{i}], v0, s[{i} * {M}_LANES + l]);
                s{i} = {M}_MULTIPLY_ADD(({T})w1[{i}], v1, s{i});
                s{i} = {M}_MULTIPLY_ADD(({T})w2[{i}], v2, s{i});
                s[{i} * {M}_LANES + l] = {M}_MULTIPLY_ADD(({T})w3[{i}], v3, s{i});"""


def trunk_tables(name: str, network: CNetwork) -> str:
    """Weights, transposed, and biases of every layer."""
    parts = []
    for t, trunk in enumerate(network.trunks):
        for k, layer in enumerate(trunk.layers):
            parts.append(table(name, f"w{t}_{k}", network.stored, layer.weight.T))
            parts.append(table(name, f"b{t}_{k}", network.number, layer.bias))
        if trunk.residual is not None:
            parts.append(table(name, f"c{t}", network.number, trunk.residual))
    return "\n".join(parts)


def trunks_of_a_row(name: str, network: CNetwork) -> str:
    """NAME_row(u, f): model columns of one row -> outputs."""
    names = {"m": name, "M": name.upper(), "T": network.number, "stored": network.stored}
    lines = [f"{name.upper()}_FUNCTION void {name}_row(const {network.number} *u, {network.number} *f) {{"]
    width = max(len(layer.bias) for trunk in network.trunks for layer in trunk.layers)
    lines += [f"    {network.number} a[{width}], b[{width}];"]
    if any(trunk.limit is not None for trunk in network.trunks) and network.common_limit is None:
        lines.append(f"    {network.number} x[{network.n_model}];")
    body = _start(network, "k")
    for t, trunk in enumerate(network.trunks):
        body += _trunk_of_a_row(names, network, t, trunk)
    body += _end(network, "k")
    if any("for (k" in line for line in body):
        lines.append("    int k;")
    if all(len(trunk.layers) == 1 for trunk in network.trunks):
        lines = [line.replace(f", b[{width}]", "") for line in lines]
    return _ROW.format(**names) + "\n" + "\n".join([*lines, *body, "}"]) + "\n"


def _start(network: CNetwork, k: str, lanes: str = "") -> list[str]:
    if network.is_single:
        return []
    first = 0 if network.shift is None else 1 << (network.shift - 1)
    return [f"    for ({k} = 0; {k} < {network.n_outputs}{lanes}; {k}++) f[{k}] = {literal(first, network.number)};"]


def _end(network: CNetwork, k: str, lanes: str = "") -> list[str]:
    if network.is_single or network.shift is None:
        return []
    return [f"    for ({k} = 0; {k} < {network.n_outputs}{lanes}; {k}++) f[{k}] = f[{k}] >> {network.shift};"]


def _trunk_of_a_row(names: dict[str, str], network: CNetwork, t: int, trunk: CTrunk) -> Iterator[str]:
    m, M, now = names["m"], names["M"], "u"
    if trunk.limit is not None and network.common_limit is None:
        yield f"    for (k = 0; k < {network.n_model}; k++) x[k] = {_clip(M, 'u[k]', trunk.limit, network.number)};"
        now = "x"
    source = now
    for i, layer in enumerate(trunk.layers):
        n_out, n_in = layer.weight.shape
        into = "ab"[i % 2]
        yield f"    {m}_affine({M}_AT(w{t}_{i}), {M}_AT(b{t}_{i}), {now}, {into}, {n_in}, {n_out});"
        hidden = i + 1 < len(trunk.layers)
        if network.shift is not None:
            after = _after(M, network, f"{into}[k]", hidden)
            yield f"    for (k = 0; k < {n_out}; k++) {into}[k] = {after};"
        if layer.group_size > 1:
            yield f"    {m}_sort({into}, {n_out}, {layer.group_size}, 1);"
        now = into
    n_out = len(trunk.outputs)
    if trunk.residual is not None:
        yield f"    for (k = 0; k < {n_out * network.n_model}; k++)"
        yield f"        {now}[k / {network.n_model}] += {M}_AT(c{t})[k] * {source}[k % {network.n_model}];"
    for row, k in enumerate(trunk.outputs):
        yield "    " + _added(M, network, trunk, f"f[{k}]", f"{now}[{row}]")


def _added(M: str, network: CNetwork, trunk: CTrunk, f: str, value: str) -> str:
    if network.is_single:
        return f"{f} = {value};"
    return f"{f} = {M}_MULTIPLY_ADD({literal(trunk.share, network.number)}, {value}, {f});"


def _after(M: str, network: CNetwork, value: str, hidden: bool) -> str:
    """The shift that rounds down, and the clamp of activations that saturate."""
    if network.shift is None:
        return value
    down = f"({value} >> {network.shift})"
    if network.saturate is None or not hidden:
        return down
    return _clip(M, down, network.saturate, network.number)


def _clip(M: str, value: str, limit: float, number: str) -> str:
    most = literal(limit, number)
    return f"{M}_MIN({M}_MAX({value}, -{most}), {most})"


def trunks_in_lanes(name: str, network: CNetwork) -> str:
    """NAME_lanes(u, f): NAME_LANES rows at once; u[column * LANES + lane] -> f[output * LANES + lane]."""
    M, T = name.upper(), network.number
    parts = [_lane_trunk(M, name, network, t, trunk) for t, trunk in enumerate(network.trunks)]
    if not network.is_unrolled:
        names = {"m": name, "M": M, "T": T, "stored": network.stored}
        units = "\n".join(_UNIT.format(**names, i=i) for i in range(4))
        parts = [_LANES.format(**names, units=units), *parts]
    calls = [f"    {name}_lanes_{t}(u, f);" for t in range(len(network.trunks))]
    lanes = f" * {M}_LANES"
    declare = [] if network.is_single else ["    int k;"]
    whole = [f"{M}_FUNCTION void {name}_lanes(const {T} *u, {T} *f) {{", *declare, *_start(network, "k", lanes)]
    return "\n".join(parts) + "\n" + "\n".join([*whole, *calls, *_end(network, "k", lanes), "}"]) + "\n"


def _lane_trunk(M: str, name: str, network: CNetwork, t: int, trunk: CTrunk) -> str:
    T, n = network.number, network.n_model
    lines = [f"{M}_FUNCTION void {name}_lanes_{t}(const {T} *{M}_RESTRICT u, {T} *{M}_RESTRICT f) {{"]
    sizes = [f"a{i}[{len(layer.bias)} * {M}_LANES]" for i, layer in enumerate(trunk.layers)]
    clipped = trunk.limit is not None and network.common_limit is None
    lines += [f"    {T} {', '.join([*sizes, *([f'x[{n} * {M}_LANES]'] if clipped else [])])};", "    int l;"]
    now = "u"
    if clipped:
        assert trunk.limit is not None
        clip = _clip(M, "u[l]", trunk.limit, T)
        lines.append(f"    for (l = 0; l < {n} * {M}_LANES; l++) x[l] = {clip};")
        now = "x"
    source = now
    for i, layer in enumerate(trunk.layers):
        n_out, n_in = layer.weight.shape
        lines.append(f"    /* layer {i}: {n_in} -> {n_out}, sort groups of {layer.group_size} */")
        hidden = i + 1 < len(trunk.layers)
        if network.is_unrolled:
            for first in range(0, n_out, _BLOCK):
                units = list(range(first, min(first + _BLOCK, n_out)))
                lines += _block(M, network, layer, units, now, f"a{i}", hidden)
        else:
            lines.append(f"    {name}_affine_lanes({M}_AT(w{t}_{i}), {M}_AT(b{t}_{i}), {now}, a{i}, {n_in}, {n_out});")
            if network.shift is not None:
                after = _after(M, network, f"a{i}[l]", hidden)
                lines.append(f"    for (l = 0; l < {n_out} * {M}_LANES; l++) a{i}[l] = {after};")
        if layer.group_size > (2 if network.is_unrolled else 1):
            lines.append(f"    {name}_sort(a{i}, {n_out}, {layer.group_size}, {M}_LANES);")
        now = f"a{i}"
    lines += _lane_outputs(M, network, trunk, now, source)
    return "\n".join([*lines, "}"])


def _block(
    M: str, network: CNetwork, layer: CLayer, units: list[int], z: str, into: str, hidden: bool
) -> Iterator[str]:
    """Sums of a few units, in all lanes; pairs are sorted before they are stored."""
    T = network.number
    yield f"    {M}_EACH_LANE {{"
    yield "        " + f"{T} " + ", ".join(f"s{r} = {literal(layer.bias[k], T)}" for r, k in enumerate(units)) + ";"
    for j in range(layer.weight.shape[1]):
        words = [f"const {T} v{j} = {z}[{j} * {M}_LANES + l];"]
        for r, k in enumerate(units):
            words.append(f"s{r} = {M}_MULTIPLY_ADD({literal(layer.weight[k, j], T)}, v{j}, s{r});")
        yield from wrapped(words, "        ")
    if network.shift is not None:
        yield from (f"        s{r} = {_after(M, network, f's{r}', hidden)};" for r in range(len(units)))
    pairs = layer.group_size == 2 and len(units) % 2 == 0
    assert pairs or layer.group_size != 2, "blocks hold whole pairs"
    for r, k in enumerate(units):
        value = f"s{r}"
        if pairs:
            low = r - r % 2
            value = f"{M}_{'MAX' if r % 2 else 'MIN'}(s{low}, s{low + 1})"
        yield f"        {into}[{k} * {M}_LANES + l] = {value};"
    yield "    }"


def _lane_outputs(M: str, network: CNetwork, trunk: CTrunk, now: str, source: str) -> Iterator[str]:
    yield f"    {M}_EACH_LANE {{"
    for row, k in enumerate(trunk.outputs):
        value = f"{now}[{row} * {M}_LANES + l]"
        if trunk.residual is not None:
            terms = [
                f"{literal(c, network.number)} * {source}[{j} * {M}_LANES + l]"
                for j, c in enumerate(np.asarray(trunk.residual)[row].tolist())
            ]
            value = f"({' + '.join([value, *terms])})"
        yield "        " + _added(M, network, trunk, f"f[{k} * {M}_LANES + l]", value)
    yield "    }"
