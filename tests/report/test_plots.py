"""The plots: what is drawn is what is proved or measured, in one style, and looks like its baseline."""

from __future__ import annotations

import subprocess
import sys
from copy import copy
from itertools import pairwise

import numpy as np
import pytest

from monolip.certify import certify
from monolip.errors import InputError
from monolip.estimators import FitOptions, MonotonicClassifier, MonotonicRegressor
from monolip.report import plot_certificate, plot_heatmap, plot_history, plot_shapes
from monolip.report.style import BLUE, GREY, RED

from ..estimators.tables import QUICK, credit
from .drawn import blocks_of, matches_baseline, network

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    X, y = credit(150)
    return MonotonicRegressor(monotonic_cst={"income": 1}, **QUICK).fit(X, y)


def test_shapes_look_as_they_did():
    axes = plot_shapes(network(), n_columns=2)
    assert [axis.get_xlabel() for axis in axes] == ["dose", "fitness", "age", "site"]
    assert matches_baseline("shapes", axes[0].figure)


def test_a_changed_picture_is_noticed():
    axes = plot_shapes(network(), n_columns=2)
    axes[0].lines[0].set_linewidth(40)
    assert not matches_baseline("shapes", axes[0].figure)


def test_a_heat_map_holds_f_and_the_line_where_the_decision_changes():
    f = network()
    axis = plot_heatmap(f, ["dose", "fitness"], cells=12)
    mesh = axis.collections[0]
    values = np.asarray(mesh.get_array()).reshape(12, 12)
    dose, fitness = np.meshgrid(np.linspace(0, 10, 12), np.linspace(0, 1, 12))
    same = [dose.ravel(), fitness.ravel(), np.full(144, 45.0), ["north"] * 144]
    np.testing.assert_array_equal(values.ravel(), f.evaluate_raw(same)[:, 0])
    assert (np.diff(values, axis=1) >= 0).all()
    assert (np.diff(values, axis=0) <= 0).all()
    assert mesh.get_cmap().name == "cividis"
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("dose", "fitness")
    assert axis.get_title() == "the line is where the decision changes"
    assert "log-odds of P(y = ill)" in [other.get_ylabel() for other in axis.figure.axes]
    assert matches_baseline("heatmap", axis.figure)


def test_a_heat_map_of_categories_names_them_and_averages_rows(model):
    X, _ = credit(150)
    axis = plot_heatmap(model, ["city", "income"], X, cells=8)
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["A", "B", "C"]
    one = plot_heatmap(model, ["city", "income"], cells=8)
    assert not np.array_equal(axis.collections[0].get_array(), one.collections[0].get_array())


@pytest.mark.parametrize("features", [["dose"], ["dose", "dose"], ["dose", "age", "site"]])
def test_a_heat_map_has_two_features(features):
    with pytest.raises(InputError, match="a heat map has two features, one for each axis; got"):
        plot_heatmap(network(), features)


def test_the_grid_of_a_heat_map_is_bounded():
    with pytest.raises(InputError, match="cells is a number from 2 to 500; got 100000"):
        plot_heatmap(network(), ["dose", "age"], cells=100000)


def test_a_certificate_is_drawn_as_it_reads():
    certificate = certify(network())
    axis = plot_certificate(certificate)
    bars = {tick.get_text(): bar for tick, bar in zip(axis.get_yticklabels(), axis.patches, strict=False)}
    widths = {"dose": 10.0, "fitness": 1.0, "age": 60.0}
    claims = {claim.feature: claim for claim in certificate}
    for name, width in widths.items():
        low, high = bars[name].get_x(), bars[name].get_x() + bars[name].get_width()
        assert low == pytest.approx(claims[name].lower * width)
        assert high == pytest.approx(claims[name].upper * width)
    colors = [matplotlib.colors.to_hex(bars[name].get_facecolor()).upper() for name in widths]
    assert colors == [BLUE, RED, GREY]
    assert axis.get_yticklabels()[3].get_text() == "site"
    words = [text.get_text() for text in axis.figure.legends[0].get_texts()]
    assert set(words) == {"increasing", "decreasing", "bounded: no direction", "free: nothing is certified"}
    assert matches_baseline("certificate", axis.figure)


def test_the_certificate_of_a_model_and_of_its_network_are_one_picture(model):
    one, two = (blocks_of(plot_certificate(it).figure) for it in (model, model.frozen_))
    assert np.array_equal(one, two)
    with pytest.raises(InputError, match="got str; pass one of those"):
        plot_certificate("certificate")


def stage_of(member, stage, steps, loss, chosen=False, n_bins=8):
    """A row of a history."""
    return {
        "member": member, "n_bins": n_bins, "stage": stage, "refit": False, "steps": steps, "slope_decay": 0.1,
        "training_loss": 0.1, "validation_loss": loss, "seconds": 0.1, "chosen": chosen,
    }  # fmt: skip


def stages_of(member, losses, best, first=50, n_bins=8):
    """Rows of a member: of its additive model, and of stages that double."""
    steps = [0, *(first * 2**k for k in range(len(losses) - 1))]
    pairs = enumerate(zip(steps, losses, strict=True))
    return [stage_of(member, k, n, loss, k == best, n_bins) for k, (n, loss) in pairs]


@pytest.fixture(scope="module")
def trained():
    """A model that is no additive one; tests give it other histories."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    return MonotonicRegressor(max_iter=20, random_state=0).fit(X, X[:, 0] * X[:, 1])


def with_history(model, history):
    model = copy(model)
    model.history_ = history
    return model


def curves_of(axis):
    """Points of curves, and of rings around chosen stages."""
    lines = [(line.get_fillstyle() == "none", line.get_xydata().tolist()) for line in axis.lines]
    return [points for ring, points in lines if not ring], [points[0] for ring, points in lines if ring]


def test_a_history_adds_up_the_stages_of_each_member_and_rings_the_chosen_one(trained):
    curves, rings = curves_of(plot_history(trained))
    found = []
    for member in sorted({row["member"] for row in trained.history_}):
        rows = [row for row in trained.history_ if row["member"] == member and row["validation_loss"] is not None]
        if rows:
            steps = np.cumsum([row["steps"] for row in rows]).tolist()
            points = [[float(n), row["validation_loss"]] for n, row in zip(steps, rows, strict=True)]
            found.append(points)
            chosen = [point for point, row in zip(points, rows, strict=True) if row["chosen"]]
            assert [ring for ring in rings if ring in points] == chosen
    assert curves == found


def test_a_history_of_a_stream_has_a_panel_for_it(trained):
    from matplotlib.figure import Figure

    before = curves_of(plot_history(trained))
    stream = {0: 0.5, 4096: 0.4, 12288: 0.45}
    rows = [{"stream_rows": n, "validation_loss": loss} for n, loss in stream.items()]
    model = with_history(trained, [*trained.history_, *rows])
    axis = plot_history(model)
    assert curves_of(axis) == before
    assert axis.get_title() == "Validation loss of each member, on the sample"
    _, beside = axis.figure.axes
    assert curves_of(beside) == ([[list(map(float, point)) for point in stream.items()]], [[4096.0, 0.4]])
    assert "of other rows than the members'" in beside.get_title()
    own = Figure().subplots()
    assert plot_history(model, axis=own) is own
    assert "training on the stream is not shown" in own.get_title()
    assert len(own.figure.axes) == 1


@pytest.mark.parametrize("low", [0.01, 0.3, 0.5])
def test_the_legend_of_a_history_covers_no_curve(trained, low):
    kinds = list(enumerate((50, 8, 0) * 2))
    for losses in ((0.5, low), (low, 0.5), (0.4, 0.4)):
        history = [row for m, n in kinds for row in stages_of(m, [v + 0.05 * m for v in losses], 1, n_bins=n)]
        axis = plot_history(with_history(trained, history))
        axis.figure.canvas.draw()
        box = axis.get_legend().get_window_extent()
        points = [axis.transData.transform(line.get_xydata()) for line in axis.lines]
        assert max(y.max() for _, y in (p.T for p in points)) < box.y0
        assert axis.bbox.x0 <= box.x0 < box.x1 <= axis.bbox.x1


@pytest.mark.parametrize("stages", [4, 5, 6, 7, 9, 11, 14])
@pytest.mark.parametrize("first", [1, 7, 50])
@pytest.mark.parametrize("streamed", [False, True])
def test_numbers_of_steps_do_not_overlap(trained, stages, first, streamed):
    history = stages_of(0, [1 / (1 + k) for k in range(stages)], stages - 1, first)
    if streamed:
        history += [{"stream_rows": 0, "validation_loss": 0.5}, {"stream_rows": 4096, "validation_loss": 0.4}]
    axis = plot_history(with_history(trained, history))
    axis.figure.canvas.draw()
    low, high = axis.get_xlim()
    ticks = [*axis.xaxis.get_major_ticks(), *axis.xaxis.get_minor_ticks()]
    seen = [tick.label1 for tick in ticks if tick.label1.get_text() and low <= tick.get_loc() <= high]
    boxes = sorted((label.get_window_extent() for label in seen), key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 + 3 < right.x0 for left, right in pairwise(boxes))


def test_a_kind_of_bins_that_was_left_out_says_so(trained):
    history = stages_of(0, (0.5, 0.3, 0.2), 2) + stages_of(1, (0.5, 0.4, 0.45), None, n_bins=64)
    labels = [text.get_text() for text in plot_history(with_history(trained, history)).get_legend().get_texts()]
    assert labels == ["8 bins per feature", "chosen stage", "64 bins per feature, left out"]


def test_a_history_looks_as_it_did(trained):
    losses = {0: (0.6, 0.5, 0.3, 0.25, 0.27), 1: (0.55, 0.45, 0.32, 0.22, 0.21)}
    history = [row for member, values in losses.items() for row in stages_of(member, values, 3)]
    axis = plot_history(with_history(trained, history))
    assert matches_baseline("history", axis.figure)


@pytest.mark.parametrize("rate", [0.16, 1000.0])
def test_a_history_says_where_the_additive_model_was_kept(rate):
    """With a step size that large every stage is worse than the additive model."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    model = MonotonicRegressor(fit_options=FitOptions(slope_rate=rate), random_state=0)
    model.fit(X, X[:, 0] + X[:, 1] * X[:, 2])
    assert ("additive model, which is kept" in plot_history(model).get_title()) == (rate > 1)


def test_without_validation_rows_the_history_says_so_and_others_are_refused():
    X, y = credit(60)
    model = MonotonicClassifier(early_stopping=False, max_iter=1, random_state=0).fit(X, y > 10)
    assert [text.get_text() for text in plot_history(model).texts] == ["no validation rows"]
    for wrong, words in ((MonotonicRegressor(), "MonotonicRegressor, not fitted"), ("model", "str")):
        with pytest.raises(InputError, match=f"got {words}; fit it first"):
            plot_history(wrong)


def test_pictures_are_drawn_on_the_axes_given_and_leave_the_program_its_style(model):
    from matplotlib.figure import Figure

    before = dict(matplotlib.rcParams)
    figure = Figure(layout="constrained")
    axes = figure.subplots(1, 3)
    assert plot_history(model, axis=axes[0]) is axes[0]
    assert plot_heatmap(model, ["income", "debt"], axis=axes[1]) is axes[1]
    assert plot_certificate(model, axis=axes[2]) is axes[2]
    panels = plot_shapes(model, figure=Figure(layout="constrained"))
    assert len(panels) == 5
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_the_error_is_the_line_that_installs_it():
    code = "import sys; sys.modules['matplotlib'] = None\nfrom monolip.report import plot_history\nplot_history(None)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert 'pip install ".[plot]"' in run.stderr.splitlines()[-1]
