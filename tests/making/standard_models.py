"""Eight standard models in plain torch, each with the batch it takes; run in the measuring child by reference."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self, width: int = 512, depth: int = 4) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(784, width), nn.ReLU()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1)]
        self.layers = nn.Sequential(*layers, nn.Linear(width, 10))

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


class Cnn(nn.Module):
    """Six convolutions with batch normalisation."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        widths = [3, width, width, 2 * width, 2 * width, 4 * width, 4 * width]
        layers: list[nn.Module] = []
        for i in range(6):
            layers += [nn.Conv2d(widths[i], widths[i + 1], 3, 1 + i % 2, 1), nn.BatchNorm2d(widths[i + 1]), nn.ReLU()]
        self.features, self.head = nn.Sequential(*layers), nn.Linear(widths[-1], 10)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.features(x).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        self.a = nn.Conv2d(before, width, 3, stride, 1, bias=False)
        self.b = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.norm_a, self.norm_b = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.side = nn.Conv2d(before, width, 1, stride, bias=False) if stride > 1 or before != width else nn.Identity()

    def forward(self, x: torch.Tensor) -> Any:
        out = F.relu(self.norm_a(self.a(x)), inplace=True)
        return F.relu(self.norm_b(self.b(out)) + self.side(x), inplace=True)


class ResNet(nn.Module):
    """The 18 layers of ResNet-18, for pictures of any size."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        widths = [width, width, 2 * width, 4 * width, 8 * width]
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)
        )
        blocks = [
            Block(widths[i] if j == 0 else widths[i + 1], widths[i + 1], 2 if i and j == 0 else 1)
            for i in range(4)
            for j in range(2)
        ]
        self.blocks, self.head = nn.Sequential(*blocks), nn.Linear(widths[-1], 1000)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Encoder(nn.Module):
    """A transformer encoder over tokens that predicts each."""

    def __init__(self, width: int = 256, depth: int = 4, vocabulary: int = 8000, checkpoint: bool = False) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True) for _ in range(depth)
        )
        self.head, self.checkpoint = nn.Linear(width, vocabulary), checkpoint

    def forward(self, ids: torch.Tensor) -> Any:
        from torch.utils.checkpoint import checkpoint

        x = self.embed(ids)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpoint else layer(x)
        return self.head(x)


class Decoder(nn.Module):
    """A small GPT: causal attention, tied embeddings, its own loss."""

    def __init__(self, width: int = 256, depth: int = 4, vocabulary: int = 8000, longest: int = 256) -> None:
        super().__init__()
        self.embed, self.places = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth))
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.out = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.mlp = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(depth)
        )

    def forward(self, ids: torch.Tensor) -> Any:
        batch, length = ids.shape
        x = self.embed(ids) + self.places(torch.arange(length, device=ids.device))
        for i, (qkv, out, mlp) in enumerate(zip(self.qkv, self.out, self.mlp, strict=True)):
            parts = qkv(self.norms[2 * i](x)).view(batch, length, 3, 8, -1).permute(2, 0, 3, 1, 4)
            q, k, v = parts.unbind(0)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, length, -1)
            x = x + out(mixed)
            x = x + mlp(self.norms[2 * i + 1](x))
        logits = x @ self.embed.weight.T
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
        return {"loss": loss, "logits": logits}


class UNet(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()

        def two(a: int, b: int) -> nn.Module:
            return nn.Sequential(
                nn.Conv2d(a, b, 3, 1, 1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1), nn.ReLU()
            )

        w = width
        self.down = nn.ModuleList([two(3, w), two(w, 2 * w), two(2 * w, 4 * w)])
        self.up = nn.ModuleList([nn.ConvTranspose2d(4 * w, 2 * w, 2, 2), nn.ConvTranspose2d(2 * w, w, 2, 2)])
        self.join = nn.ModuleList([two(4 * w, 2 * w), two(2 * w, w)])
        self.head = nn.Conv2d(w, 2, 1)

    def forward(self, x: torch.Tensor) -> Any:
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        d = self.join[0](torch.cat([b, self.up[0](c)], 1))
        return self.head(self.join[1](torch.cat([a, self.up[1](d)], 1)))


class Lstm(nn.Module):
    def __init__(self, width: int = 128) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(16, width, 2, batch_first=True), nn.Linear(width, 5)

    def forward(self, x: torch.Tensor) -> Any:
        return self.head(self.lstm(x)[0][:, -1])


class Recommender(nn.Module):
    """Two embedding tables and a small network over their rows."""

    def __init__(self, rows: int = 50_000, width: int = 64) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(rows, width), nn.Embedding(rows, width)
        self.head = nn.Sequential(nn.Linear(2 * width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, user: torch.Tensor, item: torch.Tensor) -> Any:
        return self.head(torch.cat([self.users(user), self.items(item)], -1)).squeeze(-1)


MODELS: dict[str, tuple[type[nn.Module], dict[str, Any]]] = {
    "mlp": (Mlp, {"x": {"shape": ["B", 784]}, "label": {"shape": ["B"], "dtype": "int64", "low": 0, "high": 9}}),
    "cnn": (Cnn, {"x": {"shape": ["B", 3, 64, 64]}, "label": {"shape": ["B"], "dtype": "int64", "low": 0, "high": 9}}),
    "resnet": (
        ResNet,
        {"x": {"shape": ["B", 3, 96, 96]}, "label": {"shape": ["B"], "dtype": "int64", "low": 0, "high": 9}},
    ),
    "encoder": (
        Encoder,
        {
            "ids": {"shape": ["B", 64], "dtype": "int64", "low": 0, "high": 7999},
            "label": {"shape": ["B", 64], "dtype": "int64", "low": 0, "high": 7999},
        },
    ),
    "decoder": (Decoder, {"ids": {"shape": ["B", 128], "dtype": "int64", "low": 0, "high": 7999}}),
    "unet": (
        UNet,
        {
            "x": {"shape": ["B", 3, 64, 64]},
            "label": {"shape": ["B", 64, 64], "dtype": "int64", "low": 0, "high": 1},
        },
    ),
    "lstm": (Lstm, {"x": {"shape": ["B", 64, 16]}, "label": {"shape": ["B"], "dtype": "int64", "low": 0, "high": 4}}),
    "embedding": (
        Recommender,
        {
            "user": {"shape": ["B"], "dtype": "int64", "low": 0, "high": 49_999},
            "item": {"shape": ["B"], "dtype": "int64", "low": 0, "high": 49_999},
            "label": {"shape": ["B"], "dtype": "float32"},
        },
    ),
}
"""By name, the class and the ``input`` it is asked with."""
