"""Do deep networks start alive, and do they train? Mean slope at initialisation, and loss curves at depth 8.

    python benchmarks/initialisation.py      writes results/initialisation.json and docs/figures/initialisation.png

Needs the reference package beside ours: pip install --no-deps monotonicnetworks==1.5.1. About eight minutes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from monolip import Rule, SlopeBounds
from monolip.nn import ConvexMLP, LipschitzMLP, SlopeBounded, parameter_groups
from record import ROOT, record
from reference import reference_network

DEPTHS, BOUNDS, WIDTH, FEATURES = (2, 4, 8, 16), (1.0, 10.0, 100.0), 64, 4
RATES, SEEDS, STEPS, EVERY = (3e-3, 1e-2, 3e-2), (0, 1, 2), 600, 10
HIDDEN = (WIDTH,) * 7  # depth 8
COLOURS = {
    "convex": "#0072B2", "paper": "#009E73", "paper, budget over layers": "#E69F00", "paper, projected": "#56B4E9",
    "reference": "#D55E00",
}  # fmt: skip

Builder = Callable[[int, int, float], nn.Module]
NETWORKS: dict[str, Builder] = {  # features, depth, bound -> g
    "convex": lambda d, depth, b: ConvexMLP(SlopeBounds([-b] * d, [b] * d), 1, (WIDTH,) * (depth - 1)),
    "paper": lambda d, depth, b: LipschitzMLP(d, 1, (WIDTH,) * (depth - 1), bound=b),
    "paper, budget over layers": lambda d, depth, b: LipschitzMLP(
        d, 1, (WIDTH,) * (depth - 1), bound=b, budget="layers"
    ),
    "reference": lambda d, depth, b: reference_network((d, *[WIDTH] * (depth - 1), 1), b),
}


def mean_slope(network: nn.Module, bound: float) -> float:
    x = torch.randn(256, FEATURES, requires_grad=True)
    (slope,) = torch.autograd.grad(network(x).sum(), x)
    return float(slope.abs().mean()) / bound


def slopes_at_initialisation() -> list[dict[str, Any]]:
    rows = []
    for name, build in NETWORKS.items():
        for depth in DEPTHS:
            for bound in BOUNDS:
                torch.manual_seed(0)
                share = statistics.mean(mean_slope(build(FEATURES, depth, bound), bound) for _ in range(5))
                rows.append({"network": name, "depth": depth, "bound": bound, "mean_slope_over_bound": share})
    return rows


def target(x: Tensor, lam: float) -> Tensor:
    """Increasing in x1, not in x2, with slopes that fill [0, 2 lambda] and [-lambda, lambda].

    lambda = 1: a wave and |x2|. lambda = 10: three steep steps (slope 5 each) and a sine of slope 4.
    """
    if lam == 1.0:
        return x[:, :1] + 0.8 * torch.sin(1.2 * x[:, :1]) + x[:, 1:].abs()
    steps = torch.stack([torch.tanh(0.5 * lam * (x[:, :1] - k)) for k in (-2.0, 0.0, 2.0)])
    return steps.sum(0) + torch.sin(4.0 * x[:, 1:])


def monotone(name: str, lam: float) -> nn.Module:
    """Depth 8, increasing in the first of two features."""
    slopes = SlopeBounds.from_paper(lam, [1, 0])
    if name == "convex":
        return ConvexMLP(slopes, 1, HIDDEN, initial_slope=2.0)  # no steeper than data of scale 1 need, to start with
    if name.startswith("paper"):
        rule = Rule.PROJECT if "projected" in name else Rule.CAP
        return SlopeBounded.mlp(slopes, 1, HIDDEN, rule=rule)
    from monotonicnetworks import MonotonicWrapper

    network = reference_network((2, *HIDDEN, 1), lam)
    return MonotonicWrapper(network, lipschitz_const=lam, monotonic_constraints=[1, 0])


def curve(name: str, lam: float, rate: float, seed: int) -> list[float]:
    """Test MSE every EVERY steps of Adam on batches of 256 fresh points."""
    torch.manual_seed(seed)
    model = monotone(name, lam)
    # ours with the rates the library gives (hidden rows of paper form follow their width); the reference has no such
    optimizer = torch.optim.Adam(parameter_groups(model, rate))
    grid = 2 * torch.randn(2000, 2, generator=torch.Generator().manual_seed(99))
    losses = []
    for step in range(STEPS + 1):
        if step % EVERY == 0:
            with torch.no_grad():
                losses.append(float((model(grid) - target(grid, lam)).square().mean()))
        x = 2 * torch.randn(256, 2)
        optimizer.zero_grad()
        (model(x) - target(x, lam)).square().mean().backward()
        optimizer.step()
    return losses


def training() -> list[dict[str, Any]]:
    rows = []
    for lam in (1.0, 10.0):
        for name in ("convex", "paper", "paper, projected", "reference"):
            runs = {rate: [curve(name, lam, rate, seed) for seed in SEEDS] for rate in RATES}
            final = {rate: statistics.mean(statistics.mean(c[-5:]) for c in curves) for rate, curves in runs.items()}
            best = min(final, key=lambda rate: final[rate])
            row = {
                "network": name,
                "lambda": lam,
                "best_rate": best,
                "final_mse": final[best],
                "final_mse_by_rate": {str(rate): value for rate, value in final.items()},
                "final_mse_by_seed": [statistics.mean(c[-5:]) for c in runs[best]],
                "curves_at_best_rate": [[round(v, 6) for v in c] for c in runs[best]],
            }
            rows.append(row)
            print(f"lambda {lam:g} {name:18s} best rate {best:g}: MSE {final[best]:.2e}", flush=True)
    return rows


def draw(at_start: list[dict[str, Any]], trained: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, *right) = plt.subplots(1, 3, figsize=(12.5, 3.8), layout="constrained")
    marks = {1.0: "o", 10.0: "s", 100.0: "^"}
    for name, bound in ((name, bound) for name in NETWORKS for bound in BOUNDS):
        points = [r for r in at_start if r["network"] == name and r["bound"] == bound]
        left.plot(
            [r["depth"] for r in points],
            [max(r["mean_slope_over_bound"], 1e-20) for r in points],
            marker=marks[bound], color=COLOURS[name], linewidth=1, markersize=4, label=name if bound == 1.0 else None,
        )  # fmt: skip
    for row in trained:
        axes, colour = right[0 if row["lambda"] == 1.0 else 1], COLOURS[row["network"]]
        steps = range(0, STEPS + 1, EVERY)
        for values in row["curves_at_best_rate"]:
            axes.plot(steps, values, color=colour, alpha=0.25, linewidth=0.8)
        mean = [statistics.mean(values) for values in zip(*row["curves_at_best_rate"], strict=True)]
        axes.plot(steps, mean, color=colour, label=f"{row['network']} (rate {row['best_rate']:g})")
    left.axhline(0.1, color="grey", linewidth=0.8, linestyle=":")
    left.set(xscale="log", yscale="log", xticks=DEPTHS, xticklabels=DEPTHS, xlabel="depth (width 64)")
    left.minorticks_off()
    left.set_ylabel("mean |dg/dx| / bound at initialisation")
    left.set_title("bounds 1 (circles), 10 (squares), 100 (triangles)", fontsize=9)
    left.legend(fontsize=8, loc="lower left")
    for axes, lam in zip(right, (1, 10), strict=True):
        axes.set(yscale="log", xlabel="steps of Adam", ylabel="test MSE")
        axes.set_title(f"depth 8, lambda = {lam}: best of three rates, three seeds", fontsize=9)
        axes.legend(fontsize=8)
    path = ROOT / "docs" / "figures" / "initialisation.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None).parse_args()
    torch.set_num_threads(1)
    at_start = slopes_at_initialisation()
    trained = training()
    results = {"mean_slope": at_start, "training": trained}
    settings = {"width": WIDTH, "steps": STEPS, "seeds": SEEDS, "rates": RATES, "batch": 256, "depth_trained": 8}
    print(record("initialisation", results, ("torch", "monotonicnetworks"), **settings))
    draw(at_start, trained)


if __name__ == "__main__":
    main()
