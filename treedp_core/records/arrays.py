"""Arrow arrays -> numpy without copies, and without the imports that Arrow's own conversion brings along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a type holds numbers: whole ones, floats, or the decimals of a database."""
    exact = pa.types.is_integer(kind) or pa.types.is_decimal128(kind) or pa.types.is_decimal256(kind)
    return bool(exact or pa.types.is_floating(kind))


def plain_numpy(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return a plain Arrow array without nulls as numpy, (n,), without going through pandas where that is easy."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if len(array) == 0:
        return np.empty(0, dtype=array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
        return np.frombuffer(array.buffers()[1], dtype=np.uint8)[array.offset : array.offset + len(array)].view(
            np.bool_
        )
    flat = np.frombuffer(array.buffers()[1], dtype=array.type.to_pandas_dtype())
    return flat[array.offset : array.offset + len(array)]


def text_bounds(array: pa.StringArray) -> NDArray[np.int32]:
    """Return where each text begins in the array's bytes, and where the last one ends, (n + 1,)."""
    if not len(array):
        return np.zeros(1, dtype=np.int32)
    return np.frombuffer(array.buffers()[1], dtype=np.int32)[array.offset : array.offset + len(array) + 1]


def text_lengths(array: pa.Array) -> NDArray[Any]:
    """Return the length in bytes of each text of a plain text array, (n,); 0 for a missing one."""
    if array.type == pa.string() and not array.null_count:  # Arrow's first function loads tens of megabytes
        return np.diff(text_bounds(array))
    if array.type == pa.string_view():
        array = array.cast(pa.large_string())
    return plain_numpy(pc.binary_length(array).fill_null(0))


def indices_of(array: pa.DictionaryArray) -> NDArray[np.int32]:
    """Return which entry of its dictionary each cell holds, (n,); a missing one gets the index after the last entry."""
    indices = array.indices if array.indices.type == pa.int32() else array.indices.cast(pa.int32())
    if indices.null_count:
        indices = indices.fill_null(pa.scalar(len(array.dictionary), indices.type))
    # to_numpy would import pandas on first use, which costs more than counting a million rows
    flat = np.frombuffer(indices.buffers()[1], dtype=np.int32) if len(indices) else np.empty(0, dtype=np.int32)
    return flat[indices.offset : indices.offset + len(indices)]
