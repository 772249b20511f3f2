"""Escaping is the default, numbers read well, and charts cut what does not fit."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monolip.report.html_chart import Chart, legend, nice_ticks
from monolip.report.html_text import Html, data_island, join, plain, short, table, tag


@given(st.text(max_size=60))
def test_any_text_in_a_tag_comes_back_as_text(text):
    element = ElementTree.fromstring(tag("p", text, title=text))
    shown = plain(text).replace("\r\n", "\n").replace("\r", "\n")
    assert (element.text or "") == shown
    assert element.get("title") == " ".join(shown.split(" ")).replace("\n", " ").replace("\t", " ")
    assert len(element) == 0


@given(st.recursive(st.text(max_size=20) | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=4)))
def test_a_data_island_holds_any_value_and_no_markup(value):
    text = data_island("d", value)
    inner = text.removeprefix('<script type="application/json" id="d">').removesuffix("</script>")
    assert not set("<>&") & set(inner)
    assert json.loads(inner) == value


def test_markup_passes_only_where_it_was_made():
    assert tag("p", "<b>") == "<p>&lt;b&gt;</p>"
    assert tag("p", tag("b", "x")) == "<p><b>x</b></p>"
    assert isinstance(join(["<", Html("<br>")]), Html)
    assert join(["<", Html("<br>")]) == "&lt;<br>"
    assert tag("input", type="range", disabled=True, title=None) == '<input type="range" disabled>'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (1.0, "1"), (0.5, "0.5"), (1234.5678, "1,235"), (12.3456, "12.35"),
        (-1e-5, "\u22121e-5"),
        (1e12, "1e12"), (None, "\u2013"), (float("nan"), "\u2013"),
        (-np.inf, "\u2212∞"), (99999.6, "100,000"), (0.0012345, "0.001234"),
    ],
)  # fmt: skip
def test_numbers_read_as_people_write_them(value, text):
    assert short(value) == text


def test_a_table_heads_its_columns_and_rows():
    found = ElementTree.fromstring(table(["a", "b"], [["x", "1"]], "numbers"))
    heads = [(cell.text, cell.get("scope")) for cell in found.iter("th")]
    assert heads == [("a", "col"), ("b", "col"), ("x", "row")]
    assert found.find("table/caption").text == "numbers"


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e6))
def test_ticks_are_round_and_inside(low, relative):
    width = relative * max(1.0, abs(low))
    ticks = nice_ticks(low, low + width)
    assert 1 <= len(ticks) <= 12
    assert all(low - 1e-6 * width <= tick <= low + width + 1e-6 * width for tick in ticks)


def test_a_chart_is_a_picture_with_a_description_and_empty_ranges_are_opened():
    chart = Chart("a line <falling>", (1.0, 1.0), (0.0, 0.0), x_label="x" * 99, y_label="y")
    chart.line([1.0, 1.0], [0.0, 1e300], "ours")
    chart.points([1.0], [0.0], "ours")
    chart.area([0.0, 1.0], [0.0, 0.0], [1.0, 1.0], "band")
    chart.bars([0.0], [1.0], [0.0], [1.0], "ours")
    chart.stems([0.0], [0.0], [1.0], "ours")
    found = ElementTree.fromstring(chart.render())
    assert found.get("aria-label") == "a line <falling>"
    assert found.get("role") == "img"
    text = chart.render()
    assert "nan" not in text
    assert "inf" not in text
    assert max(len(t.text or "") for t in found.iter("text")) <= 52
    assert "key ours" in legend(("ours", "a & b"))
