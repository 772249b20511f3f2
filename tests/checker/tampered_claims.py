"""Changes of a document that touch what it claims."""

from __future__ import annotations

from .tampering import Nudges, down, entry, up

NUDGES = Nudges()
tamper = NUDGES.tamper


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
