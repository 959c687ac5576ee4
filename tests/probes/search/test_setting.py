"""How settings are told apart and named."""

from __future__ import annotations

from dataloader_expert.plan import LoaderPlan
from dataloader_expert.probes.search.setting import Setting, in_words, label


def test_what_needs_workers_is_nothing_without_them() -> None:
    """Our promise: in the main process there is one setting."""
    assert label(LoaderPlan(workers=0)) == label(LoaderPlan(workers=0, prefetch=4, persistent=True)) == Setting(0, 0)
    assert label(LoaderPlan(workers=3, persistent=True)) == Setting(3, 2, True, True)


def test_a_setting_is_named_by_what_differs() -> None:
    """Our promise: words are a DataLoader's keywords, and none that the user has already."""
    present = Setting(2, 4)
    assert in_words(Setting(8, 4), present) == "num_workers=8"
    assert in_words(Setting(2, 8, False, True), present) == (
        "num_workers=2, prefetch_factor=8, in_order=False, persistent_workers=True"
    )
    assert in_words(Setting(4), Setting(0, 0)) == "num_workers=4"
    assert in_words(Setting(0, 0), present) == "num_workers=0"
