"""The module hls4ml converts: its configured arithmetic, in exact rationals, is that of FixedPointNetwork."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from monolip import FrozenNetwork, SlopeBounds
from monolip.certify.certificate import certify
from monolip.certify.fixed_point import compile_fixed_point
from monolip.errors import FreezeError, InputError, MissingExtraError, PrecisionError
from monolip.export import hls4ml
from monolip.export.hls4ml_types import ApFixed
from monolip.frozen import Trunk
from tests.certify.fixed_point_networks import random_network, table_network
from tests.export.models import RANGES, estimator, frozen, two_track
from tests.make import convex

torch = pytest.importorskip("torch")
BOX = [(-4.0, 4.0)] * 4


def made(model, **options):
    given = {"precision": "ap_fixed<16,6>", "weight_bits": None, "preset": "narrow", "input_ranges": None} | options
    return hls4ml._made(model, "fixed-point", *given.values())


def assigned(value, kind):
    """An exact number stored in a type, as the standard of ap_fixed says: round, then wrap or clamp."""
    word = value * 2**kind.fraction
    word = math.floor(word + Fraction(1, 2)) if kind.rounding == "AP_RND" else math.floor(word)
    most = 1 << (kind.width - 1)
    if kind.overflow == "AP_SAT_SYM":
        word = min(max(word, 1 - most), most - 1)
    else:
        word = (word + most) % (2 * most) - most
    return Fraction(word, 1) / 2**kind.fraction


def interpreted(names, row):
    """One row through the traced module, each number in the type that CONFIG gives it; products and sums as in C."""
    kinds = {
        layer: {key: ApFixed.parse(text) if key == "result" else wide(text) for key, text in entry["Precision"].items()}
        for layer, entry in names["CONFIG"]["LayerName"].items()
    }
    model, values = names["Model"](), {}
    for node in torch.fx.symbolic_trace(model).graph.nodes:
        if node.op == "placeholder":
            values[node.name] = [assigned(Fraction(v), kinds[node.name]["result"]) for v in row]
        elif node.op == "call_module":
            kind, layer = kinds[node.name], getattr(model, node.target)
            out = []
            for weights, bias in zip(layer.weight.tolist(), layer.bias.tolist(), strict=True):
                total = assigned(assigned(Fraction(bias), kind["bias"]), kind["accum"])
                for w, v in zip(weights, values[str(node.args[0])], strict=True):
                    total = assigned(
                        total + assigned(assigned(Fraction(w), kind["weight"]) * v, kind["accum"]), kind["accum"]
                    )
                out.append(assigned(total, kind["result"]))
            values[node.name] = out
        elif node.op == "call_function":
            word = node.name.split("_")[0]
            parts = [values[str(a)] for a in (node.args[0] if word == "cat" else node.args)]
            if word == "cat":
                found = [v for part in parts for v in part]
            else:
                found = [{"minimum": min, "maximum": max}[word](pair) for pair in zip(*parts, strict=True)]
            values[node.name] = [assigned(v, kinds[node.name]["result"]) for v in found]
        else:
            return values[str(node.args[0])]
    raise AssertionError("no output")


def wide(text):
    """Types of sums may be wider than those that are compiled."""
    width, integer, *modes = text[9:-1].split(",")
    return ApFixed(int(width), int(integer), *modes)


def ensemble():
    return random_network(np.random.default_rng(4), members=3, depth=3)


CASES = {
    "pairs": (two_track, {"input_ranges": BOX}),
    "rounding half up": (two_track, {"input_ranges": BOX, "precision": "ap_fixed<16,6,AP_RND,AP_WRAP>"}),
    "clamped": (lambda: clamping(), {"input_ranges": [(-4, 4)] * 2, "precision": "ap_fixed<12,4,AP_TRN,AP_SAT_SYM>"}),
    "members": (ensemble, {"input_ranges": [(-4, 4)] * 3}),
    "two outputs": (lambda: frozen()["two outputs"], {"input_ranges": RANGES}),
    "trunks": (lambda: frozen()["per output"], {"input_ranges": RANGES, "weight_bits": 18}),
    "a table": (lambda: table_network(np.random.default_rng(2), "logit"), {"precision": "ap_fixed<19,8>"}),
    "words": (lambda: table_network(np.random.default_rng(2), "logit"), {"precision": None}),
    "integers": (
        lambda: compile_fixed_point(two_track(), "narrow", input_ranges=[(-4, 4)] * 4, headroom=2),
        {"precision": None},
    ),
}


def clamping():
    """Hidden units beyond 8 that the output layer hardly uses."""
    box = SlopeBounds([0.0, 0.0], [1.5, 1.5])
    form = convex(np.random.default_rng(0), [2, 4, 4, 1], 2, box, bias=0.1)
    low = np.array([[1.0, 0.0, 0.0, 0.0]])
    return FrozenNetwork(box, ((Trunk(type(form)((*form.weights[:2], low), form.biases, (2, 2)), (0,)),),))


@pytest.mark.filterwarnings("ignore:integers stay within")
@pytest.mark.parametrize("case", CASES)
def test_the_configured_arithmetic_is_that_of_the_certified_integers(case):
    build, options = CASES[case]
    steps, source, sha = made(build(), **options)
    names, network, fraction = hls4ml._executed(source), steps.network, steps.chosen.fraction
    x, expected = network.vectors  # zero, both corners, random words, ties that half to even would break
    for row, known in zip(x[::7].tolist(), expected[::7].tolist(), strict=True):
        found = interpreted(names, [Fraction(v) / 2**fraction for v in row])
        assert [v * 2**fraction for v in found] == known
    certificate = certify(network)
    certificate.check()  # the independent checker proves the integers again
    assert certificate.document["sha256"] == sha
    if case == "clamped":
        assert network.saturates


@pytest.mark.filterwarnings("ignore:integers stay within")
def test_every_word_keeps_every_direction_in_a_small_type():
    """All 256 words of one feature, with others at random: no step falls, whatever is clamped or rounded."""
    steps, _, _ = made(
        clamping(), input_ranges=[(-4, 4)] * 2, precision="ap_fixed<8,4,AP_TRN,AP_SAT_SYM>", weight_bits=12
    )
    network, most = steps.network, steps.input_word
    words = np.arange(-most, most + 1)
    for other in np.random.default_rng(0).integers(-most, most + 1, 20):
        f = network.evaluate(np.stack([words, np.full_like(words, other)], axis=1)).ravel()
        assert (np.diff(f) >= 0).all()


def test_the_float64_module_is_the_function_up_to_its_rounding():
    module = hls4ml.hls4ml_module(two_track(), input_ranges=BOX, precision="ap_fixed<24,6>")
    x = np.random.default_rng(0).uniform(-4, 4, (200, 4))
    with torch.no_grad():
        found = module(torch.from_numpy(x)).numpy()
    assert np.abs(found - two_track().evaluate(x)).max() < 1e-3
    assert set(module.hls_config["LayerName"]) >= {"x", "dense0", "minimum", "maximum", "cat"}
    assert {type(m) for m in module.children()} == {torch.nn.Linear}
    promises = [claim.promise for claim in certify(module.fixed_point)]
    assert [promises[i] for i in (0, 1, 3)] == ["increasing"] * 3


@pytest.mark.parametrize("name", ['"""; raise SystemExit #', "\\" + '"' * 3, "{digest}", "\N{DEGREE SIGN}", "a\\"])
def test_names_of_features_are_text_and_never_code(name):
    """A network may come from a stranger's file: its names stand in the docstring of a file that is executed."""
    box = SlopeBounds([0.0], [1.0], (name,))
    network = FrozenNetwork(box, ((Trunk(convex(np.random.default_rng(0), [1, 2, 1], 2, box), (0,)),),))
    _, source, _ = made(network, input_ranges=[(-1, 1)])
    names = hls4ml._executed(source)
    assert name in names["__doc__"]


def test_inputs_that_are_not_the_raw_columns_are_labelled_so():
    doc = hls4ml._executed(made(estimator("logit"))[1])["__doc__"]
    assert '["u(a) [0]"' in doc
    assert "model.frozen_.inputs.evaluate(frame)" in doc
    doc = hls4ml._executed(made(estimator("logit"), precision=None)[1])["__doc__"]
    assert '["word(a) [0]"' in doc
    doc = hls4ml._executed(made(two_track(), input_ranges=BOX)[1])["__doc__"]
    assert "u(" not in doc


REFUSED = {
    "half to even": ({"precision": "ap_fixed<16,6,AP_RND_CONV>"}, PrecisionError),
    "towards zero": ({"precision": "ap_fixed<16,6,AP_TRN_ZERO>"}, PrecisionError),
    r"use ap_fixed<17,6>": ({"precision": "ap_fixed<16,5>"}, FreezeError),
    "inputs must fit": ({"precision": "ap_fixed<16,2>"}, FreezeError),
    "bits after the point": ({"weight_bits": 4}, FreezeError),
    "goes on for ever": ({"input_ranges": None}, InputError),
    "ap_fixed<W,I>": ({"precision": "float"}, InputError),
    "modes are": ({"precision": "ap_fixed<16,6,AP_NICE>"}, InputError),
    "types of 4 to 30": ({"precision": "ap_fixed<40,6>"}, InputError),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_types_in_which_nothing_is_proved_are_refused(tmp_path, reason):
    options, error = REFUSED[reason]
    with pytest.raises(error, match=reason):
        hls4ml.to_hls4ml_module(two_track(), tmp_path / "m.py", **({"input_ranges": BOX} | options))
    assert not list(tmp_path.iterdir())


def test_other_forms_are_refused(tmp_path):
    networks = {"free branch": "free branch", "paper form": "L1 to L1"}
    for reason, name in networks.items():
        with pytest.raises(FreezeError, match=reason):
            hls4ml.to_hls4ml_module(frozen()[name], tmp_path / "m.py", input_ranges=RANGES)
    with pytest.raises(InputError, match="fixed point"):
        hls4ml.to_hls4ml_module(two_track(), tmp_path / "m.py", arithmetic="float32")
    integers = compile_fixed_point(two_track(), "narrow", input_ranges=BOX)
    with pytest.raises(InputError, match="units already"):
        hls4ml.to_hls4ml_module(integers, tmp_path / "m.py")
    assert not list(tmp_path.iterdir())


def test_without_hls4ml_the_file_is_written_and_says_it_was_not_run(tmp_path, monkeypatch):
    monkeypatch.setattr(hls4ml, "missing_tool", lambda: "hls4ml is not installed here")
    report = hls4ml.to_hls4ml_module(two_track(), tmp_path / "m.py", input_ranges=BOX)
    assert not report.measured
    assert "not installed" in report.how
    assert report.digest in (tmp_path / "m.py").read_text()
    compile((tmp_path / "m.py").read_text(), "m.py", "exec")


@pytest.mark.slow  # hls4ml and g++: some ten seconds each
@pytest.mark.filterwarnings("ignore:integers stay within")
@pytest.mark.parametrize("case", ["pairs", "rounding half up", "clamped", "two outputs", "words"])
def test_the_c_simulation_of_hls4ml_gives_the_same_bits(tmp_path, case):
    pytest.importorskip("hls4ml")
    build, options = CASES[case]
    report = hls4ml.to_hls4ml_module(build(), tmp_path / "m.py", **options)
    assert report.measured
    assert report.passed
    assert report.max_difference == 0.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:integers stay within")
def test_infinities_and_nan_count_as_the_last_word_in_the_c_simulation():
    pytest.importorskip("hls4ml")
    from monolip.export.hls4ml_simulation import simulated

    steps, source, _ = made(clamping(), input_ranges=[(-4, 4)] * 2)
    last = steps.input_word / 2**steps.chosen.fraction
    rows = np.array([[np.inf, 0.5], [-np.inf, 0.5], [1e9, 0.5], [np.nan, 0.5], [last, 0.5], [-last, 0.5]])
    with simulated(hls4ml._executed(source)["convert"], steps) as run:
        up, down, beyond, missing, top, bottom = run(rows).ravel().tolist()
    assert up == beyond == missing == top
    assert down == bottom


@pytest.mark.slow
def test_a_type_that_hls4ml_changes_is_noticed(tmp_path):
    pytest.importorskip("hls4ml")
    from monolip.export.hls4ml_simulation import simulated

    steps, source, _ = made(clamping(), input_ranges=[(-2, 2)] * 2)
    names = hls4ml._executed(source.replace("'accum': 'ap_fixed<", "'accum': 'ap_fixed<1"))
    with pytest.raises(PrecisionError, match="certified type"):
        simulated(names["convert"], steps).__enter__()


def test_the_module_needs_torch(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(MissingExtraError):
        hls4ml.hls4ml_module(two_track(), input_ranges=BOX)
