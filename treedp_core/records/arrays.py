"""Arrow arrays -> numpy without copies, and without the imports that Arrow's own conversion brings along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def is_text(kind: pa.DataType) -> bool:
    """Whether a type holds plain text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view())


def plain_numpy(array: Any) -> NDArray[Any]:
    """Return a plain Arrow array without nulls as numpy, without going through pandas where that is easy."""
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


def text_lengths(array: Any) -> NDArray[np.int32]:
    """Return the length of each text of a plain string array in bytes."""
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int32) if len(array) else np.zeros(1, dtype=np.int32)
    lengths: NDArray[np.int32] = np.diff(offsets[array.offset : array.offset + len(array) + 1])
    return lengths
