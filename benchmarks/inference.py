"""Nanoseconds a row of trained models, one row at a time and 4096 at once, on one thread and on the same tasks.

    python benchmarks/inference.py            writes benchmarks/results/inference.json, some minutes

Timed is the way from raw numbers in memory to the raw score (log-odds), input transforms included:
    batch     4096 rows in one call from Python, divided by 4096; sixteen different batches in turn
    one, C    a C loop over these rows, one call of the scoring function each (a call that is not inlined)
    one, Py   a Python loop over 256 rows, one call of the fastest function for one row each, arguments prepared
All contestants take turns, several rounds; the fastest round counts, in processor time of the process. Trees that
tl2cgen compiled take doubles, ours floats; the reference package gets a standardised torch tensor, which is free.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch

from inference_c import Built, build_header, build_trees, count_instructions, lightgbm_rows, loops, multiply_adds
from inference_models import Fitted, fit_all, loss
from inference_tasks import Task, compas, two_track
from monolip.export import to_c, to_onnx
from record import record

BATCH, BLOCKS, SINGLE, ROUNDS = 4096, 16, 256, 20
CALLS = ("batch", "one, C", "one, Py")
VERSIONS = ("monolip", "numpy", "numba", "onnxruntime", "lightgbm", "xgboost", "catboost", "treelite", "tl2cgen")
VERSIONS += ("torch", "monotonicnetworks")


Timed = tuple[list[Callable[[], Any]], int]


@dataclass
class Contestant:
    """calls: what is timed -> (functions without arguments, rows that they score together)."""

    name: str
    fitted: Fitted
    calls: dict[str, Timed]
    kind: str
    facts: dict[str, Any] = field(default_factory=dict)


def called(function: Any, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: function(*arguments)


def of_library(name: str, fitted: Fitted, built: Built, kind: str) -> Contestant:
    def blocks(function: str) -> Timed:
        return [called(*built.raw(function, i * BATCH, BATCH)) for i in range(BLOCKS)], BLOCKS * BATCH

    singles = [called(*built.raw("run_rows", i, 1)) for i in range(SINGLE)]
    calls = {"batch": blocks("run_batch"), "one, C": blocks("run_rows"), "one, Py": (singles, SINGLE)}
    return Contestant(name, fitted, calls, kind, {"keep": built})  # calls hold addresses only


def of_python(name: str, fitted: Fitted, call: Callable[[Any], Any], X: Any, kind: str) -> Contestant:
    blocks = [called(call, (X[i * BATCH : (i + 1) * BATCH],)) for i in range(BLOCKS)]
    singles = [called(call, (X[i : i + 1],)) for i in range(SINGLE)]
    return Contestant(name, fitted, {"batch": (blocks, BLOCKS * BATCH), "one, Py": (singles, SINGLE)}, kind)


def ours(task: Task, fitted: Fitted, folder: Path) -> list[Contestant]:
    found, X = [], task.rows(BLOCKS * BATCH)
    train = task.parts["train"][0]
    numbers = [j for j in range(train.shape[1]) if j not in task.options.get("categorical_features", ())]
    names = [column.name for column in fitted.model.frozen_.inputs.columns]
    ranges = {names[j]: (train[:, j].min(), train[:, j].max()) for j in numbers}
    integers = {"preset": "narrow", "input_ranges": ranges}
    for arithmetic, options in (("float32", {}), ("float32 fused", {"fused": True}), ("fixed-point", integers)):
        place = folder / f"{fitted.label}_{arithmetic.replace(' ', '_')}"
        place.mkdir()
        report = to_c(fitted.model, place / "model.h", arithmetic=arithmetic.removesuffix(" fused"), **options)
        for compiler in filter(shutil.which, ("gcc", "clang")):
            built = build_header(place / "model.h", X, compiler)
            one = of_library(f"C header, {arithmetic}, {compiler}", fitted, built, "ours")
            one.facts["instructions"] = count_instructions(built, compiler, ["model.c"])
            one.facts["same_bits_as_python"] = report.max_difference == 0.0
            found.append(one)
    model = fitted.model
    found.append(of_python("numba, decision_function", fitted, model.decision_function, X, "ours"))
    to_onnx(model, folder / f"{fitted.label}.onnx", arithmetic="float32")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(folder / f"{fitted.label}.onnx"), options, providers=["CPUExecutionProvider"]
    )
    single = X.astype(np.float32)
    found.append(of_python("ONNX Runtime", fitted, lambda rows: session.run(None, {"X": rows}), single, "ours"))
    return found


def trees(task: Task, fitted: Fitted, folder: Path, library: Any) -> list[Contestant]:
    X, model = task.rows(BLOCKS * BATCH), fitted.model
    if fitted.library == "lightgbm":
        booster = model.booster_
        plain = of_python(
            "LightGBM", fitted, lambda rows: booster.predict(rows, raw_score=True, num_threads=1), X, "trees"
        )
        function, arguments = lightgbm_rows(library, model, X)
        plain.facts["keep"] = arguments  # what C points to
        plain.calls["one, C"] = [called(function, arguments[:-1])], BLOCKS * BATCH
        built = build_trees(model, X, folder / f"trees_{fitted.label.replace(' ', '_')}", "gcc")
        compiled = of_library("LightGBM compiled by tl2cgen, gcc", fitted, built, "trees")
        compiled.facts["instructions"] = count_instructions(built, "gcc", ["rows.c", "main.c"])
        np.testing.assert_allclose(built.scores(), booster.predict(X, raw_score=True), rtol=1e-9, atol=1e-9)
        return [plain, compiled]
    single = X.astype(np.float32)
    if fitted.library == "xgboost":
        booster = model.get_booster()
        call = lambda rows: booster.inplace_predict(rows, predict_type="margin")  # noqa: E731
        return [of_python("XGBoost, inplace_predict", fitted, call, single, "trees")]
    predict = lambda rows: model.predict(rows, prediction_type="RawFormulaVal", thread_count=1)  # noqa: E731
    return [of_python("CatBoost", fitted, predict, single, "trees")]


def reference(task: Task, fitted: Fitted) -> list[Contestant]:
    net, mean, scale = fitted.model
    everything = np.vstack([task.one_hot(part) for part in task.parts])
    rows = torch.tensor((everything[task.draw(BLOCKS * BATCH)] - mean) / scale, dtype=torch.float32)

    def call(x: Any) -> Any:
        with torch.inference_mode():
            return net(x)

    return [of_python("monotonicnetworks, torch", fitted, call, rows, "reference")]


def contestants(task: Task, folder: Path, library: Any) -> list[Contestant]:
    found = []
    for fitted in fit_all(task):
        print(f"  {fitted.library:18s} {fitted.label:9s} {fitted.size:26s}", flush=True)
        if fitted.library == "monolip":
            found += ours(task, fitted, folder)
        elif fitted.library == "monotonicnetworks":
            found += reference(task, fitted)
        else:
            found += trees(task, fitted, folder, library)
    return found


def measure(found: list[Contestant], rounds: int) -> dict[tuple[int, str], float]:
    """Nanoseconds a row, of the fastest round; the first only warms up."""
    best: dict[tuple[int, str], float] = {}
    for turn in range(rounds + 1):
        for i, one in enumerate(found):
            for what, (calls, rows) in one.calls.items():
                begun = time.process_time_ns()
                for call in calls:
                    call()
                spent = time.process_time_ns() - begun
                if turn:
                    best[i, what] = min(best.get((i, what), np.inf), spent / rows)
    return best


def limits(library: Any) -> dict[str, float]:
    """Multiply-adds a nanosecond: twelve independent sums in vectors, two instructions each, or (fused) one."""
    found, numbers_of = {}, {"float_limit": (0.999, 0.001), "fused_limit": (0.999, 0.001), "integer_limit": (3, 1)}
    for name, numbers in numbers_of.items():
        function, spent = getattr(library, name), []
        for _ in range(40):
            begun = time.process_time_ns()
            function(20_000, *numbers)
            spent.append(time.process_time_ns() - begun)
        found[name] = multiply_adds(20_000) / min(spent)
    return found


def results_of(task: Task, found: list[Contestant], best: dict[tuple[int, str], float]) -> list[dict[str, Any]]:
    rows = []
    for i, one in enumerate(found):
        facts = {k: v for k, v in one.facts.items() if k != "keep"}
        row = {"name": one.name, "kind": one.kind, "library": one.fitted.library, "label": one.fitted.label}
        row |= {"size": one.fitted.size, "log_loss": loss(task, one.fitted, "test")}
        rows.append(row | {"ns": {what: best[i, what] for what in one.calls}} | facts)
        times = "  ".join(f"{what} {best[i, what]:10.1f}" for what in one.calls)
        print(f"  {one.name:36s} {one.fitted.label:9s} loss {row['log_loss']:.4f}  {times}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        library = loops(Path(place), "gcc")
        for task in (compas(), two_track()):
            print(task.about, flush=True)
            folder = Path(place, task.name.split()[0])
            folder.mkdir()
            found = contestants(task, folder, library)
            limit = limits(library)
            rows = results_of(task, found, measure(found, rounds))
            again = limits(library)
            limit = {name: max(value, again[name]) for name, value in limit.items()}
            results[task.name] = {"about": task.about, "multiply_adds_per_ns": limit, "contestants": rows}
            record("inference", results, VERSIONS, batch=BATCH, single=SINGLE, rounds=rounds, threads=1)


if __name__ == "__main__":
    main()
