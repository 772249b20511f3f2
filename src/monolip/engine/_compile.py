"""One decorator for every compiled kernel: no GIL, numpy's error model, cached where a cache can be written."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite.binding import Linkage
from numba.core.compiler import Compiler

__all__ = ["compiled", "heard_compiling"]

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
_listeners: list[Callable[[], None]] = []


@contextlib.contextmanager
def heard_compiling(listener: Callable[[], None]) -> Iterator[None]:
    """It is called whenever a kernel begins to be compiled, in whatever thread; not for what a cache holds."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def _engine_stamp() -> str:
    """A digest of all sources with kernels: numba's own stamp sees only the file of the outermost kernel."""
    digest, engine = hashlib.sha256(), Path(__file__).parent
    for path in sorted([*engine.glob("*.py"), *engine.with_name("estimators").glob("_*.py")]):
        stat = path.stat()
        digest.update(f"{path.name} {stat.st_mtime_ns} {stat.st_size}".encode())
    return digest.hexdigest()


_STAMP = _engine_stamp()


class _InnerCompiler(Compiler):  # type: ignore[misc]
    """Leaves optimising to the outermost kernel, which does it for all it contains: a third of all compilation."""

    def define_pipelines(self) -> Any:
        if self.state.library is None:
            library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)
            library._optimize_final_module = lambda: None  # a private name: without it only time is lost
            self.state.library = library
        return super().define_pipelines()


class _OuterCompiler(Compiler):  # type: ignore[misc]
    """Keeps every kernel inside another to itself.

    They are shared by name within a process otherwise: the first copy that is loaded serves all, also the one that was
    not optimised because an outer kernel would do it. Bits of a training would depend on what ran before it.
    """

    def define_pipelines(self) -> Any:
        for listener in tuple(_listeners):
            listener()
        if self.state.library is None:
            library = self.state.targetctx.codegen().create_library(self.state.func_id.func_qualname)
            library.enable_object_caching()
            with contextlib.suppress(AttributeError):  # private names
                library._optimize_final_module = _alone(library, library._optimize_final_module)
            self.state.library = library
        return super().define_pipelines()


def _alone(library: Any, optimise: Callable[[], None]) -> Callable[[], None]:
    def internalise_and_optimise() -> None:
        for function in library._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        optimise()

    return internalise_and_optimise


def _dispatcher(function: Callable[..., Any], fast: bool, inner: bool, cache: bool) -> Any:
    flags: dict[str, Any] = {"nogil": True, "error_model": "numpy", "cache": cache}
    if fast:
        # fast kernels may reassociate and contract but must still see NaN and infinity: a diverging loss is reported
        flags["fastmath"] = {"reassoc", "contract", "nsz", "arcp", "afn"}
        # no reference counts: a slice would cost two atomic operations. Hence fast kernels must not allocate
        flags["_nrt"] = False
    if inner:
        flags |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": _InnerCompiler}
    else:
        flags["pipeline_class"] = _OuterCompiler
    return numba.njit(**flags)(function)


def _forgiving(save: Callable[..., None]) -> Callable[..., None]:
    """A cache that can no longer be written (a full disk) costs time at the next start, not this run."""

    def attempt(*arguments: Any) -> None:
        with contextlib.suppress(OSError):
            save(*arguments)

    return attempt


def compiled(*, fast: bool = False, inner: bool = False) -> Callable[[Kernel], Kernel]:
    """Compile a kernel when it is first called; `fast` allows reassociation (training), never set for evaluation.

    `fast` kernels allocate nothing: all their arrays come from the caller.
    `inner` kernels are called by other kernels only; sparing their way from Python saves a third of the compilation.
    Without a writable cache directory numba refuses to decorate; the kernel is then compiled once a process.
    """

    def decorate(function: Kernel) -> Kernel:
        try:
            dispatcher = _dispatcher(function, fast, inner, cache=not inner)
        except RuntimeError:
            return _dispatcher(function, fast, inner, cache=False)  # type: ignore[no-any-return]
        if inner:
            return dispatcher  # type: ignore[no-any-return]
        with contextlib.suppress(AttributeError):  # private attributes: without them only editing the engine suffers
            dispatcher._cache._cache_file._source_stamp = _STAMP
            dispatcher._cache.save_overload = _forgiving(dispatcher._cache.save_overload)
        return dispatcher  # type: ignore[no-any-return]

    return decorate
