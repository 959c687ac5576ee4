"""Collators by name and by modality."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar

from dataloader_expert.loaders.collators import audio, detection, multimodal, sequence, tabular, text, vision
from dataloader_expert.loaders.collators.base import CollatorInfo, DefaultCollator
from dataloader_expert.loaders.tasks import TaskSpec

logger = logging.getLogger(__name__)

BUILT_IN = (
    CollatorInfo("text", text.make, "text", "pads tokens; attention masks; labels for causal or masked modelling"),
    CollatorInfo("vision", vision.make, "vision", "stacks images and normalises each channel; RGB and grey"),
    CollatorInfo("default", DefaultCollator, "any", "stacks as torch does"),
    CollatorInfo("audio", audio.AudioCollator, "audio", "pads waveforms with silence; lengths and mask"),
    CollatorInfo("multimodal", multimodal.make, "multimodal", "images by the vision, words by the text collator"),
    CollatorInfo("detection", detection.DetectionCollator, "detection", "stacks images; boxes and labels by image"),
    CollatorInfo("sequence", sequence.SequenceCollator, "sequence", "pads sequences to the longest; lengths and mask"),
    CollatorInfo("tabular", tabular.TabularCollator, "tabular", "numbers of a row side by side in one matrix"),
    CollatorInfo("array", tabular.ArrayCollator, "array", "arrays of one shape stacked, field by field"),
)
Factory = TypeVar("Factory", bound=Callable[..., Any])


class CollatorRegistry:
    """Collate functions by name, chosen by the modality of a task.

    Calling the class makes an independent registry; :meth:`get_instance` returns the shared one. Built in are text,
    vision, default, audio, multimodal, detection, sequence, tabular and array.
    """

    _shared: ClassVar[CollatorRegistry | None] = None

    def __init__(self) -> None:
        self._known = {info.name: info for info in BUILT_IN}
        self._own: list[str] = []

    @classmethod
    def get_instance(cls) -> CollatorRegistry:
        """The registry that the process shares."""
        if CollatorRegistry._shared is None:
            CollatorRegistry._shared = cls()
        return CollatorRegistry._shared

    @classmethod
    def reset(cls) -> None:
        """Resets the shared registry to the built-in collators."""
        CollatorRegistry._shared = None

    def register(self, name: str, modality: str, description: str = "") -> Callable[[Factory], Factory]:
        """Registers the decorated function, which returns a collate function and takes keyword arguments.

        Args:
            name: replaces a collator of the same name, with a warning.
            modality: of the tasks that select it; the last one registered is selected, before the built-in ones.
            description: one sentence; by default from the modality.
        """

        def decorate(factory: Factory) -> Factory:
            if name in self._known:
                logger.warning("Overwriting existing collator: %s", name)
            self._known[name] = CollatorInfo(name, factory, modality, description or f"{modality} collator")
            self._own = [n for n in self._own if n != name] + [name]
            return factory

        return decorate

    def list_collators(self) -> list[CollatorInfo]:
        """All collators in the order of their first registration, the built-in ones first."""
        return list(self._known.values())

    def get_collator(self, task_spec: TaskSpec | None = None, collator_name: str | None = None, **keywords: Any) -> Any:
        """A collate function, by name or by the task's modality.

        Args:
            task_spec: its ``modality`` selects; passed to the factory if it takes it, as is ``tokenizer``.
            collator_name: takes precedence over ``task_spec``.
            keywords: of the factory.

        A ``ValueError`` if neither is given, no collator has that name, or the factory refuses a value; a ``TypeError``
        for a keyword that the factory does not take.
        """
        if not collator_name and not task_spec:
            raise ValueError("Must provide either task_spec or collator_name for collator selection")
        return _made(self._named(collator_name) if collator_name else self._for(task_spec), task_spec, keywords)

    def _named(self, name: str) -> CollatorInfo:
        if name not in self._known:
            raise ValueError(f"Collator '{name}' not found. Available: {list(self._known)}")
        return self._known[name]

    def _for(self, task_spec: Any) -> CollatorInfo:
        modality = getattr(task_spec, "modality", "text")
        for name in [*reversed(self._own), *(name for name in self._known if name not in self._own)]:
            if self._known[name].modality == modality:
                return self._known[name]
        text = "No collator found for modality '%s', falling back to the default one; known modalities are %s"
        logger.warning(text, modality, sorted({info.modality for info in self._known.values()}))
        return self._known["default"]


def _made(info: CollatorInfo, task_spec: Any, keywords: dict[str, Any]) -> Any:
    """The collate function of a factory, called with those of the arguments that it takes."""
    parameters = inspect.signature(info.factory).parameters
    given = dict(keywords)
    if task_spec is not None and "task_spec" not in parameters:
        given |= dict(getattr(task_spec, "preprocessing_config", None) or {})
    if task_spec is not None:
        given["task_spec"] = task_spec
    if not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        for name in ("task_spec", "tokenizer"):
            if name not in parameters:
                given.pop(name, None)
        if unknown := sorted(given.keys() - parameters.keys()):
            takes = ", ".join(parameters) or "nothing"
            raise TypeError(f"collator '{info.name}' takes no {', '.join(unknown)}; it takes {takes}")
    elif given.get("tokenizer", ...) is None and "tokenizer" not in parameters:
        given.pop("tokenizer")
    return info.factory(**given)


def get_collator(
    task_spec: TaskSpec | None = None,
    tokenizer: Any = None,
    use_dynamic_collator: bool = False,
    padding_side: Any = "right",
) -> Any:
    """The text or vision collator of ``task_spec``; for other modalities use :class:`CollatorRegistry`.

    Args:
        task_spec: its modality selects, its ``preprocessing_config`` holds the arguments of the vision collator.
        tokenizer, padding_side: of texts; without a tokenizer, and for other modalities, a ``ValueError``.
        use_dynamic_collator: False, or no ``task_spec``: transformers' default collator, or :class:`DefaultCollator`.
    """
    if task_spec is None or not use_dynamic_collator:
        try:
            from transformers import default_data_collator
        except ImportError:
            return DefaultCollator()
        return default_data_collator
    if task_spec.modality == "vision":
        return vision.make(task_spec)
    if task_spec.modality != "text":
        raise ValueError(
            f"Unsupported modality: {task_spec.modality}. Supported modalities are: 'text', 'vision'; for others use "
            "CollatorRegistry"
        )
    if tokenizer is None:
        raise ValueError("tokenizer is required for text modality tasks")
    return text.make(task_spec, tokenizer, padding_side=padding_side, ignore_padding=False)
