"""Anything that scores rows, as one function from a table to an array (rows, outputs)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from monolip.certify.audit_onnx import as_numbers, onnx_scores, open_session, reads_columns
from monolip.errors import InputError
from monolip.fixed_point import FixedPointNetwork
from monolip.frames import as_frame
from monolip.frozen import FrozenNetwork

__all__ = ["Scorer", "scorer_of"]

FloatArray = NDArray[np.float64]
Predict = Callable[[Any], Any]


@dataclass(frozen=True)
class Scorer:
    """predict: native table -> array. classes: labels of a classifier's columns. owner: where thresholds are read.

    dtype: the format inputs are rounded to, where the model has one. gradient: rows -> (n, d) or (n, outputs, d).
    named: of two classes the position of the one whose scores are looked at.
    """

    predict: Predict
    name: str
    classes: tuple[Any, ...] | None = None
    owner: Any = None
    dtype: np.dtype[Any] | None = None
    gradient: Predict | None = None
    named: int = 1

    def about(self, monotonic_cst: Any) -> Scorer:
        """Of two classes the first one's probability, where every direction names that class; else the same."""
        if self.classes is None or len(self.classes) != 2 or not self.name.endswith("predict_proba"):
            return self
        asked = list(monotonic_cst.values()) if isinstance(monotonic_cst, Mapping) else []
        first = self.classes[0]
        if self.gradient is None and asked and all(isinstance(v, Mapping) and set(v) == {first} for v in asked):
            return replace(self, named=0)
        return self

    @property
    def told_classes(self) -> tuple[Any, ...] | None:
        """Labels, of two classes with the one that is looked at as the second."""
        return self.classes if self.classes is None or self.named else self.classes[::-1]

    def label(self, output: int) -> Any:
        """What a column of the scores is: a class, or its position."""
        if self.classes is None:
            return output
        return self.classes[output if len(self.classes) > 2 else self.named]

    def scores(self, native: Any) -> tuple[FloatArray, np.dtype[Any]]:
        """(n, outputs) in float64, and the format they came in; of two classes one's probability."""
        found = as_numbers(self.predict(native))
        if found.dtype.kind not in "fiub":
            raise InputError(
                f"an audit needs scores that are numbers; got {found.dtype} from {self.name}; pass the model itself, "
                "predict_proba or decision_function, or a function that returns numbers."
            )
        if found.ndim == 0:
            raise InputError(
                f"a model gives each row a score; got one number, {found}, from {self.name}; return an array with one "
                "score for each row."
            )
        rows = found.reshape(len(found), -1).astype(np.float64)
        if self.classes is not None and len(self.classes) == 2 and rows.shape[1] == 2:
            rows = rows[:, [self.named]]
        elif not self.named:
            rows = -rows  # of a model that gives the second one's only: the order is the first one's
        return rows, found.dtype


def scorer_of(model: Any, gradient: Predict | None = None) -> Scorer:
    """How to score a model: an ONNX file or session, a torch module, a FrozenNetwork, an estimator, or a function."""
    if isinstance(model, str | PathLike):
        model = open_session(model)
    owner = getattr(model, "__self__", None)
    if isinstance(owner, FixedPointNetwork) and getattr(model, "__name__", "") == "predict":
        model = owner  # whose link says what the columns are
    torch = sys.modules.get("torch")  # a torch module can only come from a program that has loaded torch
    if torch is not None and isinstance(model, torch.nn.Module):
        scorer = _of_torch(model, torch)
    elif hasattr(model, "get_inputs") and hasattr(model, "run"):
        scorer = onnx_scorer(model)
    elif isinstance(model, FrozenNetwork):
        scorer = _of_frozen(model)
    elif isinstance(model, FixedPointNetwork):
        labels = None if model.link.link is None else model.link.link.labels
        scorer = Scorer(model.predict, "FixedPointNetwork.predict", labels, model, named=model.link.positive)
    elif hasattr(model, "inplace_predict") and type(model).__module__.startswith("xgboost"):
        scorer = Scorer(model.inplace_predict, "xgboost.Booster", owner=model)
    elif hasattr(model, "predict_proba") or hasattr(model, "predict"):
        scorer = _of_estimator(model)
    elif callable(model):
        scorer = _of_function(model)
    else:
        raise InputError(
            "audit takes a model with predict or predict_proba, a function, a torch module, a FrozenNetwork or an ONNX "
            f"file; got {type(model).__name__}; pass one of them."
        )
    return scorer if gradient is None else replace(scorer, gradient=gradient)


def _of_estimator(model: Any) -> Scorer:
    name = type(model).__name__
    classes = getattr(model, "classes_", None)
    for method in ("predict_proba", "decision_function") if classes is not None else ():
        try:
            scores = getattr(model, method)  # scikit-learn raises here where a model has none
        except AttributeError:
            continue
        return Scorer(scores, f"{name}.{method}", tuple(np.asarray(classes).tolist()), model)
    return Scorer(model.predict, f"{name}.predict", owner=model)


def _of_function(function: Predict) -> Scorer:
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__qualname__", type(function).__name__)
    per_class = getattr(function, "__name__", "") in ("predict_proba", "decision_function")
    classes = getattr(owner, "classes_", None) if per_class else None
    return Scorer(function, name, None if classes is None else tuple(np.asarray(classes).tolist()), owner)


def _of_frozen(network: FrozenNetwork) -> Scorer:
    if network.inputs is None:
        return Scorer(network.evaluate, "FrozenNetwork.evaluate", owner=network)
    names = network.inputs.names

    def evaluate(native: Any) -> FloatArray:
        frame = as_frame(native)
        if isinstance(frame, nw.DataFrame):
            return network.evaluate_raw({name: frame[name].to_numpy() for name in names})
        return network.evaluate_raw([native[:, j] for j in range(len(names))])

    return Scorer(evaluate, "FrozenNetwork.evaluate_raw", owner=network)


def onnx_scorer(session: Any) -> Scorer:
    """An onnxruntime session with one matrix input, or one input a column."""
    kinds: dict[str, np.dtype[Any]] = {"tensor(float)": np.dtype("f4"), "tensor(double)": np.dtype("f8")}
    own = None if reads_columns(session) else kinds.get(session.get_inputs()[0].type)
    return Scorer(lambda native: onnx_scores(session, native), "ONNX", None, None, own)


def _of_torch(module: Any, torch: Any) -> Scorer:
    weights = [p for p in module.parameters() if p.is_floating_point()]
    dtype, device = (weights[0].dtype, weights[0].device) if weights else (torch.float32, None)
    own = np.dtype(np.float64 if dtype == torch.float64 else np.float32)

    def run(native: FloatArray, slopes: bool) -> Any:
        was_training = module.training
        module.eval()
        try:
            x = torch.tensor(np.asarray(native), dtype=dtype, device=device, requires_grad=slopes)
            with torch.set_grad_enabled(slopes):
                out = module(x).reshape(len(native), -1)
                if not slopes:
                    return out.to(torch.float64 if own.itemsize == 8 else torch.float32).cpu().numpy()
                rows = [torch.autograd.grad(out[:, k].sum(), x, retain_graph=True)[0] for k in range(out.shape[1])]
                return torch.stack(rows, dim=1).double().cpu().numpy()
        finally:
            module.train(was_training)

    name = type(module).__name__
    return Scorer(lambda x: run(x, False), name, None, None, own, lambda x: run(x, True))
