"""SealedFormat: how the file of a network is written, and what is checked before a network is built from it."""

from __future__ import annotations

import errno
import json
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeVar

from numpy.typing import NDArray

from .errors import FrozenFileError, MonolipError
from .sealed_file import entry_of, header_length, named_path, ordinary_size, read_first, seal_of, tensors_of

__all__ = ["BEFORE", "MAX_HEADER", "RESERVED", "SealedFormat", "building_from", "without_reserved"]

MAX_HEADER = 64 * 2**20
_OTHER = {  # what people have beside their models, by its first bytes
    b"PAR1": "a Parquet table",
    b"ARROW1": "an Arrow table",
    b"{": "a JSON file",
    b"PK\x03\x04": "a zip archive or an Excel file",
    **dict.fromkeys((b"\x80\x04\x95", b"\x80\x05\x95"), "a pickle, which is code and never loaded"),
}
_LOADERS = {
    "monolip.FrozenNetwork": "FrozenNetwork.load, or the load of the estimator that saved it",
    "monolip.FixedPointNetwork": "FixedPointNetwork.load",
}
BEFORE = "monolip at commit b8f3b08 or before"  # which read version 1 of every format; there was no release yet
# Fields of a structure that are reserved for later versions, and what for. Today they are absent or empty lists.
RESERVED = {"sorted_outputs": "sorted outputs", "relations": "relations between features"}
_ENTRY = "monolip"
_FIELDS = {"format", "version", "digest", "structure"}
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError)


class _Digested(Protocol):
    @property
    def digest(self) -> str: ...


Network = TypeVar("Network", bound=_Digested)


@dataclass(frozen=True)
class SealedFormat:
    """The format of a network's file: its metadata entry "monolip" is {format, version, digest, structure}.

    A file is checked in this order: its size, before it is read; format and version; reserved fields; kinds of numbers;
    the digest; and then, by building the network, the promise itself. The network's own digest must be the one that was
    read:

        digest(built from what was read) = sha256(what was read) = the digest that the file states

    Args:
        name, version: what a file must say it is.
        dtypes: the kinds of numbers it may hold, by numpy's names.

    Examples:
        >>> import numpy as np
        >>> two = SealedFormat("two numbers", 1, ("float64",))
        >>> two.digest({"names": ["a", "b"]}, {"x": np.array([1.0, 2.0])})[:16]
        'c6c5636d8fbc8862'
    """

    name: str
    version: int
    dtypes: tuple[str, ...]

    def digest(self, structure: dict[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
        """The seal over structure and numbers."""
        return seal_of([self.name, self.version, structure], tensors)

    def pack(
        self,
        structure: dict[str, Any],
        tensors: Mapping[str, NDArray[Any]],
        digest: str,
        *,
        extra: Mapping[str, str] | None = None,
        max_header: int = MAX_HEADER,
    ) -> bytes:
        """The bytes of a file. extra: further entries of metadata, which the digest does not cover."""
        from safetensors.numpy import save

        header = {"format": self.name, "version": self.version, "digest": digest, "structure": structure}
        data = bytes(save(dict(tensors), metadata={**(extra or {}), _ENTRY: json.dumps(header, sort_keys=True)}))
        if (length := header_length(data)) > max_header:
            allowed = f"a model file has at most {max_header} bytes of names and categories"
            raise FrozenFileError(f"{allowed}; got {length}; merge rare categories, or shorten their names.")
        return data

    def load(
        self,
        path: str | PathLike[str],
        build: Callable[[dict[str, Any], dict[str, NDArray[Any]]], Network],
        *,
        max_bytes: int,
    ) -> Network:
        """Read, check the seal, build; every failure is a FrozenFileError that says what is wrong with the file."""
        data = _read_model(named_path(path), max_bytes)
        header = self._header(data, path)
        structure, tensors = without_reserved(header["structure"], path), self._tensors(data, path)
        computed = self.digest(structure, tensors)
        if computed != header["digest"]:  # over what was read, before anything is built from it
            stored = reprlib.repr(header["digest"])
            raise FrozenFileError(
                f"{path} does not match its digest: stored {stored}, computed {computed[:16]}...; "
                "the file was damaged or edited; get an undamaged copy."
            )
        with building_from(path):
            network = build(structure, tensors)
        if network.digest != computed:  # True for 1, -0.0 for 0.0, fields or tensors that belong to no network
            raise FrozenFileError(f"{path} is not written as monolip writes it; get a copy that save() made.")
        return network

    def _header(self, data: bytes, path: str | PathLike[str]) -> dict[str, Any]:
        try:
            header: dict[str, Any] = entry_of(data, _ENTRY)
            found = (header["format"], header["version"])
            complete = set(header) == _FIELDS and isinstance(header["structure"], dict)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise FrozenFileError(
                f"{path} has no readable monolip header ({reprlib.repr(error)}); is it a monolip file?"
            ) from error
        other = _LOADERS.get(found[0]) if isinstance(found[0], str) and found[0] != self.name else None
        if other is not None:
            raise FrozenFileError(f"{path} must hold {self.name}; got a file of {found[0]}; load it with {other}.")
        if found == (self.name, 1) and type(found[1]) is int and self.version > 1:
            raise FrozenFileError(
                f"{path} must hold {self.name} version {self.version}; got version 1, of a model that may hold trees; "
                f"read it with {BEFORE}, or fit and save the model again."
            )
        if found[0] != self.name or type(found[1]) is not int or found[1] != self.version or not complete:
            raise FrozenFileError(
                f"{path} must hold {self.name} version {self.version}; got {reprlib.repr(found[0])} version "
                f"{reprlib.repr(found[1])}{'' if complete else ' with missing or unknown fields'}; "
                "use the monolip that wrote it, or write it again."
            )
        return header

    def _tensors(self, data: bytes, path: str | PathLike[str]) -> dict[str, NDArray[Any]]:
        from safetensors.numpy import load

        try:
            tensors: dict[str, NDArray[Any]] = tensors_of(data, load)
        except ValueError as error:
            raise FrozenFileError(f"{path} is damaged ({error}); get an undamaged copy.") from error
        other = [name for name, array in tensors.items() if array.dtype.name not in self.dtypes]
        if other:
            kinds = " and ".join(self.dtypes)
            raise FrozenFileError(f"{path} must hold {kinds} numbers only; {other[:3]} are not; write it again.")
        return tensors


def without_reserved(structure: dict[str, Any], path: str | PathLike[str]) -> dict[str, Any]:
    """The structure without RESERVED fields, which the digest does not cover while they are empty; FrozenFileError
    where one is not: a later version has written something that this one cannot prove."""
    for field, what in RESERVED.items():
        found = structure.get(field, [])
        if type(found) is not list or found:
            raise FrozenFileError(
                f"this version of monolip does not support {what}; {path} has {field!r}: {reprlib.repr(found)}; read "
                "it with the later version that wrote it."
            )
    return {key: value for key, value in structure.items() if key not in RESERVED}


@contextmanager
def building_from(path: str | PathLike[str]) -> Iterator[None]:
    """Whatever fails while a network is built from what was read is a FrozenFileError that names the file."""
    try:
        yield
    except MonolipError as error:
        raise FrozenFileError(f"{path} holds a network that is not what it claims; {error}") from error
    except _MALFORMED as error:
        found = reprlib.repr(error)
        raise FrozenFileError(f"{path} has a malformed structure ({found}); get an undamaged copy.") from error


def _read_model(path: Path, max_bytes: int) -> bytes:
    try:
        size = ordinary_size(path)
    except FileNotFoundError:
        words = "a model is loaded from a file that save() wrote; there is none of this name; correct the path"
        raise FileNotFoundError(errno.ENOENT, words, str(path)) from None
    if size is None:
        raise FrozenFileError(f"a model is an ordinary file; {path} is not one; name the file that save() wrote.")
    if size > max_bytes:
        raise FrozenFileError(
            f"{path} has {size} bytes, more than max_bytes={max_bytes}; raise it if you trust the file."
        )
    data = read_first(path, size)
    if len(data) < 8:
        raise FrozenFileError(f"{path} is not a monolip file: it has only {len(data)} bytes; get an undamaged copy.")
    length = header_length(data)
    other = next((kind for start, kind in _OTHER.items() if data.startswith(start)), None)
    if length > MAX_HEADER and other is not None:
        raise FrozenFileError(
            f"a model is a file that save() wrote; {path} is not a monolip file but {other}; name another."
        )
    if length > min(MAX_HEADER, len(data) - 8):
        raise FrozenFileError(
            f"{path} claims a header of {length} bytes in a file of {len(data)}; it is truncated, damaged or not a "
            "monolip file; get an undamaged copy."
        )
    return data
