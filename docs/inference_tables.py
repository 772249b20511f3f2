"""The section on inference of docs/benchmarks.md, from benchmarks/results/inference.json; used by make_tables.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Table = Callable[..., str]
Rows = list[dict[str, Any]]

HEAD = ["model", "size", "log-loss", "batch, ns", "one from C, ns", "one from Python, µs", "instructions, batch / one"]

LIMITS = (
    ("float32", "float_limit", "float32"),
    ("float32 fused", "fused_limit", "float32, fused"),
    ("fixed-point", "integer_limit", "int32"),
)


def inference(data: dict[str, Any], table: Table) -> str:
    """Nanoseconds a row, task by task, and how the aims are met."""
    settings = data["settings"]
    parts = [_task(name, found, table) for name, found in data["results"].items()]
    return f"""## Inference on one CPU thread

`{data["command"]}` on {data["machine"]["processor"]} with AVX-512 (`-march=native`): from raw numbers in memory to
the log-odds, input transforms included; the fastest of {settings["rounds"]} rounds, in which all contestants take
turns. "batch": {settings["batch"]} rows in one call from Python, per row. "one from C": a C loop, one call of the
scoring function a row. "one from Python": the fastest function for one row. Instructions a row are callgrind's, of a
build for AVX2 (valgrind knows no AVX-512): no noise, but other code than is timed.

What each is given: headers, ONNX Runtime (float32, transform in the graph, sums not in order), XGBoost and CatBoost
floats; numba and LightGBM (compiled or not) doubles; the reference package rows that were standardised and one-hot
coded before the clock started. "fused" headers multiply and add in one instruction (`fused=True`), "float32" in two;
headers look up whole numbers (counts, ages, codes) in tables and compute everything else. Ours have one member
(`n_estimators=1`, `n_bins=0`): "large" two hidden layers of the width named, chosen to stay within 600 weights, "small"
the first of growing networks (from one hidden layer of 4 to two of 16) whose validation loss is within half a percent
of the best model's. The default estimator (one to four members of 32-32, 2300 weights and more) and float64 headers
were not timed. Trees without a label are their library's defaults; "few trees" are the first of growing ensembles (5
to 100 trees of depth 3, 4 or 6, for LightGBM of 8, 16 or 31 leaves; learning rate 0.3) chosen as "small" is, or where
none is good enough the most accurate of them. Every model keeps the same directions. Log-losses are of held-out rows,
those of
headers of the network they hold in float64 ([what integers cost](#what-integers-cost)).

{(chr(10) * 2).join(parts)}"""


def _task(name: str, found: dict[str, Any], table: Table) -> str:
    rows = [
        (
            r["name"],
            f"{r['label']}: {r['size']}" if r["label"] != "default" else r["size"],
            f"{r['log_loss']:.4f}",
            _number(r["ns"].get("batch")),
            _number(r["ns"].get("one, C")),
            _number(r["ns"].get("one, Py", 0.0) / 1000),
            _instructions(r),
        )
        for r in found["contestants"]
    ]
    return f"### {found['about']}\n\n{table(HEAD, rows)}\n\n{_verdict(found)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _instructions(row: dict[str, Any]) -> str:
    counts = row.get("instructions")
    return f"{_number(counts['run_batch'])} / {_number(counts['run_rows'])}" if counts else "-"


def _fastest(rows: Rows, what: str) -> dict[str, Any] | None:
    timed = [r for r in rows if what in r["ns"]]
    return min(timed, key=lambda r: r["ns"][what]) if timed else None


def _verdict(found: dict[str, Any]) -> str:
    """Ratios to the fastest trees, as they come and few of them, and to the machine's limit."""
    rows = found["contestants"]
    ours = [r for r in rows if r["kind"] == "ours"]
    lines = []
    for what, text in (("batch", "in batches"), ("one, C", "row by row from C"), ("one, Py", "row by row from Python")):
        mine, fastest = _fastest(ours, what), _fastest(rows, what)
        assert mine is not None
        place = "fastest" if mine is fastest else "the fastest of ours"
        words = []
        for label in ("default", "few trees"):
            other = _fastest([r for r in rows if r["kind"] == "trees" and r["label"] == label], what)
            if other:
                facts = f"{other['name']}, {other['size']}, log-loss {other['log_loss']:.4f}"
                size = "at their default size" if label == "default" else "few of them"
                words.append(f"{size}, {other['ns'][what] / mine['ns'][what]:.1f} times as long ({facts})")
        lines.append(
            f"* {text}: {mine['name']}, {mine['size']}, is {place}; the fastest trees take, {'; '.join(words)}"
        )
    return ";\n".join([*lines, *_beside_the_limit(ours, found["multiply_adds_per_ns"])]) + "."


def _beside_the_limit(ours: Rows, limits: dict[str, float]) -> list[str]:
    """Of each arithmetic: the fastest header of the large network, and what its weights alone would take."""
    lines = []
    for arithmetic, limit, text in LIMITS:
        headers = [r for r in ours if r["label"] == "large" and r["name"].startswith(f"C header, {arithmetic},")]
        best = _fastest(headers, "batch")
        if best and limit in limits:
            weights = int(best["size"].split(", ")[1].split()[0])
            ratio = best["ns"]["batch"] * limits[limit] / weights
            lines.append(
                f"* {best['size']}, {best['name']}, inputs and sorts included: {ratio:.2f} times what its "
                f"multiplications and additions take at this machine's limit, measured in the same run: "
                f"{limits[limit]:.1f} multiply-adds ({text}) a nanosecond"
            )
    return lines
