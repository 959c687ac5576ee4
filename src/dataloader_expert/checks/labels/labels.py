"""Each sample's class, length and group, kept by index for drawing epochs; reports only their quantiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.common.wording import said
from dataloader_expert.facts import Fact, Quantity
from dataloader_expert.sources.base import Block, Column, Field
from dataloader_expert.sources.roles import group_name

LENGTHS = Quantity(
    "lengths",
    "items",
    "quantiles of the samples' lengths (the dimension that varies, or characters of a text or of all turns of a conversation)",
)
MOST = 20_000_000
"""The most samples for which this is kept; for larger data no epoch is drawn."""
ABSENT = "(none)"
KINDS = {"sequence", "tokens", "audio", "text"}
"""Kinds of fields that samples have a length by; texts that are names or titles beside other columns are none."""


class Labels(Check):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names: dict[str, int] = {}
        self.label: list[tuple[int, Any]] = []
        self.length: list[tuple[int, Any]] = []
        self.group: list[tuple[int, Any]] = []
        self.group_names: dict[str, int] = {}
        self.difficulty: list[tuple[int, Any]] = []
        self.train: list[tuple[int, Any]] = []
        self.long = context.length or next(
            (
                f.name
                for f in context.fields
                if f.kind in (KINDS - {"text"} if context.short_texts else KINDS)
                and f.name != context.label
                and (not f.shape or f.shape[0] is None)
            ),
            None,
        )
        self.at = 0
        """The dimension that is a sample's length."""
        if self.long is None:
            self.long, self.at = next(
                ((f.name, f.shape.index(None)) for f in context.fields if along_one(f, context)), (None, 0)
            )
        self.talks = self.long is None and bool(context.conversations)
        """Whether lengths are those of what is said in conversations."""
        self.long = min(context.conversations) if self.talks else self.long
        self.grouped = context.grouped.field if context.grouped is not None else None

    def see(self, block: Block) -> None:
        import numpy as np

        n = block.samples
        self.seen += n
        if max(self.seen, self.context.samples or 0) > MOST:
            return
        start = block.unit.start
        if self.context.several_splits:
            names, codes = self.context.splits_of(block)
            self.train.append((start, codes == (names.index("train") if "train" in names else -1)))
        if self.context.label is not None and self.context.label in block.columns:
            self.label.append((start, _codes(block.columns[self.context.label], n, self.names)))
        if self.grouped is not None and self.grouped in block.columns:
            self.group.append((start, _codes(block.columns[self.grouped], n, self.group_names, group_name)))
        if self.long is not None and self.long in block.columns:
            values = block.columns[self.long].values[:n]
            length = _talk if self.talks else partial(_along, at=self.at) if self.at else _length
            self.length.append((start, np.array([length(v) for v in values], np.int32)))
        hard = self.context.difficulty
        if hard is not None and hard in block.columns:
            self.difficulty.append((start, np.asarray(block.columns[hard].values[:n], np.float64)))

    def merge(self, other: Check) -> None:
        assert isinstance(other, Labels)
        self.seen += other.seen
        for mine, theirs, names, codes in (
            (self.label, other.label, self.names, other.names),
            (self.group, other.group, self.group_names, other.group_names),
        ):
            place = _places(names, codes)
            mine += [(start, place[values]) for start, values in theirs]
        self.length += other.length
        self.difficulty += other.difficulty
        self.train += other.train

    def codes(self) -> Any:
        """One class code per sample read, in index order, int32; None without a label."""
        return _in_order(self.label)

    def class_names(self) -> list[str]:
        """Names by code, spelt as in the class counts."""
        text = any(f.name == self.context.label and f.dtype == "str" for f in self.context.fields)
        return [self.context.class_name(name if text else _plain(name)) for name in self.names]

    def lengths(self) -> Any:
        return _in_order(self.length)

    def rows(self) -> Any:
        """The indices of the samples read one by one, of which labels and lengths are; None where they were read in blocks."""
        import numpy as np

        starts = sorted(start for start, _ in (self.label or self.length))
        return np.array(starts) if starts and len(starts) == self.seen else None

    def in_train(self) -> Any:
        """Whether each sample is in the training split, bool; None without a training split and another one."""
        train = _in_order(self.train)
        return train if train is not None and train.any() and not train.all() else None

    def difficulties(self) -> Any:
        return _in_order(self.difficulty)

    def group_codes(self) -> Any:
        """One group code per sample, in the sorted order of group values; None without groups."""
        import numpy as np

        codes = _in_order(self.group)
        if codes is None:
            return None
        dtypes = {f.name: f.dtype for f in self.context.fields}
        number = dtypes.get(self.grouped or "", "").startswith(("int", "uint", "float"))
        names = list(self.group_names)
        order = sorted(range(len(names)), key=lambda code: _number(names[code]) if number else names[code])
        return np.argsort(np.array(order, np.int64)).astype(np.int32)[codes]

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        lengths = self.lengths()
        if lengths is not None:
            low, median, high, top = np.percentile(lengths, [0, 50, 95, 100]).tolist()
            value = {"field": self.long, "at": self.at, "min": low, "median": median, "p95": high, "max": top}
            yield Fact(LENGTHS, value, self.evidence())


def along_one(field: Field, context: Context) -> bool:
    """Whether samples of a field of numbers differ in one dimension, and not the first, such as spectrograms [80, T]: boxes and points are
    as many as there are."""
    if field.kind not in ("sequence", "array") or field.name == context.label:
        return False
    return field.shape.count(None) == 1 and field.shape[0] is not None


def _along(value: Any, at: int) -> int:
    """The size of this dimension."""
    shape = getattr(value, "shape", ())
    return int(shape[at]) if len(shape) > at else 0


def _talk(value: Any) -> int:
    """Characters of all that is said in a conversation."""
    return sum(map(len, said(value)))


def _length(value: Any) -> int:
    """The length of what has one; a number is the length itself."""
    if hasattr(value, "__len__"):
        return len(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0
    return int(number) if 0 <= number < 1 << 31 else 0


def _codes(column: Column, n: int, names: dict[str, int], called: Callable[[Any], str] = str) -> Any:
    """The values' codes, int32, by the names they are ``called``; samples without one share the code of ``ABSENT``."""
    import numpy as np

    values = column.values[:n]
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biu" and column.nulls is None:
        distinct, first, at = np.unique(values, return_index=True, return_inverse=True)
        own = np.empty(len(distinct), np.int32)
        for k in np.argsort(first).tolist():  # in the order of their first occurrence
            own[k] = names.setdefault(str(distinct[k].item()), len(names))
        return own[at]
    plain = [called(_whole(v)) for v in (values.tolist() if hasattr(values, "tolist") else values)]
    if column.nulls is not None:
        plain = [ABSENT if absent else v for v, absent in zip(plain, column.nulls[:n], strict=True)]
    return np.array([names.setdefault(v, len(names)) for v in plain], np.int32)


def _whole(value: Any) -> Any:
    """A float that is a whole number as that number, as classes are counted; others as they are."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _number(name: str) -> float:
    """The number that a text was written from; missing values come last."""
    try:
        return float(name)
    except ValueError:
        return float("inf")


def _plain(name: str) -> Any:
    """The text of a code as the integer that it was written from."""
    return int(name) if name.lstrip("-").isdigit() else name


def _places(names: dict[str, int], other: dict[str, int]) -> Any:
    import numpy as np

    return np.array([names.setdefault(name, len(names)) for name in other] or [0], np.int32)


def _in_order(parts: list[tuple[int, Any]]) -> Any:
    import numpy as np

    if not parts:
        return None
    return np.concatenate([values for _, values in sorted(parts, key=lambda p: p[0])])


CHECK = Labels
