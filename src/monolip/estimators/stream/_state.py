"""A file of a checkpoint: tensors and JSON under a seal, written whole or not at all; never pickle."""

from __future__ import annotations

import hashlib
import json
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.errors import CheckpointError
from monolip.estimators.stream.sample import Sample
from monolip.sealed_file import ordinary_size, parts_of, read_first, write_whole

__all__ = ["pack_sample", "read_state", "unpack_sample", "write_state"]

Tensors = dict[str, NDArray[Any]]
_ENTRY = "monolip.stream"


def write_state(path: Path, tensors: Tensors, words: dict[str, Any]) -> None:
    """Replaces the file at once; where that fails (a full disk) the file there was stays as it is."""
    from safetensors.numpy import save

    plain = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    text = json.dumps(words)
    sealed = json.dumps({"words": text, "seal": _seal(text, plain)})
    try:
        write_whole(path, bytes(save(plain, metadata={_ENTRY: sealed})))
    except OSError as error:
        raise CheckpointError(
            f"a checkpoint is written whole; {path} could not be: {error.strerror or error}; make room and call "
            "fit_stream again with the same arguments: it goes on from the checkpoint before."
        ) from error


def read_state(path: Path, fit: str | None = None) -> tuple[Tensors, dict[str, Any]] | None:
    """None where there is no such file; a damaged or edited one, or one of another fit, is an error.

    fit: the identity of the checkpoint it was written for; None for any.
    """
    from safetensors.numpy import load

    if not path.exists():
        return None
    size = ordinary_size(path)
    if size is None:
        raise CheckpointError(
            f"a checkpoint is an ordinary file; {path} is not one; remove the folder to start afresh."
        )
    data = read_first(path, size)
    try:
        entry, tensors = parts_of(data, _ENTRY, load)
        if entry["seal"] != _seal(str(entry["words"]), tensors):
            raise ValueError("it does not match its seal")
        words = json.loads(entry["words"])
        other = fit is not None and words["fit"] != fit
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(
            f"a checkpoint is as monolip wrote it; {path} is damaged or edited ({reprlib.repr(str(error))}); remove "
            "the folder to start afresh."
        ) from None
    if other:
        raise CheckpointError(
            f"a checkpoint continues the same fit; {path} is of another; remove the folder to start afresh."
        )
    return tensors, words


def _seal(text: str, tensors: Tensors) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"|{name}|{array.dtype.str}|{array.shape}|".encode() + array.tobytes())
    return digest.hexdigest()


def pack_sample(sample: Sample, done: int) -> tuple[Tensors, dict[str, Any]]:
    """done: batches that have been read."""
    tensors: Tensors = {"least": sample.least, "largest": sample.largest, "missing": sample.missing}
    tensors["kept"] = sample.held_out_rows()
    for kind, bottom in sample.strata.items():
        tensors[f"keys.{kind}"], tensors[f"rows.{kind}"] = bottom.taken()
    labels = [list(known) for known in sample.labels]
    there = {str(kind): rows for kind, rows in sample.there.items()}
    words = {"done": done, "labels": labels, "classes": list(sample.classes), "there": there}
    return tensors, {**words, "class_rows": sample.class_rows, "n_rows": sample.n_rows}


def unpack_sample(sample: Sample, state: tuple[Tensors, dict[str, Any]]) -> int:
    """Into a new sample of the same stream; the number of batches that have been read."""
    tensors, words = state
    sample.least, sample.largest, sample.missing = (tensors[name].copy() for name in ("least", "largest", "missing"))
    sample.kept = [tensors["kept"]]
    sample.labels = [{label: k for k, label in enumerate(known)} for known in words["labels"]]
    sample.classes = {label: k for k, label in enumerate(words["classes"])}
    sample.class_rows, sample.n_rows = list(words["class_rows"]), int(words["n_rows"])
    sample.there = {int(kind): int(rows) for kind, rows in words["there"].items()}
    for kind in sample.there:
        sample._stratum(kind).add(tensors[f"keys.{kind}"], tensors[f"rows.{kind}"])
    return int(words["done"])
