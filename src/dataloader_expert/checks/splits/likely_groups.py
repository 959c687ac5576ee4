"""Whether an id tells groups that belong into one split each, though only its name suggests it."""

from __future__ import annotations

from dataloader_expert.checks.base import Context
from dataloader_expert.sources.label_names import GOODS
from dataloader_expert.sources.roles import LARGEST_GROUP, OTHER_ID, WHAT, is_identifier, words

FEWEST, FEWEST_ASTRIDE = 30, 10
"""The fewest groups, and the fewest of them with samples in several splits."""


def are_likely(context: Context, groups: int, samples: int, astride: int) -> bool:
    """Whether a field that is named as an id of something other than the row has many small groups, as policies or threads are: each is
    something that a model may recognise. A shop, a product or one of two ids that are paired is rather an input."""
    role = context.grouped
    if role is None or role.how != OTHER_ID or {*words(role.field)} & (WHAT | GOODS):
        return False
    aside = {role.field, context.label, *(key.field for key in context.roles.keys)}
    paired = any(is_identifier(f.name) and not f.shape and f.name not in aside for f in context.fields)
    return not paired and groups >= FEWEST and samples <= LARGEST_GROUP * groups and astride >= FEWEST_ASTRIDE
