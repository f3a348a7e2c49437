"""Arrays that kernels read by address.

A call of a kernel costs 45 ns for each array argument. A kernel of a parse step reads about forty arrays, so it
receives one array, `Memory.context`, with the address and the shape of each of them. The functions of this module are
compiled into the kernels: `int32_array(context, NAME)` is the array in the slot `NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array
from numpy.typing import NDArray

from structkit.automaton.core.jit import exclusive_kernel, helper

__all__ = [
    "Memory",
    "bool_array",
    "int32_array",
    "int32_matrix",
    "int64_array",
    "int64_matrix",
    "put",
    "put_at",
    "uint8_array",
    "uint8_matrix",
    "uint32_array",
    "uint32_at",
]

_FIELDS = 3
"""Numbers per slot of a context: the address, the number of rows, and the number of columns."""


def _reader(dtype: str, dimensions: int) -> Any:
    """Return the function of kernels that makes an array of a slot; numba has no types for such functions."""
    numpy_dtype = np.dtype(dtype)
    item = numba.from_dtype(numpy_dtype)
    array_type = types.Array(item, dimensions, "C")

    def read(typing_context, context, slot):
        def generate(target, builder, signature, arguments):
            numbers = make_array(signature.args[0])(target, builder, arguments[0]).data
            start = builder.mul(arguments[1], target.get_constant(types.intp, _FIELDS))

            def field(number):
                index = builder.add(start, target.get_constant(types.intp, number))
                return builder.load(builder.gep(numbers, [index]))

            size = target.get_constant(types.intp, numpy_dtype.itemsize)
            shape, strides = [field(1)], [size]
            if dimensions == 2:
                shape, strides = [field(1), field(2)], [builder.mul(field(2), size), size]
            made = make_array(array_type)(target, builder)
            populate_array(
                made,
                data=builder.inttoptr(field(0), target.get_data_type(item).as_pointer()),
                shape=cgutils.pack_array(builder, shape),
                strides=cgutils.pack_array(builder, strides),
                itemsize=size,
                meminfo=None,
            )
            return made._getvalue()

        return array_type(types.Array(types.int64, 1, "C"), types.int64), generate

    return intrinsic(read)


bool_array, uint8_array = _reader("bool", 1), _reader("uint8", 1)
int32_array, int64_array, uint32_array = _reader("int32", 1), _reader("int64", 1), _reader("uint32", 1)
int32_matrix, int64_matrix, uint8_matrix = _reader("int32", 2), _reader("int64", 2), _reader("uint8", 2)


def _uint32_at(typing_context, address, size):
    """The array of `size` numbers at an address."""
    array_type = types.Array(types.uint32, 1, "C")

    def generate(target, builder, signature, arguments):
        item_size = target.get_constant(types.intp, 4)
        made = make_array(array_type)(target, builder)
        populate_array(
            made,
            data=builder.inttoptr(arguments[0], target.get_data_type(types.uint32).as_pointer()),
            shape=cgutils.pack_array(builder, [arguments[1]]),
            strides=cgutils.pack_array(builder, [item_size]),
            itemsize=item_size,
            meminfo=None,
        )
        return made._getvalue()

    return array_type(types.int64, types.int64), generate


uint32_at: Any = intrinsic(_uint32_at)


@exclusive_kernel
def _extend(context, slot, larger, address):
    """Copy the items of a slot to a larger array and put that into the slot."""
    items = int32_array(context, slot)
    for index in range(len(items)):
        larger[index] = items[index]
    context[_FIELDS * slot] = address
    context[_FIELDS * slot + 1] = len(larger)


@helper
def put_at(context, slot, array, address):
    """Put an array with one dimension into a slot."""
    context[_FIELDS * slot] = address
    context[_FIELDS * slot + 1] = len(array)
    context[_FIELDS * slot + 2] = len(array)


@helper
def put(context, slot, array):
    """Put an array into a slot, as `Memory.bind` does."""
    context[_FIELDS * slot] = array.ctypes.data
    context[_FIELDS * slot + 1] = array.shape[0]
    context[_FIELDS * slot + 2] = array.shape[array.ndim - 1]


class Memory:
    """The arrays of a context, which this object keeps alive.

    Kernels that read a context hold the interpreter lock, and a context changes in one step, so threads need no lock
    to use it.

    Args:
        slots: The number of slots.
        shared: Another context, whose arrays are in the same slots of this one.

    Attributes:
        context: int64[...], the addresses and shapes that kernels read.
        extended_bytes: The size of the arrays that `extend` made.
        lock: While it is held, no array is replaced by another one.
    """

    def __init__(self, slots: int, shared: Memory | None = None) -> None:
        self.context: NDArray[np.int64] = (
            np.zeros(_FIELDS * slots, np.int64) if shared is None else shared.context.copy()
        )
        self.extended_bytes = 0
        self._arrays: dict[int, NDArray[Any]] = {} if shared is None else shared._arrays.copy()
        self._extended: dict[int, NDArray[Any]] = {}
        self._tables: dict[int, tuple[int, int, Callable[..., None]]] = {}
        self.lock = Lock()

    def __getitem__(self, slot: int) -> NDArray[Any]:
        """Return the array of a slot, also while another thread extends it.

        Kernels have the larger array, and other threads may have put items into it, before it is in `_arrays`.
        """
        array = self._arrays[slot]
        if len(array) != (size := self.context[_FIELDS * slot + 1]):
            extended = self._extended.get(slot)
            return self._arrays[slot] if extended is None or len(extended) != size else extended
        return array

    def bind(
        self, first: int, arrays: Sequence[NDArray[Any]], put_all: Callable[..., None] | None = None
    ) -> None:
        """Put arrays, C-contiguous with one or two dimensions, into adjacent slots from `first` on.

        Args:
            first: The first slot.
            arrays: The arrays.
            put_all: A kernel that receives the context and the arrays and calls `put` for each: faster for many arrays.
        """
        fields: list[int] = []
        for each in () if put_all else arrays:
            fields += (each.__array_interface__["data"][0], len(each), each.shape[-1])
        with self.lock:
            known = self._arrays
            # The previous arrays live until no kernel reads them.
            previous = [known.get(slot) for slot in range(first, first + len(arrays))]
            known.update(enumerate(arrays, first))
            if put_all:
                put_all(self.context, *arrays)
            else:
                self.context[_FIELDS * first : _FIELDS * first + len(fields)] = fields
            del previous

    def allocate(self, first: int, sizes: Sequence[int]) -> None:
        """Put new arrays of zeros, int32, into adjacent slots from `first` on; they are parts of one allocation."""
        block = np.zeros(sum(sizes), np.int32)
        address, start = block.__array_interface__["data"][0], 0
        fields: list[int] = []
        for slot, size in enumerate(sizes, first):
            fields += (address + 4 * start, size, size)
            self._arrays[slot] = block[start : start + size]
            start += size
        self.context[_FIELDS * first : _FIELDS * first + len(fields)] = fields

    def hash(self, entries: int, columns: int, buckets: int, rehash: Callable[..., None]) -> None:
        """Let a hash table grow with its entries, because long lists in few buckets are slow.

        Args:
            entries: The slot of the entries.
            columns: The numbers of an entry.
            buckets: The slot of the buckets, whose number is a power of 2.
            rehash: A kernel that receives the context, an array of zeros and its address, puts the entries into these
                buckets, and the array into the slot.
        """
        self._tables[entries] = columns, buckets, rehash

    def extend(self, slot: int) -> None:
        """Double the length of an int32 array; the new items are uninitialized."""
        with self.lock:
            previous = self._arrays[slot]
            larger = self._extended[slot] = np.empty(2 * len(previous), np.int32)
            _extend(self.context, slot, larger, larger.ctypes.data)
            self._arrays[slot] = larger
            del self._extended[slot]
            self.extended_bytes += larger.nbytes - previous.nbytes
            if slot in self._tables:
                columns, buckets, rehash = self._tables[slot]
                while len(self._arrays[buckets]) * columns < len(larger):
                    self._rehash(buckets, rehash)

    def _rehash(self, buckets: int, rehash: Callable[..., None]) -> None:
        previous = self._arrays[buckets]
        array = np.zeros(2 * len(previous), np.int32)
        rehash(self.context, array, array.ctypes.data)
        self._arrays[buckets] = array
        self.extended_bytes += array.nbytes - previous.nbytes
