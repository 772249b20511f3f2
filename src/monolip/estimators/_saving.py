"""The constructor's parameters beside the network in a model file, so that a loaded estimator fits under the same
constraints.

They are one more entry of the file's metadata, sealed by a sha256 over themselves and the network's digest: neither can
be swapped. They are no part of the network's own digest, which says what is predicted and promised and nothing else.

Parameters may be added and removed between versions. One that a file lacks takes its default. One that the reading
version does not know is ignored if the file lists it under "defaults", that is, if it had its default when it was
written; otherwise the file is refused, with its name and the version that wrote it. The same holds for fields of
FitOptions.
"""

from __future__ import annotations

import hashlib
import json
import reprlib
from collections.abc import Mapping, Set
from os import PathLike
from typing import Any

import numpy as np

from monolip._version import __version__
from monolip.errors import FrozenFileError, InputError
from monolip.estimators.fit_options import FitOptions
from monolip.input_columns import plain_value
from monolip.sealed_file import named_path

__all__ = ["ENTRY", "read_entry", "read_parameters", "write_parameters"]

ENTRY = "monolip.estimator"
VERSION = 2
_FIELDS = {"version", "monolip", "estimator", "parameters", "defaults"}
# a file without one of these would be fitted again under another promise, or for another purpose
_DEFINE_THE_PROMISE = frozenset(
    (
        "monotonic_cst",
        "slopes",
        "max_slope",
        "missing",
        "categorical_features",
        "loss",
        "loss_parameter",
        "class_weight",
    )
)


def write_parameters(owner: str, parameters: Mapping[str, Any], defaults: Mapping[str, Any], digest: str) -> str:
    """JSON text of ENTRY. What JSON cannot hold and no promise depends on (a RandomState) is written as None.

    defaults: of the constructor, by name; parameters may hold more, which every reader must know.
    """
    written = {}
    for name, value in parameters.items():
        try:
            written[name] = _encode(value)
            json.dumps(written[name], allow_nan=False)
        except (TypeError, ValueError):
            if name in _DEFINE_THE_PROMISE:
                raise InputError(
                    f"a saved estimator keeps the parameters that define its promise; {name}={reprlib.repr(value)} "
                    "cannot be written as JSON; use numbers, strings, lists and dicts."
                ) from None
            written[name] = None
    usual = [name for name, value in written.items() if name in defaults and _same(value, defaults[name])]
    entry = {"version": VERSION, "monolip": __version__, "estimator": owner, "parameters": written, "defaults": usual}
    return json.dumps({**entry, "seal": _seal(entry, digest)}, sort_keys=True)


def read_entry(path: str | PathLike[str], name: str = ENTRY) -> str | None:
    """The text of an entry in a model file that was read before, or None; read_parameters checks it."""
    from safetensors import safe_open

    with safe_open(named_path(path), framework="numpy") as file:
        return (file.metadata() or {}).get(name)


def read_parameters(
    text: str | None,
    owner: str,
    defaults: Mapping[str, Any],
    required: Set[str],
    digest: str,
    path: str | PathLike[str],
) -> dict[str, Any]:
    """The inverse; everything is checked, and the wrong class is told the right one.

    defaults: of the constructor, by name; what the file lacks takes them. required: what every file holds beside them.
    """
    if text is None:
        raise FrozenFileError(
            f"{path} holds a network without an estimator's parameters; it was not saved by {owner}.save; load it "
            "with FrozenNetwork.load."
        )
    entry, seal = _parse(text, path)
    found, written = entry["estimator"], entry["parameters"]
    if seal != _seal(entry, digest):
        raise FrozenFileError(
            f"{path} holds parameters that do not match their seal: damaged, edited or of another model; get an "
            "undamaged copy."
        )
    if found != owner:
        raise FrozenFileError(f"{path} was not saved by a {owner} but by a {found}; load it with {found}.load.")
    known = set(defaults) | required
    unknown = sorted(set(written) - known - set(entry["defaults"]))
    if unknown:
        raise FrozenFileError(
            f"{path} must hold parameters that this {owner} knows; got {unknown[:5]}, which monolip {entry['monolip']} "
            f"wrote (this is {__version__}); load it with that version, or the network alone with FrozenNetwork.load."
        )
    if required - set(written):
        raise FrozenFileError(f"{path} has malformed parameters (some are missing); get an undamaged copy.")
    try:
        found = {name: _decode(value) for name, value in written.items() if name in known}
        if not isinstance(found.get("fit_options"), FitOptions | None):
            raise ValueError("fit_options")
        return {**{name: value for name, value in defaults.items() if name not in found}, **found}
    except InputError as error:  # of FitOptions
        raise FrozenFileError(f"{path} has malformed parameters: {error} Or get an undamaged copy.") from error
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise FrozenFileError(
            f"{path} has malformed parameters ({reprlib.repr(error)}); get an undamaged copy."
        ) from error


def _parse(text: str, path: str | PathLike[str]) -> tuple[dict[str, Any], Any]:
    """The entry without its seal, and the seal."""
    try:
        entry = json.loads(text)
        seal, version = entry.pop("seal"), entry["version"]
        complete = set(entry) == _FIELDS and isinstance(entry["parameters"], dict)
        complete = complete and isinstance(entry["monolip"], str) and isinstance(entry["defaults"], list)
        complete = complete and all(isinstance(name, str) for name in entry["defaults"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FrozenFileError(
            f"{path} has malformed parameters ({reprlib.repr(error)}); get an undamaged copy."
        ) from error
    if version != VERSION or not complete:
        raise FrozenFileError(
            f"{path} must hold estimator parameters of version {VERSION}; got version {reprlib.repr(version)}"
            f"{'' if complete else ' with missing or unknown fields'}; use the monolip that wrote it."
        )
    return entry, seal


def _seal(entry: Mapping[str, Any], digest: str) -> str:
    return hashlib.sha256(json.dumps([ENTRY, entry, digest], sort_keys=True).encode()).hexdigest()


def _same(written: Any, default: Any) -> bool:
    """Whether a parameter was written as its default would be."""
    return json.dumps(written, sort_keys=True) == json.dumps(_encode(default), sort_keys=True)


def _encode(value: Any) -> Any:
    """Plain JSON, but dicts as {"dict": [[key, value], ...]} (keys may be numbers) and tuples as {"tuple": [...]}.

    FitOptions are {"fit_options": [fields by name, names of fields with their default]}.
    """
    if isinstance(value, FitOptions):
        written, usual = value.written(), FitOptions().written()
        return {"fit_options": [written, [name for name in written if written[name] == usual[name]]]}
    plain = plain_value(value)
    if plain is None or isinstance(plain, str | bool | int | float):
        return plain
    if isinstance(plain, Mapping):
        return {"dict": [[_encode(key), _encode(item)] for key, item in plain.items()]}
    if isinstance(plain, tuple):
        return {"tuple": [_encode(item) for item in plain]}
    if isinstance(plain, list):
        return [_encode(item) for item in plain]
    if isinstance(plain, range | np.ndarray) or (hasattr(plain, "to_numpy") and np.ndim(plain) == 1):
        return [_encode(item) for item in np.asarray(plain).tolist()]
    raise TypeError(f"{type(plain).__name__} is no JSON")


def _decode(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode(item) for item in value]
    if isinstance(value, dict):
        ((tag, items),) = value.items()
        if tag == "tuple":
            return tuple(_decode(item) for item in items)
        if tag == "fit_options":
            return _read_options(*items)
        if tag != "dict":
            raise ValueError(f"unknown tag {tag!r}")
        return {_key(_decode(key)): _decode(item) for key, item in items}
    return value


def _read_options(written: Mapping[str, Any], usual: list[str]) -> FitOptions:
    """Return the options; a field that this version does not know is left out if it had its default."""
    known = FitOptions().get_params()
    return FitOptions().set_params(**{name: written[name] for name in written if name in known or name not in usual})


def _key(key: Any) -> Any:
    hash(key)
    return key
