"""Changes of a document that touch its forest: what it reads, where its nodes lead, and what is claimed beside it."""

from __future__ import annotations

import math
import sys

from .documents import documents, edited, set_tensor, tensor
from .tampering import FIRST, Nudges, entry

NUDGES = Nudges()
NODES, ROOTS = "forest.nodes", "forest.roots"


def tamper(change):
    return NUDGES.tamper("raw, forest")(change)


def directed(change):
    return NUDGES.tamper("raw, directed forest")(change)


def asks_about(d, k):
    """Where the first node that asks about the k-th column stands in the flat tensor."""
    nodes = tensor(d, NODES)
    return next(at for at in range(0, len(nodes), 3) if nodes[at] == k)


def leaves_below(d, node):
    """Where the values of leaves at or below a node stand in the flat tensor."""
    nodes = tensor(d, NODES)
    if nodes[3 * node] < 0:
        return [3 * node + 1]
    child = int(nodes[3 * node + 2])
    return leaves_below(d, child) + leaves_below(d, child + 1)


def falls_by_an_ulp(d, k, way):
    """The largest leaf on the side that comes lower, an ulp above the smallest on the other."""
    child = int(tensor(d, NODES)[asks_about(d, k) + 2])
    sides = [leaves_below(d, child + s) for s in (0, 1)][::way]
    values = tensor(d, NODES)
    lowest = min(values[at] for at in sides[1])
    edited(d, NODES, sides[0][0], math.nextafter(lowest, math.inf))


def inner(d):
    """Where the first node that is no leaf stands in the flat tensor."""
    nodes = tensor(d, NODES)
    return next(k for k in range(0, len(nodes), 3) if nodes[k] >= 0)


@tamper
def a_forest_that_reads_what_is_promised(d):
    d["structure"]["ends"]["forest"]["reads"] = [0, 4]


@tamper
def a_forest_that_reads_one_more(d):
    d["structure"]["ends"]["forest"] = {"reads": [0, 2, 4], "stands": [[0.0, 0.0]] * 3}


@tamper
def a_forest_over_a_column_that_is_not_there(d):
    d["structure"]["ends"]["forest"]["reads"] = [2, 9]


@tamper
def a_forest_over_a_negative_column(d):
    d["structure"]["ends"]["forest"]["reads"] = [-1, 4]


@tamper
def a_column_read_twice(d):
    d["structure"]["ends"]["forest"]["reads"] = [4, 4]


@tamper
def a_forest_over_nothing(d):
    d["structure"]["ends"]["forest"] = {"reads": [], "stands": []}


@tamper
def a_number_that_stands_for_nothing(d):
    d["structure"]["ends"]["forest"]["stands"][0] = [0.0]


@tamper
def a_word_that_stands_for_something(d):
    d["structure"]["ends"]["forest"]["stands"][0] = ["0", 0.0]


@tamper
def a_forest_that_nobody_told_of(d):
    del d["structure"]["ends"]["forest"]


@tamper
def a_forest_without_nodes(d):
    del d["tensors"][NODES]


@tamper
def a_forest_of_no_trees(d):
    set_tensor(d, ROOTS, [], (0,))


@tamper
def a_tree_that_begins_later(d):
    edited(d, ROOTS, 0, 1.0)


@tamper
def a_tree_that_begins_twice(d):
    edited(d, ROOTS, 1, 0.0)


@tamper
def a_node_that_asks_about_another_column(d):
    edited(d, NODES, inner(d), 2.0)


@tamper
def a_node_that_asks_about_half_a_column(d):
    edited(d, NODES, inner(d), 0.5)


@tamper
def a_node_that_leads_back(d):
    edited(d, NODES, inner(d) + 2, float(inner(d) // 3))


@tamper
def a_node_that_leads_into_the_next_tree(d):
    edited(d, NODES, inner(d) + 2, tensor(d, ROOTS)[1])


@tamper
def a_node_that_leads_out_of_the_forest(d):
    edited(d, NODES, inner(d) + 2, 1e6)


@tamper
def a_leaf_with_a_child(d):
    nodes = tensor(d, NODES)
    leaf = next(k for k in range(0, len(nodes), 3) if nodes[k] < 0)
    edited(d, NODES, leaf + 2, 1.0)


@tamper
def a_leaf_without_a_number(d):
    edited(d, NODES, inner(d) + 1, math.nan)


@tamper
def a_direction_of_what_jumps(d):
    entry(d, "dose")["promise"] = ["increasing"]


@tamper
def a_slope_of_what_jumps(d):
    entry(d, "dose").update(promise=["slope interval"], real=[[(-1e9).hex(), (1e9).hex()]], missing="refused")


@tamper
def a_promise_less_than_what_holds(d):
    entry(d, "age").update(promise=["no promise"], real=None)


@tamper
def a_forest_beside_a_free_branch(d):
    other = documents("raw, free branch")
    d["structure"]["free_branch"] = other["structure"]["free_branch"]
    d["structure"]["free_names"] = other["structure"]["free_names"]
    d["tensors"] |= {name: value for name, value in other["tensors"].items() if name.startswith("free.")}


@directed
def a_rising_feature_whose_tree_falls_by_an_ulp(d):
    falls_by_an_ulp(d, 0, 1)


@directed
def a_falling_feature_whose_tree_rises_by_an_ulp(d):
    falls_by_an_ulp(d, 1, -1)


@directed
def an_ordered_category_whose_tree_falls_by_an_ulp(d):
    falls_by_an_ulp(d, 2, 1)


@directed
def a_direction_of_a_category_without_an_order(d):
    entry(d, "city").update(promise=["increasing"], missing="state")


@directed
def the_other_direction_of_what_trees_read(d):
    entry(d, "age")["promise"] = ["decreasing"]


@directed
def a_direction_that_trees_keep_and_nobody_claims(d):
    entry(d, "age").update(promise=["no promise"], missing=None)


@directed
def a_slope_of_what_jumps_and_has_a_direction(d):
    entry(d, "age")["real"] = [[(0.0).hex(), (1e300).hex()]]


@directed
def missing_counts_as_lowest_to_the_network_only(d):
    d["structure"]["ends"]["forest"]["stands"][1][0] = -1e300


@directed
def missing_counts_as_an_ulp_above_the_lowest(d):
    d["structure"]["ends"]["forest"]["stands"][1][0] = math.nextafter(-sys.float_info.max, 0.0)


@directed
def missing_counts_as_highest_to_trees(d):
    d["structure"]["ends"]["forest"]["stands"][2][0] = sys.float_info.max


@directed
def a_threshold_between_minus_infinity_and_what_is_missing(d):
    edited(d, NODES, asks_about(d, 1) + 1, -sys.float_info.max)


@directed
def a_state_that_is_claimed_to_be_the_lowest(d):
    entry(d, "age")["missing"] = "lowest"


@directed
def a_lowest_value_that_nobody_claims(d):
    entry(d, "debt")["missing"] = "state"


@directed
def trees_that_enter_with_a_negative_weight(d):
    edited(d, FIRST, d["tensors"][FIRST]["shape"][1] - 1, -1.0)
    d["claims"]["model"][-1].update(promise=["slope interval"], real=[[(-1e3).hex(), (1e3).hex()]])
