"""Section 3.2 in small: every variant keeps the same promise, and stacked training is training one by one."""

import math

import numpy as np
import pytest
import torch
from paper.section_3_2.experiment import Size, compare, measure
from paper.section_3_2.pace import measure_pace
from paper.section_3_2.stacks import Rows, Trained, train_stack
from paper.section_3_2.suite import split
from paper.section_3_2.tables import tables
from paper.section_3_2.variants import BASE, LAMBDA, VARIANTS

from monolip import SlopeBounds
from monolip.nn import parameter_groups

DIRECTIONS = (1, 0, -1)


def small(name="made", task="regression", features=3, rows=60):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, features))
    y = np.tanh(x[:, 0]) - 0.5 * x[:, 2] if task == "regression" else (x[:, 0] > x[:, 2]).astype(float)
    return split(name, task, (*DIRECTIONS, *[0] * (features - 3)), x, y, seeds=2)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_keeps_the_slopes_at_saturated_weights(name):
    torch.manual_seed(0)
    network = VARIANTS[name].build(DIRECTIONS, (8, 8)).double()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))
    x = torch.randn(500, 3, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(network(x).sum(), x)
    assert SlopeBounds.from_paper(LAMBDA, list(DIRECTIONS)).contains(slope, atol=1e-9)


def test_parameters_are_equal_but_for_the_directions_of_householder():
    counts = {
        name: sum(p.numel() for p in variant.build(DIRECTIONS, (8, 8)).parameters())
        for name, variant in VARIANTS.items()
    }
    assert {count for name, count in counts.items() if "Householder" not in name} == {counts[BASE]}


def test_splits_are_standardised_on_their_training_rows_and_differ_by_seed():
    data = small()
    assert data.train[0].shape == (2, 36, 3)
    assert np.allclose(data.train[0].mean(axis=1), 0.0, atol=1e-5)
    assert not np.array_equal(data.test[0][0], data.test[0][1])


@pytest.mark.parametrize("name", [BASE, "Householder 2", "convex form"])
def test_stacked_training_is_training_one_by_one(name):
    steps, batch, rate, data = 12, 16, 0.05, small()
    stacked = train_stack(VARIANTS[name], [data], rates=(rate,), steps=steps, hidden=(4, 4), batch=batch)
    draw = torch.Generator().manual_seed(0)
    drawn = [(torch.rand(2, batch, generator=draw) * 36).long() for _ in range(steps)]
    for seed in range(2):
        torch.manual_seed(seed)
        network = VARIANTS[name].build(DIRECTIONS, (4, 4))
        groups = [{"params": network.parameters()}] if name == "convex form" else parameter_groups(network, rate)
        optimiser = torch.optim.Adam(groups, lr=rate, betas=(0.9, 0.99))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda k: 0.5 + 0.5 * math.cos(math.pi * k / steps))
        x, y = (torch.as_tensor(part[seed]) for part in data.train)
        for rows in drawn:
            optimiser.zero_grad()
            (network(x[rows[seed]])[:, 0] - y[rows[seed]]).square().mean().backward()
            optimiser.step()
            schedule.step()
        expected = (network(x)[:, 0] - y).square().mean().sqrt().item()
        assert stacked.train[0, seed, 0] == pytest.approx(expected, rel=1e-3)


def test_padded_rows_and_columns_do_not_count():
    mixed = [small(rows=60), small("other", "binary", features=5, rows=40)]
    rows = Rows.of([table.train for table in mixed], 1)
    assert rows.count.tolist() == [36, 36, 24, 24]
    assert bool((rows.x[2, 24:] == 0).all())
    assert bool((rows.x[0, :, 3:] == 0).all())
    found = train_stack(VARIANTS[BASE], mixed, rates=(0.05,), steps=5, hidden=(4, 4), batch=16)
    assert np.isfinite(found.test).all()


def test_a_small_run_makes_the_comparison_and_the_table():
    size = Size(sets=2, seeds=2, steps=10, rates=(0.05, 0.1), hidden=(16, 16), batch=16)
    data = [small(), small("other", "binary")]
    cells = {name: measure(name, data, size) for name in VARIANTS}
    pace = {name: [0.9, 1.0, 1.1] if name == BASE else [1.0, 2.0, 3.0] for name in VARIANTS}
    found = compare(cells, pace)
    assert found[BASE]["test"] == found[BASE]["test_without"]["highest"] == 1.0
    assert found["ReLU"]["time"] == 2.0
    assert found["convex form, 1.23 times the steps"]["time"] == 2.46
    assert {rate for own in cells.values() for cell in own["tables"].values() for rate in cell["rate"]} <= {0.05, 0.1}
    text = tables({"comparison": found, "cells": cells, "pace": pace, "steps": 10, "rates": [0.05, 0.1]})
    chosen = [rate for cell in cells["ReLU"]["tables"].values() for rate in cell["rate"]]
    assert f"| {chosen.count(0.05)} of 4 | {chosen.count(0.1)} of 4 |" in text["table_variants"]
    assert all(name in text["table_variants"] for name in VARIANTS)
    assert text["convex_pace"] == "2.00"
    most = max(sum(cell["rate"].count(0.1) for cell in own["tables"].values()) for own in cells.values())
    assert text["highest_chosen"].startswith(f"{most} of 4 splits (")
    assert text["without_lowest"].split(", from")[0] in VARIANTS
    assert text["chance_of_time"] == "0.90 to 1.10"


def test_without_a_rate_at_the_edge_validation_rows_choose_among_the_others(monkeypatch):
    validation = np.array([[[1.0, 2.0, 3.0], [np.nan, 5.0, 4.0]]])  # one table, two splits, three rates
    run = Trained(20 - validation, validation, validation + 20, 0.001)
    monkeypatch.setattr("paper.section_3_2.experiment.train_stack", lambda *_, **__: run)
    size = Size(sets=1, seeds=2, steps=10, rates=(0.1, 0.2, 0.3), hidden=(4, 4), batch=16)
    cells = measure(BASE, [small()], size)["tables"]["made"]
    assert cells["rate"] == [0.1, 0.3]
    assert cells["test"] == [21.0, 24.0]
    assert cells["train"] == [19.0, 16.0]
    assert cells["fit"] == [17.0, 15.0]  # at any rate
    assert cells["test_without_lowest"] == [22.0, 24.0]
    assert cells["test_without_highest"] == [21.0, 25.0]


def test_a_pace_is_that_of_steps_side_by_side(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr("paper.section_3_2.pace.time.process_time", lambda: next(clock) * 0.5)
    some = {name: VARIANTS[name] for name in (BASE, "convex form")}
    found = measure_pace(some, BASE, [small()], rates=(0.05,), hidden=(4, 4), batch=16, turns=2, steps=1)
    assert found == {name: [1.0, 1.0, 1.0] for name in some}


def test_projection_after_each_step_keeps_stored_weights_feasible():
    variant = VARIANTS["rescaled after each step"]
    assert variant.after_step
    network = variant.build(DIRECTIONS, (8, 8))
    layer = next(network.g.constrained_layers())
    weight = torch.randn(5, *layer.weight.shape) * 10
    once = torch.func.vmap(layer.constrain)(weight)
    assert float(once.abs().max()) <= 1.0 + 1e-6
    assert torch.allclose(torch.func.vmap(layer.constrain)(once), once)
