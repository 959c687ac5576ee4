"""Columns that samples have from another table of the folder, with which they disagree: joined by the wrong key, or with rows that have slipped.

A table that names the same columns says what they are for each key. Where most samples agree with it, others whose values are those of any
other row were joined wrongly; values that changed with time are the same in all samples of a key. Where hardly any agrees, but all do with the
row before or after, the rows of one column have slipped. Columns that merely have the same name agree in neither way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.rows_kept import in_order, places
from dataloader_expert.conclusions import Finding, Severity, finding, number
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.links import Link, Plain, keys_in, plain_values

MISJOINED = Quantity(
    "joined_otherwise", "samples", "samples whose values differ from those of the same key in another table"
)
SLIPPED = Quantity(
    "rows_slipped", "samples", "samples that agree with another table only after a column is moved by a row"
)
KEPT, CELLS = 20_000, 1_000_000
"""The most rows, and values of all columns, that are kept."""
LEAST, FEWEST, DIFFERENT = 100, 5, 3
"""The fewest samples with a value in both tables, of those that disagree, and of different values of a column."""
USUAL, SLIP, ALL = 0.6, 0.98, 0.9
"""The least share of samples that agree; of those that do after a move by a row; and of values that disagree which are those of other rows."""
SCATTERED, EACH = 0.5, 2
"""The least share of different values among those that disagree, key by key, where they are no later state of their key; and the fewest
samples of a key that disagree, on average, for this to be told."""
WAYS = (0, -1, 1)
"""Rows by which a table's column is moved."""


class Joined(DrawnRows):
    ids = ("columns-contradict", "rows-shifted")

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.links = [link for link in context.links if link.keys.beside and link.keys.rows]
        self.tables = {link.field: Table.of(link) for link in self.links}
        self.fields = {
            link.field: [n for n in link.keys.beside if n not in (link.field, context.label)] for link in self.links
        }
        width = sum(map(len, self.fields.values())) + len(self.links) + 2
        self.drawn = Drawn(min(KEPT, CELLS // width))

    def applies(self) -> bool:
        return any(self.fields.values())

    def kept(self, block: Block, rows: Any) -> dict[str, Any]:
        import numpy as np

        kept: dict[str, Any] = {}
        for key, names in self.fields.items():
            table, column = self.tables[key], block.columns.get(key)
            found = [[]] * block.samples if column is None else keys_in(column)
            at = [table.at.get(found[i][0], -1) if len(found[i]) == 1 else -1 for i in rows.tolist()]
            kept[f"key {key}"] = np.array(at, np.int64)
            for name in names:
                own = block.columns.get(name)
                values = [None] * block.samples if own is None else plain_values(own, block.samples)
                looked = [table.looked(name, k, values[i]) for k, i in zip(at, rows.tolist(), strict=True)]
                kept[f"bits {key}/{name}"] = np.array([bits for bits, _ in looked], np.int8)
                kept[f"row {key}/{name}"] = np.array([row for _, row in looked], np.int64)
        return kept

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.drawn.parts:
            return
        rows = in_order(self.drawn.all()[1])
        for key, names in self.fields.items():
            link = next(one for one in self.links if one.field == key)
            said: dict[str, Json] = {"table": link.keys.file, "column": link.keys.column}
            odd = np.zeros(len(rows["sample"]), bool)
            joined: list[str] = []
            scattered = known = 0
            for name in names:
                bits, row = rows[f"bits {key}/{name}"], rows[f"row {key}/{name}"]
                there = bits >= 0
                if there.sum() < LEAST or len(np.unique(row[there])) < DIFFERENT:
                    continue
                known = max(known, int(there.sum()))
                agree = [float((bits[there] >> k & 1).mean()) for k in range(len(WAYS))]
                off = there & (bits & 1 == 0)
                if agree[0] >= USUAL and off.sum() >= FEWEST and (row[off] >= 0).mean() >= ALL:
                    pairs = np.unique(np.stack([rows[f"key {key}"][off], row[off]], 1), axis=0)
                    keys = len(np.unique(pairs[:, 0]))
                    scattered += bool(off.sum() >= EACH * keys and len(pairs) - keys >= SCATTERED * (off.sum() - keys))
                    odd |= off
                    joined.append(name)
                elif agree[0] < USUAL and max(agree[1:]) >= SLIP:
                    value: dict[str, Json] = said | {
                        "count": int(there.sum()),
                        "by": WAYS[1 + int(np.argmax(agree[1:]))],
                    }
                    value |= {"agree": round(agree[0], 4), "where": [*places(rows, off, name)]}
                    yield Fact(SLIPPED, value, self.evidence("sampled", int(there.sum())), {"field": name, "key": key})
            if joined:
                value = said | {"fields": [*joined], "count": int(odd.sum()), "of": known, "scattered": bool(scattered)}
                value |= {"where": [*places(rows, odd, joined[0])]}
                yield Fact(MISJOINED, value, self.evidence("sampled", known), {"key": key})

    def judge(self, facts: Facts) -> Iterable[Finding]:
        for fact in facts.all(MISJOINED):
            v, key, table = fact.value, escaped(str(fact.at["key"])), escaped(fact.value["table"])
            names = " and ".join(map(escaped, v["fields"]))
            one = "differs" if len(v["fields"]) == 1 else "differ"
            text = f"{names} {one} from {table} for the same {key} in {v['count']:,} of {number(v['of'], 'sample')}, "
            text += "and equals that of another row" if len(v["fields"]) == 1 else "and equal those of other rows"
            fix = f"join {table} again by {key}"
            severity: Severity = "warning" if v["scattered"] else "info"
            if not v["scattered"]:
                text += f"; the values may also be those of the same {key} at another time"
                fix += ", unless the values have changed since"
            yield finding("columns-contradict", severity, text, fact, fix, v["where"], v["count"])
        for fact in facts.all(SLIPPED):
            v, name, key = fact.value, escaped(str(fact.at["field"])), escaped(str(fact.at["key"]))
            way = "before" if v["by"] < 0 else "after"
            text = f"{name} is shifted by one row against {escaped(v['table'])}: {v['agree']:.0%} of {number(v['count'], 'sample')} agree with the row of "
            text += f"their {key}, and nearly all with the row {way} it"
            fix = f"find out which of the two tables has slipped by a row, and rewrite it: a join by {key} gives wrong values"
            yield finding("rows-shifted", "warning", text, fact, fix, v["where"], v["count"])


class Table:
    """The rows of another table by their key, and the first row with each value of a column."""

    def __init__(self, at: dict[Any, int], columns: dict[str, tuple[Plain, ...]]) -> None:
        self.at, self.columns = at, columns
        self.first: dict[str, dict[Plain, int]] = {}
        for name, values in columns.items():
            known = self.first[name] = {}
            for i, value in enumerate(values):
                if value is not None:
                    known.setdefault(_rounded(value), i)

    def __getstate__(self) -> dict[str, Any]:
        """Empty: what a process has looked up is in its rows."""
        return {"at": {}, "columns": {}, "first": {}}

    @staticmethod
    def of(link: Link) -> Table:
        at: dict[Any, int] = {}
        for i, key in enumerate(link.keys.rows):
            at.setdefault(key, i)
        return Table(at, dict(link.keys.beside))

    def looked(self, name: str, k: int, value: Plain) -> tuple[int, int]:
        """Of a value and its key's row ``k``: which of ``WAYS`` lead to an equal one, one bit each, and the first row with such a value; -1
        for none, or where nothing can be compared."""
        values = self.columns[name]
        if k < 0 or value is None or values[k] is None or isinstance(value, str) != isinstance(values[k], str):
            return -1, -1
        own = _rounded(value)
        bits = sum(1 << j for j, way in enumerate(WAYS) if _equal(own, values[(k + way) % len(values)]))
        return bits, self.first[name].get(own, -1)


def _equal(own: Plain, other: Plain) -> bool:
    return other is not None and own == _rounded(other)


def _rounded(value: Plain) -> Plain:
    """A number to six digits, as tables in several formats keep it."""
    return float(f"{value:.6g}") if isinstance(value, float) else value


CHECK = Joined
