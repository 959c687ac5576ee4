"""Every built-in collator: what it pads, keeps, casts, ignores and refuses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from dataloader_expert.loaders import BatchTransform, LanguageModelingDataCollator, TaskSpec, VisionDataCollator
from dataloader_expert.loaders.collators.audio import AudioCollator
from dataloader_expert.loaders.collators.base import DefaultCollator, cast, labels_of
from dataloader_expert.loaders.collators.detection import DetectionCollator
from dataloader_expert.loaders.collators.multimodal import MultimodalCollator
from dataloader_expert.loaders.collators.padding import lengths_of, mask_of, pad_rows, pad_tokens
from dataloader_expert.loaders.collators.registry import BUILT_IN
from dataloader_expert.loaders.collators.sequence import SequenceCollator
from dataloader_expert.loaders.collators.tabular import ArrayCollator, TabularCollator
from dataloader_expert.loaders.collators.text import IGNORED
from tests.loaders.material import PadOnly, Plain, a_task, library_tokenizer

both_sides = pytest.mark.parametrize("side", ["right", "left"])


# ── padding ────────────────────────────────────────────────────────────────────

KINDS: dict[str, Any] = {
    "lists": list,
    "numpy's integers in lists": lambda row: [np.int32(v) for v in row],
    "arrays": np.array,
    "narrow arrays": lambda row: np.array(row, np.uint8),
    "tensors": torch.tensor,
    "tuples": tuple,
}


@pytest.mark.parametrize("kind", KINDS)
@both_sides
def test_tokens_of_every_kind_are_padded(kind: str, side: Any) -> None:
    """Lists, arrays and tensors give one int64 matrix; the mask says where the tokens are."""
    rows = [KINDS[kind](row) for row in ([5, 6, 7], [8], [9, 5])]
    mask = mask_of(lengths_of(rows), 3, side)
    padded = pad_tokens(rows, 1, mask)
    due = [[5, 6, 7], [8, 1, 1], [9, 5, 1]] if side == "right" else [[5, 6, 7], [1, 1, 8], [1, 9, 5]]
    assert padded.dtype == torch.int64 and padded.tolist() == due
    assert mask.sum(1).tolist() == [3, 1, 2]


@both_sides
def test_rows_of_vectors_are_padded(side: Any) -> None:
    """In their first dimension, in their own dtype; rows that differ in more are refused."""
    rows = [torch.ones(2, 3, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)]
    padded = pad_rows(rows, -2, side)
    assert padded.shape == (2, 2, 3) and padded.dtype == torch.float64
    assert padded[1, 1 if side == "right" else 0].tolist() == [-2, -2, -2]
    with pytest.raises(ValueError, match=r"differ in more than their length.*\(1, 2\)"):
        pad_rows([torch.ones(1, 2), torch.ones(2, 3)])


# ── what collators share ───────────────────────────────────────────────────────

FLOATING: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "text": (
        lambda dtype: LanguageModelingDataCollator(Plain(), dtype=dtype),
        [{"input_ids": [4, 5], "score": 0.5}, {"input_ids": [4], "score": 1.5}],
    ),
    "vision": (
        lambda dtype: VisionDataCollator(dtype=dtype),
        [{"pixel_values": torch.ones(3, 2, 2, dtype=torch.uint8), "labels": i} for i in range(2)],
    ),
    "default": (lambda dtype: DefaultCollator(dtype=dtype), [{"x": torch.ones(2), "label": i} for i in range(2)]),
    "audio": (
        lambda dtype: AudioCollator(dtype=dtype),
        [{"waveform": torch.ones(n), "label": n} for n in (2, 3)],
    ),
    "multimodal": (
        lambda dtype: MultimodalCollator(Plain(), dtype=dtype),
        [{"image": torch.rand(3, 2, 2), "input_ids": [5] * n} for n in (1, 2)],
    ),
    "detection": (
        lambda dtype: DetectionCollator(dtype=dtype),
        [{"pixel_values": torch.rand(3, 2, 2), "boxes": torch.ones(n, 4), "labels": [0] * n} for n in (1, 2)],
    ),
    "sequence": (lambda dtype: SequenceCollator(dtype=dtype), [{"x": torch.ones(n, 2), "y": n} for n in (1, 2)]),
    "tabular": (lambda dtype: TabularCollator(dtype=dtype), [{"a": 1.5, "b": 2, "label": 0}] * 2),
    "array": (lambda dtype: ArrayCollator(dtype=dtype), [{"x": np.ones(3, np.float32), "labels": 1}] * 2),
}


def dtypes(value: Any) -> set[torch.dtype]:
    """Of all tensors in a batch."""
    if isinstance(value, torch.Tensor):
        return {value.dtype}
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return set().union(*(dtypes(v) for v in inner))


def test_every_built_in_collator_is_here() -> None:
    """A new one without a row above fails."""
    assert {info.name for info in BUILT_IN} == set(FLOATING)
    assert {info.modality for info in BUILT_IN} == set(FLOATING) - {"default"} | {"any"}


@pytest.mark.parametrize("name", FLOATING)
def test_dtype_is_of_floating_fields_only(name: str) -> None:
    """Labels, tokens, lengths and masks stay; a batch is a plain dictionary, and samples stay as they are."""
    make, samples = FLOATING[name]
    kept = [{k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in s.items()} for s in samples]
    plain, cut = make(None)(samples), make(torch.bfloat16)(samples)
    assert type(plain) is dict and plain.keys() == cut.keys()
    assert torch.bfloat16 not in dtypes(plain) and torch.bfloat16 in dtypes(cut)
    others = {d for d in dtypes(plain) if not d.is_floating_point}
    assert others and dtypes(cut) == {torch.bfloat16} | others
    for sample, before in zip(samples, kept, strict=True):
        assert all(torch.equal(v, before[k]) for k, v in sample.items() if isinstance(v, torch.Tensor))


@pytest.mark.parametrize("name", [n for n in FLOATING if n != "default"])
def test_an_empty_batch_is_refused(name: str) -> None:
    """By its name, not by an index that is out of range."""
    with pytest.raises(ValueError, match="got an empty batch: there is nothing to collate"):
        FLOATING[name][0](None)([])


def test_a_cast_goes_through_any_nesting() -> None:
    """Tuples with and without names, lists, mappings; what is no tensor is the same object."""
    from collections import namedtuple

    pair = namedtuple("pair", "x y")  # a plain one is what users have
    word = object()
    done = cast({"a": [torch.ones(1), (torch.ones(1), 3)], "b": pair(torch.ones(1), word)}, torch.float16)
    assert done["a"][0].dtype == done["a"][1][0].dtype == done["b"].x.dtype == torch.float16
    assert isinstance(done["b"], pair) and done["b"].y is word and done["a"][1][1] == 3


def test_a_sample_that_lacks_a_field_is_named() -> None:
    """Which one, and what it has instead."""
    with pytest.raises(ValueError, match=r"sample 1 of the batch has no 'x'; it has y, z"):
        ArrayCollator()([{"x": 1}, {"y": 1, "z": 2}])
    with pytest.raises(ValueError, match="it has nothing"):
        ArrayCollator()([{"x": 1}, {}])


@pytest.mark.parametrize(
    ("values", "due"),
    [
        ([2, 0], torch.tensor([2, 0])),
        ([True, False], torch.tensor([1, 0])),
        ([0.5, 1.5], torch.tensor([0.5, 1.5])),
        ([1, 0.5], torch.tensor([1, 0.5])),
        ([np.int8(3), np.int8(-1)], torch.tensor([3, -1])),
        ([torch.tensor(3, dtype=torch.int32)] * 2, torch.tensor([3, 3])),
        ([[1, 0, 1], [0, 0, 1]], torch.tensor([[1, 0, 1], [0, 0, 1]])),
        ([[1.0, 0.5], [0.0, 1.0]], torch.tensor([[1.0, 0.5], [0.0, 1.0]])),
    ],
    ids=["classes", "truths", "values", "mixed", "numpy", "int32", "several", "soft"],
)
def test_labels_are_class_indices_or_what_they_are(values: list[Any], due: torch.Tensor) -> None:
    """Classes int64, as torch's cross entropy wants them; vectors of several or soft labels keep their kind."""
    assert torch.equal(labels_of(values), due) and labels_of(values).dtype == due.dtype


def test_labels_that_do_not_stack_are_lists() -> None:
    """Words, lists of words, absent ones, and vectors of several lengths."""
    assert labels_of([["a"], ["b", "c"]]) == [["a"], ["b", "c"]] and labels_of([1, None]) == [1, None]
    assert labels_of(["cat", "dog"]) == ["cat", "dog"]
    assert labels_of([None, None]) == [None, None]
    assert [v.tolist() for v in labels_of([[1], [2, 3]])] == [[1], [2, 3]]


# ── text ───────────────────────────────────────────────────────────────────────

TOKENIZERS: dict[str, Any] = {
    "ids alone": Plain,
    "pad alone": PadOnly,
    "pad without mask": lambda: PadOnly(with_mask=False),
    "pad of tensors": lambda: PadOnly(tensors=True),
    "transformers": library_tokenizer,
}
every_tokenizer = pytest.mark.parametrize("name", TOKENIZERS)


@every_tokenizer
@both_sides
def test_samples_are_padded_to_the_longest(name: str, side: Any) -> None:
    """On either side; the mask is 1 where there is a token; labels are the tokens, padding ignored where asked."""
    tokenizer = TOKENIZERS[name]()
    pad = 9 if isinstance(tokenizer, PadOnly) else 0
    samples = [{"input_ids": [4, 5, 6]}, {"input_ids": [7]}]
    batch = LanguageModelingDataCollator(tokenizer, padding_side=side)(samples)
    right = side == "right"
    assert batch["input_ids"].tolist() == [[4, 5, 6], [7, pad, pad] if right else [pad, pad, 7]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0] if right else [0, 0, 1]]
    assert torch.equal(batch["labels"], batch["input_ids"])
    assert dtypes(batch) == {torch.int64}
    ignoring = LanguageModelingDataCollator(tokenizer, padding_side=side, ignore_padding=True)(samples)
    assert ignoring["labels"].tolist() == [[4, 5, 6], [7, -100, -100] if right else [-100, -100, 7]]
    assert samples == [{"input_ids": [4, 5, 6]}, {"input_ids": [7]}]


@both_sides
def test_a_real_tokenizer_pads_as_we_do(side: Any) -> None:
    """transformers' own ``pad`` gives the same tokens, masks and types."""
    tokenizer = library_tokenizer()
    texts = ["the cat sat on the mat", "dog", "", "the zebra sat"]
    encoded = tokenizer(texts, return_token_type_ids=True)
    samples = [{name: encoded[name][i] for name in encoded} for i in range(len(texts))]
    tokenizer.padding_side = side
    due = tokenizer.pad(samples, return_tensors="pt")
    tokenizer.padding_side = "right"
    batch = LanguageModelingDataCollator(tokenizer, padding_side=side)(samples)
    assert set(due) == {"input_ids", "attention_mask", "token_type_ids"}
    assert all(torch.equal(due[field], batch[field]) for field in due)
    assert tokenizer.padding_side == "right"


@every_tokenizer
@pytest.mark.parametrize("field", ["label", "labels"])
def test_labels_that_a_sample_brings_are_kept(name: str, field: str) -> None:
    """A class is not overwritten by tokens, for whatever task and tokenizer."""
    samples = [{"input_ids": [4, 5, 6], field: 1}, {"input_ids": [7], field: 0}]
    for task in (None, a_task(task_type="classification")):
        batch = LanguageModelingDataCollator(TOKENIZERS[name](), task_spec=task)(samples)
        assert batch["labels"].tolist() == [1, 0] and batch["labels"].dtype == torch.int64
        assert field == "labels" or "label" not in batch


@every_tokenizer
@both_sides
def test_labels_token_by_token_are_padded_by_what_is_ignored(name: str, side: Any) -> None:
    """A prompt that a sample leaves out of its loss stays out of it."""
    samples = [{"input_ids": [4, 5, 6], "labels": [-100, 5, 6]}, {"input_ids": [7], "labels": [7]}]
    batch = LanguageModelingDataCollator(TOKENIZERS[name](), padding_side=side)(samples)
    short = [7, IGNORED, IGNORED] if side == "right" else [IGNORED, IGNORED, 7]
    assert batch["labels"].tolist() == [[IGNORED, 5, 6], short]


@every_tokenizer
def test_other_fields_are_kept(name: str) -> None:
    """Numbers stack, words and lists of several lengths stay lists, types are padded token by token."""
    samples: list[dict[str, Any]] = [
        {"input_ids": [4, 5], "id": 3, "name": "a", "spans": [1, 2, 3], "token_type_ids": [0, 1], "extra": None},
        {"input_ids": [6], "id": 8, "name": "b", "spans": [4], "token_type_ids": [1], "extra": None},
    ]
    batch = LanguageModelingDataCollator(TOKENIZERS[name]())(samples)
    assert batch["id"].tolist() == [3, 8]
    assert batch["name"] == ["a", "b"]
    assert [list(v) for v in batch["spans"]] == [[1, 2, 3], [4]]
    assert batch["token_type_ids"].tolist() == [[0, 1], [1, 0]]
    assert batch["extra"] == [None, None]


@pytest.mark.parametrize("name", ["text", "vision", "audio", "default"])
def test_labels_go_before_a_label(name: str) -> None:
    """Where a sample has both, ``labels`` are the labels, and the other is a field as any."""
    make, samples = FLOATING[name]
    both = [{k: v for k, v in s.items() if k not in ("label", "labels")} | {"label": 5, "labels": 7} for s in samples]
    for ordered in (both, [dict(reversed(s.items())) for s in both]):
        batch = make(None)(ordered)
        assert batch["labels"].tolist() == [7, 7] and batch["label"].tolist() == [5, 5]


def test_classification_without_labels_gets_none() -> None:
    """For prediction: no labels are made of the tokens."""
    task = TaskSpec.cls_tiny()
    for tokenizer in (Plain(), PadOnly()):
        assert "labels" not in LanguageModelingDataCollator(tokenizer, task_spec=task)([{"input_ids": [4]}])


def test_several_labels_of_a_text_are_kept() -> None:
    """Vectors of 0.0 and 1.0, though by chance as long as the tokens, and labels of another sequence, padded."""
    vectors = [{"input_ids": [5, 6], "labels": [1.0, 0.0]}, {"input_ids": [7, 8], "labels": [0.0, 1.0]}]
    assert LanguageModelingDataCollator(Plain())(vectors)["labels"].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    targets = [{"input_ids": [5, 6], "labels": [7, 8, 9]}, {"input_ids": [5], "labels": [4, 4]}]
    assert LanguageModelingDataCollator(Plain())(targets)["labels"].tolist() == [[7, 8, 9], [4, 4, IGNORED]]


@both_sides
def test_a_token_of_the_paddings_id_is_attended(side: Any) -> None:
    """Where the end token pads, the end of a text is still a token and trained on; a sample's own mask stays."""
    tokenizer = library_tokenizer(pad_is_end=True)
    collate = LanguageModelingDataCollator(tokenizer, padding_side=side, ignore_padding=True)
    batch = collate([{"input_ids": [4, 5, 3]}, {"input_ids": [3]}])
    assert batch["input_ids"][1].tolist() == [3, 3, 3]
    assert batch["attention_mask"][1].tolist() == ([1, 0, 0] if side == "right" else [0, 0, 1])
    assert batch["labels"][1].tolist() == ([3, -100, -100] if side == "right" else [-100, -100, 3])
    own = collate([{"input_ids": [4, 5, 3], "attention_mask": [1, 0, 1]}, {"input_ids": [3], "attention_mask": [1]}])
    assert own["attention_mask"][0].tolist() == [1, 0, 1]


def test_without_a_padding_token_the_end_token_pads() -> None:
    """As with GPT-2; and one that has neither, nor ``pad``, is told what to set."""

    class Ends:
        pad_token_id, eos_token_id = None, 8

    batch = LanguageModelingDataCollator(Ends())([{"input_ids": [4, 5]}, {"input_ids": [6]}])
    assert batch["input_ids"].tolist() == [[4, 5], [6, 8]]
    with pytest.raises(ValueError, match=r"object has neither pad_token_id nor pad\(\): set pad_token_id"):
        LanguageModelingDataCollator(object())([{"input_ids": [4]}])


@every_tokenizer
@both_sides
def test_longer_samples_are_cut(name: str, side: Any) -> None:
    """At the side that is not padded, token by token in every field that goes with the tokens."""
    samples = [
        {"input_ids": [4, 5, 6, 7], "attention_mask": [1, 1, 0, 1], "labels": [4, 5, 6, -100]},
        {"input_ids": [8], "attention_mask": [1], "labels": [8]},
    ]
    batch = LanguageModelingDataCollator(TOKENIZERS[name](), padding_side=side, max_length=3)(samples)
    right = side == "right"
    assert batch["input_ids"].shape == (2, 3)
    assert batch["input_ids"][0].tolist() == ([4, 5, 6] if right else [5, 6, 7])
    assert batch["labels"][0].tolist() == ([4, 5, 6] if right else [5, 6, -100])


class ByEight(PadOnly):
    """Pads to a multiple of eight, and adds a field."""

    def pad(self, examples: Any, return_tensors: Any = None, padding: bool = True) -> dict[str, Any]:
        rows = [self._filled(e["input_ids"], 9, 8) for e in examples]
        return {"input_ids": rows, "position_ids": [list(range(8))] * len(rows)}


def test_what_a_tokenizers_padding_adds_is_kept() -> None:
    """Its width, and its fields; rows that it leaves ragged are no batch."""
    batch = LanguageModelingDataCollator(ByEight(), ignore_padding=True)([{"input_ids": [4, 5]}, {"input_ids": [6]}])
    assert batch["labels"].tolist() == [[4, 5] + [IGNORED] * 6, [6] + [IGNORED] * 7]
    assert batch["position_ids"].tolist() == [list(range(8))] * 2 and batch["attention_mask"].sum() == 3
    ragged = type("Ragged", (), {"pad": lambda self, rows, **keywords: {"input_ids": [r["input_ids"] for r in rows]}})
    with pytest.raises(ValueError, match=r"Cannot convert ragged list to tensor for key 'input_ids'.*\[2, 1\]"):
        LanguageModelingDataCollator(ragged())([{"input_ids": [4, 5]}, {"input_ids": [6]}])


def test_texts_are_tokenised() -> None:
    """By the tokenizer, cut to the longest that is wanted; what else a sample brings stays."""
    collate = LanguageModelingDataCollator(library_tokenizer(), max_length=3)
    batch = collate([{"text": "the cat sat on", "label": 1}, {"text": "", "label": 0}])
    assert batch["input_ids"].tolist() == [[4, 5, 6], [0, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [0, 0, 0]]
    assert batch["labels"].tolist() == [1, 0]


def test_a_batch_of_empty_texts_has_one_place() -> None:
    """Nothing is attended, and nothing breaks."""
    batch = LanguageModelingDataCollator(Plain())([{"input_ids": []}, {"input_ids": []}])
    assert batch["input_ids"].shape == (2, 1) and not batch["attention_mask"].any()


class Hidden(PadOnly):
    """Hides tokens, and pads by its own ``pad``."""

    mask_token_id, vocab_size = 3, 1000
    all_special_ids = (0, 1, 2, 3)


@pytest.mark.parametrize("tokenizer", [Plain(), Hidden()], ids=["ids", "pad"])
@pytest.mark.parametrize("share", [0.15, 0.5])
def test_masking_hides_the_share_that_was_asked(tokenizer: Any, share: float) -> None:
    """Hidden tokens alone have labels; 80 % become the mask, 10 % another token, 10 % stay."""
    torch.manual_seed(0)
    row = list(range(100, 900)) * 5
    collate = LanguageModelingDataCollator(tokenizer, True, share)
    batch = collate([{"input_ids": row}, {"input_ids": row[:1000]}])
    ids, labels = batch["input_ids"], batch["labels"]
    original = torch.tensor(row)
    for i, length in enumerate((4000, 1000)):
        hidden = labels[i] != IGNORED
        assert not hidden[length:].any()
        assert share - 0.06 < float(hidden[:length].float().mean()) < share + 0.06
        assert torch.equal(labels[i][hidden], original[hidden])
        assert torch.equal(ids[i][:length][~hidden[:length]], original[:length][~hidden[:length]])
    hidden = labels[0] != IGNORED
    masked = float((ids[0][hidden] == 3).float().mean())
    kept = float((ids[0][hidden] == original[hidden]).float().mean())
    assert 0.72 < masked < 0.88 and 0.05 < kept < 0.16


@pytest.mark.parametrize("tokenizer", [Plain(), Hidden(), library_tokenizer()], ids=["ids", "pad", "transformers"])
@both_sides
def test_special_tokens_and_padding_are_never_masked(tokenizer: Any, side: Any) -> None:
    """Even where every token is to be hidden."""
    collate = LanguageModelingDataCollator(tokenizer, True, 1.0, side)
    batch = collate([{"input_ids": [1, 6, 5, 7, 2 if not hasattr(tokenizer, "vocab") else 3]}, {"input_ids": [8]}])
    assert batch["labels"][0].tolist() == [IGNORED, 6, 5, 7, IGNORED]
    assert batch["input_ids"][0, 0] == 1
    padding = batch["attention_mask"][1] == 0
    assert (batch["labels"][1][padding] == IGNORED).all() and int(padding.sum()) == 4
    assert len(set(batch["input_ids"][1][padding].tolist())) == 1


def test_what_a_text_collator_cannot_do_is_said_at_once() -> None:
    """Before the first batch."""
    for keywords, words in (
        ({"padding_side": "top"}, "padding_side is 'top'; it must be one of 'left', 'right'"),
        ({"mlm_probability": 0}, r"mlm_probability is 0; it must be in \(0, 1\]"),
        ({"mlm_probability": 1.5}, "mlm_probability is 1.5"),
    ):
        with pytest.raises(ValueError, match=words):
            LanguageModelingDataCollator(Plain(), **keywords)
    with pytest.raises(ValueError, match="tokenizer required for text collator"):
        LanguageModelingDataCollator(None)
    with pytest.raises(ValueError, match="PadOnly has no mask_token_id"):
        LanguageModelingDataCollator(PadOnly(), mlm=True)


def test_texts_with_labels_are_tokenised_by_the_batch() -> None:
    """BatchTransform: one call of the tokenizer, labels int64, and none for prediction."""
    transform = BatchTransform(library_tokenizer(), max_length=3)
    batch = transform([{"text": "the cat sat on", "label": 1}, {"text": "dog", "label": 0}])
    assert batch["input_ids"].tolist() == [[4, 5, 6], [9, 0, 0]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [1, 0]
    assert "labels" not in transform([{"text": "dog"}])
    with pytest.raises(ValueError, match="tokenizer required"):
        BatchTransform(None)
    with pytest.raises(ValueError, match="max_length is 0"):
        BatchTransform(Plain(), 0)
    with pytest.raises(ValueError, match="sample 0 of the batch has no 'text'"):
        transform([{"words": "dog"}])


# ── images ─────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("field", ["pixel_values", "image", "img", "images"])
@pytest.mark.parametrize("name", ["imagenet", "cifar10"])
def test_images_are_normalised_per_channel(field: str, name: str) -> None:
    """``(x - mean) / std``, with the constants of ImageNet and CIFAR-10 by name, under whatever name they come."""
    mean, std = {
        "imagenet": ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
        "cifar10": ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]),
    }[name]
    images = torch.rand(4, 3, 5, 6)
    kept = images.clone()
    collate = VisionDataCollator(mean=name)
    for _ in range(2):
        batch = collate([{field: image, "label": i} for i, image in enumerate(images)])
        due = (images - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
        torch.testing.assert_close(batch["pixel_values"], due)
        assert batch["labels"].tolist() == [0, 1, 2, 3] and torch.equal(images, kept)
    assert name == "cifar10" or collate.mean == VisionDataCollator().mean


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_floating_images_keep_their_dtype(dtype: torch.dtype) -> None:
    """Unless another is asked for."""
    sample = [{"pixel_values": torch.rand(3, 2, 2, dtype=dtype)}]
    assert VisionDataCollator()(sample)["pixel_values"].dtype == dtype


def test_bytes_are_scaled_first() -> None:
    """uint8 images and arrays are those of [0, 1]; other integers are refused, and images that are none."""
    image = torch.randint(0, 256, (3, 4, 4), dtype=torch.uint8)
    due = VisionDataCollator()([{"pixel_values": image / 255}])["pixel_values"]
    for one in (image, image.numpy()):
        torch.testing.assert_close(VisionDataCollator()([{"pixel_values": one}])["pixel_values"], due)
    with pytest.raises(ValueError, match=r"pixel_values has dtype torch.int64; it must be uint8"):
        VisionDataCollator()([{"pixel_values": image.long()}])
    with pytest.raises(ValueError, match=r"pixel_values has shape \[4, 4\]; images are \[channels, height, width\]"):
        VisionDataCollator()([{"pixel_values": torch.rand(4, 4)}])
    assert VisionDataCollator(normalize=False)([{"pixel_values": image}])["pixel_values"].dtype == torch.uint8


def test_grey_images_take_the_first_of_several_means() -> None:
    """One channel; as many channels as there are no means for are refused."""
    collate = VisionDataCollator(mean=(0.5, 0.1, 0.1), std=(0.25, 1, 1))
    batch = collate([{"pixel_values": torch.ones(1, 2, 2)}])
    assert torch.equal(batch["pixel_values"], torch.full((1, 1, 2, 2), 2.0))
    with pytest.raises(ValueError, match=r"Number of channels \(4\) doesn't match mean and std \(3 each\)"):
        collate([{"pixel_values": torch.ones(4, 2, 2)}])


def test_several_labels_of_an_image_are_stacked() -> None:
    """Multi-label vectors; other fields stay; without labels there are none."""
    samples = [{"pixel_values": torch.rand(3, 2, 2), "labels": [1, 0, i], "id": i, "name": str(i)} for i in range(2)]
    batch = VisionDataCollator()(samples)
    assert batch["labels"].tolist() == [[1, 0, 0], [1, 0, 1]]
    assert batch["id"].tolist() == [0, 1] and batch["name"] == ["0", "1"]
    assert set(VisionDataCollator()([{"pixel_values": torch.rand(3, 2, 2)}])) == {"pixel_values"}


def test_what_a_vision_collator_cannot_do_is_said() -> None:
    """Sizes, missing images and labels, and constants that do not fit."""
    image = torch.rand(3, 2, 2)
    with pytest.raises(ValueError, match=r"Inconsistent pixel_values shapes: \[\(3, 2, 2\), \(3, 4, 4\)\]"):
        VisionDataCollator()([{"pixel_values": image}, {"pixel_values": torch.rand(3, 4, 4)}])
    with pytest.raises(ValueError, match="sample 1 of the batch has no 'labels'; it has pixel_values"):
        VisionDataCollator()([{"pixel_values": image, "labels": 1}, {"pixel_values": image}])
    with pytest.raises(ValueError, match="sample 0 of the batch has no 'labels'"):
        VisionDataCollator()([{"pixel_values": image}, {"pixel_values": image, "labels": 1}])
    with pytest.raises(ValueError, match="sample 0 of the batch has no 'pixel_values'; it has picture"):
        VisionDataCollator()([{"picture": image}])
    with pytest.raises(ValueError, match="mean is 'mnist'; the names are imagenet, cifar10"):
        VisionDataCollator(mean="mnist")
    with pytest.raises(ValueError, match="mean and std must have same length, got 3 and 2"):
        VisionDataCollator(mean=(1, 1, 1), std=(1, 1))
    with pytest.raises(ValueError, match="each must be above 0"):
        VisionDataCollator(std=(1, 0, 1))


# ── sound ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("field", ["waveform", "input_values", "audio", "wave"])
def test_waveforms_are_padded_with_silence(field: str) -> None:
    """One channel or several; lengths and mask say how far each goes."""
    for shape in ((), (2,)):
        batch = AudioCollator()([{field: torch.ones(*shape, n), "label": n} for n in (3, 1, 2)])
        assert batch[field].shape == (3, *shape, 3) and batch[field].is_contiguous()
        assert batch["lengths"].tolist() == [3, 1, 2]
        assert batch["attention_mask"].tolist() == [[True] * 3, [True, False, False], [True, True, False]]
        assert float(batch[field].sum()) == 6 * (shape[0] if shape else 1)
        assert batch["labels"].tolist() == [3, 1, 2]


@pytest.mark.parametrize("dtype", [torch.int16, torch.int32], ids=str)
def test_integers_of_sound_are_scaled(dtype: torch.dtype) -> None:
    """To [-1, 1), by the width of their type."""
    low = torch.iinfo(dtype).min
    batch = AudioCollator()([{"waveform": torch.tensor([low, 0, -(low // 2)], dtype=dtype)}])
    assert batch["waveform"].tolist() == [[-1.0, 0.0, 0.5]]


def test_integers_of_no_known_width_are_refused() -> None:
    """Plain whole numbers may be of 8 or of 24 bits: scaled by the 64 that they come in, they would be silence."""
    with pytest.raises(ValueError, match="int64"):
        AudioCollator()([{"waveform": [100, -200, 300]}])


def test_waveforms_are_normalised_one_by_one() -> None:
    """Before they are padded, so that silence stays silence; and cut to the longest that is wanted."""
    batch = AudioCollator(normalize=True, max_length=50)([{"waveform": 5 + 3 * torch.randn(n)} for n in (80, 20)])
    assert batch["waveform"].shape == (2, 50) and batch["lengths"].tolist() == [50, 20]
    for row, n in zip(batch["waveform"], (50, 20), strict=True):
        assert abs(float(row[:n].mean())) < 1e-5 and abs(float(row[:n].var(unbiased=False)) - 1) < 1e-3
    assert not batch["waveform"][1, 20:].any()
    assert AudioCollator(normalize=True)([{"waveform": torch.zeros(0)}])["waveform"].shape == (1, 0)


def test_channels_that_differ_are_refused() -> None:
    """Mono and stereo do not stack."""
    with pytest.raises(
        ValueError, match=r"waveforms have the shapes \[\(1, 4\), \(2, 4\)\]: convert all to one number"
    ):
        AudioCollator()([{"waveform": torch.ones(c, 4)} for c in (1, 2)])


# ── boxes ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("field", ["boxes", "bboxes"])
def test_each_image_keeps_its_boxes(field: str) -> None:
    """As many as it has, none too; images of one size are stacked, those of several stay a list."""
    samples = [
        {"image": torch.rand(3, 4, 4), field: [[0, 0, 1, 1]] * n, "labels": list(range(n)), "image_id": 7 + n}
        for n in (2, 0, 3)
    ]
    batch = DetectionCollator()(samples)
    assert batch["pixel_values"].shape == (3, 3, 4, 4)
    assert [tuple(b.shape) for b in batch[field]] == [(2, 4), (0, 4), (3, 4)]
    assert {b.dtype for b in batch[field]} == {torch.float32} and {v.dtype for v in batch["labels"]} == {torch.int64}
    assert [v.tolist() for v in batch["labels"]] == [[0, 1], [], [0, 1, 2]]
    assert batch["box_counts"].tolist() == [2, 0, 3] and batch["image_id"].tolist() == [9, 7, 10]
    samples[1]["image"] = torch.rand(3, 5, 4)
    assert [tuple(i.shape) for i in DetectionCollator()(samples)["pixel_values"]] == [(3, 4, 4), (3, 5, 4), (3, 4, 4)]


def test_images_with_boxes_are_normalised_where_asked() -> None:
    """As the vision collator has it; else values and dtype stay."""
    image = torch.full((3, 2, 2), 255, dtype=torch.uint8)
    kept = DetectionCollator()([{"image": image, "boxes": []}])["pixel_values"]
    assert kept.dtype == torch.uint8 and int(kept.min()) == 255
    scaled = DetectionCollator(True, (0.5,) * 3, (0.5,) * 3)([{"image": image, "boxes": []}])["pixel_values"]
    assert torch.equal(scaled, torch.ones(1, 3, 2, 2))
    assert "box_counts" not in DetectionCollator()([{"image": image}])


def test_boxes_that_do_not_fit_are_refused() -> None:
    """Their shape, and as many labels as there are boxes."""
    image = torch.rand(3, 2, 2)
    with pytest.raises(ValueError, match=r"boxes have shape \[2, 3\]; boxes must be \[n, 4\]"):
        DetectionCollator()([{"image": image, "boxes": torch.ones(2, 3)}])
    with pytest.raises(ValueError, match="sample 1 has 1 boxes and 2 labels"):
        DetectionCollator()([{"image": image, "boxes": torch.ones(n, 4), "labels": [0, 0]} for n in (2, 1)])


# ── rows, sequences, arrays ────────────────────────────────────────────────────


def test_numbers_of_a_row_are_side_by_side() -> None:
    """One float32 matrix, NaN where there is none; the label, words and arrays are fields of their own."""
    samples: list[dict[str, Any]] = [
        {"age": 3, "height": None, "note": "x", "pixels": np.ones(2), "ok": True, "target": 2},
        {"age": 5, "height": 1.5, "note": "y", "pixels": np.ones(2), "ok": False, "target": 0},
    ]
    batch = TabularCollator()(samples)
    assert batch["features"].dtype == torch.float32 and batch["features"].is_contiguous()
    assert batch["features"].nan_to_num(-1).tolist() == [[3, -1, 1], [5, 1.5, 0]]
    assert batch["labels"].tolist() == [2, 0] and batch["note"] == ["x", "y"] and batch["pixels"].shape == (2, 2)
    chosen = TabularCollator(columns=("height", "age"), label="ok")(samples)
    assert chosen["features"].nan_to_num(-1).tolist() == [[-1, 3], [1.5, 5]]
    assert chosen["labels"].tolist() == [1, 0] and chosen["target"].tolist() == [2, 0]


def test_a_column_of_no_values_at_all_is_no_number() -> None:
    """It stays a list; a scalar tensor is one, and what changes its kind is refused by name."""
    batch = TabularCollator()([{"a": None, "b": torch.tensor(2.0)}, {"a": None, "b": torch.tensor(3.0)}])
    assert batch["features"].tolist() == [[2], [3]] and batch["a"] == [None, None]
    with pytest.raises(ValueError, match="column 'a' has a value that is not a number"):
        TabularCollator()([{"a": 1}, {"a": "one"}])
    assert set(TabularCollator()([{"note": "x"}])) == {"note"}


@both_sides
def test_sequences_are_padded(side: Any) -> None:
    """The first field that is one counts; others that vary are padded too, the rest is stacked."""
    samples = [
        {"name": "a", "x": torch.ones(2, 3), "tags": [1, 2, 3], "label": 1, "words": ["p"]},
        {"name": "b", "x": torch.ones(1, 3), "tags": [4], "label": 0, "words": ["q", "r"]},
    ]
    batch = SequenceCollator(padding_value=-1, padding_side=side)(samples)
    right = side == "right"
    assert batch["x"][1, :, 0].tolist() == ([1, -1] if right else [-1, 1])
    assert batch["tags"].tolist() == [[1, 2, 3], [4, -1, -1] if right else [-1, -1, 4]]
    assert batch["lengths"].tolist() == [2, 1]
    assert batch["mask"].tolist() == [[True, True], [right, not right]]
    assert batch["name"] == ["a", "b"] and batch["label"].tolist() == [1, 0]
    named = SequenceCollator(field="tags")(samples)
    assert named["lengths"].tolist() == [3, 1] and named["mask"].shape == (2, 3)


def test_what_is_no_sequence_is_said() -> None:
    """Neither by name, nor where no field is one; what neither stacks nor pads stays a list."""
    with pytest.raises(ValueError, match="no field of a, b is a sequence: pass its name as field="):
        SequenceCollator()([{"a": 1, "b": "x"}])
    with pytest.raises(ValueError, match="a"):
        SequenceCollator(field="a")([{"a": 1, "b": [1]}])
    ragged = SequenceCollator(field="x")([{"x": [1], "m": torch.ones(1, 2)}, {"x": [1], "m": torch.ones(1, 3)}])
    assert isinstance(ragged["m"], list)


def test_arrays_are_stacked_field_by_field() -> None:
    """Labels as class indices; numbers, words and arrays each as they are."""
    batch = ArrayCollator()([{"x": np.full((2, 2), i), "y": float(i), "label": i} for i in range(3)])
    assert batch["x"].shape == (3, 2, 2) and batch["y"].tolist() == [0, 1, 2] and batch["label"].tolist() == [0, 1, 2]


# ── several modalities, and none ───────────────────────────────────────────────


@pytest.mark.parametrize("field", ["pixel_values", "image", "img"])
def test_images_and_words_go_to_their_collators(field: str) -> None:
    """Each as it would be alone; labels of padding are ignored where asked."""
    samples = [{field: torch.rand(3, 2, 2), "input_ids": [5] * n, "id": n} for n in (3, 1)]
    batch = MultimodalCollator(Plain(), mean="cifar10", padding_side="left", ignore_padding=True)(samples)
    images = VisionDataCollator(mean="cifar10")([{"pixel_values": s[field]} for s in samples])
    assert torch.equal(batch["pixel_values"], images["pixel_values"])
    assert batch["input_ids"].tolist() == [[5, 5, 5], [0, 0, 5]]
    assert batch["labels"].tolist() == [[5, 5, 5], [-100, -100, 5]] and batch["id"].tolist() == [3, 1]


def test_a_sample_without_its_image_is_named() -> None:
    """As the vision collator would."""
    with pytest.raises(ValueError, match="sample 1 of the batch has no 'pixel_values'"):
        MultimodalCollator(Plain())([{"image": torch.rand(3, 2, 2), "input_ids": [5]}, {"input_ids": [5]}])


def test_the_default_collates_as_torch_does() -> None:
    """Any nesting; a field ``label`` becomes ``labels``, unless there are such."""
    batch = DefaultCollator()([{"x": (torch.ones(1), 2), "label": 3}] * 2)
    assert batch["labels"].tolist() == [3, 3] and batch["x"][1].tolist() == [2, 2]
    assert set(DefaultCollator()([{"label": 1, "labels": 2}])) == {"label", "labels"}
    first, second = DefaultCollator(dtype=torch.float64)([(torch.ones(2), 1)] * 2)
    assert first.dtype == torch.float64 and second.dtype == torch.int64


def test_what_is_hidden_follows_from_seed_and_batch() -> None:
    """No worker, and no resumed epoch, hides other tokens; another batch or seed does."""
    tokenizer = library_tokenizer()
    samples = [{"input_ids": list(range(4, 40))}, {"input_ids": list(range(5, 30))}]
    hidden = [LanguageModelingDataCollator(tokenizer, mlm=True, seed=s)(samples)["labels"] for s in (0, 0, 1)]
    assert torch.equal(hidden[0], hidden[1])
    assert not torch.equal(hidden[0], hidden[2])
    torch.manual_seed(1)
    again = pickle.loads(pickle.dumps(LanguageModelingDataCollator(tokenizer, mlm=True, seed=0)))
    assert torch.equal(again(samples)["labels"], hidden[0])
    assert not torch.equal(again(samples[::-1])["labels"].flip(0), hidden[0])
