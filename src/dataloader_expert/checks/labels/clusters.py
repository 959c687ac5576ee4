"""How much less is known of the shares of classes because samples come in groups, such as the images of one patient.

The design effect is the variance of a share over what it would be if every sample were drawn on its own; here of samples
drawn group by group (Kish, "Survey Sampling", 1965; by linearization). 1: groups do not matter; the size of the groups: a group has
one class. Reports no findings; ``drift`` compares classes with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from dataloader_expert.checks.base import EFFECTS, Check, Context
from dataloader_expert.facts import Fact
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import group_name

MOST = 2_000_000
"""The most pairs of a group and a class that are kept."""
LEAST = 2
"""The fewest groups of a split."""


class Clusters(Check):
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.counts: dict[str, Counter[tuple[str, Any]]] = {}
        """Samples of each split by group and class."""

    def applies(self) -> bool:
        return self.context.several_splits and self.context.grouped is not None and self.context.label is not None

    def see(self, block: Block) -> None:
        self.seen += block.samples
        if not self.applies() or sum(map(len, self.counts.values())) > MOST:
            return
        for split, part in self.context.by_split(block):
            labels = part.columns.get(self.context.label or "")
            if split is None or labels is None:
                continue
            values = labels.values.tolist() if hasattr(labels.values, "tolist") else labels.values
            pairs = (
                (group_name(group), value if isinstance(value, str | int | float) else str(value))
                for i, (group, value) in enumerate(zip(self.context.groups_of(part), values, strict=False))
                if group is not None and value is not None and (labels.nulls is None or not labels.nulls[i])
            )
            self.counts.setdefault(split, Counter()).update(pairs)

    def merge(self, other: Check) -> None:
        assert isinstance(other, Clusters)
        self.seen += other.seen
        for split, counts in other.counts.items():
            self.counts.setdefault(split, Counter()).update(counts)

    def facts(self) -> Iterable[Fact]:
        if sum(map(len, self.counts.values())) > MOST:
            return
        for split, counts in sorted(self.counts.items()):
            sizes, classes = Counter[str](), dict[str, Counter[str]]()
            for (group, value), n in counts.items():
                sizes[group] += n
                classes.setdefault(self.context.class_name(value), Counter())[group] += n
            if len(sizes) >= LEAST:
                yield Fact(
                    EFFECTS,
                    {name: _effect(of, sizes) for name, of in sorted(classes.items())},
                    self.evidence(),
                    {"split": split},
                )


def _effect(of: Counter[str], sizes: Counter[str]) -> float:
    """The design effect of a class that ``of`` so many samples of each group have; at least 1."""
    n, groups = sizes.total(), len(sizes)
    share = of.total() / n
    if not 0 < share < 1:
        return 1.0
    # groups without the class, which are most, deviate by their size times the share
    squares = share * share * sum(size * size for size in sizes.values())
    squares += sum(seen * (seen - 2 * share * sizes[group]) for group, seen in of.items())
    return max(1.0, squares / (n * share * (1 - share)) * groups / (groups - 1))


CHECK = Clusters
