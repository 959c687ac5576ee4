"""Near duplicates against a straightforward computation: hashes of very many pictures, alignment, texts by Jaccard index."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataloader_expert.checks.common.picture_hashes import picture_hashes
from dataloader_expert.checks.duplicates import near_hashes
from dataloader_expert.checks.duplicates.alignment import alike
from dataloader_expert.checks.duplicates.image_copies import (
    CLOSE,
    WHOLE,
    Images,
    agreeing,
    beyond_common,
    copies,
    standing_out,
)
from dataloader_expert.checks.duplicates.near_hashes import CANDIDATE, Candidate, bits, candidates, close, nearest
from dataloader_expert.checks.duplicates.near_rows import _round
from dataloader_expert.checks.duplicates.near_texts import ALIKE as SIMILAR
from dataloader_expert.checks.duplicates.near_texts import WORDS, NearTexts
from dataloader_expert.sources.base import Block, Column, Unit
from tests.checks.looking import Data, context_of, judged


@pytest.mark.journey
@given(seed=st.integers(0, 2**32 - 1), flips=st.integers(0, 10))
def test_very_many_hashes_are_compared_as_if_each_with_each(seed: int, flips: int) -> None:
    """Our promise: beyond 40,000 pictures none within the distance is missed, and no other is named."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(1, 1 << 63, 300, np.uint64)
    for k in range(20):
        at = rng.choice(64, flips, replace=False)
        hashes[200 + k] = hashes[k] ^ np.bitwise_or.reduce(np.uint64(1) << at.astype(np.uint64), initial=np.uint64(0))
    near = np.triu(bits(hashes[:, None] ^ hashes) <= CLOSE, 1)
    assert set(close(hashes, CLOSE)) == set(zip(*(at.tolist() for at in np.nonzero(near)), strict=True))


@given(seed=st.integers(0, 2**32 - 1))
def test_rounded_to_three_digits(seed: int) -> None:
    """As Python prints three digits; what is about a power of ten is that power; zero and what is not finite stay."""
    rng = np.random.default_rng(seed)
    tens = 10.0 ** rng.integers(-18, 19, 20)
    values = np.concatenate(
        [rng.normal(0, 1, 20) * 10.0 ** rng.integers(-9, 10, 20), tens, np.nextafter(tens, 0), -tens]
    )
    expected = [float(f"{v:.2e}") for v in values]
    assert np.allclose(_round(values), expected, rtol=1e-12, atol=0)
    odd = np.array([0.0, np.inf, -np.inf, 5e-324])
    assert _round(odd).tolist() == [0.0, np.inf, -np.inf, 0.0]
    assert np.isnan(_round(np.array([np.nan]))).all()


def test_a_mirror_image_is_a_candidate_as_such() -> None:
    hashes = np.full((3, 5), (1 << 60) - 1, np.uint64)
    hashes[:, :2] = [[5, 9], [9, 5], [1 << 40, 3]]
    assert (0, 1, 1, 0) in _candidates(hashes, np.zeros((3, 32, 32), np.uint8))


def test_candidates_are_those_that_comparing_each_pair_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: however many images are compared at a time, the same pairs are candidates, the closest first."""
    rng = np.random.default_rng()
    base = rng.integers(0, 1 << 63, 6, dtype=np.uint64)
    hashes = base[rng.integers(0, 6, (40, 5))] ^ (np.uint64(1) << rng.integers(0, 63, (40, 5)).astype(np.uint64))
    grey = rng.integers(0, 256, (40, 32, 32)).astype(np.uint8)
    pairs = itertools.combinations(range(40), 2)
    every = [(a, b, w, int(bits(hashes[a, 0] ^ hashes[b, w]))) for a, b in pairs for w in range(5)]
    near = sorted((c for c in every if c[3] <= CANDIDATE), key=lambda c: (c[3], c[0], c[2], c[1]))
    for size in (40, 200, 1 << 17):
        monkeypatch.setattr(near_hashes, "IN_CACHE", size)  # so that few hashes come in several pieces
        found, left_out = nearest(candidates(hashes, grey), np.zeros(40), np.zeros(40, np.uint64))
        assert ([c for c in found if c[3] <= CANDIDATE], left_out) == (near, 0)


def test_far_candidates_are_the_same_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: the likeness of few pairs and of all is computed in two ways, and nobody sees in which."""
    rng = np.random.default_rng()
    looks = rng.integers(0, 256, (4, 8, 8))[rng.integers(0, 4, 60)] + rng.normal(0, 40, (60, 8, 8))
    grey = looks.repeat(4, 1).repeat(4, 2).clip(0, 255).astype(np.uint8)
    hashes, found = picture_hashes(grey), []
    for share in (0.0, 1.0):
        monkeypatch.setattr(near_hashes, "DENSE", share)
        found.append(_candidates(hashes, grey))
    assert found[0] == found[1]
    assert any(apart > CANDIDATE for *_, apart in found[0])


def _candidates(hashes: Any, grey: Any) -> list[Candidate]:
    return [(a, b, way, apart) for some in candidates(hashes, grey) for a, b, way, apart in some.T.tolist()]


def test_copies_turned_by_quarters_are_found_and_no_others() -> None:
    """Our promise: also once they are brighter and noisy; a digit of another class that is one turned is no copy."""
    rng = np.random.default_rng(14)
    made = rng.integers(0, 220, (60, 8, 8)).repeat(4, 1).repeat(4, 2).astype(float)
    made = np.stack([(m + np.roll(m, 1, 0) + np.roll(m, 1, 1)) / 3 for m in made])
    turned = np.stack([np.rot90(made[i], 1 + i % 3) * 1.1 + rng.normal(0, 2, (32, 32)) for i in range(9)])
    grey = np.concatenate([made, turned]).clip(0, 255).astype(np.uint8)
    none = np.zeros(len(grey), np.uint64)
    tints, colours = np.full((len(grey), 2), np.nan), np.zeros((len(grey), 2, 16, 16), np.int8)
    images = Images(picture_hashes(grey), grey, tints, colours, np.full((len(grey), 4), WHOLE), none, none)
    found = copies(images).pairs
    assert set(found) == {(i, 60 + i) for i in range(9)}
    labels = np.where(np.arange(len(grey)) < 60, 6, 9).astype(np.uint64)
    assert copies(images._replace(labels=labels)).pairs == []


@pytest.mark.parametrize("change", ["shifted", "scaled", "turned", "brighter"])
def test_a_changed_copy_is_aligned_and_another_picture_is_not(change: str) -> None:
    """Our promise: what is shifted, scaled or turned a little is the same; two of one kind are not."""
    from PIL import Image

    rng = np.random.default_rng()
    made = [
        Image.fromarray(rng.integers(0, 256, (12, 12), np.uint8)).resize((240, 240), Image.Resampling.BICUBIC)
        for _ in range(24)
    ]
    ways = {
        "shifted": lambda i: i.crop((10, 6, 240, 240)),
        "scaled": lambda i: i.crop((8, 8, 232, 232)),
        "turned": lambda i: i.rotate(2).crop((12, 12, 228, 228)),
        "brighter": lambda i: i.point(lambda v: min(255, int(1.2 * v))),
    }

    def small(image: Image.Image) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        return np.asarray(image.resize((32, 32), Image.Resampling.BOX), np.float32)

    ones = np.stack([small(i) for i in made])
    others = np.stack([small(ways[change](i)) for i in made])
    assert alike(ones, others).mean() >= 0.9
    assert not alike(ones, np.roll(others, 1, 0)).any()


def test_crops_away_from_the_middle_are_found_though_their_hashes_differ() -> None:
    """Our promise: what a hash takes for another image is found where the images, aligned, agree in every part; no other is."""
    from PIL import Image

    rng = np.random.default_rng()
    made = [
        Image.fromarray(rng.integers(0, 256, (5, 5), np.uint8)).resize((256, 256), Image.Resampling.BICUBIC)
        for _ in range(200)
    ]
    cut = [i.crop((0, 0, 244, 244)) if rng.random() < 0.5 else i.crop((12, 0, 256, 244)) for i in made]
    grey = np.stack([np.asarray(i.resize((32, 32), Image.Resampling.BOX)) for i in (*made, *cut)])
    found = _candidates(picture_hashes(grey), grey)
    pairs = {c[:2] for c in agreeing(grey, found, ())}
    copies = {(i, i + 200) for i in range(200)}
    assert len(pairs & copies) >= 170
    assert len(pairs - copies) <= 1
    far = {(a, b) for a, b, _, apart in found if apart > CANDIDATE}
    assert pairs & far, "some are found by their looks alone"


def test_images_that_are_all_alike_pair_only_with_copies() -> None:
    """Our promise: X-rays and digits resemble one another as cropped photographs do, and are no copies; re-encoded ones are."""
    import io

    from PIL import Image

    rng = np.random.default_rng()
    body = rng.integers(0, 256, (5, 5), np.uint8)
    images = []
    for _ in range(45):
        own = np.clip(body + rng.normal(0, 15, (5, 5)), 0, 255).astype(np.uint8)
        images.append(Image.fromarray(own).resize((128, 128), Image.Resampling.BICUBIC))
    buffer = io.BytesIO()
    images[17].save(buffer, "JPEG", quality=70)
    images.append(Image.open(buffer).convert("L"))
    grey = np.stack([np.asarray(i.resize((32, 32), Image.Resampling.BOX)) for i in images])
    found, _ = nearest(candidates(picture_hashes(grey), grey), *[np.zeros(len(grey), np.uint64)] * 2)
    pairs = agreeing(grey, found, ())
    assert len(pairs) > 10  # aligned, many correlate
    assert [c[:2] for c in agreeing(grey, standing_out(grey, found), ())] == [(17, 45)]


def test_a_few_inverted_images_of_one_scene_are_no_copies() -> None:
    """Seen: X-rays of some patients that were inverted resembled only each other, and were called copies; re-encoded ones are."""
    rng = np.random.default_rng(4)
    body = rng.normal(0, 60, (5, 5))
    small = np.clip(128 + body + rng.normal(0, 14, (80, 5, 5)), 0, 255).astype(np.uint8)
    small[70:] = 255 - small[70:]
    from PIL import Image

    grey = np.stack([np.asarray(Image.fromarray(i).resize((32, 32), Image.Resampling.BICUBIC)) for i in small])
    noisy = np.clip(grey[75] + rng.normal(0, 2, (32, 32)), 0, 255).astype(np.uint8)
    grey = np.concatenate([grey, noisy[None]])
    found = [(i, j, 0, 0) for i in range(70, 81) for j in range(i + 1, 81)]
    assert len(agreeing(grey, found, ())) > 5  # aligned, many correlate
    assert [c[:2] for c in beyond_common(grey, agreeing(grey, found, ()))] == [(75, 80)]


def jaccard(one: str, two: str) -> float:
    grams = [{tuple(w[i : i + WORDS]) for i in range(len(w) - WORDS + 1)} for w in (one.split(), two.split())]
    return len(grams[0] & grams[1]) / len(grams[0] | grams[1])


def near_of(texts: list[str]) -> tuple[int, set[tuple[int, int]]]:
    """How many texts are near copies of another, and the pairs that are told, which are the first few."""
    check = NearTexts(context_of(Data({"text": texts}, kinds={"text": "text"})))
    check.see(Block(Unit(0, "texts", 0, len(texts), 0), {"text": Column(texts)}))
    (fact,) = check.facts()
    return fact.value["extra"], {(one["sample"], other["sample"]) for one, other in fact.value["pairs"]}


def test_texts_pair_by_their_jaccard_index() -> None:
    """Our promise: nearly every pair well above the limit is found, and none well below it."""
    seed = random.SystemRandom().randrange(2**32)
    rng = random.Random(seed)
    vocabulary = [f"w{i}" for i in range(5000)]
    texts: list[str] = []
    for _ in range(45):
        words = rng.choices(vocabulary, k=rng.randint(40, 400))
        texts.append(" ".join(words))
        for share in (0.01, 0.04, 0.12):
            changed = [rng.choice(vocabulary) if rng.random() < share else w for w in words]
            texts.append(" ".join(changed))
    found, sure, never, others = set(), set(), set(), 0
    for at in range(0, len(texts), 4):
        count, pairs = near_of(texts[at : at + 4])
        others += count
        found |= {(at + a, at + b) for a, b in pairs}
        for a, b in itertools.combinations(range(at, at + 4), 2):
            index = jaccard(texts[a], texts[b])
            if index >= SIMILAR + 0.1 and texts[a] != texts[b]:
                sure.add((a, b))
            elif index < SIMILAR - 0.1:
                never.add((a, b))
    assert len(found & sure) >= 0.95 * len(sure), seed
    assert not found & never, seed
    assert near_of(texts)[0] == others, seed  # texts that share no words make no further pairs


def test_copies_of_two_alike_texts_are_paired_once_each() -> None:
    """Seen: two alike texts with 40 copies each were told as 900 sets of near duplicates."""
    words = [f"w{i}" for i in range(60)]
    one, other = " ".join(words), " ".join([*words[:30], "another", *words[31:]])
    data = Data({"text": [one, other] * 40, "label": [0, 1] * 40}, label="label", kinds={"text": "text"})
    assert judged("near_texts", data)["near-duplicates"].count < 80
    assert judged("near_texts", data)["label-conflict"].count < 80


def test_a_text_that_is_nearly_another_is_told_among_many() -> None:
    """Seen: of 300 lines one was another with a word added, and it was only an info, as of two pictures that resemble each other."""
    rng = random.Random(3)
    texts = [" ".join(rng.choices([f"w{i}" for i in range(900)], k=30)) for _ in range(300)]
    texts[200] = f"{texts[20]} more"
    found = judged("near_texts", Data({"text": texts}, kinds={"text": "text"}))
    assert found["near-duplicates"].severity == "warning"
