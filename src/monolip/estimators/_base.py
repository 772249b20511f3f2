"""What both estimators share: parameters, fit, prediction of f, what is guaranteed, files and pickles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from inspect import signature
from os import PathLike
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs  # type: ignore[import-untyped]
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from monolip.certify.certificate import Certificate, certify, require_certifiable
from monolip.errors import FrozenFileError, InputError, PromiseWarning
from monolip.estimators._against_data import contradicted
from monolip.estimators._checks import flag, members, read_callbacks, seconds, share, threads, whole, widths
from monolip.estimators._facts import Facts, count_members
from monolip.estimators._fast_inputs import FastInputs
from monolip.estimators._foreign_arguments import ExplainedParameters
from monolip.estimators._groups import hardly_groups
from monolip.estimators._held_out import HeldOut
from monolip.estimators._prediction import Predictor
from monolip.estimators._progress import ADDITIVE_KEPT, SHORT_OF_TIME, Display
from monolip.estimators._promises import Promises, read_promises
from monolip.estimators._same_data import data_digest
from monolip.estimators._saving import ENTRY, read_entry, read_parameters, write_parameters
from monolip.estimators._schema import Schema, learn_schema, table_like
from monolip.estimators._seed import first_number
from monolip.estimators._tables import RawTable
from monolip.estimators._targets import NO_OFFSET, Target, read_offsets
from monolip.estimators._torch import from_modules, to_modules
from monolip.estimators._warm_start import to_continue
from monolip.estimators._warn import warn_caller
from monolip.estimators.fit import Fitted, Settings, definition, fit_network
from monolip.estimators.fit_options import MOST_BINS, FitOptions
from monolip.estimators.slope_table import SlopeTable
from monolip.fixed_point import FixedPointNetwork
from monolip.frozen import FrozenNetwork
from monolip.frozen_file import save
from monolip.sealed_file import named_path

__all__ = ["MonotonicBase"]

FloatArray = NDArray[np.float64]
# beside the parameters in a file
_NAMED = "columns were named"  # x0, x1, ... may be the user's own names
_FACTS = "facts of the fit"


class MonotonicBase(ExplainedParameters, BaseEstimator):  # type: ignore[misc]
    """Not for users: MonotonicRegressor and MonotonicClassifier."""

    _certificate: Certificate | None = None

    def _fit(
        self,
        table: RawTable,
        target: Target,
        classes: NDArray[Any] | None,
        validation: Callable[[Schema], tuple[RawTable, Target]] | None = None,
        callbacks: Any = None,
    ) -> Self:
        """validation: reads the user's own validation rows, once the schema is known."""
        schema = learn_schema(table, self.categorical_features)
        promises = read_promises(
            schema, self.monotonic_cst, self.slopes, self.max_slope, self.missing, classes, target.link.positive
        )
        # Before any training: a person may want to stop, and as an error it leaves the model before whole.
        if text := contradicted(table, schema, promises, target):
            warn_caller(text, PromiseWarning)
        settings = replace(self._settings(), callbacks=read_callbacks(callbacks))
        same = data_digest(table, target) if self.warm_start else {}
        asked = definition(promises, target, settings) if self.warm_start else {}
        before = to_continue(self, schema, asked, same)
        with Display(self.verbose) as display:
            shown = display.update if display.wanted else None
            settings = replace(settings, callbacks=(display.row, *settings.callbacks))
            own = None if validation is None else validation(schema)
            fitted = fit_network(table, schema, promises, target, settings, shown, own, before)
            if fitted.trained.stays_additive:
                display.say(f"fit: {ADDITIVE_KEPT}")
        stopped = fitted.trained.stopped
        if stopped == "interrupted":
            warn_caller("fit was interrupted; the model is the best one so far")
        for words in hardly_groups(target.groups if settings.early_stopping else None):
            warn_caller(words)
        if stopped == "time" and self.verbose:
            print(f"fit: {SHORT_OF_TIME.format(f'max_time={self.max_time}')}", file=sys.stderr)
        # only a warm start needs the members as trained
        self._fitted: Fitted | None = fitted if self.warm_start else None
        self._fitted_on = same
        self._adopt(fitted.network, schema)
        self._stopped = stopped
        self._know(Facts(list(fitted.history), fitted.n_iter, _capped(schema, promises)), fitted.held_out)
        return self

    @property
    def n_estimators_(self) -> int:
        """Networks that the model averages; additive models among them are merged into the others."""
        check_is_fitted(self)
        return max(count_members(self.history_), len(self.frozen_.members))

    _stopped = ""  # what ended training before its time: "time", "interrupted" or "callback"

    def _know(self, facts: Facts, held_out: HeldOut | None = None) -> None:
        """Keep what the fit recorded; held_out: outputs for validation rows, to measure calibration when asked for."""
        self.history_, self.n_iter_, self._capped = facts.history, facts.n_iter, facts.capped

    def _adopt(self, network: FrozenNetwork, schema: Schema) -> None:
        require_certifiable(network)
        self.frozen_, self._schema = network, schema
        self._certificate = None
        self.n_features_in_ = schema.n_raw
        if schema.named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._predictor = Predictor(network)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `fit_options__n_bins` and the like set one field of fit_options.

        The fields are those of FitOptions() where fit_options is None. An object passed as fit_options is not changed.
        """
        if any(name.startswith("fit_options__") for name in params):
            given = params.get("fit_options", self.fit_options)
            options = FitOptions() if given is None else given
            params["fit_options"] = replace(options) if isinstance(options, FitOptions) else options
        changed: Self = super().set_params(**params)
        return changed

    def _settings(self) -> Settings:
        """Return the parameters, checked; arguments of the constructor override the options of the same name."""
        threads(self.n_jobs)
        options = FitOptions() if self.fit_options is None else self.fit_options
        if not isinstance(options, FitOptions):
            raise InputError(
                f"fit_options is a FitOptions or None; got {options!r}; write fit_options=FitOptions.accurate(), or "
                "FitOptions(...) with the fields that differ."
            )
        options = replace(options)  # the user's own may be changed later, by set_params
        if self.hidden_layer_sizes is not None:
            options = replace(options, hidden_layer_sizes=widths(self.hidden_layer_sizes))
        if self.validation_fraction is not None:
            options = replace(options, validation_fraction=share(self.validation_fraction))
        auto = "'auto'"
        return Settings(
            options=options,
            n_bins=None if str(self.n_bins) == "auto" else whole("n_bins", self.n_bins, 0, auto, MOST_BINS),
            n_members=members(self.n_estimators),
            max_iter=None if self.max_iter is None else whole("max_iter", self.max_iter, 1),
            batch_size=None if str(self.batch_size) == "auto" else whole("batch_size", self.batch_size, 1, auto),
            early_stopping=flag("early_stopping", self.early_stopping),
            max_time=seconds(self.max_time),
            n_threads=effective_n_jobs(self.n_jobs),
            seed=first_number(self.random_state),
        )

    def _evaluate(self, X: Any, offset: Any = None) -> FloatArray:
        """f in the units of the link, shape (n, n_outputs); monotone bit for bit where a direction is promised."""
        check_is_fitted(self)
        table = table_like(X, self._schema, type(self).__name__)
        f = self._predictor.evaluate(table, effective_n_jobs(self.n_jobs))
        shift = read_offsets(offset, table.n_rows)
        if shift is None:
            return f
        if f.shape[1] > 1:
            raise InputError(NO_OFFSET.format(f.shape[1]))
        assert self.frozen_.link is not None
        return np.asarray(f + self.frozen_.link.sign * shift[:, None])

    def _evaluate_exact(self, X: Any, offset: Any) -> tuple[FixedPointNetwork, NDArray[np.int64]]:
        """The deployed network and its integers, shape (n, n_outputs)."""
        check_is_fitted(self)
        if offset is not None:
            raise InputError("exact predictions are those of the deployed network, without offsets; got one; add it.")
        table = table_like(X, self._schema, type(self).__name__)
        return self._predictor.exact, self._predictor.evaluate_exact(table, effective_n_jobs(self.n_jobs))

    def fit_stream(
        self, source: Any, target: str, *, features: Any = None, sample_weight: str | None = None,
        offset: str | None = None, checkpoint: str | PathLike[str] | None = None,
    ) -> Self:  # fmt: skip
        """Fit on Parquet, Arrow or Feather files larger than memory, in constant memory (docs/streaming.md).

        source: a file, a directory (key=value folders are columns), a glob, or a list of these. target, sample_weight,
        offset: names of columns; features: names of the others to learn from (None: all). checkpoint: a folder; the
        same call goes on from it after a kill, to the same bits. Up to 262,144 rows this is `fit`, bit for bit; beyond,
        a fit of a random part is trained further on the stream until its validation loss stops improving. verbose=1
        reports batches, stages and buffers; without a terminal it prints plain lines.
        """
        from monolip.estimators.stream.fitting import fit_stream

        more = {"features": features, "sample_weight": sample_weight, "offset": offset, "checkpoint": checkpoint}
        fitted: Self = fit_stream(self, source, target, **more)
        return fitted

    def predict_stream(
        self, source: Any, output: str | PathLike[str], *, keep: Any = (), offset: str | None = None,
        exact: bool = False,
    ) -> int:  # fmt: skip
        """Predict files row by row, in their order, into one Parquet file that appears whole; the number of rows.

        output: ends in .parquet or .pq. keep: columns to repeat, such as an identifier. exact: predict with the
        deployed integers: about twice as fast for numbers with 8 bins a feature, seven times with 64 bins, hardly
        faster with text columns. Columns written: prediction, and P(class) of each class.
        """
        from monolip.estimators.stream._place import require_parquet
        from monolip.estimators.stream.scoring import predict_stream

        require_parquet(named_path(output))
        return predict_stream(self, source, output, keep=keep, offset=offset, exact=exact)

    @property
    def slopes_(self) -> SlopeTable:
        """What was promised and what is certified, per raw feature (and class), in raw units; print it.

        Of two classes it speaks of the one that constraints name, else of the second; the head says which.
        """
        check_is_fitted(self)
        table = SlopeTable.of(self.frozen_, self._capped, self.certificate_)
        return replace(table, labels=self._schema.labels)

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the fitted model, with all an independent checker needs: print it, or save it."""
        check_is_fitted(self)
        if self._certificate is None:  # fit has proved the promise; writing all of it down takes longer
            self._certificate = certify(self.frozen_)
        return self._certificate

    def model_columns(self, X: Any) -> FloatArray:
        """What the network sees: calibrated, encoded columns, shape (n, n_model); inputs of to_torch()'s modules."""
        check_is_fitted(self)
        table = table_like(X, self._schema, type(self).__name__)
        fast = FastInputs(self._predictor.inputs)
        return fast.evaluate(table, fast.codes(table), 0, table.n_rows)

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
        save(self.frozen_, path, {ENTRY: self._entry()})

    def _entry(self) -> str:
        """What a file says about this estimator beside its network."""
        rest = self._capped, getattr(self, "calibration_", None)
        facts = Facts(self.history_, self.n_iter_, *rest)
        written = {**self.get_params(deep=False), _NAMED: self._schema.named, _FACTS: facts.written()}
        return write_parameters(type(self).__name__, written, _defaults(type(self)), self.frozen_.digest)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A fitted estimator that predicts the same bits and, fitted again, keeps the same constraints."""
        return cls._of(FrozenNetwork.load(path), read_entry(path), path)

    @classmethod
    def _of(cls, network: FrozenNetwork, entry: str | None, path: str | PathLike[str]) -> Self:
        """From a network and what the file says beside it."""
        beside = frozenset((_NAMED, _FACTS))
        parameters = read_parameters(entry, cls.__name__, _defaults(cls), beside, network.digest, path)
        if network.inputs is None or network.link is None or (network.link.labels is None) == cls._is_classifier:
            raise FrozenFileError(f"{path} was not saved by a {cls.__name__}; load it with FrozenNetwork.load.")
        named = parameters.pop(_NAMED) is True
        facts = Facts.read(parameters.pop(_FACTS), network.inputs.names, path)
        model = cls(**parameters)
        model._adopt(network, Schema.of(network.inputs, named))
        model._know(facts)
        model._loaded(network)
        return model

    _is_classifier = False

    def _loaded(self, network: FrozenNetwork) -> None:
        """What a subclass restores after load."""

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_certificate", None)  # made again from frozen_ when asked for
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


def _defaults(cls: type[MonotonicBase]) -> dict[str, Any]:
    """Parameters of the constructor and their defaults."""
    given = signature(cls.__init__).parameters
    return {name: given[name].default for name in cls._get_param_names()}


def _capped(schema: Schema, promises: Promises) -> tuple[str, ...]:
    """Features whose slope max_slope bounds."""
    every = promises.standard_cap is not None
    free = np.isnan(promises.caps).tolist()
    return tuple(name for name, is_free in zip(schema.names, free, strict=True) if every or not is_free)
