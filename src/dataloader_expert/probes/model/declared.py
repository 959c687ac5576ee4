"""What a model declares of its input: size, channels, mean and std, vocabulary; read where it stands, else unknown.

Read: timm's ``pretrained_cfg`` and ``default_cfg``, the ``transforms()`` of torchvision's weights (``model.weights``, or
the argument ``weights`` by name), the ``config`` of a Hugging Face model with its processor (an attribute of the model,
or ``preprocessor_config.json`` in its folder), and plain attributes ``mean``, ``std`` and ``input_size``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
from collections.abc import Mapping
from typing import Any

OF_IMAGES = (("pixel_mean", "pixel_std"), ("image_mean", "image_std"), ("img_mean", "img_std"), ("mean", "std"))
"""Names under which models, and the parts that standardize images, keep what they do it by."""
PROCESSORS = ("processor", "image_processor", "feature_extractor")


def declared(model: Any, arguments: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """``{by, mean, std, size, channels, vocabulary, longest}`` with what is known; None where nothing is declared."""
    for read in (_timm, _weights, _hugging_face, _plain):
        with contextlib.suppress(Exception):  # attributes of the user's object may be anything
            found = read(model, arguments or {})
            if found is not None:
                return {k: v for k, v in found.items() if v is not None}
    return None


def _timm(model: Any, _: Mapping[str, Any]) -> dict[str, Any] | None:
    for name in ("pretrained_cfg", "default_cfg"):
        given = getattr(model, name, None)
        values = given if isinstance(given, Mapping) else vars(given) if hasattr(given, "__dict__") else None
        if values and values.get("mean"):
            size = values.get("input_size") or (None, None, None)
            return {
                "by": f"timm's {name}",
                **_normal(values["mean"], values["std"]),
                "channels": size[0],
                "size": size[1],
            }
    return None


def _weights(model: Any, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    given = getattr(model, "weights", None)
    if not hasattr(given, "transforms") and isinstance(arguments.get("weights"), str):
        given = importlib.import_module("torchvision.models").get_weight(arguments["weights"])
    if not callable(getattr(given, "transforms", None)):
        return None
    preset: Any = given.transforms()  # type: ignore[union-attr]  # tested above
    size = getattr(preset, "crop_size", None) or getattr(preset, "resize_size", None)
    size = size[0] if isinstance(size, list | tuple) else size
    return {"by": f"the transforms of {given}", **_normal(preset.mean, preset.std), "size": size}


def _hugging_face(model: Any, _: Mapping[str, Any]) -> dict[str, Any] | None:
    config = getattr(model, "config", None)
    read = config.get if isinstance(config, Mapping) else lambda n, d=None: getattr(config, n, d)
    known = {
        "channels": read("num_channels"),
        "size": read("image_size"),
        "vocabulary": read("vocab_size"),
        "longest": read("max_position_embeddings"),
    }
    if config is None or not any(isinstance(v, int) for v in known.values()):
        return None
    processor = next((p for p in (getattr(model, n, None) for n in PROCESSORS) if p is not None), None)
    values = vars(processor) if processor is not None else {}
    folder = read("_name_or_path") or ""
    path = os.path.join(str(folder), "preprocessor_config.json")
    if not values and folder and os.path.isfile(path):
        with open(path, encoding="utf-8") as f:
            values = json.load(f)
    said = "its config" + (" and processor" if values else "")
    normal = _normal(values["image_mean"], values["image_std"]) if values.get("image_mean") else {}
    known = {k: v for k, v in known.items() if isinstance(v, int)}
    return {"by": f"Hugging Face: {said}", **known, **normal}


def _plain(model: Any, _: Mapping[str, Any]) -> dict[str, Any] | None:
    if not hasattr(model, "mean") or not hasattr(model, "std"):
        return None
    size = getattr(model, "input_size", None)
    size = size[-1] if isinstance(size, list | tuple) else size
    return {"by": "its attributes mean and std", **_normal(model.mean, model.std), "size": size}


def of_parts(model: Any) -> dict[str, Any] | None:
    """What a part of the model holds by which images are standardized: which ones, such as those that a loss compares, calls tell."""
    for part in model.modules():
        for mean, std in OF_IMAGES:
            with contextlib.suppress(Exception):  # as above
                normal = _normal(getattr(part, mean), getattr(part, std))
                plain = mean == "mean"
                of_colours, most = not plain or len(normal["mean"]) == 3, 1 if plain else 255
                if of_colours and all(0 < v < most for v in (*normal["mean"], *normal["std"])):
                    return {"by": f"its attributes {mean} and {std}", **normal}
    return None


def _normal(mean: Any, std: Any) -> dict[str, list[float]]:
    def plain(values: Any) -> list[float]:
        values = values.flatten().tolist() if hasattr(values, "flatten") else values
        return [float(f"{float(v):.6g}") for v in (values if isinstance(values, list | tuple) else [values])]

    return {"mean": plain(mean), "std": plain(std)}
