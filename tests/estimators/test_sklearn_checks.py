"""Every check scikit-learn has for estimators, on tiny budgets; the exceptions are few and each has its reason."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from monolip.estimators import MonotonicClassifier, MonotonicRegressor

EXCEPTIONS = {
    "check_sample_weight_equivalence_on_dense_data": "rows are drawn in random batches: a weight of 2 and a row twice "
    "are the same in expectation, not in bits",
}
SMALL = {"n_estimators": 1, "max_iter": 60}


@parametrize_with_checks(
    [MonotonicRegressor(**SMALL), MonotonicClassifier(**SMALL)], expected_failed_checks=lambda _: EXCEPTIONS
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
