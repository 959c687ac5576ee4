"""Guards of ``tests.weaknesses.engine``: each fails once the engine has one weakness of its predecessors."""

from __future__ import annotations

import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from dataloader_expert.loaders import (
    CollatorRegistry,
    DataLoaderConfig,
    DataLoaderFactory,
    DataModuleProtocol,
    StreamingDataset,
    TaskSpec,
    UniversalDataModule,
    VisionDataCollator,
    get_default_task_specs,
    set_random_seed,
)
from dataloader_expert.loaders.collators.base import DefaultCollator

PAD, MASK, SPECIAL, WORD = 0, 1, 2, 9


class Words:
    """A tokenizer of words by their length; id 0 pads, 1 masks, 2 ends."""

    pad_token_id, mask_token_id, all_special_ids = PAD, MASK, (PAD, MASK, SPECIAL)

    def __len__(self) -> int:
        return 50

    def __call__(self, texts: Any, **limits: Any) -> dict[str, Any]:
        rows = [[len(word) + SPECIAL for word in text.split()] for text in texts]
        return {"input_ids": rows, "attention_mask": [[1] * len(row) for row in rows]}


class Noisy(Dataset[torch.Tensor]):
    """Samples that each way of drawing random numbers changes."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor([index, torch.rand(()), random.random(), np.random.rand()])


class Counting(IterableDataset[int]):
    """0 to 9, asking nobody which worker it is in."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(10))


TENSORS = [torch.tensor([i]) for i in range(10)]
TOKENS = [{"input_ids": [5, 6, 7]}, {"input_ids": [8]}]
IMAGES = [{"pixel_values": torch.full((3, 4, 4), 255, dtype=torch.uint8), "labels": 1}] * 2


def spec(modality: str, task_type: str = "classification") -> TaskSpec:
    return TaskSpec("own", task_type, "encoder_only", [], "labels", "cross_entropy", [], modality=modality)


def loader(dataset: Any, registry: CollatorRegistry | None = None, **settings: Any) -> Any:
    """A loader in this process, unless ``num_workers`` says otherwise."""
    passed = {name: settings.pop(name) for name in ("task_spec", "tokenizer") if name in settings}
    config = DataLoaderConfig(**{"batch_size": 2, "num_workers": 0, "shuffle": False, **settings})
    return DataLoaderFactory(registry or CollatorRegistry()).create_dataloader(dataset, config, **passed)


def module(data: Any, **settings: Any) -> UniversalDataModule:
    return UniversalDataModule(data, **{"batch_size": 2, "num_workers": 0, **settings})


def rows(batches: Any) -> list[int]:
    """The first number of every sample of batches of one tensor."""
    return [int(row[0]) for batch in batches for row in (batch[0] if isinstance(batch, list) else batch)]


def text_batch(samples: Any, **asked: Any) -> Any:
    task = asked.pop("task_spec", TaskSpec.lm_tiny())
    return CollatorRegistry().get_collator(task_spec=task, tokenizer=Words(), **asked)(samples)


def test_an_error_of_a_collator_s_factory_is_not_swallowed() -> None:
    """Our promise: no other collator is taken in silence."""
    registry = CollatorRegistry()

    @registry.register("broken", "audio")
    def make() -> Any:
        raise RuntimeError("no codec")

    with pytest.raises(RuntimeError, match="no codec"):
        loader(TENSORS, registry, task_spec=spec("audio"))


def test_texts_without_a_tokenizer_are_an_error() -> None:
    """The original's promise, which an earlier version of it broke: it says what to do."""
    with pytest.raises(ValueError, match="pass tokenizer="):
        loader(TOKENS, task_spec=TaskSpec.lm_tiny())


def test_a_keyword_that_nobody_takes_is_an_error() -> None:
    """Our promise: a misspelt argument is named."""
    with pytest.raises(TypeError, match="takes no men; it takes task_spec, normalize"):
        CollatorRegistry().get_collator(collator_name="vision", men=[0.5])


def test_a_collator_of_one_s_own_is_selected_for_a_built_in_modality() -> None:
    """Our promise: what was registered last goes before the built-in ones."""
    registry = CollatorRegistry()
    registry.register("mine", "vision")(lambda task_spec=None: "mine")
    assert registry.get_collator(task_spec=TaskSpec.vision_tiny()) == "mine"


def test_a_collator_registered_anew_is_selected() -> None:
    """Our promise: the last registration counts, whatever came first."""
    registry = CollatorRegistry()
    for name in ("first", "second", "first"):
        registry.register(name, "radar")(lambda name=name: name)
    assert registry.get_collator(task_spec=spec("radar")) == "first"


def test_a_factory_gets_only_what_it_takes() -> None:
    """The guide's audio collator takes no tokenizer: it is selected by a factory that always has one."""
    registry = CollatorRegistry()

    @registry.register("mine", "audio")
    def make(task_spec: Any = None, sample_rate: int = 16000) -> Any:
        return lambda samples: sample_rate

    assert list(loader(TENSORS[:2], registry, task_spec=spec("audio"))) == [16000]


def test_a_multimodal_collator_is_selected() -> None:
    """The guide's multimodal collator, of modality vision: it goes before the built-in one, with its tokenizer."""
    registry = CollatorRegistry()

    @registry.register("multimodal", "vision")
    def make(task_spec: Any = None, tokenizer: Any = None, normalize: bool = True) -> Any:
        return lambda samples: (type(tokenizer), len(samples))

    made = loader(IMAGES, registry, task_spec=TaskSpec.vision_tiny(), tokenizer=Words())
    assert list(made) == [(Words, 2)]


def test_a_collator_by_name_gets_the_task() -> None:
    """Our promise: a task's preprocessing counts, whichever way its collator is chosen."""
    task = TaskSpec.vision_tiny()
    task.preprocessing_config = {"mean": [0.5] * 3, "std": [0.25] * 3}
    assert CollatorRegistry().get_collator(task, collator_name="vision").mean == (0.5, 0.5, 0.5)


def test_a_modality_without_a_collator_gets_the_default_one(caplog: pytest.LogCaptureFixture) -> None:
    """Our promise: no other package is needed for it."""
    with caplog.at_level(logging.WARNING):
        assert isinstance(CollatorRegistry().get_collator(task_spec=spec("radar")), DefaultCollator)
    assert "radar" in caplog.text


def test_registries_share_nothing() -> None:
    """Our promise: what one part of a program registers, another with its own registry does not get."""
    first, second = CollatorRegistry(), CollatorRegistry()
    first.register("text", "text")(lambda **keywords: "mine")
    assert second.get_collator(task_spec=TaskSpec.lm_tiny(), tokenizer=Words()) != "mine"
    assert [info.name for info in CollatorRegistry().list_collators()] == [i.name for i in second.list_collators()]


def test_labels_of_a_classification_are_kept() -> None:
    """Our promise: the class of a text is not overwritten by its tokens."""
    batch = text_batch([{**s, "label": i} for i, s in enumerate(TOKENS)], task_spec=TaskSpec.cls_tiny())
    assert batch["labels"].tolist() == [0, 1]


def test_padding_is_not_trained_on() -> None:
    """Our promise: the loss leaves padding out."""
    assert text_batch(TOKENS)["labels"].tolist() == [[5, 6, 7], [8, -100, -100]]


def test_a_token_that_equals_the_padding_is_a_token() -> None:
    """Our promise: what is padding follows from lengths, not from ids."""
    batch = text_batch([{"input_ids": [5, PAD, 7]}, {"input_ids": [PAD]}])
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[5, PAD, 7], [PAD, -100, -100]]


def test_special_tokens_are_never_predicted() -> None:
    """Our promise: masked modelling trains on words alone."""
    batch = text_batch([{"input_ids": [WORD, SPECIAL]}], task_spec=spec("text", "masked_lm"), mlm_probability=1.0)
    assert batch["labels"].tolist() == [[WORD, -100]]


def test_a_masked_task_masks() -> None:
    """Our promise: masked modelling is chosen by the task."""
    asked = {"task_spec": spec("text", "masked_lm"), "mlm_probability": 1.0}
    assert (text_batch([{"input_ids": [WORD] * 50}], **asked)["input_ids"] == MASK).any()


def test_fields_beside_the_tokens_are_padded() -> None:
    """Our promise: without a method ``pad`` of the tokenizer too."""
    batch = text_batch([{**s, "token_type_ids": [1] * len(s["input_ids"])} for s in TOKENS])
    assert batch["token_type_ids"].tolist() == [[1, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize("share", [1.5, 1.0, -0.1])
def test_a_share_of_validation_that_is_none_is_refused(share: float) -> None:
    """Our promise: it does not become another one."""
    with pytest.raises(ValueError, match="val_split"):
        module(TENSORS, val_split=share)


def test_a_split_is_rounded_to_the_nearest() -> None:
    """Our promise: 80 % of 100 are 80, though 1 - 0.8 is a little less than 0.2."""
    parts = module([torch.tensor([i]) for i in range(100)], val_split=0.8)
    assert (len(parts.train_data), len(parts.val_data)) == (20, 80)


@pytest.mark.parametrize(("count", "share"), [(10, 0.9), (3, 0.99), (1, 0.2)])
def test_training_is_never_left_without_samples(count: int, share: float) -> None:
    """Our promise: the last sample stays with training."""
    assert len(module(TENSORS[:count], val_split=share).train_data) >= 1


def test_a_list_is_split_by_the_seed() -> None:
    """Our promise: a list that is sorted by class does not lose its last one to validation."""
    held = [rows([torch.stack(module(TENSORS, val_split=0.4, seed=seed).val_data)]) for seed in (1, 1, 2)]
    assert held[0] == held[1] != held[2]
    assert sorted(held[0]) != [6, 7, 8, 9]


def test_random_choices_of_validation_follow_from_the_seed() -> None:
    """Our promise: workers of a loader that does not shuffle are seeded too."""
    parts = UniversalDataModule(Noisy(), Noisy(), batch_size=3, num_workers=1, persistent_workers=False)
    passes = []
    for state in (0, 1):
        torch.manual_seed(state)
        made = parts.val_dataloader()
        assert made is not None
        passes.append(torch.cat(list(made)))
    assert torch.equal(*passes)


def test_random_choices_without_workers_follow_from_the_seed() -> None:
    """Our promise: the number of workers changes no augmentation, none of them included."""
    passes = []
    for state in (0, 1):
        for source in (random.seed, np.random.seed, torch.manual_seed):
            source(state)
        passes.append(torch.cat(list(loader(Noisy(), shuffle=True))))
    assert torch.equal(*passes)


def test_a_training_loader_goes_on_with_the_next_epoch() -> None:
    """Our promise: a loop that asks for a loader each epoch does not see one order for ever."""
    parts = module(TENSORS, val_split=0)
    first, second = rows(parts.train_dataloader()), rows(parts.train_dataloader())
    assert sorted(first) == sorted(second)
    assert first != second


def test_training_goes_on_in_the_midst_of_an_epoch() -> None:
    """Our promise: a state says where, and another module goes there."""
    parts, other = module(TENSORS, val_split=0), module(TENSORS, val_split=0)
    whole = rows(module(TENSORS, val_split=0).train_dataloader())
    batches = iter(parts.train_dataloader())
    seen = rows([next(batches), next(batches)])
    other.load_state_dict(parts.state_dict())
    assert seen + rows(other.train_dataloader()) == whole


def test_ranks_share_an_epoch_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our promise: where there is a process group no two ranks train on the same samples."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    seen: list[int] = []
    for rank in (0, 1):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        seen += rows(module(TENSORS, val_split=0).train_dataloader())
    assert sorted(seen) == list(range(10))


@pytest.mark.parametrize("kind", ["plain", "sharded"])
def test_ranks_share_a_stream_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str) -> None:
    """Our promise: each element comes once, in training or in validation, whoever shares the stream out."""
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(f"{i}\n" for i in range(10)), encoding="utf-8")
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.distributed, "get_world_size", lambda: 2)
    seen: list[int] = []
    for rank in (0, 1):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        parts = module(Counting() if kind == "plain" else StreamingDataset([str(lines)]), val_split=0.4)
        held = parts.val_dataloader()
        assert held is not None
        seen += [int(v) for made in (parts.train_dataloader(), held) for batch in made for v in batch]
    assert sorted(seen) == list(range(10))


def test_workers_share_a_stream_out() -> None:
    """Our promise: two workers do not deliver each element twice."""
    made = loader(Counting(), num_workers=2, persistent_workers=False)
    assert sorted(int(v) for batch in made for v in batch) == list(range(10))


def test_a_stream_is_split_and_read() -> None:
    """Our promise: an iterable dataset has a training and a validation part too."""
    parts = module(Counting(), val_split=0.4)
    held = parts.val_dataloader()
    assert held is not None
    assert sorted(int(v) for made in (parts.train_dataloader(), held) for b in made for v in b) == list(range(10))


@pytest.mark.parametrize("empty", [[], TensorDataset(torch.empty(0, 3))], ids=["list", "tensors"])
def test_an_empty_dataset_gives_no_batches(empty: Any) -> None:
    """Our promise: shuffled too."""
    assert list(loader(empty, shuffle=True)) == []


def test_empty_validation_gives_no_batches() -> None:
    """Our promise: an empty list is no error."""
    held = module(TENSORS, val_data=[]).val_dataloader()
    assert held is not None
    assert list(held) == []


def test_tensors_of_several_lengths_are_named() -> None:
    """Our promise: the message says what differs, and what pads."""
    with pytest.raises(ValueError, match=r"\[1\] int64, \[2\] int64.*pads them"):
        loader([torch.tensor([1]), torch.tensor([1, 2])])


@pytest.mark.parametrize("setting", [{"prefetch_factor": 0}, {"num_workers": True}, {"seed": -1}], ids=str)
def test_a_setting_that_cannot_be_is_refused(setting: dict[str, Any]) -> None:
    """Our promise: before a loader is made, by name."""
    with pytest.raises(ValueError, match=next(iter(setting))):
        loader(TENSORS, **setting)


def test_a_module_takes_the_settings_of_a_loader() -> None:
    """Our promise: what a loader can be told, its module can be told."""
    made = module(TENSORS[:5], val_split=0, drop_last=True).train_dataloader()
    assert (made.drop_last, len(made)) == (True, 2)


def test_images_of_bytes_are_scaled() -> None:
    """Our promise: uint8 is 0 to 255, and nothing becomes infinite."""
    made = VisionDataCollator(mean=[0.5] * 3, std=[0.25] * 3)(IMAGES)["pixel_values"]
    assert torch.equal(made, torch.full((2, 3, 4, 4), 2.0))


def test_a_deviation_of_nothing_is_refused() -> None:
    """Our promise: no division by 0."""
    with pytest.raises(ValueError, match="above 0"):
        VisionDataCollator(mean=[0.5] * 3, std=[0.25, 0.0, 0.25])


def test_images_have_several_labels() -> None:
    """Our promise: vectors of labels are stacked."""
    samples = [{**IMAGES[0], "labels": torch.tensor(v)} for v in ([1.0, 0.0], [1.0, 1.0])]
    assert VisionDataCollator()(samples)["labels"].tolist() == [[1.0, 0.0], [1.0, 1.0]]


def test_a_label_that_is_missing_is_named() -> None:
    """Our promise: the first sample does not decide whether there are labels."""
    with pytest.raises(ValueError, match="sample 0 of the batch has no 'labels'"):
        VisionDataCollator()([{"pixel_values": IMAGES[0]["pixel_values"]}, IMAGES[1]])


def test_the_guide_s_tasks_exist() -> None:
    """The guide's promise, which its code never kept."""
    presets = get_default_task_specs()
    assert (TaskSpec.vision_tiny(), TaskSpec.lm_tiny()) == (presets["vision_tiny"], presets["lm_tiny"])


def test_columns_of_hugging_face_s_images_fit() -> None:
    """The guide's promise for CIFAR-10, whose columns are ``img`` and ``label``."""
    pictures = [Image.new("RGB", (4, 4), (i, i, i)) for i in range(4)]
    features = datasets.Features({"img": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])})
    data = datasets.Dataset.from_dict({"img": pictures, "label": [0, 1, 0, 1]}, features=features)
    batch = next(iter(module(data, task_spec=TaskSpec.vision_tiny(), val_split=0).train_dataloader()))
    assert (batch["pixel_values"].shape, batch["labels"].dtype) == ((2, 3, 4, 4), torch.int64)


def test_raw_text_is_tokenised() -> None:
    """The guide's promise for WikiText, which has no ``input_ids``."""
    data = datasets.Dataset.from_dict({"text": ["a bb", "ccc", "a", "bb"]})
    made = module(data, task_spec=TaskSpec.lm_tiny(), tokenizer=Words(), val_split=0).train_dataloader()
    assert next(iter(made))["input_ids"].dtype == torch.int64


def test_a_data_module_can_be_asked_for() -> None:
    """Our promise: ``isinstance`` works with the protocol."""
    assert isinstance(module(TENSORS), DataModuleProtocol)
    assert not isinstance(object(), DataModuleProtocol)


@pytest.fixture
def settings_put_back() -> Iterator[None]:
    """Of torch and of the environment, as before the test."""
    cudnn, name = torch.backends.cudnn, "CUBLAS_WORKSPACE_CONFIG"
    kept = cudnn.deterministic, cudnn.benchmark, os.environ.get(name)
    yield
    torch.use_deterministic_algorithms(False)
    cudnn.deterministic, cudnn.benchmark = kept[:2]
    os.environ.pop(name, None)
    os.environ.update({} if kept[2] is None else {name: kept[2]})


@pytest.mark.usefixtures("settings_put_back")
def test_fast_mode_ends_deterministic_mode() -> None:
    """Our promise: a later call counts, whatever an earlier one set."""
    set_random_seed(1, deterministic=True)
    set_random_seed(1)
    assert not torch.are_deterministic_algorithms_enabled()
    assert (torch.backends.cudnn.deterministic, os.environ.get("CUBLAS_WORKSPACE_CONFIG")) == (False, None)


@pytest.mark.parametrize("of", [TensorDataset(torch.arange(10)[:, None]), TENSORS], ids=["dataset", "list"])
def test_tensors_are_not_read_sample_by_sample(monkeypatch: pytest.MonkeyPatch, of: Any) -> None:
    """Our promise: a batch of tensors is one gather, of a split's part too."""
    read: list[Any] = []
    one_by_one: Any = TensorDataset.__getitem__

    def counted(self: TensorDataset, index: Any) -> Any:
        read.append(index)
        return one_by_one(self, index)

    monkeypatch.setattr(TensorDataset, "__getitem__", counted)
    assert sorted(rows(loader(of))) == list(range(10))
    assert len(rows(module(of, val_split=0.2).train_dataloader())) == 8
    assert read == []
