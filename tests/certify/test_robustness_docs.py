"""The page shows the committed results, and the attack of the other tests has teeth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monolip.certify import local_slopes, robustness, robustness_drop

from . import test_robustness
from .robustness_networks import KINDS

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_is_generated_from_the_committed_results() -> None:
    names: dict[str, Any] = {"__name__": "robustness_tables", "__file__": str(ROOT / "docs/robustness_tables.py")}
    exec(compile((ROOT / "docs/robustness_tables.py").read_text(), "robustness_tables.py", "exec"), names)
    assert names["main"]() == (ROOT / "docs/robustness.md").read_text(), "run: python docs/robustness_tables.py"


def small_drop(monkeypatch):
    real = robustness_drop.Drops.drop
    monkeypatch.setattr(robustness_drop.Drops, "drop", lambda *given: 0.97 * real(*given))


def large_margin(monkeypatch):
    real = robustness.output_enclosure
    monkeypatch.setattr(robustness, "output_enclosure", lambda *given: (1.03 * real(*given)[0], real(*given)[1]))


def decided_orders(monkeypatch):
    real = local_slopes._places

    def first_only(*given):
        first, last = real(*given)
        return first, np.minimum(first, last)

    monkeypatch.setattr(local_slopes, "_places", first_only)


@pytest.mark.parametrize("break_it", [small_drop, large_margin, decided_orders])
def test_a_broken_proof_is_caught(break_it, monkeypatch):
    attack = test_robustness.test_nothing_within_a_radius_flips_the_decision.hypothesis.inner_test
    break_it(monkeypatch)
    caught = 0
    for seed, kind in enumerate(2 * KINDS):
        try:
            attack(kind=kind, seed=seed, norm=np.inf, method="local")
        except AssertionError:
            caught += 1
    assert caught >= 3
