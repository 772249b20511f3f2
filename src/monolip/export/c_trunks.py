"""The layers in C for several rows at once, a row in each lane, by straight-line code.

Each sum is z = bias; z = z + w[j] * x[j], j ascending, as for one row: the bits are the same. Straight-line code has
its weights as constants, which nvcc turns into immediates, and C compilers turn loops over lanes into vectors.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from monolip.export.c_network import CLayer, CNetwork, CTrunk
from monolip.export.c_sums import added, after_sum, clip, ending, starting
from monolip.export.c_text import literal, table, wrapped

__all__ = ["trunk_tables", "trunks_in_lanes"]

_BLOCK = 4  # units whose sums advance together: each input is loaded once for them

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
    """Residuals and, for networks too large for straight-line code, weights (in, out) and biases of every layer."""
    parts = []
    for t, trunk in enumerate(network.trunks):
        if not network.is_unrolled:
            for k, layer in enumerate(trunk.layers):
                parts.append(table(name, f"w{t}_{k}", network.stored, layer.weight.T))
                parts.append(table(name, f"b{t}_{k}", network.number, layer.bias))
        if trunk.residual is not None:
            parts.append(table(name, f"c{t}", network.number, trunk.residual))
    return "\n".join(parts)


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
    whole = [f"{M}_FUNCTION void {name}_lanes(const {T} *u, {T} *f) {{", *declare, *starting(network, "k", lanes)]
    return "\n".join(parts) + "\n" + "\n".join([*whole, *calls, *ending(network, "k", lanes), "}"]) + "\n"


def _lane_trunk(M: str, name: str, network: CNetwork, t: int, trunk: CTrunk) -> str:
    T, n = network.number, network.n_model
    lines = [f"{M}_FUNCTION void {name}_lanes_{t}(const {T} *{M}_RESTRICT u, {T} *{M}_RESTRICT f) {{"]
    sizes = [f"a{i}[{len(layer.bias)} * {M}_LANES]" for i, layer in enumerate(trunk.layers)]
    clipped = trunk.limit is not None and network.common_limit is None
    lines += [
        f"    {M}_ALIGNED {T} {', '.join([*sizes, *([f'x[{n} * {M}_LANES]'] if clipped else [])])};",
        "    int l;",
    ]
    now = "u"
    if clipped:
        assert trunk.limit is not None
        inside = clip(M, "u[l]", trunk.limit, T)
        lines.append(f"    for (l = 0; l < {n} * {M}_LANES; l++) x[l] = {inside};")
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
                after = after_sum(M, network, f"a{i}[l]", hidden)
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
        yield from (f"        s{r} = {after_sum(M, network, f's{r}', hidden)};" for r in range(len(units)))
    pairs = layer.group_size == 2 and len(units) % 2 == 0
    assert pairs or layer.group_size != 2, "blocks hold whole pairs"
    for r, k in enumerate(units):
        value = f"s{r}"
        if pairs:
            low = r - r % 2
            value = f"{M}_{'LARGER' if r % 2 else 'SMALLER'}(s{low}, s{low + 1})"
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
        yield "        " + added(M, network, trunk, f"f[{k} * {M}_LANES + l]", value)
    yield "    }"
