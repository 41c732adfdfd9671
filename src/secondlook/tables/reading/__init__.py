"""Files become tables: typed columns in Parquet files of ours, read within limits."""

from __future__ import annotations
