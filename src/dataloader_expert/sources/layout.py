"""Splits and classes from the names of folders and files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

# Folder names are kept as the user wrote them, except for spellings of train and test.
SPLITS = {
    "train": "train",
    "training": "train",
    "val": "val",
    "valid": "valid",
    "validation": "validation",
    "dev": "dev",
    "test": "test",
    "testing": "test",
    "eval": "eval",
    "holdout": "holdout",
}
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def split_in_name(name: str) -> str | None:
    """The split in a file name or key: ``x_train.npy``, ``train-00000-of-00004.parquet``; else None."""
    found = [SPLITS[t] for t in (m.lower() for m in _TOKEN.findall(name.rsplit(".", 1)[0])) if t in SPLITS]
    return found[0] if len(set(found)) == 1 else None


def without_split(name: str) -> str:
    """The name without its split word and the separators around it: ``x_train`` → ``x``."""
    parts = [p for p in re.split(r"[_\-. ]+", name) if p.lower() not in SPLITS]
    return "_".join(parts)


def read_folders(paths: Sequence[str]) -> tuple[list[str | None], list[str | None], list[str]]:
    """Splits and classes of files from their folders: ``split/class/file`` or ``class/split/file``.

    Returns:
        The split and class of each path (None if the folders do not say), and the names of the class folders.
        Folders count as classes if the files are in at least two different ones.
    """
    parts = [p.split("/")[:-1] for p in paths]
    depth = max((len(p) for p in parts), default=0)
    at = next(
        (i for i in range(depth) if sum(len(p) > i and p[i].lower() in SPLITS for p in parts) == len(parts)),
        None,
    )
    splits: list[str | None] = [None] * len(parts)
    if at is not None:
        splits = [SPLITS[p[at].lower()] for p in parts]
        parts = [p[:at] + p[at + 1 :] for p in parts]
    elif all(not p for p in parts) and len(paths) > 1:
        named = [split_in_name(p) for p in paths]
        if all(named) and len(set(named)) > 1:
            splits = list(named)
    elif {p[0].lower() for p in parts if p} & set(SPLITS):
        # some files are outside the split folders: those inside keep their split
        splits = [SPLITS.get(p[0].lower()) if p else None for p in parts]
        parts = [p[1:] if p and p[0].lower() in SPLITS else p for p in parts]
    labels: list[str | None] = [p[-1] if p else None for p in parts]
    names = sorted({x for x in labels if x is not None})
    if len(names) < 2 or sum(x is None for x in labels) > len(labels) // 2:
        return splits, [None] * len(labels), []
    return splits, labels, names


def empty_class_folders(folders: Sequence[str], labels: Sequence[str | None], paths: Sequence[str]) -> list[str]:
    """Leaf folders next to class folders that contain no samples."""
    used = {p.rsplit("/", 1)[0] for p in paths if "/" in p}
    depths = Counter(u.count("/") for u in used)
    if not depths or not any(labels):
        return []
    depth = depths.most_common(1)[0][0]
    prefixes = set(used) | {f.rsplit("/", 1)[0] for f in folders if "/" in f}
    return [
        f
        for f in folders
        if f.count("/") == depth and f not in used and not any(p.startswith(f + "/") for p in prefixes)
    ]


STRONG_LABELS = (
    "label",
    "labels",
    "target",
    "targets",
    "y",
    "class_label",
    "class_id",
    "label_idx",
    "label_id",
    "cls",
    "category",
    "category_id",
    "fine_label",
    "coarse_label",
    "species",
)
OUTCOMES = (
    "survived",
    "churn",
    "churned",
    "exited",
    "attrition",
    "fraud",
    "is_fraud",
    "isfraud",
    "spam",
    "is_spam",
    "defaulted",
    "converted",
    "clicked",
    "purchased",
    "subscribed",
    "readmitted",
    "approved",
    "outcome",
    "diagnosis",
)
"""What became of a row: known only afterwards, so more likely the label than a ``class`` beside it."""
WEAK_LABELS = (*OUTCOMES, "class", "classes", "sentiment", "intent", "digit")


def label_by_name(names: Sequence[str]) -> tuple[str | None, str]:
    """The label field that a name suggests, and how it was found."""
    lower = {n.lower(): n for n in reversed(names)}
    for known in STRONG_LABELS:
        if known in lower:
            return lower[known], "chosen by its name"
    for known in WEAK_LABELS:
        if known in lower:
            return lower[known], "chosen by its name; pass label= if it is another"
    return None, "no field is named like a label; pass label="
