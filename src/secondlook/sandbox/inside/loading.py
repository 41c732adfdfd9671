"""Tables as the code finds them: frames of pandas, read from open files."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def load(descriptor: int) -> pd.DataFrame:
    """One Parquet file. Reads on this thread alone: a job can make no other."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = os.fstat(descriptor).st_size
    content = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
    try:
        reader = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)), pre_buffer=False)
        table = reader.read(use_threads=False)
    finally:
        os.close(descriptor)
    return _plain_types(table).to_pandas(
        use_threads=False, date_as_object=False, ignore_metadata=True, split_blocks=True
    )


def _plain_types(table: pa.Table) -> pa.Table:
    """Decimals as floats and categories as text, so that the usual operations work on them."""
    import pyarrow as pa

    for position, column in enumerate(table.schema):
        wanted = None
        if pa.types.is_decimal(column.type):
            wanted = pa.float64()
        elif pa.types.is_dictionary(column.type):
            wanted = column.type.value_type
        if wanted is not None:
            changed = table.column(position).cast(wanted)
            table = table.set_column(position, pa.field(column.name, wanted), changed)
    return table
