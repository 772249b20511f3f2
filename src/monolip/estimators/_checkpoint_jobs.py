"""What identifies a training, and its result as bytes: one safetensors file with a seal."""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from dataclasses import asdict
from os import PathLike
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from monolip.engine.trainer import NetworkArrays
from monolip.engine.training import Snapshot, TrainingResult
from monolip.errors import CheckpointError
from monolip.estimators._training import Job
from monolip.sealed_file import parts_of, seal_of

__all__ = ["JobDigests", "pack_result", "unpack_result"]

_ENTRY = "monolip.training"
Tensors = dict[str, NDArray[np.float64]]


class JobDigests:
    """sha256 of everything that a training depends on; a large array that many jobs share is read once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[NDArray[Any], str]] = {}
        self._lock = Lock()

    def of(self, job: Job) -> str:
        problem, data = job.problem, job.problem.data
        options = {name: value for name, value in asdict(job.options).items() if name != "time_limit"}
        words = [
            options,
            str(problem.loss),
            str(problem.architecture),
            str(problem.dtype),
            problem.run,
            job.member,
            job.stage,
        ]
        digest = hashlib.sha256(json.dumps(words, sort_keys=True).encode())
        arrays: list[Any] = [data.x, data.y, data.weight, data.offset, data.residual, data.codes, data.first_bins]
        arrays += [data.bin_ends, problem.lower, problem.upper, problem.means, job.index, job.holdout]
        if job.start is not None:
            arrays += [*job.start.weights, *job.start.biases, job.start.center]
            digest.update(repr((job.start.group_sizes, job.start.fan_in)).encode())
        for array in arrays:
            digest.update((b"none" if array is None else self._array(np.asarray(array)).encode()) + b"|")
        return digest.hexdigest()

    def _array(self, array: NDArray[Any]) -> str:
        with self._lock:
            known = self._known.get(id(array))
            if known is None or known[0] is not array:  # holding the array keeps its id from being used again
                plain = np.ascontiguousarray(array)
                text = hashlib.sha256(f"{plain.dtype.str}{plain.shape}".encode())
                text.update(plain.reshape(-1).view(np.uint8).data)
                known = self._known[id(array)] = array, text.hexdigest()
            return known[1]


def pack_result(result: TrainingResult, job: str) -> bytes:
    """job: its digest, which the seal covers: a file cannot pass for the result of another training."""
    from safetensors.numpy import save

    tensors: Tensors = {}
    shots = []
    for number, shot in enumerate(result.snapshots):
        network = shot.network
        names = {"weight": network.weights, "bias": network.biases}
        for name, arrays in names.items():
            tensors |= {f"{number}.{name}.{k}": np.ascontiguousarray(array) for k, array in enumerate(arrays)}
        if network.center is not None:
            tensors[f"{number}.center"] = np.ascontiguousarray(network.center)
        shape = {"group_sizes": list(network.group_sizes), "fan_in": network.fan_in, "layers": len(network.weights)}
        losses = {"holdout_loss": _hex(shot.holdout_loss), "training_loss": _hex(shot.training_loss)}
        shots.append({"step": shot.step, **losses, **shape})
    entry = {"snapshots": shots, "best": result.best, "stopped": result.stopped, "seconds": result.seconds}
    text = json.dumps(entry | {"seal": seal_of([_ENTRY, job, entry], tensors)}, sort_keys=True)
    return bytes(save(tensors, metadata={_ENTRY: text}))


def unpack_result(data: bytes, job: str, n_features: int, path: str | PathLike[str]) -> TrainingResult:
    """The inverse; every failure is a CheckpointError."""
    from safetensors.numpy import load

    try:
        entry, tensors = parts_of(data, _ENTRY, load)
        seal = entry.pop("seal")
        odd = any(array.dtype != np.float64 for array in tensors.values())
        if odd or seal != seal_of([_ENTRY, job, entry], tensors):
            raise ValueError("it does not match its seal")
        shots = tuple(_snapshot(shot, number, tensors, n_features) for number, shot in enumerate(entry["snapshots"]))
        best, seconds = int(entry["best"]), float(entry["seconds"])
        if not 0 <= best < len(shots) or entry["stopped"] not in ("finished", "patience"):
            raise ValueError("it says nothing about a finished training")
        return TrainingResult(shots[best].network, shots, best, entry["stopped"], seconds)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise CheckpointError(
            f"a checkpoint holds trainings as monolip writes them; {path} is damaged or edited "
            f"({reprlib.repr(str(error))}); remove the folder to start afresh."
        ) from None


def _snapshot(shot: dict[str, Any], number: int, tensors: Tensors, n_features: int) -> Snapshot:
    layers = range(shot["layers"])
    weights = tuple(tensors[f"{number}.weight.{k}"] for k in layers)
    biases = tuple(tensors[f"{number}.bias.{k}"] for k in layers)
    widths = [n_features, *(len(weight) for weight in weights)]
    fits = all(w.shape == (n, d) for w, n, d in zip(weights, widths[1:], widths, strict=False))
    if not fits or any(b.shape != (n,) for b, n in zip(biases, widths[1:], strict=True)):
        raise ValueError("its layers do not fit together")
    if not all(np.isfinite(array).all() for array in (*weights, *biases)):
        raise ValueError("its weights are not finite")
    sizes = tuple(int(size) for size in shot["group_sizes"])
    fan_in = None if shot["fan_in"] is None else int(shot["fan_in"])
    network = NetworkArrays(weights, biases, sizes, fan_in, tensors.get(f"{number}.center"))
    loss = None if shot["holdout_loss"] is None else float.fromhex(shot["holdout_loss"])
    training_loss = float.fromhex(shot["training_loss"])
    if math.isnan(training_loss) or (loss is not None and math.isnan(loss)):
        raise ValueError("its loss is not a number")
    known = Snapshot(int(shot["step"]), loss, None, np.zeros(0))  # type: ignore[arg-type]  # the trainer is gone
    # what its trainer would have worked out
    known.__dict__["network"], known.__dict__["training_loss"] = network, training_loss
    return known


def _hex(value: float | None) -> str | None:
    return None if value is None else float(value).hex()
