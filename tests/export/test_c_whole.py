"""Tables of whole numbers in C: the bits of Python in every lane, beside every entry, and where a table has none."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from monolip.errors import PrecisionError
from monolip.export import c_numeric, c_whole
from monolip.export.c import c_reference, to_c
from monolip.export.c_network import CNetwork, float_layers
from monolip.export.c_turn import turned
from monolip.export.c_whole import WholeTable, code_table, whole_table
from monolip.input_columns import CategoryColumn, NumericColumn
from monolip.piecewise_linear import PiecewiseLinear
from tests.export.c_headers import COMPILERS, STRICT, bits, export, run_self_test
from tests.export.test_c_inputs import network_of

needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler")

NATIVE, PLAIN = ("-O3", "-march=native"), ("-O2",)


def steps(knots, left: float = 0.0, right: float = 0.0) -> PiecewiseLinear:
    values = np.cumsum(np.random.default_rng(len(knots)).uniform(0, 0.4, len(knots)))
    return PiecewiseLinear(np.asarray(knots, dtype=np.float64), values, left, right)


COUNT = NumericColumn("count", (steps([0, 1, 2, 4, 9]),))  # 16 entries, capped, NaN is invalid
AGE = NumericColumn("age", (steps([-12.5, 18, 21, 30, 44, 83.0]),), missing=(0.3,))  # 128 entries
BELOW = NumericColumn("below", (steps([-20, -3, 0, 7], 0.1, 0.1),), missing=(0.2, 1.0), present=0.0)  # goes on
TWO = NumericColumn("two", (steps([1, 2, 3]), steps([2, 5, 40.0])), missing=(0.1, 0.7))  # 64 entries
KIND = CategoryColumn("kind", ("a", "b", "c"), np.random.default_rng(3).uniform(size=(5, 2)))
RISING = NumericColumn("rising", (steps([0, 1, 2, 4, 9], 0.5, 0.5),))  # beyond both ends
COLUMNS = (COUNT, AGE, BELOW, TWO, KIND)


def layers_of() -> CNetwork:
    return float_layers(network_of(COLUMNS), "double", False)


def rows_of(rng: np.random.Generator, n: int) -> np.ndarray:
    """Whole numbers that the tables know, and what lies around them."""
    inside = [rng.integers(0, 12, n), rng.integers(18, 90, n), rng.integers(-20, 8, n), rng.integers(1, 45, n)]
    return np.stack([*inside, rng.integers(0, 5, n)], axis=1).astype(np.float64)


def odd_values(column) -> list[float]:
    knots = np.unique(np.concatenate([phi.knots for phi in column.maps])) if hasattr(column, "maps") else np.arange(6.0)
    around = [k + s for k in knots for s in (0.0, 1.0, -1.0, 0.5)]
    near = [float(np.nextafter(np.float32(k), np.float32(s))) for k in knots for s in (-np.inf, np.inf)]
    near += [float(np.nextafter(k, s)) for k in knots for s in (-np.inf, np.inf)]
    return [*around, *near, -0.0, 1e9, -1e9, 2.0**31, -(2.0**31), 1e300, np.inf, -np.inf, np.nan]


@needs_compiler
@pytest.mark.parametrize("arithmetic", ["float64", "float32", "fixed-point"])
def test_every_entry_and_everything_beside_one_gives_pythons_bits(tmp_path, arithmetic):
    options = {"input_ranges": {"below": (-30.0, 30.0)}} if arithmetic == "fixed-point" else {}
    made = export(network_of(COLUMNS), tmp_path, arithmetic, **options)
    assert "model_whole_0" in made.path.read_text()
    assert "model_whole_4" in made.path.read_text()
    rng = np.random.default_rng(0)
    blocks = [rows_of(rng, 16 * 20)]  # looked up
    for i, column in enumerate(COLUMNS):  # one row of a block is not: all of them go the general way
        for value in odd_values(column):
            blocks.append(rows_of(rng, 16))
            blocks[-1][rng.integers(16), i] = value
    x = np.vstack([*blocks, rows_of(rng, 5)])
    with np.errstate(over="ignore"):
        single = x.astype(np.float32)
    expected = c_reference(made.network, made.layers, x)
    expected_single = c_reference(made.network, made.layers, single.astype(np.float64))
    for compiler in COMPILERS:
        for flags in (NATIVE, PLAIN) if compiler == COMPILERS[0] else (NATIVE,):
            library = made.build(compiler, flags)
            np.testing.assert_array_equal(bits(library.batch(x)), bits(expected))
            np.testing.assert_array_equal(bits(library.score(x)), bits(expected))
            np.testing.assert_array_equal(bits(library.batch_float(single)), bits(expected_single))
            np.testing.assert_array_equal(bits(library.score_float(single)), bits(expected_single))


@needs_compiler
def test_float32_never_falls_between_a_table_and_what_is_computed(tmp_path):
    """Along each rising column through whole numbers, their float32 neighbours and halves: one order for both ways."""
    made = export(network_of(COLUMNS), tmp_path, "float32")
    library = made.build(COMPILERS[0])
    for i in range(4):
        whole = np.arange(-25, 95, dtype=np.float32)
        line = np.unique(np.concatenate([whole, *(np.nextafter(whole, np.float32(s)) for s in (-99, 99)), whole + 0.5]))
        x = np.tile(rows_of(np.random.default_rng(i), 1), (len(line), 1)).astype(np.float32)
        x[:, i] = line
        for f in (library.score_float(x), library.batch_float(np.repeat(x, 16, axis=0))[::16]):
            assert (np.diff(f[:, 0]) >= 0).all()


@needs_compiler
def test_the_self_test_meets_the_tables_in_every_build(tmp_path):
    made = export(network_of(COLUMNS), tmp_path, "float32")
    for compiler in COMPILERS:
        for flags in (("-DMODEL_LANES=1",), ("-DMODEL_LANES=32",), ("-DMODEL_TABLES=0",), NATIVE):
            done = run_self_test(made.path, compiler, "-std=c99", "-O1", *STRICT, *flags)
            assert done.returncode == 0, done.stdout + done.stderr


@needs_compiler
def test_a_wrong_entry_is_found_before_a_header_is_written(tmp_path, monkeypatch):
    """One step of a float in any single entry, the last of the longest table among them."""
    honest = c_whole._rotated
    for column, entry in ((0, 3), (1, 83 % 128), (2, 8), (3, 41), (4, 4)):

        def wrong(found, low, size, layers, column=column, entry=entry):
            values = honest(found, low, size, layers)
            which = [16, 128, 32, 64, 16].index(size, 4 if found.shape == (6, 2) else 0)
            if which == column:
                values[0, entry] += 0.25
            return values

        monkeypatch.setattr(c_whole, "_rotated", wrong)
        with pytest.raises(PrecisionError):
            to_c(network_of(COLUMNS), tmp_path / "model.h", arithmetic="float32")
        assert not (tmp_path / "model.h").exists()


@needs_compiler
@pytest.mark.parametrize("arithmetic", ["float64", "float32"])
def test_a_wrong_cap_is_found_before_a_header_is_written(tmp_path, monkeypatch, arithmetic):
    """A block that is whole but for a number above the table must be computed where the map still rises."""
    honest = c_whole.whole_table

    def capped(*given):
        table = honest(*given)
        return table and replace(table, capped=True)

    monkeypatch.setattr(c_numeric, "whole_table", capped)
    for columns in ((RISING,), (RISING, AGE, KIND)):
        with pytest.raises(PrecisionError, match="its own test vectors"):
            to_c(network_of(columns), tmp_path / "model.h", arithmetic=arithmetic)
        assert not (tmp_path / "model.h").exists()


@needs_compiler
def test_the_self_test_finds_a_wrong_cap_and_a_wrong_lower_end(tmp_path):
    made = export(network_of((RISING, AGE)), tmp_path, "float32")
    text, given = made.path.read_text(), "const float given = t[0 * MODEL_LANES + l];\n            const int"
    assert text.count(given) == 1
    for other in ("capped[0 * MODEL_LANES + l]", "MODEL_MORE(t[0 * MODEL_LANES + l], 0x0p+0f)"):
        made.path.write_text(text.replace(given, given.replace("t[0 * MODEL_LANES + l]", other)))
        done = run_self_test(made.path, COMPILERS[0], "-O1")
        assert done.returncode == 1, done.stdout + done.stderr


@needs_compiler
def test_the_self_test_meets_every_entry_of_the_longest_table(tmp_path):
    """One of 67 is wrong, the one for NaN (84) among them."""
    made = export(network_of((AGE,)), tmp_path, "float32")
    head, body, rest = re.split(r"(?<=model_whole_0\[128\] = {)(.*?)(?=};)", made.path.read_text(), flags=re.S)
    for entry in (18, 67, 84):
        words = body.split(",")
        words[entry] += " + 0.25f"
        made.path.write_text(head + ",".join(words) + rest)
        done = run_self_test(made.path, COMPILERS[0], "-O0")
        assert done.returncode == 1, done.stdout + done.stderr


def test_which_columns_have_a_table():
    layers = layers_of()

    def made(knots, **more) -> WholeTable | None:
        return whole_table("m", 0, 0, NumericColumn("x", (steps(knots),), **more), layers)

    assert made([0.1, 0.2, 0.7, 1.3]) is None, "numbers that are not whole"
    assert made([0.0, 1.0]) is None, "one line needs no table"
    assert made([0.0, 1.0, 500.0]) is None, "too long"
    assert made([0.0, 1.0, 2e9]) is None
    found = made([0.0, 1.0, 15.0])
    assert found is not None
    assert (found.low, found.high, found.size, found.capped, found.missing) == (0, 15, 16, True, False)
    found = made([0.0, 1.0, 15.0], missing=(0.0,))
    assert found is not None
    assert found.size == 32, "NaN has an entry of its own"
    found = made([-0.5, 2.0, 3.0, 4.0, 4.5])
    assert found is not None
    assert (found.low, found.high, found.capped) == (2, 4, False), "above 4 it still rises"
    wide = CategoryColumn("many", tuple(range(200)), np.zeros((202, 1)))
    assert code_table("m", 0, 0, wide, layers) is None
    spread = CategoryColumn("spread", tuple(range(60)), np.zeros((62, 60)))
    assert code_table("m", 0, 0, spread, layers) is None, "short, but many columns"


def test_tables_hold_the_values_of_evaluation():
    for column in COLUMNS[:4]:
        table = whole_table("m", 0, 0, column, layers_of())
        assert table is not None
        given = np.arange(table.low, table.high + 1)
        np.testing.assert_array_equal(table.values[:, given % table.size], column.evaluate(given).T)


@pytest.mark.parametrize("n", [5, 8, 13, 16])
@needs_compiler
def test_rows_of_any_width_are_turned(tmp_path, n):
    """Order of columns and rows: a sum of columns with weights of their own would not show an exchange of two rows."""
    columns = [NumericColumn(f"x{k}", (PiecewiseLinear([0.0], [0.0], 1.0, 1.0),)) for k in range(n)]
    made = export(network_of(columns), tmp_path, "float32")
    assert "model_turn(const float *MODEL_RESTRICT x" in made.path.read_text()
    x = np.random.default_rng(n).normal(size=(64, n)).astype(np.float32)
    expected = c_reference(made.network, made.layers, x.astype(np.float64))
    np.testing.assert_array_equal(bits(made.build(COMPILERS[0]).batch_float(x)), bits(expected))


def test_turning_reads_no_number_beyond_the_rows():
    """Loads of eight numbers, of which the last of short rows begin earlier."""
    for n in range(5, 40):
        starts = [int(k) for k in re.findall(r"memcpy\(&[pq], x \+ (\d+)", turned("m", n))]
        assert min(starts) == 0
        assert max(starts) + 8 <= 16 * n
        written = {int(k) for k in re.findall(r"memcpy\(t \+ (\d+)", turned("m", n))}
        assert written == set(range(0, 16 * n, 16))
