"""Tables in files: delimited text, ARFF and Parquet, read within bounds into frames."""

from __future__ import annotations

from ogive.tables.table_files import read_table

__all__ = ["read_table"]
