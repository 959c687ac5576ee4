"""Where samples are from: their split, their group, and what fields such as a source or a camera say."""

from __future__ import annotations

from typing import Any

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.common.rows_kept import Named, numbered, split_of
from dataloader_expert.errors import escaped
from dataloader_expert.facts import Json
from dataloader_expert.sources.base import Block
from dataloader_expert.sources.roles import GROUP_WORDS, words

MOST_GROUPS, MOST_FIELDS = 50, 4
SPLIT = ""
"""What the split is called beside fields."""
ORIGINS = GROUP_WORDS | {
    "source", "origin", "site", "hospital", "clinic", "center", "centre", "lab", "laboratory", "camera", "cam", "scanner", "sensor",
    "device", "machine", "vendor", "annotator", "rater", "labeler", "labeller", "coder", "reviewer", "worker", "batch", "run", "round", "wave",
    "dataset", "corpus", "collection", "provider", "platform", "station", "store", "branch", "shard", "file", "folder", "import", "export",
}  # fmt: skip
"""Words in the names of fields that tell where samples are from; one with another name may well say what its label is about."""
ORDERED = {
    "true",
    "false",
    "yes",
    "no",
    "y",
    "n",
    "t",
    "f",
    "left",
    "right",
    "l",
    "r",
    "od",
    "os",
    "a",
    "b",
    "first",
    "second",
    "none",
    "",
}
"""Values of fields that say how a sample is to be read: its label may be meant the other way round."""


class Origins:
    """Which values rows have in fields that may say where they are from, by digests."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.grouped = None if context.grouped is None else context.grouped.field
        split = None if context.roles.split is None else context.roles.split.field
        aside = (context.label, split)
        plain = [f for f in context.fields if not f.shape and f.name not in aside]
        whose = [f.name for f in plain if f.kind == "category" or ("int" in f.dtype and set(words(f.name)) & ORIGINS)]
        whose = whose[:MOST_FIELDS]
        if self.grouped is not None and self.grouped not in aside:
            whose = list(dict.fromkeys([self.grouped, *whose]))
        self.named = {name: Named(MOST_GROUPS) for name in ([SPLIT] if context.several_splits else []) + whose}
        self.by_names = context.group is None and bool(context.roles.name_parts)

    def of(self, block: Block, rows: Any) -> dict[str, Any]:
        """What is to be kept of these rows of a block."""
        return {f"group {name}": self._of(name, block, rows) for name in self.named}

    def _of(self, name: str, block: Block, rows: Any) -> Any:
        named = self.named[name]
        if name == SPLIT:
            return named.coded(split_of(self.context, block, rows))
        if self.by_names and name == self.grouped:
            groups = self.context.groups_of(block)
            return named.coded(numbered([str(groups[i] or "") for i in rows.tolist()]))
        return named.of(block.columns.get(name), rows)

    def merge(self, other: Origins) -> None:
        for name, named in self.named.items():
            named.merge(other.named[name])

    def groups(self, name: str, rows: dict[str, Any]) -> tuple[list[str], Any]:
        """The values of a field in kept rows, and which one each row has; none if they are too many."""
        import numpy as np

        values, whose = np.unique(rows[f"group {name}"], return_inverse=True)
        texts = self.named[name].texts
        return [] if self.named[name].many else [texts.get(int(value), "") for value in values], whose

    def reference(self, name: str, of: list[str]) -> list[int]:
        """The training split, where it is compared with one other."""
        return [k for k, text in enumerate(of) if name == SPLIT and text == "train" and len(of) == 2]

    def tells_where(self, name: str, of: list[str], clear: bool) -> bool:
        """Whether groups are where samples are from, not what is said of them: by the name of the field; where content is ``clear`` on its
        own, as a text or an image is, also by several groups that have one reading."""
        if name in (SPLIT, self.grouped) or set(words(name)) & ORIGINS:
            return True
        return clear and len(of) > 2 and not {text.casefold() for text in of} & ORDERED


def called(field: Json, value: Json) -> str:
    """A group in words."""
    return (
        escaped(str(value))
        if field == SPLIT
        else f"the samples in which {escaped(str(field))} is {escaped(str(value))}"
    )
