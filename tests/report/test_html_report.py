"""The page says what is proved and measured, on which rows, and lets no string become markup."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from monolip import MonotonicClassifier, MonotonicRegressor
from monolip.certify import Certificate
from monolip.errors import InputError
from monolip.estimators.calibration import measure_calibration
from monolip.report import write_report
from monolip.report.html_text import MINUS

from ..estimators.tables import QUICK, credit
from ..export.models import estimator, table
from .pages import HOSTILE, KINDS, SAVE, credit_page, hostile_page, island, page


class Reader(HTMLParser):
    """Text by element id, scripts, and whether tags close in order."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self, text):
        super().__init__()
        self.open, self.scripts, self.words, self.tags, self.ids = [], [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] in ("script", "style") else self.words).append(data)

    @property
    def text(self):
        return " ".join("".join(self.words).split())


@pytest.fixture(scope="module")
def credit_text():
    return Reader(credit_page().read_text(encoding="utf-8")).text


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_well_formed_and_asks_nobody_for_anything(kind):
    text = page(kind).read_text(encoding="utf-8")
    reader = Reader(text)
    assert reader.open == []
    assert len(set(reader.ids)) == len(reader.ids)
    urls = [value for _, attrs in reader.tags for name, value in attrs.items() if name in ("href", "src", "action")]
    assert all(url.startswith("#") or url == "data:," for url in urls)
    assert "http:" not in text
    assert "https:" not in text
    certificate = max(reader.scripts, key=len)  # as long as its model needs
    assert len(text) - len(certificate) < 250_000


@pytest.mark.parametrize("make", [credit_page, hostile_page])
def test_only_our_scripts_may_run_by_their_hashes(make):
    text = make().read_text(encoding="utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    code = re.findall(r"<script>(.*?)</script>|<style>(.*?)</style>", text, flags=re.S)
    assert len(code) == 4
    for parts in code:
        digest = base64.b64encode(hashlib.sha256("".join(parts).encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_the_certificate_in_the_page_is_the_model_s_and_the_checker_proves_it():
    found = Certificate.from_json(json.dumps(island(page("logit"), "certificate")))
    assert found == estimator("logit").certificate_
    assert found.check().startswith("PROVED")


def test_the_checker_is_run_and_quoted(tmp_path):
    text = write_report(estimator("logit"), tmp_path / "r.html").read_text(encoding="utf-8")
    assert "PROVED, when this report was written" in text
    assert "not run when this report was written" in page("logit").read_text(encoding="utf-8")


def test_promises_are_sentences_and_slopes_are_those_of_the_certificate(credit_text):
    for words in (
        "Raising income never lowers P(y = good).",
        "Raising debt never raises P(y = good).",
        "Raising grade never lowers P(y = good).",
        "income (€)",
        "python -I monolip_check.py certificate.json",
    ):
        assert words in credit_text
    assert "Raising age" not in credit_text


def test_what_is_not_known_is_not_said():
    text = Reader(page("logit").read_text(encoding="utf-8")).text
    assert "No rows with answers were given, so nothing is said about accuracy." in text
    assert "rows not learned from" not in text
    assert "How it treats groups" not in text


def test_rows_nobody_vouches_for_are_cross_validated(credit_text):
    assert "The model may have learned from these rows: where the curve begins is no measure" in credit_text
    words = (
        "by 2-fold cross-validation on the 260 rows given: every model fitted again without the rows it is asked about"
    )
    assert words in credit_text
    assert "held out from fitting" not in credit_text
    for name in ("this model", "unconstrained", "boosted trees ("):
        assert name in credit_text
    assert "Against the same network without them, the promises " in credit_text
    assert "Against boosted trees (" in credit_text
    assert "of log-loss per row" in credit_text


def test_held_out_rows_measure_the_model_itself_and_training_rows_serve_the_baselines(tmp_path):
    X, y = credit(200)
    label = np.where(y > 10, "good", "bad")
    model = MonotonicClassifier(monotonic_cst={"income": {"good": 1}}, **QUICK).fit(X[:120], label[:120])
    held = {"X": X[120:], "y": label[120:], "train": (X[:121], label[:121]), **SAVE}
    text = Reader(write_report(model, tmp_path / "r.html", **held).read_text(encoding="utf-8")).text
    words = "on 80 rows that the writer of this report held out from fitting (sample weights and offsets are not used"
    assert f"{words}; 1 of them have the same features as a training row)" in text
    assert "the others were fitted on the 121 training rows" not in text.split("What it learned")[1]
    found = measure_calibration(model.predict_proba(X[120:]), (label[120:] == "good").astype(int))
    assert f"{found.brier:.4g}" in text
    assert "cross-validation" not in text
    assert "may have learned from these rows" not in text
    alone = {"X": X[120:], "y": label[120:], "held_out": True, "baselines": (), **SAVE}
    text = Reader(write_report(model, tmp_path / "r.html", **alone).read_text(encoding="utf-8")).text
    assert f"{words})." in text
    assert "without them, the promises" not in text
    both = {"X": X[120:], "y": label[120:], "held_out": True, "baselines": "unconstrained", **SAVE}
    text = Reader(write_report(model, tmp_path / "r.html", **both).read_text(encoding="utf-8")).text
    assert "Beside other models, measured by 2-fold cross-validation on the 80 rows given" in text


def test_a_network_alone_says_that_it_does_not_know_what_it_was_fitted_on(tmp_path):
    X, y = credit(60)
    frozen = MonotonicRegressor(**QUICK).fit(X, y).frozen_
    text = Reader(write_report(frozen, tmp_path / "r.html", X=X, y=y, **SAVE).read_text(encoding="utf-8")).text
    assert "Only the network was passed: whether the model was fitted on them is not known here" in text
    assert "rows not learned from" not in text
    said = write_report(frozen, tmp_path / "r.html", X=X, y=y, held_out=True, **SAVE).read_text(encoding="utf-8")
    assert "held out from fitting" in said
    few = write_report(MonotonicRegressor(**QUICK).fit(X, y), tmp_path / "r.html", X=X[:9], y=y[:9], **SAVE)
    assert "They are too few to hold some out" in few.read_text(encoding="utf-8")
    assert "If every numeric feature is off by up to r standard deviations at the same time" in text


def test_groups_are_measured_by_a_column_that_is_no_feature(tmp_path, credit_text):
    assert "Metrics by region" in credit_text
    X, y = credit(90)
    model = MonotonicRegressor(**QUICK).fit(X, y)
    wide = X.assign(team=np.where(y > 10, "red", "blue"))
    text = Reader(
        write_report(model, tmp_path / "r.html", X=wide, y=y, groups="team", baselines=(), **SAVE).read_text(
            encoding="utf-8"
        )
    ).text
    assert "By team" in text
    assert "mean observed" in text
    with pytest.raises(InputError, match="groups by name are columns of X; got 'tribe'; X has"):
        write_report(model, tmp_path / "r.html", X=wide, y=y, groups="tribe")
    with pytest.raises(InputError, match="groups have one entry per row of X; got 3 in 'group' for 90; match them"):
        write_report(model, tmp_path / "r.html", X=X, y=y, groups=[1, 2, 3])
    with pytest.raises(InputError, match="groups belong to rows; got groups without X"):
        write_report(model, tmp_path / "r.html", groups=[1, 2, 3])


def test_many_groups_are_bounded_and_small_ones_named(tmp_path):
    X, y = credit(100)
    model = MonotonicRegressor(**QUICK).fit(X, y)
    text = Reader(
        write_report(model, tmp_path / "r.html", X=X, y=y, groups=np.arange(100) % 50, baselines=(), **SAVE).read_text(
            encoding="utf-8"
        )
    ).text
    assert "30 smaller groups with 60 of 100 rows are left out" in text
    assert text.index("'group' has 50 different values in 100 rows: most rows") < text.index("Metrics by group")
    assert "hardly more than an anecdote" in text


def test_a_group_of_one_class_has_no_rate_of_the_other(tmp_path):
    X, y = credit(80)
    label = y > 10
    model = MonotonicClassifier(**QUICK).fit(X, label)
    given = {"X": X, "y": label, "groups": {"own": label}, "baselines": (), **SAVE}
    text = Reader(write_report(model, tmp_path / "r.html", **given).read_text(encoding="utf-8")).text
    assert "nan" not in text.split("Metrics by own")[1].split("Written by")[0]
    assert "\u2013" in text.split("Metrics by own")[1]


def test_no_string_of_the_user_s_becomes_markup():
    reader = Reader(hostile_page().read_text(encoding="utf-8"))
    names = {name for name, _ in reader.tags}
    assert not names & {"img", "i", "b", "iframe", "object"}
    assert [attrs for name, attrs in reader.tags if name == "script" and attrs.get("type") != "application/json"] == [
        {}
    ] * 3
    assert not [name for _, attrs in reader.tags for name in attrs if name.startswith("on")]
    assert HOSTILE[0] in reader.text
    assert "\u202e" not in reader.text
    assert "\x00" not in reader.text
    features = island(hostile_page(), "page-data")["features"]
    assert [feature["name"] for feature in features][:3] == HOSTILE[:3]


def test_no_row_of_the_user_s_is_in_the_page():
    X, _ = credit(260)
    data = island(credit_page(), "page-data")
    rows = [*data["scorer"]["checks"]["rows"], [feature["start"] for feature in data["features"]]]
    pairs = set(zip(X["income"], X["debt"], strict=True))
    assert not pairs & {(row[0], row[1]) for row in rows}
    text = credit_page().read_text(encoding="utf-8").split('<script type="application/json"')[0]
    assert not [value for value in X["income"] if repr(float(value)) in text]


def test_the_same_model_and_rows_give_the_same_file(tmp_path):
    X, y = credit(60)
    model = MonotonicRegressor(**QUICK).fit(X, y)
    pages = [write_report(model, tmp_path / f"{k}.html", X=X, y=y, **SAVE).read_bytes() for k in range(2)]
    assert pages[0] == pages[1]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.html", "1.html"]


def test_long_names_and_many_features_stay_bounded(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 40)), columns=[f"{k}_" + "n" * 500 for k in range(40)])
    model = MonotonicRegressor(max_iter=1, n_estimators=1, n_bins=0, random_state=0).fit(X, X.iloc[:, 0])
    text = write_report(model, tmp_path / "r.html", X=X, **SAVE).read_text(encoding="utf-8")
    assert text.count('aria-label="Response curve of') == 24
    assert "The 16 features that matter least are not drawn." in text
    body = text.split('<script type="application/json"')[0]
    assert "n" * 121 not in body


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"y": [1.0]}, "y belongs to rows; got y without X"),
        ({"X": 0, "y": [1.0]}, "y has one entry per row of X; got shape"),
        ({"baselines": ("forest",), "X": 0, "y": 0}, "baselines are some of unconstrained, boosted; got 'forest'"),
        ({"units": {"wealth": "€"}}, "units are given by feature; got"),
        ({"folds": 1}, "folds are at least 2"),
        ({"train": 3, "X": 0, "y": 0}, "train is a pair of tables"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(wrong, words, tmp_path):
    X = table()[["a", "b", "g"]]
    given = {
        name: X if name == "X" and value == 0 else np.ones(len(X)) if isinstance(value, int) and name == "y" else value
        for name, value in wrong.items()
    }
    with pytest.raises(InputError, match=words):
        write_report(estimator("numbers"), tmp_path / "r.html", **given)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_reported_is_refused(tmp_path):
    with pytest.raises(InputError, match="with raw columns and a link; got str; pass one"):
        write_report("model", tmp_path / "r.html")
    with pytest.raises(InputError, match="labels are among the classes of the model"):
        write_report(estimator("logit"), tmp_path / "r.html", X=table()[["a", "b", "g"]], y=["maybe"] * 300)


@pytest.mark.parametrize("kind", ["log", "softmax"])
def test_other_links_are_measured_in_their_own_loss(kind, tmp_path):
    X = table()[["a", "b", "g"]]
    y = np.arange(300) % 3
    given = {"X": X, "y": y, "baselines": "boosted", **SAVE}
    text = Reader(write_report(estimator(kind), tmp_path / "r.html", **given).read_text(encoding="utf-8")).text
    assert {"log": "Poisson deviance", "softmax": "predicted 2"}[kind] in text


@pytest.mark.parametrize("rows", [150, 2])
def test_odd_columns_and_few_rows_are_reported_on(rows, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"constant": np.ones(150), "flag": rng.random(150) > 0.5, "empty": np.full(150, np.nan)}
    X = pd.DataFrame({**columns, "huge": rng.normal(size=150) * 1e12, "tiny": rng.normal(size=150) * 1e-9})
    X = X.assign(one="a", many=[None if k % 9 == 0 else f"c{k}" for k in rng.integers(0, 120, 150)])
    y = X["huge"] / 1e12 + X["flag"] > 0
    model = MonotonicClassifier(monotonic_cst={"huge": 1}, **QUICK).fit(X, y)
    given = {"X": X[:rows], "y": y[:rows], "groups": ["a"] * rows, "held_out": rows == 2, **SAVE}
    reader = Reader(write_report(model, tmp_path / "r.html", **given).read_text(encoding="utf-8"))
    drawn = [value for tag, attrs in reader.tags if tag in ("path", "circle") for value in attrs.values() if value]
    assert not [value for value in drawn if "nan" in value or "inf" in value]


@pytest.mark.parametrize("library", ["polars", "pyarrow", "numpy"])
def test_any_table_is_reported_on(library, tmp_path):
    rng = np.random.default_rng(0)
    columns = {"a": rng.normal(size=80), "b": rng.normal(size=80)}
    y = columns["a"] + columns["b"] > 0
    make = {
        "polars": lambda: pytest.importorskip("polars").DataFrame(columns),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(columns),
        "numpy": lambda: np.stack(list(columns.values()), axis=1),
    }
    X = make[library]()
    model = MonotonicClassifier(monotonic_cst=[1, 0], **QUICK).fit(X, y)
    text = write_report(model, tmp_path / "r.html", X=X, y=y, groups=rng.integers(0, 2, 80), **SAVE).read_text("utf-8")
    assert "Certified accuracy" in text
    assert "Metrics by group" in text


def three_logits(shift):
    """Three classes; logits of slopes -1, 0 and 1 in x, all shifted alike: P(c) rises in exact numbers."""
    from monolip import ConvexForm, FrozenNetwork, SlopeBounds
    from monolip.frozen import Trunk
    from monolip.input_columns import NumericColumn
    from monolip.input_transform import InputTransform
    from monolip.output_link import OutputLink
    from monolip.piecewise_linear import PiecewiseLinear

    slopes = np.array([-1.0, 0.0, 1.0]) + shift
    trunks = tuple(Trunk(ConvexForm(([[slope]],), ([0.0],), ()), (k,)) for k, slope in enumerate(slopes))
    column = NumericColumn("x", (PiecewiseLinear([0.0, 1.0], [0.0, 1.0]),), seen=(0.0, 0.5, 1.0))
    bounds = SlopeBounds(slopes[None, :], slopes[None, :])
    link = OutputLink("softmax", ("a", "b", "c"))
    return FrozenNetwork(bounds, (trunks,), inputs=InputTransform((column,)), link=link)


def test_bits_are_claimed_of_probabilities_only_where_signs_prove_them(tmp_path):
    told = {}
    for shift in (0.0, 3.0):
        page = write_report(three_logits(shift), tmp_path / "r.html", check=False).read_text(encoding="utf-8")
        assert "Raising x never lowers P(y = c)." in page
        told[shift] = "hold bit for bit" in page, "follow them up to rounding" in page
    assert told == {0.0: (True, False), 3.0: (False, True)}


def test_the_whole_page_is_about_the_class_that_was_named(tmp_path):
    """Accuracy and groups too: every share, rate and curve of one page is of one class."""
    X, y = credit(200)
    labels = np.where(y > 10, "ok", "bad")
    model = MonotonicClassifier(monotonic_cst={"debt": {"bad": 1}}, **QUICK).fit(X, labels)
    given = {"X": X, "y": labels, "groups": np.arange(200) % 2, "held_out": True, "baselines": (), **SAVE}
    page = write_report(model, tmp_path / "r.html", **given).read_text(encoding="utf-8")
    for words in (
        "mean predicted P(y = bad)",
        "ROC curve of bad",
        "Precision and recall of bad",
        "average precision of bad",
    ):
        assert words in page
    for words in ("share bad", "mean P(y = bad)", "decided bad"):
        assert f">{words}</th>" in page
    assert not re.search(
        r"(share|decided|curve of|recall of|precision of|log-odds of) ok|P\(y = ok\)", Reader(page).text
    )
    lines = re.findall(r"<tr>(.*?)</tr>", page.partition("Metrics by group")[2].partition("</table>")[0], re.S)
    head, one, _ = ([re.sub(r"<.*?>", "", c) for c in re.findall(r"<t[hd].*?</t[hd]>", line)] for line in lines)
    told = dict(zip(head, one, strict=True))
    inside = np.arange(200) % 2 == int(told["group"])
    bad, p = (labels == "bad")[inside], model.predict_proba(X)[inside, 0]
    assert float(told["share bad"]) == pytest.approx(bad.mean(), abs=1e-3)
    assert float(told["mean P(y = bad)"]) == pytest.approx(p.mean(), abs=1e-3)
    assert float(told["decided bad"]) == pytest.approx((p >= 0.5).mean(), abs=1e-3)
    assert float(told["false positive rate"]) == pytest.approx((p >= 0.5)[~bad].mean(), abs=1e-3)
    assert float(told["false negative rate"]) == pytest.approx((p < 0.5)[bad].mean(), abs=1e-3)


def test_the_table_tells_what_was_promised_from_what_is_certified(tmp_path):
    """And of two classes it is about the one that was named, words and slopes alike."""
    X, y = credit(260)
    cst = {"income": {"bad": -1}, "debt": {"bad": 1}}
    model = MonotonicClassifier(monotonic_cst=cst, max_slope={"age": 0.05}, **QUICK).fit(
        X, np.where(y > 10, "ok", "bad")
    )
    page = write_report(model, tmp_path / "r.html", check=False).read_text(encoding="utf-8")
    head, *rows = re.findall(r"<tr>(.*?)</tr>", page.partition("What was promised and what is certified")[2], re.S)[:6]
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in (head, *rows)]
    assert cells[0][1:3] == ["promised of P(y = bad)", "certified of P(y = bad)"]
    assert cells[0][3].startswith("certified slope of log-odds of P(y = bad)")
    assert cells[0][-1] == "missing values"
    words = {row[0]: row[1:3] for row in cells[1:]}
    assert words["income"] == ["decreasing", "↓\N{NO-BREAK SPACE}decreasing"]
    assert words["debt"] == ["increasing", "↑\N{NO-BREAK SPACE}increasing"]
    assert words["age"] == [f"bounded, {MINUS}0.05 to 0.05", "bounded"]
    assert words["city"] == ["free (category)", "free"]
    assert "Curves show log-odds of P(y = bad) along one feature" in page
    assert {"↓ income, decreasing", "↑ debt, increasing"} <= set(re.findall(r"<figcaption>(.*?)</figcaption>", page))
    slopes = {row[0]: row[3] for row in cells[1:]}
    assert slopes["income"].endswith(" to 0")
    assert slopes["debt"].startswith("0 to ")
