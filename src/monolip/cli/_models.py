"""Model files of every kind that is data and not code, recognised by what they hold."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import Any

from monolip.errors import InputError, MissingExtraError

__all__ = ["AnyModel", "foreign_reader", "load_estimator", "load_network", "open_model", "read_metadata"]

_MAX_HEADER = 2**26
_CLASSES = ("MonotonicClassifier", "MonotonicRegressor")


@dataclass(frozen=True)
class AnyModel:
    """model: what `audit` takes. names: its features, in order, where the file says. matrix: it reads numbers only."""

    model: Any
    format: str
    names: tuple[str, ...] | None = None
    matrix: bool = True


def load_estimator(path: Path) -> Any:
    """A fitted MonotonicClassifier or MonotonicRegressor."""
    metadata = read_metadata(path)
    try:
        name = json.loads(metadata.get("monolip.estimator", "{}")).get("estimator")
    except (ValueError, AttributeError, TypeError, RecursionError):
        name = None
    if name not in _CLASSES:
        kind = "a network without a table's schema" if "monolip" in metadata else _guess(path)
        raise InputError(f"this needs a model that `monolip fit` or save() wrote; {path} is {kind}; name another file.")
    import monolip

    return getattr(monolip, str(name)).load(path)


def load_network(path: Path) -> Any:
    """A FrozenNetwork or a FixedPointNetwork, of a model file of any of ours."""
    from monolip import FixedPointNetwork, FrozenNetwork

    metadata = read_metadata(path)
    try:
        kind = json.loads(metadata.get("monolip", "{}")).get("format")
    except (ValueError, AttributeError, TypeError, RecursionError):
        kind = None
    if kind == "monolip.FixedPointNetwork":
        return FixedPointNetwork.load(path)
    if kind is None and (other := _guess(path)) != "no model file of monolip":
        raise InputError(f"this needs a model file of monolip; {path} is {other}; name another file.")
    return FrozenNetwork.load(path)


def _of_network(network: Any, kind: str) -> AnyModel:
    """A FrozenNetwork or FixedPointNetwork; one without an input transform reads numbers only."""
    names = getattr(network.inputs, "names", None) or network.slopes.feature_names
    return AnyModel(network, kind, None if names is None else tuple(names), network.inputs is None)


def open_model(path: Path) -> AnyModel:
    """Any model that an audit can score."""
    metadata = read_metadata(path)
    if "monolip.estimator" in metadata:
        model = load_estimator(path)
        return AnyModel(model, type(model).__name__, tuple(model.frozen_.inputs.names), False)
    if "monolip" in metadata:
        network = load_network(path)
        return _of_network(network, type(network).__name__)
    if _guess(path).startswith("a pickle"):
        raise InputError(
            f"an audited file is data, never code; {path} is a pickle, which would run as a program; save the model in "
            "its own format (LightGBM: save_model, XGBoost: save_model, scikit-learn: ONNX)."
        )
    reader = foreign_reader(path)
    if reader == "LightGBM":
        return _lightgbm(path)
    if reader == "XGBoost":
        return _xgboost(path)
    if _head(path, 1) == b"{":
        from monolip.export import from_json

        network = from_json(path)
        return _of_network(network, f"{type(network).__name__} (JSON)")
    if reader is None:
        raise InputError(
            f"an audited model is ONNX, LightGBM (.txt), XGBoost (.json, .ubj) or of monolip; {path} is none of them; "
            "name another file."
        )
    from monolip.certify.audit_onnx import open_session

    session = open_session(path)
    inputs = session.get_inputs()
    names = tuple(entry.name for entry in inputs) if len(inputs) > 1 else _onnx_names(session)
    return AnyModel(session, "ONNX", names, len(inputs) == 1)


def foreign_reader(path: Path) -> str | None:
    """The library that reads a file, by what it holds: LightGBM, XGBoost or onnxruntime; None: not a foreign one."""
    head = _head(path, 4096)
    if not head or "monolip" in read_metadata(path) or _guess(path).startswith("a pickle"):
        return None
    if head.startswith(b"tree\n"):
        return "LightGBM"
    if path.suffix in (".ubj", ".xgb") or (head.startswith(b"{") and b'"learner"' in head + _tail(path)):
        return "XGBoost"
    if path.suffix == ".onnx" or head[:1] == b"\x08":  # a protobuf begins with the version of its format
        return None if head.startswith(b"{") else "onnxruntime"
    return None


def _onnx_names(session: Any) -> tuple[str, ...] | None:
    """Our own exporter writes the columns of its one matrix as metadata."""
    try:
        names = json.loads(session.get_modelmeta().custom_metadata_map["monolip.features"])
        return tuple(str(name) for name in names)
    except (KeyError, ValueError, TypeError):
        return None


def read_metadata(path: Path) -> dict[str, str]:
    """Of a safetensors file; empty for any other. Everything in it is checked again by whoever loads the file."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= _MAX_HEADER:
            return {}
        text = file.read(length)
    try:
        found = json.loads(text).get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _guess(path: Path) -> str:
    head = _head(path, 64)
    if not head:
        return "an empty file"
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
        return "a pickle, which would run as a program"
    if head.startswith(b"PK\x03\x04") and path.suffix in (".pt", ".pth", ".pkl", ".joblib"):
        return "a pickle (torch.save), which would run as a program"
    if head.startswith(b"tree\n"):
        return "a LightGBM model (only `monolip audit` reads those)"
    if path.suffix == ".onnx":
        return "an ONNX model (only `monolip audit` reads those)"
    if head.startswith(b"{"):
        return "a JSON file (a certificate is read by `monolip check`)"
    return "no model file of monolip"


def _head(path: Path, count: int) -> bytes:
    with path.open("rb") as file:
        return file.read(count)


def _tail(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 4096))
        return file.read()


def _lightgbm(path: Path) -> AnyModel:
    try:
        import lightgbm
    except ImportError:
        raise MissingExtraError("lightgbm", "bench", "pip install lightgbm") from None
    lightgbm.register_logger(_Silent())
    try:
        booster = lightgbm.Booster(model_file=fspath(path))
        names = tuple(booster.feature_name())
    except Exception as error:  # of many classes, one for each way a file can be wrong
        raise InputError(f"LightGBM must be able to read the file; got {error}; save the model again.") from None
    unnamed = all(name == f"Column_{j}" for j, name in enumerate(names))
    return AnyModel(booster, "LightGBM", None if unnamed else names)


class _Silent:
    """LightGBM's log would go to standard output, where results are."""

    def info(self, text: str) -> None:
        """Nothing."""

    def warning(self, text: str) -> None:
        """Nothing."""


def _xgboost(path: Path) -> AnyModel:
    try:
        import xgboost
    except ImportError:
        raise MissingExtraError("xgboost", "bench", "pip install xgboost") from None
    booster = xgboost.Booster()
    try:
        booster.load_model(fspath(path))
        names = None if booster.feature_names is None else tuple(booster.feature_names)
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise InputError(f"XGBoost must be able to read the file; got {first}; save the model again.") from None
    return AnyModel(booster, "XGBoost", names)
