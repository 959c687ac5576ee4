"""The user's own datasets of several splits: a dictionary of them, or a class or function called once for each split.

Runs in the user's interpreter: standard library, numpy and torch only.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping
from typing import Any

from dataloader_expert.errors import RequestError, escaped, listed
from dataloader_expert.sources.in_lists import indexed
from dataloader_expert.sources.layout import split_in_name

NAMES = {
    "split",
    "subset",
    "partition",
    "phase",
    "mode",
    "stage",
    "part",
    "set",
    "which",
    "train",
    "is_train",
    "training",
}
"""Parameters that say which split is wanted."""


def called_for_each(args: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The arguments of each call, by split, where a parameter that names the split is given as a list: ``split=["train", "val"]``,
    ``train=[True, False]``; none where no parameter is."""
    found = [name for name, value in args.items() if name in NAMES and isinstance(value, list) and len(value) > 1]
    if len(found) != 1 or not all(map(_names_a_split, args[found[0]])):
        return {}
    return {_called(value): {**args, found[0]: value} for value in args[found[0]]}


def _names_a_split(value: Any) -> bool:
    """A list of years, say, may be what one dataset takes."""
    return isinstance(value, bool) or (isinstance(value, str) and split_in_name(value) is not None)


def _called(value: str | bool) -> str:
    return value if isinstance(value, str) else "train" if value else "test"


def loaded(name: str, args: Mapping[str, Any], load: Callable[[dict[str, Any]], Any]) -> Any:
    """What a reference names, called once, or once for each split.

    Raises:
        RequestError: as ``load``; of several in a row, which do not say what split each is.
    """
    from torch.utils.data import DataLoader, Dataset

    calls = called_for_each(args)
    if calls:
        return {split: load(given) for split, given in calls.items()}
    made = load(dict(args))
    if isinstance(made, list | tuple) and any(isinstance(part, Dataset | DataLoader) for part in made):
        kinds = listed([type(part).__name__ for part in made])
        said = f"{escaped(name)} returned a {type(made).__name__} ({kinds}); return one Dataset or DataLoader, or a dict of splits"
        raise RequestError("dataset-raised", said)
    return made


def parts_of(made: Any) -> dict[str, Any]:
    """The datasets or loaders of splits by name, if that is what was made; else none."""
    if not isinstance(made, dict) or not made or not all(isinstance(key, str) for key in made):
        return {}
    if not all(map(_is_dataset, made.values())):
        return {}
    return dict(made)


SEVERAL = 'a function that returns {"train": …, "val": …}, or source_args={"split": ["train", "val"]} for a class that takes the split'
"""How splits of the user's code are passed together."""


def one_of(parts: Mapping[str, Any], split: str, name: str) -> Any:
    """The dataset or loader of a split.

    Raises:
        RequestError: ``invalid-argument`` if there is no such split.
    """
    if not parts:
        raise RequestError(
            "invalid-argument", f"{escaped(name)} has no splits to choose from: leave split out, or pass {SEVERAL}"
        )
    if split not in parts:
        raise RequestError(
            "invalid-argument", f"there is no split {escaped(split)}; the splits are: {', '.join(map(escaped, parts))}"
        )
    return parts[split]


def _is_dataset(value: Any) -> bool:
    from torch.utils.data import DataLoader, Dataset

    if isinstance(value, Dataset | DataLoader):
        return True
    plain = isinstance(value, list | tuple | str | bytes | Mapping) or hasattr(value, "dtype")
    return not plain and hasattr(value, "__getitem__") and hasattr(value, "__len__")


def dataset_of(part: Any) -> Any:
    """The dataset of a loader, which takes single indices; a dataset itself."""
    from torch.utils.data import DataLoader

    return indexed(part) if isinstance(part, DataLoader) else part


def training_of(parts: Mapping[str, Any], train: str | None) -> str:
    """The split to train on: as named, else the one that is called so, else the first.

    Raises:
        RequestError: ``invalid-argument`` if the one that is named does not exist.
    """
    if train is not None and train not in parts:
        there = ", ".join(map(escaped, parts))
        raise RequestError("invalid-argument", f"train_split {escaped(train)} does not exist; the splits are: {there}")
    return train or next((name for name in parts if split_in_name(name) == "train"), next(iter(parts)))


class Joined:
    """The datasets of several splits as one, in the order of the splits.

    Raises:
        RequestError: ``dataset-raised`` for streams, which cannot be joined.
    """

    def __init__(self, parts: Mapping[str, Any], name: str) -> None:
        from torch.utils.data import ConcatDataset, IterableDataset

        if any(isinstance(dataset_of(part), IterableDataset) for part in parts.values()):
            text = f"{escaped(name)} has streams for its splits, which are checked one by one: pass split= with one of "
            raise RequestError("dataset-raised", text + ", ".join(map(escaped, parts)))
        self.names = list(parts)
        self.dataset: Any = ConcatDataset([dataset_of(part) for part in parts.values()])

    @property
    def sizes(self) -> dict[str, int]:
        ends = [0, *self.dataset.cumulative_sizes]
        return {name: ends[k + 1] - ends[k] for k, name in enumerate(self.names)}

    def split_of(self, index: int) -> str:
        """The split of a sample."""
        return self.names[bisect.bisect_right(self.dataset.cumulative_sizes, index)]
