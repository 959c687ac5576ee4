"""Collators by name and by task, tasks themselves, and the choice that the original's training code made."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from dataloader_expert import loaders
from dataloader_expert.loaders import (
    CollatorInfo,
    CollatorRegistry,
    DataLoaderFactory,
    LanguageModelingDataCollator,
    TaskSpec,
    VisionDataCollator,
    get_collator,
    get_default_task_specs,
)
from dataloader_expert.loaders.collators.audio import AudioCollator
from dataloader_expert.loaders.collators.base import DefaultCollator
from dataloader_expert.loaders.collators.multimodal import MultimodalCollator
from dataloader_expert.loaders.collators.tabular import ArrayCollator
from tests.loaders.material import Plain, a_task

BUILT_IN = ["text", "vision", "default", "audio", "multimodal", "detection", "sequence", "tabular", "array"]


@pytest.fixture
def registry() -> CollatorRegistry:
    return CollatorRegistry()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    CollatorRegistry.reset()
    yield
    CollatorRegistry.reset()


def names(registry: CollatorRegistry) -> list[str]:
    return [info.name for info in registry.list_collators()]


def test_a_process_has_one_registry_and_may_have_others(registry: CollatorRegistry) -> None:
    """Those made by a call stand alone; a reset makes a new one, and who holds the old one keeps it."""
    shared = CollatorRegistry.get_instance()
    assert CollatorRegistry.get_instance() is shared and shared is not registry
    factory = DataLoaderFactory()
    registry.register("mine", "audio")(lambda: list)
    assert names(shared) == BUILT_IN and names(registry) == [*BUILT_IN, "mine"]
    CollatorRegistry.reset()
    assert CollatorRegistry.get_instance() is not shared and factory.collator_registry is shared


def test_a_factory_is_registered_as_it_is(registry: CollatorRegistry) -> None:
    """The decorator gives it back; a description is made of the modality where there is none."""

    def make() -> Any:
        return list

    assert registry.register("mine", "audio")(make) is make
    assert registry.list_collators()[-1] == CollatorInfo("mine", make, "audio", "audio collator")
    assert registry.get_collator(collator_name="mine") is list


def test_a_name_that_is_there_is_replaced(registry: CollatorRegistry, caplog: pytest.LogCaptureFixture) -> None:
    """With a warning, at its place, and selected from then on."""
    with caplog.at_level(logging.WARNING):
        registry.register("text", "text", "other")(lambda **keywords: tuple)
    assert "Overwriting existing collator: text" in caplog.text
    assert names(registry) == BUILT_IN and registry.list_collators()[0].description == "other"
    assert registry.get_collator(a_task(), tokenizer=Plain()) is tuple


def test_what_was_registered_last_is_selected(registry: CollatorRegistry) -> None:
    """Before older ones and the built-in ones of its modality, whatever its name."""
    for name, made in (("first", list), ("second", tuple)):
        registry.register(name, "vision")(lambda made=made: made)
    assert registry.get_collator(a_task("vision")) is tuple
    registry.register("first", "vision")(lambda: dict)
    assert registry.get_collator(a_task("vision")) is dict
    assert isinstance(registry.get_collator(a_task(), tokenizer=Plain()), LanguageModelingDataCollator)


@pytest.mark.parametrize(
    ("modality", "kind"),
    [
        ("text", LanguageModelingDataCollator),
        ("vision", VisionDataCollator),
        ("audio", AudioCollator),
        ("multimodal", MultimodalCollator),
        ("array", ArrayCollator),
    ],
)
def test_a_modality_selects(registry: CollatorRegistry, modality: str, kind: type) -> None:
    """A tokenizer is offered to all, and forced on none."""
    assert type(registry.get_collator(a_task(modality), tokenizer=Plain())) is kind


def test_an_unknown_modality_is_stacked_with_a_warning(
    registry: CollatorRegistry, caplog: pytest.LogCaptureFixture
) -> None:
    """By the default collator; the warning says what there is."""
    with caplog.at_level(logging.WARNING):
        collate = registry.get_collator(a_task("genomics"), tokenizer=None)
    assert isinstance(collate, DefaultCollator)
    assert "No collator found for modality 'genomics'" in caplog.text and "'audio'" in caplog.text


def test_a_name_goes_before_a_task(registry: CollatorRegistry) -> None:
    """The factory still gets the task if it takes it."""
    got: dict[str, Any] = {}

    @registry.register("mine", "audio")
    def make(task_spec: Any = None, rate: int = 1) -> Any:
        got.update(task_spec=task_spec, rate=rate)
        return list

    task = a_task("vision")
    assert registry.get_collator(task, "mine", rate=3, tokenizer=Plain()) is list
    assert got == {"task_spec": task, "rate": 3}


def test_a_factory_gets_only_what_it_takes(registry: CollatorRegistry) -> None:
    """Neither tokenizer nor task where it takes none, all where it takes anything, no tokenizer that is None."""
    seen: list[dict[str, Any]] = []

    @registry.register("open", "b")
    def takes_all(**keywords: Any) -> Any:
        seen.append(keywords)
        return len

    @registry.register("named", "c")
    def takes_one(tokenizer: Any, **keywords: Any) -> Any:
        seen.append({"tokenizer": tokenizer})
        return len

    registry.register("bare", "a")(lambda: len)
    assert registry.get_collator(a_task("a"), tokenizer=Plain()) is len
    task, tokenizer = a_task("b"), Plain()
    registry.get_collator(task, tokenizer=None)
    registry.get_collator(task, tokenizer=tokenizer, rate=2)
    registry.get_collator(a_task("c"), tokenizer=None)
    assert seen == [
        {"task_spec": task},
        {"tokenizer": tokenizer, "rate": 2, "task_spec": task},
        {"tokenizer": None},
    ]


def test_what_a_factory_does_not_take_is_an_error(registry: CollatorRegistry) -> None:
    """Keywords that are misspelt are not dropped in silence."""
    with pytest.raises(TypeError, match="collator 'audio' takes no rate; it takes normalize, max_length, dtype"):
        registry.get_collator(collator_name="audio", rate=3)
    registry.register("bare", "a")(lambda: len)
    with pytest.raises(TypeError, match="collator 'bare' takes no x; it takes nothing"):
        registry.get_collator(collator_name="bare", x=1)
    with pytest.raises(TypeError, match="pading_side"):
        registry.get_collator(a_task(), tokenizer=Plain(), pading_side="left")


def test_errors_of_a_factory_are_seen(registry: CollatorRegistry) -> None:
    """None is replaced by a default collation."""

    @registry.register("broken", "audio")
    def broken() -> Any:
        raise RuntimeError("the collator's own trouble")

    with pytest.raises(RuntimeError, match="own trouble"):
        registry.get_collator(a_task("audio"))


def test_what_is_not_there_is_said(registry: CollatorRegistry) -> None:
    """Unknown names with those that there are; neither name nor task."""
    with pytest.raises(ValueError, match=r"Collator 'x' not found. Available: \['text', 'vision', 'default'"):
        registry.get_collator(collator_name="x")
    with pytest.raises(ValueError, match="Must provide either task_spec or collator_name"):
        registry.get_collator()
    with pytest.raises(ValueError, match="tokenizer required"):
        registry.get_collator(a_task())


def test_what_a_task_says_goes_before_arguments(registry: CollatorRegistry) -> None:
    """Of vision and multimodal; a masked task masks, unless it is told not to."""
    task = a_task("vision", preprocessing_config={"mean": [0.1, 0.2, 0.3], "dtype": torch.float16})
    collate = registry.get_collator(task, mean=(0.5,) * 3, std=(0.25,) * 3)
    assert (tuple(collate.mean), tuple(collate.std), collate.dtype) == ((0.1, 0.2, 0.3), (0.25,) * 3, torch.float16)
    both = registry.get_collator(a_task("multimodal", preprocessing_config={"mean": "cifar10"}), tokenizer=Plain())
    assert both.vision.mean == VisionDataCollator(mean="cifar10").mean
    masked = a_task(task_type="masked_lm")
    assert registry.get_collator(masked, tokenizer=Plain()).mlm is True
    assert registry.get_collator(masked, tokenizer=Plain(), mlm=False).mlm is False
    left = registry.get_collator(a_task(), tokenizer=Plain(), padding_side="left")
    assert (left.padding_side, left.ignore_padding) == ("left", True)


# ── the original's choice ──────────────────────────────────────────────────────


def test_the_originals_choice() -> None:
    """transformers' default unless the dynamic collators are asked for; then text and vision alone."""
    from transformers import default_data_collator

    assert get_collator() is get_collator(a_task("vision")) is default_data_collator
    assert get_collator(None, use_dynamic_collator=True) is default_data_collator
    assert vars(loaders)["_get_collator"] is get_collator
    vision = get_collator(a_task("vision", preprocessing_config={"std": [0.5] * 3}), use_dynamic_collator=True)
    assert isinstance(vision, VisionDataCollator) and tuple(vision.std) == (0.5,) * 3
    text = get_collator(a_task(), Plain(), True, "left")
    assert isinstance(text, LanguageModelingDataCollator)
    assert (text.padding_side, text.ignore_padding) == ("left", False)
    with pytest.raises(ValueError, match="Unsupported modality: audio"):
        get_collator(a_task("audio"), use_dynamic_collator=True)
    with pytest.raises(ValueError, match="tokenizer is required for text"):
        get_collator(a_task(), use_dynamic_collator=True)


def test_without_transformers_the_choice_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is an optional package."""
    monkeypatch.setitem(__import__("sys").modules, "transformers", None)
    assert isinstance(get_collator(), DefaultCollator)


# ── tasks ──────────────────────────────────────────────────────────────────────


def test_presets_are_by_name_and_made_anew() -> None:
    """Each as its own method makes it; changing one changes no other."""
    presets = get_default_task_specs()
    assert list(presets) == ["lm_tiny", "cls_tiny", "seq2seq_tiny", "vision_tiny"]
    assert all(getattr(TaskSpec, name)() == spec and spec.task_name == name for name, spec in presets.items())
    presets["lm_tiny"].metrics.append("mine")
    assert "mine" not in get_default_task_specs()["lm_tiny"].metrics


@pytest.mark.parametrize("name", get_default_task_specs())
def test_a_task_goes_through_json(name: str) -> None:
    """Unknown keys are passed over, missing ones named."""
    spec = get_default_task_specs()[name]
    values = json.loads(json.dumps(spec.to_dict()))
    assert TaskSpec.from_dict({**values, "later": 1}) == spec
    assert set(values) == {f.name for f in dataclasses.fields(TaskSpec)}
    for key in ("name", "task_type", "model_family", "loss_type"):
        with pytest.raises(KeyError, match=key):
            TaskSpec.from_dict({k: v for k, v in values.items() if k != key})
    least = TaskSpec.from_dict({"name": "n", "task_type": "lm", "model_family": "f", "loss_type": "l"})
    assert (least.input_fields, least.target_field, least.metrics, least.modality) == ([], None, [], "text")


def test_a_task_knows_its_modality_and_shape() -> None:
    """Of images, of texts, and of what does not say."""
    specs = get_default_task_specs()
    assert specs["vision_tiny"].get_input_shape() == [3, 32, 32]
    assert specs["lm_tiny"].get_input_shape() == [128]
    assert a_task("audio").get_input_shape() is None
    asked = [(s.is_text(), s.is_vision(), s.is_audio(), s.is_tabular()) for s in map(a_task, ("text", "vision"))]
    assert asked == [(True, False, False, False), (False, True, False, False)]
    assert a_task("audio").is_audio() and a_task("tabular").is_tabular()
