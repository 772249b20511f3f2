"""The page of a model with a forest: what the trees read is free, by name, and no proof on the page speaks of it."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape

import numpy as np
import pandas as pd
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify import Certificate, certify
from monolip.errors import InputError
from monolip.report import html_page, plot_certificate, plot_shapes, write_report
from monolip.report._model import rows_to_draw
from monolip.report._shape import MOST_JUMPS, has_own_missing, shape_of, typical_row
from monolip.report.html_baselines import baselines_of
from monolip.report.html_robustness import spread_of
from monolip.report.html_subject import subject_of
from monolip.report.html_text import DASH

from ..forests import forest_network, raw_rows
from .pages import SAVE, island, network_of, page


def words_of(path) -> str:
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", path.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split())


@pytest.mark.parametrize("kind", ["forest", "forest logit"])
def test_the_page_names_what_trees_read_and_why_it_is_free(kind):
    words = words_of(page(kind))
    assert "Raising dose never lowers " in words
    assert "Beside it stand 12 trees over 2 of them, of which nothing is promised." in words
    assert "Free (trees): sugar, city. 12 trees read these features beside the network." in words
    assert f"sugar free (trees) free {DASH}" in words
    assert f"city free (category, trees) free {DASH}" in words
    assert "What trees read jumps, and has no cone." in words
    hints = page(kind).read_text(encoding="utf-8")
    assert re.search(r'id="hint-1">Free: trees read this, and [^<]* may jump either way\.</p>', hints)
    assert Certificate(island(page(kind), "certificate")).check().startswith("PROVED")
    assert "forest" not in words_of(page("strings"))


def test_the_page_tells_the_direction_that_trees_keep():
    words = words_of(page("directed forest logit"))
    assert "Raising dose never lowers P(y = yes)." in words
    assert "Beside it stand 12 trees over 3 of them, which have a direction at most, and no slope bounds." in words
    assert "Free (trees): sugar, city. 12 trees read dose, sugar, city beside the network." in words
    assert "Every tree keeps the direction of dose, which is certified like any other. Nothing is promised of" in words
    assert f"dose increasing (trees) ↑ increasing {DASH}" in words
    assert f"sugar free (trees) free {DASH}" in words
    assert "dose, increasing (trees)" in words
    assert "sugar, free (trees)" in words
    features = {feature["name"]: feature for feature in island(page("directed forest logit"), "page-data")["features"]}
    assert (features["dose"]["slopes"], features["dose"]["directions"]) == (None, ["increasing"])
    assert "P(y = yes) cannot fall if you raise this." in words
    assert Certificate(island(page("directed forest logit"), "certificate")).check().startswith("PROVED")


def test_pictures_say_which_direction_trees_keep():
    pytest.importorskip("matplotlib")
    network = network_of("directed forest logit")
    titles = {axis.get_xlabel(): axis.get_title() for axis in plot_shapes(network)}
    assert titles["dose"] == "increasing (trees): no slope is certified"
    assert titles["sugar"] == "free (trees): nothing is certified"
    beside = [label.get_text() for label in plot_certificate(network).child_axes[0].get_yticklabels()]
    assert beside[:3] == ["increasing (trees)", "free (trees)", "free (trees)"]


def test_no_bound_of_the_page_moves_what_trees_read():
    """The slope table of the page is what its panel proves radii from: no slopes, no proof."""
    features = {feature["name"]: feature for feature in island(page("forest logit"), "page-data")["features"]}
    assert features["sugar"]["slopes"] is None
    assert features["sugar"]["spread"] > 0  # how far a flip is, the panel still says
    assert all(end is not None for name in ("dose", "acid") for end in features[name]["slopes"][0])
    words = words_of(page("forest"))
    assert "If every numeric feature that no tree reads is off by up to r standard deviations" in words
    assert "and is taken as it is (fit with trees=False for radii): sugar, city." in words


def test_how_far_an_answer_moves_adds_up_the_slopes_that_there_are():
    network = network_of("forest")
    spread = spread_of(subject_of(network, None, None, None, None))
    found = dict(re.findall(r"± ([\d.]+) ± ([\d.,]+)", words_of(page("forest"))))
    steep = {c.feature: max(abs(c.lower), abs(c.upper)) for c in certify(network) if c.lower is not None}
    assert set(steep) == {"dose", "acid"}
    total = sum(spread[name] * size for name, size in steep.items())
    assert total <= float(found["1"].replace(",", "")) <= total * 1.002
    rng = np.random.default_rng(0)
    table = raw_rows(rng, 400)
    moved = {**table, **{name: table[name] + rng.choice([-1, 1], 400) * spread[name] for name in steep}}
    assert np.abs(network.evaluate_raw(moved) - network.evaluate_raw(table)).max() <= total


def rows_with_jumps(n=500):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"dose": rng.uniform(size=n), "day": rng.uniform(size=n)})
    X["city"] = rng.choice(["A", "B"], n)
    y = X["dose"] + np.floor(30 * X["day"]) % 3 + (X["city"] == "A") * (np.floor(7 * X["day"]) % 2)
    return X, y


@pytest.fixture(scope="module")
def classifier():
    X, y = rows_with_jumps()
    model = MonotonicClassifier(monotonic_cst={"dose": {"ill": 1}}, trees="free", random_state=0)
    label = np.where(y > 1.6, "ill", "well")
    model.fit(X, label)
    assert model.tree_features_ == ("day", "city")
    return model, X, label


def test_certified_accuracy_holds_what_trees_read_fixed(classifier, tmp_path):
    model, X, label = classifier
    given = {"X": X, "y": label, "held_out": True, "baselines": ()}
    words = words_of(write_report(model, tmp_path / "r.html", **given, **SAVE))
    assert "Held fixed: day, city. What trees read may jump however little it moves." in words
    assert "Radii could not be computed" not in words
    assert "age, free (trees)" not in words
    assert "day, free (trees)" in words


def test_cross_validation_that_knows_no_groups_says_so(classifier, tmp_path):
    model, X, label = classifier
    words = words_of(write_report(model, tmp_path / "r.html", X=X, y=label, baselines=(), **SAVE))
    assert "Groups named in a fit are not known here: where rows belong together, trees look better than" in words


def test_trees_too_large_for_a_page_are_named_as_the_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(html_page, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="report on a model fitted with trees=False"):
        write_report(network_of("forest"), tmp_path / "r.html", **SAVE)


def test_where_trees_read_every_number_there_is_no_radius(tmp_path):
    X = rows_with_jumps()[0]
    model = MonotonicRegressor(trees="free", max_iter=5, random_state=0).fit(X[["day"]], np.floor(30 * X.day) % 3)
    assert model.tree_features_ == ("day",)
    words = words_of(write_report(model, tmp_path / "r.html", **SAVE))
    assert "No numeric feature can move, so there is no radius to speak of. What trees read may jump" in words
    assert "0 of 1 features with a proved direction" in words


def test_the_unconstrained_rival_may_have_a_forest_too(classifier):
    model, X, label = classifier
    subject = subject_of(model, X, label, None, None)
    (rival,) = baselines_of(subject, ["unconstrained"])
    assert "trees may read every feature" in rival.words
    model = MonotonicClassifier(monotonic_cst={"dose": {"ill": 1}}, max_iter=2).fit(X[["dose", "day"]], label)
    plain = subject_of(model, X[["dose", "day"]], label, None, None)
    assert "forest" not in baselines_of(plain, ["unconstrained"])[0].words


@pytest.mark.parametrize("rows", [False, True])
def test_curves_pass_both_sides_of_every_jump(rows):
    rng = np.random.default_rng(4)
    network = forest_network(rng, n_trees=6)
    table = rows_to_draw(network, network, pd.DataFrame(raw_rows(rng, 8)), 8) if rows else typical_row(network)
    shape = shape_of(network, table, 1, 0)
    numbers = {column.name: column.labels if column.name == "city" else column.values for column in table.columns}
    fine = np.linspace(-2, 2, 20_001)
    for k in range(table.n_rows):
        own = {name: np.repeat(values[k : k + 1], len(fine)) for name, values in numbers.items()}
        f = network.evaluate_raw({**own, "sugar": fine})[:, 0]
        drawn = np.interp(fine, shape.points, shape.curves[k])
        steps = np.flatnonzero(np.abs(np.diff(f)) > 0.01)  # far more than a slope does in 0.0002
        near = np.zeros(len(fine), dtype=bool)
        near[steps], near[steps + 1] = True, True
        assert len(steps) or rows
        assert np.abs(drawn - f)[~near].max() < 0.01


def test_many_jumps_are_bounded_in_number(classifier):
    network = classifier[0].frozen_
    assert len(network.inputs.forest.jumps(0)) > MOST_JUMPS
    shape = shape_of(network, typical_row(network), 1, 0)
    assert MOST_JUMPS < len(shape.points) <= 2 * MOST_JUMPS + 121 + len(network.inputs.pieces_of(1)[0])


def test_pictures_say_free_forest(classifier):
    pytest.importorskip("matplotlib")
    model, X, _ = classifier
    for given in (model, model.frozen_):
        titles = {axis.get_xlabel(): axis.get_title() for axis in plot_shapes(given, X[:20])}
        assert titles["day"] == "free (trees): nothing is certified"
        assert titles["city"] == "category (trees)"
        assert titles["dose"].startswith("certified slope")
        beside = [label.get_text() for label in plot_certificate(given).child_axes[0].get_yticklabels()]
        assert beside[1:] == ["free (trees)", "free (trees)"]


def test_a_missing_label_that_trees_tell_from_an_unseen_one_is_asked_for():
    inputs = forest_network(np.random.default_rng(0)).inputs
    assert [has_own_missing(inputs, j) for j in range(4)] == [False, True, True, False]
    same = replace(inputs.columns[2], table=np.array([[1.0], [0.0], [0.5], [0.2], [0.2]]))
    columns = (*inputs.columns[:2], same, inputs.columns[3])
    assert has_own_missing(replace(inputs, columns=columns), 2)
    assert not has_own_missing(replace(inputs, columns=columns, forest=None), 2)
