"""Every defect, one by one. A data set that is missing costs its own findings only."""

from __future__ import annotations

from paper.missing_data import DamagedDataError, MissingDataError
from paper.results_file import recording
from paper.what_was_wrong import (
    blog_checks,
    chest_checks,
    compas_checks,
    other_checks,
    printed_checks,
    script_checks,
    small_set_checks,
    text_checks,
)
from paper.what_was_wrong.finding import Check

__all__ = ["CHECKS", "main"]

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        text_checks.row_vectors_with_column_sums,
        text_checks.householder_gain,
        text_checks.recursion_sorts_the_input,
        text_checks.domain_of_definition,
        printed_checks.approximates_all,
        printed_checks.mini_generalises_better,
        printed_checks.cars_without_horsepower,
        script_checks.scheme_of_the_scripts,
        other_checks.cifar100_twins,
        small_set_checks.percent_sign,
        compas_checks.selection_on_test,
        compas_checks.seeds_are_not_splits,
        script_checks.two_deviations,
        compas_checks.fourth_power,
        compas_checks.duplicates,
        blog_checks.wrong_columns,
        blog_checks.wrapped_target,
        blog_checks.lost_lines,
        blog_checks.mini_ranks_by_sign,
        blog_checks.mini_script_is_larger,
        small_set_checks.row_number,
        small_set_checks.scaled_by_test_rows,
        small_set_checks.scaled_by_all_rows,
        small_set_checks.auto_splits,
        small_set_checks.cumulative_permutations,
        other_checks.loan_split,
        chest_checks.thresholds_on_logits,
        chest_checks.aliased_checkpoint,
        chest_checks.patients_on_both_sides,
        chest_checks.never_in_eval_mode,
        chest_checks.age_units,
    )
}


def main(fast: bool) -> None:
    """Each check asserts its defect; the findings are written in the order of the list."""
    with recording("what_was_wrong", fast=fast, packages=("monolip", "numpy", "scikit-learn", "torch")) as numbers:
        numbers["findings"], numbers["missing"] = {}, {}
        for name, check in CHECKS.items():
            try:
                numbers["findings"][name] = check(fast).written()
            except (MissingDataError, DamagedDataError) as missing:
                numbers["missing"][name] = str(missing)
                if isinstance(missing, DamagedDataError):  # the runner ends with exit code 1
                    numbers.setdefault("damaged", []).append(name)
                print(f"[what_was_wrong] {name} skipped: {missing}", flush=True)
        numbers["count"] = len(numbers["findings"])
