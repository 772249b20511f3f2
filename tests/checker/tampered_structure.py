"""Changes of a document that touch its structure: keys, versions, shapes, names, and what belongs to what."""

from __future__ import annotations

import math

from .documents import set_tensor
from .tampering import FIRST, Nudges, entry

NUDGES = Nudges()
tamper = NUDGES.tamper


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
    d["version"] = 3


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


def link(d):
    return d["structure"]["ends"]["link"]


@tamper()
def claims_about_a_third_class(d):
    link(d)["positive"] = 2


@tamper()
def claims_about_a_class_from_behind(d):
    link(d)["positive"] = -1


@tamper()
def claims_about_no_class(d):
    link(d)["positive"] = None


@tamper()
def a_bool_as_the_position_of_a_class(d):
    link(d)["positive"] = True


@tamper()
def no_position_of_a_class(d):
    del link(d)["positive"]


@tamper("raw, classes")
def one_class_of_several(d):
    link(d)["positive"] = 1


@tamper()
def an_empty_name_of_a_target(d):
    link(d)["target"] = ""


@tamper()
def a_name_of_a_target_as_long_as_a_book(d):
    link(d)["target"] = "x" * 257


@tamper()
def a_number_as_the_name_of_a_target(d):
    link(d)["target"] = 1


@tamper()
def no_name_of_a_target_not_even_null(d):
    del link(d)["target"]
