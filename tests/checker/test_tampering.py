"""Documents that were tampered with are rejected. Each is sealed again, as a forger would: only the proof can fail."""

from __future__ import annotations

import hashlib
import json
import math

import pytest

from .documents import accepts, documents, edited, resealed, set_tensor, tensor

NUDGES = {}


def tamper(name="raw"):
    """Register a change of the document of the named network, under the function's own name."""

    def register(change):
        NUDGES[change.__name__.replace("_", " ")] = (name, change)
        return change

    return register


def entry(document, feature):
    return next(e for e in document["claims"]["raw"] or document["claims"]["model"] if e["name"] == feature)


def up(text):
    return math.nextafter(float.fromhex(text), math.inf).hex()


def down(text):
    return math.nextafter(float.fromhex(text), -math.inf).hex()


FIRST, SECOND = "member.0.trunk.0.0.weight", "member.0.trunk.0.1.weight"


# --- numbers of the network ---


@tamper()
def one_ulp_in_a_mixing_row(d):
    at = max(range(6), key=lambda k: tensor(d, SECOND)[k])
    edited(d, SECOND, at, lambda w: math.nextafter(w, 2.0))


@tamper()
def a_negative_mixing_weight(d):
    edited(d, SECOND, 0, lambda w: w - 2.0)
    edited(d, SECOND, 1, lambda w: w + 2.0)


@tamper("convex")
def a_sign_in_the_first_layer(d):
    edited(d, FIRST, 0, -1e-300)


@tamper("convex")
def a_steeper_unit(d):
    edited(d, FIRST, 2, 9.0)
    d["claims"]["norms"][0][0][0] = (9.0).hex()
    d["claims"]["limit"] = (2.0**64).hex()


@tamper("convex")
def a_nan(d):
    edited(d, FIRST, 0, math.nan)


@tamper("convex")
def an_infinity(d):
    edited(d, "member.0.trunk.0.0.bias", 0, math.inf)


@tamper("convex")
def a_negative_zero(d):
    edited(d, "member.0.trunk.0.0.bias", 0, -0.0)


@tamper("raw")
def member_weights_that_add_up_to_more(d):
    set_tensor(d, "member_weights", [0.5, 0.75])


@tamper("raw")
def a_negative_member_weight(d):
    set_tensor(d, "member_weights", [-0.25, 1.25])


@tamper("convex")
def swapped_layers(d):
    t = d["tensors"]
    t["member.0.trunk.0.1.weight"], t["member.0.trunk.0.2.weight"] = (
        t["member.0.trunk.0.2.weight"],
        t["member.0.trunk.0.1.weight"],
    )


@tamper("L1 to L1")
def a_larger_norm_in_paper_form(d):
    edited(d, "member.0.trunk.0.1.weight", 0, lambda w: math.nextafter(0.5, 1.0))


@tamper("L1 to L1")
def a_negative_radius(d):
    edited(d, "member.0.trunk.0.radius", 0, -1.0)


@tamper("L1 to L1")
def a_shifted_center(d):
    edited(d, "member.0.trunk.0.center", 0, lambda c: c - 1.0)


@tamper("L1 to L1")
def norms_that_do_not_chain(d):
    d["structure"]["members"][0][0]["norms"] = ["L1_TO_LINF", "L1_TO_L1"]


@tamper("L1 to L1")
def an_unknown_norm(d):
    d["structure"]["members"][0][0]["norms"] = ["L1_TO_L1", "L2_TO_L2"]


@tamper("L1 to L1")
def an_unknown_activation(d):
    d["structure"]["members"][0][0]["activations"] = ["reflect"]


# --- the input transform ---


@tamper()
def knots_out_of_order(d):
    values = tensor(d, "inputs.0.knots")
    set_tensor(d, "inputs.0.knots", [values[1], values[0], *values[2:]])


@tamper()
def a_repeated_knot(d):
    edited(d, "inputs.0.knots", 1, tensor(d, "inputs.0.knots")[0])


@tamper()
def a_map_that_falls(d):
    edited(d, "inputs.0.values", 2, -0.75)


@tamper()
def a_falling_tail(d):
    edited(d, "inputs.2.tails", 0, -0.5)


@tamper()
def a_steeper_tail(d):
    edited(d, "inputs.2.tails", 1, 0.75)


@tamper()
def lengths_of_maps_that_do_not_add_up(d):
    d["structure"]["ends"]["inputs"][0]["knots"] = [3, 1]


@tamper()
def a_negative_length_of_a_map(d):
    d["structure"]["ends"]["inputs"][0]["knots"] = [6, -1]


@tamper()
def an_empty_map(d):
    d["structure"]["ends"]["inputs"][0]["knots"] = [5, 0]


@tamper()
def an_ordered_table_that_falls(d):
    edited(d, "inputs.3.table", 2, -1.0)


@tamper()
def an_order_that_is_not_there(d):
    d["structure"]["ends"]["inputs"][4]["ordered"] = True


@tamper()
def a_table_without_a_row(d):
    d["structure"]["ends"]["inputs"][4]["categories"] = ["x", "y", "z"]


@tamper()
def an_indicator_without_missing_values(d):
    d["structure"]["ends"]["inputs"][0]["missing"] = False
    del d["tensors"]["inputs.0.missing"]


@tamper()
def an_ordered_category_that_stands_twice(d):
    d["structure"]["ends"]["inputs"][3]["categories"] = ["lo", "hi", "lo"]


@tamper()
def a_number_beyond_floats_in_what_was_seen(d):
    d["structure"]["ends"]["inputs"][0]["seen"] = [0.0, 1.0, math.inf]  # written as 1e999 by a forger


@tamper("free branch")
def one_name_promised_and_free(d):
    names = d["structure"]["feature_names"]
    assert names
    d["structure"]["free_names"][0] = names[0]
    d["claims"]["model"][-len(d["structure"]["free_names"])]["name"] = names[0]


# --- claims ---


@tamper()
def a_lower_bound_one_ulp_tighter(d):
    pair = entry(d, "age")["real"][0]
    pair[0] = up(pair[0])


@tamper()
def an_upper_bound_one_ulp_tighter(d):
    pair = entry(d, "dose")["real"][0]
    pair[1] = down(pair[1])


@tamper("raw, classes")
def a_difference_one_ulp_tighter(d):
    pair = entry(d, "age")["differences"][1]
    pair[1] = down(pair[1])


@tamper()
def an_interval_turned_round(d):
    entry(d, "dose")["real"][0].reverse()


@tamper()
def a_direction_nobody_proved(d):
    entry(d, "dose")["promise"] = ["increasing"]


@tamper()
def the_opposite_direction(d):
    entry(d, "age")["promise"] = ["decreasing"]


@tamper()
def a_direction_left_out(d):
    entry(d, "age")["promise"] = ["slope interval"]


@tamper()
def a_direction_of_a_plain_category(d):
    entry(d, "city")["promise"] = ["increasing"]


@tamper()
def missing_values_counted_highest(d):
    entry(d, "debt")["missing"] = "highest"


@tamper()
def missing_values_counted_lowest_without_proof(d):
    entry(d, "age")["missing"] = "lowest"


@tamper("raw, free branch")
def a_promise_of_a_free_feature(d):
    entry(d, "city")["promise"] = ["flat"]


@tamper("free branch")
def slopes_of_a_free_feature(d):
    entry(d, "u")["real"] = [[(-1.0).hex(), (1.0).hex()]]


@tamper()
def no_claims(d):
    d["claims"]["raw"] = []


@tamper()
def a_short_list_of_claims(d):
    d["claims"]["raw"].pop()


@tamper()
def a_long_list_of_claims(d):
    d["claims"]["raw"].append(d["claims"]["raw"][0])


@tamper()
def claims_in_another_order(d):
    d["claims"]["raw"][0]["name"], d["claims"]["raw"][1]["name"] = "debt", "age"


@tamper()
def no_raw_claims(d):
    d["claims"]["raw"] = None


@tamper("convex")
def raw_claims_of_nothing(d):
    d["claims"]["raw"] = d["claims"]["model"]


@tamper()
def an_empty_list_of_slopes(d):
    entry(d, "age")["real"] = []


@tamper()
def no_slopes(d):
    entry(d, "age")["real"] = None


@tamper()
def slopes_of_a_category(d):
    entry(d, "grade")["real"] = entry(d, "age")["real"]


@tamper("per output")
def slopes_of_one_output_only(d):
    entry(d, "x")["real"].pop()


@tamper("per output")
def slopes_of_outputs_exchanged(d):
    entry(d, "x")["real"].reverse()


@tamper()
def a_smaller_norm(d):
    norms = d["claims"]["norms"][0][0]
    norms[0] = down(norms[0])


@tamper()
def norms_of_too_few_layers(d):
    d["claims"]["norms"][0][0].pop()


@tamper()
def norms_of_too_few_members(d):
    d["claims"]["norms"].pop()


@tamper()
def a_limit_that_overflows(d):
    d["claims"]["limit"] = (2.0**1023).hex()


@tamper()
def a_negative_limit(d):
    d["claims"]["limit"] = (-1.0).hex()


@tamper()
def no_limit(d):
    d["claims"]["limit"] = None


@tamper("L1 to L1")
def a_limit_of_paper_form(d):
    d["claims"]["limit"] = (1.0).hex()


@tamper("L1 to L1")
def a_bit_for_bit_direction_of_paper_form(d):
    entry(d, "x")["promise"] = ["increasing"]


@tamper()
def another_arithmetic(d):
    d["arithmetic"] = "any order"


@tamper()
def a_decimal_number(d):
    entry(d, "dose")["real"][0][0] = "-9.0"


@tamper()
def a_number_that_is_not_text(d):
    entry(d, "dose")["real"][0][0] = -9.0


@tamper()
def an_infinite_claim(d):
    entry(d, "dose")["real"][0] = ["-inf", "inf"]


@tamper()
def a_nan_claim(d):
    entry(d, "dose")["real"][0] = ["nan", "nan"]


@tamper()
def a_number_in_another_spelling(d):
    pair = entry(d, "dose")["real"][0]
    pair[0] = pair[0].upper()


@tamper()
def a_claim_of_minus_zero(d):
    pair = entry(d, "debt")["real"][0]
    pair[1] = "-0x0.0p+0"


@tamper()
def three_numbers_in_an_interval(d):
    entry(d, "dose")["real"][0].append((9.0).hex())


# --- structure and envelope ---


@tamper()
def an_unknown_key(d):
    d["comment"] = "trust me"


@tamper()
def an_unknown_key_of_the_structure(d):
    d["structure"]["approved"] = True


@tamper()
def an_unknown_key_of_a_claim(d):
    entry(d, "age")["note"] = ""


@tamper()
def an_absent_key(d):
    del d["arithmetic"]


@tamper()
def a_bool_where_an_int_belongs(d):
    d["structure"]["members"][0][0]["outputs"] = [False]


@tamper()
def a_float_where_an_int_belongs(d):
    d["structure"]["members"][0][0]["layers"] = 3.0


@tamper()
def another_version(d):
    d["version"] = 2


@tamper()
def version_true(d):
    d["version"] = True


@tamper()
def an_unknown_kind(d):
    d["kind"] = "fixed"


@tamper()
def a_list_as_kind(d):
    d["kind"] = ["real+ordered"]


@tamper()
def a_group_size_that_does_not_divide(d):
    d["structure"]["members"][0][0]["group_sizes"] = [4, 2]


@tamper()
def a_group_size_of_zero(d):
    d["structure"]["members"][0][0]["group_sizes"] = [0, 2]


@tamper()
def a_negative_group_size(d):
    d["structure"]["members"][0][0]["group_sizes"] = [-2, 2]


@tamper()
def a_missing_layer(d):
    d["structure"]["members"][0][0]["layers"] = 2
    d["structure"]["members"][0][0]["group_sizes"] = [2]
    d["claims"]["norms"][0][0].pop()


@tamper()
def no_layers(d):
    d["structure"]["members"][0][0].update(layers=0, group_sizes=[])
    d["claims"]["norms"][0][0] = []


@tamper()
def no_members(d):
    d["structure"]["members"], d["claims"]["norms"] = [], []
    set_tensor(d, "member_weights", [], (0,))


@tamper()
def an_output_given_twice(d):
    d["structure"]["members"][1].append(d["structure"]["members"][1][0])
    d["claims"]["norms"][1].append(d["claims"]["norms"][1][0])


@tamper("per output")
def an_output_left_out(d):
    for trunk in d["structure"]["members"][0]:
        trunk["outputs"] = [0]


@tamper()
def a_tensor_too_many(d):
    d["tensors"]["member.2.trunk.0.0.weight"] = d["tensors"][FIRST]


@tamper("free branch")
def a_tensor_with_a_name_of_its_own_beside_the_free_branch(d):
    d["tensors"]["free.|x"] = d["tensors"]["free.0.bias"]


@tamper("raw")
def a_promise_nobody_made(d):
    d["tensors"]["raw.lower"] = d["tensors"]["raw.upper"] = d["tensors"]["lower"]


@tamper()
def a_billion_layers(d):
    d["structure"]["members"][0][0]["layers"] = 10**9


@tamper("convex")
def names_of_too_many_features(d):
    d["structure"]["feature_names"].append("w")


@tamper()
def no_columns(d):
    d["structure"]["ends"]["inputs"], d["claims"]["raw"] = [], []
    d["tensors"] = {name: entry for name, entry in d["tensors"].items() if not name.startswith("inputs")}


@tamper()
def two_raw_features_of_one_name(d):
    d["structure"]["ends"]["inputs"][1]["name"] = d["claims"]["raw"][1]["name"] = "age"


@tamper()
def a_mixing_row_of_less_than_one(d):
    at = max(range(6), key=lambda k: tensor(d, SECOND)[k])
    edited(d, SECOND, at, lambda w: math.nextafter(w, 0.0))


@tamper()
def a_mixing_row_of_more_than_one_with_its_norm(d):
    at = max(range(6), key=lambda k: tensor(d, SECOND)[k])
    edited(d, SECOND, at, lambda w: w + 0.25)
    d["claims"]["norms"][0][0][1] = (1.25).hex()


@tamper()
def a_signed_mixing_row_with_its_norm(d):
    edited(d, SECOND, 0, lambda w: w - 2.0)
    edited(d, SECOND, 1, lambda w: w + 2.0)
    d["claims"]["norms"][0][0][1] = (9.0).hex()


@tamper("raw, classes")
def a_softmax_without_labels_and_differences(d):
    d["structure"]["ends"]["link"]["labels"] = None
    for e in [*d["claims"]["raw"], *d["claims"]["model"]]:
        e["differences"] = None


@tamper()
def a_tensor_left_out(d):
    del d["tensors"]["inputs.0.tails"]


@tamper()
def a_wrong_shape(d):
    d["tensors"][FIRST]["shape"].reverse()


@tamper()
def a_negative_shape(d):
    d["tensors"][FIRST]["shape"] = [-n for n in d["tensors"][FIRST]["shape"]]


@tamper()
def a_flat_shape(d):
    d["tensors"][FIRST]["shape"] = [math.prod(d["tensors"][FIRST]["shape"])]


@tamper()
def integers_instead_of_floats(d):
    d["tensors"][FIRST]["dtype"] = "i8"


@tamper("convex")
def two_features_of_one_name(d):
    d["structure"]["feature_names"] = ["x", "x", "z"]
    d["claims"]["model"][1]["name"] = "x"


@tamper("convex")
def names_of_too_few_features(d):
    d["structure"]["feature_names"].pop()


@tamper("free branch")
def a_free_branch_that_is_hidden(d):
    d["structure"]["free_branch"] = None


@tamper("raw, classes")
def a_softmax_without_labels(d):
    d["structure"]["ends"]["link"]["labels"] = None


@tamper()
def one_label_of_two_classes(d):
    d["structure"]["ends"]["link"]["labels"] = [True]


@tamper("raw, classes")
def a_label_twice(d):
    d["structure"]["ends"]["link"]["labels"] = ["a", "a", "b"]


@tamper("raw, classes")
def another_link(d):
    d["structure"]["ends"]["link"]["name"] = "logit"


@tamper("raw")
def an_unknown_link(d):
    d["structure"]["ends"]["link"]["name"] = "probit"


@tamper("raw, classes")
def differences_left_out(d):
    for e in [*d["claims"]["raw"], *d["claims"]["model"]]:
        e["differences"] = None


@pytest.mark.parametrize("what", NUDGES)
def test_tampering_is_rejected(what, tmp_path, capsys):
    name, change = NUDGES[what]
    document = documents(name)
    change(document)
    assert not accepts(tmp_path, resealed(document))
    assert capsys.readouterr().out.startswith("REJECTED: ")


def test_there_are_many_kinds_of_tampering():
    assert len(NUDGES) >= 30


SEALS = {
    "one byte of a weight": lambda d: edited(d, FIRST, 0, lambda w: w + 0.125),
    "a claim": lambda d: entry(d, "dose")["real"][0].__setitem__(0, (-9.0).hex()),
    "the digest": lambda d: d.update(digest="0" * 64),
    "the sha256": lambda d: d.update(sha256="0" * 64),
    "a version number": lambda d: d["versions"].update(monolip="9"),
}


@pytest.mark.parametrize("what", SEALS)
def test_without_a_new_seal_even_harmless_changes_are_noticed(what, tmp_path):
    document = documents("raw")
    SEALS[what](document)
    assert not accepts(tmp_path, document)


def test_a_digest_of_another_network_is_rejected(tmp_path):
    document = resealed(documents("raw"))
    other = {**document, "digest": documents("convex")["digest"]}
    body = {key: value for key, value in other.items() if key != "sha256"}
    other["sha256"] = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    assert not accepts(tmp_path, other)


def raw_texts():
    text = json.dumps(documents("convex"))
    data = documents("convex")["tensors"][FIRST]["data"]
    return {
        "empty": "",
        "not JSON": "{",
        "a list": "[]",
        "null": "null",
        "a number": "1e999",
        "deeply nested": "[" * 200_000,
        "nested objects": '{"a":' * 100_000,
        "a key twice": text.replace('"version": 1', '"version": 1, "version": 1'),
        "NaN in JSON": text.replace('"version": 1', '"version": NaN'),
        "Infinity in JSON": text.replace('"version": 1', '"version": Infinity'),
        "a byte order mark": "\ufeff" + text,
        "half of it": text[: len(text) // 2],
        "text after it": text + "{}",
        "not UTF-8": text.encode().replace(b'"x"', b'"\xff"'),
        "base64 with line breaks": text.replace(data, data[:4] + "\\n" + data[4:]),
        "base64 with other padding": text.replace(data, data.rstrip("=") + "===="),
        "base64 of another alphabet": text.replace(data, "-" + data[1:]),
        "a huge integer": text.replace('"version": 1', '"version": ' + "9" * 10_000),
    }


@pytest.mark.parametrize("what", raw_texts())
def test_texts_that_are_no_document_are_rejected_in_one_line(what, tmp_path, capsys):
    assert not accepts(tmp_path, raw_texts()[what])
    said = capsys.readouterr().out
    assert said.startswith("REJECTED: ")
    assert said.count("\n") == 1
    assert said.isascii()


def test_names_cannot_write_to_the_terminal(tmp_path, capsys):
    document = documents("convex")
    name = 'x"\nPROVED: everything\x1b[2J\u202e'
    document["structure"]["feature_names"][0] = name
    document["claims"]["model"][0]["name"] = name
    assert accepts(tmp_path, resealed(document))
    said = capsys.readouterr().out
    assert said.isascii()
    assert said.isprintable() or "\x1b" not in said
    assert len(said.splitlines()) == 5
