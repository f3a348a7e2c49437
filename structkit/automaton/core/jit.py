"""Decorators that compile kernels with numba.

The installation compiles the kernels, and `structkit.automaton.core.object_code` loads the object code. Without it, the
first use on a machine waits for the compilation, and numba caches the result on disk. Therefore kernels are written to
compile fast (`python -m benchmarks.startup` measures this):

- Kernels allocate nothing and return numbers. The caller passes the arrays, and larger ones if they are too small.
  Allocating, filling, slicing and returning arrays takes far longer to compile than loops over arrays.
- Calls of a helper pass the same types, converted by `np.int64(...)` if necessary. A helper is compiled once per
  combination of argument types, and a literal such as 0 has its own type.
- Reference counting and unused wrappers are off, which saves a fifth of the time.
- A function with one call site is inlined: an array argument costs as much as several lines of code.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba

from structkit.automaton.core.object_code import KernelCache, ObjectCode

__all__ = ["SHIPPED", "exclusive_kernel", "helper", "inlined", "kernel", "load_kernels"]

_P = ParamSpec("_P")
_T = TypeVar("_T")

SHIPPED = ObjectCode(Path(__file__).with_name("compiled"))
"""The object code that the installation built."""

_KERNELS: list[object] = []
"""The dispatchers of all kernels of the imported modules."""

_lean = functools.partial(numba.njit, nogil=True, boundscheck=False, no_cfunc_wrapper=True, _nrt=False)


def kernel(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Compile a function that Python calls."""
    return _cached(_lean()(function), function)


def exclusive_kernel(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Compile a function that Python calls and that holds the interpreter lock, because it changes shared arrays."""
    return _cached(_lean(nogil=False)(function), function)


def _cached(compiled: Callable[_P, _T], function: Callable[_P, _T]) -> Callable[_P, _T]:
    if not numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # numba sets its options at run time
        compiled._cache = KernelCache(function, SHIPPED)  # type: ignore[attr-defined]  # a dispatcher
        _KERNELS.append(compiled)
    return compiled


@functools.cache
def load_kernels() -> None:
    """Load the object code of all kernels, once per process.

    Otherwise each kernel is loaded at its first call, some of them in the middle of a value, where a step that needs
    microseconds would need milliseconds.
    """
    SHIPPED.load_all(_KERNELS)


helper = _lean(no_cpython_wrapper=True)
"""Compile a function that kernels call in multiple places; it is cached on disk with each kernel."""

inlined = _lean(inline="always")
"""Inline a function that one kernel calls in one place."""
