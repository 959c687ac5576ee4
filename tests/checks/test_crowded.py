"""Near copies in a crowd: where unrelated images nearly agree, a pair counts only if chance does not bring any as near."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.picture_hashes import low_frequencies, picture_hashes
from dataloader_expert.checks.duplicates.crowded import told_apart
from dataloader_expert.checks.duplicates.image_copies import WHOLE, Copies, Images, copies, copies_by_hash

Grey = np.ndarray[tuple[int, ...], np.dtype[np.uint8]]
Search = Callable[[Grey], Copies]


def blots(n: int, rng: np.random.Generator) -> Grey:
    """Two soft blots on black: of many, some nearly agree."""
    y, x = np.mgrid[:32, :32] / 32
    at, size = rng.uniform(0.2, 0.8, (n, 2, 2, 1, 1)), rng.uniform(0.12, 0.2, (n, 2, 1, 1))
    soft = np.exp(-((x - at[:, :, 0]) ** 2 + (y - at[:, :, 1]) ** 2) / 2 / size**2).sum(1)
    grey: Grey = np.clip(10 + 150 * soft + rng.normal(0, 2, soft.shape), 0, 255).astype(np.uint8)
    return grey


def scenes(n: int, rng: np.random.Generator) -> Grey:
    """Images of much content: no two are alike."""
    from PIL import Image

    small = rng.integers(0, 256, (n, 7, 7), np.uint8)
    return np.stack([np.asarray(Image.fromarray(i).resize((32, 32), Image.Resampling.BICUBIC)) for i in small])


def noisy(grey: Grey, rng: np.random.Generator) -> Grey:
    changed: Grey = np.clip(grey * 1.1 + rng.normal(0, 2, grey.shape), 0, 255).astype(np.uint8)
    return changed


def compared(grey: Grey) -> Copies:
    n = len(grey)
    none, tints = np.zeros(n, np.uint64), np.full((n, 2), np.nan)
    colours, frames = np.zeros((n, 2, 16, 16), np.int8), np.full((n, 4), WHOLE)
    return copies(Images(picture_hashes(grey), grey, tints, colours, frames, none, none))


def by_hash(grey: Grey) -> Copies:
    n = len(grey)
    tints, frames = np.full((n, 2), np.nan), np.full((n, 4), WHOLE)
    return copies_by_hash(picture_hashes(grey)[:, 0], low_frequencies(grey), tints, frames, np.zeros(n, np.uint64))


@pytest.mark.parametrize(("search", "n"), [(compared, 500), (by_hash, 1_200)])
def test_unrelated_images_of_a_crowd_are_no_copies_and_their_number_is_told(search: Search, n: int) -> None:
    """Seen: of 70,000 digits without a copy, 39,866 were called near duplicates."""
    rng = np.random.default_rng()
    found = search(blots(n, rng))
    assert found.by_chance > len(found.pairs), "most of those that nearly agree"
    assert len(found.pairs) <= max(2, 0.02 * found.by_chance)


@pytest.mark.parametrize("search", [compared, by_hash])
def test_copies_of_distinct_images_are_found_beside_a_crowd(search: Search) -> None:
    """Our promise: a crowd of plain images does not hide copies of images of much content."""
    rng = np.random.default_rng()
    made = scenes(300, rng)
    grey = np.concatenate([made, blots(250, rng), noisy(made[:20], rng)])
    pairs = search(grey).pairs
    # noise changes more than 8 bits of a hash now and then
    assert len({(i, 550 + i) for i in range(20)} & set(pairs)) >= 17


def test_many_versions_of_an_image_are_no_crowd() -> None:
    """Our promise: twelve versions of each image are found as copies of it, though each resembles eleven others."""
    rng = np.random.default_rng()
    made = scenes(25, rng)
    grey = np.concatenate([made, *(noisy(made, rng) for _ in range(11)), scenes(200, rng)])
    found = compared(grey)
    assert found.by_chance == 0
    assert {i for pair in found.pairs for i in pair} == set(range(300))


@pytest.mark.parametrize("shuffled", [False, True])
def test_frames_of_clips_are_near_copies_though_they_are_crowded(shuffled: bool) -> None:
    """Our promise: each frame has many near it by nature, and those of the next moment are copies all the same."""
    rng = np.random.default_rng()
    starts, ends = scenes(12, rng).astype(float), scenes(12, rng)
    at = np.linspace(0, 0.6, 30)[:, None, None]
    clips = np.concatenate([(1 - at) * one + at * other for one, other in zip(starts, ends, strict=True)])
    grey = noisy(clips.astype(np.uint8), rng)
    found = compared(rng.permutation(grey) if shuffled else grey)
    assert found.by_chance == 0
    assert len(found.pairs) > 100


def test_so_many_images_without_a_pair_have_none() -> None:
    """Seen: where no two hashes were near, the check failed."""
    assert by_hash(scenes(20, np.random.default_rng())) == Copies([])


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(0, 30))
def test_few_pairs_are_told_from_chance_where_there_is_nothing_else(seed: int, chance: int, copied: int) -> None:
    """The rule itself: pairs that chance cannot bring are all kept, and pairs that it brings add at most a hundredth or so to them."""
    rng = np.random.default_rng(seed)
    unrelated = np.sort(rng.uniform(0, chance, chance))
    told = told_apart(np.concatenate([np.full(copied, 1e-9), 1 + unrelated]))
    assert told[:copied].all()
    assert not told[copied:].any()
