"""The open suite: fifteen tables with monotone features, read without a hard need for pyarrow."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["at_least", "data_folder", "list_sets", "read_set"]


def at_least(least: int) -> Callable[[str], int]:
    """What reads such a number off a command line; another one is refused."""

    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"a whole number of {least} or more; got {text}")
        return int(text)

    return number


def list_sets() -> dict[str, dict[str, Any]]:
    """{name: {"task", "monotonic_cst", "rows", "features", ...}}, in the order of suite.json."""
    path = data_folder() / "suite.json"
    if not path.exists():
        raise SystemExit(
            f"there is no {path}; MONOLIP_DATA names the folder that holds suite/ (the open suite: docs/benchmarks.md "
            "says where its tables come from); benchmarks/second_suite.py makes "
            "build/second, and with --kept-back build/kept_back; third_suite.py build/third, with --kept-back "
            "build/third_kept_back, and with --large build/third_large"
        )
    found: dict[str, dict[str, Any]] = json.loads(path.read_text())
    return found


def read_set(name: str) -> tuple[pd.DataFrame, np.ndarray, dict[str, Any]]:
    """(X, y, facts); text columns come as categories, whose list of values is fixed over all rows (no target in it)."""
    facts = list_sets()[name]
    frame = _read_parquet(data_folder() / f"{name}.parquet")
    y = frame.pop(facts["target"]).to_numpy()
    wrong = [column for column in facts["monotonic_cst"] if column not in frame]
    if wrong or len(frame) != facts["rows"]:
        raise ValueError(f"{name} must hold the columns and rows of suite.json; got {len(frame)} rows, no {wrong}")
    text = [column for column in frame if not pd.api.types.is_numeric_dtype(frame[column])]
    return frame.astype(dict.fromkeys(text, "category")), y, facts


def data_folder() -> Path:
    """Where the suite lies: under MONOLIP_DATA, or beside the project."""
    return Path(os.environ.get("MONOLIP_DATA", Path(__file__).parents[2] / "shared" / "data")) / "suite"


def _read_parquet(path: Path) -> pd.DataFrame:
    """By pandas where an engine is installed, else by polars, whose reader needs nothing else."""
    try:
        return pd.read_parquet(path)
    except ImportError:
        import polars as pl

        frame = pl.read_parquet(path)
        return pd.DataFrame({name: _plain(frame[name]) for name in frame.columns})


def _plain(column: Any) -> Any:
    return column.to_numpy() if column.dtype.is_numeric() else column.to_list()
