"""Samples that occur more than once: within the data, across splits, with different labels; exact and near."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from dataloader_expert.checks.base import Check, Context
from dataloader_expert.checks.fingerprint import (
    DIGEST,
    HASHED_FROM,
    content_fields,
    digest64,
    digests,
    near_text,
    picture_hash,
    thumbs,
    without_margin,
)
from dataloader_expert.conclusions import Finding, Severity, finding
from dataloader_expert.facts import Fact, Facts, Json, Quantity
from dataloader_expert.sources.base import Block

DISTINCT = Quantity("distinct_samples", "samples", "distinct contents, label aside")
DUPLICATES = Quantity(
    "duplicates", "samples", "groups of equal samples: how many, in how many splits, with how many labels"
)
NEAR = Quantity("near_duplicates", "samples", "samples beyond the first in groups that nearly agree")
DISTANCE = 8
MOST_BRUTE = 40_000


class Duplicates(Check):
    ids = (
        "duplicate-samples",
        "duplicate-files",
        "label-conflict",
        "splits-overlap",
        "near-duplicates",
        "splits-near-overlap",
    )

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.names = content_fields(context)
        self.splits: list[str | None] = list(context.splits)
        self.digest: list[Any] = []
        self.label: list[Any] = []
        self.split: list[Any] = []
        self.index: list[Any] = []
        self.near: list[Any] = []
        self.inner: list[Any] = []
        """The same keys of pictures without their margins."""
        self.raw: list[int] = []
        self.files: dict[int, str] = {}
        self.pictures = any(
            f.kind == "image"
            and f.name in self.names
            and min(x or HASHED_FROM for x in f.shape[-3:-1] or f.shape or (99,)) >= HASHED_FROM
            for f in context.fields
        )
        self.texts = [f.name for f in context.fields if f.kind == "text" and f.name in self.names]

    def see(self, block: Block) -> None:
        import numpy as np

        n = block.samples
        self.seen += n
        if not n:
            return
        self.digest.append(digests(block, self.names))
        column = block.columns.get(self.context.label or "")
        if column is None:
            labels = np.zeros(n, np.uint64)
        else:
            labels = np.array([_label(v) for v in _plain(column.values)[:n]], np.uint64)
            if column.nulls is not None:
                labels[np.asarray(column.nulls[:n], bool)] = 0
        self.label.append(labels)
        if block.unit.split not in self.splits:
            self.splits.append(block.unit.split)
        self.split.append(np.full(n, self.splits.index(block.unit.split), np.int16))
        self.index.append(block.unit.start + np.arange(n))
        self.raw += [digest64(r) for r in block.raw]
        if len(self.files) < 1_000_000 and block.unit.samples == 1:
            self.files[block.unit.start] = block.unit.file
        if self.context.near:
            self.near.append(self._near(block, n))
            self.inner.append(self._inner(block, n) if self.pictures else self.near[-1])

    def _near(self, block: Block, n: int) -> Any:
        """A 64-bit near-duplicate key a sample; 0 where there is none."""
        import numpy as np

        for name in self.names:
            column = block.columns.get(name)
            if column is None:
                continue
            if self.pictures:
                values = column.values
                if hasattr(values[0], "getbands") or (hasattr(values[0], "ndim") and values[0].ndim >= 2):
                    return np.array(
                        [0 if v is None else picture_hash(v) or 0 for v in thumbs(block, name)[:n]], np.uint64
                    )
            elif name in self.texts:
                return np.array([near_text(v) if isinstance(v, str) else 0 for v in column.values[:n]], np.uint64)
        return self._rounded(block, n)

    def _inner(self, block: Block, n: int) -> Any:
        import numpy as np

        for name in self.names:
            if name in block.columns and any(v is not None for v in thumbs(block, name)):
                made = [0 if v is None else picture_hash(without_margin(v)) or 0 for v in thumbs(block, name)[:n]]
                return np.array(made, np.uint64)
        return np.zeros(n, np.uint64)

    def _rounded(self, block: Block, n: int) -> Any:
        """Digests of the values rounded to three significant digits."""
        import numpy as np

        from dataloader_expert.sources.base import Column

        columns: dict[str, Column] = {}
        for name in self.names:
            column = block.columns.get(name)
            if column is None:
                continue
            values = column.values
            if isinstance(values, np.ndarray) and values.dtype.kind == "f":
                columns[name] = Column(_round(values), column.nulls)
            elif not isinstance(values, np.ndarray):
                columns[name] = Column(
                    [_round(v) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v for v in values],
                    column.nulls,
                )
            else:
                columns[name] = column
        return digests(Block(block.unit, columns), self.names) if columns else np.zeros(n, np.uint64)

    def merge(self, other: Check) -> None:
        import numpy as np

        assert isinstance(other, Duplicates)
        self.seen += other.seen
        for split in other.splits:
            if split not in self.splits:
                self.splits.append(split)
        place = np.array([self.splits.index(s) for s in other.splits] or [0], np.int16)
        self.split += [place[s] for s in other.split]
        for mine, theirs in (
            (self.digest, other.digest),
            (self.label, other.label),
            (self.index, other.index),
            (self.near, other.near),
            (self.inner, other.inner),
            (self.raw, other.raw),
        ):
            mine.extend(theirs)
        self.files.update(other.files)

    def facts(self) -> Iterable[Fact]:
        import numpy as np

        if not self.seen:
            return
        digest, label = np.concatenate(self.digest), np.concatenate(self.label)
        split, index = np.concatenate(self.split), np.concatenate(self.index)
        order = np.lexsort((index, digest))
        digest, label, split, index = digest[order], label[order], split[order], index[order]
        starts = np.flatnonzero(np.concatenate([[True], digest[1:] != digest[:-1]]))
        evidence = self.evidence()
        yield Fact(DISTINCT, len(starts), evidence)
        groups = _groups(digest, starts, label, split, index, self.splits, self.files)
        groups["files"] = len(self.raw) - len(set(self.raw))
        groups["digest"] = DIGEST
        yield Fact(DUPLICATES, groups, evidence)
        if self.near:
            near = np.concatenate(self.near)[order]
            if self.pictures:
                yield from self._near_pictures(near, np.concatenate(self.inner)[order], digest, split, index)
            else:
                usable = near != 0
                keys, inverse = np.unique(near, return_inverse=True)
                exact: list[set[int]] = [set() for _ in keys]
                for k, d in zip(inverse[usable], digest[usable], strict=True):
                    exact[k].add(int(d))
                extra = sum(len(s) - 1 for s in exact if len(s) > 1)
                value = {
                    "extra": extra,
                    "pairs": [],
                    "cross_split": 0,
                    "rule": "equal but for case, blanks and punctuation"
                    if self.texts
                    else "equal to three significant digits",
                }
                yield Fact(NEAR, value, evidence)

    def _near_pictures(self, near: Any, inner: Any, digest: Any, split: Any, index: Any) -> Iterable[Fact]:
        import numpy as np

        kept = np.flatnonzero(near != 0)
        _, first = np.unique(digest[kept], return_index=True)
        kept = kept[np.sort(first)]
        rule = f"DCT hash within {DISTANCE} of 64 bits, with and without even margins; flat pictures and exact copies set aside"
        if len(kept) > MOST_BRUTE:
            keys = np.stack([near[kept], inner[kept]])
            _, inverse = np.unique(keys, axis=1, return_inverse=True)
            extra = len(kept) - len(np.unique(inverse))
            value: dict[str, Json] = {"extra": int(extra), "pairs": [], "cross_split": 0, "rule": "equal DCT hashes"}
            yield Fact(NEAR, value, self.evidence())
            return
        keys, within = near[kept], inner[kept]
        pairs: list[tuple[int, int]] = []
        for i in range(len(keys) - 1):
            alike = i + 1 + np.flatnonzero(_bits(keys[i + 1 :] ^ keys[i]) <= DISTANCE)
            alike = alike[_bits(within[alike] ^ within[i]) <= DISTANCE]
            pairs += [(i, j) for j in alike.tolist()]
        second = {max(p) for p in pairs}
        cross = [p for p in pairs if split[kept[p[0]]] != split[kept[p[1]]]]
        listed = sorted(
            (int(min(index[kept[a]], index[kept[b]])), int(max(index[kept[a]], index[kept[b]])))
            for a, b in (cross or pairs)
        )
        yield Fact(
            NEAR,
            {"extra": len(second), "pairs": [list(p) for p in listed[:20]], "cross_split": len(cross), "rule": rule},
            self.evidence(),
        )

    def judge(self, facts: Facts) -> Iterable[Finding]:
        fact = facts.find(DUPLICATES)
        if fact is None:
            return
        g = fact.value
        rich = self.names and any(
            f.kind in ("image", "audio", "text") for f in self.context.fields if f.name in self.names
        )
        if g["extra"]:
            yield finding(
                "duplicate-samples",
                "warning",
                f"{g['extra']} of {self.seen} samples repeat another ({g['groups']} groups), label aside",
                fact,
                "drop all but one of each group, or keep them knowingly as weights",
                g["where"],
                g["extra"],
            )
        if g["files"]:
            yield finding(
                "duplicate-files",
                "warning",
                f"{g['files']} files equal another byte for byte",
                fact,
                "drop the copies",
                g["where"],
                g["files"],
            )
        if g["cross_split"]:
            yield finding(
                "splits-overlap",
                "error",
                f"{g['cross_split']} distinct samples occur in more than one split",
                fact,
                "take them out of the training split: scores on them measure memory",
                g["cross_where"],
                g["cross_split"],
            )
        if g["conflicts"]:
            severity: Severity = "error" if rich else "warning"
            yield finding(
                "label-conflict",
                severity,
                f"{g['conflicts']} distinct samples occur with more than one label ({self.context.label})",
                fact,
                "look at them and keep one label; equal features with two labels bound the accuracy that can be had",
                g["conflict_where"],
                g["conflicts"],
            )
        near = facts.find(NEAR)
        if near is not None and near.value["extra"]:
            where = [{"sample": i} for pair in near.value["pairs"] for i in pair][:20]
            yield finding(
                "near-duplicates",
                "warning" if self.pictures or self.texts else "info",
                f"{near.value['extra']} samples nearly repeat another ({near.value['rule']})",
                near,
                "look at the pairs; keep one of each in one split",
                where,
                near.value["extra"],
            )
        if near is not None and near.value["cross_split"]:
            yield finding(
                "splits-near-overlap",
                "warning",
                f"{near.value['cross_split']} pairs of near duplicates lie in different splits",
                near,
                "look at the pairs; keep each in one split",
                [{"sample": i} for p in near.value["pairs"] for i in p][:20],
                near.value["cross_split"],
            )


def _groups(
    digest: Any, starts: Any, label: Any, split: Any, index: Any, splits: list[str | None], files: dict[int, str]
) -> dict[str, Json]:
    import numpy as np

    ends = np.concatenate([starts[1:], [len(digest)]])
    many = np.flatnonzero(ends - starts > 1)
    out: dict[str, Json] = {
        "extra": 0,
        "groups": len(many),
        "cross_split": 0,
        "conflicts": 0,
        "where": [],
        "cross_where": [],
        "conflict_where": [],
    }
    ordered = sorted(many.tolist(), key=lambda g: int(index[starts[g]]))
    for g in ordered:
        lo, hi = starts[g], ends[g]
        out["extra"] += int(hi - lo - 1)
        places = [
            {"sample": int(index[i]), "split": splits[split[i]], "file": files.get(int(index[i]))}
            for i in range(lo, hi)
        ][:4]
        keys = ["where"]
        if len(set(split[lo:hi].tolist())) > 1:
            out["cross_split"] += 1
            keys.append("cross_where")
        if len(set(label[lo:hi].tolist()) - {0}) > 1:
            out["conflicts"] += 1
            keys.append("conflict_where")
        for key in keys:
            if len(out[key]) < 20:
                out[key] = (out[key] + places)[:20]
    return out


@cache
def _set_bits() -> Any:
    """How many bits are set in each number of 16."""
    import numpy as np

    table = np.zeros(1, np.uint8)
    for _ in range(16):
        table = np.concatenate([table, table + 1])
    return table


def _bits(x: Any) -> Any:
    import numpy as np

    table, low = _set_bits(), np.uint64(0xFFFF)
    d = table[x & low] + table[(x >> np.uint64(16)) & low]
    return d + table[(x >> np.uint64(32)) & low] + table[x >> np.uint64(48)]


def _label(value: Any) -> int:
    """A label's digest; 0 where there is none, which contradicts no other."""
    if value is None or value != value or (isinstance(value, str) and not value.strip()):
        return 0
    return digest64(str(value).encode("utf-8", "replace")) or 1


def _plain(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _round(values: Any) -> Any:
    """Rounded to three significant digits."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (2 - np.floor(np.log10(np.abs(values.astype(np.float64)))))
        out = np.where((values == 0) | ~np.isfinite(values), values, np.round(values * scale) / scale)
    return out + 0.0


CHECK = Duplicates
