"""Decorators that compile kernels with numba, once per machine, with a cache on disk.

The first use waits for the compilation, so kernels are written to compile fast (`python -m benchmarks.startup` measures
this):

- Kernels allocate nothing and return numbers. The caller passes the arrays, and larger ones if they are too small.
  Allocating, filling, slicing and returning arrays takes far longer to compile than loops over arrays.
- Calls of a helper pass the same types, converted by `np.int64(...)` if necessary. A helper is compiled once per
  combination of argument types, and a literal such as 0 has its own type.
- Reference counting and unused wrappers are off, which saves a fifth of the time.
- A function with one call site is inlined: an array argument costs as much as several lines of code.
"""

from __future__ import annotations

import functools

import numba

__all__ = ["helper", "inlined", "kernel"]

_lean = functools.partial(numba.njit, nogil=True, boundscheck=False, no_cfunc_wrapper=True, _nrt=False)

kernel = _lean(cache=True)
"""Compile a function that Python calls."""

helper = _lean(no_cpython_wrapper=True)
"""Compile a function that kernels call in multiple places; it is cached on disk with each kernel."""

inlined = _lean(inline="always")
"""Inline a function that one kernel calls in one place."""
