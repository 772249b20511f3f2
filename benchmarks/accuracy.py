"""The judge: repeated 5-fold errors of monolip and its peers on every data set of the suite, on the same folds.

    MONOLIP_DATA=../shared/data python benchmarks/accuracy.py --repeats 2 --jobs 2 --resume
    python benchmarks/accuracy.py --sets yacht,airfoil --contestants monolip,lightgbm \\
        --variant 'four={"n_estimators": 4}'

Everything is chosen inside the training rows of a fold (contestants/task.py: the same inner rows for everyone); one
thread each. Every finished unit (data set, fold, contestant) is a line in build/accuracy.jsonl; --resume uses those
whose code, settings and package version are unchanged. A contestant whose package is missing is left out, by name.
The result, benchmarks/results/accuracy.json, is written when all data sets and contestants took part (or --write).
With --update the others keep what the result says of them: folds and package versions must be the same, and are.
(Where tables have moved from one suite to another, --kept names the results that have them.)
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy is imported; worker processes inherit it
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

from accuracy_summary import add_kept, summarise
from accuracy_unit import Unit, run_unit
from contestants import CONTESTANTS, add_variant, missing_packages
from contestants.ours import warm_up
from record import ROOT, record
from suite_data import at_least, list_sets

OURS = "monolip"


def main() -> None:
    arguments = _arguments()
    if (arguments.result == "accuracy") == os.environ.get("MONOLIP_DATA", "").startswith("build/"):
        raise SystemExit("the open suite makes the result 'accuracy', and tables in build/ another; say which it is")
    sets, names, options, missing = _entries(arguments)
    units = [
        Unit(data_set, repeat, fold, arguments.folds, name, options.get(name))
        for repeat in range(arguments.repeats) for data_set in sets for fold in range(arguments.folds) for name in names
    ]  # fmt: skip
    before = (
        _kept(arguments.kept.split(",") if arguments.kept else [arguments.result], names) if arguments.update else None
    )
    cache = Path(arguments.cache)
    rows = _cached(units, cache, arguments.trust) if arguments.resume or arguments.trust else {}
    left = [unit for unit in units if unit.key not in rows]
    print(f"{len(units)} units, {len(rows)} from the cache, {len(left)} to run; missing: {missing or 'nobody'}")
    if any(CONTESTANTS[unit.contestant].family == "ours" for unit in left):
        warm_up()  # compile once here, not once in every process
    _run(left, sets, rows, cache, arguments)
    ours = OURS if OURS in names else names[0]
    found = summarise(list(rows.values()), sets, names, ours, _monotone(names), _variants(names))
    if before is not None:
        names = [name for name in CONTESTANTS if name in {*names, *before["contestants"]}]
        add_kept(found, before, names, ours, _monotone(names), _variants(names))
    _show(found)
    whole = not (arguments.sets or arguments.contestants or arguments.trust) and len(rows) == len(units)
    if arguments.write or arguments.update or whole:
        found["missing"], found["kept"] = (
            missing,
            [name for name in names if not any(u.contestant == name for u in units)],
        )
        found["contestants"] = {
            n: {"label": CONTESTANTS[n].label, "monotone": CONTESTANTS[n].monotone, "family": CONTESTANTS[n].family,
                "search": CONTESTANTS[n].search} for n in names
        }  # fmt: skip
        packages = sorted({p for n in names for p in CONTESTANTS[n].packages} | {"numpy", "scikit-learn"})
        path = record(
            arguments.result, found, tuple(packages), folds=arguments.folds, repeats=arguments.repeats, threads=1
        )
        print(f"wrote {path.relative_to(ROOT)}")


def _monotone(names: list[str]) -> list[str]:
    return [name for name in names if CONTESTANTS[name].monotone]


def _variants(names: list[str]) -> list[str]:
    return [name for name in names if CONTESTANTS[name].family == "ours"]


def _kept(results: list[str], names: list[str]) -> dict[str, Any]:
    """What is written of contestants that do not run now, if they would still be the same; in several results, of all
    their tables, whose folds must be the same."""
    found: dict[str, Any] = {"contestants": {}, "data_sets": {}}
    for result in results:
        path = ROOT / "benchmarks" / "results" / f"{result}.json"
        if not path.exists():
            raise SystemExit(f"there is no {path.relative_to(ROOT)} to keep anything of; run without --update")
        written = json.loads(path.read_text())
        kept = [name for name in written["results"]["contestants"] if name not in names]
        changing = [name for name in kept if name not in CONTESTANTS or CONTESTANTS[name].family == "ours"]
        if OURS not in names or changing:
            raise SystemExit(f"--update measures all of ours again; add {[OURS, *changing]} to --contestants")
        packages = sorted({package for name in kept for package in CONTESTANTS[name].packages})
        changed = [package for package in packages if written["versions"].get(package) != _version(package)]
        if changed:
            raise SystemExit(f"those that do not run were measured with other versions of {changed}; run all of them")
        for part in found:
            found[part] = written["results"][part] | found[part]
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="", help="names with commas; all without")
    parser.add_argument("--contestants", default="", help=f"of {', '.join(CONTESTANTS)}; all without")
    parser.add_argument("--variant", action="append", default=[], help='NAME={"argument": value}: one more monolip')
    parser.add_argument("--repeats", type=at_least(1), default=2)
    parser.add_argument("--folds", type=at_least(2), default=5)
    parser.add_argument("--jobs", type=at_least(1), default=1, help="processes, one thread each")
    parser.add_argument("--resume", action="store_true", help="use units already in the cache")
    parser.add_argument("--trust", action="store_true", help="use cached units of other code or versions as well")
    parser.add_argument("--cache", default=str(ROOT / "build" / "accuracy.jsonl"))
    parser.add_argument("--minutes", type=float, default=None, help="start no unit after this long")
    parser.add_argument("--write", action="store_true", help="write the result of a part as well")
    parser.add_argument("--update", action="store_true", help="who does not run keeps what the result says of them")
    parser.add_argument("--kept", default="", help="results they are kept of, with commas (the one that is written)")
    parser.add_argument("--result", default="accuracy", help="its name: benchmarks/results/NAME.json")
    return parser.parse_args()


def _entries(arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str], dict[str, Any], dict[str, list[str]]]:
    """(data sets, contestants that can run, options of variants, {contestant: packages it lacks})."""
    options = {}
    for text in arguments.variant:
        name, _, arguments_of = text.partition("=")
        options[name] = tuple(sorted(_settings(text, arguments_of).items()))
        add_variant(name, name, dict(options[name]))
    suite = list_sets()
    wanted = [name for name in arguments.contestants.split(",") if name] or list(CONTESTANTS)
    wanted = list(dict.fromkeys([*wanted, *options]))
    sets = [name for name in arguments.sets.split(",") if name] or list(suite)
    unknown = [name for name in wanted if name not in CONTESTANTS] + [name for name in sets if name not in suite]
    if unknown:
        raise SystemExit(f"unknown: {unknown}; contestants: {list(CONTESTANTS)}; sets: {list(suite)}")
    missing = {name: missing_packages(CONTESTANTS[name]) for name in wanted if missing_packages(CONTESTANTS[name])}
    for name, packages in missing.items():
        print(f"left out: {name} needs {', '.join(packages)}")
    return {name: suite[name] for name in sets}, [n for n in wanted if n not in missing], options, missing


def _settings(text: str, arguments_of: str) -> dict[str, Any]:
    try:
        found = json.loads(arguments_of)
    except json.JSONDecodeError:
        found = None
    from monolip.estimators import MonotonicRegressor

    known = MonotonicRegressor().get_params()
    if not isinstance(found, dict) or not found.keys() <= known.keys():
        raise SystemExit(f'a variant is NAME={{"argument": value}}, arguments of {sorted(known)}; got {text}')
    return dict(found)


def _cached(units: list[Unit], cache: Path, trust: bool) -> dict[str, Any]:
    """{key: row} of the units found there; trust: whatever the end of a key, which is what would compute the unit."""
    cut = (lambda key: key.rpartition("/")[0]) if trust else (lambda key: key)
    found = {cut(row["key"]): row for row in _read(cache) if "failed" not in row}
    return {unit.key: found[cut(unit.key)] for unit in units if cut(unit.key) in found}


def _read(cache: Path) -> list[dict[str, Any]]:
    """Finished lines only: a run that was killed may leave half a line."""
    rows = []
    for line in cache.read_text().splitlines() if cache.exists() else []:
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return rows


def _guess(unit: Unit, sets: dict[str, Any]) -> float:
    """Seconds, roughly: for the order (long ones first within a repeat) and the time left."""
    return CONTESTANTS[unit.contestant].cost * (0.3 + sets[unit.data_set]["rows"] / 1000) ** 0.7


def _run(left: list[Unit], sets: dict, rows: dict[str, Any], cache: Path, arguments: argparse.Namespace) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    queue = sorted(left, key=lambda unit: (unit.repeat, -_guess(unit, sets)))
    begun, total, spent, guessed = time.perf_counter(), len(queue), 0.0, 0.0
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.jobs, mp_context=spawn) as pool, cache.open("a") as sink:
        sink.write("\n")  # ends half a line of a killed run
        running: dict[Future, tuple[Unit, float]] = {}
        while queue or running:
            late = arguments.minutes is not None and time.perf_counter() - begun > 60 * arguments.minutes
            while queue and len(running) < arguments.jobs and not late:
                unit = queue.pop(0)
                running[pool.submit(run_unit, unit)] = (unit, time.perf_counter())
            if not running:
                print(f"out of time: {len(queue)} units left; run again with --resume")
                break
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                unit, started = running.pop(done)
                row = done.result()
                rows[unit.key] = row
                sink.write(json.dumps(row) + "\n")
                sink.flush()
                spent, guessed = spent + time.perf_counter() - started, guessed + _guess(unit, sets)
                pending = sum(_guess(u, sets) for u in queue) + sum(_guess(u, sets) for u, _ in running.values()) / 2
                _progress(row, total - len(queue) - len(running), total, pending * spent / guessed / arguments.jobs)


def _progress(row: dict[str, Any], done: int, total: int, left_s: float) -> None:
    error = row.get("rmse", row.get("log_loss"))
    said = row.get("failed") or f"{error:10.5g}  fit {row['fit_s']:7.2f} s"
    where = f"{row['data_set']} {row['repeat']}.{row['fold']}"
    print(f"[{done}/{total}, {left_s / 60:5.1f} min left] {where:24s} {row['contestant']:24s} {said}", flush=True)


def _show(found: dict[str, Any]) -> None:
    for name, entry in found["data_sets"].items():
        each = {n: f"{c[entry['metric']]['mean']:.5g}" for n, c in entry["contestants"].items()}
        print(f"{name:20s} {len(entry['folds']):3d} folds  " + "  ".join(f"{n} {e}" for n, e in each.items()))
    for name, o in found.get("overall", {}).items():
        rank = "   -" if o["mean_rank"] is None else f"{o['mean_rank']:4.2f}"
        print(
            f"{name:24s} rank {rank}  ours/it {o['ours_over_it']:.3f} (worst {o['our_worst_ratio']:.3f} "
            f"{o['our_worst_set']})  median fit {o['median_fit_s']:.2f} s  wrong steps {o['wrong_steps']:.4f}"
        )
    for failure in found["failed"]:
        print("FAILED", failure)


if __name__ == "__main__":
    main()
