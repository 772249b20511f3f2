"""What both estimators share: parameters, fit, prediction of f, what is guaranteed, files and pickles."""

from __future__ import annotations

import warnings
from copy import copy
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from monolip.errors import FrozenFileError, InputError
from monolip.estimators._fast_inputs import FastInputs
from monolip.estimators._fitting import Fitted, Settings, fit_network
from monolip.estimators._prediction import Predictor
from monolip.estimators._progress import Display
from monolip.estimators._promises import read_promises
from monolip.estimators._saving import ENTRY, read_parameters, write_parameters
from monolip.estimators._schema import Schema, learn_schema, table_like
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import Target
from monolip.estimators._torch import from_modules, to_modules
from monolip.estimators.slope_table import SlopeTable
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import read_extra, save

__all__ = ["MonotonicBase"]

FloatArray = NDArray[np.float64]


class MonotonicBase(BaseEstimator):  # type: ignore[misc]
    """Not for users: MonotonicRegressor and MonotonicClassifier."""

    def _fit(self, table: RawTable, target: Target, classes: NDArray[Any] | None) -> Self:
        schema = learn_schema(table, self.categorical_features)
        promises = read_promises(schema, self.monotonic_cst, self.slopes, self.max_slope, self.missing, classes)
        before = self._to_continue(schema)
        with Display(self.verbose) as display:
            fitted = fit_network(table, schema, promises, target, self._settings(), display.update, before)
        if fitted.interrupted:
            warnings.warn("fit was interrupted; the model is the best one so far", stacklevel=3)
        self._fitted = fitted if self.warm_start else None  # only a warm start needs the members as trained
        self.history_, self.n_iter_ = fitted.history, fitted.n_iter
        self._adopt(fitted.network, schema)
        return self

    def _adopt(self, network: FrozenNetwork, schema: Schema) -> None:
        self.frozen_, self._schema = network, schema
        self.n_features_in_ = schema.n_raw
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._predictor = Predictor(network)

    def _to_continue(self, schema: Schema) -> Fitted | None:
        """The fit a warm start adds members to."""
        fitted: Fitted | None = getattr(self, "_fitted", None)
        if not self.warm_start or fitted is None:
            return None
        if schema != self._schema or self.n_estimators <= len(fitted.arrays):
            raise InputError(
                "warm_start keeps the members there are and adds more on the same columns; got n_estimators="
                f"{self.n_estimators} after {len(fitted.arrays)}; raise n_estimators, or set warm_start=False."
            )
        return fitted

    def _settings(self) -> Settings:
        widths = self.hidden_layer_sizes
        hidden = tuple(int(w) for w in (widths if np.iterable(widths) else (widths,)))
        for name, value, low in (("n_estimators", self.n_estimators, 1), ("max_iter", self.max_iter, 1)):
            if value is not None and (isinstance(value, bool) or int(value) != value or value < low):
                raise InputError(f"{name} is a whole number, at least {low}; got {value!r}; correct it.")
        if not 0.0 < self.validation_fraction <= 0.5:
            raise InputError(f"validation_fraction lies in (0, 0.5]; got {self.validation_fraction!r}; correct it.")
        if self.batch_size != "auto" and not self.batch_size >= 1:
            raise InputError(f"batch_size is 'auto' or at least 1; got {self.batch_size!r}; correct it.")
        return Settings(
            hidden=hidden,
            n_members=int(self.n_estimators),
            max_iter=None if self.max_iter is None else int(self.max_iter),
            batch_size=None if self.batch_size == "auto" else int(self.batch_size),
            holdout=float(self.validation_fraction) if self.early_stopping else None,
            n_bins=None if self.n_bins == "auto" else int(self.n_bins),
            max_time=self.max_time,
            n_threads=effective_n_jobs(self.n_jobs),
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _evaluate(self, X: Any, offset: Any = None) -> FloatArray:
        """f in the units of the link, shape (n, n_outputs); monotone bit for bit where a direction is promised."""
        check_is_fitted(self)
        table = table_like(X, self._schema, type(self).__name__)
        f = self._predictor.evaluate(table, effective_n_jobs(self.n_jobs))
        if offset is None:
            return f
        shift = np.asarray(offset, dtype=np.float64)
        if shift.shape != (table.n_rows,) or not np.isfinite(shift).all():
            raise InputError(f"offset is one finite number a row; got shape {shift.shape} for {table.n_rows} rows.")
        return np.asarray(f + shift[:, None])

    @property
    def slopes_(self) -> SlopeTable:
        """What is guaranteed, per raw feature (and class), in raw units; print it."""
        check_is_fitted(self)
        return SlopeTable.of(self.frozen_)

    def model_columns(self, X: Any) -> FloatArray:
        """What the network sees: calibrated, encoded columns, shape (n, n_model); inputs of to_torch()'s modules."""
        check_is_fitted(self)
        table = table_like(X, self._schema, type(self).__name__)
        return FastInputs(self._predictor.inputs).evaluate(table, 0, table.n_rows)

    def to_torch(self) -> Any:
        """Members as an nn.ModuleList of ConvexMLP (float64) on model_columns(X); f is their mean. Needs torch."""
        check_is_fitted(self)
        return to_modules(self.frozen_)

    def from_torch(self, modules: Any) -> Self:
        """A copy of this estimator with members trained further in torch, frozen and proved again."""
        check_is_fitted(self)
        model = copy(self)
        model._adopt(from_modules(self.frozen_, modules), self._schema)
        return model

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model, its input schema and its parameters as one safetensors file: data, never code."""
        check_is_fitted(self)
        text = write_parameters(type(self).__name__, self.get_params(deep=False), self.frozen_.digest)
        save(self.frozen_, path, {ENTRY: text})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A fitted estimator that predicts the same bits and, fitted again, keeps the same constraints."""
        network = FrozenNetwork.load(path)
        known = frozenset(cls._get_param_names())
        parameters = read_parameters(read_extra(path, ENTRY), cls.__name__, known, network.digest, path)
        if network.inputs is None or network.link is None or (network.link.labels is None) == cls._is_classifier:
            raise FrozenFileError(f"{path} was not saved by a {cls.__name__}; load it with FrozenNetwork.load.")
        model = cls(**parameters)
        model._adopt(network, Schema.of(network.inputs))
        model._loaded(network)
        return model

    _is_classifier = False

    def _loaded(self, network: FrozenNetwork) -> None:
        """What a subclass restores after load."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_predictor", None)  # rebuilt from frozen_; a pickle holds every weight once
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "frozen_" in state:
            self._predictor = Predictor(self.frozen_)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "frozen_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
