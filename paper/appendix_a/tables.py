"""The tables of the section on Appendix A."""

from __future__ import annotations

import math
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
        "certificates": _certificates(tasks),
        "goodness_certified": _goodness(tasks),
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


def _certificates(tasks: dict[str, Any]) -> str:
    """How many certificates there are, their size, and how long those took whose time is known."""
    written = {name: task["certificate"] for name, task in tasks.items() if task.get("certificate")}
    claims = sum(certificate["claims"] for certificate in written.values())
    share = f"all {len(tasks)}" if len(written) == len(tasks) else f"{len(written)} of {len(tasks)}"
    text = f"of {share} networks, {claims:,} intervals in all"
    timed = [certificate for certificate in written.values() if "seconds" in certificate]
    if timed:
        counts, parts = [c["claims"] for c in timed], []
        for part in ("written", "checked"):
            seconds = [certificate["seconds"][part] for certificate in timed]
            parts.append(f"{part} in {min(seconds):.0f} to {max(seconds):.0f} s")
        text += f" (one with {min(counts):,} or more was {' and '.join(parts)}, several beside each other)"
    return text


def _goodness(tasks: dict[str, Any]) -> str:
    """What certificates say of the goodness, where there are any."""
    found = [
        task["certificate"]["goodness"] for task in tasks.values() if "goodness" in (task.get("certificate") or {})
    ]
    if not found:
        return "not certified"
    words = {kind: sorted({w for one in found for w in one[kind]["directions"]}) for kind in ("class_0", "others")}
    low = min(one["class_0"]["slopes"][0] - one["others"]["slopes"][1] for one in found)
    return (
        f"f₀ {' or '.join(words['class_0'])} and every other logit {' or '.join(words['others'])}, bit for bit, in "
        f"{len(found)} of {sum('goodness_class_0' in task['frozen'] for task in tasks.values())} networks; every "
        f"f₀ - f_j has a slope of at least {_rounded_down(low):g}"
    )


def _rounded_down(value: float) -> float:
    """To two digits: what is said must not be more than what is certified."""
    if value <= 0.0:
        return value
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / unit) * unit


def _short(numbers: dict[str, Any], name: str, run: dict[str, Any]) -> str:
    attainable = numbers["tasks"][name]["attainable"]
    if run["right"] == attainable:
        return f"all, {run['seconds']:.1f} s"
    return f"{attainable - run['right']:,} wrong after {run['seconds']:.0f} s"
