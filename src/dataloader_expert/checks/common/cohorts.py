"""What samples have in common that may have been prepared together: those of one split, site, device, subject, shard or prefix of file names."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, ClassVar

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.drawn import Drawn
from dataloader_expert.checks.common.drawn_rows import DrawnRows
from dataloader_expert.checks.common.recorded import is_place
from dataloader_expert.checks.common.rows_kept import Coded, Named, files_of, split_of
from dataloader_expert.errors import escaped
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.groups_in_names import part_of_name

SPLIT, PREFIX, SHARD = "the split", "the names of files", "the files"
"""Stand for the fields whose values are the splits, the first parts of file names such as ``cam2`` of ``cam2_0013.jpg``, and files of many samples."""
NEARLY, HARDLY = 0.9, 0.02
"""The least share of marked rows in the cohorts that have them, and the most in all others."""
CHANCE = 1e-4
"""How unlikely what is only in one part must be by chance."""
MOST = 60
"""The most cohorts of one kind: beyond, each has few samples."""


class Cohorts:
    """The cohorts of drawn rows, by kind: the split, the prefixes of file names, and fields that say where samples were recorded."""

    def __init__(self, context: Context) -> None:
        self.context = context
        roles = context.roles
        aside = {context.label, *(r.field for r in (roles.split, roles.time) if r is not None)}
        grouped = None if context.grouped is None else context.grouped.field
        self.fields = [
            f.name
            for f in context.fields
            if not f.shape
            and f.kind in ("category", "text", "boolean", "number")
            and f.name not in aside
            and (f.name == grouped or is_place(f.name))
        ]
        self.called = {kind: Named(MOST) for kind in (SPLIT, PREFIX, *self.fields, SHARD)}

    def of(self, block: Block, rows: Any) -> dict[str, Any]:
        """The cohort of each of these rows, by kind, uint64, to be kept with them."""
        found = {SPLIT: self.called[SPLIT].coded(split_of(self.context, block, rows))}
        prefixes, shards = block.once("prefixes", rows, lambda: _by_files(block, rows))
        found[PREFIX], found[SHARD] = self.called[PREFIX].coded(prefixes), self.called[SHARD].coded(shards)
        for name in self.fields:
            found[name] = self.called[name].of(block.columns.get(name), rows)
        return {f"cohort {kind}": values for kind, values in found.items()}

    def merge(self, other: Cohorts) -> None:
        for kind, named in other.called.items():
            self.called[kind].merge(named)

    def kinds(self, rows: dict[str, Any], least: int) -> Iterator[tuple[str, list[str], Any]]:
        """Each kind with two cohorts of ``least`` samples or more: their names, and which one each kept row is in, -1 for none."""
        import numpy as np

        for kind, named in self.called.items():
            if named.many:
                continue
            values, codes = np.unique(rows[f"cohort {kind}"], return_inverse=True)
            texts = [named.texts.get(int(value), "") for value in values]
            sizes = np.bincount(codes, minlength=len(texts))
            large = [k for k, text in enumerate(texts) if text and sizes[k] >= least]
            if len(large) > 1:
                place = np.full(len(texts), -1)
                place[large] = np.arange(len(large))
                yield kind, [texts[k] for k in large], place[codes]


def _by_files(block: Block, rows: Any) -> tuple[Coded, Coded]:
    """The prefixes of the files' names, where each is a sample, else the files; the other is empty."""
    files = files_of(block, rows)
    nothing = Coded([""] * len(files.texts), files.codes)
    if any(unit.samples != 1 or unit.key is not None for unit in block.unit.members or (block.unit,)):
        return nothing, files
    return Coded([part_of_name(file, 1) or "" for file in files.texts], files.codes), nothing


def confined(cohorts: Cohorts, rows: dict[str, Any], marked: Any, least: int) -> tuple[str, list[str]] | None:
    """The kind and the cohorts, of ``least`` rows or more, in which nearly all rows are marked, bool [n], and hardly any others; None if
    there are none."""
    import numpy as np

    for kind, names, whose in cohorts.kinds(rows, least):
        shares = np.array([float(marked[whose == k].mean()) for k in range(len(names))])
        of = np.flatnonzero(shares >= NEARLY)
        others = ~np.isin(whose, of)
        if len(of) and others.sum() >= least and float(marked[others].mean()) <= HARDLY:
            return kind, [names[k] for k in of.tolist()]
    return None


def only_there(marked: int, own: int, others: int) -> bool:
    """Whether chance does not explain that so many of a part's ``own`` rows are marked, and none of the ``others``."""
    return others * math.log1p(-min(marked / max(1, own), 1 - 1e-9)) <= math.log(CHANCE)


def mostly_in(cohorts: Cohorts, rows: dict[str, Any], marked: Any) -> str:
    """Words for the one cohort that nearly all marked rows are in, and few of the others; empty if there is none."""
    import numpy as np

    for kind, names, whose in cohorts.kinds(rows, 1):
        counts = np.bincount(whose[marked & (whose >= 0)], minlength=len(names))
        k = int(counts.argmax())
        if counts[k] >= NEARLY * marked.sum() and (whose[~marked] == k).mean() <= 1 - 2 * (1 - NEARLY):
            return f"{'all' if counts[k] == marked.sum() else 'nearly all'} of them {told_of(kind, [names[k]])}"
    return ""


class DrawnImages(DrawnRows):
    """Looks at drawn samples of the first field of images, and keeps their ``cohorts`` too. A member says at most how many samples."""

    most: ClassVar[int]

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.name = next((f.name for f in context.fields if f.kind == "image" and f.name != context.label), "")
        self.cohorts = Cohorts(context)
        self.drawn = Drawn(self.most)
        self.beside, self.needs = [self.cohorts], [self.name]

    def applies(self) -> bool:
        return bool(self.name)


def told_of(kind: str, names: list[str]) -> str:
    """Words for the samples of these cohorts."""
    shown = ", ".join(map(escaped, names[:5])) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    if kind in (SPLIT, SHARD):
        return f"in {shown}"
    if kind == PREFIX:
        return f"in the files {', '.join(f'{escaped(name)}…' for name in names[:5])}" + (
            f" and {len(names) - 5} more" if len(names) > 5 else ""
        )
    return f"where {escaped(kind)} is {shown}"
