"""What the engine of collators, loaders and data modules that went before did badly.

That its claims of speed were never measured is answered by ``python -m benchmarks.speed``, not by a test.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import TensorDataset, default_collate

from dataloader_expert.loaders import factory, seeding
from dataloader_expert.loaders.collators import registry, vision
from dataloader_expert.loaders.collators.base import CollatorInfo
from dataloader_expert.loaders.collators.registry import CollatorRegistry
from dataloader_expert.loaders.collators.text import LanguageModelingDataCollator
from dataloader_expert.loaders.collators.vision import VisionDataCollator
from dataloader_expert.loaders.epochs import EpochLoader
from dataloader_expert.loaders.factory import DataLoaderConfig, DataLoaderFactory
from dataloader_expert.loaders.modules import module, splitting
from dataloader_expert.loaders.modules.module import DataModuleProtocol, UniversalDataModule
from dataloader_expert.loaders.tasks import TaskSpec
from dataloader_expert.samplers import OrderedSampler, TorchShuffleSampler
from tests.weaknesses.base import Instead, Weakness, planted

SYSTEM = "engine of collators and loaders"
GUARDS = "tests/loaders/test_engine_guards.py::test_"

Registry: Any = CollatorRegistry
Factory: Any = DataLoaderFactory
Text: Any = LanguageModelingDataCollator
Vision: Any = VisionDataCollator
Module: Any = UniversalDataModule
Collate = Callable[[Any, Any], Any]
_by_task, _made, _named = Factory._by_task, registry._made, Registry._named
_text, _hidden, _init_text = Text.__call__, Text._hidden, Text.__init__
_images, _init_images, _init_module = Vision.__call__, Vision.__init__, Module.__init__


def _swallowing(self: Any, task_spec: Any, tokenizer: Any) -> Any:
    try:
        return _by_task(self, task_spec, tokenizer)
    except Exception:
        return default_collate


def _passing_all(info: Any, task_spec: Any, keywords: dict[str, Any]) -> Any:
    given = keywords if task_spec is None else {"task_spec": task_spec, **keywords}
    return info.factory(**given)


def _leaving_unknown_out(info: Any, task_spec: Any, keywords: dict[str, Any]) -> Any:
    known = info.factory.__code__.co_varnames[: info.factory.__code__.co_argcount]
    return _made(info, task_spec, {name: value for name, value in keywords.items() if name in known})


def _first_registered(self: Any, task_spec: Any) -> Any:
    return next(info for info in self._known.values() if info.modality == task_spec.modality)


def _in_first_order(self: Any, task_spec: Any) -> Any:
    own = [info for info in self._known.values() if info.name in self._own]
    return next(info for info in reversed(own) if info.modality == task_spec.modality)


def _without_task_by_name(self: Any, task_spec: Any = None, collator_name: Any = None, **keywords: Any) -> Any:
    info = _named(self, collator_name) if collator_name else self._for(task_spec)
    return _made(info, None if collator_name else task_spec, keywords)


def _of_transformers(self: Any, task_spec: Any) -> Any:
    from transformers import default_data_collator

    return CollatorInfo("default", lambda: default_data_collator, "any", "of another package")


def _init_shared(self: Any, known: dict[str, Any] = {}, own: list[str] = []) -> None:  # noqa: B006  # the weakness
    self._known, self._own = known, own
    for info in registry.BUILT_IN:
        known.setdefault(info.name, info)


def _labels_from_tokens(self: Any, samples: Any) -> Any:
    batch = _text(self, samples)
    return {**batch, "labels": batch["input_ids"].clone()}


def _mask_from_ids(self: Any, samples: Any) -> Any:
    batch = _text(self, samples)
    present = batch["input_ids"] != self.tokenizer.pad_token_id
    return {**batch, "attention_mask": present.long()}


def _labels_from_ids(self: Any, samples: Any) -> Any:
    batch = _text(self, samples)
    return {**batch, "labels": batch["labels"].masked_fill(batch["input_ids"] == self.tokenizer.pad_token_id, -100)}


def _padding_counted(self: Any, *arguments: Any, **keywords: Any) -> None:
    _init_text(self, *arguments, **{**keywords, "ignore_padding": False})


def _never_masked(self: Any, tokenizer: Any, mlm: bool = False, *arguments: Any, **keywords: Any) -> None:
    _init_text(self, tokenizer, False, *arguments, **keywords)


def _special_predicted(self: Any, ids: torch.Tensor, present: torch.Tensor) -> Any:
    hidden, labels = _hidden(self, ids, present)
    special = torch.isin(ids, torch.tensor(self.tokenizer.all_special_ids))
    return hidden, torch.where(special & present, ids, labels)


def _unpadded(self: Any, samples: Any, name: str, *rest: Any) -> Any:
    return [sample[name] for sample in samples]


def _any_share(data: Any, share: float, seed: int, in_order: bool = False, *more: Any) -> Any:
    return splitting.split(data, 0.5 if share >= 1 else max(0.0, share), seed, in_order)


def _truncated(data: Any, share: float, seed: int, in_order: bool = False, *more: Any) -> Any:
    train = int((1 - share) * len(data))
    return data[:train], data[train:]


def _tail(data: Any, share: float, seed: int, in_order: bool = False, *more: Any) -> Any:
    return splitting.split(data, share, seed, in_order=True)


def _without_generator(dataset: Any, *, seed: Any, generator: Any, sampler: Any = None, **keywords: Any) -> Any:
    in_order = isinstance(sampler, OrderedSampler)
    seeded = {"seed": None, "generator": None} if in_order else {"seed": seed, "generator": generator}
    return EpochLoader(dataset, sampler=sampler, **seeded, **keywords)


def _none(data: Any) -> bool:
    return False


_unseeded = ((factory, "may_draw", _none), (factory, "runs_code", _none))
"""Neither what the code says nor what reading it shows leads to seeds."""


def _from_the_start(self: Any, state: dict[str, Any]) -> None:
    self.seed = state["seed"]


def _as_it_is(dataset: Any, *ranks: Any, **more: Any) -> Any:
    return dataset


def _not_empty(dataset: Any, *arguments: Any, **keywords: Any) -> Any:
    if not len(dataset):
        raise ValueError("num_samples should be a positive integer value, but got num_samples=0")
    return TorchShuffleSampler(dataset, *arguments, **keywords)


def _stacked(tensors: list[torch.Tensor]) -> TensorDataset:
    return TensorDataset(torch.stack(tensors))


def _without_settings(self: Any, *arguments: Any, drop_last: Any = None, **keywords: Any) -> None:
    _init_module(self, *arguments, **keywords)


def _in_their_dtype(self: Any, images: torch.Tensor) -> torch.Tensor:
    mean, std = (torch.tensor(v, dtype=images.dtype).view(-1, 1, 1) for v in (self.mean, self.std))
    return (images - mean) / std


def _any_std(self: Any, *arguments: Any, **keywords: Any) -> None:
    try:
        _init_images(self, *arguments, **keywords)
    except ValueError as e:
        if "above 0" not in str(e):
            raise


def _whole_labels(values: list[Any]) -> torch.Tensor:
    return torch.tensor([int(value) for value in values])


def _as_the_first(self: Any, samples: Any) -> Any:
    return _images(self, samples if "labels" in samples[0] else [{"pixel_values": s["pixel_values"]} for s in samples])


class _Missing:
    """An attribute that is not there."""

    def __get__(self, instance: object, owner: type) -> Any:
        raise AttributeError("no such preset")


def _only_on(deterministic: bool, **more: Any) -> None:
    if deterministic:
        torch.use_deterministic_algorithms(True, **more)


NOT_HUB = (module, "is_hub", lambda data: False)
BY_SAMPLE = ((factory, "by_batch", _as_it_is), (splitting, "by_batch", _as_it_is))
STACKED = ((factory, "stacked", _stacked), (splitting, "stacked", _stacked))

WEAKNESSES = [
    Weakness(SYSTEM, says, GUARDS + test, plant)
    for says, test, plant in [
        (
            "an error of a collator's factory is swallowed, torch's collation taken",
            "an_error_of_a_collator_s_factory_is_not_swallowed",
            planted((Factory, "_by_task", _swallowing)),
        ),
        (
            "a missing tokenizer is swallowed too",
            "texts_without_a_tokenizer_are_an_error",
            planted((Factory, "_by_task", _swallowing)),
        ),
        (
            "unknown arguments of a collator are dropped in silence",
            "a_keyword_that_nobody_takes_is_an_error",
            planted((registry, "_made", _leaving_unknown_out)),
        ),
        (
            "a custom collator of text or vision is never selected",
            "a_collator_of_one_s_own_is_selected_for_a_built_in_modality",
            planted((Registry, "_for", _first_registered)),
        ),
        (
            "selection depends on the order of first registrations",
            "a_collator_registered_anew_is_selected",
            planted((Registry, "_for", _in_first_order)),
        ),
        (
            "selection passes arguments that the guide's audio collator does not take",
            "a_factory_gets_only_what_it_takes",
            planted((registry, "_made", _passing_all)),
        ),
        (
            "the guide's multimodal collator is never selected",
            "a_multimodal_collator_is_selected",
            planted((Registry, "_for", _first_registered)),
        ),
        (
            "a collator chosen by its name gets no task",
            "a_collator_by_name_gets_the_task",
            planted((Registry, "get_collator", _without_task_by_name)),
        ),
        (
            "the default collator is another package's, the registered one never selected",
            "a_modality_without_a_collator_gets_the_default_one",
            planted((Registry, "_for", _of_transformers)),
        ),
        (
            "registered collators are state that all share",
            "registries_share_nothing",
            planted((Registry, "__init__", _init_shared)),
        ),
        (
            "labels of a classification are overwritten by token ids",
            "labels_of_a_classification_are_kept",
            planted((Text, "__call__", _labels_from_tokens)),
        ),
        ("padding is trained on", "padding_is_not_trained_on", planted((Text, "__init__", _padding_counted))),
        (
            "a real token equal to the padding is masked from attention",
            "a_token_that_equals_the_padding_is_a_token",
            planted((Text, "__call__", _mask_from_ids)),
        ),
        (
            "a real token equal to the padding is left out of the loss",
            "a_token_that_equals_the_padding_is_a_token",
            planted((Text, "__call__", _labels_from_ids)),
        ),
        (
            "masked modelling predicts special tokens",
            "special_tokens_are_never_predicted",
            planted((Text, "_hidden", _special_predicted)),
        ),
        ("a masked task never masks", "a_masked_task_masks", planted((Text, "__init__", _never_masked))),
        (
            "only input_ids are padded without the tokenizer's own pad",
            "fields_beside_the_tokens_are_padded",
            planted((Text, "_other", _unpadded)),
        ),
        *(
            (
                f"val_split is not validated: {share}",
                f"a_share_of_validation_that_is_none_is_refused[{share}]",
                planted((module, "split", _any_share)),
            )
            for share in (1.5, 1.0, -0.1)
        ),
        (
            "floats are cut off: 80 % of 100 leave 19",
            "a_split_is_rounded_to_the_nearest",
            planted((module, "split", _truncated)),
        ),
        *(
            (
                f"training can become empty: {case}",
                f"training_is_never_left_without_samples[{case}]",
                planted((module, "split", _truncated)),
            )
            for case in ("10-0.9", "3-0.99", "1-0.2")
        ),
        (
            "a list is split by its tail, whatever the seed",
            "a_list_is_split_by_the_seed",
            planted((module, "split", _tail)),
        ),
        (
            "validation's workers are not seeded",
            "random_choices_of_validation_follow_from_the_seed",
            planted((factory, "EpochLoader", _without_generator), *_unseeded),
        ),
        (
            "augmentation without workers is not seeded",
            "random_choices_without_workers_follow_from_the_seed",
            planted(*_unseeded),
        ),
        (
            "each training loader begins with the same epoch",
            "a_training_loader_goes_on_with_the_next_epoch",
            planted((Module, "_next_epoch", lambda self: 0)),
        ),
        (
            "nothing goes on in the midst of an epoch",
            "training_goes_on_in_the_midst_of_an_epoch",
            planted((Module, "load_state_dict", _from_the_start)),
        ),
        (
            "every rank trains on everything",
            "ranks_share_an_epoch_out",
            planted((factory, "ranks_asked", lambda distributed: (1, 0))),
        ),
        (
            "every rank trains on the whole of a stream",
            "ranks_share_a_stream_out[plain]",
            planted((factory, "ranks_asked", lambda distributed: (1, 0))),
        ),
        (
            "workers deliver each element of a stream again",
            "workers_share_a_stream_out",
            planted((factory, "ShardedStream", _as_it_is)),
        ),
        (
            "a data module cannot use a stream at all: it shuffles",
            "a_stream_is_split_and_read",
            planted((module, "IterableDataset", type(None))),
        ),
        *(
            (
                f"an empty dataset cannot be shuffled: {kind}",
                f"an_empty_dataset_gives_no_batches[{kind}]",
                planted((factory, "TorchShuffleSampler", _not_empty)),
            )
            for kind in ("list", "tensors")
        ),
        (
            "empty validation is torch's error of stacking",
            "empty_validation_gives_no_batches",
            planted((factory, "stacked", _stacked)),
        ),
        (
            "tensors of several lengths are torch's error of stacking",
            "tensors_of_several_lengths_are_named",
            planted((factory, "stacked", _stacked)),
        ),
        *(
            (
                f"settings are not checked: {said}",
                f"a_setting_that_cannot_be_is_refused[{said}]",
                planted((DataLoaderConfig, "check", lambda self: None)),
            )
            for said in ("{'prefetch_factor': 0}", "{'num_workers': True}", "{'seed': -1}")
        ),
        (
            "a data module cannot be told drop_last and the like",
            "a_module_takes_the_settings_of_a_loader",
            planted((Module, "__init__", _without_settings)),
        ),
        (
            "images of bytes become infinite without a word",
            "images_of_bytes_are_scaled",
            planted((Vision, "_normalised", _in_their_dtype)),
        ),
        ("a std of 0 divides", "a_deviation_of_nothing_is_refused", planted((Vision, "__init__", _any_std))),
        (
            "an image has one label at most",
            "images_have_several_labels",
            planted((vision, "labels_of", _whole_labels)),
        ),
        (
            "the first sample decides whether there are labels",
            "a_label_that_is_missing_is_named",
            planted((Vision, "__call__", _as_the_first)),
        ),
        (
            "TaskSpec.vision_tiny() of the guide does not exist",
            "the_guide_s_tasks_exist",
            planted((TaskSpec, "vision_tiny", _Missing())),
        ),
        (
            "TaskSpec.lm_tiny() of the guide does not exist",
            "the_guide_s_tasks_exist",
            planted((TaskSpec, "lm_tiny", _Missing())),
        ),
        (
            "columns img and label of the guide's CIFAR-10 are a KeyError",
            "columns_of_hugging_face_s_images_fit",
            planted(NOT_HUB),
        ),
        (
            "raw text of the guide's WikiText is a KeyError",
            "raw_text_is_tokenised",
            planted(NOT_HUB, (Text, "_tokenised", lambda self, samples: samples)),
        ),
        (
            "isinstance with the protocol raises",
            "a_data_module_can_be_asked_for",
            planted((DataModuleProtocol, "_is_runtime_protocol", False)),
        ),
        (
            "fast mode leaves deterministic kernels on",
            "fast_mode_ends_deterministic_mode",
            planted((seeding, "torch", Instead(torch, use_deterministic_algorithms=_only_on))),
        ),
        (
            "a dataset of tensors is read sample by sample",
            "tensors_are_not_read_sample_by_sample[dataset]",
            planted(*BY_SAMPLE),
        ),
        (
            "a list of tensors is read sample by sample",
            "tensors_are_not_read_sample_by_sample[list]",
            planted(*BY_SAMPLE, *STACKED),
        ),
    ]
]
