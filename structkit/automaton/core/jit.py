"""How the loops that must be fast are compiled: by numba, once on a machine, and cached on disk.

The first use waits for that, so kernels are written to be compiled fast (`python -m benchmarks.startup` measures it):

- They allocate nothing and return numbers; who calls them brings the arrays, and larger ones if they were too small.
  Allocating, filling, slicing and returning arrays takes numba far longer to compile than loops over them.
- Who calls a helper brings numbers of the same types each time, made int64 by `np.int64(...)` if need be. For each
  combination of types it is compiled anew, and a literal such as 0 has a type of its own.
- No reference is counted and no wrapper is made that nobody calls: a fifth of the time.
- What is called in one place alone is inlined: an array argument costs as much as some lines of code.
"""

from __future__ import annotations

import functools

import numba

__all__ = ["helper", "inlined", "kernel"]

_lean = functools.partial(numba.njit, nogil=True, boundscheck=False, no_cfunc_wrapper=True, _nrt=False)

kernel = _lean(cache=True)
"""Compile a function that Python calls."""

helper = _lean(no_cpython_wrapper=True)
"""Compile a function that kernels call in several places; it is kept with them on disk."""

inlined = _lean(inline="always")
"""Make a function, which one kernel calls in one place, a part of that."""
