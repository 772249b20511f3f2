"""Changes of a document that touch the numbers of the network, and of its input transform."""

from __future__ import annotations

import math

from .documents import edited, set_tensor, tensor
from .tampering import FIRST, SECOND, Nudges

NUDGES = Nudges()
tamper = NUDGES.tamper


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
