"""Fields whose samples are windows of measurements."""

from __future__ import annotations

from collections.abc import Collection

from dataloader_expert.checks.base import Context
from dataloader_expert.checks.features import Channels

KINDS = ("array", "sequence", "embedding")


def windows_of(context: Context, left_out: Collection[str] = ()) -> dict[str, Channels]:
    """The channels of each of these fields, of which none is the label, or of the boxes of objects."""
    if context.objects is not None:
        return {}
    fields = [f for f in context.fields if f.kind in KINDS and f.name != context.label and f.name not in left_out]
    return {f.name: channels for f in fields if (channels := Channels.of_window(f)) is not None}
