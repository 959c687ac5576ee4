"""Cells in quotes that mean a missing value: writers that quote every cell quote those without a value too.

In a column of texts a quoted cell is a text, even ``""`` or ``"NA"``. In a column that is otherwise numbers or times it is a missing
value: taken for a text, a single one would turn the whole column into texts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataloader_expert.sources.plain import NULLS

if TYPE_CHECKING:
    import pyarrow as pa


def with_null_texts(table: pa.Table) -> list[str]:
    """The columns of texts, some of which are what elsewhere means a missing value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    nulls = pa.array(NULLS)
    texts = [field.name for field in table.schema if field.type == pa.string()]
    return [name for name in texts if pc.any(pc.is_in(table[name], value_set=nulls)).as_py()]


def with_numbers_of(table: pa.Table, read_again: pa.Table) -> pa.Table:
    """The table with the columns that are no texts when read again with quoted cells for missing values, or that are empty throughout."""
    import pyarrow.compute as pc
    import pyarrow.types as t

    for field in read_again.schema:
        empty = t.is_null(field.type) and pc.max(pc.binary_length(table[field.name])).as_py() == 0
        if empty or not (t.is_string(field.type) or t.is_null(field.type)):
            table = table.set_column(table.schema.get_field_index(field.name), field, read_again[field.name])
    return table
