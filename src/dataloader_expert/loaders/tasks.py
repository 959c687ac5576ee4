"""Descriptions of training tasks, which select collators."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any


@dataclass
class TaskSpec:
    """What a model is trained for.

    Attributes:
        name: of the task.
        task_type: ``lm``, ``masked_lm``, ``classification``, ``seq2seq``, ``vision_classification``, …
        model_family: ``decoder_only``, ``encoder_only``, ``encoder_decoder``, …
        input_fields, target_field: of a batch.
        loss_type, metrics, special_tokens, additional_config, input_schema, output_schema: for the training code.
        modality: selects the collator: ``text``, ``vision``, ``audio``, ``tabular``, or one of your own.
        preprocessing_config: arguments of the collator, such as ``mean`` and ``std``; None: its defaults.
    """

    name: str
    task_type: str
    model_family: str
    input_fields: list[str]
    target_field: str | None
    loss_type: str
    metrics: list[str]
    special_tokens: dict[str, Any] = field(default_factory=dict)
    additional_config: dict[str, Any] = field(default_factory=dict)
    modality: str = "text"
    input_schema: dict[str, Any] = field(default_factory=dict)
    output_schema: dict[str, Any] = field(default_factory=dict)
    preprocessing_config: dict[str, Any] | None = None

    @classmethod
    def lm_tiny(cls) -> TaskSpec:
        """Causal language modelling, 128 tokens."""
        metrics, output = ["loss", "perplexity", "accuracy"], {"vocab_size": 50257}
        return _tiny_text("lm_tiny", "lm", "decoder_only", metrics, {"shift_labels": True}, output)

    @classmethod
    def cls_tiny(cls) -> TaskSpec:
        """Classification of texts into two classes, 128 tokens."""
        classes = {"num_classes": 2}
        return _tiny_text("cls_tiny", "classification", "encoder_only", ["loss", "accuracy"], {**classes}, classes)

    @classmethod
    def seq2seq_tiny(cls) -> TaskSpec:
        """Sequence to sequence, 128 tokens."""
        forced, output = {"teacher_forcing": True}, {"vocab_size": 50257}
        made = _tiny_text("seq2seq_tiny", "seq2seq", "encoder_decoder", ["loss"], forced, output)
        made.input_fields.append("decoder_input_ids")
        return made

    @classmethod
    def vision_tiny(cls) -> TaskSpec:
        """Classification of images of 32 x 32 pixels into four classes."""
        images = {"image_size": [3, 32, 32], "channels_first": True}
        named = ("vision_tiny", "vision_classification", "encoder_only", ["pixel_values"], "labels", "cross_entropy")
        return cls(*named, ["loss", "accuracy"], {}, {"num_classes": 4}, "vision", images, {"num_classes": 4})

    @property
    def task_name(self) -> str:
        """The same as ``name``."""
        return self.name

    def to_dict(self) -> dict[str, Any]:
        """All fields, ready for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(values: dict[str, Any]) -> TaskSpec:
        """The task that ``values`` describe; unknown keys are ignored.

        A ``KeyError`` if ``name``, ``task_type``, ``model_family`` or ``loss_type`` is missing.
        """
        required = ("name", "task_type", "model_family", "loss_type")
        if missing := [name for name in required if name not in values]:
            raise KeyError(f"a task needs {', '.join(required)}; {', '.join(missing)} missing")
        given = {f.name: values[f.name] for f in fields(TaskSpec) if f.name in values}
        return TaskSpec(**{"input_fields": [], "target_field": None, "metrics": [], **given})

    def is_text(self) -> bool:
        """Whether the modality is text."""
        return self.modality == "text"

    def is_vision(self) -> bool:
        """Whether the modality is vision."""
        return self.modality == "vision"

    def is_audio(self) -> bool:
        """Whether the modality is audio."""
        return self.modality == "audio"

    def is_tabular(self) -> bool:
        """Whether the modality is tabular."""
        return self.modality == "tabular"

    def get_input_shape(self) -> list[int] | None:
        """``[channels, height, width]`` of images, ``[tokens]`` of texts, None if unknown."""
        if "image_size" in self.input_schema:
            return list(self.input_schema["image_size"])
        longest = self.input_schema.get("max_seq_len")
        return None if longest is None else [longest]


def _tiny_text(
    name: str, task_type: str, family: str, metrics: list[str], config: dict[str, Any], output: dict[str, Any]
) -> TaskSpec:
    """A task on texts of 128 tokens."""
    texts, special = {"max_seq_len": 128, "vocab_size": 50257}, {"pad_token_id": 0}
    named = (name, task_type, family, ["input_ids", "attention_mask"], "labels", "cross_entropy", metrics)
    return TaskSpec(*named, special, config, "text", texts, output)


def get_default_task_specs() -> dict[str, TaskSpec]:
    """The presets by name, a new object each."""
    made = (TaskSpec.lm_tiny(), TaskSpec.cls_tiny(), TaskSpec.seq2seq_tiny(), TaskSpec.vision_tiny())
    return {spec.name: spec for spec in made}
