"""Compare several checkouts of monolip, and settings of them, side by side in one run: errors and fit times.

    git worktree add ../old b8f3b08
    for option in "" --kept-back; do python benchmarks/second_suite.py $option; done
    for option in "" --kept-back --large; do python benchmarks/third_suite.py $option; done
    python benchmarks/old_and_new.py --suites all --candidate old=../old --candidate new=. \\
        --candidate 'accurate=.:fit_options=FitOptions.accurate()' --rows build/old_and_new.jsonl --record old_and_new
    python benchmarks/old_and_new.py --suites large --rows build/large.jsonl --candidate old=../old --candidate new=.
    python benchmarks/old_and_new.py --summary --rows build/a.jsonl,build/b.jsonl

Every checkout gets a worker process that imports monolip from its src/. The tables, the folds, the measure of error and
the clock are those of this folder, the same for all candidates. Round k of a table is fold k % 5 of repetition k // 5,
with the seed that accuracy.py gives it, so that errors can be compared with those of the peers in benchmarks/results.
All candidates and one LightGBM fit with early stopping (as in fit_time.py) take turns within a round; only one process
works at a time. In every process the first fit of a table is repeated before the clock counts, which also shows that
the same seed gives the same predictions.

Finished fits are lines of the file --rows, and a run that is started again continues there. A line belongs to the
source code and the arguments that it was measured with; a changed candidate needs another name or another file.

Suites: open (where choices are made, and all that runs by default); second, kept_back, third, third_kept_back (these
confirm a choice; with open, 125 tables: --suites all); large (generated tables with steps, interactions and noise,
whose error is the distance to the noise-free target, and the largest real ones); random (random_tables.py).
old_and_new_summary.py makes the summary.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import numpy as np
import pandas as pd

from accuracy_unit import Unit, split_of, wrong_steps
from contestants.ours import fit_ours
from contestants.task import Task, main_error
from contestants.trees import lightgbm_plain
from old_and_new_summary import SUITES, TREES, draw, read_rows, show, summarise
from random_tables import random_table
from record import ROOT, record
from scale import make
from suite_data import at_least, data_folder, list_sets, read_set

FOLDS = 5
OPEN = data_folder().parent.resolve()  # before MONOLIP_DATA is set for another suite
LARGE_ROWS = (20_000, 50_000, 100_000, 262_144)
LARGE_REAL = (("california_housing", "open"), ("taiwan_credit", "open"), ("traffic_deaths", "third_large"),
              ("patients", "third_large"))  # fmt: skip
LONG_S = 20.0  # a first fit that takes longer than this is not repeated


@dataclass(frozen=True)
class Candidate:
    """name: in the results. path: a checkout, empty for LightGBM. arguments: of the constructor, as Python code.

    code: a digest of the source. commit: what is checked out there.
    """

    name: str
    path: str
    arguments: str = ""
    code: str = ""
    commit: str = ""

    @classmethod
    def read(cls, text: str) -> Candidate:
        """Read NAME=CHECKOUT or NAME=CHECKOUT:ARGUMENTS."""
        name, _, rest = text.partition("=")
        path, _, arguments = rest.partition(":")
        source = Path(path).resolve() / "src" / "monolip"
        if not name or not path or not source.is_dir():
            raise argparse.ArgumentTypeError(f"a candidate is NAME=CHECKOUT[:ARGUMENTS]; got {text}, without {source}")
        if name == TREES:
            raise argparse.ArgumentTypeError(f"{TREES} is the name of the LightGBM fits; choose another name")
        digest = hashlib.sha256()
        for file in sorted(source.rglob("*.py")):
            digest.update(str(file.relative_to(source)).encode() + file.read_bytes())
        command = ["git", "-C", path, "describe", "--always", "--dirty", "--exclude=*"]
        commit = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        return cls(name, str(Path(path).resolve()), arguments, digest.hexdigest()[:12], commit)

    def facts(self, threads: int) -> dict[str, Any]:
        return {"code": self.code, "arguments": self.arguments, "threads": threads, "commit": self.commit}


# The worker: reads jobs from standard input, writes rows to standard output -------------------------------------------


def steps_table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return 20 columns, a target with steps, interactions and noise, and its noise-free part."""
    rng = np.random.default_rng([32, n, seed])
    x = rng.normal(size=(n, 20))
    f = 2 * np.floor(1.5 * x[:, 0]) / 3 + (x[:, 1] > 0.5) - 0.8 * (x[:, 2] > -0.3) * (x[:, 3] > 0)
    f += x[:, 4] * x[:, 5] + np.tanh(2 * x[:, 6] * x[:, 7]) + np.sin(2 * x[:, 8]) + 0.5 * np.abs(x[:, 9])
    f += 0.5 * np.maximum(x[:, 10], x[:, 11]) + 0.3 * x[:, 12] * (x[:, 13] > 0) + 0.2 * x[:, 14]
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(20)]), f + rng.normal(size=n), f


def scale_table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Return 20 columns of scale.py, a smoother target with interactions and noise, and its noise-free part."""
    columns = make(n, seed)
    y, f = columns.pop("y").astype(float), columns.pop("f").astype(float)
    return pd.DataFrame(columns).astype(float), y, f


GENERATED: dict[str, tuple[Callable[[int, int], Any], dict[str, int]]] = {  # what makes it, and its directions
    "steps": (steps_table, {"x0": 1, "x1": 1}),
    "scale": (scale_table, {"x0": 1}),
}


def rows_of(job: dict[str, Any]) -> tuple[Task, pd.DataFrame, np.ndarray]:
    """Return (training rows as a task, test features, what predictions are compared with)."""
    unit = Unit(job["table"], job["round"] // FOLDS, job["round"] % FOLDS, FOLDS, "")
    if job["folder"] == "random":
        made = random_table(int(job["table"]))
        return Task(made.X, made.y, made.cst, made.classes, job["round"], job["threads"]), made.X_new, made.y_new
    if job["folder"] == "generated":
        kind, _, size = job["table"].partition("_")
        n = int(size)
        generate, cst = GENERATED[kind]
        X, y, f = generate(n + 20_000, job["round"])
        return Task(X[:n], y[:n], cst, False, unit.seed, job["threads"]), X[n:], f[n:]
    os.environ["MONOLIP_DATA"] = job["folder"]
    X, y, facts = read_set(job["table"])
    classes = facts["task"] == "binary"
    train, test = split_of(unit, X, y, classes)
    X_train = X.iloc[train].reset_index(drop=True)
    return Task(X_train, y[train], facts["monotonic_cst"], classes, unit.seed, job["threads"]), X.iloc[test], y[test]


def options_of(arguments: str) -> dict[str, Any]:
    """Evaluate the arguments of a candidate with the public names of its checkout."""
    import monolip.estimators

    names = {name: getattr(monolip.estimators, name) for name in monolip.estimators.__all__}
    found: dict[str, Any] = eval(f"dict({arguments})", {"monolip": monolip, **names})
    return found


def fit_once(task: Task, X: pd.DataFrame, y: np.ndarray, options: dict[str, Any] | None) -> tuple[dict, Any]:
    """Fit, predict and measure once; options: of the estimator, None for LightGBM."""
    begun, cpu = time.perf_counter(), time.process_time()
    predict = lightgbm_plain(task) if options is None else fit_ours(task, options)
    seconds = {"fit_s": round(time.perf_counter() - begun, 5), "fit_cpu_s": round(time.process_time() - cpu, 5)}
    begun = time.perf_counter()
    predicted = np.asarray(predict(X), dtype=float)
    seconds["predict_s"] = round(time.perf_counter() - begun, 5)
    if not np.isfinite(predicted).all():
        raise ValueError("predictions must be finite")
    return {**seconds, "error": main_error(y, predicted, task.classes)}, predict


def measure(job: dict[str, Any], seen: set[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the measured part of a row; seen: the (folder, table, arguments) that this process has fitted before."""
    task, X, y = rows_of(job)
    options = options_of(job["arguments"]) if job["path"] else None
    row, predict = fit_once(task, X, y, options)
    key = job["folder"], job["table"], job["arguments"]
    if key not in seen and row["fit_s"] < LONG_S:
        first, (row, predict) = row["error"], fit_once(task, X, y, options)
        if first != row["error"]:
            raise ValueError(f"the same seed gave the errors {first} and {row['error']}")
    seen.add(key)
    if job["folder"] != "random":  # random_tables.py checks these, with their categories
        row["wrong_steps"] = wrong_steps(predict, X, task.cst, task.seed)
    return {**row, "train_rows": len(task.y), "columns": task.X.shape[1], "classes": task.classes}


def warm_up() -> None:
    """Fit tables of each kind, so that no fit that counts compiles or loads kernels."""
    rng = np.random.default_rng(0)
    for n in (200, 3000):
        X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": pd.Categorical(["u", "v"] * (n // 2))})
        X.loc[::7, "b"] = np.nan
        y = X["a"].to_numpy() + np.floor(8 * X["b"].fillna(0).to_numpy()) % 2 + 0.1 * rng.normal(size=n)
        for classes in (False, True):
            fit_ours(Task(X, (y > 0.5).astype(int) if classes else y, {"a": 1}, classes, 0), {})(X)


def work(path: str) -> None:
    """Answer each line of standard input with a line; what a library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    if path:
        import monolip

        if not Path(monolip.__file__).is_relative_to(path):
            raise SystemExit(f"monolip was imported from {monolip.__file__}, not from {path}")
        warm_up()
    seen: set[tuple[str, str, str]] = set()
    for line in sys.stdin:
        try:
            row = measure(json.loads(line), seen)
        except Exception as error:  # one failed fit does not end the run
            row = {"failed": f"{type(error).__name__}: {error}"[:500]}
        answers.write(json.dumps(row) + "\n")
        answers.flush()


# The driver -----------------------------------------------------------------------------------------------------------


class Workers:
    """One process per checkout, started when its first job comes and again after it has died."""

    def __init__(self, threads: int) -> None:
        self.threads = str(threads)
        self.running: dict[str, subprocess.Popen[str]] = {}

    def ask(self, path: str, job: dict[str, Any]) -> dict[str, Any]:
        """Return the worker's answer, or that it died."""
        if path not in self.running:
            extra = {"OMP_NUM_THREADS": self.threads, **({"PYTHONPATH": str(Path(path) / "src")} if path else {})}
            command = [sys.executable, str(Path(__file__).resolve()), "--worker", path]
            self.running[path] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **extra}
            )
        worker = self.running[path]
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(json.dumps(job) + "\n")
            worker.stdin.flush()
            line = worker.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._end(path)
            return {"failed": f"the process ended with status {worker.returncode}"}
        found: dict[str, Any] = json.loads(line)
        return found

    def _end(self, path: str) -> None:
        """Close a worker's pipes, which ends it, and wait."""
        with contextlib.suppress(BrokenPipeError), self.running.pop(path):
            pass

    def close(self) -> None:
        for path in list(self.running):
            self._end(path)


def tables_of(suite: str, build: Path) -> list[tuple[str, str]]:
    """Return (table, folder) for each table of a suite; in place of a folder, how a table is generated."""
    if suite == "random":
        return [(str(number), "random") for number in range(200)]
    if suite == "large":
        found = [(f"{kind}_{n}", "generated") for kind in GENERATED for n in LARGE_ROWS]
        return found + [(name, dict(tables_of(part, build))[name]) for name, part in LARGE_REAL]
    folder = OPEN if suite == "open" else (build / suite).resolve()
    os.environ["MONOLIP_DATA"] = str(folder)
    return [(name, str(folder)) for name in list_sets()]


def run(candidates: list[Candidate], arguments: argparse.Namespace, path: Path) -> None:
    """Measure what the file does not have yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    done = _done(candidates, arguments.threads, path)
    wanted = set(filter(None, arguments.tables.split(",")))
    suites = [part for name in arguments.suites.split(",") for part in (SUITES if name == "all" else [name])]
    tables = [(suite, *pair) for suite in suites for pair in tables_of(suite, arguments.build)]
    tables = [each for each in tables if not wanted or each[1] in wanted]
    workers, begun = Workers(arguments.threads), time.perf_counter()
    try:
        with path.open("a") as sink:
            sink.write("\n")  # ends half a line of a run that was killed
            for number, (suite, table, folder) in enumerate(tables):
                if arguments.minutes is not None and time.perf_counter() - begun > 60 * arguments.minutes:
                    print(f"out of time: {len(tables) - number} tables left; run the same command again")
                    break
                said: dict[str, list[str]] = {}
                for k, c in turns(suite, candidates, arguments.rounds):
                    if (suite, table, k, c.name) in done:
                        continue
                    job = {"folder": folder, "table": table, "round": k, "threads": arguments.threads, "path": c.path}
                    row = workers.ask(c.path, {**job, "arguments": c.arguments})
                    names = {"suite": suite, "table": table, "round": k, "name": c.name}
                    sink.write(json.dumps({**names, **c.facts(arguments.threads), **row}) + "\n")
                    sink.flush()
                    short = row.get("failed") or f"{row['error']:.5g}/{row['fit_s']:.3f}"
                    said.setdefault(c.name, []).append(short)
                if said:
                    print(f"[{number + 1}/{len(tables)}, {time.perf_counter() - begun:.0f} s] {suite} {table}")
                    print("\n".join(f"    {name:12s} {'  '.join(each)}" for name, each in said.items()), flush=True)
    finally:
        workers.close()


def turns(suite: str, candidates: list[Candidate], rounds: int) -> list[tuple[int, Candidate]]:
    """Return (round, candidate) in order: all candidates within a round, another one first in the next round."""
    if suite == "random":  # one fit each, without LightGBM, which refuses some of these tables
        return [(0, c) for c in candidates if c.path]
    n = len(candidates)
    return [(k, candidates[(k + i) % n]) for k in range(rounds) for i in range(n)]


def _done(candidates: list[Candidate], threads: int, path: Path) -> set[tuple[str, str, int, str]]:
    """Return what the file has already, if the same code measured it."""
    found = [row for row in read_rows([path]) if "failed" not in row]
    for c in candidates:
        other = {(r["code"], r["arguments"], r["threads"]) for r in found if r["name"] == c.name}
        other -= {(c.code, c.arguments, threads)}
        if other:
            raise SystemExit(
                f"rows under one name are of one candidate; {path} has rows of {c.name} with other (code, arguments, "
                f"threads): {sorted(other)}; choose another name or another file"
            )
    return {(r["suite"], r["table"], r["round"], r["name"]) for r in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--candidate", type=Candidate.read, action="append", default=[], help="NAME=CHECKOUT[:ARGS]")
    parser.add_argument("--rows", default=str(ROOT / "build" / "old_and_new.jsonl"), help="files; the first is written")
    parser.add_argument("--suites", default="open", help="with commas (open); all: the 125 tables")
    parser.add_argument("--tables", default="", help="names with commas; all without")
    parser.add_argument("--rounds", type=at_least(1), default=FOLDS, help="of each table (5: every fold once)")
    parser.add_argument("--threads", type=at_least(1), default=1)
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="where the other suites lie (build)")
    parser.add_argument("--minutes", type=float, default=None, help="begin no table after this long")
    parser.add_argument("--no-lightgbm", action="store_true", help="leave out the LightGBM fits")
    parser.add_argument("--summary", action="store_true", help="fit nothing; read the files and print what they say")
    parser.add_argument("--against", default="old", help="the candidate that the others are compared with (old)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="seconds in the summary (wall)")
    parser.add_argument("--record", default="", help="write benchmarks/results/NAME.json")
    parser.add_argument("--figure", default="", help="draw the error-time curve into this file")
    parser.add_argument("--worker", default=None, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker is not None:
        work(arguments.worker)
        return
    paths = [Path(path) for path in arguments.rows.split(",")]
    if not arguments.summary:
        trees = [] if arguments.no_lightgbm else [Candidate(TREES, "")]
        run([*arguments.candidate, *trees], arguments, paths[0])
    found = summarise(read_rows(paths), arguments.against, "fit_s" if arguments.clock == "wall" else "fit_cpu_s")
    show(found)
    if arguments.figure:
        draw(found, Path(arguments.figure))
    if arguments.record:
        packages = ("lightgbm", "numba", "numpy", "pandas", "scikit-learn")
        path = record(arguments.record, found, packages, threads=arguments.threads, clock=arguments.clock)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
