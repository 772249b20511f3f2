"""The page's scorer, in node: the bits of Python for every link, at knots, at extremes, with categories and gaps."""

from __future__ import annotations

import json
import math
import shutil
import struct
import subprocess
from importlib.resources import files

import numpy as np
import pytest

from monolip.output_link import ordered_exp
from monolip.report.html_scorer import _packed_exp

from .pages import KINDS, TABLES, answers, island, network_of, page

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
SCORER = files("monolip.report") / "page" / "scorer.js"
PROGRAM = """
const fs = require("fs"), Monolip = require(process.argv[1]);
const { certificate, data, rows } = JSON.parse(fs.readFileSync(0));
const net = Monolip.network(certificate, data.limits, data.exp);
const box = new DataView(new ArrayBuffer(8));
const bits = (v) => { box.setFloat64(0, v); return box.getBigUint64(0).toString(16); };
const both = (row) => { const f = net.f(row); return [f.map(bits), net.predict(f).map(bits)]; };
console.log(JSON.stringify(rows.map(both)));
"""


def in_node(given, program=PROGRAM):
    run = subprocess.run([NODE, "-e", program, str(SCORER)], input=json.dumps(given), capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def bits(value: float) -> str:
    return f"{struct.unpack('>Q', struct.pack('>d', value))[0]:x}"


@needs_node
@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_the_page_scores_with_the_bits_of_python(kind):
    rows, f, predictions = answers(kind, 200)
    found = in_node(
        {
            "certificate": island(page(kind), "certificate"),
            "data": island(page(kind), "page-data")["scorer"],
            "rows": rows,
        }
    )
    for (f_page, p_page), f_here, p_here in zip(found, f.tolist(), predictions.tolist(), strict=True):
        assert f_page == [bits(v) for v in f_here]
        assert p_page == [bits(v) for v in p_here]


@needs_node
@pytest.mark.parametrize("kind", ["logit", "table logit"])
def test_the_page_follows_a_promise_from_one_double_to_the_next(kind):
    rows = [row for row in answers(kind, 100, seed=3)[0] if row[0] is not None and abs(row[0]) < 1e300]
    up = [[math.nextafter(row[0], math.inf), *row[1:]] for row in rows]
    given = {"certificate": island(page(kind), "certificate"), "data": island(page(kind), "page-data")["scorer"]}
    low, high = (in_node({**given, "rows": some}) for some in (rows, up))
    value = [[struct.unpack(">d", bytes.fromhex(one[1][1].zfill(16)))[0] for one in side] for side in (low, high)]
    assert (np.array(value[1]) >= np.array(value[0])).all()


def test_the_packed_table_is_the_table_of_python():
    import base64

    packed = {name: base64.b64decode(text) for name, text in _packed_exp().items()}
    powers, parts = (np.frombuffer(packed[name], "<f8") for name in ("powers", "parts"))
    nibbles = np.frombuffer(packed["ulps"], np.uint8)
    ulps = np.stack([nibbles & 15, nibbles >> 4], axis=1).ravel()[: 2 * 708 * 64 + 1].astype(np.int64) - 8
    steps = np.arange(len(ulps))
    entries = ((powers[steps // 64] * parts[steps % 64]).view(np.int64) + ulps).view(np.float64)
    np.testing.assert_array_equal(entries, ordered_exp(steps / 64 - 708))


@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_the_check_rows_of_a_page_are_those_of_python_and_of_no_user(kind):
    checks, network = island(page(kind), "page-data")["scorer"]["checks"], network_of(kind)
    assert len(checks["rows"]) == len(checks["f"]) == 48
    columns = []
    for j, column in enumerate(network.inputs.columns):
        values = [row[j] for row in checks["rows"]]
        if hasattr(column, "categories"):
            labels = [*column.categories, "\x00 unseen", None]
            columns.append([labels[code] for code in values])
        else:
            columns.append(np.array([np.nan if v is None else v for v in values]))
    np.testing.assert_array_equal(network.evaluate_raw(columns), checks["f"])


@needs_node
@pytest.mark.parametrize("kind", TABLES)
def test_the_page_takes_what_is_missing_unseen_or_at_a_knot_as_python_does(kind):
    network, rng = network_of(kind), np.random.default_rng(5)
    cuts = network.inputs.pieces_of(1)[0]
    sugar = [None, *cuts, *np.nextafter(cuts, -np.inf), *np.nextafter(cuts, np.inf), 1e308, -1e308, 0.0]
    dose = rng.normal(size=len(sugar)).tolist()
    rows = [[d, s, code, None] for d, s in zip(dose, sugar, strict=True) for code in range(5)]  # 3: unseen, 4: missing
    labels = ["A", "B", "C", "elsewhere", None]
    columns = [
        [row[0] for row in rows],
        [math.nan if row[1] is None else row[1] for row in rows],
        [labels[row[2]] for row in rows],
        [math.nan] * len(rows),
    ]
    f = network.evaluate_raw(columns)
    given = {"certificate": island(page(kind), "certificate"), "data": island(page(kind), "page-data")["scorer"]}
    found = in_node({**given, "rows": rows})
    assert [one[0] for one in found] == [[bits(v) for v in row] for row in f.tolist()]
    assert (f.reshape(-1, 5)[:, 3] != f.reshape(-1, 5)[:, 4]).any()  # unseen labels and missing ones differ
