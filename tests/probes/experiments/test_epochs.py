"""What an epoch is told to hold, where batches are made on purpose, not all samples were read, or weights are not the samples' own."""

from __future__ import annotations

import numpy as np

from dataloader_expert.probes.experiments.by_length import LEAST_SAVED, paddings
from dataloader_expert.probes.experiments.epochs import among, describe
from dataloader_expert.probes.experiments.present_epoch import misplaced

LABELS = np.arange(120) % 6 // np.array([1, 2, 1, 2, 1, 2] * 20)  # of unlike numbers


def test_batches_of_as_many_of_each_class_are_told_from_a_shuffle() -> None:
    """Our promise: what a sampler composes on purpose shows in its batches."""
    rng = np.random.default_rng(0)
    classes = [np.flatnonzero(k == LABELS) for k in (0, 1, 2)]
    composed = [np.concatenate([rng.choice(of, 4) for of in classes]).tolist() for _ in range(10)]
    mixed = [rng.permutation(120)[:12].tolist() for _ in range(10)]
    assert describe(iter(composed), LABELS, None, 120)["even"] == 1
    assert describe(iter(mixed), LABELS, None, 120)["even"] < 0.5


def test_batches_by_length_show_where_only_some_samples_were_read() -> None:
    """Seen: of a loader that groups by length, that grouping would save the padding of a shuffle."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 400, 2000)
    rows = np.sort(rng.permutation(2000)[:900])
    order = lengths.argsort()
    batches = [order[i : i + 32].tolist() for i in range(0, 2000, 32)]
    drawn = describe(among(batches, rows), None, lengths[rows], 900)
    assert drawn["epoch_samples"] == 900
    assert drawn["padding_after"] < 0.1 * drawn["padding_before"]


def test_an_order_by_length_pays_where_it_saves_padding() -> None:
    """Seen: 'padding falls from 21% to 21%', where lengths of samples vary and those of batches do not."""
    rng = np.random.default_rng(0)
    cases = [
        (rng.integers(1, 400, 600), True, True),
        (rng.integers(1, 400, 20), False, True),
        (np.repeat([2, 4, 8], 14), True, False),  # both batches hold one of the longest
        (np.where(np.arange(640) % 64, 160, 100), True, False),
    ]
    for lengths, whole, pays in cases:
        before, after = paddings(lengths, 32, seed=0, whole=whole)
        assert (before - after >= LEAST_SAVED) is pays


def test_weights_in_another_order_than_the_samples_are_misplaced() -> None:
    """Our promise: weights from sorted labels, for samples that are not sorted, are told for what they are."""
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [90, 30, 10]))
    counts = np.bincount(labels)
    assert misplaced(1 / counts[np.sort(labels)], labels)
    assert not misplaced(1 / counts[labels], labels)
    assert not misplaced(np.random.default_rng(1).random(130), labels)
