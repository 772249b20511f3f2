"""Changes of a document that touch its forest: what it reads, where its nodes lead, and what is claimed beside it."""

from __future__ import annotations

import math

from .documents import documents, edited, set_tensor, tensor
from .tampering import Nudges, entry

NUDGES = Nudges()
NODES, ROOTS = "forest.nodes", "forest.roots"


def tamper(change):
    return NUDGES.tamper("raw, forest")(change)


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
