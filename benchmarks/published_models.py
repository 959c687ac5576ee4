"""Models of torchvision, transformers and timm as they are published, without weights, each with the batch it takes.

For a machine that has these packages; nobody wrote them with our traces in mind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def resnet50() -> Any:
    from torchvision.models import resnet50

    return resnet50()


def vit() -> Any:
    from torchvision.models import vit_b_16

    return vit_b_16()


def efficientnet() -> Any:
    from torchvision.models import efficientnet_b0

    return efficientnet_b0()


def convnext() -> Any:
    from torchvision.models import convnext_tiny

    return convnext_tiny()


def mobilenet() -> Any:
    from torchvision.models import mobilenet_v3_large

    return mobilenet_v3_large()


def swin() -> Any:
    from torchvision.models import swin_t

    return swin_t()


def densenet() -> Any:
    from torchvision.models import densenet121

    return densenet121()


def deeplab() -> Any:
    from torchvision.models.segmentation import deeplabv3_resnet50

    return deeplabv3_resnet50(weights=None, weights_backbone=None)


def video() -> Any:
    from torchvision.models.video import r3d_18

    return r3d_18()


def regnet() -> Any:
    import timm

    return timm.create_model("regnety_016")


def gpt2() -> Any:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config())


def bert() -> Any:
    from transformers import BertConfig, BertForSequenceClassification

    config = BertConfig()
    config.num_labels = 5
    return BertForSequenceClassification(config)


def t5() -> Any:
    from transformers import T5Config, T5ForConditionalGeneration

    config = T5Config()
    config.decoder_start_token_id = 0
    return T5ForConditionalGeneration(config)


def llama() -> Any:
    """Eight layers of 512, four heads of keys for eight of queries."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8, num_key_value_heads=4
    )
    return LlamaForCausalLM(config)


def whisper() -> Any:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    return WhisperForConditionalGeneration(WhisperConfig())


def wav2vec2() -> Any:
    from transformers import Wav2Vec2Config, Wav2Vec2ForCTC

    return Wav2Vec2ForCTC(Wav2Vec2Config())


def _whole(*shape: int, high: int) -> dict[str, Any]:
    return {"shape": ["B", *shape], "dtype": "int64", "low": 0, "high": high}


IMAGES = {"x": {"shape": ["B", 3, 224, 224]}, "label": _whole(high=999)}
MODELS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    **{f.__name__: (f, IMAGES) for f in (resnet50, vit, efficientnet, convnext, mobilenet, swin, densenet, regnet)},
    "deeplab": (deeplab, {"x": {"shape": ["B", 3, 256, 256]}, "label": _whole(256, 256, high=20)}),
    "video": (video, {"x": {"shape": ["B", 3, 8, 112, 112]}, "label": _whole(high=399)}),
    "gpt2": (gpt2, {"input_ids": _whole(512, high=50256), "labels": _whole(512, high=50256)}),
    "bert": (bert, {"input_ids": _whole(128, high=30521), "labels": _whole(high=4)}),
    "t5": (t5, {"input_ids": _whole(256, high=32127), "labels": _whole(64, high=32127)}),
    "llama": (llama, {"input_ids": _whole(512, high=31999), "labels": _whole(512, high=31999)}),
    "whisper": (whisper, {"input_features": {"shape": ["B", 80, 3000]}, "labels": _whole(64, high=50000)}),
    "wav2vec2": (wav2vec2, {"input_values": {"shape": ["B", 32000]}, "labels": _whole(20, high=30)}),
}
"""By name, the function that makes it and the ``input`` it is asked with."""
