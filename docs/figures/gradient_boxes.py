"""Figure 1 of the paper, drawn with the library: where gradients may lie for p = 1 and p = 2, and the shift.

Run: python docs/figures/gradient_boxes.py  (writes gradient_boxes.png beside this file)
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from monolip import SlopeBounds, SlopeSet

GREEN, RED, BLUE, INK = "#1b7f5c", "#c0392b", "#2c5d9b", "#333333"


def boundary(promise: SlopeSet, center: np.ndarray) -> np.ndarray:
    """The edge of a slope set, by projecting a far circle onto it."""
    angle = np.linspace(0, 2 * np.pi, 721)
    far = center + 50 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return promise.project(far)


def main() -> None:
    lam = 1.0
    g_box = SlopeSet(SlopeBounds.from_monotonic_cst([0, 0], lam))
    f_box = SlopeSet(SlopeBounds.from_paper(lam, [1, 1]))
    figure, axes = plt.subplots(figsize=(6.2, 5.2), constrained_layout=True)
    square, circle = boundary(g_box, np.zeros(2)), boundary(g_box.in_l2_ball(lam), np.zeros(2))
    axes.plot(*square.T, "--", color=GREEN, lw=1.6, label="gradients of g, p = 1")
    axes.plot(*circle.T, "--", color=RED, lw=1.6, label="gradients of g, p = 2")
    shift = f_box.bounds.center
    axes.fill(*(square + shift).T, color=GREEN, alpha=0.12)
    axes.plot(*(square + shift).T, color=GREEN, lw=2.2, label="gradients of f, p = 1: every pair in [0, 2λ]²")
    axes.plot(*(circle + shift).T, color=RED, lw=2.2, label="gradients of f, p = 2: corners are missing")
    axes.annotate("", xy=shift, xytext=(0, 0), arrowprops={"arrowstyle": "-|>", "color": BLUE, "lw": 2})
    axes.text(0.56, 0.36, "residual λ·x", color=BLUE, rotation=45, ha="center", va="center")
    axes.plot(0, 0, "o", color=INK, ms=6)
    axes.annotate(
        "flat in both inputs:\nallowed for p = 1 only", (0, 0), (-1.25, 1.35), color=INK, fontsize=9,
        arrowprops={"arrowstyle": "->", "color": INK, "lw": 0.8},
    )  # fmt: skip
    axes.axhline(0, color="#999999", lw=0.7, zorder=0)
    axes.axvline(0, color="#999999", lw=0.7, zorder=0)
    axes.set(xlabel="∂/∂x₁", ylabel="∂/∂x₂", xlim=(-1.3, 2.3), ylim=(-1.3, 2.75), aspect="equal")
    axes.set_xticks([-1, 0, 1, 2], ["-λ", "0", "λ", "2λ"])
    axes.set_yticks([-1, 0, 1, 2], ["-λ", "0", "λ", "2λ"])
    axes.legend(loc="upper center", fontsize=8, frameon=False, ncols=1)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(Path(__file__).with_suffix(".png"), dpi=150)


if __name__ == "__main__":
    main()
