"""The checklist in plain code: ``check_quality`` returns the source of these functions, for a CI job to run.

The names in capitals are defined above them there: the data, the label, the fields that are a sample's content.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DATA = ""
MOST = 0
"""The most samples to look at, spread over the files; 0: all."""
SUFFIXES: tuple[str, ...] = ()
ASIDE: frozenset[str] = frozenset()
"""Files of the folder that hold no samples, such as other tables."""
SAMPLES = 0
LABEL: str | None = None
WITHHELD: frozenset[str] = frozenset()
"""Labels and masks: a split may have none of them."""
OBJECTS = False
"""Whether samples are JSON objects: an absent key is a missing value, unless a whole file lacks it."""
SPLIT: str | None = None
GROUP: str | None = None
CONTENT: tuple[str, ...] = ()
SPLIT_WORDS: dict[str, str] = {}
MOST_IMBALANCE = 10.0
PHRASE = 0
"""Characters of the longest texts that recur by nature, such as headings."""
SHARED = 0
"""Contents that several splits share by chance, as rows have few distinct values."""


def read(path: Path) -> Iterator[dict[str, Any]]:
    """A placeholder for type checkers: the generated file has the reader of the data's format instead."""
    raise NotImplementedError


@dataclass
class Seen:
    """What one pass over the data saw."""

    samples: int = 0
    unreadable: list[str] = field(default_factory=list)
    forms: dict[str, set[str]] = field(default_factory=dict)
    names: Counter[tuple[str | None, Path | None, tuple[str, ...]]] = field(default_factory=Counter)
    """Samples by their split, their file if they are objects, and their fields."""
    not_finite: list[str] = field(default_factory=list)
    splits: dict[bytes, set[str]] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    classes: dict[str | None, Counter[Any]] = field(default_factory=dict)


def files() -> list[Path]:
    data = Path(DATA)
    if data.is_file():
        return [data]
    found = data.rglob("*") if data.is_dir() else Path(data.anchor or ".").glob(str(data.relative_to(data.anchor)))
    own = (p for p in found if p.is_file() and p.suffix.lower() in SUFFIXES and not p.name.startswith("."))
    return sorted(p for p in own if not data.is_dir() or p.relative_to(data).as_posix() not in ASIDE)


def split_of(path: Path, sample: dict[str, Any]) -> str | None:
    if SPLIT is not None:
        return None if sample.get(SPLIT) is None else str(sample[SPLIT])
    base = Path(DATA)
    parts = path.relative_to(base).parts if base.is_dir() else (path.name,)
    words = [w for p in parts for w in p.replace("-", "_").replace(".", "_").lower().split("_")]
    return next((SPLIT_WORDS[w] for w in words if w in SPLIT_WORDS), None)


def form_of(value: Any) -> str:
    """What must be the same in all samples: the dtype and the number of axes."""
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        dtype = "str" if value.dtype.kind in "US" else str(value.dtype)  # whatever the longest text
        return f"{dtype}, {value.ndim} axes"
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return "number" if number else type(value).__name__


def parts_of(value: Any) -> bytes:
    import numpy as np

    if isinstance(value, np.ndarray | np.generic):
        return f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
    return repr(value).encode("utf-8", "surrogatepass")


@functools.cache
def seen() -> Seen:
    found = Seen()
    paths = files()
    paths = paths[:: -(-len(paths) // MOST) or 1] if MOST else paths
    each = MOST // max(1, len(paths)) if MOST else None
    for path in paths:
        try:
            for sample in itertools.islice(read(path), each):
                look(found, path, sample)
        except Exception as error:  # a damaged file may make a reader raise anything
            found.unreadable.append(f"{path}: {type(error).__name__}: {error}")
    return found


def look(found: Seen, path: Path, sample: dict[str, Any]) -> None:
    import numpy as np

    where = f"sample {found.samples} ({path})"
    found.samples += 1
    split = split_of(path, sample)
    found.names[split, path if OBJECTS else None, tuple(sorted(sample))] += 1
    digest = hashlib.blake2b(digest_size=16)
    even = True  # of one value throughout, such as silence, or a phrase: equal, but no copy
    for name, value in sorted(sample.items()):
        if value is None:
            continue
        first: Any = 0  # where the first value is: of an image, its first pixel
        if hasattr(value, "getbands"):
            value, first = np.asarray(value), (slice(1), slice(1))  # the pixels of an image
        found.forms.setdefault(name, set()).add(form_of(value))
        if isinstance(value, float | np.ndarray | np.generic) and np.asarray(value).dtype.kind in "fc":
            if not np.isfinite(value).all():
                found.not_finite.append(f"{where}: {name}")
        if name in CONTENT and split is not None:  # what is compared is other splits
            digest.update(parts_of(value))
            whole = np.asarray([*map(repr, value)], object) if isinstance(value, list) else value
            several = isinstance(whole, np.ndarray) and whole.size > 1
            phrase = isinstance(value, str) and len(value.strip()) <= PHRASE > 0
            even = even and (phrase or several)
            even = even and (phrase or bool((whole == (whole.reshape(-1) if first == 0 else whole)[first]).all()))
    if split is not None:
        if not even:
            found.splits.setdefault(digest.digest(), set()).add(split)
        if GROUP is not None and sample.get(GROUP) is not None:
            found.groups.setdefault(str(sample[GROUP]), set()).add(split)
    label = sample.get(LABEL, path.parent.name if LABEL == "label" and not OBJECTS else None) if LABEL else None
    if label is not None:
        found.classes.setdefault(split, Counter())[getattr(label, "item", lambda: label)()] += 1


def test_every_file_can_be_read() -> None:
    unreadable = seen().unreadable
    assert not unreadable, unreadable[:20]


def test_no_sample_is_lost() -> None:
    samples = seen().samples
    assert MOST or samples == SAMPLES, f"there are {samples} samples; there were {SAMPLES} when the data were checked"


def lacking() -> dict[str, int]:
    """Fields that are absent where samples should have them, with how many have each. What less than half of the samples have is optional."""
    sizes: Counter[tuple[str | None, Path | None]] = Counter()
    having: dict[str, Counter[tuple[str | None, Path | None]]] = {}
    for (split, path, names), samples in seen().names.items():
        sizes[split, path] += samples
        for name in names:
            having.setdefault(name, Counter())[split, path] += samples
    few = {}
    for name, held in having.items():
        splits = {split for split, _ in held}
        wanted = [at for at in sizes if name not in WITHHELD or at[0] in splits]
        absent = any(not held[at] if OBJECTS else held[at] < sizes[at] for at in wanted)
        if absent and 2 * held.total() >= seen().samples and not (OBJECTS and MOST):  # a few rows of a file tell little
            few[name] = held.total()
    return few


def test_samples_have_one_form() -> None:
    mixed = {name: sorted(forms) for name, forms in seen().forms.items() if len(forms) > 1}
    few = lacking()
    assert not mixed, f"fields of several dtypes or numbers of axes: {mixed}"
    assert not few, f"fields that only some samples have: {few}"


def test_no_nan_or_infinity() -> None:
    not_finite = seen().not_finite
    assert not not_finite, not_finite[:20]


def test_splits_share_no_sample() -> None:
    shared = sum(len(splits) > 1 for splits in seen().splits.values())
    assert shared <= SHARED, f"{shared} samples are in several splits"


def test_groups_keep_to_one_split() -> None:
    astride = sorted(group for group, splits in seen().groups.items() if len(splits) > 1)
    assert not astride, f"{len(astride)} values of {GROUP} are in several splits: {astride[:20]}"


def test_classes_are_balanced() -> None:
    classes = seen().classes
    counts = classes.get("train") or sum(classes.values(), Counter())
    ratio = max(counts.values(), default=1) / min(counts.values(), default=1)
    assert ratio <= MOST_IMBALANCE, f"classes are imbalanced {ratio:.1f} to 1: draw them evenly, or weight the loss"


TESTS = {
    "no_corrupted_files": (test_every_file_can_be_read, test_no_sample_is_lost),
    "shapes_consistent": (test_samples_have_one_form,),
    "no_nan_or_inf": (test_no_nan_or_infinity,),
    "splits_disjoint": (test_splits_share_no_sample, test_groups_keep_to_one_split),
    "imbalance_strategy_defined": (test_classes_are_balanced,),
}
"""The problems of each checklist item."""
