"""Which thumbnails a section shows, with what captions."""

from __future__ import annotations

from collections.abc import Sequence

from dataloader_expert.charts.scales import said
from dataloader_expert.page.sections import Shown
from dataloader_expert.report import Picture


def in_batch(pictures: Sequence[Picture]) -> list[Shown]:
    shown = [p for p in pictures if p.of == "batch"]
    if not shown:
        return []
    scaled = shown[0].scaled
    says = "The first samples of a real batch, as the DataLoader delivers them."
    if scaled is not None:
        says += f" Values from {said(scaled[0])} (black) to {said(scaled[1])} (white)."
    return [Shown("A batch", says, shown)]


def odd(pictures: Sequence[Picture]) -> list[Shown]:
    shown = [p for p in pictures if p.of == "findings"]
    says = "Decoded again within limits; a sample that cannot be decoded is named, not shown."
    return [Shown("Samples that findings name", says, shown)] if shown else []
