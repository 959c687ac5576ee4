"""The loader settings that a trial may change, and their names."""

from __future__ import annotations

from typing import NamedTuple

from dataloader_expert.plan import LoaderPlan


class Setting(NamedTuple):
    """The settings that a search varies; without workers ``prefetch`` is 0 and ``persistent`` False."""

    workers: int
    prefetch: int = 2
    in_order: bool = True
    persistent: bool = False


def label(plan: LoaderPlan) -> Setting:
    """A plan's setting, which identifies a loader."""
    if not plan.workers:
        return Setting(0, 0)
    return Setting(plan.workers, plan.prefetch or 2, plan.in_order, plan.persistent)


def in_words(setting: Setting, present: Setting | None = None) -> str:
    """The setting as DataLoader keywords: num_workers, and what differs from the present setting or torch's
    defaults."""
    plain = present if present is not None and present.workers else Setting(setting.workers)
    said = [f"num_workers={setting.workers}"]
    if setting.workers and setting.prefetch != plain.prefetch:
        said.append(f"prefetch_factor={setting.prefetch}")
    if setting.in_order != plain.in_order:
        said.append(f"in_order={setting.in_order}")
    if setting.workers and setting.persistent and not plain.persistent:
        said.append("persistent_workers=True")
    return ", ".join(said)
