"""The self-test inside a header: every public function on known rows, compared with Python's bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.export.c_network import CNetwork
from monolip.export.c_text import literal, wrapped
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork

__all__ = ["SelfTestVectors", "predictions_of", "self_test"]

_LOWEST = {"int32_t": -(2**31), "int64_t": -(2**63)}

_TEXT = """\
#ifdef {M}_SELF_TEST /* cc -D{M}_SELF_TEST -x c {m}.h -lm && ./a.out */
#include <stdio.h>
#define {M}_VECTORS {rows}
static const double {m}_vectors[{rows} * {n_raw}] = {{
{inputs}
}};
static const {T} {m}_expected[{rows} * {n_outputs}] = {{
{outputs}
}};
static const {T} {m}_expected_float[{rows} * {n_outputs}] = {{ /* of the same rows, rounded to float */
{float_outputs}
}};
static const double {m}_expected_predictions[{rows} * {M}_PREDICTIONS] = {{
{predictions}
}};
static int {m}_same({T} a, {T} b) {{ return memcmp(&a, &b, sizeof a) == 0{or_nan}; }}
static int {m}_same_double(double a, double b) {{ return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b); }}

{beside}/* 0 if this build gives the bits that were proved and tested: score, batch, both with floats, predict */
static int {m}_self_test(void) {{
    static {T} batch[{M}_VECTORS * {n_outputs}], batch_float[{M}_VECTORS * {n_outputs}];
    static float floats[{M}_VECTORS * {n_raw}];
    int failed = {beside_failed}, i, k;
    for (i = 0; i < {M}_VECTORS * {n_raw}; i++) floats[i] = (float){m}_vectors[i];
    {m}_batch({m}_vectors, {M}_VECTORS, batch);
    {m}_batch_float(floats, {M}_VECTORS, batch_float);
    for (i = 0; i < {M}_VECTORS; i++) {{
        const {T} *want = {m}_expected + i * {n_outputs}, *want_float = {m}_expected_float + i * {n_outputs};
        {T} row[{n_outputs}], row_float[{n_outputs}];
        double p[{M}_PREDICTIONS];
        {m}_score({m}_vectors + i * {n_raw}, row);
        {m}_score_float(floats + i * {n_raw}, row_float);
        {m}_predict(want, p);
        for (k = 0; k < {n_outputs}; k++) {{
            failed += !{m}_same(row[k], want[k]);
            failed += !{m}_same(batch[i * {n_outputs} + k], want[k]);
            failed += !{m}_same(row_float[k], want_float[k]);
            failed += !{m}_same(batch_float[i * {n_outputs} + k], want_float[k]);
        }}
        for (k = 0; k < {M}_PREDICTIONS; k++)
            failed += !{m}_same_double(p[k], {m}_expected_predictions[i * {M}_PREDICTIONS + k]);
    }}
    return failed;
}}

int main(void) {{
    const int failed = {m}_self_test();
    printf("{m}: network %.12s, certificate %.12s\\n", {m}_digest, {m}_certificate);
    printf("%d of %d outputs differ from those that were proved\\n", failed,
           {M}_VECTORS * (4 * {n_outputs} + {M}_PREDICTIONS) + 2 * {n_beside} * {M}_LANES * {n_outputs});
    return failed != 0;
}}
#endif
"""

_BESIDE = """\
/* blocks of whole numbers but for one column, for which a table has none: batch gives the bits of score */
static const double {m}_beside[{n_beside} * 2] = {{ /* column, number */
{beside_numbers}
}};
static int {m}_beside_tables(void) {{
    static double x[{M}_LANES * {n_raw}];
    static float y[{M}_LANES * {n_raw}];
    static {T} f[{M}_LANES * {n_outputs}], g[{M}_LANES * {n_outputs}];
    {T} row[{n_outputs}], row_float[{n_outputs}];
    int failed = 0, e, i, k;
    for (e = 0; e < {n_beside}; e++) {{
        for (i = 0; i < {M}_LANES * {n_raw}; i++)
            x[i] = {m}_vectors[{first} * {n_raw} + (e * {M}_LANES * {n_raw} + i) % ({n_whole} * {n_raw})];
        for (i = e % 2; i < {M}_LANES; i += 2) x[i * {n_raw} + (int){m}_beside[2 * e]] = {m}_beside[2 * e + 1];
        for (i = 0; i < {M}_LANES * {n_raw}; i++) y[i] = (float)x[i];
        {m}_batch(x, {M}_LANES, f);
        {m}_batch_float(y, {M}_LANES, g);
        for (i = 0; i < {M}_LANES; i++) {{
            {m}_score(x + i * {n_raw}, row);
            {m}_score_float(y + i * {n_raw}, row_float);
            for (k = 0; k < {n_outputs}; k++) {{
                failed += !{m}_same(f[i * {n_outputs} + k], row[k]);
                failed += !{m}_same(g[i * {n_outputs} + k], row_float[k]);
            }}
        }}
    }}
    return failed;
}}

"""


@dataclass(frozen=True)
class SelfTestVectors:
    """Raw rows x (n, raw); outputs of them, and of them rounded to float (n, outputs); predictions (n, predictions).

    whole: the first row that tables of whole numbers know, and how many follow. beside: (column, number) they do not.
    """

    x: NDArray[np.float64]
    outputs: NDArray[Any]
    float_outputs: NDArray[Any]
    predictions: NDArray[np.float64]
    whole: tuple[int, int] = (0, 0)
    beside: tuple[tuple[int, float], ...] = ()


def predictions_of(
    network: FrozenNetwork | FixedPointNetwork, layers: CNetwork, f: NDArray[Any]
) -> NDArray[np.float64]:
    """What NAME_predict gives for outputs f (n, n_outputs): the bits of the link, NaN where a row was invalid."""
    integers = isinstance(network, FixedPointNetwork)
    invalid = f[:, 0] == _LOWEST[layers.number] if integers else np.isnan(f[:, 0])
    known: NDArray[Any] = np.where(invalid[:, None], f.dtype.type(0), f).astype(np.int64 if integers else np.float64)
    p = known if network.link is None else network.link.apply(known)
    return np.where(invalid[:, None], np.nan, np.reshape(p, (len(f), -1)))


def self_test(names: dict[str, Any], network: CNetwork, vectors: SelfTestVectors) -> str:
    """Vectors and a main, inside #ifdef NAME_SELF_TEST."""
    tables = {
        "inputs": _numbers(vectors.x, "double", names["M"]),
        "outputs": _numbers(vectors.outputs, network.number, names["M"]),
        "float_outputs": _numbers(vectors.float_outputs, network.number, names["M"]),
        "predictions": _numbers(vectors.predictions, "double", names["M"]),
    }
    or_nan = " || (a != a && b != b)" if network.shift is None else ""
    (first, n_whole), n_beside, beside = vectors.whole, len(vectors.beside), ""
    if n_beside:
        numbers = _numbers(np.array(vectors.beside), "double", names["M"])
        beside = _BESIDE.format(**names, n_beside=n_beside, beside_numbers=numbers, first=first, n_whole=n_whole)
    tables |= {"beside": beside, "beside_failed": f"{names['m']}_beside_tables()" if n_beside else "0"}
    return _TEXT.format(**names, **tables, or_nan=or_nan, rows=len(vectors.x), n_beside=n_beside)


def _numbers(values: NDArray[Any], kind: str, M: str) -> str:
    lowest = _LOWEST.get(kind)
    return "\n".join(
        wrapped([f"{M}_INVALID," if v == lowest else f"{literal(v, kind)}," for v in values.ravel().tolist()], "    ")
    )
