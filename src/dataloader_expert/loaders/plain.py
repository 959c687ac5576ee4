"""Datasets and loaders in plain torch: the source of these is what ``recommend_batch_spec`` hands over.

The names in capitals are written above them there: which files, which fields, the loaders' settings. ``read`` stands for
the reader of the data's format (:mod:`dataloader_expert.sources.plain`), ``Samples`` for one of the datasets here.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Subset, default_collate

from dataloader_expert.sources.plain import members_of, sample_at
from dataloader_expert.sources.plain_files import PARTNERS, annotated, as_text, files, nearest, partners

SPLITS: dict[str, list[str]] = {}
FIELDS: dict[str, tuple[Any, Any]] = {}
LATE: set[str] = set()
SIZE: tuple[int, int] | None = None
LABEL: str | None = None
ABOVE = 0
BOXES: set[str] = set()
"""Fields of boxes in pixels, which are resized with their image."""
SPLIT = ""
SPLIT_NAMES: dict[Any, str] = {}
SEED = 0
SETTINGS: dict[str, dict[str, Any]] = {}
COLLATE: Any = None
VARYING: Any = frozenset()


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Stands here for type checkers: the written code calls the reader of the data's format by its own name."""
    raise NotImplementedError


def numbers(values: list[Any], dtype: str) -> Any:
    """A tensor, or tensors where shapes differ; NaN where a value is missing."""
    import numpy as np

    there = [float("nan") if value is None else value for value in values]
    if len({np.shape(value) for value in there}) == 1:
        return torch.from_numpy(np.array(there, dtype))
    return [torch.from_numpy(np.array(value, dtype)) for value in there]


def arrays(values: list[Any], how: tuple[str, tuple[int | None, ...]]) -> Any:
    """The same for arrays: a missing one is NaN where all have one shape, else as an empty one, of the others' rank."""
    import numpy as np

    dtype, shape = how
    fixed = [n or 0 for n in shape]
    blank = np.zeros((0, *fixed[1:])) if None in shape else np.full(fixed, np.nan)
    return numbers([blank if value is None or not len(value) else value for value in values], dtype)


def texts(values: list[Any], _: None) -> list[str]:
    return ["" if value is None else as_text(value) for value in values]


def classes(values: list[Any], names: list[str]) -> torch.Tensor:
    """Places in the list of names; -1 where a value is missing."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in plain]
    return torch.tensor([-1 if v is None else names.index(str(v)) for v in whole])


def indices(values: list[Any], names: list[str]) -> torch.Tensor:
    """Places in the list of names, as stored; -1 where a value is missing."""
    return torch.tensor([-1 if value is None or value != value else int(value) for value in values])


def times(values: list[Any], dtype: str) -> Any:
    """Seconds of the epoch, of the day for a time without a date, or of a duration."""
    import calendar
    import datetime as dt

    def seconds(value: Any) -> float:
        value = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(value, dt.timedelta):
            return float(value.total_seconds())
        if isinstance(value, dt.time):
            value = dt.datetime.combine(dt.date(1970, 1, 1), value)
        if not isinstance(value, dt.datetime):
            value = dt.datetime.combine(value, dt.time())
        return float(calendar.timegm(value.utctimetuple()) + value.microsecond / 1e6)

    return numbers([None if value is None else seconds(value) for value in values], dtype)


def pictures(values: list[Any], mode: str) -> list[torch.Tensor]:
    """Pictures, their bytes or their pixels [H, W, C], as [C, H, W]."""
    import io

    import numpy as np
    from PIL import Image

    def picture(value: Any) -> torch.Tensor:
        value = value["bytes"] if isinstance(value, dict) else value
        value = Image.open(io.BytesIO(value)) if isinstance(value, bytes) else value
        if hasattr(value, "getbands"):
            value = value.convert(mode)
            value = value if SIZE is None else value.resize((SIZE[1], SIZE[0]))
        pixels = torch.from_numpy(np.array(value))
        return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)

    return [picture(value) for value in values]


def masks(values: list[Any], dtype: str) -> Any:
    """Pixels of masks as stored, as large as the images."""
    import numpy as np

    return numbers([np.array(value) if SIZE is None else nearest(np.array(value), SIZE) for value in values], dtype)


def column(name: str, values: list[Any]) -> Any:
    """Values of a field as batches hold them."""
    convert, how = FIELDS[name]
    return convert(values, how)


def resized(boxes: Any, old: tuple[int, int], new: tuple[int, int]) -> torch.Tensor:
    """Boxes [n, 4] in pixels of an image of this width and height, in those of one of this height and width."""
    made: torch.Tensor = torch.as_tensor(boxes)
    made = made if made.is_floating_point() else made.double()
    return made * torch.tensor([new[1] / old[0], new[0] / old[1]] * 2, dtype=made.dtype) if made.numel() else made


def of_file(sample: dict[str, Any], path: Path) -> dict[str, Any]:
    """The sample as batches hold it; LABEL is the name of its folder, or of one so many ABOVE."""
    if LABEL is not None:
        sample[LABEL] = path.parents[ABOVE].name
    return {name: column(name, [sample.get(name)])[0] for name in FIELDS}


class Files(Dataset[Any]):
    """One sample per file, read when it is asked for."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return of_file(next(read(self.paths[index])), self.paths[index])


class Pairs(Dataset[Any]):
    """A sample a file and its partners, read when they are asked for."""

    def __init__(self, paths: list[Path]) -> None:
        others = {other for path in paths for other in partners(path).values()}
        self.paths = [path for path in paths if path not in others]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        path = self.paths[index]
        sample = next(read(path))
        for name, other in partners(path).items():
            sample[name] = next(iter(next(PARTNERS[name][0](other)).values()))
        return of_file(sample, path)


class Annotated(Dataset[Any]):
    """A sample a file, read when it is asked for, with its annotations, which are in memory."""

    def __init__(self, paths: list[Path]) -> None:
        self.paths, self.rows = paths, annotated(paths)
        self.columns = {SPLIT: [row.get(SPLIT) for row in self.rows]}

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        path, row = self.paths[index], self.rows[index]
        sample = next(read(path))
        if SIZE is not None and "image" in sample:
            size = sample["image"].size
            row = row | {name: resized(row[name], size, SIZE).numpy() for name in BOXES & row.keys()}
        return of_file(sample | row, path)


class Arrays(Dataset[Any]):
    """Rows of arrays side by side, one of each field, mapped into memory if they are NPY: a row is read when it is asked for."""

    def __init__(self, paths: list[Path]) -> None:
        import numpy as np

        self.arrays = {
            name: np.load(path, mmap_mode="r") if path.suffix == ".npy" else next(read(path))["data"]
            for name, path in zip(FIELDS, paths, strict=True)
        }

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {name: column(name, [array[index]])[0] for name, array in self.arrays.items()}


class Rows(Dataset[Any]):
    """All samples of the files, in memory column by column; the fields LATE are converted when they are asked for."""

    def __init__(self, paths: list[Path]) -> None:
        parts: dict[str, list[Any]] = {name: [] for name in FIELDS}
        samples = (sample for path in paths for sample in read(path))
        while chunk := list(itertools.islice(samples, 4096)):
            for name, part in parts.items():
                values = [sample.get(name) for sample in chunk]
                part.append(values if name in LATE else column(name, values))
        self.columns = {name: joined(part) for name, part in parts.items()}

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = {name: values[index] for name, values in self.columns.items()}
        return row | {name: column(name, [row[name]])[0] for name in LATE}


def joined(parts: list[Any]) -> Any:
    """One tensor where the parts' rows have one shape, else the list of all rows."""
    if all(isinstance(part, torch.Tensor) for part in parts) and len({part.shape[1:] for part in parts}) == 1:
        return torch.cat(parts)
    return [value for part in parts for value in part]


class Shards(Dataset[Any]):
    """Samples of tar files, each read by its place when it is asked for: only where they lie is held in memory."""

    def __init__(self, paths: list[Path]) -> None:
        self.places = [(path, members) for path in paths for members in members_of(path)]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> dict[str, Any]:
        path, members = self.places[index]
        return of_file(sample_at(path, members), path)


Samples: Any = Dataset


def datasets() -> dict[str, Any]:
    return {name: Samples(files(places)) for name, places in SPLITS.items()}


def datasets_by_column() -> dict[str, Any]:
    """The samples of each split, which the field SPLIT names."""
    whole = Samples(files(SPLITS[""]))
    values = [v.item() if hasattr(v, "item") else v for v in whole.columns[SPLIT]]
    named = ["" if value is None else SPLIT_NAMES.get(value, str(value)) for value in values]
    names = [name for name in dict.fromkeys(named) if name not in ("", "nan")]
    return {name: Subset(whole, [i for i, other in enumerate(named) if other == name]) for name in names}


def pad(samples: Any, varying: Any = None) -> Any:
    """Stacks what stacks; pads what varies in its first dimension, or in the one that ``varying`` names, and keeps the lengths; lists the
    rest.

    Padding is 0; of fields of whole numbers named labels it is -100. Lengths of ``x`` in a mapping are ``x_lengths``; in a tuple, ``x`` becomes a pair with them. Those of the fields ``varying``
    are in every batch. Keys that not all samples have are left out.
    """
    known = VARYING if varying is None else varying
    return joined_samples(list(samples), "", known)[0]


def listed(value: Any) -> Any:
    return value.tolist() if isinstance(value, torch.Tensor) else value


def joined_samples(values: list[Any], name: str, varying: Any) -> tuple[Any, Any]:
    """A batch of these, and the lengths if it was padded."""
    first = values[0]
    if isinstance(first, str | int | float) or (isinstance(first, torch.Tensor) and name not in varying):
        made = stacked(values)  # most fields end here
        if made is not values or not isinstance(first, torch.Tensor):
            return made, None
    if hasattr(first, "__dataclass_fields__"):
        values = [as_mapping(value) for value in values]
        first = values[0]
    if isinstance(first, Mapping) and all(isinstance(value, Mapping) for value in values):
        batch: dict[Any, Any] = {}
        for key in [key for key in first if all(key in value for value in values)]:
            path = f"{name}.{key}" if name else str(key)
            made, lengths = joined_samples([value[key] for value in values], path, varying)
            parts = [(key, made)] if lengths is None else [(key, made), (f"{key}_lengths", lengths)]
            for called, part in parts:
                if called in batch and listed(batch[called]) != listed(part):
                    raise ValueError(
                        f"the field {called} of the samples differs from the lengths that padding adds under this name: rename it"
                    )
                batch[called] = part
        return batch, None
    if isinstance(first, tuple) and all(isinstance(v, tuple) and len(v) == len(first) for v in values):
        parts = [
            joined_samples(list(part), f"{name}.{i}" if name else str(i), varying)
            for i, part in enumerate(zip(*values, strict=True))
        ]
        whole = [part if lengths is None else (part, lengths) for part, lengths in parts]
        return type(first)(*whole) if hasattr(first, "_fields") else tuple(whole), None
    tensors = [value if isinstance(value, torch.Tensor) else tensor_of(value) for value in values]
    if not all(isinstance(value, torch.Tensor) for value in tensors):
        return stacked(values), None
    shapes = {value.shape for value in tensors}
    if len(shapes) == 1 and (name not in varying or not tensors[0].ndim):
        return stacked(tensors), None
    longest = max(tensors, key=torch.numel)
    at = varying[name] if isinstance(varying, Mapping) and name in varying else 0
    if longest.ndim > at:  # an empty one may lack the others' further dimensions
        tensors = [longest.narrow(at, 0, 0) if value.ndim and not len(value) else value for value in tensors]
        shapes = {value.shape for value in tensors}
    others = {(*shape[:at], *shape[at + 1 :]) for shape in shapes}
    if longest.ndim <= at or len(others) > 1 or len({len(shape) for shape in shapes}) > 1:
        return tensors, None
    try:
        dtype = functools.reduce(torch.promote_types, {value.dtype for value in tensors})
        rows = [value.to(dtype).movedim(at, 0) for value in tensors]
        padded = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=filler(name, dtype))
    except (RuntimeError, TypeError):  # such as sparse ones
        return tensors, None
    return padded.movedim(1, at + 1).contiguous(), torch.tensor([value.shape[at] for value in tensors])


def filler(name: str, dtype: Any) -> int:
    """What a field is padded with: labels of whole numbers with -100, which torch's cross entropy ignores by default, else 0, as
    targets and tags may be embedded."""
    labels = name.lower().endswith(("label", "labels", "ner_tags", "pos_tags", "chunk_tags"))
    return -100 if labels and dtype in (torch.int8, torch.int16, torch.int32, torch.int64) else 0


def as_mapping(value: Any) -> Any:
    """A dataclass by its fields; else the value."""
    return {name: getattr(value, name) for name in getattr(value, "__dataclass_fields__", ())} or value


def stacked(values: list[Any]) -> Any:
    """One tensor of all where there is one, else the list."""
    try:
        return default_collate(values)
    except Exception:  # TypeError, RuntimeError, KeyError, AttributeError of None …: whatever it refuses is listed
        return values


def tensor_of(value: Any) -> Any:
    """A tensor of an array, a picture ([C, H, W]), or a list of numbers; else the value."""
    import numpy as np

    try:
        if hasattr(value, "getbands"):
            pixels = torch.from_numpy(np.array(value))
            return pixels[None] if pixels.ndim == 2 else pixels.permute(2, 0, 1)
        if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
            return torch.from_numpy(np.array(value))
        if isinstance(value, list) and all(isinstance(one, int | float) for one in value):
            return torch.tensor(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # of another byte order, or too large
        return value
    return value


def split(parts: dict[str, Any]) -> dict[str, Any]:
    """A dataset without splits, as 80, 10 and 10 % at random, the same in every run."""
    if list(parts) != [""]:
        return parts
    whole = parts[""]
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(SEED)).tolist()
    tenth = len(whole) // 10
    cuts = {"train": order[2 * tenth :], "val": order[:tenth], "test": order[tenth : 2 * tenth]}
    return {name: Subset(whole, places) for name, places in cuts.items() if places}


def loaders() -> dict[str, Any]:
    made = {}
    for name, dataset in split(datasets()).items():
        kind = name if name in SETTINGS else "val" if name.startswith(("val", "dev")) else "test"
        made[name] = DataLoader(dataset, collate_fn=COLLATE, **SETTINGS[kind])
    return made


def check(batch: Any) -> None:
    """Stands here for type checkers: the written code asserts what was measured."""
    raise NotImplementedError


def main() -> dict[str, int]:
    """Checks the first batch of each loader; gives the number of samples where it is known."""
    counts = {}
    for name, loader in loaders().items():
        check(next(iter(loader)))
        if hasattr(loader.dataset, "__len__"):
            counts[name] = len(loader.dataset)
        print(name, counts.get(name, "a stream of"), "samples")
    return counts
