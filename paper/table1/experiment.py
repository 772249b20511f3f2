"""Table 1 under both protocols, with the peers re-run on the same rows."""

from __future__ import annotations

from typing import Any

from paper.missing_data import MissingDataError
from paper.results_file import recording
from paper.table1.honest_protocol import KEEP, METHODS, WIDE, run_honest
from paper.table1.paper_protocol import run_paper, run_paper_trees, variants
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
        for task in tasks:
            try:
                numbers[task.entry] = entry(task, units, fast)
            except MissingDataError as absent:
                missing[task.entry] = str(absent)
                print(f"[table1] {task.entry} skipped: {absent}", flush=True)
        found = [value for key, value in numbers.items() if key not in missing]
        verdicts = [verdict(value["honest"], value["metric"]) for value in found]
        numbers["verdicts"] = {word: verdicts.count(word) for word in ("best", "within", "missed")}
        numbers["entries"] = len(found)
        numbers["unit_cpu_seconds"] = units.cpu_seconds
        numbers["penalty_falls"] = sum(value["honest"]["gradient penalty"][0]["affected"] > 0 for value in found)
        numbers["missing"] = missing
        if len(missing) == len(tasks):
            raise MissingDataError("; ".join(missing.values()))


def entry(task: Task, units: Units, fast: bool) -> dict[str, Any]:
    """Everything about one entry of the table."""
    data = load(task.data)
    found: dict[str, Any] = {"data": data.describe(), "substitute": data.substitute, "metric": task.metric}
    found["paper"] = {"monolip": units(f"paper|{task.entry}|monolip", task.small, lambda: run_paper(task, fast))}
    if task.stated is not None:
        stated = load(task.stated)
        found["stated data"] = stated.describe()
        found["paper, stated task"] = {
            "monolip": units(f"paper, stated task|{task.entry}", task.small, lambda: run_paper(task, fast, stated))
        }
    if not data.substitute:  # the paper's own model, where its number is one to compare with
        found["forms"] = {
            name: units(f"forms|{task.entry}|{name}", small, lambda small=small: run_paper(task, fast, small=small))
            for name, small in variants(task).items()
        }
    for name in TREES if not (data.substitute and data.X.shape[1] > WIDE) else ():  # nobody's number to compare with
        found["paper"][name] = units(
            f"paper|{task.entry}|{name}", GRIDS[name], lambda name=name: run_paper_trees(task, name, fast)
        )
    found["honest"] = {}
    for method in sorted(METHODS, key=lambda method: (task.entry, method) in SLOW_PEERS):
        repeats = 2 if fast else task.repeats
        found["honest"][method] = [
            units(
                f"honest|{task.entry}|{method}|{repeat}",
                settings_of(task, method, data.X.shape[1]),
                lambda method=method, repeat=repeat: run_honest(task, method, repeat, audited=repeat == 0),
            )
            for repeat in range(repeats)
        ]
    return found


def settings_of(task: Task, method: str, columns: int) -> tuple[object, ...]:
    """What a unit depends on besides the code: another setting is another unit."""
    if method == "monolip" and task.keep is None and columns > WIDE:
        return ("monolip", KEEP)
    return (task.grid if method.startswith("monolip, paper") else None, GRIDS.get(method))
