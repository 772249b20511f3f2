"""Table 1 under both protocols, with the peers re-run on the same rows."""

from __future__ import annotations

from typing import Any

from paper.datasets.data_set import DataSet
from paper.fingerprint import fingerprint
from paper.missing_data import DamagedDataError, MissingDataError
from paper.results_file import recording
from paper.table1.honest_protocol import KEEP, METHODS, WIDE, run_honest
from paper.table1.paper_protocol import run_paper, run_paper_penalty, run_paper_trees, variants
from paper.table1.peers import GRIDS, TREES
from paper.table1.summary import verdict
from paper.table1.tasks import TASKS, Task, load
from paper.table1.units import Units

__all__ = ["main"]

FAST = ("HeartDisease", "AutoMPG", "COMPAS")
COSTLY = ("BlogFeedback mini", "ChestXRay", "BlogFeedback")  # last, in this order: what is cheap is safe first
SLOW_PEERS = {("BlogFeedback", "HistGradientBoosting"), ("ChestXRay", "HistGradientBoosting")}


def main(fast: bool) -> None:
    tasks = [task for task in TASKS if not fast or task.entry in FAST]
    tasks = sorted(tasks, key=lambda task: COSTLY.index(task.entry) if task.entry in COSTLY else -1)
    units = Units("table1_fast" if fast else "table1")
    packages = ("monolip", "numpy", "scikit-learn", "lightgbm", "xgboost", "torch")
    with recording("table1", fast=fast, packages=packages) as numbers:
        missing: dict[str, str] = {}
        damaged: list[str] = []
        for task in tasks:
            try:
                numbers[task.entry] = entry(task, units, fast)
            except (MissingDataError, DamagedDataError) as absent:
                missing[task.entry] = str(absent)
                if isinstance(absent, DamagedDataError):
                    damaged.append(task.entry)
                print(f"[table1] {task.entry} skipped: {absent}", flush=True)
        found = [value for key, value in numbers.items() if key not in missing]
        verdicts = [verdict(value["honest"], value["metric"]) for value in found]
        numbers["verdicts"] = {word: verdicts.count(word) for word in ("best", "within", "missed")}
        numbers["entries"] = len(found)
        numbers["unit_cpu_seconds"] = units.cpu_seconds
        numbers["penalty_falls"] = sum(value["honest"]["gradient penalty"][0]["affected"] > 0 for value in found)
        numbers["missing"] = missing
        if damaged:  # the runner ends with exit code 1
            numbers["damaged"] = damaged
        numbers["code"] = code_of("honest", "monolip")
        if len(missing) == len(tasks):
            error = DamagedDataError if damaged else MissingDataError
            raise error(" | ".join(why.rstrip(".") for why in missing.values()))


def entry(task: Task, units: Units, fast: bool) -> dict[str, Any]:
    """Everything about one entry of the table."""
    data = load(task.data)
    found: dict[str, Any] = {"data": data.describe(), "substitute": data.substitute, "metric": task.metric}
    stated = data if task.stated is None else load(task.stated)
    own = (data.digest, code_of("paper", "monolip"))
    found["paper"] = {
        "monolip": units(f"paper|{task.entry}|monolip", (task.small, *own), lambda: run_paper(task, fast))
    }
    if task.stated is not None:
        found["stated data"] = stated.describe()
        settings = (task.small, stated.digest, own[1])
        found["paper, stated task"] = {
            "monolip": units(f"paper, stated task|{task.entry}", settings, lambda: run_paper(task, fast, stated))
        }
    if not data.substitute:  # the paper's own model, where its number is one to compare with
        found["forms"] = {
            name: units(
                f"forms|{task.entry}|{name}", (small, *own), lambda small=small: run_paper(task, fast, small=small)
            )
            for name, small in variants(task).items()
        }
    for name in TREES:
        found["paper"][name] = units(
            f"paper|{task.entry}|{name}",
            (GRIDS[name], data.digest, code_of("paper", name)),
            lambda name=name: run_paper_trees(task, name, fast),
        )
    found["paper"]["gradient penalty"] = units(
        f"paper|{task.entry}|gradient penalty",
        (data.digest, code_of("paper", "gradient penalty")),
        lambda: run_paper_penalty(task, fast),
    )
    found["honest"] = {}
    for method in sorted(METHODS, key=lambda method: (task.entry, method) in SLOW_PEERS):
        repeats = 2 if fast else task.repeats
        found["honest"][method] = [
            units(
                f"honest|{task.entry}|{method}|{repeat}",
                (*settings_of(task, method, stated), stated.digest, code_of("honest", method)),
                lambda method=method, repeat=repeat: run_honest(task, method, repeat, audited=repeat == 0),
            )
            for repeat in range(repeats)
        ]
    return found


PACKAGES = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "HistGradientBoosting": "scikit-learn"}


def code_of(protocol: str, method: str) -> str:
    """What a unit depends on besides settings and data (which have a digest): code it runs, and the package it calls.

    Peers do not run monolip's training: of it they see the audit alone.
    """
    ours = method.startswith("monolip")
    without = ("paper.end_to_end.features", *(("paper.table1.penalty",) if method != "gradient penalty" else ()))
    package = PACKAGES.get(method, "torch" if method == "gradient penalty" else "numba")
    return fingerprint(
        (f"paper.table1.{protocol}_protocol",),
        ("numpy", "scikit-learn", package),
        without,
        ("certify", "engine", "estimators") if ours else ("certify",),
    )


def settings_of(task: Task, method: str, data: DataSet) -> tuple[object, ...]:
    """What a unit is asked to do."""
    if method == "monolip" and task.keep is None and data.X.shape[1] > WIDE:
        return ("monolip", KEEP)
    return (task.grid if method.startswith("monolip, paper") else None, GRIDS.get(method))
