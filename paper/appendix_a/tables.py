"""The tables of the section on Appendix A."""

from __future__ import annotations

from statistics import fmean
from typing import Any

from paper.markdown import table

__all__ = ["tables"]

NAMES = {"mnist": "MNIST", "cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "cifar101": "CIFAR-101"}


def tables(numbers: dict[str, Any]) -> dict[str, str]:
    """Markdown tables by name."""
    tasks = numbers["tasks"]
    epochs = [1e3 * task["published"]["seconds"] / max(1.0, task["published"]["epochs"]) for task in tasks.values()]
    return {
        "epoch_ms": f"{min(epochs):.0f} to {max(epochs):.0f}",
        "table_tasks": table(
            ("task", "images", "can be right", "right, every seed", "seconds, by seed", "epochs", "published recipe"),
            [
                *(_row(name, task, numbers["published_epochs"]) for name, task in tasks.items()),
                *((NAMES[name], "missing", "", "", "", "", "") for name in numbers.get("missing", {})),
            ],
        ),
        "table_proofs": table(
            (
                "network",
                "promise, proved when frozen",
                "no slope is steeper than",
                "steepest certified slope",
                "full certificate",
            ),
            [_proof(name, task) for name, task in tasks.items()],
        ),
        "table_ablation": table(
            ("variant", *(shown(name) for name in numbers["ablation"])),
            [
                (variant, *(_short(numbers, name, runs[variant]) for name, runs in numbers["ablation"].items()))
                for variant in next(iter(numbers["ablation"].values()), {})
            ],
        ),
    }


def shown(name: str) -> str:
    """ "mnist random" -> "MNIST, random labels"; CIFAR-101 by its rule."""
    kind, rule = name.split(" ", 1)
    return f"{NAMES[kind]}, {rule}" + ("" if kind == "cifar101" else " labels")


def _row(name: str, task: dict[str, Any], epochs: int) -> tuple[str, ...]:
    runs, theirs = task["runs"], task["published"]
    right = {run["right"] for run in runs}
    return (
        shown(name),
        f"{task['images']:,}",
        f"{task['attainable']:,} ({100 * task['attainable'] / task['images']:.3f} %)",
        " / ".join(f"{count:,}" for count in sorted(right)),
        ", ".join(f"{run['seconds']:.1f}" for run in runs),
        f"{fmean(run['epochs'] for run in runs):.0f}",
        f"{100 * theirs['right'] / task['images']:.1f} % after {epochs:,} epochs, {theirs['seconds']:.0f} s",
    )


def _proof(name: str, task: dict[str, Any]) -> tuple[str, ...]:
    facts, certificate = task["frozen"], task.get("certificate")
    promise = "every slope in [-1, 1]"
    if "goodness_class_0" in facts:
        promise += "; in the goodness f₀ in [0, 1], the others in [-1, 0]"
    claims = f"{certificate['claims']:,} exact intervals, proved again by the checker" if certificate else "not written"
    steepest = f"{certificate['steepest']:.3f}" if certificate else ""
    return shown(name), promise, f"{facts['steepest']:.3f}", steepest, claims


def _short(numbers: dict[str, Any], name: str, run: dict[str, Any]) -> str:
    attainable = numbers["tasks"][name]["attainable"]
    if run["right"] == attainable:
        return f"all, {run['seconds']:.1f} s"
    return f"{attainable - run['right']:,} wrong after {run['seconds']:.0f} s"
