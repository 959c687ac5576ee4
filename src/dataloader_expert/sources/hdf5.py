"""HDF5, with the extra ``hdf5``: datasets side by side, in one file or in several, a group per sample, or one sample a file.

No link is followed and no other file is read. Rows are read in ranges of whole chunks of the widest dataset.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dataloader_expert.errors import RequestError, Unreadable, escaped
from dataloader_expert.plan import SourceRef
from dataloader_expert.sources.arrays import NEARLY, NEARLY_ALL, Header, Part, array_field, modality_of, parts_of
from dataloader_expert.sources.base import Block, Source, Unit
from dataloader_expert.sources.bundle import Bundle
from dataloader_expert.sources.files import Entry, Listing
from dataloader_expert.sources.hdf5_file import VARYING, Stored, opened, row_bytes, taken, walked
from dataloader_expert.sources.label_names import label_by_name
from dataloader_expert.sources.layout import SPLITS, split_in_name

RANGE_BYTES = 4 << 20
MANY = 8
"""So many groups with the same datasets are samples, whatever their names; fewer only if numbers tell them apart."""
DEEPEST = 3
"""Groups further down are parts of a sample."""
OPEN = 4
"""The most files that are kept open."""


class Hdf5(Bundle):
    format = "hdf5"
    kinds = frozenset({"HDF5"})
    in_shards = True

    def __init__(self) -> None:
        super().__init__()
        self.arrays: dict[str, dict[str, Stored]] = {}
        """Of each file looked into: its arrays."""
        self.grouped: set[str] = set()
        """Files in which each group is a sample."""
        self.depth = 0
        """How deep these groups are; 0: there are none."""
        self.aligned: frozenset[str] = frozenset()
        """Files of which another one holds the first fields of the same rows."""
        self._held: tuple[int, dict[str, Any]] | None = None

    @classmethod
    def open(cls, listing: Listing, ref: SourceRef) -> Source:
        try:
            import h5py  # noqa: F401  # whether it is there
        except ImportError:
            raise RequestError(
                "extra-missing", "reading HDF5 needs the extra: pip install 'dataloader-expert[hdf5]'"
            ) from None
        return super().open(listing, ref)

    def headers(self, entry: Entry) -> dict[str, Header]:
        found = self._arrays(entry.path, self.problems)
        headers = {key: stored.header for key, stored in found.items()}
        alone = (
            len(self.listing.of(self.kinds)) == 1
        )  # a file among others may be a sample, and single values its label
        if alone and groups_of(list(headers)) is None and parts_of(headers, entry.path) is None:
            headers = {key: header for key, header in headers.items() if header[1]}  # single values describe the file
        return headers

    def _look(
        self, entry: Entry, known: dict[str, dict[str, Header]], seen: dict[str, tuple[Part, ...] | None]
    ) -> None:
        super()._look(entry, known, seen)
        groups = groups_of(list(known.get(entry.path, ())))
        if groups:
            of_file = split_in_name(entry.path.rsplit("/", 1)[-1])
            listed = self._lists(entry.path, groups)
            splits = {name: listed.get(name) or split_in_name(name) or of_file for name in groups}
            parts = [labelled_rows(splits[name], arrays, known[entry.path]) for name, arrays in groups.items()]
            rows = tuple(part for part in parts if part is not None)
            if len(rows) == len(groups):
                seen[entry.path] = rows
                return
            self.grouped.add(entry.path)
            self.depth = next(iter(groups)).count("/") + 1
            seen[entry.path] = tuple(
                Part(splits[name], 1, tuple(sorted(arrays.items()))) for name, arrays in groups.items()
            )
            # a row each, so that a sample is what remains without the first axis
            known[entry.path] = {key: (dtype, (1, *shape)) for key, (dtype, shape) in known[entry.path].items()}

    def _lists(self, path: str, groups: Mapping[str, Any]) -> dict[str, str]:
        """The splits of groups that lists of their names tell, as ``mask/train`` and ``mask/valid`` of robomimic."""
        called = {name.rpartition("/")[2]: name for name in groups}
        arrays = {key: of for key, of in self._arrays(path, self.problems).items() if len(of.header[1]) == 1}
        found: dict[str, str] = {}
        for key, of in arrays.items():
            split = SPLITS.get(key.rpartition("/")[2].lower())
            if split is None or key.rpartition("/")[0] in groups:
                continue
            values = taken(self._file(path), {key: of}, slice(None), path, self.listing.most_bytes)[key]
            names = [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values]
            if sum(name in called for name in names) < NEARLY_ALL * len(names):
                continue
            for name in names:
                where = {"file": path, "field": key, "key": name}
                if name not in called:
                    text = f"names {escaped(name, 80)}, which is not there"
                    self.problems.append(Unreadable("dangling-reference", text, **where))
                elif found.setdefault(called[name], split) != split:
                    text = f"the lists of {found[called[name]]} and {split} both name it"
                    self.problems.append(Unreadable("splits-overlap", text, **where))
        return found

    def joined(
        self, entries: list[Entry], known: dict[str, dict[str, Header]], seen: dict[str, tuple[Part, ...] | None]
    ) -> list[Entry]:
        """Files of one split that hold other fields of as many rows, as PCam's ``…_train_x.h5`` and ``…_train_y.h5``, become the
        first of them. Each split must have the same fields."""
        splits: dict[tuple[str, str | None], dict[str, Part]] = {}
        for path, parts in seen.items():
            if parts is None or len(parts) != 1 or parts[0].ragged or path in self.grouped:
                return entries
            splits.setdefault((path.rpartition("/")[0], parts[0].split), {})[path] = parts[0]
        for of in splits.values():
            names = [name for part in of.values() for name, _ in part.arrays]
            rows = [part.samples for part in of.values()]
            if len(set(names)) < len(names) or max(rows) - min(rows) > NEARLY * max(rows):
                return entries
        if all(len(of) < 2 for of in splits.values()):
            return entries
        held = {key: {n for part in of.values() for n, _ in part.arrays} for key, of in splits.items()}
        whole = set[str]().union(*held.values())
        train = [fields for (_, split), fields in held.items() if split == "train"]
        if train and all(fields == whole for fields in train):  # a test split may have no labels
            self.withheld = frozenset(whole.difference(whole.intersection(*held.values())))
        elif any(fields != whole for fields in held.values()):
            return entries
        for of in splits.values():
            [first, *others] = sorted(
                of, key=lambda path: (label_by_name([n for n, _ in of[path].arrays])[0] is not None, path)
            )
            arrays = list(of[first].arrays)
            for path in others:
                for name, key in of[path].arrays:
                    own = f"{path}:{key}"
                    self.arrays[first][own] = replace(self.arrays[path][key], file=path)
                    known[first][own] = known[path][key]
                    arrays.append((name, own))
                del known[path], seen[path]
            rows = [part.samples for part in of.values()]
            told = tuple((name, part.samples) for part in of.values() for name, _ in part.arrays)
            lengths = told if len({*rows}) > 1 else of[first].lengths
            seen[first] = (replace(of[first], samples=min(rows), arrays=tuple(arrays), lengths=lengths),)
        self.aligned = frozenset(path for of in splits.values() for path in of if path not in seen)
        return [entry for entry in entries if entry.path in seen]

    def _as_shards(self, entries: list[Entry], seen: Mapping[str, tuple[Part, ...] | None]) -> None:
        super()._as_shards(entries, seen)
        groups = Counter(unit.file for unit in self.units)
        units: list[Unit] = []
        for unit in self.units:
            if unit.file in self.grouped:
                units.append(replace(unit, id=len(units), bytes=unit.bytes // groups[unit.file], at=(*unit.at, 0)))
                continue
            whole, step = unit.at[0], self._rows_at_once(unit)
            for lo in range(0, unit.samples, step):
                n = min(step, unit.samples - lo)
                at = replace(whole, samples=n), lo
                part = {"start": unit.start + lo, "samples": n, "bytes": max(1, unit.bytes * n // unit.samples)}
                units.append(replace(unit, id=len(units), at=at, **part))
        self.units = tuple(units)
        if len(self.grouped) == len(entries):
            self.sharding = f"{len(units)} groups of one sample each in {len(entries)} file{'s' * (len(entries) != 1)}"

    def _rows_at_once(self, unit: Unit) -> int:
        """Rows of a range: whole chunks of the widest array. Texts and rows of varying length have no width: a row takes at
        least its share of the file."""
        part, arrays = unit.at[0], self.arrays[unit.file]
        if part.offsets is not None:
            return unit.samples
        stored = [arrays[key] for _, key in part.arrays]
        in_file = sum(other.samples for other in self.units if other.file == unit.file)
        row = max(sum(map(row_bytes, stored)), unit.bytes // max(1, in_file))
        chunk = int(max(stored, key=row_bytes).chunk)
        return int(max(1, RANGE_BYTES // max(1, row) // chunk) * chunk)

    def _fields(
        self, known: Mapping[str, Mapping[str, Header]], seen: Mapping[str, tuple[Part, ...] | None] | None
    ) -> None:
        self.coordinates = frozenset(key for of in self.arrays.values() for key, stored in of.items() if stored.scale)
        super()._fields(known, seen)
        if seen is None:
            varying = {f.name for f in self.fields if VARYING in f.shape}
            self.unread |= dict.fromkeys(
                varying, "rows of varying length are read where a file has many samples, not here"
            )
            self.fields = tuple(f for f in self.fields if f.name not in varying)
        told = [(f, tuple(None if n == VARYING else n for n in f.shape)) for f in self.fields]
        self.fields = tuple(
            f if shape == f.shape else array_field(f.name, f.dtype, shape, f.name == self.label) for f, shape in told
        )
        self.modality = modality_of(self.fields, self.label)

    def _arrays(self, path: str, problems: list[Unreadable]) -> dict[str, Stored]:
        """The file's arrays; what is not read is added to ``problems`` the first time."""
        if path not in self.arrays:
            self.arrays[path] = walked(self._file(path), path, problems, self.unread)
        return self.arrays[path]

    def _file(self, path: str) -> Any:
        """The open file, kept until others are wanted or this process has forked.

        Raises:
            Unreadable: if it is no intact HDF5 file.
        """
        if self._held is None or self._held[0] != os.getpid():
            self._held = os.getpid(), {}
        held = self._held[1]
        if path not in held:
            while len(held) >= OPEN:
                held.pop(next(iter(held)))
            held[path] = opened(self.listing, path, self.problems if path not in self.arrays else [])
        return held[path]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_held": None}

    def read(self, unit: Unit) -> Any:
        """The arrays of the unit, by key, and what was wrong."""
        problems: list[Unreadable] = []
        arrays = self._arrays(unit.file, problems)
        if not unit.at:
            wanted = {key: slice(None) for key in arrays if self.wants(key)}
        else:
            part, lo = self.narrowed(unit.at[0]), unit.at[1]
            rows = slice(lo, lo + part.samples)
            wanted = {key: slice(None) if unit.file in self.grouped else rows for _, key in part.arrays}
            wanted |= dict.fromkeys(part.keys - wanted.keys(), slice(None))
        tables: dict[tuple[str, str], list[str]] = {}
        for key in wanted:
            if key in arrays:
                tables.setdefault((arrays[key].file or unit.file, arrays[key].dataset), []).append(key)
        held: dict[str, Any] = {}
        for (path, _), keys in tables.items():  # the columns of a table at once
            of = {key: arrays[key] for key in keys}
            held |= taken(self._file(path), of, wanted[keys[0]], path, self.listing.most_bytes)
        return held, problems

    def load(self, unit: Unit, raw: Any) -> dict[str, Any]:
        import numpy as np

        arrays = raw[0]
        if unit.file in self.grouped and unit.at:
            return {key: [value] if isinstance(value, list) else value[None] for key, value in arrays.items()}
        if unit.at:
            return dict(arrays)
        # rows of varying length stay lists of arrays: no value of a single sample, also in files that were not looked into
        plain = {key: v for key, v in arrays.items() if not (isinstance(v, list) and v and not isinstance(v[0], str))}
        return {key: np.asarray(value) for key, value in plain.items()}

    def decode(self, unit: Unit, raw: Any) -> Block:
        block = super().decode(unit, raw)
        block.problems += raw[1]
        return block


def labelled_rows(split: str | None, arrays: Mapping[str, str], headers: Mapping[str, Header]) -> Part | None:
    """A group as many samples, one per row: its arrays are equally long, and one of them is the rows' label; else None."""
    shapes = {name: headers[key][1] for name, key in arrays.items()}
    lengths = {shape[0] if shape else 0 for shape in shapes.values()}
    label, _ = label_by_name([name for name, shape in shapes.items() if len(shape) == 1])
    if len(arrays) < 2 or len(lengths) > 1 or label is None or min(lengths) < 2:
        return None
    return Part(split, lengths.pop(), tuple(sorted(arrays.items())))


def groups_of(names: Sequence[str]) -> dict[str, dict[str, str]] | None:
    """The groups that are a sample each, and of each the arrays by name; None if groups are no samples."""
    for depth in range(1, DEEPEST + 1):
        groups: dict[str, dict[str, str]] = {}
        for name in names:
            parts = name.split("/")
            if len(parts) > depth:
                groups.setdefault("/".join(parts[:depth]), {})["/".join(parts[depth:])] = name
        last = [group.rsplit("/", 1)[-1] for group in groups]
        if len(groups) < 3 or all(name.lower() in SPLITS for name in last):
            continue
        numbered = len({re.sub(r"\d+", "", name) for name in last}) == 1
        [(_, most)] = Counter(frozenset(arrays) for arrays in groups.values()).most_common(1)
        inside = sum(map(len, groups.values()))
        alike = most >= NEARLY_ALL * len(groups) and inside >= NEARLY_ALL * len(names)
        if alike and (numbered or len(groups) >= MANY):
            return groups
    return None


SOURCE = Hdf5
