"""Tags of tokens by their schemes: BIO, and BILOU or BIOES."""

from __future__ import annotations

from collections.abc import Sequence

BIO, BILOU = "BIO", "BILOU"
LAST, SINGLE = {"L", "E"}, {"U", "S"}
PREFIXES = {"B", "I", "O"} | LAST | SINGLE


def tags_of(values: Sequence[object]) -> list[tuple[str, str]] | None:
    """Each tag's prefix and type; None unless all are tags of a scheme."""
    if not all(isinstance(value, str) and (value == "O" or value[1:2] == "-") for value in values):
        return None
    split = [str(value).partition("-") for value in values]
    return [(head, kind) for head, _, kind in split] if {head for head, _, _ in split} <= PREFIXES else None


def without_start(tags: Sequence[tuple[str, str]]) -> bool:
    """Whether an entity begins with I-."""
    before = [("O", ""), *tags[:-1]]
    return any(
        head == "I" and (last not in ("B", "I") or kind != other)
        for (last, other), (head, kind) in zip(before, tags, strict=True)
    )


def scheme_of(tags: Sequence[object]) -> str | None:
    """The scheme that a sample's tags are surely of; None if they may be of both, or are no such tags."""
    if not all(isinstance(tag, str) for tag in tags):
        return None
    heads = [str(tag).partition("-")[0] if "-" in str(tag) else str(tag) for tag in tags]
    if not {*heads} <= PREFIXES or not {"B", *SINGLE} & {*heads}:
        return None
    if {*heads} & (LAST | SINGLE):
        return BILOU
    ends = [i for i, head in enumerate(heads) if head in "BI" and head != "O" and heads[i + 1 : i + 2] != ["I"]]
    return BIO if ends else None
