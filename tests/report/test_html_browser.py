"""The page in a real Chromium: Python's bits, no request to any network, readable by anybody."""

from __future__ import annotations

import re
import shutil
from io import BytesIO

import numpy as np
import pytest

from monolip import MonotonicClassifier
from monolip.certify import Certificate
from monolip.report import write_report
from monolip.report.html_text import MINUS
from monolip.rounding import digits_down, digits_up

from ..estimators.tables import QUICK, credit
from ..export.models import estimator
from .drawn import network
from .pages import KINDS, TABLES, answers, credit_page, hostile_page, page

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH")]
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"]


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """visit(path, width=, scheme=) opens a page; afterwards: no message, no dialog, and no request but the file."""
    opened, heard = [], []

    def go(path, width=1200, scheme="light"):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        tab = context.new_page()
        tab.on("console", lambda message: heard.append(message.text))
        tab.on("pageerror", lambda error: heard.append(str(error)))
        tab.on("dialog", lambda dialog: heard.append(dialog.message))
        asked = []
        tab.on("request", lambda request: asked.append(request.url))
        tab.goto(path.as_uri())
        opened.append((context, path, asked))
        return tab

    yield go
    for context, path, asked in opened:
        context.close()
        assert {url for url in asked if not url.startswith(("data:", "blob:"))} == {path.as_uri()}
    assert heard == []


@pytest.mark.parametrize("kind", [*KINDS, *TABLES])
def test_scores_of_the_page_are_those_of_python_bit_for_bit(visit, kind):
    rows, f, predictions = answers(kind, 60, seed=1)
    tab = visit(page(kind))
    assert tab.inner_text("#bits") == "48 of 48"
    found = tab.evaluate("rows => rows.map(row => monolip.ask(row)).map(({f, predictions}) => [f, predictions])", rows)
    np.testing.assert_array_equal([one[0] for one in found], f)
    np.testing.assert_array_equal([one[1] for one in found], predictions)


def credit_model():
    X, y = credit(260)
    settings = {"monotonic_cst": {"income": 1, "debt": -1, "grade": 1}, **QUICK}
    return MonotonicClassifier(**settings).fit(X, np.where(y > 10, "good", "bad")), X


def test_typed_values_and_sliders_give_the_probabilities_of_predict_proba(visit):
    model, X = credit_model()
    tab = visit(credit_page())
    rng = np.random.default_rng(2)
    for k in rng.integers(0, len(X), 6).tolist():
        row = X.iloc[[k]]
        for j, name in enumerate(("income", "debt", "age")):
            value = float(row[name].iloc[0])
            if tab.locator(f"#missing-{j}").count():
                tab.set_checked(f"#missing-{j}", bool(np.isnan(value)))
            if not np.isnan(value):
                tab.fill(f"#value-{j}", repr(value))
        tab.select_option("#value-3", label=str(row["grade"].iloc[0]))
        tab.select_option("#value-4", label=str(row["city"].iloc[0]))
        first, second = tab.text_content("#exact").split("\n")
        assert float(first.split()[-1]) == model.decision_function(row)[0]
        assert [float(v) for v in second.split()[2:]] == model.predict_proba(row)[0].tolist()
    before = float(tab.text_content("#exact").split()[-1])
    tab.focus("#slider-0")
    for _ in range(8):
        tab.keyboard.press("ArrowRight")
        shown = X.iloc[[k]].assign(income=float(tab.input_value("#value-0")))
        after = float(tab.text_content("#exact").split()[-1])
        assert after == model.predict_proba(shown)[0, 1]
        assert after >= before  # raising income cannot lower it
        before = after


def test_a_flip_flips_and_no_smaller_change_of_a_promised_feature_does(visit):
    tab = visit(credit_page())
    tab.wait_for_selector("#flips li button")
    before = tab.inner_text("#decision")
    first = tab.evaluate("monolip.row()")
    item = tab.locator("#flips li", has_text="proved: ").first
    name, told = item.inner_text().split(":")[0], item.locator(".badge").inner_text()
    item.locator("button").click()
    assert tab.inner_text("#decision") != before
    j = ["income", "debt", "age"].index(name)
    there = tab.evaluate("monolip.row()")
    assert [a == b for a, b in zip(first, there, strict=True)].count(False) == 1
    safe = float(told.rsplit(" ", 1)[1].replace(",", ""))
    assert (safe - first[j]) / (there[j] - first[j]) > 0.95
    nearer = [[*first[:j], v, *first[j + 1 :]] for v in np.linspace(first[j], safe, 200).tolist()]
    assert len(set(tab.evaluate("rows => rows.map(row => monolip.ask(row).decision)", nearer))) == 1
    tab.click("#reset")
    assert tab.inner_text("#decision") == before
    tab.fill("#threshold", "0.999999")
    assert tab.inner_text("#decision") == "Decision: bad"


@pytest.mark.parametrize("kind", ["logit", "softmax"])
def test_within_the_proved_radius_no_decision_flips(visit, kind):
    tab = visit(page(kind))
    tab.wait_for_selector("#flips li")
    spreads = tab.evaluate("JSON.parse(document.getElementById('page-data').textContent).features.map(f => f.spread)")
    rng = np.random.default_rng(4)
    for _ in range(10):
        tab.click("#random")
        row, radius = tab.evaluate("[monolip.row(), monolip.radius(monolip.ask(monolip.row()))]")
        assert 0 <= radius < np.inf
        moves = rng.choice([-1.0, 1.0], (60, len(row))) * radius * np.array(spreads)
        moved = [row, *(np.array(row) + moves).tolist()]
        assert len(set(tab.evaluate("rows => rows.map(row => monolip.ask(row).decision)", moved))) == 1


def test_printed_bounds_of_the_page_stay_bounds(visit):
    rng = np.random.default_rng(6)
    values = np.concatenate([rng.normal(size=300) * 10.0 ** rng.integers(-12, 14, 300), 1.7e9 + rng.normal(size=100)])
    values = [*values.tolist(), 0.5, 2.0, 0.1, -3.0, 0.0, 999.9999999999999, 1e300]
    tab = visit(page("logit"))
    for digits in (2, 4, 12, 15):
        script = "([vs, d]) => vs.map(v => [monolip.outward(v, d, -1), monolip.outward(v, d, 1)])"
        found = tab.evaluate(script, [values, digits])
        assert found == [[digits_down(v, digits), digits_up(v, digits)] for v in values]
    texts = tab.evaluate("vs => vs.map(monolip.exact)", values)
    assert [float(text.replace(",", "").replace(MINUS, "-")) for text in texts] == values


def shown_radius(tab) -> float | None:
    tab.wait_for_timeout(160)
    found = re.search(r"within ([\d.,e-]+) standard deviations", tab.inner_text("#radius"))
    return found and float(found[1].replace(",", ""))


def test_the_radius_in_words_is_not_above_the_proved_one(visit):
    tab = visit(page("logit"))
    found = []
    for _ in range(8):
        tab.click("#random")
        told, proved = shown_radius(tab), tab.evaluate("monolip.radius(monolip.ask(monolip.row()))")
        assert told is None or proved * 0.9 <= told <= proved
        found.append(told)
    assert any(found)


def test_what_is_proved_at_a_large_offset_is_not_rounded_past(visit, tmp_path):
    rng = np.random.default_rng(0)
    X = 1.7e9 + rng.normal(size=(300, 1))
    label = X[:, 0] + 0.3 * rng.normal(size=300) > 1.7e9
    path = write_report(MonotonicClassifier(monotonic_cst=[1], **QUICK).fit(X, label), tmp_path / "r.html", check=False)
    tab, seen = visit(path), 0
    for start in (1.7e9 + rng.normal(size=12)).tolist():
        tab.fill("#value-0", repr(start))
        tab.wait_for_timeout(160)
        if not tab.locator("#flips .badge").count():
            continue
        told = tab.locator("#flips .badge").first.inner_text().rsplit(" ", 1)[1]
        safe, script = float(told.replace(",", "")), "rows => rows.map(row => monolip.ask(row).decision)"
        decisions = tab.evaluate(script, [[start], [safe], [(start + safe) / 2]])
        assert len(set(decisions)) == 1
        tab.locator("#flips button").first.click()
        assert (safe - start) / (tab.evaluate("monolip.row()")[0] - start) > 0.5
        seen += 1
    assert seen > 3


def test_nothing_is_proved_of_numbers_that_are_missing(visit, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    X[::4] = np.nan
    label = np.nan_to_num(X[:, 0]) > 0.2
    tab = visit(
        write_report(MonotonicClassifier(monotonic_cst=[1], **QUICK).fit(X, label), tmp_path / "r.html", check=False)
    )
    tab.set_checked("#missing-0", True)
    tab.wait_for_timeout(160)
    assert "Proved" not in tab.inner_text("#radius")
    before = tab.inner_text("#decision")
    tab.set_checked("#missing-0", False)
    tab.fill("#value-0", "3")
    assert tab.inner_text("#decision") != before


def test_missing_is_asked_only_where_it_means_something(visit, tmp_path):
    X, y = credit(260)
    X = X.assign(age=X["age"].fillna(40.0), city=X["city"].fillna("A"))
    model = MonotonicClassifier(monotonic_cst={"income": 1}, missing={"debt": "state", "income": "lowest"}, **QUICK)
    X.loc[X.index[::7], "debt"] = np.nan
    tab = visit(write_report(model.fit(X, y > 10), tmp_path / "r.html", check=False))
    boxes = [tab.locator(f"#missing-{j}").count() for j in range(3)]
    assert boxes == [1, 1, 0]  # a rule was asked for; values were missing; neither
    assert "missing" not in tab.locator("#value-4 option").all_inner_texts()
    before = tab.text_content("#exact")
    tab.fill("#value-2", "")  # emptied on the way to another number
    assert tab.text_content("#exact") == before


def test_a_table_wider_than_the_screen_says_so(visit):
    tab = visit(credit_page(), width=500)
    box = tab.locator("#promises .scroll").first
    assert box.evaluate("b => b.className") == "scroll wide"
    assert "scroll sideways" in box.evaluate("b => getComputedStyle(b.querySelector('caption'), '::after').content")
    gap = "b => b.querySelector('thead th').getBoundingClientRect().height"
    assert box.evaluate(gap) < 110  # no head of a column is squeezed into a tower
    box.evaluate("b => { b.scrollLeft = b.scrollWidth; }")
    tab.wait_for_timeout(100)
    assert "end" in box.evaluate("b => b.className")
    wide = visit(credit_page(), width=1400)
    assert wide.locator(".scroll.wide").count() == 0


def test_the_certificate_can_be_saved_from_the_page_and_is_proved(visit):
    tab = visit(page("logit"))
    with tab.expect_download() as download:
        tab.click("#save-certificate")
    saved = Certificate.load(download.value.path())
    assert saved == estimator("logit").certificate_
    assert saved.check().startswith("PROVED")


def test_a_network_without_a_rule_for_missing_values_goes_on_when_a_field_is_emptied(visit, tmp_path):
    tab = visit(write_report(network(), tmp_path / "r.html", check=False))
    assert tab.locator("#missing-0").count() == 0
    before = tab.text_content("#exact")
    tab.fill("#value-0", "")
    assert tab.text_content("#exact") == before
    tab.fill("#value-0", "9.5")
    f = network().evaluate_raw([[9.5], [0.5], [45.0], ["north"]])[0, 0]
    assert float(tab.text_content("#exact").split()[2]) == f
    tab.fill("#value-2", "")
    f = network().evaluate_raw([[9.5], [0.5], [np.nan], ["north"]])[0, 0]
    assert float(tab.text_content("#exact").split()[2]) == f


def test_strings_of_users_stay_strings(visit):
    tab = visit(hostile_page())
    assert tab.inner_text("#bits") == "48 of 48"
    assert tab.evaluate("document.querySelectorAll('main script, main img, main iframe').length") == 0
    assert "<script>alert(8)</script>" in tab.inner_text("h1")
    tab.click("#random")
    tab.wait_for_timeout(200)


CONTRAST = """() => {
  const light = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const level = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const parts = (text) => text.match(/[0-9.]+/g).map(Number);
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const back = parts(getComputedStyle(node).backgroundColor);
      if (back.length < 4 || back[3] === 1) return back;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || ["SCRIPT", "STYLE", "NOSCRIPT"].includes(node.tagName) || !node.getClientRects().length) continue;
    const style = getComputedStyle(node), ink = parts(node instanceof SVGElement ? style.fill : style.color);
    const a = level(ink), b = level(behind(node.closest("svg") || node));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push([node.tagName, node.textContent.slice(0, 30), ratio]);
  }
  return poor;
}"""
NAMELESS = """() => [...document.querySelectorAll("input, select, button, svg[role=img], output")].filter((node) =>
  !(node.labels && node.labels.length) && !node.getAttribute("aria-label") && !node.textContent.trim())
  .map((node) => node.id)"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_has_contrast_and_every_control_a_name(visit, scheme):
    tab = visit(credit_page(), scheme=scheme)
    tab.wait_for_selector("#flips li button")
    assert tab.evaluate(CONTRAST) == []
    assert tab.evaluate(NAMELESS) == []


def brightness(tab) -> float:
    from matplotlib.image import imread

    return float(imread(BytesIO(tab.screenshot()), format="png")[:, :, :3].mean())


def test_light_dark_and_narrow(visit, tmp_path):
    assert brightness(visit(credit_page())) > 0.85
    tab = visit(credit_page(), scheme="dark")
    assert brightness(tab) < 0.25
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    tab.focus("#theme")
    tab.keyboard.press("Enter")
    assert brightness(tab) > 0.85
    assert tab.get_attribute("#theme", "aria-label") == "Switch to dark colours"
    tab.reload()
    assert brightness(tab) > 0.85  # the choice is kept
    narrow = visit(credit_page(), width=360)
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 360
    narrow.screenshot(path=tmp_path / "narrow.png", full_page=True)
    sizes = narrow.evaluate(
        "[...document.querySelectorAll('figure svg.chart')].map(n => n.getBoundingClientRect().width)"
    )
    assert all(200 < width <= 360 for width in sizes)


def test_the_panel_speaks_of_the_class_that_directions_named(visit, tmp_path):
    X, y = credit(260)
    label = np.where(y > 10, "good", "bad")
    model = MonotonicClassifier(monotonic_cst={"income": {"bad": -1}, "debt": {"bad": 1}}, **QUICK).fit(X, label)
    tab = visit(write_report(model, tmp_path / "r.html", check=False))
    assert tab.inner_text("#answer-name") == "P(y = bad)"
    assert "P(y = bad) cannot fall if you raise this." in tab.inner_text("#hint-1")
    assert "Raising debt never lowers P(y = bad)." in tab.inner_text("#promises")
    values = [float(v) for v in tab.text_content("#exact").split("prediction = ")[1].split()]
    assert float(tab.inner_text("#answer")) == pytest.approx(values[0], abs=5e-5)
    for threshold in (0.5, 0.01, 0.99):
        tab.fill("#threshold", str(threshold))
        told = tab.inner_text("#decision")
        assert told == f"Decision: {'bad' if values[0] > threshold else 'good'}"


def test_a_probability_below_one_is_not_shown_as_certain(visit, tmp_path):
    x = np.linspace(-1, 1, 1000)[:, None]
    model = MonotonicClassifier(monotonic_cst=[1], max_slope=12.0, random_state=0).fit(x, x[:, 0] > 0)
    tab = visit(write_report(model, tmp_path / "r.html", check=False))
    told = {}
    for value in (-1.0, 1.0):
        tab.fill("#value-0", str(value))
        told[value] = tab.inner_text("#answer")
        probability = float(tab.text_content("#exact").split("prediction = ")[1].split()[0])
        assert 0 < min(probability, 1 - probability) < 5e-5
    assert sorted(told.values()) == ["< 0.0001", "> 0.9999"]
