"""One header from its parts, and the comment at its top: what it computes, what is proved, what inputs mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from monolip.certify.certificate import Certificate
from monolip.export.c_frame import API, BEGIN, BLOCK, END, MULTIPLY_ADD, SORT
from monolip.export.c_inputs import input_functions, input_kinds, raw_columns_of
from monolip.export.c_link import link_functions
from monolip.export.c_network import CNetwork
from monolip.export.c_row import row_tables, trunks_of_a_row
from monolip.export.c_self_test import SelfTestVectors, self_test
from monolip.export.c_text import comment
from monolip.export.c_trunks import trunk_tables, trunks_in_lanes
from monolip.export.c_turn import turned
from monolip.fixed_point import FixedPointNetwork
from monolip.fixed_point_columns import FixedCategory
from monolip.fixed_point_link import FixedLink
from monolip.frozen import FrozenNetwork
from monolip.input_columns import CategoryColumn
from monolip.output_link import OutputLink

__all__ = ["HeaderParts", "header_text"]

_LANES = {"float": 16, "double": 8, "int32_t": 16, "int64_t": 8}
_TURN = """\
    {M}_EACH_LANE
        for (k = 0; k < {n_raw}; k++) t[k * {M}_LANES + l] = ({G})x[l * {n_raw} + k];"""
_INVALID = {"float": "NAN", "double": "((double)NAN)", "int32_t": "INT32_MIN", "int64_t": "INT64_MIN"}


@dataclass(frozen=True)
class HeaderParts:
    """network: what the header holds, with its certificate; vectors: of the self-test."""

    name: str
    network: FrozenNetwork | FixedPointNetwork
    layers: CNetwork
    certificate: Certificate
    source: str
    vectors: SelfTestVectors


def header_text(parts: HeaderParts) -> str:
    """The whole file."""
    name, layers, columns = parts.name, parts.layers, raw_columns_of(parts.network)
    n_raw = layers.n_model if columns is None else len(columns)
    names = {"m": name, "M": name.upper(), "T": layers.number, "n_raw": n_raw, "n_model": layers.n_model}
    names |= {"n_outputs": layers.n_outputs}
    input_tables, inputs = input_functions(name, columns, layers)
    link_tables, link = link_functions(name, parts.network.link, layers)
    blocks = []
    for kind, suffix in (("double", ""), ("float", "_float")):
        read = kind if kind in input_kinds(layers) else "float"
        each = names | {"X": kind, "suffix": suffix, "G": read}
        each["turn"] = f"    {name}_turn(x, t);" if kind == read == "float" else _TURN.format(**each)
        blocks += [BLOCK.format(**each), API.format(**each)]
    body = [
        input_tables,
        row_tables(name, layers),
        trunk_tables(name, layers),
        link_tables,
        inputs,
        turned(name, n_raw),
        SORT.format(**names),
        trunks_of_a_row(name, layers),
    ]
    body += [trunks_in_lanes(name, layers), *blocks, link, self_test(names, layers, parts.vectors), END.format(**names)]
    return "\n".join([_about(parts, n_raw), _begin(parts, names), *(text for text in body if text)])


def _begin(parts: HeaderParts, names: dict[str, Any]) -> str:
    T = parts.layers.number
    host, device = MULTIPLY_ADD[T, parts.layers.fused]
    smaller, larger = {"float": ("fminf", "fmaxf"), "double": ("fmin", "fmax")}.get(T, ("min", "max"))
    short = parts.network.digest[:16] + ("_fused" if parts.layers.fused else "")
    return BEGIN.format(
        **names, short=short, lanes=_LANES[T], multiply_add=host, device_multiply_add=device,
        device_min=f"{smaller}((a), (b))",
        device_max=f"{larger}((a), (b))",
        is_short=int(_LANES[T] == 16),
        choose="__builtin_ia32_vpermi2varps512" if T == "float" else "__builtin_ia32_vpermi2vard512",
        pick="__builtin_ia32_permvarsf512" if T == "float" else "__builtin_ia32_permvarsi512",
        narrow="((float)(x))" if T == "float" else "(x)", 
        invalid=_INVALID[T],
        digest=parts.network.digest, certificate=parts.certificate.document["sha256"],
    )  # fmt: skip


def _about(parts: HeaderParts, n_raw: int) -> str:
    layers, network, fixed = parts.layers, parts.network, isinstance(parts.network, FixedPointNetwork)
    order = "z = fma(w[j], x[j], z), one rounding" if layers.fused else "z = z + w[j] * x[j]"
    order += "" if layers.fused else ", exact integers" if fixed else ", two roundings"
    lines = [
        f"{parts.name}: a monotone network in C99, also valid C++17 and CUDA. Written by monolip; do not edit.",
        "",
        f"network      {network.digest}",
        f"made from    {parts.source}",
        f"certificate  {parts.certificate.document['sha256']}",
        f"arithmetic   {layers.number}; z = bias; {order}, j ascending; "
        + (f"then z >> {layers.shift}, which rounds down; sort groups" if fixed else "then sort groups"),
        "",
        f"{parts.name}_score(x, f), {parts.name}_score_float(x, f)       one row, double or float inputs",
        f"{parts.name}_batch(x, rows, f), {parts.name}_batch_float(...)  rows after rows; the same bits",
        f"{parts.name}_predict(f, p)                                 the prediction, or class probabilities",
        "",
        "What is proved (increasing, decreasing, flat: bit for bit, of f as computed here):",
        *(f"  {line}" for line in str(parts.certificate).splitlines()),
        "",
        f"Inputs, x[{n_raw}]:",
        *(f"  {line}" for line in _input_lines(parts)),
        "",
        *_policy(parts),
        *_output_lines(parts),
    ]
    return comment(lines)


def _input_lines(parts: HeaderParts) -> list[str]:
    columns = raw_columns_of(parts.network)
    if columns is None:
        assert isinstance(parts.network, FrozenNetwork)
        names = parts.network.bounds.feature_names or [f"feature {j}" for j in range(parts.layers.n_model)]
        return [f"x[{j}]  {name!r}, a number" for j, name in enumerate(names)]
    lines = []
    for i, column in enumerate(columns):
        if isinstance(column, CategoryColumn | FixedCategory):
            n = len(column.categories)
            codes = [f"{k} = {label!r}" for k, label in enumerate(column.categories)]
            codes += [f"{n} and whatever is no code = unseen", f"{n + 1} and NaN = missing"]
            lines += [f"x[{i}]  {column.name!r}, a code:", *(f"          {code}" for code in codes)]
        else:
            rule = "NaN is invalid" if column.missing is None else "NaN is missing"
            lines.append(f"x[{i}]  {column.name!r}, a number; {rule}")
    return lines


def _policy(parts: HeaderParts) -> list[str]:
    number, M = parts.layers.number, parts.name.upper()
    invalid = "NaN in every output" if number in ("float", "double") else f"{M}_INVALID in every output"
    lines = [f"Bad inputs: an invalid NaN gives {invalid}, and NaN predictions."]
    if isinstance(parts.network, FixedPointNetwork):
        lines.append("Infinities and numbers beyond a declared range count as its end.")
    else:
        most = min(trunk.limit or 0.0 for trunk in parts.layers.trunks)
        lines.append(
            f"Model columns beyond +-{most:.3g}, infinities included, count as that: directions hold there too."
        )
    if number == "float":
        lines.append("Double inputs are rounded to float first.")
    return lines


def _output_lines(parts: HeaderParts) -> list[str]:
    link = parts.network.link
    plain: OutputLink | None = link.link if isinstance(link, FixedLink) else link
    lines = [f"Outputs, f[{parts.layers.n_outputs}]: {'the network itself' if plain is None else plain.unit}"]
    if isinstance(parts.network, FixedPointNetwork):
        lines[0] += f", integers in units of 2^{-parts.network.link.unit}"
        lines[0] += f" above {parts.network.link.offset!r}" if parts.network.link.offset else ""
    if plain is not None and plain.labels:
        lines += [f"  p[{k}]  {plain.probability(k)}" for k in range(len(plain.labels))]
    return lines
